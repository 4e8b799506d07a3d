//! Restart in place (rule S10): what stays, what goes, and what ends the process after all.

use crate::support::journal::Journal;
use crate::support::{Does, Guard, Log, boom, poll_once, puppet, simulations};
use krarup::Dynamic;
use krarup::observe::DebugError;
use krarup::prelude::*;
use krarup::supervisor::{InPlace, InPlaceError, RestartPolicy, RestartWindow, StateFailure};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// How a callback of the coming states goes; well, once the list is empty.
#[derive(Clone, Debug, Default)]
struct Script(Arc<Mutex<VecDeque<(&'static str, Fate)>>>);

#[derive(Clone, Copy, Debug)]
enum Fate {
    Error,
    Panic,
    Wait,
    /// Well, and the process is to stop.
    Stop,
}

impl Script {
    fn of(fates: &[(&'static str, Fate)]) -> Self {
        let script = Script::default();
        script.add(fates);
        script
    }

    fn add(&self, fates: &[(&'static str, Fate)]) {
        self.0.lock().unwrap().extend(fates);
    }

    fn next(&self, callback: &str) -> Option<Fate> {
        let mut fates = self.0.lock().unwrap();
        let is_next = fates.front().is_some_and(|(name, _)| *name == callback);
        is_next.then(|| fates.pop_front()).flatten().map(|(_, fate)| fate)
    }
}

enum Say {
    Add(u32),
    Sum(Reply<u32>),
    /// Fails with the reply token in hand, after a while if there is one.
    Fail(Option<Duration>, Option<Reply<u32>>),
    Panic(Reply<u32>),
    Keep(Reply<u32>),
    End(Reason),
    Stop,
    StopAndFail,
    Timer,
}

struct Counter {
    log: Log,
    script: Script,
    sum: u32,
    kept: Vec<Reply<u32>>,
    _guard: Guard,
}

impl Counter {
    fn go<'a>(
        &self,
        callback: &'static str,
        ctx: &'a mut Context<Say>,
    ) -> impl Future<Output = Result> + Send + use<'a> {
        let fate = self.script.next(callback);
        async move {
            match fate {
                None => Ok(()),
                Some(Fate::Error) => Err(Reason::error(callback)),
                Some(Fate::Panic) => panic!("{callback}"),
                Some(Fate::Wait) => {
                    ctx.sleep(HOUR).await;
                    Ok(())
                }
                Some(Fate::Stop) => {
                    ctx.stop();
                    Ok(())
                }
            }
        }
    }
}

impl Actor for Counter {
    type Message = Say;

    async fn init(&mut self, ctx: &mut Context<Say>) -> Result {
        self.log.note("init");
        self.go("init", ctx).await
    }

    async fn handle_message(&mut self, ctx: &mut Context<Say>, message: Say) -> Result {
        match message {
            Say::Add(more) => {
                self.log.note(format!("add {more}"));
                self.sum += more;
            }
            Say::Sum(reply) => reply.send(self.sum),
            Say::Fail(after, _reply) => {
                if let Some(after) = after {
                    ctx.sleep(after).await;
                }
                return Err(boom());
            }
            Say::Panic(_reply) => panic!("oops"),
            Say::Keep(reply) => self.kept.push(reply),
            Say::End(reason) => return Err(reason),
            Say::Stop => ctx.stop(),
            Say::StopAndFail => {
                ctx.stop();
                return Err(boom());
            }
            Say::Timer => {
                ctx.send_after(Duration::from_secs(1), Say::Add(100));
                ctx.send_interval(Duration::from_secs(1), || Say::Add(1000));
            }
        }
        Ok(())
    }

    async fn before_restart(&mut self, ctx: &mut Context<Say>, reason: &Reason) {
        self.log.note(format!("before {reason} with {}", self.sum));
        let _ = self.go("before", ctx).await;
    }

    async fn after_restart(&mut self, ctx: &mut Context<Say>, reason: &Reason) -> Result {
        self.log.note(format!("after {reason} with {}", self.sum));
        self.go("after", ctx).await
    }

    async fn terminate(&mut self, _: &mut Context<Say>, reason: &Reason) {
        self.log.note(format!("terminate {reason}"));
    }
}

fn factory(log: &Log, script: Script) -> impl Fn() -> Counter + Send + 'static {
    let log = log.clone();
    move || {
        log.note("new");
        let (log, script, guard) = (log.clone(), script.clone(), Guard::new(&log, "drop"));
        Counter { log, script, sum: 0, kept: Vec::new(), _guard: guard }
    }
}

/// A counter that may fail `intensity` times in an hour, named `counter`.
fn counter(sim: &Simulation, log: &Log, script: Script, intensity: u32) -> Address<Say> {
    let factory = factory(log, script);
    let counter = sim
        .spawn(move || InPlace::new(factory).intensity(intensity, HOUR))
        .name("counter")
        .wait()
        .unwrap();
    log.take();
    counter
}

fn fails(sim: &Simulation, counter: &Address<Say>) {
    counter.send(Say::Fail(None, None)).unwrap();
    sim.run_until_idle();
}

#[test]
fn s10_the_state_is_replaced_and_the_process_stays() {
    for sim in simulations(4) {
        let log = Log::new();
        let counter = counter(&sim, &log, Script::default(), 5);
        let pid = counter.pid();
        let mut end = counter.watch();
        counter.send(Say::Add(1)).unwrap();
        counter.send(Say::Fail(None, None)).unwrap();
        counter.send(Say::Add(2)).unwrap();
        counter.send(Say::Add(3)).unwrap();
        assert_eq!(counter.call(Say::Sum).wait(), Ok(5));
        assert_eq!(
            log.take(),
            [
                "add 1",
                "before boom with 1",
                "drop",
                "new",
                "init",
                "after boom with 0",
                "add 2",
                "add 3"
            ]
        );
        assert_eq!(sim.whereis("counter"), Some(pid));
        assert!(counter.is_alive() && poll_once(&mut end).is_pending());
        assert_eq!(sim.stats().dead_letters, 0);
    }
}

#[test]
fn s10_links_and_monitors_of_either_side_stay() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let counter = counter(&sim, &log, Script::default(), 5);
    let pid = counter.pid();
    let peer = sim
        .spawn(move || {
            krarup::behavior::behavior_fn(move |mut ctx: Context<()>| async move {
                ctx.link(pid);
                ctx.receive().await;
                Ok(())
            })
        })
        .wait()
        .unwrap();
    sim.run_until_idle();
    fails(&sim, &counter);
    assert!(peer.is_alive() && counter.is_alive());
    sim.kill(peer.pid());
    sim.run_until_idle();
    assert!(!counter.is_alive(), "an exit signal ends it as it ends any process");
    assert!(!log.take().contains(&"terminate killed".to_owned()));
}

#[test]
fn s10_a_panic_is_a_failure_and_before_restart_runs_on_the_old_state() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let counter = counter(&sim, &log, Script::default(), 5);
    counter.send(Say::Add(7)).unwrap();
    let error = counter.call(Say::Panic).wait().unwrap_err();
    assert!(matches!(error, CallError::Terminated { reason: Reason::Panic(_), .. }), "{error}");
    assert_eq!(counter.call(Say::Sum).wait(), Ok(0));
    let lines = log.take();
    assert!(lines[1].starts_with("before panic") && lines[1].ends_with("with 7"), "{lines:?}");
    assert_eq!(lines[2..5], ["drop", "new", "init"]);
}

#[test]
fn s10_a_call_in_progress_or_kept_fails_with_the_reason_and_one_in_the_queue_is_served() {
    for sim in simulations(4) {
        let log = Log::new();
        let counter = counter(&sim, &log, Script::default(), 5);
        let slowly = |reply| Say::Fail(Some(Duration::from_secs(9)), Some(reply));
        let mut kept = counter.call(Say::Keep).no_timeout().into_future();
        let mut in_progress = counter.call(slowly).no_timeout().into_future();
        let mut queued = counter.call(Say::Sum).no_timeout().into_future();
        assert!(poll_once(&mut kept).is_pending());
        assert!(poll_once(&mut in_progress).is_pending());
        assert!(poll_once(&mut queued).is_pending());
        sim.advance(Duration::from_secs(8));
        assert!(poll_once(&mut in_progress).is_pending());
        sim.advance(Duration::from_secs(1));
        let terminated =
            Poll::Ready(Err(CallError::Terminated { to: counter.pid(), reason: boom() }));
        assert_eq!(poll_once(&mut in_progress), terminated);
        assert_eq!(poll_once(&mut kept), terminated);
        assert_eq!(poll_once(&mut queued), Poll::Ready(Ok(0)));
    }
}

#[test]
fn s10_a_caller_does_not_wait_for_the_restart() {
    let sim = Simulation::new(1);
    let counter = counter(&sim, &Log::new(), Script::of(&[("before", Fate::Wait)]), 5);
    let mut call = counter.call(Say::Panic).no_timeout().into_future();
    assert!(poll_once(&mut call).is_pending());
    sim.run_until_idle();
    let answer = poll_once(&mut call);
    assert!(matches!(answer, Poll::Ready(Err(CallError::Terminated { .. }))), "{answer:?}");
}

#[test]
fn s10_timers_of_the_old_state_go_with_it() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let counter = counter(&sim, &log, Script::default(), 5);
    counter.send(Say::Timer).unwrap();
    sim.run_until_idle();
    let timers = sim.stats().timers;
    fails(&sim, &counter);
    assert_eq!(sim.stats().timers, timers - 2);
    sim.advance(HOUR);
    assert_eq!(counter.call(Say::Sum).wait(), Ok(0));
}

