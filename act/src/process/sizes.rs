//! The sizes of what every process and every message has (rule V58).
//!
//! Traces, recorders, tracers and the observer add to what is used by those that have them: to the
//! cold parts, which are boxed. So a change here is a decision, not an accident.

use super::cell::Cell;
use crate::cold_box::ColdBox;
use crate::context::Context;
use crate::mailbox::control_entry::ControlEntry;
use crate::mailbox::entry::{Body, MailboxEntry, Notice};
use crate::mailbox::inbox::Inbox;

#[test]
fn v58_a_message_is_not_larger_for_what_watches_messages() {
    // The sender, the tag of the body, and the message.
    assert_eq!(size_of::<MailboxEntry<u64>>(), 16 + 8);
    assert_eq!(size_of::<MailboxEntry<[u64; 5]>>(), 16 + 40);
    assert_eq!(size_of::<Body<[u64; 5]>>(), 8 + 40);
    assert_eq!(size_of::<MailboxEntry<()>>(), 16 + 8, "a notice is a pointer");
    assert_eq!(size_of::<ColdBox<Notice<u64>>>(), 8);
    assert_eq!(size_of::<ControlEntry>(), 72, "as large as its largest notice");
}

#[test]
fn v58_a_process_is_not_larger_for_what_watches_processes() {
    let cell = size_of::<Cell<u64, ()>>();
    let (inbox, context) = (size_of::<Inbox<u64>>(), size_of::<Context<u64, ()>>());
    assert_eq!((cell, inbox, context), (224, 80, 40));
}
