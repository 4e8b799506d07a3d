//! To every worker.

use super::{Choice, Routing, Workers};

/// Every worker gets a copy of each message: new settings, say, or an order to empty caches.
///
/// All or none: if a living worker is full the answer is `Full`, and nobody has got it. A
/// worker that has died and is not yet replaced misses it, and so does its replacement. The
/// pool counts one message, however many copies there are. Nobody can wait for room in
/// such a pool, nor in a pool of such pools.
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
