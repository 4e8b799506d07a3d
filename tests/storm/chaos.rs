//! Rules that must hold while everything happens at once, on a real node: nothing is lost
//! uncounted, nobody waits for ever, no name is taken by the dead.

use crate::support::{Does, Log, boom, puppet, simulations};
use krarup::LookupError;
use krarup::behavior::{Received, behavior_fn};
use krarup::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

/// Counts what it begins to handle, and ends at every so many.
struct Frail {
    handled: Arc<AtomicU64>,
}

impl Actor for Frail {
    type Message = u64;

    async fn handle_message(&mut self, _: &mut Context<u64>, number: u64) -> Result {
        self.handled.fetch_add(1, Ordering::SeqCst);
        match number % 97 {
            0 => Err(boom()),
            1 => panic!("planned"),
            2 => Err(Reason::Normal),
            _ => Ok(()),
        }
    }
}

#[test]
fn p4_every_job_accepted_by_a_pool_of_crashing_workers_is_handled_or_counted() {
    let node = Node::builder("p4").workers(2).start().unwrap();
    let handled = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&handled);
    let factory = move || Frail { handled: Arc::clone(&counter) };
    let pool = node.spawn(move || Pool::new(3, factory).mailbox(20)).wait().unwrap();
    let senders: Vec<_> = (0..3)
        .map(|_| {
            let pool = pool.clone();
            thread::spawn(move || {
                let sent = (0..4_000)
                    .filter(|n| pool.send(*n).inspect_err(|_| thread::yield_now()).is_ok());
                sent.count() as u64
            })
        })
        .collect();
    // Meanwhile it grows and shrinks.
    for _ in 0..50 {
        pool.add_workers(2).wait().unwrap();
        pool.remove_workers(2).wait().unwrap();
    }
    let accepted: u64 = senders.into_iter().map(|sender| sender.join().unwrap()).sum();
    let inspection = pool.inspect().wait().unwrap();
    assert_eq!(inspection.number("messages_forwarded"), Some(accepted));
    assert_eq!(inspection.number("messages_unhandled"), Some(12_000 - accepted));
    pool.stop().wait().unwrap();
    node.stop().wait().unwrap();
    assert_eq!(handled.load(Ordering::SeqCst) + node.stats().dead_letters, accepted);
}

#[test]
fn d7_messages_accepted_when_a_node_stops_are_handled_or_counted() {
    for _ in 0..20 {
        let node = Node::builder("d7").workers(2).start().unwrap();
        let handled = Arc::new(AtomicU64::new(0));
        let processes: Vec<_> = (0..4)
            .map(|_| {
                let handled = Arc::clone(&handled);
                node.spawn(move || Frail { handled }).wait().unwrap()
            })
            .collect();
        let senders: Vec<_> = processes
            .into_iter()
            .map(|process| {
                thread::spawn(move || {
                    // 3 modulo 97: it does not end by itself.
                    let accepted = (0..500_000).take_while(|_| process.send(3).is_ok()).count();
                    let refused = u64::from(accepted < 500_000);
                    (accepted as u64, refused)
                })
            })
            .collect();
        node.stop().wait().unwrap();
        let sums = senders.into_iter().map(|sender| sender.join().unwrap());
        let (accepted, refused) = sums.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let counted = handled.load(Ordering::SeqCst) + node.stats().dead_letters;
        assert_eq!(counted, accepted + refused);
    }
}

