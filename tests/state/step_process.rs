//! Step processes (rules W1 to W5): entry points, commands, completions by tag, and their ends.

use crate::support::journal::Journal;
use crate::support::{Guard, Log, boom, simulations};
use krarup::behavior::behavior_fn;
use krarup::prelude::*;
use krarup::step::{
    CommandError, Commands, Completion, StepEvent, StepOutput, StepProcess, Stepped, Tag,
    UnknownMethod,
};
use krarup::testing::Probe;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

type Events = VecDeque<StepEvent<u64, Reply<u64>>>;
type Output = StepOutput<u64>;
type Step = Box<dyn FnMut(&Log, &mut Events, &mut Output) -> Result + Send>;

/// A machine whose steps are a closure; it notes what it is given.
struct Machine {
    log: Log,
    step: Step,
    /// Panics when it is closed.
    sore: bool,
    _guard: Guard,
}

impl StepProcess for Machine {
    type Value = u64;
    type Message = Reply<u64>;

    fn init(&mut self, ctx: &Context<Reply<u64>>, method: &str, inputs: Vec<u64>) -> Result {
        let inputs: Vec<String> = inputs.iter().map(u64::to_string).collect();
        self.log.note(format!("init {method} {}", inputs.join(" ")));
        if method == "clock" {
            self.log.note(format!("{} of {:?} at {}", ctx.pid(), ctx.parent(), ctx.now()));
            return Ok(());
        }
        match method {
            "main" | "other" => Ok(()),
            _ => Err(UnknownMethod(method.to_owned()).into()),
        }
    }

    fn step(&mut self, events: &mut Events, out: &mut Output) -> Result {
        for event in &*events {
            match event {
                StepEvent::Completed { tag, outcome: Ok(value) } => {
                    self.log.note(format!("{tag} {value}"));
                }
                StepEvent::Completed { tag, outcome: Err(error) } => {
                    self.log.note(format!("{tag} {error}"));
                }
                StepEvent::Message { .. } => self.log.note("message"),
                StepEvent::Cancel(reason) => self.log.note(format!("cancel {reason}")),
            }
        }
        (self.step)(&self.log, events, out)
    }

    fn close(&mut self) {
        self.log.note("close");
        assert!(!self.sore, "sore");
    }
}

fn machine<F>(log: &Log, step: F) -> Machine
where
    F: FnMut(&Log, &mut Events, &mut Output) -> Result + Send + 'static,
{
    let guard = Guard::new(log, "dropped");
    Machine { log: log.clone(), step: Box::new(step), sore: false, _guard: guard }
}

type Kept = Arc<Mutex<Vec<Completion<u64>>>>;

/// `echo` at once, `sleep` for so many milliseconds, `keep` for the test to complete, `fail`,
/// `panic`, and `guarded`, which notes when it is given up.
fn commands(log: &Log, kept: &Kept) -> Arc<Commands<u64, Reply<u64>>> {
    let (log, kept) = (log.clone(), Arc::clone(kept));
    Arc::new(
        Commands::new()
            .at_once("echo", |_, value| Ok(value))
            .at_once("fail", |_, _| Err(CommandError::Failed(boom())))
            .at_once("panic", |_, _| panic!("handler"))
            .awaited("panic later", |ctx, _| {
                let sleep = ctx.sleep(SECOND);
                async move {
                    sleep.await;
                    panic!("later")
                }
            })
            .awaited("sleep", |ctx, ms| {
                let sleep = ctx.sleep(Duration::from_millis(ms));
                async move {
                    sleep.await;
                    Ok(ms)
                }
            })
            .awaited("guarded", move |_, _| {
                let guard = Guard::new(&log, "given up");
                async move {
                    let _guard = guard;
                    std::future::pending().await
                }
            })
            .deferred("keep", move |_, _, completion| kept.lock().unwrap().push(completion)),
    )
}

type Running = Address<Reply<u64>>;

fn start<F>(sim: &Simulation, log: &Log, kept: &Kept, step: F) -> Running
where
    F: FnMut(&Log, &mut Events, &mut Output) -> Result + Send + 'static,
{
    let (machine, commands) = (machine(log, step), commands(log, kept));
    let log = log.clone();
    sim.spawn(move || {
        Stepped::new(machine, commands, "main", [7])
            .then(move |result| log.note(format!("result {result}")))
    })
    .start()
    .unwrap()
}

#[test]
fn w1_a_process_runs_from_the_entry_point_that_is_named() {
    for method in ["main", "other"] {
        let (sim, log) = (Simulation::new(1), Log::new());
        let (machine, commands) = (
            machine(&log, |_, _, out| {
                out.done(0);
                Ok(())
            }),
            commands(&log, &Kept::default()),
        );
        sim.spawn(move || Stepped::new(machine, commands, method, [3])).start().unwrap();
        sim.run_until_idle();
        assert_eq!(log.take(), [format!("init {method} 3"), "close".into(), "dropped".into()]);
    }
}

