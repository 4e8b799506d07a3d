//! The record that a turn leaves for its worker.

use krarup_gen::Pid;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The debt of a process that fills another's mailbox faster than that process can empty it,
/// and that is ready again at once (rule R1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debt {
    /// The number of turns that each of the other processes gets before the process's next
    /// turn.
    pub turns: u32,
    /// The number of the process whose mailbox it filled, the last one if there were several.
    /// 0: it belongs to another node, or is not known.
    pub creditor: u64,
}

/// The slot of a worker, in which its turns leave records. Only the worker writes it, so
/// relaxed loads and stores are enough; other threads may read it. The worker takes the debt
/// after each turn that is not the last of its process ([`WorkerSlot::take_debt`]).
#[derive(Debug, Default)]
pub struct WorkerSlot {
    /// The number of the running process; 0: none.
    pid: AtomicU64,
    /// Whether debts are not taken from this slot; they are then paid with turns in which
    /// nothing is handled.
    unattended: bool,
    owed: AtomicU32,
    creditor: AtomicU64,
}

impl WorkerSlot {
    /// Makes a slot for a caller that does not take debts.
    pub(crate) fn unattended() -> Self {
        WorkerSlot { unattended: true, ..WorkerSlot::default() }
    }

    /// Returns the number of the running process; 0: none.
    #[must_use]
    pub fn pid(&self) -> u64 {
        self.pid.load(Ordering::Relaxed)
    }

    /// Records the running process; 0: none.
    #[inline]
    pub fn take_in_hand(&self, pid: u64) {
        self.pid.store(pid, Ordering::Relaxed);
    }

    /// Takes the debt of the process whose turn has just ended here.
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

    /// Whether debts are not taken from this slot.
    pub(crate) fn is_unattended(&self) -> bool {
        self.unattended
    }

    /// Records a debt; returns false if it would not be taken.
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
