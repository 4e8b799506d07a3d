//! Reasons as records: without the values of their errors.

use crate::cut_text::cut_text;
use crate::{Reason, ReasonKind};
use std::fmt;

/// A reason as a record keeps it: its kind and its text, and nothing of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ReasonRecord {
    /// The kind.
    pub kind: ReasonKind,
    /// The text of the reason, at most [`ReasonRecord::MAX_BYTES`]; a longer one ends in `…`.
    pub text: String,
    /// The message and the place of a panic.
    pub panic: Option<(String, Option<String>)>,
}

impl ReasonRecord {
    /// The most bytes of a text.
    pub const MAX_BYTES: usize = 4096;

    /// Creates the record of a reason. Prints the reason, which is user code.
    #[must_use]
    pub fn of(reason: &Reason) -> Self {
        let panic = match reason {
            Reason::Panic(panic) => {
                let location = panic.location().map(ToOwned::to_owned);
                Some((cut_text(format_args!("{}", panic.message()), Self::MAX_BYTES), location))
            }
            _ => None,
        };
        let text = cut_text(format_args!("{reason}"), Self::MAX_BYTES);
        ReasonRecord { kind: reason.kind(), text, panic }
    }
}

impl fmt::Display for ReasonRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Panic;
    use std::sync::Arc;

    /// Writes for ever, unless it is stopped.
    struct Endless;
    impl fmt::Display for Endless {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            loop {
                f.write_str("again ")?;
            }
        }
    }

    #[test]
    fn v15_a_record_of_a_reason_has_its_kind_and_a_bounded_text() {
        let record = ReasonRecord::of(&Reason::error("boom"));
        assert_eq!((record.kind, record.to_string().as_str()), (ReasonKind::Error, "boom"));
        assert_eq!(record.panic, None);
        let panic = Panic::new("p".repeat(5000), Some("a.rs:1:2".to_owned()));
        let record = ReasonRecord::of(&Reason::Panic(Arc::new(panic)));
        let (message, location) = record.panic.unwrap();
        assert_eq!((message.len(), location.as_deref()), (4096, Some("a.rs:1:2")));
        assert!(message.ends_with('…'));
        let record = ReasonRecord::of(&Reason::error("ä".repeat(3000)));
        assert!(record.text.len() <= 4096 && record.text.ends_with("ä…"));
        let longest = "x".repeat(4096);
        assert_eq!(ReasonRecord::of(&Reason::error(longest.clone())).text, longest);
        let ends = |text: &str| ReasonRecord::of(&Reason::error(text.to_owned())).text;
        assert_eq!(ends(&format!("{longest}y")), format!("{}…", &longest[..4093]));
        assert_eq!(ends(&format!("{}äö", &longest[..4093])), format!("{}…", &longest[..4093]));
        // What is longer is not made: it would never end.
        assert!(cut_text(format_args!("{Endless}"), 4096).ends_with('…'));
    }
}
