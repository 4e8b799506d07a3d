//! Who runs ready processes, and when.
//!
//! A dispatcher takes [`krarup_act::Ready`] processes and runs their turns; it knows
//! nothing else of them. There are five kinds, and [`any`] is one of them:
//!
//! | kind | threads | for |
//! |---|---|---|
//! | [`shared`] | a few for all processes, work-stealing | everything |
//! | [`pinned`] | one for each process | what must have its thread |
//! | [`executor`] | those of a user's executor | what has a pool of threads already |
//! | [`calling`] | none: whoever makes a process ready runs it | tests |
//! | [`simulated`] | none: every choice comes from a seed | tests |
//!
//! [`setup`] is what they are made with, [`turn`] what they run. Of the shared one: [`sleep`]
//! is how its workers park and wake, [`express`] is where processes of high class wait and [`high`]
//! how they are run, [`searching`] how they look for work and [`thief`] whether they steal it from
//! each other, [`debtors`] who owes turns, [`apart`] the queue in which they wait, and [`sitting_out`] how they are
//! paid, [`spares`] and
//! [`filling_in`] are those that fill in, [`pokes`] are timers that are set late. [`watchdog`]
//! finds long turns and work behind them, [`counters`] is what it sees of a worker, [`reports`] tells what
//! it found. Of the simulated one: [`ready_lists`] is who may have the next turn, [`misfortune`]
//! what goes wrong.

pub(crate) mod any;
mod apart;
pub(crate) mod calling;
pub(crate) mod counters;
mod debtors;
pub(crate) mod executor;
pub(crate) mod express;
mod filling_in;
pub(crate) mod high;
mod misfortune;
#[cfg(test)]
mod models;
pub(crate) mod pinned;
pub(crate) mod pokes;
mod ready_lists;
pub(crate) mod reports;
mod searching;
mod seeker;
pub(crate) mod setup;
pub(crate) mod shared;
pub(crate) mod simulated;
mod sitting_out;
pub(crate) mod sleep;
pub(crate) mod spares;
pub(crate) mod thief;
pub(crate) mod turn;
pub(crate) mod watchdog;
