//! The copy of the workspace in which faults are planted.

use crate::list::{PlantedFault, SourceChange};
use crate::weave::{Number, Region, weave};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A copy of all files that the repository contains or would contain.
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum TreeError {
    #[error("cannot list the files of the repository: {0}")]
    Git(String),
    #[error("cannot copy {path}: {source}")]
    Copy { path: String, source: io::Error },
}

/// The lines of each file that hold faults.
pub(crate) type Regions = BTreeMap<String, Vec<Region>>;

/// The crates that contain the switch: `krarup-gen` for all that depend on it, and those that do not.
const WITH_SWITCH: [&str; 5] =
    ["gen", "wire", "integrations/axum", "integrations/tonic", "integrations/tower"];

/// The source of the function that returns whether a fault is on.
const SWITCH: &str = r#"//! The fault that is on: its number is in the environment.

use std::sync::OnceLock;

/// Whether this fault is on.
pub fn on(number: usize) -> bool {
    static ON: OnceLock<usize> = OnceLock::new();
    let on = ON.get_or_init(|| {
        std::env::var("KRARUP_FAULT").ok().and_then(|text| text.parse().ok()).unwrap_or(0)
    });
    *on == number
}
"#;

impl Tree {
    /// Copies the files that have changed since the last run, so that little is rebuilt.
    pub(crate) fn copy(from: &Path, to: &Path) -> Result<Self, TreeError> {
        let listed = Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
            .current_dir(from)
            .output()
            .map_err(|error| TreeError::Git(error.to_string()))?;
        if !listed.status.success() {
            return Err(TreeError::Git(String::from_utf8_lossy(&listed.stderr).into_owned()));
        }
        let files: BTreeSet<PathBuf> = String::from_utf8_lossy(&listed.stdout)
            .split('\0')
            .filter(|name| !name.is_empty())
            .map(PathBuf::from)
            .filter(|name| from.join(name).is_file())
            .collect();
        let tree = Tree { root: to.to_owned() };
        tree.remove_others(&files, to)?;
        for file in &files {
            let bytes = fs::read(from.join(file)).map_err(|source| failed(file, source))?;
            tree.write(file, &bytes)?;
        }
        Ok(tree)
    }

    /// Removes files that are no longer in the repository.
    fn remove_others(&self, files: &BTreeSet<PathBuf>, below: &Path) -> Result<(), TreeError> {
        let Ok(entries) = fs::read_dir(below) else { return Ok(()) };
        for entry in entries {
            let path = entry.map_err(|source| failed(below, source))?.path();
            if path.is_dir() {
                self.remove_others(files, &path)?;
            } else if path.strip_prefix(&self.root).is_ok_and(|name| !files.contains(name)) {
                fs::remove_file(&path).map_err(|source| failed(&path, source))?;
            }
        }
        Ok(())
    }

    /// Writes a file unless it is unchanged: its modification time decides whether it is
    /// rebuilt.
    fn write(&self, file: &Path, bytes: &[u8]) -> Result<(), TreeError> {
        let path = self.root.join(file);
        if fs::read(&path).is_ok_and(|there| there == bytes) {
            return Ok(());
        }
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(&self.root))?;
            fs::write(&path, bytes)
        };
        write().map_err(|source| failed(&path, source))
    }

    pub(crate) fn read(&self, file: &str) -> Result<String, TreeError> {
        let path = self.root.join(file);
        fs::read_to_string(&path).map_err(|source| failed(&path, source))
    }

    pub(crate) fn put(&self, file: &str, text: &str) -> Result<(), TreeError> {
        self.write(Path::new(file), text.as_bytes())
    }
}

fn failed(path: &Path, source: io::Error) -> TreeError {
    TreeError::Copy { path: path.display().to_string(), source }
}

/// The original sources of the files that faults change.
pub(crate) struct Originals(BTreeMap<String, String>);

impl Originals {
    pub(crate) fn of(tree: &Tree, faults: &[PlantedFault]) -> Self {
        let files: BTreeSet<&String> = faults.iter().map(|fault| &fault.file).collect();
        let texts =
            files.into_iter().filter_map(|file| Some((file.clone(), tree.read(file).ok()?)));
        Originals(texts.collect())
    }

    /// The source with this fault. The error says why it cannot be made.
    pub(crate) fn with(&self, fault: &PlantedFault) -> Result<String, String> {
        let original =
            self.0.get(&fault.file).ok_or_else(|| format!("there is no {}", fault.file))?;
        let text = match &fault.change {
            SourceChange::Texts(edits) => edited(original, edits, &fault.file)?,
            SourceChange::Range(range, new) => {
                let (Some(before), Some(after)) =
                    (original.get(..range.start), original.get(range.end..))
                else {
                    return Err(format!("{range:?} is no range of {}", fault.file));
                };
                format!("{before}{new}{after}")
            }
        };
        if text == *original { Err("it changes nothing".to_owned()) } else { Ok(text) }
    }

