//! Handlers that hold their worker: warnings, spare workers (rule R4), running time (X3).
//!
//! They hold it until the test has seen what it waits for. That the watchdog has looked
//! again is seen from the running time of the process that runs, which only it moves on.

mod support;

use krarup::dispatcher::DispatcherOptions;
use krarup::observe::Memory;
use krarup::prelude::*;
use std::cell::RefCell;
use std::sync::{Mutex, Once, mpsc};
use std::thread;
use std::time::Duration;
use support::journal::Journal;
use support::{Act, Does, Log, ThreadEnd, puppet, simulations};
use tracing::Level;

/// A look is 10 ms; so much running time is several of them.
const LOOKS: Duration = Duration::from_millis(40);

/// The warnings of this program.
static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The warnings about handlers on this dispatcher.
fn warnings(dispatcher: &str) -> Vec<String> {
    let of = format!("dispatcher={dispatcher:?}");
    let all = WARNINGS.lock().unwrap();
    all.iter().filter(|line| line.contains(&of)).cloned().collect()
}

fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let warnings = Journal::new(
            |event| *event.level() == Level::WARN,
            |fields| {
                let line = fields.iter().map(|(name, value)| format!("{name}={value} "));
                WARNINGS.lock().unwrap().push(line.collect());
            },
        );
        tracing::subscriber::set_global_default(warnings).unwrap();
    });
}

/// Waits for what another thread will make true.
fn until(come: impl Fn() -> bool) {
    while !come() {
        thread::yield_now();
    }
}

/// Waits for some looks of the watchdog at this process, which runs.
fn looks_at(process: &Address<Act>) {
    let before = process.info().running_time;
    until(|| process.info().running_time >= before + LOOKS);
}

/// Has the process hold its worker; it does until what is returned is dropped.
fn hold(process: &Address<Act>) -> mpsc::Sender<()> {
    let (release, released) = mpsc::channel::<()>();
    let (begun, begins) = mpsc::channel();
    process.tells(move |_| {
        begun.send(()).unwrap();
        let _ = released.recv();
    });
    begins.recv().unwrap();
    release
}

/// What the first dispatcher counts: workers held, long turns, spares.
fn counts(node: &Node) -> (usize, u64, usize) {
    let stats = &node.stats().dispatchers[0];
    (stats.blocked, stats.long_turns, stats.spares)
}

fn thread_name() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

#[test]
fn r4_a_handler_that_holds_its_worker_is_reported_once_for_each_turn() {
    listen();
    let options = DispatcherOptions::new().workers(1).long_turn(Duration::from_millis(1));
    let node = Node::builder("r4warn").dispatcher("held", options).workers(1).start().unwrap();
    node.remember(Memory { long_turns: 9, ..Memory::default() });
    let name = support::Puppet::new("hog", &Log::new());
    let hog = node.spawn(move || name).name("hog").dispatcher("held").wait().unwrap();
    let held = || node.stats().dispatchers.into_iter().find(|stats| stats.name == "held").unwrap();
    for turn in 1..=2 {
        let release = hold(&hog);
        until(|| held().blocked == 1);
        looks_at(&hog);
        assert_eq!((held().blocked, held().long_turns), (1, turn));
        drop(release);
        until(|| held().blocked == 0);
    }
    let lines = warnings("held");
    assert_eq!(lines.len(), 2, "{lines:?}");
    let pid = format!("pid={} ", hog.pid());
    for part in [&pid, " name=\"hog\" ", "Puppet", "worker=0", "held=", "ctx.block"] {
        assert!(lines[0].contains(part), "{part} in {lines:?}");
    }
    // The record of the first one was made before the second began.
    let record = &node.view().long_turns(0, 9).items[0].item;
    let named = record.name.as_ref().map(ToString::to_string);
    assert_eq!((named.as_deref(), record.pid), (Some("hog"), Some(hog.pid())));
    node.stop().wait().unwrap();
}

#[test]
fn r4_a_turn_within_the_limit_is_not_reported() {
    listen();
    let quiet = DispatcherOptions::new().workers(1);
    for (name, options) in [
        ("off", quiet.clone().long_turn(Duration::from_millis(1)).no_long_turn()),
        ("long", quiet.long_turn(Duration::MAX)),
    ] {
        let node = Node::builder("r4quiet").dispatcher(name, options).start().unwrap();
        let puppet = support::Puppet::new("hog", &Log::new());
        let hog = node.spawn(move || puppet).dispatcher(name).wait().unwrap();
        let release = hold(&hog);
        looks_at(&hog);
        assert_eq!(warnings(name), Vec::<String>::new());
        assert!(node.stats().dispatchers.iter().all(|s| (s.blocked, s.long_turns) == (0, 0)));
        drop(release);
        node.stop().wait().unwrap();
    }
}

