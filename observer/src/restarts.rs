//! How often supervisors have restarted, and which child a process is, as far as the node
//! remembers decisions.

use krarup_act::NodeView;
use krarup_gen::{Pid, SupervisionAction};
use std::collections::BTreeMap;

/// The decisions that are looked through.
const DECISIONS: usize = 1024;

/// What is known of restarts.
#[derive(Debug, Default)]
pub(crate) struct KnownRestarts {
    /// How many restarts a supervisor has made.
    by: BTreeMap<Pid, u64>,
    /// The supervisor and the id of a process that was started.
    child: BTreeMap<Pid, (Pid, String)>,
    /// How many restarts of a child its supervisor has made.
    of: BTreeMap<(Pid, String), u64>,
}

impl KnownRestarts {
    pub(crate) fn of(view: &NodeView) -> Self {
        let mut restarts = KnownRestarts::default();
        for recorded in view.restarts(0, DECISIONS).items {
            let event = &*recorded.item;
            let child = event.child.clone();
            match (event.what, event.pid, child) {
                (SupervisionAction::Started, Some(pid), Some(child)) => {
                    restarts.child.insert(pid, (event.by, child));
                }
                (SupervisionAction::Restarting | SupervisionAction::InPlace, _, child) => {
                    *restarts.by.entry(event.by).or_default() += 1;
                    if let Some(child) = child {
                        *restarts.of.entry((event.by, child)).or_default() += 1;
                    }
                }
                _ => {}
            }
        }
        restarts
    }

    /// The id of the child that a process is.
    pub(crate) fn child(&self, pid: Pid) -> Option<&str> {
        self.child.get(&pid).map(|(_, child)| child.as_str())
    }

    /// How many restarts this process has made, or how often it was restarted itself.
    pub(crate) fn count(&self, pid: Pid) -> u64 {
        let made = self.by.get(&pid).copied();
        made.unwrap_or_else(|| {
            self.child.get(&pid).and_then(|child| self.of.get(child)).copied().unwrap_or(0)
        })
    }
}
