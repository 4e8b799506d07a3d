//! The pages of the repository lead to each other: every link leads to a file and to a heading that are there, on
//! GitHub, in the documentation of the crate and in the book. Every page is in the book, and the snippets of every
//! page are compiled. The documentation of the items names them as a program can that depends on `krarup`.
//!
//! A link of a page is `[text][docs/guide/pools.md]`: its label is the path from the root of the repository, and the
//! page defines at its end where that lies from its own folder. `src/pages.rs` maps the same labels to modules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The pages below a folder whose names end like this, as paths from the root.
fn files(folder: &str, ending: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            files(&name, ending, found);
        } else if name.ends_with(ending) {
            found.push(name);
        }
    }
    found.sort();
}

fn pages() -> Vec<String> {
    let mut pages: Vec<String> =
        ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"].map(str::to_owned).to_vec();
    for folder in ["docs", "integrations"] {
        files(folder, ".md", &mut pages);
    }
    pages
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The lines outside fences, and without what stands between back quotes in them.
fn prose(page: &str) -> Vec<String> {
    let (mut fenced, mut lines) = (false, Vec::new());
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            lines.push(line.split('`').step_by(2).collect::<Vec<_>>().join("`"));
        }
    }
    lines
}

/// Which names a page can be entered by: those of its headings, as GitHub, rustdoc and mdBook make them, and those
/// of its anchors.
fn anchors(page: &str) -> BTreeSet<String> {
    let (mut fenced, mut names) = (false, BTreeSet::new());
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && line.starts_with('#') {
            let title = line.trim_start_matches('#').trim();
            let name: String = title
                .to_lowercase()
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect();
            let further = (1..).map(|number| format!("{name}-{number}"));
            let name =
                std::iter::once(name.clone()).chain(further).find(|name| !names.contains(name));
            names.extend(name);
        }
        names.extend(line.split("<a id=\"").skip(1).filter_map(|rest| {
            let (name, _) = rest.split_once('"')?;
            Some(name.to_owned())
        }));
    }
    names
}

/// What links there are in a page.
#[derive(Default)]
struct Links {
    /// `[label]: target`
    defined: BTreeMap<String, String>,
    /// The labels of `[text][label]`.
    used: BTreeSet<String>,
    /// The targets of `[text](target)`.
    inline: BTreeSet<String>,
}

fn links(page: &str) -> Links {
    let mut links = Links::default();
    let lines = prose(page);
    for line in &lines {
        let definition = line.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
        let is_link = |label: &str| !label.contains(']') && !label.starts_with('^');
        if let Some((label, target)) = definition.filter(|(label, _)| is_link(label)) {
            links.defined.insert(label.to_owned(), target.trim().to_owned());
        }
    }
    let text = lines.join("\n");
    let after = |opening: &'static str, closing: char| {
        let text = &text;
        text.split(opening)
            .skip(1)
            .filter_map(move |rest| Some(rest.split_once(closing)?.0.to_owned()))
    };
    let is_path = |label: &String| label.contains(".md") || label.contains('/');
    links.used = after("][", ']').filter(is_path).collect();
    links.inline = after("](", ')').collect();
    links
}

/// Where a target lies, as a path from the root and the heading; nothing for an address outside.
fn resolve(page: &str, target: &str) -> Option<(String, Option<String>)> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, heading) = match target.split_once('#') {
        Some((path, heading)) => (path, Some(heading.to_owned())),
        None => (target, None),
    };
    if path.is_empty() {
        return Some((page.to_owned(), heading));
    }
    let mut found = PathBuf::new();
    for part in Path::new(page).parent().unwrap().join(path).components() {
        match part {
            Component::ParentDir => {
                assert!(found.pop(), "{page}: {target} leads out of the repository");
            }
            part => found.push(part),
        }
    }
    let slash = if path.ends_with('/') { "/" } else { "" };
    Some((format!("{}{slash}", found.to_str().unwrap()), heading))
}

