//! Tasks: processes that run one future each for another process (rules J1 to J8, J10, J11).
//!
//! ```text
//!   owner ── ctx.task(future) ──► SpawnTask ── start ──► process of the task: RunTask
//!     ▲                                                     │ the future is done, has failed,
//!     │                                                     │ or the process was ended
//!     └──────── Task: a call that waits for its answer ◄────┘ TaskOutcome, in its last turn
//! ```
//!
//! Awaiting a task is a wait for the answer of its process, as in a call, so it is an edge of the
//! wait graph. The answer is given when the process has left the table of its node: whoever has
//! it knows that nothing of the task runs any more.
//!
//! | module | subject |
//! |---|---|
//! | [`spawn_task`] | a task that has not been started, and its options |
//! | [`task`] | the handle on a task that runs |
//! | [`running`] | what runs in the process of a task |
//! | [`outcome`] | the end of that process, and how its value comes out |
//! | [`work`] | the future of a task, here or on a side thread |
//! | [`many`] | several tasks at once |
//! | [`results`] | the results of those, one by one |

pub(crate) mod many;
mod outcome;
pub(crate) mod results;
mod running;
pub(crate) mod spawn_task;
#[allow(clippy::module_inception, reason = "the module is named after its main type `Task`")]
pub(crate) mod task;
mod work;
