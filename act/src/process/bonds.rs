//! Links and monitors between two processes.
//!
//! Both halves of a bond change together, under the locks of both processes. The locks are
//! taken in the order of the pids. A notice is delivered under the lock of the process that
//! receives it. So either the notice is in the mailbox before an unlink returns, and is
//! discarded later, or it is never sent (rule L5). While these locks are held only the lock of
//! a mailbox is taken. The receiving process is scheduled after the locks are released, because
//! an executor is user code and may need the lock of the same process.

use super::crash::ignore;
use super::locked_relations::LockedRelations;
use super::process::{Process, Via};
use super::relations::{Bonds, Link, Watcher, Watching};
use crate::calls::slot::SlotSender;
use crate::host::host::Host;
use krarup_gen::{Down, Exit, Pid, Reason, Ref, SpawnError, Target};
use std::sync::Arc;

/// Locks two different processes in the order of their pids. Returns the guards in argument
/// order.
pub(super) fn lock_both<'a>(
    a: &'a dyn Process,
    b: &'a dyn Process,
) -> (LockedRelations<'a>, LockedRelations<'a>) {
    if a.pid() < b.pid() {
        let first = a.relations();
        (first, b.relations())
    } else {
        let second = b.relations();
        (a.relations(), second)
    }
}

/// Links a child to its parent before its first instruction (rule L1). If the parent has ended, the
/// child gets what a link to no process gives (rule L4).
pub(crate) fn link_child(host: &dyn Host, parent: Pid, child: &Arc<dyn Process>, urgent: bool) {
    let linked = |parent: Arc<dyn Process>| link(host, &parent, child.pid(), urgent);
    if !host.process(parent).is_some_and(linked) {
        link(host, child, parent, false);
    }
}

/// Links `a` to the process `to` (rules L1, L4). A link to itself has no effect. Returns false if
/// `a` has ended: nothing is linked then.
pub(crate) fn link(host: &dyn Host, a: &Arc<dyn Process>, to: Pid, urgent: bool) -> bool {
    if a.pid().is_same_process(to) {
        return true;
    }
    let b = host.process(to);
    if b.is_none() && is_foreign(a.pid(), to) {
        let exit = Exit { pid: to, reason: Reason::NoConnection };
        Arc::clone(a).exit_signal(exit, Via::Signal);
        return true;
    }
    let number = host.next_ref().number();
    if let Some(b) = b {
        let (mut ours, mut theirs) = lock_both(&**a, &*b);
        if ours.is_closed() || already_linked(&mut ours, to, urgent) {
            return !ours.is_closed();
        }
        if !theirs.is_closed() {
            ours.bonds().link_again(to, Link { number, fired: false, urgent, late: false });
            let half = Link { number, fired: false, urgent: false, late: b.has_pending_exit() };
            theirs.bonds().links.insert(a.pid(), half);
            if let Some(remote) = b.remote() {
                remote.link(a.pid());
                drop((ours, theirs));
                b.schedule(None);
            }
            return true;
        }
    }
    let mut ours = a.relations();
    if ours.is_closed() || already_linked(&mut ours, to, urgent) {
        return !ours.is_closed();
    }
    let exit = Exit { pid: to, reason: Reason::NoProcess };
    let put = a.put_exit(exit, Via::Link { number, urgent });
    if put.is_notice {
        ours.bonds().link_again(to, Link { number, fired: true, urgent, late: false });
    }
    drop(ours);
    a.schedule(put.ready);
    true
}

/// Whether the pid belongs to another node in this operating system process. Such a pid may
/// equal the pid of an unrelated process here.
pub(crate) fn is_foreign(ours: Pid, other: Pid) -> bool {
    other.node() != 0 || (other.creation() != 0 && other.creation() != ours.creation())
}

