//! Settings by key, from one source or from several merged ones.

use super::application_settings::ApplicationSettings;
use super::error::{Origin, SettingsError, SettingsFault};
use super::keys::{self, SettingKey};
use super::placed::{Placed, not_a_table, path, unknown};
use super::tree::{Given, SettingLine};
use super::value::{self, InvalidValue, Setting, ValueType};
use crate::options::DEFAULT;
use krarup_gen::Name;
use std::collections::BTreeMap;

/// The tables of a source.
pub(super) const ROOT: &[&str] = &["node", "blocking-pool", "dispatcher", "application"];

/// The settings of a table by key.
pub(crate) type Section = BTreeMap<&'static str, Placed<Setting>>;

/// What the id of a dispatcher stands for.
#[derive(Clone, Debug)]
pub(crate) enum DispatcherEntry {
    Own(Section),
    /// Another id.
    Alias(Placed<String>),
}

/// All settings of a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    pub(crate) node: Section,
    /// The threads of each pool of side threads.
    pub(crate) pools: BTreeMap<String, u64>,
    pub(crate) dispatchers: BTreeMap<String, DispatcherEntry>,
    pub(crate) applications: ApplicationSettings,
}

impl Layer {
    /// Makes a layer of these items, if all keys are known.
    pub(crate) fn of(items: Vec<SettingLine>) -> Result<Layer, SettingsError> {
        let mut layer = Layer::default();
        for item in items {
            match item.key.as_str() {
                "node" => layer.node = section(keys::NODE, "node", &item.at, item.given)?,
                "blocking-pool" => layer.pools = pools(&item.at, item.given)?,
                "dispatcher" => layer.dispatchers = dispatchers(&item.at, item.given)?,
                "application" => {
                    layer.applications = ApplicationSettings::of(&item.at, item.given)?;
                }
                _ => return Err(unknown(&item.at, &item.key, ROOT.iter().copied())),
            }
        }
        Ok(layer)
    }

    /// Merges this layer with another: its settings override those of `below`.
    pub(crate) fn over(mut self, below: Layer) -> Layer {
        fill(&mut self.node, below.node);
        for (id, threads) in below.pools {
            self.pools.entry(id).or_insert(threads);
        }
        self.applications = self.applications.over(below.applications);
        for (id, entry) in below.dispatchers {
            match (self.dispatchers.get_mut(&id), entry) {
                (None, entry) => drop(self.dispatchers.insert(id, entry)),
                (Some(DispatcherEntry::Own(above)), DispatcherEntry::Own(section)) => {
                    fill(above, section);
                }
                // An entry that is an alias on one side replaces the other entry as a whole.
                (Some(_), _) => {}
            }
        }
        self
    }
}

fn fill(above: &mut Section, below: Section) {
    for (key, setting) in below {
        above.entry(key).or_insert(setting);
    }
}

fn pools(at: &Origin, given: Given) -> Result<BTreeMap<String, u64>, SettingsError> {
    let Given::Table(items) = given else {
        return Err(not_a_table(at, "blocking-pool", &given));
    };
    let mut pools = BTreeMap::new();
    for SettingLine { key: id, at, given } in items {
        check_id(&id, "the id of a pool", &at)?;
        let path = path("blocking-pool", &id);
        if let Setting::Whole(threads) = one(keys::POOL_THREADS, &path, &at, &given)? {
            pools.insert(id, threads);
        }
    }
    Ok(pools)
}

/// Checks the id of what a table has by ids.
fn check_id(id: &str, what: &str, at: &Origin) -> Result<(), SettingsError> {
    if Name::new(id).is_ok() {
        return Ok(());
    }
    let takes = value::takes(ValueType::Name);
    let (key, value) = (what.to_owned(), format!("{id:?}"));
    Err(at.error(SettingsFault::BadValue { key, value, takes }))
}

fn dispatchers(
    at: &Origin,
    given: Given,
) -> Result<BTreeMap<String, DispatcherEntry>, SettingsError> {
    let Given::Table(items) = given else {
        return Err(not_a_table(at, "dispatcher", &given));
    };
    let mut entries = BTreeMap::new();
    for SettingLine { key: id, at, given } in items {
        check_id(&id, "the id of a dispatcher", &at)?;
        let path = path("dispatcher", &id);
        let entry = match given {
            Given::Text(_) | Given::Variable(_) if id == DEFAULT => {
                return Err(not_a_table(&at, &path, &given));
            }
            Given::Text(_) | Given::Variable(_) => match one(keys::ALIAS, &path, &at, &given)? {
                Setting::Text(value) => DispatcherEntry::Alias(Placed { value, at }),
                _ => return Err(not_a_table(&at, &path, &given)),
            },
            Given::Table(_) => DispatcherEntry::Own(section(keys::DISPATCHER, &path, &at, given)?),
            _ => {
                let takes = format!(
                    "a table, or the id of another dispatcher: {}",
                    value::takes(keys::ALIAS)
                );
                let (key, found) = (path, given.found());
                return Err(at.error(SettingsFault::WrongType { key, found, takes }));
            }
        };
        entries.insert(id, entry);
    }
    Ok(entries)
}

/// Reads the settings of a table.
fn section(
    known: &'static [SettingKey],
    name: &str,
    at: &Origin,
    given: Given,
) -> Result<Section, SettingsError> {
    let Given::Table(items) = given else {
        return Err(not_a_table(at, name, &given));
    };
    let mut section = Section::new();
    for SettingLine { key, at, given } in items {
        let path = path(name, &key);
        let Some(key) = known.iter().find(|known| known.name == key) else {
            return Err(unknown(&at, &path, known.iter().map(|key| key.name)));
        };
        let value = one(key.takes, &path, &at, &given)?;
        section.insert(key.name, Placed { value, at });
    }
    Ok(section)
}

fn one(takes: ValueType, path: &str, at: &Origin, given: &Given) -> Result<Setting, SettingsError> {
    value::read(takes, given).map_err(|misfit| {
        let (key, takes) = (path.to_owned(), value::takes(takes));
        at.error(match misfit {
            InvalidValue::Type => SettingsFault::WrongType { key, found: given.found(), takes },
            InvalidValue::Value => SettingsFault::BadValue { key, value: given.shown(), takes },
        })
    })
}
