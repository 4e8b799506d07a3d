//! Bad input: rule B1. Every misuse is a typed error that names what was wrong; none
//! panics, none leaves half a change.

use crate::support::{Act, Does, Log, Puppet, boom, puppet};
use krarup::behavior::{Received, behavior_fn};
use krarup::dispatcher::DispatcherOptions;
use krarup::pool::PoolError;
use krarup::prelude::*;
use krarup::testing::{Fault, Faults};
use krarup::{CannotWait, NameError, NodeError, ParsePidError, ParseRefError, Ref, StopError};
use std::time::Duration;

/// Spawns nothing: what is left behind by a refused operation.
fn left(node: &Node) -> (usize, usize, usize, u64) {
    let stats = node.stats();
    (stats.processes, stats.names, stats.timers, stats.spawned)
}

fn quiet() -> Puppet {
    Puppet::new("quiet", &Log::new())
}

#[test]
fn b1_an_invalid_spawn_is_a_typed_error_and_leaves_nothing() {
    let sim = Simulation::new(1);
    let taken = sim.spawn(quiet).name("taken").wait().unwrap();
    let before = left(&sim);
    let name_taken =
        SpawnError::NameTaken { name: krarup::Name::new("taken").unwrap(), by: taken.pid() };
    let too_long = SpawnError::InvalidName(NameError::TooLong { bytes: 300 });
    let spawn = || sim.spawn(quiet);
    let cases = [
        (spawn().name("taken"), name_taken, "taken"),
        (spawn().name(""), SpawnError::InvalidName(NameError::Empty), "empty"),
        (spawn().name("x".repeat(300)), too_long, "300"),
        (spawn().mailbox(0), SpawnError::ZeroMailbox, "0"),
        (spawn().name("new").mailbox(0), SpawnError::ZeroMailbox, "mailbox"),
        (
            spawn().name("new").dispatcher("nowhere"),
            SpawnError::UnknownDispatcher("nowhere".into()),
            "nowhere",
        ),
    ];
    for (spawn, error, names) in cases {
        let came = spawn.start().unwrap_err();
        assert_eq!(came, error);
        assert!(came.to_string().contains(names), "{came}");
        sim.run_until_idle();
        assert_eq!(left(&sim), before, "{came}");
    }
    // The name of a spawn that was refused is free.
    assert!(sim.spawn(quiet).name("new").wait().is_ok());
}

#[test]
fn b1_an_init_timeout_of_zero_is_a_timeout_and_an_endless_one_is_none() {
    let sim = Simulation::new(1);
    let slow = || {
        behavior_fn(|mut ctx: Context<()>| async move {
            ctx.sleep(Duration::from_secs(1)).await;
            ctx.receive().await;
            Ok(())
        })
    };
    let error = sim.spawn(slow).init_timeout(Duration::ZERO).wait().unwrap_err();
    assert_eq!(error, SpawnError::Timeout(Duration::ZERO));
    assert!(sim.spawn(slow).init_timeout(Duration::MAX).wait().is_ok());
    assert_eq!((left(&sim).0, left(&sim).2), (1, 0));
}

#[test]
fn b1_an_invalid_node_is_a_typed_error() {
    let options = DispatcherOptions::new;
    let node = |name: &str| Node::builder(name).workers(1);
    let cases = [
        (node(""), "empty"),
        (node(&"n".repeat(256)), "256"),
        (node("n").workers(0), "0 workers"),
        (node("n").workers(1_000_000), "1000000"),
        (node("n").options(options().throughput(0)), "throughput"),
        (node("n").dispatcher("io", options().workers(0)), "\"io\""),
        (node("n").dispatcher("io", options().throughput(0)), "\"io\""),
        (node("n").dispatcher("io", options().stack_size(0)), "0 bytes"),
        (node("n").options(options().stack_size(usize::MAX)), "bytes"),
        (node("n").dispatcher("io", options().long_turn(Duration::ZERO)), "\"io\""),
        (node("n").dispatcher("io", options().throughput_deadline(Duration::ZERO)), "\"io\""),
        (node("n").dispatcher("default", options()), "\"default\""),
        (node("n").dispatcher("io", options()).dispatcher("io", options()), "\"io\""),
    ];
    for (builder, names) in cases {
        let error: NodeError = builder.start().unwrap_err();
        assert!(error.to_string().contains(names), "{error}");
    }
}

const TIMES: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_nanos(1),
    Duration::from_secs(1),
    Duration::from_secs(u64::MAX),
    Duration::from_nanos(u64::MAX),
    Duration::MAX,
];

fn echo() -> impl krarup::behavior::Behavior<Message = Reply<u32>> {
    behavior_fn(|mut ctx: Context<Reply<u32>>| async move {
        ctx.initialised();
        while let Received::Message(reply) = ctx.receive().await {
            reply.send(7);
        }
        Ok(())
    })
}

