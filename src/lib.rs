// Of two definitions of a link the first one counts: the pages that the README names are modules here.
//! [CHANGELOG.md]: crate::pages::changelog
//! [CONTRIBUTING.md]: crate::pages::contributing
//! [SECURITY.md]: crate::pages
//! [docs/architecture.md]: crate::pages::architecture
//! [docs/at_night.md]: crate::pages::at_night
//! [docs/cluster_operation.md]: crate::pages::cluster_operation
//! [docs/comparison.md]: crate::pages::comparison
//! [docs/decisions.md]: crate::pages::decisions
//! [docs/deployment.md]: crate::pages::deployment
//! [docs/guide.md]: crate::guide
//! [docs/guide/calendars.md]: crate::guide::calendars
//! [docs/guide/clusters.md]: crate::guide::clusters
//! [docs/guide/named_services.md#a-main-with-anyhow]: crate::guide::named_services#a-main-with-anyhow
//! [docs/guide/sockets.md]: crate::guide::sockets
//! [docs/guide/testing.md]: crate::guide::testing
//! [docs/observer.md]: crate::pages::observer_page
//! [docs/performance.md]: crate::pages::performance
//! [docs/porting.md]: crate::porting
//! [docs/porting/erlang_cache.md]: crate::porting::erlang_cache
//! [docs/recipes.md]: crate::recipes
//! [docs/semantics.md]: crate::pages::contract
//! [docs/settings.md]: crate::settings
//! [docs/stability.md]: crate::pages::stability
//! [docs/tour.md]: crate::tour
//! [docs/verification.md]: crate::pages::verification
//! [examples/]: crate::pages
//! [integrations/axum/README.md]: https://docs.rs/krarup-axum
//! [integrations/tonic/README.md]: https://docs.rs/krarup-tonic
//! [integrations/tower/README.md]: https://docs.rs/krarup-tower
//!
#![doc = include_str!("../README.md")]
//!
//! ---
//!
//! The documents of the repository are in [`tour`], [`guide`], [`recipes`], [`porting`], [`settings`] and [`pages`].
//!
//! # Where to find what
//!
//! The root has what every program uses: the node, actors and their contexts, addresses,
//! calls, pids, reasons, and the errors of these. The [`prelude`] has the types that most
//! programs import. Everything else is in the module of its topic:
//!
//! | topic | module |
//! |---|---|
//! | supervisors, their children, restarts in place | [`supervisor`] |
//! | pools of workers, and how they choose one | [`pool`] |
//! | state machines: their types besides those in the root; actors that serve while their handlers wait | [`state`] |
//! | state machines driven from outside | [`step`] |
//! | items that are handled in batches | [`batches`] |
//! | processes by key, spawned on demand | [`grains`] |
//! | events that any number of processes hear of | [`topics`] |
//! | groups of processes, registries by key | [`groups`] |
//! | bounds and order of mailboxes | [`mailbox`] |
//! | bare processes, and behaviours of one's own | [`behavior`] |
//! | threads: dispatchers, executors, classes | [`dispatcher`] |
//! | inspections, statistics, traces, events | [`observe`] |
//! | applications: parts of a program, their order and their ends | [`application`] |
//! | simulations, probes, faults | [`testing`] |
//! | nodes that are set up by a file (feature `settings`) | [`settings`] |
//! | sockets (feature `io`) | `io` |
//! | jobs at the times of the wall clock (feature `cron`) | `cron` |
//! | clusters of Erlang and Krarup nodes (features `cluster`, `cluster-tls`) | `cluster` |
//! | a page, an API, probes and metrics of a running node (feature `observer`; with tools for language models: `mcp`) | `observer` |
#![forbid(unsafe_code)]
// docs.rs marks what needs a feature.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(all(doc, not(doctest)))]
#[macro_use]
pub mod pages;

#[doc(inline)]
pub use krarup_act::{
    Actor, Address, Agent, Call, Context, NamedAddress, NodeClock, Recipient, Reply, Retry, Spawn,
    Task,
};
#[doc(inline)]
pub use krarup_gen::{
    Alias, BlockError, CallError, CannotWait, Down, Exit, LookupError, Name, NameError,
    NamedCallError, NodeName, Pid, Priority, Reason, ReasonError, Ref, RegisterError, Result,
    SendError, SpawnError, StopError, Target, TaskError, Timestamp,
};
#[doc(inline)]
pub use krarup_node::{Node, NodeBuilder, NodeError, ProgramError};

