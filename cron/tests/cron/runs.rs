//! Clocks that are set, missed runs, runs at the same time (rules T7, T9 to T11).

use crate::support::{
    DAY, HOUR, MINUTE, Record, SECOND, at, cron, info, listener, simulations, slow,
};
use krarup_cron::{CronCalls, Job, Missed, RunsAtOnce};
use krarup_gen::Report;
use krarup_node::{Probe, Simulation};

/// The runs of a pattern in Berlin on a day, in UTC.
fn runs_in_berlin(pattern: &str, from: &str, days: u32) -> Vec<String> {
    let sim = Simulation::new(1);
    let (cron, record) = (cron(&sim), Record::default());
    let listener = listener(&sim, &record);
    sim.set_wall_time(at(from));
    let job = Job::new("a", pattern).zone("Europe/Berlin").send_to(&listener, || "-");
    cron.add(job).wait().unwrap();
    sim.advance(DAY * days);
    record.take().into_iter().map(|text| text[7..18].to_owned()).collect()
}

#[test]
fn t7_the_night_in_which_the_clock_goes_forward() {
    let night = "2026-03-28T23:30:00Z";
    assert_eq!(runs_in_berlin("30 2 * * *", night, 2), ["03-29 01:00", "03-30 00:30"]);
    assert_eq!(
        runs_in_berlin("0 * * * *", night, 1)[..3],
        ["03-29 00:00", "03-29 01:00", "03-29 02:00"]
    );
    assert_eq!(runs_in_berlin("*/30 2 * * *", night, 1), Vec::<String>::new());
}

#[test]
fn t7_the_night_in_which_the_clock_goes_back() {
    let night = "2026-10-24T22:30:00Z";
    assert_eq!(runs_in_berlin("30 2 * * *", night, 1), ["10-25 00:30"]);
    let hours = ["10-24 23:00", "10-25 00:00", "10-25 01:00", "10-25 02:00"];
    assert_eq!(runs_in_berlin("0 * * * *", night, 1)[..4], hours);
    let halves = ["10-25 00:00", "10-25 00:30", "10-25 01:00", "10-25 01:30"];
    assert_eq!(runs_in_berlin("*/30 2 * * *", night, 1), halves);
}

#[test]
fn t9_a_clock_that_is_set_is_seen_within_a_minute() {
    for sim in simulations() {
        let (cron, record) = (cron(&sim), Record::default());
        let listener = listener(&sim, &record);
        cron.add(Job::new("a", "0 12 * * *").send_to(&listener, || "a")).wait().unwrap();
        sim.set_wall_time(at("2000-01-01T11:59:30Z"));
        // Its next look is at most a minute away, so 30 s late.
        sim.advance(MINUTE);
        assert_eq!(record.take().len(), 1);
        // Back, before its time: it has run for that.
        sim.set_wall_time(at("2000-01-01T11:00:00Z"));
        sim.advance(HOUR * 2);
        assert_eq!(record.take(), Vec::<String>::new());
        // Forward, past its time of the next day.
        sim.set_wall_time(at("2000-01-02T15:00:00Z"));
        sim.advance(MINUTE * 2);
        assert_eq!(record.take(), Vec::<String>::new());
        assert_eq!(info(&cron, "a").missed, 1);
        sim.advance(DAY);
        assert_eq!(record.take(), ["a 2000-01-03 12:00:00"]);
    }
}

#[test]
fn t10_missed_runs_are_made_up_for_as_the_job_says() {
    for (missed, grace, texts) in [
        (Missed::Skip, HOUR * 99, 0),
        (Missed::Once, HOUR * 99, 1),
        (Missed::All, HOUR * 99, 5),
        (Missed::All, HOUR * 2, 2),
    ] {
        for sim in simulations() {
            let (cron, record) = (cron(&sim), Record::default());
            let listener = listener(&sim, &record);
            let job = || Job::new("a", "0 * * * *").missed(missed).grace(grace);
            cron.add(job().send_to(&listener, || "a")).wait().unwrap();
            sim.set_wall_time(at("2000-01-01T05:30:00Z"));
            sim.advance(MINUTE);
            assert_eq!(record.take().len(), texts, "{missed:?}");
            assert_eq!(info(&cron, "a").missed, 5);
            // As much is missed by a job that ran at midnight, before the program began.
            cron.remove("a").wait().unwrap();
            let job = job().since(at("2000-01-01T00:00:00Z")).send_to(&listener, || "a");
            cron.add(job).wait().unwrap();
            sim.advance(SECOND);
            assert_eq!((record.take().len(), info(&cron, "a").missed), (texts, 5));
            sim.advance(MINUTE * 30);
            assert_eq!(record.take(), ["a 2000-01-01 06:00:00"]);
        }
    }
}