#[test]
fn w1_init_receives_pid_time_and_any_number_of_inputs() {
    for inputs in [vec![], vec![3], vec![4, 5, 6], (0..1000).collect()] {
        let (sim, log) = (Simulation::new(1), Log::new());
        sim.advance(7 * SECOND);
        let (machine, commands) = (
            machine(&log, |_, _, out| {
                out.idle();
                Ok(())
            }),
            commands(&log, &Kept::default()),
        );
        let given = inputs.clone();
        let now = sim.now();
        let stepped = sim.spawn(move || Stepped::new(machine, commands, "clock", given));
        let pid = stepped.wait().unwrap().pid();
        let inputs: Vec<String> = inputs.iter().map(u64::to_string).collect();
        let told = format!("init clock {}", inputs.join(" "));
        assert_eq!(log.take(), [told, format!("{pid} of None at {now}")]);
    }
}

#[test]
fn w1_an_unknown_entry_point_fails_the_spawn_and_no_step_runs() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let (machine, commands) =
        (machine(&log, |_, _, _| panic!("a step")), commands(&log, &Kept::default()));
    let error = sim.spawn(move || Stepped::new(machine, commands, "nowhere", [3])).wait();
    assert!(error.unwrap_err().to_string().contains("unknown method \"nowhere\""));
    assert_eq!(log.take(), ["init nowhere 3", "close", "dropped"]);
}

/// All orders of so many things.
fn orders(most: usize) -> Vec<Vec<usize>> {
    let Some(last) = most.checked_sub(1) else { return vec![Vec::new()] };
    let shorter = orders(last);
    let with_last = |at: usize| {
        shorter.iter().map(move |order| {
            let mut order = order.clone();
            order.insert(at, last);
            order
        })
    };
    (0..most).flat_map(with_last).collect()
}

/// Each order of five completions, and each way to have some of them come together.
#[test]
fn w2_completions_are_matched_by_tag_in_any_order() {
    let orders = orders(5);
    assert_eq!(orders.len(), 120);
    for order in orders {
        for together in 0..1_u32 << 4 {
            in_this_order(&order, together);
        }
    }
}

fn in_this_order(order: &[usize], together: u32) {
    let sim = Simulation::new(u64::from(together));
    let (log, kept) = (Log::new(), Kept::default());
    let mut tags: Vec<Tag> = Vec::new();
    let mut left = 5;
    let running = start(&sim, &log, &kept, move |_, events, out| {
        if tags.is_empty() {
            tags = (0..5).map(|number| out.dispatch("keep", number)).collect();
            assert!(tags.iter().map(|tag| tag.number()).eq(1..=5));
        }
        for event in events.drain(..) {
            if let StepEvent::Completed { tag, outcome } = event {
                assert_eq!(outcome.unwrap(), tag.number() * 10);
                left -= 1;
            }
        }
        if left == 0 {
            out.done(9);
        }
        Ok(())
    });
    sim.run_until_idle();
    log.take();
    let mut completions: Vec<_> = kept.lock().unwrap().drain(..).map(Some).collect();
    for (place, which) in order.iter().enumerate() {
        let completion = completions[*which].take().unwrap();
        let value = completion.tag().number() * 10;
        completion.complete(Ok(value));
        if together >> place & 1 == 0 {
            sim.run_until_idle();
        }
    }
    sim.run_until_idle();
    assert!(!running.is_alive());
    let told: Vec<String> =
        order.iter().map(|which| format!("#{} {}0", which + 1, which + 1)).collect();
    let lines = log.take();
    assert_eq!(lines[..5], told, "in the order in which they were completed");
    assert!(lines.contains(&"result 9".to_owned()));
}

#[test]
fn w2_a_command_failure_is_reported_by_its_tag() {
    let (sim, log, kept) = (Simulation::new(1), Log::new(), Kept::default());
    let mut begun = false;
    start(&sim, &log, &kept, move |_, _, out| {
        if !std::mem::replace(&mut begun, true) {
            for name in ["echo", "fail", "Unheard of", "panic", "panic later", "keep"] {
                out.dispatch(name, 4);
            }
        }
        Ok(())
    });
    sim.run_until_idle();
    kept.lock().unwrap().clear();
    sim.advance(2 * SECOND);
    let lines = log.take();
    let told = |tag: u64, text: &str| {
        lines.iter().any(|line| line.starts_with(&format!("#{tag} ")) && line.contains(text))
    };
    assert!(told(1, "4") && told(2, "boom"), "{lines:?}");
    assert!(told(3, "unknown command \"Unheard of\""), "{lines:?}");
    assert!(told(4, "handler") && told(5, "later"), "{lines:?}");
    assert!(told(6, "dropped"), "{lines:?}");
}

