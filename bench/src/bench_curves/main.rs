//! Measures how the cost of a message grows, and draws it.
//!
//! ```text
//! cargo run --release -p bench-krarup --features curves --bin bench-curves -- \
//!     [--rounds N] [--tiny] FOLDER [CHART ..]
//! ```
//!
//! | chart | from left to right | lines |
//! |---|---|---|
//! | `workers` | 1 to 8 workers | workloads |
//! | `processes` | a thousand to a million processes | workloads |
//! | `depth` | 1 to a million messages that wait in one mailbox | one |
//! | `size` | messages of 8 to 1024 bytes | one |
//! | `budget` | 1 to 512 messages in a turn | workloads |
//!
//! Each point is a run of `bench-krarup`, which must be built beside this program. The points of a
//! chart take turns in each round, so what else the machine does meets all of them. Shown are the
//! medians: `FOLDER/CHART.svg`, and the same as a table on the standard output. `--tiny` makes runs
//! that are too short to mean anything.
//!
//! The exit code is 0, 1 (bad arguments), or 2 (a run failed, or a file cannot be written).

#![forbid(unsafe_code)]

mod chart;
mod draw;
mod failure;
mod points;

use crate::chart::{CHARTS, Chart};
use crate::failure::CurvesFailure;
use std::path::PathBuf;
use std::process::ExitCode;

/// What is measured, and where it goes.
struct CurvesPlan {
    rounds: usize,
    /// The work of a run is divided by this.
    less: u64,
    folder: PathBuf,
    charts: Vec<&'static Chart>,
}

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)).and_then(|plan| measure(&plan)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("bench-curves: {failure}");
            failure.exit_code()
        }
    }
}

fn parse(words: impl Iterator<Item = String>) -> Result<CurvesPlan, CurvesFailure> {
    let mut words = words.peekable();
    let rounds = match words.next_if(|word| word == "--rounds") {
        None => 5,
        Some(_) => words.next().and_then(|word| word.parse().ok()).ok_or(CurvesFailure::Usage)?,
    };
    let less = if words.next_if(|word| word == "--tiny").is_some() { 1_000 } else { 1 };
    let folder = words.next().filter(|word| !word.starts_with('-')).ok_or(CurvesFailure::Usage)?;
    let mut charts = Vec::new();
    for name in words {
        let known = CHARTS.iter().find(|chart| chart.name == name);
        charts.push(known.ok_or(CurvesFailure::NoChart(name))?);
    }
    if charts.is_empty() {
        charts = CHARTS.iter().collect();
    }
    if rounds == 0 {
        return Err(CurvesFailure::Usage);
    }
    Ok(CurvesPlan { rounds, less, folder: folder.into(), charts })
}

fn measure(plan: &CurvesPlan) -> Result<(), CurvesFailure> {
    std::fs::create_dir_all(&plan.folder)?;
    for chart in &plan.charts {
        let lines = points::measure(chart, plan.rounds, plan.less)?;
        draw::draw(chart, &lines, &plan.folder.join(chart.name).with_extension("svg"))?;
        points::print(chart, &lines);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(line: &str) -> Result<CurvesPlan, CurvesFailure> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn all_charts_are_measured_unless_some_are_named() {
        let all = plan("target/curves").expect("a folder");
        assert_eq!((all.rounds, all.less, all.charts.len()), (5, 1, CHARTS.len()));
        let some = plan("--rounds 3 --tiny there depth size").expect("a folder and two charts");
        let names: Vec<_> = some.charts.iter().map(|chart| chart.name).collect();
        assert_eq!((some.rounds, some.less, names), (3, 1_000, vec!["depth", "size"]));
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        for line in ["", "--rounds", "--rounds x there", "--rounds 0 there", "--tiny", "--wide"] {
            assert!(matches!(plan(line), Err(CurvesFailure::Usage)), "{line}");
        }
        assert!(
            matches!(plan("there width"), Err(CurvesFailure::NoChart(name)) if name == "width")
        );
    }

    #[test]
    fn each_chart_has_ascending_points_and_lines_of_different_names() {
        for chart in CHARTS {
            assert!(chart.points.is_sorted(), "{}", chart.name);
            let mut names: Vec<_> = chart.lines.iter().map(|line| line.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), chart.lines.len(), "{}", chart.name);
        }
    }
}
