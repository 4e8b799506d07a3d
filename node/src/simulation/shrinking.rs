//! Shrinks a failing run: fewer deviations from the order of arrival, then fewer choices.
//!
//! ```text
//!   the run as it failed      s1=2 s4=1 m9=3 s12=1 .. s380=2    190 deviations, 412 choices
//!   none at all                                                 passes: kept
//!   without a half, a quarter, .. one of them                   still fails: goes on from there
//!   each of those left, closer to the default                   still fails: goes on from there
//!   what is left              s4=1 m17=2                          2 deviations,  60 choices
//! ```
//!
//! It is delta debugging (Zeller) over the deviations of a [`Schedule`]. A run that fails otherwise
//! than the first did, or that is longer, is not gone on from. So what is left fails in
//! the same way, is not longer than the first, and no single deviation of it can be left out, unless the limits
//! were reached. The search itself makes no choice: within its minute the same run shrinks to the same one.
//!
//! Whether a random fault strikes is a choice of each turn, until as many have struck as may. Without one of them
//! it is asked of all turns to the end, so a run with faults is as long if it has up to twice as many choices.

use crate::simulation::schedule::{ChoiceKind, ChoicePlace, Schedule};
use krarup_gen::Reason;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How many runs a search has.
pub(crate) const MOST_RUNS: u32 = 400;
/// How many choices a search has, in all its runs: some seconds.
pub(crate) const MOST_CHOICES: u64 = 1 << 22;

/// How long a search goes on: bodies that take a second are run for so long, and not 400 times.
const MOST_TIME: Duration = Duration::from_secs(60);

/// The most parts of which each is tried alone.
const PARTS: usize = 8;

/// A search for a simpler run; `fails` runs a schedule, and returns the choices that were made if it
/// fails as the first run did.
pub(crate) struct Shrinking<F> {
    fails: F,
    best: Schedule,
    /// The most choices of a run that is not longer than the first.
    most_choices: u64,
    pub(crate) runs: u32,
    most_runs: u32,
    choices: u64,
    began: Instant,
}

impl<F: FnMut(&Schedule) -> Option<Schedule>> Shrinking<F> {
    /// Begins with a schedule that fails.
    pub(crate) fn new(first: Schedule, most_runs: u32, fails: F) -> Self {
        let faults = first.deviations.keys().any(|(kind, _)| *kind == ChoiceKind::Fault);
        let most_choices = first.length.saturating_mul(if faults { 2 } else { 1 });
        let began = Instant::now();
        Shrinking { fails, best: first, most_choices, runs: 0, most_runs, choices: 0, began }
    }

    /// Searches, and returns the simplest schedule that was found.
    pub(crate) fn search(&mut self) -> Schedule {
        if !self.goes_on_without(0..self.best.deviations()) {
            self.leave_out();
            while self.goes_on_without_two() {
                self.leave_out();
            }
            self.lower();
        }
        self.best.clone()
    }

    /// Leaves out more and more, then less and less of the deviations, until none can be left out.
    fn leave_out(&mut self) {
        let mut many = self.best.deviations().div_ceil(2);
        while many > 0 && self.is_within_limits() {
            let (before, mut from) = (self.best.deviations(), 0);
            self.keep_one_part(many);
            while from < self.best.deviations() && self.is_within_limits() {
                if !self.goes_on_without(from..from + many) {
                    from += many;
                }
            }
            // What went last may have been what an earlier one was needed for.
            let again = many == 1 && self.best.deviations() < before;
            many = if again { 1 } else { many / 2 };
        }
    }

    /// Leaves out two that are not neighbours: one delays what the other brings forward.
    fn goes_on_without_two(&mut self) -> bool {
        let places: Vec<ChoicePlace> = self.best.deviations.keys().copied().collect();
        let pairs = places.iter().enumerate();
        for (one, other) in
            pairs.flat_map(|(at, one)| places[at + 1..].iter().map(move |it| (one, it)))
        {
            let mut schedule = self.best.clone();
            schedule.deviations.remove(one);
            schedule.deviations.remove(other);
            if self.goes_on_from(&schedule) {
                return true;
            }
            if !self.is_within_limits() {
                return false;
            }
        }
        false
    }

