//! `big`: every actor sends to random others (Savina's `big`).

use super::{WorkloadResult, share};
use crate::latch::Latch;
use crate::measurement::Measurement;
use crate::message::BenchMessage;
use crate::peers::{ActorTable, start};
use crate::xorshift::Xorshift;
use krarup::{Actor, Context, Node, Result};

const PING: u64 = 0;
const PONG: u64 = 1;

/// Pings random others, one ping at a time, and answers their pings.
struct Talker {
    number: u32,
    peers: ActorTable,
    /// How many pongs are still to come.
    left: u64,
    random: Xorshift,
    latch: Latch,
}

impl Talker {
    fn ping(&mut self) -> Result {
        let others = self.peers.all().len() - 1;
        let pick = self.random.below(others);
        let other = if pick < self.number as usize { pick } else { pick + 1 };
        self.send(other, PING)
    }

    fn send(&self, to: usize, number: u64) -> Result {
        self.peers.all()[to].send(BenchMessage::Value { from: self.number, number })?;
        Ok(())
    }
}

impl Actor for Talker {
    type Message = BenchMessage;

    async fn handle_message(
        &mut self,
        _: &mut Context<BenchMessage>,
        message: BenchMessage,
    ) -> Result {
        match message {
            BenchMessage::Start => self.ping(),
            BenchMessage::Value { from, number: PING } => self.send(from as usize, PONG),
            BenchMessage::Value { .. } => {
                self.left -= 1;
                if self.left > 0 {
                    return self.ping();
                }
                self.latch.count_down();
                Ok(())
            }
        }
    }
}

/// Each of `talkers` sends pings until it has received `pongs` pongs.
pub(super) fn run(node: &Node, pongs: u64, talkers: usize) -> WorkloadResult {
    share(pongs, 1)?;
    share(talkers as u64, 2)?;
    let done = Latch::new(talkers as u64);
    let peers = ActorTable::spawn(node, talkers, |number, peers| Talker {
        number,
        peers,
        left: pongs,
        random: Xorshift::seeded(number),
        latch: done.clone(),
    })?;
    let took = done.time(|| start(peers.all()))?;
    Ok(Measurement::of("big", 2 * pongs * talkers as u64, took))
}
