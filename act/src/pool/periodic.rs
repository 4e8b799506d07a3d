//! The periodic work of a pool: it replaces stuck workers, changes its size, and reports.

use super::command::PoolCommand;
use super::elastic::{Change, PoolLoad};
use super::pool_worker::PoolWorker;
use super::pool_workers::PoolWorkers;
use super::ring::Gate;
use super::routing::Routing;
use super::stuck_search::StuckSearch;
use crate::behavior::Behavior;
use crate::context::Context;
use krarup_gen::{Name, Pid, Timestamp};
use std::sync::atomic::Ordering;

impl<B: Behavior, R: Routing<B::Message>> PoolWorkers<B, R> {
    /// The time of the next periodic work.
    pub(super) fn due(&self) -> Option<Timestamp> {
        let plan = self.plan.as_ref().map(|plan| plan.due);
        let stuck = self.stuck.as_ref().map(StuckSearch::due);
        [self.retry_due(), plan, stuck, self.report].into_iter().flatten().min()
    }

    /// Does the work that is due, except the start of workers.
    pub(super) fn do_what_is_due<C: Send + 'static>(
        &mut self,
        ctx: &Context<B::Message, PoolCommand<C>>,
    ) {
        let now = ctx.now();
        let due = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        if due(self.stuck.as_ref().map(StuckSearch::due)) {
            self.give_up_stuck(ctx);
        }
        if due(self.report) {
            self.report = self.settings.report.map(|period| now + period);
            self.tell_numbers(ctx.pid());
        }
        if due(self.plan.as_ref().map(|plan| plan.due)) {
            self.adapt(ctx);
        }
    }

    /// Gives up the workers that have handled one job for too long.
    fn give_up_stuck<C: Send + 'static>(&mut self, ctx: &Context<B::Message, PoolCommand<C>>) {
        let Some(search) = &mut self.stuck else { return };
        let now = ctx.now();
        // Removed workers are examined too, because nothing else would end them.
        let all = || {
            let workers = self.shared.workers().into_iter();
            let removed = self.leaving.values().cloned();
            workers.chain(removed).filter_map(|worker| Some((worker.address.pid(), worker.watch?)))
        };
        let pids = search.look(now, all);
        let address = |pid| {
            let removed = self.leaving.get(&pid).map(|worker| worker.address.clone());
            removed.or_else(|| self.shared.worker(pid))
        };
        let stuck: Vec<_> = pids.into_iter().filter_map(address).collect();
        for worker in &stuck {
            tracing::warn!(
                target: "krarup", pool = %ctx.pid(), pool_name = ctx.own_name().as_ref().map(Name::as_str),
                worker = %worker.pid(), limit = ?self.settings.stuck.unwrap_or_default(),
                "killing a stuck worker"
            );
            self.shared.numbers.stuck.fetch_add(1, Ordering::Relaxed);
        }
        self.give_up(stuck, now);
    }

    /// Grows or shrinks if the plan says so. A drained pool does neither.
    fn adapt<C: Send + 'static>(&mut self, ctx: &Context<B::Message, PoolCommand<C>>) {
        let workers = self.shared.workers();
        let waiting = workers.iter().map(|worker| worker.address.waiting()).sum();
        // A worker that handles several jobs at once is one busy worker.
        let is_busy = |worker: &&PoolWorker<_, _>| {
            worker.address.load().is_some_and(|load| load > worker.address.waiting())
        };
        let busy = workers.iter().filter(is_busy).count();
        let size = self.shared.size().saturating_add(self.to_be_added());
        let load = PoolLoad { size, waiting, busy };
        let at_work = self.shared.gate() == Gate::Open;
        let Some(plan) = &mut self.plan else { return };
        let change = if at_work { plan.decide(load, ctx.now()) } else { plan.pass(ctx.now()) };
        match change {
            Change::Stay => {}
            Change::Grow(count) => self.add(ctx, count, None),
            Change::Shrink(count) => drop(self.let_go(count)),
        }
        // Also without a change of size: a worker may have become free while others have a
        // queue.
        self.shared.balance();
        if change != Change::Stay {
            tracing::info!(
                target: "krarup", pool = %ctx.pid(), pool_name = ctx.own_name().as_ref().map(Name::as_str),
                size, waiting, ?change,
                "pool changes its size"
            );
        }
    }

    fn tell_numbers(&self, pool: Pid) {
        let numbers = self.statistics();
        let (wait, service) =
            (numbers.wait.unwrap_or_default(), numbers.service.unwrap_or_default());
        tracing::info!(
            target: "krarup", %pool,
            workers = numbers.workers, waiting = numbers.waiting, restarts = numbers.restarts,
            forwarded = numbers.forwarded, unhandled = numbers.unhandled,
            rate_limited = numbers.rate_limited, diverted = numbers.diverted,
            expired = numbers.expired, lost = numbers.lost, crashed = numbers.crashed,
            wait_p50 = ?wait.p50, wait_p99 = ?wait.p99,
            service_p50 = ?service.p50, service_p99 = ?service.p99,
            "a pool"
        );
    }
}
