//! What can be asked of a cron (rules T13, T14).

use crate::support::{
    DAY, HOUR, MINUTE, Record, SECOND, at, cron, info, listener, show, simulations,
};
use krarup_cron::{AddJobError, Cron, CronCalls, Job, JobError, UnknownZone};
use krarup_gen::{CallError, SpawnError};
use krarup_node::Simulation;
use std::error::Error;
use std::time::{Duration, UNIX_EPOCH};

fn nothing(name: &str, pattern: &str) -> Job {
    Job::new(name, pattern).task(|| async {})
}

#[test]
fn t13_a_job_that_cannot_be_is_a_typed_error_and_nothing_has_changed() {
    let sim = Simulation::new(1);
    let cron = cron(&sim);
    cron.add(nothing("a", "0 0 * * *")).wait().unwrap();
    let before = cron.jobs().wait().unwrap();
    for (job, said) in [
        (nothing("a", "0 1 * * *"), "there is a job named \"a\""),
        (nothing("", "0 1 * * *"), "job \"\": "),
        (
            nothing("b", "0 1 * * *").zone("Europe/Bielefeld"),
            "job \"b\": there is no time zone named \"Europe/Bielefeld\"",
        ),
        (nothing("b", "0 61 * * *"), "job \"b\": \"0 61 * * *\" is no pattern: "),
        (nothing("b", ""), "job \"b\": \"\" is no pattern: "),
        (nothing("b", "when it rains"), "job \"b\": \"when it rains\" is no pattern: "),
        (nothing("b", "0 0 31 2 *"), "job \"b\": the time of 0 0 31 2 * never comes"),
        (nothing("b", "0 0 0 1 1 * 1999"), "job \"b\": the time of 0 0 0 1 1 * 1999 never comes"),
        (
            Job::once("b", at("1999-12-31T23:59:59Z")).task(|| async {}),
            "job \"b\": the time of 1999-12-31 23:59:59 UTC never comes",
        ),
        (Job::new("b", "0 1 * * *"), "job \"b\" has no work"),
        (Job::new("b", "0 1 * * *").send_to_name("", || ()), "job \"b\" sends to \"\": "),
    ] {
        let error = cron.add(job).wait().unwrap_err();
        assert!(error.to_string().starts_with(said), "{error}");
        assert!(!error.to_string().ends_with('.') || error.source().is_none(), "{error}");
    }
    assert_eq!(cron.jobs().wait().unwrap(), before);
}

#[test]
fn t13_a_date_that_a_cron_cannot_wait_for_is_an_error_and_no_earlier_run() {
    let sim = Simulation::new(1);
    let cron = cron(&sim);
    let once = |at| cron.add(Job::once("b", at).task(|| async {})).wait();
    let after = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
    let last = 95_617_497_600;
    for (date, said) in [
        (after(last), "the time of 4999-12-31 00:00:00 UTC, beyond 4999-12-30, never comes"),
        // Windows has no such dates.
        #[cfg(unix)]
        (after(1 << 40), "the time of +36812-02-20 00:36:16 UTC, beyond 4999-12-30, never comes"),
        #[cfg(unix)]
        (after(1 << 62), "the time of a date beyond 4999-12-30 never comes"),
        #[cfg(unix)]
        (
            UNIX_EPOCH - Duration::from_secs(1 << 40),
            "the time of a date before 0001-01-02 never comes",
        ),
    ] {
        let error = once(date).unwrap_err();
        assert!(matches!(error, AddJobError::NeverComes { .. }));
        assert_eq!(error.to_string(), format!("job \"b\": {said}"));
    }
    once(after(last - 1)).unwrap();
    assert_eq!(cron.jobs().wait().unwrap()[0].next, Some(after(last - 1)));
}

#[test]
fn t13_a_cron_in_an_unknown_zone_does_not_start() {
    let sim = Simulation::new(1);
    let Err(SpawnError::Init(reason)) = sim.spawn(|| Cron::new().zone("Mars/Base")).wait() else {
        panic!("it has started");
    };
    assert_eq!(reason.downcast_ref(), Some(&UnknownZone("Mars/Base".into())));
}

#[test]
fn t13_operations_on_a_job_that_is_not_there_and_on_a_cron_that_is_gone_are_errors() {
    let sim = Simulation::new(1);
    let cron = cron(&sim);
    let missing = || JobError::NotFound { name: "a".into() };
    assert_eq!(missing().to_string(), "there is no job named \"a\"");
    assert_eq!(cron.remove("a").wait(), Err(missing()));
    assert_eq!(cron.pause("a").wait(), Err(missing()));
    assert_eq!(cron.unpause("a").wait(), Err(missing()));
    assert_eq!(cron.run_now("a").wait(), Err(missing()));
    assert_eq!(cron.next_runs("a", 1).wait(), Err(missing()));
    sim.kill(cron.pid());
    sim.run_until_idle();
    let to = cron.pid();
    assert_eq!(cron.jobs().wait(), Err(CallError::NoProcess { to }));
    assert_eq!(cron.pause("a").wait(), Err(CallError::NoProcess { to }.into()));
    let added = cron.add(nothing("a", "0 1 * * *")).wait();
    assert_eq!(added, Err(AddJobError::Call(CallError::NoProcess { to })));
}

