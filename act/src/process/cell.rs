//! The parts of a process apart from its future.
//!
//! Addresses point at the cell. The cell outlives the process as long as an address exists, but
//! then holds no user values. The future, with the state in it, lives in the [`Ready`] that is
//! parked in the mailbox or running, and is dropped when the process ends.

use super::awaited::AwaitedProcess;
use super::crash::{contain, log_contained};
use super::process::Guarded;
use super::progress::Progress;
use super::relations::Relations;
use super::{current, deferred};
use crate::addressing::route::Route;
use crate::host::host::{Host, Poke};
use crate::host::ready::Ready;
use crate::lock::{Lock, LockGuard};
use crate::mailbox::entry::{ControlEntry, Notice};
use crate::mailbox::inbox::{Inbox, MailboxPhase, MainPush, Refused};
use crate::mailbox::overflow::Overflow;
use crate::sync::{MutexGuard, Ordering};
use krarup_gen::{DeadLetter, DeadLetterCause, Label, Pid, Priority, Reason, SendError, Timestamp};
use once_cell::race::OnceBox;
use std::any::type_name;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::task::Waker;

/// The order of the fields is their order in memory. The fields that a send and a turn touch
/// lie together, in as few cache lines as possible; rarely used fields follow
/// (docs/decisions.md).
#[repr(C)]
pub(crate) struct Cell<M, C> {
    pub(crate) inbox: Lock<Inbox<M, C>>,
    /// Set if this process is a route instead of having a Main lane: messages are handed on (a
    /// pool).
    pub(crate) route: OnceBox<Box<dyn Route<M>>>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) pid: Pid,
    pub(crate) progress: Progress,
    pub(crate) relations: Guarded,
    /// The number of the process that spawned it; 0 if it was spawned from outside.
    parent: u64,
    /// Returns the label of the behaviour. A function pointer is half the size of the text.
    behavior: fn() -> &'static str,
    pub(crate) started: Timestamp,
}

/// The values from which a cell is made.
pub(crate) struct NewProcess<M> {
    pub(crate) pid: Pid,
    pub(crate) parent: Option<Pid>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) behavior: fn() -> &'static str,
    pub(crate) bound: u32,
    pub(crate) overflow: Overflow<M>,
}

/// A message that does not go straight into a mailbox.
///
/// It is passed by value in a type of its own, so that it is a copy. A value passed by
/// reference must lie in memory, where the sender writes it in parts. Reading it as a whole
/// right after that stalls the processor until the parts have reached the cache. The message
/// itself is passed to no call, so its parts go from registers to their place in the mailbox
/// (docs/decisions.md).
struct RoutedMessage<M> {
    message: ManuallyDrop<M>,
    sender: u64,
}

impl<M: Send + 'static, C: Send + 'static> Cell<M, C> {
    pub(crate) fn new(birth: NewProcess<M>) -> Self {
        Cell {
            pid: birth.pid,
            parent: birth.parent.map_or(0, Pid::id),
            started: birth.host.now(),
            host: birth.host,
            behavior: birth.behavior,
            inbox: Lock::new(Inbox::new(birth.bound, birth.overflow)),
            route: OnceBox::new(),
            progress: Progress::new(),
            relations: Guarded::default(),
        }
    }

    /// Whether the mailbox holds anything that the process has not begun to handle.
    pub(crate) fn has_unhandled(&self, inbox: &Inbox<M, C>) -> bool {
        inbox.accepted() != self.progress.taken.load(Ordering::Relaxed) || inbox.has_mail_ahead()
    }

