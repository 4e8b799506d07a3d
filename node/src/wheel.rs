//! A hierarchical timing wheel: setting, cancelling and firing a timer cost the same
//! with one timer or a million (Varghese and Lauck, 1987).
//!
//! ```text
//! level 0   64 slots of 1 tick       the next 64 ticks
//! level 1   64 slots of 64 ticks     the next 4 096
//!   …
//! level 6   64 slots of 64^6 ticks   the next 64^7 ticks: 139 years of milliseconds
//! ```
//!
//! A timer lies in the level of the highest of its digits (base 64) that differs from
//! the present one, in the slot of that digit. When the present reaches a slot of a
//! higher level, its timers move down. A tick is a millisecond; a due time is rounded
//! up to the next tick, so no timer is early (rule T1). A timer beyond the last level
//! waits in the farthest slot and is looked at again when that is reached.
//!
//! Timers live in a slab and are chained by index: no allocation per timer once the
//! slab has grown.

use krarup_act::{Alarm, TimerKey};
use krarup_gen::Timestamp;

const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
const LEVELS: usize = 7;
const NANOS_PER_TICK: u64 = 1_000_000;
/// The longest wait the levels can express, in ticks.
const HORIZON: u64 = (1 << (BITS * 7)) - 1;

/// No timer: the end of a chain.
const NONE: u32 = u32::MAX;

pub(crate) struct Wheel {
    timers: Vec<Timer>,
    free: u32,
    set: usize,
    /// Ticks that have passed: everything due at or before it has fired.
    now: u64,
    /// First timer of each slot.
    heads: Box<[[u32; SLOTS]; LEVELS]>,
    /// One bit per slot that is not empty.
    occupied: [u64; LEVELS],
}

struct Timer {
    generation: u32,
    due: u64,
    next: u32,
    previous: u32,
    level: u8,
    slot: u8,
    /// `None`: the place is free, and `next` the next free one.
    alarm: Option<Alarm>,
}

impl Wheel {
    pub(crate) fn new() -> Self {
        Wheel {
            timers: Vec::new(),
            free: NONE,
            set: 0,
            now: 0,
            heads: Box::new([[NONE; SLOTS]; LEVELS]),
            occupied: [0; LEVELS],
        }
    }

    /// Timers set and neither fired nor cancelled.
    pub(crate) fn len(&self) -> usize {
        self.set
    }

    pub(crate) fn set(&mut self, due: Timestamp, alarm: Alarm) -> TimerKey {
        let due = due.as_nanos().div_ceil(NANOS_PER_TICK).max(self.now + 1);
        let index = if self.free == NONE {
            let index = u32::try_from(self.timers.len()).unwrap_or(NONE);
            assert!(index != NONE, "over four thousand million timers at once");
            self.timers.push(Timer {
                generation: 0,
                due,
                next: NONE,
                previous: NONE,
                level: 0,
                slot: 0,
                alarm: Some(alarm),
            });
            index
        } else {
            let index = self.free;
            let timer = &mut self.timers[index as usize];
            self.free = timer.next;
            timer.due = due;
            timer.alarm = Some(alarm);
            index
        };
        self.set += 1;
        self.link(index);
        TimerKey { index, generation: self.timers[index as usize].generation }
    }

    /// Takes a timer out: its alarm, and when it was due. `None` if it has gone.
    pub(crate) fn cancel(&mut self, key: TimerKey) -> Option<(Alarm, Timestamp)> {
        let timer = self.timers.get(key.index as usize)?;
        if timer.generation != key.generation || timer.alarm.is_none() {
            return None;
        }
        let due = Timestamp::from_nanos(timer.due.saturating_mul(NANOS_PER_TICK));
        self.unlink(key.index);
        self.release(key.index).map(|alarm| (alarm, due))
    }

    /// Moves on to `now` and hands out what is due by then, in the order of due ticks.
    pub(crate) fn advance(&mut self, now: Timestamp, fired: &mut Vec<Alarm>) {
        let target = now.as_nanos() / NANOS_PER_TICK;
        while let Some((tick, level, slot)) = self.next_slot() {
            if tick > target {
                break;
            }
            self.now = self.now.max(tick);
            let mut index = self.heads[level][slot];
            self.heads[level][slot] = NONE;
            self.occupied[level] &= !(1 << slot);
            while index != NONE {
                let next = self.timers[index as usize].next;
                if self.timers[index as usize].due <= self.now {
                    fired.extend(self.release(index));
                } else {
                    self.link(index);
                }
                index = next;
            }
        }
        self.now = self.now.max(target);
    }

    /// When to call [`Wheel::advance`] next: no timer is due before.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        let (tick, _, _) = self.next_slot()?;
        Some(Timestamp::from_nanos(tick.saturating_mul(NANOS_PER_TICK)))
    }

    /// The slot that is reached next, and when.
    fn next_slot(&self) -> Option<(u64, usize, usize)> {
        let mut next = None::<(u64, usize, usize)>;
        for level in 0..LEVELS {
            let occupied = self.occupied[level];
            if occupied == 0 {
                continue;
            }
            let shift = BITS * u32::try_from(level).unwrap_or(0);
            let here = (self.now >> shift) & (SLOTS as u64 - 1);
            // Distance in slots to the next occupied one after the present one, 1 to 64.
            let ahead = occupied.rotate_right((u32::try_from(here).unwrap_or(0) + 1) % 64).trailing_zeros();
            let tick = ((self.now >> shift) + u64::from(ahead) + 1) << shift;
            if next.is_none_or(|(earliest, _, _)| tick < earliest) {
                let slot = (here + u64::from(ahead) + 1) % SLOTS as u64;
                next = Some((tick, level, usize::try_from(slot).unwrap_or(0)));
            }
        }
        next
    }

    /// Chains a timer, due after `now`, into its slot.
    fn link(&mut self, index: u32) {
        let due = self.timers[index as usize].due.min(self.now + HORIZON);
        let differing = (due ^ self.now).max(1);
        let level = ((63 - differing.leading_zeros()) / BITS).min(LEVELS as u32 - 1);
        let slot = ((due >> (level * BITS)) % SLOTS as u64) as usize;
        let level = level as usize;
        let head = self.heads[level][slot];
        if head != NONE {
            self.timers[head as usize].previous = index;
        }
        let timer = &mut self.timers[index as usize];
        timer.next = head;
        timer.previous = NONE;
        timer.level = level as u8;
        timer.slot = slot as u8;
        self.heads[level][slot] = index;
        self.occupied[level] |= 1 << slot;
    }

    fn unlink(&mut self, index: u32) {
        let Timer { next, previous, level, slot, .. } = self.timers[index as usize];
        let (level, slot) = (level as usize, slot as usize);
        if next != NONE {
            self.timers[next as usize].previous = previous;
        }
        if previous == NONE {
            self.heads[level][slot] = next;
            if next == NONE {
                self.occupied[level] &= !(1 << slot);
            }
        } else {
            self.timers[previous as usize].next = next;
        }
    }

    /// Frees the place of an unchained timer.
    fn release(&mut self, index: u32) -> Option<Alarm> {
        let timer = &mut self.timers[index as usize];
        let alarm = timer.alarm.take();
        timer.generation = timer.generation.wrapping_add(1);
        timer.next = self.free;
        self.free = index;
        self.set -= 1;
        alarm
    }
}