/// What the callee below is asked.
enum Ask {
    Now(Reply<u64>),
    Keep(Reply<u64>),
    Later(Reply<u64>),
    Drop(#[allow(dead_code, reason = "dropped unread")] Reply<u64>),
    End(#[allow(dead_code, reason = "dropped unread")] Reply<u64>),
}

#[derive(Default)]
struct Callee(Vec<Reply<u64>>);

impl Actor for Callee {
    type Message = Ask;

    async fn handle_message(&mut self, ctx: &mut Context<Ask>, ask: Ask) -> Result {
        match ask {
            Ask::Now(reply) => reply.send(1),
            Ask::Keep(reply) => self.0.push(reply),
            Ask::Later(reply) => {
                ctx.sleep(Duration::from_micros(100)).await;
                reply.send(1);
            }
            Ask::Drop(_) => {}
            Ask::End(_) => return Err(boom()),
        }
        if self.0.len() > 3 {
            self.0.remove(0).send(1);
        }
        Ok(())
    }
}

#[test]
fn c2_no_call_waits_for_ever_for_any_fate_of_its_callee() {
    let node = Node::builder("c2").workers(2).start().unwrap();
    let asks: [fn(Reply<u64>) -> Ask; 5] = [Ask::Now, Ask::Keep, Ask::Later, Ask::Drop, Ask::End];
    let over = Arc::new(AtomicBool::new(false));
    let keeper = {
        let (node, over) = (node.clone(), Arc::clone(&over));
        // Starts it again under its name whenever it has ended, and kills it now and then.
        thread::spawn(move || {
            let mut started = 0;
            while !over.load(Ordering::SeqCst) {
                let callee = match node.spawn(Callee::default).name("callee").wait() {
                    Ok(callee) => callee,
                    // Somebody was so quick to end it.
                    Err(SpawnError::Init(_)) => continue,
                    Err(error) => return (started, error),
                };
                started += 1;
                if started % 3 == 0 {
                    node.kill(callee.pid());
                }
                callee.watch().wait().unwrap();
            }
            (started, SpawnError::NodeStopping)
        })
    };
    let callers: Vec<_> = (0..3)
        .map(|first| {
            let node = node.clone();
            thread::spawn(move || {
                let mut outcomes = [0_usize; 3];
                // Only what was asked counts: there may be nobody to ask for a while.
                while outcomes.iter().sum::<usize>() < 60 {
                    let n = outcomes.iter().sum::<usize>();
                    let callee = match node.lookup::<Ask, Ask>("callee") {
                        Ok(callee) => callee,
                        Err(LookupError::NoName(_)) => {
                            thread::yield_now();
                            continue;
                        }
                        Err(error) => panic!("{error}"),
                    };
                    match callee.call(asks[(first + n) % 5]).no_timeout().wait() {
                        Ok(1) => outcomes[0] += 1,
                        Err(
                            CallError::Terminated { .. }
                            | CallError::NotBegun { .. }
                            | CallError::NoProcess { .. },
                        ) => outcomes[1] += 1,
                        Err(CallError::NoReply { .. }) => outcomes[2] += 1,
                        other => panic!("{other:?}"),
                    }
                }
                outcomes
            })
        })
        .collect();
    // A call that is kept waits for three others or for the end: somebody ends it.
    let ender = {
        let (node, over) = (node.clone(), Arc::clone(&over));
        thread::spawn(move || {
            while !over.load(Ordering::SeqCst) {
                if let Some(pid) = node.whereis("callee") {
                    // It serves a while before it is ended.
                    let _ = node.inspect(pid).wait();
                    (0..50).for_each(|_| thread::yield_now());
                    node.exit(pid, boom());
                }
            }
        })
    };
    for caller in callers {
        assert_eq!(caller.join().unwrap().iter().sum::<usize>(), 60);
    }
    over.store(true, Ordering::SeqCst);
    ender.join().unwrap();
    // The last one lives until the node stops.
    node.stop().wait().unwrap();
    let (started, error) = keeper.join().unwrap();
    assert!(started > 0 && error == SpawnError::NodeStopping, "{error}");
}

#[test]
fn n3_a_process_notified_of_an_end_can_take_the_name_at_once() {
    let node = Node::builder("n3").workers(2).start().unwrap();
    let (done, finished) = mpsc::channel();
    // By an exit, a down and a failed call in turn; each starts the next one at once.
    let restarts = behavior_fn(move |mut ctx: Context<()>| async move {
        ctx.trap_exits(true);
        for round in 0..3_000 {
            let monitor = ctx.make_ref();
            let spawn = ctx.spawn(Callee::default).name("one");
            let spawn = if round % 3 == 0 { spawn.link() } else { spawn };
            let spawn = if round % 3 == 1 { spawn.monitor(monitor) } else { spawn };
            let child = spawn.await?;
            if round % 3 == 2 {
                let ended = child.call(Ask::End).await;
                if ended != Err(CallError::Terminated { to: child.pid(), reason: boom() }) {
                    return Err(Reason::error(format!("{ended:?}")));
                }
            } else {
                ctx.exit(child.pid(), boom());
                ctx.receive().await;
            }
        }
        let _ = done.send(());
        Ok(())
    });
    let restarts = node.spawn(move || restarts).start().unwrap();
    let reason = restarts.watch().wait().unwrap().reason;
    assert_eq!((finished.try_recv(), reason), (Ok(()), Reason::Normal));
    node.stop().wait().unwrap();
}

#[test]
fn l5_links_made_and_taken_away_from_both_ends_agree_at_the_end() {
    for sim in simulations(100) {
        let log = Log::new();
        let [a, b] = ["a", "b"].map(|name| puppet(&sim, name, &log));
        let mut random = sim.now().as_nanos() + 88_172_645_463_325_252;
        for _ in 0..20 {
            // xorshift: the order of the operations, not that of the turns.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let (this, that) = if random % 2 == 0 { (&a, b.pid()) } else { (&b, a.pid()) };
            let unlink = random % 3 == 0;
            this.tells(move |ctx| if unlink { ctx.unlink(that) } else { ctx.link(that) });
        }
        sim.run_until_idle();
        let links = |process: &Address<crate::support::Act>| process.info().links;
        assert_eq!(links(&a).contains(&b.pid()), links(&b).contains(&a.pid()));
        let linked = !links(&a).is_empty();
        a.dies(boom());
        sim.run_until_idle();
        assert_eq!(b.is_alive(), !linked);
    }
}

#[test]
fn t1_timers_that_fire_while_their_processes_end_do_no_harm() {
    let node = Node::builder("t1").workers(2).start().unwrap();
    for _ in 0..300 {
        let process = behavior_fn(|mut ctx: Context<u32>| async move {
            for n in 0..10 {
                ctx.send_after(Duration::from_micros(u64::from(n) * 200), n);
            }
            ctx.initialised();
            let mut next = 0;
            while let Received::Message(n) = ctx.receive().await {
                if n != next {
                    return Err(boom());
                }
                next += 1;
                if next == 8 {
                    return Ok(());
                }
            }
            Ok(())
        });
        let process = node.spawn(move || process).wait().unwrap();
        let reason = process.watch().wait().unwrap().reason;
        assert!(matches!(reason, Reason::Normal | Reason::NoProcess), "{reason}");
    }
    node.stop().wait().unwrap();
    assert_eq!(node.stats().timers, 0);
}
