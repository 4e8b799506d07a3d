//! Dispatchers: rules R1 to R5.

use crate::support::{Act, Does, Log, puppet, simulations};
use krarup::NodeBuilder;
use krarup::behavior::{Received, behavior_fn};
use krarup::dispatcher::DispatcherOptions;
use krarup::prelude::*;
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;

fn thread_name() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

#[test]
fn r1_a_turn_handles_at_most_its_throughput() {
    for throughput in [1, 4, 7] {
        let sim = Simulation::with_throughput(1, throughput);
        let process = puppet(&sim, "p", &Log::new());
        for _ in 0..20 {
            process.tells(|ctx| {
                // What a process sends itself counts like everything else.
                let _ = ctx.address().send_high(Act::nothing());
            });
        }
        let mut handled = 0;
        while sim.step().is_some() {
            let now = process.info().handled;
            assert!(now - handled <= u64::from(throughput));
            handled = now;
        }
        assert_eq!(handled, 40);
    }
}

/// Four processes send a thousand messages each time they run. The one that gets them handles
/// a few dozen each time, and yet never has more than a few rounds of them waiting.
#[test]
fn r1_a_flooder_skips_turns_until_the_receivers_have_caught_up() {
    for sim in (0..4).map(Simulation::new) {
        let most = Arc::new(AtomicUsize::new(0));
        let counter = behavior_fn(|mut ctx: Context<u64>| async move {
            loop {
                ctx.receive().await;
            }
        });
        let counter = sim.spawn(move || counter).start().unwrap();
        for _ in 0..4 {
            let (counter, most) = (counter.clone(), Arc::clone(&most));
            let flood = behavior_fn(move |mut ctx: Context<()>| async move {
                for _ in 0..20 {
                    (0..1000).for_each(|number| counter.send(number).unwrap());
                    most.fetch_max(counter.waiting(), Ordering::Relaxed);
                    ctx.address().send(()).unwrap();
                    ctx.receive().await;
                }
                Ok(())
            });
            sim.spawn(move || flood).start().unwrap();
        }
        while sim.step().is_some() {}
        assert_eq!((counter.waiting(), counter.info().handled), (0, 80_000));
        let most = most.load(Ordering::Relaxed);
        assert!(most <= 12_000, "{most}");
    }
}

/// Each flooder sends to all in turn, with messages to itself in between.
fn floods_come_to_an_end(workers: usize, flooders: usize, flooded: usize, turns: usize) {
    const FLOOD: usize = 600;
    let node = Node::builder("r1floods").workers(workers).start().unwrap();
    let (done, finished) = mpsc::channel();
    let receivers: Vec<_> = (0..flooded)
        .map(|_| {
            let done = done.clone();
            let receiver = behavior_fn(move |mut ctx: Context<usize>| async move {
                for _ in 0..flooders * turns * FLOOD / flooded {
                    ctx.receive().await;
                }
                let _ = done.send(());
                Ok(())
            });
            node.spawn(move || receiver).start().unwrap()
        })
        .collect();
    for number in 0..flooders {
        let receivers = receivers.clone();
        let flooder = behavior_fn(move |mut ctx: Context<()>| async move {
            for turn in 0..turns {
                for message in 0..FLOOD {
                    receivers[(number + turn + message) % flooded].send(message)?;
                }
                ctx.address().send(())?;
                ctx.receive().await;
            }
            Ok(())
        });
        node.spawn(move || flooder).start().unwrap();
    }
    receivers.iter().for_each(|_| finished.recv().unwrap());
    node.stop().wait().unwrap();
}

#[test]
fn r1_floods_of_many_come_to_an_end() {
    floods_come_to_an_end(4, 64, 3, 30);
}

#[test]
fn r1_a_flood_of_one_comes_to_an_end() {
    floods_come_to_an_end(2, 1, 1, 4_000);
}

#[test]
fn r1_at_most_one_worker_is_in_a_process() {
    const EACH: usize = 2_000;
    let node = Node::builder("r1one").workers(4).start().unwrap();
    let (inside, broken) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (enters, breaks) = (Arc::clone(&inside), Arc::clone(&broken));
    let (done, finished) = mpsc::channel();
    let process = behavior_fn(move |mut ctx: Context<()>| async move {
        for _ in 0..4 * EACH {
            ctx.receive().await;
            if enters.swap(true, Ordering::SeqCst) {
                breaks.store(true, Ordering::SeqCst);
            }
            thread::yield_now();
            enters.store(false, Ordering::SeqCst);
        }
        let _ = done.send(());
        Ok(())
    });
    let process = node.spawn(move || process).start().unwrap();
    let senders: Vec<_> = (0..4)
        .map(|_| {
            let process = process.clone();
            thread::spawn(move || (0..EACH).for_each(|_| process.send(()).unwrap()))
        })
        .collect();
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    finished.recv().unwrap();
    assert!(!broken.load(Ordering::SeqCst));
    node.stop().wait().unwrap();
}

