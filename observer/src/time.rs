//! Times as they stand in answers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds, to the microsecond.
#[allow(clippy::cast_precision_loss, reason = "exact below 285 years")]
pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1000.0
}

/// A duration for people, rounded: `2.3 s`, `4 min 10 s`.
pub(crate) fn readable(duration: Duration) -> String {
    const UNITS: [(u128, u128, &str); 4] =
        [(1, 1000, "ns"), (1000, 1000, "µs"), (1_000_000, 1000, "ms"), (1_000_000_000, 60, "s")];
    let nanos = duration.as_nanos();
    for (unit, most, name) in UNITS {
        let tenths = (nanos * 10 + unit / 2) / unit;
        if tenths < most * 10 {
            return match tenths % 10 {
                0 => format!("{} {name}", tenths / 10),
                tenth => format!("{}.{tenth} {name}", tenths / 10),
            };
        }
    }
    let seconds = (nanos + 500_000_000) / 1_000_000_000;
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let [(large, large_name), (small, small_name)] = if minutes < 60 {
        [(minutes, "min"), (seconds % 60, "s")]
    } else if hours < 24 {
        [(hours, "h"), (minutes % 60, "min")]
    } else {
        [(hours / 24, "d"), (hours % 24, "h")]
    };
    match small {
        0 => format!("{large} {large_name}"),
        small => format!("{large} {large_name} {small} {small_name}"),
    }
}

/// A moment as RFC 3339: UTC, milliseconds.
pub(crate) fn rfc3339(moment: SystemTime) -> String {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, millis) = (since.as_secs(), since.subsec_millis());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// The date that is this many days after 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    // Years begin on the first of March, so the leap day is the last of its year. 719 468 days lie
    // between 0000-03-01 and 1970-01-01; 400 years have 146 097 days.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let leaps = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leaps) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v8_moments_are_rfc_3339_in_utc() {
        let at =
            |seconds, millis: u32| rfc3339(UNIX_EPOCH + Duration::new(seconds, millis * 1_000_000));
        assert_eq!(at(0, 0), "1970-01-01T00:00:00.000Z");
        assert_eq!(at(951_782_399, 999), "2000-02-28T23:59:59.999Z");
        assert_eq!(at(951_782_400, 0), "2000-02-29T00:00:00.000Z");
        assert_eq!(at(951_868_800, 0), "2000-03-01T00:00:00.000Z");
        assert_eq!(at(1_798_761_599, 1), "2026-12-31T23:59:59.001Z");
        assert_eq!(at(4_107_542_400, 0), "2100-03-01T00:00:00.000Z");
        assert!((ms(Duration::from_nanos(1_234_567)) - 1.234).abs() < 1e-9);
    }

    #[test]
    fn a_duration_is_rounded_to_what_people_read() {
        for (nanos, expected) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1000, "1 µs"),
            (12_345, "12.3 µs"),
            (999_960, "1 ms"),
            (300_000_000, "300 ms"),
            (999_949_999, "999.9 ms"),
            (999_950_000, "1 s"),
            (2_345_678_901, "2.3 s"),
            (5_000_000_000, "5 s"),
            (59_949_999_999, "59.9 s"),
            (59_950_000_000, "1 min"),
            (250_400_000_000, "4 min 10 s"),
            (3_599_500_000_000, "1 h"),
            (3_661_000_000_000, "1 h 1 min"),
            (90_000_000_000_000, "1 d 1 h"),
        ] {
            assert_eq!(readable(Duration::from_nanos(nanos)), expected, "{nanos}");
        }
        assert_eq!(readable(Duration::MAX), "213503982334601 d 7 h");
    }
}