/// Begins a pipe in each `init`. One that is told to ends the pipe of its state before it is replaced.
struct Piping {
    log: Log,
    born: Arc<Mutex<u32>>,
    ends_it: bool,
    pipe: Option<Pid>,
}

impl Actor for Piping {
    type Message = Option<u32>;

    async fn init(&mut self, ctx: &mut Context<Option<u32>>) -> Result {
        let state = {
            let mut born = self.born.lock().unwrap();
            *born += 1;
            *born
        };
        let clock = ctx.clock();
        let pipe = async move {
            clock.sleep(HOUR).await;
            state
        };
        self.pipe = Some(ctx.pipe(pipe, Some)?);
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Option<u32>>, done: Option<u32>) -> Result {
        let Some(begun_by) = done else { return Err(Reason::error("replace me")) };
        self.log.note(format!("{begun_by} at {}", self.born.lock().unwrap()));
        Ok(())
    }

    async fn before_restart(&mut self, ctx: &mut Context<Option<u32>>, _: &Reason) {
        if let Some(pipe) = self.pipe.filter(|_| self.ends_it) {
            ctx.exit(pipe, Reason::Shutdown);
        }
    }
}

#[test]
fn s10_a_pipe_goes_on_unless_before_restart_ends_it() {
    for (ends_it, heard) in [(false, vec!["1 at 2", "2 at 2"]), (true, vec!["2 at 2"])] {
        for sim in simulations(3) {
            let log = Log::new();
            let (notes, born) = (log.clone(), Arc::default());
            let state =
                move || Piping { log: notes.clone(), born: Arc::clone(&born), ends_it, pipe: None };
            let piping = sim.spawn(move || InPlace::new(state)).wait().unwrap();
            piping.send(None).unwrap();
            sim.advance(2 * HOUR);
            // Both are due at the same time.
            let mut lines = log.take();
            lines.sort();
            assert_eq!(lines, heard);
        }
    }
}

