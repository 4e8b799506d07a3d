//! The load of a state actor, which decides its scheduling class (rule O8).

use krarup_gen::{Class, Inspection};

/// An actor with more waiting replies than this is urgent.
pub const HIGH_REPLIES: usize = 2;
/// An actor with more waiting events than this is urgent.
pub const HIGH_EVENTS: usize = 4;

/// The work that waits in a state actor.
///
/// A process spawned with [`Class::Varying`] is queued in the [class](Load::class) of its
/// load, so it is queued before others while its load is high (rule R6). The load is the
/// one at the end of its last turn. An item that reaches an idle actor is the first of its
/// kind. A process that is already in a queue stays where it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Load {
    /// Replies that wait to be handled.
    pub replies: usize,
    /// Events that wait to be handled.
    pub events: usize,
    /// Its own asks that are not answered yet.
    pub pending: usize,
}

impl Load {
    /// Whether the actor is to run before others. Any one of three conditions suffices
    /// (Otavia's).
    ///
    /// - More than 2 replies wait: each ends a wait and may free resources held by that wait.
    /// - More than 4 events wait: the information in events becomes stale.
    /// - It waits for no other process: all its time on a worker is progress at once,
    ///   because none of its handlers is suspended on an answer.
    #[must_use]
    pub const fn is_high(&self) -> bool {
        self.replies > HIGH_REPLIES || self.events > HIGH_EVENTS || self.pending == 0
    }

    /// Returns [`Class::High`] if the load [is high](Load::is_high), else [`Class::Normal`].
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
    fn o8_more_than_two_replies_make_the_load_high() {
        assert!(!is_high(2, 0, 1));
        assert!(is_high(3, 0, 1));
    }

    #[test]
    fn o8_more_than_four_events_make_the_load_high() {
        assert!(!is_high(0, 4, 1));
        assert!(is_high(0, 5, 1));
    }

    #[test]
    fn o8_no_pending_promises_make_the_load_high() {
        assert!(is_high(0, 0, 0));
        assert!(!is_high(0, 0, 1));
        assert!(!is_high(2, 4, 7));
    }

    #[test]
    fn o8_the_description_shows_the_load_and_whether_it_is_high() {
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
