//! Medians, and their ratios to those of OTP-OTP.

/// Whether more or less of a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FigureKind {
    /// More is better.
    Rate,
    /// Less is better.
    Cost,
}

impl FigureKind {
    /// How many times as good as `base` a figure is.
    pub(crate) fn ratio(self, figure: f64, base: f64) -> f64 {
        match self {
            FigureKind::Rate => figure / base,
            FigureKind::Cost => base / figure,
        }
    }
}

/// The middle one of figures; `NaN` if there is none.
pub(crate) fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

/// A figure, with at most four digits if it is small.
pub(crate) fn shown(figure: f64) -> String {
    match figure.abs() {
        size if size.is_nan() => "-".to_owned(),
        size if size >= 1_000.0 => format!("{figure:.0}"),
        size if size >= 10.0 => format!("{figure:.1}"),
        _ => format!("{figure:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle_in_whatever_order() {
        let is = |figures: &[f64], expected: f64| (median(figures) - expected).abs() < 1e-9;
        assert!(is(&[3.0, 1.0, 2.0], 2.0));
        assert!(is(&[4.0, 1.0, 2.0, 3.0], 2.5));
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn a_ratio_above_one_is_better() {
        assert!(FigureKind::Rate.ratio(200.0, 100.0) > 1.9);
        assert!(FigureKind::Cost.ratio(200.0, 100.0) < 0.6);
    }
}
