#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub use krarup_act::{
    Actor, Address, AddressOf, Behavior, BehaviorFn, Block, Call, CannotWait, Context,
    DEFAULT_CALL_TIMEOUT, Dynamic, Monitor, Pending, Pool, PoolCommand, PoolError, Received, Reply,
    Resized, Route, Sleep, Spawn, Stop, behavior_fn, is_in_process,
};
pub use krarup_gen::{
    BlockError, CallError, DispatcherStats, Down, Exit, Inspection, LookupError, Name, NameError,
    NodeStats, Panic, ParsePidError, ParseRefError, Pid, Priority, ProcessInfo, ProcessState,
    ProcessTree, Reason, Ref, RegisterError, Result, SendError, SpawnError, StopError, Target,
    Timestamp, Value,
};
pub use krarup_node::{DispatcherOptions, Node, NodeBuilder, NodeError, NodeStop, Simulation};
pub use krarup_supervisor::{
    AutoShutdown, ChildCounts, ChildId, ChildInfo, ChildKind, ChildRef, ChildSpec, ChildSpecInfo,
    ChildState, ChildTemplate, DeleteChildError, FailedToStartChild, GetChildSpecError, Ignore,
    RestartChildError, RestartType, Shutdown, SpecError, StartChildError, Strategy, Supervisor,
    SupervisorAddress, SupervisorCall, SupervisorCalls, SupervisorCommand, TerminateChildError,
};

/// What most programs use; `Result` stands in for the standard one, with defaults.
pub mod prelude {
    pub use crate::{
        Actor, Address, CallError, ChildSpec, Context, Down, Exit, Inspection, Node, Pid, Pool,
        PoolCommand, Priority, Reason, Reply, RestartType, Result, SendError, Shutdown, Simulation,
        SpawnError, Supervisor, SupervisorCalls,
    };
}
