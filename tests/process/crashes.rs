//! What a node counts and remembers of what went wrong: ends, refusals, crash reports, their causes,
//! and what supervisors and pools decided (rules V13, V14, V15, V18, V19, V20, V33).

use crate::support::{Does, Log, Puppet, boom, poll_once, puppet, simulations, trapper};
use krarup::behavior::{Behavior, Received, behavior_fn};
use krarup::mailbox::{Diverted, Overflow};
use krarup::observe::{
    CrashCauseKind, CrashReport, DeadLetterCause, ItemInHand, ItemKind, Memory, ProcessKind,
    ReasonKind, Recorded, RefusalCause, Report, ReportKind, SupervisionAction, SupervisionEvent,
};
use krarup::prelude::*;
use krarup::supervisor::ChildTemplate;
use krarup::testing::Probe;
use krarup::{Name, Recipient};
use std::task::Poll;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

const ALL: Memory =
    Memory { crashes: 64, restarts: 256, dead_letters: 64, deadlocks: 8, long_turns: 8 };

/// A simulation that remembers.
fn remembering(sim: Simulation) -> Simulation {
    sim.remember(ALL);
    sim
}

fn crashes(sim: &Simulation) -> Vec<CrashReport> {
    sim.view().crashes(0, 999).items.iter().map(|recorded| (*recorded.item).clone()).collect()
}

/// The report of the process with this pid.
fn crash_of(sim: &Simulation, pid: Pid) -> CrashReport {
    crashes(sim).into_iter().find(|report| report.pid == pid).expect("a crash report")
}

fn events(sim: &Simulation) -> Vec<SupervisionEvent> {
    sim.view().restarts(0, 999).items.iter().map(|recorded| (*recorded.item).clone()).collect()
}

fn waits() -> impl Behavior<Message = u32, Command = u32> {
    behavior_fn(|mut ctx: Context<u32>| async move {
        loop {
            ctx.receive().await;
        }
    })
}

/// Takes the overflow of another process.
struct Diverting;

impl Actor for Diverting {
    type Message = Diverted<u32>;

    async fn handle_message(&mut self, _: &mut Context<Diverted<u32>>, _: Diverted<u32>) -> Result {
        Ok(())
    }
}

/// A worker that fails at some jobs.
struct Worker;

enum Job {
    Panic,
    Fail,
    Hang,
    Nothing,
}

impl Actor for Worker {
    type Message = Job;

    async fn handle_message(&mut self, ctx: &mut Context<Job>, job: Job) -> Result {
        ctx.set_label("order 7")?;
        match job {
            Job::Panic => panic!("no such order"),
            Job::Fail => Err(boom()),
            Job::Hang => std::future::pending().await,
            Job::Nothing => Ok(()),
        }
    }
}

#[test]
fn v15_a_panic_in_a_worker_of_a_supervised_pool_has_all_of_its_story() {
    for sim in simulations(3).map(remembering) {
        let pool = ChildSpec::worker("pool", || Pool::new(2, || Worker).mailbox(8)).name("pool");
        let top = Supervisor::one_for_one().child(pool);
        let top = sim.spawn(move || top).name("top").wait().unwrap();
        let pool: Address<Job, PoolCommand> = sim.lookup("pool").unwrap();
        let sender = puppet(&sim, "sender", &Log::new());
        let to = pool.clone();
        sim.advance(SECOND);
        let workers = pool.workers().wait().unwrap();
        sender.tells(move |_| {
            for job in [Job::Panic, Job::Nothing, Job::Nothing, Job::Nothing] {
                to.send(job).unwrap();
            }
        });
        sim.run_until_idle();
        let report = crash_of(&sim, workers[0]);
        assert_eq!((report.reason.kind, report.kind), (ReasonKind::Panic, ProcessKind::Actor));
        let (message, location) = report.reason.panic.clone().unwrap();
        assert_eq!(message, "no such order");
        assert!(location.is_some_and(|place| place.contains("tests/process/crashes.rs")));
        assert_eq!(report.label.as_ref().map(Name::as_str), Some("order 7"));
        assert_eq!(report.behavior.to_string(), "Worker");
        assert_eq!((report.cause.kind, report.cause.by), (CrashCauseKind::Own, None));
        assert!(report.cause.chain.is_empty() && report.initialised);
        let job = Some(std::any::type_name::<Job>());
        let in_hand = report.in_hand.unwrap();
        assert_eq!((in_hand.kind, in_hand.type_name), (ItemKind::Message, job));
        assert_eq!(in_hand.sender, Some(sender.pid()));
        assert_eq!((report.urgent, report.system, report.main, report.letters_lost), (0, 0, 1, 1));
        assert_eq!((report.messages.messages_in, report.messages.handled), (2, 1));
        assert_eq!((report.uptime, report.links.clone()), (SECOND, vec![pool.pid()]));
        let ancestors: Vec<_> = report.ancestors.iter().map(|it| (it.pid, it.kind)).collect();
        let expected = [(pool.pid(), ProcessKind::Pool), (top.pid(), ProcessKind::Supervisor)];
        assert_eq!(ancestors, expected);
        assert_eq!(report.ancestors[0].name.as_ref().map(Name::as_str), Some("pool"));
        // The pool replaces it, and its supervisor has nothing to do.
        let now = pool.workers().wait().unwrap();
        let events = events(&sim);
        let of_pool: Vec<_> = events.iter().filter(|event| event.by == pool.pid()).collect();
        assert_eq!(of_pool.len(), 2);
        assert_eq!(of_pool[0].what, SupervisionAction::Restarting);
        assert_eq!((of_pool[0].pid, of_pool[0].by_kind), (Some(workers[0]), ProcessKind::Pool));
        assert_eq!(
            (of_pool[0].crash, of_pool[0].by_name.clone().unwrap().as_str()),
            (Some(1), "pool")
        );
        assert_eq!(of_pool[1].what, SupervisionAction::Started);
        assert_eq!((of_pool[1].pid, of_pool[1].replaces), (Some(now[0]), Some(workers[0])));
        assert_eq!(sim.stats().restarts[&krarup::observe::RestartKind::Pool], 1);
        let outcome = sim.view().aftermath(workers[0]);
        assert_eq!(outcome.watched_by, Some((pool.pid(), ProcessKind::Pool)));
        assert_eq!(outcome.replaced_by, Some(now[0]));
        assert_eq!(outcome.decision.unwrap().what, SupervisionAction::Restarting);
        sim.stop().wait().unwrap();
        assert_eq!(crashes(&sim).len(), 1, "the stop is in order");
    }
}

