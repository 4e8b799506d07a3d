//! Runs the test that is named for each fault, with the fault switched on.

use crate::FaultsError;
use crate::build::{BuildError, BuildGoal, BuildOutcome, Programs, build, folder_of};
use crate::flags::FaultFlags;
use crate::list::{Catcher, PlantedFault, SourceChange, Suite};
use crate::report::{FaultVerdict, tell};
use crate::tree::{Originals, Regions, Tree};
use crate::weave::Number;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The most builds, each without the faults that broke the one before.
const ROUNDS: usize = 12;

/// How many times longer a test may take with a fault than without.
const LONGER: u32 = 10;

/// The interval at which a running test is checked.
const LOOK: Duration = Duration::from_millis(20);

/// The results of all faults, in order.
pub(crate) fn all(
    tree: &Tree,
    target: &Path,
    faults: &[PlantedFault],
    flags: &FaultFlags,
) -> Result<Vec<FaultVerdict>, FaultsError> {
    let originals = Originals::of(tree, faults);
    let mut verdicts: BTreeMap<Number, FaultVerdict> = BTreeMap::new();
    let mut together: BTreeMap<Number, (&PlantedFault, String)> = BTreeMap::new();
    for (index, fault) in faults.iter().enumerate() {
        match originals.with(fault) {
            Ok(text) => {
                together.insert(index + 1, (fault, text));
            }
            Err(why) => {
                verdicts.insert(index + 1, FaultVerdict::Stale(why));
            }
        }
    }

    let of_catchers = |fault: &PlantedFault| -> Vec<Suite> {
        fault.catchers.iter().map(|catcher| catcher.suite.clone()).collect()
    };
    // To see that a fault compiles, its library is enough; a program has none.
    let to_check = |fault: &PlantedFault| {
        let package = package_of(&fault.file);
        let library = tree.root.join(folder_of(&package)).join("src/lib.rs");
        if library.exists() { vec![Suite::Lib { package }] } else { of_catchers(fault) }
    };
    let suites: BTreeSet<Suite> = if flags.check {
        faults.iter().flat_map(to_check).collect()
    } else {
        faults.iter().flat_map(of_catchers).collect()
    };
    let goal = if flags.check { BuildGoal::Check } else { BuildGoal::Programs };
    let (programs, alone) = build_together(tree, target, &suites, &originals, &mut together, goal)?;
    let runner = Runner { tree, programs: &programs, flags };
    let healthy = if flags.check {
        Controls::new()
    } else {
        runner.controls(together.values().flat_map(|(fault, _)| &fault.catchers))
    };
    let numbers: Vec<Number> = together.keys().copied().collect();
    let judge = |number: &Number| {
        let fault = &faults[number - 1];
        let verdict = if flags.check {
            FaultVerdict::Fits
        } else {
            runner.run_all(&fault.catchers, *number, &healthy)
        };
        tell(fault, &verdict);
        verdict
    };
    verdicts.extend(each(flags.jobs, &numbers, judge));

    for (number, why) in alone {
        let fault = &faults[number - 1];
        if matches!(fault.change, SourceChange::Range(..)) {
            // Mutants are made without regard to types, so one that does not compile shows
            // nothing.
            verdicts.insert(number, FaultVerdict::Unviable);
            continue;
        }
        println!("alone   {}: {why}", fault.name);
        let verdict = if flags.check {
            let suites = to_check(fault).into_iter().collect();
            by_itself(tree, target, &suites, &originals, fault, flags)?
        } else {
            let kind = |suite: &&Suite| {
                fault.catchers.iter().any(|it| it.suite.is_under_loom() == suite.is_under_loom())
            };
            let suites = suites.iter().filter(kind).cloned().collect();
            by_itself(tree, target, &suites, &originals, fault, flags)?
        };
        tell(fault, &verdict);
        verdicts.insert(number, verdict);
    }
    let missing = || FaultVerdict::Stale("it was not tested".to_owned());
    Ok((1..=faults.len()).map(|number| verdicts.remove(&number).unwrap_or_else(missing)).collect())
}

