//! A hierarchical timing wheel: setting, cancelling and firing a timer cost the same with one
//! timer as with a million (Varghese and Lauck, 1987).
//!
//! ```text
//! level 0   64 slots of 1 tick       the next 64 ticks
//! level 1   64 slots of 64 ticks     the next 4 096
//!   …
//! level 6   64 slots of 64^6 ticks   the next 64^7 ticks: 139 years of milliseconds
//! ```
//!
//! A timer lies in the level of its highest digit (base 64) that differs from the current
//! tick's, in the slot of that digit. When the current tick reaches a slot of a higher level,
//! the timers in it move down. A tick is a millisecond. A due time is rounded up to the next
//! tick, so no timer is early (rule T1). A timer beyond the last level waits in the farthest
//! slot and is placed again when that is reached.
//!
//! Timers live in a slab and are chained by index, in the order in which they were set. No timer
//! needs an allocation once the slab has grown.

#![allow(
    clippy::cast_possible_truncation,
    reason = "digits of base 64 and numbers of levels fit any integer type"
)]

use krarup_act::{Alarm, TimerKey};
use krarup_gen::Timestamp;

const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
const LEVELS: usize = 7;
const NANOS_PER_TICK: u64 = 1_000_000;
/// The longest wait that the levels can express, in ticks.
const HORIZON: u64 = (1 << (BITS * 7)) - 1;

/// The tick at which a timer is due, rounded up. A timer that is due at the maximum of time
/// never fires.
fn due_tick(due_nanos: u64) -> u64 {
    due_nanos.div_ceil(NANOS_PER_TICK)
}

/// No timer: the end of a chain.
const NONE: u32 = u32::MAX;

pub(crate) struct Wheel {
    timers: Vec<WheelTimer>,
    free: u32,
    /// Timers that are set.
    set: usize,
    /// Those of them that were set with [`Wheel::set_internal`].
    internal: usize,
    /// The current tick: everything due at or before it has fired.
    now: u64,
    /// The first and last timer of each slot.
    ends: Box<[[Ends; SLOTS]; LEVELS]>,
    /// One bit per slot, set if the slot is not empty.
    occupied: [u64; LEVELS],
}

#[derive(Clone, Copy)]
struct Ends {
    first: u32,
    last: u32,
}

struct WheelTimer {
    generation: u32,
    /// In nanoseconds: timers of one tick fire in the order in which they are due.
    due_nanos: u64,
    next: u32,
    previous: u32,
    level: u8,
    slot: u8,
    internal: bool,
    /// `None`: the entry is free, and `next` is the next free one.
    alarm: Option<Alarm>,
}

impl Wheel {
    pub(crate) fn new() -> Self {
        Wheel {
            timers: Vec::new(),
            free: NONE,
            set: 0,
            internal: 0,
            now: 0,
            ends: Box::new([[Ends { first: NONE, last: NONE }; SLOTS]; LEVELS]),
            occupied: [0; LEVELS],
        }
    }

    /// The number of timers that are set, without those of dispatchers.
    pub(crate) fn len(&self) -> usize {
        self.set - self.internal
    }

    pub(crate) fn set(&mut self, due: Timestamp, alarm: Alarm) -> TimerKey {
        self.insert(due, alarm, false)
    }

    /// Sets a timer of a dispatcher, which [`Wheel::len`] does not count.
    pub(crate) fn set_internal(&mut self, due: Timestamp, alarm: Alarm) -> TimerKey {
        self.insert(due, alarm, true)
    }

    fn insert(&mut self, due: Timestamp, alarm: Alarm, internal: bool) -> TimerKey {
        let due_nanos = due.as_nanos();
        let index = if self.free == NONE {
            let index = u32::try_from(self.timers.len()).unwrap_or(NONE);
            assert!(index != NONE, "more than 2^32 - 2 timers at once");
            self.timers.push(WheelTimer {
                generation: 0,
                due_nanos,
                next: NONE,
                previous: NONE,
                level: 0,
                slot: 0,
                internal,
                alarm: Some(alarm),
            });
            index
        } else {
            let index = self.free;
            let timer = &mut self.timers[index as usize];
            self.free = timer.next;
            timer.due_nanos = due_nanos;
            timer.internal = internal;
            timer.alarm = Some(alarm);
            index
        };
        self.set += 1;
        self.internal += usize::from(internal);
        self.link(index);
        TimerKey { index, generation: self.timers[index as usize].generation }
    }

    /// Takes a timer out. Returns `None` if it has fired or was cancelled.
    pub(crate) fn cancel(&mut self, key: TimerKey) -> Option<Alarm> {
        let timer = self.timers.get(key.index as usize)?;
        if timer.generation != key.generation || timer.alarm.is_none() {
            return None;
        }
        self.unlink(key.index);
        self.release(key.index)
    }

