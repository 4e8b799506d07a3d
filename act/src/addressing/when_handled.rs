//! A function that runs when a process has handled what it has accepted until now (rule M13).
//!
//! ```text
//!            Main   [ message ][ message ][ mark ][ message ]
//!   accepted before the mark ───┘          │
//!                                          ▼ taken, or lost with the mailbox
//!                                      the function runs
//! ```
//!
//! The function lies in the destructor of the mark. So it runs whatever becomes of the mark, also
//! if the process has ended before.

use crate::addressing::address::Address;
use crate::observe::watched_job::Mark;
use crate::process::crash::ignore;
use crate::sync::Mutex;
use std::sync::Arc;

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    /// Runs a function when the process has handled all messages that it has accepted on Main
    /// until now (rule M13). If the process ends before that, or has ended, the function runs
    /// then: ask [`Address::is_alive`].
    ///
    /// Without an order the function runs before the process takes what came later. With one
    /// ([`Order`](crate::Order), rule M12) the process may take before it what came later and goes
    /// first.
    ///
    /// It says that a process is done with what somebody has sent to it, for example before it is
    /// handed to somebody else. It takes no room in a bounded mailbox. The behaviour of the
    /// process does not see it. What its handlers have set aside (stashed, postponed) counts
    /// as handled; what its behaviour holds
    /// ([`BehaviorContext::hold_message`](crate::BehaviorContext::hold_message)) does not: a state
    /// actor has handled a message when its handler has ended, a step process when it is idle after
    /// it. At a pool, it waits for all workers. A process that hands its messages on by any
    /// other route ([`Route`](crate::Route)), such as the directory of grains, does not know when
    /// they are handled: there the function runs at once.
    ///
    /// The function runs where the process comes to its place: on the thread of the process, between
    /// two messages. If the process has ended before, it runs on the caller's thread, and if it ends
    /// meanwhile, on the thread of its end. No lock is held then. It must be quick: send a message. A
    /// panic in it is contained.
    ///
    /// ```
    /// # use krarup_act::{Address, Recipient};
    /// struct Idle;
    ///
    /// fn tell_when_done(worker: &Address<String>, boss: Recipient<Idle>) {
    ///     worker.when_handled(move || boss.notify(Idle));
    /// }
    /// # let _ = tell_when_done;
    /// ```
    pub fn when_handled(&self, then: impl FnOnce() + Send + 'static) {
        let mark: Mark = Arc::new(HandledMark(Mutex::new(Some(then))));
        self.mark(&mark);
    }
}

/// The value in the mark: its destructor runs the function.
struct HandledMark<F: FnOnce()>(Mutex<Option<F>>);

impl<F: FnOnce()> Drop for HandledMark<F> {
    fn drop(&mut self) {
        // Taken out first: a user's function does not run under a lock.
        let then = self.0.lock().take();
        if let Some(then) = then {
            ignore(then);
        }
    }
}
