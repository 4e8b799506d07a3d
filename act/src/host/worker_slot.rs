//! What a turn writes down for the worker that runs it.

use krarup_gen::Pid;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Turns that a process owes: it fills another's mailbox faster than that can empty it, and has
/// more to do at once (rule R1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debt {
    /// So many turns each of the others is to have before the process has its next.
    pub turns: u32,
    /// The number of the process whose mailbox it was, of several the last one's; 0: it is of
    /// another node, or not known.
    pub creditor: u64,
}

/// The place of a worker, where the turns that it runs leave word. Written by one worker alone,
/// so relaxed loads and stores are enough; others may read. It asks for debts after each turn
/// that is not its process's last ([`WorkerSlot::take_debt`]).
#[derive(Debug, Default)]
pub struct WorkerSlot {
    /// The number of the process in hand; 0: none.
    pid: AtomicU64,
    /// Nobody sees to debts here: they are paid with turns in which nothing is handled.
    unattended: bool,
    owed: AtomicU32,
    creditor: AtomicU64,
}

impl WorkerSlot {
    /// The place of who does not ask for debts.
    pub(crate) fn unattended() -> Self {
        WorkerSlot { unattended: true, ..WorkerSlot::default() }
    }

    /// The number of the process in hand; 0: none.
    #[must_use]
    pub fn pid(&self) -> u64 {
        self.pid.load(Ordering::Relaxed)
    }

    /// Writes down which process is in hand; 0: none.
    #[inline]
    pub fn take_in_hand(&self, pid: u64) {
        self.pid.store(pid, Ordering::Relaxed);
    }

    /// What the process owes whose turn has just ended here, once.
    #[must_use]
    #[inline]
    pub fn take_debt(&self) -> Option<Debt> {
        match self.owed.load(Ordering::Relaxed) {
            0 => None,
            turns => {
                self.owed.store(0, Ordering::Relaxed);
                Some(Debt { turns, creditor: self.creditor.load(Ordering::Relaxed) })
            }
        }
    }

    #[inline]
    pub(crate) fn begin(&self, pid: Pid) {
        self.take_in_hand(pid.id());
    }

    /// Whether nobody sees to debts here.
    pub(crate) fn is_unattended(&self) -> bool {
        self.unattended
    }

    /// Leaves a debt here; false if nobody would see to it.
    pub(crate) fn leave(&self, debt: Debt) -> bool {
        if !self.unattended {
            self.creditor.store(debt.creditor, Ordering::Relaxed);
            self.owed.store(debt.turns, Ordering::Relaxed);
        }
        !self.unattended
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn r1_a_debt_is_left_where_somebody_sees_to_it_and_taken_once() {
        let (seat, debt) = (WorkerSlot::default(), Debt { turns: 3, creditor: 7 });
        assert_eq!(seat.take_debt(), None);
        assert!(seat.leave(debt));
        assert_eq!((seat.take_debt(), seat.take_debt()), (Some(debt), None));
        let unattended = WorkerSlot::unattended();
        assert!(!unattended.leave(debt));
        assert_eq!(unattended.take_debt(), None);
    }
}
