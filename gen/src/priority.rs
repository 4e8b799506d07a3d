//! The lanes of user messages.

/// The lane that a message takes in the receiver's mailbox (rule M2; the names are Ergo's).
///
/// Lanes are drained in the order Max, High, Normal. The order is checked again before every
/// message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Priority {
    /// The Main lane: ordinary traffic, bounded if the mailbox is.
    #[default]
    Normal,
    /// The System lane, never bounded.
    High,
    /// The Urgent lane, never bounded, drained before all others.
    Max,
}
