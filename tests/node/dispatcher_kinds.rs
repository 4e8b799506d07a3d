//! Dispatchers by name: when they start, and the kinds beside the shared one (rule R5).

use crate::support::{Act, Does, Log, Puppet, ThreadEnd, boom, puppet};
use krarup::behavior::behavior_fn;
use krarup::dispatcher::DispatcherOptions;
use krarup::prelude::*;
use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

fn thread_name() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

fn on(node: &Node, dispatcher: &str) -> Address<Act> {
    let puppet = Puppet::new("p", &Log::new());
    node.spawn(move || puppet).dispatcher(dispatcher).wait().unwrap()
}

/// The thread on which the process runs.
fn thread_of(process: &Address<Act>) -> String {
    thread_and_id_of(process).0
}

fn thread_and_id_of(process: &Address<Act>) -> (String, thread::ThreadId) {
    let (sent, named) = mpsc::channel();
    process.tells(move |_| sent.send((thread_name(), thread::current().id())).unwrap());
    named.recv().unwrap()
}

fn pinned(name: &str) -> Node {
    let options = DispatcherOptions::pinned().throughput(4);
    Node::builder(name).workers(1).dispatcher("pin", options).start().unwrap()
}

fn calling(name: &str) -> Node {
    let options = DispatcherOptions::calling_thread().throughput(4);
    Node::builder(name).workers(1).dispatcher("here", options).start().unwrap()
}

fn names(node: &Node) -> Vec<String> {
    node.stats().dispatchers.into_iter().map(|stats| stats.name).collect()
}

#[test]
fn r5_the_number_of_workers_changes_no_other_option_of_the_default_dispatcher() {
    let here = DispatcherOptions::calling_thread();
    let node = Node::builder("r5here").options(here).workers(2).start().unwrap();
    let (_, id) = thread_and_id_of(&puppet(&node, "p", &Log::new()));
    assert_eq!(id, thread::current().id());
    assert_eq!(node.stats().dispatchers[0].workers, 0);
    node.stop().wait().unwrap();
}

#[test]
fn r5_a_dispatcher_starts_with_its_first_process_and_once() {
    for kind in [DispatcherOptions::new().workers(2), DispatcherOptions::pinned()] {
        let node = Node::builder("r5lazy").workers(1).dispatcher("io", kind).start().unwrap();
        assert_eq!(names(&node), ["default"]);
        let meet = Arc::new(Barrier::new(8));
        let spawners: Vec<_> = (0..8)
            .map(|_| {
                let (node, meet) = (node.clone(), Arc::clone(&meet));
                thread::spawn(move || {
                    meet.wait();
                    thread_and_id_of(&on(&node, "io"))
                })
            })
            .collect();
        let threads: HashSet<_> = spawners.into_iter().map(|s| s.join().unwrap()).collect();
        assert!(threads.iter().all(|(name, _)| name.starts_with("r5lazy-io-")), "{threads:?}");
        // Were there two dispatchers, there would be two threads of one name.
        let own: HashSet<_> = threads.iter().map(|(name, _)| name).collect();
        assert_eq!(own.len(), threads.len(), "{threads:?}");
        assert_eq!(names(&node), ["default", "io"]);
        assert_eq!(node.processes().len(), 8);
        node.stop().wait().unwrap();
    }
}

#[test]
fn r5_an_unknown_dispatcher_is_an_error_and_after_a_stop_each_is() {
    let node = pinned("r5unknown");
    let spawn = |name: &str| node.spawn(|| Puppet::new("p", &Log::new())).dispatcher(name).wait();
    assert_eq!(spawn("pni").unwrap_err(), SpawnError::UnknownDispatcher("pni".into()));
    node.stop().wait().unwrap();
    assert_eq!(spawn("pin").unwrap_err(), SpawnError::NodeStopping);
    assert_eq!(names(&node), Vec::<String>::new());
}

#[test]
fn r5_a_pinned_process_has_one_thread_of_its_own_for_its_whole_life() {
    let node = pinned("r5pin");
    let processes: Vec<_> = (0..4).map(|_| on(&node, "pin")).collect();
    for process in &processes {
        assert_eq!(process.info().dispatcher, "pin");
        let own = format!("r5pin-pin-{}", process.pid().id());
        (0..20).for_each(|_| assert_eq!(thread_of(process), own));
    }
    let workers = || node.stats().dispatchers.into_iter().find(|stats| stats.name == "pin");
    assert_eq!(workers().map(|stats| stats.workers), Some(4));
    // A child is pinned too, to a thread of its own.
    let (sent, named) = mpsc::channel();
    processes[0].tells(move |ctx| {
        let child = ctx.spawn(|| Puppet::new("child", &Log::new())).start().unwrap();
        child.tells(move |ctx| sent.send((ctx.pid(), thread_name())).unwrap());
    });
    let (pid, name) = named.recv().unwrap();
    assert_eq!(name, format!("r5pin-pin-{}", pid.id()));
    // Handlers that wait for each other without an await.
    let meet = Arc::new(Barrier::new(5));
    for process in &processes {
        let meet = Arc::clone(&meet);
        process.tells(move |_| {
            meet.wait();
        });
    }
    let free = puppet(&node, "free", &Log::new());
    assert!(free.inspect().wait().is_ok());
    meet.wait();
    node.stop().wait().unwrap();
}

