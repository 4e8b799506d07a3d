//! What the node knows of a process without asking it.

use crate::{Alias, Class, Label, Name, Pid, Root};
use std::fmt;
use std::time::Duration;

/// Where a process is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProcessState {
    /// Its `init` has not returned.
    Init,
    /// It waits for a message and has none.
    Idle,
    /// It has something to do and waits for a worker.
    Scheduled,
    /// A worker runs it.
    Running,
    /// Inside a handler it waits for something: a call, a timer, a socket.
    Waiting,
    /// It handles nothing until it is resumed (rule X5).
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

/// A picture of a process, taken at once and without its help (rule X3).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProcessInfo {
    /// Its pid.
    pub pid: Pid,
    /// Its registered name.
    pub name: Option<Name>,
    /// Its aliases.
    pub aliases: Vec<Alias>,
    /// What its behaviour is called.
    pub behavior: Label,
    /// Where it is in its life.
    pub state: ProcessState,
    /// The process that spawned it; `None` for one spawned from outside.
    pub parent: Option<Pid>,
    /// Whether it traps exit signals.
    pub trapping: bool,
    /// The processes it is linked to.
    pub links: Vec<Pid>,
    /// How many processes it monitors.
    pub monitors: usize,
    /// How many monitors are on it.
    pub monitored_by: usize,
    /// Messages waiting on the Urgent lane.
    pub urgent: usize,
    /// Messages waiting on the System lane.
    pub system: usize,
    /// Messages waiting on the Main lane.
    pub main: usize,
    /// The bound of the Main lane.
    pub mailbox: Option<usize>,
    /// Messages accepted from others on all lanes.
    pub messages_in: u64,
    /// Messages that it sent and that were accepted, requests among them; what it sends
    /// inside a turn is counted when the turn ends.
    pub messages_out: u64,
    /// Messages handled (its reductions), requests to inspect, suspend or show it among
    /// them. Not counted, here as in `messages_in`, is what the process has ordered itself:
    /// messages of its timers, pipes and subscriptions.
    pub handled: u64,
    /// The dispatcher it runs on.
    pub dispatcher: String,
    /// Its scheduling class (rule R6); of one that varies, the one that it has said last.
    pub class: Class,
    /// The root below which it lives (rule X6).
    pub root: Root,
    /// How long workers have been in it. Taken as an operating system does it: every 10 ms or
    /// so whoever runs is charged with the time since the look before. So it is right on
    /// the average, grows while a turn goes on, and says little about less than 10 ms. In a
    /// simulation it is zero: a turn takes no virtual time.
    pub running_time: Duration,
    /// Time since it was spawned.
    pub uptime: Duration,
}

impl ProcessInfo {
    /// A picture with everything else empty: for hosts, which fill it in.
    #[must_use]
    pub fn new(pid: Pid, behavior: Label, state: ProcessState) -> Self {
        ProcessInfo {
            pid,
            name: None,
            aliases: Vec::new(),
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
            mailbox: None,
            messages_in: 0,
            messages_out: 0,
            handled: 0,
            dispatcher: String::new(),
            class: Class::Normal,
            root: Root::User,
            running_time: Duration::ZERO,
            uptime: Duration::ZERO,
        }
    }

    /// The picture after `fill`.
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
    fn x3_states_classes_and_roots_print_what_they_are_called() {
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
