//! Builds the test programs, once for all faults.

use crate::list::Suite;
use crate::tree::{Regions, Tree};
use crate::weave::Number;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The test programs of the suites.
pub(crate) type Programs = BTreeMap<Suite, PathBuf>;

#[derive(Debug, thiserror::Error)]
pub(crate) enum BuildError {
    #[error("cannot run cargo: {0}")]
    Cargo(std::io::Error),
    #[error("the copy does not build, and the error is in no fault:\n{0}")]
    Elsewhere(String),
    #[error("no program was built for {0:?}")]
    NoProgram(Suite),
}

/// What a build is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuildGoal {
    /// The test programs.
    Programs,
    /// To see what compiles. Nothing is linked or run, so that each of many faults can be looked at by itself.
    Check,
}

/// The outcome of a build.
pub(crate) enum BuildOutcome {
    Built(Programs),
    /// Faults that do not compile beside the others, or at all, each with the compiler's
    /// message.
    Broken(BTreeMap<Number, String>),
}

/// Builds the suites in the tree. A check has no programs.
pub(crate) fn build(
    tree: &Tree,
    target: &Path,
    suites: &BTreeSet<Suite>,
    regions: &Regions,
    goal: BuildGoal,
) -> Result<BuildOutcome, BuildError> {
    let (models, plain): (Vec<&Suite>, Vec<&Suite>) =
        suites.iter().partition(|suite| suite.is_under_loom());
    let mut programs = Programs::new();
    for (suites, under_loom) in [(models, true), (plain, false)] {
        if suites.is_empty() {
            continue;
        }
        match run(tree, target, &suites, under_loom, regions, goal)? {
            BuildOutcome::Built(built) => programs.extend(built),
            broken @ BuildOutcome::Broken(_) => return Ok(broken),
        }
    }
    if goal == BuildGoal::Check {
        return Ok(BuildOutcome::Built(programs));
    }
    match suites.iter().find(|suite| !programs.contains_key(suite)) {
        Some(suite) => Err(BuildError::NoProgram(suite.clone())),
        None => Ok(BuildOutcome::Built(programs)),
    }
}

fn run(
    tree: &Tree,
    target: &Path,
    suites: &[&Suite],
    under_loom: bool,
    regions: &Regions,
    goal: BuildGoal,
) -> Result<BuildOutcome, BuildError> {
    let mut cargo = Command::new("cargo");
    match goal {
        BuildGoal::Programs => cargo.args(["test", "--no-run"]),
        BuildGoal::Check if under_loom => cargo.arg("check"),
        BuildGoal::Check => cargo.args(["check", "--profile", "test"]),
    };
    cargo.args(["--message-format", "json"]).current_dir(&tree.root);
    let mut words = BTreeSet::new();
    for suite in suites {
        match suite {
            Suite::Models { package } | Suite::Lib { package } => {
                words.insert(("--package", package.as_str()));
                words.insert(("--lib", ""));
            }
            Suite::File { package, file } => {
                words.insert(("--package", package.as_str()));
                words.insert(("--test", file.as_str()));
            }
        }
    }
    for (flag, value) in words {
        cargo.arg(flag);
        if !value.is_empty() {
            cargo.arg(value);
        }
    }
    for (package, feature) in WITH_FEATURE {
        if !under_loom && suites.iter().any(|suite| suite.package() == package) {
            cargo.args(["--features", feature]);
        }
    }
    if under_loom {
        cargo.args(["--profile", "models"]).env("RUSTFLAGS", "--cfg loom");
    }
    // Not the target folder of the workspace: cargo would take a program of the copy for one of
    // the original.
    let folder = target.join(if under_loom { "loom" } else { "plain" });
    let output = cargo
        .env("CARGO_TARGET_DIR", folder)
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_PROFILE_MODELS_DEBUG", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(BuildError::Cargo)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let messages: Vec<Value> =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    if output.status.success() {
        return Ok(BuildOutcome::Built(programs(&messages, tree, suites)));
    }
    broken(&messages, regions).map(BuildOutcome::Broken)
}

/// The crates of which some tests need a feature that no other crate of a small build turns on.
const WITH_FEATURE: [(&str, &str); 3] = [
    ("krarup-act", "krarup-act/serde"),
    ("krarup-axum", "krarup-axum/http2"),
    ("krarup-node", "krarup-node/signals"),
];

/// The programs that cargo's messages name.
fn programs(messages: &[Value], tree: &Tree, suites: &[&Suite]) -> Programs {
    let mut programs = Programs::new();
    for message in messages {
        let (Some(program), Some(manifest)) =
            (message["executable"].as_str(), message["manifest_path"].as_str())
        else {
            continue;
        };
        let folder = Path::new(manifest).parent().unwrap_or(Path::new(""));
        let folder = folder.strip_prefix(&tree.root).unwrap_or(folder);
        let kind = message["target"]["kind"][0].as_str().unwrap_or_default();
        let name = message["target"]["name"].as_str().unwrap_or_default();
        let suite = suites.iter().find(|suite| match suite {
            Suite::Models { package } | Suite::Lib { package } => {
                matches!(kind, "lib" | "proc-macro") && Path::new(folder_of(package)) == folder
            }
            Suite::File { package, file } => {
                kind == "test" && name == file && Path::new(folder_of(package)) == folder
            }
        });
        if let Some(suite) = suite {
            programs.insert((*suite).clone(), PathBuf::from(program));
        }
    }
    programs
}

/// The folder of a crate of the workspace.
pub(crate) fn folder_of(package: &str) -> &str {
    match package {
        "krarup-axum" => "integrations/axum",
        "krarup-tonic" => "integrations/tonic",
        "krarup-tower" => "integrations/tower",
        _ => package.strip_prefix("krarup").unwrap_or(package).trim_start_matches('-'),
    }
}

/// The faults in whose bodies the compiler found an error.
fn broken(messages: &[Value], regions: &Regions) -> Result<BTreeMap<Number, String>, BuildError> {
    let mut broken = BTreeMap::new();
    let mut elsewhere = String::new();
    for message in messages.iter().filter_map(|message| message.get("message")) {
        if message["level"] != "error" {
            continue;
        }
        let spans = message["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
        if spans.is_empty() {
            continue;
        }
        let faults: BTreeSet<Number> = spans.iter().flat_map(|span| at(span, regions)).collect();
        let said = message["rendered"].as_str().unwrap_or_default();
        if faults.is_empty() {
            elsewhere.push_str(said);
        }
        for number in faults {
            broken
                .entry(number)
                .or_insert_with(|| said.lines().take(6).collect::<Vec<_>>().join("\n"));
        }
    }
    if broken.is_empty() { Err(BuildError::Elsewhere(elsewhere)) } else { Ok(broken) }
}

/// The faults whose lines contain this place.
fn at(span: &Value, regions: &Regions) -> Vec<Number> {
    let file = span["file_name"].as_str().unwrap_or_default();
    let line = span["line_start"].as_u64().and_then(|line| usize::try_from(line).ok()).unwrap_or(0);
    let Some(regions) = regions.get(file) else { return Vec::new() };
    regions
        .iter()
        .filter(|region| region.lines.contains(&line))
        .map(|region| region.number)
        .collect()
}
