//! A node that is fast asleep wakes for whatever comes from outside, and one that is busy
//! with itself attends to it too (rules R1, R2).

use krarup::behavior::behavior_fn;
use krarup::dispatcher::DispatcherOptions;
use krarup::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

enum Ask {
    Now(Reply<()>),
    /// From a timer.
    Later(Reply<()>),
}

struct Answers;

impl Actor for Answers {
    type Message = Ask;

    async fn handle_message(&mut self, ctx: &mut Context<Ask>, ask: Ask) -> Result {
        match ask {
            Ask::Now(reply) => reply.send(()),
            Ask::Later(reply) => {
                ctx.sleep(Duration::from_millis(1)).await;
                reply.send(());
            }
        }
        Ok(())
    }
}

/// Waits until every worker of every dispatcher is parked.
fn falls_asleep(node: &Node) {
    let is_asleep = || node.stats().dispatchers.iter().all(|d| d.parked == d.workers);
    while !is_asleep() {
        thread::yield_now();
    }
}

/// A lost wake-up shows as a timeout: nothing else comes to wake the node.
#[test]
fn r2_a_node_that_is_asleep_wakes_for_a_message_a_spawn_and_a_timer() {
    let node = Node::builder("r2").workers(2).start().unwrap();
    let answers = node.spawn(|| Answers).wait().unwrap();
    for round in 0..100 {
        falls_asleep(&node);
        let ask = if round % 10 == 0 { Ask::Later } else { Ask::Now };
        assert_eq!(answers.call(ask).wait(), Ok(()));
        if round % 10 == 5 {
            falls_asleep(&node);
            let another = node.spawn(|| Answers).init_timeout(Duration::from_secs(5)).wait();
            another.unwrap().stop().wait().unwrap();
        }
    }
    node.stop().wait().unwrap();
}

#[test]
fn r2_a_pinned_process_that_is_asleep_wakes_for_a_message_and_a_timer() {
    let node = Node::builder("r2p").dispatcher("own", DispatcherOptions::pinned()).start().unwrap();
    let answers = node.spawn(|| Answers).dispatcher("own").wait().unwrap();
    for round in 0..100 {
        falls_asleep(&node);
        let ask = if round % 10 == 0 { Ask::Later } else { Ask::Now };
        assert_eq!(answers.call(ask).wait(), Ok(()));
    }
    node.stop().wait().unwrap();
}

/// One worker, whose own queue is never empty.
#[test]
fn r1_work_from_outside_is_not_starved_by_local_work() {
    let node = Node::builder("r1").workers(1).start().unwrap();
    let answers = node.spawn(|| Answers).wait().unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let busy: Vec<_> = (0..2)
        .map(|_| {
            let over = Arc::clone(&over);
            let busy = behavior_fn(move |mut ctx: Context<()>| async move {
                let myself = ctx.address();
                while !over.load(Ordering::Relaxed) {
                    let _ = myself.send(());
                    ctx.receive().await;
                }
                Ok(())
            });
            node.spawn(move || busy).start().unwrap()
        })
        .collect();
    for _ in 0..20 {
        assert_eq!(answers.call(Ask::Now).wait(), Ok(()));
    }
    over.store(true, Ordering::Relaxed);
    for process in busy {
        process.watch().wait().unwrap();
    }
    node.stop().wait().unwrap();
}
