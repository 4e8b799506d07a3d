//! Who is asked to stop waits for no name (rule H10).

use crate::support::{Log, simulations};
use krarup::behavior::{NameScope, Received, behavior_fn};
use krarup::prelude::*;
use krarup::state::{Scope, StateActor, StateCalls, Stateful};
use krarup::{AwaitNameError, NamedAddress, NamedCallError};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{self, Poll, Wake, Waker};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Answers, after a rest.
struct Store;

enum Ask {
    Get(Reply<u32>),
    Rest(Duration),
}

impl Actor for Store {
    type Message = Ask;

    async fn handle_message(&mut self, ctx: &mut Context<Ask>, ask: Ask) -> Result {
        match ask {
            Ask::Get(reply) => reply.send(7),
            Ask::Rest(time) => ctx.sleep(time).await,
        }
        Ok(())
    }
}

/// Passes a request on to whichever process is the store.
struct Front {
    store: NamedAddress<Ask>,
    log: Log,
}

impl Actor for Front {
    type Message = Reply<u32>;

    async fn handle_message(&mut self, _: &mut Context<Reply<u32>>, reply: Reply<u32>) -> Result {
        match self.store.call(Ask::Get).await {
            Ok(value) => reply.send(value),
            Err(error) => {
                self.log.note(&error);
                reply.fail(error.into());
            }
        }
        Ok(())
    }

    async fn terminate(&mut self, _: &mut Context<Reply<u32>>, _: &Reason) {
        if let Err(error) = self.store.lookup_or_wait().await {
            self.log.note(error);
        }
    }
}

const STOPPING: &str = "no process has the name \"store\", and who waits for it is asked to stop";

/// A store and a front behind it; the front is stopped before the store is restarted.
fn rest_for_one(sim: &Simulation, log: &Log) -> Address<Reply<u32>> {
    let (store, log) = (sim.named_address("store").unwrap(), log.clone());
    let front = move || Front { store: store.clone(), log: log.clone() };
    let tree = move || {
        Supervisor::rest_for_one()
            .intensity(10, SECOND)
            .child(ChildSpec::worker("store", || Store).name("store"))
            .child(ChildSpec::worker("front", front.clone()).name("front"))
    };
    sim.spawn(tree).wait().unwrap();
    sim.lookup("front").unwrap()
}

#[test]
fn h10_a_restart_that_stops_who_waits_for_it_is_not_held_up() {
    for sim in simulations(100) {
        let log = Log::new();
        let front = rest_for_one(&sim, &log);
        let store: Address<Ask> = sim.lookup("store").unwrap();
        store.send(Ask::Rest(SECOND)).unwrap();
        // The front waits for the answer of a store that is killed, and then for the next one.
        let calls = behavior_fn(move |_: Context<()>| async move {
            let _ = front.call(|reply| reply).timeout(SECOND * 60).await;
            Ok(())
        });
        let end = sim.spawn(move || calls).start().unwrap().watch();
        sim.advance(SECOND / 2);
        let begin = sim.now();
        sim.kill(store.pid());
        sim.run_until_idle();
        assert_eq!(sim.now(), begin);
        let next: Address<Ask> = sim.lookup("store").unwrap();
        assert_ne!(next.pid(), store.pid());
        assert_eq!(next.call(Ask::Get).wait().unwrap(), 7);
        assert_eq!(end.wait().unwrap().reason, Reason::Normal);
        let lines = log.lines();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].ends_with("(attempt 1)"), "{lines:?}");
        assert_eq!(lines[1], STOPPING);
    }
}

#[test]
fn h10_a_stop_ends_the_wait_of_a_handler_whenever_it_comes() {
    for sim in simulations(200) {
        let log = Log::new();
        let (store, told) = (sim.named_address("store").unwrap(), log.clone());
        let front = sim.spawn(move || Front { store, log: told }).wait().unwrap();
        let calls = {
            let front = front.clone();
            behavior_fn(move |_: Context<()>| async move {
                let _ = front.call(|reply| reply).await;
                Ok(())
            })
        };
        sim.spawn(move || calls).start().unwrap();
        // Before, between and after the steps of the wait.
        for _ in 0..sim.choose(8) {
            sim.step();
        }
        let begin = sim.now();
        front.stop().wait().unwrap();
        assert_eq!(sim.now(), begin);
        let lines = log.lines();
        assert!((1..=2).contains(&lines.len()), "{lines:?}");
        assert!(lines.iter().all(|line| line == STOPPING), "{lines:?}");
    }
}

