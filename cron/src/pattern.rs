//! The times of a job: a pattern in a zone, or one date.
//!
//! Patterns are croner's. What it does when a clock is set forward or back by its zone, in the
//! night of 29 March 2026 and of 25 October 2026 in Berlin (rule T7):
//!
//! | pattern | goes from 02:00 to 03:00 | goes from 03:00 to 02:00 |
//! |---|---|---|
//! | `30 2 * * *`, at a time | at 03:00, the next day at 02:30 again | once, at the first 02:30 |
//! | `0 * * * *`, every hour | at 01:00, 03:00, 04:00 | at 02:00 twice, an hour apart |
//! | `*/30 2 * * *`, every half of an hour | not on that day | at 02:00, 02:30, 02:00, 02:30 |

use crate::error::{AddJobError, UnknownZone};
use crate::pattern_days::PatternDays;
use chrono::{DateTime, NaiveTime, TimeDelta, Utc};
use chrono_tz::{GapInfo, Tz};
use croner::{CronComponent, CronPattern};
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A date. Dates of a plan have no zone.
pub(crate) type Date = DateTime<Utc>;

/// The first and the last second that are told apart, in the years 1 and 4999: croner's years
/// end with 5000, and a zone adds hours.
const FIRST: i64 = -62_135_510_400;
const LAST: i64 = 95_617_497_600;

/// A wall time as a date. One beyond the years 1 to 4999 is the first or the last of them.
pub(crate) fn date(time: SystemTime) -> Date {
    let (seconds, nanos) = match time.duration_since(UNIX_EPOCH) {
        Ok(since) => (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), since.subsec_nanos()),
        Err(error) => {
            let before = error.duration();
            let whole = i64::try_from(before.as_secs()).unwrap_or(i64::MAX);
            match before.subsec_nanos() {
                0 => (-whole, 0),
                nanos => (-whole - 1, 1_000_000_000 - nanos),
            }
        }
    };
    let clamped = seconds.clamp(FIRST, LAST);
    let nanos = if clamped == seconds { nanos } else { 0 };
    DateTime::from_timestamp(clamped, nanos).unwrap_or_default()
}

/// The zone of this name.
pub(crate) fn parse_zone(zone: &str) -> Result<Tz, UnknownZone> {
    zone.parse().map_err(|_| UnknownZone(zone.to_owned()))
}

/// The date of a job that runs once.
///
/// # Errors
/// The text of a date beyond the years 1 to 4999. At the first or the last of them the job would run
/// at a time that is not its own.
pub(crate) fn date_of_one_run(time: SystemTime) -> Result<Date, String> {
    let date = date(time);
    if date > first() && date < last() {
        return Ok(date);
    }
    let beyond = if date == last() { "beyond 4999-12-30" } else { "before 0001-01-02" };
    let seconds =
        time.duration_since(UNIX_EPOCH).ok().and_then(|since| since.as_secs().try_into().ok());
    Err(match seconds.and_then(|seconds| DateTime::from_timestamp(seconds, 0)) {
        Some(date) => format!("{date}, {beyond},"),
        None => format!("a date {beyond}"),
    })
}

/// The time from one date to a later one; zero if it is not later.
pub(crate) fn time_between(from: Date, to: Date) -> Duration {
    (to - from).to_std().unwrap_or_default()
}

/// A date minus a duration; the first date if there is none so early.
pub(crate) fn earlier(date: Date, by: Duration) -> Date {
    TimeDelta::from_std(by)
        .ok()
        .and_then(|by| date.checked_sub_signed(by))
        .unwrap_or(DateTime::<Utc>::MIN_UTC)
}

/// When a job runs.
#[derive(Clone)]
pub(crate) enum RunTimes {
    Pattern(Box<ZonedPattern>),
    Once(Date),
}

/// A pattern in a zone.
#[derive(Clone)]
pub(crate) struct ZonedPattern {
    text: String,
    cron: croner::Cron,
    days: PatternDays,
    zone: Tz,
}

impl RunTimes {
    /// Reads a pattern.
    pub(crate) fn pattern(name: &str, text: &str, zone: Tz) -> Result<Self, AddJobError> {
        let bad = |cause| {
            let (name, pattern) = (name.to_owned(), text.to_owned());
            Err(AddJobError::BadPattern { name, pattern, cause })
        };
        match text.parse::<croner::Cron>() {
            Ok(cron) => {
                if let Some(field) = empty_field(&cron.pattern) {
                    return bad(format!("the field of {field} has no value"));
                }
                let (text, days) = (text.to_owned(), PatternDays::of(&cron.pattern));
                Ok(RunTimes::Pattern(Box::new(ZonedPattern { text, cron, days, zone })))
            }
            Err(error) => bad(error.to_string()),
        }
    }

