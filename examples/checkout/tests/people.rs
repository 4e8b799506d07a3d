//! Processes that hold leases, and lose them in every way.

use super::world::{Ask, AtGate, LONG, Pool, World};
use crate::calls::{CheckoutAddress, CheckoutCalls};
use crate::lease::Lease;
use krarup::Pid;
use krarup::prelude::*;

/// What a holder is told.
pub(super) enum Hold {
    /// Leases a worker and keeps it. The answer is the worker.
    Lease(Reply<Pid>),
    /// Has its worker wait until the gate is open, leaves it a line to note behind that, and calls
    /// it.
    Leave(Address<AtGate>, &'static str),
    /// Gives up all it holds.
    Drop,
    /// Ends by a panic, with its leases.
    Panic,
    /// Leases a worker, and answers with the lease when it is told to.
    Fetch(Reply<Lease<Ask>>),
    /// Answers the oldest fetch.
    Answer,
}

/// A process that holds leases.
pub(super) struct Holder {
    pool: CheckoutAddress<Ask>,
    leases: Vec<Lease<Ask>>,
    fetches: Vec<Reply<Lease<Ask>>>,
}

impl Actor for Holder {
    type Message = Hold;

    async fn handle_message(&mut self, _: &mut Context<Hold>, message: Hold) -> Result {
        match message {
            Hold::Lease(reply) => {
                let lease = self.pool.lease(LONG).await?;
                reply.send(lease.worker().pid());
                self.leases.push(lease);
            }
            Hold::Leave(gate, line) => {
                if let Some(lease) = self.leases.first() {
                    let wait = Ask::Wait(gate.clone());
                    lease.send(wait).map_err(SendError::without_message)?;
                    lease.send(Ask::Note(line)).map_err(SendError::without_message)?;
                    lease.call(|reply| Ask::Pass(gate, reply)).no_timeout().await?;
                }
            }
            Hold::Drop => self.leases.clear(),
            Hold::Panic => panic!("the holder was told to"),
            Hold::Fetch(reply) => self.fetches.push(reply),
            Hold::Answer => {
                let lease = self.pool.lease(LONG).await?;
                self.fetches.remove(0).send(lease);
            }
        }
        Ok(())
    }
}

/// Spawns a process that holds nothing yet.
pub(super) fn holder(world: &World, pool: &Pool) -> Address<Hold> {
    let pool = pool.address.clone();
    let holder = move || Holder { pool, leases: Vec::new(), fetches: Vec::new() };
    world.spawn(holder).wait().unwrap()
}
