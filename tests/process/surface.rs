//! The public surface: names that stand for one thing, and one way to do each (rules C1, C5,
//! C8, L6, N1, S10).

use crate::support::{Act, Does, Log, Puppet, asked, boom, puppet};
use krarup::behavior::{Behavior, BehaviorContext, Received, Route, behavior_fn, note_receiver};
use krarup::mailbox::Permit;
use krarup::prelude::*;
use krarup::supervisor::{InPlace, RestartPolicy, RestartWindow, StateFailure};
use krarup::{CannotWait, Name, Recipient, Target};
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[allow(clippy::mutable_key_type, reason = "the hash of an address is that of its pid")]
#[test]
fn n1_addresses_and_recipients_are_keys_of_their_process() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let (one, other) = (puppet(&sim, "one", &log), puppet(&sim, "other", &log));
    let found: Address<Act> = sim.address_of(one.pid()).unwrap();
    let hasher = RandomState::new();
    assert_eq!(one, found);
    assert_eq!(hasher.hash_one(&one), hasher.hash_one(&found));
    assert_ne!(hasher.hash_one(&one), hasher.hash_one(&other));
    let mut names = HashMap::from([(one.clone(), "one"), (other.clone(), "other")]);
    assert_eq!(names.insert(other, "another"), Some("other"));
    assert_eq!(names.get(&found), Some(&"one"));
    // Two recipients of one process, made at different times.
    let recipients: [Recipient<Act>; 2] = [one.recipient(), found.recipient()];
    assert_eq!(recipients[0], recipients[1]);
    assert_eq!(hasher.hash_one(&recipients[0]), hasher.hash_one(&recipients[1]));
    assert_eq!(HashSet::from(recipients).len(), 1);
    // An ended process keeps its hash.
    let before = hasher.hash_one(&one);
    one.stop().wait().unwrap();
    assert_eq!(hasher.hash_one(&one), before);
}

#[test]
fn l6_a_monitor_and_a_watch_take_a_pid_a_name_or_an_alias() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let name = Name::new("target").unwrap();
    let nobody = Name::new("nobody").unwrap();
    let target = sim.spawn(|| Puppet::new("target", &Log::new())).name("target").wait().unwrap();
    let (pid, alias) = (target.pid(), asked(&sim, &target, Context::alias));
    let targets = [
        Target::from(pid),
        Target::from(&name),
        Target::from(name.clone()),
        Target::from(alias),
        // The process in it is looked up again.
        Target::Name(name.clone(), None),
        Target::Alias(alias, None),
    ];
    let ends: Vec<_> = targets.iter().map(|target| sim.watch(target.clone())).collect();
    let none = sim.watch(Target::Name(nobody, Some(pid)));
    let watcher = puppet(&sim, "watcher", &log);
    let mine = targets.clone();
    watcher.tells(move |ctx| {
        for target in mine {
            ctx.monitor(target);
        }
        drop(ctx.watch(pid));
    });
    sim.run_until_idle();
    assert_eq!(sim.process_info(watcher.pid()).unwrap().monitors, targets.len());
    assert_eq!(none.wait().unwrap().reason, Reason::NoProcess);
    target.dies(boom());
    sim.run_until_idle();
    for end in ends {
        let down = end.wait().unwrap();
        assert_eq!((down.pid(), down.reason), (Some(pid), boom()));
    }
    assert_eq!(log.count("watcher down"), targets.len());
}

#[test]
fn c1_a_call_through_a_recipient_may_wait_as_long_as_the_callee_lives() {
    let sim = Simulation::new(1);
    let slow = behavior_fn(|mut ctx: Context<Reply<u32>>| async move {
        while let Received::Message(reply) = ctx.receive().await {
            ctx.sleep(60 * SECOND).await;
            reply.send(7);
        }
        Ok(())
    });
    let slow = sim.spawn(move || slow).start().unwrap();
    let recipient: Recipient<Reply<u32>> = slow.recipient();
    assert_eq!(recipient.call(|reply| reply).no_timeout().wait(), Ok(7));
    // The last setting counts.
    let call = recipient.call(|reply| reply).no_timeout().timeout(SECOND);
    assert!(format!("{call:?}").contains("1s"), "{call:?}");
    assert_eq!(call.wait(), Err(CallError::Timeout { to: slow.pid(), limit: SECOND }));
    // A call that is dropped has sent nothing.
    drop(recipient.call(|reply| reply));
    sim.run_until_idle();
    assert_eq!(slow.waiting(), 0);
}