    /// The first time after this date; `None` if there is none.
    pub(crate) fn after(&self, date: Date) -> Option<Date> {
        match self {
            RunTimes::Once(at) => (*at > date).then_some(*at),
            RunTimes::Pattern(pattern) => {
                let from = date.clamp(first(), last()).with_timezone(&pattern.zone);
                let next = pattern.first_after(from)?;
                Some(next.with_timezone(&Utc)).filter(|next| *next > date)
            }
        }
    }

    /// The last of the times up to `until`, of which `known` is one. It asks for some forty times, no
    /// matter how many lie between.
    ///
    /// A search by halves: after a date there is a time up to `until`, or there is none.
    pub(crate) fn last_of(&self, known: Date, until: Date) -> Date {
        let (mut last, mut none_after) = (known, until);
        // The times of a pattern are whole seconds.
        while none_after - last >= TimeDelta::seconds(1) {
            let middle = last + (none_after - last) / 2;
            match self.after(middle) {
                Some(time) if time <= until => last = time,
                _ => none_after = middle,
            }
        }
        last
    }

    /// The zone; of one date UTC.
    pub(crate) fn zone(&self) -> Tz {
        match self {
            RunTimes::Once(_) => Tz::UTC,
            RunTimes::Pattern(pattern) => pattern.zone,
        }
    }
}

impl ZonedPattern {
    /// The first time after this date; `None` if there is none, which is found out without a search.
    fn first_after(&self, from: DateTime<Tz>) -> Option<DateTime<Tz>> {
        // A clock that is set back at midnight comes to the day before.
        let day = from.date_naive();
        let comes = self.days.come_from(&self.cron.pattern, day.pred_opt().unwrap_or(day));
        if comes { self.search_after(from) } else { None }
    }

    fn search_after(&self, from: DateTime<Tz>) -> Option<DateTime<Tz>> {
        let next = self.cron.find_next_occurrence(&from, false).ok();
        next.or_else(|| self.after_long_gap(from))
    }

    /// The first time after this date, where croner finds none: a job at a time falls into a gap of more than two
    /// hours, when a zone leaves out a day or the half of a night. As with other gaps the time is then the end of
    /// the gap, if the pattern has this day.
    fn after_long_gap(&self, mut from: DateTime<Tz>) -> Option<DateTime<Tz>> {
        loop {
            let end = self.gap_after(from)?.end?;
            // The times of the day do not change with the date.
            let midnight = end.date_naive().and_time(NaiveTime::MIN).and_utc();
            let on_that_day = self.cron.find_next_occurrence(&midnight, true).ok()?;
            if on_that_day.date_naive() == end.date_naive() && end > from {
                return Some(end);
            }
            match self.cron.find_next_occurrence(&end, true) {
                Ok(next) => return Some(next),
                Err(_) => from = end,
            }
        }
    }

    /// The gap into which the first time of the pattern falls that is no time of the zone; `None` if no time comes.
    fn gap_after(&self, from: DateTime<Tz>) -> Option<GapInfo> {
        let mut time = from.naive_local();
        loop {
            time = self.cron.find_next_occurrence(&time.and_utc(), false).ok()?.naive_utc();
            // The others are times of an hour that comes twice, which were before.
            if let Some(gap) = GapInfo::new(&time, &self.zone) {
                return Some(gap);
            }
        }
    }
}

/// A field that croner takes for a set without a value, such as `,`. A search for a time of such a pattern would go from
/// minute to minute to the year 5000, which takes some 20 s.
fn empty_field(pattern: &CronPattern) -> Option<&'static str> {
    let has_day = |field: &CronComponent| !field.values().is_empty() || field.has_modifiers();
    let has_value = |field: &CronComponent| !field.values().is_empty();
    let fields = [
        ("seconds", has_value(&pattern.seconds)),
        ("minutes", has_value(&pattern.minutes)),
        ("hours", has_value(&pattern.hours)),
        ("days", has_day(&pattern.days)),
        ("months", has_value(&pattern.months)),
        ("weekdays", has_day(&pattern.days_of_week)),
        ("years", has_value(&pattern.years)),
    ];
    fields.iter().find(|(_, has)| !has).map(|(field, _)| *field)
}

fn first() -> Date {
    DateTime::from_timestamp(FIRST, 0).unwrap_or_default()
}

fn last() -> Date {
    DateTime::from_timestamp(LAST, 0).unwrap_or_default()
}

