//! Texts of a bounded length, for errors about values that a peer has sent.

use std::fmt::{self, Display, Write};

/// Returns the text of a value. A text of more than `limit` characters is cut, and ends with two
/// dots. What would follow is not produced, so a long value costs no more than a short one.
pub(crate) fn cut(value: impl Display, limit: usize) -> String {
    let mut cut = CutText { text: String::new(), left: limit };
    if write!(cut, "{value}").is_err() {
        cut.text.push_str("..");
    }
    cut.text
}

/// Accepts a number of characters, and fails with the next one.
struct CutText {
    text: String,
    left: usize,
}

impl Write for CutText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(character);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_after_its_last_allowed_character() {
        assert_eq!(cut("", 0), "");
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöüx", 3), "äöü..");
        assert_eq!(cut(format_args!("{}{}", "ab", "cd"), 3), "abc..");
    }

    #[test]
    fn nothing_is_produced_beyond_the_limit() {
        struct EndlessDisplay;

        impl Display for EndlessDisplay {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                loop {
                    f.write_str("ab")?;
                }
            }
        }

        assert_eq!(cut(EndlessDisplay, 5), "ababa..");
    }
}
