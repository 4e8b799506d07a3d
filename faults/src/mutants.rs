//! The mutants of `cargo mutants`, planted like the faults of the list.
//!
//! `cargo mutants --list --json > mutants.json` lists the changes and their places. Planted
//! here, a mutant costs one test run and no build.

use crate::list::{PlantedFault, SourceChange, area};
use serde_json::Value;
use std::fs;
use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub(crate) enum MutantsError {
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: std::io::Error },
    #[error("{path} is not a list of mutants: {what}")]
    Form { path: String, what: String },
}

/// The mutants that a file lists, without catchers.
pub(crate) fn read(path: &Path, root: &Path) -> Result<Vec<PlantedFault>, MutantsError> {
    let read = |path: &Path| {
        fs::read_to_string(path)
            .map_err(|source| MutantsError::Read { path: path.display().to_string(), source })
    };
    let wrong =
        |what: &str| MutantsError::Form { path: path.display().to_string(), what: what.to_owned() };
    let listed: Value = serde_json::from_str(&read(path)?).map_err(|it| wrong(&it.to_string()))?;
    let mut faults = Vec::new();
    for mutant in listed.as_array().ok_or_else(|| wrong("it is not an array"))? {
        let text = |key: &str| mutant[key].as_str().ok_or_else(|| wrong(&format!("no {key}")));
        let file = text("file")?;
        let source = read(&root.join(file))?;
        let place = |end: &str| {
            let number = |key: &str| {
                mutant["span"][end][key].as_u64().and_then(|it| usize::try_from(it).ok())
            };
            offset(&source, number("line")?, number("column")?)
        };
        let (Some(start), Some(end)) = (place("start"), place("end")) else {
            return Err(wrong("a span is not in its file"));
        };
        faults.push(PlantedFault {
            name: text("name")?.to_owned(),
            file: file.to_owned(),
            area: area(file),
            catchers: Vec::new(),
            change: SourceChange::Range(start..end, text("replacement")?.to_owned()),
        });
    }
    Ok(faults)
}

/// The byte offset of a line and a column, both counted from 1.
fn offset(text: &str, line: usize, column: usize) -> Option<usize> {
    let before: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let rest = text.get(before..)?;
    let inside = rest.char_indices().nth(column.checked_sub(1)?).map_or(rest.len(), |(at, _)| at);
    Some(before + inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_counts_characters_from_one() {
        assert_eq!(offset("ab\nöd\n", 1, 1), Some(0));
        assert_eq!(offset("ab\nöd\n", 2, 2), Some(5));
        assert_eq!(offset("ab\n", 0, 1), None);
    }
}
