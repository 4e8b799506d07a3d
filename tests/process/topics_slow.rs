//! Subscribers of topics that are slow (rules E7, E9).

use crate::support::{Log, poll_once, simulations};
use crate::topic_support::{Say, ask, ear, publish, tell};
use krarup::Target;
use krarup::behavior::{Received, behavior_fn};
use krarup::prelude::*;
use krarup::topics::{PublishError, Publisher, SubscribeError, TooSlow, WhenFull};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

/// A process that is subscribed with a limit and handles nothing for now.
fn slow(
    sim: &Simulation,
    log: &Log,
    prices: &Publisher<u32>,
    (at_most, when_full): (usize, WhenFull),
) -> Address<Say> {
    let (slow, topic) = (ear(sim, "slow", log), prices.topic());
    ask(sim, &slow, move |ctx| {
        ctx.subscribe(&topic).numbered().at_most(at_most, when_full).start().unwrap()
    });
    sim.suspend(slow.pid()).wait().unwrap();
    slow
}

/// Lets it handle what waits.
fn resumed(sim: &Simulation, log: &Log, slow: &Address<Say>) -> Vec<String> {
    sim.resume(slow.pid());
    sim.run_until_idle();
    log.take()
}

#[test]
fn e7_the_oldest_or_the_newest_events_are_missed_as_chosen_and_counted() {
    for sim in simulations(3) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").open().unwrap();
        let oldest = slow(&sim, &log, &prices, (3, WhenFull::DropOldest));
        let counts: Vec<_> = (1..=5)
            .map(|price| prices.publish(price).unwrap())
            .map(|published| (published.heard, published.missed))
            .collect();
        assert_eq!(counts, [(1, 0), (1, 0), (1, 0), (1, 1), (1, 1)]);
        let state = prices.topic().subscribers();
        assert_eq!((state[0].untaken, state[0].missed), (3, 2));
        let lines = resumed(&sim, &log, &oldest);
        assert_eq!(lines, ["slow #3+2 3", "slow #4+0 4", "slow #5+0 5"]);
        sim.kill(oldest.pid());
        sim.run_until_idle();
        log.take();
        let newest = slow(&sim, &log, &prices, (2, WhenFull::DropNewest));
        publish(&prices, 6, 9);
        sim.resume(newest.pid());
        sim.run_until_idle();
        publish(&prices, 10, 10);
        sim.run_until_idle();
        assert_eq!(log.take(), ["slow #6+0 6", "slow #7+0 7", "slow #10+2 10"]);
        let topic = prices.topic();
        let missed = ask(&sim, &newest, move |ctx| ctx.subscription(&topic).unwrap().missed);
        assert_eq!((missed, prices.topic().info().missed), (2, 4));
    }
}

#[test]
fn e7_events_do_not_count_for_the_bound_of_the_mailbox_nor_messages_for_the_limit() {
    for sim in simulations(3) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").open().unwrap();
        let (noted, topic) = (log.clone(), prices.topic());
        let bounded = sim
            .spawn(move || crate::topic_support::Ear { name: "bounded", log: noted, traps: false })
            .mailbox(2)
            .wait()
            .unwrap();
        ask(&sim, &bounded, move |ctx| {
            ctx.subscribe(&topic).at_most(3, WhenFull::DropNewest).start().unwrap()
        });
        sim.suspend(bounded.pid()).wait().unwrap();
        assert_eq!(prices.publish(1).unwrap().heard, 1);
        bounded.send(Say::Price(100)).ok().unwrap();
        publish(&prices, 2, 3);
        bounded.send(Say::Price(101)).ok().unwrap();
        assert!(matches!(bounded.send(Say::Price(102)), Err(SendError::Full { .. })));
        assert_eq!(prices.publish(4).unwrap().missed, 1);
        sim.resume(bounded.pid());
        sim.run_until_idle();
        // Events and messages as they came.
        let expected = ["1", "100", "2", "3", "101"].map(|price| format!("bounded {price}"));
        assert_eq!(log.take(), expected);
    }
}

