//! What a process handles before its next message: what has raised `progress.attention`.

use super::current;
use super::turn_state::Wants;
use super::untyped_cell::UntypedCell;
use crate::mailbox::control_entry::ControlEntry;
use crate::mailbox::inbox_core::InboxCore;
use crate::observe::item_log::ChangedLog;
use crate::process::panics::raise;
use krarup_gen::Lane;
use std::any::Any;
use std::sync::atomic::Ordering;

/// Which entry of the control lanes is taken next.
pub(crate) type TakeControl = fn(&mut InboxCore) -> Option<ControlEntry>;

/// The result of a look at what goes before the next message.
pub(crate) enum Attention {
    /// An entry of a control lane.
    Control(ControlEntry, Lane),
    /// There is nothing to receive now.
    Wait(Wants),
    /// Nothing goes before Main.
    Main,
    /// The process is to grant room to those that wait, and to look again.
    Changed(WatchChange),
}

/// What has changed in how the process is watched.
pub(crate) struct WatchChange {
    pub(crate) suspended: bool,
    /// A tracer of the types of the messages, that replaces the current one.
    pub(crate) tracer: Option<Box<dyn Any + Send>>,
    pub(crate) log: Option<ChangedLog>,
}

impl dyn UntypedCell + '_ {
    /// Looks once. `suspended` is what the process knows; it has granted room if `granted`.
    #[cold]
    pub(crate) fn look(&self, take: TakeControl, suspended: bool, granted: bool) -> Attention {
        let core = self.cell_core();
        let look = self.locked(|inbox| {
            if inbox.has_pending_exit() {
                return Some(Attention::Wait(Wants::Message));
            }
            if inbox.take_panic() {
                return None;
            }
            let now_suspended = inbox.is_suspended();
            let tracer = inbox.cold_if_any().and_then(|cold| cold.tracer.take());
            let log = inbox.take_changed_log();
            let grant = inbox.has_waiters() && !granted;
            if grant || now_suspended != suspended || tracer.is_some() || log.is_some() {
                return Some(Attention::Changed(WatchChange {
                    suspended: now_suspended,
                    tracer,
                    log,
                }));
            }
            if !inbox.has_mail_ahead() {
                core.progress.attention.store(inbox.has_waiters(), Ordering::Relaxed);
                return Some(Attention::Main);
            }
            if !current::spend(&core.host) {
                return Some(Attention::Wait(Wants::Turn));
            }
            let lane = if inbox.control_lengths().0 > 0 { Lane::Urgent } else { Lane::System };
            Some(match take(inbox) {
                Some(control) => Attention::Control(control, lane),
                None => {
                    current::refund();
                    Attention::Main
                }
            })
        });
        look.unwrap_or_else(|| raise("injected fault of the simulation"))
    }
}
