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
                    Ok(end) => dispatchers.aliases.push((name.clone(), end.to_owned())),
                    Err(no_end) => {
                        let (alias, of, said_at) = (name.clone(), of.clone(), said_at.clone());
                        return Err(match no_end {
                            NoEnd::Missing => NodeError::AliasOfNone { alias, of, said_at },
                            NoEnd::Cycle(cycle) => NodeError::AliasCycle { alias, cycle, said_at },
                        });
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

/// Why a chain of aliases ends at no dispatcher.
enum NoEnd {
    /// The last name is no dispatcher.
    Missing,
    /// The aliases of a cycle in which the chain goes on for ever.
    Cycle(Vec<String>),
}

/// The dispatcher at the end of a chain of aliases, which is at most as long as there are names.
fn end_of<'a>(all: &'a BTreeMap<String, Named>, name: &'a str) -> Result<&'a str, NoEnd> {
    let mut name = name;
    for _ in 0..=all.len() {
        match all.get(name) {
            None if name == DEFAULT => return Ok(name),
            None => return Err(NoEnd::Missing),
            Some(Named::Own(_)) => return Ok(name),
            Some(Named::Alias { of, .. }) => name = of,
        }
    }
    Err(NoEnd::Cycle(cycle_of(all, name)))
}

/// The cycle of aliases in which this one is, from its first name in alphabetical order.
fn cycle_of(all: &BTreeMap<String, Named>, alias: &str) -> Vec<String> {
    let mut cycle = vec![alias.to_owned()];
    let mut name = alias;
    while let Some(Named::Alias { of, .. }) = all.get(name)
        && of != alias
    {
        cycle.push(of.clone());
        name = of;
    }
    let first = (0..cycle.len()).min_by_key(|place| &cycle[*place]).unwrap_or(0);
    cycle.rotate_left(first);
    cycle
}
