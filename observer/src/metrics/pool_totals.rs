//! The counters of pools by name, which outlive their pools.

use crate::sampling::picture::Picture;
use krarup_gen::{Latency, Pid, PoolGauges};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};

/// The most names; the pools of all others, and those without one, are summed.
const NAMES: usize = 100;
/// The name of their sum.
pub(crate) const OTHER: &str = "other";

/// The numbers of the pools of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct NamedPoolNumbers {
    /// The workers that they are to have now. An elastic or resized pool has other places than are configured.
    pub(crate) places: u64,
    pub(crate) workers: u64,
    pub(crate) waiting: u64,
    pub(crate) capacity: u64,
    pub(crate) draining: u64,
    pub(crate) counters: PoolCounters,
    pub(crate) wait: Option<TimeSums>,
    pub(crate) service: Option<TimeSums>,
}

/// What only grows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PoolCounters {
    pub(crate) forwarded: u64,
    pub(crate) unhandled: u64,
    /// Of these.
    pub(crate) rate_limited: u64,
    /// Of these.
    pub(crate) diverted: u64,
    pub(crate) restarts: u64,
    pub(crate) expired: u64,
    pub(crate) lost: u64,
    pub(crate) crashed: u64,
}

/// A distribution of times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TimeSums {
    pub(crate) count: u64,
    pub(crate) seconds: f64,
    pub(crate) at_most: [u64; Latency::BOUNDS.len()],
}

/// The counters of all pools that were seen.
#[derive(Default)]
pub(crate) struct PoolTotals {
    state: Mutex<PoolTotalsState>,
}

#[derive(Default)]
struct PoolTotalsState {
    /// What the pools that have ended had counted, by label.
    ended: BTreeMap<String, NamedPoolNumbers>,
    /// The label of each living pool, and what it had counted when it was last seen.
    living: BTreeMap<Pid, (String, NamedPoolNumbers)>,
    names: BTreeSet<String>,
}

impl PoolTotals {
    /// The numbers by label, after a picture.
    pub(crate) fn update(&self, picture: &Picture) -> BTreeMap<String, NamedPoolNumbers> {
        let mut state = self.state.lock();
        let mut seen = BTreeSet::new();
        for (id, pool) in &picture.pools {
            let Some(row) = picture.row(*id) else { continue };
            let pid = row.sample.pid;
            seen.insert(pid);
            let name = row.identity.name.as_ref().map(|name| name.as_str().to_owned());
            state.see(pid, name, &NamedPoolNumbers::of(&pool.gauges));
        }
        state.forget(&seen);
        state.sums()
    }
}

impl PoolTotalsState {
    fn see(&mut self, pid: Pid, name: Option<String>, numbers: &NamedPoolNumbers) {
        if let Some((_, known)) = self.living.get_mut(&pid) {
            // Two scrapes may have pictures in another order.
            *known = known.later(numbers);
            return;
        }
        let label = match name {
            Some(name) if self.names.contains(&name) => name,
            Some(name) if self.names.len() < NAMES => {
                self.names.insert(name.clone());
                name
            }
            _ => OTHER.to_owned(),
        };
        self.living.insert(pid, (label, *numbers));
    }

    fn forget(&mut self, seen: &BTreeSet<Pid>) {
        let gone: Vec<Pid> =
            self.living.keys().filter(|pid| !seen.contains(pid)).copied().collect();
        for pid in gone {
            if let Some((label, numbers)) = self.living.remove(&pid) {
                self.ended.entry(label).or_default().add(&numbers.at_its_end());
            }
        }
    }

    fn sums(&self) -> BTreeMap<String, NamedPoolNumbers> {
        let mut sums = self.ended.clone();
        sums.entry(OTHER.to_owned()).or_default();
        for (label, numbers) in self.living.values() {
            sums.entry(label.clone()).or_default().add(numbers);
        }
        sums
    }
}