// Names that have moved into the modules of their topics, so that the page of the root shows what most
// programs use. Programs that import them from here still compile.
#[doc(hidden)]
pub use crate::{addressing::*, calls::*, lifecycle::*, tasks::*};
#[doc(hidden)]
pub use krarup_state::{Entered, Event, First, Machine, Next, StateMachine};

#[cfg(feature = "derive")]
#[doc = include_str!("protocol.md")]
#[doc(inline)]
pub use krarup_derive::Protocol;

/// The types that most programs use. `Result` replaces the standard one, with defaults.
pub mod prelude {
    pub use crate::observe::Inspection;
    pub use crate::pool::{Pool, PoolCommand};
    pub use crate::supervisor::{
        ChildSpec, RestartType, Shutdown, Supervisor, SupervisorCalls, TasksCalls,
    };
    pub use crate::testing::Simulation;
    pub use crate::{
        Actor, Address, CallError, Context, Down, Exit, Node, Pid, Priority, Reason, Reply, Result,
        SendError, SpawnError,
    };
}

/// Supervisors with the semantics of OTP's: their children, restart policies, back-off and
/// requests. Also actors that are restarted in place, with or without a supervisor.
pub mod supervisor {
    #[doc(inline)]
    pub use krarup_act::{
        DefaultIntensity, InPlace, InPlaceError, RestartPolicy, Restartable, StateFailure,
    };
    #[doc(inline)]
    pub use krarup_gen::RestartWindow;
    #[doc(inline)]
    pub use krarup_supervisor::*;
}

/// Addresses beside [`Address`], [`Recipient`] and [`NamedAddress`]: their types by behaviour, messages of
/// any type, waiting for a name, and the errors of texts that are no names, pids or references.
pub mod addressing {
    #[doc(inline)]
    pub use krarup_act::{AddressOf, Dynamic, LookupOrWait};
    #[doc(inline)]
    pub use krarup_gen::{
        AwaitNameError, Destination, InvalidNodeName, MessageTypes, ParsePidError, ParseRefError,
    };
}

/// What calls return beside [`Call`]: the futures that wait for an answer, calls by name and of
/// recipients, answers given later, a cycle of calls, and why a request has not reached another node.
pub mod calls {
    #[doc(inline)]
    pub use krarup_act::{CallFuture, DEFAULT_CALL_TIMEOUT, NamedCall, Pending, RecipientCall};
    #[doc(inline)]
    pub use krarup_gen::{CallCycle, RetryError, UndeliveredCause};
}

/// The life of processes: what a spawn, a stop and a watch return, and what a cleaner is given.
pub mod lifecycle {
    #[doc(inline)]
    pub use krarup_act::{Ended, Inside, KILL_GRACE, Outside, Sleep, Stop, Watch};
    #[doc(inline)]
    pub use krarup_node::NodeStop;
}

/// Tasks, agents and blocking work: what starts them, and what they give back.
pub mod tasks {
    #[doc(inline)]
    pub use krarup_act::{
        AgentAddress, AgentMessage, AllResults, Block, SpawnTask, SpawnTasks, TaskFuture,
        TaskResults,
    };
    #[doc(inline)]
    pub use krarup_gen::{Panic, ThreadError, WorkOutcome};
}

/// Pools of workers behind one address: their settings, commands and statistics, and a
/// behaviour of the pool's own. A [`Routing`](pool::Routing) chooses the worker of each job.
pub mod pool {
    #[doc(inline)]
    pub use krarup_act::{
        Broadcast, ByKey, Choice, Discarded, Drain, Elastic, LeastLoaded, Plain, Pool,
        PoolBehavior, PoolCommand, PoolContext, PoolError, PoolState, PoolStatistics, Rate,
        ResizeError, Resized, RoundRobin, Routing, TwoChoices, Workers,
    };
    #[doc(inline)]
    pub use krarup_gen::{Latency, PoolGauges};
}

/// State machines ([`StateMachine`], spawned as [`Machine`]:
/// `gen_statem`), and state actors: actors that serve other messages while their handlers wait. A
/// [`StateActor`](state::StateActor) is spawned as [`Stateful`](state::Stateful), and its
/// handlers work through a [`Scope`](state::Scope).
pub mod state {
    #[doc(inline)]
    pub use krarup_state::{
        AskId, AskThen, Cleaner, Entered, Event, EventTimer, Exception, First, HIGH_EVENTS,
        HIGH_REPLIES, Kinds, Load, Machine, MachineTypes, Next, Promise, Scope, ScopeCall,
        StateActor, StateAddress, StateCalls, StateContext, StateMachine, StateMessage, Stateful,
        StatefulError,
    };
}

