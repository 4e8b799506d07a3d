//! Waiting for a name, and addresses by name: rules H1 and H2.

use crate::support::{Does, Log, poll_once, puppet, simulations};
use krarup::behavior::behavior_fn;
use krarup::groups::JoinError;
use krarup::prelude::*;
use krarup::{
    AwaitNameError, CallError, CannotWait, LookupError, NameError, NamedAddress, Recipient,
};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Counts what it is sent.
struct Counter(Arc<AtomicU64>);

impl Actor for Counter {
    type Message = u64;

    async fn handle_message(&mut self, _: &mut Context<u64>, count: u64) -> Result {
        self.0.fetch_add(count, Ordering::Relaxed);
        Ok(())
    }
}

fn counter(node: &Node, name: &str, counts: &Arc<AtomicU64>) -> Address<u64> {
    let counts = Arc::clone(counts);
    node.spawn(move || Counter(counts)).name(name).start().unwrap()
}

fn named(node: &Node, name: &str) -> NamedAddress<u64> {
    node.named_address(name).unwrap()
}

#[test]
fn h1_a_wait_ends_when_a_process_is_spawned_with_the_name() {
    for sim in simulations(20) {
        let counts = Arc::default();
        let mut waits: Vec<_> =
            (0..3).map(|_| sim.lookup_or_wait::<u64, u64>("counter").into_future()).collect();
        for wait in &mut waits {
            assert!(poll_once(wait).is_pending());
        }
        // A process is polled again only if it is woken.
        let log = Log::new();
        let told = log.clone();
        let process = behavior_fn(move |ctx: Context<()>| async move {
            let found = ctx.lookup_or_wait::<u64, u64>("counter").no_timeout().await;
            told.note(found.is_ok());
            Ok(())
        });
        sim.spawn(move || process).start().unwrap();
        sim.run_until_idle();
        counter(&sim, "another", &counts);
        sim.run_until_idle();
        waits.iter_mut().for_each(|wait| assert!(poll_once(wait).is_pending()));
        assert!(log.lines().is_empty());
        let pid = counter(&sim, "counter", &counts).pid();
        sim.run_until_idle();
        assert_eq!(log.lines(), ["true"]);
        for wait in waits {
            assert_eq!(wait.wait().unwrap().pid(), pid);
        }
        // Somebody has it: there is nothing to wait for.
        let found = sim.lookup_or_wait::<u64, u64>("counter").timeout(Duration::ZERO).wait();
        assert_eq!(found.unwrap().pid(), pid);
    }
}

#[test]
fn h1_a_process_that_waits_goes_on_when_another_registers_the_name() {
    for sim in simulations(20) {
        let log = Log::new();
        let told = log.clone();
        let waits = behavior_fn(move |ctx: Context<()>| async move {
            let found = ctx.lookup_or_wait::<crate::support::Act, crate::support::Act>("late");
            told.note(found.no_timeout().await.is_ok());
            Ok(())
        });
        sim.spawn(move || waits).start().unwrap();
        let late = puppet(&sim, "first", &log);
        sim.run_until_idle();
        assert_eq!(log.count("true"), 0);
        late.tells(|ctx| {
            ctx.unregister("first");
            ctx.register("late").unwrap();
        });
        sim.run_until_idle();
        assert_eq!(log.count("true"), 1);
    }
}

#[test]
fn h1_a_wait_has_a_limit_and_says_so() {
    let sim = Simulation::new(1);
    let start = sim.now();
    let wait = || sim.lookup_or_wait::<u64, u64>("nobody");
    let error = wait().timeout(SECOND * 3).wait().unwrap_err();
    assert_eq!(error.to_string(), "no process had the name \"nobody\" within 3s");
    assert_eq!(sim.now().since(start), SECOND * 3);
    assert!(
        matches!(wait().wait(), Err(AwaitNameError::Timeout { limit, .. }) if limit == SECOND * 5)
    );
    // Nobody will ever take the name.
    let error = wait().no_timeout().wait();
    assert!(matches!(error, Err(AwaitNameError::CannotWait(CannotWait::Stalled))), "{error:?}");
}

