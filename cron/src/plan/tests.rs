//! The plan alone: what runs when, after whatever happens to the clock.

use super::random_patterns::random_patterns;
use super::*;
use crate::pattern::date;
use chrono::TimeZone;
use chrono_tz::Tz;
use std::time::UNIX_EPOCH;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

const RULES: JobRules =
    JobRules { overlap: RunsAtOnce::Any, missed: Missed::Skip, grace: Duration::MAX };

/// A plan with two clocks, which go on together unless one is set.
struct Clocks {
    plan: CronPlan,
    now: Timestamp,
    wall: Date,
}

/// Midnight of 2000-01-03, a Monday.
fn midnight() -> Date {
    date(UNIX_EPOCH + Duration::from_secs(946_857_600))
}

impl Clocks {
    fn new() -> Self {
        let mut clocks =
            Clocks { plan: CronPlan::default(), now: Timestamp::ZERO, wall: midnight() };
        clocks.look();
        clocks
    }

    fn reading(&self) -> ClockReading {
        ClockReading { now: self.now, wall: self.wall }
    }

    fn add(&mut self, pattern: &str, rules: JobRules) -> JobId {
        self.add_in(pattern, Tz::UTC, rules)
    }

    fn add_in(&mut self, pattern: &str, zone: Tz, rules: JobRules) -> JobId {
        let times = RunTimes::pattern("test", pattern, zone).unwrap();
        self.plan.add(times, rules, None, self.reading()).unwrap()
    }

    fn add_since(&mut self, pattern: &str, rules: JobRules, ago: Duration) -> JobId {
        let times = RunTimes::pattern("test", pattern, Tz::UTC).unwrap();
        let since = earlier(self.wall, ago);
        self.plan.add(times, rules, Some(since), self.reading()).unwrap()
    }

    /// Looks once; returns what is to be done. Runs do not end by themselves.
    fn look(&mut self) -> Vec<JobDecision> {
        self.plan.begin(self.reading());
        self.decisions()
    }

    fn decisions(&mut self) -> Vec<JobDecision> {
        let mut steps = 1000;
        std::iter::from_fn(|| self.plan.decide(&mut steps)).collect()
    }

    /// Goes on as the process does: from look to look.
    fn go_on(&mut self, by: Duration) -> Vec<(String, JobDecision)> {
        let until = self.now + by;
        let mut done = Vec::new();
        while let Some(wait) = self.plan.wake(self.wall).filter(|wait| self.now + *wait <= until) {
            assert!(wait <= MINUTE);
            self.pass(wait);
            let wall = self.wall.format("%d %H:%M:%S").to_string();
            done.extend(self.look().into_iter().map(|decision| (wall.clone(), decision)));
        }
        self.pass(until.since(self.now));
        done
    }

    /// Both clocks go on; nobody looks.
    fn pass(&mut self, by: Duration) {
        self.now = self.now + by;
        self.wall += by;
    }

    fn last(&self, job: JobId) -> String {
        self.plan.job(job).unwrap().last.unwrap().format("%d %H:%M").to_string()
    }
}

/// The report of runs that were all counted.
fn missed(job: JobId, count: u64, last: Date) -> JobDecision {
    JobDecision::Missed(job, MissedRuns { count, more: false, last })
}

/// The times at which runs began.
fn starts(done: &[(String, JobDecision)]) -> Vec<&str> {
    let started = done.iter().filter(|(_, decision)| matches!(decision, JobDecision::Start(_)));
    started.map(|(wall, _)| wall.as_str()).collect()
}

#[test]
fn t8_jobs_that_are_due_together_begin_in_the_order_in_which_they_were_added() {
    let mut clocks = Clocks::new();
    let a = clocks.add("0 * * * *", RULES);
    let b = clocks.add("0 1 * * *", RULES);
    let c = clocks.add("*/30 * * * *", RULES);
    clocks.pass(HOUR);
    // The half hour is late, and comes first.
    assert_eq!(clocks.look(), [c, a, b, c].map(JobDecision::Start));
}

