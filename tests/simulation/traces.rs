//! Trace contexts that travel with messages, calls, pools and spawns: rules V55 and V56.

use crate::support::simulations;
use crate::support::spans::{MessageSpan, message_spans};
use krarup::observe::{Propagation, TraceContext, TraceSampler};
use krarup::pool::{Pool, PoolCommand};
use krarup::prelude::*;
use std::time::Duration;

const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// The first process: passes each order on to the pool.
struct Front {
    pool: PoolAddress<Job>,
    stock: Address<Ask>,
}

fn failed<T>(error: SendError<T>) -> Reason {
    Reason::from(error.map(|_| ()))
}

type PoolAddress<M> = Address<M, PoolCommand>;

struct Order;
#[derive(Clone)]
struct Job(Address<Ask>);
struct Ask(Reply<u32>);
struct Bill(u32);

impl Actor for Front {
    type Message = Order;
    async fn handle_message(&mut self, ctx: &mut Context<Order>, _: Order) -> Result {
        tracing::info!(target: "test", "before a wait");
        ctx.sleep(Duration::from_millis(5)).await;
        tracing::info!(target: "test", "after a wait");
        self.pool.send(Job(self.stock.clone())).map_err(failed)?;
        Ok(())
    }
}

/// A worker of the pool: asks the stock, and tells the clerk.
struct Worker(Address<Bill>);

impl Actor for Worker {
    type Message = Job;
    async fn handle_message(&mut self, _: &mut Context<Job>, job: Job) -> Result {
        let amount = job.0.call(Ask).await?;
        self.0.send_high(Bill(amount)).map_err(failed)?;
        Ok(())
    }
}

struct Stock;

impl Actor for Stock {
    type Message = Ask;
    async fn handle_message(&mut self, ctx: &mut Context<Ask>, ask: Ask) -> Result {
        ctx.sleep(Duration::from_millis(1)).await;
        ask.0.send(7);
        Ok(())
    }
}

struct Clerk;

impl Actor for Clerk {
    type Message = Bill;
    async fn handle_message(&mut self, ctx: &mut Context<Bill>, bill: Bill) -> Result {
        // A spawn and a pipe carry the context, too.
        let me = ctx.address();
        if bill.0 == 7 {
            ctx.pipe(async { 8 }, Bill)?;
        } else if bill.0 == 8 {
            ctx.spawn(move || Starter(me)).start()?;
        }
        Ok(())
    }
}

struct Starter(Address<Bill>);

impl Actor for Starter {
    type Message = ();
    async fn init(&mut self, ctx: &mut Context<()>) -> Result {
        self.0.send(Bill(9)).map_err(failed)?;
        ctx.stop();
        Ok(())
    }
    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
}

fn shop(sim: &Simulation) -> Address<Order> {
    let clerk = sim.spawn(|| Clerk).name("clerk").wait().unwrap();
    let stock = sim.spawn(|| Stock).name("stock").wait().unwrap();
    let pool = sim.spawn(move || Pool::new(2, move || Worker(clerk.clone()))).wait();
    let pool = pool.unwrap();
    sim.spawn(move || Front { pool, stock }).name("front").wait().unwrap()
}

fn one_order(sim: &Simulation) -> Vec<MessageSpan> {
    let front = shop(sim);
    message_spans(|| {
        TraceContext::parse(HEADER).unwrap().enter(|| front.send(Order).unwrap());
        front.send(Order).unwrap();
        sim.advance(Duration::from_secs(10));
    })
}

