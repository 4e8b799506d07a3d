//! The texts of reports: one line, or the shape of the log of SASL (rule X10).
//!
//! ```text
//! 2.5s error crash <0.42.0>: "stock" (Stock) ended by own: panicked: out of stock
//!
//! =CRASH REPORT==== 2.5s === error ===
//!     pid: <0.42.0>
//!     name: stock
//!     ..
//! ```

use crate::one_line::{OneLine, unbroken};
use crate::{CrashReport, CronTrouble, Report, SupervisionEvent};
use std::fmt;

/// What is printed for each field of the long form.
type Field<'a> = &'a mut dyn FnMut(&str, &dyn fmt::Display) -> fmt::Result;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = self.head();
        if f.alternate() {
            let kind = self.kind().as_str().to_uppercase();
            write!(f, "={kind} REPORT==== {} === {} ===", head.at, head.level)?;
            self.fields(&mut |name, value| write!(f, "\n    {name}: {}", unbroken(value)))?;
            if let Some(application) = &head.application {
                write!(f, "\n    application: {}", OneLine(application.as_str()))?;
            }
            if head.left_out > 0 {
                write!(f, "\n    left out: {}", head.left_out)?;
            }
            return Ok(());
        }
        write!(f, "{} {} {}", head.at, head.level, self.kind())?;
        if let Some(pid) = head.pid {
            write!(f, " {pid}")?;
        }
        if let Some(application) = &head.application {
            write!(f, " of {}", OneLine(application.as_str()))?;
        }
        write!(f, ": {}", unbroken(&Summary(self)))?;
        if head.left_out > 0 {
            write!(f, " ({} more left out)", head.left_out)?;
        }
        Ok(())
    }
}

/// The text of the short form behind its head. Names, reasons and ids of children are in it as they are.
struct Summary<'a>(&'a Report);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Report::Crash(report) => crash_summary(&report.what, f),
            Report::Supervision(report) => supervision_summary(&report.what, f),
            Report::Missed(report) => {
                write!(f, "{} missed by subscribers of {}", report.what.count, report.what.topic)
            }
            Report::DeadLetters(report) => write!(f, "{}", report.what),
            Report::LongTurn(report) => {
                let turn = &report.what;
                write!(f, "held worker {} of {} for {:?}", turn.worker, turn.dispatcher, turn.held)
            }
            Report::Task(report) => {
                let (tasks, limit) = (report.what.tasks, report.what.limit);
                write!(f, "ended by the stop of {tasks}, after {limit:?}")
            }
            Report::Overdue(report) => {
                write!(f, "killed, because it had not stopped after {:?}", report.what.limit)
            }
            Report::Application(report) => {
                write!(f, "{}", report.what.step)
            }
            Report::Cron(report) => write!(f, "{:?}: {}", report.what.job, report.what.what),
        }
    }
}

impl Report {
    /// The fields of the long form. Their values are as they are.
    fn fields(&self, field: Field<'_>) -> fmt::Result {
        match self {
            Report::Crash(report) => crash_fields(&report.what, field),
            Report::Supervision(report) => supervision_fields(&report.what, field),
            Report::Missed(report) => {
                field("topic", &report.what.topic)?;
                field("missed", &report.what.count)
            }
            Report::DeadLetters(report) => {
                field("to", &report.what.to)?;
                optional(field, "from", report.what.from.as_ref())?;
                field("message", &report.what.message)?;
                field("cause", &report.what.cause)
            }
            Report::LongTurn(report) => {
                let turn = &report.what;
                optional(field, "pid", turn.pid.as_ref())?;
                optional(field, "name", turn.name.as_ref())?;
                optional(field, "behavior", turn.behavior.as_ref())?;
                field("dispatcher", &turn.dispatcher)?;
                field("worker", &turn.worker)?;
                field("held", &format_args!("{:?}", turn.held))
            }
            Report::Task(report) => {
                field("task", &report.what.task)?;
                field("tasks", &report.what.tasks)?;
                field("waited", &format_args!("{:?}", report.what.limit))
            }
            Report::Overdue(report) => {
                field("pid", &report.what.pid)?;
                optional(field, "stopped by", report.what.by.as_ref())?;
                field("waited", &format_args!("{:?}", report.what.limit))
            }
            Report::Application(report) => field("step", &report.what.step),
            Report::Cron(report) => {
                field("job", &report.what.job)?;
                match &report.what.what {
                    CronTrouble::Failed { reason } => field("reason", reason),
                    CronTrouble::LeftOut { due } => field("left out, due", due),
                    CronTrouble::Missed { runs, more, last } => {
                        let at_least = if *more { "at least " } else { "" };
                        field("missed", &format_args!("{at_least}{runs}"))?;
                        field("last due", last)
                    }
                }
            }
        }
    }
}

fn optional<T: fmt::Display>(field: Field<'_>, name: &str, value: Option<&T>) -> fmt::Result {
    value.map_or(Ok(()), |value| field(name, value))
}

