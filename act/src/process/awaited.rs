//! The process that another process waits for, in one word: an edge of the wait graph (rule
//! C5).

use krarup_gen::Pid;

/// The number of the process whose answer is awaited, with flags that describe the wait.
///
/// The value 0 means that the process waits for no other process, or not only for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AwaitedProcess(u64);

/// A timer limits the wait. The timer holds a handle on the waker.
const TIMED: u64 = 1 << 63;
/// The request has not been sent yet, so no slot holds a handle on the waker.
const UNSENT: u64 = 1 << 62;
/// Only the answer could have woken the process at the time it was made ready.
const ALONE: u64 = 1 << 61;
/// The process waits for room, not for an answer. It is no edge.
const ROOM: u64 = 1 << 60;

impl AwaitedProcess {
    /// The process waits for no answer, or not for one answer alone.
    pub(crate) const NONE: AwaitedProcess = AwaitedProcess(0);
    /// The process waits for several things, or for something that is not a call.
    pub(crate) const SEVERAL: AwaitedProcess = AwaitedProcess(u64::MAX);

    /// The process waits for the answer to a request that was sent to `callee`.
    #[inline]
    pub(crate) fn on(callee: Pid) -> Self {
        AwaitedProcess(callee.id())
    }

    /// The process waits for room at `receiver`. As an unsent call it has no handle on the
    /// waker, while the wait for room has one, so the wait graph takes it for no edge.
    pub(crate) fn for_room(receiver: Pid) -> Self {
        AwaitedProcess(receiver.id() | ROOM | UNSENT)
    }

    /// Whether it is a wait for room.
    pub(crate) fn is_for_room(self) -> bool {
        self.0 & ROOM != 0
    }

    /// The same wait, limited by a timer.
    pub(crate) fn timed(self) -> Self {
        AwaitedProcess(self.0 | TIMED)
    }

    /// The same wait, before the request is sent.
    pub(crate) fn unsent(self) -> Self {
        AwaitedProcess(self.0 | UNSENT)
    }

    /// The same wait, when nothing else can wake the process.
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

    /// The number of the process whose answer is awaited.
    pub(crate) fn callee(self) -> u64 {
        self.0 & !(TIMED | UNSENT | ALONE | ROOM)
    }

    /// Whether only the answer of `callee` could have woken the process.
    pub(crate) fn is_alone_for(self, callee: Pid) -> bool {
        self.0 & ALONE != 0 && self.callee() == callee.id()
    }

    /// How many handles on the process's waker belong to the wait itself.
    #[inline]
    pub(crate) fn handles(self) -> usize {
        usize::from(self.0 & UNSENT == 0) + usize::from(self.0 & TIMED != 0)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_awaited_process_has_its_callee_and_its_handles() {
        let callee = Pid::local(7, 1);
        let wait = AwaitedProcess::on(callee);
        assert_eq!((wait.callee(), wait.handles()), (7, 1));
        assert_eq!((wait.timed().callee(), wait.timed().handles()), (7, 2));
        assert_eq!((wait.unsent().callee(), wait.unsent().handles()), (7, 0));
        assert!(!wait.is_alone_for(callee));
        assert!(wait.timed().alone().is_alone_for(callee));
        assert!(!wait.alone().is_alone_for(Pid::local(8, 1)));
        let room = AwaitedProcess::for_room(callee);
        assert_eq!((room.callee(), room.handles(), room.is_for_room()), (7, 0, true));
        assert!(![wait, wait.timed(), wait.unsent()].iter().any(|it| it.is_for_room()));
    }
}
