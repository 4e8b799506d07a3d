//! Messages that arrive out of order: the simulated link lets a late message overtake those of
//! other senders.

use super::entry::{Body, MailboxEntry};
use super::inbox::Inbox;

impl<M> Inbox<M> {
    /// Moves the last entry forward over at most `places` messages, and returns over how many.
    /// It never overtakes a message of its own sender or a notice (rules M1, M3).
    pub(crate) fn overtake(&mut self, places: usize) -> usize {
        let (Some(main), first) = (&mut self.main, &mut self.first) else { return 0 };
        let Some(end) = main.len().checked_sub(1) else { return 0 };
        let sender = main[end].sender;
        let may_pass = |other: &MailboxEntry<M>| {
            other.sender != sender && matches!(other.body, Body::Message(_))
        };
        for passed in 0..places {
            match end.checked_sub(passed) {
                Some(at) if at > 0 && may_pass(&main[at - 1]) => main.swap(at, at - 1),
                Some(0) => {
                    let Some(first) = first.as_mut().filter(|first| may_pass(first)) else {
                        return passed;
                    };
                    std::mem::swap(first, &mut main[0]);
                }
                _ => return passed,
            }
        }
        places
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::cold_box::ColdBox;
    use crate::mailbox::entry::Notice;
    use crate::mailbox::inbox_core::UNBOUNDED;
    use crate::mailbox::overflow::Overflow;
    use crate::mailbox::push::HearsOfDepth;

    struct DeafHost;

    impl HearsOfDepth for DeafHost {
        fn is_deep(&self, _: usize) {}
    }

    /// Enqueues messages by their senders, 0 for a notice, then moves the last one forward.
    fn overtakes(senders: &[u64], places: usize) -> (usize, Vec<u64>) {
        let mut inbox = Inbox::<u64>::new(UNBOUNDED, Overflow::Refuse);
        for sender in senders {
            match sender {
                0 => drop(inbox.push_notice(ColdBox::new(Notice::Finish), &DeafHost)),
                sender => inbox.put_in(*sender, *sender, 99, &DeafHost),
            }
        }
        let passed = inbox.overtake(places);
        let mut batch = None;
        let first = inbox.take_main(&mut batch);
        let entries = first.into_iter().chain(batch.into_iter().flat_map(ColdBox::into_inner));
        (passed, entries.map(|entry| entry.sender).collect())
    }

    #[test]
    fn m1_a_late_message_overtakes_only_messages_of_other_senders() {
        for (senders, places, passed, order) in [
            (&[1, 2, 3][..], 1, 1, &[1, 3, 2][..]),
            (&[1, 2, 3], 2, 2, &[3, 1, 2]),
            (&[1, 2, 3], 9, 2, &[3, 1, 2]),
            (&[1, 2, 3], 0, 0, &[1, 2, 3]),
            // Not a message of the same sender.
            (&[3, 2, 3], 9, 1, &[3, 3, 2]),
            (&[1, 3, 3], 9, 0, &[1, 3, 3]),
            // Not a notice, in any position.
            (&[1, 0, 2, 3], 9, 1, &[1, 0, 3, 2]),
            (&[0, 1, 3], 9, 1, &[0, 3, 1]),
            (&[1, 0, 3], 9, 0, &[1, 0, 3]),
            (&[1], 9, 0, &[1]),
        ] {
            let expected = (passed, order.to_vec());
            assert_eq!(overtakes(senders, places), expected, "{senders:?} by {places}");
        }
    }
}
