//! How the actors of a workload are spawned and get each other's addresses.

use crate::failure::WorkloadFailure;
use crate::message::BenchMessage;
use krarup::{Actor, Address, Node};
use std::sync::{Arc, OnceLock};

/// The addresses of all actors of a workload, by number. Empty until all of them have been
/// spawned; that is before the first of them gets a message.
#[derive(Clone, Default)]
pub(crate) struct ActorTable(Arc<OnceLock<Vec<Address<BenchMessage>>>>);

impl ActorTable {
    /// Spawns actors that know each other's addresses.
    pub(crate) fn spawn<A>(
        node: &Node,
        count: usize,
        make: impl Fn(u32, ActorTable) -> A,
    ) -> Result<Self, WorkloadFailure>
    where
        A: Actor<Message = BenchMessage>,
    {
        let peers = ActorTable::default();
        let actors = spawn_many(node, count, |number| make(number, peers.clone()))?;
        peers.0.get_or_init(|| actors);
        Ok(peers)
    }

    /// All actors of the workload.
    pub(crate) fn all(&self) -> &[Address<BenchMessage>] {
        self.0.get().map_or(&[], Vec::as_slice)
    }
}

/// Spawns actors with numbers from 0.
pub(crate) fn spawn_many<A: Actor>(
    node: &Node,
    count: usize,
    make: impl Fn(u32) -> A,
) -> Result<Vec<Address<A::Message>>, WorkloadFailure> {
    let spawn = |number| {
        let actor = make(number);
        Ok(node.spawn(move || actor).start()?)
    };
    (0..).take(count).map(spawn).collect()
}

/// Sends each actor the message to begin.
pub(crate) fn start<'a>(
    actors: impl IntoIterator<Item = &'a Address<BenchMessage>>,
) -> Result<(), WorkloadFailure> {
    actors
        .into_iter()
        .try_for_each(|actor| actor.send(BenchMessage::Start).map_err(|_| WorkloadFailure::Ended))
}
