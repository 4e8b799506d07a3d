//! What a cell tells about its process without the process's help: a description with text, or
//! numbers alone.
//!
//! What the mailbox tells is read under its lock into [`SeenMailbox`]; what is made of it knows no type of message.

use super::awaited::AwaitedProcess;
use super::cell::Cell;
use super::cell_core::CellCore;
use super::progress::ProcessMark;
use super::untyped_cell::UntypedCell;
use crate::addressing::route::Route;
use crate::mailbox::inbox_core::{InboxCore, MailboxPhase};
use crate::sync::Ordering;
use krarup_gen::{
    Class, MessageTotals, Pid, ProcessInfo, ProcessKind, ProcessState, Sample, Wait, WaitKind,
};
use std::any::type_name;
use std::time::Duration;

/// What was read of a mailbox.
struct SeenMailbox {
    phase: MailboxPhase,
    suspended: bool,
    suspensions: u32,
    urgent: usize,
    system: usize,
    accepted: u64,
    waiting: usize,
    beside_main: u64,
    /// The messages that were received and never counted on Main: those on the control lanes, and
    /// those that were dropped to make room.
    beyond_main: u64,
    bound: Option<usize>,
    /// The senders that wait for room in it.
    waiters: usize,
    /// The sender of its first entry; 0: none.
    head: u64,
    /// The process that this one waits for, if only that answer can wake it.
    edge: Option<AwaitedProcess>,
}

impl<M: Send + 'static, C: Send + 'static> Cell<M, C> {
    /// A description of the process (rule X3).
    pub(super) fn snapshot(&self) -> ProcessInfo {
        let numbers = self.numbers_of_any_phase();
        let inbox = self.inbox.lock();
        let (trapping, queues) = (inbox.marks.is_trapping(), inbox.queue_bytes());
        drop(inbox);
        let log = self.untyped().item_log();
        let is_traced = log.as_ref().is_some_and(|log| log.is_tracing());
        let (recorded, gauges) = (log.map_or(0, |log| log.size()), self.route());
        let mut info = self.untyped().describe(numbers);
        info.trapping = trapping;
        info.traced |= is_traced;
        info.recorded = recorded;
        info.stashed = self.stashed();
        info.message_type = type_name::<M>();
        info.command_type = type_name::<C>();
        info.shallow_bytes = size_of::<Self>() + self.behavior.future + queues;
        info.pool = gauges.and_then(Route::gauges);
        info
    }

    /// The numbers of the process, if it has not ended.
    pub(super) fn numbers(&self) -> Option<Sample> {
        let numbers = self.numbers_of_any_phase();
        (numbers.state != ProcessState::Terminated).then_some(numbers)
    }

    fn numbers_of_any_phase(&self) -> Sample {
        let kind = self.kind();
        let on_route = self.route().map(|route| (route.waiting(), route.room_waiters()));
        let inbox = self.inbox.lock();
        // The counters of the turns are read under the lock too.
        let sample = self.sample(
            kind,
            on_route,
            &self.look_at(&inbox, inbox.head_sender(), self.beside_main()),
        );
        drop(inbox);
        self.complete(sample, self.running_time())
    }
}

impl dyn UntypedCell + '_ {
    fn describe(&self, numbers: Sample) -> ProcessInfo {
        let core = self.cell_core();
        let (name, aliases, (own_label, shown), links, (monitors, monitored_by)) = {
            let relations = self.locked_relations();
            // Both are changed under the lock of the relations.
            let label = (relations.own_label().cloned(), self.locked(|inbox| inbox.shown));
            let name = relations.name().cloned();
            (name, relations.aliases(), label, relations.links(), relations.monitors())
        };
        ProcessInfo::new(core.pid(), self.label(), numbers.state).with(|info| {
            info.name = name;
            info.label = own_label.or_else(|| core.text_of(shown));
            info.kind = numbers.kind;
            info.aliases = aliases;
            info.parent = numbers.parent;
            info.links = links;
            info.monitors = monitors;
            info.monitored_by = monitored_by;
            info.urgent = numbers.urgent;
            info.system = numbers.system;
            info.main = numbers.main;
            info.mailbox = numbers.mailbox;
            info.room_waiters = numbers.room_waiters;
            info.waits = numbers.waits;
            info.suspensions = numbers.suspensions;
            info.traced = core.progress.has(ProcessMark::Traced);
            info.messages_in = numbers.messages_in;
            info.messages_out = numbers.messages_out;
            info.handled = numbers.handled;
            core.host.dispatcher_name().clone_into(&mut info.dispatcher);
            info.class = numbers.class;
            info.root = numbers.root;
            info.application = core.host.application().map(|(name, _)| name.clone());
            info.running_time = numbers.running_time;
            info.uptime = numbers.uptime;
        })
    }
}

