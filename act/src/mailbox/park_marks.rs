//! What others have asked of a process for when it parks.

const WAKE: u8 = 1;
const SEARCH: u8 = 2;

/// Marks of a process that is not parked, set by any thread under the lock of its mailbox and taken by the process when
/// it parks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ParkMarks(u8);

impl ParkMarks {
    /// Records that a waker has fired: the process is polled again.
    #[inline]
    pub(crate) fn note_wake(&mut self) {
        self.0 |= WAKE;
    }

    #[inline]
    pub(crate) fn is_woken(self) -> bool {
        self.0 & WAKE != 0
    }

    /// Takes the record of a wake-up; returns whether there was one.
    #[inline]
    pub(crate) fn take_wake(&mut self) -> bool {
        let woken = self.is_woken();
        self.0 &= !WAKE;
        woken
    }

    /// Has the process search for a cycle of calls when it waits for nothing but an answer. The mark stays until then.
    pub(crate) fn note_search(&mut self) {
        self.0 |= SEARCH;
    }

    #[inline]
    pub(crate) fn wants_search(self) -> bool {
        self.0 & SEARCH != 0
    }

    pub(crate) fn begin_search(&mut self) {
        self.0 &= !SEARCH;
    }
}
