//! Links and monitors against the end of their target (rule L5). There is exactly one notice,
//! whether the target ends before, during or after, and none once the bond has been removed.

use super::checker::{bounded, joined, model, thread};
use super::model_host::{LIMITS, ModelActor, ModelHost};
use super::wake_flag::block_on;
use crate::context::Context;
use crate::host::host::Host;
use crate::host::ready::Ready;
use crate::mailbox::inbox_core::UNBOUNDED;
use crate::observe::watch::watch;
use crate::process::awaited::AwaitedProcess;
use crate::process::current;
use crate::process::process::Process;
use crate::received::Received;
use futures_task::noop_waker_ref;
use krarup_gen::{Down, Exit, Reason, Target};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

/// The context of a process that traps exits, and a process that will end when it is run.
fn couple() -> (Arc<ModelHost>, Context<u32, u32>, ModelActor, Ready) {
    let host = ModelHost::new();
    let one = host.admit_new(UNBOUNDED);
    let mut ctx = Context::new(one);
    ctx.trap_exits(true);
    let (other, ready) = host.spawn(UNBOUNDED, |ctx| async move {
        drop(ctx);
        Ok(())
    });
    (host, ctx, other, ready)
}

/// Runs the process to its end on another thread.
fn dying(ready: Ready) -> thread::JoinHandle<()> {
    thread::spawn(move || assert!(ready.run(&LIMITS).is_none()))
}

/// The number of notices that the process receives now.
fn notices(ctx: &mut Context<u32, u32>) -> usize {
    reasons(ctx).len()
}

/// The reasons of the notices that the process receives now.
fn reasons(ctx: &mut Context<u32, u32>) -> Vec<Reason> {
    let _turn = current::enter(ctx.pid(), &LIMITS, &ctx.cell.host);
    let mut reasons = Vec::new();
    let mut cx = std::task::Context::from_waker(noop_waker_ref());
    // Otherwise the flag would say that it has already looked into its mailbox.
    let _poll = current::begin_poll(noop_waker_ref(), &ctx.cell.shared, AwaitedProcess::NONE);
    while let Poll::Ready(item) = pin!(ctx.receive()).poll(&mut cx) {
        if let Received::Exit(Exit { reason, .. }) | Received::Down(Down { reason, .. }) = item {
            reasons.push(reason);
        }
    }
    reasons
}

#[test]
fn one_exit_per_link_whenever_the_target_ends() {
    model(|| {
        let (host, mut ctx, target, ready) = couple();
        let death = dying(ready);
        ctx.link(target.pid());
        joined(death);
        assert_eq!(notices(&mut ctx), 1, "exits");
        host.clear();
    });
}

/// Who is told that there is no such process does not find it in the node either.
#[test]
fn d6_who_is_told_of_no_process_finds_none_in_the_node() {
    model(|| {
        let (host, ctx, target, ready) = couple();
        let death = dying(ready);
        let _ = block_on(watch(host.host(), Target::Pid(target.pid())));
        let there = host.process(target.pid()).is_some();
        joined(death);
        assert!(!there, "it is listed and has ended");
        drop(ctx);
        host.clear();
    });
}

/// The target is killed. For a process that links to it, it has ended at once; its real end
/// comes a little later.
#[test]
fn one_exit_per_link_whenever_the_target_is_killed() {
    model(|| {
        let (host, mut ctx, _, _) = couple();
        let (target, ready) = host.spawn(UNBOUNDED, |ctx| async move {
            std::future::pending::<()>().await;
            drop(ctx);
            Ok(())
        });
        let pid = target.pid();
        host.schedule(ready);
        let worker = host.worker();
        let killing = thread::spawn(move || (target as Arc<dyn Process>).kill());
        ctx.link(pid);
        joined(killing);
        joined(worker);
        assert_eq!(notices(&mut ctx), 1, "exits");
        host.clear();
    });
}

#[test]
fn no_exit_after_unlink() {
    model(|| {
        let (host, mut ctx, target, ready) = couple();
        ctx.link(target.pid());
        let death = dying(ready);
        ctx.unlink(target.pid());
        assert_eq!(notices(&mut ctx), 0, "exits at once");
        joined(death);
        assert_eq!(notices(&mut ctx), 0, "exits in the end");
        host.clear();
    });
}

#[test]
fn a_link_made_again_delivers_one_exit() {
    model(|| {
        let (host, mut ctx, target, ready) = couple();
        ctx.link(target.pid());
        let death = dying(ready);
        ctx.unlink(target.pid());
        ctx.link(target.pid());
        joined(death);
        assert_eq!(notices(&mut ctx), 1, "exits");
        host.clear();
    });
}

/// Two processes link to each other at the same time, and one ends. There is one link and one
/// exit notice, and there is no deadlock of the two locks. A link that is made after that is one to no process.
#[test]
fn a_link_made_from_both_ends_is_one_link() {
    model(|| {
        let (host, mut ctx, target, ready) = couple();
        let other = thread::spawn({
            let mut other = Context::new(Arc::clone(&target));
            let pid = ctx.pid();
            move || {
                other.link(pid);
                assert!(ready.run(&LIMITS).is_none());
            }
        });
        ctx.link(target.pid());
        joined(other);
        let told = reasons(&mut ctx);
        assert!(
            matches!(told[..], [Reason::Normal] | [Reason::Normal, Reason::NoProcess]),
            "{told:?}"
        );
        host.clear();
    });
}

