//! Names and identity: rules N1 to N4.

use crate::support::{
    Does, Guard, Log, Puppet, asked, boom, on_wake, poll_once, poll_with, puppet, simulations,
    trapper,
};
use krarup::behavior::{BehaviorContext, Received, behavior_fn};
use krarup::mailbox::{Diverted, Overflow};
use krarup::observe::DeadLetter;
use krarup::prelude::*;
use krarup::{LookupError, Name, NameError, Ref, RegisterError};
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// Its `init` does what it is told.
struct Fails(fn() -> Result);

impl Actor for Fails {
    type Message = ();

    async fn init(&mut self, _: &mut Context<()>) -> Result {
        (self.0)()
    }

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
}

#[test]
fn n1_pids_are_never_reused_and_grow() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let mut last = None;
    for _ in 0..1_000 {
        let process = puppet(&sim, "p", &log);
        assert!(Some(process.pid()) > last, "{} after {last:?}", process.pid());
        last = Some(process.pid());
        process.dies(Reason::Normal);
        sim.run_until_idle();
        assert!(!process.is_alive());
    }
}

#[test]
fn n1_refs_are_unique_over_processes_monitors_and_timers() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let (a, b) = (puppet(&sim, "a", &log), puppet(&sim, "b", &log));
    let other = b.pid();
    for process in [&a, &b] {
        let log = log.clone();
        process.tells(move |ctx| {
            for _ in 0..500 {
                let never = crate::support::Act::nothing();
                let timer = ctx.send_after(Duration::MAX, never);
                for reference in [ctx.make_ref(), ctx.monitor(other), timer] {
                    log.note(reference);
                }
            }
        });
    }
    sim.run_until_idle();
    let refs = log.take();
    assert_eq!(refs.len(), 3_000);
    assert_eq!(refs.iter().collect::<BTreeSet<_>>().len(), 3_000);
    assert!(refs.iter().all(|text| text.parse::<Ref>().unwrap().to_string() == *text));
}

#[test]
fn n1_a_printed_pid_parses_back_to_the_same_living_process() {
    let sim = Simulation::new(1);
    let process = puppet(&sim, "p", &Log::new());
    let parsed: Pid = process.pid().to_string().parse().unwrap();
    assert_eq!(parsed, process.pid());
    assert!(sim.is_alive(parsed));
    sim.kill(parsed);
    sim.run_until_idle();
    assert!(!process.is_alive());
}

/// A request, or one message more.
enum Said {
    Ask(Reply<u32>),
    More,
}

/// Answers, and notes who sent it something.
struct Namesake(Log);

impl Actor for Namesake {
    type Message = Said;

    async fn handle_message(&mut self, ctx: &mut Context<Said>, said: Said) -> Result {
        self.0.note(format!("from {:?}", ctx.sender()));
        if let Said::Ask(reply) = said {
            reply.send(7);
        }
        Ok(())
    }
}

/// Notes from whom dead letters are.
struct Letters(Log);

impl Actor for Letters {
    type Message = DeadLetter;

    async fn handle_message(&mut self, _: &mut Context<DeadLetter>, letter: DeadLetter) -> Result {
        self.0.note(format!("from {:?}", letter.from));
        Ok(())
    }
}

