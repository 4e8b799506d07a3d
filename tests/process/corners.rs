//! Corners that reviews of the first cut found: each was a hang, a loss or a surprise.

use crate::support::{Act, Log, Puppet, poll_once, simulations};
use krarup::behavior::behavior_fn;
use krarup::dispatcher::DispatcherOptions;
use krarup::pool::PoolError;
use krarup::prelude::*;
use krarup::{CannotWait, NodeError, StopError, Timestamp};
use std::fmt;
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

#[derive(Default)]
struct Echo;

enum Say {
    Back(Reply<u32>),
    StopYourself(Reply<StopError>),
    Fail,
}

impl Actor for Echo {
    type Message = Say;

    async fn handle_message(&mut self, ctx: &mut Context<Say>, message: Say) -> Result {
        match message {
            Say::Back(reply) => reply.send(1),
            Say::StopYourself(reply) => {
                if let Err(error) = ctx.address().stop().await {
                    reply.send(error);
                }
            }
            Say::Fail => return Err(Rude.into()),
        }
        Ok(())
    }
}

/// An error that panics when it is printed.
#[derive(Debug)]
struct Rude;

impl fmt::Display for Rude {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("rude")
    }
}

impl std::error::Error for Rude {}

#[test]
fn a_turn_handles_a_message_however_short_its_deadline_is() {
    let options = DispatcherOptions::new().throughput_deadline(Duration::ZERO);
    let refused = Node::builder("zero").options(options).start();
    assert!(matches!(refused, Err(NodeError::ZeroDeadline { .. })));
    let options = DispatcherOptions::new().throughput_deadline(Duration::from_nanos(1));
    let node = Node::builder("short").options(options).start().unwrap();
    let echo = node.spawn(Echo::default).wait().unwrap();
    assert_eq!(echo.call(Say::Back).wait(), Ok(1));
    node.stop().wait().unwrap();
}

#[test]
fn a_process_that_waits_for_its_own_end_gets_an_error() {
    let sim = Simulation::new(1);
    let echo = sim.spawn(Echo::default).wait().unwrap();
    let error = echo.call(Say::StopYourself).wait().unwrap();
    assert_eq!(error, StopError::StopsItself(echo.pid()));
}

#[test]
fn a_bare_process_has_started_when_it_calls_initialised_or_ends_normally() {
    let sim = Simulation::new(1);
    let sleeper = behavior_fn(|mut ctx: Context<()>| async move {
        ctx.initialised();
        ctx.sleep(Duration::from_secs(3600)).await;
        Ok(())
    });
    let sleeper = sim.spawn(move || sleeper).wait().unwrap();
    assert_eq!(sim.now(), krarup::Timestamp::ZERO);
    sleeper.stop().wait().unwrap();
    let quick = behavior_fn(|_: Context<()>| async { Ok(()) });
    sim.spawn(move || quick).wait().unwrap();
}

#[test]
fn a_stop_that_comes_before_the_first_turn_ends_a_bare_process_that_never_receives() {
    let sim = Simulation::new(1);
    let sleeper = behavior_fn(|ctx: Context<()>| async move {
        ctx.sleep(Duration::MAX).await;
        Ok(())
    });
    let sleeper = sim.spawn(move || sleeper).start().unwrap();
    sleeper.stop().wait().unwrap();
    assert!(!sleeper.is_alive());
}

#[test]
fn a_simulation_at_the_end_of_time_stalls_instead_of_spinning() {
    let sim = Simulation::new(1);
    let never = behavior_fn(|mut ctx: Context<()>| async move {
        ctx.initialised();
        ctx.sleep(Duration::MAX).await;
        ctx.sleep(Duration::MAX).await;
        Ok(())
    });
    let never = sim.spawn(move || never).wait().unwrap();
    assert!(never.watch().wait().is_err());
}

#[test]
fn a_simulation_at_the_end_of_time_still_answers_and_stops() {
    let sim = Simulation::new(1);
    let silent = behavior_fn(|_: Context<Reply<()>>| std::future::pending());
    let silent = sim.spawn(move || silent).start().unwrap();
    let echo = sim.spawn(Echo::default).wait().unwrap();
    sim.advance(Duration::MAX);
    assert_eq!(sim.now(), Timestamp::MAX);
    assert_eq!(echo.call(Say::Back).wait(), Ok(1));
    // No time is left for a timeout.
    assert_eq!(silent.call(|reply| reply).wait(), Err(CallError::CannotWait(CannotWait::Stalled)));
    assert_eq!(echo.call(Say::Back).wait(), Ok(1));
    sim.stop().wait().unwrap();
    assert_eq!((sim.stats().processes, sim.now()), (0, Timestamp::MAX));
}

