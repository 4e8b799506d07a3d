//! How a message gets from its sender to its handler without a copy in between. Everything in this
//! crate that is marked `inline(always)`, wrapped in [`InTransit`] or forgotten (`forget`) on
//! the way of a message or of an answer is explained here.
//!
//! A sender makes a message of parts, which lie in registers. If the message must have an address
//! in memory, the parts are written there one by one and then read as a whole, to be copied. The
//! processor delays that read until the parts have reached the cache. It costs more than all other
//! steps of a send (docs/decisions.md, "Avoid store-forwarding stalls").
//!
//! A compiler needs an address in these cases:
//!
//! | case | how it is avoided |
//! |---|---|
//! | the message is passed to a function that is not inlined | `#[inline(always)]` from the caller's `send` to the place in the mailbox, and from there to the handler |
//! | something may unwind while the message is held, so its destructor may have to run | [`InTransit`]: it has no destructor; nothing unwinds before the message has arrived |
//! | a place is overwritten, so the old value's destructor may have to run | `forget(replace(..))`, where the old value is known to hold nothing |
//! | a branch that is never taken drops the value | `forget` in that branch |
//! | a rare path needs the message in memory | a function of its own, `#[inline(never)]` or `#[cold]`, that gets a copy: `RoutedMessage` in `process/sending.rs` |
//!
//! The ways on which this holds:
//!
//! ```text
//!   message:  Address::send ─► Cell::send ─► Inbox::put_in ─► place in the mailbox
//!             place in the mailbox ─► Inbox::take_first ─► Context::poll_next ─► NextMessage::poll
//!   request:  Request::post ─► Address::send
//!   answer:   SlotSender::send_or_late ─► settle ─► place in the slot
//!             place in the slot ─► SlotReceiver::poll_value ─► PendingReply::poll
//!   job:      PoolRoute::send ─► SharedPool::hand_out_by
//! ```
//!
//! A build with debug assertions has none of it: there it would only compile the way of a message once more into
//! every place that sends (docs/decisions.md).
//!
//! A change on one of these ways is measured with `bench/count.sh` (docs/performance.md).

use std::mem::ManuallyDrop;

/// A message or an answer on its way, without a destructor.
///
/// Its holder must take it out with [`InTransit::arrive`] and may call nothing before that can
/// unwind: a value that stays inside is leaked, with the reply tokens in it.
#[must_use = "a value that is not taken out is leaked"]
pub(crate) struct InTransit<T>(ManuallyDrop<T>);

impl<T> InTransit<T> {
    #[allow(clippy::inline_always, reason = "the value stays in registers")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn new(value: T) -> Self {
        InTransit(ManuallyDrop::new(value))
    }

    /// The value, which is dropped like any other from now on.
    #[allow(clippy::inline_always, reason = "the value stays in registers")]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn arrive(self) -> T {
        ManuallyDrop::into_inner(self.0)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_value_that_has_arrived_is_dropped_once() {
        let value = Arc::new(());
        let sent = InTransit::new(Arc::clone(&value));
        assert_eq!(Arc::strong_count(&value), 2);
        drop(sent.arrive());
        assert_eq!(Arc::strong_count(&value), 1);
    }
}
