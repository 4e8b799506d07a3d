//! Where a text can be cut. The methods of `str` for this are younger than the oldest Rust that these
//! crates support.

/// Returns the last place up to this one at which a character begins, or the end of the text.
#[doc(hidden)]
#[must_use]
pub fn char_boundary_to(text: &str, most: usize) -> usize {
    let most = most.min(text.len());
    (0..=most).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0)
}

/// Returns the first place from this one on at which a character begins, or the end of the text.
pub(crate) fn char_boundary_from(text: &str, least: usize) -> usize {
    (least..text.len()).find(|place| text.is_char_boundary(*place)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_its_characters() {
        // Of one, two, three and four bytes.
        let text = "aä…🦀";
        assert_eq!(text.len(), 10);
        let before: Vec<usize> = (0..12).map(|place| char_boundary_to(text, place)).collect();
        assert_eq!(before, [0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10]);
        let behind: Vec<usize> = (0..12).map(|place| char_boundary_from(text, place)).collect();
        assert_eq!(behind, [0, 1, 3, 3, 6, 6, 6, 10, 10, 10, 10, 10]);
    }
}
