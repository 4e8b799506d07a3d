//! Reports: rules X8, X9 and X11.

use crate::support::journal::Journal;
use crate::support::{Log, boom, settles, simulations};
use krarup::observe::{Report, ReportKind, ReportLevel, SupervisionAction};
use krarup::prelude::*;
use krarup::supervisor::Tasks;
use krarup::testing::Probe;
use krarup::topics::{Topic, WhenFull};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Fails at each message; does not stop if it is stubborn.
struct Failing {
    stubborn: bool,
}

impl Actor for Failing {
    type Message = u32;

    async fn handle_message(&mut self, _: &mut Context<u32>, number: u32) -> Result {
        Err(Reason::error(format!("failed at {number}")))
    }

    async fn terminate(&mut self, ctx: &mut Context<u32>, _: &Reason) {
        if self.stubborn {
            ctx.sleep(3600 * SECOND).await;
        }
    }
}

fn failing(sim: &Simulation) -> Address<u32> {
    sim.spawn(|| Failing { stubborn: false }).wait().unwrap()
}

fn take(reports: &Probe<'_, Report>) -> Vec<Report> {
    reports.take_messages()
}

fn kinds(reports: &[Report]) -> Vec<ReportKind> {
    reports.iter().map(Report::kind).collect()
}

#[test]
fn x8_a_crash_and_what_its_supervisor_decides_are_reports() {
    for sim in simulations(3) {
        let child = || ChildSpec::worker("till", || Failing { stubborn: false }).name("till");
        let supervisor =
            sim.spawn(move || Supervisor::one_for_one().child(child())).wait().unwrap();
        let reports = Probe::<Report>::of(&sim, &sim.reports());
        sim.advance(SECOND);
        let till: Address<u32> = sim.lookup("till").unwrap();
        let at = sim.now();
        till.send(7).unwrap();
        sim.run_until_idle();
        let heard = take(&reports);
        let Report::Crash(crash) = &heard[0] else { panic!("{}", heard[0]) };
        assert_eq!((crash.what.pid, crash.what.reason.text.as_str()), (till.pid(), "failed at 7"));
        let head = &crash.head;
        assert_eq!((head.at, head.pid, head.level), (at, Some(till.pid()), ReportLevel::Error));
        let decisions = heard[1..].iter().map(|report| {
            let Report::Supervision(report) = report else { panic!("{report}") };
            assert_eq!(report.what.by, supervisor.pid());
            (report.what.what, report.head.level, report.head.left_out)
        });
        let expected = [
            (SupervisionAction::Ended, ReportLevel::Warn, 0),
            (SupervisionAction::Restarting, ReportLevel::Warn, 0),
            (SupervisionAction::Started, ReportLevel::Info, 0),
        ];
        assert!(decisions.eq(expected), "{heard:?}");
        // The same topic, and nothing of the past.
        assert_eq!(sim.reports(), sim.reports());
        let late = Probe::<Report>::of(&sim, &sim.reports());
        assert!(take(&late).is_empty());
    }
}

#[test]
fn x8_dead_letters_and_missed_events_are_reports() {
    let sim = Simulation::new(1);
    let reports = Probe::<Report>::of(&sim, &sim.reports());
    let dead = failing(&sim);
    dead.stop().wait().unwrap();
    assert!(dead.send(1).is_err());
    let prices = sim.open_topic::<u32>("prices").open().unwrap();
    let slow = Probe::<u32>::spawn(&sim);
    let topic = prices.topic();
    slow.run(move |ctx| ctx.subscribe(&topic).at_most(2, WhenFull::DropOldest).start().map(drop))
        .unwrap();
    sim.suspend(slow.pid()).wait().unwrap();
    for price in 0..5 {
        prices.publish(price).unwrap();
    }
    sim.run_until_idle();
    let heard = take(&reports);
    let Report::DeadLetters(letter) = &heard[0] else { panic!("{}", heard[0]) };
    assert_eq!((letter.what.message, letter.head.pid), ("u32", Some(dead.pid())));
    let missed = heard[1..].iter().map(|report| {
        let Report::Missed(missed) = report else { panic!("{report}") };
        assert_eq!(&missed.what.topic, prices.topic().id());
        missed.what.count
    });
    assert_eq!(missed.sum::<u64>(), 3);
}

