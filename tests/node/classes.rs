//! Processes of high class (rule R6). The order of turns, one by one, is checked beside the
//! dispatcher (`node/src/dispatcher/shared/stepped.rs`).

use crate::support::{Act, Does, Log, Puppet, puppet, simulations};
use krarup::behavior::{BehaviorContext, behavior_fn};
use krarup::dispatcher::{Class, DispatcherOptions, Executor, ExecutorTask};
use krarup::prelude::*;
use krarup::supervisor::{ChildSpec, Supervisor};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

/// A process that notes this for each message.
fn noting(node: &Node, class: Class, log: &Log, line: &'static str) -> Address<()> {
    let log = log.clone();
    let process = behavior_fn(move |mut ctx: Context<()>| async move {
        loop {
            ctx.receive().await;
            log.note(line);
        }
    });
    node.spawn(move || process).class(class).start().unwrap()
}

/// The lengths of the rows of one line before each of the other, and after the last.
fn rows(lines: &[String]) -> Vec<usize> {
    lines.split(|line| line == "normal").map(<[_]>::len).collect()
}

#[test]
fn r6_in_a_simulation_high_ones_go_first_and_16_of_them_are_enough() {
    for seed in 0..50 {
        let sim = Simulation::with_throughput(seed, 1);
        let log = Log::new();
        let (high, normal) = (Class::High, Class::Normal);
        let highs: Vec<_> = (0..3).map(|_| noting(&sim, high, &log, "high")).collect();
        let normals: Vec<_> = (0..3).map(|_| noting(&sim, normal, &log, "normal")).collect();
        sim.run_until_idle();
        for process in normals.iter().chain(&highs) {
            (0..100).for_each(|_| process.send(()).unwrap());
        }
        while log.lines().len() < 300 {
            sim.step();
        }
        let rows = rows(&log.take());
        // The last of the high ones run out one after the other.
        assert!(rows[..12].iter().all(|row| *row == 16), "{rows:?}");
        assert!(sim.stats().dispatchers[0].high_turns >= 200);
    }
}

#[test]
fn r6_a_child_has_the_class_of_its_parent_by_default() {
    let real = Node::builder("r6child").workers(2).start().unwrap();
    let sims: Vec<_> = simulations(3).collect();
    for node in sims.iter().map(Simulation::node).chain([&real]) {
        let class = |address: &Address<Act>| address.info().class;
        let spawned = |class| node.spawn(|| Puppet::new("p", &Log::new())).class(class);
        let (high, normal) = (spawned(Class::High), puppet(node, "n", &Log::new()));
        let high = high.wait().unwrap();
        assert_eq!((class(&high), class(&normal)), (Class::High, Class::Normal));
        let (sent, children) = mpsc::channel();
        high.tells(move |ctx| {
            let child = |class: Option<Class>| {
                let spawn = ctx.spawn(|| Puppet::new("c", &Log::new()));
                match class {
                    Some(class) => spawn.class(class).start().unwrap(),
                    None => spawn.start().unwrap(),
                }
            };
            let all = [None, Some(Class::High), Some(Class::Normal)].map(child);
            sent.send(all.each_ref().map(|child| child.info().class)).unwrap();
        });
        high.dies(Reason::Normal);
        high.watch().wait().unwrap();
        let all = [Class::High, Class::High, Class::Normal];
        assert_eq!(children.recv(), Ok(all));
        node.stop().wait().unwrap();
        let late = node.spawn(|| Puppet::new("late", &Log::new())).class(Class::High).wait();
        assert_eq!(late.unwrap_err(), SpawnError::NodeStopping);
    }
}

#[test]
fn r6_a_process_of_class_varying_sets_the_class_in_which_it_is_queued() {
    let real = Node::builder("r6vary").workers(2).start().unwrap();
    let sims: Vec<_> = simulations(3).collect();
    let all = sims.iter().map(|sim| (sim.node(), Some(sim))).chain([(&real, None)]);
    for (node, sim) in all {
        let spawned = |class| {
            let puppet = Puppet::new("p", &Log::new());
            node.spawn(move || puppet).class(class).wait().unwrap()
        };
        let (varying, fixed) = (spawned(Class::Varying), spawned(Class::High));
        let says = |process: &Address<Act>, class| {
            let (sent, said) = mpsc::channel();
            process.tells(move |ctx| {
                let child = ctx.spawn(|| Puppet::new("c", &Log::new())).start().unwrap();
                sent.send((ctx.class_varies(), ctx.set_class(class), child.info().class)).unwrap();
            });
            if let Some(sim) = sim {
                sim.run_until_idle();
            }
            (said.recv().unwrap(), process.info().class)
        };
        assert_eq!(varying.info().class, Class::Normal);
        let normal = Class::Normal;
        assert_eq!(says(&varying, Class::High), ((true, true, normal), Class::High));
        assert_eq!(says(&varying, Class::Normal), ((true, true, normal), Class::Normal));
        assert_eq!(says(&fixed, Class::Normal), ((false, false, Class::High), Class::High));
        node.stop().wait().unwrap();
    }
}

