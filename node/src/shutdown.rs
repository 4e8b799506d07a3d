//! How a node stops (rules X2, X6).
//!
//! 1. Nobody is spawned any more.
//! 2. The top-level processes of the user root (those spawned from outside) are asked to
//!    stop, the last started first, one after the other, each when the one before has ended:
//!    a supervisor takes its tree down in its own order. Processes whose parent has ended
//!    without them are top-level then, and asked in the same way.
//! 3. When the time is over, whoever is left of them is killed.
//! 4. The same with the system root, for which the time begins anew: whoever wrote the logs
//!    of a tree that did not stop in time writes them down all the same.
//! 5. The dispatchers, the timer and the side threads stop.

use crate::core::{Core, Home};
use krarup_act::{Host, Process, Sleep, watch};
use krarup_gen::{Pid, Reason, Root, Target, Timestamp};
use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// How long the killed may take to end: a handler that never returns to its `await`
/// cannot be ended at all.
const KILL_GRACE: Duration = Duration::from_secs(5);

/// Between two looks for a process that is about to appear.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// Steps 1 to 4, for all processes but the one that carries them out.
pub(crate) async fn stop_processes(home: Arc<Home>, timeout: Duration, myself: Option<Pid>) {
    home.core.registry.close();
    for root in [Root::User, Root::System] {
        stop_below(&home, root, timeout, myself).await;
        kill_below(&home, root, myself).await;
    }
}

/// Who lives below the root, but for the one process.
fn below(home: &Home, root: Root, myself: Option<Pid>) -> Vec<Arc<dyn Process>> {
    let mut all = home.core.registry.all();
    all.retain(|process| process.root() == root && Some(process.pid()) != myself);
    all
}

/// Asks them to end, until the time is over.
async fn stop_below(home: &Arc<Home>, root: Root, timeout: Duration, myself: Option<Pid>) {
    let until = home.now() + timeout;
    loop {
        let left = below(home, root, myself);
        let pids: BTreeSet<Pid> = left.iter().map(|process| process.pid()).collect();
        let is_top = |process: &Arc<dyn Process>| {
            process.parent().is_none_or(|parent| !pids.contains(&parent))
        };
        let mut top: Vec<_> = left.into_iter().filter(is_top).collect();
        if top.is_empty() {
            return;
        }
        while let Some(process) = top.pop() {
            Arc::clone(&process).request_stop(Reason::Shutdown);
            if !ended_by(home, &process, until).await {
                tracing::warn!(
                    target: "krarup", pid = %process.pid(), %root, ?timeout,
                    "process has not stopped in time; killing all that are left"
                );
                return;
            }
        }
    }
}

/// Kills whoever is left.
async fn kill_below(home: &Arc<Home>, root: Root, myself: Option<Pid>) {
    let until = home.now() + KILL_GRACE;
    loop {
        // A spawn that was admitted just before the registry was closed is counted before it
        // can be found there. So count first: if as many are found, all have appeared.
        let counted = home.core.registry.living();
        let found = home.core.registry.all().len();
        let left = below(home, root, myself);
        for process in &left {
            Arc::clone(process).kill();
        }
        for process in &left {
            if !ended_by(home, process, until).await {
                tracing::error!(
                    target: "krarup", pid = %process.pid(), %root,
                    "process cannot be ended: it blocks its worker"
                );
                return;
            }
        }
        if left.is_empty() && found >= counted {
            return;
        }
        if left.is_empty() {
            let later = home.now() + LOOK_AGAIN;
            Sleep::until(Arc::clone(home) as Arc<dyn Host>, later).await;
        }
    }
}

/// Waits for the end of a process, at most until then; whether it ended.
async fn ended_by(home: &Arc<Home>, process: &Arc<dyn Process>, until: Timestamp) -> bool {
    let host: Arc<dyn Host> = Arc::clone(home) as Arc<dyn Host>;
    let mut end = pin!(watch(Arc::clone(&host), Target::Pid(process.pid())));
    let mut time_over = pin!(Sleep::until(host, until));
    std::future::poll_fn(|cx| {
        if end.as_mut().poll(cx).is_ready() {
            return Poll::Ready(true);
        }
        time_over.as_mut().poll(cx).map(|()| false)
    })
    .await
}

/// Step 5. Joins the threads, unless a process holds one for ever.
pub(crate) fn stop_machine(core: &Core) {
    let homes = core.homes();
    let nobody_is_left = core.registry.living() == 0;
    for home in &homes {
        home.dispatcher.signal_stop();
    }
    core.halt();
    core.timers.stop();
    core.blocking.stop(KILL_GRACE);
    if nobody_is_left {
        homes.iter().for_each(|home| home.dispatcher.join());
    }
    homes.iter().for_each(|home| home.dispatcher.clear());
    core.clear_homes();
}
