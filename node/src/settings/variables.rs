//! Settings from environment variables, over those of a file.
//!
//! ```text
//! SHOP__DISPATCHER__REPORTS__WORKERS=4          dispatcher.reports.workers = 4
//! SHOP__APPLICATION__SHOP__SETTINGS__PORT=8080  application.shop.settings.port = 8080
//! └prefix  └ the keys of the path, each spelled as the one that is known there
//! ```
//!
//! Variables are written in capitals and cannot have a hyphen or a dot, so a name is taken for the key that is like it. The
//! known keys are those of the node, the ids and names of the settings below, and, when an application reads its settings,
//! the fields of its type (`typed`). The form is that of the crates `config` and `figment`.

use super::error::{Origin, SettingsError, SettingsFault};
use super::keys::{self, listed};
use super::layer::{Layer, ROOT};
use super::placed::{are_alike, not_a_table, path};
use super::settings::Settings;
use super::tree::{Given, SettingLine};
use std::ffi::OsString;

/// Stands between the prefix and the keys.
const SEPARATOR: &str = "__";

/// The most keys of a path. A file may have some more tables within tables.
const MOST_KEYS: usize = 64;

impl Settings {
    /// Lays the environment variables whose names begin with `PREFIX__` over these settings (rule X17).
    ///
    /// The rest of a name is the path of a key, with `__` where a file has a dot:
    /// `SHOP__NODE__STOP_TIMEOUT=30s` is `node.stop-timeout = "30s"`, and
    /// `SHOP__APPLICATION__SHOP__SETTINGS__PORT=8080` the field `port` of the settings of the application `shop`. Case
    /// does not count, nor whether a name has `_`, `-` or `.`: it is taken for the key that there is. Ids of dispatchers
    /// and pools, names of applications and keys of maps that these settings do not have are taken in lower case. A value
    /// is text, and read as a number, a boolean, a list or a table, in TOML, where one is expected.
    ///
    /// ```no_run
    /// # use krarup_node::{NodeBuilder, Settings};
    /// # fn main() -> krarup_gen::Result {
    /// let settings = Settings::read("/etc/shop/node.toml")?.with_env("SHOP")?;
    /// let node = NodeBuilder::from_settings(&settings)?.start()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`SettingsError`] that names the variable: as for a file, and if two variables set one key, a name fits several
    /// keys, or a value is not Unicode. What only an application can check is checked when the node is built.
    pub fn with_env(self, prefix: &str) -> Result<Settings, SettingsError> {
        self.with_variables(prefix, std::env::vars_os())
    }

    /// Lays variables over these settings, as [`Settings::with_env`] does with those of the environment.
    ///
    /// ```
    /// # use krarup_node::Settings;
    /// let file = Settings::from_toml("[dispatcher.Reports]\nworkers = 2").unwrap();
    /// let settings = file.with_variables("SHOP", [("SHOP__DISPATCHER__REPORTS__WORKERS", "none")]);
    /// assert_eq!(
    ///     settings.unwrap_err().to_string(),
    ///     "the variable SHOP__DISPATCHER__REPORTS__WORKERS: dispatcher.Reports.workers cannot be the text \"none\" \
    ///      (expected a whole number, 1 to 1024)",
    /// );
    /// ```
    ///
    /// # Errors
    /// As [`Settings::with_env`].
    pub fn with_variables<N, V>(
        self,
        prefix: &str,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Settings, SettingsError>
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        let begin = format!("{prefix}{SEPARATOR}");
        let mut set: Vec<(String, OsString)> = variables
            .into_iter()
            // A name that is not Unicode begins with no prefix.
            .filter_map(|(name, value)| Some((name.into().into_string().ok()?, value.into())))
            .filter(|(name, _)| name.starts_with(&begin))
            .collect();
        // Which error is told does not depend on the order of the environment.
        set.sort();
        let mut items = Vec::new();
        for (name, value) in set {
            let at = Origin { variable: Some(name.as_str().into()), ..Origin::default() };
            let value = value.into_string().map_err(|value| {
                let key = name[begin.len()..].to_owned();
                let value = format!("{:?}", value.to_string_lossy());
                at.error(SettingsFault::BadValue { key, value, takes: "Unicode text".to_owned() })
            })?;
            let keys: Vec<&str> = name[begin.len()..].split(SEPARATOR).collect();
            if keys.len() > MOST_KEYS {
                let takes = format!("a path of at most {MOST_KEYS} keys");
                let (key, value) = ("its name".to_owned(), format!("one of {} keys", keys.len()));
                return Err(at.error(SettingsFault::BadValue { key, value, takes }));
            }
            add(&mut items, Vec::new(), &keys, (&at, value), &self.layer)?;
        }
        Ok(Settings { layer: Layer::of(items)?.over(self.layer) })
    }
}

