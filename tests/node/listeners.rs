//! Those who listen to dead letters and to lives, and are slow, die, or make more of both (rules
//! M7, D7, X4).

use crate::support::{Act, Does, Log, boom, puppet, simulations};
use krarup::behavior::behavior_fn;
use krarup::observe::{DeadLetter, EventTopic, Lifecycle};
use krarup::prelude::*;
use std::cell::RefCell;

/// What a listener is told.
enum Told {
    Letter(DeadLetter),
    Life(Lifecycle),
}

impl From<DeadLetter> for Told {
    fn from(letter: DeadLetter) -> Self {
        Told::Letter(letter)
    }
}

impl From<Lifecycle> for Told {
    fn from(event: Lifecycle) -> Self {
        Told::Life(event)
    }
}

struct Listener(Log);

impl Actor for Listener {
    type Message = Told;

    async fn handle_message(&mut self, _: &mut Context<Told>, told: Told) -> Result {
        match told {
            Told::Letter(letter) => self.0.note(format!("letter {}", letter.message)),
            Told::Life(event) => self.0.note(format!("{event:?}")),
        }
        Ok(())
    }
}

fn listener(node: &Node, log: &Log) -> Address<Told> {
    let log = log.clone();
    node.spawn(move || Listener(log)).mailbox(1).wait().unwrap()
}

/// One who has died.
fn dead(sim: &Simulation) -> Address<Act> {
    let dead = puppet(sim, "dead", &Log::new());
    dead.dies(boom());
    sim.run_until_idle();
    dead
}

#[test]
fn x4_a_double_subscription_notifies_once_and_unsubscribes_once() {
    for sim in simulations(3) {
        let log = Log::new();
        let (dead, listener) = (dead(&sim), listener(&sim, &log));
        for _ in 0..2 {
            sim.subscribe_dead_letters(listener.recipient());
            sim.subscribe_lifecycle(listener.recipient());
        }
        assert!(dead.send(Act::nothing()).is_err());
        let born = puppet(&sim, "born", &Log::new());
        sim.run_until_idle();
        let lines = log.take();
        assert_eq!(lines.iter().filter(|line| line.starts_with("letter")).count(), 1);
        let spawned = lines.iter().filter(|line| line.starts_with("Spawned")).count();
        assert_eq!((spawned, lines.len()), (1, 3), "{lines:?}");
        assert!(born.is_alive());
        for topic in [EventTopic::DeadLetters, EventTopic::Lifecycle] {
            assert!(sim.unsubscribe(topic, listener.pid()));
            assert!(!sim.unsubscribe(topic, listener.pid()));
        }
        assert!(dead.send(Act::nothing()).is_err());
        sim.run_until_idle();
        assert!(log.take().is_empty());
        // Of a dead listener nothing is kept, of before its end and of after it.
        sim.subscribe_dead_letters(listener.recipient());
        sim.subscribe_lifecycle(listener.recipient());
        sim.kill(listener.pid());
        sim.run_until_idle();
        for topic in [EventTopic::DeadLetters, EventTopic::Lifecycle] {
            assert!(!sim.unsubscribe(topic, listener.pid()));
        }
        sim.subscribe_dead_letters(listener.recipient());
        assert!(dead.send(Act::nothing()).is_err());
        assert!(!sim.unsubscribe(EventTopic::DeadLetters, listener.pid()));
    }
}

#[test]
fn m7_a_slow_listener_holds_up_no_process_and_misses_nothing() {
    for sim in simulations(3) {
        let log = Log::new();
        let (dead, slow) = (dead(&sim), listener(&sim, &log));
        sim.subscribe_dead_letters(slow.recipient());
        slow.suspend().wait().unwrap();
        let begin = sim.now();
        // Far beyond its bound; its own mail has none of that room.
        (0..1_000).for_each(|_| assert!(dead.send(Act::nothing()).is_err()));
        sim.run_until_idle();
        assert_eq!(sim.now(), begin);
        assert!(slow.send(Told::Life(Lifecycle::Initialised { pid: slow.pid() })).is_ok());
        assert!(log.lines().is_empty());
        assert!(slow.resume());
        sim.run_until_idle();
        assert_eq!(log.take().len(), 1_001);
        assert_eq!(sim.stats().dead_letters, 1_000);
    }
}

#[test]
fn m7_a_listener_that_ends_does_not_cost_others_their_dead_letters() {
    Simulation::explore(0..50, |sim| {
        let (heard, lost) = (Log::new(), Log::new());
        let (dead, lives, dies) = (dead(sim), listener(sim, &heard), listener(sim, &lost));
        sim.subscribe_dead_letters(dies.recipient());
        sim.subscribe_dead_letters(lives.recipient());
        dies.suspend().wait()?;
        (0..5).for_each(|_| assert!(dead.send(Act::nothing()).is_err()));
        sim.kill(dies.pid());
        sim.run_until_idle();
        // What it was told and did not hear is lost with it, and told in its turn.
        assert_eq!(sim.stats().dead_letters, 10);
        let lines = heard.take();
        let of_listener = lines.iter().filter(|line| line.contains("Told")).count();
        assert_eq!((lines.len(), of_listener), (10, 5), "{lines:?}");
        assert!(lost.take().is_empty());
        Ok(())
    });
}

