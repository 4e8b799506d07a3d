//! Life and death: rules D1 to D9.

use crate::support::{
    Act, Does, Guard, Log, boom, on_wake, poll_once, poll_with, puppet, simulations,
};
use krarup::StopError;
use krarup::behavior::{Received, behavior_fn};
use krarup::observe::{ProcessState, TraceContext};
use krarup::prelude::*;
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

/// Where it fails, and how.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Init,
    Message,
    Down,
    Exit,
    Inspect,
    Terminate,
    Drop,
}

/// Panics in one of its callbacks, and notes what else happens to it.
struct PanickingActor {
    at: At,
    log: Log,
}

impl PanickingActor {
    fn maybe(&self, at: At) {
        assert!(self.at != at, "planned");
    }
}

impl Actor for PanickingActor {
    type Message = Pid;

    async fn init(&mut self, ctx: &mut Context<Pid>) -> Result {
        ctx.trap_exits(true);
        self.maybe(At::Init);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Pid>, other: Pid) -> Result {
        self.maybe(At::Message);
        ctx.monitor(other);
        ctx.link(other);
        Ok(())
    }

    async fn handle_down(&mut self, _: &mut Context<Pid>, _: Down) -> Result {
        self.maybe(At::Down);
        Ok(())
    }

    async fn handle_exit(&mut self, _: &mut Context<Pid>, _: Exit) -> Result {
        self.maybe(At::Exit);
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        self.maybe(At::Inspect);
        Inspection::new()
    }

    async fn terminate(&mut self, _: &mut Context<Pid>, reason: &Reason) {
        self.log.note(format!("terminate {}", matches!(reason, Reason::Panic(_))));
        self.maybe(At::Terminate);
    }
}

impl Drop for PanickingActor {
    fn drop(&mut self) {
        self.log.note("drop");
        self.maybe(At::Drop);
    }
}

#[test]
fn d1_the_factory_init_handlers_and_terminate_run_inside_the_process() {
    struct Looks(Log);
    impl Looks {
        fn look(&self, place: &str) {
            self.0.note(format!("{place} {}", krarup::behavior::is_in_process()));
        }
    }
    impl Actor for Looks {
        type Message = ();
        async fn init(&mut self, _: &mut Context<()>) -> Result {
            self.look("init");
            Ok(())
        }
        async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
            self.look("message");
            ctx.stop();
            Ok(())
        }
        async fn terminate(&mut self, _: &mut Context<()>, _: &Reason) {
            self.look("terminate");
        }
    }
    impl Drop for Looks {
        fn drop(&mut self) {
            self.look("drop");
        }
    }
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let process = sim
        .spawn(move || {
            noted.note(format!("factory {}", krarup::behavior::is_in_process()));
            Looks(noted)
        })
        .start()
        .unwrap();
    assert_eq!(log.lines(), Vec::<String>::new(), "nothing runs on the spawner's thread");
    process.send(()).unwrap();
    sim.run_until_idle();
    let places = ["factory", "init", "message", "terminate", "drop"];
    assert_eq!(log.take(), places.map(|place| format!("{place} true")));
}

#[test]
fn d1_a_panicking_factory_ends_the_process_and_not_the_spawner() {
    let sim = Simulation::new(1);
    let error = sim.spawn(|| -> PanickingActor { panic!("no state") }).wait().unwrap_err();
    let SpawnError::Init(Reason::Panic(panic)) = error else { panic!("another error") };
    assert_eq!(panic.message(), "no state");
    assert!(panic.location().unwrap().contains("life.rs"));
    // In a process that spawns and links it is the same error, and no more.
    let log = Log::new();
    let noted = log.clone();
    let parent = behavior_fn(move |mut ctx: Context<()>| async move {
        let child = ctx.spawn(|| -> PanickingActor { panic!("no state") }).link().await;
        noted.note(child.is_err());
        ctx.receive().await;
        Ok(())
    });
    let parent = sim.spawn(move || parent).start().unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["true"]);
    assert!(parent.is_alive());
}