#[test]
fn t8_a_run_is_not_early_and_a_second_look_at_its_time_does_not_repeat_it() {
    let mut clocks = Clocks::new();
    let job = clocks.add("0 1 * * *", RULES);
    clocks.pass(Duration::from_nanos(3_599_999_999_999));
    assert_eq!(clocks.look(), []);
    assert_eq!(clocks.plan.wake(clocks.wall), Some(Duration::from_nanos(1)));
    clocks.pass(Duration::from_nanos(1));
    assert_eq!(clocks.look(), [JobDecision::Start(job)]);
    assert_eq!(clocks.look(), []);
    clocks.pass(Duration::from_nanos(1));
    assert_eq!(clocks.look(), []);
}

#[test]
fn t8_runs_that_are_late_by_load_all_begin() {
    let mut clocks = Clocks::new();
    let job = clocks.add("*/10 * * * *", RULES);
    // No turn for an hour: both clocks went on.
    clocks.pass(HOUR);
    assert_eq!(clocks.look(), [JobDecision::Start(job); 6]);
    assert_eq!(clocks.plan.job(job).unwrap().missed, 0);
}

#[test]
fn t9_the_plan_is_looked_at_each_minute_and_not_at_all_without_a_time_to_come() {
    let mut clocks = Clocks::new();
    assert_eq!(clocks.plan.wake(clocks.wall), None);
    let job = clocks.add("0 0 1 1 *", RULES);
    assert_eq!(clocks.plan.wake(clocks.wall), Some(MINUTE));
    clocks.plan.pause(job);
    assert_eq!(clocks.plan.wake(clocks.wall), None);
}

#[test]
fn t9_runs_that_the_clock_is_set_past_are_missed() {
    let mut clocks = Clocks::new();
    let job = clocks.add("30 * * * *", RULES);
    clocks.go_on(HOUR);
    clocks.wall += HOUR * 5;
    let done = clocks.go_on(HOUR);
    let report = missed(job, 5, midnight() + HOUR * 5 + MINUTE * 30);
    assert_eq!(done[0].1, report);
    assert_eq!(starts(&done), ["03 06:30:00"]);
    assert_eq!(clocks.plan.job(job).unwrap().missed, 5);
}

#[test]
fn t9_a_run_that_the_clock_reaches_after_it_was_set_is_late_and_not_missed() {
    let mut clocks = Clocks::new();
    let job = clocks.add("30 * * * *", RULES);
    clocks.pass(MINUTE);
    clocks.look();
    // Set to 02:29:50; the next look is at 02:30:50.
    clocks.wall += HOUR * 2 + MINUTE * 28 + Duration::from_secs(50);
    clocks.pass(MINUTE);
    let report = missed(job, 2, midnight() + HOUR + MINUTE * 30);
    assert_eq!(clocks.look(), [report, JobDecision::Start(job)]);
}

#[test]
fn t9_small_corrections_of_the_clock_lose_no_run_and_repeat_none() {
    let mut clocks = Clocks::new();
    clocks.add("*/5 * * * *", RULES);
    let mut count = 0;
    for step in 0..1000_u64 {
        count += starts(&clocks.go_on(MINUTE)).len();
        let by = Duration::from_millis(step * 7919 % 990);
        if step % 2 == 0 {
            clocks.wall += by;
        } else {
            clocks.wall -= by;
        }
        count += starts(&clocks.look().into_iter().map(|d| (String::new(), d)).collect::<Vec<_>>())
            .len();
    }
    let passed = (clocks.wall - midnight()).num_minutes();
    assert_eq!(i64::try_from(count).unwrap(), passed / 5);
}

#[test]
fn t9_after_the_clock_is_set_back_a_job_runs_when_a_time_comes_that_it_has_not_run_for() {
    let mut clocks = Clocks::new();
    let hourly = clocks.add("0 * * * *", RULES);
    assert_eq!(starts(&clocks.go_on(HOUR * 3)).len(), 3);
    clocks.wall -= HOUR * 2 + MINUTE * 30;
    // At 01:00, 02:00 and 03:00 it has run; at 04:00 it has not.
    let done = clocks.go_on(HOUR * 4);
    assert_eq!(starts(&done), ["03 04:00:00"]);
    assert_eq!(clocks.last(hourly), "03 04:00");
}