#[test]
fn one_down_per_monitor_whenever_the_target_ends() {
    model(|| {
        let (host, mut ctx, target, ready) = couple();
        let death = dying(ready);
        ctx.monitor(target.pid());
        joined(death);
        assert_eq!(notices(&mut ctx), 1, "downs");
        host.clear();
    });
}

#[test]
fn no_down_after_demonitor() {
    model(|| {
        let (host, mut ctx, target, ready) = couple();
        let monitor = ctx.monitor(target.pid());
        let death = dying(ready);
        ctx.demonitor(monitor);
        assert_eq!(notices(&mut ctx), 0, "downs at once");
        joined(death);
        assert_eq!(notices(&mut ctx), 0, "downs in the end");
        host.clear();
    });
}

/// A monitor from outside any process fires whenever the target ends.
#[test]
fn a_monitor_from_outside_fires_whenever_the_target_ends() {
    model(|| {
        let host = ModelHost::new();
        let (target, ready) = host.spawn(UNBOUNDED, |ctx| async move {
            drop(ctx);
            Err(Reason::error("done"))
        });
        let death = dying(ready);
        let down = block_on(watch(host.host(), Target::Pid(target.pid())));
        joined(death);
        let told = down.reason.to_string();
        assert!(told == Reason::NoProcess.to_string() || told.contains("done"), "{told}");
        host.clear();
    });
}

/// A monitor from outside that is given up leaves no entry at the target, whatever the target
/// does.
#[test]
fn a_monitor_from_outside_that_is_given_up_leaves_no_entry() {
    model(|| {
        let (host, ctx, target, ready) = couple();
        let end = watch(host.host(), Target::Pid(target.pid()));
        let death = dying(ready);
        drop(end);
        joined(death);
        assert_eq!(target.locked_relations().monitors(), (0, 0));
        drop(ctx);
        host.clear();
    });
}

/// For each of two living processes, whether it has its half of the link.
fn halves(one: &ModelActor, other: &ModelActor) -> [bool; 2] {
    let has = |a: &ModelActor, b: &ModelActor| a.locked_relations().links().contains(&b.pid());
    [has(one, other), has(other, one)]
}

/// Two processes link and unlink each other from both ends at once. In the end either both have
/// the link or neither has it.
#[test]
fn both_halves_of_a_link_agree() {
    model(|| {
        let host = ModelHost::new();
        let (one, other) = (host.admit_new(UNBOUNDED), host.admit_new(UNBOUNDED));
        let mut ctx = Context::new(Arc::clone(&one));
        let unlinking = thread::spawn({
            let mut ctx = Context::new(Arc::clone(&other));
            let pid = one.pid();
            move || {
                ctx.link(pid);
                ctx.unlink(pid);
            }
        });
        ctx.link(other.pid());
        joined(unlinking);
        let [ours, theirs] = halves(&one, &other);
        assert_eq!(ours, theirs, "halves");
        drop(ctx);
        host.clear();
    });
}

/// Two linked processes that monitor each other end at the same moment. Both end, and no entry
/// of either remains.
#[test]
fn two_processes_that_end_together_leave_no_bonds() {
    bounded(5, || {
        let host = ModelHost::until(2);
        let ending = |mut ctx: Context<u32, u32>| async move {
            ctx.receive().await;
            Ok(())
        };
        let (one, ready_one) = host.spawn(UNBOUNDED, ending);
        let (other, ready_other) = host.spawn(UNBOUNDED, ending);
        let mut ctx = Context::new(Arc::clone(&one));
        ctx.link(other.pid());
        ctx.monitor(other.pid());
        Context::new(Arc::clone(&other)).monitor(one.pid());
        drop(ctx);
        assert!(one.send(1).is_ok() && other.send(1).is_ok());
        let death = dying(ready_one);
        assert!(ready_other.run(&LIMITS).is_none());
        joined(death);
        assert_eq!(host.retired(), 2);
        for process in [one, other] {
            let relations = process.locked_relations();
            assert_eq!((relations.links(), relations.monitors()), (vec![], (0, 0)), "left");
        }
        host.clear();
    });
}

/// A process that monitors a living process ends while that one starts to monitor it. No entry
/// of the ended process remains at the living one.
#[test]
fn an_ended_process_leaves_no_monitor_at_a_living_one() {
    model(|| {
        let (host, mut ctx, mortal, ready) = couple();
        Context::new(Arc::clone(&mortal)).monitor(ctx.pid());
        assert_eq!(ctx.cell.locked_relations().monitors(), (0, 1));
        let death = dying(ready);
        ctx.monitor(mortal.pid());
        joined(death);
        assert_eq!(notices(&mut ctx), 1, "downs");
        assert_eq!(ctx.cell.locked_relations().monitors(), (0, 0), "left");
        host.clear();
    });
}

/// Three processes in a chain of links. The end of one reaches the last, although the link to
/// the middle one is being made at the same time.
#[test]
fn an_exit_passes_through_a_chain_of_links_in_the_making() {
    bounded(4, || {
        let (host, mut ctx, middle, ready) = couple();
        let first = host.admit_new(UNBOUNDED);
        let mut first_ctx = Context::new(Arc::clone(&first));
        first_ctx.link(middle.pid());
        let death = dying(ready);
        ctx.link(middle.pid());
        joined(death);
        assert_eq!(notices(&mut ctx), 1, "exits");
        assert_eq!(halves(&first, &middle), [false, false]);
        drop(first_ctx);
        host.clear();
    });
}

#[cfg(loom)]
mod broken;
