//! The node: rules X1 to X4.

use crate::support::{
    Act, Does, Guard, Log, Puppet, asked, boom, poll_once, puppet, simulations, trapper,
};
use krarup::behavior::{Received, behavior_fn};
use krarup::observe::{DebugError, EventTopic, Lifecycle, ProcessState};
use krarup::prelude::*;
use krarup::{CannotWait, LookupError};
use std::cell::RefCell;
use std::sync::{Arc, Barrier, mpsc};
use std::task::Poll;
use std::thread;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Answers with its own number.
fn answers(number: u32) -> impl krarup::behavior::Behavior<Message = Reply<u32>, Command = ()> {
    behavior_fn(move |mut ctx: Context<Reply<u32>, ()>| async move {
        while let Received::Message(reply) = ctx.receive().await {
            reply.send(number);
        }
        Ok(())
    })
}

#[test]
fn x1_nodes_share_neither_names_nor_processes_nor_counters() {
    let nodes = ["one", "two"].map(|name| Node::builder(name).workers(1).start().unwrap());
    let log = Log::new();
    let processes = [0, 1].map(|n: usize| {
        let node: &Node = &nodes[n];
        let told = Puppet::new("p", &log);
        node.spawn(move || told).name("same").wait().unwrap()
    });
    // The same number, but strangers to each other's node.
    assert_eq!(processes[0].pid().to_string(), processes[1].pid().to_string());
    let foreign = processes[1].pid();
    assert!(!nodes[0].is_alive(foreign) && nodes[0].process_info(foreign).is_none());
    nodes[0].kill(foreign);
    nodes[0].exit(foreign, boom());
    assert!(matches!(nodes[0].send(foreign, Act::nothing()), Err(SendError::NoConnection { .. })));
    assert_eq!(nodes[0].watch(foreign).wait().unwrap().reason, Reason::NoConnection);
    assert!(processes.iter().all(Address::is_alive));
    nodes[0].stop().wait().unwrap();
    assert!(!processes[0].is_alive() && processes[1].is_alive());
    assert_eq!((nodes[1].stats().processes, nodes[1].stats().dead_letters), (1, 0));
    nodes[1].stop().wait().unwrap();
}

#[test]
fn x1_a_process_can_call_a_process_of_another_node_with_the_same_number() {
    let nodes = ["one", "two"].map(|name| Node::builder(name).workers(1).start().unwrap());
    let other = nodes[1].spawn(|| answers(2)).wait().unwrap();
    let (done, came) = mpsc::channel();
    let to = other.clone();
    let caller = behavior_fn(move |mut ctx: Context<()>| async move {
        ctx.trap_exits(true);
        done.send(to.call(|reply| reply).await.map_err(Reason::from)).unwrap();
        // Links and monitors do not reach over: there is nobody.
        let monitor = ctx.monitor(to.pid());
        ctx.link(to.pid());
        for _ in 0..2 {
            done.send(match ctx.receive().await {
                Received::Down(down) if down.monitor == monitor => Err(down.reason),
                Received::Exit(exit) => Err(exit.reason),
                _ => Ok(0),
            })
            .unwrap();
        }
        Ok(())
    });
    let caller = nodes[0].spawn(move || caller).start().unwrap();
    assert_eq!(caller.pid(), other.pid());
    assert_eq!(came.recv(), Ok(Ok(2)));
    assert_eq!(came.recv(), Ok(Err(Reason::NoConnection)));
    assert_eq!(came.recv(), Ok(Err(Reason::NoConnection)));
    nodes.iter().for_each(|node| node.stop().wait().unwrap());
}

#[test]
fn x1_simulations_share_nothing_either() {
    let sims = [Simulation::new(1), Simulation::new(1)];
    let log = Log::new();
    let processes = [0, 1].map(|n: usize| puppet(&sims[n], "p", &log));
    assert!(!sims[0].is_alive(processes[1].pid()));
    let (to, noted) = (processes[1].clone(), log.clone());
    processes[0].tells(move |_| {
        to.tells(move |ctx| noted.note(format!("from {:?}", ctx.sender())));
    });
    sims.iter().for_each(|sim| assert!(sim.run_until_idle() > 0));
    assert_eq!(log.take(), ["from None"]);
}

