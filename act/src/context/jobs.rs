//! Watched jobs, and messages in trace contexts: how a process begins and ends one.

use super::context::Context;
use crate::observe::watched_job::{Stale, WatchedJob};
use crate::process::current::{self, OrphanCause};
use krarup_gen::CallError;
use std::any::type_name;

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Begins a job that came out of the mailbox. Returns its message, unless it has waited
    /// too long; a call in it then fails with that reason.
    #[cold]
    pub(super) fn take_up(&mut self, job: WatchedJob<M>) -> Option<M> {
        let mut job = job;
        if self.cell.is_routed() {
            self.cell.progress.count_taken();
            self.cell.pass_job_on(job, self.sender_id());
            return None;
        }
        let context = (self.now() <= job.times().1).then(|| job.take_context()).flatten();
        match job.begin(self.now()) {
            Ok((message, in_hand)) => {
                self.count_received();
                self.cold().job = Some(in_hand);
                self.set_slow_path(true);
                if let Some(context) = context {
                    self.begin_traced(&context, type_name::<M>());
                }
                Some(message)
            }
            Err(stale) => {
                self.cell.progress.count_taken();
                self.cell.dead_letter::<M>(self.sender_id(), Stale::<M>::CAUSE);
                let expired = CallError::Expired { to: self.cell.pid(), waited: stale.waited };
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
        if current::is_traced() {
            current::end_handling(None);
        }
        self.update_slow_path();
    }
}
