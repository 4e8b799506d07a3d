//! Figures, and how they are told.

/// How fast a ring ran.
#[derive(Clone, Copy)]
pub(crate) struct RingSpeed {
    /// Messages in a second.
    pub(crate) wall: f64,
    /// Messages in a second of CPU time of the whole program.
    pub(crate) cpu: f64,
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Where a figure has to be.
#[derive(Clone, Copy)]
pub(crate) enum Bar {
    AtLeast(f64),
    AtMost(f64),
}

pub(crate) fn told(rule: &str, what: &str, figure: f64, bar: Bar) {
    let (word, bar, kept) = match bar {
        Bar::AtLeast(bar) => ("at least", bar, figure >= bar),
        Bar::AtMost(bar) => ("at most", bar, figure <= bar),
    };
    let kept = if kept { "pass" } else { "FAIL" };
    println!("{rule} {what}: {figure:.4} ({word} {bar}) {kept}");
}

/// The ratio of two speeds: the median over the pairs of windows that follow each other.
pub(crate) fn compared(rule: &str, what: &str, pairs: &[(RingSpeed, RingSpeed)], bar: f64) {
    let ratio = |of: fn(&RingSpeed) -> f64| {
        median(pairs.iter().map(|(off, on)| of(on) / of(off)).collect())
    };
    told(rule, &format!("{what}, by CPU time"), ratio(|it| it.cpu), Bar::AtLeast(bar));
    println!("{rule} {what}, by wall time: {:.4}", ratio(|it| it.wall));
}
