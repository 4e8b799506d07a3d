//! The file of a failing seed, which an exploration writes if its environment asks for it.
//!
//! ```text
//! KRARUP_SEED_FILES=/tmp/seeds cargo test
//!                                                              a seed fails
//! /tmp/seeds/shop-orders_are_paid-seed-7.json   <─────────────  written by `explore`
//! krarup view /tmp/seeds/shop-orders_are_paid-seed-7.json       the page, offline
//! ```
//!
//! A variable, not a setting in code: a test that failed elsewhere is run again unchanged. While it
//! is set a simulation that is explored keeps more steps, so that the file has the run from its
//! start.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fmt, fs, io, thread};

/// The variable with the folder.
const VARIABLE: &str = "KRARUP_SEED_FILES";
/// How many steps a simulation keeps for a file: some 10 MB.
pub(crate) const FILE_STEPS: usize = 1 << 16;
/// The most characters of a test's name in the name of a file.
const MOST_NAME: usize = 100;

/// The folder in which files are wanted, if they are.
pub(crate) fn wanted() -> Option<PathBuf> {
    env::var_os(VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// A file that was written, or not.
#[derive(Clone, Debug)]
pub(crate) struct SeedFile {
    path: PathBuf,
    failure: Option<Arc<io::Error>>,
}

impl SeedFile {
    /// Writes the file of a seed. What fails is told with the seed: it must not hide it.
    pub(crate) fn write(folder: &Path, seed: u64, text: &str) -> Self {
        // A test runs on a thread of its name.
        let thread = thread::current();
        let path = folder.join(file_name(thread.name().unwrap_or("main"), seed));
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, text));
        SeedFile { path, failure: written.err().map(Arc::new) }
    }

    /// Its path, if it was written.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.failure.is_none().then_some(&self.path)
    }
}

impl fmt::Display for SeedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.failure {
            None => write!(f, "krarup view {} shows it step by step", self.path.display()),
            Some(error) => write!(f, "its file {} was not written: {error}", self.path.display()),
        }
    }
}

fn file_name(test: &str, seed: u64) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let test = test.replace("::", "-");
    let test: String =
        test.chars().take(MOST_NAME).map(|it| if plain(it) { it } else { '-' }).collect();
    format!("{test}-seed-{seed}.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v83_a_file_has_the_name_of_its_test_and_its_seed() {
        assert_eq!(file_name("shop::orders_are_paid", 7), "shop-orders_are_paid-seed-7.json");
        assert_eq!(file_name("../a/b\\\u{0}é", 0), "---a-b----seed-0.json");
        assert_eq!(file_name(&"x".repeat(300), 1).len(), MOST_NAME + "-seed-1.json".len());
    }

    #[test]
    fn v83_a_file_that_cannot_be_written_is_told() {
        let here = env::current_exe().unwrap();
        let file = SeedFile::write(&here.join("below"), 7, "{}");
        assert_eq!(file.path(), None);
        assert!(file.to_string().contains("seed-7.json was not written: "), "{file}");
    }
}