#[test]
fn r1_each_of_the_busy_processes_runs_again_within_one_round() {
    let options = DispatcherOptions::new().workers(1).spare_workers(0).throughput(1);
    let node = Node::builder("r1fair").options(options).start().unwrap();
    let log = Log::new();
    let names = ["a", "b", "c", "d"];
    let (entered, inside) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let gate = puppet(&node, "gate", &Log::new());
    let busy: Vec<_> = names.iter().map(|_| puppet(&node, "busy", &Log::new())).collect();
    // Everybody has all their mail before the first of them runs.
    gate.tells(move |_| {
        entered.send(()).unwrap();
        released.recv().unwrap();
    });
    inside.recv().unwrap();
    for (name, process) in names.into_iter().zip(&busy) {
        for _ in 0..50 {
            let log = log.clone();
            process.tells(move |_| log.note(name));
        }
    }
    release.send(()).unwrap();
    busy.iter().for_each(|process| {
        while process.waiting() > 0 {
            thread::yield_now();
        }
        process.stop().wait().unwrap();
    });
    let ran = log.take();
    assert_eq!(ran.len(), 200);
    for name in names {
        let places: Vec<_> = (0..200).filter(|n| ran[*n] == name).collect();
        assert!(places.windows(2).all(|pair| pair[1] - pair[0] <= names.len()), "{ran:?}");
    }
    node.stop().wait().unwrap();
}

#[test]
fn r2_no_wake_up_is_lost_between_threads_and_processes() {
    let node = Node::builder("r2").workers(2).start().unwrap();
    let answers = || {
        behavior_fn(|mut ctx: Context<Reply<()>>| async move {
            while let Received::Message(reply) = ctx.receive().await {
                reply.send(());
            }
            Ok(())
        })
    };
    let one = node.spawn(answers).start().unwrap();
    let relay = node
        .spawn(move || {
            behavior_fn(move |mut ctx: Context<Reply<()>>| async move {
                while let Received::Message(reply) = ctx.receive().await {
                    reply.send(one.call(|reply| reply).await?);
                }
                Ok(())
            })
        })
        .start()
        .unwrap();
    let callers: Vec<_> = (0..3)
        .map(|_| {
            let relay = relay.clone();
            thread::spawn(move || {
                (0..3_000).try_for_each(|_| relay.call(|reply| reply).no_timeout().wait())
            })
        })
        .collect();
    callers.into_iter().for_each(|caller| assert_eq!(caller.join().unwrap(), Ok(())));
    node.stop().wait().unwrap();
}

/// A flag that a plain thread raises and a process waits for.
#[derive(Default)]
struct Flag(Mutex<(bool, Option<Waker>)>);

