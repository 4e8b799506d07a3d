//! An executor is a user's, and runs wherever a process becomes ready: it may ask the node
//! anything there, for nothing is locked (rules R5, L5).

use crate::support::{Act, Does, Log, Puppet, boom, poll_once};
use krarup::Recipient;
use krarup::behavior::behavior_fn;
use krarup::dispatcher::{DispatcherOptions, Executor, ExecutorTask};
use krarup::grains::{GrainAddress, GrainCalls, Grains};
use krarup::prelude::*;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Keeps tasks until the test runs them; before that it asks for everything.
#[derive(Clone, Default)]
struct Curious(Arc<Inner>);

#[derive(Default)]
struct Inner {
    tasks: Mutex<VecDeque<ExecutorTask>>,
    calls: Mutex<Option<Arc<ReentrantCalls>>>,
    asked: AtomicUsize,
    asks: AtomicBool,
}

/// What the executor asks, and of whom.
struct ReentrantCalls {
    node: Node,
    bystander: Address<Act>,
    /// The context of a process that has moved it out.
    moved: Mutex<Context<()>>,
    grains: Mutex<Option<GrainAddress<u32, Act>>>,
}

impl ReentrantCalls {
    fn ask(&self) {
        for pid in self.node.processes() {
            let _ = self.node.process_info(pid);
            let _ = self.node.is_alive(pid);
            drop(poll_once(&mut self.node.watch(pid)));
            let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
            moved.link(pid);
            moved.unlink(pid);
            let monitor = moved.monitor(pid);
            moved.demonitor(monitor);
            let alias = moved.alias();
            assert!(moved.revoke(alias));
        }
        assert!(!self.node.tree().is_empty());
        let _ = self.node.stats();
        assert_eq!(self.node.whereis("nobody"), None);
        self.bystander.send(Act::nothing()).unwrap();
        let grains = self.grains.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(grains) = &*grains {
            // Looks at each grain.
            let _ = grains.waiting();
        }
    }
}

impl Executor for Curious {
    fn execute(&self, task: ExecutorTask) -> Result<(), ExecutorTask> {
        let calls = self.0.calls.lock().unwrap().clone();
        // Not in what this makes ready itself.
        if let Some(calls) = calls
            && !self.0.asks.swap(true, Ordering::SeqCst)
        {
            calls.ask();
            self.0.asked.fetch_add(1, Ordering::SeqCst);
            self.0.asks.store(false, Ordering::SeqCst);
        }
        self.0.tasks.lock().unwrap().push_back(task);
        Ok(())
    }
}

impl Curious {
    /// Runs tasks until there are none.
    fn run(&self) {
        let next = || self.0.tasks.lock().unwrap().pop_front();
        std::iter::from_fn(next).for_each(ExecutorTask::run);
    }

    /// How often it has asked since this was asked.
    fn asked(&self) -> usize {
        self.0.asked.swap(0, Ordering::SeqCst)
    }
}

/// A node whose processes are run by the executor, and two of them.
struct Scene {
    node: Node,
    curious: Curious,
    log: Log,
    one: Address<Act>,
    two: Address<Act>,
}

impl Scene {
    fn new(name: &str) -> Self {
        let curious = Curious::default();
        let options = DispatcherOptions::executor(curious.clone());
        let node = Node::builder(name).workers(1).dispatcher("curious", options).start().unwrap();
        let log = Log::new();
        let bystander = Puppet::new("bystander", &log);
        let bystander = node.spawn(move || bystander).wait().unwrap();
        let (out, moved) = std::sync::mpsc::channel();
        let run = |ctx: Context<()>| async move {
            out.send(ctx).unwrap();
            std::future::pending().await
        };
        node.spawn(move || behavior_fn(run)).start().unwrap();
        let moved = Mutex::new(moved.recv().unwrap());
        let (first, second) = (Puppet::trapping("one", &log), Puppet::trapping("two", &log));
        let one = node.spawn(move || first).mailbox(1).dispatcher("curious").start().unwrap();
        let two = node.spawn(move || second).dispatcher("curious").start().unwrap();
        curious.run();
        *curious.0.calls.lock().unwrap() = Some(Arc::new(ReentrantCalls {
            node: node.clone(),
            bystander,
            moved,
            grains: Mutex::default(),
        }));
        Scene { node, curious, log, one, two }
    }

