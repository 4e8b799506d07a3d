//! The least and the greatest of each number and each time that can be given to state actors, step
//! processes and grains (rule B1): a typed error, or what the documentation says; never a panic, then
//! or later.

use crate::state_support::{Doer, SECOND, asks, job};
use crate::support::{Act, Log, Puppet, boom};
use krarup::grains::{GrainCalls, Grains, GrainsError};
use krarup::pool::Pool;
use krarup::prelude::*;
use krarup::state::{Scope, StateActor, StateCalls, Stateful, StatefulError};
use krarup::supervisor::InPlaceError;
use std::num::NonZeroUsize;
use std::time::Duration;

/// An actor whose batches are of this size.
struct Batches(NonZeroUsize, Log);

impl StateActor for Batches {
    type Notice = u32;
    type Ask = Reply<u32>;
    type Reply = ();
    type Event = ();

    async fn handle_notice(scope: &mut Scope<Self>, notice: u32) -> Result {
        scope.with(|actor| actor.1.note(format!("one {notice}")));
        Ok(())
    }

    async fn handle_notices(scope: &mut Scope<Self>, notices: Vec<u32>) -> Result {
        scope.with(|actor| actor.1.note(format!("{}", notices.len())));
        Ok(())
    }

    async fn handle_ask(_: &mut Scope<Self>, ask: Reply<u32>) -> Result {
        ask.send(1);
        Ok(())
    }

    fn batches_notice(&self, _: &u32) -> bool {
        true
    }

    fn most_in_batch(&self) -> NonZeroUsize {
        self.0
    }
}

/// The reason for which a process did not start.
fn reason<T: std::fmt::Debug>(outcome: Result<T, SpawnError>) -> Reason {
    match outcome {
        Err(SpawnError::Init(reason)) => reason,
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn b1_invalid_grain_settings_are_typed_errors_and_the_greatest_values_are_valid() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let keeper = |mailbox: usize, idle: Duration| {
        let log = log.clone();
        sim.spawn(move || {
            Grains::new(move |key: &u32| Puppet::new(&key.to_string(), &log))
                .mailbox(mailbox)
                .idle(idle)
        })
        .wait()
    };
    for idle in [Duration::ZERO, SECOND, Duration::MAX] {
        let refused = reason(keeper(0, idle));
        assert_eq!(refused.downcast_ref(), Some(&GrainsError::ZeroMailbox));
        assert_eq!(sim.stats().processes, 0, "nothing is left");
        for mailbox in [1, usize::MAX] {
            let grains = keeper(mailbox, idle).unwrap();
            grains.send_to(1, Act::nothing()).unwrap();
            grains.send_or_wait_to(2, Act::nothing()).timeout(Duration::MAX).wait().unwrap();
            sim.run_until_idle();
            sim.advance(2 * SECOND);
            // The shortest idle time is a millisecond; the longest never ends.
            let there = if idle == Duration::MAX { 2 } else { 0 };
            assert_eq!(grains.inspect().wait().unwrap().number("present"), Some(there));
            // One that is busy: no time at all for room.
            let sends = grains.send_or_wait_to(1, Act::nothing()).timeout(Duration::ZERO).wait();
            assert!(matches!(sends, Ok(()) | Err(SendError::Timeout { .. })));
            grains.stop().wait().unwrap();
        }
    }
    // A bound of the keeper, which holds no messages of grains.
    let noted = log.clone();
    let bounded = sim.spawn(move || Grains::new(move |_: &u32| Puppet::new("grain", &noted)));
    let refused = reason(bounded.mailbox(2).wait());
    assert_eq!(refused.downcast_ref(), Some(&GrainsError::MailboxOfGrains(2)));
    let pools = sim.spawn(|| {
        let log = Log::new();
        Grains::new(move |_: &u32| {
            let log = log.clone();
            Pool::new(2, move || Puppet::new("worker", &log))
        })
    });
    let refused = reason(pools.wait());
    assert_eq!(refused.downcast_ref(), Some(&GrainsError::Routes("Pool")));
    let nested = sim.spawn(|| {
        Grains::new(|_: &u32| {
            let log = Log::new();
            Grains::new(move |_: &u32| Puppet::new("grain", &log))
        })
    });
    let refused = reason(nested.wait()).to_string();
    assert!(refused.contains("cannot be a grain"), "{refused}");
}

#[test]
fn b1_the_numbers_of_a_state_actor_are_typed_errors_or_have_a_meaning() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let spawned = |make: fn(Stateful<Doer>) -> Stateful<Doer>| {
        let state = Doer::restarting(&log, Ok(()));
        sim.spawn(move || make(Stateful::new(state))).wait()
    };
    let refused = reason(spawned(|doer| doer.most_in_flight(0)));
    assert_eq!(refused.downcast_ref(), Some(&StatefulError::ZeroInFlight));
    let refused = reason(spawned(|doer| doer.restarts(1, Duration::ZERO)));
    assert_eq!(refused.downcast_ref(), Some(&InPlaceError::ZeroPeriod));
    // No restart at all, and any number of them at any time.
    let once = spawned(|doer| doer.restarts(0, Duration::MAX)).unwrap();
    let often = spawned(|doer| doer.restarts(u32::MAX, Duration::MAX).most_in_flight(usize::MAX));
    let often = often.unwrap();
    for _ in 0..20 {
        let _ = once.event(job("fails").failing(boom()));
        often.event(job("fails").failing(boom())).unwrap();
        sim.advance(SECOND);
    }
    assert!(!once.is_alive() && often.is_alive());
    asks(&sim, &log, &often, job("still"));
    sim.run_until_idle();
    assert_eq!(log.count("still answered"), 1);
    for (most, batches) in [(1, "1"), (2, "2"), (usize::MAX, "4")] {
        let log = Log::new();
        let noted = log.clone();
        let actor = sim
            .spawn(move || {
                let most = NonZeroUsize::new(most).unwrap();
                Stateful::new(Batches(most, noted))
            })
            .wait()
            .unwrap();
        (0..4).for_each(|n| actor.notice(n).unwrap());
        sim.run_until_idle();
        let lines = log.take();
        assert!(lines.iter().all(|line| line == batches), "{lines:?}");
    }
}

