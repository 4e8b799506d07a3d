//! The timers of a node: the clock, the wheel and the thread that turns it.

pub(crate) mod clock;
pub(crate) mod timer;
pub(crate) mod wheel;
