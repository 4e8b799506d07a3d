//! The numbers of a pool, read from what its senders share with it.

use super::job_watch::JobRecords;
use super::ring::Gate;
use super::routing::Routing;
use super::shared::SharedPool;
use krarup_gen::{Label, PoolGauges};
use std::sync::atomic::{AtomicU64, Ordering};

impl<M, C, R> SharedPool<M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    /// The numbers of the pool, for those that look. Runs on any thread.
    pub(super) fn gauges(&self) -> PoolGauges {
        let counts = self.counts();
        let rules = self.rules();
        let records = rules.as_ref().and_then(|rules| rules.records.as_deref());
        let of_records = |count: fn(&JobRecords<M>) -> &AtomicU64| {
            records.map_or(0, |records| count(records).load(Ordering::Relaxed))
        };
        let latencies = records.and_then(|records| records.latencies.as_ref());
        let workers = self.workers();
        let places = self.size();
        PoolGauges::new(Label::of_type(self.numbers.worker_behavior)).with(|gauges| {
            gauges.size = self.numbers.size;
            gauges.places = places;
            gauges.members = workers.iter().map(|worker| worker.address.pid()).collect();
            gauges.workers = workers.iter().filter(|worker| worker.address.is_alive()).count();
            gauges.capacity = self.numbers.mailbox.map(|bound| bound.saturating_mul(places));
            gauges.waiting = self.waiting();
            gauges.room_waiters = self.line.waiters() + self.at_workers.waiters();
            gauges.forwarded = counts.forwarded;
            gauges.unhandled = counts.unhandled;
            gauges.rate_limited = self.rate_limited.load(Ordering::Relaxed);
            gauges.diverted = self.diverted.load(Ordering::Relaxed);
            gauges.expired = of_records(|records| &records.expired);
            gauges.lost = of_records(|records| &records.lost);
            gauges.crashed = of_records(|records| &records.crashed);
            gauges.restarts = self.numbers.restarts.load(Ordering::Relaxed);
            gauges.stuck = self.numbers.stuck.load(Ordering::Relaxed);
            gauges.draining = self.gate() == Gate::Draining;
            gauges.wait = latencies.map(|latencies| latencies.waiting.latency());
            gauges.service = latencies.map(|latencies| latencies.service.latency());
        })
    }
}
