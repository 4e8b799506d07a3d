//! Numbers as short texts, as the page writes them.

/// Stands for a value that is not there.
pub(crate) const NONE: &str = "-";

/// A whole number; over 9999 in groups of three.
pub(crate) fn count(value: Option<u64>) -> String {
    value.map_or_else(|| NONE.to_owned(), grouped)
}

fn grouped(value: u64) -> String {
    let digits = value.to_string();
    if digits.len() <= 4 {
        return digits;
    }
    let first = digits.len() % 3;
    let mut text = digits[..first].to_owned();
    for start in (first..digits.len()).step_by(3) {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&digits[start..start + 3]);
    }
    text
}

/// A rate by second.
pub(crate) fn rate(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), |value| amount(value) + "/s")
}

/// A rate by second with its sign.
pub(crate) fn growth(value: Option<f64>) -> String {
    let sign = if value.is_some_and(|value| value >= 0.05) { "+" } else { "" };
    sign.to_owned() + &rate(value)
}

/// A number with a decimal if it is small.
fn amount(value: f64) -> String {
    let sign = if value <= -0.05 { "-" } else { "" };
    sign.to_owned()
        + &if value.abs() < 9.95 { tenths(value.abs()) } else { grouped(whole(value.abs())) }
}

/// One decimal, unless it is 0.
fn tenths(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The nearest whole number of one that is not negative.
fn whole(value: f64) -> u64 {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the conversion is saturating, and there is no other one from a float"
    )]
    let whole = value.round() as u64;
    whole
}

/// A share as a percentage.
pub(crate) fn share(value: Option<f64>) -> String {
    value.map_or_else(
        || NONE.to_owned(),
        |value| {
            let percent = value * 100.0;
            if percent > 0.0 && percent < 0.1 {
                "<0.1 %".to_owned()
            } else {
                amount(percent) + " %"
            }
        },
    )
}

/// A duration of so many milliseconds.
pub(crate) fn duration(ms: Option<f64>) -> String {
    let Some(ms) = ms.map(|ms| ms.max(0.0)) else { return NONE.to_owned() };
    if ms == 0.0 {
        return "0 s".to_owned();
    }
    if ms < 1.0 {
        return format!("{} µs", whole(ms * 1000.0));
    }
    if ms < 1000.0 {
        return amount(ms) + " ms";
    }
    if ms < 60_000.0 {
        return amount(ms / 1000.0) + " s";
    }
    let seconds = whole((ms / 1000.0).floor());
    match seconds {
        ..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", grouped(seconds / 86400), seconds % 86400 / 3600),
    }
}

/// So many bytes.
pub(crate) fn bytes(value: Option<u64>) -> String {
    let Some(value) = value else { return NONE.to_owned() };
    let units = ["KiB", "MiB", "GiB"];
    let unit = (0..3).rev().find(|unit| value >= 1 << (10 * (unit + 1)));
    match unit {
        None => format!("{value} B"),
        Some(unit) => {
            let size: u64 = 1 << (10 * (unit + 1));
            // Tenths without a float, rounded down.
            let tenths = u128::from(value) * 10 / u128::from(size);
            format!("{}.{} {}", tenths / 10, tenths % 10, units[unit])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v81_numbers_are_short_and_grouped() {
        assert_eq!(count(Some(9999)), "9999");
        assert_eq!(count(Some(12_345)), "12 345");
        assert_eq!(count(Some(u64::MAX)), "18 446 744 073 709 551 615");
        assert_eq!(count(None), "-");
        assert_eq!(rate(Some(3.04)), "3/s");
        assert_eq!(rate(Some(12_345.6)), "12 346/s");
        assert_eq!(growth(Some(1.25)), "+1.2/s");
        assert_eq!(growth(Some(-20.0)), "-20/s");
        assert_eq!(growth(Some(0.0)), "0/s");
        assert_eq!(share(Some(0.000_5)), "<0.1 %");
        assert_eq!(share(Some(0.5)), "50 %");
        assert_eq!(share(Some(0.056)), "5.6 %");
        assert_eq!(duration(Some(0.25)), "250 µs");
        assert_eq!(duration(Some(12.0)), "12 ms");
        assert_eq!(duration(Some(1500.0)), "1.5 s");
        assert_eq!(duration(Some(61_000.0)), "1 min 1 s");
        assert_eq!(duration(Some(7_260_000.0)), "2 h 1 min");
        assert_eq!(duration(Some(90_000_000.0)), "1 d 1 h");
        assert_eq!(bytes(Some(1023)), "1023 B");
        assert_eq!(bytes(Some(1536)), "1.5 KiB");
        assert_eq!(bytes(Some(5 << 30)), "5.0 GiB");
        for strange in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
            let _ = (rate(Some(strange)), share(Some(strange)), duration(Some(strange)));
        }
    }
}
