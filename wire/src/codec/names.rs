//! Rust names as atoms.

use super::options::Names;

impl Names {
    /// Appends the text of the atom for a name.
    pub(super) fn write(self, name: &str, out: &mut String) {
        out.extend(self.characters(name));
    }

    /// Whether the atom for a name has this text.
    pub(super) fn is(self, name: &str, text: &str) -> bool {
        self.characters(name).eq(text.chars())
    }

    fn characters(self, name: &str) -> impl Iterator<Item = char> {
        let snake = self == Names::Snake && name.starts_with(char::is_uppercase);
        let mut before = None;
        let mut rest = name.chars().peekable();
        std::iter::from_fn(move || {
            let character = rest.next()?;
            let after = rest.peek().copied();
            let word = snake && character.is_uppercase() && begins_word(before, after);
            before = Some(character);
            Some((word, character))
        })
        .flat_map(move |(word, character)| {
            let lower = snake.then(|| character.to_lowercase());
            let same = (!snake).then_some(character);
            word.then_some('_').into_iter().chain(lower.into_iter().flatten()).chain(same)
        })
    }
}

/// Whether an upper-case letter begins a word: after a lower-case letter or a digit, or as
/// the last of several before a lower-case letter.
fn begins_word(before: Option<char>, after: Option<char>) -> bool {
    match before {
        None | Some('_') => false,
        Some(before) if before.is_uppercase() => after.is_some_and(char::is_lowercase),
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_variants_become_snake_case_atoms() {
        for (name, atom) in [
            ("FetchAll", "fetch_all"),
            ("Reset", "reset"),
            ("X", "x"),
            ("HTTPServer", "http_server"),
            ("Ipv4Address", "ipv4_address"),
            ("A1B2", "a1_b2"),
            ("Already_Split", "already_split"),
            ("fetchAll", "fetchAll"),
            ("$gen_call", "$gen_call"),
            ("", ""),
        ] {
            let mut text = String::new();
            Names::Snake.write(name, &mut text);
            assert_eq!(text, atom);
            assert!(Names::Snake.is(name, atom));
            assert!(Names::AsWritten.is(name, name));
        }
        assert!(!Names::Snake.is("FetchAll", "FetchAll"));
        assert!(!Names::Snake.is("FetchAll", "fetch_al"));
        assert!(!Names::Snake.is("FetchAll", "fetch_all_"));
    }
}
