//! Which processes become top-level when others end, as they were when the stop looked.
//!
//! A process whose parent has ended is top-level (rule X2). A look at the table of processes costs as much as
//! there are processes, so a stop does not look again after each level of a tree.

use krarup_act::Process;
use krarup_gen::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The living processes below a root, by their parents.
pub(super) struct Descent(BTreeMap<Pid, Vec<Arc<dyn Process>>>);

impl Descent {
    /// Sorts the processes; returns those that are top-level, in their order.
    pub(super) fn of(all: Vec<Arc<dyn Process>>) -> (Self, Vec<Arc<dyn Process>>) {
        let pids: BTreeSet<Pid> = all.iter().map(|process| process.pid()).collect();
        let (mut children, mut top) = (BTreeMap::<_, Vec<_>>::new(), Vec::new());
        for process in all {
            match process.parent().filter(|parent| pids.contains(parent)) {
                Some(parent) => children.entry(parent).or_default().push(process),
                None => top.push(process),
            }
        }
        (Descent(children), top)
    }

    /// Takes the processes that live and whose parent was this one, which has ended, or one that has
    /// ended with it.
    pub(super) fn take_orphans(
        &mut self,
        of: Pid,
        lives: impl Fn(Pid) -> bool,
        orphans: &mut Vec<Arc<dyn Process>>,
    ) {
        let mut ended = vec![of];
        while let Some(parent) = ended.pop() {
            for child in self.0.remove(&parent).into_iter().flatten() {
                if lives(child.pid()) {
                    orphans.push(child);
                } else {
                    ended.push(child.pid());
                }
            }
        }
    }
}