#[test]
fn w2_100_000_commands_of_which_a_step_gives_up_half_cost_no_search() {
    const MANY: u64 = 100_000;
    let sim = Simulation::new(1);
    let done = Arc::new(Mutex::new(Vec::new()));
    let completed = Arc::clone(&done);
    let mut left = None;
    start(&sim, &Log::new(), &Kept::default(), move |_, events, out| {
        if left.is_none() {
            let tags: Vec<Tag> = (0..MANY).map(|n| out.dispatch("echo", n)).collect();
            // The last first, and one of them twice.
            tags.iter().rev().step_by(2).chain(tags.last()).for_each(|tag| out.cancel(*tag));
            left = Some(MANY / 2);
        }
        for event in events.drain(..) {
            let StepEvent::Completed { outcome: Ok(value), .. } = event else { continue };
            completed.lock().unwrap().push(value);
            left = left.map(|left| left - 1);
        }
        if left == Some(0) {
            out.done(0);
        }
        Ok(())
    });
    sim.run_until_idle();
    assert!(done.lock().unwrap().iter().copied().eq((0..MANY).step_by(2)));
}

#[test]
fn w2_a_command_that_is_given_up_is_dropped_and_completes_nothing() {
    for sim in simulations(3) {
        let (log, kept) = (Log::new(), Kept::default());
        let mut tags = None;
        let running = start(&sim, &log, &kept, move |_, events, out| {
            let (guarded, keep) = *tags.get_or_insert_with(|| {
                let never = out.dispatch("guarded", 0);
                out.cancel(never);
                (out.dispatch("guarded", 0), out.dispatch("keep", 0))
            });
            let told = events.drain(..).any(|event| matches!(event, StepEvent::Message { .. }));
            if told {
                out.cancel(guarded);
                out.cancel(keep);
            }
            out.idle();
            Ok(())
        });
        sim.run_until_idle();
        assert_eq!(log.count("given up"), 0);
        let _ = running.call(|reply| reply).timeout(Duration::ZERO).wait();
        sim.run_until_idle();
        assert_eq!(log.count("given up"), 1);
        kept.lock().unwrap().pop().unwrap().complete(Ok(5));
        sim.run_until_idle();
        assert_eq!(log.count("#"), 0, "{:?}", log.lines());
        let inspected = running.inspect().wait().unwrap();
        assert_eq!(inspected.number("outstanding"), Some(0));
    }
}

#[test]
fn w3_a_blocked_process_wakes_for_completions_and_an_idle_one_for_anything() {
    for sim in simulations(3) {
        let (log, kept) = (Log::new(), Kept::default());
        let mut first = true;
        let running = start(&sim, &log, &kept, move |log, events, out| {
            log.note("step");
            if std::mem::take(&mut first) {
                out.dispatch("keep", 0);
            }
            for event in events.drain(..) {
                if let StepEvent::Message { message, .. } = event {
                    message.send(1);
                }
            }
            Ok(())
        });
        sim.run_until_idle();
        assert_eq!(running.inspect().wait().unwrap().text("status"), Some("blocked"));
        log.take();
        running.send(token(&sim)).unwrap();
        sim.run_until_idle();
        assert_eq!(log.take(), Vec::<String>::new());
        kept.lock().unwrap().pop().unwrap().complete(Ok(3));
        sim.run_until_idle();
        assert_eq!(log.take(), ["message", "#1 3", "step"]);
        assert_eq!(running.inspect().wait().unwrap().text("status"), Some("idle"));
        running.send(token(&sim)).unwrap();
        sim.run_until_idle();
        assert_eq!(log.take(), ["message", "step"]);
    }
}

/// A reply token of a call that nobody waits for.
fn token(sim: &Simulation) -> Reply<u64> {
    let probe = Probe::<Reply<u64>>::spawn(sim);
    let _ = probe.address().call(|reply| reply).timeout(Duration::ZERO).wait();
    probe.expect(SECOND)
}

