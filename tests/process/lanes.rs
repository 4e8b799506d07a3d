//! Messages, lanes and their order: rules M1 to M5, M7 and M8.

use crate::support::{Does, Log, Puppet, boom, poll_once, puppet, simulations};
use krarup::Dynamic;
use krarup::behavior::{Received, behavior_fn};
use krarup::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

/// Notes what it handles.
struct Noter(Log);

impl Actor for Noter {
    type Message = String;

    async fn handle_message(&mut self, _: &mut Context<String>, text: String) -> Result {
        self.0.note(text);
        Ok(())
    }

    async fn terminate(&mut self, _: &mut Context<String>, reason: &Reason) {
        self.0.note(format!("terminate {reason}"));
    }
}

fn noter(node: &Node, log: &Log) -> Address<String> {
    let noted = log.clone();
    node.spawn(move || Noter(noted)).wait().unwrap()
}

#[test]
fn m1_messages_of_one_sender_arrive_in_order_and_once() {
    for sim in simulations(100) {
        let log = Log::new();
        let to = noter(&sim, &log);
        for sender in 0..3 {
            let to = to.clone();
            let bursts = behavior_fn(move |ctx: Context<()>| async move {
                for burst in 0..5 {
                    for n in 0..4 {
                        to.send(format!("{sender} {}", burst * 4 + n)).unwrap();
                    }
                    ctx.sleep(std::time::Duration::from_millis(1)).await;
                }
                Ok(())
            });
            sim.spawn(move || bursts).start().unwrap();
        }
        sim.advance(std::time::Duration::from_secs(1));
        let lines = log.take();
        assert_eq!(lines.len(), 60);
        for sender in 0..3 {
            let own: Vec<_> = lines.iter().filter(|l| l.starts_with(&sender.to_string())).collect();
            let expected: Vec<_> = (0..20).map(|n| format!("{sender} {n}")).collect();
            assert!(own.iter().eq(&expected.iter().collect::<Vec<_>>()), "{own:?}");
        }
    }
}

