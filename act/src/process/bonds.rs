//! Links and monitors between two processes.
//!
//! Both halves of a bond change together, under both processes' locks, taken in the
//! order of their pids. A notice is delivered under the lock of the process it goes
//! to, so that it is either in the mailbox before an unlink returns, and then thrown
//! away, or not sent at all (rule L5). Below these locks only a mailbox's is taken. The
//! process that is told is scheduled when they are free: an executor is a user's, and may ask
//! for the very process whose lock that is.

use super::crash::contain;
use super::process::{Process, Via};
use super::relations::{Bonds, Link, Relations, Watcher, Watching};
use crate::calls::slot::SlotSender;
use crate::host::host::Host;
use crate::sync::MutexGuard;
use krarup_gen::{Down, Exit, Pid, Reason, Ref, Target};
use std::sync::Arc;

type LockedRelations<'a> = MutexGuard<'a, Relations>;

/// Locks two different processes in the order of their pids; returned in the order asked for.
fn lock_both<'a>(
    a: &'a dyn Process,
    b: &'a dyn Process,
) -> (LockedRelations<'a>, LockedRelations<'a>) {
    if a.pid() < b.pid() {
        let first = a.relations().0.lock();
        (first, b.relations().0.lock())
    } else {
        let second = b.relations().0.lock();
        (a.relations().0.lock(), second)
    }
}

/// Links `a` to the process `to` (rules L1, L4). To oneself: nothing.
pub(crate) fn link(host: &dyn Host, a: &Arc<dyn Process>, to: Pid, urgent: bool) {
    if a.pid().is_same_process(to) {
        return;
    }
    if is_foreign(a.pid(), to) {
        let exit = Exit { pid: to, reason: Reason::NoConnection };
        Arc::clone(a).exit_signal(exit, Via::Signal);
        return;
    }
    let number = host.next_ref().number();
    if let Some(b) = host.process(to) {
        let (mut ours, mut theirs) = lock_both(&**a, &*b);
        if ours.closed || already_linked(&mut ours, to, urgent) {
            return;
        }
        if !theirs.closed {
            ours.bonds().links.insert(to, Link { number, fired: false, urgent, late: false });
            let half = Link { number, fired: false, urgent: false, late: b.is_doomed() };
            theirs.bonds().links.insert(a.pid(), half);
            return;
        }
    }
    let mut ours = a.relations().0.lock();
    if ours.closed || already_linked(&mut ours, to, urgent) {
        return;
    }
    let exit = Exit { pid: to, reason: Reason::NoProcess };
    let put = a.put_exit(exit, Via::Link { number, urgent });
    if put.is_notice {
        ours.bonds().links.insert(to, Link { number, fired: true, urgent, late: false });
    }
    drop(ours);
    a.schedule(put.ready);
}

/// Whether the pid is of another node in this operating system process: it may equal
/// that of a stranger here.
pub(crate) fn is_foreign(ours: Pid, other: Pid) -> bool {
    other.node() != 0 || (other.creation() != 0 && other.creation() != ours.creation())
}

/// Why nobody is found who could be monitored: this node talks to no other (rule L4).
fn absence(host: &dyn Host, target: &Target) -> Reason {
    match pid_of(target) {
        Some(pid) if is_foreign(host.node_pid(), pid) => Reason::NoConnection,
        _ => Reason::NoProcess,
    }
}

/// A link is made once; making it again can only make it urgent. One whose notice is
/// under way will be heard of anyway.
fn already_linked(ours: &mut Relations, to: Pid, urgent: bool) -> bool {
    match ours.bonds_if_any().and_then(|bonds| bonds.links.get_mut(&to)) {
        Some(link) => {
            link.urgent |= urgent;
            true
        }
        None => false,
    }
}

/// Takes the link away: when this returns, no exit comes by it (rule L5).
pub(crate) fn unlink(host: &dyn Host, a: &Arc<dyn Process>, from: Pid) {
    if a.pid().is_same_process(from) || is_foreign(a.pid(), from) {
        return;
    }
    if let Some(b) = host.process(from) {
        let (mut ours, mut theirs) = lock_both(&**a, &*b);
        remove_link(&mut ours, from);
        remove_link(&mut theirs, a.pid());
    } else {
        remove_link(&mut a.relations().0.lock(), from);
    }
}

fn remove_link(relations: &mut Relations, pid: Pid) {
    if let Some(bonds) = relations.bonds_if_any() {
        bonds.links.remove(&pid);
    }
    relations.shrink();
}

/// Makes `a` monitor whatever `target` names (rules L4, L6).
pub(crate) fn monitor(
    host: &dyn Host,
    a: &Arc<dyn Process>,
    monitor: Ref,
    target: Target,
    urgent: bool,
) {
    let pid = pid_of(&target);
    if pid.is_some_and(|pid| a.pid().is_same_process(pid)) {
        // As in Erlang: a monitor on oneself never fires.
        return;
    }
    if let Some(b) = pid.and_then(|pid| host.process(pid)) {
        let (mut ours, mut theirs) = lock_both(&**a, &*b);
        if ours.closed {
            return;
        }
        if !theirs.closed {
            ours.bonds().watching.insert(monitor, Watching { target, urgent });
            theirs
                .bonds()
                .watched
                .insert(monitor, Watcher::Process { pid: a.pid(), late: b.is_doomed() });
            return;
        }
    }
    let mut ours = a.relations().0.lock();
    if ours.closed {
        return;
    }
    ours.bonds().watching.insert(monitor, Watching { target: target.clone(), urgent });
    let reason = absence(host, &target);
    let down = Down { monitor, target, reason };
    let ready = a.put_down(down, urgent);
    drop(ours);
    a.schedule(ready);
}

