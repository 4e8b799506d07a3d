//! Replays a supervisor scenario in the simulation.

use crate::order;
use crate::record::{Handle, InstanceKey, Order, Record, RecordedTree};
use crate::requests::{self, ask, children_text, counts, failed};
use crate::scenario::{Declaration, Outcome, Scenario};
use crate::terms;
use crate::workers::Tree;
use krarup::behavior::{Behavior, Received, behavior_fn};
use krarup::supervisor::{SupervisorAddress, SupervisorCalls};
use krarup::testing::Simulation;
use krarup::{Address, AddressOf, Context, Pid, Reason, SpawnError};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// Nothing in a scenario takes longer than this; a `hang` worker takes its shutdown time.
const PATIENCE: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(50);

/// Returns the lines of the scenario, input and expectations, as they come out here.
/// The workers are actors, or state machines.
pub(crate) fn replay(scenario: &Scenario, sim: Simulation, machines: bool) -> Vec<String> {
    let nodes = scenario.lines.iter().filter_map(|line| Declaration::parse(line)).collect();
    let tree = Tree { nodes: Arc::new(nodes), record: Record::default(), machines };
    let mut stage = Stage { sim, tree, parent: None, queue: Vec::new() };
    let mut lines = Vec::new();
    for line in scenario.lines.iter().filter(|line| !line.starts_with("= ")) {
        lines.push(line.clone());
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        match words[0].as_str() {
            "sup" | "child" => {}
            "plan" => {
                let outcomes = words[2..].iter().map(|word| Outcome::parse(word)).collect();
                stage.tree.record.state().plans.insert(words[1].clone(), outcomes);
            }
            "queue" => stage.queue.push(words[1..].to_vec()),
            _ => lines.extend(stage.step(&words).into_iter().map(|line| format!("= {line}"))),
        }
    }
    lines
}

struct Stage {
    sim: Simulation,
    tree: Tree,
    /// The process that started the root.
    parent: Option<Address<Reason>>,
    queue: Vec<Vec<String>>,
}

impl Stage {
    fn step(&mut self, words: &[String]) -> Vec<String> {
        let queue = std::mem::take(&mut self.queue);
        let touched = self.target(words.get(1).map_or("", String::as_str));
        {
            let mut state = self.tree.record.state();
            state.events.clear();
            state.answers.clear();
            state.gate.armed = !queue.is_empty();
            state.gate.reached = false;
        }
        if !self.act(0, words.to_vec()) {
            return vec!["skip".to_owned()];
        }
        self.settle();
        if self.tree.record.state().gate.reached {
            for (index, words) in queue.iter().enumerate() {
                if !self.act(index + 1, words.clone()) {
                    self.answer(index + 1, "skip");
                }
                self.settle();
            }
        }
        self.tree.record.open_gate();
        self.settle();
        self.tree.record.fill_in_reasons();

        let is_order = matches!(words[0].as_str(), "exit" | "stop" | "crash");
        let mut lines = {
            let state = self.tree.record.state();
            let mut lines = order::lines(&state, touched.filter(|_| is_order));
            let answer = |index| state.answers.get(&index).cloned();
            lines.extend(answer(0).filter(|text| text != "done").map(|text| format!("ret {text}")));
            for index in 1..=queue.len() {
                let text = answer(index).unwrap_or_else(|| "skip".to_owned());
                lines.push(format!("q{index} {text}"));
            }
            lines
        };
        match self.target("root") {
            Some(root) => self.snapshot(root, &mut lines),
            None => lines.push("down".to_owned()),
        }
        lines
    }

    /// Starts an operation without waiting for its result. Returns false if its target is
    /// not alive.
    fn act(&mut self, index: usize, words: Vec<String>) -> bool {
        let argument = |at: usize| words.get(at).map_or("", String::as_str);
        match words[0].as_str() {
            "start" => self.start_root(),
            "shutdown_root" => {
                let Some(parent) = self.parent.clone().filter(|_| self.target("root").is_some())
                else {
                    return false;
                };
                self.answer(index, "done");
                return parent.send(terms::reason(argument(1))).is_ok();
            }
            "exit" | "stop" | "crash" => {
                let Some(target) = self.target(argument(1)) else { return false };
                self.answer(index, "done");
                let (handle, pid) = self.handle(target);
                match (words[0].as_str(), handle) {
                    ("exit", _) => self.sim.exit(pid, terms::reason(argument(2))),
                    ("stop", Handle::Worker(worker)) => {
                        let _ = worker.send(Order::Stop(terms::reason(argument(2))));
                    }
                    (_, Handle::Worker(worker)) => {
                        let _ = worker.send(Order::Crash(argument(2).to_owned()));
                    }
                    (_, Handle::Supervisor(address)) => self.stop(&address, argument(2)),
                    (_, Handle::Simple(address)) => self.stop(&address, argument(2)),
                }
            }
            _ => {
                let Some(target) = self.target(argument(1)) else { return false };
                let (handle, _) = self.handle(target);
                let (tree, record) = (self.tree.clone(), self.tree.record.clone());
                self.run(async move {
                    let text = ask(tree, words, handle).await;
                    record.state().answers.insert(index, text);
                });
            }
        }
        true
    }

