//! A sender that waits at a pool whose workers change (rules M6, P4, P5, P11).

use super::{full_worker, hasty, nested, over, pool, waiting};
use crate::addressing::address::Address;
use crate::models::checker::{bounded, joined, thread};
use crate::models::model_host::ModelHost;
use crate::observe::watched_job::Mark;
use crate::pool::routing::RoundRobin;
use std::sync::Arc;

/// A worker is replaced while its room is returned, and so offered. The room of the replacement is
/// for the sender too.
#[test]
fn p4_a_sender_in_line_gets_the_room_of_the_replacement() {
    bounded(3, || {
        let host = ModelHost::new();
        let (old, room) = full_worker(&host);
        let new = host.admit_new(1);
        let pool = pool(&host, RoundRobin::new(), &[&old]);
        let sender = waiting(&pool);
        let returning = thread::spawn(move || drop(room));
        pool.replace(old.pid(), &Address::new(Arc::clone(&new)));
        let permit = joined(sender).expect("room");
        joined(returning);
        assert_eq!(old.main_length() + new.main_length(), 1, "promised twice");
        drop(permit);
        over(&host, &[&pool]);
    });
}

/// A worker is removed while it offers its room, and another is added.
#[test]
fn p5_a_sender_in_line_gets_the_room_of_an_added_worker() {
    bounded(3, || {
        let host = ModelHost::new();
        let ((old, room), (busy, busy_room)) = (full_worker(&host), full_worker(&host));
        let new = host.admit_new(1);
        let pool = pool(&host, RoundRobin::new(), &[&old, &busy]);
        let sender = waiting(&pool);
        let returning = thread::spawn(move || drop(room));
        pool.remove(&[old.pid()]);
        pool.add(&Address::new(Arc::clone(&new)));
        let permit = joined(sender).expect("room");
        joined(returning);
        assert_eq!(old.main_length() + new.main_length(), 1, "promised twice");
        drop((permit, busy_room));
        over(&host, &[&pool]);
    });
}

/// A worker takes a message, offers the room, and ends. The sender has room there or at the
/// replacement, and its message is handled by one that lives.
#[test]
fn p4_the_room_of_a_worker_that_ends_while_it_offers_it_is_kept() {
    bounded(2, || {
        let host = ModelHost::new();
        let old = host.start(1, |mut ctx| async move {
            ctx.receive().await;
            Ok(())
        });
        let (new, (busy, busy_room)) = (host.admit_new(1), full_worker(&host));
        let pool = pool(&host, RoundRobin::new(), &[&old, &busy]);
        assert!(old.send(1).is_ok());
        let running = host.worker();
        let sender = waiting(&pool);
        joined(running);
        pool.replace(old.pid(), &Address::new(Arc::clone(&new)));
        joined(sender).expect("room").send(2);
        assert_eq!((new.main_length(), host.dead_letters()), (1, 0));
        drop(busy_room);
        over(&host, &[&pool]);
    });
}

/// The line of an outer pool stays at an inner one that is drained, and is served when it accepts
/// jobs again, whenever its worker offers room.
#[test]
fn p11_the_line_of_an_outer_pool_is_served_when_the_inner_one_is_opened() {
    bounded(2, || {
        let host = ModelHost::new();
        let (outer, inner, (_worker, room)) = nested(&host);
        assert!(hasty(&outer).is_none());
        let sender = waiting(&outer);
        let returning = thread::spawn(move || drop(room));
        let mark: Mark = Arc::new(());
        inner.drain(&mark);
        assert!(inner.open());
        assert!(joined(sender).is_some());
        joined(returning);
        over(&host, &[&outer, &inner]);
    });
}
