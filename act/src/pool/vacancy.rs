//! Places whose worker has ended, and when each gets a replacement.

use krarup_gen::{Pid, Timestamp};
use std::time::Duration;

/// A place without a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Vacancy {
    /// The worker that has ended; it identifies the place.
    dead: Pid,
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
pub(super) struct Vacancies {
    places: Vec<Vacancy>,
    /// The first and the longest delay.
    back_off: (Duration, Duration),
}

impl Vacancies {
    pub(super) fn new(back_off: (Duration, Duration)) -> Self {
        Vacancies { places: Vec::new(), back_off }
    }

    /// Adds the place of a worker that has ended. A replacement is due at once.
    pub(super) fn add(&mut self, dead: Pid, now: Timestamp) {
        self.places.push(Vacancy { dead, stage: VacancyStage::Due(now), delay: None });
    }

    /// Takes a place whose replacement is due, and marks it as starting.
    pub(super) fn begin_due(&mut self, now: Timestamp) -> Option<Pid> {
        let is_due =
            |vacancy: &&mut Vacancy| matches!(vacancy.stage, VacancyStage::Due(at) if at <= now);
        let vacancy = self.places.iter_mut().find(is_due)?;
        vacancy.stage = VacancyStage::Starting;
        Some(vacancy.dead)
    }

    /// Removes a place whose replacement has started. Returns whether the place was still
    /// there.
    pub(super) fn fill(&mut self, dead: Pid) -> bool {
        let before = self.places.len();
        self.places.retain(|vacancy| vacancy.dead != dead);
        self.places.len() < before
    }

    /// Delays the next attempt after a replacement has failed to start. Returns the delay if
    /// the place is still there.
    pub(super) fn put_off(&mut self, dead: Pid, now: Timestamp) -> Option<Duration> {
        let (first, most) = self.back_off;
        let vacancy = self.places.iter_mut().find(|vacancy| vacancy.dead == dead)?;
        let delay = vacancy.delay.map_or(first, |before| before.saturating_mul(2).min(most));
        vacancy.delay = Some(delay);
        vacancy.stage = VacancyStage::Due(now + delay);
        Some(delay)
    }

    /// Removes up to `count` places, the last ones.
    pub(super) fn take(&mut self, count: usize) -> Vec<Pid> {
        let kept = self.places.len().saturating_sub(count);
        self.places.split_off(kept).into_iter().map(|vacancy| vacancy.dead).collect()
    }

    /// When the next replacement is due.
    pub(super) fn due(&self) -> Option<Timestamp> {
        let due = |vacancy: &Vacancy| match vacancy.stage {
            VacancyStage::Due(at) => Some(at),
            VacancyStage::Starting => None,
        };
        self.places.iter().filter_map(due).min()
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
