//! One actor sends to workers: directly in turn, and through pools of 1 to 16. An iteration is
//! one message. The difference is the cost of the pool; it should be at most a third.

mod until_dropped;

use krarup::pool::{Pool, PoolCommand};
use krarup::{Actor, Address, Context, Node, Result};
use until_dropped::{Over, bench};

/// How many messages a source sends before other actors get a turn.
const BURST: u64 = 1000;

#[derive(Default)]
struct Worker;

impl Actor for Worker {
    /// The last message carries the end signal.
    type Message = Option<Over>;

    async fn handle_message(&mut self, _: &mut Context<Option<Over>>, _: Option<Over>) -> Result {
        Ok(())
    }
}

/// The receiver of the source's messages.
enum Target {
    Workers(Vec<Address<Option<Over>>>),
    Pool(Address<Option<Over>, PoolCommand>),
}

struct Source {
    target: Target,
    next: usize,
}

impl Actor for Source {
    type Message = (u64, Over);

    async fn handle_message(
        &mut self,
        ctx: &mut Context<(u64, Over)>,
        (left, over): (u64, Over),
    ) -> Result {
        let later = left.saturating_sub(BURST);
        for number in (later..left).rev() {
            let message = (number == 0).then(|| over.clone());
            match &self.target {
                Target::Pool(pool) => pool.send(message)?,
                Target::Workers(workers) => {
                    workers[self.next].send(message)?;
                    self.next = if self.next + 1 == workers.len() { 0 } else { self.next + 1 };
                }
            }
        }
        if later > 0 {
            ctx.address().send((later, over))?;
        }
        Ok(())
    }
}

fn measure(name: &str, target: impl FnOnce(&Node) -> Target) {
    bench(name, |node| {
        let target = target(node);
        let source = node.spawn(move || Source { target, next: 0 }).wait().expect("it has no init");
        move |iterations, over| source.send((iterations, over)).expect("the source lives")
    });
}

fn main() {
    for workers in [1, 2, 4, 8, 16] {
        measure(&format!("pool/direct/{workers}"), |node| {
            let spawn = |_| node.spawn(Worker::default).wait().expect("it has no init");
            Target::Workers((0..workers).map(spawn).collect())
        });
        measure(&format!("pool/pool/{workers}"), |node| {
            let pool = node.spawn(move || Pool::new(workers, Worker::default)).wait();
            Target::Pool(pool.expect("it can be"))
        });
    }
}