/// Adds a value at the path of these keys, the first of which belong to the table `items`; `above` leads to that.
fn add(
    items: &mut Vec<SettingLine>,
    mut above: Vec<String>,
    keys: &[&str],
    (at, value): (&Origin, String),
    below: &Layer,
) -> Result<(), SettingsError> {
    let Some((key, rest)) = keys.split_first() else { return Ok(()) };
    let own = items.iter().map(|item| item.key.clone());
    let known: Vec<String> = known(&above, below).into_iter().chain(own).collect();
    let key = spelled(key, &known, &above, at)?;
    let position = items.iter().position(|item| item.key == key);
    above.push(key);
    match (position, rest) {
        (Some(position), []) => {
            let other = items[position].at.variable.as_deref().unwrap_or_default().to_owned();
            Err(at.error(SettingsFault::SetTwice { key: joined(&above), other }))
        }
        (None, []) => {
            let key = above.pop().unwrap_or_default();
            items.push(SettingLine { key, at: at.clone(), given: Given::Variable(value) });
            Ok(())
        }
        (Some(position), _) => {
            let item = &mut items[position];
            let Given::Table(inner) = &mut item.given else {
                return Err(not_a_table(&item.at, &joined(&above), &item.given));
            };
            add(inner, above, rest, (at, value), below)
        }
        (None, _) => {
            let key = above.last().cloned().unwrap_or_default();
            let mut inner = Vec::new();
            add(&mut inner, above, rest, (at, value), below)?;
            items.push(SettingLine { key, at: at.clone(), given: Given::Table(inner) });
            Ok(())
        }
    }
}

/// The key that this part of a name stands for.
fn spelled(
    part: &str,
    known: &[String],
    above: &[String],
    at: &Origin,
) -> Result<String, SettingsError> {
    let lower = part.to_lowercase();
    if let Some(exact) =
        [part, lower.as_str()].into_iter().find(|it| known.iter().any(|key| key == it))
    {
        return Ok(exact.to_owned());
    }
    let mut alike: Vec<&str> =
        known.iter().map(String::as_str).filter(|key| are_alike(key, part)).collect();
    alike.sort_unstable();
    alike.dedup();
    match alike[..] {
        [] => Ok(lower),
        [only] => Ok(only.to_owned()),
        _ => {
            let meant = listed(alike.iter().copied());
            let mut key = above.to_vec();
            key.push(lower);
            Err(at.error(SettingsFault::Ambiguous { key: joined(&key), meant }))
        }
    }
}

/// The keys that are known in the table to which this path leads.
fn known(above: &[String], below: &Layer) -> Vec<String> {
    let above: Vec<&str> = above.iter().map(String::as_str).collect();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let of = |keys: &[keys::SettingKey]| keys.iter().map(|key| key.name.to_owned()).collect();
    match above[..] {
        [] => words(ROOT),
        ["node"] => of(keys::NODE),
        ["blocking-pool"] => below.pools.keys().cloned().collect(),
        ["dispatcher"] => below.dispatchers.keys().cloned().collect(),
        ["dispatcher", _] => of(keys::DISPATCHER),
        ["application", ..] => below.applications.known(&above[1..]),
        _ => Vec::new(),
    }
}

/// The path of a key, as in a file.
fn joined(keys: &[String]) -> String {
    keys.iter().skip(1).fold(keys[0].clone(), |above, key| path(&above, key))
}
