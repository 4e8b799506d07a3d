//! Rust names as atoms.

use super::options::Names;

impl Names {
    /// Appends the text of the atom for a name.
    pub(super) fn write(self, name: &str, out: &mut String) {
        if !self.changes(name) {
            out.push_str(name);
        } else if name.is_ascii() {
            for (word, letter) in ascii(name) {
                out.extend(word.then_some('_'));
                out.push(char::from(letter));
            }
        } else {
            out.extend(self.characters(name));
        }
    }

    /// Whether the atom for a name has this text.
    pub(super) fn is(self, name: &str, text: &str) -> bool {
        if !self.changes(name) {
            return name == text;
        }
        if !name.is_ascii() {
            return self.characters(name).eq(text.chars());
        }
        let mut left = text.as_bytes();
        let mut takes = |letter: u8| match left {
            [first, rest @ ..] if *first == letter => {
                left = rest;
                true
            }
            _ => false,
        };
        ascii(name).all(|(word, letter)| (!word || takes(b'_')) && takes(letter)) && left.is_empty()
    }

    /// Whether the atom for a name may be another text than the name.
    fn changes(self, name: &str) -> bool {
        self == Names::Snake && name.starts_with(char::is_uppercase)
    }

    fn characters(self, name: &str) -> impl Iterator<Item = char> {
        let snake = self.changes(name);
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

/// The letters of a name of ASCII in lower case, and whether a word begins before each. Names are
/// compared for each message that is read, so this is for speed what `Names::characters` is for all.
fn ascii(name: &str) -> impl Iterator<Item = (bool, u8)> {
    let bytes = name.as_bytes();
    bytes.iter().enumerate().map(|(at, letter)| {
        let character = |at: usize| bytes.get(at).copied().map(char::from);
        let before = at.checked_sub(1).and_then(character);
        let word = letter.is_ascii_uppercase() && begins_word(before, character(at + 1));
        (word, letter.to_ascii_lowercase())
    })
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
            // Both ways of writing agree.
            let slowly: String = Names::Snake.characters(name).collect();
            assert_eq!(slowly, atom);
        }
        assert!(Names::Snake.is("ÉtatNeuf", "état_neuf"));
        assert!(!Names::Snake.is("FetchAll", "FetchAll"));
        assert!(!Names::Snake.is("FetchAll", "fetch_al"));
        assert!(!Names::Snake.is("FetchAll", "fetch_all_"));
    }
}
