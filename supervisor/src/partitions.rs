//! Partitions: n children of one factory, found by a key (rules G10, G11).
//!
//! ```text
//!   shards.of(&key) ── SipHash-2-4 of the key, modulo n ──► place 5 ──► the process there now
//!                                                             ▲
//!   Partitions: a supervisor, one for one ── starts ──► child 5 ┘  takes its place when it begins
//! ```
//!
//! The places are in the route of the supervisor's Main lane, to which nothing can be sent. So a
//! look-up is one on the address: it sends no message, and the supervisor is no bottleneck.

use crate::calls::SupervisorAddress;
use crate::child_start::{ChildStart, Factory, SpawnOptions};
use crate::command::{SupervisorCommand, SupervisorContext};
use crate::error::SpecError;
use crate::sip_hash::hash_of;
use crate::spec::{ChildKind, ChildRules, Strategy, SupervisorFlags};
use crate::supervisor::Supervisor;
use krarup_act::{Address, Behavior, BehaviorContext, Context, Permit, Route};
use krarup_gen::{ProcessKind, Result, SendError};
use parking_lot::RwLock;
use std::convert::Infallible;
use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// A supervisor of `n` children that are made by one factory, each with its index from 0, and looked up
/// by a key: Elixir's `PartitionSupervisor` (rules G10, G11).
///
/// For what has commands of its own and would be a bottleneck as one process: supervisors and grains
/// above all. To spread messages over workers use [`Pool`](krarup_act::Pool) with
/// [`ByKey`](krarup_act::ByKey), whose workers come and go; the number of partitions is fixed.
///
/// The children are restarted one for one. Their ids are their indexes, as text. The index of a key is
/// its `SipHash`-2-4, with the key 00 01 .. 0f of the reference implementation, modulo `n`: the same in
/// every run and on every machine, as long as the type's `Hash` writes the same. (Sequences of integers
/// wider than a byte are written in the order of the machine's memory.)
///
/// ```
/// # mod krarup {
/// #     pub use {krarup_act::*, krarup_gen::*, krarup_node as testing, krarup_supervisor as supervisor};
/// # }
/// use krarup::supervisor::{
///     ChildTemplate, PartitionLookup, Partitions, Supervisor, SupervisorCalls,
/// };
/// use krarup::testing::Simulation;
/// use krarup::{Actor, Context, Result};
///
/// struct Session(u64);
///
/// impl Actor for Session {
///     type Message = ();
///     async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
///         println!("{}", self.0);
///         Ok(())
///     }
/// }
///
/// fn sessions() -> Supervisor<u64> {
///     Supervisor::simple_one_for_one(ChildTemplate::worker("session", Session))
/// }
///
/// # fn main() -> Result {
/// let node = Simulation::new(1);
/// let shards = node.spawn(|| Partitions::new(8, |_index| sessions())).wait()?;
/// let customer = 4711;
/// shards.of(&customer)?.start_child(customer).wait()?;
/// # Ok(())
/// # }
/// ```
pub struct Partitions<B> {
    count: usize,
    factory: Arc<dyn Fn(usize) -> B + Send + Sync>,
    flags: SupervisorFlags,
}

/// As many as a pool has workers at most.
const MOST_PARTITIONS: usize = 1 << 20;

impl<B: Behavior> Partitions<B> {
    /// Returns a supervisor of `n` children. With none, and with more than 1048576 (2^20), it fails to start
    /// ([`SpecError`]).
    #[must_use]
    pub fn new(n: usize, factory: impl Fn(usize) -> B + Send + Sync + 'static) -> Self {
        let flags = SupervisorFlags::new(Strategy::OneForOne);
        Partitions { count: n, factory: Arc::new(factory), flags }
    }

    /// Sets the most restarts within a period, as [`Supervisor::intensity`].
    #[must_use]
    pub fn intensity(mut self, restarts: u32, period: Duration) -> Self {
        (self.flags.intensity, self.flags.period) = (restarts, period);
        self
    }
}

impl<B> fmt::Debug for Partitions<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partitions").field("count", &self.count).finish_non_exhaustive()
    }
}

/// The argument of `start_child` of [`Partitions`]: there is none, because their number is fixed.
/// `M` and `C` are the types of the children's messages.
pub struct Partition<M, C> {
    never: Infallible,
    types: PhantomData<fn(M, C)>,
}

impl<M, C> fmt::Debug for Partition<M, C> {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.never {}
    }
}

/// The address of [`Partitions`] whose children have the messages `M` and the commands `C`. It takes the
/// requests of a supervisor ([`SupervisorCalls`](crate::SupervisorCalls)) too.
pub type PartitionsAddress<M, C = M> = SupervisorAddress<Partition<M, C>>;

/// The error of a look-up of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// The process of this partition has ended, and is not yet replaced (rule G10).
    #[error("partition {index} has no process at this moment")]
    Down {
        /// The index of the partition.
        index: usize,
    },
    /// There is no such partition.
    #[error("there is no partition {index}, there are {count}")]
    NoPartition {
        /// The index that was asked for.
        index: usize,
        /// The number of partitions.
        count: usize,
    },
    /// The partitions have not started yet.
    #[error("the partitions have not started")]
    NotStarted,
}

/// Look-ups of partitions, on the address of [`Partitions`]. They send no message (rule G11).
pub trait PartitionLookup<M, C> {
    /// Returns the process of the partition to which this key belongs.
    ///
    /// # Errors
    /// [`PartitionError`]: it has no process at this moment. Another partition never stands in for it.
    fn of<K: Hash + ?Sized>(&self, key: &K) -> Result<Address<M, C>, PartitionError>;

