//! Senders that wait in the line of a pool, against workers that offer room (rule M6).

use super::{full_worker, hasty, over, pool, using, waiting};
use crate::addressing::address::Address;
use crate::models::checker::{bounded, joined, thread};
use crate::models::model_host::ModelHost;
use crate::models::wake_flag::block_on;
use crate::pool::routing::RoundRobin;
use crate::received::Received;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Context;

/// Room is returned while a sender joins the line and places the stand-ins.
#[test]
fn m6_a_sender_that_joins_the_line_of_a_pool_gets_room_that_is_returned_meanwhile() {
    bounded(3, || {
        let host = ModelHost::new();
        let (worker, room) = full_worker(&host);
        let pool = pool(&host, RoundRobin::new(), &[&worker]);
        let sender = waiting(&pool);
        drop(room);
        let permit = joined(sender).expect("room");
        assert_eq!(worker.main_length(), 1, "its room is kept");
        assert!(Address::new(Arc::clone(&worker)).reserve().is_err(), "promised twice");
        drop(permit);
        assert_eq!(worker.main_length(), 0);
        over(&host, &[&pool]);
    });
}

/// Two senders join while two workers have room again: each gets room of its own.
#[test]
fn m6_two_senders_in_the_line_of_a_pool_get_the_room_of_two_workers() {
    bounded(2, || {
        let host = ModelHost::new();
        let ((one, first), (other, second)) = (full_worker(&host), full_worker(&host));
        let pool = pool(&host, RoundRobin::new(), &[&one, &other]);
        let senders = [waiting(&pool), waiting(&pool)];
        drop(first);
        drop(second);
        let permits = senders.map(|sender| joined(sender).expect("room"));
        assert_eq!([one.main_length(), other.main_length()], [1, 1], "promised twice");
        drop(permits);
        over(&host, &[&pool]);
    });
}

/// The first in line gives its room back when it has used it: the next is served by the same worker.
#[test]
fn m6_the_room_that_the_first_in_line_returns_goes_to_the_next() {
    bounded(2, || {
        let host = ModelHost::new();
        let (worker, room) = full_worker(&host);
        let pool = pool(&host, RoundRobin::new(), &[&worker]);
        let senders = [using(&pool), using(&pool)];
        drop(room);
        assert_eq!(senders.map(joined), [true, true]);
        assert_eq!((worker.main_length(), pool.line.waiters()), (0, 0));
        over(&host, &[&pool]);
    });
}

/// A sender gives up while it is offered room: another that comes meanwhile gets it.
#[test]
fn m6_room_that_is_offered_to_a_sender_that_gives_up_goes_to_the_next_in_the_line_of_a_pool() {
    bounded(3, || {
        let host = ModelHost::new();
        let (worker, room) = full_worker(&host);
        let pool = pool(&host, RoundRobin::new(), &[&worker]);
        let mut wait = Box::pin(Arc::clone(&pool).wait_for_room(0));
        let cx = &mut Context::from_waker(futures_task::noop_waker_ref());
        assert!(wait.as_mut().poll(cx).is_pending());
        let leaving = thread::spawn(move || drop(wait));
        let sender = waiting(&pool);
        drop(room);
        joined(leaving);
        assert!(joined(sender).is_some(), "room lost");
        over(&host, &[&pool]);
    });
}

/// Nobody is left in line when room is offered: the next sender finds it.
#[test]
fn m6_a_sender_that_comes_when_the_line_is_left_gets_room() {
    bounded(3, || {
        let host = ModelHost::new();
        let (worker, room) = full_worker(&host);
        let pool = pool(&host, RoundRobin::new(), &[&worker]);
        // The stand-in is in place, and nobody waits.
        assert!(hasty(&pool).is_none());
        let sender = waiting(&pool);
        drop(room);
        assert!(joined(sender).is_some());
        over(&host, &[&pool]);
    });
}

/// The worker runs: it takes messages, looks up and parks, while a sender waits.
#[test]
fn m6_a_running_worker_gives_room_to_the_line_of_its_pool() {
    bounded(2, || {
        let host = ModelHost::new();
        let handled = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&handled);
        let worker = host.start(1, move |mut ctx| async move {
            while count.load(Ordering::Relaxed) < 2 {
                if let Received::Message(_) = ctx.receive().await {
                    count.fetch_add(1, Ordering::Relaxed);
                }
            }
            Ok(())
        });
        let running = host.worker();
        let pool = pool(&host, RoundRobin::new(), &[&worker]);
        assert!(worker.send(1).is_ok());
        let room = block_on(Arc::clone(&pool).wait_for_room(0));
        room.expect("room").send(2);
        joined(running);
        assert_eq!((handled.load(Ordering::Relaxed), host.dead_letters()), (2, 0));
        over(&host, &[&pool]);
    });
}
