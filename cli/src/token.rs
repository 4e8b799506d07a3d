//! The token for reading: from a file or from the environment, never shown.

use std::fmt;
use std::path::{Path, PathBuf};
use std::{env, fs, io};
use thiserror::Error;

/// The variable of the environment that may hold a token.
pub(crate) const VARIABLE: &str = "KRARUP_OBSERVER_TOKEN";

/// A token that an observer may ask for. Its text is never shown, also not by [`Debug`](fmt::Debug).
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ReadToken(String);

/// Why there is no token where one was named. The text of the token is never part of it.
#[derive(Debug, Error)]
pub(crate) enum ReadTokenError {
    #[error("the token file {0:?} cannot be read: {1}")]
    File(PathBuf, io::Error),
    #[error("{0} holds no token: one has 32 to 256 visible ASCII characters")]
    Invalid(String),
}

impl ReadToken {
    /// The token of a file if one is named, else that of the environment if it has one.
    pub(crate) fn find(file: Option<&Path>) -> Result<Option<Self>, ReadTokenError> {
        if let Some(path) = file {
            let text = fs::read_to_string(path)
                .map_err(|error| ReadTokenError::File(path.to_owned(), error))?;
            return ReadToken::read(&text, &format!("the token file \"{}\"", path.display()))
                .map(Some);
        }
        match env::var_os(VARIABLE) {
            Some(text) if !text.is_empty() => {
                let text = text.into_string().unwrap_or_default();
                ReadToken::read(&text, &format!("the variable {VARIABLE}")).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn read(text: &str, place: &str) -> Result<Self, ReadTokenError> {
        let text = text.trim();
        let good =
            (32..=256).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if good {
            Ok(ReadToken(text.to_owned()))
        } else {
            Err(ReadTokenError::Invalid(place.to_owned()))
        }
    }

    /// A token of this text, for tests.
    #[cfg(test)]
    pub(crate) fn of(text: &str) -> Option<Self> {
        ReadToken::read(text, "a test").ok()
    }

    /// The value of the header `Authorization`.
    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for ReadToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadToken(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v81_a_token_is_read_and_never_shown() {
        let text = "read-read-read-read-read-read-read-read";
        let token = ReadToken::read(&format!("{text}\n"), "here").unwrap();
        assert_eq!(token.bearer(), format!("Bearer {text}"));
        assert_eq!(format!("{token:?}"), "ReadToken(..)");
        for bad in ["", "short", "with a space with a space with a space", &"x".repeat(257)] {
            let error = ReadToken::read(bad, "the token file \"t\"").unwrap_err().to_string();
            assert!(error.starts_with("the token file \"t\" holds no token"), "{error}");
            assert!(bad.is_empty() || !error.contains(bad), "{error}");
        }
        assert!(ReadToken::find(Some(Path::new("/no/such/file"))).is_err());
    }
}
