//! Routing to every worker.

use super::{Choice, Routing, Workers};

/// Every worker gets a copy of each message, for example new settings or a command to empty
/// caches.
///
/// All workers get it or none: if a living worker is full the error is `Full`, and no worker
/// has got the message. A worker that has ended and is not yet replaced misses it, and so does
/// its replacement. The pool counts one message, however many copies there are. Senders cannot
/// wait for room in such a pool, nor in a pool of such pools.
#[derive(Clone, Copy, Debug, Default)]
pub struct Broadcast;

impl<M: Clone> Routing<M> for Broadcast {
    fn has_hint(&self) -> bool {
        false
    }

    fn choose(&self, _: u64, _: &Workers<'_>) -> Choice<M> {
        Choice::Every(M::clone)
    }

    fn needs_message(&self) -> bool {
        true
    }
}