#[test]
fn v55_a_request_through_processes_a_call_and_a_pool_is_one_trace_with_right_parents() {
    for sim in simulations(20) {
        let spans = one_order(&sim);
        let names: Vec<_> = spans.iter().map(MessageSpan::name).collect();
        let expected = [
            "process Order",
            "process Job",
            "call Ask",
            "process Ask",
            "process Bill",
            "process Bill",
            "process Bill",
        ];
        assert_eq!(names, expected);
        let [order, job, call, ask, bill, piped, started] = &spans[..] else { panic!() };
        assert!(spans.iter().all(|span| span.trace() == &HEADER[3..35] && span.ended));
        assert_eq!(order.parent(), &HEADER[36..52]);
        assert_eq!(job.parent(), order.own());
        assert_eq!(call.parent(), job.own());
        assert_eq!(ask.parent(), call.own());
        assert_eq!(bill.parent(), job.own(), "not below the call that was made before");
        assert_eq!(piped.parent(), bill.own());
        assert_eq!(started.parent(), piped.own());
        assert_eq!((order.logged, job.logged), (2, 0), "logs have the span, also after a wait");
        let kinds: Vec<_> = spans.iter().map(|span| span.at("otel.kind")).collect();
        assert_eq!(kinds[..5], ["consumer", "consumer", "client", "server", "consumer"]);
        assert_eq!(order.at("messaging.destination.name"), "front");
        assert_eq!((order.at("krarup.lane"), bill.at("krarup.lane")), ("main", "system"));
        assert_eq!(
            (order.at("krarup.hops"), job.at("krarup.hops"), ask.at("krarup.hops")),
            ("1", "2", "3")
        );
        assert!(spans.iter().all(|span| span.at("error.type").is_empty()));
        assert_eq!(spans.iter().filter(|span| span.own() == order.own()).count(), 1);
    }
}

#[test]
fn v55_the_same_seed_gives_the_same_ids() {
    let ids = |seed| -> Vec<_> {
        let spans = one_order(&Simulation::new(seed));
        spans.iter().map(|span| span.at("krarup.traceparent").to_owned()).collect()
    };
    assert_eq!(ids(3), ids(3));
    assert_ne!(ids(3), ids(4));
}

#[test]
fn v55_a_call_that_is_waited_for_belongs_to_the_trace_that_was_entered() {
    for sim in simulations(20) {
        let stock = sim.spawn(|| Stock).wait().unwrap();
        let context = TraceContext::parse(HEADER).unwrap();
        let spans = message_spans(|| {
            context.enter(|| {
                assert_eq!(stock.call(Ask).wait(), Ok(7));
                assert_eq!(TraceContext::current(), Some(context), "it is there after the wait");
                assert_eq!(stock.call(Ask).wait(), Ok(7));
            });
            assert_eq!(TraceContext::current(), None);
            assert_eq!(stock.call(Ask).wait(), Ok(7));
        });
        let names: Vec<_> = spans.iter().map(MessageSpan::name).collect();
        assert_eq!(names, ["call Ask", "process Ask", "call Ask", "process Ask"]);
        assert_eq!(spans[1].parent(), spans[0].own());
    }
}

#[test]
fn v55_a_context_that_is_not_sampled_is_not_carried() {
    let sim = Simulation::new(1);
    let stock = sim.spawn(|| Stock).wait().unwrap();
    let unsampled = TraceContext::parse(&HEADER.replace("-01", "-00")).unwrap();
    let spans = message_spans(|| assert_eq!(unsampled.enter(|| stock.call(Ask).wait()), Ok(7)));
    assert!(spans.is_empty(), "{spans:?}");
}

#[test]
fn v55_a_sampler_begins_traces_at_messages_without_one() {
    let sim = Simulation::new(1);
    assert!(sim.propagation(Propagation::new().sampler(TraceSampler::per_second(3))));
    let front = shop(&sim);
    let spans = message_spans(|| {
        for _ in 0..10 {
            front.send(Order).unwrap();
        }
        sim.advance(Duration::from_secs(10));
    });
    let roots = spans.iter().filter(|span| span.at("krarup.parent").is_empty());
    let roots: Vec<_> = roots.map(MessageSpan::name).collect();
    assert_eq!(roots, ["process Order", "process Order", "process Order"]);
    assert_eq!(spans.len(), 3 * 7);
}

#[test]
fn v55_a_sampler_may_begin_the_greatest_number_of_traces() {
    let sim = Simulation::new(1);
    assert!(sim.propagation(Propagation::new().sampler(TraceSampler::per_second(u32::MAX))));
    let front = shop(&sim);
    let spans = message_spans(|| {
        for _ in 0..3 {
            front.send(Order).unwrap();
        }
        sim.advance(Duration::from_secs(10));
    });
    assert_eq!(spans.len(), 3 * 7);
}

