//! State actors (rules O1 to O9): five classes, barriers, batches, promises, and their ends.

mod support;

use krarup::prelude::*;
use krarup::{
    Dynamic, Ended, Exception, InPlaceError, Letter, Letters, Probe, Scope, StateActor,
    StateAddress, StateContext, Stateful, behavior_fn,
};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::{Guard, Log, boom, simulations};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);

type Doing<'a> = Pin<Box<dyn Future<Output = Result> + Send + 'a>>;
type Act = Box<dyn for<'a> FnOnce(&'a mut Scope<Doer>) -> Doing<'a> + Send>;

/// Something to do, as a notice, an ask or an event.
struct Job {
    name: String,
    barrier: bool,
    batch: bool,
    act: Option<Act>,
    reply: Option<Reply<String>>,
}

fn job(name: impl Into<String>) -> Job {
    Job { name: name.into(), barrier: false, batch: false, act: None, reply: None }
}

impl Job {
    fn doing<F>(mut self, act: F) -> Self
    where
        F: for<'a> FnOnce(&'a mut Scope<Doer>) -> Doing<'a> + Send + 'static,
    {
        self.act = Some(Box::new(act));
        self
    }

    fn barrier(mut self) -> Self {
        self.barrier = true;
        self
    }

    fn batch(mut self) -> Self {
        self.batch = true;
        self
    }

    /// Waits for so long.
    fn waiting(self, time: Duration) -> Self {
        self.doing(move |scope| {
            Box::pin(async move {
                scope.sleep(time).await;
                Ok(())
            })
        })
    }

    fn failing(self, reason: Reason) -> Self {
        self.doing(move |_| Box::pin(async move { Err(reason) }))
    }

    fn panicking(self) -> Self {
        self.doing(|_| Box::pin(async { panic!("boom") }))
    }

    /// As an ask: the name is answered when it is done.
    fn answering(mut self, reply: Reply<String>) -> Self {
        self.reply = Some(reply);
        self
    }
}

/// An actor that does what it is told, and notes what it does.
struct Doer {
    log: Log,
    sum: u64,
    restart: Option<Result>,
    /// How long its `terminate` takes.
    slow: Duration,
    _guard: Guard,
}

impl Doer {
    fn new(log: &Log) -> Self {
        Doer {
            log: log.clone(),
            sum: 0,
            restart: None,
            slow: Duration::ZERO,
            _guard: Guard::new(log, "dropped"),
        }
    }

    fn restarting(log: &Log, restart: Result) -> Self {
        Doer { restart: Some(restart), ..Doer::new(log) }
    }

    async fn run(scope: &mut Scope<Self>, kind: &str, job: Job) -> Result {
        let log = scope.with(|doer| doer.log.clone());
        log.note(format!("{kind} {}", job.name));
        if let Some(act) = job.act {
            act(scope).await?;
            log.note(format!("{} done", job.name));
        }
        if let Some(reply) = job.reply {
            reply.send(job.name);
        }
        Ok(())
    }
}

impl StateActor for Doer {
    type Notice = Job;
    type Ask = Job;
    type Reply = String;
    type Event = Job;

    async fn after_mount(&mut self, ctx: &mut StateContext<Self>) -> Result {
        assert!(ctx.whereis("doer").is_none_or(|pid| pid == ctx.pid()));
        self.log.note("after_mount");
        Ok(())
    }

    async fn handle_notice(scope: &mut Scope<Self>, notice: Job) -> Result {
        Doer::run(scope, "notice", notice).await
    }

    async fn handle_ask(scope: &mut Scope<Self>, ask: Job) -> Result {
        Doer::run(scope, "ask", ask).await
    }

    fn is_barrier(&self, ask: &Job) -> bool {
        ask.barrier
    }

    fn batches_ask(&self, ask: &Job) -> bool {
        ask.batch
    }

    fn batches_notice(&self, notice: &Job) -> bool {
        notice.batch
    }

    async fn handle_asks(scope: &mut Scope<Self>, asks: Vec<Job>) -> Result {
        let names: Vec<&str> = asks.iter().map(|ask| ask.name.as_str()).collect();
        let line = format!("asks {}", names.join(" "));
        scope.with(|doer| doer.log.note(line));
        for ask in asks {
            if let Some(reply) = ask.reply {
                reply.send(ask.name);
            }
        }
        Ok(())
    }

    async fn handle_notices(scope: &mut Scope<Self>, notices: Vec<Job>) -> Result {
        let names: Vec<&str> = notices.iter().map(|notice| notice.name.as_str()).collect();
        let line = format!("notices {}", names.join(" "));
        scope.with(|doer| doer.log.note(line));
        Ok(())
    }

    async fn handle_reply(scope: &mut Scope<Self>, reply: String) -> Result {
        scope.with(|doer| doer.log.note(format!("reply {reply}")));
        Ok(())
    }

    async fn handle_exception(scope: &mut Scope<Self>, exception: Exception) -> Result {
        scope.with(|doer| doer.log.note(format!("exception {}", exception.error)));
        Ok(())
    }