#[test]
fn d2_a_spawn_that_is_waited_for_returns_after_init() {
    struct Slow(Log);
    impl Actor for Slow {
        type Message = ();
        async fn init(&mut self, ctx: &mut Context<()>) -> Result {
            ctx.sleep(Duration::from_secs(3)).await;
            self.0.note("init");
            Ok(())
        }
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Ok(())
        }
    }
    for sim in simulations(10) {
        let log = Log::new();
        let noted = log.clone();
        let started = sim.spawn(move || Slow(noted)).wait().unwrap();
        assert!(started.is_alive());
        assert_eq!(log.take(), ["init"]);
        assert_eq!(sim.now().as_nanos(), 3_000_000_000);
    }
}

#[test]
fn d2_a_failed_init_is_an_error_with_its_reason_and_runs_no_terminate() {
    struct Fails(Log);
    impl Actor for Fails {
        type Message = ();
        async fn init(&mut self, _: &mut Context<()>) -> Result {
            Err(boom())
        }
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Ok(())
        }
        async fn terminate(&mut self, _: &mut Context<()>, _: &Reason) {
            self.0.note("terminate");
        }
    }
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let error = sim.spawn(move || Fails(noted)).wait().unwrap_err();
    assert_eq!(error, SpawnError::Init(boom()));
    let noted = log.clone();
    let error = sim.spawn(|| PanickingActor { at: At::Init, log: noted }).wait().unwrap_err();
    assert!(matches!(error, SpawnError::Init(Reason::Panic(_))), "{error}");
    assert_eq!(log.take(), ["drop"]);
    assert_eq!(sim.stats().processes, 0);
}

#[test]
fn d2_a_process_killed_in_init_fails_its_spawn() {
    for sim in simulations(20) {
        let slow = behavior_fn(|ctx: Context<()>| async move {
            ctx.sleep(Duration::from_secs(9)).await;
            Ok(())
        });
        let mut spawn = sim.spawn(move || slow).name("slow").into_future();
        assert!(poll_once(&mut spawn).is_pending());
        sim.run_until_idle();
        sim.kill(sim.whereis("slow").unwrap());
        sim.run_until_idle();
        let Poll::Ready(Err(error)) = poll_once(&mut spawn) else { panic!("still waiting") };
        assert_eq!(error, SpawnError::Init(Reason::Killed));
    }
}

/// Such a process will neither receive nor call `initialised`.
#[test]
fn d2_a_process_that_drops_its_context_has_started() {
    for sim in simulations(20) {
        let works = |ctx: Context<()>| async move {
            drop(ctx);
            std::future::pending().await
        };
        let process = sim.spawn(move || behavior_fn(works)).wait().unwrap();
        sim.run_until_idle();
        assert!(process.is_alive());
        assert_ne!(process.info().state, ProcessState::Init);

        // The context is dropped when the process has already parked, by another process.
        let (give, taken) = std::sync::mpsc::channel();
        let gives = move |ctx: Context<()>| async move {
            let _ = give.send(ctx);
            std::future::pending().await
        };
        let mut spawn = sim.spawn(move || behavior_fn(gives)).into_future();
        assert!(poll_once(&mut spawn).is_pending());
        sim.run_until_idle();
        assert!(poll_once(&mut spawn).is_pending());
        drop(taken.recv().unwrap());
        sim.run_until_idle();
        let Poll::Ready(Ok(process)) = poll_once(&mut spawn) else { panic!("no start") };
        assert!(process.is_alive());

        // The trace context of the spawn ends with the start, as at any start.
        let (tell, told) = std::sync::mpsc::channel();
        let clock = sim.clock();
        let traced = move |ctx: Context<()>| async move {
            drop(ctx);
            for _ in 0..2 {
                tell.send(TraceContext::current().is_some()).unwrap();
                clock.sleep(Duration::from_secs(1)).await;
            }
            std::future::pending().await
        };
        let spawn = || drop(sim.spawn(move || behavior_fn(traced)).start().unwrap());
        let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        TraceContext::parse(header).unwrap().enter(spawn);
        sim.advance(Duration::from_secs(3));
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [true, false]);

        // A failure drops the context too, before it is returned; a kill does as well.
        let fails = |ctx: Context<()>| async move {
            drop(ctx);
            Err(boom())
        };
        let failed = sim.spawn(move || behavior_fn(fails)).wait().unwrap_err();
        assert_eq!(failed, SpawnError::Init(boom()));
        let panics = |_: Context<()>| async move { panic!("at once") };
        let failed = sim.spawn(move || behavior_fn(panics)).wait().unwrap_err();
        assert!(matches!(failed, SpawnError::Init(Reason::Panic(_))), "{failed}");
        let kills = |ctx: Context<()>| async move {
            ctx.exit(ctx.pid(), Reason::Kill);
            drop(ctx);
            std::future::pending().await
        };
        let failed = sim.spawn(move || behavior_fn(kills)).wait().unwrap_err();
        assert_eq!(failed, SpawnError::Init(Reason::Killed));
    }
}

