//! The reasons for which a state actor cannot start.

/// The reason for which the spawn of a [`Stateful`](crate::Stateful) fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StatefulError {
    /// The limit of handlers in flight is zero.
    #[error("a limit of 0 handlers in flight would never handle anything")]
    ZeroInFlight,
}