#[test]
fn t9_missed_runs_come_anew_when_the_clock_is_set_back_and_so_do_those_to_come() {
    let mut clocks = Clocks::new();
    clocks.add("0 2 * * *", RULES);
    clocks.add("0 9 * * *", RULES);
    clocks.go_on(HOUR);
    clocks.wall += HOUR * 4;
    assert_eq!(starts(&clocks.go_on(HOUR)), Vec::<&str>::new());
    clocks.wall -= HOUR * 5;
    assert_eq!(starts(&clocks.go_on(HOUR * 9)), ["03 02:00:00", "03 09:00:00"]);
}

#[test]
fn t9_a_wrong_date_far_ahead_does_not_keep_a_new_job_from_running() {
    let mut clocks = Clocks::new();
    clocks.wall += HOUR * 24 * 365;
    clocks.look();
    clocks.add("0 * * * *", RULES);
    clocks.go_on(MINUTE * 5);
    clocks.wall -= HOUR * 24 * 365;
    assert_eq!(starts(&clocks.go_on(HOUR)), ["03 01:00:00"]);
}

/// The runs after three were missed: at 00:30, 01:30 and 02:30; it is 03:10.
fn after_three_missed(missed: Missed, grace: Duration) -> (usize, u64) {
    let mut clocks = Clocks::new();
    let job = clocks.add("30 * * * *", JobRules { missed, grace, ..RULES });
    clocks.go_on(MINUTE * 10);
    clocks.wall += HOUR * 3;
    let done = clocks.go_on(MINUTE * 19);
    (starts(&done).len(), clocks.plan.job(job).unwrap().missed)
}

#[test]
fn t10_missed_runs_are_left_out_or_made_up_for_within_their_grace() {
    assert_eq!(after_three_missed(Missed::Skip, Duration::MAX), (0, 3));
    assert_eq!(after_three_missed(Missed::Once, Duration::MAX), (1, 3));
    assert_eq!(after_three_missed(Missed::All, Duration::MAX), (3, 3));
    // At 03:10 the last of them is 40 minutes ago, and the one before it 100.
    assert_eq!(after_three_missed(Missed::Once, MINUTE * 39), (0, 3));
    assert_eq!(after_three_missed(Missed::Once, MINUTE * 40), (1, 3));
    assert_eq!(after_three_missed(Missed::All, MINUTE * 99), (1, 3));
    assert_eq!(after_three_missed(Missed::All, MINUTE * 100), (2, 3));
    assert_eq!(after_three_missed(Missed::All, Duration::ZERO), (0, 3));
}

#[test]
fn t10_runs_since_the_last_one_before_the_start_are_missed() {
    for (rule, runs) in [(Missed::Skip, 0), (Missed::Once, 1), (Missed::All, 5)] {
        let mut clocks = Clocks::new();
        let rules = JobRules { missed: rule, ..RULES };
        let job = clocks.add_since("0 * * * *", rules, HOUR * 5);
        // That of midnight, which is now, too; that of the last run itself not.
        let done = clocks.look();
        assert_eq!(done.len(), runs + 1);
        assert!(done.contains(&missed(job, 5, midnight())));
        assert_eq!(clocks.plan.job(job).unwrap().missed, 5);
        assert_eq!(starts(&clocks.go_on(HOUR)), ["03 01:00:00"]);
    }
}

#[test]
fn t10_many_missed_runs_are_decided_in_parts() {
    let mut clocks = Clocks::new();
    let rules = JobRules { missed: Missed::All, ..RULES };
    let job = clocks.add_since("* * * * * *", rules, HOUR);
    let mut parts = Vec::new();
    while clocks.plan.wake(clocks.wall) == Some(Duration::ZERO) {
        parts.push(clocks.look().len());
        clocks.pass(Duration::from_micros(1));
    }
    // The last part has the report.
    assert_eq!(parts, [1000, 1000, 1000, 601]);
    assert_eq!(clocks.plan.job(job).unwrap().missed, 3600);
    clocks.pass(Duration::from_secs(1));
    assert_eq!(clocks.look(), [JobDecision::Start(job)]);
}

