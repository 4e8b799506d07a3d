//! Children that never return their thread: a kill cannot end them (rule S11).
//!
//! In a simulation such a child is delayed by a fault: it has no turn, so neither a stop nor a
//! kill reaches it, while time advances.

use crate::support::{Habits, Stage, Start, Worker, children_text};
use krarup_act::{Actor, Context, behavior_fn};
use krarup_gen::{Pid, Reason, Result, SendError, SpawnError};
use krarup_node::{Fault, Faults, Node};
use krarup_supervisor::{
    BackOff, ChildSpec, ChildTemplate, FailedToStartChild, RestartType, Shutdown, Supervisor,
    SupervisorCalls,
};
use std::future::IntoFuture;
use std::sync::mpsc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);

/// Gives these processes no turn for a day, or until [`thaw`].
fn freeze(stage: &Stage, pids: &[Pid]) {
    let hold = |faults: Faults, pid: &Pid| faults.at_step(0, Fault::Delay(DAY), *pid);
    stage.sim.faults(pids.iter().fold(Faults::new(), hold));
    // A fault strikes after a turn: this process has one.
    stage.sim.spawn(|| behavior_fn(|_: Context<()>| async { Ok(()) })).start().unwrap();
    stage.sim.step();
}

fn thaw(stage: &Stage) {
    stage.sim.faults(Faults::new());
    stage.sim.run_until_idle();
}

#[test]
fn s11_a_stop_continues_without_a_child_that_cannot_be_ended() {
    let stage = Stage::new();
    let children = ["a", "b", "c"].map(|id| stage.child(id).shutdown(2 * SECOND));
    let supervisor = stage
        .supervisor(|| children.into_iter().fold(Supervisor::one_for_one(), Supervisor::child));
    let stuck = stage.pid("b");
    freeze(&stage, &[stuck]);
    let before = stage.sim.now();
    supervisor.stop().wait().unwrap();
    // Its shutdown time, and five seconds to end after the kill.
    assert_eq!(stage.sim.now() - before, 7 * SECOND);
    assert_eq!(stage.log(), "stop c, stop a");
    assert!(stage.sim.is_alive(stuck));
    thaw(&stage);
    assert_eq!((stage.log().as_str(), stage.sim.processes().len()), ("", 0));
}

#[test]
fn s11_each_level_of_a_tree_continues_without_a_stuck_child() {
    let stage = Stage::new();
    let (a, b) = (stage.child("a"), stage.child("b").shutdown(Shutdown::BrutalKill));
    let inner = ChildSpec::supervisor("inner", move || {
        Supervisor::one_for_one().kill_grace(3 * SECOND).child(a.clone()).child(b.clone())
    });
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(inner));
    freeze(&stage, &[stage.pid("b")]);
    let before = stage.sim.now();
    supervisor.stop().wait().unwrap();
    assert_eq!((stage.sim.now() - before, stage.log().as_str()), (3 * SECOND, "stop a"));
}

#[test]
fn s11_a_group_restart_continues_and_the_abandoned_child_affects_nothing() {
    let stage = Stage::new();
    let (a, b) = (stage.child("a"), stage.child("b").shutdown(SECOND));
    let supervisor =
        stage.supervisor(|| Supervisor::one_for_all().kill_grace(2 * SECOND).child(a).child(b));
    let stuck = stage.pid("b");
    freeze(&stage, &[stuck]);
    stage.crash("a");
    stage.pass(3 * SECOND);
    assert_eq!(stage.log(), "(boom) a, start a, start b");
    let successor = stage.pid("b");
    assert!(successor != stuck && stage.sim.is_alive(stuck));
    assert!(!stage.sim.process_info(stuck).unwrap().links.contains(&supervisor.pid()));
    assert_eq!(stage.sim.process_info(stuck).unwrap().name, None);
    thaw(&stage);
    // It has ended: its successor has kept the name, and nothing was restarted.
    assert!(!stage.sim.is_alive(stuck));
    assert_eq!((stage.pid("b"), stage.log().as_str()), (successor, ""));
    assert_eq!(supervisor.count_children().wait().unwrap().active, 2);
}

