//! `docs/architecture.md` says that arrows only go down: no files import each other in a circle. These
//! tests hold that, and that the files that the documents name exist, that the page of the
//! architecture names every file, and that one type name means one thing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What users write: a panic, a reason, the id of a child. A value with a line break would be two lines of the log.
#[test]
fn what_users_write_is_one_line_of_the_log() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for member in fs::read_dir(root).unwrap() {
        let source = member.unwrap().path().join("src");
        if source.is_dir() {
            sources(&source, &mut files);
        }
    }
    let (mut shown, mut raw) = (0, Vec::new());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in text.lines().enumerate() {
            shown += usize::from(line.contains("%one_line("));
            if ["%panic", "%reason", "%child"].iter().any(|raw| line.contains(raw)) {
                let file = file.strip_prefix(root).unwrap().display();
                raw.push(format!("{file}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(shown > 30, "only {shown} values are shown on one line");
    assert_eq!(raw, Vec::<String>::new(), "to be shown by `one_line`");
}

/// The modules of a crate that are files of their own, and their text.
fn modules(below: &Path, path: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(below).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let module = if path.is_empty() { name.clone() } else { format!("{path}::{name}") };
        if file.is_dir() {
            modules(&file, &module, found);
        } else if !matches!(name.as_str(), "lib" | "main" | "mod") {
            // What tests use is not part of the house.
            let text = fs::read_to_string(&file).unwrap();
            let house = text.split("#[cfg(test)]").next().unwrap_or_default();
            let house = house.split("#[cfg(all(test,").next().unwrap_or_default();
            found.insert(module, house.to_owned());
        }
    }
}

/// The paths that a text imports from its own crate, with braces written out.
fn imports(text: &str, module: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for line in text.split(';') {
        let Some(start) = line.rfind("use crate::").or_else(|| line.rfind("use super::")) else {
            continue;
        };
        let tree: String =
            line[start + "use ".len()..].chars().filter(|c| !c.is_whitespace()).collect();
        let mut base: Vec<&str> = module.split("::").collect();
        let mut rest = tree.as_str();
        if let Some(below) = rest.strip_prefix("crate::") {
            (base, rest) = (Vec::new(), below);
        }
        while let Some(below) = rest.strip_prefix("super::") {
            base.pop();
            rest = below;
        }
        // The last part is what follows the last `::`.
        base.push("");
        expand(&base.join("::"), rest, &mut paths);
    }
    paths
}

/// `a::{b, c::{d, e}}` is `a::b`, `a::c::d` and `a::c::e`.
fn expand(before: &str, tree: &str, paths: &mut Vec<String>) {
    let Some((path, branches)) = tree.split_once('{') else {
        paths.push(format!("{before}{tree}"));
        return;
    };
    let before = format!("{before}{path}");
    let branches = branches.strip_suffix('}').unwrap_or(branches);
    let (mut depth, mut start) = (0, 0);
    for (at, letter) in branches.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&before, &branches[start..at], paths);
                start = at + 1;
            }
            _ => {}
        }
    }
    if start < branches.len() {
        expand(&before, &branches[start..], paths);
    }
}

/// The file that a path leads to: its longest beginning that is one.
fn file_of<'a>(path: &'a str, files: &BTreeMap<String, String>) -> Option<&'a str> {
    let ends = path.match_indices("::").map(|(at, _)| at).chain([path.len()]);
    ends.map(|end| &path[..end]).filter(|module| files.contains_key(*module)).last()
}

/// Which file imports which: the arrows of a crate.
fn arrows(files: &BTreeMap<String, String>) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut arrows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (module, text) in files {
        let to = arrows.entry(module).or_default();
        for path in imports(text, module) {
            if let Some((other, _)) = file_of(&path, files).and_then(|it| files.get_key_value(it)) {
                to.insert(other);
            }
        }
        to.remove(module.as_str());
    }
    arrows
}

/// The files of each circle, however long: the strongly connected components (Tarjan) that have more
/// than one file.
fn circles<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Vec<BTreeSet<&'a str>> {
    struct Search<'s, 'a> {
        arrows: &'s BTreeMap<&'a str, BTreeSet<&'a str>>,
        order: BTreeMap<&'a str, usize>,
        lowest: BTreeMap<&'a str, usize>,
        open: Vec<&'a str>,
        found: Vec<BTreeSet<&'a str>>,
    }
    impl<'a> Search<'_, 'a> {
        fn visit(&mut self, file: &'a str) -> usize {
            let mut lowest = self.order.len();
            self.order.insert(file, lowest);
            self.lowest.insert(file, lowest);
            self.open.push(file);
            for next in &self.arrows[file] {
                if !self.order.contains_key(next) {
                    lowest = lowest.min(self.visit(next));
                } else if self.open.contains(next) {
                    lowest = lowest.min(self.order[next]);
                }
            }
            self.lowest.insert(file, lowest);
            if lowest == self.order[file] {
                let begin = self.open.iter().position(|open| *open == file).unwrap();
                let circle: BTreeSet<&str> = self.open.drain(begin..).collect();
                self.found.extend((circle.len() > 1).then_some(circle));
            }
            lowest
        }
    }
    let mut search = Search {
        arrows,
        order: BTreeMap::new(),
        lowest: BTreeMap::new(),
        open: Vec::new(),
        found: Vec::new(),
    };
    for file in arrows.keys() {
        if !search.order.contains_key(file) {
            search.visit(file);
        }
    }
    search.found
}