#[test]
fn r6_a_supervisor_gives_its_children_the_class_they_are_specified_with() {
    let sim = Simulation::new(1);
    let worker = |id| ChildSpec::worker(id, || Puppet::new("p", &Log::new())).name(id);
    let pool = || Pool::new(2, || Puppet::new("w", &Log::new()));
    let shop = move || {
        Supervisor::one_for_one()
            .child(worker("normal"))
            .child(worker("high").class(Class::High))
            .child(ChildSpec::worker("pool", pool).name("pool").class(Class::High))
    };
    sim.spawn(shop).wait().unwrap();
    let class = |name| sim.process_info(sim.whereis(name).unwrap()).unwrap().class;
    let classes = ["normal", "high", "pool"].map(class);
    assert_eq!(classes, [Class::Normal, Class::High, Class::High]);
    // The next incarnation too, and the workers of the pool.
    sim.kill(sim.whereis("high").unwrap());
    sim.run_until_idle();
    assert_eq!(class("high"), Class::High);
    let all = sim.processes().into_iter().filter_map(|pid| sim.process_info(pid));
    assert_eq!(all.filter(|info| info.class == Class::High).count(), 4);
}

#[test]
fn r6_a_dispatcher_that_is_named_keeps_the_class_and_one_without_a_queue_ignores_it() {
    let node = Node::builder("r6other")
        .workers(1)
        .dispatcher("io", DispatcherOptions::new().workers(1))
        .dispatcher("pin", DispatcherOptions::pinned())
        .dispatcher("here", DispatcherOptions::calling_thread())
        .start()
        .unwrap();
    for name in ["io", "pin", "here"] {
        let puppet = || Puppet::new("p", &Log::new());
        let process = node.spawn(puppet).dispatcher(name).class(Class::High).wait().unwrap();
        let info = process.info();
        assert_eq!((info.dispatcher.as_str(), info.class), (name, Class::High));
        assert!(process.inspect().wait().is_ok());
        let high = node.stats().dispatcher(name).unwrap().high_turns;
        assert_eq!(high > 0, name == "io", "{name}: {high}");
    }
    // From a process of high class to another dispatcher.
    let boss = node.spawn(|| Puppet::new("p", &Log::new())).class(Class::High).wait().unwrap();
    let (sent, found) = mpsc::channel();
    boss.tells(move |ctx| {
        let child = ctx.spawn(|| Puppet::new("c", &Log::new())).dispatcher("io").start().unwrap();
        sent.send((child.info().dispatcher, child.info().class)).unwrap();
    });
    assert_eq!(found.recv(), Ok(("io".to_owned(), Class::High)));
    // Each dispatcher is there once.
    assert_eq!(node.stats().dispatchers.len(), 4);
    node.stop().wait().unwrap();
}

/// A process of this class that many call, beside so many of its class and normal ones that never
/// end: each call has its own answer, in order. Whoever may, says another class in each turn.
fn storm(node: &Node, dispatcher: &str, class: Class, busy: usize) {
    const EACH: usize = 2_000;
    let says = |turn: usize| if turn.is_multiple_of(3) { Class::High } else { Class::Normal };
    let counter = behavior_fn(move |mut ctx: Context<Reply<usize>>| async move {
        for n in 0.. {
            let krarup::behavior::Received::Message(reply) = ctx.receive().await else { break };
            assert_eq!(ctx.set_class(says(n)), class == Class::Varying);
            reply.send(n);
        }
        Ok(())
    });
    let counter = node.spawn(move || counter).dispatcher(dispatcher).class(class).start().unwrap();
    for of in [class, Class::Normal] {
        for turn in 0..busy {
            let busy = behavior_fn(move |mut ctx: Context<()>| async move {
                for n in turn.. {
                    ctx.set_class(says(n));
                    ctx.address().send(())?;
                    ctx.receive().await;
                }
                Ok(())
            });
            node.spawn(move || busy).dispatcher(dispatcher).class(of).start().unwrap();
        }
    }
    let callers: Vec<_> = (0..3)
        .map(|_| {
            let counter = counter.clone();
            thread::spawn(move || -> Vec<_> {
                (0..EACH).map(|_| counter.call(|r| r).no_timeout().wait().unwrap()).collect()
            })
        })
        .collect();
    let mut all: Vec<_> = callers.into_iter().flat_map(|c| c.join().unwrap()).collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..3 * EACH));
}

