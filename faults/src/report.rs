//! The results of the faults, by area.

use crate::list::PlantedFault;
use std::collections::BTreeMap;

/// The result of one fault.
pub(crate) enum FaultVerdict {
    Caught {
        by: String,
        seconds: u64,
    },
    /// The test passed with the fault in place.
    Missed,
    /// Without a result: the text, or the test, does not exist any more.
    Stale(String),
    /// A mutant that does not compile.
    Unviable,
    /// It fits its file and compiles; no test was run.
    Fits,
}

/// Prints one line for one fault.
pub(crate) fn tell(fault: &PlantedFault, verdict: &FaultVerdict) {
    match verdict {
        FaultVerdict::Caught { by, seconds } => {
            println!("caught  {}: by {by} ({seconds} s)", fault.name);
        }
        FaultVerdict::Missed => println!("MISSED  {} ({})", fault.name, fault.file),
        FaultVerdict::Stale(why) => println!("STALE   {}: {why}", fault.name),
        FaultVerdict::Unviable | FaultVerdict::Fits => {}
    }
}

/// Prints a table, and the faults that were not caught. Returns whether all were caught.
pub(crate) fn print(faults: &[PlantedFault], verdicts: &[FaultVerdict]) -> bool {
    let mut areas: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    for (fault, verdict) in faults.iter().zip(verdicts) {
        let column = match verdict {
            FaultVerdict::Caught { .. } => 0,
            FaultVerdict::Missed => 1,
            FaultVerdict::Stale(_) => 2,
            FaultVerdict::Fits => 3,
            FaultVerdict::Unviable => continue,
        };
        areas.entry(fault.area).or_default()[column] += 1;
    }
    println!("\n{:<12} {:>6} {:>6} {:>6} {:>6}", "area", "caught", "missed", "stale", "fit");
    let mut sum = [0; 4];
    for (area, counts) in &areas {
        let [caught, missed, stale, fit] = counts;
        println!("{area:<12} {caught:>6} {missed:>6} {stale:>6} {fit:>6}");
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    for (fault, verdict) in faults.iter().zip(verdicts) {
        if !matches!(verdict, FaultVerdict::Caught { .. }) {
            tell(fault, verdict);
        }
    }
    let [caught, missed, stale, fit] = sum;
    println!("\nfaults: {caught} caught, {missed} missed, {stale} stale, {fit} fit");
    missed + stale == 0
}
