#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub use krarup_act::{
    Actor, Address, AddressOf, Behavior, BehaviorFn, Block, Call, CannotWait, Context,
    DEFAULT_CALL_TIMEOUT, Divert, Diverted, Dynamic, Ended, Failure, InPlace, InPlaceError, Judge,
    Monitor, Overflow, Pending, Permit, Pool, PoolCommand, PoolError, Received, Recipient, Reply,
    Resized, Route, SendOrWait, Sleep, Spawn, Stop, Topic, Traced, behavior_fn, is_in_process,
};
pub use krarup_gen::{
    Alias, BlockError, CallCycle, CallError, DeadLetter, DeadLetterCause, DebugError, Destination,
    DispatcherStats, Down, Exit, Inspection, Lifecycle, LookupError, Name, NameError, NoBound,
    NodeStats, Panic, ParsePidError, ParseRefError, Pid, Priority, ProcessInfo, ProcessState,
    ProcessTree, Reason, Ref, RegisterError, RestartWindow, Result, SendError, SpawnError,
    StopError, Target, Timestamp, Value,
};
pub use krarup_node::{
    DispatcherOptions, FailingSeed, Faults, Node, NodeBuilder, NodeError, NodeStop, Probe,
    Simulation, Trace,
};
pub use krarup_state::{
    AskId, Cleaner, CommandError, CommandResult, Commands, Completion, EventTimer, Exception,
    GrainAddress, GrainCalls, GrainCommand, Grains, HIGH_EVENTS, HIGH_REPLIES, Kinds, Letter,
    Letters, Load, Promise, Scope, StateActor, StateAddress, StateContext, Stateful, StepEvent,
    StepOutput, StepProcess, Stepped, Tag, ToGrain, UnknownMethod,
};
pub use krarup_supervisor::{
    AutoShutdown, BackOff, BackOffError, ChildCounts, ChildId, ChildInfo, ChildKind, ChildRef,
    ChildSpec, ChildSpecInfo, ChildState, ChildTemplate, DeleteChildError, FailedToStartChild,
    GetChildSpecError, Ignore, RestartChildError, RestartType, Shutdown, SpecError,
    StartChildError, Strategy, Supervisor, SupervisorAddress, SupervisorCall, SupervisorCalls,
    SupervisorCommand, TerminateChildError,
};

/// What most programs use; `Result` stands in for the standard one, with defaults.
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
#[doc = include_str!("../docs/porting.md")]
pub mod porting {}