/// Why no process was found to monitor (rule L4).
fn absence(host: &dyn Host, target: &Target) -> Reason {
    match pid_of(target) {
        Some(pid) if is_foreign(host.node_pid(), pid) => Reason::NoConnection,
        None if matches!(target, Target::Remote(..) | Target::Node(_)) => Reason::NoConnection,
        _ => Reason::NoProcess,
    }
}

/// Makes an existing link urgent if asked to, and returns whether there is one. One whose notice is in the mailbox is
/// none any more (as in OTP).
fn already_linked(ours: &mut LockedRelations<'_>, to: Pid, urgent: bool) -> bool {
    match ours.bonds_if_any().and_then(|bonds| bonds.links.get_mut(&to)) {
        Some(link) if !link.fired => {
            link.urgent |= urgent;
            true
        }
        _ => false,
    }
}

/// Makes a link urgent, if there is one.
pub(crate) fn hurry(ours: &mut LockedRelations<'_>, to: Pid) {
    let _ = already_linked(ours, to, true);
}

/// Removes the link. After this returns, no exit notice of the link is received (rule L5).
pub(crate) fn unlink(host: &dyn Host, a: &Arc<dyn Process>, from: Pid) {
    if a.pid().is_same_process(from) {
        return;
    }
    if let Some(b) = host.process(from) {
        let (mut ours, mut theirs) = lock_both(&**a, &*b);
        remove_link(&mut ours, from);
        remove_link(&mut theirs, a.pid());
        if let Some(remote) = b.remote() {
            remote.unlink(a.pid());
            drop((ours, theirs));
            b.schedule(None);
        }
    } else if !is_foreign(a.pid(), from) {
        remove_link(&mut a.relations(), from);
    }
}

pub(super) fn remove_link(relations: &mut LockedRelations<'_>, pid: Pid) {
    if let Some(bonds) = relations.bonds_if_any() {
        bonds.unlink(pid);
    }
    relations.shrink();
}

/// Makes `a` monitor the process that `target` names (rules L4, L6).
pub(crate) fn monitor(
    host: &dyn Host,
    a: &Arc<dyn Process>,
    monitor: Ref,
    target: Target,
    urgent: bool,
) {
    if pid_of(&target).is_some_and(|pid| a.pid().is_same_process(pid)) {
        // As in Erlang, a process's monitor on itself never fires.
        return;
    }
    if let Some(b) = process_of(host, &target) {
        let (mut ours, mut theirs) = lock_both(&**a, &*b);
        if ours.is_closed() {
            return;
        }
        if !theirs.is_closed() {
            if let Some(remote) = b.remote() {
                remote.monitor(Some(a.pid()), monitor, &target);
            }
            ours.bonds().watching.insert(monitor, Watching { target, urgent });
            let late = b.has_pending_exit();
            theirs
                .bonds()
                .watched
                .insert(monitor, Watcher::Process { pid: a.pid(), late, of_spawn: false });
            if b.remote().is_some() {
                drop((ours, theirs));
                b.schedule(None);
            }
            return;
        }
    }
    let mut ours = a.relations();
    if ours.is_closed() {
        return;
    }
    ours.bonds().watching.insert(monitor, Watching { target: target.clone(), urgent });
    let reason = absence(host, &target);
    let down = Down { monitor, target, reason };
    let ready = a.put_down(down, urgent);
    forget_told(&**a, &mut ours, monitor);
    drop(ours);
    a.schedule(ready);
}

/// Takes the reference of the monitor that a spawn of `parent` makes, before anything is started: one reference is that of
/// one monitor (rule L5). Nothing is taken if the parent has ended.
///
/// # Errors
/// [`SpawnError::MonitorInUse`] if it is that of a monitor whose notice has not been received.
pub(crate) fn take_reference(
    parent: &dyn Process,
    monitor: Ref,
    watching: Watching,
) -> Result<(), SpawnError> {
    let mut ours = parent.relations();
    if ours.is_closed() {
        return Ok(());
    }
    if ours.bonds_if_any().is_some_and(|bonds| bonds.watching.get(&monitor).is_some()) {
        return Err(SpawnError::MonitorInUse(monitor));
    }
    ours.bonds().watching.insert(monitor, watching);
    Ok(())
}

