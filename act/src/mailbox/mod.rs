//! Mailboxes: what lies in them ([`entry`]) and how it gets in and out ([`inbox`]).

pub(crate) mod entry;
pub(crate) mod inbox;
