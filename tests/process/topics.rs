//! Topics: names, subscribing, publishing, looking at them (rules E1 to E3, E8, E10 to E14).

use crate::support::{Log, poll_once, simulations};
use crate::topic_support::{Say, ask, ear, opened, publish, subscribe, tell, trapping_ear};
use krarup::observe::{DeadLetter, Lifecycle};
use krarup::prelude::*;
use krarup::testing::Probe;
use krarup::topics::{OpenTopicError, Publisher, Topic, TopicLookupError, WhenFull};
use krarup::{NameError, Target};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn e1_a_name_belongs_to_one_topic_and_wrong_names_are_errors() {
    for sim in simulations(3) {
        let log = Log::new();
        let (one, other) = (ear(&sim, "one", &log), ear(&sim, "other", &log));
        let prices = opened(&sim, &one);
        let again = |ear: &Address<Say>| {
            ask(&sim, ear, |ctx| ctx.open_topic::<u32>("prices").open().map(drop))
        };
        for ear in [&one, &other] {
            let taken = again(ear).unwrap_err();
            let by_one = matches!(&taken, OpenTopicError::NameTaken { name, by }
                if name.as_str() == "prices" && *by == Some(one.pid()));
            assert!(by_one, "{taken}");
        }
        let taken = sim.open_topic::<u8>("prices").open().unwrap_err();
        assert!(matches!(taken, OpenTopicError::NameTaken { .. }));
        let empty = sim.open_topic::<u8>("").open().unwrap_err();
        assert_eq!(empty, OpenTopicError::InvalidName(NameError::Empty));
        let long = sim.open_topic::<u8>("x".repeat(256)).open().unwrap_err();
        assert!(matches!(long, OpenTopicError::InvalidName(NameError::TooLong { .. })));
        // Nothing has changed.
        assert_eq!(sim.topics().len(), 1);
        assert_eq!(sim.topic::<u32>("prices").unwrap(), prices.topic());
        // Any number of topics have no name.
        let unnamed: Vec<_> =
            (0..3).map(|_| sim.open_unnamed_topic::<u32>().open().unwrap()).collect();
        assert_ne!(unnamed[0].topic(), unnamed[1].topic());
        assert_eq!(sim.topics().len(), 4);
        // A closed topic has no name any more.
        prices.close();
        again(&other).unwrap();
    }
}

#[test]
fn e1_a_node_that_has_stopped_opens_no_topic() {
    let sim = Simulation::new(1);
    sim.stop().wait().unwrap();
    for topic in [sim.open_topic::<u8>("prices"), sim.open_unnamed_topic()] {
        let stopped = topic.open().unwrap_err();
        assert_eq!(stopped, OpenTopicError::NodeStopped(sim.name().to_owned()));
    }
    assert!(sim.topics().is_empty());
}

#[test]
fn e1_a_topic_of_another_type_is_an_error_that_names_both() {
    let sim = Simulation::new(1);
    let _prices = sim.open_topic::<u32>("prices").open().unwrap();
    let error = sim.topic::<String>("prices").unwrap_err();
    let said = "the events of topic \"prices\" are of type u32, not alloc::string::String";
    assert_eq!(error.to_string(), said);
    assert!(matches!(error, TopicLookupError::WrongType { .. }));
    let none = sim.topic::<u32>("price").unwrap_err();
    assert_eq!(none, TopicLookupError::NoTopic("price".to_owned()));
}

#[test]
fn e1_names_of_topics_are_not_names_of_processes() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let one = ear(&sim, "one", &log);
    opened(&sim, &one);
    assert_eq!(sim.whereis("prices"), None);
    assert!(ask(&sim, &one, |ctx| ctx.register("prices").is_ok()));
    assert!(sim.topic::<u32>("prices").is_ok());
    assert_eq!(sim.whereis("prices"), Some(one.pid()));
}

