//! Replays recorded runs of a real Erlang/OTP, and compares them line by line.
//!
//! ```text
//! cargo run --release --package oracle -- FILE...
//! ```
//!
//! A file holds scenarios for supervisors, plain processes or state machines, or restart windows, with
//! what OTP did in each step. Every scenario runs here in a simulation. For each one that
//! differs, one line is printed with what OTP did and what happened here, or with the line
//! that does not belong to a scenario. The last line counts the scenarios that passed and
//! failed, and the exit code says whether any failed.
//!
//! One difference is intended and left out of the comparison: `terminate` also runs in a
//! worker that does not trap exits when its supervisor ends it (rule D5). In OTP such a
//! worker ends without it.

mod check;
mod machine;
mod order;
mod process;
mod record;
mod requests;
mod scenario;
mod supervision;
mod terms;
mod window;
mod workers;

use crate::scenario::Scenario;
use krarup::testing::Simulation;
use std::panic::{RefUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// The seed for the order in which processes run, unless `ORACLE_SEED` is set in the
/// environment. The scenarios must pass with any seed.
const SEED: u64 = 1;

fn main() -> ExitCode {
    // Crashes are part of the scenarios, so they print nothing.
    std::panic::set_hook(Box::new(|_| {}));
    let seed = std::env::var("ORACLE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(SEED);
    let (mut passed, mut failed) = (0_usize, 0_usize);
    let paths: Vec<String> = std::env::args().skip(1).collect();
    if paths.is_empty() {
        println!("usage: oracle FILE...");
        return ExitCode::FAILURE;
    }
    for path in paths {
        let outcome = match std::fs::read_to_string(&path) {
            Ok(text) => replay(&text, seed),
            Err(error) => Err(error.to_string()),
        };
        match outcome {
            Ok(Replay { passed: ok, failures }) => {
                passed += ok;
                failed += failures.len();
                failures.iter().for_each(|text| println!("{text}"));
            }
            Err(fault) => {
                println!("{path}: {fault}");
                failed += 1;
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The outcome of the scenarios and windows of one file.
struct Replay {
    passed: usize,
    failures: Vec<String>,
}

/// Runs everything in a file. Returns an error if it is not a scenario file.
fn replay(text: &str, seed: u64) -> Result<Replay, String> {
    let (scenarios, others) = scenario::split(text)?;
    let (mut passed, mut failures) = (0, Vec::new());
    for scenario in &scenarios {
        let checked = if scenario.is_machine() {
            machine::table::parse(&scenario.lines).map(drop)
        } else {
            check::check(scenario)
        };
        if let Err(fault) = checked {
            failures.push(format!("{}: {fault}", scenario.name));
            continue;
        }
        match runs(scenario, seed).iter().find_map(|got| difference(&scenario.lines, got)) {
            None => passed += 1,
            Some(text) => failures.push(format!("{}: {text}", scenario.name)),
        }
    }
    for line in &others {
        match window::replay(line, seed) {
            Some(got) if got == *line => passed += 1,
            Some(got) => failures.push(format!("{line}: got {got}")),
            None => failures.push(format!("{line}: neither a scenario nor a window")),
        }
    }
    Ok(Replay { passed, failures })
}

/// Returns the lines of a scenario as they come out here. Machines and trees run with
/// ordinary turns and with turns of one message: a machine under several seeds (rule F1), a
/// tree with workers that are actors, and with state machines in their place (rule F17).
fn runs(scenario: &Scenario, seed: u64) -> Vec<Vec<String>> {
    // A bug of this program fails the scenario, not the ones after it.
    let run = |replay: &(dyn Fn() -> Vec<String> + RefUnwindSafe)| {
        catch_unwind(replay).unwrap_or_else(|_| vec!["the replay itself failed".to_owned()])
    };
    if scenario.is_machine() {
        let replay = machine::replay::replay;
        let both = |seed: u64| {
            let ordinary = run(&|| replay(scenario, Simulation::new(seed)));
            [ordinary, run(&|| replay(scenario, Simulation::with_throughput(seed, 1)))]
        };
        (seed..seed + 3).flat_map(both).collect()
    } else if scenario.is_tree() {
        let replay = supervision::replay;
        let both = |machines: bool| {
            let ordinary = run(&|| replay(scenario, Simulation::new(seed), machines));
            [ordinary, run(&|| replay(scenario, Simulation::with_throughput(seed, 1), machines))]
        };
        [false, true].into_iter().flat_map(both).collect()
    } else {
        // A process does the acts of a step in one turn, which has to be an ordinary one.
        vec![run(&|| process::replay(scenario, Simulation::new(seed)))]
    }
}

/// Returns a description of the first line in which the two differ.
fn difference(expected: &[String], got: &[String]) -> Option<String> {
    let lines = expected.len().max(got.len());
    let nothing = "nothing".to_owned();
    let at = (0..lines).find(|&line| expected.get(line) != got.get(line))?;
    let step = expected[..at.min(expected.len())].iter().rev().find(|line| !line.starts_with("= "));
    Some(format!(
        "after `{}` expected `{}` got `{}`",
        step.unwrap_or(&nothing),
        expected.get(at).unwrap_or(&nothing),
        got.get(at).unwrap_or(&nothing)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn f1_every_scenario_matches_the_recording_of_otp() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle");
        let mut failures = Vec::new();
        let mut passed = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "txt") {
                let text = std::fs::read_to_string(&path).unwrap();
                for seed in [SEED, SEED + 1] {
                    let file = replay(&text, seed).unwrap();
                    passed += file.passed;
                    failures.extend(file.failures);
                }
            }
        }
        std::panic::set_hook(hook);
        assert!(failures.is_empty(), "{}", failures.join("\n"));
        assert!(passed > 1200, "only {passed} scenarios were replayed");
    }
}