#[test]
fn v15_an_error_below_three_supervisors_has_its_ancestors_and_its_decision() {
    for sim in simulations(3).map(remembering) {
        let worker = || ChildSpec::worker("worker", || Worker).name("worker");
        let inner = move || Supervisor::one_for_one().child(worker());
        let middle = move || Supervisor::one_for_one().child(ChildSpec::supervisor("inner", inner));
        let outer =
            move || Supervisor::one_for_one().child(ChildSpec::supervisor("middle", middle));
        let outer = sim.spawn(outer).wait().unwrap();
        let worker: Address<Job> = sim.lookup("worker").unwrap();
        worker.send(Job::Fail).unwrap();
        sim.run_until_idle();
        let report = crash_of(&sim, worker.pid());
        assert_eq!((report.reason.kind, report.reason.text.as_str()), (ReasonKind::Error, "boom"));
        assert_eq!(report.name.as_ref().map(Name::as_str), Some("worker"));
        assert_eq!(
            report.in_hand.map(|item| (item.kind, item.sender)),
            Some((ItemKind::Message, None))
        );
        assert_eq!(report.ancestors.len(), 3);
        assert_eq!(report.ancestors[2].pid, outer.pid());
        let outcome = sim.view().aftermath(worker.pid());
        let decision = outcome.decision.unwrap();
        assert_eq!(decision.what, SupervisionAction::Restarting);
        assert_eq!(
            (decision.by, decision.child.as_deref()),
            (report.ancestors[0].pid, Some("worker"))
        );
        assert_eq!((decision.strategy, decision.count), (Some("one_for_one"), 1));
        assert_eq!((decision.intensity, decision.crash), (Some((1, 5 * SECOND)), Some(1)));
        assert_eq!(outcome.replaced_by, sim.whereis("worker"));
        assert_eq!(outcome.watched_by, Some((report.ancestors[0].pid, ProcessKind::Supervisor)));
    }
}

#[test]
fn v15_a_kill_has_what_it_interrupted_and_who_killed() {
    for sim in simulations(3).map(remembering) {
        let [idle, busy] = [0; 2].map(|_| sim.spawn(|| Worker).start().unwrap());
        for worker in [&idle, &busy] {
            worker.send(Job::Nothing).unwrap();
        }
        sim.run_until_idle();
        busy.send(Job::Hang).unwrap();
        busy.send(Job::Nothing).unwrap();
        sim.run_until_idle();
        sim.kill(idle.pid());
        let killer = puppet(&sim, "killer", &Log::new());
        let victim = busy.pid();
        killer.tells(move |ctx| ctx.exit(victim, Reason::Kill));
        sim.run_until_idle();
        let of_idle = crash_of(&sim, idle.pid());
        assert_eq!((of_idle.reason.kind, of_idle.in_hand), (ReasonKind::Killed, None));
        assert_eq!((of_idle.cause.kind, of_idle.cause.by), (CrashCauseKind::Kill, None));
        let of_busy = crash_of(&sim, busy.pid());
        assert_eq!(
            (of_busy.cause.kind, of_busy.cause.by),
            (CrashCauseKind::Kill, Some(killer.pid()))
        );
        assert_eq!(of_busy.in_hand.map(|item| item.kind), Some(ItemKind::Message));
        assert_eq!((of_busy.main, of_busy.letters_lost, of_busy.messages.handled), (1, 1, 2));
        // One that was never scheduled since it was woken handled nothing.
        let queued = sim.spawn(|| Worker).start().unwrap();
        sim.run_until_idle();
        queued.send(Job::Nothing).unwrap();
        sim.kill(queued.pid());
        sim.run_until_idle();
        assert_eq!(crash_of(&sim, queued.pid()).in_hand, None);
        assert_eq!(crash_of(&sim, queued.pid()).main, 1);
    }
}

