//! What a cell tells about its process without the process's help: a description with text, or
//! numbers alone.

use super::awaited::AwaitedProcess;
use super::cell::Cell;
use super::progress::ProcessMark;
use crate::mailbox::inbox::{Inbox, MailboxPhase};
use crate::sync::Ordering;
use krarup_gen::{Class, MessageTotals, Pid, ProcessInfo, ProcessState, Sample, Wait, WaitKind};
use std::any::type_name;
use std::time::Duration;

impl<M: Send + 'static, C: Send + 'static> Cell<M, C> {
    /// A description of the process (rule X3).
    pub(super) fn snapshot(&self) -> ProcessInfo {
        let (name, aliases, own_label, links, (monitors, monitored_by)) = {
            let relations = self.relations.0.lock();
            let (name, own_label) = (relations.name().cloned(), relations.own_label().cloned());
            (name, relations.aliases(), own_label, relations.links(), relations.monitors())
        };
        let numbers = self.numbers_of_any_phase();
        let inbox = self.inbox.lock();
        let (trapping, queues) = (inbox.trapping, inbox.queue_bytes());
        drop(inbox);
        let log = self.item_log();
        let is_traced = log.as_ref().is_some_and(|log| log.is_tracing());
        let fixed = size_of::<Self>() + self.behavior.future;
        ProcessInfo::new(self.pid, self.label(), numbers.state).with(|info| {
            info.name = name;
            info.label = own_label.or_else(|| self.state_label());
            info.kind = numbers.kind;
            info.aliases = aliases;
            info.parent = numbers.parent;
            info.trapping = trapping;
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
            info.traced = is_traced || self.progress.has(ProcessMark::Traced);
            info.recorded = log.map_or(0, |log| log.size());
            info.message_type = type_name::<M>();
            info.command_type = type_name::<C>();
            info.shallow_bytes = fixed + queues;
            info.pool = self.route.get().and_then(|route| route.gauges());
            info.messages_in = numbers.messages_in;
            info.messages_out = numbers.messages_out;
            info.handled = numbers.handled;
            self.host.dispatcher_name().clone_into(&mut info.dispatcher);
            info.class = numbers.class;
            info.root = numbers.root;
            info.application = self.host.application().map(|(name, _)| name.clone());
            info.running_time = numbers.running_time;
            info.uptime = numbers.uptime;
        })
    }

    /// The numbers of the process, if it has not ended.
    pub(super) fn numbers(&self) -> Option<Sample> {
        let numbers = self.numbers_of_any_phase();
        (numbers.state != ProcessState::Terminated).then_some(numbers)
    }

    fn numbers_of_any_phase(&self) -> Sample {
        let kind = self.kind();
        let on_route = self.route.get().map(|route| (route.waiting(), route.room_waiters()));
        let inbox = self.inbox.lock();
        let state = self.state(&inbox);
        let (urgent, system) = inbox.control_lengths();
        let accepted = inbox.accepted();
        let messages = self.messages(&inbox);
        let taken = self.progress.taken.load(Ordering::Relaxed);
        let head = inbox.head_sender();
        let sample = Sample::new(self.pid, kind, state).with(|sample| {
            sample.urgent = urgent;
            sample.system = system;
            sample.main = match on_route {
                Some((waiting, _)) => waiting,
                None if state == ProcessState::Terminated => 0,
                None => self.waiting(accepted),
            };
            sample.mailbox = inbox.bound();
            sample.room_waiters = inbox.waiters() + on_route.map_or(0, |(_, senders)| senders);
            sample.waits = self.wait(&inbox);
            sample.suspensions = inbox.suspensions();
        });
        drop(inbox);
        sample.with(|sample| {
            sample.parent = self.parent_pid();
            sample.root = self.host.root();
            sample.class = match self.host.class() {
                Class::Varying if self.progress.is_high() => Class::High,
                Class::Varying => Class::Normal,
                class => class,
            };
            sample.messages_in = messages.messages_in;
            sample.messages_out = messages.messages_out;
            sample.handled = messages.handled;
            sample.taken = taken;
            sample.head_sender = (head != 0).then(|| Pid::local(head, self.pid.creation()));
            sample.running_time = Duration::from_nanos(self.progress.ran.load(Ordering::Relaxed));
            sample.uptime = self.host.now().since(self.started);
        })
    }

    /// The counters of its messages.
    pub(super) fn messages(&self, inbox: &Inbox<M, C>) -> MessageTotals {
        let beside_main = self.progress.beside_main.load(Ordering::Relaxed);
        MessageTotals::new(
            inbox.accepted() + beside_main + inbox.controls() as u64,
            self.progress.sent.load(Ordering::Relaxed),
            self.progress.taken.load(Ordering::Relaxed) + beside_main,
        )
    }

    fn state(&self, inbox: &Inbox<M, C>) -> ProcessState {
        match inbox.phase {
            MailboxPhase::Terminated => ProcessState::Terminated,
            _ if inbox.is_suspended() => ProcessState::Suspended,
            _ if !inbox.initialised => ProcessState::Init,
            MailboxPhase::Idle => ProcessState::Idle,
            MailboxPhase::Waiting | MailboxPhase::Listening => ProcessState::Waiting,
            MailboxPhase::Active if self.progress.running.load(Ordering::Relaxed) => {
                ProcessState::Running
            }
            MailboxPhase::Active | MailboxPhase::Muted => ProcessState::Scheduled,
        }
    }

    /// What the process waits for inside a handler: room, or the answer of one call.
    fn wait(&self, inbox: &Inbox<M, C>) -> Option<Wait> {
        let word = AwaitedProcess::of_word(self.progress.waits_for.load(Ordering::Relaxed));
        if word.is_none() || inbox.phase != MailboxPhase::Waiting {
            return None;
        }
        let on = |wait: AwaitedProcess| Pid::local(wait.callee(), self.pid.creation());
        if word.is_for_room() {
            return Some(Wait::new(on(word), WaitKind::Room));
        }
        self.edge(inbox).map(|wait| Wait::new(on(wait), WaitKind::Call))
    }
}
