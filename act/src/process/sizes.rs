//! The sizes of what every process and every message has (rule V58).
//!
//! Traces, recorders, tracers and the observer add to what is used by those that have them: to the
//! cold parts, which are boxed. So a change here is a decision, not an accident.

use super::cell::Cell;
use super::turn::Life;
use crate::actor::Actor;
use crate::behavior::Behavior;
use crate::cold_box::ColdBox;
use crate::context::Context;
use crate::mailbox::control_entry::ControlEntry;
use crate::mailbox::entry::{Body, MailboxEntry, Notice};
use crate::mailbox::inbox::Inbox;
use krarup_gen::Result;

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

/// An actor that waits for nothing within its handler.
struct HandlesAtOnce(#[allow(dead_code, reason = "a state of one word")] u64);

impl Actor for HandlesAtOnce {
    type Message = [u64; 2];

    async fn handle_message(&mut self, _: &mut Context<[u64; 2]>, _: [u64; 2]) -> Result {
        Ok(())
    }
}

/// The size of what a process of this behaviour allocates for its life.
fn life_of<B: Behavior, F>(_: fn(B, Context<B::Message, B::Command>) -> F) -> usize {
    size_of::<Life<B::Message, B::Command, (B, Context<B::Message, B::Command>), F>>()
}

#[test]
fn v58_the_future_of_an_actor_is_not_larger_than_its_handler_needs() {
    // The handler's own: actor, context, message and state. Beside it: the handle on the cell, the stage, the actor, the
    // context, and the state of the future around the handler.
    let handler = 8 + 8 + 16 + 8;
    let context = size_of::<Context<[u64; 2]>>();
    assert_eq!(
        life_of(<HandlesAtOnce as Behavior>::run_in_turn),
        8 + 8 + 8 + context + 8 + handler
    );
}

#[test]
fn v58_a_process_is_not_larger_for_what_watches_processes() {
    let cell = size_of::<Cell<u64, ()>>();
    let (inbox, context) = (size_of::<Inbox<u64>>(), size_of::<Context<u64, ()>>());
    assert_eq!((cell, inbox, context), (160, 72, 32));
}
