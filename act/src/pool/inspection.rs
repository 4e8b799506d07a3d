//! The counters of a pool and its inspection (rule P6).

use super::pool_workers::PoolWorkers;
use super::routing::Routing;
use super::statistics::{PoolStatistics, inspected};
use crate::behavior::Behavior;
use krarup_gen::{Inspection, Label};
use std::any::type_name;

impl<B: Behavior, R: Routing<B::Message>> PoolWorkers<B, R> {
    pub(super) fn statistics(&self) -> PoolStatistics {
        let gauges = self.shared.gauges();
        PoolStatistics {
            pool_size: gauges.size,
            places: gauges.places,
            workers: gauges.workers,
            waiting: gauges.waiting,
            restarts: gauges.restarts,
            stuck: gauges.stuck,
            forwarded: gauges.forwarded,
            unhandled: gauges.unhandled,
            rate_limited: gauges.rate_limited,
            diverted: gauges.diverted,
            expired: gauges.expired,
            lost: gauges.lost,
            crashed: gauges.crashed,
            draining: gauges.draining,
            wait: gauges.wait,
            service: gauges.service,
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
