//! The ends of subscribers and of topics (rules E4 to E6).

use crate::support::{Log, boom, simulations};
use crate::topic_support::{Ear, Say, ask, ear, opened, publish, subscribe, tell, trapping_ear};
use krarup::observe::Report;
use krarup::prelude::*;
use krarup::testing::Probe;
use krarup::topics::{Publisher, Topic, WhenFull};
use std::sync::{Arc, Mutex};

/// Ends the process in one of several ways.
fn end(sim: &Simulation, ear: &Address<Say>, way: usize) {
    match way % 5 {
        0 => sim.kill(ear.pid()),
        1 => tell(ear, |_| Err(boom())),
        2 => drop(ear.stop().wait()),
        3 => tell(ear, |_| panic!("on purpose")),
        _ => sim.exit(ear.pid(), boom()),
    }
    sim.run_until_idle();
}

#[test]
fn e4_who_is_dead_is_forgotten_before_anyone_is_told() {
    for sim in simulations(5) {
        for way in 0..5 {
            let log = Log::new();
            let prices = sim.open_unnamed_topic::<u32>().open().unwrap();
            let a = ear(&sim, "a", &log);
            subscribe(&sim, &a, &prices.topic());
            // A watcher looks in the moment in which it is told.
            let seen = Arc::new(Mutex::new(None));
            let (told, topic) = (Arc::clone(&seen), prices.topic());
            let watch = sim.watch(a.pid());
            let mut watch = Box::pin(watch.into_future());
            let waker = crate::support::on_wake(move || {
                *told.lock().unwrap() = Some(topic.subscribers().len());
            });
            assert!(crate::support::poll_with(&mut watch, &waker).is_pending());
            end(&sim, &a, way);
            assert_eq!(*seen.lock().unwrap(), Some(0), "way {way}");
            assert_eq!(prices.publish(1).unwrap().heard, 0);
        }
    }
}

#[test]
fn e4_a_successor_of_the_same_name_is_another_subscriber() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let prices = sim.open_topic::<u32>("prices").open().unwrap();
    let named = |name: &'static str| {
        let log = log.clone();
        sim.spawn(move || Ear { name, log, traps: false }).name("chart").wait().unwrap()
    };
    let first = named("first");
    subscribe(&sim, &first, &prices.topic());
    end(&sim, &first, 0);
    let second = named("second");
    publish(&prices, 1, 1);
    sim.run_until_idle();
    assert_eq!(log.take(), [] as [String; 0]);
    subscribe(&sim, &second, &prices.topic());
    publish(&prices, 2, 2);
    sim.run_until_idle();
    assert_eq!(log.take(), ["second 2"]);
}

/// Subscribes, and ends in a way of its own.
struct Short(Topic<Arc<()>>, usize);

struct Any;

impl From<Arc<()>> for Any {
    fn from(_: Arc<()>) -> Self {
        Any
    }
}

impl Actor for Short {
    type Message = Any;

    async fn init(&mut self, ctx: &mut Context<Any>) -> Result {
        ctx.subscribe(&self.0).at_most(3, WhenFull::DropOldest).start()?;
        if self.1.is_multiple_of(3) {
            return Err(Reason::Shutdown);
        }
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Any>, _: Any) -> Result {
        if self.1.is_multiple_of(2) {
            ctx.unsubscribe(&self.0);
        }
        if self.1.is_multiple_of(5) { Err(Reason::Killed) } else { Ok(()) }
    }
}

#[test]
fn e4_after_many_subscribers_that_came_and_went_nothing_is_left() {
    // A weak count of what an event holds shows whether queues are left.
    let sim = Simulation::new(7);
    let prices = sim.open_topic::<Arc<()>>("prices").open().unwrap();
    let event = Arc::new(());
    for round in 0..20_usize {
        let born: Vec<_> = (0..1_000)
            .filter_map(|number| {
                let topic = prices.topic();
                sim.spawn(move || Short(topic, number)).start().ok()
            })
            .collect();
        if round.is_multiple_of(2) {
            sim.run_until_idle();
        }
        for _ in 0..5 {
            prices.publish(Arc::clone(&event)).unwrap();
        }
        for (number, address) in born.iter().enumerate() {
            if number.is_multiple_of(7) {
                sim.kill(address.pid());
            } else {
                drop(address.stop());
                address.finish();
            }
        }
        sim.run_until_idle();
        assert_eq!(prices.topic().subscribers().len(), 0);
    }
    assert_eq!(Arc::strong_count(&event), 1);
    assert_eq!(prices.publish(event).unwrap().heard, 0);
}

