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
use super::settings::{MOST_BYTES, Settings};
use super::tree::{self, Given, SettingLine, beginning};
use std::ffi::OsString;
use std::sync::Arc;

/// Stands between the prefix and the keys.
const SEPARATOR: &str = "__";

/// The most keys of a path. A file may have some more tables within tables.
const MOST_KEYS: usize = 64;

impl Settings {
    /// Lays the environment variables whose names begin with `PREFIX__` over these settings (rule X17).
    ///
    /// The rest of a name is the path of a key, with `__` where a file has a dot:
    /// `SHOP__NODE__STOP_TIMEOUT=30s` is `node.stop-timeout = "30s"`, and
    /// `SHOP__APPLICATION__SHOP__SETTINGS__PORT=8080` the field `port` of the settings of the application `shop`. A name is
    /// taken for the key that there is: case does not count, nor which of `_`, `-` and `.` it has. Ids of dispatchers
    /// and pools, names of applications and keys of maps that these settings do not have are taken in lower case, so this
    /// is called last, after [`Settings::over`]. A value that is a table of TOML, `{from = 8, to = 18}`, sets the keys that
    /// it has; any other is text, and read as a number, a boolean or a list where one is expected.
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
    /// keys, a name or a value is not Unicode, a name has more than 64 keys, or all together have more than 1 MiB. It shows
    /// the beginning of a value that does not fit. What only an application can check is checked when the node is built.
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
        let mut set: Vec<(OsString, OsString)> = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .filter(|(name, _)| name.as_encoded_bytes().starts_with(begin.as_bytes()))
            .collect();
        // Which error is told does not depend on the order of the environment.
        set.sort();
        let mut items = Vec::new();
        let mut bytes = 0;
        for (name, value) in set {
            let said = name.to_string_lossy();
            let at = Origin { variable: Some(Arc::new(said.to_string())), ..Origin::default() };
            bytes += (name.len() + value.len()) as u64;
            if bytes > MOST_BYTES {
                return Err(at.error(SettingsFault::TooLong { limit: MOST_BYTES }));
            }
            let text = |key: &str, text: OsString| {
                text.into_string().map_err(|text| {
                    let value = format!("{:?}", beginning(&text.to_string_lossy()));
                    let (key, takes) = (key.to_owned(), "Unicode text".to_owned());
                    at.error(SettingsFault::BadValue { key, value, takes })
                })
            };
            let value = text(&said[begin.len()..], value)?;
            let name = text("its name", name)?;
            let keys: Vec<&str> = name[begin.len()..].split(SEPARATOR).collect();
            if keys.len() > MOST_KEYS {
                let takes = format!("a path of at most {MOST_KEYS} keys");
                let (key, value) = ("its name".to_owned(), format!("one of {} keys", keys.len()));
                return Err(at.error(SettingsFault::BadValue { key, value, takes }));
            }
            let value = match tree::other_than_text(&value, &at) {
                table @ Given::Table(_) => table,
                _ => Given::Variable(value),
            };
            let of = Variable { at: &at, below: &self.layer };
            of.add(&mut items, &mut Vec::new(), PathLeft::Parts(&keys), value)?;
        }
        Ok(Settings { layer: Layer::of(items)?.over(self.layer) })
    }
}

/// A variable that is added to others.
struct Variable<'a> {
    at: &'a Origin,
    /// The settings whose keys are known.
    below: &'a Layer,
}

/// The rest of the way to the key of a value.
#[derive(Clone, Copy)]
enum PathLeft<'a> {
    /// Parts of the name of a variable.
    Parts(&'a [&'a str]),
    /// A key of a table that is the value of the variable.
    Key(&'a str),
}

