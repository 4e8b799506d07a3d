//! Plants faults in a copy of the workspace and checks that each is caught by the test that is
//! named for it.
//!
//! ```text
//!   faults/list/*.txt ──► list ──► weave: one copy of the sources with every fault in it,
//!                               each behind its number ──► one build for each set of tests
//!                                                               │
//!   report ◄── verdicts ◄── the named test, once for each fault ◄┘
//!                           (KRARUP_FAULT=number)
//! ```
//!
//! A fault is a change of text. It is woven in as a second body of the function that it changes
//! ([`weave`]), so a fault costs one test run and no build. A fault that is not within a body (a
//! constant, a type) or does not compile beside the others is built alone.
//!
//! ```sh
//! .ci/faults                      # all of faults/list
//! .ci/faults 'wakes nobody'       # those with this in their name, file or area
//! .ci/faults --check              # only checks that all of them fit their files and compile
//! .ci/faults --sample 20          # this many, selected by the day (--seed selects others)
//! .ci/faults --from FILE --by 'lib krarup-act, test pool'  # another list, and its catchers
//! .ci/faults --mutants FILE --by 'lib krarup-supervisor, test krarup-supervisor/restarts'
//! ```
//!
//! The last command plants what `cargo mutants --list --json` prints.

#![forbid(unsafe_code)]

mod build;
mod flags;
mod list;
mod mutants;
mod report;
mod run;
mod sample;
mod tree;
mod weave;

use flags::FaultFlags;
use list::PlantedFault;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The errors that end the tool, other than faults that were not caught.
#[derive(Debug, thiserror::Error)]
enum FaultsError {
    #[error(transparent)]
    Flags(#[from] lexopt::Error),
    #[error(transparent)]
    List(#[from] list::ListError),
    #[error(transparent)]
    Mutants(#[from] mutants::MutantsError),
    #[error("--by: {0}")]
    By(String),
    #[error(transparent)]
    Tree(#[from] tree::TreeError),
    #[error(transparent)]
    Build(#[from] build::BuildError),
    #[error("no fault has {0:?} in its name, file or area")]
    NoneSuch(String),
}

fn main() -> ExitCode {
    match plant() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(trouble) => {
            eprintln!("faults: {trouble}");
            ExitCode::from(2)
        }
    }
}

/// Plants the faults. Returns whether every fault was caught.
fn plant() -> Result<bool, FaultsError> {
    let flags = FaultFlags::parse()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("target"), PathBuf::from)
        .join("faults");
    let mut all = match &flags.mutants {
        Some(file) => mutants::read(file, root)?,
        None => list::read(flags.from.as_deref().unwrap_or(&root.join("faults/list")))?,
    };
    if flags.mutants.is_some() || !flags.by.is_empty() {
        let catchers = list::catchers(&flags.by).map_err(FaultsError::By)?;
        all.iter_mut().for_each(|fault| fault.catchers.clone_from(&catchers));
    }
    let wanted = |fault: &PlantedFault| {
        [fault.name.as_str(), &fault.file, fault.area]
            .iter()
            .any(|text| text.contains(&flags.filter))
    };
    let mut chosen: Vec<PlantedFault> = all.into_iter().filter(wanted).collect();
    if chosen.is_empty() {
        return Err(FaultsError::NoneSuch(flags.filter));
    }
    if let Some(count) = flags.sample {
        chosen = sample::draw(chosen, count, &flags.seed);
    }
    if flags.list {
        chosen.iter().for_each(|fault| println!("{}: {} ({})", fault.area, fault.name, fault.file));
        return Ok(true);
    }
    let copy = tree::Tree::copy(root, &target.join("tree"))?;
    let verdicts = run::all(&copy, &target, &chosen, &flags)?;
    Ok(report::print(&chosen, &verdicts))
}
