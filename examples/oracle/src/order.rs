//! The order in which the events of a step are printed, where Erlang does not define it.

use crate::record::{Event, Handle, InstanceKey, RecordedTree, What};
use krarup::Pid;
use std::collections::HashSet;

/// Returns the events of a step as lines. Events below a killed supervisor come last. Those
/// of the dynamic children of one supervisor, which end at the same time, are sorted.
pub(crate) fn lines(state: &RecordedTree, touched: Option<InstanceKey>) -> Vec<String> {
    let killed: HashSet<Pid> = state
        .events
        .iter()
        .filter(|event| event.what == What::Exit && event.text.as_deref() == Some("killed"))
        .map(|event| &state.instances[event.of.0])
        .filter(|instance| !matches!(instance.handle, Some(Handle::Worker(_))))
        .filter_map(|instance| instance.pid)
        .collect();
    let (mut orphans, main): (Vec<&Event>, Vec<&Event>) = state
        .events
        .iter()
        .partition(|event| event.what != What::Init && is_below(state, event.of, &killed));
    orphans.sort_by_key(|event| rank(state, event));

    let mut lines = Vec::new();
    let mut rest = &main[..];
    while let Some(first) = rest.first() {
        let owner = dynamic_owner(state, first);
        let length = match owner {
            None => 1,
            owner => rest.iter().take_while(|event| dynamic_owner(state, event) == owner).count(),
        };
        let (run, after) = rest.split_at(length);
        let mut run = run.to_vec();
        if owner.is_some() {
            run.sort_by_key(|event| (Some(event.of) != touched, rank(state, event)));
        }
        lines.extend(run.into_iter().map(|event| line(state, event)));
        rest = after;
    }
    lines.extend(orphans.into_iter().map(|event| format!("orphan {}", line(state, event))));
    lines
}

fn rank(state: &RecordedTree, event: &Event) -> (String, u32, What) {
    let instance = &state.instances[event.of.0];
    (instance.id.clone(), instance.number, event.what)
}

fn line(state: &RecordedTree, event: &Event) -> String {
    let instance = &state.instances[event.of.0];
    let what = match event.what {
        What::Init => "init",
        What::Info => "info",
        What::Term => "term",
        What::Exit => "exit",
    };
    let text = event.text.as_deref().unwrap_or("?");
    format!("{what} {}#{} {text}", instance.id, instance.number)
}

fn is_below(state: &RecordedTree, of: InstanceKey, killed: &HashSet<Pid>) -> bool {
    let mut parent = state.instances[of.0].parent;
    while let Some(pid) = parent {
        if killed.contains(&pid) {
            return true;
        }
        parent = by_pid(state, pid).and_then(|key| state.instances[key.0].parent);
    }
    false
}

/// Returns the `simple_one_for_one` supervisor above the process, if the event belongs to
/// its end.
fn dynamic_owner(state: &RecordedTree, event: &Event) -> Option<Pid> {
    if !matches!(event.what, What::Term | What::Exit) {
        return None;
    }
    let pid = state.instances[event.of.0].parent?;
    let parent = &state.instances[by_pid(state, pid)?.0];
    matches!(parent.handle, Some(Handle::Simple(_))).then_some(pid)
}

pub(crate) fn by_pid(state: &RecordedTree, pid: Pid) -> Option<InstanceKey> {
    state.instances.iter().position(|instance| instance.pid == Some(pid)).map(InstanceKey)
}