    async fn handle_event(scope: &mut Scope<Self>, event: Job) -> Result {
        Doer::run(scope, "event", event).await
    }

    async fn handle_down(scope: &mut Scope<Self>, down: Down) -> Result {
        scope.with(|doer| doer.log.note(format!("down {}", down.reason)));
        Ok(())
    }

    async fn handle_exit(scope: &mut Scope<Self>, exit: Exit) -> Result {
        scope.with(|doer| doer.log.note(format!("exit {}", exit.reason)));
        Ok(())
    }

    async fn handle_timeout(scope: &mut Scope<Self>) -> Result {
        scope.with(|doer| doer.log.note("silence"));
        Ok(())
    }

    async fn handle_other(scope: &mut Scope<Self>, message: Dynamic) -> Result {
        let line = format!("other {}", message.type_name());
        scope.with(|doer| doer.log.note(line));
        Ok(())
    }

    fn state(&self) -> Option<Dynamic> {
        Some(Dynamic::new(self.sum))
    }

    fn inspect(&self) -> Inspection {
        Inspection::new().with("sum", self.sum)
    }

    async fn before_restart(&mut self, _: &mut StateContext<Self>, reason: &Reason) {
        self.log.note(format!("before_restart {reason}"));
    }

    async fn restart(&mut self, _: &mut StateContext<Self>, reason: &Reason) -> Result {
        self.log.note("restart");
        self.sum = 0;
        self.restart.clone().unwrap_or_else(|| Err(reason.clone()))
    }

    async fn after_restart(&mut self, _: &mut StateContext<Self>, reason: &Reason) -> Result {
        self.log.note(format!("after_restart {reason}"));
        Ok(())
    }

    fn cleaner(&self) -> Option<krarup::Cleaner> {
        let log = self.log.clone();
        Some(Box::new(move |ended: &Ended<'_>| log.note(format!("cleaned {}", ended.reason))))
    }

    async fn terminate(&mut self, ctx: &mut StateContext<Self>, reason: &Reason) {
        ctx.sleep(self.slow).await;
        self.log.note(format!("terminate {reason}"));
    }
}

type DoerAddress = StateAddress<Doer>;

fn doer(sim: &Simulation, log: &Log) -> DoerAddress {
    let state = Doer::new(log);
    let doer = sim.spawn(move || Stateful::new(state)).wait().unwrap();
    assert_eq!(log.take(), ["after_mount"]);
    doer
}

fn restarting(sim: &Simulation, log: &Log, most: u32, restart: Result) -> DoerAddress {
    let state = Doer::restarting(log, restart);
    let doer = sim.spawn(move || Stateful::new(state).restarts(most, SECOND)).wait().unwrap();
    assert_eq!(log.take(), ["after_mount"]);
    doer
}

/// Calls the doer from a process of its own, which notes what came of it.
fn asks(sim: &Simulation, log: &Log, doer: &DoerAddress, job: Job) {
    let (log, doer) = (log.clone(), doer.clone());
    let name = job.name.clone();
    sim.spawn(move || {
        behavior_fn(move |_: Context<()>| async move {
            match doer.ask(|reply| job.answering(reply)).timeout(HOUR).await {
                Ok(answer) => log.note(format!("{name} answered {answer}")),
                Err(error) => log.note(format!("{name} failed: {error}")),
            }
            Ok(())
        })
    })
    .start()
    .unwrap();
}

/// A request whose token the test keeps.
type Kept = Reply<u32>;

#[test]
fn o1_many_handlers_are_in_flight_and_each_ask_gets_its_own_answer() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        // The first waits longest.
        for number in (1..=50_u64).rev() {
            asks(&sim, &log, &doer, job(format!("{number}")).waiting(Duration::from_secs(number)));
        }
        sim.advance(Duration::from_millis(1));
        assert_eq!(doer.inspect().wait().unwrap().number("in_flight"), Some(50));
        log.take();
        sim.advance(60 * SECOND);
        let answers: Vec<String> =
            log.take().into_iter().filter(|line| line.contains("answered")).collect();
        let expected: Vec<String> =
            (1..=50).map(|number| format!("{number} answered {number}")).collect();
        assert_eq!(answers, expected);
    }
}

#[test]
fn o1_ten_thousand_interleaved_asks_reach_the_right_askers() {
    let sim = Simulation::new(7);
    let log = Log::new();
    let doer = doer(&sim, &log);
    let right = Arc::new(Mutex::new(0));
    for asker in 0..100_u64 {
        let (doer, right) = (doer.clone(), Arc::clone(&right));
        sim.spawn(move || {
            behavior_fn(move |_: Context<()>| async move {
                for round in 0..100_u64 {
                    let name = format!("{asker}/{round}");
                    let wait = Duration::from_millis((asker * 7 + round * 13) % 50);
                    let ask = job(name.clone()).waiting(wait);
                    let answer = doer.ask(|reply| ask.answering(reply)).await?;
                    if answer == name {
                        *right.lock().unwrap() += 1;
                    }
                }
                Ok(())
            })
        })
        .start()
        .unwrap();
    }
    sim.advance(HOUR);
    assert_eq!(*right.lock().unwrap(), 10_000);
}

