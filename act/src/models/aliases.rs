//! An alias that is revoked against a sender by it: when the revocation has returned nothing
//! arrives (rule N5), in each of the ways in which something can be sent by an alias.

use super::checker::{joined, model, thread};
use super::model_host::ModelHost;
use crate::addressing::recipient::Recipient;
use crate::context::Context;
use crate::mailbox::inbox::UNBOUNDED;

/// What lies in the mailbox when `revoke` has returned is all that there will be. Whether that
/// is anything hangs on who was first.
fn nothing_more(send: fn(&Recipient<u32>)) {
    model(move || {
        let house = ModelHost::new();
        let cell = house.admit_new(UNBOUNDED);
        let mut ctx = Context::new(cell.clone());
        let alias = ctx.alias();
        let to = ctx.recipient_by(alias);
        let sender = thread::spawn(move || send(&to));
        assert!(ctx.revoke(alias));
        let arrived = cell.inbox.lock().has_main();
        joined(sender);
        assert_eq!(cell.inbox.lock().has_main(), arrived, "it has come late");
        drop(ctx);
        house.clear();
    });
}

#[test]
fn n5_nothing_is_sent_by_an_alias_that_is_revoked() {
    nothing_more(|to| drop(to.send(1)));
}

#[test]
fn n5_nobody_is_notified_by_an_alias_that_is_revoked() {
    nothing_more(|to| to.notify(1));
}

#[test]
fn n5_no_room_is_filled_by_an_alias_that_is_revoked() {
    nothing_more(|to| {
        if let Ok(room) = to.reserve() {
            room.send(1);
        }
    });
}
