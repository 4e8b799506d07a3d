//! Addressing: typed addresses, recipients, aliases, names and pids.

pub(crate) mod address;
pub(crate) mod alias;
pub(crate) mod dynamic;
pub(crate) mod lookup;
pub(crate) mod naming;
pub(crate) mod recipient;
pub(crate) mod route;
pub(crate) mod send_or_wait;