#[test]
fn o1_a_sender_is_known_and_the_first_notice_is_its_own() {
    let sim = Simulation::new(3);
    let log = Log::new();
    let state = Doer::new(&log);
    let first = job("arguments").doing(|scope| {
        Box::pin(async move {
            assert_eq!(scope.sender(), Some(scope.pid()));
            Ok(())
        })
    });
    let doer = sim.spawn(move || Stateful::new(state).first(first)).start().unwrap();
    doer.notice(job("sent")).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["after_mount", "notice arguments", "arguments done", "notice sent"]);
    let probe = Probe::<()>::spawn(&sim);
    let pid = probe.pid();
    let seen = job("who").doing(move |scope| {
        Box::pin(async move {
            scope.with(|doer| doer.sum = 1);
            assert_eq!(scope.sender(), None);
            assert_ne!(scope.sender(), Some(pid));
            Ok(())
        })
    });
    doer.notice(seen).unwrap();
    sim.run_until_idle();
    assert!(doer.is_alive());
    assert_eq!(doer.state::<u64>().wait(), Ok(1));
}

/// Has one thing of each class come in one poll, the last class first.
fn one_of_each(scope: &mut Scope<Doer>, answered: Kept, failed: Kept, me: &DoerAddress) {
    me.event(job("e")).unwrap();
    me.notice(job("n")).unwrap();
    me.send(Letter::Ask(job("a"))).unwrap();
    failed.fail(CallError::NoWorkers);
    answered.send(7);
    scope.with(|doer| doer.log.note("all are there"));
}

#[test]
fn o2_the_five_classes_are_handled_in_strict_order() {
    for seed in 0..20 {
        let sim = Simulation::new(seed);
        let log = Log::new();
        let doer = doer(&sim, &log);
        let probe = Probe::<Kept>::spawn(&sim);
        let other = probe.address();
        doer.notice(job("asks").doing(move |scope| {
            Box::pin(async move {
                scope.ask_then(&other, |reply| reply, |value: u32| value.to_string());
                scope.ask_then(&other, |reply| reply, |value: u32| value.to_string());
                Ok(())
            })
        }))
        .unwrap();
        let (answered, failed) = (probe.expect(SECOND), probe.expect(SECOND));
        let me = doer.clone();
        log.take();
        doer.notice(job("go").doing(move |scope| {
            Box::pin(async move {
                one_of_each(scope, answered, failed, &me);
                Ok(())
            })
        }))
        .unwrap();
        sim.run_until_idle();
        let failure = format!("exception {}", CallError::NoWorkers);
        assert_eq!(
            log.take(),
            [
                "notice go",
                "all are there",
                "go done",
                "reply 7",
                failure.as_str(),
                "ask a",
                "notice n",
                "event e"
            ]
        );
    }
}

#[test]
fn o2_the_order_is_looked_at_anew_before_each() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let doer = doer(&sim, &log);
    let me = doer.clone();
    let first = job("1").doing(move |_| {
        Box::pin(async move {
            // An ask comes while notices wait already: it is next.
            me.send(Letter::Ask(job("overtakes"))).unwrap();
            Ok(())
        })
    });
    let me = doer.clone();
    doer.notice(job("go").doing(move |_| {
        Box::pin(async move {
            me.notice(first).unwrap();
            me.notice(job("2")).unwrap();
            Ok(())
        })
    }))
    .unwrap();
    sim.run_until_idle();
    assert_eq!(
        log.take(),
        ["notice go", "go done", "notice 1", "1 done", "ask overtakes", "notice 2"]
    );
}

#[test]
fn o2_events_are_handled_under_a_flood_of_asks() {
    // Every ask sends the next two: there is always one.
    fn endless(me: DoerAddress) -> Job {
        job("again").doing(move |_| {
            Box::pin(async move {
                let next = endless(me.clone());
                me.send(Letter::Ask(next)).unwrap();
                Ok(())
            })
        })
    }
    for sim in simulations(3) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        let probe = Probe::<()>::spawn(&sim);
        let tell = probe.address();
        for _ in 0..3 {
            doer.send(Letter::Ask(endless(doer.clone()))).unwrap();
        }
        doer.event(job("event").doing(move |scope| {
            Box::pin(async move {
                tell.send(())?;
                scope.with_context(|_, ctx| ctx.stop());
                Ok(())
            })
        }))
        .unwrap();
        probe.expect(SECOND);
        sim.run_until_idle();
        assert!(!doer.is_alive());
    }
}