#[test]
fn t13_jobs_are_listed_in_the_order_in_which_they_were_added() {
    let sim = Simulation::new(1);
    let cron = sim.spawn(|| Cron::new().zone("Europe/Berlin")).wait().unwrap();
    cron.add(nothing("z", "30 2 * * MON-FRI")).wait().unwrap();
    cron.add(nothing("a", "@daily").zone("America/New_York")).wait().unwrap();
    cron.add(Job::once("o", at("2000-01-02T00:00:00Z")).task(|| async {})).wait().unwrap();
    let lines = |jobs: Vec<krarup_cron::JobInfo>| -> Vec<String> {
        let line = |job: krarup_cron::JobInfo| {
            let [next, last] = [job.next, job.last].map(|time| time.map_or("-".into(), show));
            format!("{} {} {} {next} {last} {}", job.name, job.pattern, job.zone, job.runs)
        };
        jobs.into_iter().map(line).collect()
    };
    let jobs = lines(cron.jobs().wait().unwrap());
    assert_eq!(
        jobs,
        [
            "z 30 2 * * MON-FRI Europe/Berlin 2000-01-03 01:30:00 - 0",
            "a @daily America/New_York 2000-01-01 05:00:00 - 0",
            "o 2000-01-02 00:00:00 UTC UTC 2000-01-02 00:00:00 - 0",
        ]
    );
    sim.advance(DAY * 3);
    let jobs = lines(cron.jobs().wait().unwrap());
    assert_eq!(
        jobs,
        [
            "z 30 2 * * MON-FRI Europe/Berlin 2000-01-04 01:30:00 2000-01-03 01:30:00 1",
            "a @daily America/New_York 2000-01-04 05:00:00 2000-01-03 05:00:00 3",
        ]
    );
}

#[test]
fn t13_a_job_is_paused_resumed_run_now_and_removed() {
    for sim in simulations() {
        let (cron, record) = (cron(&sim), Record::default());
        let listener = listener(&sim, &record);
        cron.add(Job::new("a", "0 * * * *").send_to(&listener, || "a")).wait().unwrap();
        sim.advance(HOUR);
        cron.pause("a").wait().unwrap();
        cron.pause("a").wait().unwrap();
        assert_eq!((info(&cron, "a").next, info(&cron, "a").paused), (None, true));
        sim.advance(HOUR * 2 + MINUTE * 30);
        cron.run_now("a").wait().unwrap();
        cron.unpause("a").wait().unwrap();
        cron.unpause("a").wait().unwrap();
        let next = cron.next_runs("a", 2).wait().unwrap();
        assert_eq!(next, [at("2000-01-01T04:00:00Z"), at("2000-01-01T05:00:00Z")]);
        sim.advance(HOUR);
        cron.run_now("a").wait().unwrap();
        cron.remove("a").wait().unwrap();
        sim.advance(HOUR * 5);
        let texts = [
            "a 2000-01-01 01:00:00",
            "a 2000-01-01 03:30:00",
            "a 2000-01-01 04:00:00",
            "a 2000-01-01 04:30:00",
        ];
        assert_eq!(record.take(), texts);
        assert_eq!(cron.jobs().wait().unwrap(), []);
        // The name is free.
        cron.add(nothing("a", "0 0 * * *")).wait().unwrap();
        assert_eq!(cron.next_runs("a", usize::MAX).wait().unwrap().len(), 1000);
    }
}

#[test]
fn t14_a_cron_without_jobs_has_no_timer_and_with_ten_thousand_it_has_one() {
    let sim = Simulation::new(1);
    let cron = cron(&sim);
    sim.advance(DAY);
    assert_eq!(sim.stats().timers, 0);
    for number in 0..10_000 {
        let (minute, hour) = (number % 60, number / 60 % 24);
        cron.add(nothing(&format!("job {number}"), &format!("{minute} {hour} * * *")))
            .wait()
            .unwrap();
    }
    assert_eq!(sim.stats().timers, 1);
    sim.advance(DAY);
    let jobs = cron.jobs().wait().unwrap();
    assert!(jobs.iter().all(|job| job.runs == 1 && job.failures == 0));
    assert_eq!(sim.stats().timers, 1);
    for number in 0..10_000 {
        cron.remove(format!("job {number}")).wait().unwrap();
    }
    assert_eq!(sim.stats().timers, 0);
}

#[test]
fn t14_midnight_and_the_first_minute_after_the_start_are_times_like_others() {
    for sim in simulations() {
        let (cron, record) = (cron(&sim), Record::default());
        let listener = listener(&sim, &record);
        sim.set_wall_time(at("2000-01-01T23:58:59Z"));
        cron.add(Job::new("minute", "* * * * *").send_to(&listener, || "minute")).wait().unwrap();
        cron.add(Job::new("midnight", "0 0 * * *").send_to(&listener, || "midnight"))
            .wait()
            .unwrap();
        cron.add(Job::new("second", "0 59 23 * * *").send_to(&listener, || "second"))
            .wait()
            .unwrap();
        sim.advance(SECOND * 119);
        let texts = [
            "minute 2000-01-01 23:59:00",
            "second 2000-01-01 23:59:00",
            "minute 2000-01-02 00:00:00",
            "midnight 2000-01-02 00:00:00",
        ];
        assert_eq!(record.take(), texts);
    }
}
