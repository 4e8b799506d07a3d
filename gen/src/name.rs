//! Registered names.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A name under which a process is registered: 1 to 255 bytes of UTF-8 (rule N2).
///
/// Cloning shares the text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Arc<str>);

impl Name {
    /// The greatest length of a name in bytes (in Erlang an atom has 255 characters).
    pub const MAX_BYTES: usize = 255;

    /// Creates a name from a text.
    ///
    /// # Errors
    /// Returns [`NameError::Empty`] or [`NameError::TooLong`].
    pub fn new(text: impl AsRef<str>) -> Result<Self, NameError> {
        let text = text.as_ref();
        match text.len() {
            0 => Err(NameError::Empty),
            1..=Self::MAX_BYTES => Ok(Name(text.into())),
            bytes => Err(NameError::TooLong { bytes }),
        }
    }

    /// Returns the text of the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// As [`Name::new`].
impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Name::new(text)
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// The error of a text that is not a valid name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The text is empty.
    #[error("a name must not be empty")]
    Empty,
    /// The text is longer than [`Name::MAX_BYTES`].
    #[error("a name of {bytes} bytes is over the limit of {} bytes", Name::MAX_BYTES)]
    TooLong {
        /// The length of the text.
        bytes: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n2_a_name_has_1_to_255_bytes() {
        assert_eq!(Name::new(""), Err(NameError::Empty));
        assert_eq!("".parse::<Name>(), Err(NameError::Empty));
        assert_eq!("stock".parse(), Name::new("stock"));
        assert!(Name::new("x".repeat(255)).is_ok());
        let error = Name::new("x".repeat(256)).unwrap_err();
        assert_eq!(error, NameError::TooLong { bytes: 256 });
        assert!(error.to_string().contains("256"));
    }
}
