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
mod tests;