    /// Sends on Main.
    #[allow(
        clippy::inline_always,
        reason = "see `RoutedMessage`: the message must stay in registers"
    )]
    #[inline(always)]
    pub(crate) fn send(&self, message: M) -> Result<(), SendError<M>> {
        let sender = current::sender(self.pid.creation());
        // Nothing below unwinds. A message that is not dropped here needs no address in memory.
        let message = ManuallyDrop::new(message);
        if let Some(route) = self.route.get() {
            let RoutedMessage { message, sender } = RoutedMessage { message, sender };
            let sent = route.send(ManuallyDrop::into_inner(message), sender);
            self.note_sent(&sent, sender);
            return sent;
        }
        let mut inbox = self.inbox.lock();
        // Relaxed: see `Inbox::push_main`.
        if !inbox.is_open(|| self.progress.taken.load(Ordering::Relaxed)) {
            drop(inbox);
            return self.send_apart(RoutedMessage { message, sender });
        }
        let deep = |length| self.is_deep(length);
        inbox.put_in(ManuallyDrop::into_inner(message), sender, self.pid.id(), deep);
        let ready = inbox.ready_for_mail();
        drop(inbox);
        current::count_sent();
        if let Some(ready) = ready {
            self.host.schedule(ready);
        }
        Ok(())
    }

    /// Sends on Main when the message cannot simply be put into the mailbox.
    #[inline(never)]
    fn send_apart(
        &self,
        RoutedMessage { message, sender }: RoutedMessage<M>,
    ) -> Result<(), SendError<M>> {
        let sent = self.send_from(ManuallyDrop::into_inner(message), sender);
        self.note_sent(&sent, sender);
        sent
    }

    /// Counts a message that was sent, or a dead letter if the process has ended.
    #[inline]
    fn note_sent(&self, sent: &Result<(), SendError<M>>, sender: u64) {
        match sent {
            Ok(()) => current::count_sent(),
            Err(SendError::NoProcess { .. }) => {
                self.dead_letter::<M>(sender, DeadLetterCause::NoProcess);
            }
            Err(_) => {}
        }
    }

    /// Sends on Main in the name of another process, as a route does (rule P1). A message to an
    /// ended process is not counted as a dead letter here, because the route may find another
    /// receiver.
    #[inline]
    pub(crate) fn send_from(&self, message: M, sender: u64) -> Result<(), SendError<M>> {
        if let Some(route) = self.route.get() {
            return route.send(message, sender);
        }
        // Relaxed: see `Inbox::push_main`.
        let taken = || self.progress.taken.load(Ordering::Relaxed);
        let deep = |length| self.is_deep(length);
        let pushed = self.inbox.lock().push_main(message, sender, self.pid.id(), taken, deep);
        match pushed {
            Ok(None) => Ok(()),
            Ok(Some(ready)) => {
                self.host.schedule(ready);
                Ok(())
            }
            Err(Refused::Full(message)) => Err(SendError::Full { message, to: self.pid }),
            Err(Refused::Overflow(message)) => self.send_over(message, sender),
            Err(Refused::Dead(message)) => Err(SendError::NoProcess { message, to: self.pid }),
            Err(Refused::Routed(message)) => match self.route.get() {
                Some(route) => route.send(message, sender),
                None => self.send_by_simulated_link(message, sender),
            },
        }
    }

    /// Sends on the System or Urgent lane.
    pub(crate) fn send_control(&self, priority: Priority, message: C) -> Result<(), SendError<C>> {
        let sender = current::sender(self.pid.creation());
        let entry = ControlEntry::Message { sender, message };
        if let Err(ControlEntry::Message { message, .. }) = self.push_control(priority, entry) {
            self.dead_letter::<C>(sender, DeadLetterCause::NoProcess);
            return Err(SendError::NoProcess { message, to: self.pid });
        }
        current::count_sent();
        Ok(())
    }

    pub(crate) fn push_control(
        &self,
        priority: Priority,
        entry: ControlEntry<C>,
    ) -> Result<(), ControlEntry<C>> {
        let ready = self.put_control(priority, entry)?;
        self.schedule_if(ready);
        Ok(())
    }

    /// Does the same as [`Cell::push_control`], but returns the process for the caller to
    /// schedule.
    pub(crate) fn put_control(
        &self,
        priority: Priority,
        mut entry: ControlEntry<C>,
    ) -> Result<Option<Ready>, ControlEntry<C>> {
        let mut inbox = self.inbox.lock();
        if inbox.way != MainPush::Direct {
            drop(inbox);
            entry = self.carried_control(entry, priority);
            inbox = self.inbox.lock();
        }
        if inbox.phase == MailboxPhase::Terminated {
            return Err(entry);
        }
        if priority == Priority::Max {
            Ok(self.put_urgent(inbox, entry))
        } else {
            inbox.cold().system.push_back(entry);
            Ok(self.attract(inbox))
        }
    }

    #[must_use]
    pub(crate) fn put_urgent(
        &self,
        mut inbox: LockGuard<'_, Inbox<M, C>>,
        entry: ControlEntry<C>,
    ) -> Option<Ready> {
        inbox.cold().urgent.push_back(entry);
        self.attract(inbox)
    }

    /// Makes the process look at a control entry that was just put in. Returns it to be
    /// scheduled.
    #[must_use]
    pub(crate) fn attract(&self, mut inbox: LockGuard<'_, Inbox<M, C>>) -> Option<Ready> {
        self.progress.attention.store(true, Ordering::Relaxed);
        let ready = inbox.ready_for_control();
        self.unlock(inbox, ready)
    }

    pub(crate) fn push_notice(&self, notice: Notice<M>) {
        let ready = self.put_notice(self.inbox.lock(), notice);
        self.schedule_if(ready);
    }

    /// Does the same as [`Cell::push_notice`], but returns the process for the caller to
    /// schedule.
    #[must_use]
    pub(crate) fn put_notice(
        &self,
        mut inbox: LockGuard<'_, Inbox<M, C>>,
        notice: Notice<M>,
    ) -> Option<Ready> {
        if inbox.phase == MailboxPhase::Terminated {
            // The lock is released before the notice is dropped, because a notice may hold a
            // user's reason.
            drop(inbox);
            return None;
        }
        let ready = inbox.push_notice(Box::new(notice), |length| self.is_deep(length));
        self.unlock(inbox, ready)
    }

    /// Puts a message on Main beyond the bound. Gives it back if the process has ended.
    pub(crate) fn push_letter(&self, message: M) -> Result<(), M> {
        let ready = self.put_letter(message)?;
        self.schedule_if(ready);
        Ok(())
    }

    /// Does the same as [`Cell::push_letter`], but returns the process for the caller to
    /// schedule.
    pub(crate) fn put_letter(&self, message: M) -> Result<Option<Ready>, M> {
        let mut inbox = self.inbox.lock();
        if inbox.phase == MailboxPhase::Terminated {
            return Err(message);
        }
        let notice = Box::new(Notice::Beyond(message));
        let ready = inbox.push_notice(notice, |length| self.is_deep(length));
        Ok(self.unlock(inbox, ready))
    }

    /// Informs the host that very many messages wait. The mailbox is locked, so the host only
    /// records this and reports it later.
    #[cold]
    pub(crate) fn is_deep(&self, length: usize) {
        self.host.mailbox_is_deep(self.pid, length);
    }

    /// Makes the process end with this reason, without running `terminate`. The first pending
    /// exit wins (rule L9). Returns the process to be scheduled.
    #[must_use]
    pub(crate) fn set_pending_exit(
        &self,
        mut inbox: LockGuard<'_, Inbox<M, C>>,
        reason: Reason,
    ) -> Option<Ready> {
        if inbox.phase == MailboxPhase::Terminated {
            // The lock is released before the reason is dropped, because a reason is a user
            // value.
            drop(inbox);
            return None;
        }
        // A reason that comes second is dropped outside the lock, because it is a user value.
        let pending_exit = &mut inbox.cold().pending_exit;
        let late = if pending_exit.is_some() { Some(reason) } else { pending_exit.replace(reason) };
        self.progress.attention.store(true, Ordering::Relaxed);
        let ready = inbox.ready_for_wake();
        let ready = self.unlock(inbox, ready);
        drop(late);
        ready
    }

    /// Releases the lock of the mailbox.
    #[must_use]
    fn unlock(&self, inbox: LockGuard<'_, Inbox<M, C>>, ready: Option<Ready>) -> Option<Ready> {
        if ready.is_none() && inbox.way != MainPush::Direct {
            self.note_sent_by_simulated_link(inbox);
        }
        ready
    }

    /// Releases the lock and then schedules the process.
    pub(crate) fn release(&self, inbox: LockGuard<'_, Inbox<M, C>>, ready: Option<Ready>) {
        let ready = self.unlock(inbox, ready);
        self.schedule_if(ready);
    }

    /// Schedules the process, if there is one. No lock may be held, because the executor may be
    /// a user's.
    pub(crate) fn schedule_if(&self, ready: Option<Ready>) {
        if let Some(ready) = ready {
            self.host.schedule(ready);
        }
    }

    /// Makes Main a route. Returns false if it is one already. No message is put into the
    /// mailbox once this lock is released. The process takes out the messages that were already
    /// there and sends them along the route one by one ([`Cell::pass_on`]).
    pub(crate) fn set_route(&self, route: Box<dyn Route<M>>) -> bool {
        let mut inbox = self.inbox.lock();
        let set = self.route.set(Box::new(route));
        inbox.way = MainPush::Route;
        drop(inbox);
        // A rejected second route is dropped here, outside the lock.
        set.is_ok()
    }

    /// Sends a message that was accepted before there was a route along the route. A call that
    /// the route refuses fails, because its token is dropped.
    pub(crate) fn pass_on(&self, message: M, sender: u64) {
        if self.send_from(message, sender).is_err() {
            self.dead_letter::<M>(sender, DeadLetterCause::Unhandled);
        }
    }

    pub(crate) fn is_routed(&self) -> bool {
        self.route.get().is_some()
    }

    /// The number of user messages that wait on Main. `accepted` was read under the mailbox's
    /// lock.
    pub(crate) fn waiting(&self, accepted: u64) -> usize {
        let waiting = accepted.saturating_sub(self.progress.taken.load(Ordering::Relaxed));
        usize::try_from(waiting).unwrap_or(usize::MAX)
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.inbox.lock().phase != MailboxPhase::Terminated
    }

    pub(crate) fn main_length(&self) -> usize {
        match self.route.get() {
            Some(route) => route.waiting(),
            None => {
                let inbox = self.inbox.lock();
                if inbox.phase == MailboxPhase::Terminated {
                    return 0;
                }
                let accepted = inbox.accepted();
                drop(inbox);
                self.waiting(accepted)
            }
        }
    }

    /// The number of messages that wait on Main, plus one if the process is not idle. `None` if
    /// it has ended.
    pub(crate) fn load(&self) -> Option<usize> {
        let inbox = self.inbox.lock();
        let (accepted, phase) = (inbox.accepted(), inbox.phase);
        drop(inbox);
        match self.route.get() {
            _ if phase == MailboxPhase::Terminated => None,
            Some(route) => Some(route.waiting()),
            None => Some(self.waiting(accepted) + usize::from(phase != MailboxPhase::Idle)),
        }
    }

    pub(crate) fn parent_pid(&self) -> Option<Pid> {
        (self.parent != 0).then(|| Pid::local(self.parent, self.pid.creation()))
    }
}

