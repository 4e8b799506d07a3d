//! What a node remembers: rings of the newest items of each kind.
//!
//! A ring that holds nothing costs a look at a flag where an item would be made. Items hold no
//! values of users, so they may be dropped anywhere; still none is made or dropped under a lock.

use crate::observe::report_log::ReportLog;
use krarup_gen::{
    CrashReport, DeadLetter, DeadlockRecord, LongTurnRecord, Memory, Name, Pid, Recorded,
    RecordedPage, Report, ReportKind, ReportLevel, Reported, SupervisionEvent, Target, Timestamp,
};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The rings of a node. For hosts.
#[derive(Debug, Default)]
pub struct NodeRecords {
    /// Crash reports.
    pub crashes: RecordRing<CrashReport>,
    /// Decisions of supervisors and pools.
    pub restarts: RecordRing<SupervisionEvent>,
    /// Dead letters.
    pub dead_letters: RecordRing<DeadLetter>,
    /// Cycles of calls.
    pub deadlocks: RecordRing<DeadlockRecord>,
    /// Long turns.
    pub long_turns: RecordRing<LongTurnRecord>,
    /// What is published and not remembered.
    pub reports: ReportLog,
}

impl NodeRecords {
    /// Sets how many items of each kind are remembered from now on. The oldest are dropped if
    /// there are more.
    pub fn remember(&self, memory: Memory) {
        let Memory { crashes, restarts, dead_letters, deadlocks, long_turns } = memory;
        self.crashes.resize(crashes);
        self.restarts.resize(restarts);
        self.dead_letters.resize(dead_letters);
        self.deadlocks.resize(deadlocks);
        self.long_turns.resize(long_turns);
    }
}

impl NodeRecords {
    /// Records a dead letter, if dead letters are remembered, and reports it.
    pub fn dead_letter(
        &self,
        letter: &DeadLetter,
        application: Option<&Name>,
        now: impl Fn() -> Timestamp,
    ) {
        if self.dead_letters.is_on() {
            self.dead_letters.push(now(), letter.clone());
        }
        if self.reports.is_heard() {
            let to = match letter.to {
                Target::Pid(pid) => Some(pid),
                _ => None,
            };
            let about: Vec<_> = to.into_iter().chain(letter.from).collect();
            let make = |head| Report::DeadLetters(Reported::new(head, letter.clone()));
            let (kind, level) = (ReportKind::DeadLetters, ReportLevel::Info);
            self.reports.publish(kind, level, &about, application, now(), make);
        }
    }

    /// Records a long turn, if long turns are remembered, and reports it.
    pub fn long_turn(
        &self,
        record: impl FnOnce() -> (LongTurnRecord, Option<Name>),
        now: impl Fn() -> Timestamp,
    ) {
        if !self.long_turns.is_on() && !self.reports.is_heard() {
            return;
        }
        let (record, application) = record();
        let record = Arc::new(record);
        let make = |head| Report::LongTurn(Reported::new(head, Arc::clone(&record)));
        self.reports.publish(
            ReportKind::LongTurn,
            ReportLevel::Warn,
            record.pid.as_slice(),
            application.as_ref(),
            now(),
            make,
        );
        self.long_turns.push(now(), record);
    }

    /// Records and reports a crash.
    pub(crate) fn crash(
        &self,
        report: CrashReport,
        about: &[Pid],
        application: Option<&Name>,
        now: Timestamp,
    ) {
        let report = Arc::new(report);
        let make = |head| Report::Crash(Reported::new(head, Arc::clone(&report)));
        let (kind, level) = (ReportKind::Crash, ReportLevel::Error);
        self.reports.publish(kind, level, about, application, now, make);
        self.crashes.push(now, report);
    }
}

/// The newest items of one kind, with their numbers.
pub struct RecordRing<T> {
    /// How many items are kept; 0: none.
    capacity: AtomicUsize,
    state: Mutex<RingState<T>>,
}

struct RingState<T> {
    items: VecDeque<Recorded<T>>,
    next: u64,
}

impl<T> Default for RecordRing<T> {
    fn default() -> Self {
        let state = RingState { items: VecDeque::new(), next: 1 };
        RecordRing { capacity: AtomicUsize::new(0), state: Mutex::new(state) }
    }
}

