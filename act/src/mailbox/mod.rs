//! Mailboxes: what lies in them ([`entry`], [`rare`]), how it gets in ([`inbox`]) and out
//! ([`taking`]), in which order ([`order`]), how they give room ([`crowd`]), to whom ([`waiting`]), and keep it ([`permit`]), what a full one does ([`overflow`]),
//! and what is left at the end ([`remains`]).

pub(crate) mod crowd;
pub(crate) mod entry;
pub(crate) mod inbox;
pub(crate) mod order;
pub(crate) mod overflow;
pub(crate) mod permit;
mod rare;
pub(crate) mod remains;
mod taking;
pub(crate) mod waiting;
