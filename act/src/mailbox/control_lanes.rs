//! The control lanes of a mailbox, and what the process must look at before its next message: a
//! pending exit, a stop, a suspension.

use super::control_entry::ControlEntry;
use super::inbox::Inbox;
use super::inbox_core::InboxCore;
use super::take::take_at;
use crate::process::exit_source::ExitSource;
use krarup_gen::CrashCauseKind;

impl InboxCore {
    pub(crate) fn has_pending_exit(&self) -> bool {
        self.cold.as_ref().is_some_and(|cold| cold.pending_exit.is_some())
    }

    /// Handles a stop that arrived before the first poll, when the kind of process was not
    /// known yet. If the process neither stops in order nor traps exits, the stop becomes a
    /// pending exit. Returns whether there was one.
    pub(crate) fn set_pending_exit_by_early_stop(&mut self, stops_in_order: bool) -> bool {
        if stops_in_order || self.marks.is_trapping() {
            return false;
        }
        let Some(cold) = &mut self.cold else { return false };
        let stop = cold.urgent.iter().position(|control| matches!(control, ControlEntry::Stop(_)));
        match stop.and_then(|place| take_at(&mut cold.urgent, place)) {
            Some(ControlEntry::Stop(reason)) => {
                cold.pending_exit = Some(reason);
                cold.exit_source = Some(ExitSource::new(CrashCauseKind::Parent, None));
                true
            }
            _ => false,
        }
    }

    /// Takes the next entry of the control lanes.
    pub(crate) fn take_control(&mut self) -> Option<ControlEntry> {
        let cold = self.cold.as_mut()?;
        if cold.suspended > 0 {
            return self.take_request();
        }
        cold.urgent.pop_front().or_else(|| cold.system.pop_front())
    }

    /// Takes the next stop, inspection or other request that also a suspended process handles.
    pub(crate) fn take_request(&mut self) -> Option<ControlEntry> {
        let urgent = &mut self.cold.as_mut()?.urgent;
        let place = urgent.iter().position(ControlEntry::is_for_suspended)?;
        take_at(urgent, place)
    }

    /// Whether an entry waits on the control lanes.
    fn has_control(&self) -> bool {
        self.controls() > 0
    }

    /// Returns the number of entries on the control lanes.
    pub(crate) fn controls(&self) -> usize {
        self.cold.as_ref().map_or(0, |cold| cold.urgent.len() + cold.system.len())
    }

    /// Returns the lengths of the Urgent and System lanes.
    pub(crate) fn control_lengths(&self) -> (usize, usize) {
        self.cold.as_ref().map_or((0, 0), |cold| (cold.urgent.len(), cold.system.len()))
    }

    /// How many suspensions are in effect.
    pub(crate) fn suspensions(&self) -> u32 {
        self.cold.as_ref().map_or(0, |cold| cold.suspended)
    }

    /// Whether the process is suspended, so that it handles nothing until it is resumed.
    pub(crate) fn is_suspended(&self) -> bool {
        self.cold.as_ref().is_some_and(|cold| cold.suspended > 0)
    }

    /// Whether an entry goes before those on Main.
    pub(crate) fn has_mail_ahead(&self) -> bool {
        match &self.cold {
            Some(cold) if cold.suspended > 0 => {
                cold.urgent.iter().any(ControlEntry::is_for_suspended)
            }
            _ => self.has_control(),
        }
    }

    /// Whether anything but a message on Main waits for the process: an entry of the control
    /// lanes, or the owner of this task.
    pub(crate) fn is_asked(&self) -> bool {
        match &self.cold {
            None => false,
            Some(cold) => cold.awaited || self.has_mail_ahead(),
        }
    }

    /// Whether the process is a task that its owner may wait for.
    pub(crate) fn is_awaited(&self) -> bool {
        self.cold.as_ref().is_some_and(|cold| cold.awaited)
    }

    /// Whether the process must handle something before its next message, other than granting
    /// room.
    pub(crate) fn wants_attention(&self) -> bool {
        self.has_pending_exit()
            || self.has_mail_ahead()
            || self.cold.as_ref().is_some_and(|cold| {
                cold.suspended > 0 || cold.tracer.is_some() || cold.log_changed || cold.panics
            })
    }
}

impl<M> Inbox<M> {
    /// Whether there is an entry that the process would receive now.
    #[inline]
    pub(crate) fn has_mail(&self) -> bool {
        match &self.cold {
            None => self.has_main(),
            Some(cold) => self.has_mail_ahead() || (cold.suspended == 0 && self.has_main()),
        }
    }

    /// Whether there is an entry for a process that waits for one on Main alone (rule M14), or it is asked to stop.
    #[cold]
    #[inline(never)]
    pub(crate) fn has_mail_on_main_alone(&self) -> bool {
        self.marks.is_asked_to_stop() || (!self.is_suspended() && self.has_main())
    }
}
