//! The search for stuck workers (rule P12): at which times a pool examines which workers.
//!
//! ```text
//!   time ──────┬──────────┬───────────────┬─────────────────┬──────►
//!           all at once   │ one job,      │ another that    │ all at once again:
//!                         │ begun before, │ was begun       │ a job begun since
//!                         ▼ is too long   ▼ before          ▼ is not too long earlier
//! ```
//!
//! All workers are examined once for each limit. In between only those that had begun a job by
//! then, each at the time at which that job has taken too long. So no worker is found late, and a
//! pool whose workers get stuck one after the other does not examine all of them each time.

use super::job_watch::JobWatch;
use krarup_gen::{Pid, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// When the workers of a pool are examined.
pub(super) struct StuckSearch<M> {
    /// How long a job may take.
    limit: Duration,
    /// When all workers are examined again.
    all_at: Timestamp,
    /// The workers whose job will have taken too long before that, by the time when it has.
    busy: BTreeMap<(Timestamp, Pid), Arc<JobWatch<M>>>,
}

impl<M> StuckSearch<M> {
    pub(super) fn new(limit: Duration, now: Timestamp) -> Self {
        StuckSearch { limit, all_at: now + limit, busy: BTreeMap::new() }
    }

    /// The time of the next search.
    pub(super) fn due(&self) -> Timestamp {
        let first = self.busy.first_key_value().map(|((at, _), _)| *at);
        first.map_or(self.all_at, |at| at.min(self.all_at))
    }

    /// Returns the workers that have handled one job for too long. `all` returns all workers that
    /// have a watch; it is called if all are to be examined.
    pub(super) fn look<I>(&mut self, now: Timestamp, all: impl FnOnce() -> I) -> Vec<Pid>
    where
        I: IntoIterator<Item = (Pid, Arc<JobWatch<M>>)>,
    {
        if self.all_at <= now {
            self.all_at = now + self.limit;
            self.busy.clear();
            for (pid, watch) in all() {
                self.note(pid, watch);
            }
        }
        let mut stuck = Vec::new();
        while let Some(((at, pid), watch)) = self.busy.pop_first() {
            match watch.busy_since().map(|since| since + self.limit) {
                Some(until) if until <= now => stuck.push(pid),
                // The first that is at its job still: the next search is for it.
                Some(until) if until == at => {
                    self.busy.insert((at, pid), watch);
                    break;
                }
                // It has begun another job.
                _ => self.note(pid, watch),
            }
        }
        stuck
    }

    /// Notes a worker whose job will have taken too long before all are examined again.
    fn note(&mut self, pid: Pid, watch: Arc<JobWatch<M>>) {
        let until = watch.busy_since().map(|since| since + self.limit);
        if let Some(until) = until.filter(|until| *until <= self.all_at) {
            self.busy.insert((until, pid), watch);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::observe::watched_job::ProgressWatcher;
    use crate::pool::job_watch::JobRecords;
    use std::sync::atomic::AtomicU64;

    type Watches = Vec<(Pid, Arc<JobWatch<u32>>)>;

    fn at(millis: u64) -> Timestamp {
        Timestamp::ZERO + Duration::from_millis(millis)
    }

    fn watches(count: u64) -> Watches {
        let records = Arc::new(JobRecords {
            pool: Pid::local(1, 0),
            latencies: None,
            on_discard: None,
            expired: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            crashed: AtomicU64::new(0),
        });
        (0..count)
            .map(|number| (Pid::local(2 + number, 0), Arc::new(JobWatch::new(&records))))
            .collect()
    }

    #[test]
    fn p12_all_workers_are_examined_once_for_each_limit_and_none_is_found_late() {
        const MANY: usize = 1_000;
        let workers = watches(MANY as u64);
        let mut search = StuckSearch::new(Duration::from_secs(2), at(0));
        for (number, (_, watch)) in (1..).zip(&workers) {
            watch.begin(Duration::ZERO, at(number));
        }
        let mut examined = 0;
        // One after the other is stuck, from 2 001 ms on. All are examined at 2 000 ms.
        assert_eq!(search.due(), at(2_000));
        for number in 0..=MANY {
            let now = search.due();
            assert_eq!(now, at(2_000 + number as u64));
            let stuck = search.look(now, || {
                examined += 1;
                workers.clone()
            });
            let expected = number.checked_sub(1).map(|index| workers[index].0);
            assert_eq!(stuck, expected.into_iter().collect::<Vec<_>>());
            for (pid, watch) in &workers {
                if stuck.contains(pid) {
                    watch.crash();
                }
            }
        }
        assert_eq!((examined, search.due()), (1, at(4_000)));
    }

    #[test]
    fn p12_a_worker_that_has_begun_another_job_is_not_the_next_to_be_examined() {
        let workers = watches(2);
        let [(_, first), (last, second)] = &workers[..] else { panic!("two") };
        let mut search = StuckSearch::new(Duration::from_millis(100), at(0));
        first.begin(Duration::ZERO, at(10));
        second.begin(Duration::ZERO, at(90));
        assert!(search.look(at(100), || workers.clone()).is_empty());
        assert_eq!(search.due(), at(110));
        first.end(Duration::ZERO);
        first.begin(Duration::ZERO, at(105));
        let again = || -> Watches { panic!("not yet") };
        assert!(search.look(at(110), again).is_empty());
        assert_eq!(search.due(), at(190));
        assert_eq!(search.look(at(190), again), [*last]);
        second.crash();
        // The other job was begun after all had been examined.
        assert_eq!(search.due(), at(200));
        assert!(search.look(at(200), || workers.clone()).is_empty());
        assert_eq!(search.due(), at(205));
    }
}
