//! A node whose processes are a ring, so that its workers have work without end.

use crate::Measured;
use crate::figures::{RingSpeed, float};
use crate::system::{cpu, threads};
use krarup::{Actor, Address, Context, Node, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Tokens that go round the ring of processes, so that the workers always have work.
const TOKENS: usize = 64;

/// A process of a ring: hands a token on, and counts.
struct RingSeat {
    next: Option<Address<RingMessage>>,
    hops: Arc<AtomicU64>,
    runs: Arc<AtomicBool>,
}

enum RingMessage {
    Next(Address<RingMessage>),
    Token,
}

impl Actor for RingSeat {
    type Message = RingMessage;

    async fn handle_message(&mut self, _: &mut Context<RingMessage>, it: RingMessage) -> Result {
        match it {
            RingMessage::Next(next) => self.next = Some(next),
            RingMessage::Token if !self.runs.load(Ordering::Relaxed) => {}
            RingMessage::Token => {
                self.hops.fetch_add(1, Ordering::Relaxed);
                if let Some(next) = &self.next {
                    let _ = next.send(RingMessage::Token);
                }
            }
        }
        Ok(())
    }
}

/// A node whose processes are a ring.
pub(crate) struct BusyRing {
    pub(crate) node: Node,
    seats: Vec<Address<RingMessage>>,
    hops: Arc<AtomicU64>,
    runs: Arc<AtomicBool>,
}

impl BusyRing {
    pub(crate) fn start(name: &str, size: usize) -> Measured<Self> {
        let node = Node::builder(name).workers(2).start()?;
        let (hops, runs) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let seats = (0..size)
            .map(|_| {
                let (hops, runs) = (Arc::clone(&hops), Arc::clone(&runs));
                let seat = move || RingSeat { next: None, hops: hops.clone(), runs: runs.clone() };
                Ok(node.spawn(seat).start()?)
            })
            .collect::<Measured<Vec<_>>>()?;
        for (place, seat) in seats.iter().enumerate() {
            seat.send(RingMessage::Next(seats[(place + 1) % size].clone())).map_err(|_| "full")?;
        }
        Ok(BusyRing { node, seats, hops, runs })
    }

    /// Its speed over a window.
    pub(crate) fn speed(&self, window: Duration) -> RingSpeed {
        self.runs.store(true, Ordering::Relaxed);
        for seat in self.seats.iter().step_by((self.seats.len() / TOKENS).max(1)).take(TOKENS) {
            let _ = seat.send(RingMessage::Token);
        }
        let all = threads();
        let (before, spent) = (self.hops.load(Ordering::Relaxed), cpu(&all));
        let began = Instant::now();
        thread::sleep(window);
        let hops = float(self.hops.load(Ordering::Relaxed) - before);
        let spent = cpu(&all).saturating_sub(spent);
        let speed = RingSpeed {
            wall: hops / began.elapsed().as_secs_f64(),
            cpu: hops / spent.as_secs_f64(),
        };
        self.runs.store(false, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(50));
        speed
    }
}