/// What is decided about a job of every second and another of every minute in one look of at most
/// 5000 steps, after the clock was set forward by a century and a minute passed.
fn after_a_century(missed: Missed, grace: Duration) -> (Clocks, [JobId; 2], Vec<JobDecision>) {
    let mut clocks = Clocks::new();
    let rules = JobRules { missed, grace, ..RULES };
    let jobs = ["* * * * * *", "* * * * *"].map(|pattern| clocks.add(pattern, rules));
    clocks.wall += HOUR * 24 * 36_525;
    clocks.pass(MINUTE);
    clocks.plan.begin(clocks.reading());
    let mut steps = 5000;
    let done = std::iter::from_fn(|| clocks.plan.decide(&mut steps)).collect();
    assert!(steps > 0, "{:?}", clocks.plan.wake(clocks.wall));
    (clocks, jobs, done)
}

#[test]
fn t10_a_century_of_missed_runs_that_nothing_makes_up_for_takes_few_steps() {
    let last_second = midnight() + HOUR * 24 * 36_525 - STEP;
    let last_minute = midnight() + HOUR * 24 * 36_525 - MINUTE;
    for (rule, grace, made_up_for) in [
        (Missed::Skip, Duration::MAX, 0),
        (Missed::Once, Duration::MAX, 2),
        (Missed::Once, Duration::ZERO, 0),
        (Missed::All, Duration::ZERO, 0),
    ] {
        let (mut clocks, [second, minute], done) = after_a_century(rule, grace);
        let more = |last| MissedRuns { count: COUNTED, more: true, last };
        assert!(done.contains(&JobDecision::Missed(second, more(last_second))), "{rule:?}");
        assert!(done.contains(&JobDecision::Missed(minute, more(last_minute))), "{rule:?}");
        // Those of the minute that passed and of the second before it are late, and not missed.
        let started = done.iter().filter(|done| matches!(done, JobDecision::Start(_))).count();
        assert_eq!(started, made_up_for + 61 + 2, "{rule:?}");
        assert_eq!(clocks.plan.job(second).unwrap().missed, COUNTED);
        assert_eq!(starts(&clocks.go_on(MINUTE)).len(), 60 + 1);
    }
}

#[test]
fn t10_of_a_century_of_missed_runs_those_within_their_grace_are_made_up_for() {
    let (clocks, [second, minute], done) = after_a_century(Missed::All, MINUTE * 10);
    let of = |job| done.iter().filter(|done| **done == JobDecision::Start(job)).count();
    assert_eq!((of(second), of(minute)), (601, 11));
    // Nine minutes of them were missed, and none of the others is counted after the thousandth.
    let missed = |job| clocks.plan.job(job).unwrap().missed;
    assert_eq!((missed(second), missed(minute)), (COUNTED + 540, COUNTED + 9));
}

#[test]
fn t10_the_thousand_and_first_run_that_was_missed_in_a_row_is_not_counted() {
    for (count, more) in [(999, false), (1000, false), (1001, true), (1002, true)] {
        let mut clocks = Clocks::new();
        let ago = HOUR * u32::try_from(count).unwrap();
        let job = clocks.add_since("0 * * * *", RULES, ago);
        let runs = MissedRuns { count: count.min(COUNTED), more, last: midnight() };
        let mut done = clocks.look();
        // The look after a thousand steps.
        done.extend(clocks.look());
        assert_eq!(done, [JobDecision::Missed(job, runs)]);
    }
}

#[test]
fn t10_the_last_time_up_to_a_date_is_the_one_that_a_walk_finds_also_when_zones_change() {
    for (month, day) in [(3, 5), (9, 30)] {
        let from = chrono::Utc.with_ymd_and_hms(2026, month, day, 0, 0, 0).unwrap();
        let dates: Vec<_> = (0..150).map(|count| from + (HOUR * 5 + MINUTE * 40) * count).collect();
        for (text, zone) in random_patterns(100) {
            let times = RunTimes::pattern("test", &text, zone).unwrap();
            let list = std::iter::successors(times.after(from), |time| times.after(*time));
            let list: Vec<_> = list.take_while(|time| time <= dates.last().unwrap()).collect();
            for until in &dates {
                let Some(expected) = list.iter().rfind(|time| *time <= until) else { continue };
                assert_eq!(times.last_of(list[0], *until), *expected, "{text} in {zone}, {until}");
            }
        }
    }
}