/// Two processes of one number, of two nodes.
#[test]
fn x1_a_pid_of_another_node_is_unknown_to_every_operation() {
    let sims = [Simulation::new(1), Simulation::new(1)];
    let log = Log::new();
    let [own, other] = [0, 1].map(|n: usize| puppet(&sims[n], "p", &log));
    let listen = |sim: &Simulation| {
        let listens = behavior_fn(|_: Context<Lifecycle>| std::future::pending());
        let listener = sim.spawn(move || listens).start().unwrap();
        sim.run_until_idle();
        listener
    };
    let [listener, stranger] = [0, 1].map(|n: usize| listen(&sims[n]));
    let (node, foreign) = (&sims[0], other.pid());
    assert_eq!((own.pid(), listener.pid()), (foreign, stranger.pid()));
    node.subscribe_lifecycle(listener.recipient());
    assert!(!node.unsubscribe(EventTopic::Lifecycle, stranger.pid()));
    assert!(node.unsubscribe(EventTopic::Lifecycle, listener.pid()));
    own.suspend().wait().unwrap();
    assert!(!node.resume(foreign) && !node.trace_to_log(foreign) && !node.is_alive(foreign));
    assert!(node.resume(own.pid()));
    assert_eq!(node.process_info(foreign), None);
    let found: Result<Address<Act>, _> = node.address_of(foreign);
    assert!(matches!(found, Err(LookupError::NoConnection(pid)) if pid == foreign));
    assert!(node.address_of::<Act, Act>(own.pid()).is_ok());
    assert_eq!(node.inspect(foreign).wait(), Err(CallError::NoProcess { to: foreign }));
    assert_eq!(
        node.inspect_items(foreign, ["a"]).wait(),
        Err(CallError::NoProcess { to: foreign })
    );
    assert_eq!(node.state::<u8>(foreign).wait(), Err(DebugError::NoProcess(foreign)));
    assert_eq!(node.suspend(foreign).wait(), Err(DebugError::NoProcess(foreign)));
    assert_eq!(node.watch(foreign).wait().unwrap().reason, Reason::NoConnection);
    assert!(matches!(node.send(foreign, Act::nothing()), Err(SendError::NoConnection { .. })));
    // It lives, where it is: no reason to stop, and nothing that waits for its end.
    let refused = node.stop_with(foreign).unwrap_err();
    assert!(matches!(refused, SpawnError::NoConnection(pid) if pid.is_same_process(foreign)));
    assert_eq!(refused.to_string(), "no connection to the node of <0.1.0>");
    assert_eq!(node.processes(), [own.pid(), listener.pid()]);
    node.exit(foreign, Reason::Kill);
    node.kill(foreign);
    node.run_until_idle();
    assert!(own.is_alive() && own.inspect().wait().is_ok());
    assert_eq!(log.take(), Vec::<String>::new());
    assert!(!node.is_stopping());
    // Of a node whose pids it does not say it is one of ours.
    let unsaid = Pid::local(own.pid().id(), 0);
    assert!(node.is_alive(unsaid));
    node.stop_with(unsaid).unwrap();
    node.kill(own.pid());
    node.run_until_idle();
    assert!(node.is_stopping() && !sims[1].is_stopping());
}

#[test]
fn x1_an_alias_of_another_node_is_unknown_here() {
    let sims = [Simulation::new(1), Simulation::new(1)];
    let log = Log::new();
    let [own, other] = [0, 1].map(|n: usize| puppet(&sims[n], "p", &log));
    let ours = asked(&sims[0], &own, Context::alias);
    // Of some number that has not been given here.
    let foreign = asked(&sims[1], &other, |ctx| (0..99).map(|_| ctx.alias()).last().unwrap());
    assert_eq!(sims[0].watch(foreign).wait().unwrap().reason, Reason::NoProcess);
    let sent = sims[0].send(foreign, Act::nothing());
    assert!(matches!(sent, Err(SendError::Revoked { alias, .. }) if alias == foreign));
    let end = sims[0].watch(ours);
    sims[0].kill(own.pid());
    assert_eq!(end.wait().unwrap().reason, Reason::Killed);
    assert!(other.is_alive() && !sims[0].is_stopping());
}