#[test]
fn m1_a_request_keeps_its_order_among_the_sends_of_its_caller() {
    enum Say {
        Word(&'static str),
        Ask(Reply<()>),
    }
    for sim in simulations(20) {
        let log = Log::new();
        let noted = log.clone();
        let hears = behavior_fn(move |mut ctx: Context<Say>| async move {
            while let Received::Message(say) = ctx.receive().await {
                match say {
                    Say::Word(word) => noted.note(word),
                    Say::Ask(reply) => {
                        noted.note("asked");
                        reply.send(());
                    }
                }
            }
            Ok(())
        });
        let to = sim.spawn(move || hears).start().unwrap();
        let noted = log.clone();
        let asks = behavior_fn(move |_: Context<()>| async move {
            let word = |word| assert!(to.send(Say::Word(word)).is_ok());
            word("before");
            let mut call = to.call(Say::Ask).into_future();
            // It is sent, and not answered yet.
            assert!(poll_once(&mut call).is_pending());
            word("after");
            assert_eq!(call.await, Ok(()));
            noted.note("answered");
            word("at last");
            Ok(())
        });
        sim.spawn(move || asks).start().unwrap();
        sim.run_until_idle();
        let lines = log.take();
        let heard: Vec<_> = lines.iter().filter(|line| *line != "answered").collect();
        assert_eq!(heard, ["before", "asked", "after", "at last"], "{lines:?}");
        assert_eq!(lines.len(), 5);
    }
}

#[test]
fn m1_the_order_of_a_sender_holds_between_threads() {
    const EACH: usize = 20_000;
    let node = Node::builder("m1").workers(2).start().unwrap();
    let (done, finished) = mpsc::channel();
    let receiver = behavior_fn(move |mut ctx: Context<(usize, usize)>| async move {
        let mut next = [0; 4];
        for _ in 0..4 * EACH {
            if let Received::Message((sender, n)) = ctx.receive().await {
                if next[sender] != n {
                    return Err(Reason::error(format!("{n} instead of {}", next[sender])));
                }
                next[sender] += 1;
            }
        }
        let _ = done.send(ctx.address().waiting());
        Ok(())
    });
    let to = node.spawn(move || receiver).wait().unwrap();
    let threads: Vec<_> = (0..2)
        .map(|sender| {
            let to = to.clone();
            thread::spawn(move || (0..EACH).for_each(|n| to.send((sender, n)).unwrap()))
        })
        .collect();
    for sender in 2..4 {
        let to = to.clone();
        let process = behavior_fn(move |_: Context<()>| async move {
            (0..EACH).for_each(|n| to.send((sender, n)).unwrap());
            Ok(())
        });
        node.spawn(move || process).start().unwrap();
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(finished.recv(), Ok(0));
    node.stop().wait().unwrap();
}

#[test]
fn m2_urgent_comes_before_system_before_main() {
    for sim in simulations(5) {
        let log = Log::new();
        let to = noter(&sim, &log);
        for n in 0..3 {
            to.send_with(Priority::Normal, format!("main {n}")).unwrap();
            to.send_with(Priority::High, format!("system {n}")).unwrap();
            to.send_with(Priority::Max, format!("urgent {n}")).unwrap();
        }
        sim.run_until_idle();
        let expected: Vec<_> = ["urgent", "system", "main"]
            .iter()
            .flat_map(|lane| (0..3).map(move |n| format!("{lane} {n}")))
            .collect();
        assert_eq!(log.take(), expected);
    }
}

#[test]
fn m2_the_lanes_are_looked_at_again_before_every_message() {
    for sim in simulations(5) {
        let log = Log::new();
        let to = puppet(&sim, "to", &log);
        for n in 0..3 {
            let (log, itself) = (log.clone(), to.clone());
            to.tells(move |_| {
                log.note(format!("main {n}"));
                let high = log.clone();
                let act = crate::support::Act::new(move |_| {
                    high.note(format!("system {n}"));
                    Ok(())
                });
                itself.send_high(act).unwrap();
                let max = log.clone();
                let act = crate::support::Act::new(move |_| {
                    max.note(format!("urgent {n}"));
                    Ok(())
                });
                itself.send_max(act).unwrap();
            });
        }
        sim.run_until_idle();
        let expected: Vec<_> = (0..3)
            .flat_map(|n| ["main", "urgent", "system"].map(|lane| format!("{lane} {n}")))
            .collect();
        assert_eq!(log.take(), expected);
    }
}

#[test]
fn m3_a_stop_overtakes_queued_messages_and_a_down_does_not() {
    for sim in simulations(100) {
        let log = Log::new();
        let receiver = puppet(&sim, "receiver", &log);
        let dying = puppet(&sim, "dying", &log);
        let (to, pid) = (receiver.clone(), dying.pid());
        receiver.tells(move |ctx| {
            ctx.trap_exits(true);
            ctx.monitor(pid);
            ctx.link(pid);
        });
        sim.run_until_idle();
        let noted = log.clone();
        dying.does(move |_| {
            for n in 0..3 {
                let noted = noted.clone();
                to.tells(move |_| noted.note(format!("message {n}")));
            }
            Err(boom())
        });
        sim.run_until_idle();
        let lines = log.take();
        let heard: Vec<_> = lines.iter().filter(|line| !line.starts_with("dying")).collect();
        assert_eq!(heard[..3], ["message 0", "message 1", "message 2"]);
        assert_eq!(heard.len(), 5, "{heard:?}");
    }
}

#[test]
fn m3_an_urgent_monitor_or_link_overtakes_queued_messages() {
    for sim in simulations(20) {
        let log = Log::new();
        let receiver = puppet(&sim, "receiver", &log);
        let (a, b) = (puppet(&sim, "a", &log), puppet(&sim, "b", &log));
        let (a_pid, b_pid) = (a.pid(), b.pid());
        receiver.tells(move |ctx| {
            ctx.trap_exits(true);
            ctx.monitor_urgent(a_pid);
            ctx.link_urgent(b_pid);
        });
        sim.run_until_idle();
        // The receiver is in one act while both die; only then it looks again.
        let (node, noted) = (sim.node().clone(), log.clone());
        receiver.tells(move |_| {
            node.kill(a_pid);
            node.kill(b_pid);
            noted.note("first");
        });
        while log.count("first") == 0 {
            sim.step();
        }
        let noted = log.clone();
        receiver.tells(move |_| noted.note("second"));
        // The two die before the receiver goes on, if the seed has it so.
        while a.is_alive() || b.is_alive() {
            sim.step();
        }
        sim.run_until_idle();
        let all: Vec<_> = log.take().into_iter().filter(|l| !l.ends_with("dropped")).collect();
        assert_eq!(all.len(), 4, "{all:?}");
    }
    // Deterministic: everybody is dead before the receiver looks.
    let sim = Simulation::with_throughput(0, 1);
    let log = Log::new();
    let dead: Vec<_> = ["a", "b"].map(|name| puppet(&sim, name, &log)).into();
    let pids: Vec<_> = dead.iter().map(Address::pid).collect();
    let noted = log.clone();
    let process = behavior_fn(move |mut ctx: Context<&'static str>| async move {
        ctx.trap_exits(true);
        ctx.monitor_urgent(pids[0]);
        // A link that is there becomes urgent.
        ctx.link(pids[1]);
        ctx.link_urgent(pids[1]);
        ctx.sleep(std::time::Duration::from_secs(1)).await;
        for _ in 0..3 {
            noted.note(match ctx.receive().await {
                Received::Message(text) => text,
                Received::Exit(_) => "exit",
                Received::Down(_) => "down",
                _ => "other",
            });
        }
        Ok(())
    });
    let process = sim.spawn(move || process).start().unwrap();
    sim.run_until_idle();
    process.send("message").unwrap();
    dead.iter().for_each(|process| sim.kill(process.pid()));
    sim.advance(std::time::Duration::from_secs(2));
    let all: Vec<_> = log.take().into_iter().filter(|line| !line.ends_with("dropped")).collect();
    assert_eq!(all, ["down", "exit", "message"]);
}

#[test]
fn m4_a_stop_is_obeyed_with_ten_thousand_messages_queued() {
    for sim in simulations(10) {
        let log = Log::new();
        let to = noter(&sim, &log);
        for n in 0..10_000 {
            to.send(n.to_string()).unwrap();
        }
        sim.step();
        let handled = log.take().len();
        assert!(handled <= 64, "{handled} in one turn");
        to.stop().wait().unwrap();
        assert_eq!(log.take(), ["terminate normal"]);
        let left = u64::try_from(10_000 - handled).unwrap();
        assert_eq!(sim.stats().dead_letters, left);
    }
}

#[test]
fn m4_a_stop_is_obeyed_after_the_message_in_progress_on_a_busy_node() {
    let node = Node::builder("m4").workers(1).start().unwrap();
    let (entered, inside) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let handled = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&handled);
    let process = node
        .spawn(move || {
            behavior_fn(move |mut ctx: Context<()>| async move {
                ctx.stop_in_order();
                loop {
                    match ctx.receive().await {
                        Received::Message(()) => {
                            count.fetch_add(1, Ordering::SeqCst);
                            let _ = entered.send(());
                            let _ = released.recv();
                        }
                        Received::Stop(reason) => return Err(reason),
                        _ => {}
                    }
                }
            })
        })
        .wait()
        .unwrap();
    for _ in 0..10_000 {
        process.send(()).unwrap();
    }
    inside.recv().unwrap();
    let stopper = {
        let (process, asked) = (process.clone(), Arc::new(Barrier::new(2)));
        let also = Arc::clone(&asked);
        let thread = thread::spawn(move || {
            let mut stop = process.stop().into_future();
            // The first poll asks.
            assert!(poll_once(&mut stop).is_pending());
            also.wait();
            stop.wait()
        });
        asked.wait();
        thread
    };
    release.send(()).unwrap();
    stopper.join().unwrap().unwrap();
    assert_eq!(handled.load(Ordering::SeqCst), 1);
    node.stop().wait().unwrap();
}

