//! Topics on threads: publishers on several threads, subscribers that come and end meanwhile (rules
//! E2, E4, E9, E10).

use krarup::prelude::*;
use krarup::topics::{Publisher, Topic, WhenFull};
use std::sync::{Arc, Mutex};
use std::thread;

/// A publisher's number, and the number of its event.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tick(usize, usize);

type Heard = Arc<Mutex<Vec<Tick>>>;

/// Notes what it hears, and ends after so many events.
struct Hears {
    topic: Topic<Tick>,
    heard: Heard,
    ends_after: usize,
    at_most: usize,
}

impl Actor for Hears {
    type Message = Tick;

    async fn init(&mut self, ctx: &mut Context<Tick>) -> Result {
        ctx.subscribe(&self.topic).at_most(self.at_most, WhenFull::Wait).start()?;
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Tick>, tick: Tick) -> Result {
        let mut heard = self.heard.lock().unwrap();
        heard.push(tick);
        if heard.len() == self.ends_after {
            ctx.stop();
        }
        Ok(())
    }
}

fn hears(node: &Node, topic: &Topic<Tick>, ends_after: usize, at_most: usize) -> Heard {
    let heard = Heard::default();
    let (topic, noted) = (topic.clone(), Arc::clone(&heard));
    node.spawn(move || Hears { topic, heard: noted, ends_after, at_most }).wait().unwrap();
    heard
}

const THREADS: usize = 4;
const EVENTS: usize = 500;

/// Publishes on several threads.
fn publish(ticks: &Publisher<Tick>, publish: fn(&Publisher<Tick>, Tick)) {
    thread::scope(|scope| {
        for number in 0..THREADS {
            scope.spawn(move || (0..EVENTS).for_each(|event| publish(ticks, Tick(number, event))));
        }
    });
}

/// Whether all events are there, once and in the order of each publisher.
fn is_complete(heard: &Heard) -> bool {
    let heard = heard.lock().unwrap();
    (0..THREADS).all(|number| {
        let of = heard.iter().filter(|tick| tick.0 == number).map(|tick| tick.1);
        of.eq(0..EVENTS)
    })
}

#[test]
fn e2_every_subscriber_hears_each_event_once_from_several_threads() {
    let node = Node::start("topics@localhost").unwrap();
    let ticks = node.open_topic::<Tick>("ticks").open().unwrap();
    let stay: Vec<_> =
        (0..6).map(|_| hears(&node, &ticks.topic(), usize::MAX, usize::MAX)).collect();
    let end: Vec<_> = (1..6).map(|n| hears(&node, &ticks.topic(), 100 * n, usize::MAX)).collect();
    publish(&ticks, |ticks, tick| {
        ticks.publish(tick).unwrap();
    });
    ticks.settled().wait().unwrap();
    assert!(stay.iter().all(is_complete));
    let ended: Vec<_> = end.iter().map(|heard| heard.lock().unwrap().len()).collect();
    assert_eq!(ended, [100, 200, 300, 400, 500]);
    assert_eq!(ticks.topic().info().missed, 0);
    node.stop().wait().unwrap();
}

#[test]
fn e9_publishers_on_threads_wait_for_room_and_none_waits_for_ever() {
    let node = Node::start("topics@localhost").unwrap();
    let ticks = node.open_topic::<Tick>("ticks").open().unwrap();
    let stay: Vec<_> = (1..4).map(|n| hears(&node, &ticks.topic(), usize::MAX, n)).collect();
    let _end: Vec<_> = (1..4).map(|n| hears(&node, &ticks.topic(), 50 * n, 1)).collect();
    publish(&ticks, |ticks, tick| {
        ticks.publish_or_wait(tick).wait().unwrap();
    });
    ticks.settled().wait().unwrap();
    assert!(stay.iter().all(is_complete));
    node.stop().wait().unwrap();
}

#[test]
fn e4_subscribers_that_end_on_other_threads_leave_nothing() {
    let node = Node::start("topics@localhost").unwrap();
    let ticks = node.open_topic::<Tick>("ticks").keep(3).open().unwrap();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            let (node, ticks) = (&node, &ticks);
            scope.spawn(move || {
                for number in 0..200_usize {
                    let heard = Heard::default();
                    let topic = ticks.topic();
                    let spawned = node.spawn(move || Hears {
                        topic,
                        heard,
                        ends_after: 1 + number % 3,
                        at_most: 2,
                    });
                    let address = spawned.wait().unwrap();
                    ticks.publish(Tick(0, number)).unwrap();
                    if number.is_multiple_of(2) {
                        node.kill(address.pid());
                    }
                    let watch = node.watch(address.pid());
                    drop(address.stop().wait());
                    drop(watch.wait());
                }
            });
        }
    });
    assert!(ticks.topic().subscribers().is_empty());
    node.stop().wait().unwrap();
}
