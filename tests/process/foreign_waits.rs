//! Calls beside what the node knows nothing of: a process that something else can wake is in no
//! cycle (rule C5).

use crate::support::simulations;
use krarup::prelude::*;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

/// Something that happens outside of every node.
#[derive(Clone, Default)]
struct Event(Arc<Mutex<Happening>>);

#[derive(Default)]
struct Happening {
    has_happened: bool,
    waker: Option<Waker>,
}

impl Event {
    /// Whether it has happened; otherwise the waker is kept for it.
    fn poll(&self, waker: Option<&Waker>) -> bool {
        let mut happening = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waker) = waker {
            happening.waker = Some(waker.clone());
        }
        happening.has_happened
    }

    /// It happens on another thread, to which the waker is moved.
    fn happen(&self) {
        let mut happening = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        happening.has_happened = true;
        let waker = happening.waker.take();
        drop(happening);
        thread::spawn(move || waker.into_iter().for_each(Waker::wake)).join().unwrap();
    }
}

/// When the event gets the waker.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Registered {
    /// In each poll, before the call is polled.
    Before,
    /// In each poll, after the call is polled.
    After,
    /// In the first poll alone.
    Once,
    /// In a poll before the call is made, and not again.
    Earlier,
    /// The same, and it has gone since.
    Gone,
    /// Not at all.
    Never,
}

const WAYS: [Registered; 4] =
    [Registered::Before, Registered::After, Registered::Once, Registered::Earlier];

/// A call, or the event.
struct Plan {
    peer: Address<Order>,
    after: Duration,
    event: Event,
    registered: Registered,
}

enum Order {
    Call(Plan, Reply<Outcome>),
    Greet(Reply<()>),
}

type Outcome = Result<&'static str, CallError>;

struct Caller;

impl Actor for Caller {
    type Message = Order;

    async fn handle_message(&mut self, ctx: &mut Context<Order>, order: Order) -> Result {
        match order {
            Order::Call(plan, reply) => {
                ctx.sleep(plan.after).await;
                reply.send(call_or_event(plan).await);
            }
            Order::Greet(reply) => reply.send(()),
        }
        Ok(())
    }
}

async fn call_or_event(Plan { peer, event, registered, .. }: Plan) -> Outcome {
    if matches!(registered, Registered::Earlier | Registered::Gone) {
        std::future::poll_fn(|cx| {
            event.poll(Some(cx.waker()));
            Poll::Ready(())
        })
        .await;
    }
    if registered == Registered::Gone {
        event.0.lock().unwrap_or_else(PoisonError::into_inner).waker = None;
    }
    let mut call = peer.call(Order::Greet).no_timeout().into_future();
    let mut first = true;
    std::future::poll_fn(|cx| {
        let registers = registered == Registered::Before
            || (registered == Registered::Once && std::mem::take(&mut first));
        let event_first = registered != Registered::After;
        if event_first && event.poll(registers.then(|| cx.waker())) {
            return Poll::Ready(Ok("the event"));
        }
        if let Poll::Ready(answer) = Pin::new(&mut call).poll(cx) {
            return Poll::Ready(answer.map(|()| "an answer"));
        }
        if registered == Registered::After && event.poll(Some(cx.waker())) {
            return Poll::Ready(Ok("the event"));
        }
        Poll::Pending
    })
    .await
}

/// Has a process call the other after a time, in a ring of two; what came of it.
fn order(
    sim: &Simulation,
    one: &Address<Order>,
    (peer, after): (&Address<Order>, u64),
    (event, registered): (&Event, Registered),
) -> Arc<Mutex<Option<Outcome>>> {
    let outcome = Arc::new(Mutex::new(None));
    let tell = Arc::clone(&outcome);
    let one = one.clone();
    let plan = Plan {
        peer: peer.clone(),
        after: Duration::from_secs(after),
        event: event.clone(),
        registered,
    };
    let run = move |_: Context<()>| async move {
        let ordered = one.call(|reply| Order::Call(plan, reply)).no_timeout().await;
        *tell.lock().unwrap_or_else(PoisonError::into_inner) = Some(ordered.and_then(|o| o));
        Ok(())
    };
    sim.spawn(|| krarup::behavior::behavior_fn(run)).start().unwrap();
    outcome
}

