//! Looking into a node through a view, without the help of those that are looked at: rules V5, V7,
//! V12, V14, V23, V24.

use crate::support::{Does, Log, puppet, simulations};
use krarup::NameError;
use krarup::behavior::{Behavior, behavior_fn};
use krarup::grains::{GrainCalls, Grains};
use krarup::observe::{
    NodeView, ProcessInfo, ProcessKind, ProcessState, Sample, Wait, WaitKind, Walk,
};
use krarup::prelude::*;
use krarup::supervisor::InPlace;
use std::collections::BTreeMap;
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn waits() -> impl Behavior<Message = u32, Command = u32> {
    behavior_fn(|mut ctx: Context<u32>| async move {
        loop {
            ctx.receive().await;
        }
    })
}

/// A whole walk, and the length of its longest step.
fn walked(view: &NodeView) -> (Vec<Sample>, usize) {
    let (mut walk, mut samples, mut longest) = (Walk::new(), Vec::new(), 0);
    while let Some(step) = view.walk(&mut walk) {
        longest = longest.max(step.len());
        samples.extend(step);
    }
    assert!(walk.is_over() && view.walk(&mut walk).is_none());
    (samples, longest)
}

#[test]
fn v5_a_view_keeps_no_node_alive_and_looks_into_one_that_is_gone_without_harm() {
    let node = Node::start("viewed@localhost").unwrap();
    let process = node.spawn(waits).wait().unwrap().pid();
    let view = node.view();
    assert_eq!((view.node_name(), view.is_stopping()), ("viewed@localhost", false));
    assert_eq!(view.stats().unwrap().processes, 1);
    // The last handle: the node stops, although there is a view.
    drop(node);
    while view.now().is_some() {
        std::thread::yield_now();
    }
    assert!(view.is_stopping() && view.stats().is_none() && view.processes().is_empty());
    assert_eq!((walked(&view), view.tree().len()), ((Vec::new(), 0), 0));
    assert_eq!((view.process_info(process), view.sample(process)), (None, None));
    assert_eq!((view.by_number(process.id()), view.whereis("x")), (None, None));
    let no_process = CallError::NoProcess { to: process };
    assert_eq!(view.inspect(process).wait(), Err(no_process.clone()));
    assert_eq!(view.inspect_items(process, ["x"]).wait(), Err(no_process));
    let gone = krarup::observe::DebugError::NoProcess(process);
    assert_eq!(view.state::<u32>(process).wait().unwrap_err().to_string(), gone.to_string());
    assert_eq!(view.suspend(process).wait().unwrap_err().to_string(), gone.to_string());
    let none = [view.resume(process), view.trace_to_log(process), view.stop_trace(process)];
    assert_eq!(none, [false; 3]);
    assert!(!view.kill(process) && !view.exit(process, Reason::Shutdown));
}