#[test]
fn names_may_hold_a_nul_byte() {
    let io = DispatcherOptions::new().workers(1);
    let node = Node::builder("a\0b").dispatcher("i\0o", io).start().unwrap();
    let echo = node.spawn(Echo::default).dispatcher("i\0o").wait().unwrap();
    assert_eq!(echo.call(Say::Back).wait(), Ok(1));
    node.stop().wait().unwrap();
}

#[test]
fn a_bound_on_the_pool_itself_is_refused() {
    let sim = Simulation::new(1);
    let error = sim.spawn(|| Pool::new(1, Echo::default)).mailbox(3).wait().unwrap_err();
    let SpawnError::Init(reason) = error else { panic!("{error}") };
    assert_eq!(reason.downcast_ref(), Some(&PoolError::MailboxOfPool(3)));
}

#[test]
fn a_reason_that_cannot_be_printed_ends_its_process_and_nothing_else() {
    let node = Node::builder("rude").workers(1).start().unwrap();
    let rude = node.spawn(Echo::default).wait().unwrap();
    let end = rude.watch();
    rude.send(Say::Fail).unwrap();
    assert!(end.wait().unwrap().reason.downcast_ref::<Rude>().is_some());
    let other = node.spawn(Echo::default).wait().unwrap();
    assert_eq!(other.call(Say::Back).wait(), Ok(1));
    node.stop().wait().unwrap();
}

#[test]
fn a_look_up_without_the_command_type_names_it_in_the_error() {
    let sim = Simulation::new(1);
    let _pool = sim.spawn(|| Pool::new(1, Echo::default)).name("pool").wait().unwrap();
    let error = sim.lookup::<Say, Say>("pool").unwrap_err().to_string();
    assert!(error.contains("PoolCommand"), "{error}");
    assert!(sim.lookup::<Say, PoolCommand>("pool").is_ok());
}

#[test]
fn a_process_finds_others_by_name_and_calls_them() {
    let sim = Simulation::new(1);
    let _echo = sim.spawn(Echo::default).name("echo").wait().unwrap();
    let (answers, answer) = mpsc::channel();
    let caller = behavior_fn(move |ctx: Context<()>| async move {
        let echo: Address<Say> = ctx.lookup("echo")?;
        answers.send(echo.call(Say::Back).await?)?;
        Ok(())
    });
    sim.spawn(move || caller).start().unwrap();
    sim.run_until_idle();
    assert_eq!(answer.try_recv(), Ok(1));
}

/// Its pool does not know yet that it is dead.
#[test]
fn m6_a_sender_that_waits_at_a_pool_gets_no_room_of_an_ended_worker() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let worker = move || Puppet::new("worker", &noted);
        let pool = sim.spawn(move || Pool::new(2, worker).mailbox(1)).wait().unwrap();
        let workers = pool.workers().wait().unwrap();
        let note = |line: &'static str| {
            let log = log.clone();
            Act::new(move |_| {
                log.note(line);
                Ok(())
            })
        };
        // One has room, and the other none.
        sim.suspend(workers[1]).wait().unwrap();
        (0..2).for_each(|_| pool.send(note("first")).ok().unwrap());
        sim.run_until_idle();
        assert_eq!(log.take(), ["first"]);
        sim.suspend(pool.pid()).wait().unwrap();
        sim.kill(workers[0]);
        sim.run_until_idle();
        log.take();
        let mut waits = pool.send_or_wait(note("waited")).into_future();
        assert!(poll_once(&mut waits).is_pending());
        sim.run_until_idle();
        assert!(poll_once(&mut waits).is_pending());
        assert!(sim.resume(workers[1]));
        sim.run_until_idle();
        assert!(matches!(poll_once(&mut waits), Poll::Ready(Ok(()))));
        sim.run_until_idle();
        assert_eq!(log.take(), ["first", "waited"]);
        assert_eq!(sim.stats().dead_letters, 0);
    }
}
