//! The error of an order of a mailbox.

/// A mailbox cannot have an order (rule M12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OrderError {
    /// The mailbox drops its oldest message when it is full, so that message must stay in it.
    #[error("a mailbox that drops its oldest message cannot have an order")]
    DropsOldest,
    /// The process hands its messages on, as a pool does, and takes none of them itself. A worker of a pool can have
    /// an order (`Context::set_order`).
    #[error(
        "a process that hands its messages on cannot have an order: set that of those that take them"
    )]
    HandsOn,
}
