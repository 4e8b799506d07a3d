//! Events that go straight into mailboxes: subscriptions without a limit and without numbers
//! (rules E3, E6, E7, E8).

use crate::support::{Log, simulations};
use crate::topic_support::{Say, ask, ear, publish, subscribe, tell};
use krarup::observe::DeadLetter;
use krarup::prelude::*;
use krarup::testing::Probe;
use krarup::topics::{Publisher, WhenFull};

/// What the conversion of an event does.
#[derive(Clone)]
enum Acts {
    Nothing(u32),
    /// Closes the topic of the event.
    Closes(Publisher<Acts>, u32),
    /// Publishes one that does the same, until the number is 0.
    Publishes(Publisher<Acts>, u32),
}

impl From<Acts> for Say {
    fn from(event: Acts) -> Self {
        match event {
            Acts::Nothing(price) => Say::Price(price),
            Acts::Closes(topic, price) => {
                topic.close();
                Say::Price(price)
            }
            Acts::Publishes(topic, price) => {
                if price > 0 {
                    let next = Acts::Publishes(topic.clone(), price - 1);
                    assert!(topic.publish(next).is_ok());
                }
                Say::Price(price)
            }
        }
    }
}

fn acts(sim: &Simulation, ears: &[Address<Say>]) -> Publisher<Acts> {
    let topic = sim.open_topic::<Acts>("acts").open().unwrap();
    for ear in ears {
        let topic = topic.topic();
        ask(sim, ear, move |ctx| ctx.subscribe(&topic).start().unwrap().len());
    }
    topic
}

#[test]
fn e6_a_topic_that_is_closed_while_an_event_is_delivered_ends_behind_it() {
    for sim in simulations(3) {
        let log = Log::new();
        let ears = ["a", "b", "c"].map(|name| ear(&sim, name, &log));
        let topic = acts(&sim, &ears);
        assert_eq!(topic.publish(Acts::Closes(topic.clone(), 7)).unwrap().heard, 3);
        assert!(topic.publish(Acts::Nothing(8)).is_err());
        sim.run_until_idle();
        let lines = log.take();
        for name in ["a", "b", "c"] {
            let own: Vec<_> = lines.iter().filter(|line| line.starts_with(name)).collect();
            assert_eq!(own, [&format!("{name} 7"), &format!("{name} down topic \"acts\" normal")]);
        }
        assert_eq!(lines.len(), 6);
        assert_eq!(topic.topic().subscribers().len(), 0);
    }
}

#[test]
fn e8_a_conversion_that_publishes_is_no_recursion() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let a = ear(&sim, "a", &log);
    let topic = acts(&sim, &[a]);
    topic.publish(Acts::Publishes(topic.clone(), 20_000)).unwrap();
    sim.run_until_idle();
    assert_eq!(log.lines().len(), 20_001);
    assert_eq!(topic.topic().subscribers()[0].untaken, 0);
}

#[test]
fn e7_what_waits_is_counted_whatever_way_it_came() {
    for sim in simulations(3) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").open().unwrap();
        // Nobody hears of it, so it is not counted below.
        publish(&prices, 1, 1);
        let (a, topic) = (ear(&sim, "a", &log), prices.topic());
        subscribe(&sim, &a, &topic);
        let own = prices.clone();
        tell(&a, move |ctx| {
            let untaken = |ctx: &Context<Say>| ctx.subscription(&topic).map(|state| state.untaken);
            publish(&own, 2, 4);
            assert_eq!(untaken(ctx), Some(3));
            ctx.subscribe(&topic).at_most(2, WhenFull::DropNewest).start()?;
            publish(&own, 5, 7);
            assert_eq!(untaken(ctx), Some(5));
            assert_eq!(ctx.subscription(&topic).map(|state| state.missed), Some(1));
            ctx.subscribe(&topic).start()?;
            publish(&own, 8, 9);
            assert_eq!(untaken(ctx), Some(7));
            Ok(())
        });
        sim.run_until_idle();
        assert_eq!(log.take(), [2, 3, 4, 5, 6, 8, 9].map(|price| format!("a {price}")));
        assert_eq!(prices.topic().subscribers()[0].untaken, 0);
        let info = prices.topic().info();
        assert_eq!((info.published, info.missed), (9, 1));
    }
}

#[test]
fn e7_events_without_a_limit_take_no_room_in_a_bounded_mailbox() {
    for sim in simulations(3) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").open().unwrap();
        let (noted, topic) = (log.clone(), prices.topic());
        let bounded = sim
            .spawn(move || crate::topic_support::Ear { name: "a", log: noted, traps: false })
            .mailbox(1)
            .wait()
            .unwrap();
        subscribe(&sim, &bounded, &topic);
        sim.suspend(bounded.pid()).wait().unwrap();
        publish(&prices, 1, 3);
        assert!(bounded.send(Say::Price(100)).is_ok());
        assert!(bounded.send(Say::Price(101)).is_err());
        publish(&prices, 4, 4);
        sim.resume(bounded.pid());
        sim.run_until_idle();
        assert_eq!(log.take(), ["a 1", "a 2", "a 3", "a 100", "a 4"]);
    }
}

