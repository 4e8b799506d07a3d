//! Runs `bench-krarup` for each point of a chart.

use crate::chart::{Chart, PointRun};
use crate::failure::CurvesFailure;
use std::path::PathBuf;
use std::process::Command;

/// The medians of one line, in nanoseconds for each message, in the order of the chart's points.
pub(crate) type Medians = Vec<f64>;

/// Measures all points of the chart. They take turns in each round.
pub(crate) fn measure(
    chart: &Chart,
    rounds: usize,
    less: u64,
) -> Result<Vec<Medians>, CurvesFailure> {
    let program = std::env::current_exe()?.with_file_name("bench-krarup");
    let mut figures = vec![vec![Vec::new(); chart.points.len()]; chart.lines.len()];
    for _ in 0..rounds {
        for (line, figures) in chart.lines.iter().zip(&mut figures) {
            for (point, figures) in chart.points.iter().zip(figures) {
                figures.push(run(&program, &(line.run)(u64::from(*point)), less)?);
            }
        }
    }
    let of_line = |line: Vec<Vec<f64>>| line.into_iter().map(median).collect();
    Ok(figures.into_iter().map(of_line).collect())
}

/// One run; returns its nanoseconds for each message.
fn run(program: &PathBuf, run: &PointRun, less: u64) -> Result<f64, CurvesFailure> {
    let mut arguments = run.options.clone();
    arguments.push(run.workload.to_owned());
    // What is shared among many must be enough for each of them.
    let least = run.count.map_or(1_000, |count| if run.workload == "pairs" { 2 } else { count });
    arguments.push((run.size / less).max(least).to_string());
    arguments.extend(run.count.map(|count| count.to_string()));
    let output = Command::new(program).args(&arguments).output()?;
    let command = format!("bench-krarup {}", arguments.join(" "));
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(CurvesFailure::Run { command, text });
    }
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match text.split_whitespace().last().and_then(|figure| figure.parse().ok()) {
        Some(figure) => Ok(figure),
        None => Err(CurvesFailure::NoFigure { command, text }),
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Prints the medians as a table.
pub(crate) fn print(chart: &Chart, lines: &[Medians]) {
    let names: Vec<_> = chart.lines.iter().map(|line| line.name).collect();
    println!("{}, ns for each message\n", chart.title);
    println!("| {} | {} |", chart.axis, names.join(" | "));
    println!("|--:{}|", "|--:".repeat(names.len()));
    for (at, point) in chart.points.iter().enumerate() {
        let row: Vec<_> = lines.iter().map(|line| format!("{:.1}", line[at])).collect();
        println!("| {point} | {} |", row.join(" | "));
    }
    println!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(vec![7.5]) - 7.5).abs() < f64::EPSILON);
    }
}