/// Builds all suites with all faults that fit into one build; removes the others from
/// `together`.
fn build_together(
    tree: &Tree,
    target: &Path,
    suites: &BTreeSet<Suite>,
    originals: &Originals,
    together: &mut BTreeMap<Number, (&PlantedFault, String)>,
    goal: BuildGoal,
) -> Result<(Programs, BTreeMap<Number, String>), FaultsError> {
    let mut alone = BTreeMap::new();
    for _ in 0..ROUNDS {
        let (regions, single) = originals.weave_in(tree, together)?;
        for (number, why) in single {
            together.remove(&number);
            alone.insert(number, why);
        }
        match build(tree, target, suites, &regions, goal)? {
            BuildOutcome::Built(programs) => return Ok((programs, alone)),
            BuildOutcome::Broken(broken) => {
                for (number, why) in broken {
                    together.remove(&number);
                    alone.insert(number, why);
                }
            }
        }
    }
    Err(BuildError::Elsewhere("too many faults do not compile beside the others".to_owned()).into())
}

/// Tests a fault in a build of its own. To run it, all suites of its kind are built, because for a single
/// one cargo would build the dependencies with other features.
fn by_itself(
    tree: &Tree,
    target: &Path,
    suites: &BTreeSet<Suite>,
    originals: &Originals,
    fault: &PlantedFault,
    flags: &FaultFlags,
) -> Result<FaultVerdict, FaultsError> {
    let woven = tree.read(&fault.file)?;
    let text = match originals.with(fault) {
        Ok(text) => text,
        Err(why) => return Ok(FaultVerdict::Stale(why)),
    };
    tree.put(&fault.file, &text)?;
    let goal = if flags.check { BuildGoal::Check } else { BuildGoal::Programs };
    let verdict = match build(tree, target, suites, &Regions::new(), goal) {
        Ok(BuildOutcome::Built(_)) if flags.check => FaultVerdict::Fits,
        Ok(BuildOutcome::Built(programs)) => {
            let runner = Runner { tree, programs: &programs, flags };
            runner.run_all(&fault.catchers, 0, &Controls::new())
        }
        Ok(BuildOutcome::Broken(_)) => FaultVerdict::Stale("it does not compile".to_owned()),
        Err(BuildError::Elsewhere(said)) => {
            let first = said.lines().next().unwrap_or_default();
            FaultVerdict::Stale(format!("it does not compile: {first}"))
        }
        Err(error) => return Err(error.into()),
    };
    tree.put(&fault.file, &woven)?;
    Ok(verdict)
}

/// The result of each catcher without any fault: how long it took, or why it cannot be used.
type Controls = BTreeMap<Catcher, Result<Duration, String>>;

/// Runs `work` for each item, several at a time.
fn each<T, R>(jobs: usize, all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<(T, R)>
where
    T: Clone + Send + Sync,
    R: Send,
{
    let next = AtomicUsize::new(0);
    let one = || {
        let mut done = Vec::new();
        while let Some(item) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((item.clone(), work(item)));
        }
        done
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(one)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    })
}

/// The crate to which a source file belongs. Some lie in a folder of folders.
fn package_of(file: &str) -> String {
    match file.split_once("/src/") {
        Some((folders, _)) => {
            let folder = folders.rsplit_once('/').map_or(folders, |(_, folder)| folder);
            format!("krarup-{folder}")
        }
        None => "krarup".to_owned(),
    }
}

/// Runs tests of the built programs.
struct Runner<'a> {
    tree: &'a Tree,
    programs: &'a Programs,
    flags: &'a FaultFlags,
}

