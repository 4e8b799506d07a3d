//! Watched jobs, and messages in trace contexts: how a process begins and ends one.

use super::context::Context;
use crate::observe::watched_job::{InHand, Stale, WatchedJob};
use crate::process::current::{self, OrphanCause};
use crate::traces::carried::CarriedContext;
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
        let now = self.now();
        if now <= job.times().1 && job.is_watched() && self.cell.in_hand().is_some() {
            let (message, ahead) = job.take_ahead();
            self.cold().job_ahead = ahead;
            self.begin_job(InHand::NOT_WATCHED, context);
            return Some(message);
        }
        match job.begin(now) {
            Ok((message, in_hand)) => {
                self.begin_job(in_hand, context);
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

    fn begin_job(&mut self, in_hand: InHand, context: Option<Box<CarriedContext>>) {
        self.count_received();
        self.cold().job = Some(in_hand);
        self.set_slow_path(true);
        if let Some(context) = context {
            self.begin_traced(&context, type_name::<M>());
        }
    }

    /// Ends the job in progress, because the process receives again.
    #[cold]
    pub(super) fn end_job(&mut self) {
        let Some(job) = self.cold.as_mut().and_then(|cold| cold.job.take()) else { return };
        job.end(self.now());
        // Not held by its behaviour: it was begun and is done.
        let ahead = self.cold.as_mut().and_then(|cold| cold.job_ahead.take());
        if let Some(ahead) = ahead {
            let now = self.now();
            ahead.begin(now).end(now);
        }
        if current::is_traced() {
            current::end_handling(None);
        }
        self.update_slow_path();
    }
}
