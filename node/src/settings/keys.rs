//! All keys, each defined once: for reading, for error messages, and for the reference page
//! (`docs/settings.md`), which a test compares with this list.

use super::value::{self, ValueType};
use crate::mailbox_alarm;
use crate::options::{MOST_WORKERS, STACK_SIZES};
use crate::side_threads::pools::MOST_BLOCKING_THREADS;

/// The kinds of dispatchers, as they are written in a file.
pub(crate) const SHARED: &str = "shared";
pub(crate) const PINNED: &str = "pinned";
pub(crate) const CALLING_THREAD: &str = "calling-thread";

const ALL: &[&str] = &[SHARED, PINNED, CALLING_THREAD];
const WITH_THREADS: &[&str] = &[SHARED, PINNED];
const WITH_WORKERS: &[&str] = &[SHARED];

/// A setting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SettingKey {
    pub(crate) name: &'static str,
    pub(crate) takes: ValueType,
    /// The kinds of dispatchers that have this setting.
    pub(crate) kinds: &'static [&'static str],
}

pub(crate) const NAME: &str = "name";
pub(crate) const BLOCKING: &str = "blocking-threads";
pub(crate) const STOP_TIMEOUT: &str = "stop-timeout";
pub(crate) const MAILBOX_ALARM: &str = "mailbox-alarm";
pub(crate) const SPANS: &str = "spans";
pub(crate) const KIND: &str = "kind";
pub(crate) const LIKE: &str = "like";
pub(crate) const WORKERS: &str = "workers";
pub(crate) const SPARES: &str = "spare-workers";
pub(crate) const THROUGHPUT: &str = "throughput";
pub(crate) const DEADLINE: &str = "throughput-deadline";
pub(crate) const LONG_TURN: &str = "long-turn";
pub(crate) const STACK_SIZE: &str = "stack-size";
pub(crate) const CLASSES: &str = "classes";

/// The keys in `[node]`.
pub(crate) const NODE: &[SettingKey] = &[
    SettingKey { name: NAME, takes: ValueType::Name, kinds: ALL },
    SettingKey { name: BLOCKING, takes: whole(1, MOST_BLOCKING_THREADS), kinds: ALL },
    SettingKey { name: STOP_TIMEOUT, takes: ValueType::Wait, kinds: ALL },
    SettingKey {
        name: MAILBOX_ALARM,
        takes: ValueType::WholeOrOff { least: mailbox_alarm::FIRST as u64, most: u32::MAX as u64 },
        kinds: ALL,
    },
    SettingKey { name: SPANS, takes: ValueType::Switch, kinds: ALL },
];

/// The keys in `[dispatcher.<id>]`.
pub(crate) const DISPATCHER: &[SettingKey] = &[
    SettingKey { name: KIND, takes: ValueType::Word(ALL), kinds: ALL },
    SettingKey { name: LIKE, takes: ValueType::Name, kinds: ALL },
    SettingKey { name: WORKERS, takes: whole(1, MOST_WORKERS), kinds: WITH_WORKERS },
    SettingKey { name: SPARES, takes: whole(0, MOST_WORKERS), kinds: WITH_WORKERS },
    SettingKey {
        name: THROUGHPUT,
        takes: ValueType::Whole { least: 1, most: u32::MAX as u64 },
        kinds: ALL,
    },
    SettingKey { name: DEADLINE, takes: ValueType::Time, kinds: ALL },
    SettingKey { name: LONG_TURN, takes: ValueType::Time, kinds: WITH_THREADS },
    SettingKey {
        name: STACK_SIZE,
        takes: ValueType::Size {
            least: *STACK_SIZES.start() as u64,
            most: *STACK_SIZES.end() as u64,
        },
        kinds: WITH_THREADS,
    },
    SettingKey { name: CLASSES, takes: ValueType::Switch, kinds: WITH_WORKERS },
];

const fn whole(least: u64, most: usize) -> ValueType {
    ValueType::Whole { least, most: most as u64 }
}

/// What the id of a pool of side threads is set to.
pub(crate) const POOL_THREADS: ValueType = whole(1, MOST_BLOCKING_THREADS);

/// What the id of a dispatcher may be set to instead of a table.
pub(crate) const ALIAS: ValueType = ValueType::Name;

/// The path of every key, and the values it takes.
pub(crate) fn all() -> impl Iterator<Item = (String, String)> {
    let node = NODE.iter().map(|key| (format!("node.{}", key.name), value::takes(key.takes)));
    let pool = [("blocking-pool.<id>".to_owned(), value::takes(POOL_THREADS))];
    let alias = [("dispatcher.<id>".to_owned(), value::takes(ALIAS))];
    let dispatcher = DISPATCHER
        .iter()
        .map(|key| (format!("dispatcher.<id>.{}", key.name), value::takes(key.takes)));
    node.chain(pool).chain(alias).chain(dispatcher)
}

/// A list of words for an error message.
pub(crate) fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().collect::<Vec<_>>().join(", ")
}