#[test]
fn e7_nobody_is_unsubscribed_for_being_slow_once_unless_it_chose_that() {
    for sim in simulations(3) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").open().unwrap();
        let kept = [WhenFull::DropOldest, WhenFull::DropNewest, WhenFull::Wait];
        let kept = kept.map(|when_full| slow(&sim, &log, &prices, (1, when_full)));
        let ends = slow(&sim, &log, &prices, (2, WhenFull::End));
        publish(&prices, 1, 2);
        assert_eq!(prices.topic().subscribers().len(), 4);
        let third = prices.publish(3).unwrap();
        assert_eq!((third.heard, third.missed), (1, 4));
        assert_eq!(prices.topic().subscribers().len(), 3);
        publish(&prices, 4, 9);
        let lines = resumed(&sim, &log, &ends);
        let reason = TooSlow { topic: prices.topic().id().clone(), at_most: 2 };
        let down = format!("slow down topic \"prices\" {reason}");
        assert_eq!(lines, ["slow #1+0 1", "slow #2+0 2", &*down]);
        // It can subscribe again, and the others never stopped hearing.
        let topic = prices.topic();
        ask(&sim, &ends, move |ctx| ctx.subscribe(&topic).start().unwrap());
        kept.iter().for_each(|ear| assert!(sim.resume(ear.pid())));
        sim.run_until_idle();
        assert_eq!(log.take().len(), 3);
        assert_eq!(prices.publish(10).unwrap().heard, 4);
        sim.run_until_idle();
        assert_eq!(log.take().len(), 4);
    }
}

#[test]
fn e7_the_reason_of_an_end_for_slowness_can_be_told_from_others() {
    struct Asks(Arc<Mutex<Vec<Down>>>, Publisher<u32>);

    impl Actor for Asks {
        type Message = u32;

        async fn init(&mut self, ctx: &mut Context<u32>) -> Result {
            ctx.subscribe(&self.1.topic()).at_most(1, WhenFull::End).start()?;
            Ok(())
        }

        async fn handle_message(&mut self, _: &mut Context<u32>, _: u32) -> Result {
            Ok(())
        }

        async fn handle_down(&mut self, _: &mut Context<u32>, down: Down) -> Result {
            self.0.lock().unwrap().push(down);
            Ok(())
        }
    }

    let sim = Simulation::new(1);
    let prices = sim.open_topic::<u32>("prices").open().unwrap();
    let (downs, own) = (Arc::new(Mutex::new(Vec::new())), prices.clone());
    let told = Arc::clone(&downs);
    sim.spawn(move || Asks(told, own)).wait().unwrap();
    publish(&prices, 1, 3);
    sim.run_until_idle();
    let downs = downs.lock().unwrap();
    assert_eq!(downs.len(), 1);
    assert_eq!(downs[0].target, Target::Topic(prices.topic().id().clone()));
    assert_eq!(downs[0].reason.downcast_ref::<TooSlow>().unwrap().at_most, 1);
}

#[test]
fn e7_a_thousand_events_wait_if_there_is_no_limit() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let prices = sim.open_topic::<u32>("prices").open().unwrap();
    let (slow, topic) = (ear(&sim, "slow", &log), prices.topic());
    ask(&sim, &slow, move |ctx| ctx.subscribe(&topic).start().unwrap());
    publish(&prices, 1, 1_000);
    sim.run_until_idle();
    let expected: Vec<_> = (1..=1_000).map(|price| format!("slow {price}")).collect();
    assert_eq!(log.take(), expected);
}

#[test]
fn e7_a_subscription_without_room_is_refused_before_anything_changed() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let prices = sim.open_topic::<u32>("prices").open().unwrap();
    let (ear, topic) = (ear(&sim, "ear", &log), prices.topic());
    let none = ask(&sim, &ear, move |ctx| {
        let refused = ctx.subscribe(&topic).at_most(0, WhenFull::End).start().unwrap_err();
        assert!(ctx.subscription(&topic).is_none());
        refused
    });
    assert_eq!(none, SubscribeError::NoRoom(prices.topic().id().clone()));
    let text = "a subscription to topic \"prices\" with room for 0 events would hear none";
    assert_eq!(none.to_string(), text);
    publish(&prices, 1, 1);
    sim.run_until_idle();
    assert!(log.take().is_empty());
}