#[test]
fn t11_a_run_that_is_due_while_one_goes_on_is_left_out_waits_or_begins() {
    for (overlap, expected) in
        [(RunsAtOnce::Skip, (1, 2, 1)), (RunsAtOnce::Wait, (1, 0, 3)), (RunsAtOnce::Any, (3, 0, 3))]
    {
        let mut clocks = Clocks::new();
        let job = clocks.add("0 * * * *", JobRules { overlap, ..RULES });
        let started = starts(&clocks.go_on(HOUR * 3)).len();
        let skipped = clocks.plan.job(job).unwrap().skipped;
        let mut ended = 0;
        while clocks.plan.job(job).unwrap().running() > 0 {
            clocks.plan.ended(job, false);
            clocks.decisions();
            ended += 1;
        }
        assert_eq!((started, skipped, ended), expected, "{overlap:?}");
        assert_eq!(starts(&clocks.go_on(HOUR)), ["03 04:00:00"]);
    }
}

#[test]
fn t13_a_job_whose_time_does_not_come_again_is_gone_when_its_last_run_has_ended() {
    let mut clocks = Clocks::new();
    let times = RunTimes::Once(midnight() + HOUR);
    let job = clocks.plan.add(times.clone(), RULES, None, clocks.reading()).unwrap();
    assert_eq!(clocks.go_on(HOUR).last().unwrap().1, JobDecision::Start(job));
    assert_eq!(clocks.look(), []);
    clocks.plan.ended(job, true);
    assert_eq!(clocks.decisions(), [JobDecision::Gone(job)]);
    // One that was missed, and one whose time comes while it is paused.
    clocks.plan.remove(job);
    assert_eq!(clocks.plan.add(times, RULES, None, clocks.reading()), None);
    clocks.look();
    let times = RunTimes::Once(midnight() + HOUR * 3);
    let late = clocks.plan.add(times.clone(), RULES, None, clocks.reading()).unwrap();
    let paused = clocks.plan.add(times, RULES, None, clocks.reading()).unwrap();
    clocks.plan.pause(paused);
    clocks.go_on(MINUTE);
    clocks.wall += HOUR * 5;
    let report = missed(late, 1, midnight() + HOUR * 3);
    assert_eq!(clocks.look(), [report, JobDecision::Gone(late)]);
    assert_eq!(clocks.plan.resume(paused, clocks.reading()), Some(JobDecision::Gone(paused)));
}

#[test]
fn t13_a_paused_job_misses_nothing_and_lists_the_times_that_it_would_have() {
    let mut clocks = Clocks::new();
    let job = clocks.add("0 * * * *", RULES);
    clocks.plan.pause(job);
    assert_eq!(clocks.go_on(HOUR * 3), []);
    let next = clocks.plan.next_runs(job, clocks.wall, 2);
    assert_eq!(next, [midnight() + HOUR * 4, midnight() + HOUR * 5]);
    clocks.plan.run_now(job, clocks.reading());
    assert_eq!(clocks.decisions(), [JobDecision::Start(job)]);
    assert_eq!(clocks.plan.resume(job, clocks.reading()), None);
    assert_eq!(starts(&clocks.go_on(HOUR)), ["03 04:00:00"]);
    assert_eq!(clocks.plan.job(job).unwrap().missed, 0);
}

