//! Draws a chart as SVG, with both axes logarithmic.

use crate::chart::Chart;
use crate::failure::CurvesFailure;
use crate::points::Medians;
use plotters::prelude::*;
use std::error::Error;
use std::path::Path;

const SIZE: (u32, u32) = (760, 420);

/// Draws the lines into the file.
pub(crate) fn draw(chart: &Chart, lines: &[Medians], file: &Path) -> Result<(), CurvesFailure> {
    drawn(chart, lines, file).map_err(|error| CurvesFailure::Drawing(error.to_string()))
}

fn drawn(chart: &Chart, lines: &[Medians], file: &Path) -> Result<(), Box<dyn Error>> {
    let all = || lines.iter().flatten().copied();
    let (lowest, highest) = (all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max));
    let (first, last) = (chart.points[0], chart.points[chart.points.len() - 1]);
    let area = SVGBackend::new(file, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut axes = ChartBuilder::on(&area)
        .caption(chart.title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(64)
        .build_cartesian_2d(
            (f64::from(first)..f64::from(last)).log_scale(),
            (lowest / 1.3..highest * 1.3).log_scale(),
        )?;
    axes.configure_mesh()
        .x_desc(chart.axis)
        .y_desc("ns for each message")
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .draw()?;
    for (number, (line, medians)) in chart.lines.iter().zip(lines).enumerate() {
        let color = Palette99::pick(number).to_rgba();
        let points = || chart.points.iter().zip(medians).map(|(x, y)| (f64::from(*x), *y));
        axes.draw_series(LineSeries::new(points(), color.stroke_width(2)))?
            .label(line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
        axes.draw_series(points().map(|point| Circle::new(point, 3, color.filled())))?;
    }
    axes.configure_series_labels()
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    area.present()?;
    Ok(())
}
