//! Why a state actor cannot be.

/// A state actor cannot run so: the reason for which the spawn of a [`crate::Stateful`] fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StatefulError {
    /// No handler may be in flight.
    #[error("with 0 handlers in flight at most nothing is ever handled")]
    ZeroInFlight,
}
