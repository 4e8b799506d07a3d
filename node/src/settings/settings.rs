//! Settings as a value.

use super::error::{Origin, SettingsError, SettingsFault};
use super::keys;
use super::layer::{DispatcherEntry, Layer};
use super::tree;
use serde::de::{Deserialize, Deserializer, Error};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// The longest text that is read: settings are short, and a path may lead to anything.
const MOST_BYTES: u64 = 1 << 20;

/// What a file says of a node and its dispatchers; feature `settings`.
///
/// ```
/// use krarup_node::{NodeBuilder, Settings};
///
/// # fn main() -> krarup_gen::Result {
/// let base = Settings::from_toml(
///     r#"
///     [node]
///     name = "shop@localhost"
///
///     [dispatcher.blocking]
///     kind = "pinned"
///
///     [dispatcher]
///     files = "blocking"
///
///     [dispatcher.reports]
///     workers = 2
///     "#,
/// )?;
/// // What is other on this machine.
/// let here = Settings::from_toml("dispatcher.reports.workers = 1")?;
/// let node = NodeBuilder::from_settings(&here.over(base))?.start()?;
/// assert_eq!(node.name(), "shop@localhost");
/// node.stop().wait()?;
/// # Ok(())
/// # }
/// ```
///
/// The keys, what they take and what they mean: [the page of settings][page]. A key that is not
/// known, a value of another type and one that is out of bounds are each a [`SettingsError`].
///
/// It can be a part of a program's own settings, for it is [`Deserialize`], from TOML
/// and from other formats; the lines of errors are those of that format's then.
///
/// [page]: https://docs.rs/krarup/latest/krarup/settings/index.html
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub(crate) layer: Layer,
}

impl Settings {
    /// What this text says.
    ///
    /// # Errors
    /// [`SettingsError`]: the first thing that is wrong, with its line.
    pub fn from_toml(text: &str) -> Result<Settings, SettingsError> {
        Self::parse(text, None)
    }

    /// What this file says: TOML, at most 1 MiB of it.
    ///
    /// # Errors
    /// As [`Settings::from_toml`], with the file; and it cannot be read.
    pub fn read(path: impl AsRef<Path>) -> Result<Settings, SettingsError> {
        let file = Arc::new(path.as_ref().to_path_buf());
        let origin = Origin { file: Some(Arc::clone(&file)), line: None };
        let mut text = String::new();
        File::open(&*file)
            .and_then(|open| open.take(MOST_BYTES + 1).read_to_string(&mut text))
            .map_err(|error| origin.error(SettingsFault::Unreadable(error)))?;
        Self::parse(&text, Some(file))
    }

    fn parse(text: &str, file: Option<Arc<PathBuf>>) -> Result<Settings, SettingsError> {
        if text.len() as u64 > MOST_BYTES {
            let origin = Origin { file, line: None };
            return Err(origin.error(SettingsFault::TooLong { limit: MOST_BYTES }));
        }
        Ok(Settings { layer: Layer::of(tree::parse(text, file)?)? })
    }

    /// Lays these settings over others: those count where these say nothing, key by key.
    #[must_use]
    pub fn over(self, below: Settings) -> Settings {
        Settings { layer: self.layer.over(below.layer) }
    }

    /// The ids of dispatchers in them, aliases too, in alphabetical order: what a
    /// [`crate::Simulation`] is told of with `add_dispatcher` to run the same program.
    pub fn dispatchers(&self) -> impl Iterator<Item = &str> {
        self.layer.dispatchers.keys().map(String::as_str)
    }

    /// What this id is another name of, if it is.
    #[must_use]
    pub fn alias(&self, id: &str) -> Option<&str> {
        match self.layer.dispatchers.get(id)? {
            DispatcherEntry::Alias(of) => Some(&of.value),
            DispatcherEntry::Own(_) => None,
        }
    }

    /// Every key that there is, as a path with `<id>` for that of a dispatcher, and what it
    /// takes.
    pub fn keys() -> impl Iterator<Item = (String, String)> {
        keys::all()
    }
}

impl FromStr for Settings {
    type Err = SettingsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::from_toml(text)
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = toml::Table::deserialize(deserializer)?;
        let layer = Layer::of(tree::items_of(&table)).map_err(D::Error::custom)?;
        Ok(Settings { layer })
    }
}