#[test]
fn v7_a_walk_has_each_process_once_with_the_numbers_of_its_description() {
    for sim in [Simulation::new(1)] {
        let parent = puppet(&sim, "parent", &Log::new());
        let all: Vec<_> =
            (0..20_000).map(|_| sim.spawn(waits).mailbox(7).start().unwrap()).collect();
        parent.tells(|ctx| drop(ctx.spawn(waits).start()));
        sim.spawn_system(waits).name("service").start().unwrap();
        sim.run_until_idle();
        sim.advance(SECOND);
        for one in all.iter().filter(|one| one.pid().id() % 3 == 0) {
            sim.kill(one.pid());
        }
        sim.run_until_idle();
        all[3].suspend().wait().unwrap();
        for number in 0..4 {
            all[3].send(number).unwrap();
        }
        all[3].send_high(1).unwrap();
        all[5].send(1).unwrap();
        let view = sim.view();
        let (samples, longest) = walked(&view);
        assert_eq!(samples, walked(&view).0, "the order is the same each time");
        assert!(longest <= 256, "a step has {longest} processes");
        let backward = samples.windows(2).filter(|pair| pair[0].pid > pair[1].pid).count();
        assert!(backward < 16, "in the order of their numbers, but for the parts of the table");
        let infos: BTreeMap<Pid, ProcessInfo> = view
            .processes()
            .into_iter()
            .map(|pid| (pid, view.process_info(pid).unwrap()))
            .collect();
        assert_eq!((samples.len(), infos.len()), (infos.len(), sim.stats().processes));
        for sample in samples {
            let info = &infos[&sample.pid];
            assert_eq!(view.sample(sample.pid), Some(sample));
            let of_sample = (sample.parent, sample.root, sample.kind, sample.class, sample.state);
            assert_eq!(of_sample, (info.parent, info.root, info.kind, info.class, info.state));
            let of_sample = (sample.urgent, sample.system, sample.main, sample.mailbox);
            assert_eq!(of_sample, (info.urgent, info.system, info.main, info.mailbox));
            let of_sample = (sample.messages_in, sample.messages_out, sample.handled);
            assert_eq!(of_sample, (info.messages_in, info.messages_out, info.handled));
            let of_sample = (sample.room_waiters, sample.waits, sample.suspensions);
            assert_eq!(of_sample, (info.room_waiters, info.waits, info.suspensions));
            assert_eq!((sample.running_time, sample.uptime), (info.running_time, info.uptime));
        }
        let suspended = view.sample(all[3].pid()).unwrap();
        assert_eq!((suspended.state, suspended.suspensions), (ProcessState::Suspended, 1));
        assert_eq!((suspended.main, suspended.system, suspended.taken), (4, 1, 0));
        assert_eq!((suspended.mailbox, suspended.uptime), (Some(7), SECOND));
        let trees = view.tree();
        let below: usize = trees.iter().map(|tree| tree.walk().count()).sum();
        assert_eq!(
            (below, trees.last().unwrap().process.root.to_string()),
            (infos.len(), "system".to_owned())
        );
        assert_eq!(view.whereis("service"), trees.last().map(|tree| tree.process.pid));
        assert_eq!(view.by_number(all[3].pid().id()), Some(all[3].pid()));
        assert_eq!(view.by_number(all[1].pid().id()).is_some(), all[1].pid().id() % 3 != 0);
        sim.stop().wait().unwrap();
    }
}

#[test]
fn v7_the_first_message_in_line_is_seen_with_its_sender() {
    let sim = Simulation::new(1);
    let (one, other) = (puppet(&sim, "one", &Log::new()), puppet(&sim, "other", &Log::new()));
    let receiver = sim.spawn(waits).start().unwrap();
    sim.run_until_idle();
    receiver.suspend().wait().unwrap();
    let view = sim.view();
    let head = || view.sample(receiver.pid()).unwrap().head_sender;
    assert_eq!(head(), None);
    for from in [&other, &one] {
        let to = receiver.clone();
        from.tells(move |_| to.send(1).unwrap());
        sim.run_until_idle();
        assert_eq!(head(), Some(other.pid()));
    }
    receiver.resume();
    sim.run_until_idle();
    assert_eq!((head(), view.sample(receiver.pid()).unwrap().taken), (None, 2));
    receiver.suspend().wait().unwrap();
    receiver.send(1).unwrap();
    assert_eq!(head(), None, "it came from outside");
}

/// Asks the next one before it answers; the last holds its answer back until it is told.
struct Asks {
    next: Option<Address<Ask>>,
    held: Vec<Reply<u32>>,
}

enum Ask {
    Question(Reply<u32>),
    Answer,
}

impl Actor for Asks {
    type Message = Ask;