#[test]
fn m7_a_listener_that_sends_to_ended_processes_starves_no_other() {
    let sim = Simulation::new(1);
    let dead = dead(&sim);
    let again = dead.clone();
    let listener = behavior_fn(move |mut ctx: Context<DeadLetter>| async move {
        loop {
            ctx.receive().await;
            let _ = again.send(Act::nothing());
        }
    });
    let listener = sim.spawn(move || listener).wait().unwrap();
    sim.subscribe_dead_letters(listener.recipient());
    assert!(dead.send(Act::nothing()).is_err());
    let log = Log::new();
    let other = puppet(&sim, "other", &log);
    let noted = log.clone();
    other.tells(move |_| noted.note("served"));
    assert!((0..1_000).any(|_| sim.step().is_none() || !log.lines().is_empty()));
    assert!(sim.unsubscribe(EventTopic::DeadLetters, listener.pid()));
    sim.run_until_idle();
}

thread_local! {
    static DEAD: RefCell<Option<Address<Act>>> = const { RefCell::new(None) };
}

/// Sends to the dead when it is made of a letter.
struct Loud;

impl From<DeadLetter> for Loud {
    fn from(_: DeadLetter) -> Self {
        let dead = DEAD.with_borrow(Clone::clone);
        assert!(dead.is_some_and(|dead| dead.send(Act::nothing()).is_err()));
        Loud
    }
}

#[test]
fn m7_a_conversion_that_sends_to_an_ended_process_does_not_recurse_for_ever() {
    let sim = Simulation::new(1);
    let dead = dead(&sim);
    DEAD.set(Some(dead.clone()));
    let log = Log::new();
    let noted = log.clone();
    let loud = behavior_fn(move |mut ctx: Context<Loud>| async move {
        loop {
            ctx.receive().await;
            noted.note("told");
        }
    });
    let loud = sim.spawn(move || loud).wait().unwrap();
    sim.subscribe_dead_letters(loud.recipient());
    assert!(dead.send(Act::nothing()).is_err());
    sim.run_until_idle();
    let told = log.take().len();
    assert!((1..100).contains(&told), "{told}");
    assert!(sim.stats().dead_letters > told as u64, "those beyond are counted");
    // And again as often as it comes to that.
    for _ in 0..3 {
        assert!(dead.send(Act::nothing()).is_err());
        sim.run_until_idle();
        assert_eq!(log.take().len(), told);
    }
    DEAD.set(None);
}

#[test]
fn m7_a_listener_that_panics_or_ends_does_not_affect_other_listeners() {
    for sim in simulations(3) {
        let logs = [Log::new(), Log::new()];
        let dead = dead(&sim);
        let waits = behavior_fn(|mut ctx: Context<crate::support::Unheard>| async move {
            ctx.receive().await;
            Ok(())
        });
        let unheard = sim.spawn(move || waits).wait().unwrap();
        // The first that is told panics.
        sim.subscribe_dead_letters(unheard.recipient());
        sim.subscribe_lifecycle(unheard.recipient());
        let all = logs.each_ref().map(|log| listener(&sim, log));
        all.iter().for_each(|listener| sim.subscribe_dead_letters(listener.recipient()));
        let told = || {
            assert!(dead.send(Act::nothing()).is_err());
            sim.run_until_idle();
            logs.each_ref().map(|log| log.take().len())
        };
        assert_eq!(told(), [1, 1]);
        assert!(unheard.is_alive());
        assert!(sim.unsubscribe(EventTopic::DeadLetters, all[1].pid()));
        assert_eq!((told(), told()), ([1, 0], [1, 0]));
        // Only of what it is asked to be told no more.
        sim.subscribe_lifecycle(all[0].recipient());
        assert!(sim.unsubscribe(EventTopic::DeadLetters, all[0].pid()));
        assert!(!sim.unsubscribe(EventTopic::DeadLetters, all[0].pid()));
        assert_eq!(told(), [0, 0]);
        sim.kill(puppet(&sim, "p", &Log::new()).pid());
        sim.run_until_idle();
        assert!(logs[0].take().len() >= 2);
    }
}

/// Subscribes before it has started, so it lives when it has.
#[test]
fn x4_a_subscriber_to_lifecycle_events_gets_none_of_its_own() {
    struct Early(Log);
    impl Actor for Early {
        type Message = Told;
        async fn init(&mut self, ctx: &mut Context<Told>) -> Result {
            ctx.subscribe_lifecycle();
            Ok(())
        }
        async fn handle_message(&mut self, _: &mut Context<Told>, told: Told) -> Result {
            if let Told::Life(event) = told {
                self.0.note(event.pid());
            }
            Ok(())
        }
    }
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let early = sim.spawn(move || Early(noted)).wait().unwrap();
        let other = puppet(&sim, "other", &Log::new());
        other.dies(boom());
        sim.run_until_idle();
        assert!(early.is_alive());
        // Its birth, its start and its end.
        assert_eq!(log.take(), vec![other.pid().to_string(); 3]);
    }
}
