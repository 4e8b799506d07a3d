//! The settings of applications, by the names of these (rule A11). Each is a table that only its
//! application can read.

use super::error::{Origin, SettingsError, SettingsFault};
use super::keys::listed;
use super::placed::{Placed, not_a_table, path, unknown};
use super::tree::{Given, SettingLine};
use super::typed;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt;

/// The key of the settings in the table of an application.
const SETTINGS: &str = "settings";

/// The tables of all applications.
#[derive(Clone, Default)]
pub(crate) struct ApplicationSettings {
    tables: BTreeMap<String, Placed<Given>>,
}

/// Only the names: values may be secret.
impl fmt::Debug for ApplicationSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.tables.keys()).finish()
    }
}

impl ApplicationSettings {
    /// Reads the table `[application]`.
    pub(crate) fn of(at: &Origin, given: Given) -> Result<Self, SettingsError> {
        let Given::Table(items) = given else {
            return Err(not_a_table(at, "application", &given));
        };
        let mut tables = BTreeMap::new();
        for SettingLine { key: name, at, given } in items {
            let above = path("application", &name);
            let Given::Table(items) = given else { return Err(not_a_table(&at, &above, &given)) };
            // One without settings names its application, too.
            tables.insert(name.clone(), Placed { value: Given::Table(Vec::new()), at });
            for SettingLine { key, at, given } in items {
                let key_path = path(&above, &key);
                if key != SETTINGS {
                    return Err(unknown(&at, &key_path, [SETTINGS]));
                }
                if !matches!(given, Given::Table(_)) {
                    return Err(not_a_table(&at, &key_path, &given));
                }
                tables.insert(name.clone(), Placed { value: given, at });
            }
        }
        Ok(ApplicationSettings { tables })
    }

    /// Lays these over others, key by key, also in tables within tables.
    pub(crate) fn over(mut self, below: ApplicationSettings) -> Self {
        for (name, table) in below.tables {
            match self.tables.get_mut(&name) {
                Some(above) => fill((&mut above.value, &mut above.at), (table.value, table.at)),
                None => drop(self.tables.insert(name, table)),
            }
        }
        self
    }

    /// The keys of the table to which this path leads from `application`.
    pub(super) fn known(&self, path: &[&str]) -> Vec<&str> {
        match path {
            [] => self.tables.keys().map(String::as_str).collect(),
            [_] => vec![SETTINGS],
            [name, _, path @ ..] => {
                let table = self.tables.get(*name).map(|table| &table.value);
                let given = path.iter().fold(table, |above, key| below(above?, key));
                let Some(Given::Table(items)) = given else { return Vec::new() };
                items.iter().map(|item| item.key.as_str()).collect()
            }
        }
    }

    /// Checks that each table has its application among these.
    pub(crate) fn check_names(&self, known: &[&str]) -> Result<(), SettingsError> {
        match self.tables.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some((name, table)) => Err(table.at.error(SettingsFault::UnknownApplication {
                key: path(&path("application", name), SETTINGS),
                known: if known.is_empty() {
                    "none".to_owned()
                } else {
                    listed(known.iter().copied())
                },
            })),
        }
    }
}

/// Reads the settings of an application as a value of its type. Without a table all keys are
/// missing.
pub(crate) fn read_settings<T: DeserializeOwned>(
    all: &ApplicationSettings,
    name: &str,
) -> Result<T, SettingsError> {
    let key = path(&path("application", name), SETTINGS);
    match all.tables.get(name) {
        Some(table) => typed::read(&table.value, &table.at, &key),
        None => typed::read(&Given::Table(Vec::new()), &Origin::default(), &key),
    }
}

/// What this key of a table is set to.
fn below<'a>(given: &'a Given, key: &str) -> Option<&'a Given> {
    let Given::Table(items) = given else { return None };
    items.iter().find(|item| item.key == key).map(|item| &item.given)
}

/// Adds what the table above does not have. A table that stands in a file is there, and not at a variable for one of its
/// keys.
fn fill((above, at): (&mut Given, &mut Origin), (below, place): (Given, Origin)) {
    let (Given::Table(above), Given::Table(below)) = (above, below) else { return };
    if at.is_implied {
        *at = place;
    }
    for item in below {
        match above.iter_mut().find(|it| it.key == item.key) {
            Some(it) => fill((&mut it.given, &mut it.at), (item.given, item.at)),
            None => above.push(item),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::Settings;

    #[test]
    fn a11_settings_of_an_application_that_nobody_has_say_which_there_are() {
        let nobody = "application.web.settings belongs to no application with settings";
        // Also those that say nothing.
        for text in [
            "[application.web.settings]\nport = 1",
            "[application.web.settings]",
            "[application.web]",
        ] {
            let settings = Settings::from_toml(text).unwrap();
            let check = |known: &[&str]| settings.layer.applications.check_names(known);
            let said = |known| check(known).unwrap_err().to_string();
            assert_eq!(said(&[]), format!("line 1: {nobody} (known applications: none)"));
            assert_eq!(said(&["a", "b"]), format!("line 1: {nobody} (known applications: a, b)"));
            assert!(check(&["web"]).is_ok());
        }
    }
}
