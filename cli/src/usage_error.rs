//! Why a command line is none of this program's.

use crate::target::UrlError;
use thiserror::Error;

/// Why a command line is none of this program's.
#[derive(Debug, Error)]
pub(crate) enum UsageError {
    #[error("{0}")]
    Syntax(#[from] lexopt::Error),
    #[error("{0}")]
    Url(#[from] UrlError),
    #[error("{name:?} is no command: there are {known}")]
    Unknown { name: String, known: String },
    #[error("{0} is missing")]
    Missing(String),
    #[error("{option}={value:?} is not {expected}")]
    Value { option: String, value: String, expected: String },
    #[error("{0} does not go with {1}")]
    Together(String, &'static str),
}

impl UsageError {
    pub(crate) fn missing(what: &str) -> Self {
        UsageError::Missing(what.to_owned())
    }

    pub(crate) fn value(option: &str, value: String, expected: String) -> Self {
        UsageError::Value { option: option.to_owned(), value, expected }
    }
}