#[test]
fn l3_an_exit_from_outside_comes_from_the_node_and_not_from_its_receiver() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let traps = trapper(&sim, "traps", &log);
    sim.exit(traps.pid(), boom());
    sim.run_until_idle();
    assert_eq!(log.take(), ["traps exit <0.0.0> boom"]);
    assert!(traps.is_alive());
}

#[test]
fn x2_top_level_processes_stop_in_reverse_order_one_after_the_other() {
    struct Slow(usize, Log);
    impl Actor for Slow {
        type Message = ();
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Ok(())
        }
        async fn terminate(&mut self, ctx: &mut Context<()>, reason: &Reason) {
            self.1.note(format!("{} {reason}", self.0));
            ctx.sleep(SECOND).await;
            self.1.note(format!("{} at {}", self.0, ctx.now()));
        }
    }
    for sim in simulations(20) {
        let log = Log::new();
        for n in 0..3 {
            let noted = log.clone();
            sim.spawn(move || Slow(n, noted)).wait().unwrap();
        }
        sim.stop().wait().unwrap();
        let order = ["2 shutdown", "2 at 1s", "1 shutdown", "1 at 2s", "0 shutdown", "0 at 3s"];
        assert_eq!(log.take(), order);
        assert_eq!((sim.stats().processes, sim.stats().timers), (0, 0));
        assert!(sim.is_stopping());
    }
}

#[test]
fn x2_a_stop_also_asks_unsupervised_processes() {
    for sim in simulations(20) {
        let log = Log::new();
        let parent = puppet(&sim, "parent", &log);
        let noted = log.clone();
        parent.tells(move |ctx| {
            for name in ["elder", "younger"] {
                let child = Puppet::new(name, &noted);
                ctx.spawn(move || child).start().unwrap();
            }
        });
        sim.run_until_idle();
        sim.stop().wait().unwrap();
        let ends = ["parent", "younger", "elder"];
        let asked = ends.map(|name| format!("{name} terminate shutdown"));
        let lines = log.take();
        let order: Vec<_> = lines.iter().filter(|line| line.contains("terminate")).collect();
        assert!(order.into_iter().eq(&asked), "{lines:?}");
    }
}

#[test]
fn x2_a_process_that_does_not_stop_in_time_is_killed() {
    for sim in simulations(20) {
        let log = Log::new();
        let guard = Guard::new(&log, "dropped");
        let never = behavior_fn(move |mut ctx: Context<()>| async move {
            let _guard = guard;
            ctx.stop_in_order();
            ctx.initialised();
            std::future::pending::<()>().await;
            Ok(())
        });
        let below = puppet(&sim, "below", &log);
        let never = sim.spawn(move || never).wait().unwrap();
        let mut ends = [sim.watch(never.pid()), sim.watch(below.pid())];
        sim.stop().timeout(3 * SECOND).wait().unwrap();
        assert_eq!(sim.now().as_nanos(), 3_000_000_000);
        // One took too long. The other was asked, and ended in order.
        for (end, reason) in ends.iter_mut().zip([Reason::Killed, Reason::Shutdown]) {
            assert!(matches!(poll_once(end), Poll::Ready(down) if down.reason == reason));
        }
        assert_eq!(log.take(), ["below terminate shutdown", "below dropped", "dropped"]);
        assert_eq!((sim.stats().processes, sim.stats().timers), (0, 0));
    }
}

