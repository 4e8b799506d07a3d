//! Builds a node from settings.

use super::error::SettingsError;
use super::keys;
use super::resolve::{Resolved, resolve};
use super::settings::Settings;
use super::value::Setting;
use crate::builder::NodeBuilder;
use std::path::Path;

impl NodeBuilder {
    /// Makes a builder from a TOML file (feature `settings`). Later calls override the file: [`NodeBuilder::name`],
    /// [`NodeBuilder::workers`], [`NodeBuilder::blocking_threads`] and
    /// [`NodeBuilder::stop_timeout`] only their own setting, [`NodeBuilder::options`] all
    /// settings of the default dispatcher, and [`NodeBuilder::dispatcher`] all settings of
    /// another one.
    ///
    /// ```no_run
    /// # use krarup_node::{DispatcherOptions, NodeBuilder};
    /// # fn main() -> krarup_gen::Result {
    /// let node = NodeBuilder::settings_from("/etc/shop/node.toml")?
    ///     .dispatcher("drivers", DispatcherOptions::pinned())
    ///     .start()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`SettingsError`], which gives file, line and key. No thread has been started.
    pub fn settings_from(path: impl AsRef<Path>) -> Result<NodeBuilder, SettingsError> {
        Self::from_settings(&Settings::read(path)?)
    }

    /// Makes a builder from TOML text, as [`NodeBuilder::settings_from`] does from a file (feature
    /// `settings`).
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn from_toml(text: &str) -> Result<NodeBuilder, SettingsError> {
        Self::from_settings(&Settings::from_toml(text)?)
    }

    /// Makes a builder from settings that have been read, and perhaps merged with others (feature
    /// `settings`).
    ///
    /// # Errors
    /// [`SettingsError`]: each source is valid alone, but their combination is not.
    pub fn from_settings(settings: &Settings) -> Result<NodeBuilder, SettingsError> {
        let Resolved { default, dispatchers, aliases } = resolve(&settings.layer)?;
        let mut builder = NodeBuilder::unnamed().options(default);
        let node = &settings.layer.node;
        if let Some(Setting::Text(name)) = node.get(keys::NAME).map(|said| &said.value) {
            builder = builder.name(name);
        }
        if let Some(Setting::Whole(threads)) = node.get(keys::BLOCKING).map(|said| &said.value) {
            builder = builder.blocking_threads(usize::try_from(*threads).unwrap_or(usize::MAX));
        }
        if let Some(Setting::Time(time)) = node.get(keys::STOP_TIMEOUT).map(|said| &said.value) {
            builder = builder.stop_timeout(*time);
        }
        builder = builder.application_settings(settings.layer.applications.clone());
        for (id, options) in dispatchers {
            builder = builder.dispatcher(id, options);
        }
        for (id, of) in aliases {
            builder = builder.dispatcher_alias_at(id, of.value, Some(of.at.to_string()));
        }
        Ok(builder.lay_below())
    }
}