#[test]
fn w3_a_message_finds_a_step_process_by_its_pid_its_name_and_its_address() {
    for sim in simulations(3) {
        let (log, kept) = (Log::new(), Kept::default());
        let machine = machine(&log, |log, events, out| {
            for event in events.drain(..) {
                if let StepEvent::Message { sender, message } = event {
                    log.note(sender.map_or("nobody".to_owned(), |pid| pid.to_string()));
                    message.send(1);
                }
            }
            out.idle();
            Ok(())
        });
        let commands = commands(&log, &kept);
        let running = sim
            .spawn(move || Stepped::new(machine, commands, "main", [0]))
            .name("stepped")
            .start()
            .unwrap();
        sim.run_until_idle();
        log.take();
        let to = running.clone();
        let caller = behavior_fn(move |_: Context<()>| async move {
            assert_eq!(to.call(|reply| reply).await, Ok(1));
            Ok(())
        });
        let caller = sim.spawn(move || caller).start().unwrap().pid();
        sim.run_until_idle();
        assert_eq!(log.take(), ["message".to_owned(), caller.to_string()]);
        assert!(sim.send(running.pid(), token(&sim)).is_ok());
        sim.run_until_idle();
        assert!(sim.send("stepped", token(&sim)).is_ok());
        sim.run_until_idle();
        assert_eq!(log.take(), ["message", "nobody", "message", "nobody"]);
        sim.kill(running.pid());
        sim.run_until_idle();
        let late = sim.send(running.pid(), token(&sim));
        assert!(matches!(late, Err(SendError::NoProcess { to, .. }) if to == running.pid()));
        let late = sim.send("stepped", token(&sim));
        assert!(matches!(late, Err(SendError::NoName { name, .. }) if name == "stepped"));
    }
}

#[test]
fn w3_a_command_that_is_done_at_once_brings_the_next_step_at_once() {
    for sim in simulations(3) {
        let (log, kept) = (Log::new(), Kept::default());
        let mut steps = 0;
        start(&sim, &log, &kept, move |_, _, out| {
            steps += 1;
            if steps == 100 {
                out.done(steps);
            } else {
                out.dispatch("echo", steps);
            }
            Ok(())
        });
        sim.run_until_idle();
        assert_eq!(log.count("result 100"), 1);
    }
}

#[test]
fn w3_no_completion_from_another_thread_is_lost() {
    let node = Node::start("steps@localhost").unwrap();
    let (done, result) = std::sync::mpsc::channel();
    let commands: Arc<Commands<u64, Reply<u64>>> =
        Arc::new(Commands::new().deferred("thread", |_, value, completion: Completion<u64>| {
            // Some at the very moment, some later.
            if value % 3 == 0 {
                completion.complete(Ok(value));
            } else {
                std::thread::spawn(move || completion.complete(Ok(value)));
            }
        }));
    for _ in 0..4 {
        let log = Log::new();
        let mut left = 500;
        let machine = machine(&log, move |_, _, out| {
            if left == 0 {
                out.done(0);
            } else {
                left -= 1;
                out.dispatch("thread", left);
            }
            Ok(())
        });
        let (commands, done) = (Arc::clone(&commands), done.clone());
        node.spawn(move || {
            Stepped::new(machine, commands, "main", [0]).then(move |_| done.send(()).unwrap())
        })
        .start()
        .unwrap();
    }
    for _ in 0..4 {
        result.recv_timeout(Duration::from_secs(60)).unwrap();
    }
    node.stop().wait().unwrap();
}

/// Both kinds of producers at once: handlers that complete, and senders.
#[test]
fn w3_messages_and_completions_of_many_threads_all_come_once() {
    const COMMANDS: u64 = 3_000;
    const EACH: u64 = 500;
    const SENDERS: u64 = 3;
    let node = Node::start("both@localhost").unwrap();
    let commands: Arc<Commands<u64, Reply<u64>>> =
        Arc::new(Commands::new().deferred("thread", |_, value, completion: Completion<u64>| {
            std::thread::spawn(move || completion.complete(Ok(value)));
        }));
    let (done, result) = std::sync::mpsc::channel();
    let (mut begun, mut completed, mut answered) = (0, 0, 0);
    let machine = machine(&Log::new(), move |_, events, out| {
        for event in events.drain(..) {
            match event {
                StepEvent::Completed { outcome, .. } => completed += u64::from(outcome.is_ok()),
                StepEvent::Message { message, .. } => {
                    answered += 1;
                    message.send(answered);
                }
                StepEvent::Cancel(_) => {}
            }
        }
        // One after the other: they go on when the senders have gone.
        if begun == completed && begun < COMMANDS {
            begun += 1;
            out.dispatch("thread", begun);
        }
        // Never blocked, so that both wake it.
        out.idle();
        if (completed, answered) == (COMMANDS, SENDERS * EACH) {
            out.done(0);
        }
        Ok(())
    });
    let running = node
        .spawn(move || {
            Stepped::new(machine, commands, "main", [0]).then(move |_| done.send(()).unwrap())
        })
        .start()
        .unwrap();
    let senders: Vec<_> = (0..SENDERS)
        .map(|_| {
            let running = running.clone();
            std::thread::spawn(move || -> Vec<u64> {
                let ask = || running.call(|reply| reply).timeout(Duration::from_secs(60)).wait();
                (0..EACH).map(|_| ask().unwrap()).collect()
            })
        })
        .collect();
    let mut answers: Vec<u64> = senders.into_iter().flat_map(|s| s.join().unwrap()).collect();
    answers.sort_unstable();
    assert!(answers.into_iter().eq(1..=SENDERS * EACH));
    result.recv_timeout(Duration::from_secs(60)).unwrap();
    node.stop().wait().unwrap();
}

