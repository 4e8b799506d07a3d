//! The timers of a process (rule T1). Their actions are kept here; the host keeps only the due
//! times.
//!
//! A timer for the process itself puts a notice into its mailbox. When the notice is received,
//! the message is taken out of this table. A cancelled timer has no entry any more, so a
//! notice that was already sent has no effect. A timer for another process acts when it is
//! due, on the host's thread. It also sends a notice, so that its entry is removed.

use crate::host::host::TimerKey;
use crate::process::crash::drop_contained;
use crate::traces::trace_context::TraceContext;
use krarup_gen::{Ref, Timestamp};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::time::Duration;

/// The timers of one process, found by their references in a step or two, however many there are.
pub(crate) struct ProcessTimers<M>(
    HashMap<Ref, ProcessTimer<M>, BuildHasherDefault<ReferenceHasher>>,
);

/// A table with room for more than this gives it back when little of it is used.
const SMALL: usize = 64;

/// The bits of a hash in which the table compares entries; the others say where an entry lies.
const COMPARED: u64 = 0x7F << 57;

/// References are numbers that are drawn one after the other. So timers that were set one after the
/// other lie side by side, and those that are cancelled in that order are found without a cache miss for
/// each (docs/decisions.md). The upper bits are mixed in, for numbers that are drawn in strides.
#[derive(Default)]
struct ReferenceHasher(u64);

impl Hasher for ReferenceHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // Fibonacci hashing, for the bits that are compared.
        let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = (mixed & COMPARED) | ((number ^ (number >> 5) ^ (number >> 15)) & !COMPARED);
    }
}

pub(crate) struct ProcessTimer<M> {
    pub(crate) key: TimerKey,
    pub(crate) due: Timestamp,
    pub(crate) action: TimerAction<M>,
}

pub(crate) enum TimerAction<M> {
    Once(M),
    Again {
        period: Duration,
        message: Box<dyn FnMut() -> M + Send>,
    },
    /// As `Again`, with the next message, which was looked at before it is received.
    Made(Box<MadeMessage<M>>),
    /// Set in a trace context; its message begins a trace that is linked with that one.
    Linked(Box<(TimerAction<M>, TraceContext)>),
    /// The action runs elsewhere when it is due.
    Elsewhere,
}

/// The next message of an interval.
pub(crate) struct MadeMessage<M> {
    pub(crate) next: NextMade<M>,
    pub(crate) period: Duration,
    pub(crate) message: Box<dyn FnMut() -> M + Send>,
}

/// It is dropped apart from what makes the next one: both are a user's, and two panics must not coincide.
pub(crate) struct NextMade<M>(Option<M>);

impl<M> NextMade<M> {
    pub(crate) fn take(mut self) -> Option<M> {
        self.0.take()
    }
}

impl<M> Drop for NextMade<M> {
    fn drop(&mut self) {
        drop_contained(self.0.take());
    }
}

impl<M> TimerAction<M> {
    /// The message that comes next, if it is one for the process itself. That of an interval is made now.
    fn message(&mut self) -> Option<&M> {
        if let TimerAction::Again { .. } = self {
            let again = std::mem::replace(self, TimerAction::Elsewhere);
            if let TimerAction::Again { period, mut message } = again {
                let next = NextMade(Some(message()));
                *self = TimerAction::Made(Box::new(MadeMessage { next, period, message }));
            }
        }
        match self {
            TimerAction::Once(message) => Some(message),
            TimerAction::Made(made) => made.next.0.as_ref(),
            TimerAction::Linked(linked) => linked.0.message(),
            TimerAction::Again { .. } | TimerAction::Elsewhere => None,
        }
    }
}

impl<M> ProcessTimers<M> {
    /// The message of a timer that was not cancelled and is one for the process itself.
    pub(crate) fn message(&mut self, timer: Ref) -> Option<&M> {
        self.0.get_mut(&timer)?.action.message()
    }

    pub(crate) const fn new() -> Self {
        ProcessTimers(HashMap::with_hasher(BuildHasherDefault::new()))
    }

    pub(crate) fn insert(&mut self, timer: Ref, entry: ProcessTimer<M>) {
        self.0.insert(timer, entry);
    }

    pub(crate) fn remove(&mut self, timer: Ref) -> Option<ProcessTimer<M>> {
        let removed = self.0.remove(&timer);
        let (used, room) = (self.0.len(), self.0.capacity());
        if room > SMALL && used < room / 8 {
            self.0.shrink_to(room / 4);
        }
        removed
    }

    pub(crate) fn get(&self, timer: Ref) -> Option<&ProcessTimer<M>> {
        self.0.get(&timer)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns all timers, with the keys by which the host cancels them, in the order in which they were made.
    pub(crate) fn in_order(&self) -> Vec<(Ref, TimerKey)> {
        let mut timers = Vec::with_capacity(self.0.len());
        for (reference, timer) in &self.0 {
            timers.push((*reference, timer.key));
        }
        sort(&mut timers);
        timers
    }
}

/// Compiled once, and not for each type of message.
fn sort(timers: &mut [(Ref, TimerKey)]) {
    timers.sort_unstable_by_key(|(reference, _)| *reference);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn timer(number: u32) -> ProcessTimer<u32> {
        let key = TimerKey { index: number, generation: 0 };
        ProcessTimer { key, due: Timestamp::ZERO, action: TimerAction::Once(number) }
    }

    #[test]
    fn t1_the_actions_of_timers_end_in_the_order_in_which_the_timers_were_made() {
        let mut timers = ProcessTimers::new();
        for number in [7, 900, 3, 40, 12, 5_000, 1] {
            timers.insert(Ref::new(number.into()), timer(number));
        }
        timers.remove(Ref::new(40));
        let in_order = timers.in_order();
        let keys: Vec<_> = in_order.iter().map(|(_, key)| key.index).collect();
        assert_eq!(keys, [1, 3, 7, 12, 900, 5_000]);
        let numbers = in_order.iter().map(|(timer, _)| match timers.get(*timer) {
            Some(ProcessTimer { action: TimerAction::Once(number), .. }) => *number,
            _ => 0,
        });
        assert!(numbers.eq(keys));
    }

    /// Of so many references, drawn in strides, the most that have one place in a table of twice as many.
    fn most_at_one_place(count: u64, stride: u64) -> usize {
        let mut places = HashMap::<_, usize>::new();
        for number in (0..count).map(|number| 0x5_1234_5678 + number * stride) {
            let mut hasher = ReferenceHasher::default();
            hasher.write_u64(number);
            *places.entry(hasher.finish() % (2 * count)).or_default() += 1;
        }
        places.into_values().max().unwrap_or_default()
    }

    #[test]
    fn t1_references_drawn_in_a_row_have_a_place_each_and_in_strides_a_few_share_one() {
        for count in [1 << 6, 1 << 12, 1 << 18] {
            assert_eq!(most_at_one_place(count, 1), 1, "of {count}");
            for stride in 1..16 {
                let most = most_at_one_place(count, 1 << stride);
                assert!(most <= 8, "{most} of {count} in strides of 2^{stride}");
            }
        }
    }

    #[test]
    fn t1_a_process_that_had_many_timers_does_not_keep_their_room() {
        let mut timers = ProcessTimers::new();
        for number in 0..100_000_u32 {
            timers.insert(Ref::new(number.into()), timer(number));
        }
        for number in 0..99_990_u32 {
            assert!(timers.remove(Ref::new(number.into())).is_some());
            assert!(timers.get(Ref::new(99_999)).is_some());
        }
        assert!(timers.0.capacity() <= 8 * SMALL, "{}", timers.0.capacity());
    }
}