    /// Does something that schedules a process at least once, and runs what has become ready.
    fn schedules(&self, what: &str, does: impl FnOnce()) {
        self.curious.asked();
        does();
        assert!(self.curious.asked() > 0, "{what} schedules nobody");
        self.curious.run();
    }

    fn end(self) {
        // The executor holds the node.
        let calls = self.curious.0.calls.lock().unwrap().take();
        drop(calls);
        let (runs, done) = (self.curious.clone(), Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&done);
        let runner = thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                runs.run();
                thread::yield_now();
            }
        });
        self.node.stop().wait().unwrap();
        done.store(true, Ordering::SeqCst);
        runner.join().unwrap();
    }
}

#[test]
fn r5_an_executor_may_ask_for_everything_when_something_is_sent() {
    let scene = Scene::new("asks-sent");
    let (one, two) = (&scene.one, &scene.two);
    scene.schedules("a send", || assert!(one.tells(|_| {})));
    scene.schedules("a command", || one.send_high(Act::nothing()).unwrap());
    scene.schedules("an urgent command", || one.send_max(Act::nothing()).unwrap());
    scene.schedules("a send by pid", || scene.node.send(one.pid(), Act::nothing()).unwrap());
    scene.schedules("a notice", || one.recipient::<Act>().notify(Act::nothing()));
    scene.schedules("a permit", || one.reserve().unwrap().send(Act::nothing()));
    scene.schedules("a recipient", || {
        let to: Recipient<Act> = two.recipient();
        to.send(Act::nothing()).unwrap();
    });
    scene.end();
}

#[test]
fn r5_an_executor_may_ask_for_everything_when_room_is_granted() {
    let scene = Scene::new("asks-room");
    let (one, two) = (scene.one.clone(), &scene.two);
    one.send(Act::nothing()).unwrap();
    // The other process waits for room, and is woken when there is some.
    let (log, waits) = (scene.log.clone(), one.clone());
    two.tells(move |ctx| {
        ctx.pipe(async move { waits.send_or_wait(Act::nothing()).await.is_ok() }, move |sent| {
            log.note(sent);
            Act::nothing()
        })
        .unwrap();
    });
    scene.curious.run();
    scene.curious.run();
    assert_eq!(scene.log.count("true"), 1);
    // And one that reserves all, and gives it back by dropping it.
    let permit = one.reserve().unwrap();
    let waits = one.clone();
    two.tells(move |ctx| {
        ctx.pipe(async move { waits.reserve_or_wait().await.is_ok() }, |_| Act::nothing()).unwrap();
    });
    scene.curious.run();
    scene.schedules("room that is given back", || drop(permit));
    scene.end();
}

#[test]
fn r5_an_executor_may_call_the_node_during_a_notice_of_an_end() {
    for (links, urgent) in [(true, false), (true, true), (false, false), (false, true)] {
        let scene = Scene::new("asks-ends");
        let (one, two) = (&scene.one, &scene.two);
        let pid = one.pid();
        two.tells(move |ctx| match (links, urgent) {
            (true, true) => ctx.link_urgent(pid),
            (true, false) => ctx.link(pid),
            (false, true) => drop(ctx.monitor_urgent(pid).to_string()),
            (false, false) => drop(ctx.monitor(pid).to_string()),
        });
        scene.curious.run();
        scene.schedules("an end", || assert!(one.dies(boom())));
        scene.curious.run();
        let heard = if links { "two exit" } else { "two down" };
        assert_eq!((scene.log.count(heard), one.is_alive()), (1, false));
        scene.end();
    }
}

