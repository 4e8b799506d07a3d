//! Resolves settings to options. Pure.
//!
//! A dispatcher's settings are looked up in layers, as in Akka:
//!
//! 1. in its own table;
//! 2. in the table that it is `like`, and the one that this is like, and so on;
//! 3. in `[dispatcher.default]`, and the tables that this is like;
//! 4. in the defaults of [`DispatcherOptions`].
//!
//! A setting below its own table is ignored if the dispatcher's kind does not have it; in its
//! own table it is an error.

use super::error::{Origin, SettingsError, SettingsFault};
use super::keys::{
    self, CALLING_THREAD, CLASSES, DEADLINE, DISPATCHER, KIND, LIKE, LONG_TURN, PINNED, SHARED,
    SPARES, STACK_SIZE, THROUGHPUT, WORKERS, listed,
};
use super::layer::{DispatcherEntry, Layer, Section};
use super::placed::{Placed, path};
use super::value::Setting;
use crate::options::{DEFAULT, DispatcherOptions};

/// The options that the settings resolve to.
pub(crate) struct Resolved {
    pub(crate) default: DispatcherOptions,
    pub(crate) dispatchers: Vec<(String, DispatcherOptions)>,
    pub(crate) aliases: Vec<(String, Placed<String>)>,
}

pub(crate) fn resolve(layer: &Layer) -> Result<Resolved, SettingsError> {
    let mut resolved = Resolved {
        default: DispatcherOptions::default(),
        dispatchers: Vec::new(),
        aliases: Vec::new(),
    };
    for (id, entry) in &layer.dispatchers {
        match entry {
            DispatcherEntry::Own(own) if id == DEFAULT => {
                resolved.default = options(layer, id, own)?;
            }
            DispatcherEntry::Own(own) => {
                resolved.dispatchers.push((id.clone(), options(layer, id, own)?));
            }
            DispatcherEntry::Alias(of) => resolved.aliases.push((id.clone(), of.clone())),
        }
    }
    Ok(resolved)
}

/// The tables in which the settings of a dispatcher are looked up.
struct Layers<'a>(Vec<&'a Section>);

fn options(layer: &Layer, id: &str, own: &Section) -> Result<DispatcherOptions, SettingsError> {
    let mut layers = Layers(like(layer, id, own)?);
    if id != DEFAULT
        && let Some(DispatcherEntry::Own(default)) = layer.dispatchers.get(DEFAULT)
    {
        layers.0.extend(like(layer, DEFAULT, default)?);
    }
    let kind = match layers.text(KIND) {
        Some(PINNED) => PINNED,
        Some(CALLING_THREAD) => CALLING_THREAD,
        _ => SHARED,
    };
    for key in DISPATCHER {
        let Some(said) = own.get(key.name).filter(|_| !key.kinds.contains(&kind)) else { continue };
        let (path, kinds) = (path(&path("dispatcher", id), key.name), key.kinds);
        let kinds = listed(kinds.iter().copied());
        return Err(said.at.error(SettingsFault::NotForKind { key: path, kind, kinds }));
    }
    Ok(layers.options(kind))
}

/// The table and those it is like, the nearest first.
fn like<'a>(
    layer: &'a Layer,
    id: &'a str,
    own: &'a Section,
) -> Result<Vec<&'a Section>, SettingsError> {
    let mut way = vec![id];
    let mut sections = vec![own];
    let mut next = named(own, id);
    while let Some(NextTable { key, at, id: to }) = next {
        let circle = way.contains(&to);
        way.push(to);
        if circle {
            let (key, way) = (key.path(), way.join(" -> "));
            return Err(at.error(SettingsFault::Circle { key, way }));
        }
        next = match layer.dispatchers.get(to) {
            Some(DispatcherEntry::Own(section)) => {
                sections.push(section);
                named(section, to)
            }
            // Another name: what is like it is like the dispatcher for which it stands.
            Some(DispatcherEntry::Alias(of)) => Some(NextTable { key, at, id: &of.value }),
            None if to == DEFAULT => None,
            None => {
                let (key, id) = (key.path(), to.to_owned());
                return Err(at.error(SettingsFault::UnknownDispatcher { key, id }));
            }
        };
    }
    Ok(sections)
}

/// The table that another one is `like`.
struct NextTable<'a> {
    key: LikeOf<'a>,
    at: &'a Origin,
    id: &'a str,
}

/// The key `like` in the table of a dispatcher.
struct LikeOf<'a>(&'a str);

impl LikeOf<'_> {
    fn path(&self) -> String {
        path(&path("dispatcher", self.0), LIKE)
    }
}

/// What the table of this id is `like`.
fn named<'a>(section: &'a Section, id: &'a str) -> Option<NextTable<'a>> {
    let Placed { value: Setting::Text(to), at } = section.get(LIKE)? else { return None };
    Some(NextTable { key: LikeOf(id), at, id: to })
}

impl<'a> Layers<'a> {
    fn setting(&self, key: &str) -> Option<&'a Setting> {
        self.0.iter().find_map(|section| section.get(key)).map(|placed| &placed.value)
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        match self.setting(key)? {
            Setting::Text(text) => Some(text),
            _ => None,
        }
    }

    fn size(&self, key: &str) -> Option<usize> {
        match self.setting(key)? {
            Setting::Whole(number) => usize::try_from(*number).ok(),
            _ => None,
        }
    }

    fn options(&self, kind: &'static str) -> DispatcherOptions {
        let mut options = match kind {
            PINNED => DispatcherOptions::pinned(),
            CALLING_THREAD => DispatcherOptions::calling_thread(),
            _ => DispatcherOptions::new(),
        };
        let means = |name| {
            let key = keys::DISPATCHER.iter().find(|key| key.name == name);
            key.is_some_and(|key| key.kinds.contains(&kind))
        };
        let size = |name| self.size(name).filter(|_| means(name));
        if let Some(workers) = size(WORKERS) {
            options = options.workers(workers);
        }
        if let Some(spares) = size(SPARES) {
            options = options.spare_workers(spares);
        }
        if let Some(messages) = size(THROUGHPUT).and_then(|most| u32::try_from(most).ok()) {
            options = options.throughput(messages);
        }
        if let Some(bytes) = size(STACK_SIZE) {
            options = options.stack_size(bytes);
        }
        if let Some(Setting::Switch(false)) = self.setting(CLASSES).filter(|_| means(CLASSES)) {
            options = options.no_classes();
        }
        if let Some(Setting::Time(deadline)) = self.setting(DEADLINE) {
            options = options.throughput_deadline(*deadline);
        }
        match self.setting(LONG_TURN).filter(|_| means(LONG_TURN)) {
            Some(Setting::Time(limit)) => options.long_turn(*limit),
            Some(Setting::Off) => options.no_long_turn(),
            _ => options,
        }
    }
}