    /// Returns the process of the partition with this index.
    ///
    /// # Errors
    /// [`PartitionError`]: there is no such partition, or it has no process at this moment.
    fn partition(&self, index: usize) -> Result<Address<M, C>, PartitionError>;

    /// Returns the index of the partition to which this key belongs.
    ///
    /// # Errors
    /// [`PartitionError::NotStarted`].
    fn index_of<K: Hash + ?Sized>(&self, key: &K) -> Result<usize, PartitionError>;
}

impl<M: Send + 'static, C: Send + 'static> PartitionLookup<M, C> for PartitionsAddress<M, C> {
    fn of<K: Hash + ?Sized>(&self, key: &K) -> Result<Address<M, C>, PartitionError> {
        self.partition(self.index_of(key)?)
    }

    fn partition(&self, index: usize) -> Result<Address<M, C>, PartitionError> {
        let route = self.route_as::<PartitionPlaces<M, C>>().ok_or(PartitionError::NotStarted)?;
        let count = route.0.len();
        let place = route.0.get(index).ok_or(PartitionError::NoPartition { index, count })?;
        let address = place.read().clone().filter(Address::is_alive);
        address.ok_or(PartitionError::Down { index })
    }

    fn index_of<K: Hash + ?Sized>(&self, key: &K) -> Result<usize, PartitionError> {
        let route = self.route_as::<PartitionPlaces<M, C>>().ok_or(PartitionError::NotStarted)?;
        // There is at least one, and the remainder fits.
        let count = route.0.len().max(1) as u64;
        Ok(usize::try_from(hash_of(key) % count).unwrap_or(0))
    }
}

type Places<M, C> = Arc<[RwLock<Option<Address<M, C>>>]>;

/// The route of the Main lane of [`Partitions`]: nothing can be sent along it, and it has the places.
struct PartitionPlaces<M, C>(Places<M, C>);

impl<M: Send + 'static, C: Send + 'static> Route<Infallible> for PartitionPlaces<M, C> {
    fn send(&self, message: Infallible, _: u64) -> Result<(), SendError<Infallible>> {
        match message {}
    }

    fn reserve(&self) -> Result<Permit<Infallible>, SendError<()>> {
        let (message, to) = ((), krarup_gen::Pid::local(0, 0));
        Err(SendError::NotReservable { message, to })
    }

    fn waiting(&self) -> usize {
        0
    }
}

impl<B: Behavior> Behavior for Partitions<B> {
    type Message = Infallible;
    type Command = SupervisorCommand<Partition<B::Message, B::Command>>;

    async fn run(self, mut ctx: SupervisorContext<Partition<B::Message, B::Command>>) -> Result {
        let Partitions { count, factory, flags } = self;
        if count == 0 {
            return Err(SpecError::NoPartitions.into());
        }
        if count > MOST_PARTITIONS {
            let (partitions, most) = (count, MOST_PARTITIONS);
            return Err(SpecError::TooManyPartitions { partitions, most }.into());
        }
        let places: Places<B::Message, B::Command> =
            (0..count).map(|_| RwLock::new(None)).collect();
        ctx.route_main(PartitionPlaces(Arc::clone(&places)));
        let is_supervisor = B::kind() == ProcessKind::Supervisor;
        let kind = if is_supervisor { ChildKind::Supervisor } else { ChildKind::Worker };
        let children = (0..count).map(|index| {
            let (factory, places) = (Arc::clone(&factory), Arc::clone(&places));
            let make = move || PartitionChild {
                child: factory(index),
                index,
                places: Arc::clone(&places),
            };
            let rules = ChildRules::new(index.to_string().into(), kind, B::label());
            (rules, ChildStart::new(Arc::new(Factory(Arc::new(make))), SpawnOptions::new()))
        });
        let children = children.collect();
        drop(factory);
        Supervisor::with_children(flags, children, |none: Partition<_, _>| match none.never {})
            .run(ctx)
            .await
    }

    fn label() -> &'static str {
        "Partitions"
    }

    fn kind() -> ProcessKind {
        ProcessKind::Supervisor
    }
}

/// A child that takes its place when it begins.
struct PartitionChild<B: Behavior> {
    child: B,
    index: usize,
    places: Places<B::Message, B::Command>,
}

impl<B: Behavior> PartitionChild<B> {
    /// Takes the place, and returns what runs there.
    fn begin(self, ctx: &Context<B::Message, B::Command>) -> B {
        let PartitionChild { child, index, places } = self;
        let before = places[index].write().replace(ctx.address());
        // The last handle on the process before: its destructor may be a user's.
        let _ = krarup_act::contain(|| drop(before));
        child
    }
}

impl<B: Behavior> Behavior for PartitionChild<B> {
    type Message = B::Message;
    type Command = B::Command;

    const ONE_THREAD: bool = B::ONE_THREAD;

    fn run(self, ctx: Context<B::Message, B::Command>) -> impl Future<Output = Result> + Send {
        self.begin(&ctx).run(ctx)
    }

    fn run_in_turn(
        self,
        ctx: Context<B::Message, B::Command>,
    ) -> impl Future<Output = Result> + Send {
        self.begin(&ctx).run_in_turn(ctx)
    }

    fn label() -> &'static str {
        B::label()
    }

    fn kind() -> ProcessKind {
        B::kind()
    }

    fn show_message(message: &B::Message) -> Option<String> {
        B::show_message(message)
    }

    fn show_command(command: &B::Command) -> Option<String> {
        B::show_command(command)
    }

    fn routes_main() -> bool {
        B::routes_main()
    }
}