#[test]
fn t13_a_run_that_waits_does_not_begin_while_its_job_is_paused() {
    let mut clocks = Clocks::new();
    let job = clocks.add("0 * * * *", JobRules { overlap: RunsAtOnce::Wait, ..RULES });
    assert_eq!(starts(&clocks.go_on(HOUR * 2)), ["03 01:00:00"]);
    clocks.plan.pause(job);
    clocks.plan.pause(job);
    clocks.plan.ended(job, false);
    assert_eq!(clocks.decisions(), []);
    // One that is asked for begins, and waits for those that go on.
    clocks.plan.run_now(job, clocks.reading());
    clocks.plan.run_now(job, clocks.reading());
    assert_eq!(clocks.decisions(), [JobDecision::Start(job)]);
    clocks.plan.ended(job, false);
    assert_eq!(clocks.decisions(), [JobDecision::Start(job)]);
    clocks.plan.ended(job, false);
    assert_eq!(clocks.decisions(), []);
    assert_eq!(clocks.plan.resume(job, clocks.reading()), None);
    assert_eq!(clocks.decisions(), [JobDecision::Start(job)]);
    // Behind a run that goes on it waits further.
    clocks.go_on(HOUR);
    clocks.plan.pause(job);
    assert_eq!(clocks.plan.resume(job, clocks.reading()), None);
    assert_eq!(clocks.decisions(), []);
    clocks.plan.ended(job, false);
    assert_eq!(clocks.decisions(), [JobDecision::Start(job)]);
    clocks.plan.ended(job, false);
    assert_eq!((clocks.decisions(), clocks.plan.job(job).unwrap().runs), (vec![], 5));
    // The time of this one does not come again, but its run has not begun yet.
    let times = RunTimes::Once(midnight() + HOUR * 4);
    let rules = JobRules { overlap: RunsAtOnce::Wait, ..RULES };
    let once = clocks.plan.add(times, rules, None, clocks.reading()).unwrap();
    clocks.plan.run_now(once, clocks.reading());
    clocks.plan.pause(job);
    clocks.go_on(HOUR * 2);
    clocks.plan.pause(once);
    clocks.plan.ended(once, false);
    assert_eq!(clocks.decisions(), []);
    assert_eq!(clocks.plan.resume(once, clocks.reading()), None);
    assert_eq!(clocks.decisions(), [JobDecision::Start(once)]);
    clocks.plan.ended(once, false);
    assert_eq!(clocks.decisions(), [JobDecision::Gone(once)]);
}

#[test]
fn t7_the_night_in_which_the_clock_of_berlin_goes_back_runs_as_the_table_says() {
    let berlin = chrono_tz::Europe::Berlin;
    let mut clocks = Clocks::new();
    clocks.wall =
        berlin.with_ymd_and_hms(2026, 10, 25, 0, 0, 0).unwrap().with_timezone(&chrono::Utc);
    clocks.plan = CronPlan::default();
    clocks.look();
    clocks.add_in("30 2 * * *", berlin, RULES);
    let done = clocks.go_on(HOUR * 24);
    assert_eq!(starts(&done), ["25 00:30:00"]);
}

#[test]
fn t7_over_20_years_the_runs_of_100_random_patterns_are_those_of_the_pattern() {
    let mut clocks = Clocks::new();
    let (from, until) = (clocks.wall, clocks.wall + HOUR * 24 * 366 * 20);
    let jobs = random_patterns(100);
    let ids: Vec<_> = jobs.iter().map(|(text, zone)| clocks.add_in(text, *zone, RULES)).collect();
    let mut runs: BTreeMap<JobId, Vec<Date>> = BTreeMap::new();
    // From time to time, without the looks in between.
    while let Some((next, _)) = clocks.plan.due.first().copied().filter(|(next, _)| *next <= until)
    {
        clocks.pass(time_between(clocks.wall, next));
        for decision in clocks.look() {
            let JobDecision::Start(id) = decision else { panic!("{decision:?}") };
            runs.entry(id).or_default().push(clocks.wall);
        }
    }
    for ((pattern, zone), id) in jobs.iter().zip(ids) {
        let listed = pattern.parse::<croner::Cron>().unwrap();
        let listed = listed.iter_after(from.with_timezone(zone)).map(|time| time.to_utc());
        let listed: Vec<_> = listed.take_while(|time| *time <= until).collect();
        assert_eq!(runs.remove(&id).unwrap_or_default(), listed, "{pattern} in {zone}");
    }
}
