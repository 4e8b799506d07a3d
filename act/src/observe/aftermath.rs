//! What followed the end of a process: the decision of its supervisor or pool, and the process that
//! came in its place.

use crate::observe::records::NodeRecords;
use krarup_gen::{Aftermath, Pid, SupervisionAction, SupervisionEvent};

/// What the records say of the end of this process.
pub(crate) fn aftermath(records: &NodeRecords, dead: Pid) -> Aftermath {
    let events = records.restarts.page(0, usize::MAX).items;
    let events = || events.iter().map(|recorded| &*recorded.item);
    let is_end = |event: &&SupervisionEvent| {
        use SupervisionAction::{Abandoned, Ended, Restarting, Stopped};
        event.pid.is_some_and(|pid| pid.is_same_process(dead))
            && matches!(event.what, Ended | Restarting | Stopped | Abandoned)
    };
    let Some(end) = events().find(is_end) else { return Aftermath::default() };
    let later = || {
        let from_end = events().skip_while(|event| !std::ptr::eq(*event, end));
        from_end.filter(|event| event.by == end.by && event.child == end.child)
    };
    let decides = |event: &&SupervisionEvent| {
        use SupervisionAction::{EndedInOrder, GaveUp, Restarting, Started};
        matches!(event.what, EndedInOrder | GaveUp | Restarting | Started)
    };
    let decision = later().find(decides);
    let decision = decision.filter(|event| event.what != SupervisionAction::Started);
    let is_replaced = decision.is_some_and(|event| event.what == SupervisionAction::Restarting);
    let comes = |event: &&SupervisionEvent| {
        event.what == SupervisionAction::Started
            && (end.child.is_some() || event.replaces.is_some_and(|pid| pid.is_same_process(dead)))
    };
    let successor = later().find(comes).filter(|_| is_replaced);
    Aftermath::default().with(|aftermath| {
        aftermath.watched_by = Some((end.by, end.by_kind));
        aftermath.watched_by_name.clone_from(&end.by_name);
        aftermath.decision = Some(decision.unwrap_or(end).clone());
        aftermath.replaced_by = successor.and_then(|event| event.pid);
    })
}