#[test]
fn e2_a_subscriber_gets_the_kept_events_and_then_each_later_one_once() {
    for sim in simulations(20) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").keep(4).open().unwrap();
        // Two publishers, each with ascending events: even ones and odd ones.
        for first in [0, 1] {
            let (prices, publisher) = (prices.clone(), ear(&sim, "publisher", &log));
            for n in 0..30 {
                let prices = prices.clone();
                tell(&publisher, move |_| prices.publish(2 * n + first).map(drop).map_err(ended));
            }
        }
        // Subscribed in the midst of it.
        let (late, topic) = (ear(&sim, "late", &log), prices.topic());
        let noted = log.clone();
        tell(&late, move |ctx| {
            for kept in ctx.subscribe(&topic).start()? {
                noted.note(format!("late {kept}"));
            }
            Ok(())
        });
        sim.run_until_idle();
        let heard: Vec<u32> = log
            .take()
            .iter()
            .map(|line| line.strip_prefix("late ").unwrap().parse().unwrap())
            .collect();
        for parity in [0, 1] {
            let of: Vec<_> = heard.iter().filter(|event| **event % 2 == parity).collect();
            let ascending = of.windows(2).all(|two| *two[0] + 2 == *two[1]);
            assert!(ascending, "seed {}: {of:?}", sim.now());
            // Nothing after the subscription is missed.
            assert!(of.is_empty() || *of[of.len() - 1] == 58 + parity, "{of:?}");
        }
        assert!(heard.len() >= 4, "{heard:?}");
    }
}

fn ended<T: Send + Sync + 'static>(error: krarup::topics::PublishError<T>) -> Reason {
    Reason::error(error)
}

#[test]
fn e2_the_last_events_are_kept_oldest_first_and_returned_not_delivered() {
    for sim in simulations(3) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").keep(3).open().unwrap();
        let early = ear(&sim, "early", &log);
        assert_eq!(subscribe(&sim, &early, &prices.topic()), [] as [u32; 0]);
        publish(&prices, 1, 2);
        let a = ear(&sim, "a", &log);
        assert_eq!(subscribe(&sim, &a, &prices.topic()), [1, 2]);
        publish(&prices, 3, 5);
        let b = ear(&sim, "b", &log);
        assert_eq!(subscribe(&sim, &b, &prices.topic()), [3, 4, 5]);
        assert_eq!(log.count("b "), 0);
        publish(&prices, 6, 6);
        sim.run_until_idle();
        assert_eq!((log.count("early"), log.count("a "), log.count("b ")), (6, 4, 1));
    }
}

#[test]
fn e3_a_process_is_subscribed_once_however_often_it_asks() {
    for sim in simulations(3) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").keep(2).open().unwrap();
        publish(&prices, 1, 2);
        let (topic, a) = (prices.topic(), ear(&sim, "a", &log));
        assert_eq!(subscribe(&sim, &a, &topic), [1, 2]);
        // It has got the kept ones.
        assert_eq!(subscribe(&sim, &a, &topic), [] as [u32; 0]);
        assert_eq!(prices.publish(3).unwrap().heard, 1);
        sim.run_until_idle();
        assert_eq!(log.take(), ["a 3"]);
        // The last options count.
        let numbered = topic.clone();
        ask(&sim, &a, move |ctx| ctx.subscribe(&numbered).numbered().start().unwrap());
        prices.publish(4).unwrap();
        sim.run_until_idle();
        assert_eq!(log.take(), ["a #4+0 4"]);
        assert_eq!(topic.subscribers().len(), 1);
        // After it has left it is a new one.
        let left = topic.clone();
        assert!(ask(&sim, &a, move |ctx| ctx.unsubscribe(&left) && !ctx.unsubscribe(&left)));
        assert_eq!(prices.publish(5).unwrap().heard, 0);
        assert_eq!(subscribe(&sim, &a, &topic), [4, 5]);
    }
}

/// The first process of this node, and what it has subscribed to.
fn listener(
    sim: &Simulation,
    log: &Log,
    name: &'static str,
    topics: &[Topic<u32>],
) -> Address<Say> {
    let listener = ear(sim, name, log);
    for topic in topics {
        subscribe(sim, &listener, topic);
    }
    listener
}

#[test]
fn e3_processes_of_two_nodes_that_have_one_number_are_two_subscribers() {
    let (one, two) = (Simulation::new(1), Simulation::new(1));
    let log = Log::new();
    let prices = one.open_unnamed_topic::<u32>().open().unwrap();
    let topics = [prices.topic()];
    let first = listener(&one, &log, "one", &topics);
    let second = listener(&two, &log, "two", &topics);
    assert_eq!(first.pid().id(), second.pid().id());
    publish(&prices, 5, 5);
    one.run_until_idle();
    two.run_until_idle();
    assert_eq!(log.take(), ["one 5", "two 5"]);
    one.kill(first.pid());
    one.run_until_idle();
    assert_eq!(prices.topic().subscribers().len(), 1);
    publish(&prices, 6, 6);
    two.run_until_idle();
    assert_eq!(log.take(), ["two 6"]);
}