fn crash_summary(crash: &CrashReport, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some(name) = &crash.name {
        write!(f, "{:?} ", name.as_str())?;
    }
    write!(f, "({}) ended by {}", crash.behavior, crash.cause.kind)?;
    if let Some(by) = crash.cause.by {
        write!(f, " of {by}")?;
    }
    write!(f, ": {}", crash.reason)
}

fn crash_fields(crash: &CrashReport, field: Field<'_>) -> fmt::Result {
    field("pid", &crash.pid)?;
    optional(field, "name", crash.name.as_ref())?;
    optional(field, "label", crash.label.as_ref())?;
    field("behavior", &crash.behavior)?;
    field("reason", &crash.reason)?;
    field("cause", &crash.cause.kind)?;
    optional(field, "by", crash.cause.by.as_ref())?;
    for link in &crash.cause.chain {
        field("because", &format_args!("{}: {}", link.pid, link.reason))?;
    }
    for ancestor in &crash.ancestors {
        match &ancestor.name {
            Some(name) => field("ancestor", &format_args!("{} {name}", ancestor.pid))?,
            None => field("ancestor", &ancestor.pid)?,
        }
    }
    if let Some(item) = &crash.in_hand {
        let type_name = item.type_name.unwrap_or("");
        match &crash.in_hand_text {
            Some(text) => field("in hand", &format_args!("{} {text}", item.kind))?,
            None => field("in hand", &format_args!("{} {type_name}", item.kind))?,
        }
        optional(field, "sender", item.sender.as_ref())?;
    }
    field("messages waiting", &(crash.urgent + crash.system + crash.main))?;
    field("dead letters", &crash.letters_lost)?;
    field("links", &crash.links.len())?;
    field("monitored by", &crash.monitored_by)?;
    field("dispatcher", &crash.dispatcher)?;
    field("uptime", &format_args!("{:?}", crash.uptime))
}

fn supervision_summary(event: &SupervisionEvent, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(event.what.as_str())?;
    if let Some(child) = &event.child {
        write!(f, " child {child:?}")?;
    }
    if let Some(pid) = event.pid {
        write!(f, " {pid}")?;
    }
    if let Some(reason) = &event.reason {
        write!(f, ": {reason}")?;
    }
    Ok(())
}

fn supervision_fields(event: &SupervisionEvent, field: Field<'_>) -> fmt::Result {
    field("supervisor", &event.by)?;
    optional(field, "name", event.by_name.as_ref())?;
    field("what", &event.what)?;
    optional(field, "child", event.child.as_ref())?;
    optional(field, "pid", event.pid.as_ref())?;
    optional(field, "replaces", event.replaces.as_ref())?;
    optional(field, "reason", event.reason.as_ref())?;
    if let Some(wait) = event.wait {
        field("waits", &format_args!("{wait:?}"))?;
    }
    optional(field, "strategy", event.strategy.as_ref())?;
    if let Some((restarts, period)) = event.intensity {
        field("intensity", &format_args!("{restarts} in {period:?}"))?;
    }
    field("restarts", &event.count)
}

#[cfg(test)]
mod tests {
    use crate::{
        ApplicationEvent, ApplicationStep, CrashReport, CronEvent, CronTrouble, DeadLetter,
        DeadLetterCause, Label, LongTurnRecord, MissedEvents, Name, OverdueStop, Pid, Reason,
        ReasonRecord, Ref, Report, ReportHead, ReportKind, ReportLevel, Reported,
        SupervisionAction, SupervisionEvent, TaskShutdown, Timestamp, TopicId,
    };
    use std::time::Duration;

    const SECOND: Duration = Duration::from_secs(1);

    fn head(pid: Option<Pid>, left_out: u64) -> ReportHead {
        ReportHead::new(Timestamp::ZERO + SECOND, pid, ReportLevel::Warn, left_out)
    }

    fn pid(id: u64) -> Pid {
        Pid::local(id, 1)
    }

    #[test]
    fn x10_a_crash_is_one_line_or_a_head_line_and_fields() {
        let reason = ReasonRecord::of(&Reason::error("out of stock"));
        let crash = CrashReport::new(pid(42), Label::of_type("shop::Stock"), reason)
            .with(|crash| crash.name = Name::new("stock").ok());
        let head = head(Some(pid(42)), 3).of(Name::new("shop").ok());
        let report = Report::Crash(Reported::new(head, crash));
        let line = "1s warn crash <0.42.0> of shop: \"stock\" (Stock) ended by own: out of stock (3 more left out)";
        assert_eq!(report.to_string(), line);
        let long = format!("{report:#}");
        let mut lines = long.lines();
        assert_eq!(lines.next(), Some("=CRASH REPORT==== 1s === warn ==="));
        let fields: Vec<_> = lines.collect();
        assert!(fields.iter().all(|field| field.starts_with("    ")), "{long}");
        for field in [
            "    pid: <0.42.0>",
            "    name: stock",
            "    reason: out of stock",
            "    application: shop",
        ] {
            assert!(fields.contains(&field), "{long}");
        }
        assert_eq!(fields.last(), Some(&"    left out: 3"));
    }

