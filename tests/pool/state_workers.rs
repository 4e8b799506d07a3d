//! Pools whose workers hold messages: state actors, which handle several at once, step processes,
//! and a behaviour of a user's own (rules P8, P11, P13).

use crate::pool_support::{millis, seconds};
use crate::support::{Log, poll_once, simulations};
use krarup::behavior::{Behavior, BehaviorContext, HeldMessage, Received};
use krarup::pool::{Elastic, LeastLoaded, Routing};
use krarup::prelude::*;
use krarup::state::{Scope, StateActor, StateMessage, Stateful};
use krarup::step::{Commands, StepEvent, StepOutput, StepProcess, Stepped};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// Notes the number of an ask when its time is over. An ask for [`BARRIER`] is a barrier.
struct Clerk(Log);

type Ask = (u32, Duration);
type Message = StateMessage<u32, Ask>;

const BARRIER: u32 = 0;
/// Notices from here on are batched.
const BATCHED: u32 = 100;

fn ask(number: u32, time: Duration) -> Message {
    StateMessage::Ask((number, time))
}

impl StateActor for Clerk {
    type Notice = u32;
    type Ask = Ask;
    type Reply = ();
    type Event = ();

    fn is_barrier(&self, (number, _): &Ask) -> bool {
        *number == BARRIER
    }

    fn batches_notice(&self, number: &u32) -> bool {
        *number >= BATCHED
    }

    async fn handle_notices(scope: &mut Scope<Self>, numbers: Vec<u32>) -> Result {
        scope.with(|clerk| numbers.iter().for_each(|number| clerk.0.note(number.to_string())));
        Ok(())
    }

    async fn handle_notice(scope: &mut Scope<Self>, number: u32) -> Result {
        scope.with(|clerk| clerk.0.note(number.to_string()));
        Ok(())
    }

    async fn handle_ask(scope: &mut Scope<Self>, (number, time): Ask) -> Result {
        scope.sleep(time).await;
        scope.with(|clerk| clerk.0.note(number.to_string()));
        Ok(())
    }
}

type ClerkPool = Address<Message, PoolCommand>;

fn clerks<R: Routing<Message>>(
    sim: &Simulation,
    log: &Log,
    size: usize,
    with: impl FnOnce(Pool<Stateful<Clerk>>) -> Pool<Stateful<Clerk>, R> + Send + 'static,
) -> ClerkPool {
    let log = log.clone();
    sim.spawn(move || with(Pool::new(size, move || Stateful::new(Clerk(log.clone())))))
        .wait()
        .unwrap()
}

#[test]
fn p11_a_drain_waits_for_all_handlers_of_workers_that_are_state_actors() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = clerks(&sim, &log, 1, |pool| pool);
        for (number, time) in [(1, 3), (2, 5), (3, 4)] {
            pool.send(ask(number, seconds(time))).unwrap();
        }
        sim.run_until_idle();
        let mut drained = pool.drain().into_future();
        assert!(poll_once(&mut drained).is_pending());
        sim.advance(millis(4_999));
        assert!(poll_once(&mut drained).is_pending());
        sim.advance(millis(1));
        assert_eq!(poll_once(&mut drained), Poll::Ready(Ok(())));
        assert_eq!(log.take(), ["1", "3", "2"]);
        // What is sent later has no part in it.
        assert!(pool.reopen().wait().unwrap());
        pool.send(ask(4, seconds(1))).unwrap();
        pool.send(ask(5, seconds(100))).unwrap();
        sim.run_until_idle();
        let mut second = pool.drain().into_future();
        assert!(poll_once(&mut second).is_pending());
        sim.run_until_idle();
        assert!(pool.reopen().wait().unwrap());
        pool.send(ask(6, seconds(1_000))).unwrap();
        sim.advance(seconds(100));
        assert_eq!(poll_once(&mut second), Poll::Ready(Ok(())));
        assert_eq!(log.take(), ["4", "5"]);
    }
}

#[test]
fn p11_nothing_that_waits_behind_a_barrier_of_a_worker_is_lost_by_a_drain_and_a_stop() {
    for bound in [None, Some(10)] {
        for sim in simulations(10) {
            let log = Log::new();
            let pool = clerks(&sim, &log, 1, move |pool| match bound {
                Some(bound) => pool.mailbox(bound),
                None => pool,
            });
            pool.send(ask(BARRIER, seconds(5))).unwrap();
            sim.run_until_idle();
            pool.send(StateMessage::Notice(1)).unwrap();
            pool.send(ask(2, seconds(1))).unwrap();
            let began = sim.now();
            pool.drain().wait().unwrap();
            assert_eq!((sim.now() - began, pool.waiting()), (seconds(6), 0));
            pool.stop().wait().unwrap();
            assert_eq!(log.take(), ["0", "1", "2"]);
        }
    }
}