#[test]
fn v15_a_process_that_falls_over_two_links_has_the_chain_to_the_first() {
    for sim in simulations(4).map(remembering) {
        let names = ["first", "second", "third"];
        let chain = names.map(|name| {
            let falls = Puppet::new(name, &Log::new());
            sim.spawn(move || falls).name(name).wait().unwrap()
        });
        for (one, next) in chain.iter().zip(&chain[1..]) {
            let next = next.pid();
            one.tells(move |ctx| ctx.link(next));
        }
        sim.run_until_idle();
        chain[0].dies(boom());
        sim.run_until_idle();
        let report = crash_of(&sim, chain[2].pid());
        assert_eq!(
            (report.cause.kind, report.cause.by),
            (CrashCauseKind::Link, Some(chain[1].pid()))
        );
        let over: Vec<_> = report
            .cause
            .chain
            .iter()
            .map(|link| (link.pid, link.name.as_ref().unwrap().as_str(), link.reason.text.as_str()))
            .collect();
        let expected = [(chain[1].pid(), "second", "boom"), (chain[0].pid(), "first", "boom")];
        assert_eq!(over, expected);
        assert_eq!(report.in_hand, None, "it was idle");
        let first = crash_of(&sim, chain[0].pid());
        assert_eq!((first.cause.kind, first.cause.chain.len()), (CrashCauseKind::Own, 0));
        assert_eq!((first.links.clone(), crashes(&sim).len()), (vec![chain[1].pid()], 3));
    }
}

/// Fails to start.
struct Fails;
impl Actor for Fails {
    type Message = ();
    async fn init(&mut self, _: &mut Context<()>) -> Result {
        Err(boom())
    }
    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
}

#[test]
fn v15_signals_stops_and_failed_starts_have_their_own_causes() {
    for sim in simulations(3).map(remembering) {
        let parent = puppet(&sim, "parent", &Log::new());
        let spawn = |name: &'static str| {
            parent.tells(move |ctx| drop(ctx.spawn(waits).name(name).start().unwrap()));
            parent.tells(move |ctx| {
                drop(ctx.spawn(|| Worker).name(format!("{name} in order")).start().unwrap());
            });
            sim.run_until_idle();
            [sim.whereis(name).unwrap(), sim.whereis(&format!("{name} in order")).unwrap()]
        };
        let [bare, actor] = spawn("one");
        sim.exit(bare, boom());
        sim.exit(actor, boom());
        let [other, ordered] = spawn("two");
        parent.tells(move |ctx| {
            ctx.exit(other, boom());
            ctx.exit(ordered, boom());
        });
        sim.run_until_idle();
        let cause = |pid| {
            let CrashReport { cause, .. } = crash_of(&sim, pid);
            (cause.kind, cause.by)
        };
        assert_eq!(cause(bare), (CrashCauseKind::Signal, None));
        assert_eq!(cause(actor), (CrashCauseKind::Signal, None));
        assert_eq!(cause(other), (CrashCauseKind::Parent, Some(parent.pid())));
        assert_eq!(cause(ordered), (CrashCauseKind::Parent, Some(parent.pid())));
        assert_eq!(crash_of(&sim, ordered).in_hand.map(|item| item.kind), Some(ItemKind::Stop));
        // A start that failed is a crash of a process that was not initialised.
        assert!(sim.spawn(|| Fails).wait().is_err());
        let last = crashes(&sim).pop().unwrap();
        assert_eq!(
            (last.initialised, last.cause.kind, last.in_hand),
            (false, CrashCauseKind::Own, None)
        );
    }
}

