//! The end of the workers with their pool (rule P7).

use super::PoolWorkers;
use crate::addressing::address::Address;
use crate::behavior::Behavior;
use crate::calls::deadline::within;
use crate::context::Context;
use crate::host::host::{Alarm, Host, TimerKey};
use crate::observe::watch::watch;
use crate::pool::command::PoolCommand;
use crate::pool::routing::Routing;
use crate::process::process::Process;
use krarup_gen::{Name, Reason, Target};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How long the workers may take to end with their pool before they are killed, and again
/// before they are left behind.
const SHUTDOWN: Duration = Duration::from_secs(5);

impl<B: Behavior, R: Routing<B::Message>> PoolWorkers<B, R> {
    /// Ends the workers with the pool (rule P7). They are shut down in order, and killed if
    /// they take too long. A worker that is still starting has accepted nothing and is killed
    /// at once.
    pub(in crate::pool) async fn end_workers<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
    ) {
        self.stop_adding(ctx.pid());
        self.vacancies.take(usize::MAX);
        let starting = self.starts.take_all();
        let leaving = std::mem::take(&mut self.leaving).into_iter();
        let mut workers: BTreeMap<_, _> = leaving.map(|(pid, w)| (pid, w.address)).collect();
        workers.extend(self.shared.close().into_iter().map(|worker| (worker.pid(), worker)));
        let given_up = std::mem::take(&mut self.former).into_iter();
        workers.extend(
            given_up.filter(|(pid, worker)| worker.is_alive() && !self.left_behind.contains(pid)),
        );
        let _killed_too = KilledWithPool(workers.values().map(Address::process).collect());
        let host = Arc::clone(ctx.host());
        let watched = |pid| (pid, watch(Arc::clone(&host), Target::Pid(pid)));
        let mut ends: Vec<_> = workers.keys().copied().map(watched).collect();
        ends.extend(starting.iter().map(|worker| watched(worker.pid())));
        workers.keys().for_each(|worker| ctx.exit(*worker, Reason::Shutdown));
        starting.iter().for_each(|worker| worker.process().kill());
        for round in [Reason::Kill, Reason::Normal] {
            let until = ctx.now() + SHUTDOWN;
            let mut late = Vec::new();
            for (worker, mut end) in ends {
                if within(&host, until - ctx.now(), &mut end).await.is_none() {
                    late.push((worker, end));
                }
            }
            ends = late;
            match round {
                Reason::Kill => ends.iter().for_each(|(worker, _)| ctx.exit(*worker, Reason::Kill)),
                // A process that is notified of the pool's end finds no workers, unless one
                // blocks its thread: nothing can end that one.
                _ => ends.iter().for_each(|(worker, _)| {
                    ctx.unlink(*worker);
                    tracing::error!(
                        target: "krarup", pool = %ctx.pid(),
                        pool_name = ctx.own_name().as_ref().map(Name::as_str), %worker,
                        "pool ends before a worker that blocks its thread"
                    );
                }),
            }
        }
    }

    /// Ends the workers of a pool that has ended without [`PoolWorkers::end_workers`], because it
    /// was killed. Those that are starting are killed now, and those that do not trap exits, which
    /// their links would end. The others hear of the end by their links, as those of a pool that is
    /// stopped hear of a shutdown, and are killed if they take as long as those may.
    pub(super) fn leave_workers(&mut self) {
        self.starts.take_all().iter().for_each(|worker| worker.process().kill());
        let leaving = std::mem::take(&mut self.leaving).into_values();
        let workers = self.shared.close().into_iter().chain(leaving.map(|worker| worker.address));
        let mut late = Vec::new();
        for worker in workers.filter(Address::is_alive) {
            if worker.traps_exits() {
                late.push(worker);
            } else {
                worker.process().kill();
            }
        }
        if !late.is_empty() {
            kill_late(&self.shared.host, &late);
        }
    }
}

/// Kills workers that have not ended when their time is over.
fn kill_late<M, C>(host: &Arc<dyn Host>, late: &[Address<M, C>])
where
    M: Send + 'static,
    C: Send + 'static,
{
    // The timer keeps no worker that has ended.
    let workers: Vec<_> = late.iter().map(|worker| Arc::downgrade(&worker.process())).collect();
    let kill = move || {
        workers.iter().filter_map(Weak::upgrade).for_each(<dyn Process>::kill);
    };
    let key = host.set_timer(host.now() + SHUTDOWN, Alarm::Run(Box::new(kill)));
    let timer = Arc::new(UntilLastEnds { host: Arc::clone(host), key });
    for worker in late {
        let timer = Arc::clone(&timer);
        // One that has ended meanwhile drops it here.
        let _ = worker.add_cleaner(Box::new(move |_| drop(timer)));
    }
}

/// The timer of workers that are killed if they do not end. Each worker holds it until its end, so
/// the last one cancels it.
struct UntilLastEnds {
    host: Arc<dyn Host>,
    key: TimerKey,
}

impl Drop for UntilLastEnds {
    fn drop(&mut self) {
        self.host.cancel_timer(self.key);
    }
}

/// Workers that have been asked to end with their pool, while the pool waits for them. If the pool
/// is killed meanwhile, so are they.
struct KilledWithPool(Vec<Arc<dyn Process>>);

impl Drop for KilledWithPool {
    fn drop(&mut self) {
        std::mem::take(&mut self.0).into_iter().for_each(<dyn Process>::kill);
    }
}
