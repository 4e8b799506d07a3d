//! The node's view of a dispatcher of any kind.

use super::calling_thread::{self, Calling};
use super::executor::ExecutorDispatcher;
use super::pinned::Pinned;
use super::shared::SharedDispatcher;
use crate::simulation::dispatcher::Simulated;
use crate::simulation::recorder::Recorder;
use krarup_act::{Poke, Ready};
use krarup_gen::{Class, CurrentTurn, DispatcherStats, Pid, Timestamp};
use std::io;
use std::sync::Arc;

#[derive(Clone)]
pub(crate) enum Dispatcher {
    Shared(Arc<SharedDispatcher>),
    /// The same dispatcher for processes of another class. It is a variant of its own so that
    /// scheduling any other process checks nothing.
    Classed(Arc<SharedDispatcher>, Class),
    Pinned(Arc<Pinned>),
    Executor(Arc<ExecutorDispatcher>),
    CallingThread(Arc<Calling>),
    Simulated(Arc<Simulated>),
}

impl Dispatcher {
    #[inline]
    pub(crate) fn schedule(&self, ready: Ready) {
        match self {
            Dispatcher::Shared(shared) => shared.schedule(ready),
            _ => self.schedule_there(ready),
        }
    }

    /// Out of line, so that the shared dispatcher, which runs most processes, is one comparison
    /// away.
    #[cold]
    fn schedule_there(&self, ready: Ready) {
        match self {
            Dispatcher::Shared(shared) => shared.schedule(ready),
            Dispatcher::Classed(shared, class) => {
                if *class == Class::High || ready.is_high() {
                    shared.schedule_high(ready);
                } else {
                    shared.schedule(ready);
                }
            }
            Dispatcher::Pinned(pinned) => pinned.schedule(ready),
            Dispatcher::Executor(executor) => executor.schedule(ready),
            Dispatcher::CallingThread(calling) => calling.schedule(ready),
            Dispatcher::Simulated(simulated) => simulated.schedule(ready),
        }
    }

    /// The same dispatcher, for processes of this class.
    pub(crate) fn of_class(&self, class: Class) -> Dispatcher {
        match (self, class) {
            (Dispatcher::Shared(shared) | Dispatcher::Classed(shared, _), Class::Normal) => {
                Dispatcher::Shared(Arc::clone(shared))
            }
            (Dispatcher::Shared(shared) | Dispatcher::Classed(shared, _), class)
                if shared.has_classes() =>
            {
                Dispatcher::Classed(Arc::clone(shared), class)
            }
            (same, _) => same.clone(),
        }
    }

    /// Prepares for a process of this class, which is about to be admitted.
    pub(crate) fn expect(&self, pid: Pid, class: Class) -> io::Result<()> {
        match self {
            Dispatcher::Pinned(pinned) => pinned.slot(pid.id())?,
            Dispatcher::Simulated(simulated) => simulated.expect(pid, class),
            _ => {}
        }
        Ok(())
    }

    /// Removes a process that has ended or was not admitted.
    #[inline]
    pub(crate) fn forget(&self, pid: Pid) {
        match self {
            Dispatcher::Pinned(pinned) => pinned.vacate(pid.id()),
            Dispatcher::Simulated(simulated) => simulated.forget(pid),
            _ => {}
        }
    }

    /// See [`Host::keeps_to_one_thread`](krarup_act::Host::keeps_to_one_thread).
    pub(crate) fn keeps_to_one_thread(&self) -> bool {
        match self {
            Dispatcher::Pinned(_) | Dispatcher::Simulated(_) => true,
            Dispatcher::Executor(executor) => executor.keeps_to_one_thread(),
            Dispatcher::Shared(_) | Dispatcher::Classed(..) | Dispatcher::CallingThread(_) => false,
        }
    }

    /// The recorder of events, if this is the dispatcher of a simulation.
    #[inline]
    pub(crate) fn recorder(&self) -> Option<&Recorder> {
        match self {
            Dispatcher::Simulated(simulated) => Some(&simulated.recorder),
            _ => None,
        }
    }