#[test]
fn e4_a_process_leaves_the_topics_of_two_nodes_that_have_one_reference() {
    for leaves in [true, false] {
        let (one, two) = (Simulation::new(1), Simulation::new(1));
        let log = Log::new();
        let opened = [&one, &two].map(|sim| sim.open_unnamed_topic::<u32>().open().unwrap());
        let topics = opened.each_ref().map(Publisher::topic);
        assert_eq!(topics[0].id(), topics[1].id());
        let ear = listener(&one, &log, "one", &topics);
        (1..).zip(&opened).for_each(|(price, prices)| publish(prices, price, price));
        one.run_until_idle();
        assert_eq!(log.take(), ["one 1", "one 2"]);
        if leaves {
            let topics = topics.clone();
            let left = ask(&one, &ear, move |ctx| topics.each_ref().map(|it| ctx.unsubscribe(it)));
            assert_eq!(left, [true, true]);
        } else {
            one.kill(ear.pid());
            one.run_until_idle();
        }
        assert_eq!(topics.map(|topic| topic.subscribers().len()), [0, 0]);
    }
}

#[test]
fn e3_after_unsubscribing_no_event_is_received_that_waited() {
    for sim in simulations(3) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").open().unwrap();
        let (topic, a) = (prices.topic(), ear(&sim, "a", &log));
        subscribe(&sim, &a, &topic);
        let (own, left) = (prices.clone(), topic.clone());
        tell(&a, move |ctx| {
            own.publish(1).map_err(ended)?;
            assert!(ctx.unsubscribe(&left));
            assert!(ctx.subscription(&left).is_none());
            ctx.subscribe(&left).start()?;
            own.publish(2).map(drop).map_err(ended)
        });
        sim.run_until_idle();
        assert_eq!(log.take(), ["a 2"]);
        prices.close();
        sim.run_until_idle();
        assert_eq!(log.take(), ["a down topic \"prices\" normal"]);
    }
}

/// An event whose clone or conversion panics, if it says so.
#[derive(Debug)]
struct Delicate {
    price: u32,
    clone_panics: Arc<AtomicBool>,
    clones: Arc<AtomicUsize>,
}

impl Clone for Delicate {
    fn clone(&self) -> Self {
        self.clones.fetch_add(1, Ordering::Relaxed);
        assert!(!self.clone_panics.swap(false, Ordering::Relaxed), "clone");
        Delicate {
            price: self.price,
            clone_panics: Arc::clone(&self.clone_panics),
            clones: Arc::clone(&self.clones),
        }
    }
}

impl From<DeadLetter> for Say {
    fn from(_: DeadLetter) -> Self {
        Say::Price(0)
    }
}

impl From<Delicate> for Say {
    fn from(event: Delicate) -> Self {
        assert!(event.price != 13, "conversion");
        Say::Price(event.price)
    }
}

#[test]
fn e8_a_clone_or_conversion_that_panics_loses_that_delivery_alone() {
    // A queued event is cloned in the turn of its subscriber, a direct one by its publisher.
    a_delivery_is_lost_alone(Some(100), 3);
    a_delivery_is_lost_alone(None, 2);
}

fn a_delivery_is_lost_alone(at_most: Option<usize>, heard: usize) {
    for sim in simulations(3) {
        let log = Log::new();
        let prices = sim.open_topic::<Delicate>("prices").open().unwrap();
        let ears = ["a", "b", "c"].map(|name| ear(&sim, name, &log));
        for ear in &ears {
            let topic = prices.topic();
            ask(&sim, ear, move |ctx| {
                let subscribe = ctx.subscribe(&topic);
                let limited = match at_most {
                    Some(n) => subscribe.at_most(n, WhenFull::DropNewest),
                    None => subscribe,
                };
                limited.start().unwrap().len()
            });
        }
        let clones = Arc::new(AtomicUsize::new(0));
        let event = |price, panics| Delicate {
            price,
            clone_panics: Arc::new(AtomicBool::new(panics)),
            clones: Arc::clone(&clones),
        };
        assert_eq!(prices.publish(event(1, true)).unwrap().heard, heard);
        prices.publish(event(2, false)).unwrap();
        sim.run_until_idle();
        // One of the three was lost, the second event reached all.
        assert_eq!((log.count(" 1"), log.count(" 2")), (2, 3));
        assert_eq!(prices.topic().info().missed, 1);
        prices.publish(event(13, false)).unwrap();
        prices.publish(event(3, false)).unwrap();
        sim.run_until_idle();
        assert_eq!((log.count(" 13"), log.count(" 3")), (0, 3));
        assert!(prices.topic().subscribers().iter().all(|one| one.untaken == 0));
        let missed: Vec<_> = prices.topic().subscribers().iter().map(|one| one.missed).collect();
        assert_eq!((missed.iter().sum::<u64>(), prices.topic().info().missed), (4, 4));
        assert!(ears.iter().all(Address::is_alive));
    }
}

