//! Actors that panic, and what survives of them for `terminate` (`process/current/survivors.rs`).

use super::checker::model;
use super::model_host::ModelHost;
use crate::actor::Actor;
use crate::addressing::address::Address;
use crate::context::Context;
use crate::host::host::Host;
use crate::lifecycle::spawn::Spawn;
use krarup_gen::{Reason, Result};
use std::sync::{Arc, Mutex};

/// What happened, in its order.
#[derive(Clone, Default)]
struct SurvivorSteps(Arc<Mutex<Vec<String>>>);

impl SurvivorSteps {
    fn note(&self, step: impl Into<String>) {
        self.0.lock().expect("nothing panics under a lock").push(step.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("nothing panics under a lock"))
    }
}

type ToRunAtDrop = Box<dyn FnOnce() + Send>;

/// Runs this when it is dropped.
struct RunsAtDrop(Option<ToRunAtDrop>);

impl Drop for RunsAtDrop {
    fn drop(&mut self) {
        if let Some(f) = self.0.take() {
            f();
        }
    }
}

/// How a handler panics: with this in hand, at once or after it has waited.
struct HowItPanics {
    in_hand: Option<ToRunAtDrop>,
    /// What the destructor of what it throws runs.
    thrown: Option<ToRunAtDrop>,
    waits: bool,
    lives: bool,
}

/// Panics as it is told, and notes what it still does.
struct Panicker {
    name: &'static str,
    steps: SurvivorSteps,
}

impl Actor for Panicker {
    type Message = HowItPanics;

    async fn handle_message(
        &mut self,
        _: &mut Context<HowItPanics>,
        panics: HowItPanics,
    ) -> Result {
        let _in_hand = RunsAtDrop(panics.in_hand);
        if panics.waits {
            crate::lifecycle::in_place::yield_now().await;
        }
        if panics.lives {
            std::future::pending::<()>().await;
        }
        match panics.thrown {
            Some(run) => std::panic::panic_any(RunsAtDrop(Some(run))),
            None => panic!("{}", self.name),
        }
    }

    async fn terminate(&mut self, _: &mut Context<HowItPanics>, reason: &Reason) {
        let reason = match reason {
            Reason::Panic(panic) => panic.message().to_owned(),
            other => other.to_string(),
        };
        self.steps.note(format!("{} terminates: {reason}", self.name));
        crate::lifecycle::in_place::yield_now().await;
        self.steps.note(format!("{} has terminated", self.name));
    }
}

impl Drop for Panicker {
    fn drop(&mut self) {
        self.steps.note(format!("{} dropped", self.name));
    }
}

fn panicker(
    host: &Arc<ModelHost>,
    name: &'static str,
    steps: &SurvivorSteps,
) -> Address<HowItPanics> {
    let actor = Panicker { name, steps: steps.clone() };
    let address = Spawn::outside(host.host(), move || actor).start().expect("a process");
    host.settle_panicking();
    address
}

/// Two nodes with an actor each, one of which is to run within the other, and what both note.
fn nested() -> ([Arc<ModelHost>; 2], [Address<HowItPanics>; 2], SurvivorSteps) {
    let (hosts, steps) = ([ModelHost::new(), ModelHost::new()], SurvivorSteps::default());
    // The two actors have different numbers.
    let _ = hosts[0].next_pid();
    let inner = panicker(&hosts[1], "inner", &steps);
    let outer = panicker(&hosts[0], "outer", &steps);
    (hosts, [outer, inner], steps)
}

fn ended(name: &str) -> [String; 3] {
    ended_as(name, name)
}

fn ended_as(name: &str, reason: &str) -> [String; 3] {
    [
        format!("{name} terminates: {reason}"),
        format!("{name} has terminated"),
        format!("{name} dropped"),
    ]
}

fn panics(in_hand: Option<ToRunAtDrop>, waits: bool) -> HowItPanics {
    HowItPanics { in_hand, thrown: None, waits, lives: false }
}

#[test]
fn an_actor_terminates_after_a_panic_before_a_wait_and_after_it() {
    model(|| {
        for waits in [false, true] {
            let (host, steps) = (ModelHost::new(), SurvivorSteps::default());
            assert!(panicker(&host, "one", &steps).send(panics(None, waits)).is_ok());
            host.settle_panicking();
            assert_eq!((steps.take(), host.retired()), (ended("one").to_vec(), 1));
            host.clear();
        }
    });
}

