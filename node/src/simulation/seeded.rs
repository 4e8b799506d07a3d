//! The choices of a simulation: numbers that a seed determines, on every machine.
//!
//! The stream is that of `ChaCha` with 8 rounds, which is defined by its algorithm and not by
//! the version of a library. The key is the seed as 8 bytes, least significant first, then 24
//! zeros. The nonce and the first block are 0. A number is two words of the stream, the lower
//! first. This file decides how a number becomes a choice, so that no library can change that
//! either.

use crate::simulation::schedule::{ChoiceKind, ChoicePlace, Schedule, VICTIMS};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) struct Seeded {
    stream: ChaCha8Rng,
    /// How many numbers were taken, for choices and for others.
    taken: u64,
    /// The schedule that is followed, and recorded.
    replay: Option<Replay>,
}

struct Replay {
    schedule: Schedule,
    /// The choices so far that were not the default.
    deviations: BTreeMap<ChoicePlace, usize>,
    /// How many choices of each kind were made.
    made: [u64; ChoiceKind::ALL.len()],
    /// Whether the last choice was one of these.
    deviates: Arc<AtomicBool>,
}

impl Seeded {
    pub(crate) fn new(seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Seeded { stream: ChaCha8Rng::from_seed(key), taken: 0, replay: None }
    }

    /// Follows a schedule. `deviates` tells when a choice was not the default.
    pub(crate) fn following(schedule: Schedule, deviates: Arc<AtomicBool>) -> Self {
        let seed = schedule.run.seed;
        let made = [0; ChoiceKind::ALL.len()];
        let replay = Replay { schedule, deviations: BTreeMap::new(), made, deviates };
        Seeded { replay: Some(replay), ..Self::new(seed) }
    }

    /// The choices so far, if a schedule is followed.
    pub(crate) fn so_far(&self) -> Option<Schedule> {
        let Replay { schedule, deviations, .. } = self.replay.as_ref()?;
        Some(Schedule { run: schedule.run, length: self.taken, deviations: deviations.clone() })
    }

    /// The next number of the stream.
    pub(crate) fn number(&mut self) -> u64 {
        self.taken += 1;
        self.stream.next_u64()
    }

    /// Chooses one of `count` items; 0 if there are none. Always takes one number. The choice
    /// has the same share of `count` as the number has of all numbers, so the probabilities of
    /// the choices differ by less than `count` in 2^64. The default is the first.
    pub(crate) fn choose(&mut self, kind: ChoiceKind, count: usize) -> usize {
        let (number, drawn) = self.draw(count);
        let Some(replay) = &mut self.replay else { return drawn };
        replay.decide(number, kind, drawn, count)
    }

    /// Chooses one of `count` items that have names. A schedule names it, so that it is the same one
    /// if others come before it.
    pub(crate) fn choose_named(
        &mut self,
        kind: ChoiceKind,
        count: usize,
        items: &dyn NamedItems,
    ) -> usize {
        let (number, drawn) = self.draw(count);
        let Some(replay) = &mut self.replay else { return drawn };
        let place = replay.place(kind);
        let default = items.default_item();
        let chosen = match replay.schedule.at(number, place) {
            None => drawn,
            Some(0) => default,
            Some(name) => items.find(name).unwrap_or(default),
        };
        if chosen != default {
            replay.deviates(place, items.name(chosen));
        }
        chosen
    }

    /// Chooses whether something happens that happens once in `many` times. By default it does
    /// not.
    pub(crate) fn one_in(&mut self, many: usize) -> bool {
        let (number, drawn) = self.draw(many);
        let strikes = drawn == 0;
        let Some(replay) = &mut self.replay else { return strikes };
        replay.decide(number, ChoiceKind::Fault, usize::from(strikes), 2) == 1
    }

    fn draw(&mut self, count: usize) -> (u64, usize) {
        let number = self.taken;
        let share = (u128::from(self.number()) * count as u128) >> 64;
        // Less than `count`, which is a `usize`.
        (number, usize::try_from(share).unwrap_or(0))
    }
}

/// What is chosen from, by names.
pub(crate) trait NamedItems {
    fn default_item(&self) -> usize;

    /// The number by which a schedule names an item; never 0.
    fn name(&self, item: usize) -> usize;

    /// The item with this name.
    fn find(&self, name: usize) -> Option<usize>;
}

impl Replay {
    /// Makes the choice of the schedule, or the drawn one behind its end, and records it.
    fn decide(&mut self, number: u64, kind: ChoiceKind, drawn: usize, count: usize) -> usize {
        let place = self.place(kind);
        let chosen = self.schedule.at(number, place).unwrap_or(drawn).min(count.saturating_sub(1));
        if chosen != 0 {
            self.deviates(place, chosen);
        }
        chosen
    }

    /// The place of the next choice of this kind.
    fn place(&mut self, kind: ChoiceKind) -> ChoicePlace {
        let place = self.made[kind as usize];
        self.made[kind as usize] += 1;
        if kind == ChoiceKind::Fault {
            // A victim has its place by its fault, whichever others strike. If there were more than
            // that, their places stay theirs: no two choices have the same.
            for kind in [ChoiceKind::Victim, ChoiceKind::Duration] {
                let made = &mut self.made[kind as usize];
                *made = place.saturating_mul(VICTIMS).max(*made);
            }
        }
        (kind, place)
    }