#[test]
fn b1_a_node_with_any_numbers_and_times_works_or_is_refused() {
    let options = || DispatcherOptions::new().workers(1);
    let mut cases = Vec::new();
    for time in TIMES {
        let ok = !time.is_zero();
        cases.push((options().throughput_deadline(time), ok));
        cases.push((options().long_turn(time), ok));
        cases.push((DispatcherOptions::pinned().long_turn(time).throughput_deadline(time), ok));
        let calling = DispatcherOptions::calling_thread().throughput_deadline(time);
        cases.push((calling, ok));
    }
    for number in [0, 1, u32::MAX] {
        cases.push((options().throughput(number), number > 0));
    }
    for number in [0, 1, usize::MAX] {
        cases.push((options().spare_workers(number), true));
        cases.push((options().stack_size(number), false));
        cases.push((options().workers(number), number == 1));
    }
    for bytes in [(64 << 10) - 1, 64 << 10, (1 << 30) + 1] {
        cases.push((options().stack_size(bytes), bytes == 64 << 10));
    }
    for (options, ok) in cases {
        let shown = format!("{options:?}");
        let builder = Node::builder("any").workers(1).dispatcher("own", options);
        let Ok(node) = builder.start() else {
            assert!(!ok, "{shown}");
            continue;
        };
        assert!(ok, "{shown}");
        let process = node.spawn(echo).dispatcher("own").start().unwrap();
        assert_eq!(process.call(|reply| reply).wait(), Ok(7), "{shown}");
        node.stop().wait().unwrap();
    }
    for threads in [0, 1, 16_384, 16_385, usize::MAX] {
        let node = Node::builder("any").workers(1).blocking_threads(threads).start();
        assert_eq!(node.is_ok(), (1..=16_384).contains(&threads), "{threads}");
    }
    for time in TIMES {
        let node = Node::builder("any").workers(1).stop_timeout(time).start().unwrap();
        node.spawn(echo).wait().unwrap();
        node.stop().wait().unwrap();
    }
}

#[test]
fn b1_timers_calls_and_stops_of_any_length_work() {
    for time in TIMES {
        let sim = Simulation::new(1);
        let log = Log::new();
        let process = puppet(&sim, "p", &log);
        let noted = log.clone();
        process.tells(move |ctx| {
            let timers = [
                ctx.send_after(time, Act::nothing()),
                ctx.send_interval(time, Act::nothing),
                ctx.exit_after(time, Pid::local(77, 0), boom()),
            ];
            for timer in timers {
                let left = ctx.remaining(timer).expect("it is set");
                noted.note(left <= time.max(Duration::from_millis(1)));
                ctx.cancel(timer);
            }
            ctx.send_after(time, Act::nothing());
            ctx.set_idle_timeout(Some(time));
            noted.note(ctx.take_batch(0).len() + ctx.take_batch(usize::MAX).len());
        });
        sim.advance(Duration::from_millis(1));
        assert_eq!(log.take()[..4], ["true", "true", "true", "0"]);
        process.tells(move |ctx| {
            ctx.set_idle_timeout(None);
            ctx.passivate_after(Some(time));
        });
        sim.advance(Duration::from_secs(2));
        assert_eq!(process.is_alive(), time > Duration::from_secs(2), "{time:?}");
        let sleeper = behavior_fn(move |ctx: Context<()>| async move {
            ctx.sleep(time).await;
            Ok(())
        });
        let sleeper = sim.spawn(move || sleeper).start().unwrap();
        sim.advance(Duration::from_secs(2));
        assert_eq!(sleeper.is_alive(), time > Duration::from_secs(2), "{time:?}");
        let answers = sim.spawn(echo).start().unwrap();
        let call = answers.call(|reply| reply).timeout(time).wait();
        assert_eq!(call.is_ok(), !time.is_zero(), "{time:?}: {call:?}");
        let spawn = sim.spawn(echo).init_timeout(time).kill_grace(time).wait();
        assert_eq!(spawn.is_ok(), !time.is_zero(), "{time:?}");
        let stop = answers.stop().timeout(time).wait();
        assert_eq!(stop.is_ok(), !time.is_zero(), "{time:?}: {stop:?}");
        // To the end of time, and not beyond.
        sim.advance(time);
        sim.advance(time);
        sim.stop().timeout(time).wait().unwrap();
        assert_eq!((sim.stats().processes, sim.stats().timers), (0, 0), "{time:?}");
    }
}

