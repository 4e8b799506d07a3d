//! The stop of a node (rules X2, X6).
//!
//! 1. No top-level process, which is one without a parent, is spawned any more. Running
//!    processes continue. Until they are asked to stop they may call, and spawn what they need
//!    to finish their work.
//! 2. The top-level processes of the user root (those spawned from outside) are asked to stop,
//!    the last started first, each when the one before has ended. A supervisor stops its tree in
//!    its own order. Processes whose parent has ended before them are top-level then, and are
//!    asked in the same way.
//! 3. When four fifths of the time have passed, all remaining ones are asked, in the same order
//!    and without waiting in between: a slow process must not cost the others their orderly end.
//! 4. When the time has passed, no process is spawned below the user root any more, and all
//!    remaining ones are killed.
//! 5. The same with the system root, with a new time limit: the services that log for a tree
//!    that did not stop in time still write those logs. The processes that keep applications are
//!    asked last: each ends by itself when its application has ended.
//! 6. The dispatchers, the timer and the side threads stop.
//!
//! Log subscribers and executors of the user run on the thread that does this. Each such call is
//! contained: its panic must not keep the node from stopping.

use crate::applications::run::ApplicationRun;
use crate::applications::table::Needed;
use crate::core::{Core, DispatcherHost};
use crate::stop::descent::Descent;
use krarup_act::{Host, KILL_GRACE, Process, Sleep, contain, watch, within};
use krarup_gen::{
    OverdueStop, Pid, Reason, Report, ReportKind, ReportLevel, Reported, Root, Target, Timestamp,
};
use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// The time between two checks for a process that is about to appear.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// The checks for processes whose parent has ended that are made without letting time pass.
const ROUNDS_AT_ONCE: u32 = 64;

/// The last fraction of the time, one part in this many, in which all processes have been asked.
const TOGETHER: u32 = 5;

/// The most checks in that part for processes whose parent has ended meanwhile.
const LOOKS: u32 = 16;

/// Steps 1 to 5, for all processes except the one that runs them.
pub(crate) async fn stop_processes(
    host: Arc<DispatcherHost>,
    timeout: Duration,
    myself: Option<Pid>,
) {
    host.core.registry.close_to_top_level();
    for root in [Root::User, Root::System] {
        stop_below(&host, root, timeout, myself).await;
        host.core.registry.close_below(root);
        kill_below(&host, root, timeout, myself).await;
    }
}

/// All living processes below the root, except `myself`.
fn below(host: &DispatcherHost, root: Root, myself: Option<Pid>) -> Vec<Arc<dyn Process>> {
    let mut all = host.core.registry.all();
    all.retain(|process| process.root() == root && Some(process.pid()) != myself);
    all
}

/// The processes below the root whose parent does not live below it, in the order of their
/// start.
fn top_level(host: &DispatcherHost, root: Root, myself: Option<Pid>) -> Vec<Arc<dyn Process>> {
    Descent::of(below(host, root, myself)).1
}

/// A top-level process, and the application whose top process it is.
type TopLevel = (Arc<dyn Process>, Option<Arc<ApplicationRun>>);

/// Top-level processes, where an application counts as one: by its top process, in whose place it is
/// stopped with all that belong to it (rule A9).
fn as_one(host: &DispatcherHost, top: Vec<Arc<dyn Process>>) -> Vec<TopLevel> {
    let top = top.into_iter().filter_map(|process| {
        let run = match process.application_run() {
            0 => None,
            number => host.core.applications.run(number),
        };
        let is_one = run.as_ref().is_none_or(|run| {
            // The others end with it. If its top process has ended they are about to be killed.
            run.top() == Some(process.pid()) || run.top_end.value().is_some()
        });
        is_one.then_some((process, run))
    });
    let mut top: Vec<_> = top.collect();
    // The jobs of applications are asked last: no process can continue one any more.
    top.sort_by_key(|(process, _)| !host.core.applications.jobs.contains(process.pid()));
    top
}