#[test]
fn s11_a_child_that_cannot_be_ended_is_terminated_all_the_same() {
    let stage = Stage::new();
    let (a, b) = (stage.child("a"), stage.child("b").restart(RestartType::Temporary));
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(a).child(b));
    freeze(&stage, &[stage.pid("a"), stage.pid("b")]);
    supervisor.terminate_child("a").wait().unwrap();
    supervisor.terminate_child("b").wait().unwrap();
    assert_eq!(children_text(&supervisor), "a:undefined");
    supervisor.restart_child("a").wait().unwrap();
    thaw(&stage);
    assert_eq!((stage.log().as_str(), children_text(&supervisor).as_str()), ("start a", "a"));
}

#[test]
fn s11_a_failed_start_continues_without_a_child_that_cannot_be_ended() {
    let stage = Stage::new();
    stage.plan("c", &[Start::FailLate(SECOND)]);
    let [a, b, c] = ["a", "b", "c"].map(|id| stage.child(id));
    let tree = || Supervisor::one_for_one().child(a).child(b).child(c);
    let supervisor = stage.sim.spawn(tree).start().unwrap();
    stage.sim.run_until_idle();
    freeze(&stage, &[stage.pid("b")]);
    let end = supervisor.watch();
    let reason = end.wait().unwrap().reason;
    assert_eq!(reason.downcast_ref::<FailedToStartChild>().unwrap().id, "c");
    assert_eq!(stage.log(), "start a, start b, fail c, stop a");
    assert_eq!(stage.sim.now().as_nanos(), 11_000_000_000);
}

#[test]
fn s11_an_init_timeout_ends_though_the_child_does_not() {
    let stage = Stage::new();
    stage.plan("a", &[Start::Never]);
    let a = stage.child("a").init_timeout(SECOND);
    let tree = || Supervisor::one_for_one().kill_grace(2 * SECOND).child(a);
    let supervisor = stage.sim.spawn(tree).start().unwrap();
    stage.sim.run_until_idle();
    let stuck = stage.pid("a");
    freeze(&stage, &[stuck]);
    let reason = supervisor.watch().wait().unwrap().reason;
    let failed = reason.downcast_ref::<FailedToStartChild>().unwrap();
    let timeout = SpawnError::Timeout(SECOND);
    assert_eq!(failed.reason.downcast_ref::<SpawnError>(), Some(&timeout));
    assert_eq!(stage.sim.now().as_nanos(), 3_000_000_000);
    assert_eq!(stage.sim.whereis("a"), None);
    assert_eq!(stage.sim.process_info(stuck).unwrap().links, []);
    thaw(&stage);
    assert_eq!(stage.sim.processes(), []);
}

#[test]
fn s11_a_child_that_failed_to_start_and_is_still_alive_does_not_affect_its_supervisor() {
    let stage = Stage::new();
    stage.plan("a", &[Start::Never]);
    let a = stage.child("a").init_timeout(SECOND);
    let supervisor = stage.supervisor(Supervisor::one_for_one);
    let mut start = supervisor.start_child(a).into_future();
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(start.as_mut().poll(&mut cx).is_pending());
    stage.sim.run_until_idle();
    let stuck = stage.pid("a");
    freeze(&stage, &[stuck]);
    stage.pass(6 * SECOND);
    assert!(matches!(start.as_mut().poll(&mut cx), std::task::Poll::Ready(Err(_))));
    assert_eq!(stage.sim.process_info(stuck).unwrap().links, []);
    assert_eq!(children_text(&supervisor), "");
    thaw(&stage);
    assert!(supervisor.is_alive() && !stage.sim.is_alive(stuck));
}

#[test]
fn s11_a_stop_continues_during_a_start_that_never_returns() {
    let stage = Stage::new();
    stage.plan("b", &[Start::Never]);
    let (a, b) = (stage.child("a"), stage.child("b").shutdown(SECOND));
    let supervisor =
        stage.sim.spawn(|| Supervisor::one_for_one().child(a).child(b)).start().unwrap();
    stage.sim.run_until_idle();
    freeze(&stage, &[stage.pid("b")]);
    let before = stage.sim.now();
    let _ = supervisor.stop().wait();
    assert_eq!(stage.sim.now() - before, 6 * SECOND);
    assert_eq!(stage.log(), "start a, hang b, stop a");
    assert!(!supervisor.is_alive());
}