#[test]
fn d3_kill_takes_effect_while_waiting() {
    for sim in simulations(20) {
        let log = Log::new();
        let guard = Guard::new(&log, "dropped");
        let process = behavior_fn(move |mut ctx: Context<()>| async move {
            let _guard = guard;
            ctx.trap_exits(true);
            ctx.stop_in_order();
            ctx.initialised();
            std::future::pending::<()>().await;
            Ok(())
        });
        let process = sim.spawn(move || process).wait().unwrap();
        let mut end = sim.watch(process.pid());
        sim.run_until_idle();
        sim.exit(process.pid(), Reason::Kill);
        sim.run_until_idle();
        assert_eq!(log.take(), ["dropped"]);
        let Poll::Ready(down) = poll_once(&mut end) else { panic!("no end") };
        assert_eq!(down.reason, Reason::Killed);
    }
}

#[test]
fn d3_kill_takes_effect_before_the_next_message_of_a_turn() {
    for sim in simulations(10) {
        let log = Log::new();
        let process = puppet(&sim, "p", &Log::new());
        for n in 0..10 {
            let (log, node) = (log.clone(), sim.node().clone());
            process.tells(move |ctx| {
                log.note(n);
                if n == 3 {
                    node.kill(ctx.pid());
                }
            });
        }
        sim.run_until_idle();
        assert_eq!(log.take(), ["0", "1", "2", "3"]);
        assert_eq!(sim.stats().dead_letters, 6);
    }
}

#[test]
fn d3_kill_ends_terminate_itself() {
    struct Lingers(#[allow(dead_code, reason = "dropped with the state")] Guard);
    impl Actor for Lingers {
        type Message = ();
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Err(boom())
        }
        async fn terminate(&mut self, _: &mut Context<()>, _: &Reason) {
            std::future::pending::<()>().await;
        }
    }
    let sim = Simulation::new(1);
    let log = Log::new();
    let guard = Guard::new(&log, "dropped");
    let process = sim.spawn(move || Lingers(guard)).wait().unwrap();
    process.send(()).unwrap();
    sim.run_until_idle();
    assert!(process.is_alive());
    sim.kill(process.pid());
    assert_eq!(sim.watch(process.pid()).wait().unwrap().reason, Reason::Killed);
    assert_eq!(log.take(), ["dropped"]);
}

