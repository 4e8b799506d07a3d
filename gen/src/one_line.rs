//! Texts of users on one line.

use std::fmt::{self, Write};

/// A text whose control characters are escaped, so that a name with a line break does not look like two lines of a
/// tree or of a log.
pub(crate) struct OneLine<'a>(pub(crate) &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            if character.is_control() {
                write!(f, "{}", character.escape_default())?;
            } else {
                f.write_char(character)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_a_user_is_one_line() {
        assert_eq!(OneLine("visits/bob").to_string(), "visits/bob");
        assert_eq!(OneLine("a\nb\u{1b}[0m \"ä\"").to_string(), "a\\nb\\u{1b}[0m \"ä\"");
    }
}
