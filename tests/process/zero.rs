//! The rule for zero (rule B1): a setting that needs at least one of something, or some time,
//! refuses zero with an error. Zero retries and zero time to wait are valid.

use crate::support::{Log, Puppet};
use krarup::Node;
use krarup::dispatcher::DispatcherOptions;
use krarup::grains::Grains;
use krarup::pool::{Elastic, Rate};
use krarup::prelude::*;
use krarup::state::{Scope, StateActor, Stateful};
use krarup::supervisor::{BackOff, InPlace};
use std::fmt;
use std::time::Duration;

const ZERO: Duration = Duration::ZERO;
const SECOND: Duration = Duration::from_secs(1);

fn quiet() -> Puppet {
    Puppet::new("quiet", &Log::new())
}

fn pool() -> Pool<Puppet> {
    Pool::new(2, quiet)
}

fn child() -> ChildSpec {
    ChildSpec::worker("child", quiet)
}

fn parent(child: ChildSpec) -> Supervisor {
    Supervisor::one_for_one().child(child)
}

/// A state actor that does nothing.
struct Idle;

impl StateActor for Idle {
    type Notice = ();
    type Ask = ();
    type Reply = ();
    type Event = ();

    async fn handle_notice(_: &mut Scope<Self>, (): ()) -> Result {
        Ok(())
    }

    async fn handle_ask(_: &mut Scope<Self>, (): ()) -> Result {
        Ok(())
    }
}

/// The outcome of a setting: what refused it, if it was refused.
fn refused<T, E: fmt::Display>(outcome: Result<T, E>) -> Option<String> {
    outcome.err().map(|error| error.to_string())
}

macro_rules! spawns {
    ($sim:ident: $($name:literal => $make:expr,)*) => {
        [$(($name, refused($sim.spawn(|| $make).wait())),)*]
    };
}

fn node(options: DispatcherOptions) -> Option<String> {
    let node = Node::builder("zero@localhost").options(options.clone()).start();
    // The same for a dispatcher besides the default one.
    let other = Node::builder("zero@localhost").dispatcher("other", options).start();
    assert_eq!(node.is_ok(), other.is_ok());
    refused(node)
}

#[test]
fn b1_zero_is_an_error_where_one_or_some_time_is_needed() {
    let sim = Simulation::new(1);
    let options = || DispatcherOptions::new().workers(1);
    let name = || Node::builder("zero@localhost").workers(1);
    let mut outcomes = vec![
        ("Spawn::mailbox", refused(sim.spawn(quiet).mailbox(0).wait())),
        ("Spawn::init_timeout", refused(sim.spawn(quiet).init_timeout(ZERO).wait())),
        ("NodeBuilder::workers", refused(name().workers(0).start())),
        ("NodeBuilder::blocking_threads", refused(name().blocking_threads(0).start())),
        ("NodeBuilder::blocking_pool", refused(name().blocking_pool("disk", 0).start())),
        ("NodeBuilder::mailbox_alarm", refused(name().mailbox_alarm(0).start())),
        ("DispatcherOptions::workers", node(options().workers(0))),
        ("DispatcherOptions::throughput", node(options().throughput(0))),
        ("DispatcherOptions::throughput_deadline", node(options().throughput_deadline(ZERO))),
        ("DispatcherOptions::long_turn", node(options().long_turn(ZERO))),
        ("DispatcherOptions::stack_size", node(options().stack_size(0))),
    ];
    outcomes.extend(spawns! { sim:
        "Pool::new" => Pool::new(0, quiet),
        "Pool::mailbox" => pool().mailbox(0),
        "Rate::per_second" => pool().rate(Rate::per_second(0.0)),
        "Rate::burst" => pool().rate(Rate::per_second(1.0).burst(0)),
        "Pool::time_to_live" => pool().time_to_live(ZERO),
        "Pool::report_every" => pool().report_every(ZERO),
        "Pool::stuck_limit" => pool().stuck_limit(ZERO),
        "Pool::init_timeout" => pool().init_timeout(ZERO),
        "Pool::intensity" => pool().intensity(1, ZERO),
        "Pool::back_off" => pool().back_off(ZERO, SECOND),
        "Elastic::between" => pool().elastic(Elastic::between(0, 4)),
        "Elastic::step" => pool().elastic(Elastic::between(1, 4).step(0)),
        "Elastic::every" => pool().elastic(Elastic::between(1, 4).every(ZERO)),
        "InPlace::intensity" => InPlace::new(quiet).intensity(1, ZERO),
        "Stateful::restarts" => Stateful::new(Idle).restarts(1, ZERO),
        "Stateful::most_in_flight" => Stateful::new(Idle).most_in_flight(0),
        "Grains::mailbox" => Grains::new(|_: &u32| quiet()).mailbox(0),
        "Supervisor::intensity" => Supervisor::one_for_one().intensity(1, ZERO),
        "ChildSpec::mailbox" => parent(child().mailbox(0)),
        "ChildSpec::init_timeout" => parent(child().init_timeout(ZERO)),
        "BackOff::new" => parent(child().back_off(BackOff::new(ZERO, SECOND))),
        "BackOff::reset_after" =>
            parent(child().back_off(BackOff::new(SECOND, SECOND).reset_after(ZERO))),
    });
    for (setting, error) in outcomes {
        assert!(error.is_some(), "{setting} accepts zero");
    }
    sim.run_until_idle();
    assert_eq!(sim.stats().processes, 0, "nothing is left");
}

#[test]
fn b1_zero_retries_and_zero_time_to_wait_are_valid() {
    let sim = Simulation::new(1);
    let mut outcomes =
        vec![("Spawn::kill_grace", refused(sim.spawn(quiet).kill_grace(ZERO).wait()))];
    outcomes.extend(spawns! { sim:
        "Pool::intensity" => pool().intensity(0, SECOND),
        "Elastic::shrink_at" => pool().elastic(Elastic::between(1, 4).shrink_at(0)),
        "Elastic::cool_down" => pool().elastic(Elastic::between(1, 4).cool_down(ZERO)),
        "InPlace::intensity" => InPlace::new(quiet).intensity(0, SECOND),
        "Stateful::restarts" => Stateful::new(Idle).restarts(0, SECOND),
        "Grains::idle" => Grains::new(|_: &u32| quiet()).idle(ZERO),
        "Supervisor::intensity" => Supervisor::one_for_one().intensity(0, SECOND),
        "Supervisor::kill_grace" => Supervisor::one_for_one().kill_grace(ZERO),
        "ChildSpec::shutdown" => parent(child().shutdown(ZERO)),
        "BackOff::jitter" => parent(child().back_off(BackOff::new(SECOND, SECOND).jitter(0.0))),
    });
    let options = DispatcherOptions::new().workers(1).spare_workers(0);
    let node = Node::builder("zero@localhost").options(options).stop_timeout(ZERO).start();
    outcomes.push((
        "NodeStop::timeout",
        node.as_ref().ok().and_then(|node| refused(node.stop().timeout(ZERO).wait())),
    ));
    outcomes.push(("NodeBuilder::stop_timeout", refused(node)));
    for (setting, error) in outcomes {
        assert_eq!(error, None, "{setting}");
    }
    // An operation takes zero literally.
    let process = sim.spawn(quiet).wait().unwrap();
    process.stop().timeout(ZERO).wait().unwrap_err();
    sim.stop().timeout(ZERO).wait().unwrap();
    assert_eq!(sim.stats().processes, 0);
}
