//! Supervision.

#![forbid(unsafe_code)]

mod action;
mod children;
mod error;
mod info;
mod intensity;
mod plan;
mod spec;

pub use error::{
    DeleteChildError, FailedToStartChild, GetChildSpecError, RestartChildError, SpecError,
    StartChildError, TerminateChildError,
};
pub use info::{ChildCounts, ChildInfo, ChildState};
pub use spec::{AutoShutdown, ChildId, ChildKind, RestartType, Shutdown, Strategy};