#[test]
fn w3_a_step_process_that_never_waits_shares_its_worker() {
    for sim in simulations(3) {
        let (log, kept) = (Log::new(), Kept::default());
        let running = start(&sim, &log, &kept, |_, events, out| {
            for event in events.drain(..) {
                if let StepEvent::Message { message, .. } = event {
                    message.send(1);
                    out.done(1);
                    return Ok(());
                }
            }
            out.again();
            Ok(())
        });
        let probe = Probe::<u64>::spawn(&sim);
        let tell = probe.address();
        sim.spawn(move || {
            behavior_fn(move |_: Context<()>| async move {
                tell.send(running.call(|reply| reply).await?)?;
                Ok(())
            })
        })
        .start()
        .unwrap();
        assert_eq!(probe.expect(SECOND), 1);
    }
}

#[test]
fn w4_however_it_ends_it_is_closed_once_and_its_commands_are_given_up_first() {
    for how in ["done", "error", "panic", "kill", "exit", "stop"] {
        for sim in simulations(3) {
            let (log, kept) = (Log::new(), Kept::default());
            let mut first = true;
            let running = start(&sim, &log, &kept, move |_, events, out| {
                if std::mem::take(&mut first) {
                    out.dispatch("guarded", 0);
                    out.dispatch("keep", 0);
                }
                if events.iter().any(|event| matches!(event, StepEvent::Cancel(_))) {
                    out.done(1);
                    return Ok(());
                }
                let told = events.drain(..).any(|event| matches!(event, StepEvent::Message { .. }));
                match how {
                    "done" if told => out.done(1),
                    "error" if told => return Err(boom()),
                    "panic" if told => panic!("step"),
                    _ => out.idle(),
                }
                Ok(())
            });
            sim.run_until_idle();
            log.take();
            let end = running.watch();
            match how {
                "kill" => sim.kill(running.pid()),
                "exit" => sim.exit(running.pid(), boom()),
                "stop" => drop(running.stop().wait()),
                _ => running.send(token(&sim)).unwrap(),
            }
            sim.run_until_idle();
            assert!(!running.is_alive());
            drop(end);
            let lines = log.take();
            let ends: Vec<&str> = lines
                .iter()
                .map(String::as_str)
                .filter(|line| ["given up", "close", "dropped"].contains(line))
                .collect();
            assert_eq!(ends, ["given up", "close", "dropped"], "{how}");
            assert_eq!(lines.contains(&"result 1".to_owned()), how == "done" || how == "stop");
            // A completion that comes now completes nothing.
            kept.lock().unwrap().pop().unwrap().complete(Ok(1));
        }
    }
}

#[test]
fn w4_a_close_that_panics_does_no_harm() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let mut machine = machine(&log, |_, _, out| {
        out.done(0);
        Ok(())
    });
    machine.sore = true;
    let commands = commands(&log, &Kept::default());
    let probe = Probe::<()>::spawn(&sim);
    let running = sim.spawn(move || Stepped::new(machine, commands, "main", [0])).start().unwrap();
    probe.monitor(running.pid());
    let reason = probe.expect_down(SECOND, running.pid());
    assert!(!reason.is_abnormal(), "{reason}");
    assert_eq!(log.take(), ["init main 0", "close", "dropped"]);
}

#[test]
fn w4_a_close_that_panics_does_no_harm_though_the_log_subscriber_panics_too() {
    let told = Journal::new(|event| event.target() == "krarup", |_| panic!("a log subscriber"));
    tracing::subscriber::with_default(told, || {
        let (sim, log) = (Simulation::new(1), Log::new());
        let mut machine = machine(&log, |_, _, out| {
            out.done(0);
            Ok(())
        });
        machine.sore = true;
        let commands = commands(&log, &Kept::default());
        let running = sim.spawn(move || Stepped::new(machine, commands, "main", [0]));
        let running = running.start().unwrap();
        let end = sim.node().watch(running.pid());
        let reason = end.wait().unwrap().reason;
        assert!(!reason.is_abnormal(), "{reason}");
        assert_eq!(log.take(), ["init main 0", "close", "dropped"]);
    });
}

