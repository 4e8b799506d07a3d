//! What an exit signal and a stop do to a process (rules D3, D5, L2, L3, L7, M3).

use super::cell_core::CellCore;
use super::current;
use super::exit_source::ExitSource;
use super::process::{Put, Via};
use super::progress::{ContextMark, ProcessMark};
use super::untyped_cell::UntypedCell;
use crate::mailbox::control_entry::ControlEntry;
use crate::mailbox::inbox_core::{InboxCore, MailboxPhase};
use krarup_gen::{CrashCauseKind, Exit, Pid, Reason};

/// What has become of an exit signal, or a stop, under the lock of the mailbox.
pub(super) enum TakenExit {
    /// It was put in or had no effect. A reason that is not used is to be dropped outside the lock, because it is a user
    /// value.
    Put(Put, Option<Reason>),
    /// It is a notice, to be put on Main under the same lock.
    Notice { exit: Exit, link: Option<u64> },
}

/// What a process does with a stop that was requested before its kind was known.
pub(crate) enum StopOrder {
    /// It stops in order.
    Stop(Reason),
    /// It traps exits, and receives the stop as one.
    Exit(Exit),
    /// It ends with that reason.
    AtOnce,
}

impl dyn UntypedCell + '_ {
    /// Decides it, now that the kind is known.
    pub(crate) fn obey_stop(&self, reason: Reason) -> StopOrder {
        let core = self.cell_core();
        let stops_in_order = core.progress.notes(ContextMark::StopsInOrder);
        let (order, ready, unused) = self.locked(|inbox| {
            if inbox.is_suspended() && (stops_in_order || inbox.marks.is_trapping()) {
                // It may have to receive notices before it can end, for instance of the ends of
                // its children.
                inbox.cold().suspended = 0;
            }
            if stops_in_order {
                return (StopOrder::Stop(reason), None, None);
            }
            if inbox.marks.is_trapping() {
                // It may go on, and may wait for names again.
                inbox.marks.forget_stop();
                let exit = Exit { pid: core.host.node_pid(), reason };
                return (StopOrder::Exit(exit), None, None);
            }
            let source = ExitSource::new(CrashCauseKind::Parent, core.parent_pid());
            let (ready, unused) = core.set_pending_exit(inbox, reason, source);
            (StopOrder::AtOnce, ready, unused)
        });
        core.schedule_if(ready);
        drop(unused);
        order
    }
}

/// What an exit signal does to a process.
enum ExitEffect {
    /// The signal is dropped.
    Nothing(Exit),
    /// It ends with this reason.
    End(Reason, ExitSource),
    /// It is asked to stop.
    Stop(Reason),
    Notice {
        exit: Exit,
        link: Option<u64>,
        urgent: bool,
    },
}

/// What a process has said of the signals that it gets.
#[derive(Clone, Copy)]
struct ExitHabits {
    trapping: bool,
    orderly: bool,
    suspended: bool,
}

impl ExitHabits {
    fn of(core: &CellCore, inbox: &InboxCore) -> Self {
        ExitHabits {
            trapping: inbox.marks.is_trapping(),
            orderly: core.progress.notes(ContextMark::StopsInOrder),
            suspended: inbox.is_suspended(),
        }
    }
}

impl CellCore {
    /// Whether a notice of a link, taken now, is a request to stop: the parent with which it was spawned has ended, as for
    /// a `gen_server` that was started with `start_link`.
    pub(crate) fn is_end_of_parent(&self, from: Pid) -> bool {
        self.progress.has(ProcessMark::LinkedAtSpawn) && self.is_parent(from)
    }

    fn is_parent(&self, pid: Pid) -> bool {
        self.parent_pid().is_some_and(|parent| parent.is_same_process(pid))
    }

    /// Puts an exit signal in, unless it is a notice.
    pub(super) fn take_exit(&self, inbox: &mut InboxCore, exit: Exit, via: Via) -> TakenExit {
        if inbox.phase == MailboxPhase::Terminated {
            return TakenExit::Put(Put::unheard(None), Some(exit.reason));
        }
        match self.effect_of_exit(exit, via, ExitHabits::of(self, inbox)) {
            ExitEffect::Nothing(exit) => TakenExit::Put(Put::unheard(None), Some(exit.reason)),
            ExitEffect::End(reason, source) => self.take_end(inbox, reason, source),
            ExitEffect::Stop(reason) => self.take_order(inbox, reason),
            ExitEffect::Notice { exit, link, urgent: true } => {
                let ready = self.put_urgent(inbox, ControlEntry::Exit { exit, link });
                TakenExit::Put(Put::notice(ready), None)
            }
            ExitEffect::Notice { exit, link, urgent: false } => TakenExit::Notice { exit, link },
        }
    }