#[test]
fn h10_who_is_not_asked_waits_on() {
    for sim in simulations(50) {
        let log = Log::new();
        let (store, told) = (sim.named_address("store").unwrap(), log.clone());
        let front = sim.spawn(move || Front { store, log: told }).wait().unwrap();
        let other = sim.spawn(|| Store).wait().unwrap();
        let calls = {
            let front = front.clone();
            behavior_fn(move |_: Context<()>| async move {
                assert_eq!(front.call(|reply| reply).await?, 7);
                Ok(())
            })
        };
        let end = sim.spawn(move || calls).start().unwrap().watch();
        sim.advance(SECOND);
        // The stop of another process, an inspection, and the end of an empty scope wake nobody for good.
        other.stop().wait().unwrap();
        let ends = behavior_fn(|ctx: Context<()>| async move {
            NameScope::new(&ctx).end();
            Ok(())
        });
        sim.spawn(move || ends).wait().unwrap();
        sim.advance(SECOND);
        sim.spawn(|| Store).name("store").wait().unwrap();
        assert_eq!(end.wait().unwrap().reason, Reason::Normal);
        assert_eq!(log.lines(), Vec::<String>::new());
    }
}

/// A trapping process that takes the stop as a notice is not asked: it may go on.
#[test]
fn h10_a_process_that_receives_a_stop_as_a_notice_waits_as_before() {
    for sim in simulations(50) {
        let log = Log::new();
        let told = log.clone();
        let traps = behavior_fn(move |mut ctx: Context<()>| async move {
            ctx.trap_exits(true);
            // Also before it has received the notice.
            let early = ctx.lookup_or_wait::<Ask, Ask>("store").timeout(SECOND / 2).await;
            assert!(matches!(early, Err(AwaitNameError::Timeout { .. })), "{early:?}");
            let Received::Exit(exit) = ctx.receive().await else { return Ok(()) };
            told.note(exit.reason);
            ctx.lookup_or_wait::<Ask, Ask>("store").timeout(SECOND * 60).await?;
            told.note("found");
            Ok(())
        });
        let traps = sim.spawn(move || traps).start().unwrap();
        let end = traps.watch();
        // Before it is known what it does with a stop.
        traps.process().request_stop(Reason::Shutdown);
        sim.advance(SECOND);
        sim.spawn(|| Store).name("store").wait().unwrap();
        assert_eq!(end.wait().unwrap().reason, Reason::Normal);
        assert_eq!(log.lines(), ["shutdown", "found"]);
    }
}

/// Counts.
#[derive(Default)]
struct Wakes(AtomicU32);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn h10_work_in_a_scope_waits_until_the_scope_ends() {
    let sim = Simulation::new(1);
    let scope = Arc::new(Mutex::new(None));
    let makes = {
        let scope = Arc::clone(&scope);
        behavior_fn(move |ctx: Context<()>| async move {
            *scope.lock().unwrap() = Some(NameScope::new(&ctx));
            Ok(())
        })
    };
    sim.spawn(move || makes).wait().unwrap();
    let scope = scope.lock().unwrap().take().unwrap();
    let store: NamedAddress<Ask> = sim.named_address("store").unwrap();
    let call = || {
        let store = store.clone();
        async move { store.call(Ask::Get).no_timeout().await }
    };
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let mut cx = task::Context::from_waker(&waker);
    let mut inside = pin!(scope.contain(call()));
    let mut outside = pin!(call());
    let mut nested = pin!(scope.contain(async {
        let found = store.lookup_or_wait().no_timeout().await;
        found.map(|store| store.pid())
    }));
    assert!(inside.as_mut().poll(&mut cx).is_pending());
    assert!(outside.as_mut().poll(&mut cx).is_pending());
    assert!(nested.as_mut().poll(&mut cx).is_pending());
    assert_eq!(format!("{scope:?}"), "NameScope { over: false, .. }");
    scope.end();
    assert_eq!(wakes.0.load(Ordering::SeqCst), 3);
    let Poll::Ready(Err(error)) = inside.as_mut().poll(&mut cx) else { panic!("it waits on") };
    assert!(matches!(error, NamedCallError::Stopping { .. }), "{error:?}");
    let Poll::Ready(Err(error)) = nested.as_mut().poll(&mut cx) else { panic!("it waits on") };
    assert!(matches!(error, AwaitNameError::Stopping { .. }), "{error:?}");
    assert!(outside.as_mut().poll(&mut cx).is_pending(), "not in the scope");
    // What begins later waits for nothing, and goes on if a process has the name.
    let late = sim.block_on(scope.contain(call())).unwrap();
    assert_eq!(late.unwrap_err().to_string(), STOPPING);
    sim.spawn(|| Store).name("store").wait().unwrap();
    assert_eq!(sim.block_on(scope.contain(call())).unwrap().unwrap(), 7);
    assert_eq!(sim.block_on(outside).unwrap().unwrap(), 7);
}

