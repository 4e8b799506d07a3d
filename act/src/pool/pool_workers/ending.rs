//! The end of the workers with their pool (rule P7).

use super::PoolWorkers;
use crate::behavior::Behavior;
use crate::calls::deadline::within;
use crate::context::Context;
use crate::observe::watch::watch;
use crate::pool::command::PoolCommand;
use crate::pool::routing::Routing;
use krarup_gen::{Reason, Target};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How long the workers may take to end with their pool before they are killed, and again
/// before they are left behind.
const SHUTDOWN: Duration = Duration::from_secs(5);

impl<B: Behavior, R: Routing<B::Message>> PoolWorkers<B, R> {
    /// Ends the workers with the pool (rule P7). They are shut down in order, and killed if
    /// they take too long. A worker that is still starting has accepted nothing and is killed
    /// at once.
    pub(in crate::pool) async fn end_workers<C: Send + 'static>(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand<C>>,
    ) {
        self.stop_adding(ctx.pid());
        self.vacancies.take(usize::MAX);
        let starting = self.starts.take_all();
        let leaving = std::mem::take(&mut self.leaving).into_iter();
        let mut workers: BTreeMap<_, _> = leaving.map(|(pid, w)| (pid, w.address)).collect();
        workers.extend(self.shared.close().into_iter().map(|worker| (worker.pid(), worker)));
        let given_up = std::mem::take(&mut self.former).into_iter();
        workers.extend(
            given_up.filter(|(pid, worker)| worker.is_alive() && !self.left_behind.contains(pid)),
        );
        let host = Arc::clone(ctx.host());
        let watched = |pid| (pid, watch(Arc::clone(&host), Target::Pid(pid)));
        let mut ends: Vec<_> = workers.keys().copied().map(watched).collect();
        ends.extend(starting.iter().map(|worker| watched(worker.pid())));
        workers.keys().for_each(|worker| ctx.exit(*worker, Reason::Shutdown));
        starting.iter().for_each(|worker| worker.process().kill());
        for round in [Reason::Kill, Reason::Normal] {
            let until = ctx.now() + SHUTDOWN;
            let mut late = Vec::new();
            for (worker, mut end) in ends {
                if within(&host, until - ctx.now(), &mut end).await.is_none() {
                    late.push((worker, end));
                }
            }
            ends = late;
            match round {
                Reason::Kill => ends.iter().for_each(|(worker, _)| ctx.exit(*worker, Reason::Kill)),
                // A process that is notified of the pool's end finds no workers, unless one
                // blocks its thread: nothing can end that one.
                _ => ends.iter().for_each(|(worker, _)| {
                    ctx.unlink(*worker);
                    tracing::error!(
                        target: "krarup", pool = %ctx.pid(), %worker,
                        "pool ends before a worker that blocks its thread"
                    );
                }),
            }
        }
    }
}