#[test]
fn r4_a_spare_worker_fills_in_and_ends_when_the_block_is_over() {
    for workers in [1, 2, 3] {
        let node = Node::builder("r4spare").workers(workers).start().unwrap();
        let hogs: Vec<_> = (0..workers).map(|_| puppet(&node, "hog", &Log::new())).collect();
        for round in 0..3 {
            let held: Vec<_> = hogs.iter().map(hold).collect();
            // Every worker is held, and the node serves on, by threads named like workers.
            let (sent, named) = mpsc::channel();
            let free = puppet(&node, "free", &Log::new());
            free.tells(move |_| sent.send(thread_name()).unwrap());
            let name = named.recv().unwrap();
            let number: usize = name.strip_prefix("r4spare-default-").unwrap().parse().unwrap();
            assert!((workers..2 * workers).contains(&number), "{name} in round {round}");
            (0..50).for_each(|_| assert!(free.inspect().wait().is_ok()));
            assert!((1..=workers).contains(&counts(&node).2));
            assert_eq!(node.stats().dispatchers[0].workers, workers);
            drop(held);
            until(|| counts(&node).2 == 0);
            free.stop().wait().unwrap();
        }
        node.stop().wait().unwrap();
    }
}

#[test]
fn r4_no_wake_up_is_lost_while_spares_come_and_go() {
    let node = Node::builder("r4loss").workers(2).start().unwrap();
    let hogs: Vec<_> = (0..2).map(|_| puppet(&node, "hog", &Log::new())).collect();
    let others: Vec<_> = (0..4).map(|_| puppet(&node, "other", &Log::new())).collect();
    for round in 0..30 {
        let held: Vec<_> = hogs.iter().take(1 + round % 2).map(hold).collect();
        // Asked by a plain thread one after the other: each wakes somebody, or nobody answers.
        for other in others.iter().cycle().take(40) {
            assert!(other.inspect().wait().is_ok());
        }
        drop(held);
        for other in others.iter().cycle().take(40 * (round % 3)) {
            assert!(other.inspect().wait().is_ok());
        }
    }
    node.stop().wait().unwrap();
}

#[test]
fn r3_spares_never_exceed_the_setting_or_the_workers() {
    for (options, spares) in [
        (DispatcherOptions::new().workers(1).spare_workers(0), 0),
        (DispatcherOptions::new().workers(1).spare_workers(5), 1),
    ] {
        let node = Node::builder("r3spare").options(options).start().unwrap();
        let hogs: Vec<_> = (0..=spares).map(|_| puppet(&node, "hog", &Log::new())).collect();
        let last = puppet(&node, "last", &Log::new());
        let held: Vec<_> = hogs.iter().map(hold).collect();
        let log = Log::new();
        let noted = log.clone();
        last.tells(move |_| noted.note("ran"));
        looks_at(&hogs[spares]);
        assert_eq!((log.lines().len(), counts(&node).2), (0, spares));
        drop(held);
        until(|| log.count("ran") == 1);
        node.stop().wait().unwrap();
    }
}

#[test]
fn x2_a_stop_joins_spare_workers_too() {
    thread_local! {
        static ON_THREAD: RefCell<Option<ThreadEnd>> = const { RefCell::new(None) };
    }
    let log = Log::new();
    let node = Node::builder("x2spare").workers(1).start().unwrap();
    let hog = puppet(&node, "hog", &Log::new());
    let free = puppet(&node, "free", &Log::new());
    let held = hold(&hog);
    let (on_spare, noted) = (free.clone(), log.clone());
    let (sent, ran) = mpsc::channel();
    on_spare.tells(move |_| {
        ON_THREAD.set(Some(ThreadEnd::new(&noted, thread_name())));
        sent.send(()).unwrap();
    });
    ran.recv().unwrap();
    let stop = thread::spawn({
        let node = node.clone();
        move || node.stop().wait()
    });
    until(|| !free.is_alive());
    drop(held);
    assert_eq!(stop.join().unwrap(), Ok(()));
    assert_eq!(log.take(), ["x2spare-default-1"]);
    assert_eq!((node.stats().processes, node.stats().timers), (0, 0));
}

