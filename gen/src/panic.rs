//! The panic of a process.

use std::error::Error;
use std::fmt;

/// A panic that ended a process (rule D4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panic {
    message: String,
    location: Option<String>,
}

impl Panic {
    /// Creates a panic with the given message, raised at `file:line:column`.
    #[must_use]
    pub fn new(message: String, location: Option<String>) -> Self {
        Panic { message, location }
    }

    /// Returns the message of the panic.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns `file:line:column` of the panic, if it is known.
    #[must_use]
    pub fn location(&self) -> Option<&str> {
        self.location.as_deref()
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            Some(location) => write!(f, "{} at {location}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl Error for Panic {}
