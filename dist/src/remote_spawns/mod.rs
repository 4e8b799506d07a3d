//! Processes that this node spawns on other nodes (rule Zcall15). What becomes of the request is in
//! [`requests`](crate::requests).

pub(crate) mod error;
pub(crate) mod spawn;
