//! The crash report of a process that has failed. It is made only if its node remembers crashes.

use super::cell_core::CellCore;
use super::exit_source::ExitSource;
use super::relations::Bonds;
use crate::host::host::Host;
use crate::lifecycle::owned_tasks::TASK_LABEL;
use crate::mailbox::inbox_core::InboxCore;
use crate::observe::records::NodeRecords;
use crate::observe::state_label::StateLabel;
use crate::process::crash::contain;
use krarup_gen::{
    Ancestor, CrashCause, CrashCauseKind, CrashLink, CrashReport, ItemInHand, ItemKind, Label,
    MessageTotals, Name, Pid, ProcessKind, Reason, ReasonRecord, Recorded, RecordedItem, one_line,
};
use std::sync::Arc;
use std::time::Duration;

/// What the mailbox told when it was closed.
pub(super) struct DeathNote {
    urgent: usize,
    system: usize,
    main: usize,
    source: Option<ExitSource>,
    in_hand: Option<ItemInHand>,
    ran: Duration,
    /// The state that it shows as its label.
    shown: StateLabel,
}

impl DeathNote {
    /// Notes what the report will need. `in_hand` is the last item that the process received.
    pub(super) fn of(
        cell: &CellCore,
        inbox: &mut InboxCore,
        in_hand: Option<ItemInHand>,
        ran: Duration,
    ) -> Self {
        let (urgent, system) = inbox.control_lengths();
        let main = cell.waiting(inbox);
        let source = inbox.cold_if_any().and_then(|cold| cold.exit_source.take());
        let source = source.filter(|source| source.taken);
        let handling = source.is_none_or(|source| source.handling == Some(true));
        let in_hand = in_hand.filter(|_| handling);
        DeathNote { urgent, system, main, source, in_hand, ran, shown: inbox.shown }
    }
}

/// What the stages of the end know.
pub(super) struct Dead<'a> {
    pub(super) reason: &'a Reason,
    pub(super) note: &'a DeathNote,
    pub(super) recorded: &'a [Recorded<RecordedItem>],
    pub(super) name: Option<&'a Name>,
    pub(super) bonds: Option<&'a Bonds>,
    pub(super) initialised: bool,
    pub(super) letters_lost: u64,
    pub(super) messages: MessageTotals,
}

/// Makes the report of a process that has ended abnormally, unless the end was ordered.
#[cold]
pub(super) fn report(cell: &CellCore, records: &NodeRecords, dead: &Dead<'_>) {
    let host = &*cell.host;
    let mut cause = cause(cell, dead);
    if is_ordered(cell, records, dead, &cause) {
        return;
    }
    let given = dead.bonds.and_then(Bonds::behavior_label).cloned();
    let behavior = given.map_or_else(|| cell.type_label(), Label::given);
    let reason = ReasonRecord::of(dead.reason);
    cause.chain = chain(records, &cause, &reason);
    let report = CrashReport::new(cell.pid(), behavior, reason).with(|report| {
        report.name = dead.name.cloned();
        let own_label = dead.bonds.and_then(Bonds::own_label).cloned();
        report.label = own_label.or_else(|| cell.text_of(dead.note.shown));
        report.kind = cell.kind();
        report.ancestors = ancestors(host, cell.parent_pid());
        report.cause = cause;
        report.in_hand = dead.note.in_hand;
        report.in_hand_text = text_in_hand(dead);
        report.recorded = dead.recorded.to_vec();
        report.initialised = dead.initialised;
        report.urgent = dead.note.urgent;
        report.system = dead.note.system;
        report.main = dead.note.main;
        report.letters_lost = dead.letters_lost;
        report.messages = dead.messages;
        report.uptime = host.now().since(cell.started);
        report.running_time = dead.note.ran;
        host.dispatcher_name().clone_into(&mut report.dispatcher);
        report.links = dead
            .bonds
            .map(|bonds| bonds.links.iter().map(|(pid, _)| *pid).collect())
            .unwrap_or_default();
        report.monitored_by = dead.bonds.map_or(0, |bonds| bonds.watched.len());
    });
    tracing::error!(
        target: "krarup::crash", pid = %report.pid, name = report.name.as_ref().map(Name::as_str),
        label = report.label.as_ref().map(Name::as_str), behavior = %report.behavior,
        reason = %one_line(&report.reason), cause = %report.cause.kind,
        by = report.cause.by.map(tracing::field::display),
        in_hand = report.in_hand.and_then(|item| item.type_name),
        sender = report.in_hand.and_then(|item| item.sender).map(tracing::field::display),
        letters_lost = report.letters_lost, handled = report.messages.handled, "a process crashed"
    );
    let about: Vec<_> = [Some(report.pid), report.cause.by, sender_of(&report), owner_of(cell)]
        .into_iter()
        .flatten()
        .collect();
    let application = host.application().map(|(name, _)| name);
    records.crash(report, &about, application, host.now());
}