#[test]
fn w5_a_stop_is_a_cancel_event_and_a_process_that_ignores_it_is_killed() {
    let (sim, log, kept) = (Simulation::new(1), Log::new(), Kept::default());
    let mut finishing = false;
    let finishes = start(&sim, &log, &kept, move |_, events, out| {
        if finishing {
            out.done(5);
        } else if events.iter().any(|event| matches!(event, StepEvent::Cancel(_))) {
            finishing = true;
            out.dispatch("sleep", 300);
        } else {
            out.idle();
        }
        Ok(())
    });
    let ignores = start(&sim, &log, &kept, |_, _, out| {
        out.idle();
        Ok(())
    });
    let told = start(&sim, &log, &kept, |_, events, out| {
        if events.iter().any(|event| matches!(event, StepEvent::Cancel(_))) {
            out.done(6);
        }
        Ok(())
    });
    sim.run_until_idle();
    log.take();
    assert!(ignores.stop().timeout(SECOND).wait().is_err());
    assert!(ignores.is_alive());
    finishes.stop().timeout(SECOND).wait().unwrap();
    // The node's stop has no more patience than it is told to have.
    sim.stop().timeout(SECOND).wait().unwrap();
    assert!(!finishes.is_alive() && !ignores.is_alive() && !told.is_alive());
    let lines = log.take();
    // Once each, by whomever; the last one by the stop of the node alone.
    assert_eq!(lines.iter().filter(|line| line.starts_with("cancel ")).count(), 3);
    assert_eq!(lines.iter().filter(|line| *line == "cancel shutdown").count(), 1);
    assert_eq!(lines.iter().filter(|line| *line == "close").count(), 3);
    assert!(["result 5", "result 6"].iter().all(|line| lines.contains(&(*line).to_owned())));
}

/// Starts a process that ends with its one command, and stops it twice before that.
fn stopped_twice(
    sim: &Simulation,
    log: &Log,
    kept: &Kept,
    command: &'static str,
    argument: u64,
) -> Running {
    let mut first = true;
    let running = start(sim, log, kept, move |_, events, out| {
        if std::mem::take(&mut first) {
            out.dispatch(command, argument);
        }
        if events.iter().any(|event| matches!(event, StepEvent::Completed { .. })) {
            out.done(1);
        }
        Ok(())
    });
    sim.run_until_idle();
    for reason in [boom(), Reason::Shutdown] {
        running.process().request_stop(reason);
        sim.run_until_idle();
    }
    running
}

#[test]
fn w5_of_two_stops_the_first_gives_the_reason_and_causes_one_cancel_event() {
    for sim in simulations(3) {
        let (log, kept) = (Log::new(), Kept::default());
        let running = stopped_twice(&sim, &log, &kept, "keep", 0);
        running.finish();
        sim.run_until_idle();
        assert_eq!((running.is_alive(), log.count("cancel")), (true, 1));
        let completion = kept.lock().unwrap().pop().unwrap();
        completion.complete(Ok(3));
        assert_eq!(running.watch().wait().unwrap().reason, boom());
    }
}

#[test]
fn w5_messages_left_by_a_step_or_by_the_end_are_dead_letters() {
    let (sim, log, kept) = (Simulation::new(1), Log::new(), Kept::default());
    let running = start(&sim, &log, &kept, |_, _, out| {
        out.idle();
        Ok(())
    });
    sim.run_until_idle();
    let before = sim.stats().dead_letters;
    running.send(token(&sim)).unwrap();
    sim.run_until_idle();
    assert_eq!(sim.stats().dead_letters, before + 1);
    // A step that fails has left what it was given, too.
    let fails = start(&sim, &log, &kept, |_, events, out| {
        out.idle();
        if events.is_empty() { Ok(()) } else { Err(boom()) }
    });
    sim.run_until_idle();
    fails.send(token(&sim)).unwrap();
    sim.run_until_idle();
    assert_eq!((fails.is_alive(), sim.stats().dead_letters), (false, before + 2));
    // One that is blocked has taken in what no step has had when it ends.
    for suspended in [false, true] {
        let mut first = true;
        let running = start(&sim, &log, &kept, move |_, _, out| {
            if std::mem::take(&mut first) {
                out.dispatch("keep", 0);
            }
            Ok(())
        });
        sim.run_until_idle();
        let before = sim.stats().dead_letters;
        if suspended {
            running.suspend().wait().unwrap();
        }
        (0..3).for_each(|_| running.send(token(&sim)).unwrap());
        sim.run_until_idle();
        assert_eq!(sim.stats().dead_letters, before);
        sim.kill(running.pid());
        sim.run_until_idle();
        assert_eq!(sim.stats().dead_letters, before + 3);
    }
}

