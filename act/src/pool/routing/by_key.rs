//! Routing by a key of the message.

use super::{Choice, Routing, Workers};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Messages of one key go to one worker, one after the other, in the order in which they were
/// sent.
///
/// Each key has a rank for each place in the pool, and belongs to the place with its highest
/// rank (rendezvous hashing). So a key keeps its worker when others are added or removed, as
/// far as that is possible: of n + 1 places a new one takes one key in n + 1, and the keys of a
/// removed place spread over the others. A replacement gets the keys of the worker whose place
/// it takes.
///
/// It examines every place for each message, some nanoseconds each: with ten thousand, tens of
/// microseconds.
///
/// A message whose worker is full is refused with `Full`, even if other workers have room. If
/// its worker has ended, or was stuck, and is not yet replaced, the error is `NoWorkers`.
///
/// **Except at a resize**, also one by [`Pool::elastic`](crate::Pool::elastic): the messages of a key that moves stay where
/// they wait, and the next ones go to its new worker at once. These may be handled before those, and the two
/// workers handle messages of one key at the same time (rule P8). Where that matters, keep the number of workers, or
/// [`drain`](crate::Address::drain) the pool before a resize and reopen it after. A message whose reserved room was lost waits for room at the
/// worker of its key, as the first in line.
///
/// ```
/// # use krarup_act::{behavior_fn, ByKey, Context, Pool};
/// # struct Order { customer: u64 }
/// # let worker = || behavior_fn(|_: Context<Order>| async { Ok(()) });
/// let pool = move || {
///     Pool::new(4, worker).mailbox(100).routing(ByKey::new(|order: &Order| order.customer))
/// };
/// # let _ = pool;
/// ```
pub struct ByKey<M> {
    hash: Box<dyn Fn(&M) -> u64 + Send + Sync>,
}

impl<M> ByKey<M> {
    /// Creates a routing by this key.
    pub fn new<K, F>(key: F) -> Self
    where
        K: Hash,
        F: Fn(&M) -> K + Send + Sync + 'static,
    {
        let hash = move |message: &M| {
            let mut hasher = DefaultHasher::new();
            key(message).hash(&mut hasher);
            hasher.finish()
        };
        ByKey { hash: Box::new(hash) }
    }
}

impl<M: 'static> Routing<M> for ByKey<M> {
    fn hint(&self, message: &M) -> u64 {
        (self.hash)(message)
    }

    fn choose(&self, hint: u64, workers: &Workers<'_>) -> Choice<M> {
        let rank = |spread_place: u64| spread(hint ^ spread_place);
        // `fold` runs through the two parts of the places one after the other. A loop would ask for each
        // place in which part it is.
        let (index, best) =
            workers.spread_places().enumerate().fold((0, 0), |best, (index, place)| {
                let rank = rank(place);
                if rank >= best.1 { (index, rank) } else { best }
            });
        // Another worker would have the key only until the replacement starts. The two could
        // then handle messages of one key at the same time, or in another order.
        if workers.empty().any(|place| rank(spread(place)) > best) {
            Choice::None
        } else {
            Choice::Only(index)
        }
    }

    fn needs_message(&self) -> bool {
        true
    }
}

impl<M> fmt::Debug for ByKey<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByKey")
    }
}

/// Spreads the bits of a number (the finaliser of `SplitMix64`).
pub(in crate::pool) fn spread(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
