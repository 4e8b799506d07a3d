//! Mailboxes: their entries ([`entry`], [`cold`]), how entries are put in ([`inbox`]) and
//! taken out ([`take`]), in which order ([`order`]), how room is granted ([`capacity`]), to
//! which senders ([`waiting_senders`]), how it is kept ([`permit`]), what a full mailbox does
//! ([`overflow`]), which senders wait for the receiver to catch up ([`muted_senders`]), and what is
//! left when the process ends ([`drain`]).

pub(crate) mod capacity;
mod cold;
pub(crate) mod drain;
pub(crate) mod entry;
pub(crate) mod inbox;
pub(crate) mod muted_senders;
pub(crate) mod order;
pub(crate) mod overflow;
pub(crate) mod permit;
mod take;
pub(crate) mod waiting_senders;