#[test]
fn c8_a_node_is_not_stopped_by_a_process_that_would_wait_for_it() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let (node, noted) = (sim.node().clone(), log.clone());
    let process = behavior_fn(move |_: Context<()>| async move {
        let refused = node.stop().wait().unwrap_err();
        assert_eq!(refused.downcast_ref(), Some(&CannotWait::InProcess));
        noted.note(format!("{refused}, {}", node.is_stopping()));
        Ok(())
    });
    sim.spawn(move || process).start().unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), [format!("{}, false", CannotWait::InProcess)]);
    sim.stop().wait().unwrap();
}

/// Allows a restart for one reason only.
struct Once(&'static str, RestartWindow);

impl RestartPolicy for Once {
    fn check(&self) -> Result {
        if self.0.is_empty() { Err(Reason::error("no reason is allowed")) } else { Ok(()) }
    }

    async fn may_restart(&mut self, failure: &StateFailure<'_>) -> bool {
        failure.reason.to_string() == self.0 && self.1.record(failure.now)
    }
}

#[test]
fn s10_a_policy_decides_in_place_of_the_intensity_and_is_checked_at_the_spawn() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let spawned = |reason: &'static str| {
        let log = log.clone();
        let policy = Once(reason, RestartWindow::new(1, SECOND));
        sim.spawn(move || InPlace::new(move || Puppet::new("p", &log)).policy(policy)).wait()
    };
    let refused = spawned("").unwrap_err();
    assert_eq!(refused, SpawnError::Init(Reason::error("no reason is allowed")));
    for (reason, lives) in [("boom", true), ("another", false)] {
        let process = spawned(reason).unwrap();
        process.dies(boom());
        sim.run_until_idle();
        assert_eq!(process.is_alive(), lives, "{reason}");
        process.dies(boom());
        sim.run_until_idle();
        assert!(!process.is_alive());
    }
}

/// A route of a user: all to one process, until its own has ended.
struct ToOne(Address<Reply<String>>, Arc<AtomicBool>);

impl Route<Reply<String>> for ToOne {
    fn send(&self, asked: Reply<String>, sender: u64) -> Result<(), SendError<Reply<String>>> {
        if self.1.load(Ordering::Acquire) {
            return Err(SendError::NoProcess { message: asked, to: self.0.pid() });
        }
        self.0.forward(asked, sender)?;
        note_receiver(self.0.pid());
        Ok(())
    }

    fn reserve(&self) -> Result<Permit<Reply<String>>, SendError<()>> {
        self.0.reserve()
    }

    fn waiting(&self) -> usize {
        self.0.waiting()
    }
}

struct Router(Address<Reply<String>>);

impl Behavior for Router {
    type Message = Reply<String>;
    type Command = Infallible;

    async fn run(self, mut ctx: Context<Reply<String>, Infallible>) -> Result {
        let ended = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ended);
        ctx.on_end(move |_| end.store(true, Ordering::Release));
        ctx.route_main(ToOne(self.0, ended));
        ctx.stop_in_order();
        ctx.initialised();
        loop {
            if let Received::Stop(reason) = ctx.receive().await {
                return Err(reason);
            }
        }
    }

    fn routes_main() -> bool {
        true
    }
}

#[test]
fn c5_a_call_through_a_route_made_of_public_names_knows_its_receiver() {
    let sim = Simulation::new(1);
    // Calls the router, which leads back to itself.
    let one = behavior_fn(|mut ctx: Context<Reply<String>>| async move {
        while let Received::Message(asked) = ctx.receive().await {
            let router: Address<Reply<String>, Infallible> = ctx.lookup("router").unwrap();
            asked.send(format!("{:?}", router.call(|reply| reply).await));
        }
        Ok(())
    });
    let one = sim.spawn(move || one).start().unwrap();
    let worker = one.clone();
    let router = sim.spawn(move || Router(worker)).name("router").wait().unwrap();
    let itself = format!("Err(CallsItself({}))", one.pid());
    assert_eq!(router.call(|reply| reply).wait().unwrap(), itself);
    router.stop().wait().unwrap();
    assert_eq!(router.call(|reply| reply).wait(), Err(CallError::NoProcess { to: one.pid() }));
    assert!(one.is_alive());
}