/// Batches: items that are collected by size, time and key, and handled together. A
/// [`Batcher`](batches::Batcher) is the process, [`BatcherCalls`](batches::BatcherCalls) drains it.
pub mod batches {
    #[doc(inline)]
    pub use krarup_state::{
        BatchItem, Batcher, BatcherAddress, BatcherCalls, BatcherCommand, BatcherError,
    };
}

/// Step processes: state machines driven from outside, such as interpreters. A
/// [`StepProcess`](step::StepProcess) is spawned as [`Stepped`](step::Stepped), and yields
/// [`Commands`](step::Commands) whose results it gets as events.
pub mod step {
    #[doc(inline)]
    pub use krarup_state::{
        CommandError, CommandResult, Commands, Completion, StepEvent, StepOutput, StepProcess,
        Stepped, Tag, UnknownMethod,
    };
}

/// Grains: processes with a key, spawned when a message is sent to the key and ended when they
/// are idle. [`Grains`](grains::Grains) is the behaviour of their keeper, and
/// [`GrainCalls`](grains::GrainCalls) sends through its address.
pub mod grains {
    #[doc(inline)]
    pub use krarup_state::{GrainAddress, GrainCalls, GrainCommand, Grains, GrainsError, ToGrain};
}

/// The mailbox of a process: what happens to messages that exceed its bound, and in which order
/// they are taken. Also reserved room, and sends that wait for room.
pub mod mailbox {
    #[doc(inline)]
    pub use krarup_act::{
        Divert, Diverted, Order, Overflow, Permit, PermitCall, ReserveOrWait, SendOrWait,
    };
    #[doc(inline)]
    pub use krarup_gen::{NoBound, OrderError, OverflowError};
}

/// Topics: events that any number of processes hear of. A [`Publisher`](topics::Publisher)
/// publishes, a [`Topic`](topics::Topic) is what one subscribes to.
pub mod topics {
    #[doc(inline)]
    pub use krarup_act::{
        Audience, Numbered, OpenTopic, PublishOrWait, Published, Publisher, Publishing, Settling,
        Subscribe, SubscriptionState, Topic, TopicInfo, TopicSubscriber, WhenFull,
    };
    #[doc(inline)]
    pub use krarup_gen::{
        OpenTopicError, PublishError, SubscribeError, TooSlow, TopicId, TopicLookupError,
    };
}

/// Process groups, and registries of processes by keys of any type. Related:
/// [`Context::join`](crate::Context::join), [`Node::groups`](crate::Node::groups).
pub mod groups {
    #[doc(inline)]
    pub use krarup_act::{GroupMembers, GroupWatch, Groups, GroupsWatch, KeyCall, Registry};
    #[doc(inline)]
    pub use krarup_gen::{
        GroupChange, JoinError, KeyCallError, KeySendError, LeaveError, RegisterKeyError,
        WatchGroupError,
    };
}

/// Bare processes, and what an author of a behaviour needs: receiving, routes, containing the
/// panics of users' code. What only behaviours call on their context is in the trait
/// [`BehaviorContext`](behavior::BehaviorContext). The supervisors, state actors, step processes,
/// grains and sockets of Krarup use nothing else.
pub mod behavior {
    #[doc(inline)]
    pub use krarup_act::{
        ActorEnd, Behavior, BehaviorContext, BehaviorFn, Contained, Delegate, Delivery,
        DroppedCalls, ExpiredMessage, HeldMessage, InNameScope, MadeBy, NameScope, NextMessage,
        OwnProcess, Receive, ReceiveWhere, Received, RoomFuture, Route, UnusedPid, behavior_fn,
        contain, current_pid, first_failure, holding, is_in_process, local_behavior_fn, made_by,
        next_turn, note_receiver, yield_now,
    };
}

/// Dispatchers: on which threads processes run, and for how long at a time. Also executors of
/// other runtimes, and the priority classes of processes.
pub mod dispatcher {
    #[doc(inline)]
    pub use krarup_gen::Class;
    #[doc(inline)]
    pub use krarup_node::{DispatcherOptions, Executor, ExecutorTask};
}

