//! Applications: named parts of a program (rules A1 to A14).
//!
//! ```text
//!                    ApplicationTable (in the core: declarations, states, one lock)
//!                     ▲            ▲                       ▲
//!   StartJob ─────────┘            │                       └───────── StopJob
//!   starts in order, rolls back    │                                  asks in reverse order
//!            │ begins a run      Keeper, one for each run             │
//!            └──────────────────►  starts the top process,  ◄─────────┘ asks
//!                                  runs phases, waits for its end,
//!                                  ends whoever is left
//!                                        │ starts, watches
//!                                        ▼
//!                                 ApplicationRun ◄── the hosts of its processes
//! ```
//!
//! The decisions are in the pure module `plan`. A **run** is one start of an application with what
//! follows. Each process of it has a host that points at the run, and so have all that they
//! spawn: nothing is added to a process. The end of its top process is recorded by its host, so a
//! keeper that is replaced learns it too.
//!
//! Jobs run in processes below the system root. A process can be killed at any time, also by a
//! fault of a simulation: then another one continues the job, which keeps its progress outside
//! the process (`insist`). So no start and no stop is left half done.
//!
//! | state | from | to |
//! |---|---|---|
//! | `Loaded` | the declaration, or `Node::add_application` | `Starting` |
//! | `Starting` | a start | `Running`, `Stopping` if it was asked to, `Ended` if it fails |
//! | `Running` | its phases are done | `Stopping` |
//! | `Stopping` | it was asked to, or its top process has ended | `Ended` |
//! | `Ended` | nobody of it lives | `Starting` |

pub(crate) mod added;
pub(crate) mod application;
#[cfg(feature = "settings")]
pub(crate) mod configured;
#[cfg(feature = "settings")]
pub(crate) mod configuring;
pub(crate) mod error;
pub(crate) mod info;
pub(crate) mod insist;
pub(crate) mod job_processes;
pub(crate) mod keeper;
pub(crate) mod plan;
pub(crate) mod reports;
pub(crate) mod run;
pub(crate) mod start;
pub(crate) mod stop;
pub(crate) mod table;
