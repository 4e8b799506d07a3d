//! The commands of a pool.

use super::drain::Drain;
use super::resize::{PoolState, ResizeError, Resized};
use super::statistics::PoolStatistics;
use crate::addressing::address::Address;
use crate::calls::pending::Pending;
use crate::calls::reply::Reply;
use krarup_gen::{CallError, Pid, SendError};
use std::convert::Infallible;
use std::sync::Arc;

/// A command to the pool process, sent on its System or Urgent lane (rule P3).
///
/// Jobs go on Main to the workers, so the two cannot be confused. `C` is the command type of
/// the pool's own behaviour ([`PoolBehavior`](crate::PoolBehavior)).
#[derive(Debug)]
#[non_exhaustive]
pub enum PoolCommand<C = Infallible> {
    /// Adds this many workers (rule P5).
    AddWorkers(usize, Reply<Result<Resized, ResizeError>>),
    /// Removes this many workers; each first handles the jobs it has accepted (rule P5).
    RemoveWorkers(usize, Reply<Result<Resized, ResizeError>>),
    /// Returns the pids of the workers in the rotation, the next one first.
    Workers(Reply<Vec<Pid>>),
    /// Stops accepting jobs. Replies when all accepted jobs are done.
    Drain(Reply<()>),
    /// Accepts jobs again. Replies whether the pool was drained.
    Reopen(Reply<bool>),
    /// Returns the counters of the pool.
    Statistics(Reply<PoolStatistics>),
    /// A command of the pool's own behaviour.
    Own(C),
}

impl<M: Send + 'static, C: Send + 'static> Address<M, PoolCommand<C>> {
    /// Adds workers to the pool, one after the other; ready when they take jobs (rule P5).
    ///
    /// Fails with [`ResizeError`] if one does not start, or if the pool is not at work, that
    /// is, starting, drained or ending. The pool accepts jobs in the meantime. After 5 s the
    /// result is [`CallError::Timeout`], and the pool continues to add the workers.
    pub fn add_workers(&self, count: usize) -> Pending<Resized, ResizeError> {
        self.resize(move |reply| PoolCommand::AddWorkers(count, reply))
    }

    /// Removes workers from the rotation (rule P5).
    ///
    /// Each handles the jobs it has accepted and then ends normally. Fails with [`ResizeError`]
    /// if the pool is not at work.
    pub fn remove_workers(&self, count: usize) -> Pending<Resized, ResizeError> {
        self.resize(move |reply| PoolCommand::RemoveWorkers(count, reply))
    }

    /// Returns the pids of the workers in the rotation, the next one first.
    pub fn workers(&self) -> Pending<Vec<Pid>, CallError> {
        self.manage(PoolCommand::Workers)
    }

    /// Drains the pool.
    ///
    /// From now on it refuses messages with [`SendError::Draining`]. The result is ready when
    /// every accepted job has been handled, or was lost with a worker that ended. A job that waits
    /// for a worker is discarded if the pool has none and no place for one. There is no
    /// time limit unless [`Drain::timeout`] sets one. The pool stays drained until [`Address::reopen`],
    /// also after a timeout. Its workers stay alive.
    ///
    /// The job that a worker handles is accepted and not done. So a job that awaits the drain of its own
    /// pool waits for itself, and is not found as a cycle of calls is.
    ///
    /// Room that was reserved before stays valid: it counts as accepted. Senders that wait in
    /// line for room are refused.
    pub fn drain(&self) -> Drain {
        let pool = self.clone();
        Drain::new(move |timeout| {
            Pending::new(Arc::clone(pool.host()), async move {
                let call = pool.call_high(PoolCommand::Drain);
                match timeout {
                    Some(limit) => call.timeout(limit).await,
                    None => call.no_timeout().await,
                }
            })
        })
    }

    /// Makes a drained pool accept jobs again. Returns whether it was drained.
    ///
    /// A drain that is not complete still ends when the jobs accepted before it are done.
    pub fn reopen(&self) -> Pending<bool, CallError> {
        self.manage(PoolCommand::Reopen)
    }

    /// Returns the counters of the pool (rule P6).
    pub fn statistics(&self) -> Pending<PoolStatistics, CallError> {
        self.manage(PoolCommand::Statistics)
    }

    /// Sends a command to the pool's own behaviour, ahead of everything but urgent entries.
    ///
    /// # Errors
    /// Returns [`SendError::NoProcess`] if the pool has ended.
    pub fn command(&self, command: C) -> Result<(), SendError<C>> {
        self.send_high(PoolCommand::Own(command)).map_err(|error| match error {
            SendError::NoProcess { message: PoolCommand::Own(command), to } => {
                SendError::NoProcess { message: command, to }
            }
            // Unreachable: a control lane refuses for no other reason, and gives back what it
            // was given.
            _ => unreachable!("a control lane gives back what it was given"),
        })
    }

    /// Calls the pool's own behaviour. `request` makes the command from the reply token.
    pub fn ask<T, F>(&self, request: F) -> Pending<T, CallError>
    where
        T: Send + 'static,
        F: FnOnce(Reply<T>) -> C + Send + 'static,
    {
        self.manage(move |reply| PoolCommand::Own(request(reply)))
    }

    fn resize<F>(&self, command: F) -> Pending<Resized, ResizeError>
    where
        F: FnOnce(Reply<Result<Resized, ResizeError>>) -> PoolCommand<C> + Send + 'static,
    {
        let pool = self.clone();
        Pending::new(Arc::clone(self.host()), async move {
            match pool.call_high(command).await {
                Ok(resized) => resized,
                Err(CallError::NoProcess { .. }) => {
                    let state = PoolState::Terminated;
                    Err(ResizeError::NotRunning { pool: pool.pid(), state })
                }
                Err(error) => Err(error.into()),
            }
        })
    }

    fn manage<T, F>(&self, command: F) -> Pending<T, CallError>
    where
        T: Send + 'static,
        F: FnOnce(Reply<T>) -> PoolCommand<C> + Send + 'static,
    {
        let pool = self.clone();
        Pending::new(Arc::clone(self.host()), async move { pool.call_high(command).await })
    }
}
