//! What comes of adding and removing workers (rule P5).

use crate::pending::CannotWait;
use krarup_gen::{CallError, Pid, SpawnError};
use std::fmt;

/// What became of a pool's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resized {
    /// Workers in the rotation now.
    pub size: usize,
    /// How many were added or removed: fewer than asked for if there were not so many to remove.
    pub changed: usize,
}

/// What a pool is doing, where it is not at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolState {
    /// It starts its first workers.
    Starting,
    /// It is drained; [`crate::Address::reopen`] puts it to work again.
    Draining,
    /// It ends: it lets its workers finish, or it runs `terminate`.
    Stopping,
    /// It has ended.
    Terminated,
}

impl fmt::Display for PoolState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PoolState::Starting => "starting",
            PoolState::Draining => "drained",
            PoolState::Stopping => "stopping",
            PoolState::Terminated => "terminated",
        })
    }
}

/// A pool was not resized, or not as far as was asked (rules P5, B1).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ResizeError {
    /// Only a pool that is at work can be resized. Workers that were added before it stopped end
    /// with it.
    #[error("pool {pool} cannot be resized: it is {state}")]
    NotRunning {
        /// The pool.
        pool: Pid,
        /// What it is doing.
        state: PoolState,
    },
    /// A worker could not be started. Those that were added before it stay.
    #[error("{} of {asked} workers added, and the next failed to start: {error}", .resized.changed)]
    NotStarted {
        /// How many workers were to be added.
        asked: usize,
        /// What the pool is now.
        resized: Resized,
        /// Why the next worker did not start.
        error: SpawnError,
    },
    /// The pool would have more workers than a pool can have; nothing has changed.
    #[error("a pool of {size} workers cannot have {asked} more: {most} is the most")]
    TooMany {
        /// Workers in the rotation.
        size: usize,
        /// How many workers were to be added.
        asked: usize,
        /// The most workers that a pool can have.
        most: usize,
    },
    /// The pool could not be asked, or did not answer.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl From<CannotWait> for ResizeError {
    fn from(why: CannotWait) -> Self {
        ResizeError::Call(why.into())
    }
}