#[test]
fn s10_a_state_that_stops_itself_and_fails_is_not_replaced() {
    for sim in simulations(3) {
        let log = Log::new();
        let counter = counter(&sim, &log, Script::default(), 5);
        let (end, restarts) = (counter.watch(), sim.stats().restarts);
        counter.send(Say::StopAndFail).unwrap();
        assert_eq!(end.wait().unwrap().reason, boom());
        assert_eq!(log.take(), ["terminate boom", "drop"]);
        assert_eq!(sim.stats().restarts, restarts);
    }
}

#[test]
fn s10_a_stop_in_a_hook_of_a_restart_is_obeyed() {
    let started = ["before boom with 0", "drop", "new", "init", "after boom with 0"];
    for (fates, reason, last) in [
        // The next state begins nothing.
        (&[("before", Fate::Stop)][..], Reason::Normal, &["terminate normal", "drop"][..]),
        (&[("init", Fate::Stop)], Reason::Normal, &["terminate normal", "drop"]),
        // If it fails it is the last.
        (
            &[("init", Fate::Stop), ("after", Fate::Error)],
            Reason::error("after"),
            &["terminate after", "drop"],
        ),
    ] {
        for sim in simulations(3) {
            let log = Log::new();
            let script = Script::default();
            let counter = counter(&sim, &log, script.clone(), 5);
            script.add(fates);
            let end = counter.watch();
            counter.send(Say::Fail(None, None)).unwrap();
            counter.send(Say::Add(1)).unwrap();
            assert_eq!(end.wait().unwrap().reason, reason);
            assert_eq!(log.take(), [&started[..], last].concat(), "{fates:?}");
        }
    }
}