impl<M: Send + 'static, C: Send + 'static> Cell<M, C> {
    /// Schedules the process, in whatever phase it waits.
    pub(crate) fn wake(&self) {
        let mut inbox = self.inbox.lock();
        let ready = inbox.ready_for_wake();
        self.release(inbox, ready);
    }

    /// The process that this one waits for, if only that answer or its timer can wake it (rule
    /// C5).
    pub(crate) fn edge(&self, inbox: &Inbox<M, C>) -> Option<AwaitedProcess> {
        let wait = AwaitedProcess::of_word(self.progress.waits_for.load(Ordering::Relaxed));
        let alone = !wait.is_none()
            && inbox.phase == MailboxPhase::Waiting
            && inbox.handles_on_waker() == Some(wait.handles());
        alone.then_some(wait)
    }

    /// Schedules a waiting process and records whether nothing else could have woken it.
    pub(crate) fn wake_if_parked(&self, mut inbox: LockGuard<'_, Inbox<M, C>>) {
        if let Some(wait) = self.edge(&inbox) {
            // The process is parked, so its own turn does not write this word now.
            self.progress.waits_for.store(wait.alone().word(), Ordering::Relaxed);
        }
        let ready = inbox.ready_for_wake();
        self.release(inbox, ready);
    }
}

