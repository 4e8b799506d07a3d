//! The recipe of a crash: the text of a test that plays the recorded messages again.

use krarup_gen::{CrashReport, ItemKind, Lane, Pid, ProcessKind, RecordedItem};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The text of a test that spawns the behaviour in a simulation and sends it the recorded
/// messages in order, each from a probe in the place of its sender. The values of state and
/// messages are to be filled in.
pub(crate) fn recipe(report: &CrashReport) -> String {
    let mut text = String::new();
    // Writing to a text cannot fail.
    let _ = write_recipe(&mut text, report);
    text
}

fn write_recipe(text: &mut String, report: &CrashReport) -> std::fmt::Result {
    let (pid, reason) = (report.pid, &report.reason.text);
    let items = items(report);
    writeln!(text, "#[test]\nfn the_crash_of_{}_is_found_again() {{", pid.id())?;
    writeln!(text, "    // {pid} ended: {}", reason.escape_debug())?;
    writeln!(text, "    let sim = krarup::testing::Simulation::new(1);")?;
    let senders: BTreeSet<Pid> = items.iter().filter_map(|item| item.sender).collect();
    for sender in senders {
        let probe = probe(sender);
        writeln!(text, "    let {probe} = krarup::testing::Probe::<()>::spawn(&sim);")?;
    }
    write_behavior(text, report)?;
    writeln!(text, "    let process = sim.spawn(behavior).wait().unwrap();")?;
    writeln!(text, "    let end = sim.watch(process.pid());")?;
    if items.is_empty() {
        writeln!(text, "    // Nothing was recorded, and nothing was in hand.")?;
    }
    let mut waits = false;
    for (place, item) in items.iter().enumerate() {
        let overtakes = item.kind == ItemKind::Command;
        if overtakes && waits {
            writeln!(text, "    // What follows would overtake the messages before it.")?;
            writeln!(text, "    sim.run_until_idle();")?;
        }
        waits = waits && !overtakes || item.kind == ItemKind::Message;
        write_item(text, place + 1, item)?;
    }
    writeln!(text, "    sim.run_until_idle();")?;
    writeln!(text, "    let reason = end.wait().unwrap().reason.to_string();")?;
    if let Some(begin) = reason.strip_suffix('…') {
        writeln!(text, "    assert!(reason.starts_with({begin:?}), \"{{reason}}\");")?;
    } else {
        writeln!(text, "    assert_eq!(reason, {reason:?});")?;
    }
    writeln!(text, "}}")
}

/// What is spawned. The name of a behaviour is that of its state, where the state is wrapped.
fn write_behavior(text: &mut String, report: &CrashReport) -> std::fmt::Result {
    let name = report.behavior.full();
    match report.kind {
        ProcessKind::Process => {
            writeln!(
                text,
                "    // {name}; of a state machine `krarup::Machine::new` around its state."
            )?;
            writeln!(text, "    let behavior = || todo!(\"its behaviour\");")
        }
        ProcessKind::Stateful => {
            writeln!(text, "    let state = || -> {name} {{ todo!(\"its state\") }};")?;
            writeln!(text, "    let behavior = move || krarup::state::Stateful::new(state());")
        }
        ProcessKind::Step | ProcessKind::Connection => {
            writeln!(text, "    // {name}, wrapped as it was when it was spawned.")?;
            writeln!(text, "    let behavior = || todo!(\"its behaviour\");")
        }
        _ => writeln!(text, "    let behavior = || -> {name} {{ todo!(\"its state\") }};"),
    }
}

/// The recorded items, or the one in hand if none were recorded.
fn items(report: &CrashReport) -> Vec<RecordedItem> {
    if !report.recorded.is_empty() {
        return report.recorded.iter().map(|recorded| (*recorded.item).clone()).collect();
    }
    let lane = |kind| if kind == ItemKind::Command { Lane::System } else { Lane::Main };
    let in_hand = report.in_hand.iter().map(|item| {
        RecordedItem::new(lane(item.kind), item.kind, item.type_name, item.sender, None)
    });
    in_hand.collect()
}

/// The name of the probe in the place of a sender.
fn probe(sender: Pid) -> String {
    format!("probe_{}", sender.id())
}

fn write_item(text: &mut String, place: usize, item: &RecordedItem) -> std::fmt::Result {
    let RecordedItem { lane, kind, type_name, sender, .. } = item;
    let from = sender.map_or_else(|| "outside".to_owned(), |sender| sender.to_string());
    let shown = item.text.as_ref();
    let shown = shown.map_or_else(String::new, |shown| format!(": {}", shown.escape_debug()));
    let name = type_name.unwrap_or(kind.as_str());
    writeln!(text, "    // {place}. {name}, by {lane}, from {from}{shown}")?;
    let send = match (kind, lane) {
        (ItemKind::Message, _) => "send",
        (ItemKind::Command, Lane::Urgent) => "send_max",
        (ItemKind::Command, _) => "send_high",
        // Notices, stops and inspections are no messages of the program.
        _ => return Ok(()),
    };
    writeln!(text, "    let message: {name} = todo!(\"message {place}\");")?;
    match sender {
        None => writeln!(text, "    assert!(process.{send}(message).is_ok());"),
        Some(sender) => {
            writeln!(text, "    let to = process.clone();")?;
            let probe = probe(*sender);
            writeln!(text, "    assert!({probe}.run(move |_| to.{send}(message).is_ok()));")
        }
    }
}
