//! Tests of the line of a pool: when its stand-ins are placed, and who is next.

use super::*;
use crate::mailbox::permit::{Permit, WaitingLine};
use std::sync::Weak;

/// A line of another pool, which waits or not.
struct Elsewhere(bool);

impl WaitingLine<u32> for Elsewhere {
    fn is_waiting(&self) -> bool {
        self.0
    }

    fn offer(&self, permit: Permit<u32>) -> Result<(), Permit<u32>> {
        Err(permit)
    }
}

fn line(elsewhere: &Arc<Elsewhere>) -> Arc<Waiter<u32>> {
    let line: Weak<dyn WaitingLine<u32>> = Arc::downgrade(elsewhere) as _;
    Arc::new(Waiter::for_line(line))
}

fn stranded_message(message: u32) -> StrandedMessage<u32> {
    StrandedMessage { message, sender: 0, hint: 0, times: None, epoch: Arc::default() }
}

/// The next entry: the number of a message, or the index of a sender.
fn next(queue: &PoolLine<u32>, senders: &[Arc<Waiter<u32>>], senders_too: bool) -> Option<usize> {
    match queue.next(senders_too, |_| true)? {
        LineEntry::Stranded(stranded_message) => Some(stranded_message.message as usize),
        LineEntry::Sender(sender, _) => senders.iter().position(|one| Arc::ptr_eq(one, &sender)),
    }
}

#[test]
fn stranded_messages_come_first_and_senders_once_in_order() {
    let queue = PoolLine::new();
    let (senders, places): (Vec<_>, Vec<_>) = (0..4).map(|_| Waiter::with_place()).unzip();
    for sender in senders.iter().chain(&senders) {
        queue.join(sender, Paid::Yes);
    }
    (10..13).for_each(|message| queue.push_stranded(stranded_message(message)));
    assert_eq!(queue.stranded(), 3);
    assert_eq!(next(&queue, &senders, true), Some(10));
    queue.put_back(stranded_message(10));
    assert_eq!([(); 3].map(|()| next(&queue, &senders, false)), [Some(10), Some(11), Some(12)]);
    assert_eq!((queue.stranded(), next(&queue, &senders, false)), (0, None));
    // One sender leaves; the one that was next joins as the last.
    queue.leave(&senders[1]);
    queue.leave(&senders[1]);
    assert_eq!(next(&queue, &senders, true), Some(0));
    queue.join(&senders[0], Paid::Yes);
    queue.join(&senders[1], Paid::Yes);
    let rest = [(); 5].map(|()| next(&queue, &senders, true));
    assert_eq!(rest, [Some(2), Some(3), Some(0), Some(1), None]);
    drop(places);
}

#[test]
fn a_stranded_message_without_fitting_room_keeps_its_turn_and_blocks_no_other() {
    let queue = PoolLine::new();
    let (sender, place) = Waiter::with_place();
    queue.join(&sender, Paid::Yes);
    for message in [10, 20, 11, 21, 12] {
        queue.push_stranded(StrandedMessage {
            hint: u64::from(message / 10),
            ..stranded_message(message)
        });
    }
    assert_eq!(queue.hints(), [1, 2].into());
    let next = |hint: u64, senders_too| match queue.next(senders_too, |of| of == hint)? {
        LineEntry::Stranded(stranded_message) => Some(stranded_message.message),
        LineEntry::Sender(..) => Some(0),
    };
    assert_eq!([(); 2].map(|()| next(2, false)), [Some(20), Some(21)]);
    assert_eq!((next(2, false), queue.stranded()), (None, 3));
    assert_eq!((queue.hints(), queue.is_waiting()), ([1].into(), true));
    assert_eq!((next(2, true), next(2, true)), (Some(0), None), "a sender may go anywhere");
    assert_eq!([(); 4].map(|()| next(1, true)), [Some(10), Some(11), Some(12), None]);
    assert!(queue.hints().is_empty());
    drop(place);
}

#[test]
fn a_line_waits_if_any_of_its_entries_does() {
    let queue = PoolLine::new();
    let (idle, busy) = (Arc::new(Elsewhere(false)), Arc::new(Elsewhere(true)));
    let (idle_line, busy_line) = (line(&idle), line(&busy));
    let ((gone, left), (sender, place)) = (Waiter::with_place(), Waiter::with_place());
    drop(left);
    assert!(!queue.is_waiting());
    queue.join(&gone, Paid::Yes);
    queue.join(&idle_line, Paid::Yes);
    assert!(!queue.is_waiting(), "nobody there waits any more");
    queue.join(&sender, Paid::Yes);
    assert!(queue.is_waiting());
    queue.leave(&sender);
    assert!(!queue.is_waiting());
    queue.join(&busy_line, Paid::Yes);
    assert!(queue.is_waiting());
    queue.leave(&busy_line);
    queue.push_stranded(stranded_message(1));
    assert!(queue.is_waiting(), "a message does");
    drop(place);
}

#[test]
fn m6_stand_ins_are_placed_once_and_again_when_one_has_left() {
    let queue = PoolLine::<u32>::new();
    let ((first, place), (second, other)) = (Waiter::with_place(), Waiter::with_place());
    queue.join(&first, Paid::Yes);
    let placed = [(); 2].map(|()| queue.begin_to_place());
    assert_eq!(placed, [true, false], "the second sender places none");
    assert!(queue.is_waiting() && !queue.begin_to_place(), "the one that asks stays");
    // One finds a sender, and the next nobody.
    assert!(queue.next(true, |_| true).is_some() && !queue.begin_to_place());
    assert!(queue.next(true, |_| true).is_none() && queue.begin_to_place());
    assert!(!queue.is_waiting() && queue.begin_to_place());
    // A sender waits, and a stand-in may not give it room.
    queue.join(&second, Paid::Yes);
    assert!(queue.next(false, |_| true).is_none() && queue.begin_to_place());
    queue.leave(&second);
    assert!(queue.is_placed_or_waiting(), "a new worker gets one too");
    queue.note_displaced();
    assert!(!queue.is_placed_or_waiting() && queue.begin_to_place());
    drop((place, other));
}

#[test]
fn dismissed_senders_may_join_again_and_lines_of_other_pools_stay() {
    let queue = PoolLine::new();
    let busy = Arc::new(Elsewhere(true));
    let lines = line(&busy);
    let mut places = Vec::new();
    let mut senders = Vec::new();
    for _ in 0..2 {
        let (sender, place) = Waiter::with_place();
        senders.push(sender);
        places.push(place);
    }
    queue.join(&senders[0], Paid::Yes);
    queue.join(&lines, Paid::Yes);
    queue.join(&senders[1], Paid::Yes);
    queue.push_stranded(stranded_message(7));
    queue.dismiss();
    assert!(senders.iter().all(|sender| !sender.is_waiting()), "each has been told");
    senders.push(lines);
    assert_eq!([(); 3].map(|()| next(&queue, &senders, true)), [Some(7), Some(2), None]);
    queue.join(&senders[1], Paid::Yes);
    assert_eq!(next(&queue, &senders, true), Some(1));
    drop(places);
}