#[test]
fn r5_the_thread_of_a_pinned_process_ends_with_it() {
    thread_local! {
        static ON_THREAD: RefCell<Option<mpsc::Sender<()>>> = const { RefCell::new(None) };
    }
    let node = pinned("r5end");
    for reason in [Reason::Normal, boom(), Reason::Killed] {
        let process = on(&node, "pin");
        let (there, ended) = mpsc::channel();
        process.tells(move |_| ON_THREAD.set(Some(there)));
        let end = process.watch();
        match &reason {
            Reason::Killed => node.kill(process.pid()),
            Reason::Normal => drop(process.stop().reason(Reason::Normal).wait()),
            _ => drop(process.dies(reason.clone())),
        }
        assert_eq!(end.wait().map(|down| down.reason), Ok(reason));
        assert!(ended.recv().is_err(), "the thread has ended");
    }
    // One that is not admitted leaves no thread.
    let taken = node.spawn(|| Puppet::new("p", &Log::new())).name("taken").wait().unwrap();
    let again = node.spawn(|| Puppet::new("p", &Log::new())).name("taken").dispatcher("pin");
    assert!(matches!(again.wait(), Err(SpawnError::NameTaken { by, .. }) if by == taken.pid()));
    let pin = node.stats().dispatchers.into_iter().find(|stats| stats.name == "pin").unwrap();
    assert_eq!(pin.workers, 0);
    node.stop().wait().unwrap();
}

#[test]
fn r1_a_pinned_process_has_turns_like_any_and_loses_no_wake_up() {
    let node = pinned("r1pin");
    let echo = behavior_fn(|mut ctx: Context<Reply<u64>>| async move {
        for n in 0.. {
            let krarup::behavior::Received::Message(reply) = ctx.receive().await else { break };
            reply.send(n);
        }
        Ok(())
    });
    let echo = node.spawn(move || echo).dispatcher("pin").start().unwrap();
    let callers: Vec<_> = (0..3)
        .map(|_| {
            let echo = echo.clone();
            thread::spawn(move || {
                (0..1_000).map(|_| echo.call(|r| r).no_timeout().wait().unwrap()).collect()
            })
        })
        .collect();
    let replies: Vec<Vec<u64>> = callers.into_iter().map(|c| c.join().unwrap()).collect();
    let mut all: Vec<_> = replies.concat();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..3_000));
    node.stop().wait().unwrap();
}

#[test]
fn r4_a_long_pinned_handler_is_reported_only_if_enabled_and_its_time_is_counted() {
    let asked = DispatcherOptions::pinned().long_turn(Duration::from_millis(1));
    for (options, long_turns) in [(DispatcherOptions::pinned(), 0), (asked, 1)] {
        let node = Node::builder("r4pin").dispatcher("pin", options).start().unwrap();
        let process = on(&node, "pin");
        let idle = on(&node, "pin");
        let (release, released) = mpsc::channel::<()>();
        process.tells(move |_| {
            let _ = released.recv();
        });
        // Longer than what is reported of others.
        while process.info().running_time < Duration::from_millis(150) {
            thread::yield_now();
        }
        let pin = node.stats().dispatchers.into_iter().find(|stats| stats.name == "pin").unwrap();
        assert_eq!((pin.long_turns, pin.blocked as u64), (long_turns, long_turns));
        assert_eq!((pin.workers, pin.parked), (2, 1));
        assert!(idle.info().running_time < Duration::from_millis(40));
        drop(release);
        // What was seen to be blocked is not any more.
        while node.stats().dispatcher("pin").is_some_and(|pin| pin.blocked > 0) {
            thread::yield_now();
        }
        node.stop().wait().unwrap();
        assert_eq!(node.stats().timers, 0);
    }
}

#[test]
fn x2_a_stop_ends_pinned_processes_and_joins_their_threads() {
    thread_local! {
        static ON_THREAD: RefCell<Option<ThreadEnd>> = const { RefCell::new(None) };
    }
    let node = pinned("x2pin");
    let log = Log::new();
    for _ in 0..3 {
        let noted = log.clone();
        let (sent, ran) = mpsc::channel();
        on(&node, "pin").tells(move |_| {
            ON_THREAD.set(Some(ThreadEnd::new(&noted, "thread ended")));
            sent.send(()).unwrap();
        });
        ran.recv().unwrap();
    }
    // One that waits in a handler for ever: killed when the time is over.
    let waits = behavior_fn(|_: Context<()>| std::future::pending());
    node.spawn(move || waits).dispatcher("pin").start().unwrap();
    node.stop().timeout(Duration::from_millis(50)).wait().unwrap();
    assert_eq!(log.take(), ["thread ended"; 3]);
    assert_eq!(node.stats().processes, 0);
}