#[test]
fn x2_after_a_stop_no_process_name_timer_or_thread_is_left() {
    thread_local! {
        static ON_THREAD: RefCell<Option<Guard>> = const { RefCell::new(None) };
    }
    let node = Node::builder("x2").workers(3).start().unwrap();
    let log = Log::new();
    let meet = Arc::new(Barrier::new(3));
    let (ready, all_ready) = mpsc::channel();
    for _ in 0..3 {
        let (noted, meet, ready) = (log.clone(), Arc::clone(&meet), ready.clone());
        let marks = behavior_fn(move |mut ctx: Context<()>| async move {
            // Three that wait for each other without an await: each on its own thread.
            meet.wait();
            ON_THREAD.set(Some(Guard::new(&noted, "thread ended")));
            ctx.send_after(Duration::from_secs(3600), ());
            ready.send(()).unwrap();
            ctx.receive().await;
            Ok(())
        });
        node.spawn(move || marks).start().unwrap();
    }
    node.spawn(|| Puppet::new("p", &Log::new())).name("named").wait().unwrap();
    (0..3).for_each(|_| all_ready.recv().unwrap());
    node.stop().wait().unwrap();
    assert_eq!(log.take(), ["thread ended"; 3]);
    let stats = node.stats();
    assert_eq!((stats.processes, stats.names, stats.timers), (0, 0, 0));
    assert_eq!(node.processes(), []);
}

#[test]
fn x2_a_stop_can_be_requested_in_a_handler_twice_and_by_many() {
    for real in [true, false] {
        let sim = Simulation::new(1);
        let threads = Node::builder("x2in").workers(2).start().unwrap();
        let node = if real { &threads } else { sim.node() };
        let log = Log::new();
        let process = puppet(node, "p", &log);
        let (own, noted) = (node.clone(), log.clone());
        process.tells(move |ctx| {
            // As every wait in a process it is an error (rule C8).
            assert_eq!(own.stop().wait(), Err(CannotWait::InProcess.into()));
            own.stop().start();
            own.stop().start();
            let refused = ctx.spawn(|| Puppet::new("late", &Log::new())).start();
            noted.note(format!("{:?}", refused.map(|process| process.pid())));
        });
        node.stop().wait().unwrap();
        node.stop().wait().unwrap();
        assert_eq!(node.stats().processes, 0);
        if real {
            let waiters: Vec<_> = (0..3)
                .map(|_| {
                    let node = node.clone();
                    thread::spawn(move || node.stop().wait())
                })
                .collect();
            waiters.into_iter().for_each(|waiter| waiter.join().unwrap().unwrap());
        }
        let lines = log.take();
        let after: Vec<_> = lines.iter().filter(|line| line.starts_with("p ")).collect();
        assert_eq!(after, ["p terminate shutdown", "p dropped"]);
    }
}

#[test]
fn x2_top_level_spawns_during_a_stop_and_calls_after_it_fail() {
    for sim in simulations(5) {
        let process = sim.spawn(|| answers(1)).wait().unwrap();
        sim.stop().start();
        assert!(sim.is_stopping());
        let late = || Puppet::new("late", &Log::new());
        assert_eq!(sim.spawn(late).start().unwrap_err(), SpawnError::NodeStopping);
        assert_eq!(sim.spawn(late).wait().unwrap_err(), SpawnError::NodeStopping);
        assert_eq!(sim.spawn(late).name("late").wait().unwrap_err(), SpawnError::NodeStopping);
        assert_eq!(sim.stats().names, 0);
        let mut call = process.call(|reply| reply).into_future();
        let early = poll_once(&mut call);
        sim.stop().wait().unwrap();
        let outcome = if early.is_ready() { early } else { poll_once(&mut call) };
        assert!(matches!(outcome, Poll::Ready(Err(_) | Ok(1))), "{outcome:?}");
        assert_eq!(
            process.call(|reply| reply).wait(),
            Err(CallError::NodeStopped { to: process.pid() })
        );
        let asked = process.recipient().call(|reply: Reply<u32>| reply);
        assert_eq!(asked.wait(), Err(CallError::NodeStopped { to: process.pid() }));
        assert_eq!(sim.watch(process.pid()).wait().unwrap().reason, Reason::NoProcess);
        assert!(sim.inspect(process.pid()).wait().is_err());
    }
}

#[test]
fn x2_a_process_spawns_children_until_it_is_asked_and_no_top_level_process() {
    for sim in simulations(5) {
        let log = Log::new();
        let process = puppet(&sim, "p", &log);
        let (node, noted) = (sim.node().clone(), log.clone());
        process.tells(move |ctx| {
            node.stop().start();
            let child = Puppet::new("child", &noted);
            ctx.spawn(move || child).start().unwrap();
            let late = node.spawn(|| Puppet::new("late", &Log::new())).start();
            noted.note(late.unwrap_err() == SpawnError::NodeStopping);
        });
        sim.run_until_idle();
        // The child is nobody's when its parent has ended, and is asked like any other.
        let lines = ["true", "p terminate shutdown", "p dropped", "child terminate shutdown"];
        assert_eq!(log.take()[..4], lines);
        assert_eq!(sim.stats().processes, 0);
    }
}