#[test]
fn x3_running_time_grows_during_a_turn_and_only_for_the_running_process() {
    let pinned = DispatcherOptions::pinned();
    let node = Node::builder("x3ran").workers(2).dispatcher("pinned", pinned).start().unwrap();
    for dispatcher in ["default", "pinned"] {
        let puppet = || {
            let puppet = support::Puppet::new("p", &Log::new());
            node.spawn(move || puppet).dispatcher(dispatcher).wait().unwrap()
        };
        let (busy, idle) = (puppet(), puppet());
        // A while in which nobody runs, and the watchdog rests: charged to nobody.
        let rested = node.now() + 10 * LOOKS;
        until(|| node.now() >= rested);
        let before = idle.info().running_time;
        let (inside, clock) = (node.clone(), node.clone());
        let (sent, seen) = mpsc::channel();
        let began = node.now();
        busy.tells(move |ctx| {
            // It sees its own time pass.
            let time = || inside.process_info(ctx.pid()).unwrap().running_time;
            until(|| time() >= LOOKS);
            sent.send(clock.now()).unwrap();
        });
        let took = seen.recv().unwrap().since(began);
        // Charged by looks, the first of which may have come just after it began.
        let ran = busy.info().running_time;
        assert!(ran >= LOOKS && ran <= took + 2 * LOOKS, "{ran:?} of {took:?} on {dispatcher}");
        assert_eq!(idle.info().running_time, before);
    }
    node.stop().wait().unwrap();
}

#[test]
fn x3_no_time_runs_in_a_simulation() {
    for sim in simulations(3) {
        let process = puppet(&sim, "p", &Log::new());
        process.tells(|_| {});
        sim.advance(Duration::from_secs(60));
        let info = process.info();
        assert_eq!((info.running_time, info.uptime), (Duration::ZERO, Duration::from_secs(60)));
    }
}

#[test]
fn x3_a_pinned_process_is_not_charged_with_the_time_before_it_was_there() {
    let pinned = DispatcherOptions::pinned();
    let node = Node::builder("x3new").workers(1).dispatcher("pinned", pinned).start().unwrap();
    let on = || {
        let puppet = support::Puppet::new("p", &Log::new());
        node.spawn(move || puppet).dispatcher("pinned").wait().unwrap()
    };
    // The watchdog is awake for this one, and does not begin anew for the next.
    let first = on();
    let held = hold(&first);
    until(|| first.info().running_time >= 10 * LOOKS);
    let second = on();
    let began = node.now();
    let also_held = hold(&second);
    looks_at(&second);
    let took = node.now().since(began);
    let ran = second.info().running_time;
    assert!(ran <= took + 2 * LOOKS, "{ran:?} of {took:?}");
    drop((held, also_held));
    node.stop().wait().unwrap();
}

/// Who has no thread of its own runs on the worker of who sends to it, when that has had its turn.
#[test]
fn r4_a_long_turn_on_the_thread_of_another_is_that_of_its_own_process() {
    listen();
    let worker = DispatcherOptions::new().workers(1).long_turn(Duration::from_millis(100));
    let node = Node::builder("r4calling")
        .dispatcher("lends", worker)
        .dispatcher("borrows", DispatcherOptions::calling_thread())
        .workers(1)
        .start()
        .unwrap();
    let spawn = |name: &'static str, dispatcher: &str| {
        let puppet = support::Puppet::new(name, &Log::new());
        node.spawn(move || puppet).dispatcher(dispatcher).wait().unwrap()
    };
    let (sender, hog) = (spawn("sender", "lends"), spawn("hog", "borrows"));
    let (release, released) = mpsc::channel::<()>();
    let pid = hog.pid();
    let (begun, begins) = mpsc::channel();
    sender.tells(move |_| {
        hog.tells(move |_| {
            // Whatever was long before is not this one.
            begun.send(warnings("lends").len()).unwrap();
            let _ = released.recv();
        });
    });
    let before = begins.recv().unwrap();
    until(|| warnings("lends").len() > before);
    let line = &warnings("lends")[before];
    assert!(line.contains(&format!("pid={pid} ")), "{line}");
    drop(release);
    node.stop().wait().unwrap();
}