#[test]
fn o3_a_barrier_holds_asks_and_notices_back_and_nothing_else() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        let probe = Probe::<Kept>::spawn(&sim);
        let (other, third) = (probe.address(), probe.address());
        // One in flight before the barrier.
        doer.notice(job("older").doing(move |scope| {
            Box::pin(async move {
                let value = scope.call(&third, |reply| reply).await?;
                scope.with(|doer| doer.log.note(format!("older has {value}")));
                Ok(())
            })
        }))
        .unwrap();
        let older = probe.expect(SECOND);
        let barrier = job("barrier").barrier().doing(move |scope| {
            Box::pin(async move {
                scope.after(SECOND, job("timer"));
                let value = scope.call_within(&other, HOUR, |reply| reply).await?;
                scope.with(|doer| doer.log.note(format!("barrier has {value}")));
                Ok(())
            })
        });
        asks(&sim, &log, &doer, barrier);
        let token = probe.expect(SECOND);
        asks(&sim, &log, &doer, job("a"));
        sim.run_until_idle();
        doer.notice(job("n")).unwrap();
        doer.event(job("e")).unwrap();
        log.take();
        sim.advance(2 * SECOND);
        // The older one ends, and the barrier stands.
        older.send(1);
        sim.run_until_idle();
        let inspected = doer.inspect().wait().unwrap();
        assert_eq!(inspected.value("barrier"), Some(&true.into()));
        assert_eq!(inspected.number("asks"), Some(1));
        assert_eq!(inspected.number("notices"), Some(1));
        let mut lines = log.take();
        lines.sort();
        assert_eq!(lines, ["event e", "event timer", "older done", "older has 1"]);
        // Nothing new comes, and all that waited is handled.
        token.send(2);
        sim.run_until_idle();
        let lines = log.take();
        let at = |line: &str| lines.iter().position(|noted| noted == line).expect(line);
        assert!(at("barrier done") < at("ask a") && at("ask a") < at("notice n"), "{lines:?}");
        assert!(lines.contains(&"a answered a".to_owned()));
    }
}

#[test]
fn o3_a_barrier_goes_with_its_ask_whatever_comes_of_that() {
    for how in 0..3 {
        for sim in simulations(3) {
            let log = Log::new();
            let doer = doer(&sim, &log);
            let probe = Probe::<Kept>::spawn(&sim);
            let other = probe.address();
            let barrier = job("barrier").barrier().doing(move |scope| {
                Box::pin(async move {
                    let failed = scope.call_within(&other, 3 * SECOND, |reply| reply).await;
                    scope.with(|doer| doer.log.note(format!("failed {}", failed.is_err())));
                    Ok(())
                })
            });
            asks(&sim, &log, &doer, barrier);
            let token = probe.expect(SECOND);
            doer.notice(job("behind")).unwrap();
            sim.run_until_idle();
            assert_eq!(log.count("behind"), 0);
            match how {
                0 => drop(token),
                1 => token.fail(CallError::Full),
                // It times out.
                _ => {
                    sim.advance(4 * SECOND);
                    drop(token);
                }
            }
            sim.run_until_idle();
            assert_eq!((log.count("failed true"), log.count("notice behind")), (1, 1));
        }
    }
}

#[test]
fn o3_read_and_write_around_an_await_are_one_in_a_barrier() {
    // Without the barrier they are not, which shows that the test can see it.
    for barrier in [true, false] {
        let sim = Simulation::new(11);
        let log = Log::new();
        let doer = doer(&sim, &log);
        for number in 0..20_u64 {
            let adds = job("adds").doing(move |scope| {
                Box::pin(async move {
                    let read = scope.with(|doer| doer.sum);
                    scope.sleep(Duration::from_millis(number % 3 + 1)).await;
                    scope.with(|doer| doer.sum = read + 1);
                    Ok(())
                })
            });
            asks(&sim, &log, &doer, Job { barrier, ..adds });
        }
        sim.advance(SECOND);
        assert_eq!(doer.state::<u64>().wait().unwrap() == 20, barrier);
    }
}

#[test]
fn o4_neighbours_are_handled_together_and_the_order_stays() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let doer = doer(&sim, &log);
    let me = doer.clone();
    doer.notice(job("go").doing(move |_| {
        Box::pin(async move {
            for name in ["1", "2", "x", "3", "y", "z", "4", "5"] {
                let notice = job(name);
                let batch = name.parse::<u32>().is_ok();
                me.notice(if batch { notice.batch() } else { notice }).unwrap();
            }
            Ok(())
        })
    }))
    .unwrap();
    sim.run_until_idle();
    assert_eq!(
        log.take()[2..],
        ["notices 1 2", "notice x", "notices 3", "notice y", "notice z", "notices 4 5"]
    );
}

#[test]
fn o4_every_ask_of_a_batch_has_its_answer_and_a_barrier_is_in_none() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        // What comes behind a barrier lies there together when that is done.
        asks(&sim, &log, &doer, job("first").barrier().waiting(SECOND));
        sim.run_until_idle();
        for name in ["1", "2", "3"] {
            asks(&sim, &log, &doer, job(name).batch());
        }
        sim.run_until_idle();
        asks(&sim, &log, &doer, job("second").batch().barrier());
        sim.run_until_idle();
        asks(&sim, &log, &doer, job("4").batch());
        sim.advance(10 * SECOND);
        let batches: Vec<String> =
            log.take().into_iter().filter(|line| line.starts_with("ask")).collect();
        assert_eq!(batches.len(), 4, "{batches:?}");
        assert_eq!(batches[1].len(), "asks 1 2 3".len());
        assert_eq!((batches[2].as_str(), batches[3].as_str()), ("ask second", "asks 4"));
    }
}

