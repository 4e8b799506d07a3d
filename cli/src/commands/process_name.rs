//! A process as it is named on the command line: its number, its pid, or its registered name, which is
//! `name:42` if it looks like a number or a pid. The API knows numbers alone, so a name is looked up
//! in its list of processes.

use crate::client::{ApiClient, ApiFailure};
use crate::target::encoded;
use crate::top::columns::text;
use serde_json::Value;
use std::fmt;
use std::thread::sleep;
use std::time::Duration;
use thiserror::Error;

/// Before a name that would be taken for a number or a pid.
const NAME: &str = "name:";
/// The most bytes that the list of processes searches for.
const SEARCHED: usize = 64;
/// A list of processes is of a picture that is at most 250 ms old.
const PICTURE: Duration = Duration::from_millis(300);
/// The most processes of an answer.
const PAGE: usize = 500;

/// A process as it is named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProcessName {
    /// The number 42 of the pid `<0.42.0>`.
    Id(u64),
    /// As it is written. With `name:` before it, it is that name, or what follows; a process that has the
    /// whole as its name comes first.
    Name(String),
}

/// A process that a command is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundProcess {
    pub(crate) id: u64,
    /// The name by which it was found.
    name: Option<String>,
}

/// Why a name leads to no process.
#[derive(Debug, Error)]
pub(crate) enum ProcessNameError {
    #[error("{0}")]
    Api(#[from] ApiFailure),
    #[error("{0:?} is a process of another node: ask the observer of that node")]
    OtherNode(String),
    #[error("no process has the name {0:?}; krarup ps URL --q TEXT searches for a part of it")]
    Unknown(String),
    #[error("{count} processes have the name {name:?}: {pids}; name one by its pid")]
    Ambiguous { name: String, count: usize, pids: String },
}

impl ProcessName {
    /// Reads `42`, `<0.42.0>`, `0.42.0` (a shell takes `<` for itself) or a name.
    pub(crate) fn read(text: &str) -> Self {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let bare = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).unwrap_or(text);
        let id = match bare.split('.').collect::<Vec<_>>()[..] {
            ["0", id, "0"] => Some(id),
            [id] if bare.len() == text.len() => Some(id),
            _ => None,
        };
        let id = id.filter(|id| digits(id)).and_then(|id| id.parse().ok());
        id.map_or_else(|| ProcessName::Name(text.to_owned()), ProcessName::Id)
    }

    /// The process that has this name now.
    pub(crate) fn find(&self, client: &ApiClient) -> Result<FoundProcess, ProcessNameError> {
        let written = match self {
            ProcessName::Id(id) => return Ok(FoundProcess { id: *id, name: None }),
            ProcessName::Name(name) if is_pid(name) => {
                return Err(ProcessNameError::OtherNode(name.clone()));
            }
            ProcessName::Name(name) => name,
        };
        let (mut name, mut found) = called(client, written)?;
        if found.is_empty() {
            // A name that was taken just now.
            sleep(PICTURE);
            (name, found) = called(client, written)?;
        }
        let name = name.to_owned();
        match &found[..] {
            [] => Err(ProcessNameError::Unknown(name)),
            [(id, _)] => Ok(FoundProcess { id: *id, name: Some(name) }),
            all => {
                let pids: Vec<&str> = all.iter().map(|(_, pid)| pid.as_str()).collect();
                let (count, pids) = (all.len(), pids.join(" "));
                Err(ProcessNameError::Ambiguous { name, count, pids })
            }
        }
    }
}

/// Of processes.
type NumbersAndPids = Vec<(u64, String)>;

/// What a process is called that is named so, and the number and the pid of each that is.
fn called<'a>(
    client: &ApiClient,
    written: &'a str,
) -> Result<(&'a str, NumbersAndPids), ApiFailure> {
    let found = named(client, written)?;
    match written.strip_prefix(NAME).filter(|name| !name.is_empty()) {
        Some(name) if found.is_empty() => Ok((name, named(client, name)?)),
        _ => Ok((written, found)),
    }
}

/// The number and the pid of each process with this name.
fn named(client: &ApiClient, name: &str) -> Result<NumbersAndPids, ApiFailure> {
    let mut found = Vec::new();
    let mut offset = 0;
    loop {
        let part = encoded(beginning(name));
        let route = format!("/api/v1/processes?limit={PAGE}&offset={offset}&q={part}");
        let body = client.json(&route)?;
        let rows = body["processes"].as_array().ok_or_else(|| client.no_observer(200))?;
        let named = rows.iter().filter(|row| row["name"] == *name);
        found.extend(named.filter_map(|row| Some((row["id"].as_u64()?, text(&row["pid"])))));
        offset += PAGE;
        if rows.len() < PAGE {
            // A process may stand on two pages, if others ended in between.
            found.dedup();
            return Ok(found);
        }
    }
}

/// As much of a name as is searched for.
fn beginning(name: &str) -> &str {
    let end = (0..=name.len().min(SEARCHED)).rev().find(|end| name.is_char_boundary(*end));
    &name[..end.unwrap_or(0)]
}

/// Three numbers with dots, between brackets: a pid that is not of this node.
fn is_pid(text: &str) -> bool {
    let bare = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
    let parts = bare.map(|bare| bare.split('.').map(str::parse::<u64>).collect::<Vec<_>>());
    parts.is_some_and(|parts| parts.len() == 3 && parts.iter().all(Result::is_ok))
}

impl fmt::Display for FoundProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<0.{}.0>", self.id)?;
        self.name.as_ref().map_or(Ok(()), |name| write!(f, " ({})", text(&Value::from(&**name))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v84_a_process_is_named_by_a_number_a_pid_or_a_name() {
        for (given, id) in [("42", 42), ("<0.42.0>", 42), ("0.42.0", 42), ("0", 0)] {
            assert_eq!(ProcessName::read(given), ProcessName::Id(id), "{given}");
        }
        let most = u64::MAX.to_string();
        assert_eq!(ProcessName::read(&most), ProcessName::Id(u64::MAX));
        for name in [
            "stock",
            "",
            "-1",
            "<42>",
            "<0.42.1>",
            "<3.42.0>",
            "<0..0>",
            "18446744073709551616",
            "0.4 2.0",
        ] {
            assert_eq!(ProcessName::read(name), ProcessName::Name(name.to_owned()));
        }
        assert!(is_pid("<3.42.0>") && is_pid("<0.42.1>"));
        assert_eq!(beginning(&"ü".repeat(50)), "ü".repeat(32));
        assert_eq!(beginning(&format!("x{}", "ü".repeat(50))), format!("x{}", "ü".repeat(31)));
        assert!(!is_pid("3.42.0") && !is_pid("<b>") && !is_pid("<0..0>"));
    }
}