impl<M: Send + 'static, C: Send + 'static> Poke for Cell<M, C> {
    fn poke(self: Arc<Self>) {
        let mut inbox = self.inbox.lock();
        self.progress.listed.store(false, Ordering::Relaxed);
        if inbox.phase == MailboxPhase::Idle {
            // The process is idle, and no message has come for a while.
            let spare = inbox.take_spare();
            drop(inbox);
            drop(spare);
            return;
        }
        self.wake_if_parked(inbox);
    }
}

impl<M: Send + 'static, C: Send + 'static> Cell<M, C> {
    /// Has the process poked some 10 ms from now, see [`Host::poke_later`]. Returns false if it
    /// will not be. A poke between this check and the lock of the mailbox sets `notified` there,
    /// as any waker does.
    pub(super) fn list_for_poke(self: &Arc<Self>) -> bool {
        if self.progress.listed.load(Ordering::Relaxed) {
            return true;
        }
        self.progress.listed.store(true, Ordering::Relaxed);
        let listed = self.host.poke_later(&|| Arc::clone(self) as Arc<dyn Poke>);
        if !listed {
            self.progress.listed.store(false, Ordering::Relaxed);
        }
        listed
    }
}

impl<M, C> Cell<M, C> {
    /// Counts a message of type `T` that no process handles, and reports it (rules M7, D7).
    #[cold]
    pub(crate) fn dead_letter<T>(&self, sender: u64, cause: DeadLetterCause) {
        self.dead_letter_named(type_name::<T>(), sender, cause);
    }