#[test]
fn v15_ends_in_order_make_no_report() {
    for sim in simulations(3).map(remembering) {
        let parent = trapper(&sim, "parent", &Log::new());
        for reason in [Reason::Normal, Reason::Shutdown, Reason::shutdown("enough")] {
            puppet(&sim, "ends", &Log::new()).dies(reason);
        }
        // A child that its supervisor kills.
        let killed =
            ChildSpec::worker("killed", || Worker).name("killed").shutdown(Shutdown::BrutalKill);
        let supervisor = Supervisor::one_for_one().child(killed);
        let supervisor = sim.spawn(move || supervisor).wait().unwrap();
        supervisor.terminate_child("killed").wait().unwrap();
        parent.tells(|ctx| {
            let child = ctx.spawn(waits).start().unwrap().pid();
            ctx.exit(child, Reason::Kill);
        });
        sim.run_until_idle();
        let stuck = Pool::new(1, || Worker).stuck_limit(SECOND);
        let stuck = sim.spawn(move || stuck).wait().unwrap();
        stuck.send(Job::Hang).unwrap();
        sim.advance(3 * SECOND);
        assert_eq!(stuck.statistics().wait().unwrap().stuck, 1);
        let hangs = sim.spawn(|| Worker).start().unwrap();
        hangs.send(Job::Hang).unwrap();
        sim.run_until_idle();
        sim.stop().timeout(SECOND).wait().unwrap();
        assert_eq!(crashes(&sim), []);
        let ended = sim.stats().ended;
        assert_eq!(ended[&ReasonKind::Killed], 4);
    }
}

#[test]
fn v15_those_that_fall_with_their_supervisor_or_pool_have_no_report_of_their_own() {
    for sim in simulations(3).map(remembering) {
        let falls = Supervisor::one_for_one()
            .child(ChildSpec::worker("worker", || Worker).name("worker"))
            .child(ChildSpec::worker("pool", || Pool::new(2, || Worker)).name("pool"))
            .child(ChildSpec::worker("bare", waits).name("bare"));
        let falls = sim.spawn(move || falls).wait().unwrap();
        let below = ["worker", "pool", "bare"].map(|name| sim.whereis(name).unwrap());
        // The report of a process to which it is linked leads on to that of the supervisor.
        let stranger = puppet(&sim, "stranger", &Log::new());
        let bare = below[2];
        stranger.tells(move |ctx| ctx.link(bare));
        sim.run_until_idle();
        sim.exit(falls.pid(), Reason::Kill);
        sim.advance(10 * SECOND);
        let mut told: Vec<_> = crashes(&sim).iter().map(|report| report.pid).collect();
        told.sort_by_key(|pid| pid.id());
        // Not the actor, and neither worker of the pool.
        assert_eq!(told, [falls.pid(), below[1], bare, stranger.pid()]);
        let over = crash_of(&sim, stranger.pid()).cause.chain;
        let over: Vec<_> = over.iter().map(|link| link.pid).collect();
        assert_eq!(over, [bare, falls.pid()]);
        assert!(below.iter().all(|pid| crash_of(&sim, falls.pid()).links.contains(pid)));
        // A child that fails by itself has one, and so has one that its parent stops with a failure.
        let parent = trapper(&sim, "parent", &Log::new());
        parent.tells(|ctx| {
            let child = ctx.spawn(|| Worker).name("fails").link().start().unwrap();
            child.send(Job::Fail).unwrap();
            let child = ctx.spawn(|| Worker).name("stopped").link().start().unwrap().pid();
            ctx.exit(child, boom());
        });
        sim.run_until_idle();
        assert_eq!(crashes(&sim).len(), 6);
        // Who falls with an actor that has spawned it has one.
        let actor = puppet(&sim, "actor", &Log::new());
        actor.tells(|ctx| drop(ctx.spawn(waits).name("linked").link().start().unwrap()));
        sim.run_until_idle();
        let linked = sim.whereis("linked").unwrap();
        actor.dies(boom());
        sim.run_until_idle();
        assert_eq!(crash_of(&sim, linked).cause.by, Some(actor.pid()));
    }
}

#[test]
fn v15_kinds_of_items_in_hand_are_told_apart() {
    let sim = remembering(Simulation::new(1));
    let mut expected = Vec::new();
    let mut run = |kind: ItemKind, send: &dyn Fn(&Address<u32>)| {
        let fails = behavior_fn(|mut ctx: Context<u32>| async move {
            ctx.trap_exits(true);
            ctx.take_others();
            ctx.set_idle_timeout(Some(60 * SECOND));
            loop {
                match ctx.receive().await {
                    Received::Message(0) => {}
                    Received::Inspect(request) => {
                        drop(request);
                        return Err(boom());
                    }
                    _ => return Err(boom()),
                }
            }
        });
        let process = sim.spawn(move || fails).start().unwrap();
        process.send(0).unwrap();
        sim.run_until_idle();
        send(&process);
        sim.run_until_idle();
        let type_name = match kind {
            ItemKind::Message | ItemKind::Command => Some("u32"),
            _ => None,
        };
        expected.push((kind, type_name));
    };
    run(ItemKind::Message, &|process| process.send(1).unwrap());
    run(ItemKind::Command, &|process| process.send_high(1).unwrap());
    run(ItemKind::Command, &|process| process.send_max(1).unwrap());
    run(ItemKind::Exit, &|process| sim.exit(process.pid(), boom()));
    run(ItemKind::Other, &|process| sim.send(process.pid(), "text").unwrap());
    run(ItemKind::Timeout, &|_| sim.advance(61 * SECOND));
    run(ItemKind::Inspect, &|process| {
        assert!(crate::support::poll_once(&mut process.inspect()).is_pending());
    });
    let found: Vec<_> = crashes(&sim)
        .iter()
        .map(|report| report.in_hand.map(|ItemInHand { kind, type_name, .. }| (kind, type_name)))
        .collect();
    assert_eq!(found, expected.into_iter().map(Some).collect::<Vec<_>>());
}

