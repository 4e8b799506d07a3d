//! The revocation of an alias against a sender that uses it. After the revocation has returned
//! no message arrives (rule N5), for each way in which a message can be sent by an alias.

use super::checker::{joined, model, thread};
use super::model_host::ModelHost;
use crate::addressing::recipient::Recipient;
use crate::context::Context;
use crate::mailbox::inbox_core::UNBOUNDED;

/// No message arrives after `revoke` has returned. Whether the mailbox holds a message at that
/// time depends on the order of the threads.
fn nothing_more(send: fn(&Recipient<u32>)) {
    model(move || {
        let host = ModelHost::new();
        let cell = host.admit_new(UNBOUNDED);
        let mut ctx = Context::new(cell.clone());
        let alias = ctx.alias();
        let to = ctx.recipient_by(alias);
        let sender = thread::spawn(move || send(&to));
        assert!(ctx.revoke(alias));
        let arrived = cell.inbox.lock().has_main();
        joined(sender);
        assert_eq!(cell.inbox.lock().has_main(), arrived, "a message arrived after the revocation");
        drop(ctx);
        host.clear();
    });
}

#[test]
fn n5_no_message_arrives_by_a_revoked_alias() {
    nothing_more(|to| drop(to.send(1)));
}

#[test]
fn n5_no_notification_arrives_by_a_revoked_alias() {
    nothing_more(|to| to.notify(1));
}

#[test]
fn n5_reserved_room_is_not_filled_by_a_revoked_alias() {
    nothing_more(|to| {
        if let Ok(room) = to.reserve() {
            room.send(1);
        }
    });
}
