//! What a process is made of, apart from its future.
//!
//! The cell is what addresses point at. It outlives the process as long as somebody
//! holds an address, but then holds nothing of the user's: the future, and the state
//! in it, live in the [`Ready`] that is parked in the mailbox or running, and go with
//! the process.

use super::awaited::AwaitedProcess;
use super::crash::{contain, tell};
use super::process::Guarded;
use super::progress::{AT_SEAT, Progress};
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

/// In this order in memory: what a send and a turn touch lies together, in as few cache lines as
/// can be, and what hardly anybody asks for behind it (docs/decisions.md).
#[repr(C)]
pub(crate) struct Cell<M, C> {
    pub(crate) inbox: Lock<Inbox<M, C>>,
    /// Set instead of a Main lane: what is sent there is handed on (a pool).
    pub(crate) route: OnceBox<Box<dyn Route<M>>>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) pid: Pid,
    pub(crate) progress: Progress,
    pub(crate) relations: Guarded,
    /// Number of the process that spawned it, 0: spawned from outside.
    parent: u64,
    /// The label of the behaviour; half the size of the text.
    behavior: fn() -> &'static str,
    pub(crate) started: Timestamp,
}

/// What a new process is made with.
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
/// A type of its own, so that it is a copy. What a call gets by reference must lie in memory,
/// where a sender writes it in parts; read as a whole right after that, it holds up the
/// processor until the parts have got through to the cache. The message itself is given to no
/// call, so its parts go from registers to their place in the mailbox (docs/decisions.md).
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

    /// Whether anything has come that the process has not begun to handle.
    pub(crate) fn has_unhandled(&self, inbox: &Inbox<M, C>) -> bool {
        inbox.accepted() != self.progress.taken.load(Ordering::Relaxed) || inbox.has_mail_ahead()
    }

    /// Sends on Main.
    #[allow(clippy::inline_always, reason = "see `Apart`: the message must not lie in memory")]
    #[inline(always)]
    pub(crate) fn send(&self, message: M) -> Result<(), SendError<M>> {
        let sender = current::sender(self.pid.creation());
        // Nothing below unwinds: and where the message is not dropped, nobody needs its address.
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

    /// Sends on Main where a message does not simply go in.
    #[inline(never)]
    fn send_apart(
        &self,
        RoutedMessage { message, sender }: RoutedMessage<M>,
    ) -> Result<(), SendError<M>> {
        let sent = self.send_from(ManuallyDrop::into_inner(message), sender);
        self.note_sent(&sent, sender);
        sent
    }

    /// Counts a message that was sent, or that finds nobody.
    #[inline]
    fn note_sent(&self, sent: &Result<(), SendError<M>>, sender: u64) {
        match sent {
            Ok(()) => current::count_sent(),
            Err(SendError::NoProcess(_)) => self.lose::<M>(sender, DeadLetterCause::NoProcess),
            Err(_) => {}
        }
    }

    /// Sends on Main in the name of another process: what a route does (rule P1). One
    /// that finds nobody is not counted as a dead letter here, for the route may find
    /// somebody else.
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
            Err(Refused::Full(message)) => Err(SendError::Full(message)),
            Err(Refused::Over(message)) => self.send_over(message, sender),
            Err(Refused::Dead(message)) => Err(SendError::NoProcess(message)),
            Err(Refused::Aside(message)) => match self.route.get() {
                Some(route) => route.send(message, sender),
                None => self.send_by_wire(message, sender),
            },
        }
    }

    /// Sends on the System or Urgent lane.
    pub(crate) fn send_control(&self, priority: Priority, message: C) -> Result<(), SendError<C>> {
        let sender = current::sender(self.pid.creation());
        let entry = ControlEntry::Message { sender, message };
        if let Err(ControlEntry::Message { message, .. }) = self.push_control(priority, entry) {
            self.lose::<C>(sender, DeadLetterCause::NoProcess);
            return Err(SendError::NoProcess(message));
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

    /// As [`Cell::push_control`]; hands the process out to be scheduled.
    pub(crate) fn put_control(
        &self,
        priority: Priority,
        mut entry: ControlEntry<C>,
    ) -> Result<Option<Ready>, ControlEntry<C>> {
        let mut inbox = self.inbox.lock();
        if inbox.way != MainPush::Straight {
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
            inbox.rare().system.push_back(entry);
            Ok(self.attract(inbox))
        }
    }

    #[must_use]
    pub(crate) fn put_urgent(
        &self,
        mut inbox: LockGuard<'_, Inbox<M, C>>,
        entry: ControlEntry<C>,
    ) -> Option<Ready> {
        inbox.rare().urgent.push_back(entry);
        self.attract(inbox)
    }

    /// Has the process look at what has just come: it is handed out to be scheduled.
    #[must_use]
    pub(crate) fn attract(&self, mut inbox: LockGuard<'_, Inbox<M, C>>) -> Option<Ready> {
        self.progress.attention.store(true, Ordering::Relaxed);
        let ready = inbox.ready_for_control();
        self.unlock_called(inbox, ready)
    }

    /// As [`Cell::unlock`], of a process that has something to see before its next message. If it
    /// owes turns it waits apart from others, and is fetched from there.
    #[must_use]
    fn unlock_called(
        &self,
        inbox: LockGuard<'_, Inbox<M, C>>,
        ready: Option<Ready>,
    ) -> Option<Ready> {
        let owes = ready.is_none() && self.progress.debt.load(Ordering::Relaxed) == AT_SEAT;
        let ready = self.unlock(inbox, ready);
        if owes {
            self.host.recall(self.pid);
        }
        ready
    }

    pub(crate) fn push_notice(&self, notice: Notice<M>) {
        let ready = self.put_notice(self.inbox.lock(), notice);
        self.schedule_if(ready);
    }

    /// As [`Cell::push_notice`]; hands the process out to be scheduled.
    #[must_use]
    pub(crate) fn put_notice(
        &self,
        mut inbox: LockGuard<'_, Inbox<M, C>>,
        notice: Notice<M>,
    ) -> Option<Ready> {
        if inbox.phase == MailboxPhase::Terminated {
            // Before the notice, which may hold a user's reason.
            drop(inbox);
            return None;
        }
        let ready = inbox.push_notice(Box::new(notice), |length| self.is_deep(length));
        self.unlock(inbox, ready)
    }

    /// Puts a message on Main beyond the bound; gives it back if the process is dead.
    pub(crate) fn push_letter(&self, message: M) -> Result<(), M> {
        let ready = self.put_letter(message)?;
        self.schedule_if(ready);
        Ok(())
    }

    /// As [`Cell::push_letter`]; hands the process out to be scheduled.
    pub(crate) fn put_letter(&self, message: M) -> Result<Option<Ready>, M> {
        let mut inbox = self.inbox.lock();
        if inbox.phase == MailboxPhase::Terminated {
            return Err(message);
        }
        let notice = Box::new(Notice::Beyond(message));
        let ready = inbox.push_notice(notice, |length| self.is_deep(length));
        Ok(self.unlock(inbox, ready))
    }

    /// Very many messages wait. The mailbox is locked: the host notes it, and tells of it later.
    #[cold]
    pub(crate) fn is_deep(&self, length: usize) {
        self.host.mailbox_is_deep(self.pid, length);
    }

    /// The process shall end with this reason and without a word. The first doom wins
    /// (rule L9). The process is handed out to be scheduled.
    #[must_use]
    pub(crate) fn doom(
        &self,
        mut inbox: LockGuard<'_, Inbox<M, C>>,
        reason: Reason,
    ) -> Option<Ready> {
        if inbox.phase == MailboxPhase::Terminated {
            // Before the reason, which is a user's.
            drop(inbox);
            return None;
        }
        // A reason that comes too late is dropped outside the lock: it is a user's.
        let doom = &mut inbox.rare().doom;
        let late = if doom.is_some() { Some(reason) } else { doom.replace(reason) };
        self.progress.attention.store(true, Ordering::Relaxed);
        let ready = inbox.ready_for_wake();
        let ready = self.unlock_called(inbox, ready);
        drop(late);
        ready
    }

    /// Frees the lock of the mailbox.
    #[must_use]
    fn unlock(&self, inbox: LockGuard<'_, Inbox<M, C>>, ready: Option<Ready>) -> Option<Ready> {
        if ready.is_none() && inbox.way != MainPush::Straight {
            self.note_by_wire(inbox);
        }
        ready
    }

    /// Schedules outside the lock.
    pub(crate) fn release(&self, inbox: LockGuard<'_, Inbox<M, C>>, ready: Option<Ready>) {
        let ready = self.unlock(inbox, ready);
        self.schedule_if(ready);
    }

    /// Schedules the process, if it is here; under no lock, for what runs it may be a user's.
    pub(crate) fn schedule_if(&self, ready: Option<Ready>) {
        if let Some(ready) = ready {
            self.host.schedule(ready);
        }
    }

    /// Makes Main a route; false if it is one already. From under this lock on no
    /// message is put into the mailbox; those that were are taken out by the process and
    /// go along the route one after the other ([`Cell::pass_on`]).
    pub(crate) fn set_route(&self, route: Box<dyn Route<M>>) -> bool {
        let mut inbox = self.inbox.lock();
        let set = self.route.set(Box::new(route));
        inbox.way = MainPush::Route;
        drop(inbox);
        // A second route is dropped here, outside the lock.
        set.is_ok()
    }

    /// Sends a message along the route that was accepted before there was one. A call
    /// that the route refuses fails, for its token is dropped.
    pub(crate) fn pass_on(&self, message: M, sender: u64) {
        if self.send_from(message, sender).is_err() {
            self.lose::<M>(sender, DeadLetterCause::Unhandled);
        }
    }

    pub(crate) fn is_routed(&self) -> bool {
        self.route.get().is_some()
    }

    /// User messages waiting on Main. `accepted` comes from under the mailbox's lock.
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

    /// Messages that wait on Main, and one more if the process has something in hand; `None` if it
    /// has ended.
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
    /// Schedules the process, wherever it waits.
    pub(crate) fn wake(&self) {
        let mut inbox = self.inbox.lock();
        let ready = inbox.ready_for_wake();
        self.release(inbox, ready);
    }

    /// Whom it waits for, if nothing but that answer, or its timer, can wake it (rule C5).
    pub(crate) fn edge(&self, inbox: &Inbox<M, C>) -> Option<AwaitedProcess> {
        let wait = AwaitedProcess::of_word(self.progress.waits_for.load(Ordering::Relaxed));
        let alone = !wait.is_none()
            && inbox.phase == MailboxPhase::Waiting
            && inbox.handles_on_waker() == Some(wait.handles());
        alone.then_some(wait)
    }

    /// Schedules a process that waits, and lets it know if nothing else could have woken it.
    pub(crate) fn rouse(&self, mut inbox: LockGuard<'_, Inbox<M, C>>) {
        if let Some(wait) = self.edge(&inbox) {
            // It is parked, so its turn writes nothing here.
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
            // It waits for nothing but mail, and there has been none for a while.
            let spare = inbox.take_spare();
            drop(inbox);
            drop(spare);
            return;
        }
        self.rouse(inbox);
    }
}

impl<M, C> Cell<M, C> {
    /// Counts a message of type `T` that nobody handles, and tells of it (rules M7, D7).
    #[cold]
    pub(crate) fn lose<T>(&self, sender: u64, cause: DeadLetterCause) {
        self.lose_named(type_name::<T>(), sender, cause);
    }

    /// As [`Cell::lose`], of a message whose type is known by its name.
    #[cold]
    pub(crate) fn lose_named(&self, message: &'static str, sender: u64, cause: DeadLetterCause) {
        let from = (sender != 0).then(|| Pid::local(sender, self.pid.creation()));
        let letter = DeadLetter::new(self.pid, from, message, cause);
        let host = Arc::clone(&self.host);
        // Whoever hears of it converts it first, or logs it: that is a user's, and no business
        // of whoever sends.
        deferred::when_free(move || tell(|| host.dead_letter(letter)));
    }

    pub(crate) fn locked_relations(&self) -> MutexGuard<'_, Relations> {
        self.relations.0.lock()
    }

    pub(crate) fn label(&self) -> Label {
        let given = self.locked_relations().label().cloned();
        // What a behaviour says of itself is a user's, and asked for by others, also before a turn.
        let own = || Label::of_type(contain(self.behavior).unwrap_or("its label panics"));
        given.map_or_else(own, Label::given)
    }

    /// The reason with which the process must end now, if there is one; otherwise it will be
    /// polled, and whoever waits for mail with another waker is woken first.
    #[cold]
    pub(crate) fn take_doom(&self) -> Option<Reason> {
        let mut inbox = self.inbox.lock();
        let rare = inbox.rare_if_any()?;
        let (doom, receiver) = (rare.doom.take(), rare.receiver.take());
        drop(inbox);
        if let Some(receiver) = receiver {
            let _ = contain(|| receiver.wake());
            // That wakes the process too, and the poll that comes now is all it was to bring.
            self.inbox.lock().notified = false;
        }
        doom
    }

    /// Has this waker woken before the process is polled the next time.
    #[cold]
    pub(crate) fn wake_before_poll(&self, waker: &Waker) {
        // A waker is anybody's code: it is cloned and dropped outside the lock.
        let waker = waker.clone();
        let mut inbox = self.inbox.lock();
        let before = if inbox.phase == MailboxPhase::Terminated {
            Some(waker)
        } else {
            self.progress.attention.store(true, Ordering::Relaxed);
            inbox.rare().receiver.replace(waker)
        };
        drop(inbox);
        let _ = contain(|| drop(before));
    }
}
