//! The tokens that open the doors of an observer.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use subtle::{Choice, ConstantTimeEq};

/// The fewest and the most characters of a token.
const SHORTEST: usize = 32;
const LONGEST: usize = 256;

/// A secret of 32 to 256 visible ASCII characters, as a client sends it in the header
/// `Authorization: Bearer ..`.
///
/// It is compared in constant time, and never printed: its `Debug` says `Token(..)`.
///
/// ```
/// # use krarup_observer::{Token, TokenError};
/// let token = Token::new("0123456789abcdef0123456789abcdef").unwrap();
/// assert_eq!(format!("{token:?}"), "Token(..)");
/// assert!(matches!(Token::new("short"), Err(TokenError::Length { characters: 5 })));
/// ```
#[derive(Clone)]
pub struct Token {
    /// Padded with zeros, so that a comparison takes as long for every length.
    padded: Box<[u8; LONGEST]>,
    length: u64,
}

/// Why a text is no token. It never has the text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It has too few or too many characters.
    #[error("a token has 32 to 256 characters, this one has {characters}")]
    Length {
        /// How many it has.
        characters: usize,
    },
    /// A character is not visible ASCII.
    #[error("a token has visible ASCII characters only, character {place} of this one is not")]
    Character {
        /// Which one, counted from 1.
        place: usize,
    },
    /// The environment variable is not set, or is not Unicode.
    #[error("the environment variable {0:?} is not set to a token")]
    Variable(String),
    /// The file cannot be read.
    #[error("the file {path:?} with a token cannot be read: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        error: io::Error,
    },
}

impl Token {
    /// Makes a token of this text.
    ///
    /// # Errors
    /// [`TokenError::Length`] and [`TokenError::Character`].
    pub fn new(text: impl AsRef<str>) -> Result<Self, TokenError> {
        let text = text.as_ref();
        let strange = text.chars().position(|letter| !letter.is_ascii_graphic());
        if let Some(place) = strange {
            return Err(TokenError::Character { place: place + 1 });
        }
        if !(SHORTEST..=LONGEST).contains(&text.len()) {
            return Err(TokenError::Length { characters: text.len() });
        }
        let (padded, length) = padded(text.as_bytes());
        Ok(Token { padded: Box::new(padded), length })
    }

    /// Reads a token from an environment variable.
    ///
    /// # Errors
    /// [`TokenError::Variable`], and those of [`Token::new`].
    pub fn from_env(variable: impl AsRef<str>) -> Result<Self, TokenError> {
        let variable = variable.as_ref();
        let text = std::env::var(variable);
        Token::new(text.map_err(|_| TokenError::Variable(variable.to_owned()))?)
    }

    /// Reads a token from a file: its text without the white space at its ends.
    ///
    /// # Errors
    /// [`TokenError::File`], and those of [`Token::new`].
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, TokenError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| TokenError::File { path: path.to_owned(), error })?;
        Token::new(text.trim())
    }

    /// Whether these bytes are the token. The time it takes depends on neither.
    pub(crate) fn is(&self, offered: &[u8]) -> bool {
        let (padded, length) = padded(offered);
        let same: Choice = self.padded.ct_eq(&padded) & self.length.ct_eq(&length);
        same.into()
    }
}

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        (self.padded.ct_eq(&*other.padded) & self.length.ct_eq(&other.length)).into()
    }
}

impl Eq for Token {}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// The first bytes, padded to the most that a token has, and how many there were.
fn padded(text: &[u8]) -> ([u8; LONGEST], u64) {
    let mut padded = [0; LONGEST];
    let kept = text.len().min(LONGEST);
    padded[..kept].copy_from_slice(&text[..kept]);
    (padded, text.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v2_a_token_has_32_to_256_visible_ascii_characters() {
        for length in [32, 33, 256] {
            assert!(Token::new("x".repeat(length)).is_ok(), "{length}");
        }
        for length in [0, 31, 257] {
            let error = Token::new("x".repeat(length)).unwrap_err().to_string();
            assert!(error.contains(&length.to_string()), "{error}");
        }
        for strange in [" ", "\n", "ä", "\u{7f}"] {
            let text = format!("{}{strange}", "x".repeat(32));
            let error = Token::new(&text).unwrap_err();
            assert!(matches!(error, TokenError::Character { place: 33 }), "{error}");
            assert!(!error.to_string().contains(&text));
        }
    }

    #[test]
    fn v36_only_the_token_itself_is_the_token() {
        let text = "0123456789abcdef0123456789abcdef";
        let token = Token::new(text).unwrap();
        assert!(token.is(text.as_bytes()));
        let zeros = format!("{text}\0");
        let long = "0".repeat(1000);
        for other in
            ["", "0", &text[1..], &text[..31], &long, &zeros, "0123456789ABCDEF0123456789abcdef"]
        {
            assert!(!token.is(other.as_bytes()), "{other:?}");
        }
    }
}