/// Asks a process to stop, or the application whose top process it is. Waits for the end of
/// both. Returns whether they have ended in time.
async fn stop_one(
    host: &Arc<DispatcherHost>,
    process: &Arc<dyn Process>,
    run: Option<&Arc<ApplicationRun>>,
    until: Timestamp,
) -> bool {
    let Some(run) = run else {
        contained(|| Arc::clone(process).request_stop(Reason::Shutdown));
        return ended_by(host, process, until).await;
    };
    // Nobody may stay its dependent: all stop.
    let _ = host.core.applications.ask(&run.name, Needed::Ignore, host.now());
    let left = until.since(host.now());
    within(&(Arc::clone(host) as Arc<dyn Host>), left, run.over.wait()).await.is_some()
}

/// Asks the processes below a root to stop, until the time has passed.
async fn stop_below(
    host: &Arc<DispatcherHost>,
    root: Root,
    timeout: Duration,
    myself: Option<Pid>,
) {
    let (now, share) = (host.now(), timeout / TOGETHER);
    let (in_order, until) = (now + timeout.saturating_sub(share), now + timeout);
    host.core.applications.node_stops(root, until, timeout);
    let mut rounds = 0;
    loop {
        another_round(host, &mut rounds).await;
        // As many as are counted must be found: see `kill_below`.
        let counted = host.core.registry.living();
        let all_have_appeared = host.core.registry.all().len() >= counted;
        let (mut descent, top) = Descent::of(below(host, root, myself));
        let mut top = as_one(host, top);
        if top.is_empty() && (all_have_appeared || host.now() >= until) {
            return;
        }
        if top.is_empty() {
            pause(host).await;
        }
        // Level by level: the children of those that have ended are top-level next.
        while !top.is_empty() {
            let mut orphans = Vec::new();
            while let Some((process, run)) = top.pop() {
                if !stop_one(host, &process, run.as_ref(), in_order).await {
                    contained(|| {
                        tracing::warn!(
                            target: "krarup", pid = %process.pid(), %root, ?timeout,
                            "a process takes long to stop: all remaining processes are asked to stop"
                        );
                    });
                    return stop_together(host, root, until, share / LOOKS, myself).await;
                }
                let lives = |pid| host.core.process(pid).is_some();
                descent.take_orphans(process.pid(), lives, &mut orphans);
            }
            orphans.sort_by_key(|process| process.pid());
            top = as_one(host, orphans);
        }
    }
}

/// Asks all remaining processes at once, and later those that have become top-level meanwhile.
async fn stop_together(
    host: &Arc<DispatcherHost>,
    root: Root,
    until: Timestamp,
    between: Duration,
    myself: Option<Pid>,
) {
    let (mut asked, mut rounds) = (BTreeSet::new(), 0);
    loop {
        another_round(host, &mut rounds).await;
        let mut top = top_level(host, root, myself);
        // A job ends when what it does is done. Only if nobody else is left it is asked too.
        let is_job =
            |process: &Arc<dyn Process>| host.core.applications.jobs.contains(process.pid());
        if !top.iter().all(is_job) {
            top.retain(|process| !is_job(process));
        }
        for process in top.iter().rev() {
            if asked.insert(process.pid()) {
                contained(|| Arc::clone(process).request_stop(Reason::Shutdown));
            }
        }
        let now = host.now();
        if top.is_empty() {
            return;
        }
        if now >= until {
            let left = top.len();
            contained(|| {
                tracing::warn!(
                    target: "krarup", %root, left,
                    "processes have not stopped in time and are killed"
                );
            });
            return;
        }
        let next = (now + between.max(LOOK_AGAIN)).min(until);
        for process in &top {
            ended_by(host, process, next).await;
        }
    }
}