#[test]
fn p5_a_removed_worker_that_is_a_state_actor_does_all_that_it_has_accepted() {
    for sim in simulations(10) {
        let log = Log::new();
        let pool = clerks(&sim, &log, 1, |pool| pool);
        pool.send(ask(BARRIER, seconds(5))).unwrap();
        sim.run_until_idle();
        pool.send(ask(1, seconds(2))).unwrap();
        pool.send(StateMessage::Notice(2)).unwrap();
        pool.remove_workers(1).wait().unwrap();
        pool.drain().wait().unwrap();
        assert_eq!(log.take(), ["0", "2", "1"]);
        assert_eq!(sim.now().as_nanos(), 7_000_000_000);
    }
}

#[test]
fn p8_the_handlers_in_flight_of_a_worker_are_its_load() {
    for sim in simulations(10) {
        for bound in [None, Some(100)] {
            let log = Log::new();
            let pool = clerks(&sim, &log, 2, move |pool| match bound {
                Some(bound) => pool.mailbox(bound).routing(LeastLoaded::new()),
                None => pool.routing(LeastLoaded::new()),
            });
            // One slow and one quick in turns: the turns alone would bring all slow ones to one worker.
            for number in 1..=10 {
                pool.send(ask(number, seconds(100))).unwrap();
                sim.run_until_idle();
                pool.send(StateMessage::Notice(99)).unwrap();
                sim.run_until_idle();
            }
            for worker in pool.workers().wait().unwrap() {
                let in_flight = sim.inspect(worker).wait().unwrap().number("in_flight");
                assert_eq!(in_flight, Some(5));
            }
        }
    }
}

#[test]
fn p13_an_elastic_pool_does_not_let_workers_with_handlers_in_flight_go() {
    for sim in simulations(5) {
        let log = Log::new();
        let pool = clerks(&sim, &log, 3, |pool| {
            pool.elastic(Elastic::between(1, 3).cool_down(Duration::ZERO))
        });
        // Two at the first, which is one busy worker.
        for number in 1..=4 {
            pool.send(ask(number, seconds(10))).unwrap();
        }
        sim.advance(seconds(9));
        assert_eq!(pool.workers().wait().unwrap().len(), 3);
        sim.advance(seconds(2));
        assert_eq!(pool.workers().wait().unwrap().len(), 1);
        let mut expected = log.take();
        expected.sort();
        assert_eq!(expected, ["1", "2", "3", "4"]);
    }
}

#[test]
fn p9_a_job_that_expires_inside_a_worker_is_discarded() {
    for (bound, batch) in [(None, false), (Some(10), false), (None, true)] {
        for sim in simulations(5) {
            let log = Log::new();
            let discarded = log.clone();
            let pool = clerks(&sim, &log, 1, move |pool| {
                let pool = pool.time_to_live(seconds(1)).measured().on_discard(move |job, why| {
                    let StateMessage::Notice(number) = job else { return };
                    discarded.note(format!("discarded {number}: {why}"));
                });
                match bound {
                    Some(bound) => pool.mailbox(bound),
                    None => pool,
                }
            });
            let first = if batch { BATCHED } else { 1 };
            pool.send(ask(BARRIER, seconds(2))).unwrap();
            sim.run_until_idle();
            pool.send(StateMessage::Notice(first)).unwrap();
            pool.send(StateMessage::Notice(first)).unwrap();
            sim.advance(millis(1_500));
            pool.send(StateMessage::Notice(first + 1)).unwrap();
            sim.advance(seconds(1));
            let late = format!("discarded {first}: waited 2s, longer than its time to live");
            assert_eq!(log.take(), ["0".to_owned(), late.clone(), late, (first + 1).to_string()]);
            let numbers = pool.statistics().wait().unwrap();
            assert_eq!((numbers.expired, numbers.lost, numbers.waiting), (2, 0, 0));
            pool.drain().wait().unwrap();
        }
    }
}