    #[test]
    fn x10_texts_with_line_breaks_are_one_line_and_one_line_for_each_field() {
        const BROKEN: &str = "a\r\n    reason: forged\u{2028}z";
        let name = || Name::new(BROKEN).unwrap();
        let reason = || Some(ReasonRecord::of(&Reason::error(BROKEN)));
        let crash = CrashReport::new(pid(1), Label::given(name()), reason().unwrap());
        let crash = crash.with(|crash| {
            (crash.name, crash.label) = (Some(name()), Some(name()));
            (crash.in_hand_text, crash.dispatcher) = (Some(BROKEN.to_owned()), BROKEN.to_owned());
        });
        let event = SupervisionEvent::new(pid(1), SupervisionAction::Restarting).with(|event| {
            (event.child, event.reason) = (Some(BROKEN.to_owned()), reason());
            event.by_name = Some(name());
        });
        let turn = LongTurnRecord::new(BROKEN.to_owned(), 3, SECOND);
        let topic = TopicId { name: Some(name()), reference: Ref::new(7) };
        let failed = CronTrouble::Failed { reason: BROKEN.to_owned() };
        assert_eq!(failed.to_string().lines().count(), 1);
        let head = || head(Some(pid(1)), 0).of(Some(name()));
        for report in [
            Report::Crash(Reported::new(head(), crash)),
            Report::Supervision(Reported::new(head(), event)),
            Report::LongTurn(Reported::new(head(), turn)),
            Report::Missed(Reported::new(head(), MissedEvents::new(topic, 5))),
            Report::Cron(Reported::new(head(), CronEvent::new(BROKEN, failed))),
        ] {
            let (line, long) = (report.to_string(), format!("{report:#}"));
            for text in [&line, &long] {
                assert!(!text.contains(['\r', '\u{2028}']) && text.contains("a\\r\\n"), "{text}");
            }
            assert_eq!(line.lines().count(), 1, "{line}");
            let forged = |line: &&str| line.starts_with("    reason: forged");
            assert_eq!(long.lines().filter(forged).count(), 0, "{long}");
        }
    }

    #[test]
    fn x10_each_kind_has_a_line_and_a_long_form() {
        let reason = Some(ReasonRecord::of(&Reason::error("bad")));
        let event = SupervisionEvent::new(pid(1), SupervisionAction::Restarting)
            .with(|event| (event.child, event.reason) = (Some("db".to_owned()), reason));
        let topic = TopicId { name: Name::new("prices").ok(), reference: Ref::new(7) };
        let letter = DeadLetter::new(pid(2), None, "u32", DeadLetterCause::NoProcess);
        let turn = LongTurnRecord::new("default".to_owned(), 3, SECOND);
        let reports = [
            Report::Supervision(Reported::new(head(Some(pid(1)), 0), event)),
            Report::Missed(Reported::new(head(None, 0), MissedEvents::new(topic, 5))),
            Report::DeadLetters(Reported::new(head(None, 0), letter)),
            Report::LongTurn(Reported::new(head(None, 0), turn)),
            Report::Task(Reported::new(
                head(Some(pid(4)), 0),
                TaskShutdown::new(pid(4), pid(3), SECOND),
            )),
            Report::Overdue(Reported::new(
                head(Some(pid(5)), 0),
                OverdueStop::new(pid(5), None, SECOND),
            )),
            Report::Application(Reported::new(
                head(None, 0).of(Name::new("shop").ok()),
                ApplicationEvent::new(Name::new("shop").unwrap(), ApplicationStep::Runs),
            )),
            Report::Cron(Reported::new(
                head(Some(pid(6)), 0),
                CronEvent::new("daily", CronTrouble::Failed { reason: "bad".to_owned() }),
            )),
        ];
        let lines = [
            "1s warn supervision <0.1.0>: restarting child \"db\": bad",
            "1s warn missed events: 5 missed by subscribers of topic \"prices\"",
            "1s warn dead letter: u32 to <0.2.0>: no such process",
            "1s warn long turn: held worker 3 of default for 1s",
            "1s warn task <0.4.0>: ended by the stop of <0.3.0>, after 1s",
            "1s warn overdue stop <0.5.0>: killed, because it had not stopped after 1s",
            "1s warn application of shop: runs",
            "1s warn cron <0.6.0>: \"daily\": run failed: bad",
        ];
        for ((report, line), kind) in reports.iter().zip(lines).zip(&ReportKind::ALL[1..]) {
            assert_eq!((report.to_string().as_str(), report.kind()), (line, *kind));
            let long = format!("{report:#}");
            let head =
                format!("={} REPORT==== 1s === warn ===\n    ", kind.as_str().to_uppercase());
            assert!(long.starts_with(&head), "{long}");
        }
        assert!(ReportKind::ALL.iter().enumerate().all(|(place, kind)| *kind as usize == place));
    }
}