#[test]
fn d4_a_panic_ends_its_process_and_nothing_else() {
    for at in [At::Message, At::Down, At::Exit, At::Inspect, At::Terminate, At::Drop] {
        for sim in simulations(10) {
            let log = Log::new();
            let noted = log.clone();
            let process = sim.spawn(move || PanickingActor { at, log: noted }).wait().unwrap();
            let bystander = puppet(&sim, "bystander", &Log::new());
            let other = puppet(&sim, "other", &Log::new());
            let mut end = sim.watch(process.pid());
            process.send(other.pid()).unwrap();
            sim.run_until_idle();
            other.dies(Reason::Normal);
            sim.run_until_idle();
            let _ = sim.inspect(process.pid()).wait();
            let _ = process.stop().wait();
            let Poll::Ready(down) = poll_once(&mut end) else { panic!("still alive") };
            let Reason::Panic(panic) = down.reason else { panic!("{}", down.reason) };
            assert_eq!(panic.message(), "planned");
            assert!(panic.location().unwrap().contains("life.rs"), "{panic}");
            // `terminate` runs once, for a panic too (D5), and the state is dropped.
            let in_handler = !matches!(at, At::Terminate | At::Drop);
            assert_eq!(log.take(), [format!("terminate {in_handler}"), "drop".to_owned()]);
            assert!(bystander.is_alive());
        }
    }
}

#[test]
fn d4_a_panicking_process_leaves_the_workers_running() {
    let node = Node::builder("d4").workers(2).start().unwrap();
    for n in 0..200 {
        let at = [At::Message, At::Terminate, At::Drop, At::Inspect][n % 4];
        let process = node.spawn(move || PanickingActor { at, log: Log::new() }).wait().unwrap();
        let _ = process.inspect().wait();
        let _ = process.send(process.pid());
        let _ = process.stop().wait();
        assert_eq!(node.watch(process.pid()).wait().unwrap().reason, Reason::NoProcess);
    }
    let (done, finished) = mpsc::channel();
    let process = behavior_fn(move |_: Context<()>| async move {
        let _ = done.send(());
        Ok(())
    });
    node.spawn(move || process).start().unwrap();
    finished.recv().unwrap();
    node.stop().wait().unwrap();
}

#[test]
fn d4_messages_that_panic_when_dropped_do_no_harm() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("message dropped");
        }
    }
    let sim = Simulation::new(1);
    let process = behavior_fn(|mut ctx: Context<Bomb>| async move {
        for seconds in 5..8 {
            ctx.send_after(Duration::from_secs(seconds), Bomb);
        }
        // Takes a batch off Main, and waits with one in hand.
        let first = ctx.receive().await;
        std::mem::forget(first);
        ctx.sleep(Duration::from_secs(60)).await;
        Ok(())
    });
    let process = sim.spawn(move || process).name("bombs").start().unwrap();
    (0..4).for_each(|_| assert!(process.send(Bomb).is_ok()));
    sim.run_until_idle();
    (0..3).for_each(|_| assert!(process.send_high(Bomb).is_ok()));
    (0..3).for_each(|_| assert!(process.send(Bomb).is_ok()));
    sim.kill(process.pid());
    sim.run_until_idle();
    let stats = sim.stats();
    assert_eq!((stats.processes, stats.names, stats.timers), (0, 0, 0));
    assert_eq!(stats.dead_letters, 9);
}

#[test]
fn d6_an_end_drops_the_state_then_the_mailbox_then_the_name_then_notifies() {
    struct Last {
        log: Log,
        node: Node,
    }
    impl Actor for Last {
        type Message = Guard;
        async fn handle_message(&mut self, ctx: &mut Context<Guard>, _: Guard) -> Result {
            ctx.stop();
            Ok(())
        }
        async fn terminate(&mut self, _: &mut Context<Guard>, _: &Reason) {
            self.log.note("terminate");
        }
    }
    impl Drop for Last {
        fn drop(&mut self) {
            self.log.note(format!("state, named {}", self.node.whereis("last").is_some()));
        }
    }
    for sim in simulations(20) {
        let log = Log::new();
        let (noted, node) = (log.clone(), sim.node().clone());
        let last = sim.spawn(move || Last { log: noted, node }).name("last").wait().unwrap();
        for line in ["message 0", "message 1", "message 2"] {
            last.send(Guard::new(&log, line)).unwrap();
        }
        let mut end = sim.watch(last.pid());
        let (noted, node) = (log.clone(), sim.node().clone());
        let waker = on_wake(move || noted.note(format!("down, {:?}", node.whereis("last"))));
        assert!(poll_with(&mut end, &waker).is_pending());
        sim.run_until_idle();
        let mut lines = log.take();
        // What was handled; `terminate`; then what it had and what it was sent; then the
        // news.
        lines[2..5].sort();
        let dropped = ["message 1", "message 2", "state, named true"];
        assert_eq!(lines[..2], ["message 0", "terminate"]);
        assert_eq!(lines[2..5], dropped);
        assert_eq!(lines[5..], ["down, None"]);
    }
}

