//! Lines of pools whose workers are pools: the line of the outer one waits in that of the inner one
//! (rule M6).

use super::{full_worker, hasty, nested, nested_of, over, using, waiting};
use crate::models::checker::{bounded, joined, thread};
use crate::models::model_host::ModelHost;
use crate::models::wake_flag::block_on;
use std::sync::Arc;

/// The worker finds that nobody waits at the outer pool, while a sender joins there.
#[test]
fn m6_a_sender_that_joins_the_line_of_an_outer_pool_gets_room_that_is_returned_meanwhile() {
    bounded(3, || {
        let host = ModelHost::new();
        let (outer, inner, (worker, room)) = nested(&host);
        // The stand-ins are in place, and nobody waits.
        assert!(hasty(&outer).is_none());
        let sender = waiting(&outer);
        drop(room);
        let permit = joined(sender).expect("room");
        assert_eq!(worker.main_length(), 1);
        drop(permit);
        over(&host, &[&outer, &inner]);
    });
}

/// Two senders wait, one at each of two pools.
#[test]
fn m6_the_lines_of_an_outer_and_an_inner_pool_are_both_served() {
    bounded(2, || {
        let host = ModelHost::new();
        let (outer, inner, (worker, room)) = nested(&host);
        let senders = [using(&outer), using(&inner)];
        drop(room);
        assert_eq!(senders.map(joined), [true, true]);
        assert_eq!(worker.main_length(), 0);
        over(&host, &[&outer, &inner]);
    });
}

/// Two senders wait at the outer pool, and two workers of the inner one have room again. The line of the
/// outer pool leaves that of the inner one while it is served, and the other worker may find nobody there.
#[test]
fn m6_two_senders_in_the_line_of_an_outer_pool_get_the_room_of_two_workers() {
    bounded(2, || {
        let host = ModelHost::new();
        let ((one, first), (other, second)) = (full_worker(&host), full_worker(&host));
        let (outer, inner) = nested_of(&host, &[&one, &other]);
        let sender = waiting(&outer);
        let returning = thread::spawn(move || drop(first));
        let mut own = Box::pin(Arc::clone(&outer).wait_for_room(0));
        drop(second);
        let own = block_on(own.as_mut()).expect("room");
        let permit = joined(sender).expect("room");
        joined(returning);
        assert_eq!([one.main_length(), other.main_length()], [1, 1], "promised twice");
        drop((own, permit));
        over(&host, &[&outer, &inner]);
    });
}