impl Flag {
    fn raise(&self) {
        let waker = {
            let mut state = self.0.lock().unwrap();
            state.0 = true;
            state.1.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    async fn raised(&self) {
        poll_fn(|cx| {
            let mut state = self.0.lock().unwrap();
            if std::mem::take(&mut state.0) {
                return Poll::Ready(());
            }
            state.1 = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

#[test]
fn r2_a_waker_of_a_plain_thread_wakes_a_process_in_the_midst_of_its_turns() {
    let node = Node::builder("r2wake").workers(2).start().unwrap();
    let (flag, back) = (Arc::new(Flag::default()), mpsc::sync_channel(0));
    let awaited = Arc::clone(&flag);
    let process = behavior_fn(move |_: Context<()>| async move {
        for _ in 0..5_000 {
            awaited.raised().await;
            let _ = back.0.send(());
        }
        Ok(())
    });
    let process = node.spawn(move || process).start().unwrap();
    for _ in 0..5_000 {
        flag.raise();
        back.1.recv().unwrap();
    }
    process.watch().wait().unwrap();
    node.stop().wait().unwrap();
}

#[test]
fn r2_messages_that_arrive_while_a_handler_waits_are_handled_afterwards() {
    for sim in simulations(50) {
        let log = Log::new();
        let flag = Arc::new(Flag::default());
        let (awaited, noted) = (Arc::clone(&flag), log.clone());
        let process = behavior_fn(move |mut ctx: Context<u32>| async move {
            while let Received::Message(n) = ctx.receive().await {
                awaited.raised().await;
                noted.note(n);
            }
            Ok(())
        });
        let process = sim.spawn(move || process).start().unwrap();
        for n in 0..5 {
            process.send(n).unwrap();
            sim.step();
            flag.raise();
            sim.step();
        }
        (0..5).for_each(|_| {
            sim.run_until_idle();
            flag.raise();
        });
        sim.run_until_idle();
        assert_eq!(log.take(), ["0", "1", "2", "3", "4"]);
    }
}

#[test]
fn r3_the_number_of_threads_does_not_depend_on_the_number_of_processes() {
    // Without spares: on a machine that is busy with others a worker may be taken for held.
    let options = DispatcherOptions::new().workers(3).spare_workers(0);
    let node = Node::builder("r3").options(options).start().unwrap();
    let names = Arc::new(Mutex::new(BTreeSet::new()));
    let meet = Arc::new(Barrier::new(3));
    let (done, finished) = mpsc::channel();
    for n in 0..500 {
        let (names, meet, done) = (Arc::clone(&names), Arc::clone(&meet), done.clone());
        let process = behavior_fn(move |_: Context<()>| async move {
            if n < 3 {
                meet.wait();
            }
            names.lock().unwrap().insert(thread_name());
            let _ = done.send(());
            Ok(())
        });
        node.spawn(move || process).start().unwrap();
    }
    (0..500).for_each(|_| finished.recv().unwrap());
    let names: Vec<_> = names.lock().unwrap().iter().cloned().collect();
    assert_eq!(names, ["r3-default-0", "r3-default-1", "r3-default-2"]);
    node.stop().wait().unwrap();
}

/// The system keeps 15 bytes of a thread's name: which dispatcher it is of, and which number it
/// has, can be seen of a long name too.
#[cfg(target_os = "linux")]
#[test]
fn r3_the_system_shows_dispatcher_and_number_of_a_thread_for_any_node_name() {
    let shown = || {
        let shown = std::fs::read_to_string("/proc/thread-self/comm").unwrap();
        (thread_name(), shown.trim_end().to_owned())
    };
    let both = |full: &str, shown: &str| (full.to_owned(), shown.to_owned());
    let node = Node::builder("a-long-name@a-long-host")
        .dispatcher("quarterly-reports", DispatcherOptions::new().workers(1))
        .dispatcher("drivers", DispatcherOptions::pinned())
        .blocking_pool("disk", 1)
        .workers(1)
        .start()
        .unwrap();
    let (sent, names) = mpsc::channel();
    for (dispatcher, blocks) in
        [("default", false), ("quarterly-reports", false), ("drivers", false), ("default", true)]
    {
        let sent = sent.clone();
        let process = behavior_fn(move |ctx: Context<()>| async move {
            let names = if blocks { ctx.block_in("disk", shown).await? } else { shown() };
            sent.send((names, ctx.pid().id())).unwrap();
            Ok(())
        });
        node.spawn(move || process).dispatcher(dispatcher).start().unwrap();
        let (names, number) = names.recv().unwrap();
        let node = "a-long-name@a-long-host";
        let expected = match (dispatcher, blocks) {
            (_, true) => both(&format!("{node}-block-disk-0"), "block-disk-0"),
            ("default", _) => both(&format!("{node}-default-0"), "default-0"),
            ("drivers", _) => {
                both(&format!("{node}-drivers-{number}"), &format!("drivers-{number}"))
            }
            _ => both(&format!("{node}-quarterly-reports-0"), "quarterly-re~-0"),
        };
        assert_eq!(names, expected);
    }
    node.stop().wait().unwrap();
}

#[test]
fn r3_there_are_as_many_workers_as_cores_and_at_least_two() {
    let node = Node::start("r3def").unwrap();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let dispatchers = node.stats().dispatchers;
    assert_eq!(dispatchers.len(), 1);
    assert_eq!((dispatchers[0].name.as_str(), dispatchers[0].workers), ("default", cores.max(2)));
    node.stop().wait().unwrap();
}

#[test]
fn r4_work_behind_a_handler_that_blocks_is_run_by_another_worker() {
    let node = Node::builder("r4").workers(2).start().unwrap();
    for _ in 0..20 {
        let behind: Vec<_> = (0..5).map(|_| puppet(&node, "behind", &Log::new())).collect();
        let blocks = puppet(&node, "blocks", &Log::new());
        let (done, finished) = mpsc::channel();
        let (reported, report) = mpsc::channel();
        // It makes others ready on its own worker, and then waits for them without an
        // await.
        blocks.tells(move |_| {
            for process in &behind {
                let done = done.clone();
                process.tells(move |_| done.send(()).unwrap());
            }
            drop(done);
            reported.send(finished.iter().count()).unwrap();
        });
        assert_eq!(report.recv(), Ok(5));
    }
    node.stop().wait().unwrap();
}

/// A handler makes a hundred others ready on its own worker and then blocks until all have run:
/// if one of them had to wait for it, this would never end (seeds M11).
#[test]
fn r4_nothing_waits_behind_a_blocked_handler_while_another_worker_is_idle() {
    for (workers, spares) in [(4, 0), (2, 0), (1, 1)] {
        let options = DispatcherOptions::new().workers(workers).spare_workers(spares);
        let node = Node::builder("r4idle").options(options).start().unwrap();
        let (done, finished) = mpsc::channel();
        let blocks = behavior_fn(move |ctx: Context<()>| async move {
            let (ran, runs) = mpsc::channel();
            for _ in 0..100 {
                let ran = ran.clone();
                let process = behavior_fn(move |_: Context<()>| async move {
                    let _ = ran.send(());
                    Ok(())
                });
                ctx.spawn(move || process).start()?;
            }
            drop(ran);
            let _ = done.send(runs.iter().count());
            Ok(())
        });
        node.spawn(move || blocks).start().unwrap();
        assert_eq!(finished.recv(), Ok(100), "{workers} workers");
        node.stop().wait().unwrap();
    }
}

#[test]
fn r5_a_dispatcher_of_its_own_is_a_bulkhead_and_children_stay_in_it() {
    let node = Node::builder("r5")
        .workers(1)
        .dispatcher("io", DispatcherOptions::new().workers(1))
        .start()
        .unwrap();
    let (sent, found) = mpsc::channel();
    let where_it_runs = move |ctx: &mut Context<Act>| {
        let own = sent.clone();
        own.send(thread_name()).unwrap();
        let child =
            ctx.spawn(|| crate::support::Puppet::new("child", &Log::new())).start().unwrap();
        child.tells(move |_| own.send(thread_name()).unwrap());
        let back = sent.clone();
        let home =
            ctx.spawn(|| crate::support::Puppet::new("home", &Log::new())).dispatcher("default");
        home.start().unwrap().tells(move |_| back.send(thread_name()).unwrap());
    };
    let io = node.spawn(|| crate::support::Puppet::new("io", &Log::new()));
    let io = io.dispatcher("io").wait().unwrap();
    assert_eq!(io.info().dispatcher, "io");
    io.tells(where_it_runs);
    let names: BTreeSet<_> = found.iter().take(3).collect();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["r5-default-0", "r5-io-0"]);
    // All workers of one are held; the other serves on.
    let (release, released) = mpsc::channel::<()>();
    let held = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&held);
    io.tells(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        let _ = released.recv();
        count.fetch_add(1, Ordering::SeqCst);
    });
    while held.load(Ordering::SeqCst) == 0 {
        thread::yield_now();
    }
    let free = puppet(&node, "free", &Log::new());
    (0..100).for_each(|_| assert!(free.inspect().wait().is_ok()));
    assert_eq!(held.load(Ordering::SeqCst), 1);
    release.send(()).unwrap();
    io.stop().wait().unwrap();
    node.stop().wait().unwrap();
}

/// Says that a process has gone, in the order of the turns.
struct Gone(Arc<Mutex<Vec<usize>>>, usize);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(self.1);
    }
}

/// A muted process is made ready by a thread outside, while its worker is in a turn, and is run as
/// soon as any process that comes from outside: after 61 turns of others at most.
#[test]
fn m4_a_muted_process_receives_a_kill_a_stop_and_a_priority_message_at_once_on_threads() {
    const BUSY: usize = 100;
    const HEARD: usize = BUSY;
    let calls: [fn(&Address<()>); 3] = [
        |flooder| flooder.process().kill(),
        |flooder| flooder.process().request_stop(Reason::Shutdown),
        |flooder| flooder.send_high(()).unwrap(),
    ];
    for call in calls {
        let one = DispatcherOptions::new().workers(1).spare_workers(0).throughput(1);
        let node = Node::builder("m4called").dispatcher("one", one).start().unwrap();
        let log = Arc::<Mutex<Vec<usize>>>::default();
        let slow = behavior_fn(|mut ctx: Context<u64>| async move {
            loop {
                ctx.receive().await;
            }
        });
        let slow = node.spawn(move || slow).dispatcher("one").start().unwrap();
        let (flooded, floods) = mpsc::channel();
        let heard = Arc::clone(&log);
        let flooder = behavior_fn(move |mut ctx: Context<()>| async move {
            let _gone = Gone(Arc::clone(&heard), HEARD);
            while let Received::Message(()) = ctx.receive().await {
                (0..10_000).for_each(|number| slow.send(number).unwrap());
                ctx.address().send(()).unwrap();
                flooded.send(()).unwrap();
            }
            Ok(())
        });
        let flooder = node.spawn(move || flooder).dispatcher("one").start().unwrap();
        for number in 0..BUSY {
            let log = Arc::clone(&log);
            let busy = behavior_fn(move |mut ctx: Context<()>| async move {
                loop {
                    ctx.receive().await;
                    log.lock().unwrap().push(number);
                    ctx.address().send(()).unwrap();
                }
            });
            let busy = node.spawn(move || busy).dispatcher("one").start().unwrap();
            busy.send(()).unwrap();
        }
        flooder.send(()).unwrap();
        floods.recv().unwrap();
        // A turn in which the worker waits, while the flooder is muted: once it was poked, it stands
        // in the queue for a round like any other.
        let release = loop {
            let (begun, begins) = mpsc::channel();
            let (release, released) = mpsc::channel::<()>();
            let gate = behavior_fn(move |mut ctx: Context<()>| async move {
                ctx.receive().await;
                begun.send(()).unwrap();
                let _ = released.recv();
                Ok(())
            });
            let gate = node.spawn(move || gate).dispatcher("one").start().unwrap();
            gate.send(()).unwrap();
            begins.recv().unwrap();
            if node.stats().dispatcher("one").unwrap().each[0].queued == BUSY + 1 {
                break release;
            }
        };
        let before = log.lock().unwrap().len();
        call(&flooder);
        release.send(()).unwrap();
        while !log.lock().unwrap().contains(&HEARD) {
            thread::yield_now();
        }
        let log = log.lock().unwrap();
        let waited = log.iter().position(|number| *number == HEARD).unwrap() - before;
        assert!(waited <= 61, "{waited} turns of others");
        drop(log);
        node.stop().wait().unwrap();
    }
}

#[test]
fn b1_dispatchers_and_blocking_pools_have_names_of_1_to_255_bytes() {
    let long = "x".repeat(256);
    let own = DispatcherOptions::new;
    for (name, why) in [
        ("", "a name must not be empty"),
        (long.as_str(), "a name of 256 bytes is over the limit of 255 bytes"),
    ] {
        let of_dispatcher = format!("{name:?} is no name of a dispatcher: {why}");
        let of_pool = format!("{name:?} is no name of a blocking pool: {why}");
        let refused = |builder: NodeBuilder| builder.start().unwrap_err().to_string();
        let builder = || Node::builder("b1names");
        assert_eq!(refused(builder().dispatcher(name, own())), of_dispatcher);
        assert_eq!(refused(builder().dispatcher_alias(name, "default")), of_dispatcher);
        assert_eq!(refused(builder().blocking_pool(name, 1)), of_pool);
        let file = format!("[dispatcher.{name:?}]\nworkers = 1");
        let file = NodeBuilder::from_toml(&file).unwrap_err().to_string();
        assert!(file.contains("text of 1 to 255 bytes"), "{file}");

        let node = builder().start().unwrap();
        for nodes in [&node, &*Simulation::new(1)] {
            assert_eq!(nodes.add_dispatcher(name, own()).unwrap_err().to_string(), of_dispatcher);
            // Nothing was added.
            let never = || behavior_fn(|_: Context<()>| async { Ok::<(), Reason>(()) });
            let spawned = nodes.spawn(never).dispatcher(name).start();
            assert!(
                matches!(spawned, Err(SpawnError::UnknownDispatcher(unknown)) if unknown == name)
            );
        }
        node.stop().wait().unwrap();
    }
    let longest = &long[1..];
    let node = Node::builder("b1longest").dispatcher(longest, own()).blocking_pool(longest, 1);
    node.start().unwrap().stop().wait().unwrap();
}
