//! The timers of a node: the clock, the wheel, and the thread that advances it.

pub(crate) mod clock;
pub(crate) mod timer;
pub(crate) mod wheel;
