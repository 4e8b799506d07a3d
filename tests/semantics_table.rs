//! `docs/semantics.md` and `docs/seeds/*.md` name tests that exist; every test that bears the id of a
//! rule stands in the row of that rule, and every statement of the seeds has its row.

use std::collections::{BTreeMap, BTreeSet};
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

/// The ids in the first cells of the rows of a page, as `G-002` in `| G-002 G-040 | .. |`.
fn ids(page: &str) -> Vec<String> {
    page.lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" |"))
        .flat_map(|(cell, _)| cell.split_whitespace())
        .filter(|id| id.split_once('-').is_some_and(|(_, number)| number.len() == 3))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_statement_of_the_five_seeds_is_accounted_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // A statement may be on two pages: what a page of its own says is pointed to from another.
    let found: BTreeSet<String> = fs::read_dir(root.join("docs/seeds"))
        .unwrap()
        .flat_map(|page| ids(&fs::read_to_string(page.unwrap().path()).unwrap()))
        .collect();
    // How many statements each source document was cut into.
    let families = [("E", 128), ("G", 108), ("K", 145), ("O", 105), ("W", 64)];
    let expected: BTreeSet<String> = families
        .iter()
        .flat_map(|(family, last)| (1..=*last).map(move |n| format!("{family}-{n:03}")))
        .collect();
    let missing: Vec<_> = expected.difference(&found).collect();
    assert_eq!(missing, Vec::<&String>::new(), "no row accounts for these");
    let unknown: Vec<_> = found.difference(&expected).collect();
    assert_eq!(unknown, Vec::<&String>::new(), "no seed has these");
}

/// The first cell of a row of the contract and what follows: `M5` of `| <a id="m5"></a>M5 | .. |`, and whether the
/// anchor, by which other pages link to the rule, is its own.
fn row(line: &str) -> Option<(&str, &str, bool)> {
    let (cell, rest) = line.strip_prefix("| ")?.split_once(" |")?;
    let (anchor, id) = cell.rsplit_once('>').unwrap_or(("", cell));
    let own = anchor == format!("<a id=\"{}\"></a", id.to_lowercase());
    Some((id, rest, own))
}

/// What is wrong with the rows of the contract: rules with several, and rows that a line of something
/// else cuts off from their table.
fn broken_rows(page: &str) -> Vec<String> {
    let (mut seen, mut wrong, mut before) = (BTreeSet::new(), Vec::new(), "");
    for line in page.lines() {
        if let Some((id, _, own)) = row(line) {
            if id != "rule" && !own {
                wrong.push(format!("the row of {id} has no anchor of its own"));
            }
            if id.starts_with(char::is_uppercase) && !seen.insert(id) {
                wrong.push(format!("{id} has two rows"));
            }
            if !line.ends_with(" |") {
                wrong.push(format!("the row of {id} does not end"));
            }
            if !before.starts_with('|') && id != "rule" {
                wrong.push(format!("{id} stands outside its table"));
            }
        }
        before = line;
    }
    wrong
}

#[test]
fn every_rule_has_one_row_in_its_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/semantics.md")).unwrap();
    assert_eq!(broken_rows(&page), Vec::<String>::new());
    let doubled = "| rule | what |\n|---|---|\n| <a id=\"m1\"></a>M1 | a | `t`<br>\n\n| M1 | b |";
    let wrong = [
        "the row of M1 does not end",
        "the row of M1 has no anchor of its own",
        "M1 has two rows",
        "M1 stands outside its table",
    ];
    assert_eq!(broken_rows(doubled), wrong);
}

/// A test whose name begins with the id of a rule: its file, its name and the id.
struct Bearer {
    file: String,
    name: String,
    id: String,
}

/// The tests of a source file whose names begin with the id of a rule.
fn bearers(file: &str, source: &str) -> Vec<Bearer> {
    let mut found = Vec::new();
    let mut lines = source.lines().map(str::trim);
    while let Some(line) = lines.next() {
        // A test of the crate, or one within `proptest!`; other attributes may follow.
        if line != "#[test]" {
            continue;
        }
        let Some(function) = lines.by_ref().find(|line| !line.starts_with("#[")) else { continue };
        let Some(name) = function.strip_prefix("fn ") else { continue };
        let name = name.split('(').next().unwrap_or_default();
        let id = name.split('_').next().unwrap_or_default();
        let letters = id.trim_end_matches(|c: char| c.is_ascii_digit());
        // Those of the cluster have a word: `Zlink3`.
        let is_id = letters.len() == 1 || letters.starts_with('z') && letters.is_ascii();
        if is_id && letters.len() < id.len() {
            let (file, name) = (file.to_owned(), name.to_owned());
            let id = format!("{}{}", id[..1].to_uppercase(), &id[1..]);
            found.push(Bearer { file, name, id });
        }
    }
    found
}

#[test]
fn a_test_with_extra_attributes_is_found_and_one_without_an_id_is_not() {
    let source = "#[test]\n#[should_panic]\nfn m1_a() {}\n  #[test]\n  fn plain() {}\nfn m2_b() {}";
    let found: Vec<_> = bearers("x.rs", source).into_iter().map(|it| (it.name, it.id)).collect();
    assert_eq!(found, [("m1_a".to_owned(), "M1".to_owned())]);
}

#[test]
fn every_test_with_the_id_of_a_rule_is_named_in_its_row() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = fs::read_to_string(root.join("docs/semantics.md")).unwrap();
    let lines: Vec<(&str, &str)> =
        table.lines().filter_map(|line| row(line).map(|(id, rest, _)| (id, rest))).collect();
    let rows: BTreeMap<&str, &str> = lines.iter().copied().collect();
    let twice: Vec<_> =
        lines.iter().filter(|(id, row)| *id != "rule" && rows.get(id) != Some(row)).collect();
    assert!(twice.is_empty(), "rules that have two rows: {twice:?}");
    let mut files = Vec::new();
    for folder in [
        "tests",
        "gen",
        "wire",
        "act",
        "node",
        "supervisor",
        "state",
        "cron",
        "io",
        "dist",
        "observer",
        "examples",
    ] {
        sources(&root.join(folder), &mut files);
    }
    let (mut tests, mut wrong) = (0, Vec::new());
    for file in files {
        let source = fs::read_to_string(&file).unwrap();
        let file = file.strip_prefix(root).unwrap().display().to_string();
        for Bearer { file, name, id } in bearers(&file, &source) {
            tests += 1;
            let named = format!("`{file}::{name}`");
            match rows.get(id.as_str()) {
                None => wrong.push(format!("{named}: there is no rule {id}")),
                Some(row) if !row.contains(&named) => {
                    wrong.push(format!("{named} is not in the row of {id}"));
                }
                Some(_) => {}
            }
        }
    }
    assert!(tests > 900, "only {tests} tests bear an id");
    assert_eq!(wrong, Vec::<String>::new());
}
