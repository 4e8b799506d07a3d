//! The steal policy alone, in artificial time.

use super::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::iter;

fn at(micros: u64) -> Timestamp {
    Timestamp::from_nanos(micros * 1_000)
}

fn idle() -> iter::Empty<Sibling> {
    iter::empty()
}

const VICTIM: usize = 1;

fn working(turns: u64) -> Sibling {
    Sibling { worker: VICTIM, turns, has_work: true }
}

fn busy(turns: u64) -> impl Iterator<Item = Sibling> + Clone {
    iter::once(working(turns))
}

/// A theft of this many processes by a worker that has begun no turn.
fn theft(processes: usize, when: Timestamp, victims_turns: u64) -> Theft {
    Theft { when, processes, from: working(victims_turns), turns: 0 }
}

#[test]
fn after_a_theft_that_paid_off_the_next_follows_at_once() {
    let mut policy = StealPolicy::default();
    assert_eq!(policy.patience(|| at(0), idle()), None);
    policy.has_stolen(theft(10, at(0), 0), idle());
    policy.has_run_dry(0, || at(25), idle());
    assert_eq!(policy.patience(|| at(25), idle()), None);
}

#[test]
fn thefts_that_do_not_pay_delay_the_next_ones_longer_up_to_a_limit() {
    let mut policy = StealPolicy::default();
    let mut now = 0;
    for wait in [8, 16, 32, 64, 128, 256, 500, 500] {
        policy.has_stolen(theft(10, at(now), 0), idle());
        now += 24;
        policy.has_run_dry(0, || at(now), idle());
        assert_eq!(policy.patience(|| at(now + 1), idle()), Some(Duration::from_micros(wait - 1)));
        now += wait;
        assert_eq!(policy.patience(|| at(now), idle()), None);
    }
    policy.has_stolen(theft(10, at(now), 0), idle());
    policy.has_run_dry(0, || at(now + 25), idle());
    assert_eq!(policy.patience(|| at(now + 25), idle()), None);
    policy.has_stolen(theft(10, at(now + 25), 0), idle());
    policy.has_run_dry(0, || at(now + 49), idle());
    assert_eq!(policy.patience(|| at(now + 49), idle()), Some(Duration::from_micros(8)));
}

#[test]
fn a_theft_is_judged_once() {
    let mut policy = StealPolicy::default();
    policy.has_stolen(theft(10, at(0), 0), idle());
    policy.has_run_dry(0, || at(1), idle());
    policy.has_run_dry(0, || at(5), idle());
    assert_eq!(policy.patience(|| at(9), idle()), None);
}

/// The policy of a worker that began to hold back at 1 µs, when its sibling had begun 100 turns.
fn held_back() -> StealPolicy {
    let mut policy = StealPolicy::default();
    policy.has_stolen(theft(10, at(0), 0), idle());
    policy.has_run_dry(0, || at(1), busy(100));
    policy
}

#[test]
fn work_behind_short_turns_is_left_where_it_is_until_the_next_trial() {
    let mut policy = held_back();
    let (mut now, mut turns) = (9, 100);
    for wait in [16, 32, 64, 128, 256, 500, 500] {
        turns += 500;
        assert_eq!(
            policy.patience(|| at(now), busy(turns)),
            Some(Duration::from_micros(wait)),
            "at {now}"
        );
        now += wait;
    }
    now = 1 + 10_000;
    turns += 10_000;
    assert_eq!(policy.patience(|| at(now), busy(turns)), None);
}

/// When the policy steals next from a sibling whose turns stay short, looking from `now` on.
fn next_trial(policy: &mut StealPolicy, mut now: u64) -> u64 {
    while policy.patience(|| at(now), busy(now * 10)).is_some() {
        now += 100;
    }
    now
}

/// A theft at `now` that does not pay: its processes go idle at once.
fn fail(policy: &mut StealPolicy, now: u64) {
    policy.has_stolen(theft(10, at(now), now * 10), busy(now * 10));
    policy.has_run_dry(0, || at(now + 1), busy(now * 10));
}

