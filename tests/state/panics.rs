//! A state actor that panics, in whatever it has (rules O7, O9): the end of its process, and
//! nothing else.

use crate::state_support::{HOUR, job, restarting};
use crate::support::{Guard, Leaves, Log, boom, leaves, simulations};
use krarup::prelude::*;
use krarup::state::{
    Cleaner, Exception, Scope, StateActor, StateAddress, StateCalls, StateContext, StateMessage,
    Stateful,
};
use krarup::{CallError, Dynamic, Ended};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

struct PanickingState {
    at: &'static str,
    log: Log,
    _guard: Guard,
}

impl PanickingState {
    fn touch(&self, callback: &str) {
        assert_ne!(self.at, callback, "sore");
    }
}

fn touch(scope: &mut Scope<PanickingState>, callback: &str) {
    scope.with(|state| state.touch(callback));
}

enum Ask {
    /// Asks a dead process, and waits, or has the failure told.
    Others {
        then: bool,
        dead: Address<Reply<()>>,
        reply: Reply<()>,
    },
    Plain(Reply<()>),
    Batch(Reply<()>),
    Fail(Reply<()>),
}

impl StateActor for PanickingState {
    type Notice = bool;
    type Ask = Ask;
    type Reply = ();
    type Event = ();

    async fn after_mount(&mut self, _: &mut StateContext<Self>) -> Result {
        self.touch("after_mount");
        Ok(())
    }

    async fn handle_notice(scope: &mut Scope<Self>, _: bool) -> Result {
        touch(scope, "handle_notice");
        Ok(())
    }

    async fn handle_notices(scope: &mut Scope<Self>, _: Vec<bool>) -> Result {
        touch(scope, "handle_notices");
        Ok(())
    }

    async fn handle_ask(scope: &mut Scope<Self>, ask: Ask) -> Result {
        match ask {
            Ask::Others { then, dead, reply } => {
                touch(scope, "handle_ask");
                if then {
                    scope.ask_then(&dead, |reply| reply, |()| ()).start();
                } else {
                    let _ = scope.call(&dead, |reply| reply).await;
                    touch(scope, "handle_ask, later");
                }
                scope.after(SECOND, ());
                reply.send(());
            }
            Ask::Plain(reply) | Ask::Batch(reply) => reply.send(()),
            Ask::Fail(reply) => {
                let state = scope.with(|state| {
                    ["before_restart", "restart", "after_restart"].contains(&state.at)
                });
                if state {
                    return Err(Reason::error("fails"));
                }
                reply.send(());
            }
        }
        Ok(())
    }

    fn is_barrier(&self, _: &Ask) -> bool {
        self.touch("is_barrier");
        false
    }

    fn batches_ask(&self, ask: &Ask) -> bool {
        self.touch("batches_ask");
        matches!(ask, Ask::Batch(_))
    }

    fn batches_notice(&self, batch: &bool) -> bool {
        self.touch("batches_notice");
        *batch
    }

    fn most_in_batch(&self) -> NonZeroUsize {
        self.touch("most_in_batch");
        NonZeroUsize::MIN
    }

    async fn handle_asks(scope: &mut Scope<Self>, asks: Vec<Ask>) -> Result {
        touch(scope, "handle_asks");
        for ask in asks {
            Self::handle_ask(scope, ask).await?;
        }
        Ok(())
    }

    async fn handle_exception(scope: &mut Scope<Self>, _: Exception) -> Result {
        touch(scope, "handle_exception");
        Ok(())
    }

    async fn handle_event(scope: &mut Scope<Self>, (): ()) -> Result {
        touch(scope, "handle_event");
        Ok(())
    }

    fn state(&self) -> Option<Dynamic> {
        self.touch("state");
        None
    }

    fn inspect(&self) -> Inspection {
        self.touch("inspect");
        Inspection::new()
    }

    async fn before_restart(&mut self, _: &mut StateContext<Self>, _: &Reason) {
        self.touch("before_restart");
    }

    async fn restart(&mut self, _: &mut StateContext<Self>, _: &Reason) -> Result {
        self.touch("restart");
        Ok(())
    }

    async fn after_restart(&mut self, _: &mut StateContext<Self>, _: &Reason) -> Result {
        self.touch("after_restart");
        Ok(())
    }

    fn cleaner(&self) -> Option<Cleaner> {
        let (log, at) = (self.log.clone(), self.at);
        Some(Box::new(move |_: &Ended<'_>| {
            log.note("cleaned");
            assert_ne!(at, "cleaner", "sore");
        }))
    }

    async fn terminate(&mut self, _: &mut StateContext<Self>, _: &Reason) {
        self.touch("terminate");
    }
}