#[test]
fn x2_spawns_that_race_with_a_stop_start_or_fail_and_nothing_is_left() {
    for round in 0..20 {
        let node = Node::builder("race").workers(2).start().unwrap();
        let log = Log::new();
        let start = Arc::new(Barrier::new(4));
        let spawners: Vec<_> = (0..3)
            .map(|n| {
                let (node, log, start) = (node.clone(), log.clone(), Arc::clone(&start));
                thread::spawn(move || {
                    start.wait();
                    loop {
                        let puppet = Puppet::new("p", &log);
                        let spawn = node.spawn(move || puppet);
                        let spawn = if n == 0 { spawn.name("n") } else { spawn };
                        match spawn.wait() {
                            Ok(_) | Err(SpawnError::NameTaken { .. }) => {}
                            // Ended in its first turn, or not admitted.
                            Err(error) => return error,
                        }
                    }
                })
            })
            .collect();
        start.wait();
        (0..round % 10).for_each(|_| thread::yield_now());
        node.stop().wait().unwrap();
        for spawner in spawners {
            let error = spawner.join().unwrap();
            assert!(matches!(error, SpawnError::NodeStopping | SpawnError::Init(_)), "{error}");
        }
        assert_eq!((node.stats().processes, node.stats().names), (0, 0));
        let spawned = node.stats().spawned;
        assert!(log.count("dropped") as u64 >= spawned);
    }
}

#[test]
fn x2_a_handler_that_blocks_holds_the_stop_up_only_while_it_blocks() {
    let node = Node::builder("held").workers(1).start().unwrap();
    let (entered, inside) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let log = Log::new();
    let process = puppet(&node, "p", &log);
    let noted = log.clone();
    process.tells(move |_| {
        entered.send(()).unwrap();
        released.recv().unwrap();
        noted.note("released");
    });
    inside.recv().unwrap();
    node.stop().start();
    release.send(()).unwrap();
    node.stop().wait().unwrap();
    assert_eq!(log.take(), ["released", "p terminate shutdown", "p dropped"]);
}

#[test]
fn x2_the_last_handle_stops_the_node_in_the_background() {
    struct Tells(mpsc::Sender<&'static str>);
    impl Actor for Tells {
        type Message = ();
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Ok(())
        }
        async fn terminate(&mut self, _: &mut Context<()>, _: &Reason) {
            self.0.send("terminate").unwrap();
        }
    }
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.send("drop").unwrap();
        }
    }
    let (dropped, heard) = mpsc::channel();
    let node = Node::builder("last").workers(1).start().unwrap();
    let again = node.clone();
    node.spawn(move || Tells(dropped)).wait().unwrap();
    drop(node);
    assert!(!again.is_stopping());
    drop(again);
    assert_eq!(heard.iter().collect::<Vec<_>>(), ["terminate", "drop"]);
}

#[test]
fn x2_a_simulation_that_is_dropped_drops_every_state() {
    let log = Log::new();
    for sim in simulations(5) {
        let never = sim.spawn(|| Puppet::new("never", &Log::new())).start().unwrap();
        puppet(&sim, "idle", &log);
        let guard = Guard::new(&log, "waiting dropped");
        let waits = behavior_fn(move |ctx: Context<()>| async move {
            let _guard = guard;
            ctx.sleep(SECOND).await;
            Ok(())
        });
        sim.spawn(move || waits).start().unwrap();
        sim.step();
        drop(sim);
        assert_eq!(log.take_sorted(), ["idle dropped", "waiting dropped"]);
        assert!(!never.is_alive());
    }
}

