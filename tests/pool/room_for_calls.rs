//! Room that is reserved before the request is known, at a process and at a pool (rule H8).

use crate::support::{boom, poll_once, simulations};
use krarup::Timestamp;
use krarup::behavior::{Behavior, BehaviorContext, Route};
use krarup::mailbox::Permit;
use krarup::pool::{ByKey, Rate};
use krarup::prelude::*;
use std::convert::Infallible;
use std::task::Poll;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

enum Ask {
    Double(u32, Reply<u32>),
    Deadline(Reply<Option<Timestamp>>),
    Keep(Reply<u32>),
    Fail(Reply<u32>),
}

#[derive(Default)]
struct Worker(Vec<Reply<u32>>);

impl Actor for Worker {
    type Message = Ask;

    async fn handle_message(&mut self, _: &mut Context<Ask>, ask: Ask) -> Result {
        match ask {
            Ask::Double(number, reply) => reply.send(2 * number),
            Ask::Deadline(reply) => {
                let deadline = reply.deadline();
                reply.send(deadline);
            }
            Ask::Keep(reply) => self.0.push(reply),
            Ask::Fail(_reply) => return Err(boom()),
        }
        Ok(())
    }
}

fn pool(sim: &Simulation, workers: usize) -> Address<Ask, PoolCommand> {
    sim.spawn(move || Pool::new(workers, Worker::default).mailbox(1)).wait().unwrap()
}

#[test]
fn h8_room_at_a_pool_is_waited_for_in_line() {
    for sim in simulations(20) {
        let pool = pool(&sim, 2);
        let mut lines: Vec<_> = (0..5).map(|_| pool.reserve_or_wait().into_future()).collect();
        let mut rooms: Vec<Permit<Ask>> = Vec::new();
        for (number, line) in lines.iter_mut().enumerate() {
            match poll_once(line) {
                Poll::Ready(room) => rooms.push(room.unwrap()),
                Poll::Pending => assert!(number >= 2, "there is room for two"),
            }
        }
        assert_eq!(rooms.len(), 2);
        // Nobody was refused: they wait.
        assert_eq!(sim.stats().refusals.values().sum::<u64>(), 0);
        for line in &mut lines[2..] {
            assert!(poll_once(line).is_pending());
            let room = rooms.remove(0);
            let called = pool.clone();
            let call = called.call_into(room, |reply| Ask::Double(1, reply)).into_future();
            assert_eq!(sim.task(call).wait().unwrap(), Ok(2));
            sim.run_until_idle();
            let Poll::Ready(room) = poll_once(line) else { panic!("the first in line has it") };
            rooms.push(room.unwrap());
        }
    }
}

#[test]
fn h8_room_that_depends_on_the_request_is_not_waited_for() {
    let sim = Simulation::new(1);
    let keyed = || {
        let by_kind = ByKey::new(|ask: &Ask| matches!(ask, Ask::Keep(_)));
        Pool::new(2, Worker::default).mailbox(1).routing(by_kind)
    };
    let keyed = sim.spawn(keyed).wait().unwrap();
    // Room for any message is room at each worker.
    let Poll::Ready(Ok(room)) = poll_once(&mut keyed.reserve_or_wait().into_future()) else {
        panic!("they are empty")
    };
    let refused = poll_once(&mut keyed.reserve_or_wait().into_future());
    assert!(matches!(refused, Poll::Ready(Err(SendError::Full { .. }))), "{refused:?}");
    drop(room);
}

#[test]
fn h8_room_is_given_at_the_rate_of_the_pool() {
    let sim = Simulation::new(1);
    let pool = || Pool::new(1, Worker::default).mailbox(9).rate(Rate::per_second(1.0));
    let pool = sim.spawn(pool).wait().unwrap();
    let start = sim.now();
    for second in 0..4 {
        let called = pool.clone();
        let answer = sim.task(async move {
            let room = called.reserve_or_wait().await?;
            Ok::<_, Reason>(called.call_into(room, |reply| Ask::Double(4, reply)).await?)
        });
        assert_eq!(answer.wait().unwrap().unwrap(), 8);
        assert_eq!(sim.now().since(start), SECOND * second);
    }
}

#[test]
fn h8_a_call_into_room_is_answered_or_fails_as_any_call() {
    for sim in simulations(20) {
        let pool = pool(&sim, 1);
        let alone = sim.spawn(Worker::default).mailbox(1).start().unwrap();
        let double = |room| alone.call_into(room, |reply| Ask::Double(4, reply));
        assert_eq!(double(alone.reserve().unwrap()).wait(), Ok(8));
        let room = pool.reserve().unwrap();
        assert_eq!(pool.call_into(room, |reply| Ask::Double(5, reply)).wait(), Ok(10));
        // The token knows until when its caller waits.
        let told = alone.call_into(alone.reserve().unwrap(), Ask::Deadline).timeout(SECOND).wait();
        assert_eq!(told, Ok(Some(sim.now() + SECOND)));
        let told = alone.call_into(alone.reserve().unwrap(), Ask::Deadline).no_timeout().wait();
        assert_eq!(told, Ok(None));
        // A call that is dropped has sent nothing, and gives the room back.
        let room = alone.reserve().unwrap();
        assert!(alone.reserve().is_err());
        drop(double(room));
        let timed = alone.call_into(alone.reserve().unwrap(), Ask::Keep).timeout(SECOND).wait();
        let limit = SECOND;
        assert_eq!(timed, Err(CallError::Timeout { to: alone.pid(), limit }));
        let room = pool.reserve().unwrap();
        let failed = pool.call_into(room, Ask::Fail).wait();
        assert!(matches!(failed, Err(CallError::Terminated { .. })), "{failed:?}");
        // The process ends before the call is made.
        let room = alone.reserve().unwrap();
        sim.kill(alone.pid());
        sim.run_until_idle();
        let failed = double(room).wait().unwrap_err();
        assert!(!failed.was_begun(), "{failed:?}");
    }
}

