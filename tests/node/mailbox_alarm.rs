//! The alarm of mailboxes that grow: rule M11.

use crate::support::Log;
use crate::support::journal::Journal;
use krarup::NodeError;
use krarup::behavior::behavior_fn;
use krarup::prelude::*;
use std::time::Duration;

/// In a simulation what is told of is told when time goes on.
const TICK: Duration = Duration::from_millis(1);

/// Never takes anything.
async fn hangs(_: Context<u32>) -> Result {
    std::future::pending().await
}

fn spawn(sim: &Simulation) -> Address<u32> {
    let hangs = behavior_fn(hangs);
    let address = sim.spawn(move || hangs).name("slow").start().unwrap();
    sim.run_until_idle();
    address
}

fn send(address: &Address<u32>, count: u32) {
    (0..count).for_each(|number| address.send(number).unwrap());
}

/// Notes the number of messages of each alarm.
fn noting(log: &Log, of: impl FnOnce(&Simulation)) {
    let alarms = log.clone();
    let told = Journal::new(
        |event| event.target() == "krarup" && event.fields().field("messages").is_some(),
        move |fields| {
            let told = |wanted: &str| {
                let field = fields.iter().find(|(name, _)| *name == wanted);
                field.map_or_else(|| "none".to_owned(), |(_, value)| value.clone())
            };
            alarms.note(format!("{} {}", told("name"), told("messages")));
        },
    );
    tracing::subscriber::with_default(told, || of(&Simulation::new(1)));
}

#[test]
fn m11_a_growing_mailbox_is_reported_at_ten_thousand_messages_and_each_doubling() {
    let log = Log::new();
    noting(&log, |sim| {
        let address = spawn(sim);
        send(&address, 9_999);
        sim.advance(TICK);
        assert_eq!(sim.stats().deep_mailboxes, 0);
        send(&address, 1);
        // It is told of in a moment: no subscriber runs while the mailbox is locked.
        assert!(log.take().is_empty());
        sim.advance(TICK);
        assert_eq!(log.take(), ["\"slow\" 10000"]);
        send(&address, 9_999);
        sim.advance(TICK);
        assert!(log.take().is_empty());
        send(&address, 20_001);
        sim.advance(TICK);
        assert_eq!(log.take(), ["\"slow\" 20000", "\"slow\" 40000"]);
        assert_eq!(sim.stats().deep_mailboxes, 3);
    });
}

#[test]
fn m11_the_alarm_counts_messages_of_every_kind_of_send() {
    let log = Log::new();
    noting(&log, |sim| {
        let address = spawn(sim);
        for number in 0..5_000 {
            address.reserve().unwrap().send(number);
            sim.send("slow", number).unwrap();
        }
        sim.advance(TICK);
        assert_eq!(log.take(), ["\"slow\" 10000"]);
    });
}

#[test]
fn m11_no_alarm_without_a_backlog_or_when_switched_off() {
    let log = Log::new();
    noting(&log, |sim| {
        let takes = behavior_fn(|mut ctx: Context<u32>| async move {
            loop {
                ctx.receive().await;
            }
        });
        let takes = sim.spawn(move || takes).start().unwrap();
        for _ in 0..10 {
            send(&takes, 9_000);
            sim.advance(TICK);
        }
        sim.mailbox_alarm(None).unwrap();
        send(&spawn(sim), 20_000);
        sim.advance(TICK);
        assert_eq!(sim.stats().deep_mailboxes, 0);
        assert!(log.take().is_empty());
    });
    let early = Node::builder("early").mailbox_alarm(9_999).start();
    assert!(matches!(early, Err(NodeError::MailboxAlarm { messages: 9_999, least: 10_000 })));
}

#[test]
fn m11_an_alarm_that_is_refused_changes_nothing() {
    let log = Log::new();
    noting(&log, |sim| {
        for early in [0, 9_999, 1] {
            let error = sim.mailbox_alarm(early).unwrap_err().to_string();
            let says = format!("cannot be at {early} messages: the minimum is 10000");
            assert!(error.ends_with(&says), "{error}");
        }
        let address = spawn(sim);
        send(&address, 9_999);
        sim.advance(TICK);
        assert_eq!(sim.stats().deep_mailboxes, 0);
        send(&address, 1);
        sim.advance(TICK);
        assert_eq!((sim.stats().deep_mailboxes, log.take().len()), (1, 1));
        // The last that was set counts, and may be none.
        sim.mailbox_alarm(20_000).unwrap();
        sim.mailbox_alarm(None).unwrap();
        send(&address, 10_000);
        sim.advance(TICK);
        assert!(log.take().is_empty());
        assert_eq!(sim.stats().deep_mailboxes, 1);
    });
}

#[test]
fn m11_the_builder_sets_the_alarm_threshold() {
    for (alarm, timers) in [(None, 0), (Some(10_000), 1), (Some(20_000), 0)] {
        let node = Node::builder("m11").workers(1).mailbox_alarm(alarm).start().unwrap();
        let process = behavior_fn(hangs);
        let process = node.spawn(move || process).start().unwrap();
        send(&process, 10_000);
        // It is a timer that is due at once.
        while timers > 0 && node.stats().deep_mailboxes == 0 {
            std::thread::yield_now();
        }
        assert_eq!((node.stats().deep_mailboxes, node.stats().timers), (timers, 0));
        node.stop().timeout(Duration::ZERO).wait().unwrap();
    }
}