#[test]
fn s10_the_failure_over_the_intensity_ends_it_with_its_reason() {
    for sim in simulations(4) {
        let log = Log::new();
        let counter = counter(&sim, &log, Script::default(), 2);
        fails(&sim, &counter);
        sim.advance(HOUR);
        fails(&sim, &counter);
        sim.advance(Duration::from_nanos(1));
        fails(&sim, &counter);
        assert!(counter.is_alive(), "the first is older than an hour");
        log.take();
        let end = counter.watch();
        counter.send(Say::Fail(None, None)).unwrap();
        assert_eq!(end.wait().unwrap().reason, boom());
        assert_eq!(log.take(), ["terminate boom", "drop"]);
        assert_eq!(sim.whereis("counter"), None);
    }
}

#[test]
fn s10_the_default_intensity_in_place_is_one_in_five_seconds() {
    let sim = Simulation::new(1);
    let factory = factory(&Log::new(), Script::default());
    let counter = sim.spawn(move || InPlace::new(factory)).wait().unwrap();
    fails(&sim, &counter);
    sim.advance(Duration::from_millis(5001));
    fails(&sim, &counter);
    assert!(counter.is_alive());
    fails(&sim, &counter);
    assert!(!counter.is_alive());
}

#[test]
fn s10_a_failing_init_or_after_restart_is_another_failure() {
    for fate in [Fate::Error, Fate::Panic] {
        let sim = Simulation::new(1);
        let log = Log::new();
        let script = Script::of(&[]);
        let counter = counter(&sim, &log, script.clone(), 3);
        *script.0.lock().unwrap() = VecDeque::from([("init", fate), ("after", fate)]);
        fails(&sim, &counter);
        let lines = log.take();
        let heads: Vec<_> = lines.iter().map(|line| line.split(' ').next().unwrap()).collect();
        let expected = "before drop new init drop new init after before drop new init after";
        assert_eq!(heads.join(" "), expected, "{lines:?}");
        assert!(counter.is_alive(), "three failures");
        *script.0.lock().unwrap() = VecDeque::from([("init", fate)]);
        let end = counter.watch();
        fails(&sim, &counter);
        assert_eq!(end.wait().unwrap().reason, boom(), "the fourth exceeds the limit");
    }
}

#[test]
fn s10_a_process_that_ends_in_a_failing_init_runs_no_terminate() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let script = Script::default();
    let counter = counter(&sim, &log, script.clone(), 1);
    *script.0.lock().unwrap() = VecDeque::from([("init", Fate::Error)]);
    let end = counter.watch();
    counter.send(Say::Fail(None, None)).unwrap();
    assert_eq!(end.wait().unwrap().reason, Reason::error("init"));
    assert_eq!(log.take(), ["before boom with 0", "drop", "new", "init", "drop"]);
}