#[test]
fn p9_a_call_that_expires_inside_a_worker_fails_with_expired() {
    for sim in simulations(5) {
        let pool = sim
            .spawn(|| {
                Pool::new(1, || Stateful::new(Caller).most_in_flight(1)).time_to_live(seconds(1))
            })
            .wait()
            .unwrap();
        pool.send(StateMessage::Notice(seconds(2))).unwrap();
        sim.run_until_idle();
        let call = pool.call(StateMessage::Ask).wait();
        assert_eq!(
            call,
            Err(CallError::Expired { to: pool.workers().wait().unwrap()[0], waited: seconds(2) })
        );
        assert_eq!(pool.call(StateMessage::Ask).wait(), Ok(7));
    }
}

/// One at a time: sleeps, or answers 7.
struct Caller;

impl StateActor for Caller {
    type Notice = Duration;
    type Ask = Reply<u32>;
    type Reply = ();
    type Event = ();

    async fn handle_notice(scope: &mut Scope<Self>, time: Duration) -> Result {
        scope.sleep(time).await;
        Ok(())
    }

    async fn handle_ask(_: &mut Scope<Self>, reply: Reply<u32>) -> Result {
        reply.send(7);
        Ok(())
    }
}

#[test]
fn p9_jobs_inside_a_worker_that_is_killed_are_passed_out_as_lost() {
    for sim in simulations(5) {
        let log = Log::new();
        let discarded = log.clone();
        let pool = clerks(&sim, &log, 1, move |pool| {
            pool.on_discard(move |job, why| {
                let StateMessage::Notice(number) = job else { return };
                discarded.note(format!("discarded {number}: {why:?}"));
            })
        });
        pool.send(ask(BARRIER, seconds(10))).unwrap();
        sim.run_until_idle();
        (1..=3).for_each(|number| pool.send(StateMessage::Notice(number)).unwrap());
        sim.run_until_idle();
        let before = sim.stats().dead_letters;
        sim.kill(pool.workers().wait().unwrap()[0]);
        sim.run_until_idle();
        let lost = (1..=3).map(|number| format!("discarded {number}: WorkerEnded"));
        assert_eq!(log.take(), lost.collect::<Vec<_>>());
        let numbers = pool.statistics().wait().unwrap();
        assert_eq!((numbers.lost, numbers.crashed, numbers.expired), (3, 1, 0));
        assert_eq!(sim.stats().dead_letters - before, 3);
    }
}

#[test]
fn p6_the_latencies_of_a_state_actor_count_from_the_begin_of_each_handler() {
    for sim in simulations(5) {
        let log = Log::new();
        let pool = clerks(&sim, &log, 1, Pool::measured);
        pool.send(ask(1, seconds(10))).unwrap();
        sim.advance(seconds(1));
        pool.send(ask(BARRIER, seconds(2))).unwrap();
        sim.run_until_idle();
        pool.send(ask(2, seconds(4))).unwrap();
        sim.advance(seconds(100));
        let numbers = pool.statistics().wait().unwrap();
        let (wait, service) = (numbers.wait.unwrap(), numbers.service.unwrap());
        assert_eq!((wait.count, service.count), (3, 3));
        assert_eq!((wait.max, service.max), (seconds(2), seconds(10)));
    }
}

#[test]
fn p12_a_handler_that_never_ends_makes_its_worker_stuck_and_one_that_waits_does_not() {
    for sim in simulations(5) {
        let log = Log::new();
        let pool = clerks(&sim, &log, 1, |pool| pool.stuck_limit(seconds(3)));
        let first = pool.workers().wait().unwrap();
        // Five seconds inside the worker, of which the limit counts two.
        pool.send(ask(BARRIER, millis(2_500))).unwrap();
        sim.run_until_idle();
        pool.send(ask(BARRIER, millis(2_500))).unwrap();
        pool.send(StateMessage::Notice(1)).unwrap();
        sim.advance(seconds(6));
        assert_eq!((pool.workers().wait().unwrap(), log.take().len()), (first.clone(), 3));
        pool.send(ask(2, seconds(2))).unwrap();
        pool.send(ask(3, seconds(1_000))).unwrap();
        sim.advance(seconds(1));
        pool.send(ask(4, seconds(1))).unwrap();
        sim.advance(millis(1_999));
        assert_eq!(pool.workers().wait().unwrap(), first);
        sim.advance(millis(1));
        let numbers = pool.statistics().wait().unwrap();
        assert_eq!((numbers.stuck, numbers.restarts, numbers.crashed), (1, 1, 1));
        assert_ne!(pool.workers().wait().unwrap(), first);
        assert_eq!(log.take(), ["2", "4"]);
    }
}

/// Does each message by a command of two seconds, and takes no other meanwhile.
struct Steps(Log);

impl StepProcess for Steps {
    type Value = u64;
    type Message = u64;

