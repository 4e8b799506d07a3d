//! How an application takes its settings, when its node is built.

use crate::settings::{ApplicationSettings, SettingsError};
use std::any::Any;

/// Takes the settings of an application from the program, or else from the file.
pub(crate) type Configure = dyn FnOnce(
        &str,
        &ApplicationSettings,
        Option<Box<dyn Any + Send + Sync>>,
    ) -> Result<(), ConfigureError>
    + Send
    + Sync;

/// Why an application did not get its settings.
pub(crate) enum ConfigureError {
    Settings(SettingsError),
    /// The program has given a value of another type than this one.
    WrongType(&'static str),
}
