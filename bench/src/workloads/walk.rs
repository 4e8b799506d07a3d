//! `walk`: tokens wander at random, as many as there are actors.

use super::{WorkloadResult, share};
use crate::latch::Latch;
use crate::measurement::Measurement;
use crate::message::BenchMessage;
use crate::peers::ActorTable;
use crate::xorshift::Xorshift;
use krarup::{Actor, Context, Node, Result};

/// Passes each token on to any other.
struct Walker {
    number: u32,
    peers: ActorTable,
    random: Xorshift,
    done: Latch,
}

impl Actor for Walker {
    type Message = BenchMessage;

    async fn handle_message(
        &mut self,
        _: &mut Context<BenchMessage>,
        message: BenchMessage,
    ) -> Result {
        match message {
            BenchMessage::Start => {}
            BenchMessage::Value { number: 0, .. } => self.done.count_down(),
            BenchMessage::Value { number, .. } => {
                let next = &self.peers.all()[self.random.below(self.peers.all().len())];
                next.send(BenchMessage::Value { from: self.number, number: number - 1 })?;
            }
        }
        Ok(())
    }
}

/// Each of `walkers` tokens makes `hops` hops among as many actors.
pub(super) fn run(node: &Node, hops: u64, walkers: usize) -> WorkloadResult {
    share(hops, 1)?;
    share(walkers as u64, 2)?;
    let done = Latch::new(walkers as u64);
    let peers = ActorTable::spawn(node, walkers, |number, peers| Walker {
        number,
        peers,
        random: Xorshift::seeded(number),
        done: done.clone(),
    })?;
    let took = done.time(|| {
        for peer in peers.all() {
            let token = BenchMessage::Value { from: 0, number: hops - 1 };
            peer.send(token).map_err(|_| crate::failure::WorkloadFailure::Ended)?;
        }
        Ok(())
    })?;
    Ok(Measurement::of("walk", hops * walkers as u64, took))
}