#[test]
fn e4_one_process_that_subscribes_and_leaves_for_ever_keeps_nothing() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let a = ear(&sim, "a", &log);
    let node = sim.node().clone();
    let held = Arc::new(());
    let weak = Arc::downgrade(&held);
    ask(&sim, &a, move |ctx| {
        for _ in 0..1_000 {
            let topic = ctx.open_unnamed_topic::<u32>().keep(1).open().unwrap();
            ctx.subscribe(&topic.topic()).start().unwrap();
            if ctx.random().is_multiple_of(2) {
                ctx.unsubscribe(&topic.topic());
            }
            topic.close();
        }
        drop(held);
    });
    assert!(weak.upgrade().is_none());
    assert!(node.topics().is_empty());
    let inspection = sim.inspect(a.pid()).wait().unwrap();
    assert!(inspection.is_empty(), "{inspection}");
}

#[test]
fn e5_the_opener_hears_of_the_first_and_the_last_strictly_in_turn() {
    for sim in simulations(20) {
        let log = Log::new();
        let opener = ear(&sim, "opener", &log);
        let prices = ask(&sim, &opener, |ctx| {
            ctx.open_topic::<u32>("prices").tell_audience().open().unwrap()
        });
        assert_eq!(log.take(), [] as [String; 0]);
        let ears: Vec<_> = (0..6).map(|_| ear(&sim, "ear", &Log::new())).collect();
        for (number, ear) in ears.iter().enumerate() {
            let topic = prices.topic();
            tell(ear, move |ctx| {
                ctx.subscribe(&topic).start()?;
                match number % 3 {
                    0 => drop(ctx.unsubscribe(&topic)),
                    1 => ctx.stop(),
                    _ => return Err(boom()),
                }
                Ok(())
            });
        }
        sim.run_until_idle();
        let lines = log.take();
        assert!(!lines.is_empty() && lines.len().is_multiple_of(2), "{lines:?}");
        for pair in lines.chunks(2) {
            assert_eq!(pair, ["opener audience Some", "opener audience None"]);
        }
        // One that is killed.
        let last = ear(&sim, "last", &log);
        subscribe(&sim, &last, &prices.topic());
        assert_eq!(log.take(), ["opener audience Some"]);
        sim.kill(last.pid());
        sim.run_until_idle();
        assert_eq!(log.take(), ["opener audience None"]);
        // Those that a close sends away.
        let last = ear(&sim, "last", &log);
        subscribe(&sim, &last, &prices.topic());
        prices.close();
        sim.run_until_idle();
        assert_eq!(log.count("opener audience None"), 1);
    }
}

#[test]
fn e5_one_that_comes_while_the_last_leaves_has_its_some_behind_the_none() {
    for sim in simulations(3) {
        let log = Log::new();
        let opener = ear(&sim, "opener", &log);
        let prices = ask(&sim, &opener, |ctx| {
            ctx.open_topic::<u32>("prices").tell_audience().open().unwrap()
        });
        sim.suspend(opener.pid()).wait().unwrap();
        let (a, b) = (ear(&sim, "a", &log), ear(&sim, "b", &log));
        subscribe(&sim, &a, &prices.topic());
        sim.kill(a.pid());
        sim.run_until_idle();
        subscribe(&sim, &b, &prices.topic());
        sim.resume(opener.pid());
        sim.run_until_idle();
        let expected = ["Some", "None", "Some"].map(|line| format!("opener audience {line}"));
        assert_eq!(log.take(), expected);
    }
}

#[test]
fn e6_each_subscriber_gets_one_down_behind_everything_when_the_opener_ends() {
    for sim in simulations(10) {
        for way in 0..5 {
            let log = Log::new();
            let opener = ear(&sim, "opener", &Log::new());
            let prices = opened(&sim, &opener);
            let ears = ["a", "b"].map(|name| ear(&sim, name, &log));
            for ear in &ears {
                subscribe(&sim, ear, &prices.topic());
                sim.suspend(ear.pid()).wait().unwrap();
            }
            publish(&prices, 1, 2);
            end(&sim, &opener, way);
            // The name is free, and the event comes back.
            assert!(sim.topic::<u32>("prices").is_err());
            assert_eq!(prices.publish(7).unwrap_err().into_event(), 7);
            ears.iter().for_each(|ear| assert!(sim.resume(ear.pid())));
            sim.run_until_idle();
            for name in ["a", "b"] {
                let lines: Vec<_> =
                    log.lines().into_iter().filter(|line| line.starts_with(name)).collect();
                assert_eq!(lines.len(), 3, "{lines:?}");
                assert_eq!(lines[..2], [format!("{name} 1"), format!("{name} 2")]);
                assert!(lines[2].starts_with(&format!("{name} down topic \"prices\" ")));
            }
        }
    }
}

