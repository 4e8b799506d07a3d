//! Lanes of a user's message.

/// Which lane of the receiver's mailbox a message takes (rule M2; the names are
/// Ergo's). Lanes are drained Max, High, Normal, re-checked before every message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    /// The Main lane: ordinary traffic, bounded if the mailbox is.
    #[default]
    Normal,
    /// The System lane, never bounded.
    High,
    /// The Urgent lane, never bounded, before everything else.
    Max,
}