/// Takes a monitor away: when this returns, no down notice comes of it (rule L5).
/// Whether there was one.
pub(crate) fn demonitor(host: &dyn Host, a: &Arc<dyn Process>, monitor: Ref) -> bool {
    let watching = {
        let mut ours = a.relations().0.lock();
        let watching = ours.bonds_if_any().and_then(|bonds| bonds.watching.remove(&monitor));
        ours.shrink();
        watching
    };
    let Some(watching) = watching else { return false };
    forget_watcher(host, &watching, monitor);
    true
}

fn forget_watcher(host: &dyn Host, watching: &Watching, monitor: Ref) {
    if let Some(b) = pid_of(&watching.target).and_then(|pid| host.process(pid)) {
        let mut theirs = b.relations().0.lock();
        if let Some(bonds) = theirs.bonds_if_any() {
            bonds.watched.remove(&monitor);
        }
        theirs.shrink();
    }
}

/// A monitor for somebody who is no process. At once if there is nobody.
pub(crate) fn watch(host: &dyn Host, monitor: Ref, target: Target, slot: SlotSender<Down>) {
    if let Some(b) = pid_of(&target).and_then(|pid| host.process(pid)) {
        let mut theirs = b.relations().0.lock();
        if !theirs.closed {
            theirs.bonds().watched.insert(monitor, Watcher::Outside { target, slot });
            return;
        }
    }
    let reason = absence(host, &target);
    let _ = slot.send(Down { monitor, target, reason });
}

/// Takes such a monitor away: nobody waits for it any more.
pub(crate) fn unwatch(host: &dyn Host, monitor: Ref, target: &Target) {
    if let Some(b) = pid_of(target).and_then(|pid| host.process(pid)) {
        let removed = {
            let mut theirs = b.relations().0.lock();
            let removed = theirs.bonds_if_any().and_then(|bonds| bonds.watched.remove(&monitor));
            theirs.shrink();
            removed
        };
        // Outside the lock: it may wake somebody.
        drop(removed);
    }
}

fn pid_of(target: &Target) -> Option<Pid> {
    match target {
        Target::Pid(pid) | Target::Name(_, Some(pid)) | Target::Alias(_, Some(pid)) => Some(*pid),
        _ => None,
    }
}

/// Closes the relations of a dead process: nobody can bind to it any more. What it had
/// is returned for [`fire`].
pub(crate) fn close(process: &dyn Process) -> Option<Box<Bonds>> {
    let mut relations = process.relations().0.lock();
    relations.closed = true;
    relations.take_bonds()
}

/// Takes a dead process's own monitors off those it watched (rule L8), and then tells
/// everyone bound to it (rules L2 to L5): who hears of the death finds nothing left of it. Each
/// is told whatever becomes of the others: handles that are dropped here, and executors, are
/// users'.
pub(crate) fn fire(host: &dyn Host, dead: Pid, bonds: Bonds, reason: &Reason) {
    for (monitor, watching) in bonds.watching {
        let _ = contain(|| forget_watcher(host, &watching, monitor));
    }
    for (pid, link) in bonds.links {
        let _ = contain(|| fire_link(host, dead, pid, link, reason));
    }
    for (monitor, watcher) in bonds.watched {
        let _ = contain(|| fire_monitor(host, monitor, watcher, reason));
    }
}

fn fire_link(host: &dyn Host, dead: Pid, pid: Pid, link: Link, reason: &Reason) {
    let Some(peer) = host.process(pid).filter(|_| !link.fired) else { return };
    let mut theirs = peer.relations().0.lock();
    let Some(half) = theirs.bonds_if_any().and_then(|bonds| bonds.links.get_mut(&dead)) else {
        return;
    };
    if half.number != link.number || half.fired {
        return;
    }
    half.fired = true;
    let via = Via::Link { number: half.number, urgent: half.urgent };
    let exit = Exit { pid: dead, reason: reason_for(link.late, reason) };
    let put = peer.put_exit(exit, via);
    if !put.is_notice {
        remove_link(&mut theirs, dead);
    }
    drop(theirs);
    peer.schedule(put.ready);
}

fn fire_monitor(host: &dyn Host, monitor: Ref, watcher: Watcher, reason: &Reason) {
    let (pid, late) = match watcher {
        Watcher::Outside { target, slot } => {
            let _ = slot.send(Down { monitor, target, reason: reason.clone() });
            return;
        }
        Watcher::Process { pid, late } => (pid, late),
    };
    let Some(peer) = host.process(pid) else { return };
    let mut theirs = peer.relations().0.lock();
    let watching = theirs.bonds_if_any().and_then(|bonds| bonds.watching.get(&monitor));
    let Some(Watching { target, urgent }) = watching else { return };
    let down = Down { monitor, target: target.clone(), reason: reason_for(late, reason) };
    let ready = peer.put_down(down, *urgent);
    drop(theirs);
    peer.schedule(ready);
}

/// As in OTP a link or monitor that follows an exit signal finds no process, however soon
/// it follows; but that is told when the process is gone, and its name free (rule D6).
fn reason_for(late: bool, reason: &Reason) -> Reason {
    if late { Reason::NoProcess } else { reason.clone() }
}

/// A linked process died but must not be heard of: a child whose `init` failed while
/// its parent waits for that very news (as OTP from 27 on).
pub(crate) fn forget_link(host: &dyn Host, child: Pid, parent: Pid) {
    if let Some(parent) = host.process(parent) {
        remove_link(&mut parent.relations().0.lock(), child);
    }
}
