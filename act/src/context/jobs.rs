//! Watched jobs: how a process begins and ends one.

use super::context::Context;
use crate::observe::watched_job::{Stale, WatchedJob};
use crate::process::current::{self, OrphanCause};
use krarup_gen::CallError;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Begins a job that came out of the mailbox. Returns its message, unless it has waited
    /// too long; a call in it then fails with that reason.
    #[cold]
    pub(super) fn take_up(&mut self, job: WatchedJob<M>) -> Option<M> {
        if self.cell.is_routed() {
            self.cell.progress.count_taken();
            self.cell.pass_on(job.into_message(), self.sender_id());
            return None;
        }
        match job.begin(self.now()) {
            Ok((message, in_hand)) => {
                self.count_received();
                self.cold().job = Some(in_hand);
                self.slow_path = true;
                Some(message)
            }
            Err(stale) => {
                self.cell.progress.count_taken();
                self.cell.dead_letter::<M>(self.sender_id(), Stale::<M>::CAUSE);
                let expired = CallError::Expired { to: self.cell.pid, waited: stale.waited };
                current::refusing(OrphanCause::Refused(&expired), || stale.discard());
                None
            }
        }
    }

    /// Ends the job in progress, because the process receives again.
    #[cold]
    pub(super) fn end_job(&mut self) {
        let Some(job) = self.cold.as_mut().and_then(|cold| cold.job.take()) else { return };
        job.end(self.now());
        self.update_slow_path();
    }
}