#[test]
fn x3_a_flooded_process_is_inspected_within_one_message() {
    for sim in simulations(10) {
        struct CountingActor(u64);
        impl Actor for CountingActor {
            type Message = ();
            async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
                self.0 += 1;
                Ok(())
            }
            fn inspect(&self) -> Inspection {
                Inspection::new().with("count", self.0)
            }
        }
        let process = sim.spawn(|| CountingActor(0)).wait().unwrap();
        (0..10_000).for_each(|_| process.send(()).unwrap());
        sim.step();
        let handled = sim.process_info(process.pid()).unwrap().handled;
        let inspection = process.inspect().wait().unwrap();
        assert_eq!(inspection.number("count"), Some(handled));
    }
}

#[test]
fn x3_process_info_of_a_busy_waiting_or_idle_process_is_immediate() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let parent = trapper(&sim, "parent", &log);
    let (sent, found) = mpsc::channel();
    parent.tells(move |ctx| {
        let waits = behavior_fn(|mut ctx: Context<()>| async move {
            ctx.receive().await;
            ctx.sleep(SECOND).await;
            Ok(())
        });
        sent.send(ctx.spawn(move || waits).name("child").mailbox(5).link().start().unwrap())
            .unwrap();
    });
    sim.run_until_idle();
    let child = found.recv().unwrap();
    let info = || sim.process_info(child.pid()).unwrap();
    assert_eq!(info().state, ProcessState::Idle);
    child.send(()).unwrap();
    assert_eq!((info().state, info().main), (ProcessState::Scheduled, 1));
    sim.run_until_idle();
    (0..3).for_each(|_| child.send(()).unwrap());
    child.send_high(()).unwrap();
    sim.advance(SECOND / 2);
    let info = info();
    assert_eq!(info.state, ProcessState::Waiting);
    assert_eq!(info.name.map(|name| name.to_string()).as_deref(), Some("child"));
    assert_eq!((info.parent, info.links), (Some(parent.pid()), vec![parent.pid()]));
    assert_eq!((info.main, info.system, info.urgent, info.handled), (3, 1, 0, 1));
    assert_eq!((info.mailbox, info.trapping), (Some(5), false));
    assert_eq!((info.uptime, info.dispatcher.as_str()), (SECOND / 2, "simulated"));
    sim.advance(SECOND);
    assert_eq!(sim.process_info(child.pid()), None);
    assert_eq!(child.info().state, ProcessState::Terminated);
}

#[test]
fn x3_a_process_shows_each_of_its_states() {
    for sim in simulations(3) {
        let log = Log::new();
        let noted = log.clone();
        let process = behavior_fn(move |mut ctx: Context<()>| async move {
            let own = ctx.address();
            noted.note(format!("{:?}", own.info().state));
            ctx.receive().await;
            noted.note(format!("{:?}", own.info().state));
            ctx.sleep(SECOND).await;
            Ok(())
        });
        let process = sim.spawn(move || process).start().unwrap();
        let state = || log.note(format!("{:?}", process.info().state));
        state();
        sim.run_until_idle();
        state();
        process.send(()).unwrap();
        state();
        sim.run_until_idle();
        state();
        sim.advance(SECOND);
        state();
        let seen = ["Init", "Init", "Idle", "Scheduled", "Running", "Waiting", "Terminated"];
        assert_eq!(log.take(), seen);
    }
}

#[test]
fn x4_processes_tree_and_stats_show_the_living_processes() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let root = puppet(&sim, "root", &log);
    for generations in [2, 0] {
        root.tells(move |ctx| spawn_below(ctx, generations));
    }
    let single = puppet(&sim, "single", &log);
    sim.run_until_idle();
    let tree = sim.tree();
    assert_eq!(tree.len(), 2);
    assert_eq!((tree[0].process.pid, tree[1].process.pid), (root.pid(), single.pid()));
    let below: Vec<_> = tree[0].children.iter().map(|child| child.children.len()).collect();
    assert_eq!(below, [1, 0]);
    assert_eq!(tree[0].children[0].children[0].children.len(), 1);
    let printed = tree[0].to_string();
    assert_eq!(printed.lines().count(), 5);
    assert!(printed.lines().nth(3).unwrap().starts_with("      <0."), "{printed}");
    let pids = sim.processes();
    assert!(pids.is_sorted() && pids.len() == 6 && sim.stats().processes == 6);
    // Children whose parent has ended stand at the top.
    root.dies(Reason::Normal);
    sim.run_until_idle();
    let tree = sim.tree();
    let tops: Vec<_> = tree.iter().map(|tree| (tree.process.pid, tree.children.len())).collect();
    assert_eq!(tops, [(pids[1], 0), (pids[2], 1), (pids[3], 0)], "{pids:?}");
    assert_eq!((sim.stats().processes, sim.stats().spawned), (5, 6));
}