    async fn handle_message(&mut self, _: &mut Context<Ask>, ask: Ask) -> Result {
        match (ask, &self.next) {
            (Ask::Question(reply), Some(next)) => {
                reply.send(next.call(Ask::Question).await? + 1);
            }
            (Ask::Question(reply), None) => self.held.push(reply),
            (Ask::Answer, _) => self.held.drain(..).for_each(|reply| reply.send(1)),
        }
        Ok(())
    }
}

#[test]
fn v12_a_chain_of_calls_is_a_chain_of_waits_until_it_is_answered() {
    for sim in simulations(3) {
        let mut chain: Vec<Address<Ask>> = Vec::new();
        for _ in 0..10 {
            let next = chain.last().cloned();
            let asks = move || Asks { next, held: Vec::new() };
            chain.push(sim.spawn(asks).start().unwrap());
        }
        chain.reverse();
        let view = sim.view();
        let mut answer = Box::pin(chain[0].call(Ask::Question).into_future());
        assert!(crate::support::poll_once(&mut answer).is_pending());
        sim.run_until_idle();
        for (one, next) in chain.iter().zip(&chain[1..]) {
            let wait = Some(Wait::new(next.pid(), WaitKind::Call));
            assert_eq!(view.sample(one.pid()).unwrap().waits, wait);
            assert_eq!(one.info().waits, wait);
        }
        assert_eq!(chain[9].info().waits, None);
        chain[9].send(Ask::Answer).unwrap();
        sim.run_until_idle();
        assert!(chain.iter().all(|one| one.info().waits.is_none()));
        assert_eq!(crate::support::poll_once(&mut answer), Poll::Ready(Ok(10)));
        assert_eq!(sim.now().as_nanos(), 0, "no call has timed out");
    }
}

#[test]
fn v12_processes_that_wait_for_room_are_seen_with_the_one_that_has_none() {
    for sim in simulations(3) {
        let full = sim.spawn(waits).mailbox(1).start().unwrap();
        sim.run_until_idle();
        full.suspend().wait().unwrap();
        full.send(0).unwrap();
        let senders: Vec<_> = [None, Some(SECOND)]
            .map(|timeout| {
                let to = full.clone();
                let sends = move || {
                    behavior_fn(move |mut ctx: Context<u32>| async move {
                        ctx.initialised();
                        match timeout {
                            None => to.send_or_wait(1).await?,
                            Some(limit) => to.send_or_wait(2).timeout(limit).await?,
                        }
                        ctx.receive().await;
                        Ok(())
                    })
                };
                sim.spawn(sends).start().unwrap()
            })
            .into();
        sim.run_until_idle();
        let wait = Wait::new(full.pid(), WaitKind::Room);
        let view = sim.view();
        for sender in &senders {
            assert_eq!(sender.info().waits, Some(wait));
            assert_eq!(view.sample(sender.pid()).unwrap().waits, Some(wait));
        }
        assert_eq!(full.info().room_waiters, 2);
        full.resume();
        while sim.step().is_some() {
            for info in senders.iter().map(Address::info) {
                let is_blocked = info.state == ProcessState::Waiting;
                assert_eq!(
                    info.waits.is_some(),
                    is_blocked,
                    "one that can go on waits for nothing: {info:?}"
                );
            }
        }
        assert!(senders.iter().all(|sender| sender.info().waits.is_none()));
        assert_eq!((full.info().room_waiters, full.info().handled > 3), (0, true));
        assert_eq!(
            (wait.kind.to_string(), WaitKind::Call.to_string()),
            ("room".into(), "call".into())
        );
    }
}

