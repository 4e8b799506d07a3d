//! Snapshots of processes.

use crate::{Alias, Class, Label, Name, Pid, PoolGauges, ProcessKind, Root, Wait};
use std::fmt;
use std::time::Duration;

/// The state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ProcessState {
    /// Its `init` has not returned.
    Init,
    /// It waits for a message.
    Idle,
    /// It is ready and waits for a worker.
    Scheduled,
    /// A worker runs it.
    Running,
    /// It waits inside a handler, for example for a call, a timer or a socket.
    Waiting,
    /// It is suspended: it handles nothing until it is resumed (rule X5).
    Suspended,
    /// It has ended.
    Terminated,
}

impl fmt::Display for ProcessState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProcessState::Init => "init",
            ProcessState::Idle => "idle",
            ProcessState::Scheduled => "scheduled",
            ProcessState::Running => "running",
            ProcessState::Waiting => "waiting",
            ProcessState::Suspended => "suspended",
            ProcessState::Terminated => "terminated",
        })
    }
}

/// A snapshot of a process, taken at once and without its help (rule X3).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ProcessInfo {
    /// Its pid.
    pub pid: Pid,
    /// Its registered name.
    pub name: Option<Name>,
    /// Its aliases.
    pub aliases: Vec<Alias>,
    /// The label that it has given itself, for example the order that it works on
    /// (`Context::set_label`). Not the label of its behaviour.
    pub label: Option<Name>,
    /// The kind of its behaviour.
    pub kind: ProcessKind,
    /// The label of its behaviour.
    pub behavior: Label,
    /// Its state.
    pub state: ProcessState,
    /// The process that spawned it; `None` for one spawned from outside.
    pub parent: Option<Pid>,
    /// Whether it traps exit signals.
    pub trapping: bool,
    /// The processes it is linked to.
    pub links: Vec<Pid>,
    /// How many processes it monitors.
    pub monitors: usize,
    /// How many monitors are held on it.
    pub monitored_by: usize,
    /// How many messages wait on the Urgent lane.
    pub urgent: usize,
    /// How many messages wait on the System lane.
    pub system: usize,
    /// How many messages of others wait on the Main lane.
    ///
    /// As in `messages_in`, messages of its own timers and pipes are not counted, nor are events of
    /// topics until they are taken.
    pub main: usize,
    /// How many messages it has stashed (`Context::stash`) and not handled again yet (rule M9). They
    /// count as handled, and not towards the bound.
    pub stashed: usize,
    /// The bound of the Main lane.
    pub mailbox: Option<usize>,
    /// How many senders wait for room in its mailbox, or at its pool.
    pub room_waiters: usize,
    /// The process that it waits for inside a handler: for the answer of a call and nothing
    /// else, or for room.
    pub waits: Option<Wait>,
    /// How many suspensions are in effect: it handles nothing until as many were taken back
    /// (rule X5).
    pub suspensions: u32,
    /// Whether a tracer is called with what it receives (rule X5).
    pub traced: bool,
    /// How many of the messages that it takes are recorded; 0: none are.
    pub recorded: usize,
    /// The type of the messages on its Main lane.
    pub message_type: &'static str,
    /// The type of the messages on its Urgent and System lanes.
    pub command_type: &'static str,
    /// The bytes of its fixed parts, of the future of its behaviour and of the messages that
    /// wait in its mailbox. Memory that these point at is not included.
    pub shallow_bytes: usize,
    /// The numbers of its pool, if it is one.
    pub pool: Option<PoolGauges>,
    /// How many messages it has received.
    ///
    /// | counted | not counted |
    /// |---|---|
    /// | messages that its mailbox has accepted on Main, room that is reserved there, and messages that were dropped later as the oldest of a full mailbox | messages that a full mailbox has given back, diverted, or dropped as the newest |
    /// | everything on the Urgent and System lanes: commands, a request to stop, to inspect it, to suspend it or to show its state, and urgent notices of links and monitors | other notices of links and monitors; `finish` |
    /// | events of topics, when it takes them | messages of its timers and pipes, and others that are sent regardless of the bound (`notify`) |
    pub messages_in: u64,
    /// How many messages it has sent, including the requests of calls, and were not given back.
    ///
    /// A message that the full mailbox of its receiver drops or diverts is counted. A request to
    /// stop, to inspect or to suspend a process, or to show its state, is not, although its
    /// receiver counts it in `messages_in`. Messages sent in a turn are counted when the turn
    /// ends.
    pub messages_out: u64,
    /// How many messages it has handled (its reductions): those of `messages_in` that it has taken,
    /// also a request to stop, to inspect it, to suspend it or to show its state.
    pub handled: u64,
    /// The dispatcher it runs on.
    pub dispatcher: String,
    /// Its scheduling class (rule R6). If the class varies, the one that it set last.
    pub class: Class,
    /// The root of its tree of processes (rule X6).
    pub root: Root,
    /// The application to which it belongs (rule A6).
    pub application: Option<Name>,
    /// How long workers have run it.
    ///
    /// It is sampled: about every 10 ms the running process is charged with the time since the
    /// last sample. So it is right on average, grows during a turn, and is inaccurate below 10
    /// ms. In a simulation it is zero, because a turn takes no virtual time.
    pub running_time: Duration,
    /// The time since it was spawned. A spawn in a turn of a dispatcher with shared workers counts from the
    /// last sample of the running time, some 10 ms before.
    pub uptime: Duration,
}

impl ProcessInfo {
    /// Creates a snapshot with everything else empty, for hosts to fill in.
    #[must_use]
    pub fn new(pid: Pid, behavior: Label, state: ProcessState) -> Self {
        ProcessInfo {
            pid,
            name: None,
            aliases: Vec::new(),
            label: None,
            kind: ProcessKind::Process,
            behavior,
            state,
            parent: None,
            trapping: false,
            links: Vec::new(),
            monitors: 0,
            monitored_by: 0,
            urgent: 0,
            system: 0,
            main: 0,
            stashed: 0,
            mailbox: None,
            room_waiters: 0,
            waits: None,
            suspensions: 0,
            traced: false,
            recorded: 0,
            message_type: "",
            command_type: "",
            shallow_bytes: 0,
            pool: None,
            messages_in: 0,
            messages_out: 0,
            handled: 0,
            dispatcher: String::new(),
            class: Class::Normal,
            root: Root::User,
            application: None,
            running_time: Duration::ZERO,
            uptime: Duration::ZERO,
        }
    }

    /// Returns the snapshot after `fill`.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x3_states_classes_and_roots_print_their_names() {
        use ProcessState::{Idle, Init, Running, Scheduled, Suspended, Terminated, Waiting};
        let states = [Init, Idle, Scheduled, Running, Waiting, Suspended, Terminated];
        let printed = states.map(|state| state.to_string());
        let called = ["init", "idle", "scheduled", "running", "waiting", "suspended", "terminated"];
        assert_eq!(printed, called);
        let classes = [Class::Normal, Class::High, Class::Varying].map(|it| it.to_string());
        assert_eq!(classes, ["normal", "high", "varying"]);
        assert_eq!([Root::User, Root::System].map(|it| it.to_string()), ["user", "system"]);
    }
}
