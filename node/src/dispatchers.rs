//! The configured dispatchers of a node, by name. Pure.

use crate::error::NodeError;
use crate::options::{DEFAULT, DispatcherOptions};
use krarup_gen::Name;
use std::collections::BTreeMap;

/// What a dispatcher name stands for.
#[derive(Debug)]
pub(crate) enum Named {
    Own(DispatcherOptions),
    Alias { of: String, said_at: Option<String> },
}

/// All dispatchers except the default one, and their other names, checked.
#[derive(Debug)]
pub(crate) struct Dispatchers {
    pub(crate) own: Vec<(String, DispatcherOptions)>,
    /// Each alias, and the dispatcher at the end of its chain.
    pub(crate) aliases: Vec<(String, String)>,
}

impl Dispatchers {
    /// Merges the dispatchers in `above` with those in `below` whose names `above` does not use.
    ///
    /// # Errors
    /// A name is empty or too long, or occurs twice in `above`, options are invalid, or an alias
    /// leads to no dispatcher.
    pub(crate) fn of(
        above: Vec<(String, Named)>,
        below: Vec<(String, Named)>,
    ) -> Result<Dispatchers, NodeError> {
        let mut all = BTreeMap::new();
        for (name, named) in above {
            if name == DEFAULT || all.contains_key(&name) {
                return Err(NodeError::DispatcherTwice(name));
            }
            all.insert(name, named);
        }
        for (name, named) in below {
            all.entry(name).or_insert(named);
        }
        let mut dispatchers = Dispatchers { own: Vec::new(), aliases: Vec::new() };
        for (name, named) in &all {
            check_name(name)?;
            match named {
                Named::Own(options) => {
                    options.check(name)?;
                    dispatchers.own.push((name.clone(), options.clone()));
                }
                Named::Alias { of, said_at } => match end_of(&all, of) {
                    Some(end) => dispatchers.aliases.push((name.clone(), end.to_owned())),
                    None => {
                        let (alias, of, said_at) = (name.clone(), of.clone(), said_at.clone());
                        return Err(NodeError::AliasOfNone { alias, of, said_at });
                    }
                },
            }
        }
        Ok(dispatchers)
    }
}

/// Checks the name of a dispatcher, or an alias of one.
pub(crate) fn check_name(name: &str) -> Result<(), NodeError> {
    let refused = |error| NodeError::DispatcherName { dispatcher: name.to_owned(), error };
    Name::new(name).map(drop).map_err(refused)
}

/// The dispatcher at the end of a chain of aliases, which is at most as long as there are names.
fn end_of<'a>(all: &'a BTreeMap<String, Named>, name: &'a str) -> Option<&'a str> {
    let mut name = name;
    for _ in 0..=all.len() {
        match all.get(name) {
            None if name == DEFAULT => return Some(name),
            None => return None,
            Some(Named::Own(_)) => return Some(name),
            Some(Named::Alias { of, .. }) => name = of,
        }
    }
    None
}
