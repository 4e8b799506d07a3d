//! A state actor that has only what it must have: what the callbacks do that it leaves out, and
//! what those are given that it has (rules O4 to O6).

use crate::support::journal::Journal;
use crate::support::{Log, boom, simulations};
use krarup::behavior::behavior_fn;
use krarup::observe::DebugError;
use krarup::prelude::*;
use krarup::state::{
    AskId, Exception, Scope, StateActor, StateAddress, StateCalls, StateMessage, Stateful,
};
use krarup::testing::Probe;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// What a handler is told to do.
type Order = Box<dyn FnOnce(&mut Scope<Plain>) -> Result + Send>;

fn order(order: impl FnOnce(&mut Scope<Plain>) -> Result + Send + 'static) -> Order {
    Box::new(order)
}

/// Does what it is told, and leaves out what it may.
struct Plain;

/// A number that is answered; 0 is a barrier, 13 fails.
struct Echo(u32, Reply<u32>);

impl StateActor for Plain {
    type Notice = Order;
    type Ask = Echo;
    type Reply = ();
    type Event = ();

    async fn handle_notice(scope: &mut Scope<Self>, order: Order) -> Result {
        order(scope)
    }

    async fn handle_ask(scope: &mut Scope<Self>, Echo(number, reply): Echo) -> Result {
        scope.sleep(SECOND).await;
        if number == 13 {
            return Err(boom());
        }
        reply.send(number);
        Ok(())
    }

    fn is_barrier(&self, ask: &Echo) -> bool {
        ask.0 == 0
    }

    fn batches_ask(&self, _: &Echo) -> bool {
        true
    }

    fn batches_notice(&self, _: &Order) -> bool {
        true
    }
}

fn plain(sim: &Simulation) -> StateAddress<Plain> {
    sim.spawn(|| Stateful::new(Plain)).wait().unwrap()
}

fn tells(sim: &Simulation, plain: &StateAddress<Plain>, what: Order) {
    assert!(plain.notice(what).is_ok());
    sim.run_until_idle();
}

/// A process that keeps the tokens of its callers.
fn keeps(sim: &Simulation) -> (Probe<'_, Reply<()>>, Address<Reply<()>>) {
    let probe = Probe::spawn(sim);
    let address = probe.address();
    (probe, address)
}

#[test]
fn o5_an_ask_that_fails_ends_an_actor_that_does_not_handle_exceptions() {
    for sim in simulations(3) {
        let (probe, other) = keeps(&sim);
        let plain = plain(&sim);
        let asks = order(move |scope| {
            scope.ask_then(&other, |reply| reply, |()| ()).start();
            Ok(())
        });
        tells(&sim, &plain, asks);
        let end = plain.watch();
        // An answer is dropped, and so are an event and silence.
        probe.expect(SECOND).send(());
        plain.event(()).unwrap();
        sim.run_until_idle();
        tells(
            &sim,
            &plain,
            order(|scope| {
                scope.with_context(|_, ctx| ctx.set_idle_timeout(Some(SECOND)));
                Ok(())
            }),
        );
        sim.advance(3 * SECOND);
        assert!(plain.is_alive());
        sim.kill(probe.pid());
        sim.run_until_idle();
        let gone = probe.address();
        tells(
            &sim,
            &plain,
            order(move |scope| {
                scope.ask_then(&gone, |reply| reply, |()| ()).start();
                Ok(())
            }),
        );
        assert_eq!(
            end.wait().unwrap().reason,
            Reason::from(CallError::NoProcess { to: probe.pid() })
        );
    }
}

#[test]
fn o5_an_exit_signal_that_is_trapped_and_not_looked_after_ends_the_actor_if_it_is_abnormal() {
    for sim in simulations(3) {
        let plain = plain(&sim);
        let links = |reason: fn() -> Reason| {
            order(move |scope| {
                scope.with_context(|_, ctx| {
                    ctx.trap_exits(true);
                    let ends = move |_: Context<()>| async move { Err(reason()) };
                    let child = ctx.spawn(move || behavior_fn(ends)).link().start().unwrap();
                    ctx.monitor(child.pid());
                });
                Ok(())
            })
        };
        let end = plain.watch();
        for normal in [|| Reason::Normal, || Reason::Shutdown] {
            tells(&sim, &plain, links(normal));
            assert!(plain.is_alive());
        }
        tells(&sim, &plain, links(boom));
        assert_eq!(end.wait().unwrap().reason, boom());
    }
}