/// Of two nodes in one program each has a process of the same number.
#[test]
fn n1_a_process_is_never_taken_for_that_of_another_node_with_its_number() {
    let (sim, other, log) = (Simulation::new(1), Simulation::new(2), Log::new());
    let noted = log.clone();
    let peer = other.spawn(move || Namesake(noted)).mailbox(1).wait().unwrap();
    let reader = Letters(log.clone());
    let reader = other.spawn(move || reader).wait().unwrap();
    other.subscribe_dead_letters(reader.recipient());
    let (to, noted, node) = (peer.clone(), log.clone(), other.node().clone());
    let run = move |mut ctx: Context<()>| async move {
        ctx.trap_exits(true);
        noted.note(format!("called: {:?}", to.call(Said::Ask).await));
        noted.note(format!("called: {:?}", to.recipient().call(Said::Ask).await));
        noted.note(format!("inspected: {}", to.inspect().await.is_ok()));
        noted.note(format!("suspended: {:?}", to.suspend().await));
        to.send(Said::More).unwrap();
        let mut sending = to.send_or_wait(Said::More).into_future();
        assert!(poll_once(&mut sending).is_pending());
        to.resume();
        noted.note(format!("sent: {:?}", sending.await));
        // What was sent last still lies there.
        to.suspend().await.unwrap();
        let mut reserving = to.reserve_or_wait().into_future();
        assert!(poll_once(&mut reserving).is_pending());
        to.resume();
        noted.note(format!("reserved: {}", reserving.await.is_ok()));
        ctx.link(to.pid());
        if let Received::Exit(exit) = ctx.receive().await {
            noted.note(format!("linked: {}", exit.reason));
        }
        ctx.monitor(to.pid());
        if let Received::Down(down) = ctx.receive().await {
            noted.note(format!("monitored: {}", down.reason));
        }
        noted.note(format!("stopped: {:?}", to.stop().await));
        assert!(node.send("nobody", 7_u8).is_err());
        Ok(())
    };
    let process = sim.spawn(move || behavior_fn(run)).start().unwrap();
    assert_eq!(process.pid(), peer.pid());
    // Each has its turns, as often as the one waits for the other.
    for _ in 0..20 {
        sim.run_until_idle();
        other.run_until_idle();
    }
    assert!(!process.is_alive() && !peer.is_alive());
    let said = log.take();
    let (from, said): (Vec<_>, Vec<_>) = said.iter().partition(|line| line.starts_with("from"));
    // What comes from another node is from outside.
    assert_eq!(from, ["from None"; 5]);
    let expected = [
        "called: Ok(7)",
        "called: Ok(7)",
        "inspected: true",
        "suspended: Ok(())",
        "sent: Ok(())",
        "reserved: true",
        "linked: no connection",
        "monitored: no connection",
        "stopped: Ok(())",
    ];
    assert_eq!(said, expected);
}

/// Takes whatever it is sent.
struct Takes<M>(PhantomData<fn(M)>);

impl<M: Send + 'static> Actor for Takes<M> {
    type Message = M;

    async fn handle_message(&mut self, _: &mut Context<M>, _: M) -> Result {
        Ok(())
    }
}

#[test]
fn n1_a_fallback_on_another_node_with_the_same_number_is_used() {
    fn takes<M: Send + 'static>(node: &Node, overflow: Overflow<M>) -> Address<M> {
        node.spawn(|| Takes::<M>(PhantomData)).mailbox(1).overflow(overflow).start().unwrap()
    }

    let (sim, other) = (Simulation::new(1), Simulation::new(2));
    puppet(&sim, "the first", &Log::new());
    let last: Address<Diverted<Diverted<u32>>> = takes(&other, Overflow::Refuse);
    let fallback = takes(&other, Overflow::divert(last.recipient(), "last"));
    let process = takes(&sim, Overflow::divert(fallback.recipient(), "fallback"));
    assert_eq!(process.pid(), fallback.pid());
    // Nobody has had a turn.
    for message in 0..3 {
        assert_eq!(process.send(message), Ok(()));
    }
    assert_eq!((process.waiting(), fallback.waiting(), last.waiting()), (1, 1, 1));
    assert_eq!(process.send(3), Err(SendError::Full { message: 3, to: process.pid() }));
}

#[test]
fn n2_a_taken_name_is_refused_and_nothing_has_changed() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let first = sim.spawn(|| Fails(|| Ok(()))).name("one").wait().unwrap();
    let (before, noted) = (sim.stats(), log.clone());
    let refused = sim.spawn(move || Puppet::new("second", &noted)).name("one").wait();
    let taken = SpawnError::NameTaken { name: Name::new("one").unwrap(), by: first.pid() };
    assert_eq!(refused.unwrap_err(), taken);
    assert!(taken.to_string().contains("one") && taken.to_string().contains("<0.1.0>"));
    sim.run_until_idle();
    let after = sim.stats();
    assert_eq!((before.processes, before.names), (after.processes, after.names));
    assert_eq!(before.spawned, after.spawned);
    assert_eq!(sim.whereis("one"), Some(first.pid()));
    // Not even the factory has run.
    assert_eq!(log.lines(), Vec::<String>::new());
}