#[test]
fn v12_a_wait_for_room_closes_no_cycle_of_calls() {
    // One waits for room at the other, and the other calls it: no deadlock is reported.
    let sim = Simulation::new(1);
    let full = sim.spawn(|| Asks { next: None, held: Vec::new() }).mailbox(1).start().unwrap();
    sim.run_until_idle();
    full.suspend().wait().unwrap();
    full.send(Ask::Answer).unwrap();
    let to = full.clone();
    let sender = sim
        .spawn(move || {
            behavior_fn(move |mut ctx: Context<Ask>| async move {
                ctx.initialised();
                to.send_or_wait(Ask::Answer)
                    .timeout(SECOND)
                    .await
                    .map_err(SendError::without_message)?;
                Ok(())
            })
        })
        .start()
        .unwrap();
    sim.run_until_idle();
    assert_eq!(sender.info().waits.map(|wait| wait.on), Some(full.pid()));
    let outcome = asks(&sim, &full, &sender);
    assert!(matches!(outcome, Err(CallError::Terminated { .. })), "{outcome:?}");
}

/// What `asked` says to a process that `full` would have to serve first.
fn asks(sim: &Simulation, full: &Address<Ask>, asked: &Address<Ask>) -> Result<u32, CallError> {
    let next = Some(asked.clone());
    let caller = sim.spawn(move || Asks { next, held: Vec::new() }).start().unwrap();
    let mut answer = Box::pin(caller.call(Ask::Question).into_future());
    assert!(crate::support::poll_once(&mut answer).is_pending());
    sim.run_until_idle();
    assert_eq!(caller.info().waits.map(|wait| wait.on), Some(asked.pid()));
    let _ = full;
    sim.advance(SECOND);
    match crate::support::poll_once(&mut answer) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("the sender has ended, and so has its call"),
    }
}

/// A worker that never finishes.
struct Hangs;

impl Actor for Hangs {
    type Message = u32;

    async fn handle_message(&mut self, _: &mut Context<u32>, _: u32) -> Result {
        std::future::pending().await
    }
}

#[test]
fn v14_the_gauges_of_a_full_pool_say_so_and_count_what_senders_had_back() {
    for sim in simulations(2) {
        let pool = sim.spawn(|| Pool::new(4, || Hangs).mailbox(20)).name("pool").wait().unwrap();
        let send = |count: u32| (0..count).filter(|job| pool.send(*job).is_err()).count();
        assert_eq!(send(80), 0);
        sim.run_until_idle();
        assert_eq!(send(4), 0);
        let refused = send(84);
        assert_eq!(refused, 84);
        let waiter = pool.clone();
        let waits = sim
            .spawn(move || {
                behavior_fn(move |mut ctx: Context<u32>| async move {
                    ctx.initialised();
                    waiter.send_or_wait(1).await?;
                    Ok(())
                })
            })
            .start()
            .unwrap();
        sim.run_until_idle();
        let info = pool.info();
        let gauges = info.pool.unwrap();
        assert_eq!((info.kind, info.main, info.room_waiters), (ProcessKind::Pool, 80, 1));
        assert_eq!((gauges.capacity, gauges.waiting, gauges.room_waiters), (Some(80), 80, 1));
        assert_eq!((gauges.size, gauges.places, gauges.workers), (4, 4, 4));
        assert_eq!((gauges.forwarded, gauges.unhandled), (84, 84));
        assert_eq!((gauges.worker_behavior.to_string(), gauges.draining), ("Hangs".into(), false));
        assert_eq!(gauges.members, pool.workers().wait().unwrap());
        assert_eq!(waits.info().waits, Some(Wait::new(pool.pid(), WaitKind::Room)));
        let worker = sim.process_info(gauges.members[0]).unwrap();
        assert_eq!((worker.main, worker.room_waiters, worker.pool), (20, 0, None));
        // The gauges need no turn of the pool, and outlive a replacement of a worker.
        sim.suspend(pool.pid()).wait().unwrap();
        let suspended = pool.info().pool.unwrap();
        assert_eq!((suspended.waiting, suspended.restarts), (80, 0));
        sim.resume(pool.pid());
        sim.kill(gauges.members[1]);
        sim.run_until_idle();
        let after = pool.info().pool.unwrap();
        assert_eq!((after.restarts, after.workers), (1, 4));
        assert!(!after.members.contains(&gauges.members[1]));
    }
}