#[test]
fn r5_an_executor_may_ask_for_everything_when_a_signal_comes() {
    let scene = Scene::new("asks-signals");
    let (one, two, node) = (&scene.one, &scene.two, &scene.node);
    scene.schedules("an exit", || node.exit(one.pid(), boom()));
    let mut suspended = one.suspend();
    scene.schedules("a suspension", || drop(poll_once(&mut suspended)));
    assert!(poll_once(&mut suspended).is_ready());
    scene.schedules("a resumption", || assert!(one.resume()));
    scene.schedules("a tracer", || one.trace(|_| {}));
    let mut inspected = node.inspect(one.pid());
    scene.schedules("an inspection", || drop(poll_once(&mut inspected)));
    scene.schedules("a stop", || drop(poll_once(&mut one.stop().into_future())));
    scene.schedules("a kill", || node.kill(two.pid()));
    assert!(!one.is_alive() && !two.is_alive());
    scene.end();
}

#[test]
fn r5_an_executor_may_call_the_node_when_a_wait_completes() {
    let scene = Scene::new("asks-wakes");
    let (one, two) = (&scene.one, &scene.two);
    // A reply, to a process that waits for it.
    let (callee, log) = (one.clone(), scene.log.clone());
    two.tells(move |ctx| {
        let call = async move {
            let request = |reply: Reply<&'static str>| {
                Act::new(move |_| {
                    reply.send("answer");
                    Ok(())
                })
            };
            callee.call(request).await
        };
        ctx.pipe(call, move |answer| {
            log.note(answer.unwrap());
            Act::nothing()
        })
        .unwrap();
    });
    scene.curious.run();
    assert_eq!(scene.log.count("answer"), 1);
    // A spawn, and its start.
    let child = Puppet::new("child", &scene.log);
    let mut spawned = scene.node.spawn(move || child).dispatcher("curious").into_future();
    scene.schedules("a spawn", || drop(poll_once(&mut spawned)));
    assert!(poll_once(&mut spawned).is_ready());
    // A timer, on its own thread.
    let noted = scene.log.clone();
    one.tells(move |ctx| {
        let note = Act::new(move |_| {
            noted.note("rung");
            Ok(())
        });
        ctx.send_after(Duration::ZERO, note);
    });
    scene.curious.run();
    while scene.log.count("rung") == 0 {
        scene.curious.run();
        thread::yield_now();
    }
    // A link to the dead, by a process that has moved its context out.
    let (out, moved) = std::sync::mpsc::channel();
    let run = |ctx: Context<()>| async move {
        out.send(ctx).unwrap();
        std::future::pending().await
    };
    scene.node.spawn(move || behavior_fn(run)).dispatcher("curious").start().unwrap();
    scene.curious.run();
    let mut moved = moved.recv().unwrap();
    scene.node.kill(two.pid());
    scene.curious.run();
    scene.schedules("a link to the dead", || moved.link(two.pid()));
    moved.monitor(one.pid());
    scene.schedules("an end", || assert!(one.dies(boom())));
    scene.end();
}

#[test]
fn r5_an_executor_may_ask_for_everything_when_grains_come_and_go() {
    let scene = Scene::new("no-lock-grains@localhost");
    let log = scene.log.clone();
    let made = move |key: &u32| Puppet::new(&format!("grain {key}"), &log);
    let grains = scene.node.spawn(move || Grains::new(made)).dispatcher("curious");
    let grains = grains.start().unwrap();
    scene.curious.run();
    let calls = scene.curious.0.calls.lock().unwrap().clone().unwrap();
    *calls.grains.lock().unwrap() = Some(grains.clone());
    for _ in 0..3 {
        scene.schedules("a grain that is wanted", || grains.send_to(1, Act::nothing()).unwrap());
        scene.schedules("a message to a grain", || grains.send_to(1, Act::nothing()).unwrap());
        scene.schedules("a grain that is let go", || {
            grains.release(1).unwrap();
            scene.curious.run();
        });
        scene.schedules("one that fails", || {
            grains.send_to(2, Act::new(|_| Err(boom()))).unwrap();
            scene.curious.run();
        });
    }
    assert!(scene.log.count("grain 1 dropped") > 0 && scene.log.count("grain 2 dropped") > 0);
    *calls.grains.lock().unwrap() = None;
    drop((calls, grains));
    scene.end();
}