#[test]
fn t10_an_hour_of_missed_seconds_is_made_up_for_and_requests_are_served_meanwhile() {
    let sim = Simulation::new(1);
    let (cron, record) = (cron(&sim), Record::default());
    let listener = listener(&sim, &record);
    let job = Job::new("a", "* * * * * *").missed(Missed::All).since(at("1999-12-31T23:00:00Z"));
    cron.add(job.send_to(&listener, || "a")).wait().unwrap();
    let begun = info(&cron, "a").runs;
    assert!(begun < 3600, "{begun}");
    sim.advance(SECOND / 2);
    assert_eq!((info(&cron, "a").runs, record.take().len()), (3600, 3600));
}

#[test]
fn t10_a_clock_that_is_told_the_date_56_years_late_is_followed_at_once() {
    for (missed, runs) in [(Missed::Skip, 0), (Missed::Once, 1)] {
        for sim in simulations() {
            let reports = Probe::<Report>::of(&sim, &sim.reports());
            let (cron, record) = (cron(&sim), Record::default());
            let listener = listener(&sim, &record);
            sim.set_wall_time(at("1970-01-01T00:00:30Z"));
            let job = Job::new("a", "* * * * *").missed(missed).send_to(&listener, || "a");
            cron.add(job).wait().unwrap();
            sim.set_wall_time(at("2026-01-01T00:00:30Z"));
            // The next look is at most a minute away.
            sim.advance(MINUTE);
            record.take();
            let a = info(&cron, "a");
            assert_eq!((a.missed, a.runs), (1000, runs + 1));
            let report = reports.take_messages().remove(0).to_string();
            let text = "at least 1000 missed, the last of 2026-01-01T00:00:00+00:00";
            assert!(report.ends_with(text), "{report}");
            // As many are missed by a job that has run last before there were cron jobs.
            let old = Job::new("b", "* * * * *").missed(missed).since(at("1970-01-01T00:00:00Z"));
            cron.add(old.send_to(&listener, || "b")).wait().unwrap();
            sim.advance(SECOND);
            let b = info(&cron, "b");
            assert_eq!((b.missed, b.runs), (1000, runs));
            record.take();
            sim.advance(MINUTE);
            assert_eq!(record.take(), ["a 2026-01-01 00:02:00", "b 2026-01-01 00:02:00"]);
        }
    }
}

#[test]
fn t11_a_run_that_goes_on_when_the_next_is_due() {
    for sim in simulations() {
        let takes = HOUR + MINUTE * 30;
        let (cron, record) = (cron(&sim), Record::default());
        cron.add(slow("a", "0 * * * *", &record, takes)).wait().unwrap();
        sim.advance(HOUR * 4);
        let skips = [
            "a begins 2000-01-01 01:00:00",
            "a ends 2000-01-01 02:30:00",
            "a begins 2000-01-01 03:00:00",
        ];
        assert_eq!(record.take(), skips);
        let job = info(&cron, "a");
        assert_eq!((job.skipped, job.running, job.failures), (2, 1, 0));
        cron.remove("a").wait().unwrap();
        sim.advance(MINUTE * 1199);
        record.take();

        cron.add(slow("a", "0 * * * *", &record, takes).overlap(RunsAtOnce::Wait)).wait().unwrap();
        sim.advance(HOUR * 3);
        let waits = [
            "a begins 2000-01-02 00:00:00",
            "a ends 2000-01-02 01:30:00",
            "a begins 2000-01-02 01:30:00",
        ];
        assert_eq!(record.take(), waits);
        cron.remove("a").wait().unwrap();
        sim.advance(HOUR * 21);
        record.take();

        cron.add(slow("a", "0 * * * *", &record, takes).overlap(RunsAtOnce::Any)).wait().unwrap();
        sim.advance(HOUR * 2);
        let any = [
            "a begins 2000-01-03 00:00:00",
            "a begins 2000-01-03 01:00:00",
            "a ends 2000-01-03 01:30:00",
        ];
        assert_eq!(record.take(), any);
    }
}
