//! Stops a node, from outside and from inside.

use crate::block_on::block_on;
use crate::core::DispatcherHost;
use crate::dispatcher::any::Dispatcher;
use crate::once_value::OnceValue;
use crate::stop::shutdown::{contained, kill_all, stop_machine, stop_processes};
use crate::stop::stopped::Stopped;
use crate::threads::{self, ThreadName};
use krarup_act::{
    self as act, Contained, Host, Spawn, Stalled, TableCursor, behavior_fn, current_pid,
    is_in_process,
};
use krarup_gen::{CannotWait, Reason};
use parking_lot::Mutex;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How many of the processes that are left an error names.
const NAMED: usize = 8;

/// Stops a node once, however often a stop is requested.
pub(crate) struct Stopper {
    /// How long the processes have, unless a stop sets another time.
    pub(crate) timeout: Duration,
    /// Why the node stops, when a stop has begun.
    begun: Mutex<Option<Stopped>>,
    /// The same, when the node has stopped.
    stopped: Arc<OnceValue<Stopped>>,
    /// The timer thread, which is joined at the end.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Stopper {
    pub(crate) fn new(timeout: Duration, threads: Vec<JoinHandle<()>>) -> Self {
        Stopper {
            timeout,
            begun: Mutex::default(),
            stopped: Arc::default(),
            threads: Mutex::new(threads),
        }
    }

    /// Set when the node has stopped.
    pub(crate) fn stopped(&self) -> &Arc<OnceValue<Stopped>> {
        &self.stopped
    }

    /// Begins to stop the node unless a stop has begun. A real node stops on a separate thread,
    /// so that it stops even if all workers are blocked. A simulation stops in a process.
    pub(crate) fn begin(
        self: &Arc<Self>,
        host: &Arc<DispatcherHost>,
        timeout: Duration,
        why: Stopped,
    ) {
        {
            let mut begun = self.begun.lock();
            if begun.is_some() {
                return;
            }
            *begun = Some(why);
        }
        let stopper = Arc::clone(self);
        let host = Arc::clone(host);
        match &host.dispatcher {
            Dispatcher::Simulated(simulated) => {
                // Below the system root, because it is a service of the node.
                let system: Arc<dyn Host> = host.of_system();
                let (core, simulated) = (Arc::clone(&host.core), Arc::clone(simulated));
                let process = behavior_fn(move |ctx: act::Context<()>| async move {
                    let stop = stop_processes(Arc::clone(&host), timeout, Some(ctx.pid()));
                    if Contained::new(pin!(stop)).await.is_err() {
                        kill_all(&host.core);
                    }
                    stopper.finish(&host);
                    Ok(())
                });
                let started = Spawn::outside(system, move || process).label("node stop").start();
                // No fault hits the thread on which a real node stops.
                if let Ok(stop) = started {
                    simulated.spare(stop.pid());
                }
                core.registry.close_to_top_level();
            }
            _ => {
                // Closed now and not by the thread: after `stop` has been called no top-level
                // process is spawned.
                host.core.registry.close_to_top_level();
                let run = {
                    let (stopper, host) = (Arc::clone(&stopper), Arc::clone(&host));
                    move || {
                        let stop = stop_processes(Arc::clone(&host), timeout, None);
                        if block_on(pin!(Contained::new(stop))).is_err() {
                            kill_all(&host.core);
                        }
                        stopper.finish(&host);
                    }
                };
                if let Err(error) = threads::start(
                    ThreadName { node: host.core.name.as_str(), role: "stop", number: None },
                    run,
                ) {
                    contained(|| {
                        tracing::error!(
                            target: "krarup", %error,
                            "cannot start the thread that stops the node: all processes are killed"
                        );
                    });
                    kill_all(&host.core);
                    stopper.finish(&host);
                }
            }
        }
    }

    fn finish(&self, host: &DispatcherHost) {
        stop_machine(&host.core);
        for thread in std::mem::take(&mut *self.threads.lock()) {
            contained(|| drop(thread.join()));
        }
        let why = self.begun.lock().clone();
        self.stopped.set(why.unwrap_or_else(Stopped::requested));
    }
}

