#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub use krarup_act::{
    Actor, Address, AddressOf, Behavior, BehaviorFn, Call, CannotWait, Context,
    DEFAULT_CALL_TIMEOUT, Dynamic, Monitor, Pending, Pool, PoolCommand, PoolError, Received, Reply,
    Resized, Route, Sleep, Spawn, Stop, behavior_fn,
};
pub use krarup_gen::{
    CallError, DispatcherStats, Down, Exit, Inspection, LookupError, Name, NameError, NodeStats,
    Panic, ParsePidError, ParseRefError, Pid, Priority, ProcessInfo, ProcessState, ProcessTree,
    Reason, Ref, Result, SendError, SpawnError, StopError, Target, Timestamp, Value,
};
pub use krarup_node::{DispatcherOptions, Node, NodeBuilder, NodeError, NodeStop, Simulation};

/// What most programs use; `Result` stands in for the standard one, with defaults.
pub mod prelude {
    pub use crate::{
        Actor, Address, CallError, Context, Down, Exit, Inspection, Node, Pid, Pool, PoolCommand,
        Priority, Reason, Reply, Result, SendError, Simulation, SpawnError,
    };
}