#[test]
fn o5_two_are_called_at_the_same_time() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        let slow = sim
            .spawn(|| {
                behavior_fn(|mut ctx: Context<Kept>| async move {
                    loop {
                        if let krarup::Received::Message(token) = ctx.receive().await {
                            ctx.sleep(SECOND).await;
                            token.send(1);
                        }
                    }
                })
            })
            .wait()
            .unwrap();
        let fast = {
            let slow = slow.clone();
            sim.spawn(move || {
                behavior_fn(move |mut ctx: Context<Kept>| async move {
                    let _ = slow;
                    loop {
                        if let krarup::Received::Message(token) = ctx.receive().await {
                            ctx.sleep(SECOND).await;
                            token.send(2);
                        }
                    }
                })
            })
            .wait()
            .unwrap()
        };
        let began = sim.now();
        asks(
            &sim,
            &log,
            &doer,
            job("both").doing(move |scope| {
                Box::pin(async move {
                    let (one, two) =
                        (scope.call(&slow, |reply| reply), scope.call(&fast, |reply| reply));
                    assert_eq!(scope.pending(), 2);
                    assert_eq!((one.await?, two.await?), (1, 2));
                    assert_eq!(scope.pending(), 0);
                    Ok(())
                })
            }),
        );
        while log.count("both answered") == 0 {
            sim.advance(Duration::from_millis(100));
        }
        assert!(sim.now() - began <= Duration::from_millis(1200));
    }
}

#[test]
fn o5_a_timeout_is_an_event_and_a_late_answer_is_dropped() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        let probe = Probe::<Kept>::spawn(&sim);
        let other = probe.address();
        doer.notice(job("asks").doing(move |scope| {
            Box::pin(async move {
                scope.ask_then_within(&other, SECOND, |reply| reply, |n: u32| n.to_string());
                let failed = scope.call_within(&other, 2 * SECOND, |reply| reply).await;
                scope.with(|doer| doer.log.note(format!("{}", failed.unwrap_err())));
                Ok(())
            })
        }))
        .unwrap();
        let tokens = (probe.expect(SECOND), probe.expect(SECOND));
        log.take();
        sim.advance(5 * SECOND);
        let late = CallError::Timeout(SECOND);
        let later = CallError::Timeout(2 * SECOND);
        assert_eq!(
            log.take(),
            [format!("exception {late}"), later.to_string(), "asks done".to_owned()]
        );
        let before = sim.stats().late_replies;
        tokens.0.send(1);
        tokens.1.send(2);
        sim.run_until_idle();
        assert_eq!(log.take(), Vec::<String>::new());
        assert_eq!(sim.stats().late_replies, before + 2);
        assert_eq!(doer.inspect().wait().unwrap().number("pending_promises"), Some(0));
    }
}

#[test]
fn o5_a_timeout_comes_behind_asks_and_notices_and_another_failure_before_them() {
    let sim = Simulation::new(5);
    let log = Log::new();
    let doer = doer(&sim, &log);
    let probe = Probe::<Kept>::spawn(&sim);
    let dead = Probe::<Kept>::spawn(&sim);
    sim.kill(dead.pid());
    sim.run_until_idle();
    for (other, told) in [(probe.address(), "timed out"), (dead.address(), "failed")] {
        let me = doer.clone();
        doer.notice(job("go").doing(move |scope| {
            Box::pin(async move {
                let promise = scope.call_within(&other, Duration::ZERO, |reply| reply);
                me.notice(job("n")).unwrap();
                me.send(Letter::Ask(job("a"))).unwrap();
                promise.await.unwrap_err();
                scope.with(|doer| doer.log.note(told));
                Ok(())
            })
        }))
        .unwrap();
        sim.run_until_idle();
    }
    assert_eq!(
        log.take(),
        [
            "notice go",
            "ask a",
            "notice n",
            "timed out",
            "go done",
            "notice go",
            "failed",
            "go done",
            "ask a",
            "notice n"
        ]
    );
}

/// What another thread is to bring.
#[derive(Clone, Default)]
struct Parcel(Arc<Mutex<(bool, Option<std::task::Waker>)>>);

impl Future for Parcel {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<()> {
        let mut parcel = self.0.lock().unwrap();
        parcel.1 = Some(cx.waker().clone());
        if parcel.0 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    }
}

#[test]
fn o5_no_wake_up_from_another_thread_is_lost() {
    let node = Node::start("parcels@localhost").unwrap();
    let log = Log::new();
    let state = Doer::new(&log);
    let doer = node.spawn(move || Stateful::new(state)).wait().unwrap();
    let (orders, carrier) = std::sync::mpsc::channel::<Parcel>();
    let carried = std::thread::spawn(move || {
        for parcel in carrier {
            let waker = {
                let mut parcel = parcel.0.lock().unwrap();
                parcel.0 = true;
                parcel.1.take()
            };
            waker.into_iter().for_each(std::task::Waker::wake);
        }
    });
    let (done, ended) = std::sync::mpsc::channel();
    for flight in 0..4 {
        let (orders, done) = (orders.clone(), done.clone());
        doer.notice(job("rounds").doing(move |scope| {
            Box::pin(async move {
                for round in 0..2000 {
                    let parcel = Parcel::default();
                    orders.send(parcel.clone()).unwrap();
                    if (round + flight) % 2 == 0 {
                        parcel.await;
                    } else {
                        scope
                            .promise(async move {
                                parcel.await;
                                Ok(())
                            })
                            .await?;
                    }
                }
                done.send(()).unwrap();
                Ok(())
            })
        }))
        .unwrap();
    }
    for _ in 0..4 {
        ended.recv_timeout(Duration::from_mins(1)).unwrap();
    }
    drop(orders);
    node.stop().wait().unwrap();
    carried.join().unwrap();
}