#[test]
fn a_circle_is_found_however_long_and_two_ways_to_a_file_are_none() {
    let arrows = |pairs: &[(&'static str, &'static str)]| {
        let mut arrows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (from, to) in pairs {
            arrows.entry(from).or_default().insert(to);
            arrows.entry(to).or_default();
        }
        arrows
    };
    assert!(circles(&arrows(&[("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])).is_empty());
    let two = arrows(&[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("d", "e"), ("e", "c")]);
    assert_eq!(circles(&two), [BTreeSet::from(["b", "c", "d", "e"])]);
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for name in [
        "gen",
        "act",
        "node",
        "supervisor",
        "state",
        "cron",
        "io",
        "wire",
        "dist",
        "observer",
        "cli",
    ] {
        let mut files = BTreeMap::new();
        modules(&root.join(name).join("src"), "", &mut files);
        let arrows = arrows(&files);
        assert_eq!(circles(&arrows), Vec::<BTreeSet<&str>>::new(), "in {name}");
        count += arrows.values().map(BTreeSet::len).sum::<usize>();
    }
    assert!(count > 600, "only {count} imports were found");
}

/// The paths that a text between back quotes stands for: `a/{b,c}.rs::d` is `a/b.rs` and `a/c.rs`.
fn paths_of(text: &str) -> Vec<String> {
    let text = text.split("::").next().unwrap_or_default();
    match text.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
        Some((before, (branches, after))) => {
            branches.split(',').map(|branch| format!("{before}{}{after}", branch.trim())).collect()
        }
        None => vec![text.to_owned()],
    }
}

#[test]
fn every_path_that_the_documents_name_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    for folder in ["docs", "docs/guide", "docs/porting", "docs/recipes"] {
        pages.extend(fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()));
    }
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    let (mut found, mut missing) = (0, Vec::new());
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        // Code in fences may hold back quotes of its own.
        let prose: String = text.split("```").step_by(2).collect();
        for path in prose.split('`').skip(1).step_by(2).flat_map(paths_of) {
            let Some((folder, _)) = path.split_once('/') else { continue };
            let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
            // What is built is not there in a fresh clone.
            if folder == "target" {
                continue;
            }
            if !path.chars().all(plain) || folder.is_empty() || !root.join(folder).is_dir() {
                continue;
            }
            found += 1;
            if !root.join(&path).exists() {
                missing.push(format!("{}: {path}", page.display()));
            }
        }
    }
    assert!(found > 200, "only {found} paths were found");
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn every_source_file_is_named_on_the_page_of_the_architecture() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/architecture.md")).unwrap();
    let prose: String = text.split("```").step_by(2).collect();
    let named: BTreeSet<_> = prose
        .split('`')
        .skip(1)
        .step_by(2)
        .flat_map(paths_of)
        .map(|path| root.join(path))
        .collect();
    let mut files = Vec::new();
    for folder in fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()) {
        if folder.join("Cargo.toml").exists() && folder.join("src").is_dir() {
            sources(&folder.join("src"), &mut files);
        }
    }
    sources(&root.join("src"), &mut files);
    assert!(files.len() > 400, "only {} files were found", files.len());
    let missing: Vec<_> = files.iter().filter(|file| !named.contains(*file)).collect();
    assert_eq!(missing, Vec::<&PathBuf>::new());
}

/// The types that a text defines where nothing is indented: those of a module itself.
fn types_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = match line.strip_prefix("pub") {
            Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
            Some(rest) => rest.trim_start(),
            None => line,
        };
        let (keyword, rest) = line.split_once(' ')?;
        let name = rest.split(|c: char| !c.is_alphanumeric()).next()?;
        ["struct", "enum", "trait", "type", "union"].contains(&keyword).then_some(name)
    })
}

/// Every source file below a folder.
fn sources(below: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_type_name_is_defined_twice() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for name in [
        "gen",
        "act",
        "node",
        "supervisor",
        "state",
        "cron",
        "io",
        "wire",
        "dist",
        "observer",
        "cli",
        "bench",
        "faults",
    ] {
        sources(&root.join(name).join("src"), &mut files);
    }
    sources(&root.join("src"), &mut files);
    let mut defined: BTreeMap<String, Vec<&Path>> = BTreeMap::new();
    for file in &files {
        for name in types_of(&fs::read_to_string(file).unwrap()) {
            defined.entry(name.to_owned()).or_default().push(file);
        }
    }
    let twice: Vec<_> = defined.iter().filter(|(_, places)| places.len() > 1).collect();
    assert!(twice.is_empty(), "{twice:#?}");
    assert!(defined.len() > 600, "only {} types were found", defined.len());
}
