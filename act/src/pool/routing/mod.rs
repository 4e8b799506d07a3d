//! Which worker gets a message: the choice is a value given to the pool when it is made.
//!
//! | routing | the first choice | if that is full |
//! |---|---|---|
//! | [`RoundRobin`] (default) | the next in turn, strictly | the next after it |
//! | [`LeastLoaded`] | the one with the fewest messages | the next after it |
//! | [`TwoChoices`] | the less loaded of two random ones | the next after it |
//! | [`ByKey`] | the one that the message's key belongs to | `Full`: a key keeps its worker |
//! | [`Broadcast`] | all of them, each with a copy | `Full`, and none has it |

mod broadcast;
mod by_key;
mod least_loaded;
mod round_robin;
mod two_choices;

pub use broadcast::Broadcast;
pub use by_key::ByKey;
pub use least_loaded::LeastLoaded;
pub use round_robin::RoundRobin;
pub use two_choices::TwoChoices;

use std::fmt;

/// Chooses the worker for each message of a pool, on the sender's thread.
///
/// What needs a look into the message, and so may be a user's code, is [`Routing::hint`]. The
/// other functions run under the lock of the pool's ring: they decide by what they are given,
/// quickly, and send nothing.
pub trait Routing<M>: Send + Sync + 'static {
    /// What [`Routing::choose`] is to know of the message: the hash of a key, say. Runs before
    /// the pool is looked at.
    fn hint(&self, message: &M) -> u64 {
        let _ = message;
        0
    }

    /// Whether [`Routing::hint`] looks at messages. Where it does not it is not called, and a
    /// message goes its way a little faster.
    fn has_hint(&self) -> bool {
        true
    }

    /// Chooses for a message with this hint. There is at least one worker.
    fn choose(&self, hint: u64, workers: &Workers<'_>) -> Choice<M>;

    /// Whether no choice is possible before the message is there. A permit then keeps room
    /// wherever its message may go.
    fn needs_message(&self) -> bool {
        false
    }

    /// The one that was chosen could not take it, and the one with index `taker` did.
    fn passed_over(&self, chosen: usize, taker: usize, workers: usize) {
        let _ = (chosen, taker, workers);
    }

    /// The index of the worker whose turn is next: where the pool's list of workers begins, and
    /// who goes first when workers are removed.
    fn turn(&self) -> usize {
        0
    }

    /// The list of workers has changed, and begins with the one whose turn is next.
    fn rewind(&self) {}
}

/// What a [`Routing`] chooses, by the index of a worker; one that is too large goes round.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Choice<M> {
    /// This worker, and the ones after it in the ring if it is full or dead.
    After(usize),
    /// This worker or none.
    Only(usize),
    /// Every worker, each with a copy made by this function.
    Every(fn(&M) -> M),
}

impl<M> fmt::Debug for Choice<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::After(index) => write!(f, "After({index})"),
            Choice::Only(index) => write!(f, "Only({index})"),
            Choice::Every(_) => f.write_str("Every(..)"),
        }
    }
}

/// The workers of a pool, as a [`Routing`] sees them.
#[derive(Clone, Copy)]
pub struct Workers<'a> {
    count: usize,
    look: &'a dyn Look,
}

/// What can be seen of workers.
pub(crate) trait Look {
    fn load(&self, index: usize) -> usize;
    fn place(&self, index: usize) -> u64;
    fn random(&self) -> u64;
}

impl<'a> Workers<'a> {
    pub(crate) fn new(count: usize, look: &'a dyn Look) -> Self {
        Workers { count, look }
    }

    /// How many there are, at least 1. Those among them that have died and are not yet
    /// replaced take nothing.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The messages of one worker: those that wait, and the one in hand. It is true at this
    /// moment only.
    #[must_use]
    pub fn load(&self, index: usize) -> usize {
        self.look.load(index)
    }

    /// The number of one worker's place: it stays with the place when the worker is replaced,
    /// and is never used again when the place is removed.
    #[must_use]
    pub fn place(&self, index: usize) -> u64 {
        self.look.place(index)
    }

    /// A random number; in a simulation it comes from the seed.
    #[must_use]
    pub fn random(&self) -> u64 {
        self.look.random()
    }
}

impl fmt::Debug for Workers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers").field("count", &self.count).finish_non_exhaustive()
    }
}
