//! Topics: the end of a topic, and that of a subscriber, against a subscription and a publication.

use super::checker::{bounded, joined, thread};
use super::model_host::{ModelActor, ModelHost};
use crate::cold_box::ColdBox;
use crate::context::Context;
use crate::mailbox::entry::{Body, Notice};
use crate::mailbox::inbox_core::UNBOUNDED;
use crate::topics::event_ticket::Redeemed;
use crate::topics::open::OpenTopic;
use crate::topics::publisher::Publisher;
use crate::topics::subscription_options::WhenFull;
use krarup_gen::Reason;
use std::sync::Arc;

/// What a process finds in its mailbox: events, then `None` for the end of the topic.
fn taken(cell: &ModelActor) -> Vec<Option<u32>> {
    let mut found = Vec::new();
    loop {
        let mut batch = None;
        let first = cell.inbox.lock().take_main(&mut batch);
        if first.is_none() {
            return found;
        }
        for entry in first.into_iter().chain(batch.into_iter().flat_map(ColdBox::into_inner)) {
            match entry.body {
                Body::Event(event) => found.push(Some(event)),
                Body::Notice(notice) => {
                    if let Notice::Event(ticket) = notice.into_inner() {
                        match ticket.redeem() {
                            Some(Redeemed::Message(event)) => found.push(Some(event)),
                            Some(Redeemed::Down(_)) => found.push(None),
                            None => {}
                        }
                    }
                }
                Body::Message(_) => {}
            }
        }
    }
}

fn opened(host: &Arc<ModelHost>, keep: usize) -> Publisher<u32> {
    OpenTopic::outside(host.host()).keep(keep).open().unwrap()
}

/// An event that was published reaches a subscriber once: kept, or as a message. The end of the
/// topic comes once and last, to each that was subscribed (rules E2, E6).
fn ends(keep: usize) {
    bounded(2, move || {
        let host = ModelHost::new();
        let prices = opened(&host, keep);
        let cell = host.admit_new(UNBOUNDED);
        let mut ctx = Context::new(Arc::clone(&cell));
        let topic = prices.topic();
        let subscriber = thread::spawn(move || {
            let kept = ctx.subscribe(&topic).start();
            (ctx, kept)
        });
        let publisher = {
            let prices = prices.clone();
            thread::spawn(move || prices.publish(7).is_ok())
        };
        prices.close();
        let (ctx, kept) = joined(subscriber);
        let published = joined(publisher);
        let mut found = taken(&cell);
        match kept {
            Ok(kept) => {
                assert_eq!(found.pop(), Some(None), "one notice of the end, and it is the last");
                let events: Vec<_> = kept.into_iter().map(Some).chain(found).collect();
                assert!(events.iter().all(|event| *event == Some(7)), "{events:?}");
                // Without kept events one that was published before is not heard of.
                let fewest = usize::from(published && keep > 0);
                let most = usize::from(published);
                assert!((fewest..=most).contains(&events.len()), "{published} {events:?}");
            }
            Err(_) => assert!(found.is_empty(), "{found:?}"),
        }
        assert!(prices.publish(8).is_err());
        drop(ctx);
        host.clear();
    });
}

#[test]
fn e6_the_end_of_a_topic_comes_once_behind_each_event_that_was_published() {
    ends(1);
}

#[test]
fn e6_the_end_of_a_topic_that_keeps_nothing_comes_once() {
    ends(0);
}

/// An event that goes straight into mailboxes is before the end of its topic, whoever ends it, and
/// comes to all or to none (rule E6).
#[test]
fn e6_a_topic_ends_behind_an_event_that_is_in_flight() {
    bounded(2, || {
        let host = ModelHost::new();
        let prices = opened(&host, 0);
        let cells = [host.admit_new(UNBOUNDED), host.admit_new(UNBOUNDED)];
        let contexts = cells.each_ref().map(|cell| {
            let mut ctx = Context::new(Arc::clone(cell));
            assert!(ctx.subscribe(&prices.topic()).start().is_ok());
            ctx
        });
        let publisher = {
            let prices = prices.clone();
            thread::spawn(move || prices.publish(7).map(|published| published.heard).ok())
        };
        prices.close();
        let expected = match joined(publisher) {
            Some(heard) => {
                assert_eq!(heard, 2);
                vec![Some(7), None]
            }
            None => vec![None],
        };
        for cell in &cells {
            assert_eq!(taken(cell), expected);
        }
        assert!(prices.topic().subscribers().is_empty());
        drop(contexts);
        host.clear();
    });
}

/// A subscription that gets a limit while an event is in flight counts it once (rule E7).
#[test]
fn e7_an_event_in_flight_is_counted_once_though_the_options_change() {
    bounded(2, || {
        let host = ModelHost::new();
        let prices = opened(&host, 0);
        let cell = host.admit_new(UNBOUNDED);
        let mut ctx = Context::new(Arc::clone(&cell));
        let topic = prices.topic();
        assert!(ctx.subscribe(&topic).start().is_ok());
        let publisher = {
            let prices = prices.clone();
            thread::spawn(move || prices.publish(7).map_or(0, |published| published.heard))
        };
        assert!(ctx.subscribe(&topic).at_most(3, WhenFull::DropNewest).start().is_ok());
        assert_eq!(joined(publisher), 1);
        assert_eq!(prices.publish(8).map_or(0, |published| published.heard), 1);
        assert_eq!(prices.topic().subscribers()[0].untaken, 2);
        assert_eq!(taken(&cell), [Some(7), Some(8)]);
        // The subscription and the topic hold each other.
        prices.close();
        assert_eq!(taken(&cell), [None]);
        drop(ctx);
        host.clear();
    });
}

/// A context that was moved out of its process subscribes while the process ends (rule E4).
#[test]
fn e4_no_subscriber_is_left_that_ends_while_it_subscribes() {
    bounded(2, || {
        let host = ModelHost::new();
        let prices = opened(&host, 0);
        let cell = host.admit_new(UNBOUNDED);
        let mut ctx = Context::new(Arc::clone(&cell));
        // The cleaner is there before the process ends.
        let own = ctx.own_topics();
        let topic = prices.topic();
        let subscriber = thread::spawn(move || {
            let started = ctx.subscribe(&topic).start().is_ok();
            (ctx, started)
        });
        let publisher = {
            let prices = prices.clone();
            thread::spawn(move || prices.publish(7).map_or(0, |published| published.heard))
        };
        let cleaners = cell.locked_relations().take_cleaners();
        cleaners.run(cell.pid(), &Reason::Killed, |_| {});
        let (ctx, started) = joined(subscriber);
        let heard = joined(publisher);
        assert!(prices.topic().subscribers().is_empty());
        assert!(started || heard == 0);
        assert!(own.has_ended());
        drop(taken(&cell));
        drop(ctx);
        host.clear();
    });
}
