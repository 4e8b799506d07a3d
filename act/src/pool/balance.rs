//! Balancing the queues of the workers of an elastic pool.
//!
//! Jobs lie in the workers' mailboxes, so a worker that joins a pool with a long queue would
//! have nothing to do. From time to time the pool takes the newest jobs from the workers that
//! have too many and gives them to those that have too few. A job that a worker has begun stays
//! with it. Order between workers was never promised.

use super::job_times::JobTimes;
use super::pool_worker::PoolWorker;
use super::ring::Gate;
use super::routing::Routing;
use super::shared::SharedPool;
use super::waiting_line::StrandedMessage;
use crate::mailbox::entry::{Body, MailboxEntry, Notice};
use crate::observe::watched_job::JobWatcher;
use krarup_gen::SendError;
use std::sync::Arc;

impl<M, C, R> SharedPool<M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    /// Balances the queues, if the routing allows it. Returns how many jobs have moved.
    pub(super) fn balance(&self) -> usize {
        if self.needs_message || self.gate() != Gate::Open {
            return 0;
        }
        // A worker that has ended takes no jobs.
        let load_of = |worker: PoolWorker<M, C>| {
            let load = worker.address.load().filter(|_| !worker.address.is_routed())?;
            Some((worker, load))
        };
        let (workers, loads): (Vec<_>, Vec<_>) =
            self.workers().into_iter().filter_map(load_of).unzip();
        let shares = shares(&loads);
        let mut surplus = Vec::new();
        for (worker, (load, share)) in workers.iter().zip(loads.iter().zip(&shares)) {
            if load > share {
                surplus.extend(worker.address.take_newest(load - share));
            }
        }
        let moved = surplus.len();
        let mut surplus = surplus.into_iter();
        for (worker, (load, share)) in workers.iter().zip(loads.iter().zip(&shares)) {
            for entry in surplus.by_ref().take(share.saturating_sub(*load)) {
                self.move_to(worker, entry);
            }
        }
        // Fewer workers had room than expected. These jobs return to the first worker, or take
        // the next free room.
        for entry in surplus {
            self.move_to(&workers[0], entry);
        }
        moved
    }

    fn move_to(&self, worker: &PoolWorker<M, C>, MailboxEntry { sender, body }: MailboxEntry<M>) {
        let mut times = None;
        let refused = match (body, &worker.watch) {
            (Body::Message(message), _) => worker.address.forward(message, sender),
            // Unreachable: only what takes room is taken back.
            (Body::Event(message), _) => worker.address.forward(message, 0),
            (Body::Notice(notice), watch) => match notice.into_inner() {
                Notice::Job(job) => {
                    let (accepted, due) = job.times();
                    times = Some(JobTimes { accepted, due });
                    let job = match watch {
                        Some(watch) => job.handed_to(Arc::clone(watch) as Arc<dyn JobWatcher<M>>),
                        None => job,
                    };
                    worker.address.forward_job(job, sender)
                }
                // Unreachable: only messages and jobs are taken back.
                _ => Ok(()),
            },
        };
        if let Err(error) = refused {
            // The job had been accepted before, so it goes to the first worker that has room.
            let message = SendError::into_message(error);
            // A pool that routes by key never moves jobs, so any worker may take this one.
            let (hint, epoch) = (0, self.epochs.current());
            self.line.push_stranded(StrandedMessage { message, sender, hint, times, epoch });
            self.join_at_workers();
        }
    }
}

/// How many jobs each worker gets when all jobs are shared evenly.
fn shares(loads: &[usize]) -> Vec<usize> {
    let total: usize = loads.iter().sum();
    let each = total / loads.len().max(1);
    let mut more = total % loads.len().max(1);
    // The workers with the most jobs keep the remainder of the division.
    let mut order: Vec<_> = (0..loads.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(loads[*index]));
    let mut shares = vec![each; loads.len()];
    for index in order {
        if more == 0 {
            break;
        }
        shares[index] += 1;
        more -= 1;
    }
    shares
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::shares;

    #[test]
    fn the_shares_are_even_and_the_most_loaded_workers_keep_the_remainder() {
        assert_eq!(shares(&[10, 0, 0]), [4, 3, 3]);
        assert_eq!(shares(&[1, 5, 1]), [2, 3, 2]);
        assert_eq!(shares(&[2, 2]), [2, 2]);
        assert_eq!(shares(&[]), Vec::<usize>::new());
    }
}
