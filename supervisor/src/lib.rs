//! Supervision for the Krarup node, with the semantics of OTP's supervisor.
//!
//! A [`Supervisor`] starts its children in order, each when the one before has started. It
//! monitors them, and restarts those that end when they should not. It is a behaviour like any
//! other, so supervisors supervise supervisors, and a program is a tree: a process that crashes
//! is restarted at the lowest level that can handle it, while the rest keeps serving.
//!
//! ```
//! # mod krarup {
//! #     pub use {krarup_act::*, krarup_gen::*, krarup_node as testing, krarup_supervisor as supervisor};
//! # }
//! use krarup::supervisor::{ChildSpec, RestartType, Supervisor, SupervisorCalls};
//! use krarup::testing::Simulation;
//! use krarup::{Actor, Context, Result};
//! use std::time::Duration;
//!
//! #[derive(Default)]
//! struct Store {
//!     lines: Vec<String>,
//! }
//!
//! impl Actor for Store {
//!     type Message = String;
//!     async fn handle_message(&mut self, _: &mut Context<String>, line: String) -> Result {
//!         self.lines.push(line);
//!         Ok(())
//!     }
//! }
//!
//! # fn main() -> Result {
//! let node = Simulation::new(1);
//! let supervisor = node
//!     .spawn(|| {
//!         Supervisor::one_for_one()
//!             .intensity(5, Duration::from_secs(10))
//!             .child(ChildSpec::worker("store", Store::default).name("store"))
//!             .child(ChildSpec::supervisor("workers", Supervisor::rest_for_one))
//!     })
//!     .wait()?;
//!
//! let before = node.whereis("store").expect("a store");
//! node.kill(before);
//! node.run_until_idle();
//! assert_ne!(node.whereis("store").expect("a new store"), before);
//!
//! let spare = ChildSpec::worker("spare", Store::default).restart(RestartType::Transient);
//! supervisor.start_child(spare).wait()?;
//! assert_eq!(supervisor.count_children().wait()?.active, 3);
//! # Ok(())
//! # }
//! ```
//!
//! | topic | item |
//! |---|---|
//! | which children are restarted together | [`Strategy`] |
//! | which ends are followed by a restart | [`RestartType`] |
//! | how many restarts are allowed | [`Supervisor::intensity`] |
//! | how long restarts wait | [`BackOff`] |
//! | a restart that keeps the process and replaces its state | [`ChildSpec::worker_in_place`] |
//! | how a child is ended | [`Shutdown`] |
//! | a supervisor that ends with its significant children | [`AutoShutdown`] |
//! | adding, ending and listing children of a running supervisor | [`SupervisorCalls`] |
//! | children made on demand from one template | [`ChildTemplate`] |
//! | a child that has nothing to do | [`Ignore`] |
//! | a limit for their number | [`Supervisor::max_children`] |
//! | n children of one factory, found by a key | [`Partitions`] |
//! | futures that run as children and are never restarted | [`Tasks`] |
//!
//! Some of OTP's rules, which also hold here, are easily misunderstood:
//!
//! - A group restart counts once; each try after a failed restart counts again.
//! - A failed restart is not repeated at once. The child is `restarting`, and the supervisor
//!   serves the waiting items (ends, requests, a stop) before it tries again.
//! - A supervisor that reaches its restart intensity ends with `Shutdown`. So its own supervisor
//!   restarts it if it is permanent, and does not if it is transient.
//! - A group restart starts all members except the temporary ones, including those that had no
//!   process before.
//!
//! Differences from OTP: a dynamic child that is ignored in a restart is removed, and does not
//! crash its supervisor later. A dynamic child that is terminated while it is restarting does
//! not make `count_children` wrong. An exit signal that a living child sends to its supervisor
//! is not taken for its end.

#![forbid(unsafe_code)]
// docs.rs marks what needs a feature.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod action;
mod back_off;
mod calls;
mod check;
mod child_spec;
mod child_start;
mod children;
mod command;
mod error;
mod in_place;
mod info;
mod inspection;
mod partitions;
mod plan;
mod plan_executor;
mod report;
mod select;
mod sip_hash;
mod spec;
mod supervisor;
mod tasks;
mod waits;

pub use back_off::{BackOff, BackOffError};
pub use calls::{SupervisorAddress, SupervisorCall, SupervisorCalls};
pub use child_spec::{ChildSpec, ChildTemplate};
pub use command::{ChildRef, SupervisorCommand};
pub use error::{
    DeleteChildError, FailedToStartChild, GetChildSpecError, RestartChildError, SpecError,
    StartChildError, TerminateChildError,
};
pub use info::{ChildCounts, ChildInfo, ChildSpecInfo, ChildState};
#[doc(inline)]
pub use krarup_gen::Ignore;
pub use partitions::{Partition, PartitionError, PartitionLookup, Partitions, PartitionsAddress};
pub use spec::{AutoShutdown, ChildId, ChildKind, RestartType, Shutdown, Strategy};
pub use supervisor::Supervisor;
pub use tasks::{RunError, Tasks, TasksAddress, TasksCalls, TasksMessage};
