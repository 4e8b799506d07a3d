//! What a dispatcher is made with: its options, and what the node provides.

use super::turn_log::{Processes, TurnLog};
use crate::threads::{Around, ThreadName};
use crate::timers::clock::Clock;
use crate::timers::timer::NodeTimers;
use krarup_act::{Alarm, NodeRecords, TurnLimits};
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) name: String,
    /// The name of the node.
    pub(crate) node: String,
    /// Its creation, for the pids of its processes.
    pub(crate) creation: u32,
    pub(crate) workers: usize,
    pub(crate) spares: usize,
    /// Whether processes of high class go first; otherwise the class has no effect.
    pub(crate) classes: bool,
    /// Of each thread, in bytes.
    pub(crate) stack_size: Option<usize>,
    pub(crate) limits: TurnLimits,
    /// Longer turns are reported.
    pub(crate) long_turn: Option<Duration>,
    pub(crate) time: Time,
    pub(crate) processes: Processes,
    pub(crate) records: Arc<NodeRecords>,
    pub(crate) turn_log: TurnLog,
    pub(crate) around: Around,
}

impl Setup {
    /// The name of one of its threads.
    pub(crate) fn thread_name(&self, number: u64) -> ThreadName<'_> {
        ThreadName { node: &self.node, role: &self.name, number: Some(number) }
    }
}

/// The node's clock and timers.
#[derive(Clone)]
pub(crate) struct Time {
    pub(crate) clock: Arc<Clock>,
    pub(crate) timers: Arc<NodeTimers>,
}

impl Time {
    /// Calls `look` once after a delay, unless the dispatcher has been dropped by then: a timer
    /// must not keep it alive.
    pub(crate) fn look_after<D: Send + Sync + 'static>(
        &self,
        delay: Duration,
        dispatcher: &Arc<D>,
        look: fn(&Arc<D>),
    ) {
        let dispatcher = Arc::downgrade(dispatcher);
        let run = move || {
            if let Some(dispatcher) = dispatcher.upgrade() {
                look(&dispatcher);
            }
        };
        self.timers.set_internal(self.clock.now() + delay, Alarm::Run(Box::new(run)));
    }
}
