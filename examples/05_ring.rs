//! 5. Many processes: a hundred thousand in a ring, and a token that is passed around it.
//!
//! A process uses no thread of its own and about half a kilobyte, so one process for each
//! connection, device or game piece is the normal design. The example prints times
//! measured on the machine it runs on.
//!
//! ```sh
//! cargo run --release --example 05_ring
//! cargo run --release --example 05_ring -- 1000000 1
//! ```

use krarup::prelude::*;
use std::time::{Duration, Instant};

enum Ring {
    /// Passes the token on this many times, then answers.
    Token(u64, Reply<()>),
    /// Closes the ring: the receiver is its last member, and this is its neighbour.
    Close(Address<Ring>),
}

struct Member {
    next: Option<Address<Ring>>,
}

impl Actor for Member {
    type Message = Ring;

    async fn init(&mut self, ctx: &mut Context<Ring>) -> Result {
        if let Some(next) = &self.next {
            ctx.link(next.pid());
        }
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Ring>, message: Ring) -> Result {
        match (message, &self.next) {
            (Ring::Token(0, reply), _) => reply.send(()),
            (Ring::Token(left, reply), Some(next)) => next.send(Ring::Token(left - 1, reply))?,
            (Ring::Token(..), None) => return Err(Reason::error("the ring is not closed")),
            (Ring::Close(next), _) => self.next = Some(next),
        }
        Ok(())
    }
}

fn main() -> Result {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| arguments.next().map_or(Ok(default), |text| text.parse::<u64>());
    let processes = number(100_000)?.max(2);
    let rounds = number(10)?;
    let node = Node::start("tour@localhost")?;

    // Each member is linked to the one spawned before it. The first gets the address of
    // the last.
    let clock = Instant::now();
    let first = node.spawn(|| Member { next: None }).wait()?;
    let mut last = first.clone();
    for _ in 1..processes {
        let next = Some(last);
        last = node.spawn(|| Member { next }).start()?;
    }
    first.send(Ring::Close(last.clone()))?;
    report("processes spawned, linked, in a ring", processes, clock.elapsed());
    assert_eq!(node.stats().processes as u64, processes);

    let clock = Instant::now();
    let hops = processes * rounds;
    last.call(|reply| Ring::Token(hops, reply)).no_timeout().wait()?;
    report("times the token was passed on", hops, clock.elapsed());

    // The first member fails. The exit signal ends the second through its link, and so on
    // up to the last.
    let end = last.watch();
    let clock = Instant::now();
    node.exit(first.pid(), Reason::error("the first domino"));
    let down = end.wait()?;
    report("processes ended, each by its link", processes, clock.elapsed());
    println!("          reason of the last process: {}", down.reason);

    node.stop().wait()
}

fn report(what: &str, count: u64, time: Duration) {
    let each = time.as_nanos() / u128::from(count.max(1));
    println!("{count:>9} {what}: {time:.2?}, {each} ns each");
}