#[test]
fn d7_messages_accepted_and_never_handled_are_dropped_and_counted() {
    for sim in simulations(20) {
        let log = Log::new();
        let process = puppet(&sim, "p", &log);
        let other = puppet(&sim, "other", &log);
        let (itself, pid) = (process.clone(), other.pid());
        let noted = log.clone();
        let mut guards: Vec<_> = (0..6).map(|_| Guard::new(&noted, "lost")).collect();
        process.does(move |ctx| {
            for lane in [Priority::Normal, Priority::High, Priority::Max] {
                for _ in 0..2 {
                    let guard = guards.pop();
                    let act = Act::new(move |_| {
                        drop(guard);
                        Ok(())
                    });
                    itself.send_with(lane, act).unwrap();
                }
            }
            // A notice is no message: it is not counted.
            ctx.monitor(pid);
            ctx.monitor("<0.999.0>".parse::<Pid>().unwrap());
            Err(boom())
        });
        sim.run_until_idle();
        assert_eq!(log.count("lost"), 6);
        assert_eq!(sim.stats().dead_letters, 6);
        assert_eq!(sim.process_info(other.pid()).unwrap().monitored_by, 0);
    }
}

#[test]
fn d9_a_process_stops_itself_now_or_after_the_message() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let (later, now) = (puppet(&sim, "later", &log), puppet(&sim, "now", &log));
    let noted = log.clone();
    later.tells(move |ctx| {
        ctx.stop();
        noted.note("goes on");
    });
    later.tells(|_| unreachable!("handled after a stop"));
    sim.run_until_idle();
    assert_eq!(log.take(), ["goes on", "later terminate normal", "later dropped"]);
    now.dies(boom());
    now.tells(|_| unreachable!("handled after the end"));
    sim.run_until_idle();
    assert_eq!(log.take(), ["now terminate boom", "now dropped"]);
}

#[test]
fn d9_a_stop_in_init_ends_the_process_once_it_has_started() {
    struct Brief(Log);
    impl Actor for Brief {
        type Message = ();
        async fn init(&mut self, ctx: &mut Context<()>) -> Result {
            ctx.stop();
            Ok(())
        }
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            unreachable!("handled after a stop")
        }
        async fn terminate(&mut self, _: &mut Context<()>, reason: &Reason) {
            self.0.note(format!("terminate {reason}"));
        }
    }
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let brief = sim.spawn(move || Brief(noted)).wait().unwrap();
    sim.run_until_idle();
    assert!(!brief.is_alive());
    assert_eq!(log.take(), ["terminate normal"]);
}

#[test]
fn d9_a_bare_process_ends_when_its_function_returns() {
    let sim = Simulation::new(1);
    let ends: [(fn() -> Result, Reason); 3] = [
        (|| Ok(()), Reason::Normal),
        (|| Err(boom()), boom()),
        (|| Err(Reason::Kill), Reason::Kill),
    ];
    for (end, reason) in ends {
        let process = behavior_fn(move |mut ctx: Context<()>| async move {
            match ctx.receive().await {
                Received::Message(()) => end(),
                _ => Ok(()),
            }
        });
        let process = sim.spawn(move || process).start().unwrap();
        process.send(()).unwrap();
        assert_eq!(sim.watch(process.pid()).wait().unwrap().reason, reason);
        assert_eq!(process.stop().wait(), Err(StopError::NoProcess(process.pid())));
    }
}