#[test]
fn e6_a_topic_that_is_closed_ends_once_and_its_name_can_be_used_by_who_is_told() {
    for sim in simulations(3) {
        let log = Log::new();
        let opener = ear(&sim, "opener", &log);
        let prices = opened(&sim, &opener);
        let a = ear(&sim, "a", &log);
        subscribe(&sim, &a, &prices.topic());
        publish(&prices, 1, 1);
        prices.close();
        prices.close();
        let again = opened(&sim, &opener);
        end(&sim, &opener, 0);
        assert!(again.publish(1).is_err());
        let lines = log.take();
        assert_eq!(lines, ["a 1", "a down topic \"prices\" normal"]);
        // One that has ended takes no subscriber.
        let topic = prices.topic();
        let error = ask(&sim, &a, move |ctx| ctx.subscribe(&topic).start().unwrap_err());
        assert_eq!(error.to_string(), "topic \"prices\" has ended");
    }
}

#[test]
fn e6_linked_makes_the_end_an_exit_signal() {
    for sim in simulations(3) {
        let log = Log::new();
        for (reason, ends) in [(boom(), true), (Reason::Normal, false)] {
            let opener = ear(&sim, "opener", &Log::new());
            let prices = opened(&sim, &opener);
            let (traps, plain) = (trapping_ear(&sim, "traps", &log), ear(&sim, "plain", &log));
            for ear in [&traps, &plain] {
                let topic = prices.topic();
                ask(&sim, ear, move |ctx| ctx.subscribe(&topic).linked().start().unwrap());
            }
            let said = reason.to_string();
            tell(&opener, move |ctx| {
                if ends {
                    return Err(reason);
                }
                ctx.stop();
                Ok(())
            });
            sim.run_until_idle();
            assert_eq!(log.take(), [format!("traps exit {} {said}", opener.pid())]);
            assert_eq!(plain.is_alive(), !ends);
        }
        // The end of one's own topic is no signal to oneself.
        let own = ear(&sim, "own", &log);
        let prices = opened(&sim, &own);
        let topic = prices.topic();
        ask(&sim, &own, move |ctx| ctx.subscribe(&topic).linked().start().unwrap());
        prices.close();
        sim.run_until_idle();
        assert_eq!(log.take(), ["own down topic \"prices\" normal"]);
        assert!(own.is_alive());
    }
}

#[test]
fn e6_a_topic_of_the_node_ends_with_the_node_and_events_in_it_are_dropped() {
    let event = Arc::new(());
    let sim = Simulation::new(1);
    let prices: Publisher<Arc<()>> = sim.open_topic("prices").keep(2).open().unwrap();
    prices.publish(Arc::clone(&event)).unwrap();
    assert_eq!(Arc::strong_count(&event), 2);
    sim.stop().wait().unwrap();
    assert_eq!(Arc::strong_count(&event), 1);
    assert!(prices.publish(event).is_err());
}

/// Simulations with the limit of a subscription: events without one need no queue.
fn directly_and_by_queue() -> impl Iterator<Item = (Simulation, usize)> {
    [usize::MAX, 9].into_iter().flat_map(|at_most| simulations(3).map(move |sim| (sim, at_most)))
}

#[test]
fn e6_a_process_that_ends_while_events_wait_makes_dead_letters_of_them() {
    for (sim, at_most) in directly_and_by_queue() {
        let log = Log::new();
        let prices = sim.open_topic::<u32>("prices").open().unwrap();
        let a = ear(&sim, "a", &log);
        let topic = prices.topic();
        ask(&sim, &a, move |ctx| {
            ctx.subscribe(&topic).at_most(at_most, WhenFull::DropNewest).start().unwrap().len()
        });
        sim.suspend(a.pid()).wait().unwrap();
        publish(&prices, 1, 4);
        let reports = Probe::<Report>::of(&sim, &sim.reports());
        let before = sim.stats().dead_letters;
        sim.kill(a.pid());
        sim.run_until_idle();
        assert_eq!(sim.stats().dead_letters - before, 4);
        // They are letters of the crash report too, beside those that take room.
        let crashes = reports.take_messages().into_iter().filter_map(|report| match report {
            Report::Crash(crash) => Some((crash.what.pid, crash.what.letters_lost)),
            _ => None,
        });
        assert_eq!(crashes.collect::<Vec<_>>(), [(a.pid(), 4)]);
    }
}