#[test]
fn w5_a_suspended_finishing_step_process_finishes_when_it_is_resumed() {
    for sim in simulations(3) {
        let (log, kept) = (Log::new(), Kept::default());
        let running = start(&sim, &log, &kept, |_, events, out| {
            if events.iter().any(|event| matches!(event, StepEvent::Cancel(_))) {
                out.done(1);
            } else {
                out.idle();
            }
            for event in events.drain(..) {
                if let StepEvent::Message { message, .. } = event {
                    message.send(1);
                }
            }
            Ok(())
        });
        sim.run_until_idle();
        let end = running.watch();
        running.suspend().wait().unwrap();
        running.send(token(&sim)).unwrap();
        running.finish();
        sim.advance(SECOND);
        assert!(running.is_alive() && log.count("message") == 0);
        running.resume();
        sim.run_until_idle();
        assert_eq!(end.wait().unwrap().reason, Reason::Normal);
        assert_eq!((log.count("message"), sim.stats().dead_letters), (1, 0));
    }
}

#[test]
fn w5_a_bound_holds_while_a_process_is_blocked() {
    let (sim, log, kept) = (Simulation::new(1), Log::new(), Kept::default());
    let mut first = true;
    let machine = machine(&log, move |_, events, out| {
        if std::mem::take(&mut first) {
            out.dispatch("keep", 0);
        }
        for event in events.drain(..) {
            if let StepEvent::Message { message, .. } = event {
                message.send(1);
            }
        }
        Ok(())
    });
    let commands = commands(&log, &kept);
    let running =
        sim.spawn(move || Stepped::new(machine, commands, "main", [0])).mailbox(3).start().unwrap();
    sim.run_until_idle();
    let mut accepted = 0;
    for _ in 0..20 {
        accepted += u32::from(running.send(token(&sim)).is_ok());
        sim.run_until_idle();
    }
    assert_eq!(accepted, 3);
    kept.lock().unwrap().pop().unwrap().complete(Ok(0));
    sim.run_until_idle();
    assert_eq!(log.count("message"), 3);
}

#[test]
fn w2_every_completion_comes_once_in_every_order_of_kills_and_completions() {
    let mut run = 0;
    Simulation::explore(0..300, |sim| {
        run += 1;
        let (log, kept) = (Log::new(), Kept::default());
        let mut left = 30_u64;
        let running = start(sim, &log, &kept, move |_, _, out| {
            for _ in 0..3 {
                if left > 0 {
                    left -= 1;
                    let name = ["echo", "sleep", "keep"][usize::try_from(left % 3).unwrap_or(0)];
                    out.dispatch(name, left % 5);
                }
            }
            out.idle();
            Ok(())
        });
        for step in 0..200 {
            if step == run && run % 2 == 0 {
                sim.kill(running.pid());
            }
            sim.step();
            if step % 7 == 0
                && let Some(completion) = kept.lock().unwrap().pop()
            {
                completion.complete(Ok(0));
            }
        }
        sim.advance(SECOND);
        kept.lock().unwrap().drain(..).for_each(|completion| completion.complete(Ok(0)));
        sim.advance(SECOND);
        let mut lines = log.take();
        lines.retain(|line| line.starts_with('#'));
        let told = lines.len();
        lines.sort();
        lines.dedup();
        assert_eq!(lines.len(), told, "notified twice: {lines:?}");
        if running.is_alive() {
            assert_eq!(told, 30);
            sim.kill(running.pid());
            sim.run_until_idle();
        }
        assert!(!running.is_alive());
        Ok(())
    });
}

#[test]
fn w5_a_blocked_process_with_a_full_mailbox_receives_stops_and_inspections() {
    for sim in simulations(3) {
        let (log, kept) = (Log::new(), Kept::default());
        let mut first = true;
        let machine = machine(&log, move |_, events, out| {
            if std::mem::take(&mut first) {
                out.dispatch("keep", 0);
            }
            if events.iter().any(|event| matches!(event, StepEvent::Cancel(_))) {
                out.done(1);
            }
            Ok(())
        });
        let commands = commands(&log, &kept);
        let running = sim
            .spawn(move || Stepped::new(machine, commands, "main", [0]))
            .mailbox(2)
            .start()
            .unwrap();
        sim.run_until_idle();
        while running.send(token(&sim)).is_ok() {
            sim.run_until_idle();
        }
        sim.run_until_idle();
        log.take();
        let inspected = running.inspect().wait().unwrap();
        sim.run_until_idle();
        assert_eq!(
            (inspected.text("status"), inspected.number("events")),
            (Some("blocked"), Some(2))
        );
        assert_eq!(sim.step(), None);
        running.stop().timeout(SECOND).wait().unwrap();
        let lines = log.take();
        // What it had taken in comes with the stop.
        assert_eq!(lines[..4], ["message", "message", "cancel normal", "close"], "{lines:?}");
        kept.lock().unwrap().pop().unwrap().complete(Ok(0));
    }
}