    /// Starts the root from a process that traps exits and does nothing else.
    fn start_root(&mut self) {
        let is_root = |node: &&Declaration| node.parent == "-";
        let root = self.tree.nodes.iter().find(is_root).expect("a root").clone();
        let tree = self.tree.clone();
        self.parent = Some(if root.is_simple() {
            self.start_parent(move || tree.simple_supervisor(&root.id))
        } else {
            self.start_parent(move || tree.supervisor(&root.id))
        });
    }

    fn start_parent<B, F>(&self, root: F) -> Address<Reason>
    where
        B: Behavior,
        F: FnOnce() -> B + Send + 'static,
    {
        let record = self.tree.record.clone();
        let parent = behavior_fn(move |mut ctx: Context<Reason>| async move {
            ctx.trap_exits(true);
            let started: Result<AddressOf<B>, SpawnError> = ctx.spawn(root).link().await;
            let text = match &started {
                Ok(address) => format!("ok {}", requests::name(&record.state(), address.pid())),
                Err(SpawnError::Init(reason)) => failed(reason),
                Err(other) => format!("error {other}"),
            };
            record.state().answers.insert(0, text);
            loop {
                if let (Received::Message(reason), Ok(root)) = (ctx.receive().await, &started) {
                    ctx.exit(root.pid(), reason);
                }
            }
        });
        self.sim.spawn(|| parent).start().expect("a simulation that runs")
    }

    fn stop<T: Send + 'static>(&self, address: &SupervisorAddress<T>, reason: &str) {
        let stop = address.stop().reason(terms::reason(reason));
        self.run(async move {
            let _ = stop.await;
        });
    }

    /// Runs this in a new process.
    fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
        let task = behavior_fn(move |_ctx: Context<()>| async move {
            task.await;
            Ok(())
        });
        self.sim.spawn(|| task).start().expect("a simulation that runs");
    }

    fn answer(&self, index: usize, text: &str) {
        self.tree.record.state().answers.insert(index, text.to_owned());
    }

    /// Runs until nothing more happens. Time passes only while a process is terminating.
    fn settle(&self) {
        let mut passed = Duration::ZERO;
        loop {
            self.sim.run_until_idle();
            let is_busy = {
                let state = self.tree.record.state();
                state.instances.iter().any(|instance| instance.alive && instance.terminating)
            };
            if !is_busy || passed > PATIENCE {
                return;
            }
            self.sim.advance(TICK);
            passed += TICK;
        }
    }

    /// Returns the live process of `ID`, or of `ID#N` if that one is alive.
    fn target(&self, name: &str) -> Option<InstanceKey> {
        let state = self.tree.record.state();
        let is_it = |index: usize| {
            let instance = &state.instances[index];
            let full = format!("{}#{}", instance.id, instance.number);
            instance.alive && (instance.id == name || full == name)
        };
        (0..state.instances.len()).find(|&index| is_it(index)).map(InstanceKey)
    }

    fn handle(&self, key: InstanceKey) -> (Handle, Pid) {
        let state = self.tree.record.state();
        let instance = &state.instances[key.0];
        let handle = instance.handle.clone().expect("an instance that runs");
        (handle, instance.pid.expect("an instance that runs"))
    }

    /// Adds what each live supervisor reports about its children, from the root down.
    fn snapshot(&self, key: InstanceKey, lines: &mut Vec<String>) {
        let (handle, pid) = self.handle(key);
        let below = match handle {
            Handle::Supervisor(address) => self.picture(&address, pid, false, lines),
            Handle::Simple(address) => self.picture(&address, pid, true, lines),
            Handle::Worker(_) => return,
        };
        for key in below {
            self.snapshot(key, lines);
        }
    }

    fn picture<T: Send + 'static>(
        &self,
        address: &SupervisorAddress<T>,
        pid: Pid,
        is_simple: bool,
        lines: &mut Vec<String>,
    ) -> Vec<InstanceKey> {
        let children = match address.which_children().wait() {
            Ok(children) => children,
            Err(error) => {
                lines.push(format!("no answer: {error}"));
                return Vec::new();
            }
        };
        let name = |state: &RecordedTree| requests::name(state, pid);
        let name = name(&self.tree.record.state());
        let text = children_text(&self.tree, &children, is_simple);
        lines.push(text.replacen("kids ", &format!("kids {name} "), 1));
        let address = address.clone();
        let (record, index) = (self.tree.record.clone(), usize::MAX);
        self.run(async move {
            let text = counts(&address).await.unwrap_or_else(|error| error.to_string());
            record.state().answers.insert(index, text);
        });
        self.sim.run_until_idle();
        let state = self.tree.record.state();
        let text = state.answers.get(&index).cloned().unwrap_or_default();
        lines.push(text.replacen("count ", &format!("count {name} "), 1));
        let in_start_order = children.iter().rev().filter_map(|child| child.state.pid());
        in_start_order.filter_map(|pid| order::by_pid(&state, pid)).collect()
    }
}
