//! What a step process says at the end of a step, what it leaves behind, and destructors that panic
//! on the way (rules W2 to W5).

use crate::support::journal::Journal;
use crate::support::{Leaves, Log, boom, leaves, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::mailbox::Overflow;
use krarup::observe::DeadLetter;
use krarup::prelude::*;
use krarup::step::{Commands, Completion, StepEvent, StepOutput, StepProcess, Stepped, Tag};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A value of the language: a number, and what it leaves.
struct Item(
    u64,
    #[allow(dead_code, reason = "it is held until the value is dropped")] Option<Leaves>,
);

type Events = VecDeque<StepEvent<Item, u64>>;
type Output = StepOutput<Item>;
type Step = Box<dyn FnMut(&mut Events, &mut Output) -> Result + Send>;

struct Machine {
    step: Step,
    /// `close` panics.
    sore: bool,
    /// `init` panics.
    unready: bool,
    leaves: Leaves,
}

impl StepProcess for Machine {
    type Value = Item;
    type Message = u64;

    fn init(&mut self, _: &Context<u64>, _: &str, _: Vec<Item>) -> Result {
        assert!(!self.unready, "init");
        Ok(())
    }

    fn step(&mut self, events: &mut Events, out: &mut Output) -> Result {
        (self.step)(events, out)
    }

    fn close(&mut self) {
        assert!(!self.sore, "close");
    }
}

type Kept = Arc<Mutex<Vec<Completion<Item>>>>;

/// A world to run machines in.
struct StepFixture {
    log: Log,
    kept: Kept,
    commands: Arc<Commands<Item, u64>>,
}

impl StepFixture {
    fn new() -> Self {
        let (log, kept) = (Log::new(), Kept::default());
        let (begun, held, ready) = (log.clone(), log.clone(), log.clone());
        let keeps = Arc::clone(&kept);
        let commands = Commands::new()
            .at_once("note", |_, _| panic!("the one that is replaced"))
            .at_once("note", move |_, item: Item| {
                begun.note(format!("begun {}", item.0));
                Ok(item)
            })
            // Yields so often, and then sleeps so often.
            .awaited("yield", |ctx, item: Item| {
                let sleeps = [ctx.sleep(SECOND), ctx.sleep(2 * SECOND)];
                async move {
                    for _ in 0..item.0 {
                        krarup_yield().await;
                    }
                    for sleep in sleeps {
                        sleep.await;
                    }
                    Ok(item)
                }
            })
            // Never done; panics when it is dropped if the number is odd.
            .awaited("hold", move |_, item: Item| {
                let leaves = leaves(&held, &format!("held {}", item.0), item.0 % 2 == 1);
                async move {
                    let _leaves = leaves;
                    std::future::pending().await
                }
            })
            // Done at once, and drops what it has when its future is dropped.
            .awaited("ready", move |_, item: Item| {
                let leaves = leaves(&ready, &format!("ready {}", item.0), item.0 % 2 == 1);
                let mut item = Some(item);
                std::future::poll_fn(move |_| {
                    let _ = &leaves;
                    Poll::Ready(Ok(item.take().expect("it is polled once")))
                })
            })
            .deferred("keep", move |_, _, completion| keeps.lock().unwrap().push(completion));
        StepFixture { log, kept, commands: Arc::new(commands) }
    }

    fn machine(
        &self,
        step: impl FnMut(&mut Events, &mut Output) -> Result + Send + 'static,
    ) -> Machine {
        let leaves = leaves(&self.log, "machine", false);
        Machine { step: Box::new(step), sore: false, unready: false, leaves }
    }

    fn stepped(&self, machine: Machine) -> Stepped<Machine> {
        Stepped::new(machine, Arc::clone(&self.commands), "main", [])
    }

    fn start(
        &self,
        sim: &Simulation,
        step: impl FnMut(&mut Events, &mut Output) -> Result + Send + 'static,
    ) -> Address<u64> {
        let stepped = self.stepped(self.machine(step));
        let stepped = sim.spawn(move || stepped).mailbox(2).start().unwrap();
        sim.run_until_idle();
        stepped
    }

    fn complete(&self, item: Item) {
        self.kept.lock().unwrap().remove(0).complete(Ok(item));
    }
}

fn item(number: u64) -> Item {
    Item(number, None)
}

async fn krarup_yield() {
    let mut yielded = false;
    std::future::poll_fn(move |cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Notes what comes.
fn notes(log: &Log, events: &mut Events) {
    for event in events.drain(..) {
        match event {
            StepEvent::Completed { tag, outcome: Ok(item) } => {
                log.note(format!("{tag} {}", item.0));
            }
            StepEvent::Completed { tag, outcome: Err(error) } => log.note(format!("{tag} {error}")),
            StepEvent::Message { message, .. } => log.note(format!("message {message}")),
            StepEvent::Cancel(reason) => log.note(format!("cancel {reason}")),
        }
    }
}

#[test]
fn w3_commands_that_yield_or_wait_repeatedly_are_polled_until_they_are_done() {
    for sim in simulations(3) {
        let fixture = StepFixture::new();
        let (log, mut first) = (fixture.log.clone(), true);
        fixture.start(&sim, move |events, out| {
            notes(&log, events);
            if std::mem::take(&mut first) {
                out.dispatch("yield", item(3));
            }
            Ok(())
        });
        sim.advance(5 * SECOND);
        assert_eq!(fixture.log.take(), ["#1 3"]);
    }
}

#[test]
fn w3_the_last_call_of_a_step_counts_and_again_needs_no_event() {
    for sim in simulations(3) {
        let fixture = StepFixture::new();
        let mut steps = 0;
        let counts = fixture.start(&sim, move |_, out| {
            steps += 1;
            match steps {
                1..50 => {
                    out.idle();
                    out.block();
                    out.again();
                }
                50 => {
                    out.again();
                    out.idle();
                }
                51 => {
                    out.idle();
                    out.done(item(1));
                }
                _ => panic!("it was done"),
            }
            Ok(())
        });
        let inspected = counts.inspect().wait().unwrap();
        assert_eq!((inspected.number("steps"), inspected.text("status")), (Some(50), Some("idle")));
        counts.send(1).unwrap();
        sim.run_until_idle();
        assert!(!counts.is_alive());
    }
}

#[test]
fn w3_again_is_ready_and_a_block_without_commands_waits_for_anything() {
    for sim in simulations(3) {
        let fixture = StepFixture::new();
        let machine = fixture.machine(|_, out| {
            out.again();
            Ok(())
        });
        let stepped = fixture.stepped(machine);
        let busy = sim.spawn(move || stepped).start().unwrap();
        let inspected = busy.inspect().wait().unwrap();
        assert_eq!(inspected.text("status"), Some("ready"));
        sim.kill(busy.pid());
        let log = fixture.log.clone();
        let blocks = fixture.start(&sim, move |events, out| {
            notes(&log, events);
            out.block();
            Ok(())
        });
        assert_eq!(blocks.inspect().wait().unwrap().text("status"), Some("idle"));
        fixture.log.take();
        blocks.send(4).unwrap();
        sim.run_until_idle();
        assert_eq!(fixture.log.take(), ["message 4"]);
    }
}

#[test]
fn w2_a_command_is_cancelled_alone_and_commands_of_the_last_step_are_not_begun() {
    for sim in simulations(3) {
        let fixture = StepFixture::new();
        let (log, mut steps) = (fixture.log.clone(), 0);
        let stepped = fixture.start(&sim, move |events, out| {
            notes(&log, events);
            steps += 1;
            if steps == 1 {
                out.dispatch("note", item(1));
                let given_up = out.dispatch("note", item(2));
                out.dispatch("note", item(3));
                out.dispatch("keep", item(0));
                out.dispatch("hold", item(0));
                out.cancel(given_up);
                let left =
                    r#"[(Tag(1), "note"), (Tag(3), "note"), (Tag(4), "keep"), (Tag(5), "hold")]"#;
                assert_eq!(format!("{out:?}"), format!("StepOutput {{ dispatched: {left}, .. }}"));
            } else if steps == 3 {
                // The numbers go on, whatever was given up.
                log.note(format!("next is {}", out.dispatch("note", item(4))));
                out.done(item(0));
            }
            Ok(())
        });
        assert_eq!(fixture.log.take(), ["begun 1", "begun 3", "#1 1", "#3 3"]);
        // One that has a future, and one that somebody else completes.
        let inspected = stepped.inspect().wait().unwrap();
        let numbers = ["outstanding", "steps", "events"].map(|item| inspected.number(item));
        assert_eq!(numbers, [2, 2, 0].map(Some));
        assert_eq!(format!("{:?}", fixture.kept.lock().unwrap()), "[Completion(#4)]");
        fixture.complete(item(5));
        sim.run_until_idle();
        assert_eq!(fixture.log.take(), ["#4 5", "next is #6", "held 0", "machine"]);
        assert!(!stepped.is_alive());
    }
    let fixture = StepFixture::new();
    let names = format!("{:?}", fixture.commands);
    assert_eq!(names, r#"Commands(["hold", "keep", "note", "ready", "yield"])"#);
    let stepped = format!("{:?}", fixture.stepped(fixture.machine(|_, _| Ok(()))));
    assert_eq!(stepped, r#"Stepped { method: "main", .. }"#);
}

#[test]
fn w2_values_left_by_a_command_may_panic_when_it_is_done_or_abandoned() {
    for sim in simulations(3) {
        let fixture = StepFixture::new();
        let (log, mut held) = (fixture.log.clone(), None);
        let stepped = fixture.start(&sim, move |events, out| {
            if held.is_none() {
                out.dispatch("ready", item(2));
                out.dispatch("ready", item(1));
                held = Some([out.dispatch("hold", item(1)), out.dispatch("hold", item(3))]);
            }
            let told = events.iter().any(|event| matches!(event, StepEvent::Message { .. }));
            notes(&log, events);
            if told {
                held.into_iter().flatten().for_each(|tag| out.cancel(tag));
            }
            out.idle();
            Ok(())
        });
        assert_eq!(fixture.log.take(), ["ready 2", "ready 1", "#1 2", "#2 1"]);
        stepped.send(1).unwrap();
        sim.run_until_idle();
        assert_eq!(fixture.log.take(), ["message 1", "held 1", "held 3"]);
        assert!(stepped.is_alive());
    }
}

#[test]
fn w4_all_is_given_up_at_the_end_though_all_of_it_panics() {
    for how in ["kill", "stop"] {
        for sim in simulations(3) {
            let fixture = StepFixture::new();
            let mut first = true;
            let stepped = fixture.start(&sim, move |events, out| {
                if std::mem::take(&mut first) {
                    for number in [1, 3, 5] {
                        out.dispatch("hold", item(number));
                    }
                    for _ in 0..4 {
                        out.dispatch("keep", item(0));
                    }
                }
                if events.iter().any(|event| matches!(event, StepEvent::Cancel(_))) {
                    out.done(item(0));
                    return Ok(());
                }
                out.idle();
                Ok(())
            });
            let end = stepped.watch();
            stepped.suspend().wait().unwrap();
            // Two that no step will have, a message behind them, and one that comes too late.
            for line in ["value 1", "value 2"] {
                fixture.complete(Item(0, Some(leaves(&fixture.log, line, true))));
            }
            stepped.send(7).unwrap();
            sim.run_until_idle();
            let dead = sim.stats().dead_letters;
            if how == "kill" {
                sim.kill(stepped.pid());
            } else {
                stepped.process().request_stop(boom());
            }
            sim.run_until_idle();
            let expected = if how == "kill" { Reason::Killed } else { boom() };
            assert_eq!(end.wait().unwrap().reason, expected);
            let mut lines = fixture.log.take();
            lines.sort();
            let all = ["held 1", "held 3", "held 5", "machine", "value 1", "value 2"];
            assert_eq!(
                (lines, sim.stats().dead_letters),
                (all.map(String::from).to_vec(), dead + 1)
            );
            // One of the two that are left still holds where the other is handed in.
            fixture.complete(Item(0, Some(leaves(&fixture.log, "late", false))));
            assert_eq!(fixture.log.take(), ["late"]);
        }
    }
}

#[test]
fn w4_an_end_has_the_first_failure_and_a_panicking_close_is_logged() {
    let journal = Log::new();
    let noted = journal.clone();
    let told = Journal::new(
        |event| event.target() == "krarup",
        move |fields| noted.note(format!("{fields:?}")),
    );
    tracing::subscriber::with_default(told, || {
        let sim = Simulation::new(1);
        for fails in [None, Some(boom()), Some(Reason::Normal)] {
            let (fixture, ends) = (StepFixture::new(), fails.clone());
            let mut machine = fixture.machine(move |events, out| {
                if let Some(reason) = ends.clone().filter(|_| !events.is_empty()) {
                    return Err(reason);
                }
                if events.is_empty() {
                    out.idle();
                } else {
                    out.done(item(1));
                }
                Ok(())
            });
            machine.sore = true;
            machine.leaves = leaves(&fixture.log, "machine", true);
            fixture.log.take();
            let stepped = fixture.stepped(machine);
            let stepped = sim.spawn(move || stepped).wait().unwrap();
            let known_as = stepped.info().behavior.to_string();
            assert!(known_as.contains("Machine") && !known_as.contains("Stepped"), "{known_as}");
            let end = stepped.watch();
            stepped.send(1).unwrap();
            sim.run_until_idle();
            let reason = end.wait().unwrap().reason;
            // A normal end is no failure.
            assert_eq!(reason == boom(), fails == Some(boom()), "{reason}");
            assert!(reason == boom() || reason.to_string().contains("sore"), "{reason}");
            assert_eq!(journal.count("panicked in its close"), 1, "{:?}", journal.lines());
            journal.take();
        }
    });
}

#[test]
fn w5_messages_left_by_a_step_are_dead_letters_with_their_sender() {
    for sim in simulations(3) {
        let fixture = StepFixture::new();
        let letters = Log::new();
        let noted = letters.clone();
        sim.spawn(move || {
            behavior_fn(move |mut ctx: Context<DeadLetter>| async move {
                ctx.subscribe_dead_letters();
                loop {
                    if let Received::Message(letter) = ctx.receive().await {
                        noted.note(letter);
                    }
                }
            })
        })
        .start()
        .unwrap();
        let mut first = true;
        let stepped = fixture.start(&sim, move |_, out| {
            if std::mem::take(&mut first) {
                out.dispatch("keep", item(0));
                out.dispatch("keep", item(0));
            }
            out.block();
            Ok(())
        });
        let to = stepped.clone();
        let sends = behavior_fn(move |_: Context<()>| async move {
            to.send(1)?;
            Ok(())
        });
        let sender = sim.spawn(move || sends).start().unwrap().pid();
        sim.run_until_idle();
        (2..5).for_each(|n| stepped.notify(n));
        sim.run_until_idle();
        assert!(stepped.send(5).is_ok() && stepped.send(6).is_err());
        // Among what the step leaves is an outcome that panics as it is dropped.
        fixture.complete(Item(0, Some(leaves(&fixture.log, "left", true))));
        sim.run_until_idle();
        assert_eq!(
            (fixture.log.count("left"), stepped.is_alive(), stepped.waiting()),
            (1, true, 0)
        );
        let lines = letters.take();
        assert_eq!(lines.len(), 5, "{lines:?}");
        assert_eq!(lines.iter().filter(|line| line.contains(&format!("from {sender}"))).count(), 1);
        // It is blocked again, and there is room for two.
        assert_eq!((0..5).filter(|n| stepped.send(*n).is_ok()).count(), 2);
    }
}

#[test]
fn w2_values_left_by_abandoned_commands_may_panic_without_effect() {
    for sim in simulations(3) {
        let fixture = StepFixture::new();
        let (log, mut given_up) = (fixture.log.clone(), None::<[Tag; 3]>);
        let stepped = fixture.start(&sim, move |events, out| {
            match &given_up {
                None => given_up = Some([0, 1, 2].map(|_| out.dispatch("keep", item(0)))),
                Some([first, second, _]) => {
                    out.cancel(*first);
                    out.cancel(*second);
                }
            }
            notes(&log, events);
            out.idle();
            Ok(())
        });
        stepped.send(1).unwrap();
        sim.run_until_idle();
        // Both are taken in together, and what was not given up with them.
        for line in ["one", "other"] {
            fixture.complete(Item(0, Some(leaves(&fixture.log, line, true))));
        }
        fixture.complete(item(7));
        sim.run_until_idle();
        assert_eq!(fixture.log.take(), ["message 1", "one", "other", "#3 7"]);
        assert!(stepped.is_alive());
    }
}

#[test]
fn w2_the_late_outcome_of_an_abandoned_command_is_dropped_though_nothing_else_runs() {
    for sim in simulations(3) {
        let fixture = StepFixture::new();
        let (log, mut given_up) = (fixture.log.clone(), None::<Tag>);
        let stepped = fixture.start(&sim, move |events, out| {
            match given_up {
                None => given_up = Some(out.dispatch("keep", item(0))),
                Some(only) => out.cancel(only),
            }
            notes(&log, events);
            out.idle();
            Ok(())
        });
        for message in [1, 2] {
            stepped.send(message).unwrap();
            sim.run_until_idle();
        }
        assert_eq!(fixture.log.take(), ["message 1", "message 2"]);
        fixture.complete(Item(0, Some(leaves(&fixture.log, "late", false))));
        sim.run_until_idle();
        assert_eq!(fixture.log.take(), ["late"]);
        stepped.send(3).unwrap();
        sim.run_until_idle();
        assert_eq!(fixture.log.take(), ["message 3"]);
    }
}

#[test]
fn w4_all_that_an_end_leaves_behind_may_panic_together() {
    for sim in simulations(3) {
        for (unready, failure) in [(true, "init"), (false, "boom")] {
            let fixture = StepFixture::new();
            let log = fixture.log.clone();
            let mut machine = fixture.machine(move |_, out| {
                // Not begun, and no result: the step fails.
                for line in ["argument 1", "argument 2"] {
                    out.dispatch("note", Item(0, Some(leaves(&log, line, true))));
                }
                out.done(Item(0, Some(leaves(&log, "result", true))));
                Err(boom())
            });
            machine.unready = unready;
            machine.leaves = leaves(&fixture.log, "machine", true);
            fixture.log.take();
            let then = leaves(&fixture.log, "then", true);
            let stepped = fixture.stepped(machine).then(move |_| drop(then));
            let end = sim.spawn(move || stepped).start().unwrap().watch();
            sim.run_until_idle();
            let reason = end.wait().unwrap().reason;
            let mut lines = fixture.log.take();
            lines.sort();
            if unready {
                assert!(reason.to_string().contains(failure), "{reason}");
                assert_eq!(lines, ["machine", "then"]);
            } else {
                assert!(reason.is_abnormal());
                let all = ["argument 1", "argument 2", "machine", "result", "then"];
                assert_eq!(lines, all);
            }
        }
    }
}

#[test]
fn w3_a_command_that_a_step_completes_itself_is_the_next_steps() {
    for sim in simulations(3) {
        let fixture = StepFixture::new();
        let (log, kept, mut begun) = (fixture.log.clone(), Arc::clone(&fixture.kept), false);
        let stepped = fixture.start(&sim, move |events, out| {
            if !std::mem::replace(&mut begun, true) {
                out.dispatch("keep", item(0));
            }
            notes(&log, events);
            let completion = kept.lock().unwrap().pop();
            if let Some(completion) = completion {
                completion.complete(Ok(item(5)));
            }
            out.idle();
            Ok(())
        });
        stepped.send(1).unwrap();
        sim.run_until_idle();
        assert_eq!(fixture.log.take(), ["message 1", "#1 5"]);
    }
}

#[test]
fn m6_a_step_process_that_drops_its_oldest_takes_one_message_after_the_other() {
    for sim in simulations(3) {
        let fixture = StepFixture::new();
        let log = fixture.log.clone();
        let stepped = fixture.stepped(fixture.machine(move |events, out| {
            assert!(events.len() <= 1);
            notes(&log, events);
            out.idle();
            Ok(())
        }));
        let spawn = sim.spawn(move || stepped).mailbox(2).overflow(Overflow::DropOldest);
        let stepped = spawn.start().unwrap();
        for n in 0..5 {
            stepped.send(n).unwrap();
            sim.run_until_idle();
            assert_eq!(fixture.log.take(), [format!("message {n}")]);
        }
        (5..9).for_each(|n| stepped.send(n).unwrap());
        sim.run_until_idle();
        assert_eq!(fixture.log.take(), ["message 7", "message 8"]);
    }
}

#[test]
fn m6_a_blocked_step_process_with_drop_oldest_keeps_the_newest() {
    for sim in simulations(3) {
        let fixture = StepFixture::new();
        let log = fixture.log.clone();
        let stepped = fixture.stepped(fixture.machine(move |events, out| {
            if events.is_empty() {
                out.dispatch("keep", item(0));
            }
            notes(&log, events);
            Ok(())
        }));
        let spawn = sim.spawn(move || stepped).mailbox(2).overflow(Overflow::DropOldest);
        let stepped = spawn.start().unwrap();
        sim.run_until_idle();
        for n in 0..5 {
            stepped.send(n).unwrap();
            sim.run_until_idle();
        }
        assert_eq!(fixture.log.take(), Vec::<String>::new());
        fixture.complete(item(7));
        sim.run_until_idle();
        assert_eq!(fixture.log.take(), ["#1 7", "message 3", "message 4"]);
    }
}
