//! Runs a job in a process, and in another one if that is killed before the job is done.
//!
//! A process of the runtime can be killed as any other: by its pid, or by a fault of a
//! simulation. A job that starts or stops an application must not be left half done by that. So
//! it keeps its progress outside its process, and its process has a guard: if that is dropped
//! before the job is done, it has the job continued.
//!
//! ```text
//!   Launching ──the process was spawned──► Launched ──dropped──► continues the job
//!       │                                     └───────done─────► Done
//!       └──────dropped before that────────► Dropped   (the launcher continues it)
//! ```
//!
//! The pids of the processes that are launched are known: a stop of the node asks those last. No
//! process can continue a job then, and a keeper that ended before its application would have to
//! kill it. (A stop that looks just between the spawn and the note of its pid does not know it yet.)

use crate::core::DispatcherHost;
use krarup_act::{Context, Host, Spawn, behavior_fn};
use krarup_gen::Pid;
use parking_lot::Mutex;
use std::pin::Pin;
use std::sync::Arc;

/// How often a job is continued before it is given up.
const MOST_ATTEMPTS: u32 = 64;

/// Work that may be interrupted anywhere.
pub(crate) trait ApplicationJob: Send + Sync + 'static {
    /// What its process is called in displays.
    fn label(&self) -> String;

    /// Begins the work, or continues it.
    fn work(self: Arc<Self>) -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// Does what can be done at once: no process can be spawned any more, because the node stops.
    fn give_up(&self);
}

/// Runs a job below the system root until it is done, or is given up.
pub(crate) fn insist(host: &Arc<DispatcherHost>, job: &Arc<dyn ApplicationJob>) {
    attempt(host, job, 0);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Launch {
    Launching,
    Launched(Pid),
    Dropped,
    Done,
}

struct JobGuard {
    host: Arc<DispatcherHost>,
    job: Arc<dyn ApplicationJob>,
    attempts: u32,
    launch: Arc<Mutex<Launch>>,
    is_done: bool,
}

fn attempt(host: &Arc<DispatcherHost>, job: &Arc<dyn ApplicationJob>, before: u32) {
    for attempts in before.. {
        if attempts == MOST_ATTEMPTS {
            break;
        }
        let launch = Arc::new(Mutex::new(Launch::Launching));
        let guard = JobGuard {
            host: Arc::clone(host),
            job: Arc::clone(job),
            attempts,
            launch: Arc::clone(&launch),
            is_done: false,
        };
        let process = behavior_fn(move |_: Context<()>| async move {
            let job = Arc::clone(&guard.job);
            job.work().await;
            guard.finish();
            Ok(())
        });
        let system: Arc<dyn Host> = host.of_system();
        let spawned = Spawn::outside(system, move || process).label(job.label()).start();
        let Ok(process) = spawned else { break };
        let mut launch = launch.lock();
        match *launch {
            Launch::Launching => {
                *launch = Launch::Launched(process.pid());
                host.core.applications.jobs.insert(process.pid());
                return;
            }
            Launch::Done => return,
            Launch::Dropped | Launch::Launched(_) => {}
        }
    }
    job.give_up();
}

impl JobGuard {
    fn finish(mut self) {
        self.is_done = true;
    }
}

impl Drop for JobGuard {
    fn drop(&mut self) {
        let now = if self.is_done { Launch::Done } else { Launch::Dropped };
        let before = {
            let mut launch = self.launch.lock();
            if let Launch::Launched(pid) = *launch {
                self.host.core.applications.jobs.remove(pid);
            }
            std::mem::replace(&mut *launch, now)
        };
        if !self.is_done && matches!(before, Launch::Launched(_)) {
            attempt(&self.host, &self.job, self.attempts + 1);
        }
    }
}
