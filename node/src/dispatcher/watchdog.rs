//! Finds work that is hidden behind a long turn (rule R4).
//!
//! A worker that makes one process ready does not wake a sibling: it will run that
//! process itself as soon as its turn is over (see `Shared::push`). If the turn does not
//! end, because a handler computes or blocks, the process waits although siblings sleep.
//! So while any worker is awake a timer looks every [`INTERVAL`]: a worker that is still
//! in the turn in which it was found before, with work queued behind it, gets a sibling
//! woken, which steals that work. While all workers sleep there is no timer.

use crate::sync::{AtomicBool, Mutex, Ordering, fence};
use std::time::Duration;

/// Between two looks.
pub(crate) const INTERVAL: Duration = Duration::from_millis(10);

#[derive(Default)]
pub(crate) struct Watchdog {
    /// The timer is set.
    awake: AtomicBool,
    /// Turns of each worker when it was last looked at.
    seen: Mutex<Vec<u64>>,
}

/// What the watchdog wants after a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All is well; look again.
    Watch,
    /// Wake a worker; look again.
    Wake,
}

impl Watchdog {
    /// A worker has woken up, or has nearly fallen asleep: whether the timer must be set
    /// now.
    pub(crate) fn rouse(&self) -> bool {
        // Against `rest`: the worker has left the stack, then looks at the flag.
        fence(Ordering::SeqCst);
        !self.awake.load(Ordering::Relaxed) && !self.awake.swap(true, Ordering::SeqCst)
    }

    /// Whether the timer is not set again, because all workers sleep. Looks twice: a
    /// worker that woke up after the first look has seen the timer as set, unless its
    /// fence came after this one, and then the second look sees it awake.
    pub(crate) fn rest(&self, all_asleep: impl Fn() -> bool) -> bool {
        if !all_asleep() {
            return false;
        }
        self.awake.store(false, Ordering::SeqCst);
        // Against `rouse`: the flag is down, then the stack is looked at.
        fence(Ordering::SeqCst);
        all_asleep() || !self.rouse()
    }

    /// Whether the timer is set.
    pub(crate) fn is_awake(&self) -> bool {
        self.awake.load(Ordering::Relaxed)
    }

    /// Compares the workers with the last look. `turns` counts the turns each has begun,
    /// `queued` says whether work waits at one.
    pub(crate) fn look(&self, turns: &[u64], queued: impl Fn(usize) -> bool) -> Verdict {
        let mut seen = self.seen.lock();
        let stuck = (0..turns.len())
            .any(|worker| seen.get(worker) == Some(&turns[worker]) && queued(worker));
        turns.clone_into(&mut seen);
        if stuck { Verdict::Wake } else { Verdict::Watch }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r4_work_behind_a_turn_that_does_not_end_wakes_a_sibling() {
        let watchdog = Watchdog::default();
        assert_eq!(watchdog.look(&[5, 9], |_| true), Verdict::Watch);
        assert_eq!(watchdog.look(&[6, 9], |worker| worker == 0), Verdict::Watch);
        assert_eq!(watchdog.look(&[6, 9], |worker| worker == 0), Verdict::Wake);
        assert_eq!(watchdog.look(&[7, 9], |_| false), Verdict::Watch);
    }

    #[test]
    fn the_timer_is_set_once_for_all_workers() {
        let watchdog = Watchdog::default();
        assert!(watchdog.rouse());
        assert!(!watchdog.rouse());
        assert!(!watchdog.rest(|| false));
        assert!(!watchdog.rouse());
        assert!(watchdog.rest(|| true));
        assert!(watchdog.rouse());
    }
}
