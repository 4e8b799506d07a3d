//! The items of a trace that has an end of its own (rule V21).
//!
//! ```text
//!            push                                page(after)
//!  process ───────►  [ read │ read │ unread │ unread ]  ───────► reader
//!                      └ dropped when room is needed
//! ```
//!
//! The process never waits for the reader: a trace whose unread items fill the ring ends.

use crate::sync::Mutex;
use krarup_gen::{
    Recorded, RecordedItem, RecordedPage, Timestamp, TraceEnd, TraceLimits, TracePage,
};
use std::collections::VecDeque;
use std::fmt;

/// The items of a trace; opaque outside this crate.
pub struct TraceRing {
    /// When the time of the trace is over.
    due: Timestamp,
    state: Mutex<TraceState>,
}

/// Cancels a timer. The ring knows no host.
type CancelTimer = Box<dyn FnOnce() + Send>;

struct TraceState {
    items: VecDeque<Recorded<RecordedItem>>,
    /// The number of the next item.
    next: u64,
    /// The number of the last item that was read.
    read: u64,
    /// The bytes of the texts of the items.
    bytes: usize,
    /// How many items are still to come.
    left: usize,
    end: Option<TraceEnd>,
    /// Cancels the timer that ends the trace at its time.
    cancel_timer: Option<CancelTimer>,
}

impl TraceRing {
    /// Makes the ring of a trace of at most so many items, which is over at `due`.
    pub(crate) fn new(items: usize, due: Timestamp) -> Self {
        let state = TraceState {
            items: VecDeque::new(),
            next: 1,
            read: 0,
            bytes: 0,
            left: items,
            end: None,
            cancel_timer: None,
        };
        TraceRing { due, state: Mutex::new(state) }
    }

    /// Has the timer cancelled when the trace ends, or now if it has ended.
    pub(crate) fn keep_timer(&self, cancel: CancelTimer) {
        let mut state = self.state.lock();
        if state.end.is_none() {
            state.cancel_timer = Some(cancel);
        } else {
            drop(state);
            cancel();
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.state.lock().end.is_some()
    }

    /// Adds an item, and ends the trace if one of its limits is reached.
    pub(crate) fn push(&self, at: Timestamp, item: RecordedItem) {
        let bytes = item.text.as_ref().map_or(0, String::len);
        let mut state = self.state.lock();
        if state.end.is_some() {
            return;
        }
        let end = if at >= self.due {
            Some(TraceEnd::Time)
        } else if !state.makes_room(bytes) {
            Some(TraceEnd::Overload)
        } else {
            let recorded = Recorded::new(state.next, at, item);
            state.items.push_back(recorded);
            state.next += 1;
            state.bytes += bytes;
            state.left -= 1;
            (state.left == 0).then_some(TraceEnd::Items)
        };
        drop(state);
        if let Some(end) = end {
            self.finish(end);
        }
    }

    /// Ends the trace, unless it has ended. Returns whether it had not.
    pub(crate) fn finish(&self, end: TraceEnd) -> bool {
        let mut state = self.state.lock();
        if state.end.is_some() {
            return false;
        }
        state.end = Some(end);
        let cancel = state.cancel_timer.take();
        drop(state);
        if let Some(cancel) = cancel {
            cancel();
        }
        true
    }

    /// Drops the items, which nobody will read.
    pub(crate) fn clear(&self) {
        let items = std::mem::take(&mut self.state.lock().items);
        drop(items);
    }

    /// Returns the oldest of the items with numbers above `after`, at most `limit`. Those up to
    /// `after` count as read.
    pub(crate) fn page(&self, after: u64, limit: usize) -> TracePage {
        let mut state = self.state.lock();
        state.read = state.read.max(after.min(state.next - 1));
        let first = state.items.front().map_or(state.next, |item| item.seq);
        let wanted = after.saturating_add(1);
        let lost = first.saturating_sub(wanted);
        // The numbers in the ring have no gaps.
        let skipped = usize::try_from(wanted.saturating_sub(first)).unwrap_or(usize::MAX);
        let items = state.items.iter().skip(skipped).take(limit).cloned().collect();
        TracePage::new(RecordedPage::new(first, state.next, lost, items), state.end)
    }
}

impl TraceState {
    /// Drops items that were read until one with a text of so many bytes has room. Returns
    /// whether it has.
    fn makes_room(&mut self, bytes: usize) -> bool {
        while self.items.len() >= TraceLimits::MOST_UNREAD
            || self.bytes + bytes > TraceLimits::MOST_UNREAD_TEXT
        {
            let read = self.read;
            let Some(oldest) = self.items.front().filter(|item| item.seq <= read) else {
                return false;
            };
            self.bytes -= oldest.item.text.as_ref().map_or(0, String::len);
            self.items.pop_front();
        }
        true
    }
}

impl fmt::Debug for TraceRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TraceRing(..)")
    }
}