/// Of one class for ever, or queued now in one class and now in the other, by workers, by
/// senders and by itself.
#[test]
fn r6_high_and_varying_ones_are_run_by_one_worker_at_a_time_and_lose_no_wake_up() {
    for class in [Class::High, Class::Varying] {
        for workers in [1, 2, 4] {
            let options = DispatcherOptions::new().workers(workers).throughput(4);
            let node = Node::builder("r6many").options(options).start().unwrap();
            storm(&node, "default", class, 3);
            let stats = &node.stats().dispatchers[0];
            assert!(stats.high_turns > 0 && stats.turns > stats.high_turns);
            node.stop().wait().unwrap();
        }
    }
}

/// Tasks for a thread of its own.
struct Loop(mpsc::Sender<ExecutorTask>);

impl Executor for Loop {
    fn execute(&self, task: ExecutorTask) -> Result<(), ExecutorTask> {
        self.0.send(task).map_err(|refused| refused.0)
    }
}

/// Without a queue of its own there is nothing to choose; what a process says is what its record
/// tells, and its children vary too.
#[test]
fn r6_setting_a_varying_class_has_no_effect_without_class_queues() {
    let (tasks, waiting) = mpsc::channel::<ExecutorTask>();
    let looping = thread::spawn(move || waiting.iter().for_each(ExecutorTask::run));
    let node = Node::builder("r6kinds")
        .workers(1)
        .dispatcher("pin", DispatcherOptions::pinned().throughput(4))
        .dispatcher("loop", DispatcherOptions::executor(Loop(tasks)).throughput(4))
        .dispatcher("here", DispatcherOptions::calling_thread().throughput(4))
        .start()
        .unwrap();
    for name in ["pin", "loop", "here"] {
        // What never ends would keep the thread that calls.
        storm(&node, name, Class::Varying, if name == "here" { 0 } else { 3 });
        let puppet = Puppet::new("p", &Log::new());
        let process = node.spawn(move || puppet).dispatcher(name).class(Class::Varying);
        let process = process.wait().unwrap();
        assert_eq!(process.info().class, Class::Normal);
        for class in [Class::High, Class::Normal, Class::High] {
            let (sent, said) = mpsc::channel();
            process.tells(move |ctx| {
                let child = ctx.spawn(|| Puppet::new("c", &Log::new())).start().unwrap();
                let set = (ctx.class_varies(), ctx.set_class(class));
                child.tells(move |ctx| sent.send((set, ctx.class_varies())).unwrap());
            });
            assert_eq!((said.recv(), process.info().class), (Ok(((true, true), true)), class));
        }
        assert!(process.inspect().wait().is_ok());
        process.stop().wait().unwrap();
        let stats = node.stats();
        let stats = stats.dispatcher(name).unwrap();
        assert!(stats.turns > 0 && stats.high_turns == 0, "{name}");
    }
    node.stop().wait().unwrap();
    drop(node);
    looping.join().unwrap();
}

/// All workers are busy with high ones for ever; a normal process is served all the same, on
/// whichever worker's queue it lies.
#[test]
fn r6_normal_ones_never_starve_on_real_threads() {
    let options = DispatcherOptions::new().workers(2).spare_workers(0).throughput(1);
    let node = Node::builder("r6starve").options(options).start().unwrap();
    for _ in 0..8 {
        let busy = behavior_fn(|mut ctx: Context<()>| async move {
            loop {
                ctx.address().send(())?;
                ctx.receive().await;
            }
        });
        node.spawn(move || busy).class(Class::High).start().unwrap();
    }
    let process = puppet(&node, "normal", &Log::new());
    for _ in 0..200 {
        assert!(process.inspect().wait().is_ok());
    }
    node.stop().wait().unwrap();
}

#[test]
fn r4_a_spare_worker_runs_high_ones_while_all_workers_are_held() {
    let options = DispatcherOptions::new().workers(1).spare_workers(1);
    let node = Node::builder("r4high").options(options).start().unwrap();
    let (held, released) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (holds, releases) = (Arc::clone(&held), Arc::clone(&released));
    puppet(&node, "holds", &Log::new()).tells(move |_| {
        holds.wait();
        releases.wait();
    });
    held.wait();
    let puppet = Puppet::new("high", &Log::new());
    let high = node.spawn(move || puppet).class(Class::High).wait().unwrap();
    let (sent, on) = mpsc::channel();
    high.tells(move |_| {
        sent.send(thread::current().name().unwrap_or_default().to_owned()).unwrap();
    });
    assert_eq!(on.recv().as_deref(), Ok("r4high-default-1"));
    released.wait();
    node.stop().wait().unwrap();
}
