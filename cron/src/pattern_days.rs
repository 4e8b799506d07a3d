//! Whether a day of a pattern comes: `0 0 30 2 *` has none.
//!
//! croner walks from day to day to the year 5000 before it says that there is none, which takes some 40 ms; the cron's
//! other jobs, and the worker, would wait for it. But there are 14 kinds of years only, by the weekday of their first
//! day and whether they are leap years. So a pattern is held against one year of each kind, once.

use chrono::{Datelike, NaiveDate};
use croner::{CronPattern, Weekday, YEAR_UPPER_LIMIT};

/// The days of a pattern, without its years.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PatternDays {
    /// The kinds of years in which the pattern has a day.
    kinds: u16,
}

impl PatternDays {
    /// Finds the kinds of years in which a pattern has a day.
    pub(crate) fn of(pattern: &CronPattern) -> Self {
        // Any 28 years in a row without a leap year left out have years of all kinds.
        let kinds = (2001..=2028).filter_map(|year| NaiveDate::from_ymd_opt(year, 1, 1)).fold(
            0,
            |kinds, first| {
                let kind = kind(first);
                let has_day = kinds & kind == 0 && rest_of_year(first).any(|day| has(pattern, day));
                if has_day { kinds | kind } else { kinds }
            },
        );
        PatternDays { kinds }
    }

    /// Whether the pattern has this day, or a later one. `pattern` is that of [`PatternDays::of`].
    pub(crate) fn come_from(self, pattern: &CronPattern, day: NaiveDate) -> bool {
        // Where croner cannot say it, it may come.
        let has_year = |year| pattern.year_match(year).unwrap_or(true);
        let this_year = has_year(day.year()) && rest_of_year(day).any(|day| has(pattern, day));
        this_year
            || (day.year() + 1..=YEAR_UPPER_LIMIT).any(|year| {
                let first = NaiveDate::from_ymd_opt(year, 1, 1);
                has_year(year) && first.is_some_and(|first| self.kinds & kind(first) != 0)
            })
    }
}

/// The days from this one to the end of its year.
fn rest_of_year(day: NaiveDate) -> impl Iterator<Item = NaiveDate> {
    day.iter_days().take_while(move |other| other.year() == day.year())
}

/// Whether the pattern has this day, in whatever year.
fn has(pattern: &CronPattern, day: NaiveDate) -> bool {
    let weekday = Weekday::from_days_from_sunday(day.weekday().num_days_from_sunday());
    pattern.month_match(day.month()).unwrap_or(true)
        && pattern.day_match(day.year(), day.month(), day.day(), weekday).unwrap_or(true)
}

/// The kind of a year with this first day, as one of 14 bits.
fn kind(first: NaiveDate) -> u16 {
    let leap = if first.leap_year() { 7 } else { 0 };
    1 << (first.weekday().num_days_from_monday() + leap)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn come_from(text: &str, (year, month, day): (i32, u32, u32)) -> bool {
        let cron: croner::Cron = text.parse().unwrap();
        let day = NaiveDate::from_ymd_opt(year, month, day).unwrap();
        PatternDays::of(&cron.pattern).come_from(&cron.pattern, day)
    }

    #[test]
    fn t13_days_that_no_month_has_never_come() {
        let today = (2026, 11, 30);
        for text in [
            "0 0 30 2 *",
            "0 0 31 2,4,6,9,11 *",
            "0 0 30,31 2 *",
            "0 0 31W 4 *",
            // No fifth Monday of February but in leap years, of which these are none.
            "0 0 0 * 2 MON#5 2025-5000/2",
            "0 0 0 29 2 * 2025-5000/2",
            "0 0 0 29 2 * 2100",
            "0 0 0 * * * 2025",
        ] {
            assert!(!come_from(text, today), "{text}");
        }
        for text in [
            "* * * * *",
            "0 0 29 2 *",
            "0 0 30,31 2,3 *",
            // The day of the month or the weekday.
            "0 0 30 2 MON",
            "0 0 L 2 *",
            "0 0 LW 2 *",
            "0 0 29W 2 *",
            "0 0 * 2 MON#5",
            "0 0 0 29 2 * 2025-5000",
            "0 0 0 * * * 5000",
        ] {
            assert!(come_from(text, today), "{text}");
        }
    }

    #[test]
    fn t13_the_last_day_of_a_pattern_comes_on_that_day_and_not_after_it() {
        for (text, (year, month, day)) in [
            ("0 0 0 29 2 * 2020-2024", (2024, 2, 29)),
            ("0 0 0 1 1 * 2026", (2026, 1, 1)),
            ("0 0 0 31 12 * 2026", (2026, 12, 31)),
            ("0 0 0 LW 5 * 2026", (2026, 5, 29)),
        ] {
            let last = NaiveDate::from_ymd_opt(year, month, day).unwrap();
            let next = last.succ_opt().unwrap();
            assert!(come_from(text, (year, month, day)), "{text}");
            assert!(!come_from(text, (next.year(), next.month(), next.day())), "{text}");
        }
    }

    #[test]
    fn t13_years_of_one_kind_have_the_same_days() {
        // Of all 400 years after which the calendar begins anew.
        for text in ["0 0 29 2 *", "0 0 * 2 SAT#5", "0 0 13 * +FRI", "0 0 31 12 +MON"] {
            let cron: croner::Cron = text.parse().unwrap();
            let days = PatternDays::of(&cron.pattern);
            for year in 2000..2400 {
                let first = NaiveDate::from_ymd_opt(year, 1, 1).unwrap();
                let has_day = rest_of_year(first).any(|day| has(&cron.pattern, day));
                assert_eq!(days.kinds & kind(first) != 0, has_day, "{text} in {year}");
            }
        }
    }
}
