//! The worker: counts the words of one text after another.

use crate::aggregator::Aggregate;
use crate::job::{Counted, Job};
use crate::named::Named;
use crate::tally::Tally;
use krarup::prelude::*;

/// The word at which a worker panics.
const CRASH: &str = "crash-me";

/// A worker of the pool.
pub(crate) struct Worker {
    aggregator: Named<Aggregate>,
}

impl Worker {
    /// Creates a worker whose results go to this aggregator.
    pub(crate) fn new(aggregator: Named<Aggregate>) -> Self {
        Worker { aggregator }
    }
}

impl Actor for Worker {
    type Message = Job;

    async fn handle_message(&mut self, ctx: &mut Context<Job>, job: Job) -> Result {
        if !job.ticket.start() {
            return Ok(());
        }
        let left = job.deadline - ctx.now();
        if job.delay >= left {
            // Never works longer than the client waits.
            ctx.sleep(left).await;
            job.reply.fail(CallError::Timeout { to: ctx.pid(), limit: left });
            return Ok(());
        }
        if !job.delay.is_zero() {
            ctx.sleep(job.delay).await;
        }
        let tally = Tally::of(&job.text);
        assert!(!tally.contains(CRASH), "the text says {CRASH:?}");
        let counted =
            Counted { words: tally.words(), distinct: tally.distinct(), worker: ctx.pid() };
        self.fold(tally).await;
        job.reply.send(counted);
        Ok(())
    }
}

impl Worker {
    /// Sends the counts to the aggregator, and waits until it has them. So there are never
    /// more counts under way than there are workers, and a client that has its answer
    /// finds its words in the next `/top`. If the aggregator is being restarted, the
    /// client still gets its answer, because its words have been counted.
    async fn fold(&self, tally: Tally) {
        let folded = match self.aggregator.address() {
            // On the System lane, so that requests waiting at the aggregator, however
            // many, do not delay a worker.
            Ok(aggregator) => {
                let folded = aggregator.call_high(|reply| Aggregate::Fold(tally, reply)).await;
                folded.map_err(Reason::from)
            }
            Err(error) => Err(error.into()),
        };
        if let Err(error) = folded {
            eprintln!("gateway: a text is missing from /top: {error}");
        }
    }
}