#[test]
fn m5_a_bound_is_exact_and_a_refused_message_comes_back() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let to = sim.spawn(move || Noter(noted)).mailbox(3).wait().unwrap();
        for round in 0..3 {
            for n in 0..3 {
                to.send(format!("{round} {n}")).unwrap();
            }
            let refused = to.send("too many".to_owned()).unwrap_err();
            assert_eq!(refused, SendError::Full { message: "too many".to_owned(), to: to.pid() });
            assert_eq!(to.waiting(), 3);
            sim.run_until_idle();
            assert_eq!(log.take().len(), 3);
            assert_eq!(to.waiting(), 0);
        }
        assert_eq!(log.count("too many"), 0);
    }
}

#[test]
fn m5_a_bound_is_exact_under_concurrent_senders() {
    let node = Node::builder("m5").workers(2).start().unwrap();
    for bound in [1, 2, 100] {
        let (release, released) = mpsc::channel::<()>();
        let (count, counted) = mpsc::channel();
        let process = behavior_fn(move |mut ctx: Context<u64>| async move {
            ctx.initialised();
            // Holds its worker: nothing is taken until everybody has sent.
            let _ = released.recv();
            loop {
                if let Received::Message(n) = ctx.receive().await {
                    let _ = count.send(n);
                }
            }
        });
        let process = node.spawn(move || process).mailbox(bound).wait().unwrap();
        let start = Arc::new(Barrier::new(4));
        let senders: Vec<_> = (0..4_u64)
            .map(|sender| {
                let (process, start) = (process.clone(), Arc::clone(&start));
                thread::spawn(move || {
                    start.wait();
                    (0..200).filter(|n| process.send(sender * 1_000 + n).is_ok()).count()
                })
            })
            .collect();
        let accepted: usize = senders.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(accepted, bound);
        release.send(()).unwrap();
        let handled: Vec<u64> = counted.iter().take(bound).collect();
        assert_eq!(handled.len(), bound);
        process.stop().reason(Reason::Shutdown).wait().unwrap();
        assert_eq!(counted.try_iter().count(), 0, "a refused message was delivered");
    }
    node.stop().wait().unwrap();
}

