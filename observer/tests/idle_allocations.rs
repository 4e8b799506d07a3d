//! What an idle observer adds to the memory that a node allocates: nothing (rule V59).
//!
//! It is the only test of its program, because all tests of a program share what is counted.

use cap::Cap;
use krarup_act::{Actor, Address, Context, Reply};
use krarup_gen::Result;
use krarup_node::Node;
use krarup_observer::Observer;
use std::alloc::System;
use std::sync::mpsc;

#[global_allocator]
static ALLOCATED: Cap<System> = Cap::new(System, usize::MAX);

/// Messages, calls and spawns of a measured load, each.
const MANY: usize = 5_000;

struct Echo;

impl Actor for Echo {
    type Message = Reply<u32>;
    async fn handle_message(&mut self, _: &mut Context<Reply<u32>>, reply: Reply<u32>) -> Result {
        reply.send(1);
        Ok(())
    }
}

/// Sends itself messages, makes calls and spawns processes that end at once.
struct Worker {
    echo: Address<Reply<u32>>,
    left: usize,
    done: mpsc::Sender<()>,
}

/// Ends at its first message.
struct Child;

impl Actor for Child {
    type Message = ();
    async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
        ctx.stop();
        Ok(())
    }
}

impl Actor for Worker {
    type Message = usize;
    async fn handle_message(&mut self, ctx: &mut Context<usize>, more: usize) -> Result {
        self.left += more;
        if self.left == 0 {
            let _ = self.done.send(());
            return Ok(());
        }
        self.left -= 1;
        self.echo.call(|reply| reply).await?;
        let child = ctx.spawn(|| Child).start()?;
        child.send(())?;
        Ok(ctx.address().send(0)?)
    }
}

/// A node with a load, on one worker: each run of it allocates the same.
struct LoadedNode {
    node: Node,
    worker: Address<usize>,
    done: mpsc::Receiver<()>,
}

impl LoadedNode {
    fn start(name: &str) -> Self {
        let node = Node::builder(name).workers(1).start().unwrap();
        let echo = node.spawn(|| Echo).wait().unwrap();
        let (done, received) = mpsc::channel();
        let worker = Worker { echo, left: 0, done };
        let worker = node.spawn(move || worker).wait().unwrap();
        LoadedNode { node, worker, done: received }
    }

    /// The bytes that the load has allocated in all.
    fn run(&self) -> usize {
        let before = ALLOCATED.total_allocated();
        self.worker.send(MANY).unwrap();
        self.done.recv().unwrap();
        ALLOCATED.total_allocated() - before
    }
}

#[test]
fn v59_an_idle_observer_adds_no_allocation_to_messages_calls_and_spawns() {
    let (without, with) = (LoadedNode::start("off@localhost"), LoadedNode::start("on@localhost"));
    let observer = Observer::new().listen("127.0.0.1:0").start(&with.node).wait().unwrap();
    assert_ne!(observer.address().port(), 0);
    // Tables grow in some runs and not in others, so the least of several runs counts.
    let least = |loaded: &LoadedNode| (0..5).map(|_| loaded.run()).min().unwrap_or(0);
    let (off, on) = (least(&without), least(&with));
    // An allocation for each message has 16 bytes or more, and each round sends four.
    assert!(on < off + 16 * MANY, "{off} bytes without an observer, {on} with one");
    assert!(off > 100 * MANY, "{off}: the load spawns, so it allocates");
    without.node.stop().wait().unwrap();
    with.node.stop().wait().unwrap();
}
