#![doc = include_str!("../README.md")]
//!
//! ---
//!
//! The links to `docs` are those of the repository. These pages include the [`guide`],
//! [`porting`] and [`settings`].
#![forbid(unsafe_code)]

pub use krarup_act::{
    Actor, Address, AddressOf, Behavior, BehaviorFn, Block, Broadcast, ByKey, Call, Choice,
    Context, DEFAULT_CALL_TIMEOUT, Discarded, Divert, Diverted, Dynamic, Elastic, Ended,
    EventTopic, InPlace, InPlaceError, InspectRequest, Judge, KILL_GRACE, Latency, LeastLoaded,
    Monitor, Order, Overflow, Pending, Permit, Plain, Pool, PoolBehavior, PoolCommand, PoolContext,
    PoolError, PoolState, PoolStatistics, Rate, Received, Recipient, Reply, ResizeError, Resized,
    RoomFuture, RoundRobin, Route, Routing, SendOrWait, Sleep, Spawn, StateFailure, Stop, Traced,
    TwoChoices, Workers, behavior_fn, is_in_process,
};
pub use krarup_gen::{
    Alias, BlockError, CallCycle, CallError, CannotWait, Class, DeadLetter, DeadLetterCause,
    DebugError, Destination, DispatcherStats, Down, Exit, Histogram, Inspection, Label, Lifecycle,
    LookupError, MessageTypes, Name, NameError, NoBound, NodeStats, OrderError, OverflowError,
    Panic, ParsePidError, ParseRefError, Pid, Priority, ProcessInfo, ProcessState, ProcessTree,
    Reason, ReasonError, Ref, RegisterError, RestartWindow, Result, Root, SendError, SpawnError,
    StopError, Target, ThreadError, Timestamp, Value, WorkerStats,
};
pub use krarup_node::{
    Carried, CodecFailure, DispatcherOptions, Executor, ExecutorTask, FailingSeed, Fault, Faults,
    Node, NodeBuilder, NodeError, NodeStop, Probe, Simulation, Trace, Victim,
};
#[cfg(feature = "settings")]
pub use krarup_node::{Settings, SettingsError, SettingsFault};
pub use krarup_state::{
    AskId, Cleaner, CommandError, CommandResult, Commands, Completion, EventTimer, Exception,
    GrainAddress, GrainCalls, GrainCommand, Grains, GrainsError, HIGH_EVENTS, HIGH_REPLIES, Kinds,
    Load, Promise, Scope, StateActor, StateAddress, StateCalls, StateContext, StateMessage,
    Stateful, StatefulError, StepEvent, StepOutput, StepProcess, Stepped, Tag, ToGrain,
    UnknownMethod,
};
pub use krarup_supervisor::{
    AutoShutdown, BackOff, BackOffError, ChildCounts, ChildId, ChildInfo, ChildKind, ChildRef,
    ChildSpec, ChildSpecInfo, ChildState, ChildTemplate, DeleteChildError, FailedToStartChild,
    GetChildSpecError, Ignore, RestartChildError, RestartType, Shutdown, SpecError,
    StartChildError, Strategy, Supervisor, SupervisorAddress, SupervisorCall, SupervisorCalls,
    SupervisorCommand, TerminateChildError,
};

#[cfg(feature = "io")]
#[doc(inline)]
pub use krarup_io as io;

/// The types that most programs use. `Result` replaces the standard one, with defaults.
pub mod prelude {
    pub use crate::{
        Actor, Address, CallError, ChildSpec, Context, Down, Exit, Inspection, Node, Pid, Pool,
        PoolCommand, Priority, Reason, Reply, RestartType, Result, SendError, Shutdown, Simulation,
        SpawnError, Supervisor, SupervisorCalls,
    };
}

#[cfg(any(doc, doctest))]
#[doc = include_str!("../docs/guide.md")]
pub mod guide {}

#[cfg(any(doc, doctest))]
#[doc = include_str!("../docs/settings.md")]
pub mod settings {}

#[cfg(any(doc, doctest))]
#[doc = include_str!("../docs/porting.md")]
pub mod porting {}
