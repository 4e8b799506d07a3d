//! The reports of a supervisor: `inspect` and the log (rules S12, X3).

use crate::support::{Do, Habits, Stage, Start, Worker};
use krarup_gen::{Inspection, Pid, Reason, Value};
use krarup_node::{Fault, Faults};
use krarup_supervisor::{
    AutoShutdown, BackOff, ChildSpec, ChildTemplate, RestartType, Shutdown, Supervisor,
    SupervisorCalls,
};
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span;

const HOUR: Duration = Duration::from_secs(3600);

/// Records the events of the supervisor as lines of text.
#[derive(Clone)]
struct Journal(Arc<Mutex<Vec<String>>>);

/// A second subscriber, so that there is always more than one. With a single subscriber,
/// `tracing` checks on the first thread that reaches an event whether that thread is interested,
/// and caches the answer for all threads. A test without a journal would so disable the journal
/// of another. With two subscribers it checks on each thread.
static ANOTHER: OnceLock<tracing::Dispatch> = OnceLock::new();

impl Default for Journal {
    fn default() -> Self {
        ANOTHER
            .get_or_init(|| tracing::Dispatch::new(tracing::subscriber::NoSubscriber::default()));
        Journal(Arc::default())
    }
}

struct Line {
    message: String,
    fields: String,
    of_supervisor: bool,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            "supervisor" => self.of_supervisor = true,
            name => write!(self.fields, " {name}={value:?}").unwrap(),
        }
    }
}

