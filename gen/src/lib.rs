//! The vocabulary of the Krarup node.
//!
//! The types that all other crates use, without anything that runs: identities ([`Pid`],
//! [`Ref`], [`Name`]), the reason of an end ([`Reason`]), notices ([`Exit`], [`Down`]), errors,
//! timestamps, and the records with which a process describes itself. It has no threads, no
//! locks and no clock.

#![forbid(unsafe_code)]
// docs.rs marks what needs a feature.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod alias;
mod application_event;
mod application_picture;
mod char_boundary;
mod class;
mod cluster_picture;
mod cluster_stats;
mod counted;
mod crash_report;
mod cron_event;
mod current_turn;
mod cut_text;
mod dead_letter;
mod destination;
mod errors;
mod group_change;
mod ignore;
mod inspection;
mod kept_node;
mod label;
mod latency;
mod lifecycle;
mod management;
mod name;
mod node_name;
mod notice;
mod one_line;
mod outcome;
mod panic;
mod pid;
mod pool_gauges;
mod priority;
mod process_info;
mod process_kind;
mod process_tree;
mod reason;
mod reason_record;
mod recorded;
mod recorded_item;
mod recorded_turn;
mod reference;
mod report;
mod report_text;
mod restart_window;
mod root;
mod sample;
#[cfg(feature = "serde")]
mod serialized;
#[cfg(feature = "serde")]
mod serialized_records;
mod stats;
mod supervision;
mod timestamp;
mod topic;
mod wait;

pub use alias::Alias;
pub use application_event::{ApplicationEvent, ApplicationStep};
pub use application_picture::ApplicationPicture;
#[doc(hidden)]
pub use char_boundary::char_boundary_to;
pub use class::Class;
pub use cluster_picture::{ClusterPicture, ConnectionGauges};
pub use cluster_stats::ClusterStats;
pub use counted::{CountsBy, MessageTotals, ReasonKind, RefusalCause, RestartKind};
pub use crash_report::{
    Ancestor, CrashCause, CrashCauseKind, CrashLink, CrashReport, ItemInHand, ItemKind,
};
pub use cron_event::{CronEvent, CronTrouble, RunDate};
pub use current_turn::CurrentTurn;
pub use dead_letter::{DeadLetter, DeadLetterCause};
pub use destination::Destination;
pub use errors::{AwaitNameError, NamedCallError, RetryError};
pub use errors::{
    BlockError, CallCycle, CallError, CannotWait, DebugError, JoinError, KeyCallError,
    KeySendError, LeaveError, LookupError, ManageError, MessageTypes, NoBound, OpenTopicError,
    OrderError, OverflowError, PublishError, RecordError, RecordTurnsError, RegisterError,
    RegisterKeyError, SendError, SpawnError, StopError, SubscribeError, TaskError, ThreadError,
    TooManyRecorded, TooSlow, TopicLookupError, TraceError, UndeliveredCause, WatchGroupError,
};
pub use group_change::GroupChange;
pub use ignore::Ignore;
pub use inspection::{Inspection, Value};
pub use kept_node::KeptNode;
pub use label::Label;
pub use latency::Latency;
pub use lifecycle::Lifecycle;
pub use management::{Managed, ManagedChild, Management};
pub use name::{Name, NameError};
pub use node_name::{InvalidNodeName, NodeName};
pub use notice::{Down, Exit, Target};
pub use one_line::one_line;
pub use outcome::WorkOutcome;
pub use panic::Panic;
pub use pid::{ParsePidError, Pid};
pub use pool_gauges::PoolGauges;
pub use priority::Priority;
pub use process_info::{ProcessInfo, ProcessState};
pub use process_kind::ProcessKind;
pub use process_tree::ProcessTree;
pub use reason::{Reason, ReasonError};
pub use reason_record::ReasonRecord;
pub use recorded::{DeadlockRecord, LongTurnRecord, Memory, Recorded, RecordedPage};
pub use recorded_item::{Lane, RecordedItem, TraceEnd, TraceLimits, TracePage};
pub use recorded_turn::{RecordedTurn, RecordedTurns, TurnRecordingLimits};
pub use reference::{ParseRefError, Ref};
pub use report::{
    MissedEvents, OverdueStop, Report, ReportHead, ReportKind, ReportLevel, Reported, TaskShutdown,
};
pub use restart_window::RestartWindow;
pub use root::Root;
pub use sample::Sample;
pub use stats::{DispatcherStats, Histogram, NodeStats, WorkerStats};
pub use supervision::{Aftermath, SupervisionAction, SupervisionEvent};
pub use timestamp::Timestamp;
pub use topic::TopicId;
pub use wait::{Wait, WaitKind};

/// The result of callbacks: `Ok`, or the [`Reason`] for which the process ends.
///
/// The default is `Result<(), Reason>`. Both parameters can be given, so this type can replace
/// `std::result::Result` where the prelude is imported.
pub type Result<T = (), E = Reason> = std::result::Result<T, E>;
