//! The named processes at the top of the user root that were seen, and which of them have failed.
//!
//! ```text
//!   lives ── its pid is gone ──► gone ── a record of its failure ─► failed ── its name is there ─► forgotten
//!                                 └──── no record after a second ─► forgotten: it has ended in order
//! ```
//!
//! A process at the top has no supervisor: nothing brings it back by itself. A supervisor that gives up
//! ends with the reason `shutdown`, as one that is stopped does, so the end alone does not tell.

use crate::text::cut;
use krarup_act::NodeView;
use krarup_gen::{Pid, SupervisionAction};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The failed processes that are kept. A program that names each of its sessions cannot fill more.
const FAILED: usize = 64;
/// The crashes and the decisions that are looked through.
const RECORDS: usize = 1024;
/// How long after the end of a process its record is waited for: it is written after its name is
/// free.
const RECORDED: Duration = Duration::from_secs(1);

/// The processes, by name.
#[derive(Default)]
pub(crate) struct TopProcesses {
    known: Mutex<BTreeMap<String, TopProcess>>,
}

enum TopProcess {
    Lives(Pid),
    Gone(Pid, Instant),
    /// With the reason, for people.
    Failed(String),
}

impl TopProcesses {
    /// Looks at the processes that were seen, and at those that are seen now. Returns the names of
    /// those that have failed.
    pub(crate) fn failed(
        &self,
        view: &NodeView,
        seen: impl Iterator<Item = (String, Pid)>,
    ) -> Vec<String> {
        let mut known = self.known.lock();
        for (name, pid) in seen {
            // What was seen may be older than what is known.
            if view.is_alive(pid) || !known.contains_key(&name) {
                known.insert(name, TopProcess::Lives(pid));
            }
        }
        let is_failed = |process: &TopProcess| matches!(process, TopProcess::Failed(_));
        let mut free = FAILED - known.values().filter(|it| is_failed(it)).count().min(FAILED);
        known.retain(|name, process| {
            let Some(next) = process.next(view, name) else { return false };
            if is_failed(&next) && !is_failed(process) {
                if free == 0 {
                    return false;
                }
                free -= 1;
            }
            *process = next;
            true
        });
        known.iter().filter(|(_, it)| is_failed(it)).map(|(name, _)| name.clone()).collect()
    }

    /// Why a process has failed.
    pub(crate) fn why(&self, name: &str) -> Option<String> {
        match self.known.lock().get(name) {
            Some(TopProcess::Failed(why)) => Some(why.clone()),
            _ => None,
        }
    }
}

impl TopProcess {
    /// What it is now. `None`: it is to be forgotten.
    fn next(&self, view: &NodeView, name: &str) -> Option<TopProcess> {
        let (pid, since) = match self {
            TopProcess::Lives(pid) if view.is_alive(*pid) => return Some(TopProcess::Lives(*pid)),
            TopProcess::Lives(pid) => (*pid, Instant::now()),
            TopProcess::Gone(pid, since) => (*pid, *since),
            TopProcess::Failed(why) => {
                let back = view.whereis(name).is_some();
                return (!back).then(|| TopProcess::Failed(why.clone()));
            }
        };
        // Its successor is seen by a later look, if it is at the top.
        if view.whereis(name).is_some() {
            return None;
        }
        match failure(view, name, pid) {
            Some(why) => Some(TopProcess::Failed(why)),
            None => (since.elapsed() < RECORDED).then_some(TopProcess::Gone(pid, since)),
        }
    }
}

/// How a process that had this name has failed, as far as the node remembers it.
fn failure(view: &NodeView, name: &str, pid: Pid) -> Option<String> {
    if let Some(because) = gave_up(view, pid) {
        return Some(cut(&format!("the supervisor {name} gave up{because}, and has ended")));
    }
    let crashes = view.crashes(0, RECORDS).items;
    let crash = crashes.iter().rev().map(|it| &it.item).find(|crash| {
        crash.pid.is_same_process(pid) && crash.name.as_ref().is_some_and(|it| it.as_str() == name)
    });
    crash.map(|crash| cut(&format!("{name} has ended: {}", crash.reason)))
}

/// Because of which child a process has given up as a supervisor, as words behind that; empty if no child
/// is told. `None` if it has not, as far as the node remembers.
pub(crate) fn gave_up(view: &NodeView, pid: Pid) -> Option<String> {
    let decisions = view.restarts(0, RECORDS).items;
    let gave_up =
        decisions.iter().rev().map(|it| &it.item).find(|event| {
            event.what == SupervisionAction::GaveUp && event.by.is_same_process(pid)
        })?;
    let child = gave_up.child.as_ref().map(|id| format!(" because of its child {id}"));
    Some(child.unwrap_or_default())
}