/// The process whose message the process could not handle.
fn sender_of(report: &CrashReport) -> Option<Pid> {
    report.in_hand.and_then(|item| item.sender)
}

/// The owner of a task: the task is its doing.
fn owner_of(cell: &CellCore) -> Option<Pid> {
    (cell.type_label().full() == TASK_LABEL).then(|| cell.parent_pid()).flatten()
}

/// Whether somebody listens to the log events of crashes. The log subscriber is user code.
pub(super) fn logs_crashes() -> bool {
    contain(|| tracing::enabled!(target: "krarup::crash", tracing::Level::ERROR)).unwrap_or(false)
}

/// The message in hand as text. It is the last one that was recorded.
fn text_in_hand(dead: &Dead<'_>) -> Option<String> {
    dead.note.in_hand?;
    dead.recorded.last()?.item.text.clone()
}

/// What has ended the process.
fn cause(cell: &CellCore, dead: &Dead<'_>) -> CrashCause {
    if let Some(source) = dead.note.source {
        let parent = cell.parent_pid();
        let by_parent = source.kind == CrashCauseKind::Signal
            && source.by.zip(parent).is_some_and(|(by, parent)| by.is_same_process(parent));
        let kind = if by_parent { CrashCauseKind::Parent } else { source.kind };
        return CrashCause::new(kind, source.by);
    }
    // A stop is received as an item, and obeyed.
    match dead.note.in_hand {
        Some(item) if item.kind == ItemKind::Stop => {
            CrashCause::new(CrashCauseKind::Parent, cell.parent_pid())
        }
        _ => CrashCause::new(CrashCauseKind::Own, None),
    }
}

/// Whether the parent has killed the process, or the node stops; or whether it falls with its supervisor or its
/// pool, which has a report. Where a stranger is linked to it, the stranger's needs its own.
fn is_ordered(cell: &CellCore, records: &NodeRecords, dead: &Dead<'_>, cause: &CrashCause) -> bool {
    let killed = cause.kind == CrashCauseKind::Kill && matches!(dead.reason, Reason::Killed);
    if killed && cell.host.is_node_stopping() {
        return true;
    }
    let Some(parent) = cell.parent_pid() else { return false };
    let by_parent = cause.by.is_some_and(|by| by.is_same_process(parent));
    let falls = match cause.kind {
        CrashCauseKind::Link => by_parent,
        // A stop for which the parent has asked, or, for who traps it, the end of the parent.
        CrashCauseKind::Parent => cell.host.process(parent).is_none(),
        _ => false,
    };
    let has_many = |kind| matches!(kind, ProcessKind::Supervisor | ProcessKind::Pool);
    let parent_is_told = || {
        let told = records.crashes.newest(|report| report.pid.is_same_process(parent));
        told.is_some_and(|recorded| has_many(recorded.item.kind))
    };
    let falls =
        falls && !has_many(cell.kind()) && parent_is_told() && !has_stranger(cell, dead, parent);
    (killed && by_parent) || falls
}

/// Whether a living process is linked to it that is neither its parent nor its child.
fn has_stranger(cell: &CellCore, dead: &Dead<'_>, parent: Pid) -> bool {
    let is_own = |other: Pid| other.is_same_process(cell.pid());
    let is_stranger = |pid: Pid| {
        !pid.is_same_process(parent)
            && cell.host.process(pid).is_some_and(|process| !process.parent().is_some_and(is_own))
    };
    dead.bonds.is_some_and(|bonds| bonds.links.iter().any(|(pid, _)| is_stranger(*pid)))
}

/// The processes over whose links the end came, the nearest first.
fn chain(records: &NodeRecords, cause: &CrashCause, reason: &ReasonRecord) -> Vec<CrashLink> {
    let Some(by) = cause.by.filter(|_| cause.kind == CrashCauseKind::Link) else {
        return Vec::new();
    };
    match records.crashes.newest(|report| report.pid.is_same_process(by)) {
        Some(recorded) => {
            let CrashReport { pid, name, reason, cause, .. } = &*recorded.item;
            let first = CrashLink::new(*pid, name.clone(), reason.clone());
            std::iter::once(first).chain(cause.chain.iter().cloned()).take(MOST_LINKS).collect()
        }
        None => vec![CrashLink::new(by, None, reason.clone())],
    }
}

/// The most processes in a chain.
const MOST_LINKS: usize = 64;

fn ancestors(host: &dyn Host, parent: Option<krarup_gen::Pid>) -> Vec<Ancestor> {
    let mut next = parent;
    let mut ancestors = Vec::new();
    while ancestors.len() < CrashReport::MOST_ANCESTORS
        && let Some(process) = next.and_then(|pid| host.process(pid))
    {
        let name = process.relations().name().cloned();
        let kind = process.sample().map_or_else(Default::default, |sample| sample.kind);
        ancestors.push(Ancestor::new(process.pid(), name, process.behavior(), kind));
        next = Arc::clone(&process).parent();
    }
    ancestors
}
