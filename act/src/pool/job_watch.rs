//! Watching the jobs at the workers of a pool: how long they waited and ran, which were
//! discarded, and how long each worker has been busy.
//!
//! A pool that needs none of this has no watches, and its jobs are not wrapped.

use super::histogram::DurationHistogram;
use crate::observe::watched_job::{Discarded, JobWatcher, ProgressWatcher};
use crate::process::crash::contain;
use krarup_gen::{Pid, Timestamp, one_line};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Receives every job that was accepted and is not handled.
pub(super) type OnDiscard<M> = Arc<dyn Fn(M, Discarded) + Send + Sync>;

/// The records that all watches of a pool share.
pub(super) struct JobRecords<M> {
    pub(super) pool: Pid,
    pub(super) latencies: Option<Latencies>,
    pub(super) on_discard: Option<OnDiscard<M>>,
    pub(super) expired: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) crashed: AtomicU64,
}

/// How long jobs wait, and how long they run.
pub(super) struct Latencies {
    pub(super) waiting: DurationHistogram,
    pub(super) service: DurationHistogram,
}

impl Latencies {
    pub(super) fn new() -> Self {
        Latencies { waiting: DurationHistogram::new(), service: DurationHistogram::new() }
    }
}

/// The watch over the jobs of one worker.
pub(super) struct JobWatch<M> {
    records: Arc<JobRecords<M>>,
    /// When the current job was begun, in nanoseconds of the node's time plus 1; 0 means no
    /// job.
    busy_since: AtomicU64,
    /// The jobs in flight of a worker that does several at once. Empty otherwise.
    in_flight: Mutex<InFlight>,
}

/// When each job in flight was begun, by its number. A later one has a higher number.
#[derive(Default)]
struct InFlight {
    last: u64,
    since: BTreeMap<u64, Timestamp>,
}

impl<M> JobWatch<M> {
    pub(super) fn new(records: &Arc<JobRecords<M>>) -> Self {
        JobWatch {
            records: Arc::clone(records),
            busy_since: AtomicU64::new(0),
            in_flight: Mutex::default(),
        }
    }

    /// Since when the worker has been handling a job, if it is: the oldest of several.
    pub(super) fn busy_since(&self) -> Option<Timestamp> {
        let since = self.busy_since.load(Ordering::Acquire);
        let oldest = || self.in_flight.lock().since.first_key_value().map(|(_, since)| *since);
        if since > 0 { Some(Timestamp::from_nanos(since - 1)) } else { oldest() }
    }
}

impl<M: Send + 'static> ProgressWatcher for JobWatch<M> {
    fn begin(&self, waited: Duration, now: Timestamp) {
        if let Some(latencies) = &self.records.latencies {
            latencies.waiting.record(waited);
        }
        self.busy_since.store(now.as_nanos().saturating_add(1), Ordering::Release);
    }

    fn end(&self, took: Duration) {
        if let Some(latencies) = &self.records.latencies {
            latencies.service.record(took);
        }
        self.busy_since.store(0, Ordering::Release);
    }

    fn crash(&self) {
        self.records.crashed.fetch_add(1, Ordering::Relaxed);
        self.busy_since.store(0, Ordering::Release);
    }

    fn begin_one(&self, waited: Duration, now: Timestamp) -> u64 {
        if let Some(latencies) = &self.records.latencies {
            latencies.waiting.record(waited);
        }
        let mut in_flight = self.in_flight.lock();
        in_flight.last += 1;
        let number = in_flight.last;
        in_flight.since.insert(number, now);
        number
    }

    fn end_one(&self, number: u64, took: Option<Duration>) {
        match (took, &self.records.latencies) {
            (Some(took), Some(latencies)) => latencies.service.record(took),
            (Some(_), None) => {}
            (None, _) => {
                self.records.crashed.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.in_flight.lock().since.remove(&number);
    }
}

impl<M: Send + 'static> JobWatcher<M> for JobWatch<M> {
    fn discard(&self, job: M, why: Discarded) {
        let count = match why {
            Discarded::Expired { .. } => &self.records.expired,
            Discarded::WorkerEnded => &self.records.lost,
        };
        count.fetch_add(1, Ordering::Relaxed);
        let Some(on_discard) = &self.records.on_discard else { return };
        // It runs in the worker's turn, or after the worker has ended. Its panic must not
        // affect either.
        if let Err(panic) = contain(|| on_discard(job, why)) {
            tracing::error!(
                target: "krarup", pool = %self.records.pool, panic = %one_line(&panic), "on_discard panicked"
            );
        }
    }
}
