//! Texts from a node, made harmless for a terminal.
//!
//! A name may have any character of Unicode. On a terminal a control character moves the cursor or
//! begins an escape sequence, and a mark of direction turns the rest of the line around. So those
//! are written out, as `\u{1b}`.

use ratatui::text::Span;
use std::fmt::Write;

/// A text without characters that would do something to a terminal or to the line they stand in.
pub(crate) fn printable(text: &str) -> String {
    escaped(text, is_active)
}

/// The same for a text of several lines: their ends stay.
pub(crate) fn printable_lines(text: &str) -> String {
    escaped(text, |letter| letter != '\n' && is_active(letter))
}

/// The same for JSON: they stand in its texts alone, and are written as `\u009b`, so the values are
/// the same.
pub(crate) fn printable_json(json: &str) -> String {
    json.chars().fold(String::with_capacity(json.len()), |mut all, letter| {
        match letter {
            // Between values, where no line begins anew.
            '\r' => all.push(' '),
            '\n' | '\t' => all.push(letter),
            letter if is_active(letter) => {
                // All of them are below U+10000. Writing to a text cannot fail.
                let _ = write!(all, "\\u{:04x}", u32::from(letter));
            }
            letter => all.push(letter),
        }
        all
    })
}

/// How many columns of a terminal a text takes.
pub(crate) fn width(text: &str) -> usize {
    Span::raw(text).width()
}

/// A text that is cut to a width, which then shows.
pub(crate) fn fitted(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut taken = 1;
    for letter in text.chars() {
        taken += width(letter.encode_utf8(&mut [0; 4]));
        if taken > most {
            break;
        }
        short.push(letter);
    }
    short.push('…');
    short
}

fn escaped(text: &str, active: impl Fn(char) -> bool) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut all, letter| {
        if active(letter) {
            all.extend(letter.escape_unicode());
        } else {
            all.push(letter);
        }
        all
    })
}

/// Control characters of both ranges, marks of direction, and the separators that end a line.
fn is_active(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v24_what_would_act_on_a_terminal_is_written_out() {
        let hostile = "a\u{1b}[2J\u{9b}31m\r\n\t\u{7f}\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}z";
        let shown = printable(hostile);
        assert!(
            shown.starts_with("a\\u{1b}[2J\\u{9b}31m\\u{d}\\u{a}\\u{9}\\u{7f}\\u{202e}"),
            "{shown}"
        );
        assert!(shown.is_ascii() && shown.ends_with('z'), "{shown}");
        assert_eq!(printable("Grüße, 東京 🙂 <script>\"'"), "Grüße, 東京 🙂 <script>\"'");
        assert_eq!(printable(&shown), shown);
        assert_eq!(printable_lines("a\n  b\u{1b}\n"), "a\n  b\\u{1b}\n");
    }

    #[test]
    fn v24_json_has_the_same_values_and_no_control_characters() {
        let hostile = "\u{9b}31m\u{7f}\u{202e}\u{2066}é\u{1b}\n";
        let json = format!("{{\r\n\t\"a\": {}}}", serde_json::json!(hostile));
        let shown = printable_json(&json);
        assert!(shown.contains("\\u009b31m\\u007f\\u202e\\u2066é\\u001b\\n"), "{shown}");
        assert!(!shown.contains('\r'));
        let value: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(value["a"], hostile);
    }
}
