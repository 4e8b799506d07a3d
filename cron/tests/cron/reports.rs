//! What goes wrong with runs is a report of the node (rule X8).

use crate::support::{DAY, HOUR, MINUTE, Record, at, cron, simulations, slow};
use krarup_cron::{CronCalls, Job};
use krarup_gen::{CronTrouble, Reason, Report, ReportLevel};
use krarup_node::Probe;

fn heard(reports: &Probe<'_, Report>) -> Vec<String> {
    reports.take_messages().iter().map(ToString::to_string).collect()
}

#[test]
fn x8_a_run_that_fails_is_missed_or_left_out_is_a_report_with_the_name_of_its_job() {
    for sim in simulations() {
        let reports = Probe::<Report>::of(&sim, &sim.reports());
        let (cron, record) = (cron(&sim), Record::default());
        cron.add(
            Job::new("bad", "0 1 * * *").task(|| async { Err::<(), _>(Reason::error("no disk")) }),
        )
        .wait()
        .unwrap();
        sim.advance(HOUR + MINUTE);
        // The process of the run has crashed, and is a report of its own before.
        let all = reports.take_messages();
        let [Report::Crash(_), Report::Cron(report)] = &all[..] else { panic!("{all:?}") };
        assert_eq!(report.head.pid, Some(cron.pid()));
        assert_eq!(report.head.level, ReportLevel::Warn);
        assert_eq!(report.what.job, "bad");
        assert_eq!(report.what.what, CronTrouble::Failed { reason: "no disk".to_owned() });
        cron.remove("bad").wait().unwrap();

        let job = slow("slow", "0 * * * *", &record, HOUR + MINUTE * 30).zone("Europe/Berlin");
        cron.add(job).wait().unwrap();
        sim.advance(HOUR * 2);
        let all = reports.take_messages();
        let [Report::Cron(report)] = &all[..] else { panic!("{all:?}") };
        let CronTrouble::LeftOut { due } = &report.what.what else { panic!("{report:?}") };
        assert_eq!(due.at, at("2000-01-01T03:00:00Z"));
        assert_eq!(due.text, "2000-01-01T04:00:00+01:00");
        cron.remove("slow").wait().unwrap();

        cron.add(Job::new("late", "0 12 * * *").task(|| async { Ok::<(), Reason>(()) }))
            .wait()
            .unwrap();
        sim.set_wall_time(at("2000-01-03T15:00:00Z"));
        sim.advance(MINUTE * 2);
        let text = format!("cron {}: \"late\": 3 missed, the last of", cron.pid());
        let all = heard(&reports);
        assert!(all.len() == 1 && all[0].contains(&text), "{all:?}");
        sim.advance(DAY);
        assert_eq!(heard(&reports), Vec::<String>::new());
    }
}