    /// Writes all these faults into the tree, each behind its number. Returns their lines, and
    /// those that cannot be switched.
    pub(crate) fn weave_in(
        &self,
        tree: &Tree,
        faults: &BTreeMap<Number, (&PlantedFault, String)>,
    ) -> Result<(Regions, Vec<(Number, String)>), TreeError> {
        let (mut regions, mut alone) = (Regions::new(), Vec::new());
        for (file, original) in &self.0 {
            let faulty: Vec<(Number, String)> = faults
                .iter()
                .filter(|(_, (fault, _))| fault.file == *file)
                .map(|(number, (_, text))| (*number, text.clone()))
                .collect();
            let has_own = WITH_SWITCH.iter().any(|krate| file.starts_with(&format!("{krate}/")));
            let switch = if has_own { "crate::fault::on" } else { "krarup_gen::fault::on" };
            let woven = weave(original, &faulty, switch);
            tree.put(file, &woven.text)?;
            regions.insert(file.clone(), woven.regions);
            alone.extend(woven.alone);
        }
        for krate in WITH_SWITCH {
            tree.put(&format!("{krate}/src/fault.rs"), SWITCH)?;
            let name = format!("{krate}/src/lib.rs");
            let library = tree.read(&name)?;
            if !library.contains("pub mod fault;") {
                tree.put(&name, &format!("{library}\npub mod fault;\n"))?;
            }
        }
        Ok((regions, alone))
    }
}

/// The text with each edit made. An edit must fit exactly one place: if it fitted two, adding a
/// third before them would make it change the wrong one.
fn edited(original: &str, edits: &[(String, String)], file: &str) -> Result<String, String> {
    let mut text = original.to_owned();
    for (old, new) in edits {
        let line = old.lines().next().unwrap_or_default().trim();
        match text.matches(old.as_str()).count() {
            0 => return Err(format!("\"{line}\" is no longer in {file}")),
            1 => text = text.replacen(old.as_str(), new, 1),
            count => return Err(format!("\"{line}\" is in {file} {count} times")),
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    #[test]
    fn an_edit_fits_one_place_or_none_is_made() {
        let edit = |old: &str| edited("a b a", &[(old.to_owned(), "c".to_owned())], "x.rs");
        assert_eq!(edit("b"), Ok("a c a".to_owned()));
        assert!(edit("a").unwrap_err().contains("2 times"));
        assert!(edit("d").unwrap_err().contains("no longer in x.rs"));
    }

    #[test]
    fn every_fault_of_the_lists_fits_its_file() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let faults = crate::list::read(&root.join("faults/list")).unwrap();
        let misfits: Vec<String> = faults
            .iter()
            .filter_map(|fault| {
                let SourceChange::Texts(edits) = &fault.change else { return None };
                let text = fs::read_to_string(root.join(&fault.file)).unwrap_or_default();
                let misfit = edited(&text, edits, &fault.file).err()?;
                Some(format!("{}: {misfit}", fault.name))
            })
            .collect();
        assert!(faults.len() > 2000 && misfits.is_empty(), "{misfits:#?}");
    }

    /// Adds the names of the functions in the sources below this folder, each behind that of its file, and the names of
    /// the files, each behind that of its folder.
    fn names_below(folder: &Path, names: &mut String) {
        let stem_of = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
        let within = stem_of(folder);
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let stem = stem_of(&entry);
            if entry.is_dir() && stem != "target" && !stem.starts_with('.') {
                names_below(&entry, names);
            } else if entry.extension().is_some_and(|extension| extension == "rs") {
                writeln!(names, "{within}::{stem}").unwrap();
                for text in fs::read_to_string(&entry).unwrap().split("fn ").skip(1) {
                    let end = text.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(0);
                    writeln!(names, "{stem}::{}", &text[..end]).unwrap();
                }
            }
        }
    }

    #[test]
    fn every_catcher_of_the_lists_names_a_test_that_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let faults = crate::list::read(&root.join("faults/list")).unwrap();
        let mut names = String::new();
        names_below(root, &mut names);
        let is_there = |filter: &str| {
            let parts: Vec<_> = filter.split("::").collect();
            names.contains(&parts[parts.len().saturating_sub(2)..].join("::"))
        };
        let missing: Vec<String> = faults
            .iter()
            .flat_map(|fault| fault.catchers.iter().map(move |catcher| (fault, &catcher.filter)))
            .filter(|(_, filter)| !is_there(filter))
            .map(|(fault, filter)| format!("{}: no test is called {filter:?}", fault.name))
            .collect();
        assert!(missing.is_empty(), "{missing:#?}");
    }
}
