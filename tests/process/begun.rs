//! Whether a call that failed with its callee may have been begun: rule C2.

use crate::support::{boom, poll_once, simulations};
use krarup::behavior::{BehaviorContext, Received, behavior_fn};
use krarup::grains::{GrainCalls, Grains};
use krarup::prelude::*;
use krarup::state::{Scope, StateActor, Stateful};
use krarup::supervisor::InPlace;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

enum Job {
    /// Answers.
    Add(u32, Reply<u32>),
    /// Keeps the token in the state.
    Keep(Reply<u32>),
    /// Sets itself aside.
    Aside(Reply<u32>),
    /// Waits, with the token in hand.
    Wait(Reply<u32>),
    /// Fails, with the token in hand.
    Fail(Reply<u32>),
}

/// Counts what it has begun.
#[derive(Clone, Default)]
struct Worker {
    begun: Arc<AtomicU32>,
}

struct Serving(Worker, Vec<Reply<u32>>);

impl Actor for Serving {
    type Message = Job;

    async fn handle_message(&mut self, ctx: &mut Context<Job>, job: Job) -> Result {
        self.0.begun.fetch_add(1, Ordering::Relaxed);
        match job {
            Job::Add(number, reply) => reply.send(number + 1),
            Job::Keep(reply) => self.1.push(reply),
            Job::Aside(reply) => ctx.stash(Job::Aside(reply))?,
            Job::Wait(reply) => {
                ctx.sleep(HOUR).await;
                reply.send(0);
            }
            Job::Fail(_reply) => return Err(boom()),
        }
        Ok(())
    }
}

impl Worker {
    fn serve(&self) -> Serving {
        Serving(self.clone(), Vec::new())
    }

    fn begun(&self) -> u32 {
        self.begun.swap(0, Ordering::Relaxed)
    }
}

/// Makes these calls, one after the other, and says what came of them.
macro_rules! calls {
    ($sim:expr, $($call:expr),+ $(,)?) => {{
        let mut calls = [$(Box::pin(IntoFuture::into_future($call.no_timeout()))),+];
        for call in &mut calls {
            assert!(poll_once(call).is_pending());
        }
        $sim.run_until_idle();
        calls.each_mut().map(|call| match poll_once(call) {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => panic!("a call waits"),
        })
    }};
}

fn terminated(to: Pid) -> Result<u32, CallError> {
    Err(CallError::Terminated { to, reason: boom() })
}

fn not_begun(to: Pid) -> Result<u32, CallError> {
    Err(CallError::NotBegun { to, reason: boom() })
}

type Add = fn(Reply<u32>) -> Job;

#[test]
fn c2_a_request_that_no_handler_has_seen_was_not_begun() {
    for sim in simulations(3) {
        let worker = Worker::default();
        let serving = worker.clone();
        let actor = sim.spawn(move || serving.serve()).wait().unwrap();
        let (add, keep, aside): (Add, Add, Add) = (|r| Job::Add(1, r), Job::Keep, Job::Aside);
        let fail: Add = Job::Fail;
        let outcomes = calls!(
            sim,
            actor.call(keep),
            actor.call(aside),
            actor.call(fail),
            actor.call(add),
            actor.call(add),
        );
        // What was kept, or set aside, has been seen.
        let expected = [
            terminated(actor.pid()),
            terminated(actor.pid()),
            terminated(actor.pid()),
            not_begun(actor.pid()),
            not_begun(actor.pid()),
        ];
        assert_eq!((outcomes, worker.begun()), (expected, 3));
    }
}

#[test]
fn c2_a_request_queued_at_a_kill_was_not_begun_on_any_lane() {
    for sim in simulations(3) {
        let worker = Worker::default();
        let serving = worker.clone();
        let actor = sim.spawn(move || serving.serve()).wait().unwrap();
        let (add, wait): (Add, Add) = (|r| Job::Add(1, r), Job::Wait);
        let mut in_hand = actor.call(wait).no_timeout().into_future();
        assert!(poll_once(&mut in_hand).is_pending());
        sim.run_until_idle();
        let mut high = actor.call_high(add).no_timeout().into_future();
        let mut max = actor.call_max(add).no_timeout().into_future();
        let mut main = actor.call(add).no_timeout().into_future();
        assert!(poll_once(&mut high).is_pending() && poll_once(&mut max).is_pending());
        assert!(poll_once(&mut main).is_pending());
        sim.kill(actor.pid());
        sim.run_until_idle();
        let not_begun =
            Poll::Ready(Err(CallError::NotBegun { to: actor.pid(), reason: Reason::Killed }));
        assert_eq!(poll_once(&mut high), not_begun);
        assert_eq!(poll_once(&mut max), not_begun);
        assert_eq!(poll_once(&mut main), not_begun);
        let terminated =
            Poll::Ready(Err(CallError::Terminated { to: actor.pid(), reason: Reason::Killed }));
        assert_eq!((poll_once(&mut in_hand), worker.begun()), (terminated, 1));
    }
}

