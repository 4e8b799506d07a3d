//! Why a keeper of grains cannot be.

/// Grains cannot be kept so: the reason for which the spawn of a [`crate::Grains`] fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrainsError {
    /// A mailbox without room.
    #[error("a bound of 0 messages for each grain leaves no room for any")]
    ZeroMailbox,
    /// A behaviour that hands its messages on, as a pool does.
    #[error("a {0} cannot be a grain: it hands its messages on, and has no mailbox of its own")]
    Routes(&'static str),
}