/// What is wrong with the links of a page.
fn broken(page: &str, text: &str) -> Vec<String> {
    let Links { defined, used, inline } = links(text);
    let mut wrong = Vec::new();
    for label in used.iter().filter(|label| !defined.contains_key(*label)) {
        wrong.push(format!("{page}: [{label}] is not defined"));
    }
    for (label, target) in &defined {
        if !used.contains(label) && !text.contains(&format!("[{label}]")[..]) {
            wrong.push(format!("{page}: [{label}] is not used"));
        }
        let Some((path, heading)) = resolve(page, target) else { continue };
        let full = heading.map_or(path.clone(), |heading| format!("{path}#{heading}"));
        if *label != full {
            wrong
                .push(format!("{page}: [{label}] leads to {full}: this is what its label must be"));
        }
    }
    for target in defined.values().chain(&inline) {
        let Some((path, heading)) = resolve(page, target) else { continue };
        if path != page && !root().join(&path).exists() {
            wrong.push(format!("{page}: {target} is not there"));
        } else if let Some(heading) = heading
            && !anchors(&if path == page { text.to_owned() } else { read(&path) })
                .contains(&heading)
        {
            wrong.push(format!("{page}: {path} has no heading #{heading}"));
        }
    }
    wrong
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_are_there() {
    let pages = pages();
    let wrong: Vec<_> = pages.iter().flat_map(|page| broken(page, &read(page))).collect();
    assert!(pages.len() > 60, "only {} pages were found", pages.len());
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn what_is_wrong_with_a_link_is_told() {
    let page = "# Top\n[a][docs/x.md] [b](y.md) [c](guide.md#no) [d](#top)\n```\n[e](z.md)\n```\n\
                [f][guide.md] [g](https://example.org/h)\n\n[guide.md]: guide.md\n";
    let expected = [
        "docs/page.md: [docs/x.md] is not defined",
        "docs/page.md: [guide.md] leads to docs/guide.md: this is what its label must be",
        "docs/page.md: docs/guide.md has no heading #no",
        "docs/page.md: y.md is not there",
    ];
    assert_eq!(broken("docs/page.md", page), expected.map(str::to_owned));
    assert_eq!(anchors("# A `b`, c\n## A b c\n```\n# d\n```").len(), 2);
}

/// The pages that the documentation of the crate includes, and the labels that it maps to modules.
fn of_rustdoc() -> (BTreeSet<String>, BTreeSet<String>) {
    let mut sources = Vec::new();
    files("src", ".rs", &mut sources);
    let (mut included, mut mapped) = (BTreeSet::new(), BTreeSet::new());
    for source in sources {
        let text = read(&source);
        included.extend(
            text.split("page!(\"")
                .skip(1)
                .filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())),
        );
        if source == "src/pages.rs" {
            mapped.extend(
                text.split("\"[")
                    .skip(1)
                    .filter_map(|rest| Some(rest.split_once("]: ")?.0.to_owned())),
            );
        }
    }
    (included, mapped)
}

