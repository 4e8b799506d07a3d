//! What looks at the items that a process takes: its tracer, its flight recorder, its trace.
//!
//! All of them take the slow path of [`Context`], so they cost the messages of other processes
//! nothing.

use super::context::Context;
use crate::mailbox::inbox_core::MailboxPhase;
use crate::observe::item_log::ChangedLog;
use crate::observe::trace::{Traced, Tracer};
use crate::process::crash::{contain, drop_contained, log_contained};
use crate::process::progress::ProcessMark;
use crate::received::Received;
use krarup_gen::{Lane, RecordedItem, TooManyRecorded, one_line};
use std::any::{Any, type_name};

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Has the process record the last `items` items that it takes from now on, at most
    /// [`RecordedItem::MOST`]; 0: none. See [`Spawn::record`](crate::Spawn::record) (rule V16).
    ///
    /// # Errors
    /// [`TooManyRecorded`]; nothing has changed.
    pub fn record(&mut self, items: usize) -> Result<(), TooManyRecorded> {
        TooManyRecorded::check(items)?;
        let log = {
            let mut inbox = self.cell.inbox.lock();
            // A context can be moved out of its process.
            if inbox.phase == MailboxPhase::Terminated {
                return Ok(());
            }
            let cold = inbox.cold();
            cold.item_log.get_or_insert_default().record(items);
            cold.log_changed = true;
            inbox.take_changed_log()
        };
        if let Some(log) = log {
            self.set_item_log(log);
        }
        Ok(())
    }

    /// Applies a change of the flight recorder or the trace.
    pub(super) fn set_item_log(&mut self, ChangedLog(log): ChangedLog) {
        if log.is_some() || self.cold.is_some() {
            self.cold().item_log = log;
        }
        self.update_slow_path();
    }

    /// Sets or replaces the tracer.
    pub(super) fn set_tracer(&mut self, tracer: Tracer<M, C>) {
        // The old tracer is a user's, and its destructor may panic.
        let before = std::mem::replace(&mut self.cold().tracer, tracer);
        drop_contained(before);
        self.update_slow_path();
    }

    /// Notes the lane of an item of the control lanes, for those that look at it.
    #[cold]
    pub(super) fn note_lane(&mut self, lane: Lane) {
        if let Some(cold) = &mut self.cold {
            cold.lane = lane;
        }
    }

    /// Passes an item to what looks at it, if there is anything.
    #[inline]
    pub(super) fn shown(&mut self, item: Received<M, C>) -> Received<M, C> {
        if self.slow_path() { self.traced(item) } else { item }
    }

    #[cold]
    fn traced(&mut self, item: Received<M, C>) -> Received<M, C> {
        let (pid, at, sender) = (self.pid(), self.now(), self.sender());
        let Some(cold) = &mut self.cold else { return item };
        let lane = std::mem::replace(&mut cold.lane, Lane::Main);
        if let Some(log) = cold.item_log.clone() {
            let recorded = self.recorded_item(lane, &item);
            log.note(at, recorded);
            if log.is_idle() {
                self.leave_log();
            }
        }
        if let Some(cold) = self.cold.as_mut().filter(|cold| !cold.tracer.is_off()) {
            let traced = Traced { pid, at, sender, lane, item: &item };
            let tracer = &mut cold.tracer;
            if let Err(reason) = contain(|| tracer.look(&traced)) {
                log_contained(|| {
                    tracing::error!(target: "krarup", %pid, reason = %one_line(&reason), "a tracer panicked and was removed");
                });
                self.cell.progress.set(ProcessMark::Traced, false);
                self.set_tracer(Tracer::off());
            }
        }
        item
    }

    /// The item without its value. Its text is user code, which is given if the behaviour shows
    /// its messages.
    fn recorded_item(&self, lane: Lane, item: &Received<M, C>) -> RecordedItem {
        let facts = self.cell.facts();
        let (type_name, text) = match item {
            Received::Message(message) => {
                (Some(type_name::<M>()), text_of(facts.show_message, message))
            }
            Received::Command(command) => {
                (Some(type_name::<C>()), text_of(facts.show_command, command))
            }
            Received::Other(other) => (Some(other.type_name()), None),
            _ => (None, None),
        };
        RecordedItem::new(lane, item.kind(), type_name, self.sender(), text)
    }

    /// Leaves the detour if nothing is recorded any more.
    fn leave_log(&mut self) {
        let log = {
            let mut inbox = self.cell.inbox.lock();
            // It is turned on under this lock, too.
            inbox.cold().log_changed = true;
            inbox.take_changed_log()
        };
        if let Some(log) = log {
            self.set_item_log(log);
        }
    }
}

/// The text of a value. What makes it is user code.
fn text_of(show: fn(&dyn Any) -> Option<String>, value: &dyn Any) -> Option<String> {
    contain(|| show(value)).ok().flatten()
}
