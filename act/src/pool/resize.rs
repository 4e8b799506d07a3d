//! The results of adding and removing workers (rule P5).

use krarup_gen::{CallError, CannotWait, Pid, SpawnError};
use std::fmt;

/// The size of a pool after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resized {
    /// How many workers are in the rotation now.
    pub size: usize,
    /// How many workers were added or removed. Fewer than requested if fewer could be removed.
    pub changed: usize,
}

/// The state of a pool that is not at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PoolState {
    /// It starts its first workers.
    Starting,
    /// It is drained; [`Address::reopen`](crate::Address::reopen) puts it to work again.
    Draining,
    /// It ends: its workers finish, or `terminate` runs.
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

/// The error of a pool that was not resized, or not completely (rules P5, B1).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ResizeError {
    /// Only a pool that is at work can be resized. Workers added before it stopped end with it.
    #[error("pool {pool} cannot be resized: it is {state}")]
    NotRunning {
        /// The pool.
        pool: Pid,
        /// The state of the pool.
        state: PoolState,
    },
    /// A worker could not be started. Workers that were added before it stay.
    #[error("{} of {asked} workers added, and the next failed to start: {error}", .resized.changed)]
    NotStarted {
        /// How many workers were requested.
        asked: usize,
        /// The size of the pool now.
        resized: Resized,
        /// The error of the worker that did not start.
        #[source]
        error: SpawnError,
    },
    /// The pool would have more workers than the limit. Nothing has changed.
    #[error("cannot add {asked} workers to a pool of {size}{}: the limit is {most}", Coming(*.coming))]
    TooMany {
        /// How many workers are in the rotation.
        size: usize,
        /// How many more are being added.
        coming: usize,
        /// How many workers were requested.
        asked: usize,
        /// The most workers that a pool can have.
        most: usize,
    },
    /// The call to the pool failed.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl From<CannotWait> for ResizeError {
    fn from(why: CannotWait) -> Self {
        ResizeError::Call(why.into())
    }
}

/// The workers that are being added, for an error.
struct Coming(usize);

impl fmt::Display for Coming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            coming => write!(f, ", to which {coming} are being added"),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::error::Error;

    #[test]
    fn a_resize_error_names_the_pool_its_state_and_the_progress() {
        let pool = Pid::local(7, 0);
        let states = [
            (PoolState::Starting, "starting"),
            (PoolState::Draining, "drained"),
            (PoolState::Stopping, "stopping"),
            (PoolState::Terminated, "terminated"),
        ];
        for (state, words) in states {
            let error = ResizeError::NotRunning { pool, state };
            assert_eq!(error.to_string(), format!("pool {pool} cannot be resized: it is {words}"));
        }
        let resized = Resized { size: 5, changed: 2 };
        let error = SpawnError::Timeout(std::time::Duration::from_secs(1));
        let said = format!("2 of 4 workers added, and the next failed to start: {error}");
        let failed = ResizeError::NotStarted { asked: 4, resized, error };
        assert_eq!(failed.to_string(), said);
        let source = failed.source().and_then(|source| source.downcast_ref::<SpawnError>());
        assert_eq!(source, Some(&SpawnError::Timeout(std::time::Duration::from_secs(1))));
        let many = |coming| ResizeError::TooMany { size: 6, coming, asked: 9, most: 8 }.to_string();
        assert_eq!(many(0), "cannot add 9 workers to a pool of 6: the limit is 8");
        let said =
            "cannot add 9 workers to a pool of 6, to which 2 are being added: the limit is 8";
        assert_eq!(many(2), said);
        let error = ResizeError::from(CannotWait::InProcess);
        assert_eq!(error, ResizeError::Call(CallError::CannotWait(CannotWait::InProcess)));
        assert_eq!(error.to_string(), CannotWait::InProcess.to_string());
    }
}