impl Variable<'_> {
    /// Adds a value in the table `items`, to which `above` leads.
    fn add(
        &self,
        items: &mut Vec<SettingLine>,
        above: &mut Vec<String>,
        way: PathLeft<'_>,
        value: Given,
    ) -> Result<(), SettingsError> {
        let (key, rest) = match way {
            PathLeft::Parts([part, rest @ ..]) => {
                (self.spelled(part, part.to_lowercase(), above, items)?, rest)
            }
            PathLeft::Parts([]) => return Ok(()),
            PathLeft::Key(key) => (self.spelled(key, key.to_owned(), above, items)?, &[][..]),
        };
        above.push(key.clone());
        let at = Origin { is_implied: !rest.is_empty(), ..self.at.clone() };
        let position = items.iter().position(|item| item.key == key);
        match (position, value) {
            // A table is filled, however it came to be there.
            (Some(position), value) if !rest.is_empty() || matches!(value, Given::Table(_)) => {
                let item = &mut items[position];
                let Given::Table(inner) = &mut item.given else {
                    return Err(not_a_table(&item.at, &joined(above), &item.given));
                };
                self.fill(inner, above, rest, value)?;
            }
            (Some(position), _) => {
                let other = items[position].at.variable.as_deref().cloned().unwrap_or_default();
                return Err(self.at.error(SettingsFault::SetTwice { key: joined(above), other }));
            }
            (None, value) if !rest.is_empty() || matches!(value, Given::Table(_)) => {
                let mut inner = Vec::new();
                self.fill(&mut inner, above, rest, value)?;
                items.push(SettingLine { key, at, given: Given::Table(inner) });
            }
            (None, given) => items.push(SettingLine { key, at, given }),
        }
        above.pop();
        Ok(())
    }

    /// Adds what is left of a path to a table, or what the table at its end has.
    fn fill(
        &self,
        inner: &mut Vec<SettingLine>,
        above: &mut Vec<String>,
        rest: &[&str],
        value: Given,
    ) -> Result<(), SettingsError> {
        match value {
            Given::Table(lines) if rest.is_empty() => lines
                .into_iter()
                .try_for_each(|line| self.add(inner, above, PathLeft::Key(&line.key), line.given)),
            value => self.add(inner, above, PathLeft::Parts(rest), value),
        }
    }

    /// The key that this part of a name stands for, in the table to which `above` leads.
    fn spelled(
        &self,
        part: &str,
        otherwise: String,
        above: &[String],
        items: &[SettingLine],
    ) -> Result<String, SettingsError> {
        let mut known = known(above, self.below);
        known.extend(items.iter().map(|item| item.key.as_str()));
        if let Some(exact) = [part, &otherwise].into_iter().find(|it| known.contains(it)) {
            return Ok(exact.to_owned());
        }
        known.retain(|key| are_alike(key, part));
        known.sort_unstable();
        known.dedup();
        match known[..] {
            [] => Ok(otherwise),
            [only] => Ok(only.to_owned()),
            _ => {
                let meant = listed(known.iter().copied());
                let mut key = above.to_vec();
                key.push(otherwise);
                Err(self.at.error(SettingsFault::Ambiguous { key: joined(&key), meant }))
            }
        }
    }
}

/// The keys that are known in the table to which this path leads.
fn known<'a>(above: &[String], below: &'a Layer) -> Vec<&'a str> {
    let above: Vec<&str> = above.iter().map(String::as_str).collect();
    let of = |keys: &[keys::SettingKey]| keys.iter().map(|key| key.name).collect();
    match above[..] {
        [] => ROOT.to_vec(),
        ["node"] => of(keys::NODE),
        ["blocking-pool"] => below.pools.keys().map(String::as_str).collect(),
        ["dispatcher"] => below.dispatchers.keys().map(String::as_str).collect(),
        ["dispatcher", _] => of(keys::DISPATCHER),
        ["application", ..] => below.applications.known(&above[1..]),
        _ => Vec::new(),
    }
}

/// The path of a key, as in a file.
fn joined(keys: &[String]) -> String {
    keys.iter().skip(1).fold(keys[0].clone(), |above, key| path(&above, key))
}