#[test]
fn x8_a_stop_that_has_to_kill_is_a_report() {
    for sim in simulations(2) {
        let child = ChildSpec::worker("slow", || Failing { stubborn: true })
            .name("slow")
            .shutdown(Shutdown::Timeout(2 * SECOND));
        let supervisor = sim.spawn(move || Supervisor::one_for_one().child(child)).wait().unwrap();
        let slow = sim.whereis("slow").unwrap();
        let reports = Probe::<Report>::of(&sim, &sim.reports());
        supervisor.terminate_child("slow").wait().unwrap();
        sim.run_until_idle();
        let overdue = take(&reports).into_iter().find_map(|report| match report {
            Report::Overdue(report) => Some(report),
            _ => None,
        });
        let what = overdue.unwrap().what;
        assert_eq!((what.pid, what.by, what.limit), (slow, Some(supervisor.pid()), 2 * SECOND));
    }
}

#[test]
fn x8_a_task_that_a_stop_has_ended_is_a_report() {
    let sim = Simulation::new(1);
    let tasks = sim.spawn(|| Tasks::new().shutdown(SECOND)).wait().unwrap();
    let to = tasks.clone();
    sim.task(async move { to.run(std::future::pending::<()>()).await }).wait().unwrap().unwrap();
    let reports = Probe::<Report>::of(&sim, &sim.reports());
    tasks.stop().wait().unwrap();
    sim.run_until_idle();
    let heard = take(&reports);
    let Some(Report::Task(task)) = heard.first() else { panic!("{heard:?}") };
    assert_eq!((task.what.tasks, task.what.limit), (tasks.pid(), SECOND));
    assert_eq!(task.head.pid, Some(task.what.task));
}

/// Notes the reports that it hears as lines.
struct Reporter {
    reports: Topic<Report>,
    log: Log,
    dead: Option<Address<u32>>,
    does: Does,
}

/// What a reporter does at each report, with the address of a process that has ended.
type Does = fn(&mut Context<Report>, Option<&Address<u32>>) -> Result;

impl Actor for Reporter {
    type Message = Report;

    async fn init(&mut self, ctx: &mut Context<Report>) -> Result {
        ctx.subscribe(&self.reports).start()?;
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Report>, report: Report) -> Result {
        self.log.note(&report);
        (self.does)(ctx, self.dead.as_ref())
    }
}

#[test]
fn x8_a_service_hears_what_the_stop_of_its_node_had_to_kill() {
    let sim = Simulation::new(1);
    let (log, reports) = (Log::new(), sim.reports());
    let noted = log.clone();
    let reporter = move || Reporter {
        reports: reports.clone(),
        log: noted.clone(),
        dead: None,
        does: |_, _| Ok(()),
    };
    sim.spawn_system(reporter).wait().unwrap();
    let stubborn = sim.spawn(|| Failing { stubborn: true }).wait().unwrap();
    sim.stop().timeout(SECOND).wait().unwrap();
    let line = format!(
        "1s warn overdue stop {}: killed, because it had not stopped after 1s",
        stubborn.pid()
    );
    assert_eq!(log.lines().first(), Some(&line), "{:?}", log.lines());
}

/// An error that counts how often it is printed.
#[derive(Debug)]
struct Printed(Arc<AtomicUsize>);

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fetch_add(1, Ordering::Relaxed);
        f.write_str("printed")
    }
}

impl std::error::Error for Printed {}

/// How often the reason of a crash is printed, besides once for the trace of the simulation.
fn printed(sim: &Simulation) -> usize {
    let count = Arc::new(AtomicUsize::new(0));
    let error = Printed(Arc::clone(&count));
    let behavior = krarup::behavior::behavior_fn(move |mut ctx: Context<()>| async move {
        ctx.receive().await;
        Err(Reason::error(error))
    });
    let process = sim.spawn(move || behavior).wait().unwrap();
    process.send(()).unwrap();
    sim.run_until_idle();
    count.load(Ordering::Relaxed) - 1
}

