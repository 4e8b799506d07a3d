//! What a pool says of itself.

/// The states of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckoutState {
    /// A worker is free.
    Ready,
    /// No worker is free, and another may be made.
    Overflow,
    /// No worker is free, and no other may be made: callers wait.
    Full,
}

/// A pool at one moment. Always `free + leased = workers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CheckoutStatus {
    /// The state of the machine.
    pub(crate) state: CheckoutState,
    /// How many workers the pool keeps when nobody leases any.
    pub(crate) size: usize,
    /// How many workers it has.
    pub(crate) workers: usize,
    /// How many of them are free.
    pub(crate) free: usize,
    /// How many are leased, or have to do with what their last holder has left them.
    pub(crate) leased: usize,
    /// How many there are beyond the size.
    pub(crate) overflow: usize,
    /// How many are being made: their `init` has not returned.
    pub(crate) starting: usize,
    /// How many callers wait.
    pub(crate) waiting: usize,
}