/// A route of a user: all to one process.
struct ToOne(Address<Ask>);

impl Route<Ask> for ToOne {
    fn send(&self, ask: Ask, sender: u64) -> Result<(), SendError<Ask>> {
        self.0.forward(ask, sender)
    }

    fn reserve(&self) -> Result<Permit<Ask>, SendError<()>> {
        self.0.reserve()
    }

    fn waiting(&self) -> usize {
        self.0.waiting()
    }
}

struct Router(Address<Ask>);

impl Behavior for Router {
    type Message = Ask;
    type Command = Infallible;

    async fn run(self, mut ctx: Context<Ask, Infallible>) -> Result {
        ctx.route_main(ToOne(self.0));
        ctx.initialised();
        loop {
            ctx.receive().await;
        }
    }

    fn routes_main() -> bool {
        true
    }
}

#[test]
fn h8_room_of_another_process_is_given_back_and_no_call_is_made() {
    for sim in simulations(5) {
        let worker = || sim.spawn(Worker::default).mailbox(1).start().unwrap();
        let (one, other, pool) = (worker(), worker(), pool(&sim, 1));
        let (to, of) = (one.pid(), other.pid());
        let called = one.call_into(other.reserve().unwrap(), Ask::Keep).wait();
        assert_eq!(called, Err(CallError::PermitOfOther { to, of }));
        assert!(!called.unwrap_err().was_begun());
        let called = one.call_into(pool.reserve().unwrap(), Ask::Keep).wait();
        assert_eq!(called, Err(CallError::PermitOfOther { to, of: pool.pid() }));
        let called = pool.call_into(other.reserve().unwrap(), Ask::Keep).wait();
        assert_eq!(called, Err(CallError::PermitOfOther { to: pool.pid(), of }));
        // The room is there again, and no request has come.
        for room in [one.reserve(), other.reserve(), pool.reserve()] {
            drop(room.unwrap());
        }
        sim.run_until_idle();
        assert_eq!(sim.stats().dead_letters, 0);
        assert_eq!(sim.process_info(of).unwrap().handled, 0);
    }
}

#[test]
fn h8_room_that_was_reserved_on_another_way_to_a_process_is_room_of_it() {
    for sim in simulations(5) {
        let double = |reply| Ask::Double(4, reply);
        // By a name, by an alias, by a recipient.
        let worker = sim.spawn(Worker::default).name("worker").mailbox(1).start().unwrap();
        let named = sim.named_address::<Ask, Ask>("worker").unwrap();
        let (found, room) =
            sim.task(async move { named.reserve_or_wait().await }).wait().unwrap().unwrap();
        assert_eq!(found.call_into(room, double).wait(), Ok(8));
        let room = worker.recipient::<Ask>().reserve().unwrap();
        assert_eq!(worker.call_into(room, double).wait(), Ok(8));
        // At a process with a route.
        let worker_of = worker.clone();
        let router = sim.spawn(move || Router(worker_of)).wait().unwrap();
        assert_eq!(router.call_into(router.reserve().unwrap(), double).wait(), Ok(8));
        let room = router.reserve_or_wait().wait().unwrap();
        assert_eq!(router.call_into(room, double).wait(), Ok(8));
        let called = worker.call_into(router.reserve().unwrap(), double).wait();
        let (to, of) = (worker.pid(), router.pid());
        assert_eq!(called, Err(CallError::PermitOfOther { to, of }));
        // At a pool of pools, at once and in line.
        let inner = || Pool::new(1, Worker::default).mailbox(1);
        let outer = sim.spawn(move || Pool::new(1, inner)).wait().unwrap();
        let room = outer.reserve().unwrap();
        let mut waits = outer.reserve_or_wait().into_future();
        assert!(poll_once(&mut waits).is_pending());
        assert_eq!(outer.call_into(room, double).wait(), Ok(8));
        sim.run_until_idle();
        let Poll::Ready(Ok(room)) = poll_once(&mut waits) else { panic!("there is room") };
        assert_eq!(outer.call_into(room, double).wait(), Ok(8));
    }
}

#[test]
fn h8_a_process_does_not_call_into_room_of_its_own() {
    let sim = Simulation::new(1);
    let calls = krarup::behavior::behavior_fn(|ctx: Context<Ask>| async move {
        let myself = ctx.address();
        let room = myself.reserve().unwrap();
        let called = myself.call_into(room, Ask::Keep).await;
        assert_eq!(called, Err(CallError::CallsItself(ctx.pid())));
        Ok(())
    });
    let end = sim.spawn(move || calls).mailbox(1).start().unwrap().watch();
    assert_eq!(end.wait().unwrap().reason, Reason::Normal);
}
