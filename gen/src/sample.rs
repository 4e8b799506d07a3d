//! Samples: processes as plain numbers.

use crate::{Class, Pid, ProcessKind, ProcessState, Root, Wait};
use std::time::Duration;

/// The numbers of one process at one moment, taken without its help.
///
/// A sample holds no text and no allocation, so that a node of a million processes can be
/// sampled. Names, labels and the rest are in [`ProcessInfo`](crate::ProcessInfo). A counter here
/// has the value and the meaning of the field of that name there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Sample {
    /// Its pid.
    pub pid: Pid,
    /// The process that spawned it; `None` for one spawned from outside.
    pub parent: Option<Pid>,
    /// The root of its tree of processes (rule X6).
    pub root: Root,
    /// The kind of its behaviour.
    pub kind: ProcessKind,
    /// Its scheduling class (rule R6).
    pub class: Class,
    /// Its state.
    pub state: ProcessState,
    /// How many messages wait on the Urgent lane.
    pub urgent: usize,
    /// How many messages wait on the System lane.
    pub system: usize,
    /// How many messages of others wait on the Main lane; see
    /// [`ProcessInfo::main`](crate::ProcessInfo::main).
    pub main: usize,
    /// The bound of the Main lane.
    pub mailbox: Option<usize>,
    /// How many senders wait for room in its mailbox, or at its pool.
    pub room_waiters: usize,
    /// How many messages it has received: see `ProcessInfo::messages_in`.
    pub messages_in: u64,
    /// How many messages it has sent that were not given back: see `ProcessInfo::messages_out`.
    pub messages_out: u64,
    /// How many messages it has handled: see `ProcessInfo::handled`.
    pub handled: u64,
    /// How many messages it has taken off Main. While this stays as it is and `main` is not 0,
    /// the same message is first in line.
    pub taken: u64,
    /// The sender of the first message that still lies in the mailbox. A process takes messages
    /// out in batches, so this can be a later message than the next one. `None` if the mailbox
    /// is empty, or if the message came from outside any process.
    pub head_sender: Option<Pid>,
    /// The process that it waits for inside a handler.
    pub waits: Option<Wait>,
    /// How many suspensions are in effect (rule X5).
    pub suspensions: u32,
    /// How long workers have run it.
    pub running_time: Duration,
    /// The time since it was spawned, as in [`ProcessInfo::uptime`](crate::ProcessInfo::uptime).
    pub uptime: Duration,
}

impl Sample {
    /// Creates a sample with all numbers at zero, for hosts to fill in.
    #[must_use]
    pub const fn new(pid: Pid, kind: ProcessKind, state: ProcessState) -> Self {
        Sample {
            pid,
            parent: None,
            root: Root::User,
            kind,
            class: Class::Normal,
            state,
            urgent: 0,
            system: 0,
            main: 0,
            mailbox: None,
            room_waiters: 0,
            messages_in: 0,
            messages_out: 0,
            handled: 0,
            taken: 0,
            head_sender: None,
            waits: None,
            suspensions: 0,
            running_time: Duration::ZERO,
            uptime: Duration::ZERO,
        }
    }

    /// Returns the sample after `fill`.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }
}