    /// See [`Host::poke_later`](krarup_act::Host::poke_later).
    pub(crate) fn poke_later(&self, poke: &dyn Fn() -> Arc<dyn Poke>) -> bool {
        match self {
            Dispatcher::Shared(shared) | Dispatcher::Classed(shared, _) => shared.poke_later(poke),
            Dispatcher::Simulated(simulated) => simulated.poke_later(poke),
            _ => false,
        }
    }

    /// See [`Host::recent_time`](krarup_act::Host::recent_time).
    #[inline]
    pub(crate) fn recent_time(&self) -> Option<Timestamp> {
        match self {
            Dispatcher::Shared(shared) | Dispatcher::Classed(shared, _) => shared.recent_time(),
            _ => None,
        }
    }

    /// Tells the workers that turns are recorded from now on. The other kinds look for themselves.
    pub(crate) fn record_turns(&self) {
        if let Dispatcher::Shared(shared) | Dispatcher::Classed(shared, _) = self {
            shared.priority_queue.begin_recording();
        }
    }

    /// Tells the threads to end after their current turn. Does not wait. The nodes of a
    /// simulation share a dispatcher: it drops what belongs to the node with this creation.
    pub(crate) fn signal_stop(&self, creation: u32) {
        match self {
            Dispatcher::Shared(shared) | Dispatcher::Classed(shared, _) => shared.signal_stop(),
            Dispatcher::Pinned(pinned) => pinned.signal_stop(),
            Dispatcher::Executor(executor) => executor.signal_stop(),
            Dispatcher::CallingThread(_) => {}
            Dispatcher::Simulated(simulated) => simulated.clear(creation),
        }
    }

    /// Waits for the threads to end, after [`Dispatcher::signal_stop`].
    pub(crate) fn join(&self) {
        match self {
            Dispatcher::Shared(shared) | Dispatcher::Classed(shared, _) => shared.join(),
            Dispatcher::Pinned(pinned) => pinned.join(),
            Dispatcher::Executor(_) | Dispatcher::CallingThread(_) | Dispatcher::Simulated(_) => {}
        }
    }

    /// Runs the last turn of each process that is left after the stop. The process was killed,
    /// so it ends in that turn, and everything that waits for its end is notified.
    pub(crate) fn clear(&self) {
        match self {
            Dispatcher::Shared(shared) | Dispatcher::Classed(shared, _) => shared.clear(),
            Dispatcher::Pinned(pinned) => pinned.clear(),
            Dispatcher::Executor(_) | Dispatcher::CallingThread(_) | Dispatcher::Simulated(_) => {}
        }
        calling_thread::after_turn(|_| {});
    }

    /// The number of timers of the node with this creation that are due and have not fired.
    pub(crate) fn due_timers(&self, creation: u32) -> usize {
        match self {
            Dispatcher::Simulated(simulated) => simulated.due(creation),
            _ => 0,
        }
    }

    /// The turns that run now; `creation` is that of the node. Only dispatchers with a watchdog know them.
    pub(crate) fn current_turns(&self, creation: u32) -> Vec<CurrentTurn> {
        match self {
            Dispatcher::Shared(shared) | Dispatcher::Classed(shared, _) => {
                shared.current_turns(creation)
            }
            Dispatcher::Pinned(pinned) => pinned.current_turns(creation),
            Dispatcher::Executor(_) | Dispatcher::CallingThread(_) | Dispatcher::Simulated(_) => {
                Vec::new()
            }
        }
    }

    pub(crate) fn stats(&self) -> DispatcherStats {
        match self {
            Dispatcher::Shared(shared) | Dispatcher::Classed(shared, _) => shared.stats(),
            Dispatcher::Pinned(pinned) => pinned.stats(),
            Dispatcher::Executor(executor) => executor.stats(),
            Dispatcher::CallingThread(calling) => calling.stats(),
            Dispatcher::Simulated(simulated) => simulated.stats(),
        }
    }
}