    /// Leaves out all but a part, if one is enough and there are few.
    fn keep_one_part(&mut self, many: usize) {
        let mut from = 0;
        while many > 1 && from < self.best.deviations() && self.best.deviations() <= PARTS * many {
            let part = from..from + many;
            let kept = self.best.deviations.iter().enumerate();
            let kept = kept.filter(|(number, _)| part.contains(number)).map(|(_, one)| one);
            let deviations = kept.map(|(place, choice)| (*place, *choice)).collect();
            if self.goes_on_from(&Schedule { deviations, ..self.best.clone() }) {
                return;
            }
            from += many;
        }
    }

    /// Brings each deviation as close to the first come as it goes.
    fn lower(&mut self) {
        let places: Vec<ChoicePlace> = self.best.deviations.keys().copied().collect();
        for place in places {
            if place.0 == ChoiceKind::Step {
                // It names a process.
                continue;
            }
            let Some(choice) = self.best.deviations.get(&place).copied() else { continue };
            for lower in 1..choice.min(4) {
                let mut schedule = self.best.clone();
                schedule.deviations.insert(place, lower);
                if self.goes_on_from(&schedule) {
                    break;
                }
            }
        }
    }

    fn goes_on_without(&mut self, left_out: std::ops::Range<usize>) -> bool {
        let kept = self.best.deviations.iter().enumerate();
        let kept = kept.filter(|(number, _)| !left_out.contains(number));
        let deviations: BTreeMap<ChoicePlace, usize> =
            kept.map(|(_, (place, choice))| (*place, *choice)).collect();
        let schedule = Schedule { deviations, ..self.best.clone() };
        self.goes_on_from(&schedule)
    }

    /// Runs a schedule. If it fails in the same way and is simpler, the search goes on from the
    /// choices that it has made.
    fn goes_on_from(&mut self, schedule: &Schedule) -> bool {
        if !self.is_within_limits() {
            return false;
        }
        self.runs += 1;
        // Left to the seed, it would be another run behind the end of the best one.
        let made = (self.fails)(&Schedule { length: self.most_choices, ..schedule.clone() });
        self.choices += made.as_ref().map_or(self.most_choices, |made| made.length);
        let simpler = made
            .filter(|made| made.length <= self.most_choices && weight(made) < weight(&self.best));
        match simpler {
            Some(made) => {
                self.best = made;
                true
            }
            None => false,
        }
    }

    fn is_within_limits(&self) -> bool {
        self.runs < self.most_runs
            && self.choices < MOST_CHOICES
            && self.began.elapsed() < MOST_TIME
    }
}

/// What is simpler weighs less: fewer deviations, then smaller ones, then fewer choices.
fn weight(schedule: &Schedule) -> (usize, usize, u64) {
    let numbers = schedule.deviations.iter().filter(|((kind, _), _)| *kind != ChoiceKind::Step);
    let sum = numbers.fold(0_usize, |sum, (_, choice)| sum.saturating_add(*choice));
    (schedule.deviations(), sum, schedule.length)
}

/// Whether two runs have failed in the same way: by a panic at the same place, or by the same kind
/// of reason with the same text but for its numbers.
pub(crate) fn is_same_failure(one: &Reason, other: &Reason) -> bool {
    match (one, other) {
        (Reason::Panic(one), Reason::Panic(other)) => match (one.location(), other.location()) {
            (Some(one), Some(other)) => one == other,
            _ => without_numbers(one.message()) == without_numbers(other.message()),
        },
        (one, other) => {
            let text = |reason: &Reason| without_numbers(&reason.to_string());
            one.kind() == other.kind() && text(one) == text(other)
        }
    }
}