#[test]
fn o5_a_promise_that_is_given_up_counts_no_more_and_may_lie_in_the_state() {
    let sim = Simulation::new(5);
    let log = Log::new();
    let doer = doer(&sim, &log);
    let probe = Probe::<Kept>::spawn(&sim);
    let other = probe.address();
    let kept = Arc::new(Mutex::new(None));
    let place = Arc::clone(&kept);
    doer.notice(job("asks").doing(move |scope| {
        Box::pin(async move {
            drop(scope.call(&other, |reply| reply));
            let promise = scope.call(&other, |reply| reply);
            assert_eq!(scope.pending(), 1);
            // Within a loan of the state, as one that lies in it would be.
            let dropped = scope.call(&other, |reply| reply);
            scope.with(|_| drop(dropped));
            *place.lock().unwrap() = Some(promise);
            Ok(())
        })
    }))
    .unwrap();
    sim.run_until_idle();
    let _given_up = probe.expect(SECOND);
    let token = probe.expect(SECOND);
    token.send(4);
    sim.run_until_idle();
    doer.notice(job("looks").doing(move |scope| {
        Box::pin(async move {
            let promise = kept.lock().unwrap().take().unwrap();
            assert_eq!(promise.await?, 4);
            assert_eq!(scope.pending(), 0);
            Ok(())
        })
    }))
    .unwrap();
    sim.run_until_idle();
    assert_eq!(log.count("looks done"), 1);
}

#[test]
fn o5_timers_can_be_taken_back() {
    let sim = Simulation::new(5);
    let log = Log::new();
    let doer = doer(&sim, &log);
    doer.notice(job("sets").doing(|scope| {
        Box::pin(async move {
            let first = scope.after(SECOND, job("first"));
            scope.after(2 * SECOND, job("second"));
            assert_eq!(scope.pending(), 0);
            assert!(scope.cancel(first));
            assert!(!scope.cancel(first));
            Ok(())
        })
    }))
    .unwrap();
    sim.advance(HOUR);
    assert_eq!(log.take(), ["notice sets", "sets done", "event second"]);
}

#[test]
fn o5_ends_signals_silence_and_strangers_are_events() {
    let sim = Simulation::new(5);
    let log = Log::new();
    let doer = doer(&sim, &log);
    doer.notice(job("sets").doing(|scope| {
        Box::pin(async move {
            scope.with_context(|_, ctx| {
                ctx.trap_exits(true);
                ctx.take_others(true);
                ctx.set_idle_timeout(Some(SECOND));
                let child = ctx
                    .spawn(|| behavior_fn(|_: Context<()>| async { Err(boom()) }))
                    .link()
                    .start()
                    .unwrap();
                ctx.monitor(child.pid());
            });
            Ok(())
        })
    }))
    .unwrap();
    sim.run_until_idle();
    sim.send(doer.pid(), 5_u8).unwrap();
    sim.advance(Duration::from_millis(1500));
    let mut lines = log.take();
    lines.sort();
    assert_eq!(
        lines,
        ["down boom", "exit boom", "notice sets", "other u8", "sets done", "silence"]
    );
}

#[test]
fn o6_the_hooks_run_in_their_order_and_nothing_in_between() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = restarting(&sim, &log, 1, Ok(()));
        let probe = Probe::<Kept>::spawn(&sim);
        let other = probe.address();
        asks(
            &sim,
            &log,
            &doer,
            job("hangs").doing(move |scope| {
                Box::pin(async move {
                    scope.with(|doer| doer.sum = 5);
                    scope.after(SECOND, job("of the old state"));
                    scope.call(&other, |reply| reply).await?;
                    Ok(())
                })
            }),
        );
        let _token = probe.expect(SECOND);
        log.take();
        doer.notice(job("fails").failing(boom())).unwrap();
        doer.notice(job("behind")).unwrap();
        sim.run_until_idle();
        let mut lines = log.take();
        let heard = lines.iter().position(|line| line.starts_with("hangs failed")).unwrap();
        assert!(lines.remove(heard).contains("boom"));
        assert_eq!(
            lines,
            [
                "notice fails",
                "before_restart boom",
                "restart",
                "after_restart boom",
                "notice behind"
            ]
        );
        let inspected = doer.inspect().wait().unwrap();
        assert_eq!(inspected.number("sum"), Some(0));
        assert_eq!(inspected.number("in_flight"), Some(0));
        assert_eq!(inspected.number("pending_promises"), Some(0));
        sim.advance(HOUR);
        assert_eq!(log.take(), Vec::<String>::new());
        // A panic is a failure too; two in a second are too many.
        doer.notice(job("panics").panicking()).unwrap();
        doer.notice(job("panics").panicking()).unwrap();
        sim.run_until_idle();
        let lines = log.take();
        assert_eq!(lines.iter().filter(|line| line.starts_with("after_restart")).count(), 1);
        assert_eq!(lines.iter().filter(|line| line.starts_with("terminate")).count(), 1);
        assert!(!doer.is_alive());
    }
}