/// Asks everything there is to ask; how many answers came.
fn exercise(sim: &Simulation, state: &StateAddress<PanickingState>) -> usize {
    let dead =
        sim.spawn(|| krarup::behavior::behavior_fn(|_: Context<Reply<()>>| async { Ok(()) }));
    let dead = dead.start().unwrap();
    sim.run_until_idle();
    let _ = (state.notice(false), state.notice(true), state.event(()));
    let mut answers = usize::from(state.ask(Ask::Plain).wait().is_ok());
    answers += usize::from(state.ask(Ask::Batch).wait().is_ok());
    for then in [false, true] {
        let dead = dead.clone();
        answers +=
            usize::from(state.ask(move |reply| Ask::Others { then, dead, reply }).wait().is_ok());
    }
    let _ = state.inspect().wait();
    let _ = state.state::<u8>().wait();
    answers += usize::from(state.ask(Ask::Fail).wait().is_ok());
    sim.advance(2 * SECOND);
    answers
}

#[test]
fn o7_a_panic_in_any_callback_is_a_failure_and_nothing_more() {
    let ends = [
        "after_mount",
        "handle_notice",
        "handle_notices",
        "handle_ask",
        "handle_ask, later",
        "is_barrier",
        "batches_ask",
        "batches_notice",
        "most_in_batch",
        "handle_asks",
        "handle_exception",
        "handle_event",
        "state",
        "inspect",
        "restart",
        "after_restart",
    ];
    for at in ends.into_iter().chain(["nowhere", "before_restart", "terminate", "cleaner"]) {
        for restarts in [0, 3] {
            let (sim, log) = (Simulation::new(3), Log::new());
            let state =
                PanickingState { at, log: log.clone(), _guard: Guard::new(&log, "dropped") };
            let spawned = sim.spawn(move || Stateful::new(state).restarts(restarts, SECOND)).wait();
            let state = match spawned {
                Ok(state) => state,
                Err(error) => {
                    assert!(at == "after_mount" && error.to_string().contains("sore"), "{error}");
                    assert_eq!(log.take(), ["dropped", "cleaned"]);
                    continue;
                }
            };
            let answers = exercise(&sim, &state);
            if ["nowhere", "terminate", "cleaner"].contains(&at) {
                assert_eq!(answers, 5, "{at}");
                // A `terminate` that panics says why it really ended.
                assert_eq!(state.stop().wait().is_err(), at == "terminate");
            } else if at == "before_restart" {
                // It is asked nothing: what matters is that the state is put right.
                assert_eq!((state.is_alive(), answers), (restarts > 0, 4));
                sim.kill(state.pid());
            } else if restarts == 0 {
                assert!(!state.is_alive(), "{at}");
                assert!(answers < 5 || at == "handle_event" || at == "handle_exception", "{at}");
            } else if !sim.is_alive(state.pid()) {
                // More failures than it may have.
                assert!(!log.lines().is_empty());
            } else {
                sim.kill(state.pid());
            }
            sim.run_until_idle();
            assert_eq!(log.take(), ["dropped", "cleaned"], "{at}, {restarts}");
        }
    }
}

/// Batches all asks, and panics once when it is asked of the second.
struct Picky {
    fuse: AtomicBool,
}

/// A number, whether it is a barrier, and who asks.
struct Numbered(u32, bool, Reply<u32>);

impl StateActor for Picky {
    type Notice = ();
    type Ask = Numbered;
    type Reply = ();
    type Event = ();

    async fn handle_notice(_: &mut Scope<Self>, (): ()) -> Result {
        Ok(())
    }

    async fn handle_ask(scope: &mut Scope<Self>, ask: Numbered) -> Result {
        scope.sleep(SECOND).await;
        ask.2.send(ask.0);
        Ok(())
    }

    fn is_barrier(&self, ask: &Numbered) -> bool {
        ask.1
    }

    fn batches_ask(&self, ask: &Numbered) -> bool {
        assert!(ask.0 != 2 || !self.fuse.swap(false, Ordering::Relaxed), "picky");
        true
    }

    async fn handle_asks(_: &mut Scope<Self>, asks: Vec<Numbered>) -> Result {
        let together = u32::try_from(asks.len()).unwrap_or(0);
        asks.into_iter().for_each(|ask| ask.2.send(ask.0 * 10 + together));
        Ok(())
    }