#[test]
fn w4_a_step_process_that_panics_in_init_or_is_killed_in_a_step_is_closed_once() {
    struct PanickingProcess(Log);

    impl StepProcess for PanickingProcess {
        type Value = u64;
        type Message = ();

        fn init(&mut self, _: &Context<()>, _: &str, _: Vec<u64>) -> Result {
            panic!("sore")
        }

        fn step(
            &mut self,
            _: &mut VecDeque<StepEvent<u64, ()>>,
            _: &mut StepOutput<u64>,
        ) -> Result {
            Ok(())
        }

        fn close(&mut self) {
            self.0.note("close");
        }
    }

    let (sim, log, kept) = (Simulation::new(1), Log::new(), Kept::default());
    let sore = PanickingProcess(log.clone());
    let none = Arc::new(Commands::new());
    let error = sim.spawn(move || Stepped::new(sore, none, "main", [0])).wait().unwrap_err();
    assert!(error.to_string().contains("sore"), "{error}");
    assert_eq!(log.take(), ["close"]);

    let node = sim.node().clone();
    let own = Arc::new(Mutex::new(None));
    let pid = Arc::clone(&own);
    let running = start(&sim, &log, &kept, move |log, _, out| {
        out.dispatch("guarded", 0);
        out.dispatch("keep", 0);
        if let Some(pid) = *pid.lock().unwrap() {
            node.kill(pid);
        }
        log.note("step");
        out.again();
        Ok(())
    });
    *own.lock().unwrap() = Some(running.pid());
    let end = running.watch();
    sim.run_until_idle();
    assert_eq!(end.wait().unwrap().reason, Reason::Killed);
    let lines = log.take();
    assert_eq!(lines, ["init main 7", "step", "given up", "close", "dropped"]);
    kept.lock().unwrap().drain(..).for_each(|completion| completion.complete(Ok(0)));
}

#[test]
fn x5_a_suspended_step_process_takes_no_step_until_it_is_resumed_or_to_end() {
    for sim in simulations(3) {
        let (log, kept) = (Log::new(), Kept::default());
        let mut first = true;
        let running = start(&sim, &log, &kept, move |log, events, out| {
            log.note("step");
            if std::mem::take(&mut first) {
                out.dispatch("keep", 0);
                out.dispatch("sleep", 1);
            }
            if events.iter().any(|event| matches!(event, StepEvent::Cancel(_))) {
                out.done(1);
            } else {
                out.idle();
            }
            Ok(())
        });
        sim.run_until_idle();
        running.suspend().wait().unwrap();
        log.take();
        kept.lock().unwrap().pop().unwrap().complete(Ok(3));
        sim.advance(SECOND);
        assert_eq!(log.lines(), Vec::<String>::new());
        assert_eq!(sim.step(), None);
        assert!(running.resume());
        sim.run_until_idle();
        assert_eq!(log.take_sorted(), ["#1 3", "#2 1", "step"]);
        running.suspend().wait().unwrap();
        running.stop().timeout(SECOND).wait().unwrap();
        assert_eq!(log.take()[..2], ["cancel normal", "step"]);
    }
}

#[test]
fn x5_a_step_process_that_never_waits_runs_no_step_while_it_is_suspended() {
    for sim in simulations(3) {
        let (log, kept) = (Log::new(), Kept::default());
        let running = start(&sim, &log, &kept, |log, _, out| {
            log.note("step");
            out.again();
            Ok(())
        });
        assert_eq!((0..10).filter_map(|_| sim.step()).count(), 10);
        running.suspend().wait().unwrap();
        assert!(!log.take().is_empty());
        assert_eq!(sim.step(), None);
        assert_eq!(log.lines(), [""; 0]);
        assert!(running.resume());
        assert_eq!((0..10).filter_map(|_| sim.step()).count(), 10);
        assert!(!log.take().is_empty());
        sim.kill(running.pid());
        sim.run_until_idle();
    }
}

#[test]
fn x5_a_stopping_step_process_continues_when_suspended_after_the_stop() {
    for sim in simulations(3) {
        let (log, kept) = (Log::new(), Kept::default());
        let running = stopped_twice(&sim, &log, &kept, "sleep", 1000);
        running.suspend().wait().unwrap();
        log.take();
        sim.advance(2 * SECOND);
        assert!(!running.is_alive());
        assert_eq!(log.take()[..2], ["#1 1000", "close"]);
    }
}