#[test]
fn e9_publish_or_wait_is_ready_when_all_who_chose_it_have_room() {
    for sim in simulations(5) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").open().unwrap();
        let waits = slow(&sim, &log, &prices, (1, WhenFull::Wait));
        let drops = slow(&sim, &log, &prices, (1, WhenFull::DropNewest));
        assert_eq!(prices.publish_or_wait(1).wait().unwrap().heard, 2);
        let mut second = prices.publish_or_wait(2).into_future();
        assert!(poll_once(&mut second).is_pending());
        // One that does not let publishers wait makes no difference.
        sim.resume(drops.pid());
        sim.run_until_idle();
        assert!(poll_once(&mut second).is_pending());
        // Nor does a plain publication wait.
        assert_eq!(prices.publish(10).unwrap().missed, 1);
        sim.resume(waits.pid());
        sim.run_until_idle();
        assert!(poll_once(&mut second).is_ready());
        sim.run_until_idle();
        assert_eq!(log.count("slow #3+1 2"), 1);
    }
}

#[test]
fn e9_who_ends_or_leaves_is_not_waited_for() {
    for sim in simulations(5) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").open().unwrap();
        let [dies, leaves] = [0, 1].map(|_| slow(&sim, &log, &prices, (1, WhenFull::Wait)));
        publish(&prices, 1, 1);
        let publisher = ear(&sim, "publisher", &log);
        let (own, noted) = (prices.clone(), log.clone());
        tell(&publisher, move |ctx| {
            let publication = own.publish_or_wait(2).into_future();
            ctx.pipe(publication, move |published| {
                published.map_or_else(|error| noted.note(error), |_| ());
                Say::Price(2)
            })?;
            Ok(())
        });
        sim.run_until_idle();
        assert_eq!(log.count("publisher"), 0);
        sim.kill(dies.pid());
        sim.run_until_idle();
        assert_eq!(log.count("publisher"), 0);
        let topic = prices.topic();
        tell(&leaves, move |ctx| {
            ctx.unsubscribe(&topic);
            Ok(())
        });
        // It is first told to leave when it takes messages again.
        sim.resume(leaves.pid());
        sim.run_until_idle();
        assert_eq!(log.count("publisher 2"), 1);
        // Nor is the process itself that publishes.
        let topic = prices.topic();
        ask(&sim, &publisher, move |ctx| {
            ctx.subscribe(&topic).at_most(1, WhenFull::Wait).start().unwrap()
        });
        let own = prices.clone();
        assert!(ask(&sim, &publisher, move |_| {
            own.publish(3).unwrap();
            poll_once(&mut own.publish_or_wait(4).into_future()).is_ready()
        }));
    }
}

#[test]
fn e9_with_a_timeout_it_says_who_was_full_and_gives_the_event_back() {
    for sim in simulations(3) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").open().unwrap();
        let full = [0, 1].map(|_| slow(&sim, &log, &prices, (1, WhenFull::Wait)));
        publish(&prices, 1, 1);
        let limit = Duration::from_secs(3);
        let before = sim.now();
        match prices.publish_or_wait(2).timeout(limit).wait() {
            Err(PublishError::Timeout { event, full: said, limit: after }) => {
                assert_eq!((event, after), (2, limit));
                assert_eq!(said, full.each_ref().map(Address::pid));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(sim.now().since(before), limit);
        // The end of the topic ends the wait too.
        let mut waits = prices.publish_or_wait(3).into_future();
        assert!(poll_once(&mut waits).is_pending());
        prices.close();
        match poll_once(&mut waits) {
            std::task::Poll::Ready(Err(error)) => assert_eq!(error.into_event(), 3),
            other => panic!("{other:?}"),
        }
        assert!(matches!(prices.publish_or_wait(4).wait(), Err(PublishError::Ended { .. })));
    }
}

#[test]
fn e9_waiting_publishers_publish_in_the_order_in_which_they_came() {
    for sim in simulations(10) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").open().unwrap();
        let waits = slow(&sim, &log, &prices, (1, WhenFull::Wait));
        publish(&prices, 1, 1);
        for price in 2..=20 {
            let (publisher, own) = (ear(&sim, "publisher", &log), prices.clone());
            tell(&publisher, move |ctx| {
                let publication = own.publish_or_wait(price).into_future();
                ctx.pipe(publication, |_| Say::Do(Box::new(|_| Ok(()))))?;
                Ok(())
            });
            sim.run_until_idle();
        }
        // One that gives up leaves the line to the others.
        let mut gives_up = prices.publish_or_wait(99).into_future();
        assert!(poll_once(&mut gives_up).is_pending());
        drop(gives_up);
        let lines = resumed(&sim, &log, &waits);
        let expected: Vec<_> = (1..=20).map(|n| format!("slow #{n}+0 {n}")).collect();
        assert_eq!(lines, expected);
    }
}