#[test]
fn n2_names_are_checked_in_every_operation_that_takes_one() {
    let sim = Simulation::new(1);
    let long = "x".repeat(256);
    for (text, error) in [("", NameError::Empty), (&long, NameError::TooLong { bytes: 256 })] {
        let spawned = sim.spawn(|| Fails(|| Ok(()))).name(text).wait();
        assert_eq!(spawned.unwrap_err(), SpawnError::InvalidName(error.clone()));
        let started = sim.spawn(|| Fails(|| Ok(()))).name(text).start();
        assert_eq!(started.unwrap_err(), SpawnError::InvalidName(error.clone()));
        // What a monitor and a watch take.
        assert_eq!(Name::new(text).err(), Some(error.clone()));
        assert_eq!(sim.whereis(text), None);
    }
    assert_eq!(sim.stats().spawned, 0);
    assert!(sim.spawn(|| Fails(|| Ok(()))).name("x".repeat(255)).wait().is_ok());
    assert!(sim.spawn(|| Fails(|| Ok(()))).name("ø".repeat(127)).wait().is_ok());
}

#[test]
fn n2_a_living_process_takes_one_name_and_anyone_can_take_it_away() {
    let sim = Simulation::new(1);
    let holder = sim.spawn(|| {
        behavior_fn(|mut ctx: Context<()>| async move {
            loop {
                ctx.receive().await;
            }
        })
    });
    let holder = holder.name("taken").wait().unwrap().pid();
    let done = sim.spawn(move || {
        behavior_fn(move |mut ctx: Context<()>| async move {
            let by = holder;
            let name = |text: &str| Name::new(text).unwrap();
            let taken = Err(RegisterError::NameTaken { name: name("taken"), by });
            assert_eq!(ctx.register("taken"), taken);
            assert_eq!(ctx.register(""), Err(RegisterError::InvalidName(NameError::Empty)));
            assert_eq!(ctx.register("own"), Ok(()));
            assert_eq!(ctx.whereis("own"), Some(ctx.pid()));
            let named = Err(RegisterError::AlreadyNamed { pid: ctx.pid(), name: name("own") });
            assert_eq!(ctx.register("other"), named);
            assert_eq!(ctx.whereis("other"), None);
            assert_eq!(ctx.unregister("taken"), Some(holder));
            assert_eq!(ctx.unregister("taken"), None);
            assert_eq!(ctx.unregister("own"), Some(ctx.pid()));
            assert_eq!(ctx.register("taken"), Ok(()));
            Ok(())
        })
    });
    let done = done.start().unwrap();
    assert_eq!(done.watch().wait().unwrap().reason, Reason::Normal);
    assert_eq!(sim.whereis("taken"), None, "free again with its process");
    assert_eq!(sim.process_info(holder).unwrap().name, None);
}

#[test]
fn n2_a_name_is_looked_up_typed() {
    let sim = Simulation::new(1);
    let address = sim.spawn(|| Fails(|| Ok(()))).name("unit").wait().unwrap();
    assert_eq!(sim.lookup::<(), ()>("unit").unwrap(), address);
    assert_eq!(sim.address_of::<(), ()>(address.pid()).unwrap(), address);
    let missing = sim.lookup::<(), ()>("nobody").unwrap_err();
    assert!(matches!(&missing, LookupError::NoName(name) if name == "nobody"));
    let unknown = "<0.99.0>".parse().unwrap();
    assert_eq!(sim.address_of::<(), ()>(unknown), Err(LookupError::NoProcess(unknown)));
}

#[test]
fn n2_a_wrong_type_at_look_up_names_both_message_types() {
    let sim = Simulation::new(1);
    let _process = sim.spawn(|| Fails(|| Ok(()))).name("unit").wait().unwrap();
    let LookupError::WrongType { process, expected, found } =
        sim.lookup::<String, String>("unit").unwrap_err()
    else {
        panic!("another error")
    };
    let (unit, string) = ("()", "alloc::string::String");
    assert_eq!((process.as_str(), expected, found), ("unit", (unit, unit), (string, string)));
}

