//! `ring`: a token goes round (Savina's `threadring`).

use super::{Outcome, share};
use crate::failure::Failure;
use crate::latch::Latch;
use crate::measurement::Measurement;
use crate::message::Message;
use crate::peers::{Peers, start};
use krarup::{Actor, Address, Context, Node, Result};

/// One place of the ring.
struct Place {
    number: u32,
    peers: Peers,
    next: Option<Address<Message>>,
    ready: Latch,
    done: Latch,
}

impl Actor for Place {
    type Message = Message;

    async fn handle_message(&mut self, _: &mut Context<Message>, message: Message) -> Result {
        match message {
            Message::Start => {
                let mut around = self.peers.all().iter().cycle();
                self.next = around.nth(self.number as usize + 1).cloned();
                self.ready.count_down();
            }
            Message::Value { number: 0, .. } => self.done.count_down(),
            Message::Value { number, .. } => {
                if let Some(next) = &self.next {
                    next.send(Message::Value { from: self.number, number: number - 1 })?;
                }
            }
        }
        Ok(())
    }
}

/// One token makes `hops` hops among `places` actors.
pub(super) fn run(node: &Node, hops: u64, places: usize) -> Outcome {
    share(hops, 1)?;
    share(places as u64, 1)?;
    let (ready, done) = (Latch::new(places as u64), Latch::new(1));
    let peers = Peers::spawn(node, places, |number, peers| Place {
        number,
        peers,
        next: None,
        ready: ready.clone(),
        done: done.clone(),
    })?;
    start(peers.all())?;
    ready.wait()?;
    let took = done.time(|| {
        let token = Message::Value { from: 0, number: hops - 1 };
        peers.all()[0].send(token).map_err(|_| Failure::Ended)
    })?;
    Ok(Measurement::of("ring", hops, took))
}