/// Sends itself one message after the other, by itself or by a timer.
struct Loner {
    left: u32,
    timer: bool,
}

impl Actor for Loner {
    type Message = ();
    async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
        if self.left > 0 {
            self.left -= 1;
            if self.timer {
                ctx.send_after(Duration::from_millis(1), ());
            } else {
                ctx.address().notify(());
            }
        }
        Ok(())
    }
}

#[test]
fn v56_messages_of_a_process_to_itself_begin_new_traces_that_are_linked() {
    for timer in [false, true] {
        let sim = Simulation::new(1);
        let loner = sim.spawn(move || Loner { left: 200, timer }).wait().unwrap();
        let spans = message_spans(|| {
            TraceContext::parse(HEADER).unwrap().enter(|| loner.send(()).unwrap());
            sim.advance(Duration::from_secs(10));
        });
        assert_eq!(spans.len(), 201);
        for (earlier, later) in spans.iter().zip(&spans[1..]) {
            assert_ne!(earlier.trace(), later.trace());
            assert_eq!(later.at("krarup.link"), earlier.at("krarup.traceparent"));
            assert!(later.at("krarup.parent").is_empty());
        }
    }
}

/// Two of them pass a number to each other until it is 0.
struct Player(Option<Address<Ball>>);

enum Ball {
    Other(Address<Ball>),
    Left(u32),
}

impl Actor for Player {
    type Message = Ball;
    async fn handle_message(&mut self, _: &mut Context<Ball>, ball: Ball) -> Result {
        match ball {
            Ball::Other(other) => self.0 = Some(other),
            Ball::Left(0) => {}
            Ball::Left(left) => self.0.as_ref().unwrap().notify(Ball::Left(left - 1)),
        }
        Ok(())
    }
}

#[test]
fn v56_after_64_hops_a_new_trace_begins_that_is_linked() {
    let sim = Simulation::new(1);
    let (one, two) =
        (sim.spawn(|| Player(None)).wait().unwrap(), sim.spawn(|| Player(None)).wait().unwrap());
    one.send(Ball::Other(two.clone())).unwrap();
    two.send(Ball::Other(one.clone())).unwrap();
    let spans = message_spans(|| {
        TraceContext::parse(HEADER).unwrap().enter(|| one.send(Ball::Left(199)).unwrap());
        sim.advance(Duration::from_secs(10));
    });
    assert_eq!(spans.len(), 200);
    let begins: Vec<_> =
        (1..200).filter(|at| spans[*at].trace() != spans[at - 1].trace()).collect();
    assert_eq!(begins, [64, 129, 194]);
    for at in begins {
        assert_eq!(spans[at].at("krarup.link"), spans[at - 1].at("krarup.traceparent"));
    }
}

/// Sends a message to each of many.
struct Crier(Vec<Address<u32>>);

impl Actor for Crier {
    type Message = ();
    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        self.0.iter().for_each(|hearer| hearer.notify(1));
        Ok(())
    }
}

struct Hearer;

impl Actor for Hearer {
    type Message = u32;
    async fn handle_message(&mut self, _: &mut Context<u32>, _: u32) -> Result {
        Ok(())
    }
}

#[test]
fn v56_a_broadcast_makes_at_most_64_spans_and_says_how_many_it_left_out() {
    let sim = Simulation::new(1);
    let hearers: Vec<_> = (0..10_000).map(|_| sim.spawn(|| Hearer).wait().unwrap()).collect();
    let crier = sim.spawn(move || Crier(hearers)).wait().unwrap();
    let spans = message_spans(|| {
        TraceContext::parse(HEADER).unwrap().enter(|| crier.send(()).unwrap());
        sim.advance(Duration::from_secs(10));
    });
    assert_eq!(spans.len(), 1 + 64);
    assert_eq!(spans[0].at("krarup.sends_left_out"), "9936");
    assert!(spans.iter().all(|span| span.ended));
}