/// Polls a future only when its own waker was woken, as collections of futures do.
struct OnlyWoken<F> {
    future: F,
    woken: Arc<OwnWaker>,
}

struct OwnWaker {
    woken: AtomicBool,
    outer: Mutex<Option<Waker>>,
}

impl Wake for OwnWaker {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
        self.outer.lock().unwrap().take().into_iter().for_each(Waker::wake);
    }
}

impl<F> OnlyWoken<F> {
    fn new(future: F) -> Self {
        let woken = OwnWaker { woken: AtomicBool::new(true), outer: Mutex::default() };
        OnlyWoken { future, woken: Arc::new(woken) }
    }
}

impl<F: Future + Unpin> Future for OnlyWoken<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<F::Output> {
        *self.woken.outer.lock().unwrap() = Some(cx.waker().clone());
        if !self.woken.woken.swap(false, Ordering::SeqCst) {
            return Poll::Pending;
        }
        let own = Waker::from(Arc::clone(&self.woken));
        Pin::new(&mut self.future).poll(&mut task::Context::from_waker(&own))
    }
}

/// Waits in its handler as a collection of futures would.
struct Collects(Log);

impl Actor for Collects {
    type Message = ();

    async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
        let wait = ctx.lookup_or_wait::<Ask, Ask>("store").no_timeout().into_future();
        self.0.note(OnlyWoken::new(wait).await.map(|_| ()).unwrap_err());
        Ok(())
    }
}

#[test]
fn h10_a_stop_reaches_a_wait_that_is_polled_only_when_it_was_woken() {
    for sim in simulations(100) {
        let log = Log::new();
        let told = log.clone();
        let collects = sim.spawn(move || Collects(told)).wait().unwrap();
        collects.send(()).unwrap();
        for _ in 0..sim.choose(6) {
            sim.step();
        }
        let begin = sim.now();
        collects.stop().wait().unwrap();
        assert_eq!(sim.now(), begin);
        let lines = log.lines();
        assert!(lines.is_empty() || lines == [STOPPING], "{lines:?}");
    }
}

/// A handler of a state actor has a waker of its own.
struct Looks(NamedAddress<Ask>, Log);

impl StateActor for Looks {
    type Notice = ();
    type Ask = ();
    type Reply = ();
    type Event = ();

    async fn handle_notice(scope: &mut Scope<Self>, (): ()) -> Result {
        let (store, log) = scope.with(|looks| (looks.0.clone(), looks.1.clone()));
        log.note(store.lookup_or_wait().no_timeout().await.map(|_| ()).unwrap_err());
        Ok(())
    }

    async fn handle_ask(_: &mut Scope<Self>, (): ()) -> Result {
        Ok(())
    }
}

#[test]
fn h10_a_stop_reaches_the_handlers_of_a_state_actor() {
    for sim in simulations(100) {
        let log = Log::new();
        let looks = Looks(sim.named_address("store").unwrap(), log.clone());
        let looks = sim.spawn(move || Stateful::new(looks)).wait().unwrap();
        looks.notice(()).unwrap();
        looks.notice(()).unwrap();
        for _ in 0..sim.choose(6) {
            sim.step();
        }
        let begin = sim.now();
        looks.stop().wait().unwrap();
        assert_eq!(sim.now(), begin);
        let lines = log.lines();
        assert!(lines.iter().all(|line| line == STOPPING), "{lines:?}");
    }
}

/// A front that traps exits: its parent's end arrives in its place among the messages.
struct Child(Front);

impl Actor for Child {
    type Message = Reply<u32>;

    async fn init(&mut self, ctx: &mut Context<Reply<u32>>) -> Result {
        ctx.trap_exits(true);
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Reply<u32>>, _: Reply<u32>) -> Result {
        Ok(())
    }

    async fn terminate(&mut self, ctx: &mut Context<Reply<u32>>, reason: &Reason) {
        self.0.terminate(ctx, reason).await;
    }
}

#[test]
fn h10_the_end_of_a_parent_ends_the_waits_of_an_actor_that_traps_exits() {
    for sim in simulations(50) {
        let log = Log::new();
        let (store, told) = (sim.named_address("store").unwrap(), log.clone());
        let parent = behavior_fn(move |ctx: Context<()>| async move {
            let child = move || Child(Front { store, log: told });
            ctx.spawn(child).link().name("child").await?;
            Ok(())
        });
        let begin = sim.now();
        sim.spawn(move || parent).wait().unwrap();
        sim.run_until_idle();
        assert!(sim.whereis("child").is_none(), "it has ended");
        assert_eq!((log.lines(), sim.now()), (vec![STOPPING.to_owned()], begin));
    }
}