#[test]
fn e9_a_publication_that_has_given_up_holds_up_no_other_though_it_is_kept() {
    for sim in simulations(3) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").open().unwrap();
        let waits = slow(&sim, &log, &prices, (1, WhenFull::Wait));
        publish(&prices, 1, 1);
        let second = Duration::from_secs(1);
        let mut kept = prices.publish_or_wait(2).timeout(second).into_future();
        let mut next = prices.publish_or_wait(3).into_future();
        assert!(poll_once(&mut kept).is_pending() && poll_once(&mut next).is_pending());
        sim.advance(second);
        assert!(matches!(poll_once(&mut kept), Poll::Ready(Err(PublishError::Timeout { .. }))));
        assert_eq!(resumed(&sim, &log, &waits), ["slow #1+0 1"]);
        assert!(matches!(poll_once(&mut next), Poll::Ready(Ok(_))));
        drop(kept);
    }
}

/// Subscribes with room for one event, and publishes 100 a second later, before it handles an event.
fn publishing(sim: &Simulation, log: &Log, prices: &Publisher<u32>) {
    let (log, prices) = (log.clone(), prices.clone());
    let behavior = behavior_fn(move |mut ctx: Context<u32>| async move {
        ctx.subscribe(&prices.topic()).at_most(1, WhenFull::Wait).start().unwrap();
        ctx.sleep(Duration::from_secs(1)).await;
        let published = prices.publish_or_wait(100).await.unwrap();
        log.note(format!("published: {} missed", published.missed));
        while let Received::Message(price) = ctx.receive().await {
            log.note(price);
        }
        Ok(())
    });
    sim.spawn(move || behavior).start().unwrap();
    sim.run_until_idle();
}

#[test]
fn e9_a_full_subscriber_that_publishes_does_not_wait_behind_those_that_wait_for_it() {
    for sim in simulations(10) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").open().unwrap();
        publishing(&sim, &log, &prices);
        publish(&prices, 1, 1);
        let mut other = prices.publish_or_wait(2).into_future();
        assert!(poll_once(&mut other).is_pending());
        sim.advance(Duration::from_secs(1));
        // It has missed its own event, for it has no room.
        assert_eq!(log.take(), ["published: 1 missed", "1"]);
        assert!(matches!(poll_once(&mut other), Poll::Ready(Ok(_))));
    }
}

#[test]
fn e9_a_full_subscriber_that_publishes_is_told_when_it_alone_is_waited_for() {
    for sim in simulations(10) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").open().unwrap();
        publishing(&sim, &log, &prices);
        let waits = slow(&sim, &log, &prices, (1, WhenFull::Wait));
        publish(&prices, 1, 1);
        let (publisher, own) = (ear(&sim, "publisher", &log), prices.clone());
        tell(&publisher, move |ctx| {
            let publication = own.publish_or_wait(2).into_future();
            ctx.pipe(publication, |_| Say::Do(Box::new(|_| Ok(()))))?;
            Ok(())
        });
        sim.run_until_idle();
        // It stands in line behind the other, for the slow one has no room either.
        sim.advance(Duration::from_secs(1));
        assert_eq!(log.take(), Vec::<String>::new());
        let lines = resumed(&sim, &log, &waits);
        let own: Vec<_> = lines.iter().filter(|line| !line.starts_with("slow")).collect();
        assert_eq!(own, ["published: 1 missed", "1", "2"], "{lines:?}");
        let slow: Vec<_> = lines.iter().filter(|line| line.starts_with("slow")).collect();
        assert_eq!(slow, ["slow #1+0 1", "slow #2+0 100", "slow #3+0 2"], "{lines:?}");
    }
}
