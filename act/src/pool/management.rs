//! The requests that a pool answers without its types (rule X12): resize, drain, reopen.

use super::command::PoolCommand;
use super::pool_workers::PoolWorkers;
use super::routing::Routing;
use super::size_answer::SizeAnswer;
use crate::behavior::Behavior;
use crate::context::Context;
use crate::observe::manage_request::ManageRequest;
use krarup_gen::{Managed, Management};

impl<B: Behavior, R: Routing<B::Message>> PoolWorkers<B, R> {
    /// Does what was requested. A request that pools do not know is dropped.
    pub(super) fn manage<C: Send + 'static>(
        &mut self,
        ctx: &Context<B::Message, PoolCommand<C>>,
        request: ManageRequest,
    ) {
        match request.request() {
            Management::Resize { workers } => {
                let workers = *workers;
                self.resize(ctx, workers, request);
            }
            Management::Drain | Management::Reopen if self.has_begun_to_stop() => {
                request.refuse("the pool is stopping");
            }
            Management::Drain => {
                self.drain(None);
                request.done(Managed::Drains);
            }
            Management::Reopen => {
                let was_drained = self.reopen();
                request.done(Managed::Reopened { was_drained });
            }
            _ => drop(request),
        }
    }

    /// Adds or removes workers until the pool has this many. Workers that are still to be added
    /// count as workers, and cannot be removed.
    fn resize<C: Send + 'static>(
        &mut self,
        ctx: &Context<B::Message, PoolCommand<C>>,
        workers: usize,
        request: ManageRequest,
    ) {
        let adding = self.to_be_added();
        let coming = self.shared.size().saturating_add(adding);
        if workers < coming && adding > 0 {
            return request.refuse(format_args!("the pool is adding {adding} workers"));
        }
        let told = SizeAnswer::Untyped(request);
        match workers.checked_sub(coming) {
            Some(missing) => self.add(ctx, missing, Some(told)),
            None => told.send(self.remove(ctx.pid(), coming - workers)),
        }
    }
}
