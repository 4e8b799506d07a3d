//! Links and monitors with one injected fault each.

use super::super::checker::{joined, model, thread};
use super::super::model_host::ModelHost;
use super::{couple, dying, halves, notices};
use crate::context::Context;
use crate::host::host::Host;
use crate::mailbox::inbox_core::UNBOUNDED;
use crate::process::process::{Process, Via};
use crate::process::relations::Link;
use krarup_gen::{Exit, Pid, Reason};
use std::sync::Arc;

/// `bonds::link` with a fault.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LinkFault {
    None,
    /// It does not check whether the target's relations are closed.
    ForgetsClosed,
    /// The halves are made one after the other, each under its own lock.
    LocksOneByOne,
}

fn link(host: &ModelHost, ctx: &Context<u32, u32>, to: Pid, fault: LinkFault) {
    let number = host.next_ref().number();
    let half = Link { number, ..Link::default() };
    if let Some(target) = host.process(to) {
        if fault == LinkFault::LocksOneByOne {
            let mut theirs = target.relations();
            if !theirs.is_closed() {
                theirs.bonds().links.insert(ctx.pid(), half);
                drop(theirs);
                ctx.cell.locked_relations().bonds().links.insert(to, half);
                return;
            }
        } else {
            // The process that traps has the lower pid, so its lock is taken first.
            let mut ours = ctx.cell.locked_relations();
            let mut theirs = target.relations();
            if !theirs.is_closed() || fault == LinkFault::ForgetsClosed {
                ours.bonds().links.insert(to, half);
                theirs.bonds().links.insert(ctx.pid(), half);
                return;
            }
        }
    }
    let mut ours = ctx.cell.locked_relations();
    let exit = Exit { pid: to, reason: Reason::NoProcess };
    if Arc::clone(&ctx.cell).exit_signal(exit, Via::Link { number, urgent: false }) {
        ours.bonds().links.insert(to, Link { fired: true, ..half });
    }
}

fn a_link_with(fault: LinkFault) {
    model(move || {
        let (host, mut ctx, target, ready) = couple();
        let death = dying(ready);
        link(&host, &ctx, target.pid(), fault);
        joined(death);
        assert_eq!(notices(&mut ctx), 1, "exits");
        host.clear();
    });
}

/// Without a fault the copy behaves like the original.
#[test]
fn the_copy_without_a_fault_holds() {
    a_link_with(LinkFault::None);
}

#[test]
#[should_panic(expected = "exits")]
fn a_link_to_closed_relations_delivers_no_exit() {
    a_link_with(LinkFault::ForgetsClosed);
}

#[test]
#[should_panic(expected = "exits")]
fn a_link_made_in_two_steps_can_miss_the_end_of_its_target() {
    a_link_with(LinkFault::LocksOneByOne);
}

/// A process that accepts every notice in its mailbox, without checking its relations, receives
/// the notice of a link that it has removed.
#[test]
#[should_panic(expected = "exits at once")]
fn an_exit_that_is_not_checked_arrives_after_unlink() {
    model(|| {
        let (host, mut ctx, target, ready) = couple();
        ctx.link(target.pid());
        let death = dying(ready);
        ctx.unlink(target.pid());
        let lying = ctx.cell.inbox.lock().has_main();
        joined(death);
        host.clear();
        assert!(!lying, "exits at once");
    });
}

/// An unlink that removes the halves in two steps lets the other end link in between.
#[test]
#[should_panic(expected = "halves")]
fn an_unlink_in_two_steps_leaves_one_half() {
    model(|| {
        let host = ModelHost::new();
        let (one, other) = (host.admit_new(UNBOUNDED), host.admit_new(UNBOUNDED));
        let mut ctx = Context::new(Arc::clone(&one));
        ctx.link(other.pid());
        let unlinking = thread::spawn({
            let (one, other) = (Arc::clone(&one), Arc::clone(&other));
            move || {
                other.locked_relations().bonds().links.remove(&one.pid());
                one.locked_relations().bonds().links.remove(&other.pid());
            }
        });
        ctx.unlink(other.pid());
        ctx.link(other.pid());
        joined(unlinking);
        let [ours, theirs] = halves(&one, &other);
        drop(ctx);
        host.clear();
        assert_eq!(ours, theirs, "halves");
    });
}