#[test]
fn b1_a_simulation_with_any_numbers_works() {
    for number in [0, 1, u32::MAX] {
        for time in TIMES {
            let sim = Simulation::with_throughput(u64::MAX, number);
            let log = Log::new();
            let faults = Faults::new()
                .delay_one_in(number, time)
                .fill_one_in(number, time)
                .at_step(u64::MAX, Fault::Kill, "nobody")
                .at_step(0, Fault::Delay(time), "nobody")
                .at_most(u64::from(number));
            sim.faults(faults);
            let process = puppet(&sim, "p", &log);
            process.tells(|_| {});
            sim.run_until_idle();
            assert!(sim.last_steps().last(usize::MAX).len() >= sim.last_steps().last(0).len());
        }
    }
}

#[test]
fn b1_an_invalid_pool_fails_its_spawn_with_the_error() {
    let sim = Simulation::new(1);
    let error = sim.spawn(|| Pool::new(0, quiet)).name("pool").wait().unwrap_err();
    let SpawnError::Init(reason) = error else { panic!("another error") };
    assert_eq!(reason.downcast_ref(), Some(&PoolError::NoWorkers));
    let error = sim.spawn(|| Pool::new(3, quiet).mailbox(0)).wait().unwrap_err();
    let SpawnError::Init(reason) = error else { panic!("another error") };
    assert_eq!(reason.downcast_ref(), Some(&PoolError::ZeroMailbox));
    // A factory or an init that fails is the pool's own failure, and no worker is left.
    let mut left_to_start = 3;
    let panics = move || {
        left_to_start -= 1;
        assert!(left_to_start > 0, "no more");
        quiet()
    };
    let panics = std::sync::Mutex::new(panics);
    let frail = move || (panics.lock().unwrap())();
    let error = sim.spawn(move || Pool::new(5, frail)).wait().unwrap_err();
    assert!(matches!(error, SpawnError::Init(Reason::Panic(_))), "{error}");
    sim.run_until_idle();
    assert_eq!((left(&sim).0, left(&sim).1), (0, 0));
}

#[test]
fn b1_operations_on_no_process_are_harmless() {
    let sim = Simulation::new(1);
    let node = Pid::local(0, 0);
    let unknown: Pid = "<0.77.0>".parse().unwrap();
    let remote: Pid = "<3.1.0>".parse().unwrap();
    let _first = puppet(&sim, "first", &Log::new());
    for pid in [node, unknown, remote] {
        sim.exit(pid, boom());
        sim.kill(pid);
        assert!(!sim.is_alive(pid));
        assert_eq!(sim.process_info(pid), None);
        assert_eq!(sim.inspect(pid).wait(), Err(CallError::NoProcess { to: pid }));
        let down = sim.watch(pid).wait().unwrap().reason;
        let sent = sim.send(pid, 1_u8).unwrap_err();
        if pid == remote {
            assert_eq!(down, Reason::NoConnection);
            assert!(matches!(sent, SendError::NoConnection { .. }), "{sent}");
        } else {
            assert_eq!(down, Reason::NoProcess);
            assert!(matches!(sent, SendError::NoProcess { .. }), "{sent}");
        }
        assert!(sim.address_of::<u8, u8>(pid).is_err());
    }
    let log = Log::new();
    let process = puppet(&sim, "p", &log);
    process.tells(move |ctx| {
        for pid in [node, unknown, remote, ctx.pid()] {
            ctx.unlink(pid);
            assert!(!ctx.demonitor(Ref::new(pid.id())));
        }
        for pid in [node, unknown, remote] {
            ctx.exit(pid, Reason::Kill);
            ctx.monitor(pid);
            assert!(ctx.send(pid, 1_u8).is_err());
        }
    });
    sim.run_until_idle();
    assert!(process.is_alive());
    assert_eq!((log.count("no process"), log.count("no connection")), (2, 1));
}

#[test]
fn b1_invalid_stops_and_waits_are_typed_errors() {
    let sim = Simulation::new(1);
    let never = behavior_fn(|mut ctx: Context<()>| async move {
        ctx.stop_in_order();
        ctx.initialised();
        std::future::pending::<()>().await;
        Ok(())
    });
    let never = sim.spawn(move || never).wait().unwrap();
    let limit = Duration::from_secs(1);
    assert_eq!(
        never.stop().timeout(limit).wait(),
        Err(StopError::Timeout { pid: never.pid(), limit })
    );
    assert_eq!(
        never.stop().timeout(Duration::ZERO).wait(),
        Err(StopError::Timeout { pid: never.pid(), limit: Duration::ZERO })
    );
    assert!(never.is_alive(), "a stop that is given up does not kill");
    // Nothing is left to do, so what is waited for can never come.
    assert_eq!(never.stop().wait(), Err(StopError::CannotWait(CannotWait::Stalled)));
    assert_eq!(never.watch().wait(), Err(CannotWait::Stalled));
    assert_eq!(sim.process_info(never.pid()).unwrap().monitored_by, 0);
    sim.kill(never.pid());
    sim.run_until_idle();
    assert_eq!(never.stop().wait(), Err(StopError::NoProcess(never.pid())));
    assert_eq!(sim.stats().timers, 0);
}

