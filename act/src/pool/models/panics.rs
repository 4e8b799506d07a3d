//! User code that panics while a worker offers room (rules M6, P6).

use super::{ModelPool, full_worker, over, pool, waiting};
use crate::addressing::address::Address;
use crate::mailbox::permit::Permit;
use crate::models::checker::{bounded, joined};
use crate::models::model_host::{ModelActor, ModelHost};
use crate::models::wake_flag::block_on;
use crate::pool::routing::{Choice, Routing, Workers};
use crate::pool::waiting_line::StrandedMessage;
use std::sync::Arc;
use std::task::{Context, Waker};

/// Panics when it chooses for the hint 7, and for the message 8 when it is copied. The message 9 goes
/// to all.
struct Superstitious;

impl Routing<u32> for Superstitious {
    fn hint(&self, message: &u32) -> u64 {
        u64::from(*message)
    }

    fn choose(&self, hint: u64, _: &Workers<'_>) -> Choice<u32> {
        assert!(hint != 7, "a choice panics");
        match hint {
            8 => Choice::Every(|_| panic!("a copy panics")),
            9 => Choice::Every(u32::clone),
            _ => Choice::After(0),
        }
    }

    fn needs_message(&self) -> bool {
        true
    }
}

fn stranded(message: u32) -> StrandedMessage<u32> {
    let hint = u64::from(message);
    StrandedMessage { message, sender: 0, hint, times: None, epoch: Arc::default() }
}

/// A pool of a worker with room for two and one with room for one, and all that room. A message stands
/// first in its line.
struct UnevenPool {
    pool: ModelPool<Superstitious>,
    one: ModelActor,
    other: ModelActor,
    rooms: [Permit<u32>; 2],
    last: Permit<u32>,
}

impl UnevenPool {
    fn new(host: &Arc<ModelHost>, message: u32) -> Self {
        let one = host.admit_new(2);
        let rooms = [(); 2].map(|()| Address::new(Arc::clone(&one)).reserve().expect("room"));
        let (other, last) = full_worker(host);
        let pool = pool(host, Superstitious, &[&one, &other]);
        pool.line.push_stranded(stranded(message));
        UnevenPool { pool, one, other, rooms, last }
    }
}

/// A message stands first whose worker cannot be chosen: it is lost, and who waits behind it is
/// served.
#[test]
fn m6_a_choice_that_panics_holds_up_nobody_in_line() {
    bounded(2, || {
        let host = ModelHost::new();
        let (worker, room) = full_worker(&host);
        let pool = pool(&host, Superstitious, &[&worker]);
        pool.line.push_stranded(stranded(7));
        let sender = waiting(&pool);
        drop(room);
        assert!(joined(sender).is_some());
        assert_eq!((pool.line.stranded(), host.dead_letters()), (0, 1));
        over(&host, &[&pool]);
    });
}

/// A message stands first whose copy panics: it is lost, and who waits behind it is served.
#[test]
fn m6_a_copy_that_panics_holds_up_nobody_in_line() {
    bounded(2, || {
        let host = ModelHost::new();
        let ((one, first), (other, second)) = (full_worker(&host), full_worker(&host));
        let pool = pool(&host, Superstitious, &[&one, &other]);
        pool.line.push_stranded(stranded(8));
        let sender = waiting(&pool);
        drop(first);
        drop(second);
        let permit = joined(sender).expect("room");
        assert_eq!((pool.line.stranded(), host.dead_letters()), (0, 1));
        assert_eq!(one.main_length() + other.main_length(), 1, "the room of the lost one is free");
        drop(permit);
        over(&host, &[&pool]);
    });
}

/// A message to all stands first, and one of two workers has room for it: it waits. When it has gone,
/// who waits behind it gets the room that the first of them has still.
#[test]
fn p8_room_that_a_message_to_all_could_not_use_goes_to_the_next_in_line() {
    bounded(2, || {
        let host = ModelHost::new();
        let UnevenPool { pool, one, other, rooms, last } = UnevenPool::new(&host, 9);
        let sender = waiting(&pool);
        drop(rooms);
        drop(last);
        let permit = joined(sender).expect("room");
        assert_eq!([one.main_length(), other.main_length(), pool.line.stranded()], [2, 1, 0]);
        drop(permit);
        over(&host, &[&pool]);
    });
}

/// A message to all stands first whose copy panics, and one of two workers has more room than the other.
/// Two wait behind it: both get room.
#[test]
fn m6_room_that_a_lost_message_to_all_could_not_use_goes_to_those_behind_it() {
    bounded(2, || {
        let host = ModelHost::new();
        let UnevenPool { pool, one, other, rooms, last } = UnevenPool::new(&host, 8);
        let mut senders = [(); 2].map(|()| Box::pin(Arc::clone(&pool).wait_for_room(0)));
        let mut look = Context::from_waker(Waker::noop());
        assert!(senders.iter_mut().all(|sender| sender.as_mut().poll(&mut look).is_pending()));
        // The first worker offers its room, and the message cannot use it.
        drop(rooms);
        assert_eq!((pool.line.stranded(), pool.line.waiters()), (1, 2));
        drop(last);
        assert_eq!((pool.line.stranded(), host.dead_letters()), (0, 1));
        let permits = senders.map(|sender| block_on(sender).expect("room"));
        assert_eq!(one.main_length() + other.main_length(), 2, "promised twice");
        drop(permits);
        over(&host, &[&pool]);
    });
}
