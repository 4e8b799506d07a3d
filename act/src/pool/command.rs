//! What a pool can be told.

use crate::address::Address;
use crate::pending::Pending;
use crate::reply::Reply;
use krarup_gen::{CallError, Pid};
use std::sync::Arc;

/// What goes to a pool itself, on its System or Urgent lane (rule P3). Work goes on
/// Main, to the workers: the two cannot be mixed up.
#[derive(Debug)]
#[non_exhaustive]
pub enum PoolCommand {
    /// Add this many workers (rule P5).
    AddWorkers(usize, Reply<Resized>),
    /// Take this many workers out and let each finish what it has accepted (rule P5).
    RemoveWorkers(usize, Reply<Resized>),
    /// The pids of the workers in the rotation, the next one first.
    Workers(Reply<Vec<Pid>>),
}

/// What became of a pool's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resized {
    /// Workers in the rotation now.
    pub size: usize,
    /// How many were added or removed: fewer than asked for if there were not so many,
    /// or if one could not be started.
    pub changed: usize,
}

impl<M: Send + 'static> Address<M, PoolCommand> {
    /// Adds workers to the pool; available when this is ready (rule P5).
    pub fn add_workers(&self, count: usize) -> Pending<Resized, CallError> {
        self.command(move |reply| PoolCommand::AddWorkers(count, reply))
    }

    /// Takes workers out of the rotation; each handles what it has accepted and then
    /// ends normally (rule P5).
    pub fn remove_workers(&self, count: usize) -> Pending<Resized, CallError> {
        self.command(move |reply| PoolCommand::RemoveWorkers(count, reply))
    }

    /// The pids of the workers in the rotation, the next one first.
    pub fn workers(&self) -> Pending<Vec<Pid>, CallError> {
        self.command(PoolCommand::Workers)
    }

    fn command<T, F>(&self, command: F) -> Pending<T, CallError>
    where
        T: Send + 'static,
        F: FnOnce(Reply<T>) -> PoolCommand + Send + 'static,
    {
        let pool = self.clone();
        Pending::new(Arc::clone(self.host()), async move { pool.call_high(command).await })
    }
}
