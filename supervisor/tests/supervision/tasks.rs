//! `Tasks`: rule J9.

use krarup_act::{Context, Received, behavior_fn};
use krarup_gen::{CallError, Pid, Result};
use krarup_node::Simulation;
use krarup_supervisor::{
    ChildSpec, RunError, Shutdown, Supervisor, SupervisorAddress, SupervisorCalls, Tasks,
    TasksAddress, TasksCalls,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn simulations() -> impl Iterator<Item = Simulation> {
    (0..20).flat_map(|seed| [Simulation::new(seed), Simulation::with_throughput(seed, 1)])
}

fn run<F>(sim: &Simulation, tasks: &TasksAddress, future: F) -> Result<Pid, RunError<F>>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let tasks = tasks.clone();
    sim.task(async move { tasks.run(future).await }).wait().unwrap()
}

/// A future that ends after a time, and counts itself then.
fn counted(
    sim: &Simulation,
    time: Duration,
    done: &Arc<AtomicUsize>,
) -> impl Future<Output = ()> + Send + use<> {
    let (sleeper, done) = (sim.spawn(sleeper).wait().unwrap(), Arc::clone(done));
    async move {
        sleeper.call(|reply| (time, reply)).no_timeout().await.unwrap();
        done.fetch_add(1, Ordering::Relaxed);
    }
}

type Sleep = (Duration, krarup_act::Reply<()>);

/// A process that answers one request after the time that it asks for.
fn sleeper() -> impl krarup_act::Behavior<Message = Sleep, Command = ()> {
    behavior_fn(|mut ctx: Context<Sleep, ()>| async move {
        if let Received::Message((time, reply)) = ctx.receive().await {
            ctx.sleep(time).await;
            reply.send(());
        }
        Ok(())
    })
}

#[test]
fn j9_a_task_that_was_accepted_runs_below_the_tasks_and_is_not_restarted() {
    for sim in simulations() {
        let tasks = sim.spawn(Tasks::new).wait().unwrap();
        let done = Arc::new(AtomicUsize::new(0));
        let pid = run(&sim, &tasks, counted(&sim, SECOND, &done)).unwrap();
        assert_eq!(sim.process_info(pid).unwrap().parent, Some(tasks.pid()));
        assert_eq!(sim.inspect(tasks.pid()).wait().unwrap().number("running"), Some(1));
        sim.advance(SECOND);
        assert_eq!(done.load(Ordering::Relaxed), 1);
        // One that fails ends nobody else.
        run(&sim, &tasks, async { panic!("planned") }).unwrap();
        sim.advance(SECOND);
        assert!(sim.is_alive(tasks.pid()));
        assert_eq!(sim.inspect(tasks.pid()).wait().unwrap().number("running"), Some(0));
        assert_eq!(sim.processes(), [tasks.pid()]);
    }
}

#[test]
fn j9_one_task_more_than_the_limit_comes_back() {
    for sim in simulations() {
        let tasks = sim.spawn(|| Tasks::new().at_most(2)).wait().unwrap();
        let done = Arc::new(AtomicUsize::new(0));
        for time in [1, 2] {
            run(&sim, &tasks, counted(&sim, time * SECOND, &done)).unwrap();
        }
        let refused = run(&sim, &tasks, counted(&sim, SECOND, &done)).unwrap_err();
        assert_eq!(refused.to_string(), "2 tasks run, and no more may");
        let RunError::Full { future, limit: 2 } = refused else { panic!("{refused}") };
        sim.advance(SECOND);
        // The first has ended, so there is a place for the future that came back.
        run(&sim, &tasks, future).unwrap();
        sim.advance(9 * SECOND);
        assert_eq!(done.load(Ordering::Relaxed), 3);
    }
}

#[test]
fn j9_a_caller_that_has_given_up_has_no_task() {
    let sim = Simulation::new(1);
    let tasks = sim.spawn(Tasks::new).wait().unwrap();
    let done = Arc::new(AtomicUsize::new(0));
    let suspended = sim.suspend(tasks.pid());
    suspended.wait().unwrap();
    let future = counted(&sim, SECOND, &done);
    let error = run(&sim, &tasks, future).unwrap_err();
    assert!(matches!(error, RunError::Call(CallError::Timeout { .. })), "{error}");
    assert!(sim.resume(tasks.pid()));
    sim.advance(9 * SECOND);
    assert_eq!(done.load(Ordering::Relaxed), 0);
}

fn below_a_supervisor(sim: &Simulation, time: Duration) -> (SupervisorAddress, TasksAddress) {
    let supervisor = sim.spawn(move || {
        let tasks = move || Tasks::new().shutdown(time);
        let spec = ChildSpec::worker("tasks", tasks).name("tasks").shutdown(Shutdown::Infinity);
        Supervisor::one_for_one().child(spec)
    });
    (supervisor.wait().unwrap(), sim.lookup("tasks").unwrap())
}

#[test]
fn j9_a_stop_waits_for_the_tasks_that_run_as_long_as_its_shutdown_time() {
    for sim in simulations() {
        let (supervisor, tasks) = below_a_supervisor(&sim, 5 * SECOND);
        let done = Arc::new(AtomicUsize::new(0));
        for time in [1, 4, 6, 9] {
            run(&sim, &tasks, counted(&sim, time * SECOND, &done)).unwrap();
        }
        let before = sim.now();
        assert!(supervisor.terminate_child("tasks").wait().is_ok());
        assert_eq!(sim.now() - before, 5 * SECOND);
        assert_eq!(done.load(Ordering::Relaxed), 2, "two in time");
        sim.advance(9 * SECOND);
        assert_eq!(done.load(Ordering::Relaxed), 2, "the others were ended");
    }
}

#[test]
fn j9_a_stop_with_nothing_to_wait_for_takes_no_time_and_a_kill_leaves_no_task() {
    for sim in simulations() {
        let tasks = sim.spawn(Tasks::new).wait().unwrap();
        let before = sim.now();
        tasks.stop().wait().unwrap();
        assert_eq!(sim.now(), before);
        let tasks = sim.spawn(Tasks::new).wait().unwrap();
        run(&sim, &tasks, std::future::pending::<()>()).unwrap();
        sim.kill(tasks.pid());
        sim.run_until_idle();
        assert_eq!(sim.processes().len(), 0);
    }
}

/// Tasks that were ended by a stop are reported.
#[test]
fn j9_the_tasks_that_a_stop_had_to_end_are_reported() {
    let sim = Simulation::new(1);
    let tasks = sim.spawn(|| Tasks::new().shutdown(SECOND)).name("jobs").wait().unwrap();
    let pid = run(&sim, &tasks, std::future::pending::<()>()).unwrap();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let reported = Arc::clone(&lines);
    tracing::subscriber::with_default(Reports(reported), || tasks.stop().wait().unwrap());
    let lines = lines.lock().unwrap();
    let is_told = |line: &String| {
        let parts = ["task ended by shutdown", &pid.to_string(), "tasks_name=\"jobs\""];
        parts.iter().all(|part| line.contains(part))
    };
    assert!(lines.iter().any(is_told), "{lines:?}");
    assert_eq!(sim.process_info(pid), None);
}

/// Remembers the events, as text.
struct Reports(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Reports {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct PanicText(String);

        impl tracing::field::Visit for PanicText {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                use std::fmt::Write;
                let _ = write!(self.0, "{field}={value:?} ");
            }
        }

        let mut text = PanicText(String::new());
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}
