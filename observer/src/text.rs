//! Texts of bounded length.

use crate::limits::TEXT;

/// A text of at most [`TEXT`] bytes, cut at a character.
pub(crate) fn cut(text: &str) -> String {
    if text.len() <= TEXT {
        return text.to_owned();
    }
    let most = TEXT - '…'.len_utf8();
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v24_a_long_text_is_cut_at_a_character() {
        let long = "ä".repeat(5000);
        let short = cut(&long);
        assert!(short.len() <= TEXT && short.ends_with("ä…"));
        assert_eq!(cut("x"), "x");
    }
}
