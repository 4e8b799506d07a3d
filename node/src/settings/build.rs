//! A node that is built from settings.

use super::error::SettingsError;
use super::keys;
use super::resolve::{Resolved, resolve};
use super::settings::Settings;
use super::value::Setting;
use crate::builder::NodeBuilder;
use std::path::Path;

impl NodeBuilder {
    /// A node as a TOML file says. What code says on top of it counts: [`NodeBuilder::name`],
    /// [`NodeBuilder::workers`], [`NodeBuilder::blocking_threads`] and
    /// [`NodeBuilder::stop_timeout`] for that alone,
    /// [`NodeBuilder::options`] for all of the default dispatcher and
    /// [`NodeBuilder::dispatcher`] for all of another.
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
    /// [`SettingsError`], which names file, line and key; no thread has been started.
    pub fn settings_from(path: impl AsRef<Path>) -> Result<NodeBuilder, SettingsError> {
        Self::from_settings(&Settings::read(path)?)
    }

    /// As [`NodeBuilder::settings_from`], of a text.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn from_toml(text: &str) -> Result<NodeBuilder, SettingsError> {
        Self::from_settings(&Settings::from_toml(text)?)
    }

    /// As [`NodeBuilder::settings_from`], of settings that have been read, and perhaps laid
    /// over others.
    ///
    /// # Errors
    /// [`SettingsError`]: what each says alone is right, but not what they come to.
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
        for (id, options) in dispatchers {
            builder = builder.dispatcher(id, options);
        }
        for (id, of) in aliases {
            builder = builder.dispatcher_alias_at(id, of.value, Some(of.at.to_string()));
        }
        Ok(builder.lay_below())
    }
}
