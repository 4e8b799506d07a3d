//! The order in which the events of a step are printed, where Erlang does not define it.

use crate::record::{Book, Event, Handle, InstanceKey, What};
use krarup::Pid;
use std::collections::HashSet;

/// Returns the events of a step as lines. Events below a killed supervisor come last. Those
/// of the dynamic children of one supervisor, which end at the same time, are sorted.
pub(crate) fn lines(book: &Book, touched: Option<InstanceKey>) -> Vec<String> {
    let killed: HashSet<Pid> = book
        .events
        .iter()
        .filter(|event| event.what == What::Exit && event.text.as_deref() == Some("killed"))
        .map(|event| &book.instances[event.of.0])
        .filter(|instance| !matches!(instance.handle, Some(Handle::Worker(_))))
        .filter_map(|instance| instance.pid)
        .collect();
    let (mut orphans, main): (Vec<&Event>, Vec<&Event>) = book
        .events
        .iter()
        .partition(|event| event.what != What::Init && is_below(book, event.of, &killed));
    orphans.sort_by_key(|event| rank(book, event));

    let mut lines = Vec::new();
    let mut rest = &main[..];
    while let Some(first) = rest.first() {
        let owner = dynamic_owner(book, first);
        let length = match owner {
            None => 1,
            owner => rest.iter().take_while(|event| dynamic_owner(book, event) == owner).count(),
        };
        let (run, after) = rest.split_at(length);
        let mut run = run.to_vec();
        if owner.is_some() {
            run.sort_by_key(|event| (Some(event.of) != touched, rank(book, event)));
        }
        lines.extend(run.into_iter().map(|event| line(book, event)));
        rest = after;
    }
    lines.extend(orphans.into_iter().map(|event| format!("orphan {}", line(book, event))));
    lines
}

fn rank(book: &Book, event: &Event) -> (String, u32, What) {
    let instance = &book.instances[event.of.0];
    (instance.id.clone(), instance.number, event.what)
}

fn line(book: &Book, event: &Event) -> String {
    let instance = &book.instances[event.of.0];
    let what = match event.what {
        What::Init => "init",
        What::Info => "info",
        What::Term => "term",
        What::Exit => "exit",
    };
    let text = event.text.as_deref().unwrap_or("?");
    format!("{what} {}#{} {text}", instance.id, instance.number)
}

fn is_below(book: &Book, of: InstanceKey, killed: &HashSet<Pid>) -> bool {
    let mut parent = book.instances[of.0].parent;
    while let Some(pid) = parent {
        if killed.contains(&pid) {
            return true;
        }
        parent = by_pid(book, pid).and_then(|key| book.instances[key.0].parent);
    }
    false
}

/// Returns the `simple_one_for_one` supervisor above the process, if the event belongs to
/// its end.
fn dynamic_owner(book: &Book, event: &Event) -> Option<Pid> {
    if !matches!(event.what, What::Term | What::Exit) {
        return None;
    }
    let pid = book.instances[event.of.0].parent?;
    let parent = &book.instances[by_pid(book, pid)?.0];
    matches!(parent.handle, Some(Handle::Simple(_))).then_some(pid)
}

pub(crate) fn by_pid(book: &Book, pid: Pid) -> Option<InstanceKey> {
    book.instances.iter().position(|instance| instance.pid == Some(pid)).map(InstanceKey)
}