fn told(outcome: &Mutex<Option<Outcome>>) -> Option<Outcome> {
    outcome.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// One that calls plainly, and one that calls beside an event; whichever closes the ring.
fn ring(
    sim: &Simulation,
    registered: Registered,
    closer_is_plain: bool,
) -> (Event, [Arc<Mutex<Option<Outcome>>>; 2]) {
    let plain = sim.spawn(|| Caller).wait().unwrap();
    let beside = sim.spawn(|| Caller).wait().unwrap();
    let event = Event::default();
    let (plainly_after, beside_after) = if closer_is_plain { (2, 1) } else { (1, 2) };
    let nothing = (&Event::default(), Registered::Never);
    let one = order(sim, &plain, (&beside, plainly_after), nothing);
    let other = order(sim, &beside, (&plain, beside_after), (&event, registered));
    sim.advance(Duration::from_secs(3));
    (event, [one, other])
}

#[test]
fn c5_a_process_that_something_else_can_wake_is_in_no_cycle() {
    for registered in WAYS {
        for closer_is_plain in [true, false] {
            for sim in simulations(5) {
                let (event, [plain, beside]) = ring(&sim, registered, closer_is_plain);
                let at_first = [told(&plain), told(&beside)];
                assert_eq!(at_first, [None, None], "{registered:?}, {closer_is_plain}");
                sim.advance(Duration::from_secs(60));
                assert_eq!([told(&plain), told(&beside)], [None, None], "nor later");
                event.happen();
                sim.run_until_idle();
                let at_last = [told(&plain), told(&beside)];
                assert_eq!(at_last, [Some(Ok("an answer")), Some(Ok("the event"))]);
            }
        }
    }
}

#[test]
fn c5_a_cycle_is_found_when_nothing_else_can_wake_its_processes_any_more() {
    for registered in [Registered::Gone, Registered::Never] {
        for closer_is_plain in [true, false] {
            for sim in simulations(5) {
                let (_, outcomes) = ring(&sim, registered, closer_is_plain);
                let outcomes = outcomes.map(|outcome| told(&outcome));
                let failed = |outcome: &Option<Outcome>| {
                    matches!(outcome, Some(Err(CallError::Deadlock(_))))
                };
                assert_eq!(outcomes.iter().filter(|o| failed(o)).count(), 1, "{outcomes:?}");
                assert!(outcomes.contains(&Some(Ok("an answer"))), "{outcomes:?}");
            }
        }
    }
}

/// The event happens in the very turn in which its process begins to wait for it.
#[test]
fn c5_a_wake_up_that_has_arrived_is_seen_before_a_cycle() {
    struct Hasty;
    impl Actor for Hasty {
        type Message = Order;
        async fn handle_message(&mut self, ctx: &mut Context<Order>, order: Order) -> Result {
            let Order::Call(plan, reply) = order else { return Ok(()) };
            ctx.sleep(plan.after).await;
            let event = plan.event.clone();
            let mut call = Box::pin(call_or_event(plan));
            let mut happens = true;
            reply.send(
                std::future::poll_fn(|cx| {
                    let outcome = call.as_mut().poll(cx);
                    if outcome.is_pending() && std::mem::take(&mut happens) {
                        event.happen();
                    }
                    outcome
                })
                .await,
            );
            Ok(())
        }
    }
    for registered in WAYS {
        for sim in simulations(5) {
            let event = Event::default();
            let plain = sim.spawn(|| Caller).wait().unwrap();
            let hasty = sim.spawn(|| Hasty).wait().unwrap();
            let nothing = (&Event::default(), Registered::Never);
            drop(order(&sim, &plain, (&hasty, 1), nothing));
            let outcome = order(&sim, &hasty, (&plain, 2), (&event, registered));
            sim.advance(Duration::from_secs(3));
            assert_eq!(told(&outcome), Some(Ok("the event")), "{registered:?}");
        }
    }
}

/// A chain of a hundred thousand that wait: who calls into it looks only so far.
#[test]
fn c5_a_call_into_a_long_chain_is_made() {
    enum Message {
        Ask(Reply<()>),
        Release,
    }
    /// Asks the next; the last keeps the token, and tells.
    enum Link {
        Asking(Address<Message>),
        Last(Vec<Reply<()>>, mpsc::Sender<()>),
    }
    impl Actor for Link {
        type Message = Message;
        async fn handle_message(&mut self, _: &mut Context<Message>, message: Message) -> Result {
            match (self, message) {
                (Link::Asking(next), Message::Ask(token)) => {
                    token.send(next.call(Message::Ask).no_timeout().await?);
                }
                (Link::Last(kept, tell), Message::Ask(token)) => {
                    kept.push(token);
                    let _ = tell.send(());
                }
                (Link::Last(kept, _), Message::Release) => {
                    kept.drain(..).for_each(|token| token.send(()));
                }
                (Link::Asking(_), Message::Release) => {}
            }
            Ok(())
        }
    }
    let node = Node::builder("chain@localhost").workers(1).start().unwrap();
    let (tell, told) = mpsc::channel();
    let last = node.spawn(move || Link::Last(Vec::new(), tell)).wait().unwrap();
    let mut first = last.clone();
    for _ in 0..100_000 {
        let next = first.clone();
        first = node.spawn(move || Link::Asking(next)).start().unwrap();
    }
    let (answered, answers) = mpsc::channel();
    let ask = || {
        let (first, answered) = (first.clone(), answered.clone());
        let ask = move |_: Context<()>| async move {
            let _ = answered.send(first.call(Message::Ask).no_timeout().await);
            Ok(())
        };
        node.spawn(|| krarup::behavior::behavior_fn(ask)).start().unwrap();
    };
    ask();
    // All wait then: those before the last have parked, for there is one worker.
    told.recv().unwrap();
    ask();
    for round in 0..2 {
        if round > 0 {
            told.recv().unwrap();
        }
        last.send(Message::Release).ok().unwrap();
        assert_eq!(answers.recv().unwrap(), Ok(()));
    }
    node.stop().wait().unwrap();
}
