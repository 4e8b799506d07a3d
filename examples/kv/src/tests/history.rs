//! What a bucket must hold, by the answers that its clients have had.
//!
//! Each `PUT` has a key of its own, so a key has one value until it is deleted. A test looks up the
//! process of the bucket before it sends a command and after it has the answer. If both are the same
//! process, registered by the same owner, then that process has handled the command, and it is known
//! what the key has in it, for as long as it lives.

use crate::registry::OWNER;
use crate::tests::world::World;
use krarup::prelude::*;
use std::collections::BTreeMap;

/// The owner of the registry and the bucket of a name, at one moment.
pub(crate) type Home = Option<[Pid; 2]>;

/// Returns the processes that have this name now.
pub(crate) fn home(world: &dyn World, name: &str) -> Home {
    let owner = world.node().whereis(OWNER)?;
    Some([owner, world.bucket(name)?.pid()])
}

/// A command that a client sends.
#[derive(Clone, Debug)]
pub(crate) enum Sent {
    Create,
    Put {
        key: String,
    },
    /// A key of which this was known.
    Get {
        key: String,
        known: Option<Known>,
    },
    Delete {
        key: String,
    },
}

/// What is known of a key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Known {
    home: [Pid; 2],
    value: Option<String>,
}

/// What is known, and what was found.
#[derive(Default)]
pub(crate) struct History {
    known: BTreeMap<(&'static str, String), Known>,
    keys: usize,
    /// How many values were read back from a bucket that had not ended.
    pub(crate) read_back: usize,
    /// How many keys were lost with their bucket.
    pub(crate) gone: usize,
}

impl History {
    /// Returns a key that was never used, and is its own value.
    pub(crate) fn new_key(&mut self) -> String {
        self.keys += 1;
        format!("k{}", self.keys)
    }

    /// Returns the keys of which something is known.
    pub(crate) fn keys(&self) -> Vec<(&'static str, String)> {
        self.known.keys().cloned().collect()
    }

    /// Returns what is known of a key.
    pub(crate) fn known(&self, name: &'static str, key: &str) -> Option<Known> {
        self.known.get(&(name, key.to_owned())).cloned()
    }

    /// Forgets a key that is about to change.
    pub(crate) fn forget(&mut self, name: &'static str, key: &str) {
        self.known.remove(&(name, key.to_owned()));
    }

    /// Checks an answer. `before` and `after` are the processes of the bucket before the command was
    /// sent and when the answer was there. Without lines the connection has ended.
    pub(crate) fn answered(
        &mut self,
        name: &'static str,
        sent: &Sent,
        lines: &[String],
        [before, after]: [Home; 2],
    ) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        // The process that has handled it, if there was only one.
        let home = before.filter(|_| before == after);
        match (sent, &lines[..]) {
            // The client does not know what was done.
            (_, []) | (Sent::Get { .. }, [_]) if lines != ["NOT FOUND"] => {}
            (Sent::Create, ["OK"]) => {}
            (Sent::Create, ["FULL"]) => {
                assert_eq!(home, None, "{name} is there, and needs no room");
            }
            (Sent::Create, _) => panic!("CREATE {name}: {lines:?}"),
            (_, ["NOT FOUND"]) => assert_eq!(home, None, "{name} is there: {sent:?}"),
            (Sent::Put { key }, ["OK"]) => self.learn(name, key, home, Some(key.clone())),
            (Sent::Delete { key }, ["OK"]) => self.learn(name, key, home, None),
            (Sent::Get { key, known }, [value, "OK"]) => {
                let value = Some(*value).filter(|value| !value.is_empty());
                self.read(name, key, known.as_ref(), value, home);
            }
            _ => panic!("{sent:?} in {name}: {lines:?}"),
        }
    }

    fn learn(&mut self, name: &'static str, key: &str, home: Home, value: Option<String>) {
        if let Some(home) = home {
            self.known.insert((name, key.to_owned()), Known { home, value });
        }
    }

    fn read(
        &mut self,
        name: &'static str,
        key: &str,
        known: Option<&Known>,
        value: Option<&str>,
        home: Home,
    ) {
        // No key ever had another value.
        assert!(value.is_none_or(|value| value == key), "GET {name} {key}: {value:?}");
        // It may have been deleted meanwhile.
        let Some(known) = known.filter(|known| self.known(name, key).as_ref() == Some(known))
        else {
            return;
        };
        if home == Some(known.home) {
            assert_eq!(value, known.value.as_deref(), "GET {name} {key}");
            self.read_back += 1;
        } else if home.is_some() {
            self.forget(name, key);
            self.gone += 1;
        }
    }
}
