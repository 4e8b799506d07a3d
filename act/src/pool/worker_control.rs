//! The operations of a pool's callbacks on its workers.

use super::behavior::WorkerControl;
use super::command::PoolCommand;
use super::pool_workers::PoolWorkers;
use super::resize::{ResizeError, Resized};
use super::routing::Routing;
use super::statistics::PoolStatistics;
use crate::behavior::Behavior;
use crate::context::Context;
use krarup_gen::Pid;
use std::pin::Pin;

impl<B, R, C> WorkerControl<B::Message, C> for PoolWorkers<B, R>
where
    B: Behavior,
    R: Routing<B::Message>,
    C: Send + 'static,
{
    fn add<'a>(
        &'a mut self,
        ctx: &'a mut Context<B::Message, PoolCommand<C>>,
        count: usize,
    ) -> Pin<Box<dyn Future<Output = Result<Resized, ResizeError>> + Send + 'a>> {
        Box::pin(self.add_and_wait(ctx, count))
    }

    fn remove(&mut self, pool: Pid, count: usize) -> Result<Resized, ResizeError> {
        PoolWorkers::remove(self, pool, count)
    }

    fn workers(&self) -> Vec<Pid> {
        self.pids()
    }

    fn drain(&mut self) {
        PoolWorkers::drain(self, None);
    }

    fn reopen(&mut self) -> bool {
        PoolWorkers::reopen(self)
    }

    fn statistics(&self) -> PoolStatistics {
        PoolWorkers::statistics(self)
    }
}
