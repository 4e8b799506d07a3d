//! What can be wrong with settings, and where.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a setting stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    pub(crate) file: Option<Arc<PathBuf>>,
    pub(crate) line: Option<usize>,
}

impl Origin {
    pub(crate) fn error(&self, fault: SettingsFault) -> SettingsError {
        SettingsError { origin: self.clone(), fault }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (None, None) => f.write_str("settings"),
            (None, Some(line)) => write!(f, "line {line}"),
            (Some(file), None) => write!(f, "{}", file.display()),
            (Some(file), Some(line)) => write!(f, "{}:{line}", file.display()),
        }
    }
}

/// Settings that cannot be; nothing has been started.
///
/// It prints where, what and what is allowed:
///
/// ```
/// # use krarup_node::Settings;
/// let error = Settings::from_toml("[dispatcher.db]\nworkers = 0").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "line 2: dispatcher.db.workers cannot be 0 (a whole number, 1 to 1024)",
/// );
/// ```
#[derive(Debug)]
pub struct SettingsError {
    origin: Origin,
    fault: SettingsFault,
}

impl SettingsError {
    /// The file, if they came from one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.origin.file.as_deref().map(PathBuf::as_path)
    }

    /// The line, from 1, if it is known.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.origin.line
    }

    /// What is wrong.
    #[must_use]
    pub fn fault(&self) -> &SettingsFault {
        &self.fault
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.origin, self.fault)
    }
}

impl std::error::Error for SettingsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.fault {
            SettingsFault::Unreadable(error) => Some(error),
            _ => None,
        }
    }
}

/// What is wrong with a setting. Keys are printed as paths, as in `dispatcher.db.workers`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsFault {
    /// The file cannot be read, or is no UTF-8.
    #[error("the file cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// More text than any settings have.
    #[error("the settings have more than {limit} bytes")]
    TooLong {
        /// The most that is read.
        limit: u64,
    },
    /// The text is not TOML.
    #[error("{text:?} is no TOML: {message}")]
    NoToml {
        /// The line in question, or its beginning.
        text: String,
        /// What the parser says of it.
        message: String,
    },
    /// There is no such setting.
    #[error("unknown key {key} (known are {known})")]
    UnknownKey {
        /// What was said.
        key: String,
        /// What could be said there.
        known: String,
    },
    /// The value is of another type.
    #[error("{key} cannot be {found} ({takes})")]
    WrongType {
        /// The setting.
        key: String,
        /// What it was set to, and of which type that is.
        found: String,
        /// What it takes.
        takes: String,
    },
    /// The value is out of bounds, or no word that is known.
    #[error("{key} cannot be {value} ({takes})")]
    BadValue {
        /// The setting.
        key: String,
        /// What it was set to.
        value: String,
        /// What it takes.
        takes: String,
    },
    /// Dispatchers of this kind have nothing of the sort.
    #[error("{key} means nothing to a dispatcher of the kind {kind:?} (only to {kinds})")]
    NotForKind {
        /// The setting.
        key: String,
        /// What the dispatcher is.
        kind: &'static str,
        /// What it would have to be.
        kinds: String,
    },
    /// A setting speaks of a dispatcher that the settings do not have.
    #[error("{key} names the dispatcher {id:?}, which is not in the settings")]
    UnknownDispatcher {
        /// The setting.
        key: String,
        /// The id in question.
        id: String,
    },
    /// Dispatchers that are set up like each other, in a circle.
    #[error("{key} leads back to where it began: {way}")]
    Circle {
        /// The setting.
        key: String,
        /// The ids on the way.
        way: String,
    },
}