#[test]
fn o5_a_message_of_another_type_that_is_not_looked_after_is_dropped_and_logged() {
    let journal = Log::new();
    let noted = journal.clone();
    let told = Journal::new(
        |event| event.target() == "krarup",
        move |fields| noted.note(format!("{fields:?}")),
    );
    tracing::subscriber::with_default(told, || {
        let sim = Simulation::new(1);
        let plain = plain(&sim);
        tells(
            &sim,
            &plain,
            order(|scope| {
                scope.with_context(|_, ctx| ctx.take_others());
                Ok(())
            }),
        );
        sim.send(plain.pid(), 7_u8).unwrap();
        sim.run_until_idle();
        assert!(plain.is_alive());
        let lines = journal.take();
        assert!(lines.len() == 1 && lines[0].contains("u8"), "{lines:?}");
    });
}

#[test]
fn o4_asks_of_a_batch_are_handled_one_by_one_unless_the_actor_does_otherwise() {
    for sim in simulations(3) {
        for (numbers, answered) in [([0, 1, 2, 3], 4), ([0, 1, 13, 3], 2)] {
            let (plain, log) = (plain(&sim), Log::new());
            // Those behind the barrier lie there together.
            for number in numbers {
                let (plain, log) = (plain.clone(), log.clone());
                sim.spawn(move || {
                    behavior_fn(move |_: Context<()>| async move {
                        match plain.ask(|reply| Echo(number, reply)).await {
                            Ok(answer) => log.note(format!("answered {answer}")),
                            Err(error) => log.note(format!("failed: {error}")),
                        }
                        Ok(())
                    })
                })
                .start()
                .unwrap();
                sim.run_until_idle();
            }
            let mut answers = Vec::new();
            for _ in numbers {
                sim.advance(SECOND);
                answers.push(log.count("answered"));
            }
            let one_by_one: Vec<usize> = (1..=4).map(|second| answered.min(second)).collect();
            assert_eq!(answers, one_by_one);
            // The calls of the rest of the batch fail with the reason.
            assert_eq!((log.count("failed"), log.count("boom")), (4 - answered, 4 - answered));
            assert_eq!(plain.is_alive(), answered == 4);
        }
    }
}

#[test]
fn o4_a_notice_of_a_batch_that_fails_is_the_end_and_the_rest_of_the_batch_is_lost() {
    for sim in simulations(3) {
        let plain = plain(&sim);
        let (log, end) = (Log::new(), plain.watch());
        plain.suspend().wait().unwrap();
        for number in 0..4 {
            let log = log.clone();
            let notes = order(move |_| {
                log.note(number);
                if number == 2 { Err(boom()) } else { Ok(()) }
            });
            assert!(plain.notice(notes).is_ok());
        }
        sim.run_until_idle();
        plain.resume();
        sim.run_until_idle();
        assert_eq!(log.take(), ["0", "1", "2"]);
        assert_eq!(end.wait().unwrap().reason, boom());
    }
}

#[test]
fn o6_an_actor_that_does_not_know_how_to_restart_ends_at_its_first_failure() {
    for sim in simulations(3) {
        let plain = sim.spawn(|| Stateful::new(Plain).restarts(5, SECOND)).wait().unwrap();
        let end = plain.watch();
        tells(&sim, &plain, order(|_| Err(boom())));
        assert_eq!(end.wait().unwrap().reason, boom());
    }
}

#[test]
fn x5_an_actor_without_inspection_and_state_is_labelled_with_its_own_type() {
    let sim = Simulation::new(1);
    let plain = plain(&sim);
    assert_eq!(plain.state::<u8>().wait(), Err(DebugError::NotOffered(plain.pid())));
    let known_as = plain.info().behavior.to_string();
    assert!(known_as.ends_with("Plain") && !known_as.contains("Stateful"), "{known_as}");
    let inspected = plain.inspect().wait().unwrap();
    for item in ["replies", "exceptions", "asks", "notices", "events", "in_flight"] {
        assert_eq!(inspected.number(item), Some(0), "{item}");
    }
    assert_eq!(inspected.value("barrier"), Some(&false.into()));
}