#[test]
fn h1_a_text_that_is_no_name_and_a_process_of_another_type_are_errors_at_once() {
    let sim = Simulation::new(1);
    counter(&sim, "counter", &Arc::default());
    let empty = sim.lookup_or_wait::<u64, u64>("").no_timeout().wait();
    assert_eq!(empty.unwrap_err(), AwaitNameError::InvalidName(NameError::Empty));
    let other = sim.lookup_or_wait::<u8, u8>("counter").wait();
    assert!(matches!(other, Err(AwaitNameError::Lookup(LookupError::WrongType { .. }))));
    assert_eq!(sim.named_address::<u64, u64>("").unwrap_err(), NameError::Empty);
    let waits = behavior_fn(|ctx: Context<()>| async move {
        let wait = ctx.lookup_or_wait::<u64, u64>("counter").wait();
        assert!(matches!(wait, Err(AwaitNameError::CannotWait(CannotWait::InProcess))));
        Ok(())
    });
    let end = sim.spawn(move || waits).start().unwrap().watch();
    assert_eq!(end.wait().unwrap().reason, Reason::Normal);
}

#[test]
fn h1_the_begin_of_a_stop_ends_every_wait() {
    for sim in simulations(20) {
        let log = Log::new();
        let told = log.clone();
        let waits = behavior_fn(move |ctx: Context<()>| async move {
            let waited = ctx.lookup_or_wait::<u64, u64>("nobody").no_timeout().await;
            told.note(waited.unwrap_err());
            Ok(())
        });
        sim.spawn(move || waits).start().unwrap();
        let mut outside = sim.lookup_or_wait::<u64, u64>("nobody").no_timeout().into_future();
        assert!(poll_once(&mut outside).is_pending());
        sim.run_until_idle();
        // The process that waits in its handler does not delay the stop.
        let start = sim.now();
        sim.stop().wait().unwrap();
        assert!(sim.now().since(start) < SECOND, "{:?}", sim.now().since(start));
        assert_eq!(log.lines(), ["no process has the name \"nobody\", and the node stops"]);
        let stopped = poll_once(&mut outside);
        assert!(matches!(stopped, Poll::Ready(Err(AwaitNameError::NodeStopped { .. }))));
        let late = sim.lookup_or_wait::<u64, u64>("nobody").no_timeout().wait();
        assert!(matches!(late, Err(AwaitNameError::NodeStopped { .. })));
    }
}

#[test]
fn h1_threads_that_wait_are_woken_by_threads_that_spawn() {
    let node = Node::start("h1_threads").unwrap();
    std::thread::scope(|scope| {
        let waits: Vec<_> = (0..64)
            .map(|number| {
                let node = node.clone();
                scope.spawn(move || {
                    let wait = node.lookup_or_wait::<u64, u64>(format!("c{}", number % 8));
                    wait.no_timeout().wait().unwrap().pid()
                })
            })
            .collect();
        for number in 0..8 {
            counter(&node, &format!("c{number}"), &Arc::default());
        }
        for (number, wait) in waits.into_iter().enumerate() {
            assert_eq!(Some(wait.join().unwrap()), node.whereis(&format!("c{}", number % 8)));
        }
    });
    node.stop().wait().unwrap();
}

#[test]
fn h2_a_named_address_reaches_whichever_process_has_the_name() {
    for sim in simulations(20) {
        let counts = Arc::default();
        let named = named(&sim, "counter");
        let refused = named.send(7).unwrap_err();
        assert_eq!(refused.to_string(), "no process has the name \"counter\"");
        assert_eq!(refused.into_message(), 7);
        assert!(matches!(named.address(), Err(LookupError::NoName(_))));
        for _ in 0..5 {
            let address = counter(&sim, "counter", &counts);
            let clone = named.clone();
            named.send(1).unwrap();
            clone.send(10).unwrap();
            assert_eq!(named.address().unwrap(), address);
            sim.run_until_idle();
            sim.kill(address.pid());
            sim.run_until_idle();
            assert!(named.send(100).is_err());
        }
        assert_eq!(counts.load(Ordering::Relaxed), 55);
        assert_eq!(format!("{named:?} {}", named.name()), "NamedAddress(\"counter\") counter");
    }
}