/// Gives back the reference that [`take_reference`] took for a spawn that has failed.
pub(crate) fn free_reference(parent: &dyn Process, monitor: Ref) {
    let mut ours = parent.relations();
    if let Some(bonds) = ours.bonds_if_any() {
        bonds.watching.remove(&monitor);
    }
    ours.shrink();
}

/// Removes a monitor of a process of another node that was told. No mailbox holds its notice.
fn forget_told(a: &dyn Process, ours: &mut LockedRelations<'_>, monitor: Ref) {
    if a.remote().is_some() {
        if let Some(bonds) = ours.bonds_if_any() {
            bonds.watching.remove(&monitor);
        }
        ours.shrink();
    }
}

/// Removes a monitor and returns whether it existed. After this returns, no down notice of the
/// monitor is received (rule L5).
pub(crate) fn demonitor(host: &dyn Host, a: &Arc<dyn Process>, monitor: Ref) -> bool {
    let watching = {
        let mut ours = a.relations();
        let watching = ours.bonds_if_any().and_then(|bonds| bonds.watching.remove(&monitor));
        ours.shrink();
        watching
    };
    let Some(watching) = watching else { return false };
    forget_watcher(host, &watching, monitor);
    true
}

fn forget_watcher(host: &dyn Host, watching: &Watching, monitor: Ref) {
    if let Some(b) = process_of(host, &watching.target) {
        drop(remove_watcher(&*b, monitor));
    }
}

/// Removes a monitor from its target, and returns it to be dropped.
fn remove_watcher(b: &dyn Process, monitor: Ref) -> Option<Watcher> {
    let mut theirs = b.relations();
    let removed = theirs.bonds_if_any().and_then(|bonds| bonds.watched.remove(&monitor));
    theirs.shrink();
    if let (Some(remote), Some(_)) = (b.remote(), &removed) {
        remote.demonitor(monitor);
        drop(theirs);
        b.schedule(None);
    }
    removed
}

/// Monitors a process on behalf of code outside any process. Fires at once if the target does
/// not exist.
pub(crate) fn watch(host: &dyn Host, monitor: Ref, target: Target, slot: SlotSender<Down>) {
    if let Some(b) = process_of(host, &target) {
        let mut theirs = b.relations();
        if !theirs.is_closed() {
            if let Some(remote) = b.remote() {
                remote.monitor(None, monitor, &target);
            }
            theirs.bonds().watched.insert(monitor, Watcher::Outside { target, slot });
            if b.remote().is_some() {
                drop(theirs);
                b.schedule(None);
            }
            return;
        }
    }
    let reason = absence(host, &target);
    let _ = slot.send(Down { monitor, target, reason });
}

/// Removes a monitor that [`watch`] made.
pub(crate) fn unwatch(host: &dyn Host, monitor: Ref, target: &Target) {
    if let Some(b) = process_of(host, target) {
        // Dropped outside the lock, because it may wake a waiting thread or task.
        drop(remove_watcher(&*b, monitor));
    }
}

fn pid_of(target: &Target) -> Option<Pid> {
    match target {
        Target::Pid(pid) | Target::Name(_, Some(pid)) | Target::Alias(_, Some(pid)) => Some(*pid),
        _ => None,
    }
}

/// The process that a monitor names: of this node, or the stand-in of one of another node.
fn process_of(host: &dyn Host, target: &Target) -> Option<Arc<dyn Process>> {
    match target {
        Target::Remote(name, node) => host.network()?.named(name, node),
        Target::Node(node) => host.network()?.node(node),
        Target::Topic(_) => None,
        target => host.process(pid_of(target)?),
    }
}

/// Closes the relations of an ended process, so that no process can link to it or monitor it
/// any more. Returns the bonds it had, for [`fire`].
pub(crate) fn close(process: &dyn Process) -> Option<Bonds> {
    let mut relations = process.relations();
    relations.close();
    relations.take_bonds()
}

