//! Supervision.

#![forbid(unsafe_code)]

mod action;
mod calls;
mod carrier;
mod child_spec;
mod children;
mod command;
mod error;
mod ignore;
mod info;
mod intensity;
mod plan;
mod report;
mod spec;
mod supervisor;

pub use calls::{SupervisorAddress, SupervisorCall, SupervisorCalls};
pub use child_spec::{ChildSpec, ChildTemplate};
pub use command::{ChildRef, SupervisorCommand};
pub use error::{
    DeleteChildError, FailedToStartChild, GetChildSpecError, RestartChildError, SpecError,
    StartChildError, TerminateChildError,
};
pub use ignore::Ignore;
pub use info::{ChildCounts, ChildInfo, ChildSpecInfo, ChildState};
pub use spec::{AutoShutdown, ChildId, ChildKind, RestartType, Shutdown, Strategy};
pub use supervisor::Supervisor;