    /// Puts in a request to stop, as a parent or the node makes it, unless it is a notice.
    pub(super) fn take_stop(&self, inbox: &mut InboxCore, reason: Reason) -> TakenExit {
        let ExitHabits { trapping, orderly, suspended } = ExitHabits::of(self, inbox);
        match inbox.phase {
            MailboxPhase::Terminated => TakenExit::Put(Put::unheard(None), Some(reason)),
            // Whether it stops in order is known only after its first poll has returned.
            MailboxPhase::Active if !self.progress.has_started() => self.take_order(inbox, reason),
            // A suspended process takes no notices from Main. So a trapping one gets a control
            // entry, which it receives as an exit.
            _ if orderly || (trapping && suspended) => self.take_order(inbox, reason),
            _ if trapping => {
                let exit = Exit { pid: self.host.node_pid(), reason };
                TakenExit::Notice { exit, link: None }
            }
            _ => {
                let source = ExitSource::new(CrashCauseKind::Parent, current::pid());
                self.take_end(inbox, reason, source)
            }
        }
    }

    /// Puts in a stop in order. A handler that waits for a name goes on, and finds that it waits for nothing.
    fn take_order(&self, inbox: &mut InboxCore, reason: Reason) -> TakenExit {
        inbox.marks.note_stop();
        let ready = self.put_urgent(inbox, ControlEntry::Stop(reason));
        if ready.is_some() || !inbox.marks.waits_for_names() {
            return TakenExit::Put(Put::unheard(ready), None);
        }
        let ready = inbox.ready_for_wake();
        TakenExit::Put(Put::unheard(self.noted(inbox, ready)), None)
    }

    fn take_end(&self, inbox: &mut InboxCore, reason: Reason, source: ExitSource) -> TakenExit {
        let (ready, unused) = self.set_pending_exit(inbox, reason, source);
        TakenExit::Put(Put::unheard(ready), unused)
    }

    /// | the process | from its parent | by | reason | what happens |
    /// |---|---|---|---|---|
    /// | any | - | signal | `Kill` | ends as `Killed` (D3) |
    /// | traps, stops in order | yes, linked at its spawn | signal | any | stop request (L3) |
    /// | traps, stops in order | yes, linked at its spawn | link | any | stop request in its place on Main (M3), see below |
    /// | traps | - | any | any | notice (L3) |
    /// | does not trap, stops in order | yes | signal | not `Normal` | stop request (D5) |
    /// | does not trap | - | - | `Normal` | nothing, unless it is from itself (L7) |
    /// | does not trap | - | - | other | ends with that reason (L2) |
    ///
    /// Whether the process traps is decided now, when the signal arrives. The end of the parent is a notice, behind what the
    /// parent has sent, and a stop when it is taken ([`CellCore::is_end_of_parent`]). It is one at once for who has an urgent
    /// link, as pools and supervisors do, and for who is suspended and takes nothing from Main.
    fn effect_of_exit(
        &self,
        exit: Exit,
        via: Via,
        ExitHabits { trapping, orderly, suspended }: ExitHabits,
    ) -> ExitEffect {
        let by_signal = via == Via::Signal;
        if by_signal && matches!(exit.reason, Reason::Kill) {
            let source = ExitSource::new(CrashCauseKind::Kill, Some(exit.pid));
            return ExitEffect::End(Reason::Killed, source);
        }
        let from_parent = orderly && self.is_parent(exit.pid);
        if trapping {
            let stops = match via {
                Via::Signal => true,
                Via::Link { urgent, .. } => urgent || suspended,
            };
            if stops && from_parent && self.progress.has(ProcessMark::LinkedAtSpawn) {
                return ExitEffect::Stop(exit.reason);
            }
            let (link, urgent) = match via {
                Via::Signal => (None, false),
                Via::Link { number, urgent } => (Some(number), urgent),
            };
            return ExitEffect::Notice { exit, link, urgent };
        }
        if exit.reason.is_normal() && !(by_signal && exit.pid == self.pid()) {
            return ExitEffect::Nothing(exit);
        }
        if from_parent && by_signal {
            return ExitEffect::Stop(exit.reason);
        }
        let kind = if by_signal { CrashCauseKind::Signal } else { CrashCauseKind::Link };
        ExitEffect::End(exit.reason, ExitSource::new(kind, Some(exit.pid)))
    }
}
