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

/// The longest text that is read. Settings are short, and a path may lead to any file.
pub(super) const MOST_BYTES: u64 = 1 << 20;

/// The settings of a node and its dispatchers; feature `settings`.
///
/// ```
/// # mod krarup { pub use {krarup_node as settings, krarup_node::*}; }
/// use krarup::NodeBuilder;
/// use krarup::settings::Settings;
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
/// // The differences on this machine.
/// let here = Settings::from_toml("dispatcher.reports.workers = 1")?;
/// let node = NodeBuilder::from_settings(&here.over(base))?.start()?;
/// assert_eq!(node.name(), "shop@localhost");
/// node.stop().wait()?;
/// # Ok(())
/// # }
/// ```
///
/// [The page of settings][page] lists the keys with their values and meanings. An unknown key, a
/// value of a wrong type and a value out of bounds are each a [`SettingsError`].
///
/// It implements [`Deserialize`], from TOML and other formats, so it can be a part of a
/// program's own settings. Errors then have the lines that the deserializer of that format
/// reports.
///
/// [page]: https://docs.rs/krarup/latest/krarup/settings/index.html
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub(crate) layer: Layer,
}

impl Settings {
    /// Reads settings from TOML text.
    ///
    /// # Errors
    /// [`SettingsError`]: the first fault, with its line.
    pub fn from_toml(text: &str) -> Result<Settings, SettingsError> {
        Self::parse(text, None)
    }

    /// Reads settings from a TOML file of at most 1 MiB.
    ///
    /// # Errors
    /// As [`Settings::from_toml`], with the file; also if the file cannot be read.
    pub fn read(path: impl AsRef<Path>) -> Result<Settings, SettingsError> {
        let file = Arc::new(path.as_ref().to_path_buf());
        let origin = Origin { file: Some(Arc::clone(&file)), ..Origin::default() };
        let mut text = String::new();
        File::open(&*file)
            .and_then(|open| open.take(MOST_BYTES + 1).read_to_string(&mut text))
            .map_err(|error| origin.error(SettingsFault::Unreadable(error)))?;
        Self::parse(&text, Some(file))
    }

    fn parse(text: &str, file: Option<Arc<PathBuf>>) -> Result<Settings, SettingsError> {
        if text.len() as u64 > MOST_BYTES {
            let origin = Origin { file, ..Origin::default() };
            return Err(origin.error(SettingsFault::TooLong { limit: MOST_BYTES }));
        }
        Ok(Settings { layer: Layer::of(tree::parse(text, file)?)? })
    }

    /// Merges these settings over others, key by key: a key of `below` counts only if it is not
    /// set here.
    #[must_use]
    pub fn over(self, below: Settings) -> Settings {
        Settings { layer: self.layer.over(below.layer) }
    }

    /// Returns the ids of the dispatchers, including aliases, in alphabetical order. Pass them
    /// to `add_dispatcher` of a [`Simulation`](crate::Simulation) to run the same program there.
    pub fn dispatchers(&self) -> impl Iterator<Item = &str> {
        self.layer.dispatchers.keys().map(String::as_str)
    }

    /// Returns the dispatcher for which this id is an alias, if it is one.
    #[must_use]
    pub fn alias(&self, id: &str) -> Option<&str> {
        match self.layer.dispatchers.get(id)? {
            DispatcherEntry::Alias(of) => Some(&of.value),
            DispatcherEntry::Own(_) => None,
        }
    }

    /// Returns the ids of the pools of side threads, in alphabetical order. Pass them to `add_blocking_pool` of
    /// a [`Simulation`](crate::Simulation) to run the same program there.
    pub fn blocking_pools(&self) -> impl Iterator<Item = &str> {
        self.layer.pools.keys().map(String::as_str)
    }

    /// Returns the path of every key, with `<id>` for the id of a dispatcher or of a pool, and the values it
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
