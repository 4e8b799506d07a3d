//! Places whose worker has ended, and when each gets a replacement.

use krarup_gen::{Pid, Timestamp};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

/// A place without a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Vacancy {
    /// Its number, in the order in which the places have lost their workers.
    number: u64,
    stage: VacancyStage,
    /// How long the last attempt was delayed.
    delay: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VacancyStage {
    /// A replacement is to be started at this time.
    Due(Timestamp),
    /// A replacement is starting.
    Starting,
}

/// The places of a pool that have no worker, each with its own back-off (rule P4).
///
/// All workers may have ended at once, so what is done for one place examines no others.
pub(super) struct Vacancies {
    /// The places, each by the worker that has ended.
    places: HashMap<Pid, Vacancy>,
    /// The same places, by their numbers.
    in_order: BTreeMap<u64, Pid>,
    /// The places whose replacement is to be started: when, and the number of the place.
    due: BTreeSet<(Timestamp, u64)>,
    next: u64,
    /// The first and the longest delay.
    back_off: (Duration, Duration),
}

impl Vacancies {
    pub(super) fn new(back_off: (Duration, Duration)) -> Self {
        let (places, in_order, due) = (HashMap::new(), BTreeMap::new(), BTreeSet::new());
        Vacancies { places, in_order, due, next: 0, back_off }
    }

    /// Adds the place of a worker that has ended. A replacement is due at once.
    pub(super) fn add(&mut self, dead: Pid, now: Timestamp) {
        let number = self.next;
        self.next += 1;
        self.places.insert(dead, Vacancy { number, stage: VacancyStage::Due(now), delay: None });
        self.in_order.insert(number, dead);
        self.due.insert((now, number));
    }

    /// Takes the place whose replacement is due first, if that is due, and marks it as starting.
    pub(super) fn begin_due(&mut self, now: Timestamp) -> Option<Pid> {
        let (at, number) = *self.due.first()?;
        if at > now {
            return None;
        }
        self.due.pop_first();
        let dead = *self.in_order.get(&number)?;
        self.places.get_mut(&dead)?.stage = VacancyStage::Starting;
        Some(dead)
    }

    /// Removes a place whose replacement has started. Returns whether the place was still
    /// there.
    pub(super) fn fill(&mut self, dead: Pid) -> bool {
        let Some(Vacancy { number, stage, .. }) = self.places.remove(&dead) else { return false };
        self.in_order.remove(&number);
        if let VacancyStage::Due(at) = stage {
            self.due.remove(&(at, number));
        }
        true
    }

    /// Delays the next attempt after a replacement has failed to start. Returns the delay if
    /// the place is still there.
    pub(super) fn put_off(&mut self, dead: Pid, now: Timestamp) -> Option<Duration> {
        let (first, most) = self.back_off;
        let vacancy = self.places.get_mut(&dead)?;
        if let VacancyStage::Due(at) = vacancy.stage {
            self.due.remove(&(at, vacancy.number));
        }
        let delay = vacancy.delay.map_or(first, |before| before.saturating_mul(2).min(most));
        vacancy.delay = Some(delay);
        vacancy.stage = VacancyStage::Due(now + delay);
        self.due.insert((now + delay, vacancy.number));
        Some(delay)
    }

    /// Removes up to `count` places, the last ones.
    pub(super) fn take(&mut self, count: usize) -> Vec<Pid> {
        let count = count.min(self.in_order.len());
        let last: Vec<Pid> = self.in_order.values().rev().take(count).copied().collect();
        last.iter().for_each(|dead| _ = self.fill(*dead));
        last.into_iter().rev().collect()
    }

    /// When the next replacement is due.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Timestamp {
        Timestamp::ZERO + Duration::from_secs(seconds)
    }

    fn pid(number: u64) -> Pid {
        Pid::local(number, 0)
    }

    #[test]
    fn each_place_has_its_own_back_off_up_to_the_longest_delay() {
        let mut vacancies = Vacancies::new((Duration::from_secs(1), Duration::from_secs(3)));
        vacancies.add(pid(1), seconds(0));
        vacancies.add(pid(2), seconds(0));
        assert_eq!(vacancies.begin_due(seconds(0)), Some(pid(1)));
        assert_eq!(vacancies.put_off(pid(1), seconds(0)), Some(Duration::from_secs(1)));
        assert_eq!(
            vacancies.begin_due(seconds(0)),
            Some(pid(2)),
            "it is not put off with the other"
        );
        assert_eq!((vacancies.begin_due(seconds(0)), vacancies.due()), (None, Some(seconds(1))));
        let delays = (0..3).map(|_| vacancies.put_off(pid(1), seconds(1)).unwrap().as_secs());
        assert_eq!(delays.collect::<Vec<_>>(), [2, 3, 3]);
        assert!(vacancies.fill(pid(2)) && !vacancies.fill(pid(2)));
        assert_eq!(vacancies.take(9), [pid(1)]);
        assert_eq!((vacancies.put_off(pid(1), seconds(1)), vacancies.due()), (None, None));
    }

    #[test]
    fn the_earliest_due_place_is_filled_first_and_the_last_is_removed_first() {
        let mut vacancies = Vacancies::new((Duration::from_secs(1), Duration::from_secs(8)));
        (1..4).for_each(|number| vacancies.add(pid(number), seconds(0)));
        (0..3).for_each(|_| assert!(vacancies.begin_due(seconds(0)).is_some()));
        assert_eq!(vacancies.due(), None, "all of them are starting");
        (0..3).for_each(|_| assert!(vacancies.put_off(pid(1), seconds(0)).is_some()));
        vacancies.put_off(pid(2), seconds(0));
        vacancies.put_off(pid(3), seconds(1));
        assert_eq!((vacancies.due(), vacancies.begin_due(seconds(0))), (Some(seconds(1)), None));
        assert_eq!(vacancies.begin_due(seconds(2)), Some(pid(2)));
        assert_eq!(vacancies.put_off(pid(2), seconds(2)), Some(Duration::from_secs(2)));
        assert_eq!(vacancies.begin_due(seconds(2)), Some(pid(3)));
        assert_eq!(vacancies.due(), Some(seconds(4)));
        assert_eq!(vacancies.take(1), [pid(3)]);
        assert_eq!(vacancies.take(1), [pid(2)]);
        assert_eq!((vacancies.take(0), vacancies.take(5)), (vec![], vec![pid(1)]));
    }

    #[test]
    fn an_endless_delay_does_not_overflow() {
        let mut vacancies = Vacancies::new((Duration::MAX, Duration::MAX));
        vacancies.add(pid(1), Timestamp::MAX);
        for _ in 0..3 {
            assert_eq!(vacancies.put_off(pid(1), Timestamp::MAX), Some(Duration::MAX));
        }
        assert_eq!(vacancies.due(), Some(Timestamp::MAX));
    }
}
