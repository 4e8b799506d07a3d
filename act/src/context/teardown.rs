//! The end of a context: what it still holds is dropped, one by one.

use super::cold_context::ColdContext;
use super::context::Context;
use super::stash_queue::StashedMessage;
use super::timer_table::ProcessTimers;
use crate::host::host::{Host, TimerKey};
use crate::mailbox::entry::MailboxEntry;
use crate::process::crash::{drop_contained, ignore};
use crate::process::current;
use crate::process::last_item;
use crate::traces::open_span::OpenSpan;
use krarup_gen::{DeadLetterCause, Ref};
use std::any::type_name;
use std::sync::Arc;

impl<M, C> Context<M, C> {
    /// Cancels all timers and drops their actions one by one: a destructor that panics must
    /// not keep the next from running.
    pub(super) fn cancel_timers(&mut self) {
        let Some(cold) = &mut self.cold else { return };
        let mut timers = std::mem::replace(&mut cold.timers, ProcessTimers::new());
        let in_order = timers.in_order();
        let idle = cold.idle.take();
        let idle_key = idle.as_ref().and_then(|idle| idle.key());
        drop_contained(idle);
        cancel(&self.cell.host, &in_order, idle_key);
        for (timer, _) in in_order {
            drop_contained(timers.remove(timer));
        }
    }

    /// Drops an entry that was taken off Main.
    fn leave_unhandled(&self, entry: MailboxEntry<M>) {
        if entry.is_letter() {
            let (message, sender) = (entry.type_name(), entry.sender());
            self.cell.dead_letter_named(message, sender, DeadLetterCause::Unhandled);
        }
        current::not_begun(|| drop_contained(entry));
    }
}

/// Cancels timers. The action of one for another process is dropped there.
fn cancel(host: &Arc<dyn Host>, timers: &[(Ref, TimerKey)], idle: Option<TimerKey>) {
    for key in timers.iter().map(|(_, key)| *key).chain(idle) {
        ignore(|| {
            host.cancel_timer(key);
        });
    }
}

/// Cancels the timers and drops unhandled messages one by one: a destructor that panics must
/// not keep the next from running, nor panic during the panic of another.
impl<M, C> Drop for Context<M, C> {
    fn drop(&mut self) {
        last_item::leave(self.cell.pid(), self.sender);
        if !self.is_started() {
            let mut inbox = self.cell.inbox.lock();
            let ready = self.cell.drop_context(&mut inbox);
            drop(inbox);
            self.cell.schedule_if(ready);
        }
        if let Some(in_hand) = self.cell.in_hand() {
            in_hand.close();
        }
        if self.main.is_none() && self.cold.is_none() {
            return;
        }
        self.cancel_timers();
        let sorted = self.cold.as_mut().and_then(|cold| cold.sorted.take());
        if let Some(mut sorted) = sorted {
            while let Some(entry) = sorted.pop() {
                self.leave_unhandled(entry);
            }
            drop_contained(sorted);
        }
        if let Some(main) = self.main.take() {
            for entry in main.into_inner() {
                self.leave_unhandled(entry);
            }
        }
        let Some(cold) = self.cold.take() else { return };
        // Field by field, so that a new field cannot be dropped unnoticed.
        let ColdContext {
            timers,
            stash,
            idle,
            tracer,
            item_log,
            lane: _,
            suspended: _,
            job,
            // Its message is the behaviour's.
            job_ahead: _,
            stop_reason,
            // Emptied by a cleaner, when the process ends.
            topics: _,
            holding: _,
            held: _,
            // Dropped above.
            sampler: _,
            sorted: _,
            direct_counts: _,
        } = cold.into_inner();
        drop_contained(job);
        for StashedMessage { sender, message, context } in stash.into_messages() {
            if let Some(context) = context {
                OpenSpan::lost(&context, type_name::<M>(), DeadLetterCause::Unhandled.as_str());
            }
            self.cell.dead_letter_named(type_name::<M>(), sender, DeadLetterCause::Unhandled);
            drop_contained(message);
        }
        drop_contained(tracer);
        drop_contained(stop_reason);
        // Emptied before.
        drop_contained((timers, idle, item_log));
    }
}