/// An error that cannot be printed.
#[derive(Debug)]
struct Mute;
impl std::fmt::Display for Mute {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("no text")
    }
}
impl std::error::Error for Mute {}

#[test]
fn v15_user_code_that_panics_in_a_report_does_no_harm() {
    let sim = remembering(Simulation::new(1));
    let log = Log::new();
    let watcher = trapper(&sim, "watcher", &log);
    let dies = puppet(&sim, "dies", &log);
    let pid = dies.pid();
    watcher.tells(move |ctx| {
        ctx.monitor(pid);
    });
    sim.run_until_idle();
    dies.dies(Reason::error(Mute));
    sim.run_until_idle();
    assert_eq!(log.count("watcher down"), 1);
    let report = crash_of(&sim, pid);
    assert_eq!(report.reason.text, "an error whose Display panicked");
}

#[test]
fn v18_the_events_of_a_supervisor_that_gives_up_are_in_their_order() {
    use SupervisionAction::{Ended, GaveUp, Restarting, Started, Stopped};
    for sim in simulations(3).map(remembering) {
        let worker = ChildSpec::worker("worker", || Worker).name("worker");
        let other = ChildSpec::worker("other", || Worker);
        let supervisor =
            Supervisor::one_for_one().intensity(2, 60 * SECOND).child(other).child(worker);
        let supervisor = sim.spawn(move || supervisor).name("watcher").wait().unwrap();
        for _ in 0..3 {
            let worker: Address<Job> = sim.lookup("worker").unwrap();
            worker.send(Job::Fail).unwrap();
            sim.run_until_idle();
        }
        let events = events(&sim);
        let told: Vec<_> =
            events.iter().map(|event| (event.what, event.child.clone(), event.count)).collect();
        let worker = |what, count| (what, Some("worker".to_owned()), count);
        let other = |what, count| (what, Some("other".to_owned()), count);
        let expected = [
            other(Started, 0),
            worker(Started, 0),
            worker(Ended, 0),
            worker(Restarting, 1),
            worker(Started, 1),
            worker(Ended, 1),
            worker(Restarting, 2),
            worker(Started, 2),
            worker(Ended, 2),
            worker(GaveUp, 2),
            other(Stopped, 2),
        ];
        assert_eq!(told, expected);
        assert!(events.iter().all(|event| event.intensity == Some((2, 60 * SECOND))));
        assert!(events.iter().all(|event| event.by == supervisor.pid()));
        assert!(events.iter().all(|event| event.by_name.as_ref().unwrap().as_str() == "watcher"));
        let crashes: Vec<_> = events.iter().filter_map(|event| event.crash).collect();
        assert_eq!(crashes, [1, 1, 2, 2, 3], "ends and restarts name the crash");
        let stats = sim.stats();
        let restarts = &stats.restarts;
        assert_eq!(restarts[&krarup::observe::RestartKind::Supervisor], 2);
        assert_eq!(stats.gave_up, 1);
        let last = sim.view().crashes(2, 1).items[0].item.pid;
        let outcome = sim.view().aftermath(last);
        assert_eq!((outcome.decision.unwrap().what, outcome.replaced_by), (GaveUp, None));
    }
}

#[test]
fn v18_children_of_a_template_that_come_and_go_do_not_push_out_the_restarts() {
    use SupervisionAction::{Ended, Restarting, Started};
    let sim = Simulation::new(1);
    sim.remember(Memory { restarts: 5, ..Memory::default() });
    let template = ChildTemplate::worker("session", |_: u32| Worker);
    let template = template.restart(RestartType::Transient);
    let sessions = Supervisor::simple_one_for_one(template).intensity(3, 60 * SECOND);
    let sessions = sim.spawn(move || sessions).name("sessions").wait().unwrap();
    let reports = Probe::<Report>::of(&sim, &sim.reports());
    let first = sessions.start_child(0).wait().unwrap().unwrap();
    sim.exit(first, Reason::error("failed"));
    sim.run_until_idle();
    for number in 1..=20 {
        let session = sessions.start_child(number).wait().unwrap().unwrap();
        if number % 2 == 0 {
            sessions.terminate_child(session).wait().unwrap();
        }
    }
    let told: Vec<_> = events(&sim).iter().map(|event| event.what).collect();
    assert_eq!(told, [Ended, Restarting, Started]);
    assert_eq!(sim.view().aftermath(first).decision.unwrap().what, Restarting);
    let heard = reports.take_messages();
    let of_supervisors = heard.iter().filter(|report| report.kind() == ReportKind::Supervision);
    assert_eq!(of_supervisors.count(), 3);
}

