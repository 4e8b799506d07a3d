//! Links and monitors against the death of their target (rule L5): exactly one notice,
//! whether it dies before, during or after, and none once the bond is taken away.

use super::house::{House, Inhabitant, LIMITS};
use crate::context::Context;
use crate::host::{Host, Ready};
use crate::mailbox::inbox::UNBOUNDED;
use crate::process::current;
use crate::process::process::{Process, Via};
use crate::process::relations::Link;
use crate::received::Received;
use futures_task::noop_waker_ref;
use krarup_gen::{Exit, Pid, Reason};
use loom::thread::{self, JoinHandle};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

/// A process that traps, by its own view, and one that will end when it is run.
fn couple() -> (Arc<House>, Context<u32, u32>, Inhabitant, Ready) {
    let house = House::new();
    let one = house.admit_new(UNBOUNDED);
    let mut ctx = Context::new(one);
    ctx.trap_exits(true);
    let (other, ready) = house.spawn(UNBOUNDED, |ctx| async move {
        drop(ctx);
        Ok(())
    });
    (house, ctx, other, ready)
}

/// Runs the process to its end on a thread of its own.
fn dying(ready: Ready) -> JoinHandle<()> {
    thread::spawn(move || assert!(ready.run(&LIMITS).is_none()))
}

/// The notices that the process receives now.
fn notices(ctx: &mut Context<u32, u32>) -> usize {
    let _turn = current::enter(ctx.pid(), LIMITS, || ctx.now());
    let mut count = 0;
    let mut cx = std::task::Context::from_waker(noop_waker_ref());
    while let Poll::Ready(item) = pin!(ctx.receive()).poll(&mut cx) {
        count += usize::from(matches!(item, Received::Exit(_) | Received::Down(_)));
    }
    count
}

fn joined(thread: JoinHandle<()>) {
    thread.join().expect("a process does not panic");
}

#[test]
fn one_exit_per_link_whenever_the_target_dies() {
    loom::model(|| {
        let (house, mut ctx, target, ready) = couple();
        let death = dying(ready);
        ctx.link(target.pid);
        joined(death);
        assert_eq!(notices(&mut ctx), 1, "exits");
        house.clear();
    });
}

/// The target is killed: to one that links it is dead from then on, and it ends a little
/// later.
#[test]
fn one_exit_per_link_whenever_the_target_is_killed() {
    loom::model(|| {
        let (house, mut ctx, _, _) = couple();
        let (target, ready) = house.spawn(UNBOUNDED, |ctx| async move {
            std::future::pending::<()>().await;
            drop(ctx);
            Ok(())
        });
        let pid = target.pid;
        house.schedule(ready);
        let worker = thread::spawn({
            let house = Arc::clone(&house);
            move || house.work()
        });
        let killing = thread::spawn(move || (target as Arc<dyn Process>).kill());
        ctx.link(pid);
        joined(killing);
        joined(worker);
        assert_eq!(notices(&mut ctx), 1, "exits");
        house.clear();
    });
}

#[test]
fn no_exit_after_unlink() {
    loom::model(|| {
        let (house, mut ctx, target, ready) = couple();
        ctx.link(target.pid);
        let death = dying(ready);
        ctx.unlink(target.pid);
        assert_eq!(notices(&mut ctx), 0, "exits at once");
        joined(death);
        assert_eq!(notices(&mut ctx), 0, "exits in the end");
        house.clear();
    });
}

#[test]
fn a_link_made_again_is_heard_of_once() {
    loom::model(|| {
        let (house, mut ctx, target, ready) = couple();
        ctx.link(target.pid);
        let death = dying(ready);
        ctx.unlink(target.pid);
        ctx.link(target.pid);
        joined(death);
        assert_eq!(notices(&mut ctx), 1, "exits");
        house.clear();
    });
}

/// Two processes link to each other at the same time, and one ends: there is one link and
/// one exit, and nobody waits for the other's lock for ever.
#[test]
fn a_link_from_both_ends_is_one() {
    loom::model(|| {
        let (house, mut ctx, target, ready) = couple();
        let other = thread::spawn({
            let mut other = Context::new(Arc::clone(&target));
            let pid = ctx.pid();
            move || {
                other.link(pid);
                assert!(ready.run(&LIMITS).is_none());
            }
        });
        ctx.link(target.pid);
        joined(other);
        assert_eq!(notices(&mut ctx), 1, "exits");
        house.clear();
    });
}

#[test]
fn one_down_per_monitor_whenever_the_target_dies() {
    loom::model(|| {
        let (house, mut ctx, target, ready) = couple();
        let death = dying(ready);
        ctx.monitor(target.pid);
        joined(death);
        assert_eq!(notices(&mut ctx), 1, "downs");
        house.clear();
    });
}

#[test]
fn no_down_after_demonitor() {
    loom::model(|| {
        let (house, mut ctx, target, ready) = couple();
        let monitor = ctx.monitor(target.pid);
        let death = dying(ready);
        ctx.demonitor(monitor);
        assert_eq!(notices(&mut ctx), 0, "downs at once");
        joined(death);
        assert_eq!(notices(&mut ctx), 0, "downs in the end");
        house.clear();
    });
}

/// `bonds::link` with a fault.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// It does not ask whether the target's relations are closed.
    ForgetsClosed,
    /// The halves are made one after the other.
    LocksOneByOne,
}

fn link(house: &House, ctx: &Context<u32, u32>, to: Pid, fault: Fault) {
    let number = house.next_ref().number();
    let half = Link { number, ..Link::default() };
    if let Some(target) = house.process(to) {
        if fault == Fault::LocksOneByOne {
            let mut theirs = target.relations().0.lock();
            if !theirs.closed {
                theirs.bonds().links.insert(ctx.pid(), half);
                drop(theirs);
                ctx.cell.locked_relations().bonds().links.insert(to, half);
                return;
            }
        } else {
            // The one that traps is the older one.
            let mut ours = ctx.cell.locked_relations();
            let mut theirs = target.relations().0.lock();
            if !theirs.closed || fault == Fault::ForgetsClosed {
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

fn a_link_with(fault: Fault) {
    loom::model(move || {
        let (house, mut ctx, target, ready) = couple();
        let death = dying(ready);
        link(&house, &ctx, target.pid, fault);
        joined(death);
        assert_eq!(notices(&mut ctx), 1, "exits");
        house.clear();
    });
}

/// Without a fault the copy is as good as the original.
#[test]
fn the_copy_without_a_fault_holds() {
    a_link_with(Fault::None);
}

#[test]
#[should_panic(expected = "exits")]
fn a_link_to_closed_relations_is_never_heard_of() {
    a_link_with(Fault::ForgetsClosed);
}

#[test]
#[should_panic(expected = "exits")]
fn a_link_made_in_two_steps_can_be_missed_by_a_death() {
    a_link_with(Fault::LocksOneByOne);
}

/// A process that takes every notice in its mailbox for good, without asking its relations,
/// hears of a link that it has taken away.
#[test]
#[should_panic(expected = "exits at once")]
fn an_exit_that_nobody_checks_comes_after_unlink() {
    loom::model(|| {
        let (house, mut ctx, target, ready) = couple();
        ctx.link(target.pid);
        let death = dying(ready);
        ctx.unlink(target.pid);
        let lying = ctx.cell.inbox.lock().has_main();
        joined(death);
        house.clear();
        assert!(!lying, "exits at once");
    });
}