fn without_numbers(text: &str) -> String {
    let mut short = String::new();
    for letter in text.chars() {
        match letter {
            '0'..='9' if short.ends_with('0') => {}
            '0'..='9' => short.push('0'),
            letter => short.push(letter),
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use krarup_gen::Panic;
    use std::sync::Arc;

    fn at(place: u64) -> ChoicePlace {
        (ChoiceKind::Message, place)
    }

    /// A run of as many choices as it is told, that fails if `fails` holds for its deviations.
    fn shrunk(
        first: &str,
        most_runs: u32,
        fails: impl Fn(&BTreeMap<ChoicePlace, usize>) -> bool,
    ) -> (String, u32) {
        let run = |schedule: &Schedule| fails(&schedule.deviations).then(|| schedule.clone());
        let mut shrinking = Shrinking::new(first.parse().unwrap(), most_runs, run);
        let best = shrinking.search();
        (best.to_string(), shrinking.runs)
    }

    fn many() -> String {
        let deviations: Vec<String> = (0..200).map(|place| format!("m{}=3", 2 * place)).collect();
        format!("7.1.400:{}", deviations.join(","))
    }

    #[test]
    fn y4_what_does_not_matter_is_left_out_and_what_matters_is_made_small() {
        let needs = |places: &'static [u64]| {
            move |made: &BTreeMap<ChoicePlace, usize>| {
                places.iter().all(|place| made.contains_key(&at(*place)))
            }
        };
        assert_eq!(shrunk(&many(), 400, needs(&[])), ("7.1.400".to_owned(), 1));
        assert_eq!(shrunk(&many(), 400, needs(&[80])).0, "7.1.400:m80=1");
        let (three, runs) = shrunk(&many(), 400, needs(&[80, 82, 398]));
        assert_eq!(three, "7.1.400:m80=1,m82=1,m398=1");
        assert!(runs < 60, "{runs}");
        let at_least_two =
            |made: &BTreeMap<ChoicePlace, usize>| made.get(&at(80)).is_some_and(|it| *it >= 2);
        assert_eq!(shrunk(&many(), 400, at_least_two).0, "7.1.400:m80=2");
        // Two that are needed only by each other go one after the other.
        let odd = |made: &BTreeMap<ChoicePlace, usize>| {
            made.contains_key(&at(8)) || !made.contains_key(&at(0))
        };
        assert_eq!(shrunk("7.1.9:m0=1,m8=1", 400, odd).0, "7.1.9");
    }

    #[test]
    fn y4_a_search_is_bounded_and_goes_on_from_nothing_that_is_longer() {
        let (_, runs) = shrunk(&many(), 10, |made| made.len() >= 150);
        assert_eq!(runs, 10);
        let of_length =
            |length| move |schedule: &Schedule| Some(Schedule { length, ..schedule.clone() });
        let first: Schedule = "7.1.9:m0=1,m8=1".parse().unwrap();
        assert_eq!(Shrinking::new(first.clone(), 400, of_length(10)).search(), first);
        // Without a fault each turn is asked for one.
        let first: Schedule = "7.1.9:m0=1,f8=1".parse().unwrap();
        assert_eq!(Shrinking::new(first.clone(), 400, of_length(19)).search(), first);
        assert_eq!(Shrinking::new(first, 400, of_length(18)).search().to_string(), "7.1.18");
    }

    #[test]
    fn y4_failures_are_the_same_by_their_place_or_by_their_text_without_numbers() {
        let panic = |message: &str, place: Option<&str>| {
            Reason::Panic(Arc::new(Panic::new(message.to_owned(), place.map(ToOwned::to_owned))))
        };
        let same = [
            (panic("left: 1", Some("a.rs:1:2")), panic("left: 2, right: 7", Some("a.rs:1:2"))),
            (panic("17 are left", None), panic("3 are left", Some("a.rs:1:2"))),
            (Reason::error("<0.17.0> ended"), Reason::error("<0.9.0> ended")),
            (Reason::Killed, Reason::Killed),
        ];
        let others = [
            (panic("left", Some("a.rs:1:2")), panic("left", Some("a.rs:1:3"))),
            (panic("left", None), Reason::error("panic: left")),
            (Reason::error("one is left"), Reason::error("one is right")),
        ];
        assert!(same.iter().all(|(one, other)| is_same_failure(one, other)));
        assert!(!others.iter().any(|(one, other)| is_same_failure(one, other)));
    }
}
