//! What a state actor has before it, as far as its scheduling class depends on that (rule O8).

use krarup_gen::{Class, Inspection};

/// From one reply more than this on an actor is urgent.
pub const HIGH_REPLIES: usize = 2;
/// From one event more than this on an actor is urgent.
pub const HIGH_EVENTS: usize = 4;

/// What a state actor has before it.
///
/// An actor whose process was spawned with [`Class::Varying`] is queued in the
/// [class](Load::class) of its load, and so before others while that is high (rule R6). The load
/// is that of the end of its last turn: what comes to one that rests is the first of its kind,
/// and who lies in a queue stays where it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Replies that wait to be handled.
    pub replies: usize,
    /// Events that wait to be handled.
    pub events: usize,
    /// Its own asks that are not answered yet.
    pub pending: usize,
}

impl Load {
    /// Whether the actor is to run before others: any one of three conditions (Otavia's).
    ///
    /// More than 2 replies wait: each ends a wait, and may free what that holds. More than 4
    /// events wait: what they tell of ages. Or it waits for nobody: then its time on a worker
    /// is progress at once, for no handler of it is suspended on another's answer.
    #[must_use]
    pub const fn is_high(&self) -> bool {
        self.replies > HIGH_REPLIES || self.events > HIGH_EVENTS || self.pending == 0
    }

    /// [`Class::High`] if it [is high](Load::is_high), else [`Class::Normal`].
    #[must_use]
    pub const fn class(&self) -> Class {
        if self.is_high() { Class::High } else { Class::Normal }
    }

    pub(crate) fn describe(self, inspection: &mut Inspection) {
        inspection.set("replies", self.replies);
        inspection.set("events", self.events);
        inspection.set("pending_promises", self.pending);
        inspection.set("high", self.is_high());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_high(replies: usize, events: usize, pending: usize) -> bool {
        Load { replies, events, pending }.is_high()
    }

    #[test]
    fn o8_more_than_two_replies_make_an_actor_high() {
        assert!(!is_high(2, 0, 1));
        assert!(is_high(3, 0, 1));
    }

    #[test]
    fn o8_more_than_four_events_make_an_actor_high() {
        assert!(!is_high(0, 4, 1));
        assert!(is_high(0, 5, 1));
    }

    #[test]
    fn o8_an_actor_that_waits_for_nobody_is_high() {
        assert!(is_high(0, 0, 0));
        assert!(!is_high(0, 0, 1));
        assert!(!is_high(2, 4, 7));
    }

    #[test]
    fn o8_a_description_says_what_the_load_is_and_whether_it_is_high() {
        for (replies, events, pending) in [(3, 0, 1), (0, 5, 1), (2, 4, 7), (0, 0, 0)] {
            let mut inspection = Inspection::new();
            Load { replies, events, pending }.describe(&mut inspection);
            let numbers =
                ["replies", "events", "pending_promises"].map(|item| inspection.number(item));
            assert_eq!(numbers, [replies, events, pending].map(|number| Some(number as u64)));
            let high = is_high(replies, events, pending);
            assert_eq!(inspection.value("high"), Some(&high.into()));
        }
    }
}