#[test]
fn v23_a_walk_over_processes_that_come_and_go_misses_none_that_stays() {
    for sim in simulations(3) {
        let stays: Vec<_> = (0..3000).map(|_| sim.spawn(waits).start().unwrap().pid()).collect();
        let goes: Vec<_> = (0..3000).map(|_| sim.spawn(waits).start().unwrap().pid()).collect();
        sim.run_until_idle();
        let view = sim.view();
        let (mut walk, mut seen, mut next) = (Walk::new(), Vec::new(), 0);
        while let Some(step) = view.walk(&mut walk) {
            seen.extend(step.iter().map(|sample| sample.pid));
            for pid in goes.iter().skip(next).take(100) {
                sim.kill(*pid);
            }
            next += 100;
            (0..100).for_each(|_| drop(sim.spawn(waits).start().unwrap()));
            sim.run_until_idle();
        }
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), count, "a process is seen once");
        assert!(stays.iter().all(|pid| seen.binary_search(pid).is_ok()));
    }
}

#[test]
fn v23_a_process_that_has_ended_has_no_numbers() {
    let sim = Simulation::new(1);
    let process = sim.spawn(waits).start().unwrap();
    let view = process.info();
    assert_eq!(
        (view.state, sim.view().sample(process.pid()).is_some()),
        (ProcessState::Init, true)
    );
    sim.kill(process.pid());
    sim.run_until_idle();
    assert_eq!(process.info().state, ProcessState::Terminated);
    assert_eq!(sim.view().sample(process.pid()), None);
    assert!(walked(&sim.view()).0.is_empty());
}

/// Looks at its receiver when it is dropped.
struct LooksOnDrop(NodeView, Pid, mpsc::Sender<Option<ProcessState>>);

impl Drop for LooksOnDrop {
    fn drop(&mut self) {
        let seen = self.0.sample(self.1).map(|sample| sample.state);
        self.2.send(seen).unwrap();
    }
}

#[test]
fn v23_what_is_dropped_at_the_end_of_a_process_finds_no_numbers_of_it() {
    let sim = Simulation::new(1);
    let idles = || {
        behavior_fn(|mut ctx: Context<LooksOnDrop>| async move {
            ctx.receive().await;
            Ok(())
        })
    };
    let process = sim.spawn(idles).start().unwrap();
    sim.run_until_idle();
    let (saw, seen) = mpsc::channel();
    process.suspend().wait().unwrap();
    process.send(LooksOnDrop(sim.view(), process.pid(), saw)).unwrap();
    sim.kill(process.pid());
    sim.run_until_idle();
    assert_eq!(seen.try_recv(), Ok(None));
}

#[test]
fn v24_a_process_shows_the_label_that_it_gives_itself_as_it_is() {
    let sim = Simulation::new(1);
    let process = puppet(&sim, "labelled", &Log::new());
    let label = || process.info().label.map(|label| label.as_str().to_owned());
    assert_eq!(label(), None);
    let texts = ["order 7", "\u{0}\n\"<script>\u{202e}", &"x".repeat(255)].map(str::to_owned);
    for text in texts {
        let given = text.clone();
        process.tells(move |ctx| ctx.set_label(given).unwrap());
        sim.run_until_idle();
        assert_eq!(label(), Some(text));
    }
    process.tells(|ctx| {
        assert_eq!(ctx.set_label("x".repeat(256)), Err(NameError::TooLong { bytes: 256 }));
        assert_eq!(ctx.set_label(""), Err(NameError::Empty));
    });
    sim.run_until_idle();
    assert_eq!(label(), Some("x".repeat(255)), "a label that is not valid changes nothing");
    process.tells(Context::clear_label);
    sim.run_until_idle();
    assert_eq!(label(), None);
    let behavior = process.info().behavior;
    process.tells(|ctx| ctx.set_label("mine").unwrap());
    sim.run_until_idle();
    assert_eq!((process.info().behavior, label()), (behavior, Some("mine".to_owned())));
}

