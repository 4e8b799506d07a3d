//! Who is really waited for, where a request was handed on or something else may come: rule C5.

use crate::support::{Log, poll_once, settles, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::mailbox::{Diverted, Overflow};
use krarup::pool::PoolCommand;
use krarup::prelude::*;
use krarup::{Recipient, SendError};
use std::pin::Pin;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Barrier};
use std::task::Poll;
use std::time::Duration;

type Outcome = Result<&'static str, CallError>;

/// Has a process do something, and tells what came of it.
enum Order {
    /// Calls through a recipient or an address, and tells.
    Ask(To, Reply<Outcome>),
    /// Calls, or waits for the end of another process.
    AskOrEnd(Address<Order>, Pid, Reply<Outcome>),
    Answer(Reply<&'static str>),
    /// Keeps the token.
    Keep(Reply<&'static str>),
}

enum To {
    Pool(Address<Order, PoolCommand>),
    PoolByRecipient(Address<Order, PoolCommand>),
    One(Address<Order>),
    Keeper(Address<Order>),
}

#[derive(Default)]
struct Asker(Vec<Reply<&'static str>>);

impl Actor for Asker {
    type Message = Order;

    async fn handle_message(&mut self, ctx: &mut Context<Order>, order: Order) -> Result {
        match order {
            Order::Ask(to, reply) => {
                let outcome = match to {
                    To::Pool(pool) => pool.call(Order::Answer).await,
                    To::PoolByRecipient(pool) => {
                        pool.recipient::<Order>().call(Order::Answer).await
                    }
                    To::One(one) => one.call(Order::Answer).await,
                    To::Keeper(keeper) => keeper.call(Order::Keep).await,
                };
                reply.send(outcome);
            }
            Order::AskOrEnd(one, other, reply) => {
                let mut call = one.call(Order::Keep).into_future();
                let mut end = ctx.watch(other);
                let outcome = std::future::poll_fn(|cx| match Pin::new(&mut call).poll(cx) {
                    Poll::Ready(outcome) => Poll::Ready(outcome),
                    Poll::Pending => Pin::new(&mut end).poll(cx).map(|_| Ok("the end")),
                });
                reply.send(outcome.await);
            }
            Order::Answer(reply) => reply.send("answer"),
            Order::Keep(reply) => self.0.push(reply),
        }
        Ok(())
    }
}

fn asker(node: &Node) -> Address<Order> {
    node.spawn(Asker::default).wait().unwrap()
}

/// Has a process call `one` with what `order` makes, at the next turn.
fn ask(
    node: &Node,
    one: &Address<Order>,
    order: impl FnOnce(Reply<Outcome>) -> Order + Send + 'static,
) -> Receiver<Outcome> {
    let (tell, told) = mpsc::channel();
    let one = one.clone();
    let run = move |_: Context<()>| async move {
        let _ = tell.send(one.call(order).await.and_then(|outcome| outcome));
        Ok(())
    };
    node.spawn(|| behavior_fn(run)).start().unwrap();
    told
}

#[test]
fn c5_a_worker_that_calls_its_own_pool_and_is_its_turn_calls_itself() {
    for by_recipient in [false, true] {
        for sim in simulations(3) {
            let pool = sim.spawn(|| Pool::new(1, Asker::default)).wait().unwrap();
            let own = pool.clone();
            let to = if by_recipient { To::PoolByRecipient(own) } else { To::Pool(own) };
            let mut asked = pool.call(move |reply| Order::Ask(to, reply)).into_future();
            assert!(poll_once(&mut asked).is_pending() && settles(&sim));
            let Poll::Ready(Ok(outcome)) = poll_once(&mut asked) else { panic!("it waits") };
            assert!(matches!(outcome, Err(CallError::CallsItself(_))), "{outcome:?}");
            assert_eq!(sim.now(), krarup::Timestamp::ZERO);
        }
    }
}

#[test]
fn c5_a_cycle_through_a_pool_is_found_whichever_process_parks_last() {
    for by_recipient in [false, true] {
        for sim in simulations(20) {
            let pool = sim.spawn(|| Pool::new(1, Asker::default)).wait().unwrap();
            let one = asker(&sim);
            // Both are told to call the other before either runs.
            let (back, own) = (one.clone(), pool.clone());
            let (tell, told) = mpsc::channel();
            let through = pool.clone();
            let run = move |_: Context<()>| async move {
                let asked = through.call(|reply| Order::Ask(To::One(back), reply)).await;
                let _ = tell.send(asked.and_then(|outcome| outcome));
                Ok(())
            };
            sim.spawn(|| behavior_fn(run)).start().unwrap();
            let to = if by_recipient { To::PoolByRecipient(own) } else { To::Pool(own) };
            let other = ask(&sim, &one, move |reply| Order::Ask(to, reply));
            sim.run_until_idle();
            let outcomes = [told.try_recv().unwrap(), other.try_recv().unwrap()];
            let failed = outcomes.iter().filter(|outcome| outcome.is_err()).count();
            assert!(failed <= 1, "{outcomes:?}");
            assert_eq!(sim.now(), krarup::Timestamp::ZERO);
        }
    }
}

#[test]
fn c5_a_diverted_request_is_waited_for_at_the_fallback() {
    struct Spare;
    struct Instead(Diverted<Order>);
    impl From<Diverted<Order>> for Instead {
        fn from(diverted: Diverted<Order>) -> Self {
            Instead(diverted)
        }
    }
    impl Actor for Spare {
        type Message = Instead;
        async fn handle_message(&mut self, ctx: &mut Context<Instead>, order: Instead) -> Result {
            ctx.sleep(Duration::from_secs(1)).await;
            if let Order::Answer(reply) = order.0.message {
                reply.send("spare");
            }
            Ok(())
        }
    }
    for sim in simulations(5) {
        let spare = sim.spawn(|| Spare).wait().unwrap();
        let divert = Overflow::divert(spare.recipient(), "spare");
        let full = sim.spawn(Asker::default).mailbox(1).overflow(divert).wait().unwrap();
        let one = asker(&sim);
        full.suspend().wait().unwrap();
        let to = To::One(one.clone());
        let first = ask(&sim, &full, move |reply| Order::Ask(to, reply));
        sim.run_until_idle();
        let to = To::One(full.clone());
        let second = ask(&sim, &one, move |reply| Order::Ask(to, reply));
        sim.run_until_idle();
        // It calls the one whose request went to the fallback, which is no cycle.
        full.resume();
        sim.advance(Duration::from_secs(2));
        assert_eq!(second.try_recv(), Ok(Ok("spare")));
        assert_eq!(first.try_recv(), Ok(Ok("answer")));
    }
}

#[test]
fn c5_a_wait_for_another_node_is_no_edge_to_an_own_process() {
    let (one, two) = (Simulation::new(1), Simulation::new(2));
    let (a, b) = (asker(&one), asker(&one));
    let (_, far) = (asker(&two), asker(&two));
    assert_eq!(far.pid(), b.pid(), "the numbers are the same");
    let waiting = ask(&one, &a, move |reply| Order::Ask(To::Keeper(far), reply));
    one.run_until_idle();
    let to = To::One(a.clone());
    let other = ask(&one, &b, move |reply| Order::Ask(to, reply));
    one.advance(Duration::from_secs(9));
    assert!(matches!(waiting.try_recv(), Ok(Err(CallError::Timeout { .. }))));
    assert!(!matches!(other.try_recv(), Ok(Err(CallError::Deadlock(_)))));
}

#[test]
fn c5_a_process_that_also_waits_for_an_end_is_in_no_cycle() {
    for sim in simulations(5) {
        let (a, b) = (asker(&sim), asker(&sim));
        let other = asker(&sim).pid();
        let to = b.clone();
        let first = ask(&sim, &a, move |reply| Order::AskOrEnd(to, other, reply));
        sim.run_until_idle();
        let to = To::One(a.clone());
        let second = ask(&sim, &b, move |reply| Order::Ask(to, reply));
        sim.run_until_idle();
        assert!(second.try_recv().is_err(), "it waits");
        sim.kill(other);
        sim.run_until_idle();
        assert_eq!(first.try_recv(), Ok(Ok("the end")));
        assert_eq!(second.try_recv(), Ok(Ok("answer")));
    }
}

/// Calls the other pool when it is told to, both at the same moment.
enum Twin {
    Meet(Address<Twin, PoolCommand>, Arc<Barrier>, Reply<Result<(), CallError>>),
    Greet(Reply<()>),
}

struct Twins;

impl Actor for Twins {
    type Message = Twin;

    async fn handle_message(&mut self, _: &mut Context<Twin>, twin: Twin) -> Result {
        match twin {
            Twin::Meet(peer, together, reply) => {
                together.wait();
                reply.send(peer.call(Twin::Greet).await);
            }
            Twin::Greet(reply) => reply.send(()),
        }
        Ok(())
    }
}

#[test]
fn c5_of_two_pools_that_call_each_other_at_the_same_moment_one_at_most_fails_and_at_once() {
    let node = Node::builder("twinpools@localhost").workers(2).start().unwrap();
    let pool = || node.spawn(|| Pool::new(1, || Twins)).wait().unwrap();
    let (a, b) = (pool(), pool());
    for round in 0..2_000 {
        let together = Arc::new(Barrier::new(2));
        let meet = |one: &Address<Twin, PoolCommand>, other: &Address<Twin, PoolCommand>| {
            let (one, other, together) = (one.clone(), other.clone(), Arc::clone(&together));
            std::thread::spawn(move || {
                one.call(|reply| Twin::Meet(other, together, reply)).wait().flatten()
            })
        };
        let (first, second) = (meet(&a, &b), meet(&b, &a));
        let outcomes = [first.join().unwrap(), second.join().unwrap()];
        let failed = outcomes.iter().filter(|outcome| outcome.is_err()).count();
        let found = outcomes.iter().any(|o| matches!(o, Err(CallError::Deadlock(_))));
        assert!(failed == 0 || (failed == 1 && found), "round {round}: {outcomes:?}");
    }
    node.stop().wait().unwrap();
}

/// What a worker does that has sent to its own pool, which has no other worker.
enum Round {
    /// Sends, and then calls another in one of several ways.
    Begin(Address<Round, PoolCommand>, Address<Round>, u8, Reply<Outcome>),
    /// Gives out an alias.
    Alias(Reply<Recipient<Round>>),
    /// Becomes what it is when it is converted: and sends to the pool meanwhile.
    Converted(Reply<&'static str>),
    Answer(Reply<&'static str>),
    Nothing,
}

/// A request whose conversion sends to a pool.
struct Sends(Address<Round, PoolCommand>, Reply<&'static str>);

impl From<Sends> for Round {
    fn from(Sends(pool, reply): Sends) -> Self {
        drop(pool.send(Round::Nothing));
        Round::Converted(reply)
    }
}

struct Rounds;

impl Actor for Rounds {
    type Message = Round;

    async fn handle_message(&mut self, ctx: &mut Context<Round>, round: Round) -> Result {
        match round {
            Round::Begin(pool, other, way, reply) => {
                let by = other.call(Round::Alias).await.map_err(Reason::from)?;
                pool.send(Round::Nothing).map_err(SendError::without_message)?;
                let outcome = match way {
                    0 => other.call(Round::Answer).await,
                    1 => other.call_high(Round::Answer).await,
                    2 => other.call_max(Round::Answer).await,
                    3 => other.recipient::<Round>().call(Round::Answer).await,
                    4 => by.call(Round::Answer).await,
                    _ => other.recipient::<Sends>().call(move |reply| Sends(pool, reply)).await,
                };
                reply.send(outcome);
            }
            Round::Converted(reply) | Round::Answer(reply) => reply.send("answer"),
            Round::Alias(reply) => {
                let alias = ctx.alias();
                reply.send(ctx.recipient_by(alias));
            }
            Round::Nothing => {}
        }
        Ok(())
    }
}

#[test]
fn c5_an_earlier_hand_over_does_not_affect_the_edge_of_a_request() {
    for way in 0..6 {
        let sim = Simulation::new(1);
        let pool = sim.spawn(|| Pool::new(1, || Rounds)).wait().unwrap();
        let other = sim.spawn(|| Rounds).wait().unwrap();
        let own = pool.clone();
        let outcome = pool.call(move |reply| Round::Begin(own, other, way, reply)).wait();
        assert_eq!(outcome, Ok(Ok("answer")), "way {way}");
    }
}

/// Has a mailbox that diverts.
enum Middle {
    Fill,
    Ask(Address<Order>, Reply<Outcome>),
    Other(Diverted<Order>),
}

impl From<Diverted<Order>> for Middle {
    fn from(diverted: Diverted<Order>) -> Self {
        Middle::Other(diverted)
    }
}

struct Diverts;

impl Actor for Diverts {
    type Message = Middle;

    async fn handle_message(&mut self, ctx: &mut Context<Middle>, middle: Middle) -> Result {
        if let Middle::Ask(first, reply) = middle {
            ctx.address().send(Middle::Fill).map_err(SendError::without_message)?;
            reply.send(first.call(Order::Answer).await);
        }
        Ok(())
    }
}

/// Where all ends that the others have no room for.
struct LastOne;

impl Actor for LastOne {
    type Message = Diverted<Middle>;

    async fn handle_message(
        &mut self,
        _: &mut Context<Diverted<Middle>>,
        diverted: Diverted<Middle>,
    ) -> Result {
        if let Middle::Other(Diverted { message: Order::Answer(reply), .. }) = diverted.message {
            reply.send("the last");
        }
        Ok(())
    }
}

#[test]
fn c5_a_request_that_is_diverted_twice_is_waited_for_where_it_lies() {
    for sim in simulations(3) {
        let last = sim.spawn(|| LastOne).wait().unwrap();
        let divert = Overflow::divert(last.recipient(), "last");
        let middle = sim.spawn(|| Diverts).mailbox(1).overflow(divert).wait().unwrap();
        let divert = Overflow::divert(middle.recipient(), "middle");
        let first = sim.spawn(Asker::default).mailbox(1).overflow(divert).wait().unwrap();
        first.suspend().wait().unwrap();
        let one = first.clone();
        let mut fills = first.call(Order::Keep).into_future();
        assert!(poll_once(&mut fills).is_pending());
        // It calls one whose request comes to itself, where there is no room either.
        let outcome = middle.call(move |reply| Middle::Ask(one, reply)).wait().unwrap();
        assert_eq!(outcome, Ok("the last"));
    }
}

#[test]
fn c5_a_call_through_a_recipient_that_can_have_no_answer_is_not_made() {
    for sim in simulations(5) {
        let (a, log) = (asker(&sim), Log::new());
        let (noted, caller) = (log.clone(), a.recipient::<Order>());
        let calls = behavior_fn(move |mut ctx: Context<Order>| async move {
            let note = noted.clone();
            let to_itself = ctx.address().recipient::<Order>().call(move |reply| {
                note.note("made");
                Order::Answer(reply)
            });
            noted.note(matches!(to_itself.await, Err(CallError::CallsItself(_))));
            if let Received::Message(Order::Answer(reply)) = ctx.receive().await {
                let note = noted.clone();
                let to_its_caller = caller.call(move |reply| {
                    note.note("made");
                    Order::Answer(reply)
                });
                noted.note(matches!(to_its_caller.await, Err(CallError::Deadlock(_))));
                reply.send("answer");
            }
            Ok(())
        });
        let calls = sim.spawn(move || calls).start().unwrap();
        assert!(settles(&sim));
        let mut asked = a.call(move |reply| Order::Ask(To::One(calls), reply)).into_future();
        assert!(poll_once(&mut asked).is_pending() && settles(&sim));
        assert_eq!(poll_once(&mut asked), Poll::Ready(Ok(Ok("answer"))));
        assert_eq!(log.take(), ["true", "true"]);
        assert_eq!(sim.now(), krarup::Timestamp::ZERO);
    }
}