/// Removes the monitors that an ended process held on others (rule L8), then notifies every
/// process bound to it (rules L2 to L5). So a process that is notified finds no trace of the
/// ended one. A failure in one notification does not stop the rest: the handles dropped here
/// and the executors are user code.
pub(crate) fn fire(host: &dyn Host, dead: Pid, bonds: Bonds, reason: &Reason) {
    for (monitor, watching) in bonds.watching {
        ignore(|| forget_watcher(host, &watching, monitor));
    }
    for (pid, link) in bonds.links {
        ignore(|| fire_link(host, dead, pid, link, reason));
    }
    for (monitor, watcher) in bonds.watched {
        ignore(|| fire_monitor(host, dead, monitor, watcher, reason));
    }
}

pub(super) fn fire_link(host: &dyn Host, dead: Pid, pid: Pid, link: Link, reason: &Reason) {
    let Some(peer) = host.process(pid).filter(|_| !link.fired) else { return };
    let mut theirs = peer.relations();
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

pub(super) fn fire_monitor(
    host: &dyn Host,
    dead: Pid,
    monitor: Ref,
    watcher: Watcher,
    reason: &Reason,
) {
    let (pid, late) = match watcher {
        Watcher::Outside { target, slot } => {
            let _ = slot.send(Down { monitor, target, reason: reason.clone() });
            return;
        }
        Watcher::Process { pid, late, .. } => (pid, late),
    };
    let Some(peer) = host.process(pid) else { return };
    let mut theirs = peer.relations();
    let watching = theirs.bonds_if_any().and_then(|bonds| bonds.watching.get(&monitor));
    let Some(Watching { target, urgent }) = watching else { return };
    if matches!(target, Target::Pid(pid) if !pid.is_same_process(dead)) {
        // The monitor was removed meanwhile, and its reference is that of another one.
        return;
    }
    let down = Down { monitor, target: target.clone(), reason: reason_for(late, reason) };
    let ready = peer.put_down(down, *urgent);
    forget_told(&*peer, &mut theirs, monitor);
    drop(theirs);
    peer.schedule(ready);
}

/// The reason that a peer receives. As in OTP, a link or monitor made after an exit signal
/// finds no process, however soon it is made. The peer is notified only when the process has
/// ended and its name is free (rule D6).
fn reason_for(late: bool, reason: &Reason) -> Reason {
    if late { Reason::NoProcess } else { reason.clone() }
}

/// Removes the link and the monitor that the spawn of a child has made, whose `init` has failed. The parent waits for the
/// result of the start, so it must not get a notice as well (as in OTP from 27 on). `bonds` are those of the child.
pub(crate) fn forget_spawn(host: &dyn Host, child: Pid, bonds: Option<&mut Bonds>, parent: Pid) {
    let Some(parent) = host.process(parent) else { return };
    let mut theirs = parent.relations();
    remove_link(&mut theirs, child);
    let Some(bonds) = bonds else { return };
    let is_of_spawn =
        |watcher: &Watcher| matches!(watcher, Watcher::Process { of_spawn: true, .. });
    let made = bonds.watched.iter().find(|(_, watcher)| is_of_spawn(watcher));
    let Some(monitor) = made.map(|(monitor, _)| *monitor) else { return };
    bonds.watched.remove(&monitor);
    if let Some(bonds) = theirs.bonds_if_any() {
        bonds.watching.remove(&monitor);
    }
    theirs.shrink();
}

/// Marks the monitor that the spawn of a process has made.
pub(crate) fn mark_of_spawn(relations: &mut LockedRelations<'_>, monitor: Ref) {
    if let Some(bonds) = relations.bonds_if_any()
        && let Some(Watcher::Process { of_spawn, .. }) = bonds.watched.get_mut(&monitor)
    {
        *of_spawn = true;
    }
}