    fn init(&mut self, _: &Context<u64>, _: &str, _: Vec<u64>) -> Result {
        Ok(())
    }

    fn step(
        &mut self,
        events: &mut VecDeque<StepEvent<u64, u64>>,
        out: &mut StepOutput<u64>,
    ) -> Result {
        for event in events.drain(..) {
            match event {
                StepEvent::Message { message, .. } => drop(out.dispatch("do", message)),
                StepEvent::Completed { outcome, .. } => self.0.note(outcome?.to_string()),
                StepEvent::Cancel(_) => out.done(0),
            }
        }
        Ok(())
    }
}

#[test]
fn p11_a_drain_waits_until_workers_that_are_step_processes_are_idle() {
    for bound in [None, Some(10)] {
        for sim in simulations(10) {
            let log = Log::new();
            let kept = log.clone();
            let commands = Arc::new(Commands::new().awaited("do", |ctx: &Context<u64>, number| {
                let sleep = ctx.sleep(seconds(2));
                async move {
                    sleep.await;
                    Ok(number)
                }
            }));
            let pool = sim
                .spawn(move || {
                    let worker = move || {
                        Stepped::new(Steps(kept.clone()), Arc::clone(&commands), "main", [])
                    };
                    match bound {
                        Some(bound) => Pool::new(1, worker).mailbox(bound),
                        None => Pool::new(1, worker),
                    }
                })
                .wait()
                .unwrap();
            pool.send(1).unwrap();
            sim.run_until_idle();
            pool.send(2).unwrap();
            sim.run_until_idle();
            pool.drain().wait().unwrap();
            assert_eq!(log.take(), ["1", "2"]);
            assert_eq!(sim.now().as_nanos(), 4_000_000_000);
        }
    }
}

#[test]
fn p9_a_message_that_expires_at_a_blocked_step_process_reaches_no_step() {
    for sim in simulations(5) {
        let log = Log::new();
        let (kept, discarded) = (log.clone(), log.clone());
        let commands = Arc::new(Commands::new().awaited("do", |ctx: &Context<u64>, number| {
            let sleep = ctx.sleep(seconds(2));
            async move {
                sleep.await;
                Ok(number)
            }
        }));
        let pool = sim
            .spawn(move || {
                let worker =
                    move || Stepped::new(Steps(kept.clone()), Arc::clone(&commands), "main", []);
                Pool::new(1, worker).time_to_live(seconds(1)).measured().on_discard(
                    move |number, why| discarded.note(format!("discarded {number}: {why:?}")),
                )
            })
            .wait()
            .unwrap();
        pool.send(1).unwrap();
        sim.run_until_idle();
        pool.send(2).unwrap();
        sim.advance(millis(1_500));
        pool.send(3).unwrap();
        pool.drain().wait().unwrap();
        assert_eq!(log.take(), ["discarded 2: Expired { waited: 2s }", "1", "3"]);
        let numbers = pool.statistics().wait().unwrap();
        assert_eq!((numbers.expired, numbers.wait.unwrap().max), (1, millis(500)));
    }
}

/// A behaviour of a user's own: it collects numbers, and does them when it has three.
struct Collector(Log);

impl Behavior for Collector {
    type Message = u32;
    type Command = u32;

    async fn run(self, mut ctx: Context<u32>) -> Result {
        ctx.hold_messages();
        let mut collected: Vec<(u32, HeldMessage)> = Vec::new();
        loop {
            let Received::Message(number) = ctx.receive().await else { return Ok(()) };
            collected.push((number, ctx.hold_message()));
            if collected.len() == 3 {
                for (number, held) in collected.drain(..) {
                    self.0.note(number.to_string());
                    held.done();
                }
            }
        }
    }
}

#[test]
fn p11_a_drain_waits_for_what_a_behavior_of_a_users_own_holds() {
    for sim in simulations(10) {
        let log = Log::new();
        let kept = log.clone();
        let pool = sim.spawn(move || Pool::new(1, move || Collector(kept.clone()))).wait().unwrap();
        let permit = pool.reserve().unwrap();
        pool.send(1).unwrap();
        pool.send(2).unwrap();
        sim.run_until_idle();
        let mut drained = pool.drain().into_future();
        assert!(poll_once(&mut drained).is_pending());
        sim.advance(seconds(1));
        assert!(poll_once(&mut drained).is_pending());
        permit.send(3);
        sim.run_until_idle();
        assert_eq!(poll_once(&mut drained), Poll::Ready(Ok(())));
        assert_eq!(log.take(), ["1", "2", "3"]);
    }
}