/// Kills all remaining processes.
async fn kill_below(
    host: &Arc<DispatcherHost>,
    root: Root,
    timeout: Duration,
    myself: Option<Pid>,
) {
    let until = host.now() + KILL_GRACE;
    loop {
        // A spawn that was admitted just before the registry was closed is counted before it can
        // be found there. So count first: if as many are found, all have appeared.
        let counted = host.core.registry.living();
        let found = host.core.registry.all().len();
        let left = below(host, root, myself);
        for process in &left {
            contained(|| report_overdue(host, process.pid(), timeout));
            contained(|| Arc::clone(process).kill());
        }
        let mut stuck = false;
        for process in &left {
            if !ended_by(host, process, until).await {
                stuck = true;
                contained(|| {
                    tracing::error!(
                        target: "krarup", pid = %process.pid(), %root,
                        "a process cannot be ended: it blocks its worker"
                    );
                });
            }
        }
        if stuck || left.is_empty() && found >= counted {
            return;
        }
        if left.is_empty() {
            pause(host).await;
        }
    }
}

/// Reports a process that has not stopped in time (rule X8).
fn report_overdue(host: &DispatcherHost, pid: Pid, limit: Duration) {
    let (kind, level) = (ReportKind::Overdue, ReportLevel::Warn);
    let application = host.core.process(pid).and_then(|process| process.info().application);
    let (about, now) = ([pid], host.now());
    host.core.records.reports.publish(kind, level, &about, application.as_ref(), now, |head| {
        Report::Overdue(Reported::new(head, OverdueStop::new(pid, None, limit)))
    });
}

/// Runs a step that may call user code: an executor that gets a process to run, or a log
/// subscriber. Its panic must not keep the node from stopping.
pub(crate) fn contained(step: impl FnOnce()) {
    let _ = contain(step);
}

/// Kills all processes without waiting: for a stop that cannot be carried out in order.
pub(crate) fn kill_all(core: &Core) {
    core.registry.close();
    for process in core.registry.all() {
        contained(|| process.kill());
    }
}

/// Lets time pass after some rounds: processes that spawn others when they end must not keep a
/// simulation's time from advancing.
async fn another_round(host: &Arc<DispatcherHost>, rounds: &mut u32) {
    *rounds = rounds.saturating_add(1);
    if *rounds > ROUNDS_AT_ONCE {
        pause(host).await;
    }
}

async fn pause(host: &Arc<DispatcherHost>) {
    Sleep::until(Arc::clone(host) as Arc<dyn Host>, host.now() + LOOK_AGAIN).await;
}

/// Waits for the end of a process, at most until `until`. Returns whether it has ended.
async fn ended_by(
    host: &Arc<DispatcherHost>,
    process: &Arc<dyn Process>,
    until: Timestamp,
) -> bool {
    let host: Arc<dyn Host> = Arc::clone(host) as Arc<dyn Host>;
    let mut end = pin!(watch(Arc::clone(&host), Target::Pid(process.pid())));
    let mut time_over = pin!(Sleep::until(host, until));
    std::future::poll_fn(|cx| {
        if end.as_mut().poll(cx).is_ready() {
            return Poll::Ready(true);
        }
        // The maximum of time is never reached, even by a simulation that has been advanced to
        // it.
        if until == Timestamp::MAX {
            return Poll::Pending;
        }
        time_over.as_mut().poll(cx).map(|()| false)
    })
    .await
}

/// Step 6. Joins the threads, unless a process holds one for ever.
pub(crate) fn stop_machine(core: &Core) {
    let hosts = core.hosts();
    let nobody_is_left = core.registry.living() == 0;
    for host in &hosts {
        contained(|| host.dispatcher.signal_stop(core.creation));
    }
    core.halt();
    contained(|| core.timers.stop());
    contained(|| core.blocking.stop(KILL_GRACE));
    if nobody_is_left {
        hosts.iter().for_each(|host| contained(|| host.dispatcher.join()));
    }
    hosts.iter().for_each(|host| contained(|| host.dispatcher.clear()));
    contained(|| core.topics.end_all(&Reason::Shutdown));
    contained(|| core.clear_homes());
}
