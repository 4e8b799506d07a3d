//! Routing: which worker gets a message. The choice is a value given to the pool when it is
//! made.
//!
//! | routing | the first choice | if that worker is full |
//! |---|---|---|
//! | [`RoundRobin`] (default) | the next in strict rotation | the next after it |
//! | [`LeastLoaded`] | the worker with the fewest messages | the next after it |
//! | [`TwoChoices`] | the less loaded of two random workers | the next after it |
//! | [`ByKey`] | the worker to which the message's key belongs | `Full`: a key keeps its worker |
//! | [`Broadcast`] | all workers, each with a copy | `Full`, and no worker has it |

mod broadcast;
mod by_key;
mod least_loaded;
mod round_robin;
mod two_choices;

pub use broadcast::Broadcast;
pub use by_key::ByKey;
pub(super) use by_key::spread;
pub use least_loaded::LeastLoaded;
pub use round_robin::RoundRobin;
pub use two_choices::TwoChoices;

use std::fmt;

/// Chooses the worker for each message of a pool, on the sender's thread.
///
/// Only [`Routing::hint`] examines the message and may run user code. The other functions run
/// under the lock of the pool's ring: they must decide quickly, from their arguments, and send
/// nothing.
pub trait Routing<M>: Send + Sync + 'static {
    /// Returns what [`Routing::choose`] needs to know of the message, for example the hash of a
    /// key.
    ///
    /// It runs before the ring is locked.
    fn hint(&self, message: &M) -> u64 {
        let _ = message;
        0
    }

    /// Returns whether [`Routing::hint`] examines messages. If not, it is not called, which is
    /// a little faster.
    fn has_hint(&self) -> bool {
        true
    }

    /// Chooses for a message with this hint. There is at least one worker.
    fn choose(&self, hint: u64, workers: &Workers<'_>) -> Choice<M>;

    /// Returns whether a choice needs the message. A permit then keeps room at every worker
    /// that the message may go to.
    fn needs_message(&self) -> bool {
        false
    }

    /// Reports that the chosen worker could not take the message, and the worker with index
    /// `taker` did.
    fn passed_over(&self, chosen: usize, taker: usize, workers: usize) {
        let _ = (chosen, taker, workers);
    }

    /// Returns the index of the worker whose turn is next. The pool's list of workers begins
    /// there, and that worker is the first to be removed.
    fn turn(&self) -> usize {
        0
    }

    /// Reports that the list of workers has changed. It now begins with the worker whose turn
    /// is next.
    fn rewind(&self) {}
}

/// The choice of a [`Routing`], by the index of a worker. An index that is too large wraps
/// around.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Choice<M> {
    /// This worker, or those after it in the ring if it is full or has ended.
    After(usize),
    /// This worker or none.
    Only(usize),
    /// Every worker, each with a copy made by this function.
    Every(fn(&M) -> M),
    /// No worker. The message is refused with [`NoWorkers`](krarup_gen::SendError::NoWorkers).
    None,
}

impl<M> fmt::Debug for Choice<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::After(index) => write!(f, "After({index})"),
            Choice::Only(index) => write!(f, "Only({index})"),
            Choice::Every(_) => f.write_str("Every(..)"),
            Choice::None => f.write_str("None"),
        }
    }
}

/// The workers of a pool, as a [`Routing`] sees them.
#[derive(Clone, Copy)]
pub struct Workers<'a> {
    count: usize,
    look: &'a dyn WorkerView,
}

/// The properties of workers that a routing can read.
pub(crate) trait WorkerView {
    fn load(&self, index: usize) -> usize;
    fn place(&self, index: usize) -> u64;
    /// The places of the workers, each by [`spread`], in two parts.
    fn spread_places(&self) -> [&[u64]; 2];
    fn empty(&self, index: usize) -> Option<u64>;
    fn random(&self) -> u64;
}

impl<'a> Workers<'a> {
    pub(crate) fn new(count: usize, look: &'a dyn WorkerView) -> Self {
        Workers { count, look }
    }

    /// Returns how many workers there are, at least 1. Workers that have ended and are not yet
    /// replaced are included; they take nothing.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns how many messages one worker has, waiting or being handled.
    ///
    /// It is `usize::MAX` for a worker that has ended and is not yet replaced. The value may
    /// change at any time.
    #[must_use]
    pub fn load(&self, index: usize) -> usize {
        self.look.load(index)
    }

