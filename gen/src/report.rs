//! Reports: what a node itself has to say, as values (rule X8).
//!
//! ```text
//!   Report ── kind ──► Crash, Supervision, Missed, DeadLetters, LongTurn, Task, Overdue,
//!     │           Application, Cron
//!     │
//!     └── Reported ── head: when, about whom, how serious, how many were left out
//!                 └── what: the record of that kind
//! ```
//!
//! The idea is SASL's of Erlang/OTP: crash reports and supervisor reports have a shape of their
//! own. Here they are types, and their texts (`report_text.rs`) come second.

use crate::{
    ApplicationEvent, CrashReport, CronEvent, DeadLetter, LongTurnRecord, Name, Pid,
    SupervisionAction, SupervisionEvent, Timestamp, TopicId,
};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Something that a node has to say of its processes (rule X8).
///
/// `Display` gives one line. The alternate form, `{:#}`, gives a head line and a line for each
/// field, as the log of SASL in Erlang/OTP does (rule X10).
///
/// ```
/// # use krarup_gen::Report;
/// fn write(report: &Report) {
///     if let Report::Crash(crash) = report {
///         println!("{} failed: {}", crash.what.pid, crash.what.reason);
///     }
///     println!("{report}");
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Report {
    /// A process has failed.
    Crash(Reported<CrashReport>),
    /// A supervisor or a pool has seen or decided something.
    Supervision(Reported<SupervisionEvent>),
    /// Subscribers of a topic have missed events, because too many waited already (rule E7).
    Missed(Reported<MissedEvents>),
    /// A message was not handled.
    DeadLetters(Reported<DeadLetter>),
    /// A turn has held its worker for longer than the limit of the dispatcher (rule R4).
    LongTurn(Reported<LongTurnRecord>),
    /// A task had to be ended, because its `Tasks` stopped (rule J9).
    Task(Reported<TaskShutdown>),
    /// A process did not stop in time, and was killed.
    Overdue(Reported<OverdueStop>),
    /// Something happened to an application (rule A13).
    Application(Reported<ApplicationEvent>),
    /// A run of a cron's job has failed, was missed, or was left out (rules T8, T10, T11).
    Cron(Reported<CronEvent>),
}

/// A report of one kind.
#[derive(Debug, PartialEq)]
pub struct Reported<T> {
    /// What reports of all kinds have.
    pub head: ReportHead,
    /// What happened.
    pub what: Arc<T>,
}

impl<T> Reported<T> {
    /// Creates a report. For hosts.
    #[must_use]
    pub fn new(head: ReportHead, what: impl Into<Arc<T>>) -> Self {
        Reported { head, what: what.into() }
    }
}

impl<T> Clone for Reported<T> {
    fn clone(&self) -> Self {
        Reported { head: self.head.clone(), what: Arc::clone(&self.what) }
    }
}

/// What reports of all kinds have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportHead {
    /// When it happened, in the node's time.
    pub at: Timestamp,
    /// The process that the report is about; `None` if it is about none that is known.
    pub pid: Option<Pid>,
    /// The application to which that process belongs (rule A6).
    pub application: Option<Name>,
    /// How serious it is.
    pub level: ReportLevel,
    /// How many reports of the same kind were left out since the last one: there are at most ten
    /// of a kind within a second (rule X9).
    pub left_out: u64,
}

impl ReportHead {
    /// Creates a head. For hosts.
    #[must_use]
    pub const fn new(at: Timestamp, pid: Option<Pid>, level: ReportLevel, left_out: u64) -> Self {
        ReportHead { at, pid, application: None, level, left_out }
    }

    /// Returns the head with the application of the process.
    #[must_use]
    pub fn of(self, application: Option<Name>) -> Self {
        ReportHead { application, ..self }
    }
}

/// How serious a report is: the level of the log event of the same thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReportLevel {
    /// Something happened as intended.
    Info,
    /// Something failed, and is dealt with.
    Warn,
    /// Something failed.
    Error,
}

impl fmt::Display for ReportLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReportLevel::Info => "info",
            ReportLevel::Warn => "warn",
            ReportLevel::Error => "error",
        })
    }
}

/// The kinds of reports. Each kind is thinned apart from the others (rule X9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ReportKind {
    /// [`Report::Crash`].
    Crash,
    /// [`Report::Supervision`].
    Supervision,
    /// [`Report::Missed`].
    Missed,
    /// [`Report::DeadLetters`].
    DeadLetters,
    /// [`Report::LongTurn`].
    LongTurn,
    /// [`Report::Task`].
    Task,
    /// [`Report::Overdue`].
    Overdue,
    /// [`Report::Application`].
    Application,
    /// [`Report::Cron`].
    Cron,
}