#[test]
fn m5_notices_and_control_lanes_ignore_the_bound() {
    let sim = Simulation::new(3);
    let log = Log::new();
    let told = Puppet::trapping("to", &log);
    let to = sim.spawn(move || told).mailbox(1).wait().unwrap();
    let other = puppet(&sim, "other", &log);
    let pid = other.pid();
    to.tells(move |ctx| {
        ctx.link(pid);
        ctx.monitor(pid);
        ctx.monitor(pid);
    });
    sim.run_until_idle();
    let noted = log.clone();
    let holds = to.clone();
    to.tells(move |ctx| {
        assert!(holds.tells(|_| {}), "the message in hand does not count");
        assert!(!holds.tells(|_| {}), "full");
        ctx.send_after(std::time::Duration::ZERO, crate::support::Act::nothing());
        noted.note("held");
    });
    while log.count("held") == 0 {
        sim.step();
    }
    for n in 0..5 {
        let noted = log.clone();
        let act = crate::support::Act::new(move |_| {
            noted.note(format!("control {n}"));
            Ok(())
        });
        to.send_high(act).unwrap();
    }
    other.dies(boom());
    sim.advance(std::time::Duration::from_secs(1));
    assert_eq!(log.count("control"), 5);
    assert_eq!((log.count("to exit"), log.count("to down")), (1, 2));
    assert!(to.is_alive());
}

#[test]
fn m7_a_send_to_an_ended_process_comes_back_and_is_a_dead_letter() {
    let sim = Simulation::new(1);
    let to = noter(&sim, &Log::new());
    sim.kill(to.pid());
    sim.run_until_idle();
    let letters = || sim.stats().dead_letters;
    assert_eq!(letters(), 0);
    assert_eq!(
        to.send("a".to_owned()),
        Err(SendError::NoProcess { message: "a".to_owned(), to: to.pid() })
    );
    assert_eq!(
        to.send_high("b".to_owned()),
        Err(SendError::NoProcess { message: "b".to_owned(), to: to.pid() })
    );
    assert_eq!(
        to.send_max("c".to_owned()),
        Err(SendError::NoProcess { message: "c".to_owned(), to: to.pid() })
    );
    assert_eq!(letters(), 3);
    let SendError::NoProcess { message: back, .. } =
        sim.send(to.pid(), "d".to_owned()).unwrap_err()
    else {
        panic!("another error")
    };
    assert_eq!(back.downcast::<String>().unwrap(), "d");
    let unknown: Pid = "<0.4711.0>".parse().unwrap();
    assert!(matches!(sim.send(unknown, 1_u8), Err(SendError::NoProcess { .. })));
    assert_eq!(letters(), 5);
}

#[test]
fn m7_a_dynamic_send_needs_the_right_type() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let to = noter(&sim, &log);
    sim.send(to.pid(), "right".to_owned()).unwrap();
    let error = sim.send(to.pid(), 7_u32).unwrap_err();
    let SendError::WrongType { to: of, types, .. } = &error else { panic!("{error}") };
    assert_eq!((*of, types.expected, types.found), (to.pid(), "alloc::string::String", "u32"));
    assert_eq!(error.into_message().downcast::<u32>().unwrap(), 7);
    let noted = log.clone();
    let any = behavior_fn(move |mut ctx: Context<Dynamic>| async move {
        while let Received::Message(value) = ctx.receive().await {
            noted.note(value.downcast::<u32>().map_or(0, |n| n));
        }
        Ok(())
    });
    let any = sim.spawn(move || any).start().unwrap();
    sim.send(any.pid(), 7_u32).unwrap();
    any.send(Dynamic::new(8_u32)).unwrap();
    sim.send(any.pid(), Dynamic::new(9_u32)).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take_sorted(), ["7", "8", "9", "right"]);
}

#[test]
fn m8_a_flooded_process_does_not_starve_others() {
    struct Floods;
    impl Actor for Floods {
        type Message = ();
        async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
            ctx.address().send_max(()).map_err(Reason::from)
        }
    }
    enum Ask {
        Ping(Reply<()>),
    }
    struct Answers;
    impl Actor for Answers {
        type Message = Ask;
        async fn handle_message(&mut self, _: &mut Context<Ask>, ask: Ask) -> Result {
            let Ask::Ping(reply) = ask;
            reply.send(());
            Ok(())
        }
    }
    let node = Node::builder("m8").workers(1).start().unwrap();
    let floods: Vec<_> = (0..3).map(|_| node.spawn(|| Floods).wait().unwrap()).collect();
    floods.iter().for_each(|flood| flood.send(()).unwrap());
    let answers = node.spawn(|| Answers).wait().unwrap();
    for _ in 0..100 {
        answers.call(Ask::Ping).wait().unwrap();
    }
    // And its own Main lane starves, by design, while a stop does not.
    floods.iter().for_each(|flood| flood.stop().wait().unwrap());
    node.stop().wait().unwrap();
}