#[test]
fn v18_restarts_in_place_are_told_once_by_whom_they_decide() {
    let sim = remembering(Simulation::new(1));
    let alone = sim.spawn(|| krarup::supervisor::InPlace::new(|| Worker)).wait().unwrap();
    alone.send(Job::Fail).unwrap();
    sim.run_until_idle();
    let child = ChildSpec::worker_in_place("child", || Worker).name("child");
    let supervisor = Supervisor::one_for_one().child(child);
    let supervisor = sim.spawn(move || supervisor).wait().unwrap();
    let child: Address<Job> = sim.lookup("child").unwrap();
    child.send(Job::Fail).unwrap();
    sim.run_until_idle();
    let events = events(&sim);
    let in_place: Vec<_> = events
        .iter()
        .filter(|event| event.what == SupervisionAction::InPlace)
        .map(|event| (event.by, event.pid, event.count))
        .collect();
    let expected = [(alone.pid(), Some(alone.pid()), 1), (supervisor.pid(), Some(child.pid()), 1)];
    assert_eq!(in_place, expected);
    assert_eq!(sim.stats().restarts[&krarup::observe::RestartKind::InPlace], 2);
    assert_eq!(crashes(&sim), [], "the processes live");
}

#[test]
fn v19_every_dead_letter_is_counted_under_its_cause_and_the_newest_are_remembered() {
    use DeadLetterCause::{Overflow, Unhandled};
    let sim = Simulation::new(1);
    sim.remember(Memory { dead_letters: 4, ..Memory::default() });
    let gone = sim.spawn(waits).start().unwrap();
    sim.kill(gone.pid());
    sim.run_until_idle();
    for number in 0..3 {
        gone.send(number).unwrap_err();
    }
    let dies = sim.spawn(waits).start().unwrap();
    sim.run_until_idle();
    dies.suspend().wait().unwrap();
    for number in 0..5 {
        dies.send(number).unwrap();
    }
    sim.kill(dies.pid());
    sim.run_until_idle();
    let full = sim
        .spawn(waits)
        .mailbox(1)
        .overflow(krarup::mailbox::Overflow::DropNewest)
        .start()
        .unwrap();
    sim.run_until_idle();
    full.suspend().wait().unwrap();
    (0..3).for_each(|number| full.send(number).unwrap());
    let stats = sim.stats();
    let by_cause = |cause| stats.dead_letters_by_cause[&cause];
    assert_eq!(by_cause(DeadLetterCause::NoProcess), 3);
    assert_eq!(by_cause(DeadLetterCause::Unhandled), 5);
    assert_eq!(by_cause(DeadLetterCause::Overflow), 2);
    assert_eq!((by_cause(DeadLetterCause::Expired), stats.dead_letters), (0, 10));
    let page = sim.view().dead_letters(0, 99);
    assert_eq!((page.first_seq, page.next_seq, page.lost), (7, 11, 6));
    let causes: Vec<_> = page.items.iter().map(|recorded| recorded.item.cause).collect();
    assert_eq!(causes, [Unhandled, Unhandled, Overflow, Overflow]);
    assert_eq!(sim.view().crashes(0, 9).next_seq, 1, "only dead letters are remembered");
}

#[test]
fn v20_a_node_that_remembers_nothing_has_empty_pages_and_one_that_does_loses_none() {
    for sim in simulations(2) {
        let fail = |count: usize| {
            for _ in 0..count {
                puppet(&sim, "fails", &Log::new()).dies(boom());
                sim.advance(SECOND);
            }
        };
        let view = sim.view();
        fail(2);
        assert_eq!((view.crashes(0, 9).items.len(), view.crashes(0, 9).next_seq), (0, 1));
        sim.remember(Memory { crashes: 3, ..Memory::default() });
        let from = sim.now();
        fail(5);
        let page = view.crashes(0, 9);
        let numbers: Vec<_> = page.items.iter().map(|Recorded { seq, .. }| *seq).collect();
        assert_eq!((page.first_seq, page.next_seq, page.lost), (3, 6, 2));
        assert_eq!(numbers, [3, 4, 5]);
        let times: Vec<_> = page.items.iter().map(|recorded| recorded.at - from).collect();
        assert_eq!(times, [2 * SECOND, 3 * SECOND, 4 * SECOND], "in virtual time");
        assert_eq!(view.crashes(page.next_seq - 1, 9).items.len(), 0);
        assert_eq!(view.crashes(u64::MAX, 9).items.len(), 0);
        sim.stop().wait().unwrap();
    }
}

/// Calls the other when it is told to.
struct Caller(Option<Address<Talk>>);

enum Talk {
    Meet(Address<Talk>),
    Call(Duration),
    Question(Reply<()>),
}

impl Actor for Caller {
    type Message = Talk;