/// An orderly stop of a node that has not begun yet (rule X2).
///
/// As soon as it begins, no top-level process is spawned any more:
/// [`Node::spawn`](crate::Node::spawn) fails with
/// [`SpawnError::NodeStopping`](krarup_gen::SpawnError::NodeStopping). A running process continues
/// until it is asked to stop: it may send, call, pipe, and spawn children, supervisors restart and
/// pools replace workers. So a process that is asked to stop can drain its work, with everything
/// that it needs for that.
///
/// Top-level processes are stopped in the reverse order of their start, one after the other,
/// each tree by its supervisors. When four fifths of the time have passed, all remaining ones
/// are asked at once. Those that have not ended when the time has passed are killed.
///
/// An [application](crate::Application) is stopped as one, in the place of its top process (rule
/// A9).
///
/// Afterwards no process, thread or timer is left, with two exceptions that nothing can end: a
/// handler that blocks its worker without an `await`, and work given to
/// [`Context::block`](krarup_act::Context::block) that does not return. These are abandoned with
/// their threads after 5 s more, and reported.
#[must_use = "the node is not stopped until this is awaited, waited for or started"]
pub struct NodeStop {
    host: Arc<DispatcherHost>,
    stopper: Arc<Stopper>,
    timeout: Duration,
}

impl NodeStop {
    /// The default time that the processes have for an orderly end.
    /// [`NodeBuilder::stop_timeout`](crate::NodeBuilder::stop_timeout) and [`NodeStop::timeout`]
    /// change it.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

    pub(crate) fn new(host: Arc<DispatcherHost>, stopper: Arc<Stopper>) -> Self {
        let timeout = stopper.timeout;
        NodeStop { host, stopper, timeout }
    }

    /// Sets how long the processes have for an orderly end before they are killed: those of the
    /// user root, and then again those of the system root (rule X6). The first stop that begins
    /// decides.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Begins the stop without waiting for its end, as a handler should do.
    pub fn start(self) {
        self.stopper.begin(&self.host, self.timeout, Stopped::requested());
    }

    /// Begins the stop and waits for its end on a plain thread.
    ///
    /// # Errors
    /// Processes are left that block their workers and cannot be ended. [`CannotWait::Stalled`]
    /// in a simulation whose processes wait for events that never happen. Inside a process, and
    /// on a thread that drives a runtime: the other values of [`CannotWait`], and nothing has
    /// been done. A process uses [`NodeStop::start`].
    pub fn wait(self) -> krarup_gen::Result {
        if is_in_process() {
            return Err(CannotWait::InProcess.into());
        }
        if self.host.is_driving_runtime() {
            return Err(CannotWait::InRuntime.into());
        }
        self.stopper.begin(&self.host, self.timeout, Stopped::requested());
        let stopped = self.stopper.stopped.wait();
        let mut stopped = pin!(async { drop(stopped.await) });
        self.host.wait(stopped.as_mut()).map_err(|Stalled| CannotWait::Stalled)?;
        self.left_behind()
    }

    /// Returns an error if a process could not be ended.
    fn left_behind(&self) -> krarup_gen::Result {
        // In a simulation the stop is itself a process, and the last to end.
        let left = match &self.host.dispatcher {
            Dispatcher::Simulated(_) => 0,
            _ => self.host.core.registry.living(),
        };
        let (threads, _) = self.host.core.blocking.load();
        match (left, threads) {
            (0, 0) => Ok(()),
            (0, _) => {
                Err(Reason::error(format!("blocking work does not return on {threads} thread(s)")))
            }
            _ => {
                let named = self.name_some_left();
                let text =
                    format!("{left} processes block their workers and cannot be ended: {named}");
                Err(Reason::error(text))
            }
        }
    }

    /// The first pids of those that are left, for a text.
    fn name_some_left(&self) -> String {
        let (mut cursor, mut left) = (TableCursor::default(), Vec::new());
        while left.len() <= NAMED && self.host.next_processes(&mut cursor, &mut left) {}
        let mut pids: Vec<String> =
            left.iter().take(NAMED).map(|it| it.pid().to_string()).collect();
        if left.len() > NAMED {
            pids.push("..".to_owned());
        }
        pids.join(", ")
    }
}

/// Begins the stop, and waits for its end. This may be the stop of another node than that of the
/// process that awaits it. A process of the node itself cannot wait for its own end: for it the
/// stop begins, as with [`NodeStop::start`], and the result is `Ok` at once. Whether a process is of
/// the node is looked at when the future is first polled.
///
/// Two processes that each await the stop of the other's node wait until a time limit ends one of
/// them. A node of another [`Simulation`](crate::Simulation) stops only while that one is driven.
///
/// # Errors
/// Processes are left that block their workers and cannot be ended, or blocking work does not
/// return.
impl IntoFuture for NodeStop {
    type Output = krarup_gen::Result;
    type IntoFuture = Pin<Box<dyn Future<Output = krarup_gen::Result> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            self.stopper.begin(&self.host, self.timeout, Stopped::requested());
            // A process of this node would wait for its own end.
            if current_pid().is_some_and(|pid| self.host.core.is_ours(pid)) {
                return Ok(());
            }
            let _ = self.stopper.stopped.wait().await;
            self.left_behind()
        })
    }
}

impl fmt::Debug for NodeStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeStop({}, {:?})", self.host.core.name, self.timeout)
    }
}