impl<T> RecordRing<T> {
    /// Whether items are kept. An item need not be made if not.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.capacity.load(Ordering::Relaxed) > 0
    }

    fn resize(&self, capacity: usize) {
        let capacity = capacity.min(Memory::MOST);
        let gone = {
            let mut state = self.state.lock();
            self.capacity.store(capacity, Ordering::Relaxed);
            let surplus = state.items.len().saturating_sub(capacity);
            let gone: Vec<_> = state.items.drain(..surplus).collect();
            state.items.shrink_to(capacity);
            gone
        };
        drop(gone);
    }

    /// Adds an item, unless none are kept. Returns its number.
    pub fn push(&self, at: Timestamp, item: impl Into<Arc<T>>) -> Option<u64> {
        let mut recorded = Recorded::new(0, at, item);
        let mut state = self.state.lock();
        let capacity = self.capacity.load(Ordering::Relaxed);
        if capacity == 0 {
            drop(state);
            return None;
        }
        let number = state.next;
        recorded.seq = number;
        state.next += 1;
        let full = state.items.len() >= capacity;
        let oldest = if full { state.items.pop_front() } else { None };
        state.items.push_back(recorded);
        drop(state);
        drop(oldest);
        Some(number)
    }

    /// Returns the oldest of the items with numbers above `after`, at most `limit`.
    #[must_use]
    pub fn page(&self, after: u64, limit: usize) -> RecordedPage<T> {
        let state = self.state.lock();
        let next = state.next;
        let first = state.items.front().map_or(next, |item| item.seq);
        let lost = first.saturating_sub(after.saturating_add(1));
        // The numbers in a ring have no gaps.
        let skipped = usize::try_from(after.saturating_add(1).saturating_sub(first));
        let skipped = skipped.unwrap_or(usize::MAX);
        let items = state.items.iter().skip(skipped).take(limit).cloned().collect();
        RecordedPage::new(first, next, lost, items)
    }

    /// Returns the newest item for which `wanted` is true.
    pub(crate) fn newest(&self, wanted: impl Fn(&T) -> bool) -> Option<Recorded<T>> {
        let state = self.state.lock();
        state.items.iter().rev().find(|recorded| wanted(&recorded.item)).cloned()
    }
}

impl<T> fmt::Debug for RecordRing<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordRing").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn ring(capacity: usize, items: u64) -> RecordRing<u64> {
        let ring = RecordRing::default();
        ring.resize(capacity);
        for item in 1..=items {
            assert_eq!(ring.push(Timestamp::from_nanos(item), item), Some(item));
        }
        ring
    }

    /// The first, the next, how many are lost, and the items of a page.
    fn page(ring: &RecordRing<u64>, after: u64, limit: usize) -> (u64, u64, u64, Vec<u64>) {
        let page = ring.page(after, limit);
        let items: Vec<_> = page.items.iter().map(|recorded| *recorded.item).collect();
        assert_eq!(items, page.items.iter().map(|recorded| recorded.seq).collect::<Vec<_>>());
        (page.first_seq, page.next_seq, page.lost, items)
    }

    #[test]
    fn v20_numbers_have_no_gaps_and_an_after_beyond_the_end_is_empty() {
        let ring = ring(4, 10);
        assert_eq!(page(&ring, 0, 9), (7, 11, 6, vec![7, 8, 9, 10]));
        assert_eq!(page(&ring, 0, 2), (7, 11, 6, vec![7, 8]));
        assert_eq!(page(&ring, 5, 9), (7, 11, 1, vec![7, 8, 9, 10]));
        assert_eq!(page(&ring, 6, 9), (7, 11, 0, vec![7, 8, 9, 10]));
        assert_eq!(page(&ring, 9, 9), (7, 11, 0, vec![10]));
        for after in [10, 11, 1000, u64::MAX] {
            assert_eq!(page(&ring, after, 9), (7, 11, 0, Vec::new()));
        }
        assert_eq!(page(&ring, 7, 0), (7, 11, 0, Vec::new()));
        assert_eq!(ring.newest(|item| item % 2 == 1).map(|recorded| recorded.seq), Some(9));
        assert_eq!(ring.newest(|item| *item == 6), None);
    }

    #[test]
    fn v20_an_empty_ring_has_equal_numbers() {
        let none = ring(0, 0);
        assert!(!none.is_on() && none.push(Timestamp::from_nanos(1), 1).is_none());
        assert_eq!(page(&none, 0, 9), (1, 1, 0, Vec::new()));
        let ring = ring(3, 3);
        assert!(ring.is_on());
        ring.resize(2);
        assert_eq!(page(&ring, 0, 9), (2, 4, 1, vec![2, 3]));
        ring.resize(0);
        assert_eq!(page(&ring, 0, 9), (4, 4, 3, Vec::new()));
        ring.resize(usize::MAX);
        assert_eq!(ring.push(Timestamp::from_nanos(4), 4), Some(4));
        assert_eq!(page(&ring, 0, 9), (4, 5, 3, vec![4]));
    }
}
