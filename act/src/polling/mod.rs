//! The wait for what comes from outside, sockets above all, by idle workers and by a thread that guards them.

pub(crate) mod poller;
pub(crate) mod shared_wait;
pub(crate) mod turns;