/// What a [`Heeds`] has heard.
type Heard = Arc<Mutex<Vec<(AskId, Result<u32, Pid>, Option<CallError>)>>>;

/// Notes the outcomes of its asks.
struct Heeds(Heard);

impl StateActor for Heeds {
    type Notice = Vec<Address<Reply<()>>>;
    type Ask = ();
    type Reply = ();
    type Event = ();

    async fn handle_notice(scope: &mut Scope<Self>, asked: Self::Notice) -> Result {
        for (number, other) in (0..).zip(asked) {
            let ask = scope.ask_then(&other, |reply| reply, |()| ()).start();
            scope.with(|heeds| heeds.0.lock().unwrap().push((ask, Ok(number), None)));
        }
        Ok(())
    }

    async fn handle_ask(_: &mut Scope<Self>, (): ()) -> Result {
        Ok(())
    }

    async fn handle_exception(scope: &mut Scope<Self>, exception: Exception) -> Result {
        let Exception { ask, from, error, .. } = exception;
        scope.with(|heeds| heeds.0.lock().unwrap().push((ask, Err(from), Some(error))));
        Ok(())
    }
}

#[test]
fn o5_an_exception_has_the_ask_the_callee_and_the_reason() {
    for sim in simulations(3) {
        let heard = Heard::default();
        let state = Heeds(Arc::clone(&heard));
        let heeds = sim.spawn(move || Stateful::new(state)).wait().unwrap();
        let others: Vec<_> = (0..3).map(|_| keeps(&sim)).collect();
        let began = sim.now();
        heeds.notice(others.iter().map(|(_, address)| address.clone()).collect()).unwrap();
        let mut tokens: Vec<_> =
            others.iter().map(|(probe, _)| Some(probe.expect(SECOND))).collect();
        let asks: Vec<AskId> = heard.lock().unwrap().drain(..).map(|(ask, ..)| ask).collect();
        assert!(asks[0] != asks[1] && asks[1] != asks[2] && asks[0] != asks[2]);
        // The first does not want to answer, the second does, the last takes its time.
        drop(tokens[0].take());
        tokens[1].take().unwrap().send(());
        sim.run_until_idle();
        let [(ask, from, Some(error))] = &std::mem::take(&mut *heard.lock().unwrap())[..] else {
            panic!("one has failed")
        };
        assert_eq!((*ask, *from), (asks[0], Err(others[0].0.pid())));
        assert_eq!(*error, CallError::NoReply { to: others[0].0.pid() });
        // Five seconds, unless told otherwise.
        let left = Duration::from_millis(4999);
        sim.advance(left.saturating_sub(sim.now() - began));
        assert!(heard.lock().unwrap().is_empty());
        sim.advance(Duration::from_millis(1));
        let timeout = (
            asks[2],
            Err(others[2].0.pid()),
            Some(CallError::Timeout { to: others[2].0.pid(), limit: 5 * SECOND }),
        );
        assert_eq!(std::mem::take(&mut *heard.lock().unwrap()), [timeout]);
        drop(tokens);
    }
}

