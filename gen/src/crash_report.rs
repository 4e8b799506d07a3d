//! Crash reports: what is known of a process that has failed.

use crate::{Label, MessageTotals, Name, Pid, ProcessKind, ReasonRecord, Recorded, RecordedItem};
use std::fmt;
use std::time::Duration;

/// A process that has ended abnormally, when nobody who may order that had ordered it.
///
/// A kill by the parent of the process, as a supervisor or a pool does to a child that does not
/// stop, makes no report, nor does the stop of the node. The report is made in the turn in which
/// the process ends, before anybody is told of the end. It holds no value of the user.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CrashReport {
    /// The process.
    pub pid: Pid,
    /// The name it had.
    pub name: Option<Name>,
    /// The label that it had given itself.
    pub label: Option<Name>,
    /// The label of its behaviour.
    pub behavior: Label,
    /// The kind of its behaviour.
    pub kind: ProcessKind,
    /// The process that had spawned it, the one that had spawned that, and so on, as far as they
    /// live; at most [`CrashReport::MOST_ANCESTORS`].
    pub ancestors: Vec<Ancestor>,
    /// Why it has ended.
    pub reason: ReasonRecord,
    /// What has ended it.
    pub cause: CrashCause,
    /// What it was handling.
    pub in_hand: Option<ItemInHand>,
    /// The message that it was handling, as text: if it had a flight recorder and its behaviour
    /// shows its messages.
    pub in_hand_text: Option<String>,
    /// The last items that it took, the oldest first, if it had a flight recorder. The last one
    /// is the one in hand, if there is one.
    pub recorded: Vec<Recorded<RecordedItem>>,
    /// Whether its `init` had returned.
    pub initialised: bool,
    /// How many messages waited on its Urgent lane.
    pub urgent: usize,
    /// How many messages waited on its System lane.
    pub system: usize,
    /// How many messages waited on its Main lane.
    pub main: usize,
    /// How many messages that it had accepted became dead letters.
    pub letters_lost: u64,
    /// Its messages.
    pub messages: MessageTotals,
    /// How long it has lived, as in [`ProcessInfo::uptime`](crate::ProcessInfo::uptime).
    pub uptime: Duration,
    /// How long workers have run it.
    pub running_time: Duration,
    /// The dispatcher that it ran on.
    pub dispatcher: String,
    /// The processes that it was linked to.
    pub links: Vec<Pid>,
    /// How many monitors were held on it.
    pub monitored_by: usize,
}

impl CrashReport {
    /// The most ancestors in a report.
    pub const MOST_ANCESTORS: usize = 64;

    /// Creates a report with everything else empty, for hosts to fill in.
    #[must_use]
    pub const fn new(pid: Pid, behavior: Label, reason: ReasonRecord) -> Self {
        CrashReport {
            pid,
            name: None,
            label: None,
            behavior,
            kind: ProcessKind::Process,
            ancestors: Vec::new(),
            reason,
            cause: CrashCause { kind: CrashCauseKind::Own, by: None, chain: Vec::new() },
            in_hand: None,
            in_hand_text: None,
            recorded: Vec::new(),
            initialised: true,
            urgent: 0,
            system: 0,
            main: 0,
            letters_lost: 0,
            messages: MessageTotals::new(0, 0, 0),
            uptime: Duration::ZERO,
            running_time: Duration::ZERO,
            dispatcher: String::new(),
            links: Vec::new(),
            monitored_by: 0,
        }
    }

    /// Returns the report after `fill`.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }
}

/// A process among the ancestors of another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Ancestor {
    /// The process.
    pub pid: Pid,
    /// Its name.
    pub name: Option<Name>,
    /// The label of its behaviour.
    pub behavior: Label,
    /// The kind of its behaviour.
    pub kind: ProcessKind,
}

impl Ancestor {
    /// Creates an ancestor. For hosts.
    #[must_use]
    pub const fn new(pid: Pid, name: Option<Name>, behavior: Label, kind: ProcessKind) -> Self {
        Ancestor { pid, name, behavior, kind }
    }
}

/// What has ended a process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct CrashCause {
    /// The kind of the cause.
    pub kind: CrashCauseKind,
    /// The process that has caused it, unless the process itself or code outside of any process
    /// has.
    pub by: Option<Pid>,
    /// For a link: the process at its other end, the one that had ended that, and so on, back to
    /// the first, as far as the node remembers their reports.
    pub chain: Vec<CrashLink>,
}

impl CrashCause {
    /// Creates a cause without a chain. For hosts.
    #[must_use]
    pub const fn new(kind: CrashCauseKind, by: Option<Pid>) -> Self {
        CrashCause { kind, by, chain: Vec::new() }
    }
}

/// A process in a chain of causes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct CrashLink {
    /// The process.
    pub pid: Pid,
    /// The name it had.
    pub name: Option<Name>,
    /// Why it has ended.
    pub reason: ReasonRecord,
}

impl CrashLink {
    /// Creates a link of a chain. For hosts.
    #[must_use]
    pub const fn new(pid: Pid, name: Option<Name>, reason: ReasonRecord) -> Self {
        CrashLink { pid, name, reason }
    }
}

/// The kinds of causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum CrashCauseKind {
    /// It returned an error, or panicked.
    Own,
    /// A process that it was linked to has ended.
    Link,
    /// Another process, or code outside of any, sent it an exit signal.
    Signal,
    /// Its parent, or its node, told it to stop, for an abnormal reason.
    Parent,
    /// It was killed.
    Kill,
}

impl CrashCauseKind {
    /// Returns the name of the kind, in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            CrashCauseKind::Own => "own",
            CrashCauseKind::Link => "link",
            CrashCauseKind::Signal => "signal",
            CrashCauseKind::Parent => "parent",
            CrashCauseKind::Kill => "kill",
        }
    }
}

impl fmt::Display for CrashCauseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An item that a process was handling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ItemInHand {
    /// The kind of the item.
    pub kind: ItemKind,
    /// The type of the message; `None` if it is no message, or one of another type than those of
    /// the process.
    pub type_name: Option<&'static str>,
    /// The sender; `None` if it came from outside of any process.
    pub sender: Option<Pid>,
}

impl ItemInHand {
    /// Creates an item. For hosts.
    #[must_use]
    pub const fn new(kind: ItemKind, type_name: Option<&'static str>, sender: Option<Pid>) -> Self {
        ItemInHand { kind, type_name, sender }
    }
}

/// The kinds of items that a process receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ItemKind {
    /// A message on Main.
    Message,
    /// A message on the Urgent or the System lane.
    Command,
    /// A message of another type than the process's own.
    Other,
    /// An exit signal.
    Exit,
    /// The notice of a monitor.
    Down,
    /// A request to stop.
    Stop,
    /// A request to end behind everything that was accepted.
    Finish,
    /// An idle timeout, or an alarm that the behaviour has set.
    Timeout,
    /// A request for an inspection.
    Inspect,
    /// A request for the state.
    State,
    /// A request to change the process.
    Manage,
}

impl ItemKind {
    /// Returns the name of the kind, in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ItemKind::Message => "message",
            ItemKind::Command => "command",
            ItemKind::Other => "other",
            ItemKind::Exit => "exit",
            ItemKind::Down => "down",
            ItemKind::Stop => "stop",
            ItemKind::Finish => "finish",
            ItemKind::Timeout => "timeout",
            ItemKind::Inspect => "inspect",
            ItemKind::State => "state",
            ItemKind::Manage => "manage",
        }
    }
}

impl fmt::Display for ItemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