#[test]
fn o6_a_barrier_does_not_outlive_the_state_it_was_of() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = restarting(&sim, &log, 1, Ok(()));
        asks(&sim, &log, &doer, job("barrier").barrier().waiting(HOUR));
        sim.run_until_idle();
        doer.notice(job("behind")).unwrap();
        doer.event(job("fails").failing(boom())).unwrap();
        sim.advance(2 * SECOND);
        assert_eq!(log.count("notice behind"), 1);
    }
}

#[test]
fn o6_without_restarts_or_a_restart_that_works_a_failure_is_the_end() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let plain = doer(&sim, &log);
    plain.notice(job("fails").failing(boom())).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["notice fails", "terminate boom", "dropped", "cleaned boom"]);

    let hopeless = restarting(&sim, &log, 2, Err(Reason::error("worse")));
    hopeless.notice(job("fails").failing(boom())).unwrap();
    sim.run_until_idle();
    assert_eq!(
        log.take(),
        [
            "notice fails",
            "before_restart boom",
            "restart",
            "restart",
            "terminate worse",
            "dropped",
            "cleaned worse"
        ]
    );

    let state = Doer::new(&log);
    let never =
        sim.spawn(move || Stateful::new(state).restarts(1, Duration::ZERO)).wait().unwrap_err();
    assert!(never.to_string().contains(&InPlaceError::ZeroPeriod.to_string()));
}

#[test]
fn o7_a_stop_waits_for_handlers_in_flight_and_begins_nothing() {
    for sim in simulations(5) {
        let log = Log::new();
        let doer = doer(&sim, &log);
        asks(&sim, &log, &doer, job("slow").barrier().waiting(SECOND));
        sim.run_until_idle();
        asks(&sim, &log, &doer, job("behind"));
        doer.notice(job("behind")).unwrap();
        sim.run_until_idle();
        let dead = sim.stats().dead_letters;
        doer.process().request_stop(Reason::Normal);
        sim.run_until_idle();
        doer.event(job("event")).unwrap();
        sim.advance(2 * SECOND);
        assert!(!doer.is_alive());
        let lines = log.take();
        assert!(!lines.contains(&"event event".to_owned()));
        assert!(lines.contains(&"slow answered slow".to_owned()), "{lines:?}");
        assert!(lines.iter().any(|line| line.starts_with("behind failed")), "{lines:?}");
        assert!(!lines.contains(&"notice behind".to_owned()));
        assert_eq!(sim.stats().dead_letters, dead + 2);
    }
}

#[test]
fn o7_whatever_ends_it_calls_in_hand_fail_with_the_reason_and_the_cleaner_runs_once() {
    for how in ["kill", "error", "panic", "exit", "state panic"] {
        for sim in simulations(5) {
            let log = Log::new();
            let doer = doer(&sim, &log);
            for number in 0..3 {
                asks(&sim, &log, &doer, job(format!("{number}")).waiting(HOUR));
            }
            asks(&sim, &log, &doer, job("3").barrier().waiting(HOUR));
            sim.run_until_idle();
            asks(&sim, &log, &doer, job("4"));
            sim.run_until_idle();
            log.take();
            match how {
                "kill" => sim.exit(doer.pid(), Reason::Kill),
                "exit" => sim.exit(doer.pid(), boom()),
                "error" => doer.event(job("fails").failing(boom())).unwrap(),
                "panic" => doer.event(job("panics").panicking()).unwrap(),
                _ => doer
                    .event(job("panics").doing(|scope| {
                        Box::pin(async move {
                            scope.with(|_| panic!("boom"));
                            Ok(())
                        })
                    }))
                    .unwrap(),
            }
            sim.run_until_idle();
            assert!(!doer.is_alive());
            assert_eq!(log.count("cleaned"), 1, "{how}");
            let lines = log.take();
            let at = |text: &str| lines.iter().position(|line| line.starts_with(text));
            assert!(at("dropped") < at("cleaned"), "{lines:?}");
            assert_eq!(at("terminate").is_some(), how != "kill" && how != "exit", "{lines:?}");
            let reason = if how == "kill" { "killed" } else { "boom" };
            for number in 0..5 {
                let failed = format!("{number} failed");
                let line = lines.iter().find(|line| line.starts_with(&failed)).expect(&failed);
                assert!(line.contains(reason), "{how}: {line}");
                assert!(at(&failed) > at("cleaned"));
            }
        }
    }
}

