//! The list of faults: plain text files in `faults/list`, one for each area of the workspace.
//!
//! ```text
//! # a comment
//! @ name | file | catchers
//! -the original lines
//! +the lines that replace them
//! ```
//!
//! | catcher | what it runs |
//! |---|---|
//! | `act FILTER`, `node FILTER` | a model of that crate, under loom |
//! | `lib CRATE FILTER` | a test within the crate |
//! | `test FILE FILTER` | a test in `tests/` of the workspace |
//! | `test CRATE/FILE FILTER` | a test in `tests/` of that crate |
//!
//! The filter is a part of the test's name, and may be omitted. Several catchers are separated
//! by commas: one of them must fail. A fault may have several groups of `-` and `+` lines, which
//! change several places of its file.

use std::fs::{self, DirEntry};
use std::ops::Range;
use std::path::Path;

/// One change of a source file that the tests must detect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlantedFault {
    pub(crate) name: String,
    /// The source file, relative to the root of the workspace.
    pub(crate) file: String,
    /// The part of the workspace to which the file belongs.
    pub(crate) area: &'static str,
    pub(crate) catchers: Vec<Catcher>,
    pub(crate) change: SourceChange,
}

/// How a fault changes its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SourceChange {
    /// Original texts, each of which occurs once, with their replacements; in order.
    Texts(Vec<(String, String)>),
    /// A range of bytes, with its replacement.
    Range(Range<usize>, String),
}

/// The test that must fail.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Catcher {
    pub(crate) suite: Suite,
    pub(crate) filter: String,
}

/// The test program that is built and run for a fault.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Suite {
    /// The models of a crate, under loom.
    Models { package: String },
    /// The tests within a crate.
    Lib { package: String },
    /// A file in the `tests` of a crate.
    File { package: String, file: String },
}

impl Suite {
    pub(crate) fn is_under_loom(&self) -> bool {
        matches!(self, Suite::Models { .. })
    }

