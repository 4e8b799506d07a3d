//! Tests of the timer wheel, against a sorted map.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

fn ms(ticks: u64) -> Timestamp {
    Timestamp::from_nanos(ticks.saturating_mul(NANOS_PER_TICK))
}

fn ring(fired: Vec<(TimerKey, Alarm)>) {
    for (_, alarm) in fired {
        if let Alarm::Run(action) = alarm {
            action();
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Set(u64),
    Cancel(usize),
    Advance(u64),
}

fn step() -> impl Strategy<Value = Step> {
    // Delays of every level, near the borders between levels and far beyond the last.
    let delay = |bits: u32| (0..bits, 0..130_u64).prop_map(|(shift, low)| (1 << shift) + low - 1);
    prop_oneof![
        4 => delay(43).prop_map(Step::Set),
        1 => (0..64_usize).prop_map(Step::Cancel),
        3 => delay(37).prop_map(Step::Advance),
    ]
}

proptest! {
    /// Against a sorted map: every timer fires in the advance that reaches its due time.
    /// None fires earlier, none twice, and none after it was cancelled.
    #[test]
    fn t1_the_wheel_fires_the_same_timers_as_a_sorted_map(steps in prop::collection::vec(step(), 1..80)) {
        let mut wheel = Wheel::new();
        let fired = Arc::new(Mutex::new(Vec::new()));
        let mut model: BTreeMap<(u64, usize), TimerKey> = BTreeMap::new();
        let mut keys = Vec::new();
        let mut now = 0_u64;
        for step in steps {
            match step {
                Step::Set(delay) => {
                    let number = keys.len();
                    let log = Arc::clone(&fired);
                    let due = now.saturating_add(delay).max(now + 1);
                    let run = Box::new(move || log.lock().unwrap().push(number));
                    let key = wheel.set(ms(due), Alarm::Run(run));
                    model.insert((due, number), key);
                    keys.push((due, key));
                }
                Step::Cancel(which) if which < keys.len() => {
                    let (due, key) = keys[which];
                    let alive = model.remove(&(due, which)).is_some();
                    prop_assert_eq!(wheel.cancel(key).is_some(), alive);
                }
                Step::Cancel(_) => {}
                Step::Advance(by) => {
                    now = now.saturating_add(by);
                    let mut alarms = Vec::new();
                    wheel.advance(ms(now), &mut alarms);
                    ring(alarms);
                    let later = model.split_off(&(now + 1, 0));
                    let mut expected: Vec<_> = model.keys().map(|(_, number)| *number).collect();
                    model = later;
                    let mut seen = std::mem::take(&mut *fired.lock().unwrap());
                    seen.sort_unstable();
                    expected.sort_unstable();
                    prop_assert_eq!(seen, expected);
                }
            }
            prop_assert_eq!(wheel.len(), model.len());
            if let Some(((due, _), _)) = model.first_key_value() {
                let next = wheel.next_due();
                prop_assert!(next.is_some_and(|next| next <= ms(*due) && next > ms(now)));
            } else {
                prop_assert_eq!(wheel.next_due(), None);
            }
        }
    }
}

#[test]
fn t1_timers_of_one_tick_fire_in_the_order_of_their_due_times() {
    let mut wheel = Wheel::new();
    let log = Arc::new(Mutex::new(Vec::new()));
    for micros in [1_900, 1_200, 1_500, 1_200] {
        let log = Arc::clone(&log);
        wheel.set(
            Timestamp::from_nanos(micros * 1_000),
            Alarm::Run(Box::new(move || log.lock().unwrap().push(micros))),
        );
    }
    let mut fired = Vec::new();
    wheel.advance(ms(2), &mut fired);
    ring(fired);
    assert_eq!(*log.lock().unwrap(), [1_200, 1_200, 1_500, 1_900]);
}

#[test]
fn t1_a_due_time_between_two_ticks_waits_for_the_later() {
    let mut wheel = Wheel::new();
    wheel.set(Timestamp::from_nanos(1_500_000), Alarm::Run(Box::new(|| {})));
    let mut fired = Vec::new();
    wheel.advance(Timestamp::from_nanos(1_999_999), &mut fired);
    assert!(fired.is_empty());
    wheel.advance(Timestamp::from_nanos(2_000_000), &mut fired);
    assert_eq!(fired.len(), 1);
}

#[test]
fn x3_timers_of_a_dispatcher_fire_and_are_not_counted() {
    let mut wheel = Wheel::new();
    wheel.set_internal(ms(1), idle());
    let cancelled = wheel.set_internal(ms(2), idle());
    wheel.set(ms(3), idle());
    assert_eq!(wheel.len(), 1);
    assert!(wheel.cancel(cancelled).is_some());
    assert_eq!((wheel.len(), fires(&mut wheel, 1), wheel.len()), (1, 1, 1));
    // In the entries of the two that have ended.
    wheel.set(ms(3), idle());
    wheel.set(ms(3), idle());
    assert_eq!((wheel.len(), fires(&mut wheel, 3), wheel.len()), (3, 3, 0));
}

fn idle() -> Alarm {
    Alarm::Run(Box::new(|| {}))
}

/// How many timers fire when the wheel advances to this tick.
fn fires(wheel: &mut Wheel, ticks: u64) -> usize {
    let mut fired = Vec::new();
    wheel.advance(ms(ticks), &mut fired);
    fired.len()
}

#[test]
fn t1_a_timer_fires_at_its_tick_at_the_border_of_every_level() {
    for level in 0..=LEVELS as u32 {
        let border = 1_u64 << (level * BITS);
        for (now, due) in [
            (0, border - 1),
            (0, border),
            (0, border + 1),
            (border - 1, border),
            (border - 1, 2 * border - 1),
            (border - 1, 64 * border - 1),
            (border, 64 * border),
            (border / 2 + 1, 64 * border + border / 2),
        ] {
            if due <= now || due >= u64::MAX / NANOS_PER_TICK {
                continue;
            }
            let mut wheel = Wheel::new();
            fires(&mut wheel, now);
            let key = wheel.set(ms(due), idle());
            // As the timer thread does: from one due time to the next.
            let mut looks = 0;
            while let Some(next) = wheel.next_due().filter(|next| *next < ms(due)) {
                let before = wheel.next_due();
                assert_eq!(fires(&mut wheel, next.as_nanos() / NANOS_PER_TICK), 0);
                assert!(wheel.next_due() > before, "{now} {due}");
                looks += 1;
            }
            assert!(looks <= 2 * LEVELS, "{looks} looks from {now} to {due}");
            assert_eq!((fires(&mut wheel, due - 1), wheel.next_due()), (0, Some(ms(due))));
            assert_eq!((fires(&mut wheel, due), wheel.next_due()), (1, None));
            assert!(wheel.cancel(key).is_none() && wheel.len() == 0);
        }
    }
}

#[test]
fn t1_an_overdue_timer_fires_at_the_next_tick_and_one_due_never_does_not_fire() {
    let mut wheel = Wheel::new();
    fires(&mut wheel, 100);
    wheel.set(ms(7), idle());
    wheel.set(ms(100), idle());
    wheel.set(Timestamp::MAX, idle());
    assert_eq!((wheel.next_due(), fires(&mut wheel, 100)), (Some(ms(101)), 0));
    assert_eq!((fires(&mut wheel, 101), wheel.len()), (2, 1));
    // It moves again and again from its farthest slot to the next.
    let mut now = 101;
    while let Some(next) = wheel.next_due().filter(|_| now < u64::MAX / NANOS_PER_TICK) {
        now = (next.as_nanos() / NANOS_PER_TICK).max(now + 1);
        assert_eq!(fires(&mut wheel, now), 0);
    }
    assert_eq!(wheel.len(), 1);
}

#[test]
fn t1_timers_that_are_cancelled_anywhere_in_a_slot_leave_the_others_in_their_order() {
    let order_at = |due: u64, cancelled: &[usize]| {
        let mut wheel = Wheel::new();
        let log = Arc::new(Mutex::new(Vec::new()));
        let set = |wheel: &mut Wheel, number: usize| {
            let log = Arc::clone(&log);
            let run = Box::new(move || log.lock().unwrap().push(number));
            wheel.set(ms(due), Alarm::Run(run))
        };
        let keys: Vec<_> = (0..5).map(|number| set(&mut wheel, number)).collect();
        for number in cancelled {
            assert!(wheel.cancel(keys[*number]).is_some());
            assert!(wheel.cancel(keys[*number]).is_none());
        }
        assert_eq!(wheel.len(), 5 - cancelled.len());
        assert_eq!(wheel.next_due().is_none(), cancelled.len() == 5);
        // Their entries are used again, and their keys are not.
        let places = wheel.timers.len();
        (0..cancelled.len()).for_each(|n| _ = set(&mut wheel, 5 + n));
        assert_eq!(wheel.timers.len(), places);
        assert!(cancelled.iter().all(|number| wheel.cancel(keys[*number]).is_none()));
        let mut fired = Vec::new();
        wheel.advance(ms(due), &mut fired);
        ring(fired);
        drop(wheel);
        Arc::into_inner(log).unwrap().into_inner().unwrap()
    };
    let order = |cancelled: &[usize]| {
        let near = order_at(5, cancelled);
        assert_eq!((&order_at(5_000, cancelled), &order_at(1 << 41, cancelled)), (&near, &near));
        near
    };
    assert_eq!(order(&[]), [0, 1, 2, 3, 4]);
    assert_eq!(order(&[0]), [1, 2, 3, 4, 5]);
    assert_eq!(order(&[4]), [0, 1, 2, 3, 5]);
    assert_eq!(order(&[2]), [0, 1, 3, 4, 5]);
    assert_eq!(order(&[4, 3]), [0, 1, 2, 5, 6]);
    assert_eq!(order(&[1, 0, 2]), [3, 4, 5, 6, 7]);
    assert_eq!(order(&[2, 4, 0, 3, 1]), [5, 6, 7, 8, 9]);
}