#[test]
fn v7_each_behavior_has_its_kind() {
    use ProcessKind::{
        Actor, Connection, Grains as Keeper, Pool as PoolKind, Process, Stateful, Step,
    };
    let sim = Simulation::new(1);
    let kind = |pid: Pid| sim.process_info(pid).unwrap().kind;
    let bare = sim.spawn(waits).start().unwrap().pid();
    let actor = sim.spawn(|| Hangs).start().unwrap().pid();
    let in_place = sim.spawn(|| InPlace::new(|| Hangs)).start().unwrap().pid();
    let supervisor = sim.spawn(Supervisor::one_for_one).start().unwrap().pid();
    let pool = sim.spawn(|| Pool::new(1, || Hangs)).start().unwrap().pid();
    let grains = sim.spawn(|| Grains::new(|_: &u32| Hangs)).start().unwrap();
    sim.run_until_idle();
    grains.send_to(1, 1).unwrap();
    sim.run_until_idle();
    let grain = *sim.processes().last().unwrap();
    let kinds = [bare, actor, in_place, supervisor, pool, grains.pid(), grain].map(kind);
    let supervisor = ProcessKind::Supervisor;
    assert_eq!(kinds, [Process, Actor, Actor, supervisor, PoolKind, Keeper, Actor]);
    let printed = [Process, Actor, supervisor, PoolKind, Stateful, Step, Keeper, Connection];
    let called =
        ["process", "actor", "supervisor", "pool", "stateful", "step", "grains", "connection"];
    assert_eq!(printed.map(|kind| kind.to_string()), called);
}

/// What is kept over an await has room in every process: a value too many there is a tenth of all memory of idle actors.
#[test]
fn v7_an_idle_actor_takes_as_many_bytes_as_it_should() {
    struct Sum(u64);
    impl Actor for Sum {
        type Message = u64;
        async fn handle_message(&mut self, _: &mut Context<u64>, number: u64) -> Result {
            self.0 += number;
            Ok(())
        }
    }
    let sim = Simulation::new(1);
    let sum = sim.spawn(|| Sum(0)).wait().unwrap();
    let bytes = sum.info().shallow_bytes;
    assert!(bytes <= 344, "{bytes} bytes: its cell had 224, its future 120");
}

#[test]
fn v7_a_description_tells_types_bytes_and_whether_there_is_a_tracer() {
    let sim = Simulation::new(1);
    let small = sim.spawn(waits).start().unwrap();
    sim.run_until_idle();
    let info = small.info();
    assert_eq!((info.message_type, info.command_type), ("u32", "u32"));
    assert_eq!((info.traced, info.recorded), (false, 0));
    let idle = info.shallow_bytes;
    assert!((100..10_000).contains(&idle), "{idle} bytes");
    let held = sim
        .spawn(|| {
            behavior_fn(|mut ctx: Context<u32>| async move {
                let held = [0_u8; 5000];
                ctx.receive().await;
                std::hint::black_box(&held);
                Ok(())
            })
        })
        .start()
        .unwrap();
    let more = held.info().shallow_bytes;
    assert!((idle + 4500..idle + 6000).contains(&more), "{more} bytes, not 5000 more than {idle}");
    small.suspend().wait().unwrap();
    (0..1000).for_each(|number| small.send(number).unwrap());
    let full = small.info().shallow_bytes;
    assert!(full > idle + 1000 * size_of::<u32>(), "{full} bytes with 1000 messages");
    small.resume();
    small.trace(|_| {});
    sim.run_until_idle();
    assert!(small.info().traced);
    small.stop_trace();
    assert!(!small.info().traced);
    small.trace(|_| panic!("a tracer"));
    small.send(1).unwrap();
    sim.run_until_idle();
    assert!(!small.info().traced, "a tracer that has panicked is removed");
}