#[test]
fn r5_a_calling_thread_runs_the_receiver_before_send_returns() {
    let node = calling("r5here");
    let log = Log::new();
    let process = on(&node, "here");
    assert_eq!(process.info().dispatcher, "here");
    let noted = log.clone();
    process.tells(move |_| noted.note(thread_name()));
    // No waiting: it has run, on this thread.
    assert_eq!(log.take(), [thread_name()]);
    let (own, noted) = (process.clone(), log.clone());
    thread::Builder::new()
        .name("other".into())
        .spawn(move || own.tells(move |_| noted.note(thread_name())))
        .unwrap()
        .join()
        .unwrap();
    assert_eq!(log.take(), ["other"]);
    // A call is answered when it returns, an exit is over, and its monitors have heard.
    assert!(process.inspect().wait().is_ok());
    let mut down = process.watch();
    node.kill(process.pid());
    assert!(crate::support::poll_once(&mut down).is_ready());
    node.stop().wait().unwrap();
}

#[test]
fn r5_processes_made_ready_by_a_turn_run_after_it_in_order_on_the_same_thread() {
    let node = calling("r5nest");
    let log = Log::new();
    let [a, b, c] = [(); 3].map(|()| on(&node, "here"));
    let (noted, to_b, to_c) = (log.clone(), b.clone(), c.clone());
    let outer = move |_: &mut Context<Act>| {
        noted.note("a begins");
        for (name, to) in [("b", &to_b), ("c", &to_c)] {
            let noted = noted.clone();
            to.tells(move |_| noted.note(format!("{name} on {}", thread_name())));
        }
        noted.note("a ends");
    };
    a.tells(outer.clone());
    let here = thread_name();
    let order =
        ["a begins".into(), "a ends".into(), format!("b on {here}"), format!("c on {here}")];
    assert_eq!(log.take(), order);
    // The same from a worker of another dispatcher: on its thread, when its turn is over.
    let shared = puppet(&node, "shared", &Log::new());
    shared.tells(outer);
    shared.inspect().wait().unwrap();
    while log.lines().len() < 4 {
        thread::yield_now();
    }
    let there = "r5nest-default-0";
    let order =
        ["a begins".into(), "a ends".into(), format!("b on {there}"), format!("c on {there}")];
    assert_eq!(log.take(), order);
    node.stop().wait().unwrap();
}

#[test]
fn m5_a_bound_is_exact_on_every_kind_of_dispatcher() {
    let node = Node::builder("m5kinds")
        .workers(1)
        .dispatcher("pin", DispatcherOptions::pinned())
        .dispatcher("here", DispatcherOptions::calling_thread())
        .start()
        .unwrap();
    for dispatcher in ["default", "pin", "here"] {
        let puppet = Puppet::new("p", &Log::new());
        let process = node.spawn(move || puppet).dispatcher(dispatcher).mailbox(2).wait().unwrap();
        let (sent, tried) = mpsc::channel();
        let own = process.clone();
        // The message in hand does not count.
        process.tells(move |_| sent.send([(); 3].map(|()| own.tells(|_| {}))).unwrap());
        assert_eq!(tried.recv(), Ok([true, true, false]), "{dispatcher}");
    }
    node.stop().wait().unwrap();
}

#[test]
fn r1_one_thread_at_a_time_is_in_a_process_that_many_make_ready() {
    const EACH: usize = 2_000;
    let node = calling("r1here");
    let (log, process) = (Log::new(), on(&node, "here"));
    let senders: Vec<_> = (0..4)
        .map(|n| {
            let (process, log) = (process.clone(), log.clone());
            thread::spawn(move || {
                for m in 0..EACH {
                    let log = log.clone();
                    process.tells(move |_| log.note(format!("{n} {m}")));
                }
            })
        })
        .collect();
    senders.into_iter().for_each(|sender| sender.join().unwrap());
    // Whoever had it last may still be at it.
    while process.info().handled < 4 * EACH as u64 {
        thread::yield_now();
    }
    let lines = log.take();
    for n in 0..4 {
        let own = lines.iter().filter_map(|line| line.strip_prefix(&format!("{n} ")));
        assert!(own.eq((0..EACH).map(|m| m.to_string()).collect::<Vec<_>>().iter()));
    }
    node.stop().wait().unwrap();
}

