//! Children that are restarted in place (rule S10).

use crate::support::{Do, Habits, Stage, Start, children_text};
use krarup_act::{Actor, Address, Context, Reply};
use krarup_gen::{CallError, Pid, Reason, Result, SpawnError};
use krarup_node::{Fault, Faults, Node, Simulation};
use krarup_supervisor::{
    ChildKind, ChildSpec, ChildTemplate, RestartType, SpecError, Strategy, Supervisor,
    SupervisorAddress, SupervisorCalls,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// Child a is restarted in place, child b is not.
fn ab(stage: &Stage, intensity: u32) -> SupervisorAddress {
    let (a, b) = (stage.child_in_place("a"), stage.child("b"));
    stage.supervisor(move || Supervisor::one_for_one().intensity(intensity, HOUR).child(a).child(b))
}

#[test]
fn s10_a_restart_in_place_keeps_the_process_and_counts_for_the_child() {
    let stage = Stage::new();
    let supervisor = ab(&stage, 5);
    let pid = stage.pid("a");
    stage.crash("a");
    assert_eq!(stage.log(), "[boom] a, start a");
    stage.tell("a", Do::Panic);
    assert_eq!(stage.pid("a"), pid);
    let children = supervisor.which_children().wait().unwrap();
    assert_eq!((children[1].state.pid(), children[1].restarts), (Some(pid), 2));
    let spec = supervisor.get_childspec("a").wait().unwrap();
    assert_eq!((spec.in_place, spec.kind), (true, ChildKind::Worker));
    assert_eq!(supervisor.inspect().wait().unwrap().number("restarts"), Some(2));
}

#[test]
fn s10_a_restart_in_place_counts_and_can_exceed_the_intensity() {
    let stage = Stage::new();
    let supervisor = ab(&stage, 2);
    stage.crash("a");
    stage.crash("b");
    stage.log();
    let end = supervisor.watch();
    stage.crash("a");
    assert_eq!(stage.log(), "(boom) a, stop b");
    assert_eq!(end.wait().unwrap().reason, Reason::Shutdown);
}

#[test]
fn s10_a_failing_init_counts_and_is_tried_again() {
    let stage = Stage::new();
    let supervisor = ab(&stage, 3);
    let pid = stage.pid("a");
    stage.plan("a", &[Start::Fail, Start::Panic]);
    stage.crash("a");
    assert_eq!(stage.log(), "[boom] a, fail a, panic a, start a");
    assert_eq!((stage.pid("a"), children_text(&supervisor).as_str()), (pid, "a b"));
    stage.plan("a", &[Start::Fail]);
    stage.crash("a");
    assert_eq!(stage.log(), "(boom) a, stop b");
    assert!(!supervisor.is_alive());
}

#[test]
fn s10_ends_of_a_child_in_place_are_handled_as_usual() {
    for (restart, kids_after) in [
        (RestartType::Permanent, "a"),
        (RestartType::Transient, "a:undefined"),
        (RestartType::Temporary, ""),
    ] {
        let stage = Stage::new();
        let a = stage.child_in_place("a").restart(restart);
        let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(a));
        let pid = stage.pid("a");
        stage.tell("a", Do::End(Reason::Normal));
        assert_eq!(children_text(&supervisor), kids_after);
        assert_ne!(stage.sim.whereis("a"), Some(pid));
    }
    let stage = Stage::new();
    let supervisor = ab(&stage, 5);
    let pid = stage.pid("a");
    stage.sim.kill(pid);
    stage.sim.run_until_idle();
    assert_ne!(stage.pid("a"), pid, "after the kill it is started again");
    supervisor.terminate_child("a").wait().unwrap();
    assert_eq!(children_text(&supervisor), "a:undefined b");
}

#[test]
fn s10_a_temporary_child_ends_with_its_failure() {
    let stage = Stage::new();
    let a = stage.child_in_place("a").restart(RestartType::Temporary);
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(a));
    stage.crash("a");
    assert_eq!((stage.log().as_str(), children_text(&supervisor).as_str()), ("(boom) a", ""));
}

#[test]
fn s10_dynamic_children_are_restarted_in_place_with_their_arguments() {
    let stage = Stage::new();
    let shared = stage.shared();
    let template = ChildTemplate::worker_in_place("kid", move |id: String| {
        crate::support::Worker::new(&id, shared.clone(), Habits::default())
    });
    let supervisor = stage.supervisor(move || Supervisor::simple_one_for_one(template));
    let pid = supervisor.start_child("x".to_owned()).wait().unwrap().unwrap();
    stage.sim.send(pid, Do::Fail).unwrap();
    stage.sim.run_until_idle();
    assert_eq!(stage.log(), "start x, [boom] x, start x");
    assert!(stage.sim.is_alive(pid));
    assert_eq!(supervisor.which_children().wait().unwrap()[0].restarts, 1);
    let spec = supervisor.get_childspec(pid).wait().unwrap();
    assert_eq!((spec.in_place, spec.kind), (true, ChildKind::Worker));
    assert_eq!(spec.restart, RestartType::Permanent);
}