    async fn restart(&mut self, _: &mut StateContext<Self>, _: &Reason) -> Result {
        Ok(())
    }
}

#[test]
fn o4_a_panicking_filter_loses_only_the_ask_of_its_batch() {
    for sim in simulations(3) {
        let log = Log::new();
        let state = Picky { fuse: AtomicBool::new(true) };
        let picky = sim.spawn(move || Stateful::new(state).restarts(1, SECOND)).wait().unwrap();
        // Those behind the barrier lie there together.
        for number in 0..4 {
            let (picky, log) = (picky.clone(), log.clone());
            sim.spawn(move || {
                krarup::behavior::behavior_fn(move |_: Context<()>| async move {
                    let ask = |reply| Numbered(number, number == 0, reply);
                    log.note(match picky.ask(ask).await {
                        Ok(answer) => format!("{number}: {answer}"),
                        Err(error) => format!("{number}: {}", error.to_string().contains("picky")),
                    });
                    Ok(())
                })
            })
            .start()
            .unwrap();
            sim.run_until_idle();
        }
        sim.advance(2 * SECOND);
        assert_eq!(log.take_sorted(), ["0: 0", "1: true", "2: 22", "3: 32"]);
    }
}

#[test]
fn m5_a_message_that_a_panicking_filter_loses_keeps_no_room() {
    for sim in simulations(3) {
        for number in [2, 0] {
            let state = Picky { fuse: AtomicBool::new(true) };
            let picky = sim.spawn(move || Stateful::new(state).restarts(1, SECOND)).mailbox(1);
            let picky = picky.wait().unwrap();
            let asked = picky.clone();
            let ask = move |reply| Numbered(number, false, reply);
            let asks = sim.task(async move { asked.ask(ask).await.is_ok() }).start().unwrap();
            sim.run_until_idle();
            assert_eq!(asks.wait(), Ok(number != 2));
            assert_eq!(picky.waiting(), 0);
            assert!(picky.notice(()).is_ok(), "there is room");
        }
    }
}

#[test]
fn o5_values_left_by_a_handler_and_its_promises_may_panic_together() {
    for guard_first in [true, false] {
        for how in ["kill", "fail", "restart"] {
            let (sim, log) = (Simulation::new(3), Log::new());
            let doer = restarting(&sim, &log, u32::from(how == "restart"), Ok(()));
            let notes = log.clone();
            let holds = job("holds").doing(move |scope| {
                Box::pin(async move {
                    let state = |line: &str| leaves(&notes, line, true);
                    let (work, value) = (state("work"), state("value"));
                    let before = guard_first.then(|| state("guard"));
                    let waits = scope.promise(async move {
                        let _work = work;
                        std::future::pending::<Result<(), CallError>>().await
                    });
                    let settled = scope.promise(async move { Ok(value) });
                    let after = (!guard_first).then(|| state("guard"));
                    std::future::pending::<()>().await;
                    drop((before, waits, settled, after));
                    Ok(())
                })
            });
            doer.notice(holds).unwrap();
            sim.run_until_idle();
            assert_eq!(log.take(), ["notice holds"]);
            let end = doer.watch();
            if how == "kill" {
                sim.kill(doer.pid());
            } else {
                doer.event(job("fails").failing(boom())).unwrap();
            }
            sim.run_until_idle();
            let lines = log.take();
            for line in ["guard", "work", "value"] {
                assert_eq!(lines.iter().filter(|it| *it == line).count(), 1, "{line}, {lines:?}");
            }
            if how == "restart" {
                assert!(doer.is_alive());
                sim.kill(doer.pid());
                sim.run_until_idle();
            } else {
                let expected = if how == "kill" { Reason::Killed } else { boom() };
                assert_eq!(end.wait().unwrap().reason, expected);
            }
        }
    }
}

#[test]
fn o5_a_handler_survives_an_abandoned_promise_that_panics_in_its_drop() {
    for sim in simulations(3) {
        let log = Log::new();
        let doer = restarting(&sim, &log, 0, Ok(()));
        let notes = log.clone();
        let takes_back = job("takes back").doing(move |scope| {
            Box::pin(async move {
                let state = |line: &str| leaves(&notes, line, true);
                let _guard = leaves(&notes, "guard", false);
                let (work, event) = (state("work"), state("event"));
                drop(scope.promise(async move {
                    let _work = work;
                    std::future::pending::<Result<(), CallError>>().await
                }));
                let event = job("late").doing(move |_| {
                    Box::pin(async move {
                        drop(event);
                        Ok(())
                    })
                });
                let timer = scope.after(HOUR, event);
                assert!(scope.cancel(timer) && !scope.cancel(timer));
                notes.note(format!("goes on, {} pending", scope.pending()));
                Ok(())
            })
        });
        doer.notice(takes_back).unwrap();
        sim.run_until_idle();
        let done = ["notice takes back", "work", "event", "goes on, 0 pending", "guard"];
        assert_eq!(log.take(), [&done[..], &["takes back done"]].concat());
        assert!(doer.is_alive());
    }
}

