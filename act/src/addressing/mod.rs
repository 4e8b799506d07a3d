//! Addressing: typed addresses, recipients, aliases, names and pids.

pub(crate) mod address;
pub(crate) mod address_room;
pub(crate) mod alias;
mod cleaning;
pub(crate) mod dynamic;
pub(crate) mod lookup;
pub(crate) mod naming;
pub(crate) mod recipient;
pub(crate) mod recipient_wait;
#[cfg(feature = "serde")]
pub(crate) mod remote_recipient;
pub(crate) mod reserve_or_wait;
pub(crate) mod route;
pub(crate) mod send_or_wait;
pub(crate) mod when_handled;
