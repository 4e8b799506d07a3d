//! The reasons for which a keeper of grains cannot start.

/// The reason for which the spawn of a [`Grains`](crate::Grains) fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrainsError {
    /// The bound of the mailboxes is zero.
    #[error("a mailbox bound of 0 leaves no room for any message to a grain")]
    ZeroMailbox,
    /// The keeper's own mailbox was bounded, but it holds no messages of grains. [`Grains::mailbox`](crate::Grains::mailbox) sets
    /// the bound of each grain.
    #[error(
        "a mailbox bound of {0} was set on the grains as a whole; use Grains::mailbox to bound each"
    )]
    MailboxOfGrains(usize),
    /// The behaviour forwards its messages, as a pool does.
    #[error("a {0} cannot be a grain: it forwards its messages and has no mailbox of its own")]
    Routes(&'static str),
}
