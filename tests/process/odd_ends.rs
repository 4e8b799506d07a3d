//! What users' code does in odd places, and what is given up half way: rules D4, D7, D9, D10,
//! S2, S10, T1, X2, X4, X5.

use crate::support::{Act, Does, Log, Puppet, Unheard, boom, poll_once, puppet, simulations};
use krarup::Recipient;
use krarup::behavior::{Received, behavior_fn};
use krarup::observe::{DeadLetter, EventTopic, Lifecycle};
use krarup::prelude::*;
use krarup::supervisor::InPlace;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

struct Deaf;

impl Actor for Deaf {
    type Message = Unheard;

    async fn init(&mut self, ctx: &mut Context<Unheard>) -> Result {
        ctx.subscribe_dead_letters();
        ctx.subscribe_lifecycle();
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Unheard>, _: Unheard) -> Result {
        Ok(())
    }
}

#[test]
fn d4_a_subscriber_whose_conversion_panics_affects_no_other() {
    for sim in simulations(2) {
        let log = Log::new();
        sim.spawn(|| Deaf).wait().unwrap();
        let named = Puppet::new("named", &log);
        let named = sim.spawn(move || named).name("named").wait().unwrap();
        let sender = puppet(&sim, "sender", &log);
        named.dies(boom());
        named.tells(|_| {});
        let watched = named.watch().wait().unwrap();
        assert_eq!(watched.reason, boom());
        assert_eq!((sim.whereis("named"), log.count("named dropped")), (None, 1));
        sender.tells(move |_| assert!(named.send(Act::nothing()).is_err()));
        sim.run_until_idle();
        assert!(sender.is_alive());
    }
}

/// What a subscriber is told of and does not look at.
struct Told;

impl From<DeadLetter> for Told {
    fn from(_: DeadLetter) -> Self {
        Told
    }
}

impl From<Lifecycle> for Told {
    fn from(_: Lifecycle) -> Self {
        Told
    }
}

/// Subscribes, and takes an hour for each letter.
struct SlowSubscriber;

impl Actor for SlowSubscriber {
    type Message = Told;

    async fn init(&mut self, ctx: &mut Context<Told>) -> Result {
        ctx.subscribe_dead_letters();
        ctx.subscribe_lifecycle();
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Told>, _: Told) -> Result {
        ctx.sleep(HOUR).await;
        Ok(())
    }
}

#[test]
fn x4_subscriptions_end_with_their_process() {
    let sim = Simulation::new(1);
    let reader = sim.spawn(|| SlowSubscriber).wait().unwrap();
    sim.kill(reader.pid());
    sim.run_until_idle();
    assert!(!sim.unsubscribe(EventTopic::DeadLetters, reader.pid()));
    assert!(!sim.unsubscribe(EventTopic::Lifecycle, reader.pid()));
}

#[test]
fn d7_a_pool_that_cannot_take_subscribed_dead_letters_does_not_spin() {
    struct Slow;
    impl Actor for Slow {
        type Message = Told;
        async fn handle_message(&mut self, ctx: &mut Context<Told>, _: Told) -> Result {
            ctx.sleep(HOUR).await;
            Ok(())
        }
    }
    for sim in simulations(2) {
        let log = Log::new();
        let pool = sim.spawn(|| Pool::new(1, || Slow).mailbox(1)).wait().unwrap();
        sim.subscribe_dead_letters(pool.recipient());
        let dead = puppet(&sim, "dead", &log);
        dead.dies(boom());
        sim.run_until_idle();
        for _ in 0..5 {
            assert!(dead.send(Act::nothing()).is_err());
        }
        let turns = (0..1_000).take_while(|_| sim.step().is_some()).count();
        assert!(turns < 100, "{turns}");
        // One or two were taken; the others are dead letters in their turn, and not told again.
        assert!((5 + 3..=5 + 4).contains(&sim.stats().dead_letters));
    }
}

/// Takes an item of its mailbox in its handler, notes it, and fails.
struct Taker(Log);

impl Actor for Taker {
    type Message = bool;

    async fn handle_message(&mut self, ctx: &mut Context<bool>, fails: bool) -> Result {
        let item = ctx.receive().await;
        self.0.note(format!("{item:?}"));
        if fails { Err(boom()) } else { Ok(()) }
    }