impl ReportKind {
    /// All kinds, each at the place of its number.
    pub const ALL: [ReportKind; 9] = [
        ReportKind::Crash,
        ReportKind::Supervision,
        ReportKind::Missed,
        ReportKind::DeadLetters,
        ReportKind::LongTurn,
        ReportKind::Task,
        ReportKind::Overdue,
        ReportKind::Application,
        ReportKind::Cron,
    ];

    /// Returns the name of the kind, in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ReportKind::Crash => "crash",
            ReportKind::Supervision => "supervision",
            ReportKind::Missed => "missed events",
            ReportKind::DeadLetters => "dead letter",
            ReportKind::LongTurn => "long turn",
            ReportKind::Task => "task",
            ReportKind::Overdue => "overdue stop",
            ReportKind::Application => "application",
            ReportKind::Cron => "cron",
        }
    }
}

impl fmt::Display for ReportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Report {
    /// Returns the kind.
    #[must_use]
    pub const fn kind(&self) -> ReportKind {
        match self {
            Report::Crash(_) => ReportKind::Crash,
            Report::Supervision(_) => ReportKind::Supervision,
            Report::Missed(_) => ReportKind::Missed,
            Report::DeadLetters(_) => ReportKind::DeadLetters,
            Report::LongTurn(_) => ReportKind::LongTurn,
            Report::Task(_) => ReportKind::Task,
            Report::Overdue(_) => ReportKind::Overdue,
            Report::Application(_) => ReportKind::Application,
            Report::Cron(_) => ReportKind::Cron,
        }
    }

    /// Returns what reports of all kinds have.
    #[must_use]
    pub const fn head(&self) -> &ReportHead {
        match self {
            Report::Crash(report) => &report.head,
            Report::Supervision(report) => &report.head,
            Report::Missed(report) => &report.head,
            Report::DeadLetters(report) => &report.head,
            Report::LongTurn(report) => &report.head,
            Report::Task(report) => &report.head,
            Report::Overdue(report) => &report.head,
            Report::Application(report) => &report.head,
            Report::Cron(report) => &report.head,
        }
    }
}

impl SupervisionEvent {
    /// Returns how serious the event is: the level of its log event. An end is a warning if its
    /// reason is abnormal.
    #[must_use]
    pub fn level(&self) -> ReportLevel {
        match self.what {
            SupervisionAction::Started
            | SupervisionAction::Ignored
            | SupervisionAction::Waiting
            | SupervisionAction::EndedInOrder => ReportLevel::Info,
            SupervisionAction::Ended | SupervisionAction::Stopped => {
                let abnormal = self.reason.as_ref().is_some_and(|reason| reason.kind.is_abnormal());
                if abnormal { ReportLevel::Warn } else { ReportLevel::Info }
            }
            SupervisionAction::Restarting | SupervisionAction::InPlace => ReportLevel::Warn,
            SupervisionAction::Failed
            | SupervisionAction::Abandoned
            | SupervisionAction::GaveUp => ReportLevel::Error,
        }
    }
}

/// Events of a topic that subscribers have missed (rule E7).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissedEvents {
    /// The topic.
    pub topic: TopicId,
    /// How many, since the last report of the topic.
    pub count: u64,
}

impl MissedEvents {
    /// Creates a record. For hosts.
    #[must_use]
    pub const fn new(topic: TopicId, count: u64) -> Self {
        MissedEvents { topic, count }
    }
}

/// A task that had not ended when its `Tasks` stopped (rule J9).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskShutdown {
    /// The task.
    pub task: Pid,
    /// The `Tasks` process.
    pub tasks: Pid,
    /// How long it was waited for.
    pub limit: Duration,
}

impl TaskShutdown {
    /// Creates a record. For hosts.
    #[must_use]
    pub const fn new(task: Pid, tasks: Pid, limit: Duration) -> Self {
        TaskShutdown { task, tasks, limit }
    }
}

/// A process that was asked to stop, did not end in time, and was killed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OverdueStop {
    /// The process.
    pub pid: Pid,
    /// The supervisor that stopped it; `None` if the node did.
    pub by: Option<Pid>,
    /// How long it was waited for.
    pub limit: Duration,
}

impl OverdueStop {
    /// Creates a record. For hosts.
    #[must_use]
    pub const fn new(pid: Pid, by: Option<Pid>, limit: Duration) -> Self {
        OverdueStop { pid, by, limit }
    }
}
