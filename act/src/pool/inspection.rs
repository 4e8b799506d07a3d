//! The counters of a pool and its inspection (rule P6).

use super::job_watch::JobRecords;
use super::pool_workers::PoolWorkers;
use super::ring::Gate;
use super::routing::Routing;
use super::statistics::{PoolStatistics, inspected};
use crate::behavior::Behavior;
use krarup_gen::{Inspection, Label};
use std::any::type_name;
use std::sync::atomic::{AtomicU64, Ordering};

impl<B: Behavior, R: Routing<B::Message>> PoolWorkers<B, R> {
    pub(super) fn statistics(&self) -> PoolStatistics {
        let counts = self.shared.counts();
        let records = self.records.as_deref();
        let of_records = |count: fn(&JobRecords<B::Message>) -> &AtomicU64| {
            records.map_or(0, |records| count(records).load(Ordering::Relaxed))
        };
        let latencies = records.and_then(|records| records.latencies.as_ref());
        let workers = self.shared.workers();
        PoolStatistics {
            pool_size: self.settings.size,
            places: self.shared.size(),
            workers: workers.iter().filter(|worker| worker.address.is_alive()).count(),
            waiting: self.shared.waiting(),
            restarts: self.restarts,
            stuck: self.stuck,
            forwarded: counts.forwarded,
            unhandled: counts.unhandled,
            rate_limited: self.shared.rate_limited.load(Ordering::Relaxed),
            diverted: self.shared.diverted.load(Ordering::Relaxed),
            expired: of_records(|records| &records.expired),
            lost: of_records(|records| &records.lost),
            crashed: of_records(|records| &records.crashed),
            draining: self.shared.gate() == Gate::Draining,
            wait: latencies.map(|latencies| latencies.waiting.latency()),
            service: latencies.map(|latencies| latencies.service.latency()),
        }
    }

    /// The items of rule P6, and the items for the optional settings.
    pub(super) fn inspect(&self) -> Inspection {
        let numbers = self.statistics();
        let mut inspection = Inspection::new()
            .with("pool_size", numbers.pool_size)
            .with("workers", numbers.workers)
            .with("worker_behavior", Label::of_type(type_name::<B>()).to_string());
        match self.settings.mailbox {
            Some(messages) => inspection.set("worker_mailbox_size", messages),
            None => inspection.set("worker_mailbox_size", "unbounded"),
        }
        inspection.set("worker_restarts", numbers.restarts);
        inspection.set("messages_forwarded", numbers.forwarded);
        inspection.set("messages_unhandled", numbers.unhandled);
        inspection.set("waiting", numbers.waiting);
        if numbers.draining {
            inspection.set("draining", true);
        }
        if self.settings.rate.is_some() {
            inspection.set("messages_rate_limited", numbers.rate_limited);
        }
        if self.shared.diverts() {
            inspection.set("messages_diverted", numbers.diverted);
        }
        if self.records.is_some() {
            inspection.set("jobs_expired", numbers.expired);
            inspection.set("jobs_lost", numbers.lost);
            inspection.set("jobs_crashed", numbers.crashed);
        }
        if self.settings.stuck.is_some() {
            inspection.set("workers_stuck", numbers.stuck);
        }
        if let Some(elastic) = self.settings.elastic {
            inspection.set("workers_min", elastic.min);
            inspection.set("workers_max", elastic.max);
        }
        if let (Some(wait), Some(service)) = (&numbers.wait, &numbers.service) {
            inspection.set("wait", inspected(wait));
            inspection.set("service", inspected(service));
        }
        inspection
    }
}