#[test]
fn s11_dynamic_children_that_cannot_be_ended_share_one_grace_period() {
    let stage = Stage::new();
    let shared = stage.shared();
    let worker =
        move |id: String| Worker::new(&id, std::sync::Arc::clone(&shared), Habits::default());
    let template = ChildTemplate::worker("w", worker).shutdown(2 * SECOND);
    let supervisor = stage.supervisor(|| Supervisor::simple_one_for_one(template));
    let pids: Vec<Pid> =
        (0..6).map(|n| supervisor.start_child(n.to_string()).wait().unwrap().unwrap()).collect();
    stage.log();
    freeze(&stage, &pids[1..4]);
    let before = stage.sim.now();
    supervisor.stop().wait().unwrap();
    assert_eq!(stage.sim.now() - before, 7 * SECOND);
    assert_eq!(stage.log().matches("stop").count(), 3);
}

#[test]
fn s11_a_child_that_ends_within_the_grace_is_waited_for() {
    let stage = Stage::new();
    let a = stage.child("a").shutdown(Shutdown::BrutalKill);
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(a));
    let stuck = stage.pid("a");
    let held = Faults::new().at_step(0, Fault::Delay(4 * SECOND), stuck);
    stage.sim.faults(held);
    stage.sim.spawn(|| behavior_fn(|_: Context<()>| async { Ok(()) })).start().unwrap();
    stage.sim.step();
    stage.worker("a").send(crate::support::Do::Fail).unwrap();
    supervisor.stop().wait().unwrap();
    assert_eq!(stage.sim.now().as_nanos(), 4_000_000_000);
    assert!(!stage.sim.is_alive(stuck));
}

#[test]
fn s11_a_plain_spawn_also_abandons_a_stuck_start() {
    let stage = Stage::new();
    let never = || {
        behavior_fn(|ctx: Context<()>| async move {
            let _kept = ctx;
            std::future::pending::<()>().await;
            Ok(())
        })
    };
    let node = stage.sim.node().clone();
    let (tell, told) = mpsc::channel();
    let spawner = behavior_fn(move |ctx: Context<()>| async move {
        let spawn = ctx.spawn(never).name("never").init_timeout(SECOND).kill_grace(3 * SECOND);
        tell.send((spawn.await.unwrap_err(), ctx.now().as_nanos(), node.whereis("never"))).unwrap();
        Ok(())
    });
    stage.sim.spawn(move || spawner).start().unwrap();
    stage.sim.run_until_idle();
    freeze(&stage, &[stage.pid("never")]);
    stage.pass(10 * SECOND);
    assert_eq!(told.try_recv(), Ok((SpawnError::Timeout(SECOND), 4_000_000_000, None)));
}

#[test]
fn s11_a_name_that_another_process_has_taken_stays_with_it() {
    let stage = Stage::new();
    let a = stage.child("a").shutdown(Shutdown::BrutalKill);
    let supervisor = stage.supervisor(|| Supervisor::one_for_one().child(a));
    let stuck = stage.pid("a");
    freeze(&stage, &[stuck]);
    let (tell, told) = mpsc::channel();
    let takes = behavior_fn(move |mut ctx: Context<()>| async move {
        assert_eq!(ctx.unregister("a"), Some(stuck));
        ctx.register("a")?;
        tell.send(ctx.pid()).unwrap();
        ctx.receive().await;
        Ok(())
    });
    stage.sim.spawn(move || takes).start().unwrap();
    stage.sim.run_until_idle();
    let other = told.recv().unwrap();
    supervisor.terminate_child("a").wait().unwrap();
    assert_eq!(stage.sim.whereis("a"), Some(other));
    thaw(&stage);
    assert_eq!(stage.sim.whereis("a"), Some(other));
}

/// Blocks its worker thread until the test releases it.
struct Blocks(mpsc::Sender<()>, std::sync::Arc<std::sync::Mutex<mpsc::Receiver<()>>>);

impl Actor for Blocks {
    type Message = ();
    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        self.0.send(()).unwrap();
        let _ = self.1.lock().unwrap().recv();
        Ok(())
    }
}