#[test]
fn trials_in_succession_that_do_not_pay_become_rarer_up_to_a_limit() {
    let mut policy = StealPolicy::default();
    let mut now = 0;
    fail(&mut policy, now);
    let mut trials = |policy: &mut StealPolicy, millis: &[u64]| {
        for expected in millis {
            let trial = next_trial(policy, now + 1);
            // A worker that dozes looks every half millisecond.
            assert_eq!((trial - now) / 1_000, *expected);
            now = trial;
            fail(policy, now);
        }
        now
    };
    let now = trials(&mut policy, &[10, 20, 40, 80, 160, 160]);
    // One that pays ends the succession.
    let trial = next_trial(&mut policy, now + 1);
    policy.has_stolen(theft(10, at(trial), 0), idle());
    policy.has_run_dry(0, || at(trial + 100), idle());
    fail(&mut policy, trial + 200);
    let next = next_trial(&mut policy, trial + 201);
    assert_eq!((next - trial) / 1_000, 10);
}

#[test]
fn work_behind_long_turns_is_stolen_as_soon_as_it_looks_again() {
    let mut policy = held_back();
    assert_eq!(policy.patience(|| at(9), busy(103)), None);
    let mut policy = held_back();
    assert_eq!(policy.patience(|| at(9), busy(104)), Some(Duration::from_micros(16)));
    // Since then it has been in one and the same turn.
    assert_eq!(policy.patience(|| at(25), busy(104)), None);
}

#[test]
fn one_sibling_with_long_turns_is_enough_for_a_theft() {
    let siblings = |fast, slow| [working(fast), slow].into_iter();
    let stuck = |has_work| Sibling { worker: 2, turns: 7, has_work };
    let mut policy = StealPolicy::default();
    policy.has_stolen(theft(10, at(0), 0), idle());
    policy.has_run_dry(0, || at(1), siblings(0, stuck(false)));
    assert_eq!(
        policy.patience(|| at(9), siblings(500, stuck(false))),
        Some(Duration::from_micros(16))
    );
    assert_eq!(policy.patience(|| at(25), siblings(1_000, stuck(true))), None);
}

/// The policy of a worker that saw its victim begin 1 000 turns in 100 µs and then stole 10
/// processes. It ran dry 100 µs later, when it had begun `own` turns and its victim `victims`
/// more.
fn compared(own: u64, victims: u64) -> StealPolicy {
    let mut policy = held_back();
    policy.has_stolen(theft(10, at(101), 1_100), busy(1_100));
    policy.has_run_dry(own, || at(201), busy(1_100 + victims));
    policy
}

fn holds_back(policy: &mut StealPolicy) -> bool {
    policy.patience(|| at(202), busy(3_000)).is_some()
}

#[test]
fn a_theft_that_hardly_speeds_up_both_workers_does_not_pay_off() {
    assert!(holds_back(&mut compared(600, 500)));
    assert!(holds_back(&mut compared(100, 1_100)));
    assert!(!holds_back(&mut compared(700, 600)));
    assert!(!holds_back(&mut compared(900, 900)));
}

#[test]
fn a_theft_that_leaves_the_victim_without_work_is_worth_it() {
    let mut policy = held_back();
    policy.has_stolen(theft(10, at(101), 1_100), busy(1_100));
    let dry = Sibling { has_work: false, ..working(1_200) };
    policy.has_run_dry(1, || at(201), iter::once(dry));
    assert!(!holds_back(&mut policy));
}

#[test]
fn work_that_is_left_behind_one_long_turn_is_stolen_at_once() {
    assert!(!holds_back(&mut compared(1_000, 0)));
    assert!(holds_back(&mut compared(1_000, 1)));
}

/// Whichever worker it steals from, another may be stuck meanwhile.
#[test]
fn a_spare_never_holds_back() {
    let mut policy = StealPolicy::default();
    for round in 0..4 {
        let (when, turns) = (round * 20, round * 500);
        policy.has_stolen(Theft { turns: round, ..theft(0, at(when), turns) }, busy(turns));
        policy.has_run_dry(round + 1, || at(when + 20), busy(turns + 500));
        assert_eq!(policy.patience(|| at(when + 20), busy(turns + 500)), None, "{round}");
    }
}