/// The destructor of what a handler has in hand runs while it unwinds, and runs a process of another node that panics
/// too.
#[test]
fn each_of_two_that_panic_within_each_other_terminates_for_its_own_panic() {
    model(|| {
        let ([host, other], [outer, inner], steps) = nested();
        let nested = Arc::clone(&other);
        let in_hand: ToRunAtDrop = Box::new(move || {
            assert!(inner.send(panics(None, true)).is_ok());
            nested.settle_panicking();
        });
        assert!(outer.send(panics(Some(in_hand), true)).is_ok());
        host.settle_panicking();
        assert_eq!(steps.take(), [ended("inner"), ended("outer")].concat());
        host.clear();
        other.clear();
    });
}

/// A process of another node is killed while this one unwinds. Its own future has not panicked.
#[test]
fn an_actor_that_is_killed_on_a_thread_that_unwinds_does_not_terminate() {
    model(|| {
        let ([host, other], [outer, inner], steps) = nested();
        let (nested, noted) = (Arc::clone(&other), steps.clone());
        let in_hand: ToRunAtDrop = Box::new(move || {
            inner.process().kill();
            nested.settle_panicking();
            noted.note("inner has ended");
        });
        assert!(outer.send(panics(Some(in_hand), false)).is_ok());
        host.settle_panicking();
        assert_eq!(
            steps.take(),
            [&["inner dropped", "inner has ended"].map(ToOwned::to_owned)[..], &ended("outer")]
                .concat()
        );
        host.clear();
        other.clear();
    });
}

/// The future of an actor that is killed while its handler waits is dropped, and a destructor in it panics.
#[test]
fn an_actor_whose_handler_panics_when_it_is_dropped_does_not_terminate() {
    model(|| {
        let (host, steps) = (ModelHost::new(), SurvivorSteps::default());
        let one = panicker(&host, "one", &steps);
        let in_hand: ToRunAtDrop = Box::new(|| panic!("in hand"));
        assert!(
            one.send(HowItPanics {
                in_hand: Some(in_hand),
                thrown: None,
                waits: false,
                lives: true
            })
            .is_ok()
        );
        host.settle_panicking();
        one.process().kill();
        host.settle_panicking();
        assert_eq!((steps.take(), host.retired()), (vec!["one dropped".to_owned()], 1));
        host.clear();
    });
}

/// What a handler throws is dropped by its turn. The destructor runs a process of another node: one that panics, or one
/// that ends in order.
#[test]
fn d5_an_actor_terminates_whatever_the_destructor_of_what_it_has_thrown_runs() {
    model(|| {
        for panics_too in [true, false] {
            let ([host, other], [outer, inner], steps) = nested();
            let nested = Arc::clone(&other);
            let run: ToRunAtDrop = Box::new(move || {
                if panics_too {
                    assert!(inner.send(panics(None, false)).is_ok());
                } else {
                    inner.process().request_stop(Reason::Normal);
                }
                nested.settle_panicking();
            });
            let how = HowItPanics { thrown: Some(run), ..panics(None, false) };
            assert!(outer.send(how).is_ok());
            host.settle_panicking();
            let seen = steps.take();
            let (inner, outer) = seen.split_at(3);
            let name = if panics_too { "inner" } else { "normal" };
            assert_eq!(inner, ended_as("inner", name));
            assert_eq!(outer, ended_as("outer", "a value that is not text"));
            host.clear();
            other.clear();
        }
    });
}

/// A thread whose places are destroyed runs an actor that panics, from the destructor of one of them.
#[cfg(not(loom))]
#[test]
fn d5_an_actor_terminates_on_a_thread_whose_locals_are_destroyed() {
    use std::cell::RefCell;

    thread_local! {
        static HELD: RefCell<RunsAtDrop> = const { RefCell::new(RunsAtDrop(None)) };
    }
    let steps = SurvivorSteps::default();
    let seen = steps.clone();
    let thread = std::thread::spawn(move || {
        // Destroyed last, because it was used first.
        HELD.with(|held| assert!(held.borrow().0.is_none()));
        let host = ModelHost::new();
        let [first, last] = ["first", "last"].map(|name| panicker(&host, name, &steps));
        assert!(first.send(panics(None, false)).is_ok());
        host.settle_panicking();
        HELD.with(|held| {
            held.borrow_mut().0 = Some(Box::new(move || {
                assert!(last.send(panics(None, false)).is_ok());
                host.settle_panicking();
                host.clear();
            }));
        });
    });
    assert!(thread.join().is_ok());
    assert_eq!(seen.take(), [ended("first"), ended("last")].concat());
}
