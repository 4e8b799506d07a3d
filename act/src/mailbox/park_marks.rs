//! What others have asked of a process for when it parks, and what it has chosen for its mailbox.

const WAKE: u8 = 1;
const SEARCH: u8 = 2;
const TRAPPING: u8 = 4;
const OTHERS: u8 = 8;
const NAMES: u8 = 16;
const ASKED: u8 = 32;

/// Marks of a mailbox, under its lock. Those of a process that is not parked are set by any thread and taken by the
/// process when it parks; the others are choices of the process, and stay.
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

    /// Whether exit signals arrive as notices.
    pub(crate) fn is_trapping(self) -> bool {
        self.0 & TRAPPING != 0
    }

    pub(crate) fn set_trapping(&mut self, traps: bool) {
        self.set(TRAPPING, traps);
    }

    /// Whether messages of other types than the process's own are accepted too.
    pub(crate) fn takes_others(self) -> bool {
        self.0 & OTHERS != 0
    }

    pub(crate) fn set_others(&mut self, takes: bool) {
        self.set(OTHERS, takes);
    }

    /// Records that the process waits for a name, so that a stop wakes it. The mark stays.
    pub(crate) fn note_name_wait(&mut self) {
        self.0 |= NAMES;
    }

    /// Whether it has waited for a name.
    pub(crate) fn waits_for_names(self) -> bool {
        self.0 & NAMES != 0
    }

    /// Whether it is asked to stop and may wait for a name.
    pub(crate) fn ends_name_waits(self) -> bool {
        self.0 & (NAMES | ASKED) == NAMES | ASKED
    }

    /// Records that the process was asked to stop.
    pub(crate) fn note_stop(&mut self) {
        self.0 |= ASKED;
    }

    /// Forgets that the process was asked to stop: it takes that as a notice.
    pub(crate) fn forget_stop(&mut self) {
        self.0 &= !ASKED;
    }

    /// Whether the process was asked to stop.
    pub(crate) fn is_asked_to_stop(self) -> bool {
        self.0 & ASKED != 0
    }

    fn set(&mut self, mark: u8, is_set: bool) {
        self.0 = (self.0 & !mark) | if is_set { mark } else { 0 };
    }
}
