//! Whether the processes that the node must have before it is ready have started.

use crate::check::Health;
use crate::health::checks::CheckResult;
use krarup_act::NodeView;
use krarup_gen::ProcessState;
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// The processes that are waited for. One that has started once is not waited for again: what
/// becomes of it is the matter of the checks.
pub(crate) struct Startup {
    awaited: Vec<String>,
    /// Those that have not been seen started.
    missing: Mutex<Vec<String>>,
}

impl Startup {
    pub(crate) fn new(awaited: Vec<String>) -> Self {
        Startup { missing: Mutex::new(awaited.clone()), awaited }
    }

    /// Those that have started once, and whose name no process has now.
    pub(crate) fn ended(&self, view: &NodeView) -> Vec<String> {
        let missing = self.missing.lock().clone();
        let started = self.awaited.iter().filter(|name| !missing.contains(name));
        started.filter(|name| view.whereis(name).is_none()).cloned().collect()
    }

    /// A ready check for each process.
    pub(crate) fn results(&self, view: &NodeView) -> Vec<CheckResult> {
        let now = Instant::now();
        let missing = {
            let mut missing = self.missing.lock();
            missing.retain(|name| !has_started(view, name));
            missing.clone()
        };
        let result = |name: &String| CheckResult {
            name: format!("start:{name}"),
            live: false,
            ready: true,
            health: Some(if missing.contains(name) {
                Health::Down("it has not started".to_owned())
            } else {
                Health::Ok
            }),
            took: Duration::ZERO,
            at: now,
            asked: None,
        };
        self.awaited.iter().map(result).collect()
    }
}

/// Whether a process has the name and its `init` has returned.
fn has_started(view: &NodeView, name: &str) -> bool {
    let process = view.whereis(name).and_then(|pid| view.sample(pid));
    process.is_some_and(|process| process.state != ProcessState::Init)
}
