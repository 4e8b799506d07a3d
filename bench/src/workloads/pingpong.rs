//! `pingpong` and `pairs`: two actors send one message back and forth, in one pair or in many
//! at once.

use super::{WorkloadResult, share};
use crate::latch::Latch;
use crate::measurement::Measurement;
use crate::message::BenchMessage;
use crate::peers::{ActorTable, start};
use krarup::{Actor, Address, Context, Node, Result};

/// One actor of a pair. Players with even numbers serve and count; the others return.
struct Player {
    number: u32,
    peers: ActorTable,
    partner: Option<Address<BenchMessage>>,
    /// How many round trips a serving player still has to make.
    left: u64,
    /// Signalled when a serving player has finished, and when a returning player is ready.
    latch: Latch,
}

impl Player {
    fn serves(&self) -> bool {
        self.number.is_multiple_of(2)
    }

    fn hit(&self, number: u64) -> Result {
        if let Some(partner) = &self.partner {
            partner.send(BenchMessage::Value { from: self.number, number })?;
        }
        Ok(())
    }
}

impl Actor for Player {
    type Message = BenchMessage;

    async fn handle_message(
        &mut self,
        _: &mut Context<BenchMessage>,
        message: BenchMessage,
    ) -> Result {
        match message {
            BenchMessage::Start => {
                self.partner = self.peers.all().get(self.number as usize ^ 1).cloned();
                if self.serves() {
                    self.hit(self.left)?;
                } else {
                    self.latch.count_down();
                }
            }
            BenchMessage::Value { number, .. } if self.serves() => {
                self.left = number - 1;
                if self.left == 0 {
                    self.latch.count_down();
                } else {
                    self.hit(self.left)?;
                }
            }
            BenchMessage::Value { number, .. } => self.hit(number)?,
        }
        Ok(())
    }
}

/// `round_trips` round trips of each of `pairs` pairs, all at once.
pub(super) fn run(node: &Node, name: &str, round_trips: u64, pairs: usize) -> WorkloadResult {
    share(round_trips, 1)?;
    let (ready, done) = (Latch::new(pairs as u64), Latch::new(pairs as u64));
    let players = ActorTable::spawn(node, 2 * pairs, |number, peers| Player {
        number,
        peers,
        partner: None,
        left: round_trips,
        latch: if number.is_multiple_of(2) { done.clone() } else { ready.clone() },
    })?;
    start(players.all().iter().skip(1).step_by(2))?;
    ready.wait()?;
    let took = done.time(|| start(players.all().iter().step_by(2)))?;
    Ok(Measurement::of(name, 2 * round_trips * pairs as u64, took))
}
