//! Texts of values, cut: what makes a text is stopped when it is too long.

use crate::char_boundary::{char_boundary_from, char_boundary_to};
use std::fmt;

/// The text of a value, at most `most` bytes; a longer one is cut at a character and ends in `…`.
pub(crate) fn cut_text(value: fmt::Arguments<'_>, most: usize) -> String {
    let mut text = BoundedText { text: String::new(), most };
    // An error says that the text is long enough, or is the value's own.
    let _ = fmt::write(&mut text, value);
    let mut text = text.text;
    if text.len() > most {
        text.truncate(char_boundary_to(&text, most.saturating_sub('…'.len_utf8())));
        text.push('…');
        text.shrink_to_fit();
    }
    text
}

/// Takes about one byte more than a text may have, so that it is seen to be longer.
struct BoundedText {
    text: String,
    most: usize,
}

impl fmt::Write for BoundedText {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = (self.most + 1).saturating_sub(self.text.len());
        if part.len() <= room {
            self.text.push_str(part);
            return Ok(());
        }
        self.text.push_str(&part[..char_boundary_from(part, room)]);
        Err(fmt::Error)
    }
}
