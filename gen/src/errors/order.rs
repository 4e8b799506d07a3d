//! The error of an order of a mailbox.

/// An order was set for a mailbox that drops its oldest message when it is full (rule M12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a mailbox that drops its oldest message cannot have an order")]
pub struct OrderError;
