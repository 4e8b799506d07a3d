//! The scenario files: their format, before any of it is run.

use std::collections::HashMap;
use std::time::Duration;

/// A scenario: its input lines, with the lines that OTP printed among them.
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) lines: Vec<String>,
}

impl Scenario {
    /// Whether the scenario is for a state machine: the second format.
    pub(crate) fn is_machine(&self) -> bool {
        self.lines.iter().any(|line| line.starts_with("machine "))
    }

    /// Whether the scenario is for a tree and not for plain processes.
    pub(crate) fn is_tree(&self) -> bool {
        self.lines.iter().any(|line| line.starts_with("sup"))
    }
}

/// Returns the scenarios of a file and the lines outside of any scenario (the windows). An
/// error says where the division into scenarios is wrong.
pub(crate) fn split(text: &str) -> Result<(Vec<Scenario>, Vec<String>), String> {
    let (mut scenarios, mut others) = (Vec::new(), Vec::new());
    let mut open: Option<Scenario> = None;
    for line in text.lines().map(str::trim_end) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match (&mut open, line.strip_prefix("scenario ")) {
            (None, Some(name)) => {
                open = Some(Scenario { name: name.to_owned(), lines: Vec::new() });
            }
            (None, None) => others.push(line.to_owned()),
            (Some(_), _) if line == "end" => scenarios.extend(open.take()),
            (Some(scenario), Some(name)) => {
                return Err(format!("scenario {name} begins within {}", scenario.name));
            }
            (Some(scenario), None) => scenario.lines.push(line.to_owned()),
        }
    }
    match open {
        Some(scenario) => Err(format!("scenario {} has no end", scenario.name)),
        None => Ok((scenarios, others)),
    }
}

/// The declaration of a node of a tree.
#[derive(Clone)]
pub(crate) struct Declaration {
    pub(crate) id: String,
    pub(crate) parent: String,
    pub(crate) is_supervisor: bool,
    settings: HashMap<String, String>,
}

impl Declaration {
    /// Parses a line `sup ..` or `child ..`; `None` for any other line.
    pub(crate) fn parse(line: &str) -> Option<Declaration> {
        let mut words = line.split(' ');
        let is_supervisor = match words.next()? {
            "sup" => true,
            "child" => false,
            _ => return None,
        };
        let (id, parent) = (words.next()?.to_owned(), words.next()?.to_owned());
        let pairs = words.filter_map(|word| word.split_once('='));
        let settings = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        Some(Declaration { id, parent, is_supervisor, settings })
    }

    pub(crate) fn setting(&self, key: &str) -> &str {
        self.settings.get(key).map_or("", String::as_str)
    }

    pub(crate) fn is_simple(&self) -> bool {
        self.setting("strategy") == "simple_one_for_one"
    }

    pub(crate) fn intensity(&self) -> u32 {
        self.setting("intensity").parse().unwrap_or_default()
    }

    pub(crate) fn period(&self) -> Duration {
        Duration::from_secs(self.setting("period").parse().unwrap_or_default())
    }
}

/// The planned outcome of a worker's init call.
#[derive(Clone)]
pub(crate) struct Outcome {
    pub(crate) gated: bool,
    pub(crate) text: String,
}

impl Outcome {
    pub(crate) fn parse(word: &str) -> Outcome {
        let text = word.strip_prefix("gate:");
        Outcome { gated: text.is_some(), text: text.unwrap_or(word).to_owned() }
    }

    /// Returns the argument of `stop(..)` or `crash(..)`.
    pub(crate) fn argument(&self, kind: &str) -> Option<&str> {
        self.text.strip_prefix(kind)?.strip_prefix('(')?.strip_suffix(')')
    }
}
