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
    /// [`NodeBuilder::workers`], [`NodeBuilder::blocking_threads`], [`NodeBuilder::stop_timeout`] and
    /// [`NodeBuilder::mailbox_alarm`] only their own setting, [`NodeBuilder::blocking_pool`] that of one
    /// pool, [`NodeBuilder::options`] all settings of the default dispatcher, and
    /// [`NodeBuilder::dispatcher`] all settings of another one. [`NodeBuilder::spans`] turns on what
    /// the file has turned off.
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
            builder = builder.blocking_threads(as_usize(*threads));
        }
        if let Some(Setting::Time(time)) = node.get(keys::STOP_TIMEOUT).map(|said| &said.value) {
            builder = builder.stop_timeout(*time);
        }
        builder = match node.get(keys::MAILBOX_ALARM).map(|said| &said.value) {
            Some(Setting::Whole(messages)) => builder.mailbox_alarm(as_usize(*messages)),
            Some(Setting::Off) => builder.mailbox_alarm(None),
            _ => builder,
        };
        if let Some(Setting::Switch(true)) = node.get(keys::SPANS).map(|said| &said.value) {
            builder = builder.spans();
        }
        for (id, threads) in &settings.layer.pools {
            builder = builder.blocking_pool(id, as_usize(*threads));
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

/// A number that was read, within the bounds of its key.
fn as_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
