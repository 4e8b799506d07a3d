//! Errors of settings, with their place.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The place of a setting.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    pub(crate) file: Option<Arc<PathBuf>>,
    pub(crate) line: Option<usize>,
    /// The environment variable. Then there is neither file nor line.
    pub(crate) variable: Option<Arc<String>>,
    /// Whether it is a table that is there because the variable sets a key in it.
    pub(crate) is_implied: bool,
}

impl Origin {
    pub(crate) fn error(&self, fault: SettingsFault) -> SettingsError {
        SettingsError { origin: self.clone(), fault }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(variable) = &self.variable {
            return write!(f, "the variable {variable}");
        }
        match (&self.file, self.line) {
            (None, None) => f.write_str("settings"),
            (None, Some(line)) => write!(f, "line {line}"),
            (Some(file), None) => write!(f, "{}", file.display()),
            (Some(file), Some(line)) => write!(f, "{}:{line}", file.display()),
        }
    }
}

/// Invalid settings (feature `settings`). No thread has been started.
///
/// It prints the place, the fault and the allowed values:
///
/// ```
/// # use krarup_node::Settings;
/// let error = Settings::from_toml("[dispatcher.db]\nworkers = 0").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "line 2: dispatcher.db.workers cannot be 0 (expected a whole number, 1 to 1024)",
/// );
/// ```
#[derive(Debug)]
pub struct SettingsError {
    origin: Origin,
    fault: SettingsFault,
}

impl SettingsError {
    /// Returns the file, if the settings came from one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.origin.file.as_deref().map(PathBuf::as_path)
    }

    /// Returns the line, from 1, if it is known.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.origin.line
    }

    /// Returns the name of the environment variable, if the setting came from one
    /// ([`Settings::with_env`](crate::Settings::with_env)).
    #[must_use]
    pub fn variable(&self) -> Option<&str> {
        self.origin.variable.as_deref().map(String::as_str)
    }

    /// Returns the fault.
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

/// The fault of a setting (feature `settings`). Keys are printed as paths, as in `dispatcher.db.workers`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsFault {
    /// The file cannot be read, or is not UTF-8.
    #[error("the file cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// The text is longer than the limit.
    #[error("the settings have more than {limit} bytes")]
    TooLong {
        /// The most bytes that are read.
        limit: u64,
    },
    /// The text is not TOML.
    #[error("{text:?} is not TOML: {message}")]
    NoToml {
        /// The invalid line, or its beginning.
        text: String,
        /// The message of the parser.
        message: String,
    },
    /// There is no such key.
    #[error("unknown key {key} (known keys: {known})")]
    UnknownKey {
        /// The key that was found.
        key: String,
        /// The keys that are allowed there.
        known: String,
    },
    /// The value has a wrong type.
    #[error("{key} cannot be {found} (expected {takes})")]
    WrongType {
        /// The key.
        key: String,
        /// The value, with its type.
        found: String,
        /// The allowed values.
        takes: String,
    },
    /// The value is out of bounds, or an unknown word.
    #[error("{key} cannot be {value} (expected {takes})")]
    BadValue {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// The allowed values.
        takes: String,
    },
    /// Two environment variables set the same key.
    #[error("{key} is set by the variable {other} too")]
    SetTwice {
        /// The key.
        key: String,
        /// The other variable.
        other: String,
    },
    /// The name of an environment variable fits several keys.
    #[error("{key} can be each of {meant}: write the one that is meant exactly as it is")]
    Ambiguous {
        /// The key, as the variable has it.
        key: String,
        /// The keys that it can be.
        meant: String,
    },
    /// Dispatchers of this kind have no such setting.
    #[error("{key} is not a setting of dispatchers of kind {kind:?} (only of {kinds})")]
    NotForKind {
        /// The key.
        key: String,
        /// The kind of the dispatcher.
        kind: &'static str,
        /// The kinds that have this setting.
        kinds: String,
    },
    /// A setting names a dispatcher that is not in the settings.
    #[error("{key} names the dispatcher {id:?}, which is not in the settings")]
    UnknownDispatcher {
        /// The key.
        key: String,
        /// The id of that dispatcher.
        id: String,
    },
    /// A key of an application's settings is missing, and has no default (rule A11).
    #[error("{key} is not set, and has no default")]
    MissingKey {
        /// The key.
        key: String,
    },
    /// The type of an application's settings does not take the value.
    #[error("{key}: {message}")]
    Invalid {
        /// The key.
        key: String,
        /// What the type says.
        message: String,
    },
    /// The node has no such application, or it takes no settings. Also of a table that is empty.
    #[error("{key} belongs to no application with settings (known applications: {known})")]
    UnknownApplication {
        /// The key.
        key: String,
        /// The applications of the node that take settings; `none` if there is none.
        known: String,
    },
    /// Dispatchers whose `like` settings form a circle.
    #[error("{key} forms a cycle: {way}")]
    Circle {
        /// The key.
        key: String,
        /// The ids of the circle, in order.
        way: String,
    },
}