/// What the till takes, made from a number.
struct Paid(u64);

impl From<u64> for Paid {
    fn from(amount: u64) -> Self {
        Paid(amount)
    }
}

/// Adds up what it is paid, one at a time.
struct Till(Arc<AtomicU64>);

impl Actor for Till {
    type Message = Paid;

    async fn handle_message(&mut self, ctx: &mut Context<Paid>, Paid(amount): Paid) -> Result {
        if amount == 0 {
            return Err(Reason::error("nothing"));
        }
        self.0.fetch_add(amount, Ordering::Relaxed);
        ctx.sleep(SECOND).await;
        Ok(())
    }
}

#[test]
fn h2_a_recipient_by_name_reaches_whichever_process_has_the_name() {
    for sim in simulations(20) {
        let counts: Arc<AtomicU64> = Arc::default();
        let till = || {
            let counts = Arc::clone(&counts);
            sim.spawn(move || Till(counts)).name("till").mailbox(2).start().unwrap()
        };
        let named = sim.named_address::<Paid, Paid>("till").unwrap();
        let recipient: Recipient<u64> = named.recipient();
        // Nobody has the name: the message comes back as it was, and is a dead letter. A
        // reservation has no message.
        let before = sim.stats().dead_letters;
        assert!(matches!(recipient.send(7), Err(SendError::NoName { message: 7, .. })));
        assert!(matches!(recipient.reserve(), Err(SendError::NoName { .. })));
        recipient.notify(7);
        assert_eq!((sim.stats().dead_letters - before, recipient.is_alive()), (2, false));
        // It waits for a process too.
        let late = recipient.send_or_wait(7).timeout(SECOND).wait();
        assert!(matches!(late, Err(SendError::Timeout { message: 7, .. })), "{late:?}");
        assert_eq!(
            recipient.call(|_: Reply<()>| 7).wait(),
            Err(CallError::NoProcess { to: recipient.pid() })
        );
        let refused = sim.groups().join("tills", &recipient);
        assert_eq!(refused, Err(JoinError::NoProcess(recipient.pid())));
        for _ in 0..3 {
            let address = till();
            recipient.reserve().unwrap().send(10);
            recipient.send(1).unwrap();
            assert!(matches!(recipient.send(5), Err(SendError::Full { message: 5, .. })));
            assert_eq!((recipient.pid(), recipient.is_alive()), (address.pid(), true));
            sim.run_until_idle();
            sim.advance(5 * SECOND);
            sim.kill(address.pid());
            sim.run_until_idle();
            assert!(recipient.send(100).is_err());
        }
        assert_eq!(counts.load(Ordering::Relaxed), 33);
        // It is known by its name, whoever has it.
        let other: Recipient<u64> = sim.named_address::<Paid, Paid>("till").unwrap().recipient();
        let third: Recipient<u64> = sim.named_address::<Paid, Paid>("other").unwrap().recipient();
        let keys: HashSet<Recipient<u64>> = [recipient.clone(), other, third].into();
        assert_eq!((keys.len(), format!("{recipient:?}").as_str()), (2, "Recipient(\"till\")"));
        assert_ne!(recipient, till().recipient());
    }
}