    fn deviates(&mut self, place: ChoicePlace, chosen: usize) {
        self.deviations.insert(place, chosen);
        self.deviates.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ChoiceKind::Test;

    #[test]
    fn t2_the_stream_is_that_of_the_algorithm() {
        let mut zero = Seeded::new(0);
        // The first bytes of `ChaCha8` with a key of zeros, from its published test vectors: 3e
        // 00 ef 2f 89 5f 40 d6 | 7f 5b b8 e8 1f 09 a5 a1.
        assert_eq!(zero.number().to_le_bytes(), [0x3e, 0, 0xef, 0x2f, 0x89, 0x5f, 0x40, 0xd6]);
        assert_eq!(zero.number().to_le_bytes(), [0x7f, 0x5b, 0xb8, 0xe8, 0x1f, 0x09, 0xa5, 0xa1]);
    }

    #[test]
    fn t2_a_seed_makes_the_same_choices_everywhere() {
        let mut seeded = Seeded::new(7);
        let choices: Vec<usize> = (0..20).map(|_| seeded.choose(Test, 10)).collect();
        assert_eq!(choices, [7, 4, 0, 3, 3, 3, 3, 1, 6, 9, 6, 6, 4, 2, 9, 5, 2, 0, 1, 7]);
    }

    #[test]
    fn t2_choices_are_in_range_and_every_one_occurs() {
        let mut seeded = Seeded::new(1);
        assert_eq!((seeded.choose(Test, 0), seeded.choose(Test, 1)), (0, 0));
        let mut times = [0; 7];
        (0..7_000).for_each(|_| times[seeded.choose(Test, 7)] += 1);
        assert!(times.iter().all(|times| (800..1_200).contains(times)), "{times:?}");
    }

    #[test]
    fn y4_a_run_that_follows_its_own_choices_is_the_same_and_the_default_is_the_first() {
        let run = |schedule: Schedule| {
            let mut seeded = Seeded::following(schedule, Arc::default());
            let mut chosen: Vec<usize> = (0..20).map(|_| seeded.choose(Test, 10)).collect();
            chosen.push(usize::try_from(seeded.number() >> 33).unwrap_or(0));
            chosen.extend((0..20).map(|_| usize::from(seeded.one_in(3))));
            (chosen, seeded.so_far().unwrap())
        };
        let (drawn, choices) = run("7.1.0".parse().unwrap());
        let mut plain = Seeded::new(7);
        assert_eq!(drawn[..20], (0..20).map(|_| plain.choose(Test, 10)).collect::<Vec<_>>());
        assert_eq!(choices.choices(), 41);
        let numbers = drawn[..20].iter().filter(|choice| **choice != 0).count();
        let strikes: usize = drawn[21..].iter().sum();
        assert!(strikes > 2);
        assert_eq!(choices.deviations(), numbers + strikes, "{choices}");
        assert_eq!(run(choices.clone()), (drawn.clone(), choices));
        // Without deviations; numbers that are no choices stay.
        let (default, choices) = run("7.1.41".parse().unwrap());
        assert_eq!((&default[..20], choices.deviations()), (&[0; 20][..], 0));
        assert_eq!((default[20], &default[21..]), (drawn[20], &[0; 20][..]));
        // A choice beyond the items is the last of them.
        assert_eq!(run("7.1.41:t1=99".parse().unwrap()).0[1], 9);
    }

    /// Faults at chosen steps choose their victims too, as many as there are.
    #[test]
    fn y4_each_of_many_victims_after_one_fault_has_a_place_of_its_own() {
        let run = |schedule: Schedule| {
            let mut seeded = Seeded::following(schedule, Arc::default());
            let chosen: Vec<usize> = (0..5)
                .flat_map(|_| {
                    seeded.one_in(1);
                    (0..10).map(|_| seeded.choose(ChoiceKind::Victim, 10)).collect::<Vec<_>>()
                })
                .collect();
            (chosen, seeded.so_far().unwrap())
        };
        let (drawn, choices) = run("7.1.0".parse().unwrap());
        assert_eq!(choices.deviations(), 5 + drawn.iter().filter(|choice| **choice != 0).count());
        assert_eq!(run(choices.to_string().parse().unwrap()), (drawn, choices));
    }

    /// Processes with these numbers, of which the second is the default.
    struct Ready<'a>(&'a [usize]);

    impl NamedItems for Ready<'_> {
        fn default_item(&self) -> usize {
            1
        }

        fn name(&self, item: usize) -> usize {
            self.0[item]
        }

        fn find(&self, name: usize) -> Option<usize> {
            self.0.iter().position(|ready| *ready == name)
        }
    }

    #[test]
    fn y4_a_step_is_found_by_its_name_or_the_default_is_taken() {
        let ready = Ready(&[9, 5, 4]);
        let mut drawn = Seeded::following("7.1.0".parse().unwrap(), Arc::default());
        let mut plain = Seeded::new(7);
        for _ in 0..20 {
            assert_eq!(
                drawn.choose_named(ChoiceKind::Step, 3, &ready),
                plain.choose(ChoiceKind::Step, 3)
            );
        }
        let choices = drawn.so_far().unwrap();
        assert!(choices.deviations.values().all(|name| [4, 9].contains(name)), "{choices}");
        let schedule = "7.1.3:s1=p1,s2=p9".parse().unwrap();
        let mut seeded = Seeded::following(schedule, Arc::default());
        let chosen: Vec<_> =
            (0..3).map(|_| seeded.choose_named(ChoiceKind::Step, 3, &ready)).collect();
        assert_eq!(chosen, [1, 2, 1]);
    }
}
