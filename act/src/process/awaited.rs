//! Whom a process waits for, in one word: an edge of the graph of waiting calls (rule C5).

use krarup_gen::Pid;

/// The number of the process whose answer is waited for, and what is known of that wait; 0: it
/// waits for none, or not only for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AwaitedProcess(u64);

/// A timer is set that ends the wait: it holds a handle on the waker.
const TIMED: u64 = 1 << 63;
/// The request is not sent yet, so no slot holds a handle on the waker.
const UNSENT: u64 = 1 << 62;
/// When the process was made ready, nothing but the answer could wake it.
const ALONE: u64 = 1 << 61;

impl AwaitedProcess {
    /// For none, or for several.
    pub(crate) const NONE: AwaitedProcess = AwaitedProcess(0);
    /// For several, or for what is no call.
    pub(crate) const SEVERAL: AwaitedProcess = AwaitedProcess(u64::MAX);

    /// For the answer to a request that was sent to this process.
    #[inline]
    pub(crate) fn on(callee: Pid) -> Self {
        AwaitedProcess(callee.id())
    }

    /// The same, with a timer set.
    pub(crate) fn timed(self) -> Self {
        AwaitedProcess(self.0 | TIMED)
    }

    /// The same, before the request is sent.
    pub(crate) fn unsent(self) -> Self {
        AwaitedProcess(self.0 | UNSENT)
    }

    /// The same, and nothing else can wake the process.
    pub(crate) fn alone(self) -> Self {
        AwaitedProcess(self.0 | ALONE)
    }

    #[inline]
    pub(crate) fn of_word(word: u64) -> Self {
        AwaitedProcess(word)
    }

    #[inline]
    pub(crate) fn word(self) -> u64 {
        self.0
    }

    #[inline]
    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The number of the process that is waited for.
    pub(crate) fn callee(self) -> u64 {
        self.0 & !(TIMED | UNSENT | ALONE)
    }

    /// Whether it was known that only the answer of this process could wake the other.
    pub(crate) fn is_alone_for(self, callee: Pid) -> bool {
        self.0 & ALONE != 0 && self.callee() == callee.id()
    }

    /// The handles on the process's waker that the wait itself has.
    #[inline]
    pub(crate) fn handles(self) -> usize {
        usize::from(self.0 & UNSENT == 0) + usize::from(self.0 & TIMED != 0)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_wait_tells_its_callee_and_its_handles() {
        let callee = Pid::local(7, 1);
        let wait = AwaitedProcess::on(callee);
        assert_eq!((wait.callee(), wait.handles()), (7, 1));
        assert_eq!((wait.timed().callee(), wait.timed().handles()), (7, 2));
        assert_eq!((wait.unsent().callee(), wait.unsent().handles()), (7, 0));
        assert!(!wait.is_alone_for(callee));
        assert!(wait.timed().alone().is_alone_for(callee));
        assert!(!wait.alone().is_alone_for(Pid::local(8, 1)));
    }
}
