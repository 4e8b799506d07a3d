//! `docs/semantics.md` and `docs/seeds/*.md` name tests that exist; the former knows every rule.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Every Rust file of the workspace that can hold tests.
fn sources(below: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The texts between back quotes that have the form `file::test`.
fn named(table: &str) -> Vec<(String, String)> {
    table
        .split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|text| text.rsplit_once("::"))
        .filter(|(file, _)| Path::new(file).extension().is_some_and(|extension| extension == "rs"))
        .map(|(file, test)| (file.to_owned(), test.to_owned()))
        .collect()
}

/// Those of the named tests that are not in their files.
fn missing(root: &Path, named: &[(String, String)]) -> Vec<String> {
    named
        .iter()
        .filter(|(file, test)| {
            let source = fs::read_to_string(root.join(file)).unwrap_or_default();
            !source.contains(&format!(" fn {test}(")) && !source.contains(&format!("\nfn {test}("))
        })
        .map(|(file, test)| format!("{file}::{test}"))
        .collect()
}

#[test]
fn every_test_that_the_table_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("docs/semantics.md")];
    pages.extend(fs::read_dir(root.join("docs/seeds")).unwrap().map(|entry| entry.unwrap().path()));
    let named: Vec<_> =
        pages.iter().flat_map(|page| named(&fs::read_to_string(page).unwrap())).collect();
    assert!(named.len() > 100, "only {} tests are named", named.len());
    assert_eq!(missing(root, &named), Vec::<String>::new());
}

#[test]
fn every_statement_of_the_pools_seed_is_accounted_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = fs::read_to_string(root.join("docs/seeds/pool.md")).unwrap();
    let ids: Vec<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" |"))
        .map(|(id, _)| id)
        .filter(|id| id.starts_with("E-"))
        .collect();
    let expected: Vec<_> = (1..=128).map(|number| format!("E-{number:03}")).collect();
    assert_eq!(ids, expected);
}

#[test]
fn every_test_that_bears_the_id_of_a_rule_stands_in_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = fs::read_to_string(root.join("docs/semantics.md")).unwrap();
    let rows: BTreeSet<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" |"))
        .map(|(id, _)| id)
        .collect();
    let mut files = Vec::new();
    for folder in ["tests", "supervisor", "state", "io"] {
        sources(&root.join(folder), &mut files);
    }
    let mut tests = 0;
    for file in files {
        let source = fs::read_to_string(&file).unwrap();
        for test in source.split("#[test]\n").skip(1) {
            let Some(test) = test.trim_start().strip_prefix("fn ") else { continue };
            let name = test.split('(').next().unwrap_or_default();
            let Some((id, _)) = name.split_once('_') else { continue };
            let letters = id.trim_end_matches(|c: char| c.is_ascii_digit());
            if letters.len() != 1 || letters.len() == id.len() {
                continue;
            }
            tests += 1;
            assert!(rows.contains(id.to_uppercase().as_str()), "{name}: no rule {id}");
            assert!(table.contains(name), "{name} is not in the table");
        }
    }
    assert!(tests > 100, "only {tests} tests bear an id");
}