impl NamedPoolNumbers {
    fn of(gauges: &PoolGauges) -> Self {
        NamedPoolNumbers {
            places: gauges.places as u64,
            workers: gauges.workers as u64,
            waiting: gauges.waiting as u64,
            capacity: gauges.capacity.unwrap_or(0) as u64,
            draining: u64::from(gauges.draining),
            counters: PoolCounters {
                forwarded: gauges.forwarded,
                unhandled: gauges.unhandled,
                rate_limited: gauges.rate_limited,
                diverted: gauges.diverted,
                restarts: gauges.restarts,
                expired: gauges.expired,
                lost: gauges.lost,
                crashed: gauges.crashed,
            },
            wait: gauges.wait.as_ref().map(TimeSums::of),
            service: gauges.service.as_ref().map(TimeSums::of),
        }
    }

    fn later(&self, other: &Self) -> Self {
        let newer = other.counters.forwarded >= self.counters.forwarded
            && other.counters.unhandled >= self.counters.unhandled;
        if newer { *other } else { *self }
    }

    /// What is left of a pool that has ended: its counters.
    fn at_its_end(&self) -> Self {
        let (counters, wait, service) = (self.counters, self.wait, self.service);
        NamedPoolNumbers { counters, wait, service, ..NamedPoolNumbers::default() }
    }

    fn add(&mut self, other: &Self) {
        self.places += other.places;
        self.workers += other.workers;
        self.waiting += other.waiting;
        self.capacity += other.capacity;
        self.draining += other.draining;
        self.counters.forwarded += other.counters.forwarded;
        self.counters.unhandled += other.counters.unhandled;
        self.counters.rate_limited += other.counters.rate_limited;
        self.counters.diverted += other.counters.diverted;
        self.counters.restarts += other.counters.restarts;
        self.counters.expired += other.counters.expired;
        self.counters.lost += other.counters.lost;
        self.counters.crashed += other.counters.crashed;
        TimeSums::add(&mut self.wait, other.wait);
        TimeSums::add(&mut self.service, other.service);
    }
}

impl TimeSums {
    fn of(latency: &Latency) -> Self {
        TimeSums {
            count: latency.count,
            seconds: latency.sum.as_secs_f64(),
            at_most: latency.at_most,
        }
    }

    fn add(to: &mut Option<TimeSums>, other: Option<TimeSums>) {
        let Some(other) = other else { return };
        let sum = to.get_or_insert_default();
        sum.count += other.count;
        sum.seconds += other.seconds;
        sum.at_most.iter_mut().zip(other.at_most).for_each(|(place, more)| *place += more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(forwarded: u64) -> NamedPoolNumbers {
        let counters = PoolCounters { forwarded, ..PoolCounters::default() };
        NamedPoolNumbers { places: 4, counters, ..NamedPoolNumbers::default() }
    }

    #[test]
    fn v33_the_counters_of_pools_that_have_ended_are_kept() {
        let mut state = PoolTotalsState::default();
        let pid = |n| Pid::local(n, 1);
        state.see(pid(1), Some("a".to_owned()), &numbers(5));
        state.see(pid(2), None, &numbers(7));
        state.forget(&BTreeSet::from([pid(2)]));
        state.see(pid(3), Some("a".to_owned()), &numbers(1));
        let sums = state.sums();
        assert_eq!((sums["a"].counters.forwarded, sums["a"].places), (6, 4));
        assert_eq!(sums[OTHER].counters.forwarded, 7);
        state.see(pid(3), Some("a".to_owned()), &numbers(0));
        assert_eq!(state.sums()["a"].counters.forwarded, 6, "an old picture lowers nothing");
    }

    #[test]
    fn v34_beyond_a_hundred_names_pools_are_summed() {
        let mut state = PoolTotalsState::default();
        for n in 0..10_000 {
            state.see(Pid::local(n + 1, 1), Some(format!("pool-{n}")), &numbers(1));
        }
        let sums = state.sums();
        assert_eq!(sums.len(), NAMES + 1);
        assert_eq!(sums[OTHER].counters.forwarded, 10_000 - NAMES as u64);
    }
}