#[test]
fn x9_a_report_is_made_only_if_somebody_subscribes_or_listens() {
    let deaf = Journal::new(|_| false, |_| {});
    tracing::subscriber::with_default(deaf, || {
        let sim = Simulation::new(1);
        assert_eq!(printed(&sim), 0);
        let reports = sim.reports();
        assert_eq!(printed(&sim), 0, "nobody has subscribed");
        let probe = Probe::<Report>::of(&sim, &reports);
        assert_eq!(printed(&sim), 1);
        assert_eq!(kinds(&take(&probe)), [ReportKind::Crash]);
        sim.kill(probe.pid());
        sim.run_until_idle();
        assert_eq!(printed(&sim), 0);
    });
    let log = Log::new();
    let noted = log.clone();
    let listens = Journal::new(
        |event| event.target() == "krarup::crash",
        move |fields| {
            let reason = fields.iter().find(|(name, _)| *name == "reason");
            noted.note(&reason.unwrap().1);
        },
    );
    tracing::subscriber::with_default(listens, || {
        assert_eq!(printed(&Simulation::new(1)), 1);
        assert_eq!(log.take(), ["printed"]);
    });
}

/// Fails with a text of a client, which forges a line of a log and is long.
struct Forged;

impl Actor for Forged {
    type Message = u32;

    async fn handle_message(&mut self, _: &mut Context<u32>, _: u32) -> Result {
        Err(Reason::error(format!(
            "no\n2026-01-01 ERROR all is lost\u{1b}[2J{}",
            "x".repeat(1 << 20)
        )))
    }
}

/// The values of a field in the events with this text.
fn logged(text: &'static str, field: &'static str, run: impl FnOnce()) -> Vec<String> {
    let log = Log::new();
    let noted = log.clone();
    let lines = Journal::new(
        |event| event.target() == "krarup",
        move |fields| {
            let value =
                |of| fields.iter().find(|(name, _)| *name == of).map(|(_, value)| value.as_str());
            if value("message") == Some(text) {
                noted.note(value(field).unwrap_or("none"));
            }
        },
    );
    tracing::subscriber::with_default(lines, run);
    log.lines()
}

#[test]
fn v15_an_end_in_the_log_has_the_name_of_the_process() {
    let names = logged("process ended", "name", || {
        let sim = Simulation::new(1);
        let till = sim.spawn(|| Failing { stubborn: false }).name("till").wait().unwrap();
        till.send(1).unwrap();
        failing(&sim).send(1).unwrap();
        sim.run_until_idle();
        // An end in order is at trace.
        let quiet = sim.spawn(|| Failing { stubborn: false }).name("quiet").wait().unwrap();
        quiet.stop().wait().unwrap();
    });
    assert_eq!(names, ["\"till\"", "none", "\"quiet\""]);
}

#[test]
fn v15_a_restart_in_place_and_what_a_pool_does_have_their_names_in_the_log() {
    let in_place = logged("process restarts in place", "name", || {
        let sim = Simulation::new(1);
        let child = ChildSpec::worker_in_place("till", || Forged).name("till");
        sim.spawn(move || Supervisor::one_for_one().child(child)).wait().unwrap();
        sim.lookup::<u32, u32>("till").unwrap().send(1).unwrap();
        sim.run_until_idle();
    });
    assert_eq!(in_place, ["\"till\""]);
    for (text, intensity) in
        [("replacing a dead worker", 1), ("pool exceeded its replacement intensity and ends", 0)]
    {
        let names = logged(text, "pool_name", || {
            let sim = Simulation::new(1);
            let pool = move || Pool::new(1, || Forged).intensity(intensity, SECOND);
            let pool = sim.spawn(pool).name("tills").wait().unwrap();
            pool.send(1).unwrap();
            sim.run_until_idle();
        });
        assert_eq!(names, ["\"tills\""], "{text}");
    }
}

