//! The error of a thread that could not be started.

use std::error::Error;
use std::fmt;
use std::io;

/// The operating system did not start a thread: its error, as a value that can be cloned and
/// compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadError {
    kind: io::ErrorKind,
    text: String,
    dispatcher: Option<Box<str>>,
}

impl ThreadError {
    /// Returns the kind of the error.
    #[must_use]
    pub const fn kind(&self) -> io::ErrorKind {
        self.kind
    }

    /// Sets the name of the dispatcher to which the thread would belong. For hosts.
    #[must_use]
    pub fn of_dispatcher(mut self, name: &str) -> Self {
        self.dispatcher = Some(name.into());
        self
    }

    /// Returns the name of the dispatcher to which the thread would belong, if it is known.
    #[must_use]
    pub fn dispatcher(&self) -> Option<&str> {
        self.dispatcher.as_deref()
    }
}

impl From<io::Error> for ThreadError {
    fn from(error: io::Error) -> Self {
        ThreadError { kind: error.kind(), text: error.to_string(), dispatcher: None }
    }
}

impl fmt::Display for ThreadError {
    /// Prints the text of the operating system.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for ThreadError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b1_a_thread_error_keeps_the_kind_and_the_text_of_the_operating_system() {
        let error = ThreadError::from(io::Error::new(io::ErrorKind::WouldBlock, "no memory"));
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (io::ErrorKind::WouldBlock, "no memory")
        );
        assert!(error.source().is_none());
        assert_eq!(error.dispatcher(), None);
        assert_eq!(error.of_dispatcher("pin").dispatcher(), Some("pin"));
    }
}
