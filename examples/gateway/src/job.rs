//! A job on its way to a worker, and the ticket that decides between its worker and its client.

use krarup::Timestamp;
use krarup::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// A text to be counted.
pub(crate) struct Job {
    /// The text.
    pub(crate) text: Arc<str>,
    /// Simulates slow work.
    pub(crate) delay: Duration,
    /// When its client stops waiting.
    pub(crate) deadline: Timestamp,
    /// Taken by the worker when it starts the job.
    pub(crate) ticket: Arc<Ticket>,
    /// Where the result goes.
    pub(crate) reply: Reply<Counted>,
}

/// The result of a job.
#[derive(Debug)]
pub(crate) struct Counted {
    /// The number of words.
    pub(crate) words: u64,
    /// The number of distinct words.
    pub(crate) distinct: usize,
    /// The worker that counted.
    pub(crate) worker: Pid,
}

const WAITING: u8 = 0;
const STARTED: u8 = 1;
const WITHDRAWN: u8 = 2;

/// Whether a job was started or withdrawn. Exactly one of the two happens.
///
/// When a worker crashes, the jobs in its mailbox are lost, and each of their clients is
/// told that the worker has terminated. The ticket tells a client whether its own job
/// caused the crash. A job whose ticket the client can still withdraw has not started and
/// never will, so it is safe to give to another worker. A job that had started is not,
/// since it may already have had effects.
#[derive(Default)]
pub(crate) struct Ticket(AtomicU8);

impl Ticket {
    /// The worker starts the job. Returns false if it was withdrawn.
    pub(crate) fn start(&self) -> bool {
        self.settle(STARTED).is_ok()
    }

    /// The client withdraws the job, possibly again. Returns false if it has started.
    pub(crate) fn withdraw(&self) -> bool {
        !matches!(self.settle(WITHDRAWN), Err(STARTED))
    }

    fn settle(&self, outcome: u8) -> Result<u8, u8> {
        self.0.compare_exchange(WAITING, outcome, Ordering::AcqRel, Ordering::Acquire)
    }
}

/// Withdraws the job when its client is dropped, for whatever reason, so that no worker
/// works in vain.
pub(crate) struct Client(pub(crate) Arc<Ticket>);

impl Drop for Client {
    fn drop(&mut self) {
        self.0.withdraw();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_started_or_withdrawn_never_both() {
        let ticket = Ticket::default();
        assert!(ticket.withdraw() && ticket.withdraw() && !ticket.start());
        let ticket = Ticket::default();
        assert!(ticket.start() && !ticket.withdraw());
    }

    #[test]
    fn a_dropped_client_withdraws_its_job() {
        let ticket = Arc::new(Ticket::default());
        drop(Client(Arc::clone(&ticket)));
        assert!(!ticket.start());
    }
}