    async fn terminate(&mut self, _: &mut Context<bool>, reason: &Reason) {
        self.0.note(format!("terminate {reason}"));
    }
}

#[test]
fn s10_a_stop_that_a_handler_has_received_ends_the_process_even_if_its_state_fails() {
    for sim in simulations(3) {
        let log = Log::new();
        let noted = log.clone();
        let taker = move || Taker(noted.clone());
        let taker = sim.spawn(move || InPlace::new(taker)).wait().unwrap();
        taker.send(true).unwrap();
        sim.run_until_idle();
        sim.stop().wait().unwrap();
        assert_eq!(log.take(), ["Stop(Shutdown)", "terminate shutdown"]);
        assert_eq!(sim.now(), krarup::Timestamp::ZERO, "at once, not by a kill");
    }
}

#[test]
fn d9_a_process_that_receives_the_stop_in_a_handler_finishes() {
    for sim in simulations(3) {
        let log = Log::new();
        let noted = log.clone();
        let taker = sim.spawn(move || Taker(noted)).wait().unwrap();
        taker.send(false).unwrap();
        taker.finish();
        sim.run_until_idle();
        assert_eq!(log.take(), ["Finish", "terminate normal"]);
        assert!(!taker.is_alive());
    }
}

/// Panics when it is dropped.
struct Bomb(Arc<AtomicUsize>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("bomb");
    }
}

/// What takes bombs; the second kind of message cannot be made.
enum Bombed {
    Bomb(#[allow(dead_code, reason = "taken to be dropped")] Bomb),
}

struct Never;

impl From<Bomb> for Bombed {
    fn from(bomb: Bomb) -> Self {
        Bombed::Bomb(bomb)
    }
}

impl From<Never> for Bombed {
    fn from(_: Never) -> Self {
        panic!("conversion")
    }
}

struct Target;

impl Actor for Target {
    type Message = Bombed;

    async fn handle_message(&mut self, _: &mut Context<Bombed>, _: Bombed) -> Result {
        Ok(())
    }
}

#[test]
fn t1_timers_with_panicking_messages_all_end_with_their_process() {
    for sim in simulations(2) {
        let log = Log::new();
        let target: Recipient<Bomb> = sim.spawn(|| Target).wait().unwrap().recipient();
        let bombs = Arc::new(AtomicUsize::new(0));
        let (setter, counted) = (puppet(&sim, "p", &log), Arc::clone(&bombs));
        setter.does(move |ctx| {
            for _ in 0..3 {
                ctx.send_after_to(HOUR, &target, Bomb(Arc::clone(&counted)));
            }
            ctx.stop();
            Ok(())
        });
        let down = setter.watch().wait().unwrap();
        assert_eq!(down.reason, Reason::Normal);
        assert_eq!((bombs.load(Ordering::Relaxed), sim.stats().timers), (3, 0));
    }
}

#[test]
fn t1_a_timer_whose_conversion_panics_leaves_no_entry() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let target: Recipient<Never> = sim.spawn(|| Target).wait().unwrap().recipient();
    let setter = puppet(&sim, "p", &log);
    let (one, two) = (log.clone(), log.clone());
    setter.tells(move |ctx| {
        let timer = ctx.send_after_to(Duration::from_secs(1), &target, Never);
        one.note(ctx.remaining(timer).is_some());
        ctx.send_after(
            HOUR,
            Act::new(move |ctx| {
                two.note(ctx.remaining(timer).is_some());
                Ok(())
            }),
        );
    });
    sim.advance(2 * HOUR);
    assert_eq!(log.take(), ["true", "false"]);
}

#[test]
fn x5_a_suspension_that_is_given_up_is_taken_back() {
    for sim in simulations(3) {
        let log = Log::new();
        let process = puppet(&sim, "p", &log);
        let mut given_up = process.suspend();
        assert!(poll_once(&mut given_up).is_pending());
        sim.run_until_idle();
        drop(given_up);
        let noted = log.clone();
        process.tells(move |_| noted.note("handled"));
        sim.run_until_idle();
        assert_eq!(log.take(), ["handled"]);
        assert!(!process.resume());
    }
}