/// Looking at a running node: inspections, process infos and trees, statistics, traces,
/// suspensions. Also the events to which a process can subscribe: dead letters and lifecycles.
pub mod observe {
    #[doc(inline)]
    pub use krarup_act::{
        EventTopic, InspectRequest, ManageRequest, NodeView, Propagation, ShownState, SpanTies,
        TraceContext, TraceParentError, TraceReader, TraceSampler, TraceSamplerError, Traced,
        TurnRecording, Walk,
    };
    #[doc(inline)]
    pub use krarup_gen::{
        Aftermath, Ancestor, ApplicationEvent, ApplicationPicture, ApplicationStep, ClusterPicture,
        ClusterStats, ConnectionGauges, CountsBy, CrashCause, CrashCauseKind, CrashLink,
        CrashReport, CronEvent, CronTrouble, CurrentTurn, DeadLetter, DeadLetterCause,
        DeadlockRecord, DebugError, DispatcherStats, Histogram, Inspection, ItemInHand, ItemKind,
        KeptNode, Label, Lane, Lifecycle, LongTurnRecord, ManageError, Managed, ManagedChild,
        Management, Memory, MessageTotals, MissedEvents, NodeStats, OverdueStop, ProcessInfo,
        ProcessKind, ProcessState, ProcessTree, ReasonKind, ReasonRecord, RecordError,
        RecordTurnsError, Recorded, RecordedItem, RecordedPage, RecordedTurn, RecordedTurns,
        RefusalCause, Report, ReportHead, ReportKind, ReportLevel, Reported, RestartKind, Root,
        RunDate, Sample, SupervisionAction, SupervisionEvent, TaskShutdown, TooManyRecorded,
        TraceEnd, TraceError, TraceLimits, TracePage, TurnRecordingLimits, Value, Wait, WaitKind,
        WorkerStats,
    };
}

/// Applications: named parts of a program with a top process each, started in the order of what
/// they need and stopped in reverse; [`application::Mode`] says what the end of one means for the
/// node.
pub mod application {
    #[doc(inline)]
    pub use krarup_node::{
        Application, ApplicationError, ApplicationInfo, ApplicationState, Mode,
        StartApplicationError, StopApplication, StopApplicationError, Stopped,
    };
}

/// Testing without threads and real time: a [`Simulation`](testing::Simulation) runs processes
/// in an order that a seed chooses, in virtual time, with faults and codecs if the test asks for
/// them. A [`Probe`](testing::Probe) is a process of the test that states what it expects.
pub mod testing {
    #[doc(inline)]
    pub use krarup_node::{
        Carried, CodecFailure, FailingSeed, Fault, Faults, Probe, Schedule, ScheduleError,
        ShrunkFailure, Simulation, Trace, Victim,
    };
}

// The snippets of the pages are tests of `tests/documents.rs`: they need crates that no example does.
#[cfg(any(feature = "settings", doc))]
#[cfg_attr(all(doc, not(doctest)), doc = page!("docs/settings.md"))]
#[cfg_attr(any(not(doc), doctest), doc = "Nodes that are set up by a file: `docs/settings.md`.")]
pub mod settings {
    #[cfg(feature = "settings")]
    #[doc(inline)]
    pub use krarup_node::{Settings, SettingsError, SettingsFault};
}

/// The signals that ask a program to stop ([`Signals`](signals::Signals)), for programs on tokio.
#[cfg(feature = "signals")]
pub mod signals {
    #[doc(inline)]
    pub use krarup_node::Signals;
}

#[cfg(feature = "io")]
#[doc(inline)]
pub use krarup_io as io;

#[cfg(feature = "cron")]
#[doc(inline)]
pub use krarup_cron as cron;

#[cfg(feature = "cluster")]
pub mod cluster;

/// The observer of a running node: a page, a JSON API, probes, metrics, a live stream, actions (feature `observer`).
/// See `docs/observer.md`.
#[cfg(feature = "observer")]
pub mod observer {
    #[doc(inline)]
    pub use krarup_observer::*;
}

#[cfg(all(doc, not(doctest)))]
#[doc = page!("docs/guide.md")]
pub mod guide;

#[cfg(all(doc, not(doctest)))]
#[doc = page!("docs/porting.md")]
pub mod porting;

#[cfg(all(doc, not(doctest)))]
#[doc = page!("docs/recipes.md")]
pub mod recipes;

#[cfg(all(doc, not(doctest)))]
#[doc = page!("docs/tour.md")]
pub mod tour {}
