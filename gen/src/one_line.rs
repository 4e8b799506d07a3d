//! Texts of users on one line.

use std::fmt::{self, Write};

/// A text whose control characters are escaped, so that a name with a line break does not look like two lines of a
/// tree or of a log.
pub(crate) struct OneLine<'a>(pub(crate) &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            if breaks_the_line(character) {
                write!(f, "{}", character.escape_default())?;
            } else {
                f.write_char(character)?;
            }
        }
        Ok(())
    }
}

/// Whether it ends a line, or changes the order in which one is shown.
fn breaks_the_line(character: char) -> bool {
    let reorders = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || reorders || matches!(character, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_a_user_is_one_line() {
        assert_eq!(OneLine("visits/bob").to_string(), "visits/bob");
        assert_eq!(OneLine("a\u{2028}b\u{202e}c").to_string(), "a\\u{2028}b\\u{202e}c");
        assert_eq!(OneLine("a\nb\u{1b}[0m \"ä\"").to_string(), "a\\nb\\u{1b}[0m \"ä\"");
    }
}