#[test]
fn x2_a_stop_ends_processes_on_calling_threads_and_timers_reach_them() {
    let node = calling("x2here");
    // A timer that fires before the process has parked finds the thread that starts it still in it.
    let sleeper = loop {
        let (sent, woken) = mpsc::channel();
        let sleeper = behavior_fn(move |ctx: Context<()>| async move {
            ctx.sleep(Duration::from_millis(1)).await;
            sent.send(thread_name()).unwrap();
            std::future::pending().await
        });
        let sleeper = node.spawn(move || sleeper).dispatcher("here").start().unwrap();
        let woken_on = woken.recv().unwrap();
        if woken_on == "x2here-timer" {
            break sleeper;
        }
        assert_eq!(woken_on, thread_name());
    };
    let log = Log::new();
    let noted = Puppet::new("p", &log);
    node.spawn(move || noted).dispatcher("here").wait().unwrap();
    node.stop().timeout(Duration::from_millis(50)).wait().unwrap();
    assert_eq!(log.take(), ["p terminate shutdown", "p dropped"]);
    assert!(!sleeper.is_alive());
}

#[test]
fn r5_a_tree_that_names_dispatchers_can_be_simulated() {
    let sim = Simulation::new(1);
    let spawn = |name: &str| sim.spawn(|| Puppet::new("p", &Log::new())).dispatcher(name).wait();
    assert_eq!(spawn("io").unwrap_err(), SpawnError::UnknownDispatcher("io".into()));
    sim.add_dispatcher("io");
    let process = spawn("io").unwrap();
    assert_eq!(process.info().dispatcher, "io");
    let (sent, child) = mpsc::channel();
    process.tells(move |ctx| {
        let child = ctx.spawn(|| Puppet::new("child", &Log::new())).start().unwrap();
        sent.send(child.info().dispatcher).unwrap();
    });
    sim.run_until_idle();
    assert_eq!(child.recv().unwrap(), "io");
    assert_eq!(names(&sim), ["simulated"]);
    sim.stop().wait().unwrap();
    assert_eq!(sim.stats().processes, 0);
}

#[test]
fn r3_threads_have_the_stack_they_were_given() {
    /// Needs more than 4 KiB for each level.
    fn sink(depth: usize) -> usize {
        let frame = std::hint::black_box([1_u8; 4096]);
        if depth == 0 { 0 } else { sink(depth - 1) + usize::from(frame[depth % 4096]) }
    }
    for options in [DispatcherOptions::new().workers(1), DispatcherOptions::pinned()] {
        let deep = options.stack_size(64 << 20);
        let node = Node::builder("r3stack").dispatcher("deep", deep).start().unwrap();
        let (sent, depth) = mpsc::channel();
        // 16 MiB, eight times what a thread has otherwise.
        on(&node, "deep").tells(move |_| sent.send(sink(4096)).unwrap());
        assert_eq!(depth.recv(), Ok(4096));
        node.stop().wait().unwrap();
    }
}

#[test]
fn r5_a_pool_on_calling_threads_replaces_a_worker_within_the_send_that_ends_it() {
    struct Worker;
    impl Actor for Worker {
        type Message = Option<Reply<Pid>>;
        async fn handle_message(
            &mut self,
            ctx: &mut Context<Self::Message>,
            message: Self::Message,
        ) -> Result {
            message.ok_or_else(boom)?.send(ctx.pid());
            Ok(())
        }
    }
    let node = calling("r5callpool");
    let pool = node.spawn(|| Pool::new(1, || Worker)).dispatcher("here").wait().unwrap();
    let first = pool.call(Some).wait().unwrap();
    for _ in 0..3 {
        assert!(pool.send(None).is_ok());
        assert!(!node.is_alive(first));
        assert!(pool.call(Some).wait().is_ok());
    }
    assert_eq!(pool.inspect().wait().unwrap().number("worker_restarts"), Some(3));
    node.stop().wait().unwrap();
}

#[test]
fn r5_a_process_made_ready_by_a_pinned_one_runs_on_its_thread_after_its_turn() {
    let node = Node::builder("r5both")
        .workers(1)
        .dispatcher("pin", DispatcherOptions::pinned())
        .dispatcher("here", DispatcherOptions::calling_thread())
        .start()
        .unwrap();
    let (pinned, here) = (on(&node, "pin"), on(&node, "here"));
    let (sent, ran) = mpsc::channel();
    let first = sent.clone();
    pinned.tells(move |_| {
        here.tells(move |_| sent.send(thread_name()).unwrap());
        first.send("its turn".to_owned()).unwrap();
    });
    let own = format!("r5both-pin-{}", pinned.pid().id());
    assert_eq!([ran.recv().unwrap(), ran.recv().unwrap()], ["its turn".to_owned(), own]);
    node.stop().wait().unwrap();
}
