//! What a reader sees at the root of the crate: a further name there is a decision, not an accident.

use std::collections::BTreeSet;
use std::fs;

/// The names, without the modules and the prelude.
const NAMES: &[&str] = &[
    "Actor",
    "Address",
    "Agent",
    "Alias",
    "BlockError",
    "Call",
    "CallError",
    "CannotWait",
    "Context",
    "Down",
    "Exit",
    "LookupError",
    "Name",
    "NameError",
    "NamedAddress",
    "NamedCallError",
    "Node",
    "NodeBuilder",
    "NodeClock",
    "NodeError",
    "NodeName",
    "Pid",
    "Priority",
    "ProgramError",
    "Protocol",
    "Reason",
    "ReasonError",
    "Recipient",
    "Ref",
    "RegisterError",
    "Reply",
    "Result",
    "Retry",
    "SendError",
    "Spawn",
    "SpawnError",
    "StopError",
    "Target",
    "Task",
    "TaskError",
    "Timestamp",
];

/// The names that `pub use` lines at the margin bring to the root, unless they are hidden.
fn shown(source: &str) -> BTreeSet<String> {
    let (mut names, mut hidden, mut list) = (BTreeSet::new(), false, None::<String>);
    for line in source.lines() {
        match &mut list {
            Some(text) => text.push_str(line),
            None if line.starts_with("#[doc(hidden)]") => hidden = true,
            None if line.starts_with("pub use ") => list = Some(line.to_owned()),
            None if line.starts_with('#') => {}
            None => hidden = false,
        }
        if let Some(text) = list.take_if(|text| text.ends_with(';')) {
            let path = text.trim_start_matches("pub use ").trim_end_matches(';');
            let last = path.rsplit("::").next().unwrap_or_default();
            let last = last.trim_matches(['{', '}']).split(',').map(str::trim);
            // A crate under a name of a module.
            let last = last.filter(|name| !name.is_empty() && !name.contains(" as "));
            names.extend(last.filter(|_| !hidden).map(str::to_owned));
            hidden = false;
        }
    }
    names
}

#[test]
fn the_root_shows_what_most_programs_use_and_no_more() {
    let source = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs")).unwrap();
    let expected: BTreeSet<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(shown(&source), expected);
}

#[test]
fn hidden_names_and_those_of_modules_are_not_shown() {
    let source = "#[doc(inline)]\npub use a::{\n    One, Two,\n};\n#[doc(hidden)]\npub use b::{Three};\n\
        pub use c::Four;\nmod d {\n    pub use e::Five;\n}\n#[cfg(x)]\npub use f as six;\n";
    assert_eq!(shown(source).into_iter().collect::<Vec<_>>(), ["Four", "One", "Two"]);
}