#[test]
fn o7_an_ask_that_fails_hears_why_also_if_terminate_takes_long_or_the_actor_restarts() {
    for restarts in [0, 1] {
        for sim in simulations(3) {
            let log = Log::new();
            let mut state = Doer::restarting(&log, Ok(()));
            state.slow = SECOND;
            let doer =
                sim.spawn(move || Stateful::new(state).restarts(restarts, SECOND)).wait().unwrap();
            asks(&sim, &log, &doer, job("x").failing(boom()));
            sim.advance(2 * SECOND);
            let lines = log.take();
            let heard = lines.iter().find(|line| line.starts_with("x failed")).unwrap();
            assert!(heard.contains("boom"), "{heard}");
            assert_eq!(doer.is_alive(), restarts == 1);
        }
    }
}

#[test]
fn o7_a_bound_holds_behind_a_barrier_and_senders_hear_of_it() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let state = Doer::new(&log);
    let doer = sim.spawn(move || Stateful::new(state)).mailbox(4).wait().unwrap();
    asks(&sim, &log, &doer, job("barrier").barrier().waiting(10 * SECOND));
    sim.run_until_idle();
    let mut accepted = 0;
    for number in 0..100 {
        if doer.notice(job(format!("{number}"))).is_ok() {
            accepted += 1;
        }
        sim.run_until_idle();
    }
    assert_eq!(accepted, 8);
    // Its own timers go on, and a kill would too.
    sim.advance(20 * SECOND);
    assert_eq!(log.count("notice"), 8);
    doer.notice(job("more")).unwrap();
    sim.run_until_idle();
    assert_eq!(log.count("notice more"), 1);
}

#[test]
fn o7_a_state_actor_in_a_pool_or_passivated_finishes_what_is_in_flight() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let doer = doer(&sim, &log);
    doer.notice(job("sets").doing(|scope| {
        Box::pin(async move {
            scope.with_context(|_, ctx| ctx.passivate_after(Some(SECOND)));
            Ok(())
        })
    }))
    .unwrap();
    asks(&sim, &log, &doer, job("slow").waiting(10 * SECOND));
    sim.advance(5 * SECOND);
    assert!(doer.is_alive());
    sim.advance(6 * SECOND);
    assert!(!doer.is_alive());
    assert_eq!(log.count("slow answered slow"), 1);
    assert_eq!(log.count("terminate normal"), 1);
}

#[test]
fn o8_an_inspection_tells_the_load_and_whether_it_is_high() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let doer = doer(&sim, &log);
    let idle = doer.inspect().wait().unwrap();
    assert_eq!(idle.number("pending_promises"), Some(0));
    assert_eq!(idle.value("high"), Some(&true.into()));
    let probe = Probe::<Kept>::spawn(&sim);
    let other = probe.address();
    doer.notice(job("asks").doing(move |scope| {
        Box::pin(
            async move { scope.call(&other, |reply| reply).await.map(drop).map_err(Into::into) },
        )
    }))
    .unwrap();
    let _token = probe.expect(SECOND);
    let waits = doer.inspect().wait().unwrap();
    assert_eq!(waits.number("pending_promises"), Some(1));
    assert_eq!(waits.value("high"), Some(&false.into()));
}

#[test]
fn o7_nothing_is_lost_when_kills_and_timeouts_race_with_answers() {
    let mut run = 0;
    Simulation::explore(0..300, |sim| {
        run += 1;
        let log = Log::new();
        let doer = restarting(sim, &log, 1000, Ok(()));
        let echo = sim
            .spawn(|| {
                behavior_fn(|mut ctx: Context<Kept>| async move {
                    loop {
                        if let krarup::Received::Message(token) = ctx.receive().await {
                            let wait = ctx.random() % 4;
                            ctx.sleep(Duration::from_millis(wait)).await;
                            if wait != 3 {
                                token.send(1);
                            }
                        }
                    }
                })
            })
            .wait()?;
        for number in 0..20_u32 {
            let echo = echo.clone();
            let act = job(format!("{number}")).doing(move |scope| {
                Box::pin(async move {
                    let time = Duration::from_millis(u64::from(number % 5));
                    let one = scope.call_within(&echo, time, |reply| reply);
                    let two = scope.call_within(&echo, 2 * time, |reply| reply);
                    let _ = one.await;
                    if number % 7 == 0 {
                        return Err(boom());
                    }
                    let _ = two.await;
                    Ok(())
                })
            });
            asks(sim, &log, &doer, Job { barrier: number % 3 == 0, ..act });
        }
        // Killed after any number of steps, but for some runs in which it is not.
        for _ in 0..run / 2 {
            sim.step();
        }
        if run % 2 == 0 {
            sim.kill(doer.pid());
        }
        sim.advance(SECOND);
        let ended = log.count("answered") + log.count("failed");
        assert_eq!(ended, 20, "{:?}", log.lines());
        if doer.is_alive() {
            let inspected = doer.inspect().wait()?;
            for item in ["asks", "notices", "in_flight", "pending_promises", "replies", "events"] {
                assert_eq!(inspected.number(item), Some(0), "{inspected}");
            }
        }
        Ok(())
    });
}