impl Runner<'_> {
    /// Runs each catcher without any fault. It may take long, because no fault makes it hang.
    fn controls<'b>(&self, catchers: impl Iterator<Item = &'b Catcher>) -> Controls {
        let catchers: Vec<&Catcher> = catchers.collect::<BTreeSet<_>>().into_iter().collect();
        let control = |catcher: &&Catcher| {
            let began = Instant::now();
            match self.run(catcher, 0, self.flags.patience * LONGER) {
                FaultVerdict::Missed | FaultVerdict::Unviable | FaultVerdict::Fits => {
                    Ok(began.elapsed())
                }
                FaultVerdict::Stale(why) => Err(why),
                FaultVerdict::Caught { by, .. } => Err(format!("{by} fails without any fault")),
            }
        };
        let controls = each(self.flags.jobs, &catchers, control);
        controls.into_iter().map(|(catcher, control)| (catcher.clone(), control)).collect()
    }

    /// Runs the catchers until one fails. Each may take several times as long as without the
    /// fault, and at least the patience of the flags.
    fn run_all(&self, catchers: &[Catcher], number: Number, controls: &Controls) -> FaultVerdict {
        for catcher in catchers {
            let patience = match controls.get(catcher) {
                Some(Err(why)) => return FaultVerdict::Stale(why.clone()),
                Some(Ok(took)) => self.flags.patience.max(*took * LONGER),
                None => self.flags.patience,
            };
            match self.run(catcher, number, patience) {
                FaultVerdict::Missed => {}
                verdict => return verdict,
            }
        }
        FaultVerdict::Missed
    }

    fn run(&self, catcher: &Catcher, number: Number, patience: Duration) -> FaultVerdict {
        let began = Instant::now();
        let said = match self.output(catcher, number, patience) {
            Ok(said) => said,
            Err(error) => return FaultVerdict::Stale(format!("the test cannot be run: {error}")),
        };
        let seconds = began.elapsed().as_secs();
        if said.passed {
            // A filter that matches no test shows nothing.
            return if said.text.contains("test result: ok. 0 passed") {
                FaultVerdict::Stale(format!("no test has {:?} in its name", catcher.filter))
            } else {
                FaultVerdict::Missed
            };
        }
        let mut failed: Vec<&str> = said.text.lines().filter_map(failed).collect();
        failed.sort_unstable();
        failed.dedup();
        let by = match (failed.as_slice(), said.hangs) {
            ([first], _) => (*first).to_owned(),
            ([first, rest @ ..], _) => format!("{first} and {} more", rest.len()),
            ([], true) => "a test that hangs".to_owned(),
            ([], false) => "an abort".to_owned(),
        };
        FaultVerdict::Caught { by, seconds }
    }

    fn output(
        &self,
        catcher: &Catcher,
        number: Number,
        patience: Duration,
    ) -> io::Result<TestOutput> {
        let Some(program) = self.programs.get(&catcher.suite) else {
            return Err(io::Error::other("it was not built"));
        };
        // A file and not a pipe: a test that prints much would block until the pipe is read.
        let log = self.tree.root.with_file_name(format!(
            "fault-{}-{:?}.log",
            std::process::id(),
            std::thread::current().id()
        ));
        let file = File::create(&log)?;
        let mut child = Command::new(program)
            .arg(&catcher.filter)
            .current_dir(self.tree.root.join(folder_of(catcher.suite.package())))
            .env("KRARUP_FAULT", number.to_string())
            .env("RUST_BACKTRACE", "0")
            .env("LOOM_MAX_PREEMPTIONS", preemptions())
            .stdin(Stdio::null())
            .stderr(file.try_clone()?)
            .stdout(file)
            .spawn()?;
        let until = Instant::now() + patience;
        let text = || io::Result::Ok(String::from_utf8_lossy(&fs::read(&log)?).into_owned());
        let (mut hangs, mut stopped) = (false, false);
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            hangs = Instant::now() >= until;
            // One failure is enough: do not wait for tests that the fault has made hang.
            stopped = hangs || text()?.lines().any(|line| failed(line).is_some());
            if stopped {
                child.kill()?;
                break child.wait()?;
            }
            std::thread::sleep(LOOK);
        };
        let text = text()?;
        fs::remove_file(&log)?;
        Ok(TestOutput { passed: status.success() && !stopped, hangs, text })
    }
}

/// A fault shows within few preemptions.
fn preemptions() -> String {
    std::env::var("LOOM_MAX_PREEMPTIONS").unwrap_or_else(|_| "2".to_owned())
}

/// The output of a test.
struct TestOutput {
    passed: bool,
    hangs: bool,
    text: String,
}

/// The name of the test, if the line reports a failure.
fn failed(line: &str) -> Option<&str> {
    let name = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
    Some(name.strip_suffix(" - should panic").unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crate_of_a_file_is_named_by_its_folder_wherever_that_lies() {
        let named =
            ["act/src/actor.rs", "integrations/tower/src/lib.rs", "src/lib.rs"].map(package_of);
        assert_eq!(named, ["krarup-act", "krarup-tower", "krarup"]);
    }

    #[test]
    fn a_line_of_a_test_that_failed_names_it() {
        assert_eq!(failed("test a::b ... FAILED"), Some("a::b"));
        assert_eq!(failed("test a::b - should panic ... FAILED"), Some("a::b"));
        assert_eq!(failed("test a::b ... ok"), None);
    }
}
