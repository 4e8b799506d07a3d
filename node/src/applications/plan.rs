//! What follows from the declarations of applications: a pure module.
//!
//! It orders, checks and decides. Nothing here starts, stops or waits.
//!
//! ```text
//! given:   shop (needs storage, mail), storage, mail (needs storage)
//! order:   storage, mail, shop          each behind what it needs, otherwise as they were given
//! ```
//!
//! | an application in mode | ends normally | ends otherwise | is stopped by request |
//! |---|---|---|---|
//! | `Temporary` | is reported | is reported | is reported |
//! | `Transient` | is reported | stops the node | is reported |
//! | `Permanent` | stops the node | stops the node | is reported |

use crate::applications::error::ApplicationError;
use krarup_gen::{Name, Reason};
use std::collections::BTreeMap;
use std::fmt;

/// What the end of an application means for its node (rule A7).
///
/// | mode | it ends normally | it ends otherwise, also with `Shutdown` | it is stopped by request |
/// |---|---|---|---|
/// | `Temporary` | reported | reported | reported |
/// | `Transient` | reported | the node stops | reported |
/// | `Permanent` | the node stops | the node stops | reported |
///
/// A supervisor that gives up ends with `Shutdown`, which is not normal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Mode {
    /// The end is reported.
    #[default]
    Temporary,
    /// The node stops, unless the end was normal.
    Transient,
    /// The node stops.
    Permanent,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Temporary => "temporary",
            Mode::Transient => "transient",
            Mode::Permanent => "permanent",
        })
    }
}

/// How the top process of an application ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TopEnd<'a> {
    /// By itself, or by anything but a request to stop the application or the node.
    OfItself(&'a Reason),
    /// Because it was asked to.
    Asked,
}

/// Whether the node stops because an application has ended (rule A7).
pub(crate) fn stops_node(mode: Mode, end: TopEnd<'_>) -> bool {
    match (mode, end) {
        (_, TopEnd::Asked) | (Mode::Temporary, _) => false,
        (Mode::Transient, TopEnd::OfItself(reason)) => !reason.is_normal(),
        (Mode::Permanent, TopEnd::OfItself(_)) => true,
    }
}

/// An application as the plan sees it.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) name: Name,
    pub(crate) needs: Vec<Name>,
    /// Whether it ends after all that are no services.
    pub(crate) is_service: bool,
}

/// Checks the declarations of a node: names, needs and cycles (rule A1).
pub(crate) fn check(declared: &[Declared]) -> Result<(), ApplicationError> {
    let mut places = BTreeMap::new();
    for (place, one) in declared.iter().enumerate() {
        if places.insert(&one.name, place).is_some() {
            return Err(ApplicationError::Twice(one.name.clone()));
        }
    }
    for one in declared {
        for needed in &one.needs {
            let (application, needs) = (one.name.clone(), needed.clone());
            match places.get(needed) {
                None => return Err(ApplicationError::NeedsUnknown { application, needs }),
                Some(place) if one.is_service && !declared[*place].is_service => {
                    return Err(ApplicationError::ServiceNeedsNoService { application, needs });
                }
                Some(_) => {}
            }
        }
    }
    sorted(declared, 0..declared.len()).map(drop).map_err(ApplicationError::Cycle)
}

/// The places of these applications and of all that they need, in the order of their start.
/// The declarations have been checked.
pub(crate) fn start_order(declared: &[Declared], wanted: &[Name]) -> Vec<usize> {
    let place = |name: &Name| declared.iter().position(|one| one.name == *name);
    sorted(declared, wanted.iter().filter_map(place)).unwrap_or_default()
}

/// Visits each application after those that it needs, with a list instead of recursion, because
/// a chain of needs may be of any length. Returns a cycle if there is one.
fn sorted(
    declared: &[Declared],
    wanted: impl IntoIterator<Item = usize>,
) -> Result<Vec<usize>, Vec<Name>> {
    let places: BTreeMap<&Name, usize> =
        declared.iter().enumerate().map(|(place, one)| (&one.name, place)).collect();
    let mut order = Vec::new();
    let mut visited = vec![Visit::New; declared.len()];
    for first in wanted {
        // The way from `first` to the current one, with the number of needs that were visited.
        let mut way = vec![(first, 0)];
        while let Some((at, needs)) = way.last_mut() {
            let at = *at;
            if *needs == 0 {
                if visited[at] == Visit::Done {
                    way.pop();
                    continue;
                }
                visited[at] = Visit::OnTheWay;
            }
            let next = declared[at].needs.get(*needs).and_then(|need| places.get(need));
            *needs += 1;
            let Some(&next) = next else {
                visited[at] = Visit::Done;
                order.push(at);
                way.pop();
                continue;
            };
            match visited[next] {
                Visit::Done => {}
                Visit::New => way.push((next, 0)),
                Visit::OnTheWay => {
                    let cycle = way.iter().map(|(place, _)| *place).skip_while(|at| *at != next);
                    let names = cycle.chain([next]).map(|at| declared[at].name.clone());
                    return Err(names.collect());
                }
            }
        }
    }
    Ok(order)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    OnTheWay,
    Done,
}

/// Those among `alive` that need this application, by name. With `all`, also those that need
/// one of these, and so on.
pub(crate) fn dependents(
    declared: &[Declared],
    name: &Name,
    alive: impl Fn(&Name) -> bool,
    all: bool,
) -> Vec<Name> {
    let mut found: Vec<Name> = Vec::new();
    let mut next = vec![name.clone()];
    while let Some(needed) = next.pop() {
        for one in declared.iter().filter(|one| one.needs.contains(&needed)) {
            if !found.contains(&one.name) && alive(&one.name) {
                found.push(one.name.clone());
                if all {
                    next.push(one.name.clone());
                }
            }
        }
    }
    found.sort();
    found
}

#[cfg(all(test, not(loom)))]
mod tests;