#[test]
fn d10_a_process_with_available_messages_is_not_passivated() {
    for sim in simulations(3) {
        let log = Log::new();
        let process = puppet(&sim, "p", &log);
        process.tells(|ctx| ctx.passivate_after(Some(Duration::from_secs(5))));
        sim.run_until_idle();
        process.suspend().wait().unwrap();
        sim.advance(Duration::from_secs(6));
        let noted = log.clone();
        process.tells(move |_| noted.note("handled"));
        process.resume();
        sim.run_until_idle();
        assert_eq!(log.take(), ["handled"]);
        sim.advance(Duration::from_secs(6));
        assert_eq!(log.take(), ["p terminate normal", "p dropped"]);
    }
}

#[test]
fn x5_a_suspended_trapping_process_receives_the_stop_of_its_node() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let run = |mut ctx: Context<()>| async move {
        ctx.trap_exits(true);
        while let Received::Message(()) = ctx.receive().await {}
        noted.note("stopped");
        Ok(())
    };
    let process = sim.spawn(move || behavior_fn(run)).start().unwrap();
    process.suspend().wait().unwrap();
    sim.stop().wait().unwrap();
    assert_eq!(log.take(), ["stopped"]);
    assert_eq!(sim.now(), krarup::Timestamp::ZERO, "at once, not by a kill");
}

#[test]
fn s10_the_stash_of_a_failed_state_comes_to_the_next_state() {
    /// Sets the first two aside and fails at the third.
    struct Aside(Log, u32);
    impl Actor for Aside {
        type Message = u32;
        async fn handle_message(&mut self, ctx: &mut Context<u32>, number: u32) -> Result {
            match (self.1, number) {
                (0, 1 | 2) => ctx.stash(number)?,
                (0, _) => return Err(boom()),
                _ => self.0.note(number),
            }
            Ok(())
        }
        async fn after_restart(&mut self, _: &mut Context<u32>, _: &Reason) -> Result {
            self.1 = 1;
            Ok(())
        }
    }
    for sim in simulations(3) {
        let log = Log::new();
        let noted = log.clone();
        let aside = sim.spawn(move || InPlace::new(move || Aside(noted.clone(), 0)));
        let aside = aside.wait().unwrap();
        for number in 1..=4 {
            aside.send(number).unwrap();
        }
        sim.run_until_idle();
        assert_eq!(log.take(), ["1", "2", "4"]);
    }
}

#[test]
fn d5_a_bare_process_that_is_stopped_before_its_first_turn_and_never_receives_ends_at_once() {
    for sim in simulations(3) {
        let run = |ctx: Context<()>| async move {
            ctx.sleep(HOUR).await;
            Ok(())
        };
        sim.spawn(move || behavior_fn(run)).start().unwrap();
        sim.stop().wait().unwrap();
        assert_eq!(sim.now(), krarup::Timestamp::ZERO, "at once, not by a kill");
    }
}

#[test]
fn d3_a_process_that_kills_itself_ends_when_it_has_nothing_else_to_do() {
    for sim in simulations(3) {
        let log = Log::new();
        let process = puppet(&sim, "p", &log);
        let node = sim.node().clone();
        process.tells(move |ctx| node.kill(ctx.pid()));
        sim.run_until_idle();
        assert_eq!((log.take(), process.is_alive()), (vec!["p dropped".to_owned()], false));
    }
}

#[test]
fn d5_an_actor_that_is_stopped_before_its_first_turn_starts_and_terminates() {
    for sim in simulations(3) {
        let log = Log::new();
        let puppet = Puppet::new("p", &log);
        sim.spawn(move || puppet).start().unwrap();
        sim.stop().wait().unwrap();
        assert_eq!(log.take(), ["p terminate shutdown", "p dropped"]);
    }
}

/// As deep as this, the reasons around each other would take more stack than a thread has.
#[test]
fn s2_failures_of_a_tree_of_any_depth_end_nothing_but_the_tree() {
    fn level(depth: u32) -> Supervisor {
        let child = match depth {
            0 => ChildSpec::worker("leaf", || {
                behavior_fn(|_: Context<()>| async { Err(Reason::error("no")) })
            }),
            _ => ChildSpec::supervisor("inner", move || level(depth - 1)),
        };
        Supervisor::one_for_one().child(child)
    }
    let sim = Simulation::new(1);
    let error = sim.spawn(|| level(20_000)).wait().unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("init failed: shutdown: child \"inner\" failed to start: "), "{text}");
    assert!(text.ends_with("child \"leaf\" failed to start: no") && text.len() < 20_000, "{text}");
    assert_eq!(sim.stats().processes, 0);
}