#[test]
fn s10_a_panic_in_before_restart_changes_nothing() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let counter = counter(&sim, &log, Script::of(&[("before", Fate::Panic)]), 1);
    fails(&sim, &counter);
    assert_eq!(log.take()[1..], ["drop", "new", "init", "after boom with 0"]);
    assert!(counter.is_alive());
}

#[test]
fn s10_normal_ends_stops_and_kills_are_not_restarted_in_place() {
    type End = fn(&Simulation, &Address<Say>);
    let ends: [(End, Reason, &[&str]); 6] = [
        (|_, c| c.send(Say::End(Reason::Normal)).unwrap(), Reason::Normal, &["terminate normal"]),
        (
            |_, c| c.send(Say::End(Reason::Shutdown)).unwrap(),
            Reason::Shutdown,
            &["terminate shutdown"],
        ),
        (|_, c| c.send(Say::Stop).unwrap(), Reason::Normal, &["terminate normal"]),
        (|_, c| drop(c.stop().wait()), Reason::Normal, &["terminate normal"]),
        (|_, c| drop(c.stop().reason(boom()).wait()), boom(), &["terminate boom"]),
        (|sim, c| sim.kill(c.pid()), Reason::Killed, &[]),
    ];
    for (ends, reason, said) in ends {
        let sim = Simulation::new(1);
        let log = Log::new();
        let counter = counter(&sim, &log, Script::default(), 5);
        let end = counter.watch();
        ends(&sim, &counter);
        assert_eq!(end.wait().unwrap().reason, reason);
        let lines = log.take();
        assert_eq!(lines[..lines.len() - 1], *said);
        assert_eq!(lines.last().map(String::as_str), Some("drop"));
    }
}

#[test]
fn s10_the_spawner_gets_the_result_of_the_first_init() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let failing = factory(&log, Script::of(&[("init", Fate::Error)]));
    let error = sim.spawn(move || InPlace::new(failing)).wait().unwrap_err();
    assert_eq!(error, SpawnError::Init(Reason::error("init")));
    assert_eq!(log.take(), ["new", "init", "drop"]);
}

#[test]
fn s10_a_kill_in_the_midst_of_a_restart_ends_it() {
    for callback in ["before", "init", "after"] {
        let sim = Simulation::new(1);
        let log = Log::new();
        let script = Script::default();
        let counter = counter(&sim, &log, script.clone(), 5);
        *script.0.lock().unwrap() = VecDeque::from([(callback, Fate::Wait)]);
        counter.send(Say::Fail(None, None)).unwrap();
        sim.run_until_idle();
        let end = counter.watch();
        sim.kill(counter.pid());
        assert_eq!(end.wait().unwrap().reason, Reason::Killed);
        let lines = log.take();
        assert_eq!(
            lines.iter().filter(|line| *line == "new").count() + 1,
            lines.iter().filter(|line| *line == "drop").count(),
            "{callback} {lines:?}"
        );
    }
}

/// Decides after an hour.
struct Slow(bool);