impl fmt::Display for RunTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunTimes::Once(at) => fmt::Display::fmt(at, f),
            RunTimes::Pattern(pattern) => f.write_str(&pattern.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{NaiveDate, TimeZone};
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// The times of a pattern in a zone from midnight of a day on, as texts.
    fn times(text: &str, zone: Tz, from: (i32, u32, u32), count: usize) -> Vec<String> {
        let times = RunTimes::pattern("test", text, zone).unwrap();
        let midnight = zone.with_ymd_and_hms(from.0, from.1, from.2, 0, 0, 0).unwrap();
        let mut at = midnight.with_timezone(&Utc) - TimeDelta::seconds(1);
        let mut texts = Vec::new();
        for _ in 0..count {
            at = times.after(at).unwrap();
            texts.push(at.with_timezone(&zone).format("%d %H:%M%z").to_string());
        }
        texts
    }

    const BERLIN: Tz = chrono_tz::Europe::Berlin;

    /// A pattern whose day comes rarely or never, and a date, mostly near the turn of a year.
    fn rare_pattern(random: &mut ChaCha8Rng) -> (String, Date) {
        let mut one_of = |all: &[&'static str]| all[random.random_range(0..all.len())];
        let day = one_of(&["28", "29", "30", "31", "30,31", "L", "LW", "29W", "31W", "*"]);
        let month = one_of(&["2", "2", "2,4", "4,6,9,11", "12", "1", "*"]);
        let weekday = one_of(&["*", "*", "+MON", "+FRI#5", "SUN#5", "+SUN#L", "SAT"]);
        let hour = one_of(&["0", "2", "23", "*/6"]);
        let years = one_of(&["*", "*", "2025-4999/2", "2024", "2010-2030/3", "1900", "4996-5000"]);
        let year = random.random_range(2008..2034);
        let day_of_year = [1, 2, 59, 60, 364, 365][random.random_range(0..6)];
        let date = NaiveDate::from_yo_opt(year, day_of_year).unwrap();
        let time = TimeDelta::seconds(random.random_range(0..86_400));
        let at = date.and_time(NaiveTime::MIN).and_utc() + time;
        (format!("0 30 {hour} {day} {month} {weekday} {years}"), at)
    }

    #[test]
    fn t7_a_time_that_is_not_searched_for_is_one_that_a_search_does_not_find() {
        const ZONES: [Tz; 4] =
            [Tz::UTC, BERLIN, chrono_tz::Pacific::Apia, chrono_tz::America::Sao_Paulo];
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let mut outcomes = [0, 0];
        for number in 0..200 {
            let (text, at) = rare_pattern(&mut random);
            let zone = ZONES[number % ZONES.len()];
            let times = RunTimes::pattern("test", &text, zone).unwrap();
            let RunTimes::Pattern(pattern) = &times else { panic!("{text} is a pattern") };
            let from = at.with_timezone(&zone);
            let found = pattern.search_after(from);
            assert_eq!(pattern.first_after(from), found, "{text} in {zone} after {at}");
            outcomes[usize::from(found.is_some())] += 1;
        }
        assert!(outcomes.iter().all(|count| *count > 30), "{outcomes:?}");
    }

    #[test]
    fn t7_a_clock_that_goes_forward_in_berlin() {
        let march = (2026, 3, 29);
        assert_eq!(times("30 2 * * *", BERLIN, march, 2), ["29 03:00+0200", "30 02:30+0200"]);
        let hourly = ["29 00:00+0100", "29 01:00+0100", "29 03:00+0200", "29 04:00+0200"];
        assert_eq!(times("0 * * * *", BERLIN, march, 4), hourly);
        let halves = ["30 02:00+0200", "30 02:30+0200", "31 02:00+0200"];
        assert_eq!(times("*/30 2 * * *", BERLIN, march, 3), halves);
    }

    #[test]
    fn t7_a_zone_that_leaves_out_a_day_or_the_half_of_a_night_ends_no_job() {
        // Samoa has had no 30 December 2011.
        let (samoa, december) = (chrono_tz::Pacific::Apia, (2011, 12, 29));
        let at_night = ["29 02:30-1000", "31 00:00+1400", "31 02:30+1400"];
        assert_eq!(times("30 2 * * *", samoa, december, 3), at_night);
        let at_midnight = ["29 00:00-1000", "31 00:00+1400", "01 00:00+1400"];
        assert_eq!(times("0 0 * * *", samoa, december, 3), at_midnight);
        assert_eq!(times("0 0 30 12 *", samoa, december, 1), ["30 00:00+1400"]);
        assert_eq!(
            times("30 5 30,31 12 *", samoa, december, 2),
            ["31 00:00+1400", "31 05:30+1400"]
        );
        let hourly = ["29 23:00-1000", "31 00:00+1400"];
        assert_eq!(times("0 * * * *", samoa, december, 25)[23..], hourly);
        // A station whose clock goes from 00:01 to 03:01.
        let casey = ["03 00:30+0800", "04 03:01+1100", "05 00:30+1100"];
        assert_eq!(times("30 0 * * *", chrono_tz::Antarctica::Casey, (2020, 10, 3), 3), casey);
        let years = RunTimes::pattern("test", "0 0 0 30 12 * 2011", samoa).unwrap();
        assert_eq!(years.after(date(UNIX_EPOCH)), None);
    }

    #[test]
    fn t7_a_clock_that_goes_back_in_berlin() {
        let october = (2026, 10, 25);
        assert_eq!(times("30 2 * * *", BERLIN, october, 2), ["25 02:30+0200", "26 02:30+0100"]);
        let hourly =
            ["25 00:00+0200", "25 01:00+0200", "25 02:00+0200", "25 02:00+0100", "25 03:00+0100"];
        assert_eq!(times("0 * * * *", BERLIN, october, 5), hourly);
        let halves =
            ["25 02:00+0200", "25 02:30+0200", "25 02:00+0100", "25 02:30+0100", "26 02:00+0100"];
        assert_eq!(times("*/30 2 * * *", BERLIN, october, 5), halves);
    }

    #[test]
    fn t7_patterns_have_seconds_years_names_and_last_days() {
        let from = (2026, 1, 1);
        assert_eq!(times("0 8 * * MON-FRI", Tz::UTC, from, 2), ["01 08:00+0000", "02 08:00+0000"]);
        assert_eq!(times("0 0 L 2 *", Tz::UTC, from, 1), ["28 00:00+0000"]);
        assert_eq!(times("0 0 * * FRI#2", Tz::UTC, from, 1), ["09 00:00+0000"]);
        assert_eq!(times("0 0 15W 2 *", Tz::UTC, from, 1), ["16 00:00+0000"]);
        assert_eq!(times("@daily", Tz::UTC, from, 2), ["01 00:00+0000", "02 00:00+0000"]);
        assert_eq!(times("30 0 0 1 1 * 2030", Tz::UTC, from, 1), ["01 00:00+0000"]);
        let years = RunTimes::pattern("test", "30 0 0 1 1 * 2030", Tz::UTC).unwrap();
        let only = years.after(date(UNIX_EPOCH)).unwrap();
        assert_eq!(only.to_string(), "2030-01-01 00:00:30 UTC");
        assert_eq!(years.after(only), None);
    }

    #[test]
    fn t13_a_field_without_a_value_is_an_error_before_any_search() {
        let cause = |fields: &[&str]| match RunTimes::pattern("test", &fields.join(" "), Tz::UTC) {
            Err(AddJobError::BadPattern { cause, .. }) => cause,
            Err(other) => panic!("{fields:?}: {other}"),
            Ok(_) => panic!("{fields:?} is a pattern"),
        };
        let names = ["seconds", "minutes", "hours", "days", "months", "weekdays", "years"];
        for (count, names) in [(5, &names[1..6]), (6, &names[..6]), (7, &names[..])] {
            for others in ["*", "1"] {
                for (place, name) in names.iter().enumerate() {
                    for empty in [",", ",,"] {
                        let mut fields = vec![others; count];
                        fields[place] = empty;
                        assert_eq!(cause(&fields), format!("the field of {name} has no value"));
                    }
                }
            }
        }
        assert!(RunTimes::pattern("test", "*, * * * *", Tz::UTC).is_err(), "a list of `*`");
    }

    #[test]
    fn t13_a_list_with_an_empty_place_and_a_day_by_its_place_have_values() {
        let all = ["5,", ",5", "5,,10"].map(|minutes| format!("{minutes} * * * *"));
        let days = ["0 0 L * *", "0 0 LW * *", "0 0 15W * *", "0 0 * * FRI#2", "0 0 * * FRI#L"];
        for text in all.iter().map(String::as_str).chain(days) {
            let times = RunTimes::pattern("test", text, Tz::UTC);
            assert!(times.is_ok_and(|times| times.after(first()).is_some()), "{text}");
        }
    }

    #[test]
    fn t7_dates_beyond_all_years_are_the_first_or_the_last() {
        let hour = Duration::from_secs(3600);
        assert_eq!(date(UNIX_EPOCH + hour).timestamp(), 3600);
        let before = UNIX_EPOCH - Duration::from_millis(1500);
        assert_eq!(date(before).timestamp_millis(), -1500);
        // Windows has no such dates.
        #[cfg(unix)]
        {
            let far = Duration::from_secs(1 << 60);
            assert_eq!((date(UNIX_EPOCH - far), date(UNIX_EPOCH + far)), (first(), last()));
        }
        let daily = RunTimes::pattern("test", "0 0 * * *", chrono_tz::Pacific::Kiritimati).unwrap();
        assert!(daily.after(last()).is_some());
        assert!(daily.after(DateTime::<Utc>::MIN_UTC).is_some());
        let _ = daily.after(DateTime::<Utc>::MAX_UTC);
        assert_eq!(earlier(date(UNIX_EPOCH), Duration::MAX), DateTime::<Utc>::MIN_UTC);
    }
}