#[test]
fn o5_calls_and_asks_time_out_after_five_seconds_or_as_configured() {
    let sim = Simulation::new(1);
    let (_probe, other) = keeps(&sim);
    let deaf = plain(&sim);
    deaf.suspend().wait().unwrap();
    let caller = plain(&sim);
    let log = Log::new();
    let (noted, kept) = (log.clone(), Arc::new(Mutex::new(Vec::new())));
    let promises = Arc::clone(&kept);
    tells(
        &sim,
        &caller,
        order(move |scope| {
            let limits = [None, Some(SECOND), Some(7 * SECOND)];
            for limit in limits {
                let (called, asked) = match limit {
                    None => (
                        scope.call(&other, |reply| reply).start(),
                        scope.ask(&deaf, |reply| Echo(1, reply)).start(),
                    ),
                    Some(limit) => (
                        scope.call(&other, |reply| reply).timeout(limit).start(),
                        scope.ask(&deaf, |reply| Echo(1, reply)).timeout(limit).start(),
                    ),
                };
                let log = noted.clone();
                let late = |to| CallError::Timeout { to, limit: limit.unwrap_or(5 * SECOND) };
                let expected = (Err(late(other.pid())), Err(late(deaf.pid())));
                let waits = scope.promise(async move {
                    assert_eq!((called.await, asked.await), expected);
                    log.note(format!("{}", limit.unwrap_or(5 * SECOND).as_secs()));
                    Ok(())
                });
                promises.lock().unwrap().push(waits);
            }
            Ok(())
        }),
    );
    for (second, expected) in [(1, &["1"][..]), (2, &[]), (3, &[]), (4, &[]), (5, &["5"])] {
        sim.advance(SECOND);
        assert_eq!(log.take(), expected, "{second}");
    }
    sim.advance(2 * SECOND);
    assert_eq!(log.take(), ["7"]);
    assert!(caller.is_alive() && kept.lock().unwrap().len() == 3);
}

/// Handles all that comes together, but for 0, which is a barrier.
struct Batches(Log);

impl Batches {
    fn note(scope: &mut Scope<Self>, what: &str, numbers: &[u32]) {
        let sender = scope.sender();
        scope.with(|batches| match sender {
            Some(sender) => batches.0.note(format!("{what} {numbers:?} of {sender}")),
            None => batches.0.note(format!("{what} {}", numbers.len())),
        });
    }
}

impl StateActor for Batches {
    type Notice = u32;
    type Ask = u32;
    type Reply = ();
    type Event = ();

    async fn handle_notice(_: &mut Scope<Self>, _: u32) -> Result {
        Ok(())
    }

    async fn handle_ask(scope: &mut Scope<Self>, _: u32) -> Result {
        scope.sleep(SECOND).await;
        Ok(())
    }

    fn is_barrier(&self, ask: &u32) -> bool {
        *ask == 0
    }

    fn batches_ask(&self, _: &u32) -> bool {
        true
    }

    fn batches_notice(&self, _: &u32) -> bool {
        true
    }

    async fn handle_asks(scope: &mut Scope<Self>, asks: Vec<u32>) -> Result {
        Batches::note(scope, "asks", &asks);
        Ok(())
    }

    async fn handle_notices(scope: &mut Scope<Self>, notices: Vec<u32>) -> Result {
        Batches::note(scope, "notices", &notices);
        Ok(())
    }
}

#[test]
fn o4_a_batch_has_at_most_1024_by_default() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let state = Batches(log.clone());
    let batches = sim.spawn(move || Stateful::new(state)).wait().unwrap();
    batches.send(StateMessage::Ask(0)).unwrap();
    sim.run_until_idle();
    (0..1030).for_each(|n| batches.notice(n).unwrap());
    (1..1026).for_each(|n| batches.send(StateMessage::Ask(n)).unwrap());
    sim.advance(2 * SECOND);
    assert_eq!(log.take(), ["asks 1024", "asks 1", "notices 1024", "notices 6"]);
}

#[test]
fn o1_the_sender_of_a_batch_is_that_of_its_first() {
    for sim in simulations(3) {
        let log = Log::new();
        let state = Batches(log.clone());
        let batches = sim.spawn(move || Stateful::new(state)).wait().unwrap();
        batches.send(StateMessage::Ask(0)).unwrap();
        sim.run_until_idle();
        let mut senders = (1..4).map(|n| {
            let batches = batches.clone();
            let sends = behavior_fn(move |_: Context<()>| async move {
                batches.notice(n)?;
                batches.send(StateMessage::Ask(n)).map_err(SendError::without_message)?;
                Ok(())
            });
            let sender = sim.spawn(move || sends).start().unwrap().pid();
            sim.run_until_idle();
            sender
        });
        let first = senders.next().unwrap();
        assert_eq!(senders.count(), 2);
        sim.advance(2 * SECOND);
        let of_first = ["asks", "notices"].map(|what| format!("{what} [1, 2, 3] of {first}"));
        assert_eq!(log.take(), of_first);
    }
}