    /// The crate whose tests they are.
    pub(crate) fn package(&self) -> &str {
        match self {
            Suite::Models { package } | Suite::Lib { package } | Suite::File { package, .. } => {
                package
            }
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ListError {
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: std::io::Error },
    #[error("line {line} of {list}: {what}")]
    Line { list: String, line: usize, what: String },
}

/// The faults of one list, or of all lists in a folder, in the order of the file names.
pub(crate) fn read(path: &Path) -> Result<Vec<PlantedFault>, ListError> {
    let unread = |path: &Path| {
        let path = path.display().to_string();
        move |source| ListError::Read { path, source }
    };
    let mut paths = vec![path.to_owned()];
    if path.is_dir() {
        let entries = fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        paths = entries.map_err(unread(path))?.iter().map(DirEntry::path).collect();
        paths.retain(|path| path.extension().is_some_and(|it| it == "txt"));
        paths.sort_unstable();
    }
    let mut faults = Vec::new();
    for path in &paths {
        let text = fs::read_to_string(path).map_err(unread(path))?;
        parse(&text, &path.display().to_string(), &mut faults)?;
    }
    Ok(faults)
}

/// The part of the workspace to which a source file belongs.
pub(crate) fn area(file: &str) -> &'static str {
    for (prefix, area) in [
        ("act/src/pool", "pool"),
        ("act/", "act"),
        ("bench/", "bench"),
        ("cli/", "cli"),
        ("cron/", "cron"),
        ("dist/", "dist"),
        ("gen/", "gen"),
        ("integrations/", "integrations"),
        ("io/", "io"),
        ("node/src/settings", "settings"),
        ("node/src/dispatcher", "dispatcher"),
        ("node/src/simulat", "simulation"),
        ("node/src/seeded", "simulation"),
        ("node/src/explore", "simulation"),
        ("node/src/faults", "simulation"),
        ("node/src/recorder", "simulation"),
        ("node/src/trace", "simulation"),
        ("node/src/expect", "simulation"),
        ("node/", "node"),
        ("observer/", "observer"),
        ("state/", "state"),
        ("supervisor/", "supervisor"),
        ("wire/", "wire"),
    ] {
        if file.starts_with(prefix) {
            return area;
        }
    }
    "others"
}

/// Appends the faults of one list. `list` is its name in errors.
pub(crate) fn parse(
    text: &str,
    list: &str,
    faults: &mut Vec<PlantedFault>,
) -> Result<(), ListError> {
    let first = faults.len();
    let mut last = ' ';
    for (index, content) in text.lines().enumerate() {
        let wrong = |what: &str| ListError::Line {
            list: list.to_owned(),
            line: index + 1,
            what: what.to_owned(),
        };
        let kind = content.chars().next().unwrap_or(' ');
        match kind {
            '#' => {}
            '@' => {
                let head =
                    content.strip_prefix("@ ").ok_or_else(|| wrong("no blank after \"@\""))?;
                let fault = headed(head).map_err(|what| wrong(&what))?;
                if faults.iter().any(|other| other.name == fault.name) {
                    return Err(wrong(&format!("{:?} occurs twice", fault.name)));
                }
                faults.push(fault);
            }
            '-' | '+' => {
                let fault =
                    faults[first..].last_mut().ok_or_else(|| wrong("a change without a fault"))?;
                add(fault, last, content).map_err(|what| wrong(&what))?;
            }
            ' ' if content.trim().is_empty() => {}
            _ => return Err(wrong(&format!("{content:?} is not a line of a fault"))),
        }
        last = kind;
    }
    match faults.iter().find(|fault| fault.change == SourceChange::Texts(Vec::new())) {
        Some(fault) => Err(ListError::Line {
            list: list.to_owned(),
            line: 0,
            what: format!("{:?} changes nothing", fault.name),
        }),
        None => Ok(()),
    }
}

/// Adds a line of a change.
fn add(fault: &mut PlantedFault, last: char, content: &str) -> Result<(), String> {
    let SourceChange::Texts(edits) = &mut fault.change else { return Ok(()) };
    let (kind, line) = content.split_at(1);
    match (kind, last, edits.last_mut()) {
        ("-", '-', Some((old, _))) => {
            old.push('\n');
            old.push_str(line);
        }
        ("-", ..) => edits.push((line.to_owned(), String::new())),
        (_, '-', Some((_, new))) => new.push_str(line),
        (_, '+', Some((_, new))) => {
            new.push('\n');
            new.push_str(line);
        }
        _ => return Err("\"+\" without \"-\"".to_owned()),
    }
    Ok(())
}

fn headed(head: &str) -> Result<PlantedFault, String> {
    let parts: Vec<&str> = head.split('|').map(str::trim).collect();
    let [name, file, catcher] = parts[..] else {
        return Err(format!("{head:?} is not \"name | file | who catches it\""));
    };
    Ok(PlantedFault {
        name: name.to_owned(),
        file: file.to_owned(),
        area: area(file),
        catchers: catchers(catcher)?,
        change: SourceChange::Texts(Vec::new()),
    })
}

/// The catchers in a text, separated by commas.
pub(crate) fn catchers(text: &str) -> Result<Vec<Catcher>, String> {
    text.split(',').map(caught_by).collect()
}

fn caught_by(text: &str) -> Result<Catcher, String> {
    let mut words = text.split_whitespace();
    let kind = words.next().unwrap_or_default();
    let suite = match kind {
        "act" | "node" => Suite::Models { package: format!("krarup-{kind}") },
        "lib" => Suite::Lib { package: words.next().ok_or("\"lib\" of which crate?")?.to_owned() },
        "test" => {
            let file = words.next().ok_or("\"test\" in which file?")?;
            match file.split_once('/') {
                Some((package, file)) => {
                    Suite::File { package: package.to_owned(), file: file.to_owned() }
                }
                None => Suite::File { package: "krarup-tests".to_owned(), file: file.to_owned() },
            }
        }
        _ => return Err(format!("unknown catcher {kind:?}: expected act, node, lib or test")),
    };
    let filter = words.next().unwrap_or(match suite {
        Suite::Models { .. } => "models",
        _ => "",
    });
    Ok(Catcher { suite, filter: filter.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_has_its_area_its_catcher_and_changes_of_several_lines() {
        let text = "# A list.\n\n@ a | act/src/pool/a.rs | test krarup-io/tcp i1, lib krarup-io\n-one\n-two\n+three\n-four\n+five\n+six\n";
        let mut faults = Vec::new();
        parse(text, "a.txt", &mut faults).unwrap();
        let suite = Suite::File { package: "krarup-io".to_owned(), file: "tcp".to_owned() };
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].area, "pool");
        let lib = Suite::Lib { package: "krarup-io".to_owned() };
        let catchers = [(suite, "i1"), (lib, "")];
        assert_eq!(
            faults[0].catchers,
            catchers.map(|(suite, filter)| Catcher { suite, filter: filter.to_owned() })
        );
        let edits = [("one\ntwo", "three"), ("four", "five\nsix")];
        let edits = edits.map(|(old, new)| (old.to_owned(), new.to_owned()));
        assert_eq!(faults[0].change, SourceChange::Texts(edits.to_vec()));
    }

    #[test]
    fn an_invalid_list_is_reported_with_line_and_reason() {
        for (text, line, what) in [
            ("@ a | b\n", 1, "is not \"name"),
            ("@ a | b | cat\n-a\n+b\n", 1, "unknown catcher \"cat\""),
            ("+b\n", 1, "without a fault"),
            ("@ a | b | act\n+b\n", 2, "without \"-\""),
            ("@ a | b | act\n-a\n+b\n\n@ a | b | act\n-a\n+b\n", 5, "twice"),
            ("@ a | b | act\nhm\n", 2, "not a line of a fault"),
            ("@ a | b | act\n", 0, "changes nothing"),
        ] {
            let error = parse(text, "a.txt", &mut Vec::new()).unwrap_err();
            assert!(matches!(error, ListError::Line { line: at, .. } if at == line), "{error}");
            assert!(error.to_string().contains(what), "{error}");
        }
    }
}