#[test]
fn b1_a_group_refuses_a_child_that_is_restarted_in_place() {
    for (supervisor, strategy) in [
        (Supervisor::one_for_all as fn() -> Supervisor, Strategy::OneForAll),
        (Supervisor::rest_for_one, Strategy::RestForOne),
    ] {
        let stage = Stage::new();
        let a = stage.child_in_place("a");
        let Err(SpawnError::Init(reason)) = stage.start(move || supervisor().child(a)) else {
            panic!("a supervisor that cannot be")
        };
        let error = SpecError::InPlaceInGroup { id: "a".into(), strategy };
        assert_eq!(reason.downcast_ref::<SpecError>(), Some(&error));
    }
}

/// Answers calls, and fails when told to.
struct Server;

enum Ask {
    Echo(u32, Reply<u32>),
    FailAfter(Duration),
}

impl Actor for Server {
    type Message = Ask;

    async fn handle_message(&mut self, ctx: &mut Context<Ask>, ask: Ask) -> Result {
        match ask {
            Ask::Echo(value, reply) => reply.send(value),
            Ask::FailAfter(time) => {
                ctx.sleep(time).await;
                return Err(Reason::error("boom"));
            }
        }
        Ok(())
    }
}

/// Makes its server fail and then calls it without a timeout, in `init` or in `terminate`.
struct Client {
    server: Address<Ask>,
    in_init: bool,
    log: Log,
}

type Log = Arc<std::sync::Mutex<Vec<Result<u32, CallError>>>>;

impl Client {
    async fn ask(&self) {
        let fail = Ask::FailAfter(Duration::from_secs(1));
        self.server.send(fail).expect("a server");
        let answer = self.server.call(|reply| Ask::Echo(7, reply)).no_timeout().await;
        self.log.lock().unwrap().push(answer);
    }
}

impl Actor for Client {
    type Message = ();

    async fn init(&mut self, _: &mut Context<()>) -> Result {
        if self.in_init {
            self.ask().await;
        }
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }

    async fn terminate(&mut self, _: &mut Context<()>, _: &Reason) {
        if !self.in_init {
            self.ask().await;
        }
    }
}

fn server_and_client(
    sim: &Simulation,
    intensity: u32,
    in_init: bool,
) -> (SupervisorAddress, Pid, Log) {
    let supervisor = sim
        .spawn(move || {
            Supervisor::one_for_one()
                .intensity(intensity, HOUR)
                .child(ChildSpec::worker_in_place("server", || Server).name("server"))
        })
        .wait()
        .unwrap();
    let server: Address<Ask> = sim.lookup("server").unwrap();
    let (pid, log) = (server.pid(), Log::default());
    let heard = log.clone();
    let client = ChildSpec::worker("client", move || Client {
        server: server.clone(),
        in_init,
        log: heard.clone(),
    });
    supervisor.start_child(client).wait().unwrap();
    (supervisor, pid, log)
}

#[test]
fn s10_a_child_is_served_while_its_start_waits_for_a_failed_child() {
    for seed in 0..8 {
        let sim = Simulation::new(seed);
        let (_supervisor, _, log) = server_and_client(&sim, 1, true);
        assert_eq!(*log.lock().unwrap(), [Ok(7)]);
    }
}

#[test]
fn s10_a_child_that_starts_is_notified_when_its_server_may_not_restart_in_place() {
    for seed in 0..8 {
        let sim = Simulation::new(seed);
        let (supervisor, to, log) = server_and_client(&sim, 0, true);
        assert_eq!(
            *log.lock().unwrap(),
            [Err(CallError::NotBegun { to, reason: Reason::error("boom") })]
        );
        sim.run_until_idle();
        assert!(!supervisor.is_alive(), "and then the supervisor gives up");
    }
}

#[test]
fn s10_a_child_is_served_while_its_end_waits_for_a_failed_child() {
    for seed in 0..8 {
        let sim = Simulation::new(seed);
        let (supervisor, to, log) = server_and_client(&sim, 1, false);
        supervisor.terminate_child("client").wait().unwrap();
        assert_eq!(*log.lock().unwrap(), [Ok(7)]);
        supervisor.restart_child("client").wait().unwrap();
        let end = supervisor.stop().wait();
        assert_eq!(end, Ok(()));
        assert_eq!(
            log.lock().unwrap()[1],
            Err(CallError::NotBegun { to, reason: Reason::error("boom") })
        );
    }
}