    /// Returns the number of one worker's place.
    ///
    /// The number stays when the worker is replaced. After the place is removed it is never
    /// used again.
    #[must_use]
    pub fn place(&self, index: usize) -> u64 {
        self.look.place(index)
    }

    /// The places of all workers in their order, each by [`spread`].
    pub(crate) fn spread_places(&self) -> impl Iterator<Item = u64> + '_ {
        let [first, second] = self.look.spread_places();
        first.iter().chain(second).copied()
    }

    /// Returns the numbers of the places without a worker, because theirs was stuck. These
    /// places are not included in the count.
    pub fn empty(&self) -> impl Iterator<Item = u64> + '_ {
        (0..).map_while(|index| self.look.empty(index))
    }

    /// Returns a random number. In a simulation it comes from the seed.
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Workers with these loads, and the next random number.
    struct FixedLoads<'a>(&'a [usize], &'a AtomicU64, Vec<u64>);

    impl<'a> FixedLoads<'a> {
        fn new(loads: &'a [usize], random: &'a AtomicU64) -> Self {
            FixedLoads(loads, random, (0..loads.len() as u64).map(spread).collect())
        }
    }

    impl WorkerView for FixedLoads<'_> {
        fn load(&self, index: usize) -> usize {
            self.0[index]
        }

        fn place(&self, index: usize) -> u64 {
            index as u64
        }

        fn spread_places(&self) -> [&[u64]; 2] {
            let (first, second) = self.2.split_at(self.2.len() / 2);
            [first, second]
        }

        fn empty(&self, _: usize) -> Option<u64> {
            None
        }

        fn random(&self) -> u64 {
            self.1.load(Ordering::Relaxed)
        }
    }

    fn chosen(routing: &impl Routing<()>, loads: &[usize], random: u64) -> usize {
        let random = AtomicU64::new(random);
        let seen = FixedLoads::new(loads, &random);
        match routing.choose(0, &Workers::new(loads.len(), &seen)) {
            Choice::After(index) => index,
            other => panic!("{other:?}"),
        }
    }

    fn passed_over(routing: &impl Routing<()>, (chosen, taker): (usize, usize), workers: usize) {
        routing.passed_over(chosen, taker, workers);
    }

    #[test]
    fn a_rotation_continues_after_the_taker_unless_another_sender_moved_it() {
        let turns = RoundRobin::new();
        let next = || chosen(&turns, &[0; 4], 0);
        assert_eq!([next(), next(), next(), next(), next()], [0, 1, 2, 3, 0]);
        // The second and the third worker are full.
        assert_eq!(next(), 1);
        passed_over(&turns, (1, 3), 4);
        assert_eq!(next(), 0);
        assert_eq!((next(), next(), next()), (1, 2, 3));
        passed_over(&turns, (3, 1), 4);
        assert_eq!(next(), 2);
        // Another sender has taken a turn since, so the turn does not move back.
        assert_eq!((next(), next()), (3, 0));
        passed_over(&turns, (3, 1), 4);
        assert_eq!(next(), 1);
        // There are fewer workers than when the turn was set.
        assert_eq!(chosen(&turns, &[0; 2], 0), 1);
        assert_eq!((chosen(&turns, &[0; 2], 0), chosen(&turns, &[0; 2], 0)), (0, 1));
        Routing::<()>::rewind(&turns);
        assert_eq!(Routing::<()>::turn(&turns), 0);
    }

    #[test]
    fn equally_loaded_workers_take_turns_beside_more_loaded_ones() {
        let least = LeastLoaded::new();
        let did: Vec<_> = (0..6).map(|_| chosen(&least, &[5, 1, 5, 1, 1], 0)).collect();
        assert_eq!(did, [1, 3, 4, 1, 3, 4]);
        assert_eq!(Routing::<()>::turn(&least), 0, "after the last it is the first");
        let did: Vec<_> = (0..4).map(|_| chosen(&least, &[0, 0, 5], 0)).collect();
        assert_eq!(did, [0, 1, 0, 1]);
        // The chosen worker was full, so another has taken the message.
        assert_eq!(chosen(&least, &[3, 3, 3, 3], 0), 2);
        passed_over(&least, (2, 0), 4);
        assert_eq!(chosen(&least, &[3, 3, 3, 3], 0), 1);
        assert_eq!(Routing::<()>::turn(&least), 2);
        Routing::<()>::rewind(&least);
        assert_eq!((Routing::<()>::turn(&least), chosen(&least, &[1, 1], 0)), (0, 0));
        // A small load is not the smallest.
        assert_eq!(chosen(&LeastLoaded::new(), &[2, 1, 0], 0), 2);
        // A place without a worker never has the smallest load.
        assert_eq!(chosen(&least, &[usize::MAX, 7, 9], 0), 1);
    }

    #[test]
    fn keys_are_spread_evenly_over_any_number_of_places() {
        let by_key = ByKey::new(|key: &u64| *key);
        for count in 1..20 {
            let loads = vec![0; count];
            let (random, mut shares) = (AtomicU64::new(0), vec![0; count]);
            let seen = FixedLoads::new(&loads, &random);
            for key in 0..500 * count as u64 {
                let hint = by_key.hint(&key);
                match by_key.choose(hint, &Workers::new(count, &seen)) {
                    Choice::Only(index) => shares[index] += 1,
                    other => panic!("{other:?}"),
                }
            }
            assert!(shares.iter().all(|share| (400..=600).contains(share)), "{shares:?}");
        }
    }

    #[test]
    fn the_two_of_two_choices_are_any_pair_of_different_workers() {
        for count in 1..7_usize {
            for idle in 0..count {
                let loads: Vec<_> = (0..count).map(|index| usize::from(index != idle)).collect();
                // Each number below the count, with each step.
                let steps = (count - 1).max(1);
                let part = |n: usize, of: usize| ((n as u64) << 32).div_ceil(of as u64);
                let randoms = (0..count)
                    .flat_map(|one| (0..steps).map(move |step| (one, step)))
                    .map(|(one, step)| part(one, count) << 32 | part(step, steps));
                let mut hits = 0;
                let mut from = std::collections::BTreeSet::new();
                for random in randoms.filter(|n| chosen(&TwoChoices, &loads, *n) == idle) {
                    hits += 1;
                    from.insert(random >> 32);
                }
                assert_eq!(hits, if count == 1 { 1 } else { 2 * steps }, "{idle} of {count}");
                assert_eq!(from.len(), count, "{idle} is a choice beside each of {count}");
            }
        }
        // Of two equal loads the first is chosen.
        assert_eq!(chosen(&TwoChoices, &[4; 4], 2 << 62), 2);
    }

    /// One worker at place 0, and places that have none.
    struct Vacant<'a>(&'a [u64], [u64; 1]);

    impl WorkerView for Vacant<'_> {
        fn load(&self, _: usize) -> usize {
            0
        }

        fn place(&self, _: usize) -> u64 {
            0
        }

        fn spread_places(&self) -> [&[u64]; 2] {
            [&self.1, &[]]
        }

        fn empty(&self, index: usize) -> Option<u64> {
            self.0.get(index).copied()
        }

        fn random(&self) -> u64 {
            0
        }
    }

    #[test]
    fn a_key_of_any_place_without_a_worker_has_none() {
        let by_key = ByKey::new(|key: &u64| *key);
        let served = |places: &[u64]| -> Vec<u64> {
            let view = Vacant(places, [spread(0)]);
            let workers = Workers::new(1, &view);
            assert!(workers.empty().eq(places.iter().copied()));
            let is_served = |key: &u64| {
                let choice = by_key.choose(by_key.hint(key), &workers);
                matches!(choice, Choice::Only(0))
            };
            (0..99).filter(is_served).collect()
        };
        assert_eq!(served(&[]).len(), 99);
        let each: Vec<_> = (1..4).map(|place| served(&[place])).collect();
        assert!(each.iter().all(|keys| (30..70).contains(&keys.len())), "{each:?}");
        // Those of the one worker are those that belong to none of the others.
        let both = served(&[1, 2, 3]);
        let of_each = |key: &u64| each.iter().all(|keys| keys.contains(key));
        assert_eq!(both, (0..99).filter(of_each).collect::<Vec<_>>());
    }
}
