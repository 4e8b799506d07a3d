//! The page of the dependencies names each dependency of each published crate, and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Dependency, crate, and whether it comes only with a feature.
type Dependencies = BTreeMap<(String, String), bool>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The manifests of the workspace.
fn manifests() -> Vec<PathBuf> {
    let text = read(&root().join("Cargo.toml"));
    let (_, members) = text.split_once("members = [").expect("the members of the workspace");
    let (members, _) = members.split_once(']').expect("the end of the members");
    let members = members.split('"').skip(1).step_by(2);
    members.chain(["."]).map(|member| root().join(member).join("Cargo.toml")).collect()
}

/// What a manifest says of the dependencies that its crate has when it is built.
fn of_manifest(text: &str) -> Dependencies {
    let (mut section, mut name, mut found) = ("", "", Dependencies::new());
    for line in text.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section == "[package]"
            && let Some(given) = line.strip_prefix("name = ")
        {
            name = given.trim_matches('"');
        } else if section == "[dependencies]"
            || section.ends_with(".dependencies]") && section != "[workspace.dependencies]"
        {
            let Some((dependency, how)) = line.split_once(['.', ' ']) else { continue };
            if dependency.starts_with('#') || dependency.starts_with("krarup") {
                continue;
            }
            found.insert((dependency.to_owned(), name.to_owned()), how.contains("optional = true"));
        }
    }
    found
}

/// What the table of the page says.
fn of_page(page: &str) -> Dependencies {
    let mut found = Dependencies::new();
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 7, "{row}");
        assert!(cells[3..6].iter().all(|cell| !cell.is_empty()), "{row}");
        for user in cells[2].split(", ") {
            let optional = user.ends_with(" (feature)");
            let user = user.trim_end_matches(" (feature)").trim_matches('`').to_owned();
            found.insert((cells[1].trim_matches('`').to_owned(), user), optional);
        }
    }
    found
}

#[test]
fn the_page_names_each_dependency_of_each_published_crate() {
    let published = manifests().into_iter().map(|path| read(&path));
    let published = published.filter(|text| !text.contains("publish = false"));
    let declared: Dependencies = published.flat_map(|text| of_manifest(&text)).collect();
    assert!(declared.len() > 50, "{declared:?}");
    assert_eq!(of_page(&read(&root().join("docs/dependencies.md"))), declared);
}

#[test]
fn dependencies_for_tests_and_those_of_the_workspace_are_none_of_the_crate() {
    let text = "[package]\nname = \"one\"\n[workspace.dependencies]\na = \"1\"\n[dependencies]\n\
        # A comment.\nb.workspace = true\nkrarup-gen.workspace = true\n\
        c = { version = \"1\", optional = true }\n[target.'cfg(unix)'.dependencies]\nd = \"1\"\n\
        [dev-dependencies]\ne = \"1\"\n";
    let key = |name: &str| (name.to_owned(), "one".to_owned());
    let expected = [(key("b"), false), (key("c"), true), (key("d"), false)];
    assert_eq!(of_manifest(text), Dependencies::from(expected));
}