/// The other sibling's turns are long compared with those of the one whose pace is known, and
/// two workers run them twice as fast.
#[test]
fn the_pace_of_one_sibling_is_not_used_for_another() {
    let siblings = |fast, slow| [working(fast), Sibling { worker: 2, ..working(slow) }];
    let mut policy = held_back();
    let both = siblings(1_100, 0);
    policy.has_stolen(theft(10, at(101), 1_100), both.into_iter());
    policy.has_run_dry(900, || at(201), siblings(2_000, 100).into_iter());
    assert_eq!(policy.patience(|| at(201), siblings(2_000, 100).into_iter()), None);
    let from = Sibling { worker: 2, ..working(100) };
    let second = Theft { from, turns: 900, ..theft(10, at(201), 0) };
    policy.has_stolen(second, siblings(2_000, 100).into_iter());
    policy.has_run_dry(1_000, || at(301), siblings(3_000, 200).into_iter());
    // It watches, and then knows the pace.
    let left = policy.patience(|| at(301), siblings(3_000, 200).into_iter());
    assert_eq!(left, Some(WATCH));
}

#[test]
fn long_turns_are_not_compared() {
    assert!(!holds_back(&mut compared(20, 19)));
    assert!(!holds_back(&mut compared(2, 2)));
}

#[test]
fn a_worker_without_a_known_pace_watches_and_then_steals() {
    let mut policy = StealPolicy::default();
    policy.has_stolen(theft(10, at(0), 0), busy(0));
    policy.has_run_dry(500, || at(100), busy(500));
    assert_eq!(policy.patience(|| at(101), busy(510)), Some(Duration::from_micros(15)));
    assert_eq!(policy.patience(|| at(116), busy(660)), None);
    // 160 turns in 16 µs alone, and both together no more: not worth it.
    policy.has_stolen(theft(10, at(116), 660), busy(660));
    policy.has_run_dry(500, || at(216), busy(1_160));
    assert_eq!(policy.patience(|| at(217), busy(1_170)), Some(Duration::from_micros(7)));
}

/// Whatever its siblings do and whatever it has seen, it steals again in time (rule R2).
#[test]
fn r2_a_trial_theft_always_happens_in_time() {
    let mut rng = SmallRng::seed_from_u64(1);
    let (mut policy, mut now, mut own) = (StealPolicy::default(), at(0), 0);
    let mut turns = [0, 0, 0];
    let siblings = |turns: [u64; 3]| {
        (0..3).map(move |worker| Sibling { worker, turns: turns[worker], has_work: true })
    };
    for _ in 0..2_000 {
        let (fast, victim) = (rng.random_range(0..4_000), rng.random_range(0..3));
        let mut pass = |now: &mut Timestamp, nanos: u64| {
            *now = *now + Duration::from_nanos(nanos);
            turns.iter_mut().for_each(|turns| *turns += nanos * fast / 1_000_000 + 1);
            turns
        };
        let began = now;
        loop {
            let seen = pass(&mut now, 1);
            let Some(left) = policy.patience(|| now, siblings(seen)) else { break };
            assert!(left <= WAITS.1);
            pass(&mut now, u64::try_from(left.as_nanos()).unwrap());
            assert!(now - began <= TRIALS.1 + WAITS.1 * 2, "{policy:?}");
        }
        let seen = pass(&mut now, 1);
        let from = siblings(seen).nth(victim).unwrap();
        let theft = Theft { when: now, processes: rng.random_range(0..34), from, turns: own };
        policy.has_stolen(theft, siblings(seen));
        let seen = pass(&mut now, rng.random_range(0..200_000));
        own += rng.random_range(0..500);
        policy.has_run_dry(own, || now, siblings(seen));
    }
}

#[test]
fn a_measured_pace_expires() {
    let mut policy = compared(900, 900);
    policy.has_stolen(theft(10, at(11_000), 9_000), busy(9_000));
    policy.has_run_dry(100, || at(11_100), busy(9_100));
    // It watches.
    assert_eq!(policy.patience(|| at(11_100), busy(9_100)), Some(Duration::from_micros(16)));
}

#[test]
fn a_worker_whose_process_was_muted_while_it_watches_holds_back() {
    let mut policy = StealPolicy::default();
    policy.has_stolen(theft(1, at(20_000), 0), idle());
    // Short turns, and the sibling's pace alone is unknown: it holds back to measure it.
    policy.has_run_dry(0, || at(20_025), busy(20));
    assert_eq!(policy.patience(|| at(20_025), busy(20)), Some(WATCH));
    policy.has_muted(at(20_026), busy(20));
    let wait = 2 * WATCH;
    assert_eq!(policy.patience(|| at(20_026), busy(20)), Some(wait));
    // The sibling's turns are short all the while.
    assert_eq!(policy.patience(|| at(20_026) + wait, busy(120)), Some(2 * wait));
}
