//! Stopping a node from outside and from inside.

use crate::core::Home;
use crate::dispatcher::any::Dispatcher;
use crate::shutdown::{stop_machine, stop_processes};
use crate::threads;
use crate::waiting::block_on;
use krarup_act::{CannotWait, Context, Host, Spawn, Stalled, behavior_fn, is_in_process};
use krarup_gen::Reason;
use parking_lot::Mutex;
use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

/// Stops a node once, however often it is asked to.
pub(crate) struct Stopper {
    /// How long the processes have, unless a stop says otherwise.
    pub(crate) timeout: Duration,
    phase: Mutex<Phase>,
    /// The timer thread, to be joined at the end.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

enum Phase {
    Running,
    Stopping(Vec<Waker>),
    Stopped,
}

impl Stopper {
    pub(crate) fn new(timeout: Duration, threads: Vec<JoinHandle<()>>) -> Self {
        Stopper { timeout, phase: Mutex::new(Phase::Running), threads: Mutex::new(threads) }
    }

    /// Begins to stop the node unless that has begun. A real node stops on a thread of
    /// its own, so that not even workers that are all blocked can hold it up; a
    /// simulation stops in a process.
    pub(crate) fn begin(self: &Arc<Self>, home: &Arc<Home>, timeout: Duration) {
        {
            let mut phase = self.phase.lock();
            if !matches!(*phase, Phase::Running) {
                return;
            }
            *phase = Phase::Stopping(Vec::new());
        }
        let stopper = Arc::clone(self);
        let home = Arc::clone(home);
        match &home.dispatcher {
            Dispatcher::Simulated(_) => {
                // Below the system root, as what it does is a service of the node.
                let host: Arc<dyn Host> = home.of_system();
                let core = Arc::clone(&home.core);
                let process = behavior_fn(move |ctx: Context<()>| async move {
                    stop_processes(Arc::clone(&home), timeout, Some(ctx.pid())).await;
                    stopper.finish(&home);
                    Ok(())
                });
                let _ = Spawn::outside(host, move || process).start();
                core.registry.close();
            }
            _ => {
                // Closed now, not when the thread gets to it: after `stop` has been
                // called nothing is spawned.
                home.core.registry.close();
                let run = {
                    let (stopper, home) = (Arc::clone(&stopper), Arc::clone(&home));
                    move || {
                        block_on(pin!(stop_processes(Arc::clone(&home), timeout, None)));
                        stopper.finish(&home);
                    }
                };
                if let Err(error) = threads::start(&format!("{}-stop", home.core.name), run) {
                    tracing::error!(
                        target: "krarup", %error,
                        "no thread to stop the node in order: it kills all and halts"
                    );
                    for process in home.core.registry.all() {
                        process.kill();
                    }
                    stopper.finish(&home);
                }
            }
        }
    }

    fn finish(&self, home: &Home) {
        stop_machine(&home.core);
        for thread in std::mem::take(&mut *self.threads.lock()) {
            let _ = thread.join();
        }
        let before = std::mem::replace(&mut *self.phase.lock(), Phase::Stopped);
        if let Phase::Stopping(waiting) = before {
            waiting.into_iter().for_each(Waker::wake);
        }
    }

    fn poll_stopped(&self, waker: &Waker) -> Poll<()> {
        match &mut *self.phase.lock() {
            Phase::Stopped => Poll::Ready(()),
            Phase::Running => Poll::Pending,
            Phase::Stopping(waiting) => {
                if !waiting.iter().any(|known| known.will_wake(waker)) {
                    waiting.push(waker.clone());
                }
                Poll::Pending
            }
        }
    }
}

/// An orderly stop of a node that has not been asked for yet (rule X2).
///
/// Top-level processes are stopped in the reverse order of their start, each tree by its
/// supervisors; what has not ended when the timeout is over is killed. Spawns fail with
/// [`krarup_gen::SpawnError::NodeStopping`] from the beginning. Afterwards no process,
/// thread or timer is left, unless a handler blocks its worker without an `await`, or work
/// given to [`krarup_act::Context::block`] does not return: nothing can end that, so after
/// 5 s more it is left behind with its thread, and reported.
#[must_use = "the node is not stopped until this is awaited, waited for or started"]
pub struct NodeStop {
    home: Arc<Home>,
    stopper: Arc<Stopper>,
    timeout: Duration,
}

impl NodeStop {
    /// How long the processes have for an orderly end, unless told otherwise here or by
    /// [`crate::NodeBuilder::stop_timeout`].
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

    pub(crate) fn new(home: Arc<Home>, stopper: Arc<Stopper>) -> Self {
        let timeout = stopper.timeout;
        NodeStop { home, stopper, timeout }
    }

    /// How long the processes have for an orderly end before they are killed: those of the
    /// user root, and then again those of the system root (rule X6). The first stop that is
    /// begun decides.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Begins the stop and goes on: what a handler does.
    pub fn start(self) {
        self.stopper.begin(&self.home, self.timeout);
    }

    /// Begins the stop and waits for its end on a plain thread. Inside a process it only
    /// begins it, for the process is among those that must end first.
    ///
    /// # Errors
    /// Processes are left that block their workers and cannot be ended. In a simulation:
    /// its processes wait for what never comes. On a thread that drives a runtime, which must
    /// `.await`: nothing has been done.
    pub fn wait(self) -> krarup_gen::Result {
        if !is_in_process() && self.home.is_driving_runtime() {
            return Err(Reason::error(CannotWait::InRuntime));
        }
        self.stopper.begin(&self.home, self.timeout);
        if is_in_process() {
            return Ok(());
        }
        let stopper = Arc::clone(&self.stopper);
        let mut stopped = pin!(poll_fn(|cx| stopper.poll_stopped(cx.waker())));
        self.home
            .wait(stopped.as_mut())
            .map_err(|Stalled| Reason::error("the simulation ran out of events"))?;
        self.left_behind()
    }

    /// An error if a process could not be ended.
    fn left_behind(&self) -> krarup_gen::Result {
        // In a simulation the stop is a process itself, and the last to end.
        let left = match &self.home.dispatcher {
            Dispatcher::Simulated(_) => 0,
            _ => self.home.core.registry.living(),
        };
        let (threads, _) = self.home.core.blocking.load();
        match (left, threads) {
            (0, 0) => Ok(()),
            (0, _) => Err(Reason::error(format!("{threads} blocking work(s) do not return"))),
            _ => Err(Reason::error(format!("{left} processes block their workers and live on"))),
        }
    }
}

impl IntoFuture for NodeStop {
    type Output = krarup_gen::Result;
    type IntoFuture = Pin<Box<dyn Future<Output = krarup_gen::Result> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            self.stopper.begin(&self.home, self.timeout);
            if !is_in_process() {
                poll_fn(|cx| self.stopper.poll_stopped(cx.waker())).await;
                self.left_behind()?;
            }
            Ok(())
        })
    }
}

impl fmt::Debug for NodeStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeStop({}, {:?})", self.home.core.name, self.timeout)
    }
}