#[test]
fn b1_zero_and_endless_times_have_a_meaning_in_a_handler() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let doer = crate::state_support::doer(&sim, &log);
    let silent = sim
        .spawn(|| {
            krarup::behavior::behavior_fn(|mut ctx: Context<Reply<u32>>| async move {
                let mut kept = Vec::new();
                loop {
                    if let krarup::behavior::Received::Message(reply) = ctx.receive().await {
                        kept.push(reply);
                    }
                }
            })
        })
        .wait()
        .unwrap();
    let (other, third) = (silent.clone(), silent.clone());
    let times = job("times").doing(move |scope| {
        Box::pin(async move {
            let none = scope.call(&other, |reply| reply).timeout(Duration::ZERO).await;
            scope.with(|doer| doer.log.note(format!("none {}", none.is_err())));
            scope
                .ask_then(&other, |reply| reply, |n: u32| n.to_string())
                .timeout(Duration::ZERO)
                .start();
            scope
                .ask_then(&other, |reply| reply, |n: u32| n.to_string())
                .timeout(Duration::MAX)
                .start();
            scope.after(Duration::ZERO, job("at once"));
            let never = scope.after(Duration::MAX, job("never"));
            scope.sleep(Duration::ZERO).await;
            scope.with(|doer| doer.log.note("slept"));
            assert!(scope.cancel(never));
            let for_ever = scope.call(&third, |reply| reply).timeout(Duration::MAX).start();
            let _ = for_ever.await;
            Ok(())
        })
    });
    doer.notice(times).unwrap();
    doer.notice(job("sleeps").doing(|scope| {
        Box::pin(async move {
            scope.sleep(Duration::MAX).await;
            Ok(())
        })
    }))
    .unwrap();
    sim.advance(1000 * SECOND);
    assert_eq!((log.count("none true"), log.count("slept"), log.count("event at once")), (1, 1, 1));
    assert_eq!((log.count("exception"), log.count("never"), log.count("sleeps done")), (1, 0, 0));
    assert_eq!(doer.inspect().wait().unwrap().number("in_flight"), Some(2));
    sim.kill(silent.pid());
    sim.advance(SECOND);
    assert_eq!((log.count("times done"), log.count("exception")), (1, 2));
}
