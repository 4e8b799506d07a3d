//! How a node stops (rule X2).
//!
//! 1. Nobody is spawned any more.
//! 2. The top-level processes (those spawned from outside) are asked to stop, the last
//!    started first, one after the other, each when the one before has ended: a
//!    supervisor takes its tree down in its own order. Processes whose parent has ended
//!    without them are top-level then, and asked in the same way.
//! 3. When the time is over, whoever is left is killed.
//! 4. The dispatchers, the timer and the side threads stop.

use crate::core::{Core, Home};
use krarup_act::{Host, Process, Sleep, watch};
use krarup_gen::{Pid, Reason, Target, Timestamp};
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

/// Steps 1 to 3, for all processes but the one that carries them out.
pub(crate) async fn stop_processes(home: Arc<Home>, timeout: Duration, myself: Option<Pid>) {
    home.core.registry.close();
    let others = || {
        let mut all = home.core.registry.all();
        all.retain(|process| Some(process.pid()) != myself);
        all
    };
    let until = home.now() + timeout;
    'orderly: loop {
        let left = others();
        let pids: BTreeSet<Pid> = left.iter().map(|process| process.pid()).collect();
        let is_top = |process: &Arc<dyn Process>| {
            process.parent().is_none_or(|parent| !pids.contains(&parent))
        };
        let mut top: Vec<_> = left.into_iter().filter(is_top).collect();
        if top.is_empty() {
            break;
        }
        while let Some(process) = top.pop() {
            Arc::clone(&process).request_stop(Reason::Shutdown);
            if !ended_by(&home, &process, until).await {
                tracing::warn!(
                    target: "krarup", pid = %process.pid(), ?timeout,
                    "process has not stopped in time; killing all that are left"
                );
                break 'orderly;
            }
        }
    }
    let until = home.now() + KILL_GRACE;
    loop {
        let left = others();
        for process in &left {
            Arc::clone(process).kill();
        }
        for process in &left {
            if !ended_by(&home, process, until).await {
                tracing::error!(
                    target: "krarup", pid = %process.pid(),
                    "process cannot be ended: it blocks its worker"
                );
                return;
            }
        }
        // A spawn that was admitted just before the registry was closed is counted before
        // it can be found there.
        if home.core.registry.living() == usize::from(myself.is_some()) {
            return;
        }
        Sleep::until(Arc::clone(&home) as Arc<dyn Host>, home.now() + LOOK_AGAIN).await;
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

/// Step 4. Joins the threads, unless a process holds one for ever.
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
