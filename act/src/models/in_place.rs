//! A real actor that is restarted in place while messages arrive and other threads end it (rule
//! S10). The old state handles no message after the new one exists, no message is handled
//! twice, and none is lost except by the end of the process.

use super::checker::{bounded, joined, thread};
use super::model_host::{ModelHost, ONE_BY_ONE};
use crate::actor::Actor;
use crate::context::Context;
use crate::lifecycle::in_place::InPlace;
use crate::lifecycle::spawn::Spawn;
use krarup_gen::{Reason, Result};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InPlaceStep {
    Init,
    Handles(u32),
    Dropped,
}

type StepLog = Arc<Mutex<Vec<InPlaceStep>>>;

/// Fails at message 0, and ends after it has handled `messages` messages.
struct Fragile {
    log: StepLog,
    messages: usize,
}

impl Fragile {
    fn note(&self, step: InPlaceStep) {
        self.log.lock().expect("nothing panics under a lock").push(step);
    }

    fn handled(&self) -> usize {
        let log = self.log.lock().expect("nothing panics under a lock");
        log.iter().filter(|step| matches!(step, InPlaceStep::Handles(_))).count()
    }
}

impl Actor for Fragile {
    type Message = u32;

    async fn init(&mut self, _: &mut Context<u32>) -> Result {
        self.note(InPlaceStep::Init);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<u32>, message: u32) -> Result {
        self.note(InPlaceStep::Handles(message));
        if self.handled() == self.messages {
            ctx.stop();
        }
        if message == 0 { Err(Reason::error("failed")) } else { Ok(()) }
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        self.note(InPlaceStep::Dropped);
    }
}

/// Runs an actor to which one thread sends 0 and 1 while this thread sends 2 and runs
/// `meanwhile`. Returns its steps and the number of dead letters.
fn restarted(
    messages: usize,
    meanwhile: impl FnOnce(&crate::addressing::address::Address<u32>),
) -> (Vec<InPlaceStep>, u64) {
    let host = ModelHost::new();
    let log = StepLog::default();
    let factory = {
        let log = Arc::clone(&log);
        move || Fragile { log: Arc::clone(&log), messages }
    };
    let fragile = InPlace::new(factory).intensity(9, Duration::from_secs(1));
    let fragile = Spawn::outside(host.host(), move || fragile).start().expect("a process");
    let worker = host.worker_within(ONE_BY_ONE);
    let sender = thread::spawn({
        let fragile = fragile.clone();
        move || {
            let _ = fragile.send(0);
            let _ = fragile.send(1);
        }
    });
    let _ = fragile.send(2);
    meanwhile(&fragile);
    joined(sender);
    joined(worker);
    assert_eq!(host.retired(), 1);
    host.clear();
    let log = log.lock().expect("nothing panics under a lock").clone();
    (log, host.dead_letters())
}

fn handled(log: &[InPlaceStep]) -> Vec<u32> {
    let messages = log.iter().filter_map(|step| match step {
        InPlaceStep::Handles(message) => Some(*message),
        _ => None,
    });
    let mut messages: Vec<_> = messages.collect();
    messages.sort_unstable();
    messages
}

/// States do not overlap: each begins after the one before has been dropped.
fn states_follow_each_other(log: &[InPlaceStep]) {
    let mut alive = false;
    for step in log {
        match step {
            InPlaceStep::Init => {
                assert!(!std::mem::replace(&mut alive, true), "two states: {log:?}");
            }
            InPlaceStep::Handles(_) => assert!(alive, "no state: {log:?}"),
            InPlaceStep::Dropped => assert!(std::mem::take(&mut alive), "no state: {log:?}"),
        }
    }
    assert!(!alive, "a state was not dropped: {log:?}");
}

/// A failure, a restart and two more messages, in any order.
#[test]
fn a_restart_loses_no_message_and_handles_none_twice() {
    bounded(4, || {
        let (log, dead_letters) = restarted(3, |_| {});
        states_follow_each_other(&log);
        assert_eq!((handled(&log), dead_letters), (vec![0, 1, 2], 0), "messages");
    });
}

/// The same with a kill at any moment.
#[test]
fn a_kill_during_a_restart_ends_the_process_once() {
    bounded(4, || {
        let (log, dead_letters) = restarted(9, |fragile| fragile.process().kill());
        // A process killed before its first turn has no state; one killed before `init` has
        // none either.
        let log: Vec<_> = match log.iter().position(|step| *step == InPlaceStep::Init) {
            Some(first) => log[first..].to_vec(),
            None => Vec::new(),
        };
        states_follow_each_other(&log);
        let handled = handled(&log);
        assert!(handled.windows(2).all(|pair| pair[0] < pair[1]), "handled twice: {log:?}");
        assert_eq!(handled.len() as u64 + dead_letters, 3, "messages");
    });
}

#[cfg(loom)]
mod broken {
    use super::super::checker::{Mutex, model};
    use super::*;

    /// A restart that removes the old state under one lock and stores the new one under
    /// another, while other threads access the state in between.
    #[test]
    #[should_panic(expected = "messages")]
    fn a_restart_in_two_steps_loses_a_message() {
        model(|| {
            let state = Arc::new(Mutex::new(Some(0_u32)));
            let sender = thread::spawn({
                let state = Arc::clone(&state);
                move || state.lock().as_mut().map(|handled| *handled += 1).is_some()
            });
            let old = state.lock().take().expect("a state");
            *state.lock() = Some(old);
            let handled = joined(sender);
            assert!(handled, "messages");
        });
    }
}