#[test]
fn x4_a_chain_of_processes_is_shown_on_a_small_stack() {
    const GENERATIONS: u32 = 20_000;
    let sim = Simulation::new(1);
    puppet(&sim, "first", &Log::new()).tells(move |ctx| spawn_below(ctx, GENERATIONS - 1));
    sim.run_until_idle();
    let node = (*sim).clone();
    let small = thread::Builder::new().stack_size(128 << 10);
    let shown = small.spawn(move || node.tree().iter().map(|tree| tree.walk().count()).collect());
    let counts: Vec<usize> = shown.unwrap().join().unwrap();
    assert_eq!(counts, [GENERATIONS as usize + 1]);
}

fn spawn_below(ctx: &mut Context<Act>, generations: u32) {
    let child = ctx.spawn(|| Puppet::new("child", &Log::new())).start().unwrap();
    if generations > 0 {
        child.tells(move |ctx| spawn_below(ctx, generations - 1));
    }
}

#[test]
fn x3_a_label_is_shown_in_place_of_the_type_wherever_the_process_is() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let plain = puppet(&sim, "plain", &log);
    assert_eq!(plain.info().behavior.to_string(), "Puppet");
    let waits = || {
        behavior_fn(|mut ctx: Context<()>| async move {
            ctx.receive().await;
            Err(boom())
        })
    };
    let saga = sim.spawn(waits).label("saga").start().unwrap();
    let other = sim.spawn(waits).label("saga").start().unwrap();
    sim.run_until_idle();
    assert_eq!(saga.info().behavior.to_string(), "saga");
    assert!(sim.tree().iter().any(|tree| tree.to_string().contains(" saga ")));
    assert!(sim.last_steps().to_string().contains("saga"));
    // It is no name, and what is no text for one is an error that says so.
    assert!(sim.whereis("saga").is_none() && other.is_alive());
    for label in [String::new(), "x".repeat(256)] {
        let spawned = sim.spawn(waits).label(label).start();
        assert!(matches!(spawned, Err(SpawnError::InvalidLabel(_))));
    }
    assert_eq!(sim.processes().len(), 3);
}

#[test]
fn x3_work_in_flight_is_shown_as_a_pipe() {
    let sim = Simulation::new(1);
    let pipes = behavior_fn(|mut ctx: Context<()>| async move {
        ctx.pipe(std::future::pending::<()>(), |()| ())?;
        ctx.receive().await;
        Ok(())
    });
    let owner = sim.spawn(move || pipes).start().unwrap();
    sim.run_until_idle();
    let others: Vec<Pid> = sim.processes().into_iter().filter(|pid| *pid != owner.pid()).collect();
    assert_eq!(others.len(), 1);
    let shown = sim.process_info(others[0]).unwrap();
    assert_eq!(shown.behavior.to_string(), "pipe");
    assert_eq!(shown.parent, Some(owner.pid()));
}

#[test]
fn x3_a_child_of_a_supervisor_keeps_its_label_when_it_is_restarted() {
    let sim = Simulation::new(1);
    let tree = || {
        let child = || {
            behavior_fn(|mut ctx: Context<()>| async move {
                ctx.receive().await;
                Err(boom())
            })
        };
        Supervisor::one_for_one().child(ChildSpec::worker("it", child).name("it").label("saga"))
    };
    sim.spawn(tree).start().unwrap();
    for _ in 0..2 {
        sim.run_until_idle();
        let child: Address<()> = sim.lookup("it").unwrap();
        assert_eq!(child.info().behavior.to_string(), "saga");
        child.send(()).unwrap();
    }
}