impl RestartPolicy for Slow {
    async fn may_restart(&mut self, failure: &StateFailure<'_>) -> bool {
        let mut polls = 0;
        assert_eq!(failure.reason, &boom());
        std::future::poll_fn(|cx| {
            polls += 1;
            cx.waker().wake_by_ref();
            if polls > 3 { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        self.0
    }
}

#[test]
fn s10_a_call_in_progress_fails_after_the_name_is_free() {
    for goes_on in [true, false] {
        let sim = Simulation::new(1);
        let factory = factory(&Log::new(), Script::default());
        let judged = move || InPlace::new(factory).policy(Slow(goes_on));
        let counter = sim.spawn(judged).name("counter").wait().unwrap();
        let node = sim.node().clone();
        let named = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&named);
        let waker =
            crate::support::on_wake(move || *seen.lock().unwrap() = Some(node.whereis("counter")));
        let mut call = counter.call(|reply| Say::Fail(None, Some(reply))).into_future();
        assert!(crate::support::poll_with(&mut call, &waker).is_pending());
        sim.run_until_idle();
        let pid = goes_on.then_some(counter.pid());
        assert_eq!(
            *named.lock().unwrap(),
            Some(pid),
            "still registered when the caller was notified"
        );
        assert_eq!(
            poll_once(&mut call),
            Poll::Ready(Err(CallError::Terminated { to: counter.pid(), reason: boom() }))
        );
    }
}

#[test]
fn s10_a_state_that_never_starts_lets_others_run_and_can_be_killed() {
    let sim = Simulation::new(1);
    let script = Script::of(&[]);
    let counter = counter(&sim, &Log::new(), script.clone(), u32::MAX);
    *script.0.lock().unwrap() = std::iter::repeat_n(("init", Fate::Error), 100_000).collect();
    counter.send(Say::Fail(None, None)).unwrap();
    let other = sim.spawn(factory(&Log::new(), Script::default())).wait().unwrap();
    assert_eq!(other.call(Say::Sum).wait(), Ok(0));
    assert!(!script.0.lock().unwrap().is_empty(), "it goes on failing");
    sim.kill(counter.pid());
    sim.run_until_idle();
    assert!(!counter.is_alive());
}

#[test]
fn b1_a_period_of_zero_fails_the_spawn() {
    let sim = Simulation::new(1);
    let factory = factory(&Log::new(), Script::default());
    let spawned = sim.spawn(move || InPlace::new(factory).intensity(1, Duration::ZERO)).wait();
    let Err(SpawnError::Init(reason)) = spawned else { panic!("{spawned:?}") };
    assert_eq!(reason.downcast_ref::<InPlaceError>(), Some(&InPlaceError::ZeroPeriod));
    // The same window as a policy.
    for (period, works) in [(Duration::ZERO, false), (Duration::from_nanos(1), true)] {
        let factory = self::factory(&Log::new(), Script::default());
        let window = RestartWindow::new(1, period);
        let spawned = sim.spawn(move || InPlace::new(factory).policy(window)).wait();
        assert_eq!(spawned.is_ok(), works, "{period:?}");
    }
}

#[test]
fn s10_process_info_shows_the_actor() {
    let sim = Simulation::new(1);
    let counter = counter(&sim, &Log::new(), Script::default(), 1);
    let info = sim.process_info(counter.pid()).unwrap();
    assert_eq!(info.behavior.full(), std::any::type_name::<Counter>());
}

/// Fails in whatever it is to handle.
struct Fragile {
    log: Log,
    watches: Option<Pid>,
}

impl Actor for Fragile {
    type Message = ();

    async fn init(&mut self, ctx: &mut Context<()>) -> Result {
        self.log.note("init");
        ctx.trap_exits(true);
        ctx.take_others();
        ctx.set_idle_timeout(Some(HOUR));
        if let Some(pid) = self.watches.take() {
            ctx.monitor(pid);
        }
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Err(Reason::error("message"))
    }

    async fn handle_exit(&mut self, _: &mut Context<()>, _: Exit) -> Result {
        Err(Reason::error("exit"))
    }

    async fn handle_down(&mut self, _: &mut Context<()>, _: Down) -> Result {
        Err(Reason::error("down"))
    }

    async fn handle_timeout(&mut self, _: &mut Context<()>) -> Result {
        Err(Reason::error("timeout"))
    }

    async fn handle_other(&mut self, _: &mut Context<()>, _: Dynamic) -> Result {
        Err(Reason::error("other"))
    }

    fn state(&self) -> Option<Dynamic> {
        panic!("state")
    }

    fn inspect(&self) -> krarup::observe::Inspection {
        panic!("inspect")
    }

    async fn after_restart(&mut self, _: &mut Context<()>, reason: &Reason) -> Result {
        self.log.note(match reason {
            Reason::Panic(panic) => panic.message().to_owned(),
            reason => reason.to_string(),
        });
        Ok(())
    }

    async fn terminate(&mut self, _: &mut Context<()>, _: &Reason) {
        self.log.note("terminate");
    }
}

#[test]
fn s10_a_failure_of_any_handler_restarts_in_place() {
    for sim in simulations(3) {
        let (log, other) = (Log::new(), puppet(&sim, "other", &Log::new()));
        let (noted, watched) = (log.clone(), Mutex::new(Some(other.pid())));
        let fragile =
            move || Fragile { log: noted.clone(), watches: watched.lock().unwrap().take() };
        let process = sim.spawn(move || InPlace::new(fragile).intensity(100, HOUR)).wait().unwrap();
        let pid = process.pid();
        assert_eq!(log.take(), ["init"]);
        let fails = |handler: &str| {
            sim.run_until_idle();
            assert_eq!(log.take(), ["init", handler]);
            assert!(process.is_alive());
        };
        process.send(()).unwrap();
        fails("message");
        process.send_high(()).unwrap();
        fails("message");
        other.tells(move |ctx| ctx.exit(pid, boom()));
        fails("exit");
        other.dies(boom());
        fails("down");
        assert!(sim.send(pid, 7_u8).is_ok());
        fails("other");
        assert!(matches!(
            process.inspect().wait(),
            Err(CallError::Terminated { reason: Reason::Panic(_), .. })
        ));
        fails("inspect");
        let state = process.state::<u8>().wait();
        assert!(matches!(state, Err(DebugError::Terminated { reason: Reason::Panic(_), .. })));
        fails("state");
        sim.advance(HOUR);
        fails("timeout");
        sim.kill(pid);
    }
}

#[test]
fn s10_a_factory_that_panics_is_another_failure() {
    for sim in simulations(3) {
        let (log, script) = (Log::new(), Script::default());
        let (noted, panics) = (factory(&log, script), Arc::new(Mutex::new(0)));
        let left = Arc::clone(&panics);
        let factory = move || {
            let mut left = left.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if *left > 0 {
                *left -= 1;
                panic!("factory");
            }
            noted()
        };
        let process = sim.spawn(move || InPlace::new(factory).intensity(3, HOUR)).wait().unwrap();
        *panics.lock().unwrap() = 2;
        let end = process.watch();
        process.send(Say::Fail(None, None)).ok().unwrap();
        assert_eq!(process.call(Say::Sum).wait(), Ok(0));
        let lines = log.take();
        let after = "after panic: factory at ";
        assert!(lines.last().is_some_and(|line| line.starts_with(after)), "{lines:?}");
        // All three are counted.
        process.send(Say::Fail(None, None)).ok().unwrap();
        assert_eq!(end.wait().unwrap().reason, boom());
    }
}

#[test]
fn s10_the_log_names_the_process_why_it_restarts_and_how_often_it_has() {
    let lines = Log::new();
    let noted = lines.clone();
    let told = Journal::new(
        |event| event.target() == "krarup" && *event.level() == tracing::Level::WARN,
        move |fields| {
            let line = fields.iter().map(|(name, value)| format!("{name}={value}"));
            noted.note(line.collect::<Vec<_>>().join(" "));
        },
    );
    tracing::subscriber::with_default(told, || {
        let sim = Simulation::new(1);
        let counter = counter(&sim, &Log::new(), Script::default(), 3);
        let pid = counter.pid();
        for count in 1..=3 {
            fails(&sim, &counter);
            let [line] = &lines.take()[..] else { panic!("a line for each restart") };
            for part in ["restarts in place", "Counter", &format!("pid={pid} "), "reason=boom"] {
                assert!(line.contains(part), "{line}");
            }
            assert!(line.ends_with(&format!("count={count}")), "{line}");
        }
        // One that is not made is not counted, and not told.
        fails(&sim, &counter);
        assert!(!lines.take().iter().any(|line| line.contains("in place")));
    });
}
