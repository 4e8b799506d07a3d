//! Mailboxes: what lies in them ([`entry`], [`cold`]), how it gets in ([`inbox`]) and out
//! ([`take`]), in which order ([`order`]), how they give room ([`capacity`]), to whom ([`waiting_senders`]), and keep it ([`permit`]), what a full one does ([`overflow`]),
//! and what is left at the end ([`drain`]).

pub(crate) mod capacity;
mod cold;
pub(crate) mod drain;
pub(crate) mod entry;
pub(crate) mod inbox;
pub(crate) mod order;
pub(crate) mod overflow;
pub(crate) mod permit;
mod take;
pub(crate) mod waiting_senders;