#[test]
fn v15_a_reason_is_one_line_of_bounded_length_wherever_it_is_logged() {
    let log = Log::new();
    let noted = log.clone();
    let lines = Journal::new(
        |event| event.target().starts_with("krarup"),
        move |fields| {
            let said =
                fields.iter().find(|(name, _)| *name == "message").map(|(_, text)| text.as_str());
            let reason =
                fields.iter().find(|(name, _)| *name == "reason").map(|(_, text)| text.as_str());
            if let Some(reason) = reason.filter(|reason| reason.contains("all is lost")) {
                let is_line = !reason.contains(['\n', '\u{1b}']) && reason.len() < 1100;
                noted.note(format!("{}: {is_line}", said.unwrap_or_default()));
            }
        },
    );
    tracing::subscriber::with_default(lines, || {
        let sim = Simulation::new(1);
        let child = |id: &'static str| ChildSpec::worker(id, || Forged).name(id);
        let tree = move || {
            Supervisor::one_for_one()
                .intensity(9, SECOND)
                .child(child("own"))
                .child(ChildSpec::worker_in_place("in place", || Forged).name("in place"))
        };
        sim.spawn(tree).wait().unwrap();
        for name in ["own", "in place"] {
            sim.lookup::<u32, u32>(name).unwrap().send(1).unwrap();
            sim.run_until_idle();
        }
        let pool = sim.spawn(|| Pool::new(1, || Forged)).wait().unwrap();
        pool.send(1).unwrap();
        sim.run_until_idle();
    });
    let mut said = log.take_sorted();
    said.dedup();
    let expected = [
        "a process crashed",
        "child ended",
        "child restarting in place",
        "child restarting",
        "process ended",
        "process restarts in place",
        "replacing a dead worker",
    ];
    assert_eq!(said, expected.map(|line| format!("{line}: true")));
}

#[test]
fn x9_a_flood_of_one_kind_is_thinned_to_ten_a_second_and_says_by_how_many() {
    let sim = Simulation::new(1);
    let reports = Probe::<Report>::of(&sim, &sim.reports());
    let dead = failing(&sim);
    dead.stop().wait().unwrap();
    sim.advance(5 * SECOND);
    let send = |count| (0..count).for_each(|_| drop(dead.send(1)));
    send(50);
    sim.run_until_idle();
    let left_out = |reports: &[Report]| -> Vec<_> {
        reports.iter().map(|report| report.head().left_out).collect()
    };
    assert_eq!(left_out(&take(&reports)), [0; 10]);
    // Another kind has a rate of its own.
    failing(&sim).send(1).unwrap();
    sim.run_until_idle();
    assert_eq!(kinds(&take(&reports)), [ReportKind::Crash]);
    sim.advance(SECOND);
    send(2);
    sim.run_until_idle();
    assert_eq!(left_out(&take(&reports)), [40, 0]);
}

/// Restarts a reporter that does this at each report, beside one that notes all.
fn beside_a_witness(does: Does) -> (Vec<Report>, usize) {
    let sim = Simulation::new(1);
    let (log, reports) = (Log::new(), sim.reports());
    let noted = log.clone();
    let dead = failing(&sim);
    dead.stop().wait().unwrap();
    let reporter = move || Reporter {
        reports: reports.clone(),
        log: noted.clone(),
        dead: Some(dead.clone()),
        does,
    };
    let child = ChildSpec::worker("reporter", reporter);
    let supervisor = move || Supervisor::one_for_one().intensity(100, SECOND).child(child);
    sim.spawn(supervisor).wait().unwrap();
    let witness = Probe::<Report>::of(&sim, &sim.reports());
    failing(&sim).send(7).unwrap();
    assert!(settles(&sim), "reports of reports have no end");
    (take(&witness), log.lines().len())
}

#[test]
fn x11_a_reporter_that_fails_is_reported_to_others_and_not_to_itself() {
    let (heard, handled) = beside_a_witness(|_, _| Err(Reason::error("cannot report")));
    // The process, then the reporter, and what its supervisor did.
    assert_eq!(kinds(&heard)[..2], [ReportKind::Crash; 2]);
    assert_eq!((heard.len(), handled), (5, 1), "{heard:?}");
}

#[test]
fn x11_what_a_reporter_sends_and_starts_is_not_reported_to_it() {
    let (heard, handled) = beside_a_witness(|_, dead| {
        assert!(dead.unwrap().send(1).is_err());
        Ok(())
    });
    assert_eq!(handled, 1);
    assert_eq!(kinds(&heard), [ReportKind::Crash, ReportKind::DeadLetters]);
    let (heard, handled) = beside_a_witness(|ctx, _| {
        let task = ctx.task(async { panic!("planned") }).start()?;
        task.detach();
        Ok(())
    });
    assert_eq!((kinds(&heard), handled), (vec![ReportKind::Crash; 2], 1));
}

