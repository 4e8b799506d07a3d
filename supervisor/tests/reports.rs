//! What a supervisor says of itself: `inspect` and the log (rules S12, X3).

mod support;

use krarup_gen::{Inspection, Reason, Value};
use krarup_supervisor::{BackOff, RestartType, Supervisor, SupervisorCalls};
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::{Do, Habits, Stage, Start};
use tracing::field::{Field, Visit};
use tracing::span;

/// Keeps the events of the supervisor as lines of text.
#[derive(Clone, Default)]
struct Journal(Arc<Mutex<Vec<String>>>);

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
    let hour = Duration::from_hours(1);
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
fn s12_the_end_of_a_supervisor_has_its_cause() {
    let journal = Journal::default();
    let _here = tracing::subscriber::set_default(journal.clone());
    let stage = Stage::new();
    let supervisor = stage.supervisor(Supervisor::one_for_one);
    supervisor.stop().wait().unwrap();
    assert_eq!(*journal.0.lock().unwrap(), ["INFO supervisor ends count=0 cause=\"told to\""]);
}

#[test]
fn s12_waits_and_restarts_in_place_are_events() {
    let journal = Journal::default();
    let _here = tracing::subscriber::set_default(journal.clone());
    let stage = Stage::new();
    let second = Duration::from_secs(1);
    let a = stage.child("a").back_off(BackOff::new(second, second));
    let b = stage.child_in_place("b");
    let hour = Duration::from_hours(1);
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
fn s12_a_child_that_did_not_end_as_told_is_a_warning() {
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
fn s12_a_child_that_is_left_behind_is_an_error() {
    let journal = Journal::default();
    let _here = tracing::subscriber::set_default(journal.clone());
    let stage = Stage::new();
    let a = stage.child("a").shutdown(Duration::from_secs(1));
    let supervisor = stage.supervisor(move || Supervisor::one_for_one().child(a));
    let stuck = stage.pid("a");
    let hold = krarup_node::Fault::Delay(Duration::from_hours(1));
    stage.sim.faults(krarup_node::Faults::new().at_step(0, hold, stuck));
    // A fault strikes after a turn.
    supervisor.count_children().wait().unwrap();
    supervisor.stop().wait().unwrap();
    let lines = journal.0.lock().unwrap().join("\n");
    let expected = format!(
        "INFO child started child=a pid={stuck} count=0\n\
         INFO supervisor ends count=0 cause=\"told to\"\n\
         ERROR child cannot be ended and is left behind child=a pid={stuck} count=0"
    );
    assert_eq!(lines, expected);
}