    async fn handle_message(&mut self, _: &mut Context<Talk>, talk: Talk) -> Result {
        match talk {
            Talk::Meet(other) => self.0 = Some(other),
            Talk::Call(limit) => {
                let _ = self.0.as_ref().unwrap().call(Talk::Question).timeout(limit).await;
            }
            Talk::Question(reply) => {
                // Nobody answers: the token is held until the process ends.
                std::mem::forget(reply);
            }
        }
        Ok(())
    }
}

#[test]
fn v13_two_that_call_each_other_make_one_deadlock_with_both_names() {
    for sim in simulations(6).map(remembering) {
        let names = ["one", "other"];
        let both = names.map(|name| sim.spawn(|| Caller(None)).name(name).wait().unwrap());
        both[0].send(Talk::Meet(both[1].clone())).unwrap();
        both[1].send(Talk::Meet(both[0].clone())).unwrap();
        sim.run_until_idle();
        for one in &both {
            one.send(Talk::Call(60 * SECOND)).unwrap();
        }
        sim.run_until_idle();
        let page = sim.view().deadlocks(0, 9);
        assert_eq!((page.items.len(), sim.stats().deadlocks), (1, 1));
        let record = &page.items[0].item;
        let mut found: Vec<_> =
            record.names.iter().map(|name| name.as_ref().unwrap().as_str()).collect();
        let mut pids = record.cycle.pids().to_vec();
        found.sort_unstable();
        pids.sort_unstable();
        assert_eq!((found, pids), (names.to_vec(), both.iter().map(Address::pid).collect()));
    }
}

#[test]
fn v14_refusals_are_counted_under_the_cause_that_their_senders_see() {
    use RefusalCause::{Draining, Full, NoProcess, NoWorkers, RateLimited};
    let sim = Simulation::new(1);
    let refusals = |cause: RefusalCause| sim.stats().refusals[&cause];
    let pool = sim.spawn(|| Pool::new(4, || Worker).mailbox(20)).wait().unwrap();
    let mut refused = 0;
    let send = |pool: &Address<Job, PoolCommand>, count: u64| {
        (0..count).filter(|_| pool.send(Job::Hang).is_err()).count() as u64
    };
    assert_eq!(send(&pool, 160), 80);
    sim.run_until_idle();
    refused += 80 + send(&pool, 84);
    assert_eq!((refusals(Full), refused), (160, 160));
    assert_eq!(pool.info().pool.unwrap().unhandled, refused);
    let one = sim.spawn(waits).mailbox(1).start().unwrap();
    sim.run_until_idle();
    one.suspend().wait().unwrap();
    one.send(1).unwrap();
    one.send(1).unwrap_err();
    sim.send(one.pid(), 1_u32).unwrap_err();
    assert_eq!(refusals(Full), 162);
    one.reserve().unwrap_err();
    assert_eq!(refusals(Full), 162, "a reservation is no send");
    let drained = sim.spawn(|| Pool::new(1, || Worker)).wait().unwrap();
    drained.drain().wait().unwrap();
    drained.send(Job::Nothing).unwrap_err();
    drained.send_or_wait(Job::Nothing).wait().unwrap_err();
    drained.recipient::<Job>().send_or_wait(Job::Nothing).wait().unwrap_err();
    drained.reopen().wait().unwrap();
    drained.remove_workers(1).wait().unwrap();
    drained.send(Job::Nothing).unwrap_err();
    let rate = krarup::pool::Rate::per_second(1.0).burst(1);
    let limited = sim.spawn(move || Pool::new(1, || Worker).rate(rate)).wait().unwrap();
    limited.send(Job::Nothing).unwrap();
    limited.send(Job::Nothing).unwrap_err();
    let gone = sim.spawn(waits).start().unwrap();
    sim.kill(gone.pid());
    sim.run_until_idle();
    gone.send(1).unwrap_err();
    let counts = [Full, NoWorkers, Draining, RateLimited, NoProcess].map(refusals);
    assert_eq!(counts, [162, 1, 3, 1, 1]);
}

/// A process with room for one message, which holds one and takes none.
fn full(sim: &Simulation, overflow: Overflow<u32>) -> Address<u32> {
    let full = sim.spawn(waits).mailbox(1).overflow(overflow).start().unwrap();
    sim.run_until_idle();
    full.suspend().wait().unwrap();
    full.send(1).unwrap();
    full
}

/// The refusals for this cause, and all dead letters.
fn given_back(sim: &Simulation, cause: RefusalCause) -> (u64, u64) {
    let stats = sim.stats();
    (stats.refusals[&cause], stats.dead_letters)
}