#[test]
fn e8_a_subscriber_that_publishes_from_within_is_no_recursion() {
    struct Echo(Publisher<u32>, Log);

    impl Actor for Echo {
        type Message = u32;

        async fn init(&mut self, ctx: &mut Context<u32>) -> Result {
            ctx.subscribe(&self.0.topic()).start()?;
            Ok(())
        }

        async fn handle_message(&mut self, _: &mut Context<u32>, event: u32) -> Result {
            if event < 5_000 {
                self.0.publish(event + 1).map_err(ended)?;
            }
            self.1.note(event);
            Ok(())
        }
    }

    let sim = Simulation::new(1);
    let (log, prices) = (Log::new(), sim.open_topic::<u32>("prices").open().unwrap());
    let (own, noted) = (prices.clone(), log.clone());
    sim.spawn(move || Echo(own, noted)).wait().unwrap();
    prices.publish(1).unwrap();
    sim.run_until_idle();
    assert_eq!(log.lines().len(), 5_000);
}

#[test]
fn e10_settled_is_ready_when_all_is_handled_or_its_process_dead() {
    for sim in simulations(5) {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").open().unwrap();
        // Without subscribers at once.
        assert!(poll_once(&mut prices.settled()).is_ready());
        let (a, b) = (ear(&sim, "a", &log), ear(&sim, "b", &log));
        subscribe(&sim, &a, &prices.topic());
        subscribe(&sim, &b, &prices.topic());
        publish(&prices, 1, 3);
        prices.settled().wait().unwrap();
        assert_eq!((log.count("a "), log.count("b ")), (3, 3));
        // One that handles nothing holds it up, until it ends.
        sim.suspend(b.pid()).wait().unwrap();
        publish(&prices, 4, 4);
        let mut settled = prices.settled();
        sim.run_until_idle();
        assert!(poll_once(&mut settled).is_pending());
        sim.kill(b.pid());
        sim.run_until_idle();
        assert!(poll_once(&mut settled).is_ready());
        assert_eq!(log.count("a 4"), 1);
        // The process that asks is not waited for.
        let own = prices.clone();
        assert!(ask(&sim, &a, move |_| {
            own.publish(5).unwrap();
            poll_once(&mut own.settled()).is_ready()
        }));
    }
}

#[test]
fn e11_topics_show_who_opened_them_who_hears_and_what_was_missed() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let (opener, a) = (ear(&sim, "opener", &log), ear(&sim, "a", &log));
    let prices = ask(&sim, &opener, |ctx| ctx.open_topic::<u32>("prices").keep(2).open().unwrap());
    subscribe(&sim, &a, &prices.topic());
    publish(&prices, 1, 3);
    let topics = sim.topics();
    assert_eq!(topics, [prices.topic().info()]);
    let info = &topics[0];
    assert_eq!((info.opener, info.event), (Some(opener.pid()), "u32"));
    assert_eq!((info.keep, info.kept, info.subscribers), (2, 2, 1));
    assert_eq!((info.published, info.missed), (3, 0));
    let said = format!(
        "topic \"prices\" of u32 by {}: 1 subscribers, 3 published, 0 missed, kept 2 of 2",
        opener.pid()
    );
    assert_eq!(info.to_string(), said);
    let hearing = prices.topic().subscribers();
    assert_eq!((hearing[0].pid, hearing[0].untaken, hearing[0].missed), (a.pid(), 3, 0));
    sim.run_until_idle();
    assert_eq!(prices.topic().subscribers()[0].untaken, 0);
    // The inspections of both show it, if asked for.
    let of = |ear: &Address<Say>| sim.inspect(ear.pid()).wait().unwrap().to_string();
    let topic = "topic=topic \"prices\"";
    assert_eq!(
        of(&opener),
        format!("topics=[{{{topic} event=u32 kept=2 subscribers=1 published=3 missed=0}}]")
    );
    assert_eq!(of(&a), format!("subscriptions=[{{{topic} untaken=0 missed=0}}]"));
    let some = sim.inspect_items(a.pid(), ["topics"]).wait().unwrap();
    assert!(some.is_empty(), "{some}");
    prices.close();
    assert!(sim.topics().is_empty());
    assert!(!prices.topic().is_open());
}

