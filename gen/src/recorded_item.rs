//! The items that a process has taken, as a flight recorder and a trace keep them.

use crate::cut_text::cut_text;
use crate::{ItemKind, Pid, RecordedPage};
use std::fmt;
use std::time::Duration;

/// A lane of a mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Lane {
    /// Urgent: taken before all others.
    Urgent,
    /// System: taken before Main.
    System,
    /// Main.
    Main,
}

impl Lane {
    /// Returns the name of the lane, in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Lane::Urgent => "urgent",
            Lane::System => "system",
            Lane::Main => "main",
        }
    }
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An item that a process has taken out of its mailbox. It holds no value of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RecordedItem {
    /// The lane that it came by.
    pub lane: Lane,
    /// The kind of the item.
    pub kind: ItemKind,
    /// The type of the message; `None` if it is no message.
    pub type_name: Option<&'static str>,
    /// The sender; `None` if it came from outside of any process.
    pub sender: Option<Pid>,
    /// The message as text, if the behaviour shows its messages (`Actor::show_message`); cut at
    /// [`RecordedItem::MOST_TEXT`] bytes.
    pub text: Option<String>,
}

impl RecordedItem {
    /// The most items that a flight recorder keeps.
    pub const MOST: usize = 256;
    /// The most bytes of a text.
    pub const MOST_TEXT: usize = 4096;

    /// Creates an item. For hosts.
    #[must_use]
    pub fn new(
        lane: Lane,
        kind: ItemKind,
        type_name: Option<&'static str>,
        sender: Option<Pid>,
        text: Option<String>,
    ) -> Self {
        let text = text.map(|text| cut_text(format_args!("{text}"), Self::MOST_TEXT));
        RecordedItem { lane, kind, type_name, sender, text }
    }

    /// Formats a value as the text of an item, without more than the bytes that are kept.
    #[must_use]
    pub fn text_of(value: &dyn fmt::Debug) -> String {
        cut_text(format_args!("{value:?}"), RecordedItem::MOST_TEXT)
    }
}

/// How long a trace of a process lasts. Both limits hold: the one that is reached first ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceLimits {
    /// The most items, 1 to [`TraceLimits::MOST_ITEMS`].
    pub items: usize,
    /// The longest time, above 0 and at most [`TraceLimits::MOST_TIME`].
    pub time: Duration,
}

impl TraceLimits {
    /// The most items of a trace.
    pub const MOST_ITEMS: usize = 1 << 20;
    /// The longest time of a trace.
    pub const MOST_TIME: Duration = Duration::from_secs(86_400);
    /// A trace ends if so many items wait to be read.
    pub const MOST_UNREAD: usize = 1024;
    /// A trace ends if texts of so many bytes wait to be read.
    pub const MOST_UNREAD_TEXT: usize = 1 << 20;
}

/// Why a trace has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum TraceEnd {
    /// It has shown as many items as it was to.
    Items,
    /// Its time was over.
    Time,
    /// The process takes items faster than they are read
    /// ([`TraceLimits::MOST_UNREAD`], [`TraceLimits::MOST_UNREAD_TEXT`]).
    Overload,
    /// It was ended from outside, its reader was dropped, or another trace has replaced it.
    Untraced,
    /// The process has ended.
    Ended,
}

impl TraceEnd {
    /// Returns the word for the end, in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            TraceEnd::Items => "items",
            TraceEnd::Time => "time",
            TraceEnd::Overload => "overload",
            TraceEnd::Untraced => "untraced",
            TraceEnd::Ended => "ended",
        }
    }
}

impl fmt::Display for TraceEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Some of the items of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TracePage {
    /// The items, with their numbers.
    pub page: RecordedPage<RecordedItem>,
    /// Why the trace has ended; `None` while it runs.
    pub end: Option<TraceEnd>,
}

impl TracePage {
    /// Creates a page. For hosts.
    #[must_use]
    pub const fn new(page: RecordedPage<RecordedItem>, end: Option<TraceEnd>) -> Self {
        TracePage { page, end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value whose text has no end.
    struct EndlessText;

    impl fmt::Debug for EndlessText {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            loop {
                f.write_str("and so on ")?;
            }
        }
    }

    #[test]
    fn v50_a_text_is_cut_at_a_character_and_no_more_of_it_is_formatted() {
        let text = |value: &dyn fmt::Debug| RecordedItem::text_of(value);
        assert_eq!(text(&vec![1, 2]), "[1, 2]");
        let exact = "x".repeat(RecordedItem::MOST_TEXT - 2);
        assert_eq!(text(&exact).len(), RecordedItem::MOST_TEXT);
        assert!(!text(&exact).ends_with('…'));
        let long = text(&"ä".repeat(5000));
        assert!(long.ends_with("ä…") && long.len() <= RecordedItem::MOST_TEXT, "{}", long.len());
        assert!(text(&EndlessText).ends_with('…'));
    }

    #[test]
    fn v21_lanes_and_ends_of_traces_print_their_words() {
        use TraceEnd::{Ended, Items, Overload, Time, Untraced};
        let lanes = [Lane::Urgent, Lane::System, Lane::Main].map(|lane| lane.to_string());
        assert_eq!(lanes, ["urgent", "system", "main"]);
        let ends = [Items, Time, Overload, Untraced, Ended].map(|end| end.to_string());
        assert_eq!(ends, ["items", "time", "overload", "untraced", "ended"]);
    }
}