#[test]
fn h2_who_waits_for_room_by_a_name_goes_on_at_the_next_process() {
    for sim in simulations(50) {
        let counts: Arc<AtomicU64> = Arc::default();
        let till = {
            let counts = Arc::clone(&counts);
            move || {
                let counts = Arc::clone(&counts);
                ChildSpec::worker("till", move || Till(Arc::clone(&counts))).name("till").mailbox(2)
            }
        };
        let tree = move || Supervisor::one_for_one().intensity(9, SECOND).child(till());
        sim.spawn(tree).wait().unwrap();
        let recipient: Recipient<u64> =
            sim.named_address::<Paid, Paid>("till").unwrap().recipient();
        // The first ends it, the second is lost with it, and the third waits for room.
        recipient.send(0).unwrap();
        recipient.send(1).unwrap();
        let mut waits = recipient.send_or_wait(10).into_future();
        assert!(poll_once(&mut waits).is_pending());
        sim.run_until_idle();
        sim.block_on(waits).unwrap().unwrap();
        sim.run_until_idle();
        assert_eq!(counts.load(Ordering::Relaxed), 10);
        // From a process, which is woken by the end of the first: before the next has the name.
        let (by, log) = (recipient.clone(), Log::new());
        let told = log.clone();
        recipient.send(0).unwrap();
        recipient.send(1).unwrap();
        let sender = behavior_fn(move |_: Context<()>| async move {
            told.note(format!("{:?}", by.send_or_wait(100).await));
            Ok(())
        });
        sim.spawn(move || sender).start().unwrap();
        sim.advance(5 * SECOND);
        sim.run_until_idle();
        assert_eq!((log.take(), counts.load(Ordering::Relaxed)), (vec!["Ok(())".to_owned()], 110));
        // The node stops: nobody will have the name.
        sim.kill(sim.whereis("till").unwrap());
        let waits = sim.named_address::<Paid, Paid>("nobody").unwrap().recipient::<u64>();
        let mut waits = waits.send_or_wait(1).into_future();
        assert!(poll_once(&mut waits).is_pending());
        sim.stop().wait().unwrap();
        assert!(matches!(poll_once(&mut waits), Poll::Ready(Err(SendError::NoName { .. }))));
    }
}

#[test]
fn h2_the_name_is_looked_up_again_only_when_the_process_has_ended() {
    let sim = Simulation::new(1);
    let (one, other) = (Arc::default(), Arc::default());
    let first = counter(&sim, "counter", &one);
    let named = named(&sim, "counter");
    named.send(1).unwrap();
    let taker = behavior_fn(|mut ctx: Context<()>| async move {
        ctx.unregister("counter");
        Ok(())
    });
    sim.spawn(move || taker).start().unwrap();
    sim.run_until_idle();
    counter(&sim, "counter", &other);
    // It lives, so nothing was looked up.
    named.send(1).unwrap();
    sim.run_until_idle();
    assert_eq!((one.load(Ordering::Relaxed), other.load(Ordering::Relaxed)), (2, 0));
    sim.kill(first.pid());
    sim.run_until_idle();
    named.send(1).unwrap();
    sim.run_until_idle();
    assert_eq!((one.load(Ordering::Relaxed), other.load(Ordering::Relaxed)), (2, 1));
}

#[test]
fn h2_a_message_is_a_dead_letter_only_if_no_process_gets_it() {
    let sim = Simulation::new(1);
    let counts = Arc::default();
    let first = counter(&sim, "counter", &counts);
    let named = named(&sim, "counter");
    named.send(1).unwrap();
    sim.run_until_idle();
    sim.kill(first.pid());
    sim.run_until_idle();
    let before = sim.stats().dead_letters;
    counter(&sim, "counter", &counts);
    named.send(1).unwrap();
    sim.run_until_idle();
    assert_eq!((counts.load(Ordering::Relaxed), sim.stats().dead_letters), (2, before));
    sim.kill(sim.whereis("counter").unwrap());
    sim.run_until_idle();
    named.send(1).unwrap_err();
    assert_eq!(sim.stats().dead_letters, before + 1);
}

#[test]
fn h2_a_full_mailbox_and_another_type_give_the_message_back() {
    let sim = Simulation::new(1);
    let counts: Arc<AtomicU64> = Arc::default();
    let counter = {
        let counts = Arc::clone(&counts);
        sim.spawn(move || Counter(counts)).name("counter").mailbox(1).start().unwrap()
    };
    let named = named(&sim, "counter");
    named.send(1).unwrap();
    let full = named.send(2).unwrap_err();
    assert!(matches!(full, SendError::Full { message: 2, to } if to == counter.pid()));
    let other = sim.named_address::<u8, u8>("counter").unwrap();
    let refused = other.send(3).unwrap_err();
    assert!(matches!(refused, SendError::WrongType { message: 3, .. }), "{refused:?}");
}