    /// All alarms that are set, in no order.
    pub(crate) fn into_alarms(self) -> impl Iterator<Item = Alarm> {
        self.timers.into_iter().filter_map(|timer| timer.alarm)
    }

    /// Advances to `now`. Appends what is due by then, with its keys, in the order in which it
    /// is due, and then in the order in which it was set.
    pub(crate) fn advance(&mut self, now: Timestamp, fired: &mut Vec<(TimerKey, Alarm)>) {
        let target = now.as_nanos() / NANOS_PER_TICK;
        let mut due = Vec::new();
        while let Some((tick, level, slot)) = self.next_slot() {
            if tick > target {
                break;
            }
            self.now = self.now.max(tick);
            let mut index = self.ends[level][slot].first;
            self.ends[level][slot] = Ends { first: NONE, last: NONE };
            self.occupied[level] &= !(1 << slot);
            while index != NONE {
                let WheelTimer { next, due_nanos, generation, .. } = self.timers[index as usize];
                if due_tick(due_nanos) <= self.now {
                    let key = TimerKey { index, generation };
                    due.extend(self.release(index).map(|alarm| (due_nanos, key, alarm)));
                } else {
                    self.link(index);
                }
                index = next;
            }
        }
        self.now = self.now.max(target);
        due.sort_by_key(|(due_nanos, ..)| *due_nanos);
        fired.extend(due.into_iter().map(|(_, key, alarm)| (key, alarm)));
    }

    /// When to call [`Wheel::advance`] next: no timer is due before.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        let (tick, _, _) = self.next_slot()?;
        Some(Timestamp::from_nanos(tick.saturating_mul(NANOS_PER_TICK)))
    }

    /// The slot that is reached next, with its tick.
    fn next_slot(&self) -> Option<(u64, usize, usize)> {
        let mut next = None::<(u64, usize, usize)>;
        for level in 0..LEVELS {
            let occupied = self.occupied[level];
            if occupied == 0 {
                continue;
            }
            let shift = BITS * level as u32;
            let here = (self.now >> shift) % SLOTS as u64;
            // The number of slots from the one after the current one to the next occupied one.
            let ahead = u64::from(occupied.rotate_right((here as u32 + 1) % 64).trailing_zeros());
            let tick = ((self.now >> shift) + ahead + 1) << shift;
            if next.is_none_or(|(earliest, _, _)| tick < earliest) {
                next = Some((tick, level, ((here + ahead + 1) % SLOTS as u64) as usize));
            }
        }
        next
    }

    /// Chains a timer into its slot, at the end. A timer that is due already goes to the next
    /// tick.
    fn link(&mut self, index: u32) {
        let tick = due_tick(self.timers[index as usize].due_nanos);
        let due = tick.clamp(self.now + 1, self.now + HORIZON);
        let differing = due ^ self.now;
        let level = (differing.ilog2() / BITS).min(LEVELS as u32 - 1);
        let slot = ((due >> (level * BITS)) % SLOTS as u64) as usize;
        let level = level as usize;
        let last = self.ends[level][slot].last;
        let timer = &mut self.timers[index as usize];
        timer.next = NONE;
        timer.previous = last;
        timer.level = level as u8;
        timer.slot = slot as u8;
        self.ends[level][slot].last = index;
        if last == NONE {
            self.ends[level][slot].first = index;
            self.occupied[level] |= 1 << slot;
        } else {
            self.timers[last as usize].next = index;
        }
    }

    fn unlink(&mut self, index: u32) {
        let WheelTimer { next, previous, level, slot, .. } = self.timers[index as usize];
        let (level, slot) = (level as usize, slot as usize);
        if next == NONE {
            self.ends[level][slot].last = previous;
        } else {
            self.timers[next as usize].previous = previous;
        }
        if previous == NONE {
            self.ends[level][slot].first = next;
        } else {
            self.timers[previous as usize].next = next;
        }
        if previous == NONE && next == NONE {
            self.occupied[level] &= !(1 << slot);
        }
    }

    /// Frees the entry of an unchained timer.
    fn release(&mut self, index: u32) -> Option<Alarm> {
        let timer = &mut self.timers[index as usize];
        let alarm = timer.alarm.take();
        timer.generation = timer.generation.wrapping_add(1);
        timer.next = self.free;
        self.free = index;
        self.set -= 1;
        self.internal -= usize::from(timer.internal);
        alarm
    }
}

#[cfg(test)]
mod tests {
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
        let delay =
            |bits: u32| (0..bits, 0..130_u64).prop_map(|(shift, low)| (1 << shift) + low - 1);
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
            assert_eq!(
                (&order_at(5_000, cancelled), &order_at(1 << 41, cancelled)),
                (&near, &near)
            );
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
}
