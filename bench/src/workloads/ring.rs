//! `ring`: a token passes around a ring (Savina's `threadring`).

use super::{WorkloadResult, share};
use crate::failure::WorkloadFailure;
use crate::latch::Latch;
use crate::measurement::Measurement;
use crate::message::BenchMessage;
use crate::peers::{ActorTable, start};
use krarup::{Actor, Address, Context, Node, Result};

/// One place of the ring.
struct RingActor {
    number: u32,
    peers: ActorTable,
    next: Option<Address<BenchMessage>>,
    ready: Latch,
    done: Latch,
}

impl Actor for RingActor {
    type Message = BenchMessage;

    async fn handle_message(
        &mut self,
        _: &mut Context<BenchMessage>,
        message: BenchMessage,
    ) -> Result {
        match message {
            BenchMessage::Start => {
                let mut around = self.peers.all().iter().cycle();
                self.next = around.nth(self.number as usize + 1).cloned();
                self.ready.count_down();
            }
            BenchMessage::Value { number: 0, .. } => self.done.count_down(),
            BenchMessage::Value { number, .. } => {
                if let Some(next) = &self.next {
                    next.send(BenchMessage::Value { from: self.number, number: number - 1 })?;
                }
            }
        }
        Ok(())
    }
}

/// One token makes `hops` hops among `places` actors.
pub(super) fn run(node: &Node, hops: u64, places: usize) -> WorkloadResult {
    share(hops, 1)?;
    share(places as u64, 1)?;
    let (ready, done) = (Latch::new(places as u64), Latch::new(1));
    let peers = ActorTable::spawn(node, places, |number, peers| RingActor {
        number,
        peers,
        next: None,
        ready: ready.clone(),
        done: done.clone(),
    })?;
    start(peers.all())?;
    ready.wait()?;
    let took = done.time(|| {
        let token = BenchMessage::Value { from: 0, number: hops - 1 };
        peers.all()[0].send(token).map_err(|_| WorkloadFailure::Ended)
    })?;
    Ok(Measurement::of("ring", hops, took))
}
