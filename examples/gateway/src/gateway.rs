//! The gateway as its HTTP routes use it: how a job gets to a worker, and what happens
//! when no result comes back.

use crate::aggregator::{Aggregate, Top};
use crate::answer::Failure;
use crate::flags::Options;
use crate::job::{Client, Counted, Job, Ticket};
use crate::named::Named;
use crate::tree;
use krarup::prelude::*;
use krarup::supervisor::SupervisorCommand;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often a job is given to the pool before its client is told to come back later.
const TRIES: u32 = 256;
/// The pause between two look-ups of a process that its supervisor is restarting.
const RESTARTING: Duration = Duration::from_millis(5);

/// The processes that the routes call, and the counts of jobs.
pub(crate) struct Gateway {
    pub(crate) node: Node,
    pub(crate) options: Options,
    pub(crate) supervisor: Named<Infallible, SupervisorCommand<ChildSpec>>,
    pub(crate) pool: Named<Job, PoolCommand>,
    pub(crate) aggregator: Named<Aggregate>,
    /// Jobs given to the pool, including those given to it again.
    pub(crate) jobs: AtomicU64,
    /// Jobs given to the pool again.
    pub(crate) again: AtomicU64,
}

impl Gateway {
    /// Creates the gateway on this node. It looks its processes up when they are needed.
    pub(crate) fn new(node: &Node, options: Options) -> Arc<Self> {
        Arc::new(Gateway {
            node: node.clone(),
            options,
            supervisor: Named::new(node, tree::SUPERVISOR),
            pool: Named::new(node, tree::POOL),
            aggregator: Named::new(node, tree::AGGREGATOR),
            jobs: AtomicU64::new(0),
            again: AtomicU64::new(0),
        })
    }

    /// Has a worker count the words of a text.
    ///
    /// A client that meets a full pool, or a pool that has reached its `--rate`, gets the
    /// error at once. A job that did not start because its worker crashed with the job
    /// before it is given to the pool again, since the crash does not concern this client.
    /// [`Ticket`] explains how the two cases are told apart.
    pub(crate) async fn count(&self, text: String, delay: Duration) -> Result<Counted, Failure> {
        let timeout = self.options.timeout;
        let deadline = self.node.now() + timeout;
        let text: Arc<str> = text.into();
        let mut given = false;
        for _ in 0..TRIES {
            let left = deadline - self.node.now();
            if left.is_zero() {
                return Err(Failure::TimedOut(timeout));
            }
            let Ok(pool) = self.pool.address() else {
                tokio::time::sleep(RESTARTING.min(left)).await;
                continue;
            };
            self.jobs.fetch_add(1, Ordering::Relaxed);
            self.again.fetch_add(u64::from(given), Ordering::Relaxed);
            given = true;
            let ticket = Arc::new(Ticket::default());
            let client = Client(Arc::clone(&ticket));
            let (text, ticket) = (Arc::clone(&text), Arc::clone(&ticket));
            let job = |reply| Job { text, delay, deadline, ticket, reply };
            let error = match pool.call(job).timeout(left).await {
                Ok(counted) => return Ok(counted),
                Err(error) => error,
            };
            match error {
                CallError::Full { .. } if pool.waiting() >= self.options.capacity() => {
                    return Err(Failure::Saturated);
                }
                CallError::RateLimited { retry_after: after, .. } => {
                    return Err(Failure::TooMany(after));
                }
                // There is room, so the workers that would have it have just crashed. The pool
                // process handles this request after the exits that it was notified of before.
                // So when the answer comes, microseconds later, their replacements have started.
                CallError::Full { .. } | CallError::NoWorkers { .. } => {
                    let _ = pool.workers().await;
                }
                CallError::Timeout { .. } | CallError::Expired { .. } => {
                    return Err(Failure::TimedOut(timeout));
                }
                CallError::NoProcess { .. } => tokio::time::sleep(RESTARTING.min(left)).await,
                // Its worker crashed with the job before it.
                CallError::NotBegun { .. } => {}
                _ if client.0.withdraw() => {}
                CallError::Terminated { reason, .. } => return Err(Failure::Crashed(reason)),
                other => return Err(Failure::Unavailable(other.to_string())),
            }
        }
        Err(Failure::Unavailable(format!("no worker has started the job in {TRIES} tries")))
    }

    /// Returns the `n` most frequent words so far.
    pub(crate) async fn top(&self, n: usize) -> Result<Top, Failure> {
        let aggregator = self.aggregator.address();
        let aggregator = aggregator.map_err(|error| Failure::Unavailable(error.to_string()))?;
        let asked =
            aggregator.call(|reply| Aggregate::Top(n, reply)).timeout(self.options.timeout).await;
        asked.map_err(|error| match error {
            CallError::Full { .. } => Failure::Saturated,
            CallError::Timeout { limit, .. } => Failure::TimedOut(limit),
            CallError::Terminated { reason, .. } | CallError::NotBegun { reason, .. } => {
                Failure::Crashed(reason)
            }
            other => Failure::Unavailable(other.to_string()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{Asked, parse};
    use axum::Router;
    use lexopt::Parser;
    use tokio::task::JoinSet;

    /// Starts the service with these flags, without its routes.
    async fn gateway(flags: &[&str]) -> Arc<Gateway> {
        let flags = ["--listen", "127.0.0.1:0"].iter().chain(flags);
        let Ok(Asked::Run(options)) = parse(Parser::from_args(flags)) else { panic!("flags") };
        let node = Node::builder("gateway").tokio(tokio::runtime::Handle::current()).start();
        let node = node.expect("a node");
        tree::start(&node, &options, Router::new()).await.expect("the tree");
        Gateway::new(&node, options)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_job_beyond_the_rate_is_refused_with_the_time_of_the_next() {
        // One job in a second, and a burst of one.
        let gateway = gateway(&["--rate", "1"]).await;
        let count = || gateway.count("the cat".to_owned(), Duration::ZERO);
        assert!(count().await.is_ok());
        let refused = count().await;
        let Err(Failure::TooMany(after)) = refused else { panic!("{refused:?}") };
        assert!(after > Duration::ZERO && after <= Duration::from_secs(1), "{after:?}");
        gateway.node.stop().await.expect("an end");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_full_pool_reports_saturation_and_not_its_rate() {
        let flags = ["--workers", "1", "--mailbox", "1", "--rate", "1000000", "--timeout", "60000"];
        let gateway = gateway(&flags).await;
        let mut jobs = JoinSet::new();
        for _ in 0..8 {
            let gateway = Arc::clone(&gateway);
            let long = Duration::from_secs(50);
            jobs.spawn(async move { gateway.count("the cat".to_owned(), long).await });
        }
        // One job runs, one waits, and the others are answered first.
        let first = jobs.join_next().await.expect("eight jobs").expect("it does not panic");
        assert!(matches!(first, Err(Failure::Saturated)), "{first:?}");
        gateway.node.stop().await.expect("an end");
    }
}