    /// Does the same as [`Cell::lose`] for a message whose type is known by its name.
    #[cold]
    pub(crate) fn dead_letter_named(
        &self,
        message: &'static str,
        sender: u64,
        cause: DeadLetterCause,
    ) {
        let from = (sender != 0).then(|| Pid::local(sender, self.pid.creation()));
        let letter = DeadLetter::new(self.pid, from, message, cause);
        let host = Arc::clone(&self.host);
        // A subscriber converts the dead letter or logs it. That is user code, and must not
        // affect the sender.
        deferred::when_free(move || log_contained(|| host.dead_letter(letter)));
    }

    pub(crate) fn locked_relations(&self) -> MutexGuard<'_, Relations> {
        self.relations.0.lock()
    }

    pub(crate) fn label(&self) -> Label {
        let given = self.locked_relations().label().cloned();
        // The label of a behaviour is user code. Other threads call it too, also before the
        // first turn.
        let own = || Label::of_type(contain(self.behavior).unwrap_or("label panicked"));
        given.map_or_else(own, Label::given)
    }

    /// Takes the reason with which the process must end now. If there is none, the process will
    /// be polled, and a foreign waker that waits for a message is woken first.
    #[cold]
    pub(crate) fn take_pending_exit(&self) -> Option<Reason> {
        let mut inbox = self.inbox.lock();
        let cold = inbox.cold_if_any()?;
        let (pending_exit, receiver) = (cold.pending_exit.take(), cold.receiver.take());
        drop(inbox);
        if let Some(receiver) = receiver {
            let _ = contain(|| receiver.wake());
            // The wake-up has also set this flag for the process, but the poll that follows now
            // serves it.
            self.inbox.lock().notified = false;
        }
        pending_exit
    }

    /// Registers a waker that is woken before the process is polled the next time.
    #[cold]
    pub(crate) fn wake_before_poll(&self, waker: &Waker) {
        // A waker is foreign code, so it is cloned and dropped outside the lock.
        let waker = waker.clone();
        let mut inbox = self.inbox.lock();
        let before = if inbox.phase == MailboxPhase::Terminated {
            Some(waker)
        } else {
            self.progress.attention.store(true, Ordering::Relaxed);
            inbox.cold().receiver.replace(waker)
        };
        drop(inbox);
        let _ = contain(|| drop(before));
    }
}