impl CellCore {
    fn look_at(&self, inbox: &InboxCore, head: u64, beside_main: u64) -> SeenMailbox {
        let (urgent, system) = inbox.control_lengths();
        SeenMailbox {
            phase: inbox.phase,
            suspended: inbox.is_suspended(),
            suspensions: inbox.suspensions(),
            urgent,
            system,
            waiting: self.waiting(inbox),
            accepted: inbox.accepted(self.progress.taken.load(Ordering::Relaxed)),
            beside_main,
            beyond_main: inbox.controls() as u64 + inbox.dropped(),
            bound: inbox.bound(),
            waiters: inbox.waiters(),
            head,
            edge: self.edge(inbox),
        }
    }

    /// The counters of its messages. `beside_main`: those taken that Main does not count.
    pub(super) fn messages(&self, inbox: &InboxCore, beside_main: u64) -> MessageTotals {
        let accepted = inbox.accepted(self.progress.taken.load(Ordering::Relaxed));
        self.totals(accepted, beside_main, inbox.controls() as u64 + inbox.dropped())
    }

    /// The numbers that must agree. Called under the lock of the mailbox.
    fn sample(
        &self,
        kind: ProcessKind,
        on_route: Option<(usize, usize)>,
        mailbox: &SeenMailbox,
    ) -> Sample {
        let state = self.state(mailbox);
        let messages = self.totals(mailbox.accepted, mailbox.beside_main, mailbox.beyond_main);
        let head = mailbox.head;
        Sample::new(self.pid(), kind, state).with(|sample| {
            sample.urgent = mailbox.urgent;
            sample.system = mailbox.system;
            sample.main = match on_route {
                Some((waiting, _)) => waiting,
                None if state == ProcessState::Terminated => 0,
                None => mailbox.waiting,
            };
            sample.mailbox = mailbox.bound;
            sample.room_waiters = mailbox.waiters + on_route.map_or(0, |(_, senders)| senders);
            sample.waits = self.wait(mailbox);
            sample.suspensions = mailbox.suspensions;
            sample.messages_in = messages.messages_in;
            sample.messages_out = messages.messages_out;
            sample.handled = messages.handled;
            sample.taken = self.progress.taken.load(Ordering::Relaxed);
            sample.head_sender = (head != 0).then(|| Pid::local(head, self.pid().creation()));
        })
    }

    /// Adds what needs no lock.
    fn complete(&self, sample: Sample, ran: Duration) -> Sample {
        sample.with(|sample| {
            sample.parent = self.parent_pid();
            sample.root = self.host.root();
            sample.class = match self.host.class() {
                Class::Varying if self.progress.is_high() => Class::High,
                Class::Varying => Class::Normal,
                class => class,
            };
            sample.running_time = ran;
            sample.uptime = self.host.now().since(self.started);
        })
    }

    fn totals(&self, accepted: u64, beside_main: u64, beyond_main: u64) -> MessageTotals {
        MessageTotals::new(
            accepted + beside_main + beyond_main,
            self.progress.turn.sent(),
            self.progress.taken.load(Ordering::Relaxed) + beside_main,
        )
    }

    fn state(&self, mailbox: &SeenMailbox) -> ProcessState {
        match mailbox.phase {
            MailboxPhase::Terminated => ProcessState::Terminated,
            _ if mailbox.suspended => ProcessState::Suspended,
            _ if !self.progress.has_started() => ProcessState::Init,
            MailboxPhase::Idle => ProcessState::Idle,
            MailboxPhase::Selecting | MailboxPhase::Waiting | MailboxPhase::Listening => {
                ProcessState::Waiting
            }
            MailboxPhase::Active if self.progress.turn.is_running() => ProcessState::Running,
            MailboxPhase::Active | MailboxPhase::Muted => ProcessState::Scheduled,
        }
    }

    /// What the process waits for inside a handler: room, or the answer of one call.
    fn wait(&self, mailbox: &SeenMailbox) -> Option<Wait> {
        let word = AwaitedProcess::of_word(self.progress.waits_for.load(Ordering::Relaxed));
        if word.is_none() || mailbox.phase != MailboxPhase::Waiting {
            return None;
        }
        let on = |wait: AwaitedProcess| Pid::local(wait.callee(), self.pid().creation());
        if word.is_for_room() {
            return Some(Wait::new(on(word), WaitKind::Room));
        }
        mailbox.edge.map(|wait| Wait::new(on(wait), WaitKind::Call))
    }
}