/// Panics in whatever it is asked, and has things that panic as they go.
struct Edgy {
    at: &'static str,
    _leaves: Leaves,
}

impl Edgy {
    fn touch(&self, callback: &str) {
        assert_ne!(self.at, callback, "edgy");
    }
}

impl StateActor for Edgy {
    type Notice = Leaves;
    type Ask = Leaves;
    type Reply = ();
    type Event = ();

    async fn after_mount(&mut self, _: &mut StateContext<Self>) -> Result {
        self.touch("after_mount");
        if self.at == "after_mount fails" { Err(boom()) } else { Ok(()) }
    }

    async fn handle_notice(scope: &mut Scope<Self>, notice: Leaves) -> Result {
        if scope.with(|edgy| edgy.at == "waits") {
            std::future::pending::<()>().await;
        }
        drop(notice);
        Ok(())
    }

    async fn handle_ask(scope: &mut Scope<Self>, ask: Leaves) -> Result {
        Self::handle_notice(scope, ask).await
    }

    fn is_barrier(&self, _: &Leaves) -> bool {
        self.touch("is_barrier");
        false
    }

    fn batches_ask(&self, _: &Leaves) -> bool {
        self.touch("batches_ask");
        true
    }

    fn batches_notice(&self, _: &Leaves) -> bool {
        self.touch("batches_notice");
        true
    }

    fn most_in_batch(&self) -> NonZeroUsize {
        self.touch("most_in_batch");
        NonZeroUsize::new(3).unwrap()
    }

    fn cleaner(&self) -> Option<Cleaner> {
        self.touch("cleaner");
        None
    }
}

#[test]
fn o7_a_state_and_its_messages_may_panic_together_in_their_drop() {
    for at in ["after_mount", "after_mount fails", "cleaner", "period", "in flight"] {
        let (sim, log) = (Simulation::new(3), Log::new());
        let (edgy, first) =
            (Edgy { at, _leaves: leaves(&log, "state", true) }, leaves(&log, "first", true));
        let mut edgy = Stateful::new(edgy).first(first);
        if at == "period" {
            edgy = edgy.restarts(1, Duration::ZERO);
        } else if at == "in flight" {
            edgy = edgy.most_in_flight(0);
        }
        let error = sim.spawn(move || edgy).wait().unwrap_err().to_string();
        assert!(!at.starts_with("after_mount") || !error.contains("sore"), "{at}: {error}");
        assert_eq!(log.take_sorted(), ["first", "state"], "{at}");
    }
    for at in ["is_barrier", "batches_ask", "batches_notice", "most_in_batch", "goes on", "waits"] {
        for asks in [true, false] {
            let (sim, log) = (Simulation::new(3), Log::new());
            let edgy = Edgy { at, _leaves: leaves(&log, "state", true) };
            let edgy = sim.spawn(move || Stateful::new(edgy)).wait().unwrap();
            for line in ["1", "2", "3"] {
                let letter = leaves(&log, line, true);
                edgy.send(if asks {
                    StateMessage::Ask(letter)
                } else {
                    StateMessage::Notice(letter)
                })
                .unwrap();
            }
            sim.run_until_idle();
            sim.kill(edgy.pid());
            sim.run_until_idle();
            assert_eq!(log.take_sorted(), ["1", "2", "3", "state"], "{at}, {asks}");
        }
    }
}

#[test]
fn o7_a_state_that_panics_as_it_goes_is_a_failure_unless_there_was_one_before() {
    for (stop, expected) in [(Reason::Normal, "sore"), (Reason::Shutdown, "sore"), (boom(), "boom")]
    {
        let (sim, log) = (Simulation::new(1), Log::new());
        let edgy = Edgy { at: "goes on", _leaves: leaves(&log, "state", true) };
        let edgy = sim.spawn(move || Stateful::new(edgy)).wait().unwrap();
        edgy.process().request_stop(stop);
        let reason = edgy.watch().wait().unwrap().reason.to_string();
        assert!(reason.contains(expected), "{reason}");
        assert_eq!(log.take(), ["state"]);
    }
}
