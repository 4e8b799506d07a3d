//! Replays a machine scenario in a simulation.

use super::recorded::{Happened, Recorded, Say};
use super::table::{Step, Table, parse};
use crate::scenario::Scenario;
use crate::terms;
use krarup::behavior::behavior_fn;
use krarup::observe::{Inspection, Value};
use krarup::testing::Simulation;
use krarup::{Address, CallError, Context, Machine, Watch};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

/// Returns the lines of the scenario, input and expectations, as they come out in this simulation.
pub(crate) fn replay(scenario: &Scenario, sim: Simulation) -> Vec<String> {
    let (table, steps) = parse(&scenario.lines).expect("a scenario that was checked");
    let input = scenario.lines.iter().filter(|line| !line.starts_with("= "));
    let declared = input.clone().take(input.count() - steps.len()).cloned();
    let mut lines: Vec<String> = declared.collect();
    let mut stage = Stage {
        sim,
        table: Some(table),
        machine: None,
        happened: Happened::default(),
        calls: 0,
        failed: Failed::default(),
        is_held: false,
    };
    for (line, step) in steps {
        lines.push(line);
        lines.extend(stage.step(step).into_iter().map(|line| format!("= {line}")));
    }
    lines
}

/// The calls that have failed, with their reasons.
type Failed = Arc<Mutex<Vec<(u32, String)>>>;

struct Stage {
    sim: Simulation,
    table: Option<Table>,
    /// The machine and its end, while it runs.
    machine: Option<(Address<Say>, Watch)>,
    happened: Happened,
    calls: u32,
    failed: Failed,
    is_held: bool,
}

impl Stage {
    fn step(&mut self, step: Step) -> Vec<String> {
        if let Step::Start = step {
            self.start();
        }
        let machine = self.machine.as_ref().map(|(machine, _)| machine.clone());
        let Some(machine) = machine else { return vec!["skip".to_owned()] };
        match step {
            Step::Start => {}
            Step::Cast(word) => machine.send(Say::Cast(word)).expect("a machine that runs"),
            Step::Call(word) => self.call(&machine, word),
            Step::Advance(time) => self.sim.advance(time),
            Step::Hold => {
                self.is_held = true;
                let held = self.sim.suspend(machine.pid()).wait();
                held.expect("a machine that runs");
            }
            Step::Release => {
                self.is_held = false;
                self.sim.resume(machine.pid());
            }
            Step::Stop(reason) => {
                let stop = machine.stop().reason(terms::reason(&reason));
                self.run(async move {
                    let _ = stop.await;
                });
            }
            Step::Exit(reason) => self.sim.exit(machine.pid(), terms::reason(&reason)),
        }
        self.sim.run_until_idle();
        self.outcome(&machine)
    }

    fn start(&mut self) {
        let table = self.table.take().expect("one start");
        let machine = Recorded::new(table, &self.happened);
        let address = self.sim.spawn(|| Machine::new(machine)).start().expect("a simulation");
        let end = address.watch();
        self.machine = Some((address, end));
    }

    fn call(&mut self, machine: &Address<Say>, word: String) {
        self.calls += 1;
        let number = self.calls;
        let machine = machine.clone();
        let failed = Arc::clone(&self.failed);
        self.run(async move {
            let call = machine.call(move |reply| Say::Call(word, number, Some(reply)));
            let reason = match call.no_timeout().await {
                Ok(_) => return,
                Err(CallError::Terminated { reason, .. } | CallError::NotBegun { reason, .. }) => {
                    terms::word(&reason)
                }
                Err(other) => other.to_string(),
            };
            failed.lock().unwrap_or_else(PoisonError::into_inner).push((number, reason));
        });
    }

    /// Runs this in a new process.
    fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
        let task = behavior_fn(move |_: Context<()>| async move {
            task.await;
            Ok(())
        });
        self.sim.spawn(|| task).start().expect("a simulation that runs");
    }

    /// What has happened in a step, and how things stand when all is quiet.
    fn outcome(&mut self, machine: &Address<Say>) -> Vec<String> {
        let mut lines = self.happened.take();
        let ended = self.machine.as_mut().and_then(|(_, end)| {
            let mut cx = std::task::Context::from_waker(Waker::noop());
            match Pin::new(end).poll(&mut cx) {
                Poll::Ready(down) => Some(down.reason),
                Poll::Pending => None,
            }
        });
        if let Some(reason) = &ended {
            self.machine = None;
            lines.push(format!("end {}", terms::word(reason)));
        }
        let mut failed =
            std::mem::take(&mut *self.failed.lock().unwrap_or_else(PoisonError::into_inner));
        failed.sort();
        lines.extend(failed.into_iter().map(|(number, reason)| format!("fail #{number} {reason}")));
        lines.push(if ended.is_some() {
            "down".to_owned()
        } else if self.is_held {
            "held".to_owned()
        } else {
            match machine.inspect().wait() {
                Ok(inspection) => describe(&inspection),
                Err(error) => format!("no inspection: {error}"),
            }
        });
        lines
    }
}

/// The line `at`, from the inspection of a machine.
fn describe(inspection: &Inspection) -> String {
    let state = inspection.text("state").unwrap_or("?");
    let postponed = inspection.number("postponed").unwrap_or(u64::MAX);
    let timers = match inspection.value("timers") {
        Some(Value::List(timers)) => timers.iter().map(timer).collect(),
        _ => vec!["?".to_owned()],
    };
    let mut timers: Vec<String> = timers;
    timers.sort();
    let timers = if timers.is_empty() { "-".to_owned() } else { timers.join(",") };
    format!("at {state} postponed={postponed} timers={timers}")
}

fn timer(timer: &Value) -> String {
    let Value::Record(timer) = timer else { return "?".to_owned() };
    let kind = timer.text("kind").unwrap_or("?");
    timer.text("name").map_or_else(|| kind.to_owned(), |name| format!("{kind}:{name}"))
}