#[test]
fn n3_the_name_is_registered_before_init_runs() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let started = sim
        .spawn(move || {
            krarup::behavior::behavior_fn(move |mut ctx: Context<()>| async move {
                noted.note(ctx.whereis("early") == Some(ctx.pid()));
                ctx.receive().await;
                Ok(())
            })
        })
        .name("early")
        .start()
        .unwrap();
    assert_eq!(sim.whereis("early"), Some(started.pid()));
    sim.run_until_idle();
    assert_eq!(log.take(), ["true"]);
}

#[test]
fn n3_a_failed_or_panicking_init_frees_the_name_before_the_error_is_returned() {
    for sim in simulations(20) {
        let inits: [fn() -> Result; 3] =
            [|| Err(boom()), || panic!("in init"), || Err(Reason::Normal)];
        for init in inits {
            let error = sim.spawn(move || Fails(init)).name("again").wait().unwrap_err();
            assert!(matches!(error, SpawnError::Init(_)), "{error}");
            assert_eq!(sim.whereis("again"), None);
        }
        let panics = || -> Fails { panic!("in the factory") };
        assert!(sim.spawn(panics).name("again").wait().is_err());
        assert!(sim.spawn(|| Fails(|| Ok(()))).name("again").wait().is_ok());
        assert_eq!((sim.stats().processes, sim.stats().names), (1, 1));
    }
}

#[test]
fn n3_an_init_that_took_too_long_has_freed_the_name_when_the_error_is_returned() {
    for sim in simulations(20) {
        let limit = Duration::from_secs(1);
        let slow = || {
            krarup::behavior::behavior_fn(|ctx: Context<()>| async move {
                ctx.sleep(Duration::from_secs(60)).await;
                Ok(())
            })
        };
        for _ in 0..3 {
            let error = sim.spawn(slow).name("slow").init_timeout(limit).wait().unwrap_err();
            assert_eq!(error, SpawnError::Timeout(limit));
            assert_eq!(sim.whereis("slow"), None);
        }
        assert_eq!(sim.stats().processes, 0);
    }
}

#[test]
fn n3_the_name_is_free_when_a_link_or_monitor_reports_the_end() {
    for sim in simulations(100) {
        let log = Log::new();
        let noted = log.clone();
        let named = sim.spawn(move || Puppet::new("named", &noted)).name("n").wait().unwrap();
        let watcher = trapper(&sim, "watcher", &log);
        let pid = named.pid();
        watcher.tells(move |ctx| {
            ctx.link(pid);
            ctx.monitor(pid);
        });
        sim.run_until_idle();
        // Whoever hears of it can take the name at once.
        let (node, noted) = (sim.node().clone(), log.clone());
        let mut end = sim.watch(pid);
        let waker = on_wake(move || noted.note(format!("told {:?}", node.whereis("n"))));
        assert!(poll_with(&mut end, &waker).is_pending());
        named.dies(boom());
        sim.run_until_idle();
        let lines = log.take();
        assert!(lines.contains(&"told None".to_owned()), "{lines:?}");
        assert_eq!(lines.iter().filter(|line| line.starts_with("watcher ")).count(), 2);
        assert!(sim.spawn(|| Fails(|| Ok(()))).name("n").wait().is_ok());
    }
}

#[test]
fn n3_the_name_is_free_when_a_call_fails_with_the_end() {
    enum Ask {
        Keep(Reply<()>),
        Die(Reply<()>),
    }
    #[derive(Default)]
    struct Keeper(Vec<Reply<()>>);
    impl Actor for Keeper {
        type Message = Ask;
        async fn handle_message(&mut self, _: &mut Context<Ask>, ask: Ask) -> Result {
            match ask {
                Ask::Keep(reply) => self.0.push(reply),
                Ask::Die(_reply) => return Err(boom()),
            }
            Ok(())
        }
    }
    for sim in simulations(20) {
        let log = Log::new();
        let keeper = sim.spawn(Keeper::default).name("n").wait().unwrap();
        let asks: [fn(Reply<()>) -> Ask; 3] = [Ask::Keep, Ask::Die, Ask::Keep];
        let mut calls = asks.map(|ask| keeper.call(ask).into_future());
        for call in &mut calls {
            let (node, noted) = (sim.node().clone(), log.clone());
            let waker = on_wake(move || noted.note(format!("told {:?}", node.whereis("n"))));
            assert!(poll_with(call, &waker).is_pending());
        }
        sim.run_until_idle();
        assert_eq!(log.take(), ["told None", "told None", "told None"]);
    }
}