#[test]
fn e3_events_of_a_subscription_that_was_left_are_not_received_by_the_next_one() {
    for sim in simulations(3) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").open().unwrap();
        let (a, topic, own) = (ear(&sim, "a", &log), prices.topic(), prices.clone());
        subscribe(&sim, &a, &topic);
        tell(&a, move |ctx| {
            publish(&own, 1, 2);
            assert!(ctx.unsubscribe(&topic));
            ctx.subscribe(&topic).start()?;
            publish(&own, 3, 3);
            Ok(())
        });
        sim.run_until_idle();
        assert_eq!(log.take(), ["a 3"]);
        assert_eq!(prices.topic().subscribers()[0].untaken, 0);
    }
}

#[test]
fn e6_events_before_a_linked_end_are_received_though_the_process_subscribes_again() {
    for sim in simulations(3) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").open().unwrap();
        // So many that the process looks for subscriptions that it does not need any more.
        let others = |_| sim.open_unnamed_topic::<u32>().open().unwrap();
        let others: Vec<_> = (0..20).map(others).collect();
        let topics: Vec<_> = others.iter().map(Publisher::topic).collect();
        let (a, topic) = (ear(&sim, "a", &log), prices.topic());
        ask(&sim, &a, move |ctx| ctx.subscribe(&topic).linked().start().unwrap().len());
        sim.suspend(a.pid()).wait().unwrap();
        tell(&a, move |ctx| {
            topics.iter().try_for_each(|topic| ctx.subscribe(topic).start().map(drop))?;
            Ok(())
        });
        publish(&prices, 1, 3);
        prices.close();
        sim.resume(a.pid());
        sim.run_until_idle();
        assert_eq!(log.take(), ["a 1", "a 2", "a 3"]);
        publish(&others[19], 4, 4);
        sim.run_until_idle();
        assert_eq!(log.take(), ["a 4"]);
    }
}

#[test]
fn e3_a_process_subscribes_to_a_hundred_thousand_topics_and_leaves_half_of_them() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let a = ear(&sim, "a", &log);
    let open = |_| sim.open_unnamed_topic::<u32>().open().unwrap();
    let prices: Vec<_> = (0..100_000).map(open).collect();
    let topics: Vec<_> = prices.iter().map(Publisher::topic).collect();
    ask(&sim, &a, move |ctx| {
        topics.iter().for_each(|topic| drop(ctx.subscribe(topic).start().unwrap()));
        assert!(topics.iter().step_by(2).all(|topic| ctx.unsubscribe(topic)));
    });
    publish(&prices[0], 7, 7);
    publish(&prices[1], 8, 8);
    sim.run_until_idle();
    assert_eq!(log.take(), ["a 8"]);
    sim.kill(a.pid());
    sim.run_until_idle();
    assert!(prices[1].topic().subscribers().is_empty());
}

#[test]
fn e6_events_that_are_lost_name_no_sender() {
    for sim in simulations(3) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").open().unwrap();
        let a = ear(&sim, "a", &log);
        subscribe(&sim, &a, &prices.topic());
        let letters = Probe::<DeadLetter>::of(&sim, &sim.dead_letters());
        sim.suspend(a.pid()).wait().unwrap();
        tell(&a, |_| Err(Reason::error("enough")));
        publish(&prices, 1, 3);
        let head = |pid: Pid| sim.view().sample(pid).unwrap().head_sender;
        assert_eq!(head(a.pid()), None);
        sim.resume(a.pid());
        sim.run_until_idle();
        let letters = letters.take_messages();
        assert_eq!(letters.len(), 3);
        assert!(letters.iter().all(|letter| letter.from.is_none()), "{letters:?}");
    }
}

/// The same with a limit: events wait in the queue of the subscription.
#[test]
fn e6_queued_events_are_before_the_end_take_no_room_and_are_gone_after_unsubscribing() {
    for sim in simulations(3) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").open().unwrap();
        let (noted, topic) = (log.clone(), prices.topic());
        let a = sim
            .spawn(move || crate::topic_support::Ear { name: "a", log: noted, traps: false })
            .mailbox(1)
            .wait()
            .unwrap();
        let subscribe = move |ctx: &mut Context<Say>| {
            ctx.subscribe(&topic).at_most(9, WhenFull::DropNewest).start().unwrap().len()
        };
        ask(&sim, &a, subscribe.clone());
        let (own, topic) = (prices.clone(), prices.topic());
        tell(&a, move |ctx| {
            publish(&own, 1, 2);
            assert!(ctx.unsubscribe(&topic));
            Ok(())
        });
        sim.run_until_idle();
        assert_eq!(log.take(), Vec::<String>::new());
        ask(&sim, &a, subscribe);
        sim.suspend(a.pid()).wait().unwrap();
        publish(&prices, 3, 5);
        assert!(a.send(Say::Price(100)).is_ok());
        prices.close();
        sim.resume(a.pid());
        sim.run_until_idle();
        let lines = ["a 3", "a 4", "a 5", "a 100", "a down topic \"prices\" normal"];
        assert_eq!(log.take(), lines);
    }
}
