//! The reasons for which a keeper of grains cannot start.

/// The reason for which the spawn of a [`crate::Grains`] fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrainsError {
    /// The bound of the mailboxes is zero.
    #[error("a bound of 0 messages for each grain leaves no room for any")]
    ZeroMailbox,
    /// The behaviour forwards its messages, as a pool does.
    #[error("a {0} cannot be a grain: it hands its messages on, and has no mailbox of its own")]
    Routes(&'static str),
}