#[test]
fn s11_a_thread_that_is_blocked_for_good_freezes_no_supervisor() {
    let node = Node::builder("stuck").workers(2).start().unwrap();
    let (entered, inside) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let released = std::sync::Arc::new(std::sync::Mutex::new(released));
    let blocks = move || Blocks(entered.clone(), std::sync::Arc::clone(&released));
    let child = ChildSpec::worker("blocks", blocks)
        .name("blocks")
        .shutdown(Shutdown::BrutalKill)
        .back_off(BackOff::new(SECOND, SECOND));
    // Without a grace period a killed child is abandoned at once.
    let tree = || Supervisor::one_for_one().kill_grace(Duration::ZERO).child(child);
    let supervisor = node.spawn(tree).wait().unwrap();
    let first = node.whereis("blocks").unwrap();
    node.send("blocks", ()).unwrap();
    inside.recv().unwrap();
    supervisor.terminate_child("blocks").wait().unwrap();
    let second = supervisor.restart_child("blocks").wait().unwrap().unwrap();
    assert!(node.is_alive(first) && node.whereis("blocks") == Some(second));
    supervisor.stop().reason(Reason::Shutdown).wait().unwrap();
    let end = node.watch(first);
    release.send(()).unwrap();
    assert_eq!(end.wait().unwrap().reason, Reason::Killed);
    node.stop().wait().unwrap();
}

/// A message in the mailbox of a child that ends. Its destructor reports the end and delays it.
struct HoldsUp(mpsc::Sender<()>, mpsc::Receiver<()>);

impl Drop for HoldsUp {
    fn drop(&mut self) {
        self.0.send(()).unwrap();
        let _ = self.1.recv();
    }
}

/// Signals its supervisor, and ends with the message in its mailbox.
struct Signals;

impl Actor for Signals {
    type Message = HoldsUp;
    async fn handle_message(&mut self, ctx: &mut Context<HoldsUp>, message: HoldsUp) -> Result {
        assert!(ctx.address().send(message).is_ok());
        ctx.exit(ctx.parent().unwrap(), Reason::error("signal"));
        Err(Reason::error("end"))
    }
}

/// Does not finish its `init` until the test allows it.
struct Waits(mpsc::Receiver<()>, mpsc::Sender<()>);

impl Actor for Waits {
    type Message = ();
    async fn init(&mut self, _: &mut Context<()>) -> Result {
        self.1.send(()).unwrap();
        let _ = self.0.recv();
        Ok(())
    }
    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
}

#[test]
fn s9_a_signal_of_a_child_that_is_ending_and_still_has_its_name_is_not_its_end() {
    let node = Node::builder("ending").workers(4).start().unwrap();
    let child = ChildSpec::worker("signals", || Signals).name("signals");
    let tree = || Supervisor::one_for_one().intensity(1, DAY).child(child);
    let supervisor = node.spawn(tree).wait().unwrap();
    let first = node.whereis("signals").unwrap();
    // While the supervisor starts another child, it holds the signal.
    let (go, may_go) = mpsc::channel();
    let (starting, has_begun) = mpsc::channel();
    let waits = std::sync::Mutex::new(Some(Waits(may_go, starting)));
    let waits = ChildSpec::worker("waits", move || waits.lock().unwrap().take().unwrap());
    let asked = std::thread::spawn({
        let supervisor = supervisor.clone();
        move || supervisor.start_child(waits.restart(RestartType::Temporary)).wait()
    });
    has_begun.recv().unwrap();
    let (ending, is_ending) = mpsc::channel();
    let (release, released) = mpsc::channel();
    node.send("signals", HoldsUp(ending, released)).map_err(SendError::without_message).unwrap();
    is_ending.recv().unwrap();
    go.send(()).unwrap();
    asked.join().unwrap().unwrap();
    // This request is served after the signal.
    assert_eq!(supervisor.count_children().wait().unwrap().specs, 2);
    assert_eq!(node.whereis("signals"), Some(first));
    let end = node.watch(first);
    release.send(()).unwrap();
    end.wait().unwrap();
    // After the end.
    assert_eq!(supervisor.count_children().wait().unwrap().active, 2);
    assert!(node.whereis("signals").is_some_and(|second| second != first));
    node.stop().wait().unwrap();
}