#[test]
fn o5_items_without_a_handler_are_dropped_and_the_actor_continues() {
    for sim in simulations(3) {
        let plain = plain(&sim);
        let (tokens, other) = keeps(&sim);
        let fails = behavior_fn(|mut ctx: Context<()>| async move {
            ctx.receive().await;
            Err(boom())
        });
        let fails = sim.spawn(move || fails).start().unwrap();
        let failing = fails.pid();
        let look = order(move |scope| {
            scope.ask_then(&other, |reply| reply, |()| ()).start();
            scope.after(SECOND, ());
            scope.with_context(|_, ctx| {
                ctx.monitor(failing);
                ctx.set_idle_timeout(Some(SECOND));
            });
            Ok(())
        });
        tells(&sim, &plain, look);
        // A reply, an event of its own and one that was sent, an end, and silence.
        tokens.expect(SECOND).send(());
        plain.event(()).unwrap();
        fails.send(()).unwrap();
        sim.advance(5 * SECOND);
        assert!(plain.is_alive() && !fails.is_alive());
        assert_eq!(plain.inspect().wait().unwrap().number("pending_promises"), Some(0));
    }
}

/// Has nothing but what it must have.
struct Bare(Log);

impl Bare {
    fn note(scope: &mut Scope<Self>, kind: &str, number: u32) {
        let sender = scope.sender();
        scope.with(|bare| bare.0.note(format!("{kind} {number} of {sender:?}")));
    }
}

impl StateActor for Bare {
    type Notice = u32;
    type Ask = u32;
    type Reply = ();
    type Event = ();

    async fn handle_notice(scope: &mut Scope<Self>, number: u32) -> Result {
        Bare::note(scope, "notice", number);
        if number == 1 { Err(boom()) } else { Ok(()) }
    }

    async fn handle_ask(scope: &mut Scope<Self>, number: u32) -> Result {
        Bare::note(scope, "ask", number);
        scope.sleep(SECOND).await;
        Ok(())
    }
}

#[test]
fn o4_asks_and_notices_are_neither_batched_nor_barriers_by_default() {
    for sim in simulations(3) {
        let log = Log::new();
        let state = Bare(log.clone());
        let bare = sim.spawn(move || Stateful::new(state).most_in_flight(3)).wait().unwrap();
        (0..3).for_each(|n| bare.send(StateMessage::Ask(n)).unwrap());
        sim.run_until_idle();
        assert_eq!(log.take(), [0, 1, 2].map(|n| format!("ask {n} of None")), "all are in flight");
        let sends = |number| {
            let bare = bare.clone();
            let sends = behavior_fn(move |_: Context<()>| async move { Ok(bare.notice(number)?) });
            let sender = sim.spawn(move || sends).start().unwrap().pid();
            sim.run_until_idle();
            format!("notice {number} of {:?}", Some(sender))
        };
        let notices = [0, 1, 2].map(sends);
        assert_eq!(log.lines(), [""; 0]);
        sim.advance(2 * SECOND);
        assert_eq!(log.take(), notices[..2], "the second fails, and that is the end");
    }
}

#[test]
fn the_debug_texts_of_a_state_actor_and_its_asks_differ() {
    let state = Stateful::new(Batches(Log::new())).most_in_flight(3);
    assert_eq!(format!("{state:?}"), "Stateful { window: None, most_in_flight: 3, .. }");
    let (sim, log) = (Simulation::new(1), Log::new());
    let (plain, noted) = (plain(&sim), log.clone());
    let (_tokens, other) = keeps(&sim);
    let look = order(move |scope| {
        let promises = [0, 1].map(|_| scope.call(&other, |reply| reply).start());
        let asks = [0, 1].map(|_| scope.ask_then(&other, |reply| reply, |()| ()).start());
        noted.note(format!("{scope:?}"));
        noted.note(format!("{promises:?}"));
        noted.note(format!("{}, {}", asks[0], asks[1]));
        Ok(())
    });
    tells(&sim, &plain, look);
    let expected = [
        format!("Scope({})", plain.pid()),
        "[Promise<()>(0), Promise<()>(1)]".to_owned(),
        "ask 2, ask 3".to_owned(),
    ];
    assert_eq!(log.take(), expected);
}
