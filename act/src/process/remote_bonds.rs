//! Links and monitors between a process of this node and one of another.
//!
//! The process of the other node has a stand-in here, which is a [`Process`] with relations of
//! its own. So `bonds.rs` makes, removes and fires bonds with it as with any process. It asks
//! the stand-in, [`Process::remote`], to say each change to the other node:
//!
//! ```text
//!  ctx.link(pid) ──► bonds: both halves, under both locks ──► Remote::link ──► wire
//!  wire ──► link_from: both halves, under both locks
//! ```
//!
//! The functions here do what the other node has said. The changes of a connection's own
//! tables happen under the same locks, in the closures, so that no change of this side comes
//! between the two.

use super::bonds::{self, lock_both, remove_link};
use super::process::Process;
use super::relations::{Link, Watcher};
use crate::host::host::Host;
use krarup_gen::{Pid, Reason, Ref, Target};
use std::sync::Arc;

/// Links a process of this node, `local`, to the one that `theirs` stands for. `accept`
/// decides under the locks. Returns false if `local` has ended.
pub fn link_from(
    host: &dyn Host,
    theirs: &Arc<dyn Process>,
    local: &Arc<dyn Process>,
    accept: &mut dyn FnMut() -> bool,
) -> bool {
    let number = host.next_ref().number();
    let late = local.has_pending_exit();
    let (mut a, mut b) = lock_both(&**theirs, &**local);
    if b.is_closed() || late {
        return false;
    }
    if accept() {
        a.bonds().links.insert(local.pid(), Link { number, fired: false, urgent: false, late });
        let half = Link { number, fired: false, urgent: false, late: false };
        b.bonds().link_again(theirs.pid(), half);
    }
    true
}

/// Removes the link if `accept` says so under the locks.
pub fn unlink_from(
    host: &dyn Host,
    theirs: &Arc<dyn Process>,
    local: Pid,
    accept: &mut dyn FnMut() -> bool,
) {
    let Some(local) = host.process(local) else {
        accept();
        return;
    };
    let (mut a, mut b) = lock_both(&**theirs, &*local);
    if accept() {
        remove_link(&mut a, local.pid());
        // A notice of an earlier connection that is in the mailbox is still received.
        if let Some(bonds) = b.bonds_if_any() {
            bonds.links.remove(&theirs.pid());
        }
        b.shrink();
    }
}

/// Fires the link of `local` to the process that `theirs` stands for, if `accept` says so
/// under the lock.
pub fn exit_from(
    host: &dyn Host,
    theirs: &Arc<dyn Process>,
    local: Pid,
    reason: &Reason,
    accept: &mut dyn FnMut() -> bool,
) {
    let link = {
        let mut relations = theirs.relations();
        if !accept() {
            return;
        }
        let link = relations.bonds_if_any().and_then(|bonds| bonds.links.remove(&local));
        relations.shrink();
        link
    };
    if let Some(link) = link {
        bonds::fire_link(host, theirs.pid(), local, link, reason);
    }
}

/// Makes the process that `theirs` stands for monitor `target`, a process of this node.
pub fn monitor_from(host: &dyn Host, theirs: &Arc<dyn Process>, monitor: Ref, target: Target) {
    bonds::monitor(host, theirs, monitor, target, false);
}

/// Removes a monitor that [`monitor_from`] made.
pub fn demonitor_from(host: &dyn Host, theirs: &Arc<dyn Process>, monitor: Ref) -> bool {
    bonds::demonitor(host, theirs, monitor)
}

/// Fires a monitor on the process that `theirs` stands for. Returns whether there was one.
pub fn down_from(
    host: &dyn Host,
    theirs: &Arc<dyn Process>,
    monitor: Ref,
    reason: &Reason,
) -> bool {
    let watcher: Option<Watcher> = {
        let mut relations = theirs.relations();
        let watcher = relations.bonds_if_any().and_then(|bonds| bonds.watched.remove(&monitor));
        relations.shrink();
        watcher
    };
    let found = watcher.is_some();
    if let Some(watcher) = watcher {
        bonds::fire_monitor(host, theirs.pid(), monitor, watcher, reason);
    }
    found
}

/// Fires all bonds of the process that `theirs` stands for, because its connection is lost. It
/// can have new ones afterwards.
pub fn lose(host: &dyn Host, theirs: &Arc<dyn Process>, reason: &Reason) {
    let bonds = theirs.relations().take_bonds();
    if let Some(bonds) = bonds {
        bonds::fire(host, theirs.pid(), bonds, reason);
    }
}

/// Whether it has links or monitors.
#[must_use]
pub fn is_bound(theirs: &dyn Process) -> bool {
    theirs.relations().has_bonds()
}
