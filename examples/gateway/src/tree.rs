//! The processes, and which process starts which.
//!
//! ```text
//! gateway        Supervisor, one for one: each part is restarted alone
//! ├─ aggregator  the most frequent words of all texts
//! ├─ workers     Pool: takes --rate jobs in a second; --workers × --mailbox may wait
//! │  └─ …        Worker
//! └─ listener    the HTTP server
//! ```
//!
//! The parts start in this order and stop in the reverse order. First, no more requests
//! are accepted and those under way are answered. Then the workers end, then the
//! aggregator. A job waits at most as long as its client does.

use crate::aggregator::Aggregator;
use crate::flags::Options;
use crate::listener::{DRAIN, Listener};
use crate::named::Named;
use crate::worker::Worker;
use axum::Router;
use krarup::pool::Rate;
use krarup::prelude::*;
use krarup::supervisor::SupervisorAddress;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The name of the supervisor.
pub(crate) const SUPERVISOR: &str = "gateway";
/// The name of the aggregator.
pub(crate) const AGGREGATOR: &str = "aggregator";
/// The name of the pool.
pub(crate) const POOL: &str = "workers";
/// The name of the HTTP server.
const LISTENER: &str = "listener";

/// How many requests may wait at the aggregator.
const QUESTIONS: usize = 1024;

/// Starts the tree, and returns when it serves: with the supervisor and the address it
/// serves on.
pub(crate) async fn start(
    node: &Node,
    options: &Options,
    routes: Router,
) -> Result<(SupervisorAddress, SocketAddr), SpawnError> {
    let bound = Arc::new(OnceLock::new());
    let (workers, mailbox, listen) = (options.workers, options.mailbox, options.listen);
    let results = Named::new(node, AGGREGATOR);
    let worker = move || Worker::new(results.clone());
    // The client of a job that is as old as the timeout has given up. `/health` shows how
    // long jobs wait and how long they take.
    let timeout = options.timeout;
    // The burst is the number of jobs that the rate allows in a hundredth of a second.
    let rate = options.rate.map(|jobs| Rate::per_second(jobs.into()).burst((jobs / 100).max(1)));
    let pool = move || {
        let pool = Pool::new(workers, worker.clone()).mailbox(mailbox).time_to_live(timeout);
        let pool = pool.measured();
        match rate {
            Some(rate) => pool.rate(rate),
            None => pool,
        }
    };
    let port = Arc::clone(&bound);
    let listener = move || Listener::new(listen, Arc::clone(&port), routes.clone());
    let tree = || {
        Supervisor::one_for_one()
            .intensity(10, Duration::from_secs(10))
            .child(
                ChildSpec::worker(AGGREGATOR, Aggregator::default)
                    .name(AGGREGATOR)
                    .mailbox(QUESTIONS),
            )
            // A pool ends its workers itself, like a supervisor.
            .child(ChildSpec::supervisor(POOL, pool).name(POOL))
            .child(
                ChildSpec::worker(LISTENER, listener)
                    .name(LISTENER)
                    .shutdown(Shutdown::Timeout(DRAIN + Duration::from_secs(1))),
            )
    };
    let supervisor = node.spawn(tree).name(SUPERVISOR).await?;
    // The listener has started, so it has a port.
    let address = *bound.get().unwrap_or(&listen);
    Ok((supervisor, address))
}