#[test]
fn n3_the_name_is_free_when_the_state_has_been_dropped_and_not_before() {
    struct Looks(Node, Log, #[allow(dead_code, reason = "dropped with the state")] Guard);
    impl Actor for Looks {
        type Message = ();
        async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
            ctx.stop();
            Ok(())
        }
        async fn terminate(&mut self, ctx: &mut Context<()>, _: &Reason) {
            self.1.note(format!("terminate {}", self.0.whereis("n") == Some(ctx.pid())));
        }
    }
    impl Drop for Looks {
        fn drop(&mut self) {
            self.1.note(format!("drop {}", self.0.whereis("n").is_some()));
        }
    }
    let sim = Simulation::new(1);
    let log = Log::new();
    let (node, noted) = (sim.node().clone(), log.clone());
    let looks = sim
        .spawn(move || Looks(node, noted.clone(), Guard::new(&noted, "guard")))
        .name("n")
        .wait()
        .unwrap();
    looks.send(()).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["terminate true", "drop true", "guard"]);
    assert_eq!(sim.whereis("n"), None);
}

#[test]
fn n4_of_concurrent_spawns_under_one_name_exactly_one_wins() {
    let node = Node::builder("n4").workers(2).start().unwrap();
    for round in 0..50 {
        let barrier = Arc::new(Barrier::new(4));
        let spawners: Vec<_> = (0..4)
            .map(|_| {
                let (node, barrier) = (node.clone(), Arc::clone(&barrier));
                std::thread::spawn(move || {
                    barrier.wait();
                    node.spawn(|| Fails(|| Ok(()))).name(format!("name{round}")).wait()
                })
            })
            .collect();
        let outcomes: Vec<_> = spawners.into_iter().map(|thread| thread.join().unwrap()).collect();
        let (won, lost): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1);
        let winner = won[0].as_ref().unwrap().pid();
        assert_eq!(node.whereis(&format!("name{round}")), Some(winner));
        for error in lost {
            let error = error.unwrap_err();
            assert!(matches!(error, SpawnError::NameTaken { by, .. } if by == winner), "{error}");
        }
    }
    assert_eq!((node.stats().processes, node.stats().names), (50, 50));
    node.stop().wait().unwrap();
}

#[test]
fn n4_concurrent_spawns_by_processes_have_one_winner_for_every_seed() {
    for sim in simulations(50) {
        let log = Log::new();
        for _ in 0..5 {
            let noted = log.clone();
            let spawner = krarup::behavior::behavior_fn(move |ctx: Context<()>| async move {
                let child = ctx.spawn(|| Fails(|| Ok(()))).name("only").await;
                noted.note(child.is_ok());
                Ok(())
            });
            sim.spawn(move || spawner).start().unwrap();
        }
        sim.run_until_idle();
        assert_eq!(log.take_sorted(), ["false", "false", "false", "false", "true"]);
        assert_eq!(sim.stats().names, 1);
    }
}

#[test]
fn n2_a_name_is_taken_away_only_from_the_process_that_is_named_with_it() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let (holder, other) = (puppet(&sim, "holder", &log), puppet(&sim, "other", &log));
    let pid = holder.pid();
    assert_eq!(asked(&sim, &holder, |ctx| ctx.register("held")), Ok(()));
    let not_its = other.pid();
    assert!(!asked(&sim, &other, move |ctx| ctx.unregister_from("held", not_its)));
    assert!(!asked(&sim, &other, move |ctx| ctx.unregister_from("none", pid)));
    assert_eq!(sim.whereis("held"), Some(pid));
    assert!(asked(&sim, &other, move |ctx| ctx.unregister_from("held", pid)));
    assert!(!asked(&sim, &other, move |ctx| ctx.unregister_from("held", pid)));
    // The process knows it too, and takes another.
    assert_eq!((sim.whereis("held"), holder.info().name), (None, None));
    assert_eq!(asked(&sim, &holder, |ctx| ctx.register("next")), Ok(()));
}