#[test]
fn s11_a_child_that_fails_while_it_is_stopped_ends_at_once() {
    let sim = Simulation::new(1);
    let (supervisor, _, _) = server_and_client(&sim, 9, false);
    supervisor.terminate_child("client").wait().unwrap();
    let server: Address<Ask> = sim.lookup("server").unwrap();
    server.send(Ask::FailAfter(Duration::from_secs(1))).unwrap();
    sim.run_until_idle();
    let before = sim.now();
    supervisor.terminate_child("server").wait().unwrap();
    assert_eq!(sim.now() - before, Duration::from_secs(1), "not killed, and not restarted");
}

#[test]
fn s10_restarts_in_place_never_hang_on_threads() {
    let node = Node::start("threads@localhost").unwrap();
    let ids = ["a", "b", "c", "d"];
    let supervisor = node
        .spawn(move || {
            let empty = Supervisor::one_for_one().intensity(u32::MAX, Duration::from_nanos(1));
            ids.into_iter().fold(empty, |supervisor, id| {
                supervisor.child(ChildSpec::worker_in_place(id, || Server).name(id))
            })
        })
        .wait()
        .unwrap();
    let servers = ids.map(|id| node.lookup::<Ask, Ask>(id).unwrap());
    std::thread::scope(|scope| {
        for server in &servers {
            scope.spawn(move || {
                for round in 0..500 {
                    server.send(Ask::FailAfter(Duration::ZERO)).unwrap();
                    let answer = server.call(|reply| Ask::Echo(round, reply)).no_timeout().wait();
                    assert_eq!(answer, Ok(round));
                }
            });
        }
    });
    let children = supervisor.which_children().wait().unwrap();
    assert!(children.iter().all(|child| child.restarts == 500), "{children:?}");
    node.stop().wait().unwrap();
}

/// Fails at its first message, which it sends itself in its first `init`.
struct Hasty(bool);

impl Actor for Hasty {
    type Message = ();

    async fn init(&mut self, ctx: &mut Context<()>) -> Result {
        if self.0 {
            ctx.address().send(())?;
        }
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Err(Reason::error("boom"))
    }
}

#[test]
fn s10_a_child_that_fails_right_after_its_start_is_restarted_in_place() {
    let node = Node::start("hasty@localhost").unwrap();
    let template = ChildTemplate::worker_in_place("hasty", |first: Arc<AtomicBool>| {
        Hasty(first.swap(false, Ordering::SeqCst))
    });
    let supervisor = node
        .spawn(move || {
            let empty = Supervisor::simple_one_for_one(template);
            empty.intensity(u32::MAX, Duration::from_nanos(1))
        })
        .wait()
        .unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Requests make the supervisor receive from its lane while a child starts.
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    supervisor.count_children().wait().unwrap();
                }
            });
        }
        for _ in 0..1000 {
            let pid = supervisor.start_child(Arc::new(AtomicBool::new(true))).wait().unwrap();
            let pid = pid.expect("a process");
            supervisor.count_children().wait().unwrap();
            assert!(node.is_alive(pid), "it has gone on in place");
            supervisor.terminate_child(pid).wait().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    node.stop().wait().unwrap();
}

/// Takes a second to fail, and traps exits meanwhile.
struct Traps;

impl Actor for Traps {
    type Message = ();

    async fn init(&mut self, ctx: &mut Context<()>) -> Result {
        ctx.trap_exits(true);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
        ctx.sleep(Duration::from_secs(1)).await;
        Err(Reason::error("boom"))
    }
}

#[test]
fn s10_a_child_whose_supervisor_has_ended_is_not_restarted_in_place() {
    let stage = Stage::new();
    let child = ChildSpec::worker_in_place("a", || Traps).name("a");
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(child));
    let a = stage.sim.lookup::<(), ()>("a").unwrap();
    a.send(()).unwrap();
    stage.sim.run_until_idle();
    stage.sim.kill(supervisor.pid());
    assert_eq!(a.watch().wait().unwrap().reason, Reason::error("boom"));
}

#[test]
fn s10_a_child_waits_without_a_limit_for_the_supervisors_decision() {
    let stage = Stage::new();
    let supervisor = ab(&stage, 5);
    let pid = stage.pid("a");
    let held = Fault::Delay(Duration::from_secs(60));
    stage.sim.faults(Faults::new().at_step(0, held, supervisor.pid()));
    // A fault strikes after a turn.
    stage.crash("b");
    stage.log();
    stage.crash("a");
    assert_eq!(stage.log(), "");
    stage.pass(Duration::from_secs(60));
    assert_eq!((stage.log().contains("[boom] a, start a"), stage.pid("a")), (true, pid));
}
