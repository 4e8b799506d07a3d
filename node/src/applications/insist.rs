//! Runs a job in a process, and in another one if that is killed before the job is done.
//!
//! A process of the runtime can be killed as any other: by its pid, or by a fault of a
//! simulation. A job that starts or stops an application must not be left half done by that. So
//! it keeps its progress outside its process, and its process has a guard: if that is dropped
//! before the job is done, it has the job continued.
//!
//! ```text
//!   Launching ──the process was spawned──► Launched ──dropped──► continues the job
//!       └──────dropped before that────────► Dropped   (the launcher continues it)
//! ```

use crate::core::DispatcherHost;
use krarup_act::{Context, Host, Spawn, behavior_fn};
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
    Launched,
    Dropped,
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
        if spawned.is_err() {
            break;
        }
        let mut launch = launch.lock();
        if *launch == Launch::Launching {
            *launch = Launch::Launched;
            return;
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
        if self.is_done {
            return;
        }
        let before = std::mem::replace(&mut *self.launch.lock(), Launch::Dropped);
        if before == Launch::Launched {
            attempt(&self.host, &self.job, self.attempts + 1);
        }
    }
}