#[test]
fn e12_dead_letters_and_lives_are_topics() {
    for sim in simulations(3) {
        let log = Log::new();
        let letters = Probe::<DeadLetter>::of(&sim, &sim.dead_letters());
        let lives = Probe::<Lifecycle>::of(&sim, &sim.lives());
        let dead = ear(&sim, "dead", &log);
        dead.stop().wait().unwrap();
        assert!(dead.send(Say::Price(1)).is_err());
        let letter = letters.expect(Duration::ZERO);
        assert_eq!(letter.to, Target::Pid(dead.pid()));
        assert_eq!(lives.expect_ended(Duration::ZERO, dead.pid()), Reason::Normal);
        // Both are listed with the other topics.
        let events: Vec<_> = sim.topics().iter().map(|topic| topic.event).collect();
        assert_eq!(events.len(), 2);
        assert_eq!(sim.dead_letters(), sim.dead_letters());
    }
}

#[test]
fn e12_a_subscriber_hears_of_no_dead_letter_to_itself() {
    // Each dead letter that a listener hears of would be the next one, if it heard of those to itself:
    // a pool whose worker is full refuses what it hears of.
    let sim = Simulation::new(1);
    let log = Log::new();
    let dead = ear(&sim, "dead", &log);
    dead.stop().wait().unwrap();
    let letters = sim.dead_letters();
    let other = Probe::<DeadLetter>::of(&sim, &letters);
    let own = ear(&sim, "own", &log);
    ask(&sim, &own, move |ctx| ctx.subscribe(&letters).start().unwrap().len());
    sim.suspend(own.pid()).wait().unwrap();
    own.send(Say::Price(1)).ok().unwrap();
    assert!(dead.send(Say::Price(1)).is_err());
    // Those that the listener leaves are dead letters to it.
    sim.kill(own.pid());
    sim.run_until_idle();
    assert_eq!(other.take_messages().len(), 3);
}

#[test]
fn e13_an_event_is_cloned_at_most_once_for_each_receiver_and_not_without_one() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let prices = sim.open_topic::<Delicate>("prices").open().unwrap();
    let clones = Arc::new(AtomicUsize::new(0));
    let event = || Delicate {
        price: 1,
        clone_panics: Arc::new(AtomicBool::new(false)),
        clones: Arc::clone(&clones),
    };
    assert_eq!(prices.publish(event()).unwrap().heard, 0);
    assert_eq!(clones.load(Ordering::Relaxed), 0);
    for name in ["a", "b", "c"] {
        let (topic, ear) = (prices.topic(), ear(&sim, name, &log));
        ask(&sim, &ear, move |ctx| ctx.subscribe(&topic).start().unwrap().len());
    }
    prices.publish(event()).unwrap();
    sim.run_until_idle();
    assert_eq!(log.count(" 1"), 3);
    assert!(clones.load(Ordering::Relaxed) <= 3);
    assert_eq!(prices.topic().info().published, 2);
}

#[test]
fn e14_events_need_no_serialisation() {
    /// Neither printable nor serialisable.
    #[derive(Clone)]
    struct Bare(u32);

    impl From<Bare> for Say {
        fn from(event: Bare) -> Self {
            Say::Price(event.0)
        }
    }

    let sim = Simulation::new(1);
    let log = Log::new();
    let bare = sim.open_topic::<Bare>("bare").open().unwrap();
    let (topic, a): (Topic<Bare>, _) = (sim.topic("bare").unwrap(), trapping_ear(&sim, "a", &log));
    ask(&sim, &a, move |ctx| ctx.subscribe(&topic).linked().start().unwrap().len());
    bare.publish(Bare(1)).unwrap();
    bare.close();
    sim.run_until_idle();
    let zero = format!("a exit {} normal", Pid::local(0, a.pid().creation()));
    assert_eq!(log.take(), ["a 1", &*zero]);
}