#[test]
fn v14_a_send_that_waits_for_room_is_no_refusal() {
    for sim in simulations(3) {
        let fallback = sim.spawn(|| Diverting).mailbox(1).start().unwrap();
        sim.run_until_idle();
        fallback.suspend().wait().unwrap();
        let divert = || Overflow::divert(fallback.recipient(), "full");
        let diverting = full(&sim, divert());
        diverting.send(2).unwrap();
        let all = [Overflow::Refuse, Overflow::DropOldest, Overflow::DropNewest];
        let all = all.map(|overflow| full(&sim, overflow));
        for one in all.into_iter().chain([diverting]) {
            let mut waits = one.send_or_wait(7).into_future();
            assert!(poll_once(&mut waits).is_pending());
            assert_eq!(given_back(&sim, RefusalCause::Full), (0, 0));
            one.resume();
            sim.run_until_idle();
            assert!(matches!(poll_once(&mut waits), Poll::Ready(Ok(()))));
        }
        sim.run_until_idle();
        assert_eq!(given_back(&sim, RefusalCause::Full), (0, 0));
        // A send that does not wait is one, also by a recipient.
        let one = full(&sim, Overflow::Refuse);
        let recipient: Recipient<u32> = one.recipient();
        one.send(2).unwrap_err();
        recipient.send(2).unwrap_err();
        recipient.reserve().unwrap_err();
        assert_eq!(given_back(&sim, RefusalCause::Full), (2, 0));
    }
}

#[test]
fn v14_a_reservation_at_an_ended_process_is_no_refusal_and_no_dead_letter() {
    for sim in simulations(3) {
        let gone = sim.spawn(waits).name("gone").start().unwrap();
        let recipient: Recipient<u32> = gone.recipient();
        let named = sim.named_address::<u32, u32>("gone").unwrap();
        named.send(1).unwrap();
        let by_name: Recipient<u32> = named.recipient();
        sim.kill(gone.pid());
        sim.run_until_idle();
        let before = given_back(&sim, RefusalCause::NoProcess);
        gone.reserve().unwrap_err();
        gone.reserve_or_wait().wait().unwrap_err();
        recipient.reserve().unwrap_err();
        by_name.reserve().unwrap_err();
        assert_eq!(given_back(&sim, RefusalCause::NoProcess), before);
        // A message is both.
        gone.send(1).unwrap_err();
        gone.send_or_wait(1).wait().unwrap_err();
        recipient.send(1).unwrap_err();
        by_name.send(1).unwrap_err();
        let after = given_back(&sim, RefusalCause::NoProcess);
        assert_eq!((after.0 - before.0, after.1 - before.1), (4, 4));
    }
}

#[test]
fn v33_ends_and_messages_are_counted_when_their_processes_are_gone() {
    use ReasonKind::{Error, Kill, Killed, NoConnection, NoProcess, Normal, Panic, Shutdown};
    for sim in simulations(3) {
        let caller = sim.spawn(|| Caller(None)).wait().unwrap();
        let callee = sim.spawn(|| Caller(None)).wait().unwrap();
        caller.send(Talk::Meet(callee.clone())).unwrap();
        caller.send(Talk::Call(SECOND)).unwrap();
        sim.advance(2 * SECOND);
        assert_eq!(sim.stats().timed_out_calls, 1);
        let totals = |sim: &Simulation| {
            let mut sums = sim.stats().messages_of_ended;
            let mut walk = krarup::observe::Walk::new();
            while let Some(samples) = sim.view().walk(&mut walk) {
                for sample in samples {
                    sums.messages_in += sample.messages_in;
                    sums.messages_out += sample.messages_out;
                    sums.handled += sample.handled;
                }
            }
            (sums.messages_in, sums.messages_out, sums.handled)
        };
        assert_eq!(totals(&sim), (3, 1, 3));
        callee.send(Talk::Call(SECOND)).unwrap_or(());
        sim.kill(callee.pid());
        caller.stop().wait().unwrap();
        sim.run_until_idle();
        let log = Log::new();
        for reason in [Reason::Normal, Reason::Shutdown, boom(), Reason::NoProcess] {
            puppet(&sim, "ends", &log).dies(reason);
        }
        let panics = sim.spawn(|| Worker).start().unwrap();
        panics.send(Job::Panic).unwrap();
        sim.run_until_idle();
        let stats = sim.stats();
        assert_eq!(stats.processes, 0);
        assert_eq!(stats.ended.values().sum::<u64>(), stats.spawned);
        let ended: Vec<_> = stats.ended.values().copied().collect();
        let kinds = [Normal, Shutdown, Killed, Kill, Panic, Error, NoProcess, NoConnection];
        assert_eq!(stats.ended.keys().copied().collect::<Vec<_>>(), kinds);
        assert_eq!(ended, [2, 1, 1, 0, 1, 1, 1, 0]);
        // The messages of the dead are those of the living before, and what came since: the
        // one that was lost, a stop, four acts and the job.
        assert_eq!(totals(&sim), (3 + 1 + 1 + 4 + 1, 1, 3 + 1 + 4 + 1));
        assert_eq!(stats.messages_of_ended.messages_in, 10);
    }
}
