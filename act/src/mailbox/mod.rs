//! Mailboxes: what lies in them ([`entry`]), how it gets in and out ([`inbox`]), what a
//! full one does ([`overflow`]), and room that is reserved ([`permit`]).

pub(crate) mod entry;
pub(crate) mod inbox;
pub(crate) mod overflow;
pub(crate) mod permit;
