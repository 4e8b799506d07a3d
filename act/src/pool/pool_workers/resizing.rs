//! Workers that are added, and workers that are removed and finish.

use super::{Adding, PoolWorkers};
use crate::behavior::Behavior;
use crate::calls::reply::Reply;
use crate::context::Context;
use crate::pool::command::PoolCommand;
use crate::pool::pool_worker::PoolWorker;
use crate::pool::resize::{PoolState, ResizeError, Resized};
use crate::pool::ring::Gate;
use crate::pool::routing::Routing;
use crate::pool::settings::MOST_WORKERS;
use crate::pool::size_answer::SizeAnswer;
use crate::pool::starting::WorkerPurpose;
use krarup_gen::{CallError, Pid, Result, SpawnError, one_line};
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

impl<B: Behavior, R: Routing<B::Message>> PoolWorkers<B, R> {
    /// Removes all workers, so that the pool ends when they have finished. No worker is started
    /// any more.
    pub(in crate::pool) fn begin_to_stop(&mut self, pool: Pid) {
        self.stop_adding(pool);
        self.let_go(usize::MAX);
    }

    pub(super) fn stop_adding(&mut self, pool: Pid) {
        self.state = Some(PoolState::Stopping);
        self.to_be_added = 0;
        for adding in self.adding.drain(..) {
            if let Some(told) = adding.told {
                told.send(Err(ResizeError::NotRunning { pool, state: PoolState::Stopping }));
            }
        }
    }

    /// Checks that the pool is at work. Only then it can be resized.
    fn check_at_work(&self, pool: Pid) -> Result<(), ResizeError> {
        let state = match (self.state, self.shared.gate()) {
            (Some(state), _) => state,
            (None, Gate::Open) => return Ok(()),
            (None, Gate::Draining) => PoolState::Draining,
            (None, Gate::Closed) => PoolState::Stopping,
        };
        Err(ResizeError::NotRunning { pool, state })
    }

    /// Whether its workers finish, or it has ended.
    pub(in crate::pool) fn has_begun_to_stop(&self) -> bool {
        self.state.is_some()
    }

    /// How many workers are to be added and have not started yet.
    pub(in crate::pool) fn to_be_added(&self) -> usize {
        self.to_be_added
    }

    /// Adds workers, one after the other. `told` receives the answer when all have started, or
    /// one has failed to.
    pub(in crate::pool) fn add<C: Send + 'static>(
        &mut self,
        ctx: &Context<B::Message, PoolCommand<C>>,
        asked: usize,
        told: Option<SizeAnswer>,
    ) {
        let size = self.shared.size();
        let coming = self.to_be_added();
        let checked = self.check_at_work(ctx.pid()).and_then(|()| {
            if asked > MOST_WORKERS.saturating_sub(size.saturating_add(coming)) {
                return Err(ResizeError::TooMany { size, coming, asked, most: MOST_WORKERS });
            }
            Ok(Resized { size, changed: 0 })
        });
        match (checked, told) {
            (Ok(_), told) if asked > 0 => {
                self.adding.push_back(Adding { asked, changed: 0, told });
                self.to_be_added += asked;
                self.start_added(ctx);
            }
            (checked, Some(told)) => told.send(checked),
            (_, None) => {}
        }
    }

    /// Starts the next worker to be added.
    pub(super) fn start_added<C: Send + 'static>(
        &mut self,
        ctx: &Context<B::Message, PoolCommand<C>>,
    ) {
        while !self.adding.is_empty() && self.starts.count(|of| of == WorkerPurpose::Added) == 0 {
            if let Err(error) = self.begin(ctx, WorkerPurpose::Added) {
                self.end_adding(ctx.pid(), error);
            }
        }
    }

    /// Counts an added worker that has its place.
    pub(super) fn note_added(&mut self) {
        let size = self.shared.size();
        let Some(adding) = self.adding.front_mut() else { return };
        adding.changed += 1;
        self.to_be_added -= 1;
        if adding.changed == adding.asked
            && let Some(Adding { changed, told: Some(told), .. }) = self.adding.pop_front()
        {
            told.send(Ok(Resized { size, changed }));
        }
    }

    /// Ends a request to add workers, because one has failed to start.
    pub(super) fn end_adding(&mut self, pool: Pid, error: SpawnError) {
        let size = self.shared.size();
        let Some(Adding { asked, changed, told }) = self.adding.pop_front() else { return };
        self.to_be_added -= asked - changed;
        let error = ResizeError::NotStarted { asked, resized: Resized { size, changed }, error };
        match told {
            Some(told) => told.send(Err(error)),
            None => {
                tracing::warn!(target: "krarup", %pool, error = %one_line(&error), "pool cannot grow");
            }
        }
    }

    /// Removes workers, if the pool is at work.
    pub(in crate::pool) fn remove(
        &mut self,
        pool: Pid,
        count: usize,
    ) -> Result<Resized, ResizeError> {
        self.check_at_work(pool)?;
        Ok(self.let_go(count))
    }

    /// Removes workers from the rotation at once; each ends when it has handled the jobs it has
    /// accepted. Places without a worker are removed first.
    pub(in crate::pool) fn let_go(&mut self, count: usize) -> Resized {
        let vacant = self.vacancies.take(count);
        self.shared.remove(&vacant);
        let leaving = self.shared.take(count - vacant.len());
        let changed = vacant.len() + leaving.len();
        leaving.into_iter().for_each(|worker| self.dismiss(worker));
        Resized { size: self.shared.size(), changed }
    }

    /// Makes a worker end after it has handled the jobs it has accepted.
    pub(super) fn dismiss(&mut self, worker: PoolWorker<B::Message, B::Command>) {
        worker.address.finish();
        self.leaving.insert(worker.address.pid(), worker);
    }

    /// Whether all removed workers have ended and none is starting.
    pub(in crate::pool) fn has_left(&self) -> bool {
        self.leaving.is_empty() && self.starts.is_empty()
    }

    /// Adds workers and waits until they have started. For callbacks, during which the pool
    /// handles nothing else.
    pub(in crate::pool) async fn add_and_wait<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
        count: usize,
    ) -> Result<Resized, ResizeError> {
        let (told, mut answer) = Reply::new(None);
        self.add(ctx, count, Some(SizeAnswer::Typed(told)));
        loop {
            let next = poll_fn(|cx| match Pin::new(&mut answer).poll(cx) {
                Poll::Ready(answer) => Poll::Ready(Ok(answer)),
                Poll::Pending => self.poll_started(cx).map(Err),
            });
            match next.await {
                Ok(Some(answer)) => return answer.map_err(|error| *error)?,
                Ok(None) => return Err(CallError::NoReply { to: ctx.pid() }.into()),
                Err(started) => {
                    // Only a first worker can cause an error, and those have started before any
                    // callback gets here.
                    let _ = self.settle(ctx, started);
                    self.start_added(ctx);
                }
            }
        }
    }
}
