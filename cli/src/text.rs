//! Texts from a node, made harmless for a terminal.
//!
//! A name may have any character of Unicode. On a terminal a control character moves the cursor or
//! begins an escape sequence, and a mark of direction turns the rest of the line around. So those
//! are written out, as `\u{1b}`.

/// A text without characters that would do something to a terminal or to the line they stand in.
pub(crate) fn printable(text: &str) -> String {
    escaped(text, is_active)
}

/// The same for a text of several lines: their ends stay.
pub(crate) fn printable_lines(text: &str) -> String {
    escaped(text, |letter| letter != '\n' && is_active(letter))
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
}
