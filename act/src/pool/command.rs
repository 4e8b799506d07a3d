//! What a pool can be told.

use super::resize::{PoolState, ResizeError, Resized};
use super::statistics::PoolStatistics;
use crate::addressing::address::Address;
use crate::calls::pending::Pending;
use crate::calls::reply::Reply;
use krarup_gen::{CallError, Pid, SendError};
use std::convert::Infallible;
use std::sync::Arc;

/// What goes to a pool itself, on its System or Urgent lane (rule P3). Work goes on
/// Main, to the workers: the two cannot be mixed up. `C` is what the pool's own behaviour
/// takes ([`crate::PoolBehavior`]).
#[derive(Debug)]
#[non_exhaustive]
pub enum PoolCommand<C = Infallible> {
    /// Add this many workers (rule P5).
    AddWorkers(usize, Reply<Result<Resized, ResizeError>>),
    /// Take this many workers out and let each finish what it has accepted (rule P5).
    RemoveWorkers(usize, Reply<Result<Resized, ResizeError>>),
    /// The pids of the workers in the rotation, the next one first.
    Workers(Reply<Vec<Pid>>),
    /// Take nothing new, and answer when everything that was accepted is done.
    Drain(Reply<()>),
    /// Take jobs again; answers whether the pool did not before.
    Reopen(Reply<bool>),
    /// The numbers of the pool.
    Statistics(Reply<PoolStatistics>),
    /// A command of the pool's own behaviour.
    Own(C),
}

impl<M: Send + 'static, C: Send + 'static> Address<M, PoolCommand<C>> {
    /// Adds workers to the pool, one after the other; available when this is ready (rule P5).
    /// Fails with [`ResizeError`] when one does not start, or if the pool is not at work: it
    /// starts, is drained or ends. The pool serves meanwhile; after 5 s this is
    /// [`CallError::Timeout`], and the pool goes on adding.
    pub fn add_workers(&self, count: usize) -> Pending<Resized, ResizeError> {
        self.resize(move |reply| PoolCommand::AddWorkers(count, reply))
    }

    /// Takes workers out of the rotation; each handles what it has accepted and then
    /// ends normally (rule P5). Fails with [`ResizeError`] if the pool is not at work.
    pub fn remove_workers(&self, count: usize) -> Pending<Resized, ResizeError> {
        self.resize(move |reply| PoolCommand::RemoveWorkers(count, reply))
    }

    /// The pids of the workers in the rotation, the next one first.
    pub fn workers(&self) -> Pending<Vec<Pid>, CallError> {
        self.manage(PoolCommand::Workers)
    }

    /// Drains the pool: from now on it refuses what is sent to it with
    /// [`SendError::Draining`], and this is ready when everything that it had accepted is
    /// handled, or lost with a worker that died. It takes however long that takes. The pool
    /// stays drained until [`Address::reopen`]; its workers live on.
    ///
    /// Room that was reserved before is still good: it counts as accepted. Who waits in line
    /// for room is refused.
    pub fn drain(&self) -> Pending<(), CallError> {
        let pool = self.clone();
        Pending::new(Arc::clone(self.host()), async move {
            pool.call_high(PoolCommand::Drain).no_timeout().await
        })
    }

    /// Has a drained pool take jobs again; whether it was drained. A drain that is not over yet
    /// still ends when what had been accepted before it is done.
    pub fn reopen(&self) -> Pending<bool, CallError> {
        self.manage(PoolCommand::Reopen)
    }

    /// The numbers of the pool (rule P6).
    pub fn statistics(&self) -> Pending<PoolStatistics, CallError> {
        self.manage(PoolCommand::Statistics)
    }

    /// Sends a command to the pool's own behaviour, before everything but what is urgent.
    ///
    /// # Errors
    /// [`SendError::NoProcess`] if the pool is dead.
    pub fn command(&self, command: C) -> Result<(), SendError<C>> {
        self.send_high(PoolCommand::Own(command)).map_err(|error| match error {
            SendError::NoProcess(PoolCommand::Own(command)) => SendError::NoProcess(command),
            // Not reached: a control lane refuses for no other reason, and gives back what it got.
            _ => unreachable!("a control lane gives back what it was given"),
        })
    }

    /// Calls the pool's own behaviour: `request` makes the command from the reply token.
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
                Err(CallError::NoProcess) => {
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