#[test]
fn b1_a_call_that_can_never_be_answered_is_reported_as_a_stall() {
    let sim = Simulation::new(1);
    let never = behavior_fn(|mut ctx: Context<Reply<()>>| async move {
        let _kept = ctx.receive().await;
        std::future::pending::<()>().await;
        Ok(())
    });
    let never = sim.spawn(move || never).start().unwrap();
    assert_eq!(
        never.call(|reply| reply).no_timeout().wait(),
        Err(CallError::CannotWait(CannotWait::Stalled))
    );
    let init = || {
        behavior_fn(|ctx: Context<()>| async move {
            let _kept = ctx;
            std::future::pending::<()>().await;
            Ok(())
        })
    };
    assert_eq!(sim.spawn(init).wait().unwrap_err(), SpawnError::CannotWait(CannotWait::Stalled));
}

#[test]
fn b1_a_process_has_one_name_and_gives_it_up_once() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let process = puppet(&sim, "p", &log);
    let other = sim.spawn(quiet).name("other").wait().unwrap();
    let noted = log.clone();
    process.tells(move |ctx| {
        let long = "x".repeat(256);
        for name in ["", &long, "other"] {
            noted.note(ctx.register(name).unwrap_err());
            assert_eq!(ctx.whereis(name).filter(|pid| *pid == ctx.pid()), None);
        }
        assert!(ctx.register("mine").is_ok());
        for name in ["mine", "second"] {
            noted.note(ctx.register(name).unwrap_err());
        }
        assert_eq!(ctx.whereis("second"), None);
        assert_eq!(ctx.unregister("nobody"), None);
        assert_eq!(ctx.unregister("mine"), Some(ctx.pid()));
        assert_eq!(ctx.unregister("mine"), None);
        // Anybody's name, as in Erlang.
        assert_eq!(ctx.unregister("other"), Some(other.pid()));
        assert!(ctx.register("other").is_ok());
    });
    sim.run_until_idle();
    let errors = log.take();
    assert_eq!(errors.len(), 5);
    let named = ["empty", "256", "other", "mine", "mine"];
    assert!(errors.iter().zip(named).all(|(error, name)| error.contains(name)), "{errors:?}");
    assert_eq!(sim.whereis("other"), Some(process.pid()));
    assert_eq!(sim.stats().names, 1);
    process.dies(Reason::Normal);
    sim.run_until_idle();
    assert_eq!(sim.stats().names, 0);
}

#[test]
fn b1_parsing_an_invalid_pid_or_reference_is_an_error() {
    let error: ParsePidError = "pid".parse::<Pid>().unwrap_err();
    assert!(error.to_string().contains("\"pid\""));
    let error: ParseRefError = "#Ref<>".parse::<Ref>().unwrap_err();
    assert!(error.to_string().contains("#Ref<>"));
}

#[test]
fn b1_errors_are_small_sentences_in_lower_case_without_a_full_stop() {
    let to = Pid::local(7, 0);
    let texts = [
        SpawnError::ZeroMailbox.to_string(),
        SpawnError::NodeStopping.to_string(),
        SpawnError::UnknownDispatcher("x".into()).to_string(),
        SpawnError::CannotWait(CannotWait::InProcess).to_string(),
        SpawnError::Timeout(Duration::from_secs(1)).to_string(),
        CallError::Timeout { to, limit: Duration::from_secs(1) }.to_string(),
        CallError::NoReply { to }.to_string(),
        CallError::Terminated { to, reason: boom() }.to_string(),
        CallError::Full { to }.to_string(),
        CallError::NoWorkers { to }.to_string(),
        CallError::NoProcess { to }.to_string(),
        StopError::NoProcess(to).to_string(),
        StopError::Other { pid: to, reason: boom() }.to_string(),
        SendError::Full { message: (), to }.to_string(),
        SendError::NoProcess { message: (), to }.to_string(),
        PoolError::NoWorkers.to_string(),
        NameError::Empty.to_string(),
    ];
    for text in &texts {
        // A text begins with a word or a pid.
        assert!(text.starts_with(|first: char| first.is_lowercase() || first == '<'), "{text}");
        assert!(!text.ends_with('.') && text.len() < 100, "{text}");
    }
}

#[test]
fn b1_a_message_that_is_refused_is_dropped_by_its_owner_alone() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let full = sim.spawn(quiet).mailbox(1).wait().unwrap();
    assert!(full.tells(|_| {}));
    let guard = crate::support::Guard::new(&log, "message");
    let refused = full.send(Act::new(move |_| {
        drop(guard);
        Ok(())
    }));
    assert_eq!(log.lines(), Vec::<String>::new());
    let act = refused.unwrap_err().into_message();
    sim.run_until_idle();
    full.send(act).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["message"]);
}