#[test]
fn x11_events_that_a_reporter_misses_are_no_report() {
    let sim = Simulation::new(1);
    let reports = sim.reports();
    let slow = Probe::<Report>::spawn(&sim);
    slow.run(move |ctx| ctx.subscribe(&reports).at_most(1, WhenFull::DropNewest).start().map(drop))
        .unwrap();
    let witness = Probe::<Report>::of(&sim, &sim.reports());
    sim.suspend(slow.pid()).wait().unwrap();
    for number in 0..3 {
        failing(&sim).send(number).unwrap();
    }
    assert!(settles(&sim));
    assert_eq!(kinds(&take(&witness)), [ReportKind::Crash; 3]);
}

#[test]
fn x8_what_happens_to_an_application_is_reported_and_reports_name_it() {
    use krarup::application::Application;
    let shop = || {
        let till = ChildSpec::worker("till", || Failing { stubborn: false }).name("till");
        Supervisor::one_for_one().child(till)
    };
    let shop = Application::new("shop", shop).phase("open", |_| async { Ok(()) }).on_request();
    let sim = Simulation::with_applications(1, [shop]).unwrap();
    let reports = Probe::<Report>::of(&sim, &sim.reports());
    sim.start_application("shop").wait().unwrap();
    sim.lookup::<u32, u32>("till").unwrap().send(7).unwrap();
    sim.run_until_idle();
    sim.stop_application("shop").wait().unwrap();
    sim.run_until_idle();
    let heard = take(&reports);
    let named = |report: &Report| report.head().application.as_ref().map(ToString::to_string);
    assert!(heard.iter().all(|report| named(report).as_deref() == Some("shop")), "{heard:?}");
    assert!(kinds(&heard).contains(&ReportKind::Crash));
    let steps: Vec<_> = heard
        .iter()
        .filter_map(|report| match report {
            Report::Application(report) => Some(report.what.step.to_string()),
            _ => None,
        })
        .collect();
    let expected =
        ["starts", "begins phase \"open\"", "runs", "is asked to stop", "has ended: shutdown"];
    assert_eq!(steps, expected);
}

#[test]
fn x8_an_application_that_ends_its_node_is_reported_with_its_reason() {
    use krarup::application::{Application, Mode};
    let log = Log::new();
    let shop = || {
        krarup::behavior::behavior_fn(|mut ctx: Context<()>| async move {
            ctx.initialised();
            ctx.receive().await;
            Err(Reason::error("out of stock"))
        })
    };
    let shop = Application::new("shop", shop).mode(Mode::Permanent);
    let sim = Simulation::with_applications(1, [shop]).unwrap();
    let (reports, notes) = (sim.reports(), log.clone());
    let reporter = move || Reporter {
        reports: reports.clone(),
        log: notes.clone(),
        dead: None,
        does: |_, _| Ok(()),
    };
    sim.spawn_system(reporter).wait().unwrap();
    let top = sim.applications()[0].top.unwrap();
    sim.exit(top, boom());
    sim.stopped().wait().unwrap();
    let lines = log.lines();
    let has = |line: &str| lines.iter().any(|other| other.ends_with(line));
    assert!(has("error application of shop: ends: boom"), "{lines:?}");
    assert!(has("error application of shop: stops the node: boom"), "{lines:?}");
}

#[test]
fn x11_what_others_miss_of_a_reporter_is_not_reported_to_it() {
    let sim = Simulation::new(1);
    let prices = sim.open_topic::<u32>("prices").open().unwrap();
    let (slow, topic) = (Probe::<u32>::spawn(&sim), prices.topic());
    slow.run(move |ctx| ctx.subscribe(&topic).at_most(1, WhenFull::DropNewest).start().map(drop))
        .unwrap();
    sim.suspend(slow.pid()).wait().unwrap();
    prices.publish(1).unwrap();
    let (reports, reporter) = (sim.reports(), Probe::<Report>::spawn(&sim));
    reporter.run(move |ctx| ctx.subscribe(&reports).start().map(drop)).unwrap();
    let witness = Probe::<Report>::of(&sim, &sim.reports());
    reporter.run(move |_| prices.publish(2).unwrap());
    sim.run_until_idle();
    assert_eq!(kinds(&take(&witness)), [ReportKind::Missed]);
    assert!(take(&reporter).is_empty());
}
