//! Accepted messages that no worker will handle: dead letters, and for a pool that watches its jobs
//! also discarded ones (rule P9).
//!
//! A message is lost with its worker by the end of that worker. Here are those that wait in the line
//! of the pool when nothing serves it any more:
//!
//! | the pool | the line |
//! |---|---|
//! | has ended | is emptied |
//! | is drained and has no places | its messages are discarded: a drained pool gets no workers |
//! | has no places, and accepts messages | waits, because a worker may be added |

use super::job_watch::JobWatch;
use super::ring::Gate;
use super::routing::Routing;
use super::shared::SharedPool;
use super::waiting_line::{LineEntry, StrandedMessage};
use crate::observe::watched_job::{Discarded, JobWatcher};
use crate::process::{current, deferred};
use krarup_gen::{CallError, DeadLetter, DeadLetterCause, Pid};
use std::any::type_name;
use std::sync::Arc;

impl<M, C, R> SharedPool<M, C, R>
where
    M: Send + 'static,
    C: Send + 'static,
    R: Routing<M>,
{
    /// Empties the line if no worker will serve it. Called after a message has joined the line, and
    /// after the gate has changed, so one of the two sees the other.
    pub(super) fn discard_if_nothing_serves(&self) {
        let (gate, size) = {
            let ring = self.ring.read();
            (ring.gate, ring.size())
        };
        match gate {
            Gate::Closed => self.clear_line(),
            Gate::Draining if size == 0 => self.discard_stranded(),
            Gate::Open | Gate::Draining => {}
        }
    }

    /// Empties the line, because no one in it will be served.
    pub(super) fn clear_line(&self) {
        self.dismiss();
        while let Some(standing) = self.line.next(true, |_| true) {
            if let LineEntry::Stranded(stranded_message) = standing {
                self.discard_one(stranded_message);
            }
        }
    }

    /// Discards the messages in line. Lines of other pools stay.
    fn discard_stranded(&self) {
        while let Some(LineEntry::Stranded(stranded_message)) = self.line.next(false, |_| true) {
            self.discard_one(stranded_message);
        }
    }

    fn discard_one(&self, stranded_message: StrandedMessage<M>) {
        let StrandedMessage { message, sender, epoch, .. } = stranded_message;
        self.discard(message, sender);
        // Last: a drain that waits for this message ends with it.
        drop(epoch);
    }

    /// Counts and drops an accepted message that no worker has begun and none will. A call in it can
    /// be made again (rule C2).
    pub(super) fn discard(&self, message: M, sender: u64) {
        self.note_lost(sender, DeadLetterCause::Unhandled);
        let records = self.rules().and_then(|rules| rules.records.clone());
        let to = self.pid;
        let error = match self.gate() {
            Gate::Closed => CallError::NoProcess { to },
            Gate::Open | Gate::Draining => CallError::NoWorkers { to },
        };
        deferred::when_free(move || match records {
            // Its last handle may be dropped here, and with it a value of the user.
            Some(records) => current::refuse_calls(&error, move || {
                JobWatch::new(&records).discard(message, Discarded::WorkerEnded);
            }),
            None => current::drop_refused(message, &error),
        });
    }

    /// Counts and drops a message that was accepted and that no worker gets.
    pub(super) fn dead_letter(&self, message: M, sender: u64, cause: DeadLetterCause) {
        self.note_lost(sender, cause);
        deferred::when_free(move || current::apart(|| drop(message)));
    }

    pub(super) fn note_lost(&self, sender: u64, cause: DeadLetterCause) {
        let from = (sender != 0).then(|| Pid::local(sender, self.pid.creation()));
        let letter = DeadLetter::new(self.pid, from, type_name::<M>(), cause);
        let host = Arc::clone(&self.host);
        deferred::when_free(move || host.dead_letter(letter));
    }
}
