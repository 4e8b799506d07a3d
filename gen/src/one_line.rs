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

/// The most bytes of a value that [`one_line`] shows.
const MAX_BYTES: usize = 1024;

/// Shows a value in a log: on one line, with control characters escaped, and at most 1024 bytes of it; what is cut ends
/// in `…`. What makes the text is stopped there: a reason of another node or of a client may be long.
#[must_use]
pub fn one_line<T: fmt::Display + ?Sized>(value: &T) -> impl fmt::Display {
    LogText { value, most: MAX_BYTES }
}

/// Shows a value of bounded length on one line, with control characters escaped and nothing cut. For reports.
pub(crate) fn unbroken<T: fmt::Display + ?Sized>(value: &T) -> impl fmt::Display {
    LogText { value, most: usize::MAX }
}

struct LogText<'a, T: ?Sized> {
    value: &'a T,
    most: usize,
}

impl<T: fmt::Display + ?Sized> fmt::Display for LogText<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = CutLine { f, left: self.most, is_cut: false };
        let written = write!(line, "{}", self.value);
        if line.is_cut { f.write_char('…') } else { written }
    }
}

/// Writes what has room, and fails when something has none, so that its writer stops.
struct CutLine<'a, 'b> {
    f: &'a mut fmt::Formatter<'b>,
    left: usize,
    is_cut: bool,
}

impl Write for CutLine<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            let escaped = breaks_the_line(character).then(|| character.escape_default());
            let bytes = escaped.as_ref().map_or(character.len_utf8(), ExactSizeIterator::len);
            let Some(left) = self.left.checked_sub(bytes).filter(|_| !self.is_cut) else {
                self.is_cut = true;
                return Err(fmt::Error);
            };
            self.left = left;
            match escaped {
                Some(escaped) => write!(self.f, "{escaped}")?,
                None => self.f.write_char(character)?,
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

    /// Writes for ever, unless it is stopped.
    struct Endless;
    impl fmt::Display for Endless {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            loop {
                f.write_str("again\n")?;
            }
        }
    }

    /// Fails.
    struct Fails;
    impl fmt::Display for Fails {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            Err(fmt::Error)
        }
    }

    #[test]
    fn v15_a_value_in_a_log_is_one_line_of_bounded_length() {
        assert_eq!(one_line("a\r\nb\u{1b}[2J \"ä\"").to_string(), "a\\r\\nb\\u{1b}[2J \"ä\"");
        let longest = "x".repeat(1024);
        assert_eq!(one_line(&longest).to_string(), longest);
        let cut = one_line(&format!("{longest}y")).to_string();
        assert_eq!(cut, format!("{longest}…"));
        // No character is cut, escaped or not, and nothing follows.
        for (text, end) in [("ä", "ä…"), ("\n", "\\n…")] {
            let cut = one_line(&format!("x{}", text.repeat(1000))).to_string();
            assert!(cut.len() <= 1024 + '…'.len_utf8() && cut.ends_with(end), "{cut}");
        }
        assert!(one_line(&Endless).to_string().ends_with('…'));
        assert!(write!(String::new(), "{}", one_line(&Fails)).is_err());
    }

    #[test]
    fn a_text_of_a_user_is_one_line() {
        assert_eq!(OneLine("visits/bob").to_string(), "visits/bob");
        assert_eq!(OneLine("a\u{2028}b\u{202e}c").to_string(), "a\\u{2028}b\\u{202e}c");
        assert_eq!(OneLine("a\nb\u{1b}[0m \"ä\"").to_string(), "a\\nb\\u{1b}[0m \"ä\"");
    }
}