impl tracing::Subscriber for Journal {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "krarup"
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line { message: String::new(), fields: String::new(), of_supervisor: false };
        event.record(&mut line);
        if line.of_supervisor {
            let level = event.metadata().level();
            self.0.lock().unwrap().push(format!("{level} {}{}", line.message, line.fields));
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[test]
fn s12_starts_ends_restarts_and_giving_up_are_events() {
    let journal = Journal::default();
    let _here = tracing::subscriber::set_default(journal.clone());
    let stage = Stage::new();
    stage.plan("b", &[Start::Ignore]);
    let (a, b) = (stage.child("a"), stage.child("b"));
    let hour = Duration::from_secs(3600);
    let supervisor =
        stage.supervisor(move || Supervisor::one_for_one().intensity(2, hour).child(a).child(b));
    let first = stage.pid("a");
    stage.plan("a", &[Start::Fail]);
    stage.crash("a");
    let second = stage.pid("a");
    supervisor.terminate_child("a").wait().unwrap();
    supervisor.restart_child("a").wait().unwrap();
    let third = stage.pid("a");
    stage.tell("a", Do::End(Reason::Normal));
    assert!(!supervisor.is_alive());

    let lines = journal.0.lock().unwrap().join("\n");
    let expected = format!(
        "INFO child started child=a pid={first} count=0\n\
         INFO child ignored child=b count=0\n\
         WARN child ended child=a pid={first} reason=boom count=0\n\
         WARN child restarting child=a pid={first} reason=boom count=1\n\
         ERROR child failed to start child=a reason=no count=1\n\
         WARN child restarting child=a count=2\n\
         INFO child started child=a pid={second} count=2\n\
         INFO child stopped child=a pid={second} reason=shutdown count=2\n\
         INFO child started child=a pid={third} count=2\n\
         INFO child ended child=a pid={third} reason=normal count=2\n\
         ERROR supervisor gives up child=a count=2 cause=\"reached maximum restart intensity\""
    );
    assert_eq!(lines, expected);
}

#[test]
fn s12_an_event_has_the_name_of_its_supervisor() {
    let journal = Journal::default();
    let _here = tracing::subscriber::set_default(journal.clone());
    let stage = Stage::new();
    let (a, b) = (stage.child("a"), stage.child_in_place("b"));
    let shop = || Supervisor::one_for_one().intensity(9, HOUR).child(a).child(b);
    let supervisor = stage.sim.spawn(shop).name("shop").wait().unwrap();
    stage.crash("b");
    stage.crash("a");
    supervisor.terminate_child("a").wait().unwrap();
    supervisor.stop().wait().unwrap();
    let lines = without_pids(&journal);
    let named: Vec<_> =
        lines.iter().filter(|line| line.contains(" supervisor_name=\"shop\" ")).collect();
    assert_eq!((named.len(), lines.len()), (9, 9), "{lines:?}");
}

#[test]
fn s12_the_end_of_a_supervisor_has_its_cause() {
    let journal = Journal::default();
    let _here = tracing::subscriber::set_default(journal.clone());
    let stage = Stage::new();
    let supervisor = stage.supervisor(Supervisor::one_for_one);
    supervisor.stop().wait().unwrap();
    assert_eq!(
        *journal.0.lock().unwrap(),
        ["INFO supervisor ends count=0 cause=\"stop requested\""]
    );
}

#[test]
fn s12_waits_and_restarts_in_place_are_events() {
    let journal = Journal::default();
    let _here = tracing::subscriber::set_default(journal.clone());
    let stage = Stage::new();
    let second = Duration::from_secs(1);
    let a = stage.child("a").back_off(BackOff::new(second, second));
    let b = stage.child_in_place("b");
    let hour = Duration::from_secs(3600);
    stage.supervisor(move || Supervisor::one_for_one().intensity(2, hour).child(a).child(b));
    let (a, b) = (stage.pid("a"), stage.pid("b"));
    journal.0.lock().unwrap().clear();
    stage.crash("b");
    stage.crash("a");
    stage.pass(second);
    let lines = journal.0.lock().unwrap().join("\n");
    let expected = format!(
        "WARN child restarting in place child=b pid={b} reason=boom count=1\n\
         WARN child ended child=a pid={a} reason=boom count=1\n\
         INFO child waits for its restart child=a wait=1s count=1\n\
         WARN child restarting child=a count=2\n\
         INFO child started child=a pid={} count=2",
        stage.pid("a")
    );
    assert_eq!(lines, expected);
}

#[test]
fn s12_a_child_that_did_not_end_as_requested_is_a_warning() {
    let journal = Journal::default();
    let _here = tracing::subscriber::set_default(journal.clone());
    let stage = Stage::new();
    let slow = Habits { slow: Some(Duration::from_secs(9)), ..Habits::default() };
    let a = stage.child_with("a", slow);
    let supervisor = stage.supervisor(move || Supervisor::one_for_one().child(a));
    let pid = stage.pid("a");
    journal.0.lock().unwrap().clear();
    supervisor.terminate_child("a").wait().unwrap();
    let expected =
        format!("WARN child stopped child=a pid={pid} reason=killed count=0 shutdown=5s");
    assert_eq!(*journal.0.lock().unwrap(), [expected]);
}

#[test]
fn x3_inspect_shows_the_settings_and_every_child() {
    let stage = Stage::new();
    let a = stage.child("a").restart(RestartType::Transient);
    let b = stage.child("b");
    let supervisor = stage.supervisor(|| Supervisor::rest_for_one().child(a).child(b));
    stage.crash("b");
    stage.tell("a", Do::End(Reason::Normal));
    let answer = supervisor.inspect().wait().unwrap();
    assert_eq!(answer.text("strategy"), Some("rest_for_one"));
    assert_eq!(answer.number("intensity"), Some(1));
    assert_eq!(answer.value("period"), Some(&Value::Duration(Duration::from_secs(5))));
    assert_eq!(answer.text("auto_shutdown"), Some("never"));
    assert_eq!(answer.number("specs"), Some(2));
    assert_eq!(answer.number("active"), Some(1));
    assert_eq!(answer.number("restarts"), Some(1));
    let child = |id: &str, state: String, restarts: u64| {
        let record = Inspection::new().with("id", id).with("state", state).with("kind", "worker");
        Value::Record(record.with("restarts", restarts))
    };
    let children =
        [child("a", "undefined".to_owned(), 0), child("b", stage.pid("b").to_string(), 1)];
    assert_eq!(answer.value("children"), Some(&Value::List(children.into())));
}

#[test]
fn x3_inspect_tells_which_child_is_in_init_and_which_have_ended_meanwhile() {
    let stage = Stage::new();
    let (a, b) = (stage.child("a"), stage.child("b"));
    let supervisor =
        stage.supervisor(|| Supervisor::one_for_one().intensity(9, HOUR).child(a).child(b));
    let first = stage.pid("a");
    stage.plan("b", &[Start::WellLate(Duration::from_secs(60))]);
    stage.crash("b");
    stage.crash("a");
    let states = || {
        let answer = supervisor.inspect().wait().unwrap();
        let Some(Value::List(children)) = answer.value("children").cloned() else { panic!() };
        let state = |child: &Value| match child {
            Value::Record(child) => child.text("state").unwrap().to_owned(),
            other => panic!("{other:?}"),
        };
        children.iter().map(state).collect::<Vec<_>>()
    };
    let starts = stage.pid("b");
    assert_eq!(states(), [format!("{first} has ended"), format!("{starts} in init")]);
    stage.pass(Duration::from_secs(60));
    assert_eq!(states(), [stage.pid("a").to_string(), starts.to_string()]);
}

#[test]
fn s12_an_abandoned_child_is_an_error() {
    let journal = Journal::default();
    let _here = tracing::subscriber::set_default(journal.clone());
    let stage = Stage::new();
    let a = stage.child("a").shutdown(Duration::from_secs(1));
    let supervisor = stage.supervisor(move || Supervisor::one_for_one().child(a));
    let stuck = stage.pid("a");
    hold(&stage, &[stuck]);
    // A fault strikes after a turn.
    supervisor.count_children().wait().unwrap();
    supervisor.stop().wait().unwrap();
    let lines = journal.0.lock().unwrap().join("\n");
    let expected = format!(
        "INFO child started child=a pid={stuck} count=0\n\
         INFO supervisor ends count=0 cause=\"stop requested\"\n\
         ERROR child cannot be ended and is abandoned child=a pid={stuck} count=0"
    );
    assert_eq!(lines, expected);
}

/// The log lines of a stage's supervisors, without the pids, which come first.
fn without_pids(journal: &Journal) -> Vec<String> {
    let lines = std::mem::take(&mut *journal.0.lock().unwrap());
    let words = |line: &String| {
        let words = line.split(' ').filter(|word| !word.starts_with("pid="));
        words.collect::<Vec<_>>().join(" ")
    };
    lines.iter().map(words).collect()
}

#[test]
fn s12_a_start_that_fails_and_an_auto_shutdown_have_their_causes() {
    let journal = Journal::default();
    let _here = tracing::subscriber::set_default(journal.clone());
    let stage = Stage::new();
    stage.plan("b", &[Start::Fail]);
    let (a, b) = (stage.child("a"), stage.child("b"));
    stage.start(|| Supervisor::one_for_one().child(a).child(b)).unwrap_err();
    let expected = [
        "INFO child started child=a count=0",
        "ERROR child failed to start child=b reason=no count=0",
        "ERROR supervisor gives up child=b count=0 cause=\"child failed to start\"",
        "INFO child stopped child=a reason=shutdown count=0",
    ];
    assert_eq!(without_pids(&journal), expected);

    let a = stage.child("a").restart(RestartType::Temporary).significant(true);
    let b = stage.child("b");
    stage.supervisor(|| {
        Supervisor::one_for_one().auto_shutdown(AutoShutdown::AnySignificant).child(a).child(b)
    });
    without_pids(&journal);
    stage.crash("a");
    let expected = [
        "WARN child ended child=a reason=boom count=0",
        "INFO supervisor ends child=a count=0 cause=\"significant child ended\"",
        "INFO child stopped child=b reason=shutdown count=0",
    ];
    assert_eq!(without_pids(&journal), expected);
}

/// The supervisor stops children of whose end it has not been notified yet.
#[test]
fn s12_a_stopped_child_that_was_killed_or_had_ended_is_no_warning() {
    for shutdown in [Shutdown::BrutalKill, Shutdown::Infinity] {
        let journal = Journal::default();
        let _here = tracing::subscriber::set_default(journal.clone());
        let stage = Stage::new();
        let (a, b, c) = (stage.child("a"), stage.child("b"), stage.child("c"));
        let (b, c) = (b.shutdown(shutdown), c.shutdown(shutdown));
        stage.supervisor(|| Supervisor::rest_for_one().child(a).child(b).child(c));
        let first = stage.pid("b");
        stage.sim.kill(stage.pid("a"));
        stage.sim.kill(first);
        without_pids(&journal);
        stage.sim.run_until_idle();
        let told = if shutdown == Shutdown::BrutalKill { "killed" } else { "shutdown" };
        let expected = [
            "WARN child ended child=a reason=killed count=0".to_owned(),
            "WARN child restarting child=a reason=killed count=1".to_owned(),
            format!("INFO child stopped child=c reason={told} count=1"),
            "INFO child stopped child=b reason=no process count=1".to_owned(),
        ];
        assert_eq!(without_pids(&journal)[..4], expected);
    }
}

#[test]
fn s12_a_child_that_ends_badly_when_it_is_stopped_and_dynamic_ones_are_reported_by_id() {
    let journal = Journal::default();
    let _here = tracing::subscriber::set_default(journal.clone());
    let stage = Stage::new();
    let shared = stage.shared();
    let hour = Habits { trap: true, slow: Some(Duration::from_secs(3600)) };
    let template = ChildTemplate::worker("dynamic", move |(id, is_slow): (&'static str, bool)| {
        let habits = if is_slow { hour } else { Habits::default() };
        Worker::new(id, Arc::clone(&shared), habits)
    });
    let template = template.shutdown(Duration::from_secs(1));
    let supervisor = stage.supervisor(|| Supervisor::simple_one_for_one(template));
    for child in [("a", false), ("b", true)] {
        supervisor.start_child(child).wait().unwrap();
    }
    without_pids(&journal);
    supervisor.stop().wait().unwrap();
    let mut lines = without_pids(&journal);
    lines[1..].sort();
    let expected = [
        "INFO supervisor ends count=0 cause=\"stop requested\"",
        "DEBUG child stopped child=dynamic reason=shutdown count=0",
        "WARN child stopped child=dynamic reason=killed count=0 shutdown=1s",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn s12_children_of_a_template_that_come_and_go_are_debug_and_their_failures_are_not() {
    let journal = Journal::default();
    let _here = tracing::subscriber::set_default(journal.clone());
    for (restart, end) in [
        (RestartType::Transient, "DEBUG child ended child=dynamic reason=normal count=1"),
        (RestartType::Temporary, "DEBUG child ended child=dynamic reason=normal count=0"),
        (RestartType::Permanent, "INFO child ended child=dynamic reason=normal count=1"),
    ] {
        let stage = Stage::new();
        let shared = stage.shared();
        let template = ChildTemplate::worker("dynamic", move |id: String| {
            Worker::new(&id, Arc::clone(&shared), Habits::default())
        });
        let template = template.restart(restart);
        let hour = Duration::from_secs(3600);
        let supervisor =
            stage.supervisor(move || Supervisor::simple_one_for_one(template).intensity(9, hour));
        let mut pid = supervisor.start_child("a".to_owned()).wait().unwrap().unwrap();
        assert_eq!(without_pids(&journal), ["DEBUG child started child=dynamic count=0"]);
        stage.sim.exit(pid, Reason::error("boom"));
        stage.sim.run_until_idle();
        let lines = without_pids(&journal);
        assert_eq!(lines[0], "WARN child ended child=dynamic reason=boom count=0");
        if restart == RestartType::Temporary {
            assert_eq!(lines.len(), 1);
            pid = supervisor.start_child("a".to_owned()).wait().unwrap().unwrap();
            without_pids(&journal);
        } else {
            let restarted = [
                "WARN child restarting child=dynamic reason=boom count=1",
                "INFO child started child=dynamic count=1",
            ];
            assert_eq!(lines[1..], restarted);
            pid = supervisor.which_children().wait().unwrap()[0].state.pid().unwrap();
        }
        stage.sim.send(pid, Do::End(Reason::Normal)).unwrap();
        stage.sim.run_until_idle();
        assert_eq!(without_pids(&journal)[0], end);
    }
}

/// Panics at every event of a supervisor.
struct PanicsAtEvents;

impl tracing::Subscriber for PanicsAtEvents {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.fields().field("supervisor").is_some()
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        panic!("a log subscriber");
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[test]
fn s12_a_subscriber_that_panics_ends_no_supervisor() {
    let _here = tracing::subscriber::set_default(PanicsAtEvents);
    let stage = Stage::new();
    stage.plan("c", &[Start::Ignore]);
    let (a, b, c) = (stage.child("a"), stage.child_in_place("b"), stage.child("c"));
    let (a, hour) = (a.back_off(BackOff::new(HOUR, HOUR)), HOUR);
    let supervisor = stage.supervisor(move || {
        Supervisor::one_for_one().intensity(9, hour).child(a).child(b).child(c)
    });
    stage.crash("a");
    stage.crash("b");
    stage.plan("a", &[Start::Fail]);
    for _ in 0..2 {
        stage.pass(HOUR);
    }
    assert_eq!(stage.log(), "(boom) a, [boom] b, start b, fail a, start a");
    supervisor.terminate_child("a").wait().unwrap();
    supervisor.stop().wait().unwrap();
    assert_eq!(stage.log(), "stop a, stop b");
}

#[test]
fn x3_inspect_shows_the_settings_and_the_children_of_a_template() {
    let stage = Stage::new();
    let second = Duration::from_secs(1);
    let supervisor = stage.supervisor(move || {
        let all = AutoShutdown::AllSignificant;
        Supervisor::one_for_all().intensity(7, second).auto_shutdown(all).kill_grace(3 * second)
    });
    let answer = supervisor.inspect().wait().unwrap();
    assert_eq!(answer.text("strategy"), Some("one_for_all"));
    assert_eq!(answer.number("intensity"), Some(7));
    assert_eq!(answer.value("period"), Some(&Value::Duration(second)));
    assert_eq!(answer.text("auto_shutdown"), Some("all_significant"));
    assert_eq!(answer.value("kill_grace"), Some(&Value::Duration(3 * second)));
    assert_eq!((answer.number("specs"), answer.number("active")), (Some(0), Some(0)));
    let inner = ChildSpec::supervisor("inner", Supervisor::one_for_one);
    let inner = inner.restart(RestartType::Transient);
    supervisor.start_child(inner).wait().unwrap();
    let shown = format!("{:?}", supervisor.inspect().wait().unwrap());
    assert!(shown.contains("\"supervisor\""), "{shown}");

    let shared = stage.shared();
    let template = ChildTemplate::worker("dynamic", move |id: String| {
        Worker::new(&id, Arc::clone(&shared), Habits::default())
    });
    let supervisor = stage.supervisor(|| Supervisor::simple_one_for_one(template));
    for id in ["x", "y"] {
        supervisor.start_child(id.to_owned()).wait().unwrap();
    }
    let answer = supervisor.inspect().wait().unwrap();
    assert_eq!((answer.number("specs"), answer.number("active")), (Some(1), Some(2)));
    let Some(Value::List(children)) = answer.value("children") else { panic!("{answer:?}") };
    assert_eq!(children.len(), 2);
}

/// These processes get no turn any more.
fn hold(stage: &Stage, pids: &[Pid]) {
    let held = Fault::Delay(Duration::from_secs(3600));
    let faults = pids.iter().fold(Faults::new(), |all, pid| all.at_step(0, held, *pid));
    stage.sim.faults(faults);
}

#[test]
fn s12_abandoned_dynamic_children_are_reported_one_by_one() {
    let journal = Journal::default();
    let _here = tracing::subscriber::set_default(journal.clone());
    let stage = Stage::new();
    let shared = stage.shared();
    let template = ChildTemplate::worker("dynamic", move |id: String| {
        Worker::new(&id, Arc::clone(&shared), Habits::default())
    });
    let supervisor = stage.supervisor(|| Supervisor::simple_one_for_one(template));
    let start = |id: &str| supervisor.start_child(id.to_owned()).wait().unwrap().unwrap();
    let pids = ["a", "b", "c", "d"].map(start);
    hold(&stage, &pids[1..3]);
    supervisor.count_children().wait().unwrap();
    without_pids(&journal);
    supervisor.stop().wait().unwrap();
    let behind = "ERROR child cannot be ended and is abandoned child=dynamic count=0";
    let stopped = "DEBUG child stopped child=dynamic reason=shutdown count=0";
    assert_eq!(without_pids(&journal)[1..], [stopped, behind, behind, stopped]);
}

#[test]
fn s12_a_child_that_has_ended_is_not_abandoned_without_a_grace_period() {
    let journal = Journal::default();
    let _here = tracing::subscriber::set_default(journal.clone());
    let stage = Stage::new();
    let (a, b) = (stage.child("a"), stage.child("b").shutdown(Shutdown::BrutalKill));
    stage.supervisor(|| Supervisor::rest_for_one().kill_grace(Duration::ZERO).child(a).child(b));
    for id in ["a", "b"] {
        stage.sim.kill(stage.pid(id));
    }
    without_pids(&journal);
    stage.sim.run_until_idle();
    let expected = "INFO child stopped child=b reason=no process count=1";
    assert_eq!(without_pids(&journal)[2], expected);
}

/// Its signal, and its end, lie before the supervisor when it is gone.
#[test]
fn s12_the_end_of_a_child_that_waits_for_its_restart_is_reported_once() {
    let journal = Journal::default();
    let _here = tracing::subscriber::set_default(journal.clone());
    let stage = Stage::new();
    let second = Duration::from_secs(1);
    let a = stage.child("a").back_off(BackOff::new(second, second));
    let supervisor = stage.supervisor(move || Supervisor::one_for_one().child(a));
    stage.sim.suspend(supervisor.pid()).wait().unwrap();
    stage.tell("a", Do::Signal(supervisor.pid()));
    stage.crash("a");
    without_pids(&journal);
    assert!(stage.sim.resume(supervisor.pid()));
    stage.sim.run_until_idle();
    let [ended, waits] = &without_pids(&journal)[..] else { panic!("an end and a wait") };
    assert!(ended.starts_with("WARN child ended child=a reason="), "{ended}");
    assert_eq!(waits, "INFO child waits for its restart child=a wait=1s count=0");
    stage.pass(second);
    assert_eq!(supervisor.inspect().wait().unwrap().number("restarts"), Some(1));
}