#[test]
fn c2_jobs_behind_a_job_that_ends_its_worker_fail_as_not_begun() {
    for sim in simulations(3) {
        let worker = Worker::default();
        let serving = worker.clone();
        let pool = Pool::new(1, move || serving.serve()).measured();
        let pool = sim.spawn(move || pool).wait().unwrap();
        let (add, fail): (Add, Add) = (|r| Job::Add(1, r), Job::Fail);
        let to = pool.workers().wait().unwrap()[0];
        let outcomes = calls!(sim, pool.call(fail), pool.call(add), pool.call(add));
        assert_eq!(outcomes, [terminated(to), not_begun(to), not_begun(to)]);
        assert_eq!(worker.begun(), 1);
        // The worker has been replaced: none of these is done twice.
        for outcome in outcomes {
            let error = outcome.unwrap_err();
            assert_eq!(error.end(), Some(&boom()));
            if !error.was_begun() {
                assert_eq!(pool.call(add).wait(), Ok(2));
            }
        }
        assert_eq!(worker.begun(), 2);
    }
}

#[test]
fn c2_a_request_that_waits_at_an_ending_grain_was_not_begun() {
    for sim in simulations(3) {
        let worker = Worker::default();
        let serving = worker.clone();
        let grains = sim.spawn(move || Grains::new(move |_: &u32| serving.serve()));
        let grains = grains.wait().unwrap();
        let (add, fail): (Add, Add) = (|r| Job::Add(1, r), Job::Fail);
        let outcomes =
            calls!(sim, grains.call_to(1, fail), grains.call_to(1, add), grains.call_to(1, add));
        // The error names the grain, not its keeper.
        let Err(CallError::Terminated { to, .. }) = outcomes[0] else { panic!("{outcomes:?}") };
        assert_ne!(to, grains.pid());
        assert_eq!(outcomes, [terminated(to), not_begun(to), not_begun(to)]);
        assert_eq!(worker.begun(), 1);
    }
}

#[test]
fn c2_a_state_replaced_in_place_had_begun_only_the_request_at_which_it_failed() {
    for sim in simulations(3) {
        let worker = Worker::default();
        let serving = worker.clone();
        let actor = sim.spawn(move || InPlace::new(move || serving.serve())).wait().unwrap();
        let (add, keep, fail): (Add, Add, Add) = (|r| Job::Add(1, r), Job::Keep, Job::Fail);
        let outcomes = calls!(sim, actor.call(keep), actor.call(fail), actor.call(add));
        assert_eq!(outcomes, [terminated(actor.pid()), terminated(actor.pid()), Ok(2)]);
    }
}

/// A state actor whose asks wait, or fail.
struct Desk;

impl StateActor for Desk {
    type Notice = ();
    type Ask = Job;
    type Reply = ();
    type Event = ();

    async fn handle_notice(_: &mut Scope<Self>, (): ()) -> Result {
        Ok(())
    }

    async fn handle_ask(scope: &mut Scope<Self>, ask: Job) -> Result {
        match ask {
            Job::Fail(_reply) => Err(boom()),
            Job::Wait(reply) => {
                scope.sleep(HOUR).await;
                reply.send(0);
                Ok(())
            }
            Job::Add(_, reply) | Job::Keep(reply) | Job::Aside(reply) => {
                reply.send(1);
                Ok(())
            }
        }
    }
}

#[test]
fn c2_asks_that_wait_at_a_state_actor_were_not_begun() {
    for sim in simulations(3) {
        let desk = sim.spawn(|| Stateful::new(Desk)).wait().unwrap();
        let (add, wait, fail): (Add, Add, Add) = (|r| Job::Add(1, r), Job::Wait, Job::Fail);
        let ask = |job: Add| move |reply| krarup::state::StateMessage::Ask(job(reply));
        let outcomes = calls!(sim, desk.call(ask(wait)), desk.call(ask(fail)), desk.call(ask(add)));
        assert_eq!(
            outcomes,
            [terminated(desk.pid()), terminated(desk.pid()), not_begun(desk.pid())]
        );
    }
}

#[test]
fn c2_a_request_that_a_behavior_gives_up_as_it_came_was_not_begun() {
    for sim in simulations(5) {
        let gives_up = behavior_fn(|mut ctx: Context<Reply<u32>>| async move {
            let delegate = ctx.delegate();
            let mut requests = Vec::new();
            while requests.len() < 2
                && let Received::Message(request) = ctx.receive().await
            {
                requests.push(request);
            }
            delegate.dead_letter(requests.remove(0), 0);
            drop(requests);
            Err(boom())
        });
        let process = sim.spawn(|| gives_up).start().unwrap();
        let mut calls = [(); 2].map(|()| process.call(|reply| reply).into_future());
        calls.iter_mut().for_each(|call| assert!(poll_once(call).is_pending()));
        sim.run_until_idle();
        let [lost, dropped] = &mut calls;
        assert_eq!(
            poll_once(lost),
            Poll::Ready(Err(CallError::NotBegun { to: process.pid(), reason: boom() }))
        );
        assert_eq!(
            poll_once(dropped),
            Poll::Ready(Err(CallError::Terminated { to: process.pid(), reason: boom() }))
        );
        assert_eq!(sim.stats().dead_letters, 1);
    }
}