#[test]
fn every_link_between_pages_leads_to_a_module_in_the_documentation_of_the_crate() {
    let (included, mapped) = of_rustdoc();
    let mut wrong = Vec::new();
    for page in &included {
        for (label, target) in links(&read(page)).defined {
            let inside = resolve(page, &target).is_some();
            // The programs are files: all their links lead to one module.
            if inside && !mapped.contains(&label) {
                wrong.push(format!("src/pages.rs does not map [{label}], which {page} defines"));
            }
        }
        for target in links(&read(page)).inline {
            // A drawing is not part of the documentation of the crate, where its text stands for it: the
            // figures are in a table beside it.
            let is_drawing = target.split('.').next_back() == Some("svg");
            if !is_drawing && resolve(page, &target).is_some_and(|(path, _)| path != *page) {
                wrong.push(format!(
                    "{page}: ({target}) is a dead link in the documentation: define a label"
                ));
            }
        }
    }
    for target in links(&read("README.md")).inline {
        if resolve("README.md", &target).is_some() {
            wrong.push(format!(
                "README.md: ({target}) is a dead link in the documentation: define a label"
            ));
        }
    }
    let front = read("src/lib.rs");
    for label in links(&read("README.md")).defined.into_keys() {
        if !front.contains(&format!("//! [{label}]: ")) {
            wrong.push(format!("src/lib.rs does not map [{label}], which README.md defines"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_page_is_in_the_book_and_in_the_documentation_and_its_snippets_are_compiled() {
    let (included, _) = of_rustdoc();
    let summary: BTreeSet<String> = links(&read("docs/SUMMARY.md"))
        .inline
        .iter()
        .filter_map(|target| Some(resolve("docs/SUMMARY.md", target)?.0))
        .collect();
    let compiled = read("tests/documents.rs");
    let mut wrong = Vec::new();
    let mut pages = Vec::new();
    files("docs", ".md", &mut pages);
    pages.retain(|page| page != "docs/SUMMARY.md" && !page.starts_with("docs/seeds/"));
    for page in &pages {
        if !summary.contains(page) {
            wrong.push(format!("docs/SUMMARY.md does not list {page}"));
        }
        if !included.contains(page) {
            wrong.push(format!("no module of src/ includes {page}"));
        }
        let text = read(page);
        // An excerpt of a program: `examples/recipes/tests/programs.rs` compares them, and the test
        // of the ported programs below.
        let excerpts = text.matches("```rust,ignore").count();
        if excerpts > 0 && !page.starts_with("docs/recipes/") && !page.starts_with("docs/porting/")
        {
            wrong.push(format!("{page} has a snippet that nobody compiles"));
        }
        if text.matches("```rust").count() > excerpts && !compiled.contains(&format!("\"{page}\""))
        {
            wrong.push(format!("tests/documents.rs does not compile the snippets of {page}"));
        }
    }
    for page in included.iter().filter(|page| !summary.contains(*page)) {
        wrong.push(format!("docs/SUMMARY.md does not list {page}"));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// A page shows the clauses of an original and of its port, without what lies between them: each line of an excerpt
/// stands in one file of the program, in any indentation.
#[test]
fn the_excerpts_of_ported_programs_stand_in_them() {
    let mut programs = Vec::new();
    files("examples/ported", ".rs", &mut programs);
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|line| line.trim().to_owned());
        lines.filter(|line| !line.is_empty() && line != "// ..").collect()
    };
    let programs: Vec<BTreeSet<String>> =
        programs.iter().map(|path| lines(&read(path)).into_iter().collect()).collect();
    let mut pages = Vec::new();
    files("docs/porting", ".md", &mut pages);
    let (mut found, mut wrong) = (0, Vec::new());
    for page in &pages {
        for excerpt in read(page).split("\n```rust,ignore\n").skip(1) {
            let excerpt = lines(excerpt.split("```").next().unwrap_or_default());
            found += 1;
            let stands = |program: &BTreeSet<_>| excerpt.iter().all(|line| program.contains(line));
            if !programs.iter().any(stands) {
                wrong.push(format!("{page}: no program has {excerpt:?}"));
            }
        }
    }
    assert!(found >= 5, "{found} excerpts were found");
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_numbered_example_is_a_step_of_the_tour() {
    let mut examples = Vec::new();
    files("examples", ".rs", &mut examples);
    let numbered = |path: &String| {
        let name = path.rsplit('/').next().unwrap_or_default();
        name.starts_with(|c: char| c.is_ascii_digit())
    };
    let tour = read("docs/tour.md") + &read("docs/tour_further.md");
    let missing: Vec<_> = examples
        .into_iter()
        .filter(numbered)
        .filter(|path| !tour.contains(&format!("\n[{path}]: ")))
        .collect();
    assert_eq!(missing, Vec::<String>::new(), "docs/tour_further.md has the further steps");
}

/// The folders of the crates whose items a program uses, and of their pages.
const DOCUMENTED: &[&str] = &[
    "src",
    "docs",
    "gen",
    "act",
    "node",
    "derive",
    "supervisor",
    "state",
    "cron",
    "io",
    "wire",
    "dist",
    "observer",
    "integrations",
];

/// Whether a path begins with a crate of the workspace that a program does not depend on by itself. It depends on
/// `krarup` and on the integrations; `krarup-wire` can be used alone, and its own pages say how, but for the module
/// that `krarup` exports.
fn names_inner_crate(file: &str, text: &str) -> bool {
    text.match_indices("krarup_").any(|(at, _)| {
        let Some((name, _)) = text[at..].split_once("::") else { return false };
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let is_own = match name {
            "krarup_axum" | "krarup_tonic" | "krarup_tower" => true,
            "krarup_wire" => file.starts_with("wire/") && !file.starts_with("wire/src/etf/"),
            _ => false,
        };
        is_name && !is_own
    })
}

/// The texts of the links of a line, which are what stands in brackets but for labels: `a` of `[a][b]` and `[a](b)`.
fn link_texts(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices('[').filter(|(at, _)| !line[..*at].ends_with(']')).filter_map(|(at, _)| {
        let (text, _) = line[at + 1..].split_once(']')?;
        Some(text)
    })
}

/// The lines of the documentation in a file that show a path which a program that depends on `krarup` cannot write: in
/// an example, and as the text of a link.
fn inner_paths(file: &str, text: &str) -> Vec<String> {
    let is_page = file.strip_suffix(".md").is_some();
    let (mut fenced, mut wrong) = (false, Vec::new());
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let doc = if is_page { Some(line) } else { doc };
        let Some(doc) = doc.map(str::trim) else {
            fenced = false;
            continue;
        };
        if doc.starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            let hidden = doc.starts_with("# ");
            if !hidden && names_inner_crate(file, doc) {
                wrong.push(format!("{file}:{number}: an example names an inner crate: {doc}"));
            }
        } else {
            let shows_path =
                |text: &&str| text.contains("crate::") || names_inner_crate(file, text);
            wrong.extend(link_texts(doc).filter(shows_path).map(|text| {
                format!("{file}:{number}: the text of a link is a path inside a crate: {text}")
            }));
        }
    }
    wrong
}

#[test]
fn the_documentation_shows_the_paths_that_a_program_can_write() {
    let mut documents = vec!["README.md".to_owned(), "CHANGELOG.md".to_owned()];
    for folder in DOCUMENTED {
        files(folder, ".rs", &mut documents);
        files(folder, ".md", &mut documents);
    }
    let wrong: Vec<_> = documents.iter().flat_map(|file| inner_paths(file, &read(file))).collect();
    assert!(documents.len() > 600, "only {} files were found", documents.len());
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_path_inside_a_crate_is_told_with_its_line() {
    let source = "/// A [`crate::Pool`], a [`Pool`](crate::Pool), a [`Pool`][crate::Pool], a [`krarup_gen::Pid`].\n\
                  /// ```\n/// # use krarup_act::Pool;\n/// use krarup::pool::Pool;\n/// use krarup_act::Actor;\n\
                  /// use krarup_axum::ByName;\n/// use krarup_wire::etf::Term;\n/// ```\nuse krarup_act::Context;\n";
    let of_links = [
        "the text of a link is a path inside a crate: `crate::Pool`",
        "the text of a link is a path inside a crate: `krarup_gen::Pid`",
    ];
    let of_example = "an example names an inner crate: use krarup_act::Actor;";
    let of_wire = "an example names an inner crate: use krarup_wire::etf::Term;";
    let mut expected = of_links.map(|text| format!("wire/src/a.rs:1: {text}")).to_vec();
    expected.push(format!("wire/src/a.rs:5: {of_example}"));
    assert_eq!(inner_paths("wire/src/a.rs", source), expected);
    assert_eq!(
        inner_paths("io/src/a.rs", source).last(),
        Some(&format!("io/src/a.rs:7: {of_wire}"))
    );
    assert_eq!(
        inner_paths("a.md", "```sh\nkrarup_up 1\n```\nkrarup_act::Pool\n"),
        Vec::<String>::new()
    );
}

/// The values of an attribute in a page of HTML.
fn values<'a>(html: &'a str, attribute: &str) -> Vec<&'a str> {
    let opening = format!(" {attribute}=\"");
    html.split(&opening as &str).skip(1).filter_map(|rest| Some(rest.split_once('"')?.0)).collect()
}

/// The links of a built book that lead nowhere, and how many there are in all.
fn broken_in_book(book: &Path) -> (usize, Vec<String>) {
    let mut pages = BTreeMap::new();
    let mut folders = vec![book.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "html") {
                let html = fs::read_to_string(&path).unwrap();
                pages.insert(path.strip_prefix(book).unwrap().to_str().unwrap().to_owned(), html);
            }
        }
    }
    let (mut count, mut wrong) = (0, BTreeSet::new());
    for (page, html) in &pages {
        // It is shown for any address, and its links lead from the root of the site.
        if page == "404.html" {
            continue;
        }
        for target in values(html, "href") {
            let Some((path, heading)) = resolve(page, target) else { continue };
            let path = path.trim_end_matches('/').to_owned();
            count += 1;
            let there = book.join(&path).is_file() || book.join(&path).join("index.html").is_file();
            let html = pages.get(&path);
            let heading = heading.filter(|heading| !heading.is_empty());
            if !there {
                wrong.insert(format!("{page}: {target}"));
            } else if let (Some(html), Some(heading)) = (html, heading)
                && !values(html, "id").contains(&heading.as_str())
            {
                wrong.insert(format!("{page}: {target} has no such heading"));
            }
        }
    }
    (count, wrong.into_iter().collect())
}

/// `.ci/book` builds the book and names its folder.
#[test]
fn the_links_of_the_built_book_hold() {
    let Some(book) = std::env::var_os("KRARUP_BOOK") else {
        println!("no KRARUP_BOOK: the links of the built book are looked at by `.ci/run book`");
        return;
    };
    let (count, wrong) = broken_in_book(Path::new(&book));
    assert!(count > 1_000, "only {count} links were found");
    println!("{count} links hold");
    assert_eq!(wrong, Vec::<String>::new());
}

/// The text of the documentation of a source file: a line that is no documentation ends a text.
fn documentation(source: &str) -> String {
    let lines = source.lines().map(|line| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).unwrap_or("|")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether a word has the form of a rule's id: `X5`, `Zmsg13`.
fn is_id(word: &str) -> bool {
    let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let (first, further) = name.split_at(name.len().min(1));
    let is_name = match first {
        "Z" => !further.is_empty() && further.chars().all(|c| c.is_ascii_lowercase()),
        _ => further.is_empty() && first.chars().all(|c| c.is_ascii_uppercase()),
    };
    !first.is_empty() && is_name && name.len() < word.len() && !word[name.len()..].starts_with('0')
}

/// The ids that `docs/rule_links.html` makes links of: those behind "rule" and "rules", in lists too.
fn cited(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let word = word.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        if !["rule", "rules", "Rule", "Rules"].contains(&word) {
            continue;
        }
        while let Some(next) = words.peek() {
            let (id, mark) =
                next.split_at(next.find(|c: char| !c.is_alphanumeric()).unwrap_or(next.len()));
            if !is_id(id) {
                break;
            }
            found.push(id.to_owned());
            words.next();
            let joins = |word: &&str| ["and", "or", "to"].contains(word);
            if mark == "," || mark.is_empty() && words.peek().is_some_and(joins) {
                words.next_if(joins);
            } else {
                break;
            }
        }
    }
    found
}

#[test]
fn the_ids_behind_the_word_rule_are_found() {
    let cases: [(&str, &[&str]); 6] = [
        ("again (rule X5). Rules M6, Zmsg13 and L4 hold", &["X5", "M6", "Zmsg13", "L4"]),
        ("(rules R1, R6; seeds M12, M13)", &["R1", "R6"]),
        ("by rule\n A1 to A3, or rule B2,C3", &["A1", "A3", "B2"]),
        ("rules M1, M2, and the M3", &["M1", "M2"]),
        ("rule V-21, rule Z3, rule M, rule M0, rule Mx1", &[]),
        ("ruler M1, rule of M1, the rule. M1", &[]),
    ];
    for (text, ids) in cases {
        assert_eq!(cited(text), ids, "{text}");
    }
    assert_eq!(documentation("/// a rule\n/// X5\nfn x() {}\n//! b"), " a rule\n X5\n|\n b");
}

/// The folders of the packages that are published, but the root.
fn published() -> Vec<String> {
    let workspace = read("Cargo.toml");
    let (_, members) = workspace.split_once("members = [").unwrap();
    let (members, _) = members.split_once(']').unwrap();
    let folders = members.split('"').skip(1).step_by(2).map(str::to_owned);
    folders.filter(|it| !read(&format!("{it}/Cargo.toml")).contains("\npublish = false")).collect()
}

#[test]
fn each_rule_that_the_documentation_cites_is_in_the_contract_and_becomes_a_link() {
    let rules = anchors(&read("docs/semantics.md"));
    let args = |path: &str| format!("\nrustdoc-args = [\"--html-in-header\", \"{path}\"]\n");
    let script = read("docs/rule_links.html");
    let (mut count, mut wrong) = (0, Vec::new());
    let mut look = |path: &str, text: &str| {
        let ids = cited(text);
        count += ids.len();
        for id in ids.iter().filter(|id| !rules.contains(&id.to_lowercase())) {
            wrong.push(format!("{path}: there is no rule {id}"));
        }
        !ids.is_empty()
    };
    for page in of_rustdoc().0 {
        look(&page, &prose(&read(&page)).join("\n"));
    }
    let mut unwired = Vec::new();
    for folder in published() {
        let mut sources = Vec::new();
        files(&folder, ".rs", &mut sources);
        sources.retain(|path| path.starts_with(&format!("{folder}/src/")));
        let cites =
            sources.iter().filter(|path| look(path, &documentation(&read(path)))).count() > 0;
        let header = root().join(&folder).join("rule_links.html");
        let is_there = fs::read_to_string(header).is_ok_and(|text| text == script);
        let is_told = read(&format!("{folder}/Cargo.toml")).contains(&args("rule_links.html"));
        if cites && !(is_there && is_told) {
            unwired.push(folder);
        }
    }
    assert!(count > 1_000, "only {count} rules are cited");
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(
        unwired,
        Vec::<String>::new(),
        "a symlink to docs/rule_links.html, and `rustdoc-args`"
    );
    let front = read("Cargo.toml");
    assert!(
        front.contains(&args("docs/rule_links.html"))
            && front.contains("\"/docs/rule_links.html\"")
    );
}
