//! The senders that wait until the receiver has caught up (rule R1).
//!
//! A process that fills a mailbox faster than its receiver empties it is *muted*: it rests in its
//! own mailbox, in phase `Muted`, and the receiver makes it ready again. So queues stay short and
//! in the caches, and sender and receiver end up on one worker. Pony's runtime does the same, and
//! calls it so.
//!
//! ```text
//!   the turn of the sender is over, and 64 messages or more beyond its budget (`current::charge`)
//!        │ enter the line of the receiver, then rest
//!        ▼
//!      Muted ──┬─ the receiver has handled all that waited then, or has fewer than 64 left ─► ready
//!              ├─ the receiver rests, suspended or not, waits for something else, or ends ──► ready
//!              ├─ something comes on a control lane, an exit signal, or a waker fires ──────► ready
//!              └─ the host pokes the sender, 10 to 20 ms later ─────────────────────────────► ready
//! ```
//!
//! **No circle of muted processes.** A process enters the line of its receiver before it rests, and
//! rests only if its own line is empty. In a circle the last process to rest would find its
//! predecessor in its line. Both steps are made under the lock of the mailbox that they concern.
//!
//! **No lost release.** A receiver that releases a sender before that rests leaves a note in the
//! sender's mailbox (`notified`), as a waker does, and the sender does not rest.

use std::collections::VecDeque;
use std::sync::Arc;

/// A process that can be muted: between processes of this crate.
pub trait MutedSender: Send + Sync {
    /// Makes the process ready if it is muted, or is about to be. Called under no lock.
    fn unmute(&self);
}

/// The senders that wait for one receiver, in the order in which they came and are released.
#[derive(Default)]
pub(crate) struct MutedSenders(VecDeque<MutedEntry>);

struct MutedEntry {
    /// How many messages the receiver must have taken since its start.
    due: u64,
    sender: Arc<dyn MutedSender>,
}

impl MutedSenders {
    /// Has a sender wait until the receiver has taken `due` messages, no fewer than those before it
    /// wait for.
    pub(super) fn enter(&mut self, due: u64, sender: Arc<dyn MutedSender>) {
        debug_assert!(self.0.back().is_none_or(|last| last.due <= due));
        self.0.push_back(MutedEntry { due, sender });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes out the senders that wait for no more than `taken` messages.
    pub(super) fn take_due(&mut self, taken: u64) -> Vec<Arc<dyn MutedSender>> {
        let due = self.0.iter().take_while(|entry| entry.due <= taken).count();
        self.0.drain(..due).map(|entry| entry.sender).collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use parking_lot::Mutex;

    struct Sender(u64, Arc<Mutex<Vec<u64>>>);

    impl MutedSender for Sender {
        fn unmute(&self) {
            self.1.lock().push(self.0);
        }
    }

    #[test]
    fn r1_muted_senders_are_released_when_they_are_due_and_in_order() {
        let released = Arc::new(Mutex::new(Vec::new()));
        let mut muted = MutedSenders::default();
        for (number, due) in [(1, 50), (2, 100), (3, 100), (4, 101)] {
            muted.enter(due, Arc::new(Sender(number, Arc::clone(&released))));
        }
        let mut after = |taken| {
            muted.take_due(taken).into_iter().for_each(|sender| sender.unmute());
            (std::mem::take(&mut *released.lock()), muted.is_empty())
        };
        assert_eq!(after(49), (vec![], false));
        assert_eq!(after(50), (vec![1], false));
        assert_eq!(after(100), (vec![2, 3], false));
        assert_eq!(after(u64::MAX), (vec![4], true));
    }
}
