//! The parts of a process apart from its future.
//!
//! Addresses point at the cell. The cell outlives the process as long as an address exists, but
//! then holds no user values. The future, with the state in it, lives in the [`Ready`] that is
//! parked in the mailbox or running, and is dropped when the process ends.

use super::cell_core::{CellCore, ParentNumber};
use super::current;
use super::facts::BehaviorFacts;
use super::locked_relations::{LockedRelations, RelationsPlace};
use super::messages_in_hand::MessagesInHand;
use super::progress::Progress;
use super::rare_cell::RareCell;
use super::relations::Relations;
use super::untyped_cell::UntypedCell;
use super::waker::{NotedHandle, UsedHandle, UsedNoted, Wakeable, WakingCount};
use crate::addressing::route::Route;
use crate::host::shared_host::SharedHost;
use crate::lock::Lock;
use crate::mailbox::inbox::Inbox;
use crate::mailbox::inbox_core::{InboxCore, MailboxPhase, MainPush};
use crate::mailbox::overflow::Overflow;
use crate::sync::Ordering;
use krarup_gen::{DeadLetterCause, Pid, Reason};
use once_cell::race::OnceBox;
use spin::mutex::SpinMutex;
use std::any::type_name;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// The order of the fields is their order in memory. The fields that a send and a turn touch
/// lie together, in as few cache lines as possible; rarely used fields follow
/// (docs/decisions.md).
#[repr(C)]
pub(crate) struct Cell<M, C> {
    pub(crate) inbox: Lock<Inbox<M>>,
    rare: OnceBox<RareCell<M>>,
    core: CellCore,
    /// The type of the messages on its control lanes.
    commands: PhantomData<fn(C)>,
}

/// The fields of the part that knows no type of message are the cell's own.
impl<M, C> Deref for Cell<M, C> {
    type Target = CellCore;

    #[inline]
    fn deref(&self) -> &CellCore {
        &self.core
    }
}

/// The values from which a cell is made.
pub(crate) struct NewProcess<M> {
    pub(crate) pid: Pid,
    pub(crate) parent: Option<Pid>,
    pub(crate) shared: Arc<SharedHost>,
    pub(crate) behavior: &'static BehaviorFacts,
    pub(crate) bound: u32,
    pub(crate) overflow: Overflow<M>,
}

impl<M: Send + 'static, C: Send + 'static> Cell<M, C> {
    pub(crate) fn new(birth: NewProcess<M>) -> Self {
        Cell {
            core: CellCore {
                id: birth.pid.id(),
                parent: ParentNumber::of(birth.parent),
                noted_handle: NotedHandle::new(),
                started: birth.shared.host.recent_time(),
                shared: birth.shared,
                behavior: birth.behavior,
                progress: Progress::new(),
            },
            inbox: Lock::new(Inbox::new(birth.bound, birth.overflow)),
            rare: OnceBox::new(),
            commands: PhantomData,
        }
    }

    /// The cell, for what is compiled once.
    #[inline]
    pub(crate) fn untyped(&self) -> &dyn UntypedCell {
        self
    }

    pub(crate) fn locked_relations(&self) -> LockedRelations<'_> {
        self.untyped().locked_relations()
    }

    /// Whether the process is to end by an exit signal that it has sent to itself.
    #[inline]
    pub(crate) fn has_own_exit(&self) -> bool {
        self.progress.attention.load(Ordering::Relaxed) && self.untyped().has_own_exit()
    }

    /// Takes the reason of that signal.
    #[inline]
    pub(super) fn take_own_exit(&self) -> Option<Reason> {
        if self.has_own_exit() { self.untyped().take_pending_exit() } else { None }
    }

    /// Makes Main a route. Returns false if it is one already. No message is put into the
    /// mailbox once this lock is released. The process takes out the messages that were already
    /// there and sends them along the route one by one ([`Cell::pass_on`]).
    pub(crate) fn set_route(&self, route: Box<dyn Route<M>>) -> bool {
        let rare = self.rare();
        let mut inbox = self.inbox.lock();
        let set = rare.route.set(Box::new(route));
        inbox.way = MainPush::Route;
        drop(inbox);
        // A rejected second route is dropped here, outside the lock.
        set.is_ok()
    }

    pub(crate) fn is_routed(&self) -> bool {
        self.route().is_some()
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.inbox.lock().phase != MailboxPhase::Terminated
    }

    pub(crate) fn main_length(&self) -> usize {
        match self.route() {
            Some(route) => route.waiting(),
            None => {
                let inbox = self.inbox.lock();
                if inbox.phase == MailboxPhase::Terminated {
                    return 0;
                }
                self.waiting(&inbox)
            }
        }
    }

    /// The number of messages that wait on Main, plus those that its behaviour holds, or else one
    /// if the process is not idle. `None` if it has ended.
    pub(crate) fn load(&self) -> Option<usize> {
        let inbox = self.inbox.lock();
        let (waiting, phase) = (self.waiting(&inbox), inbox.phase);
        drop(inbox);
        match self.route() {
            _ if phase == MailboxPhase::Terminated => None,
            Some(route) => Some(route.waiting()),
            None => {
                let held = self.in_hand().map_or(0, |in_hand| in_hand.beside_mailbox());
                let in_hand = held.max(usize::from(phase != MailboxPhase::Idle));
                Some(waiting + in_hand)
            }
        }
    }
}

impl<M: Send + 'static, C: Send + 'static> UntypedCell for Cell<M, C> {
    fn cell_core(&self) -> &CellCore {
        &self.core
    }

    fn with_inbox(&self, f: &mut dyn FnMut(&mut InboxCore)) {
        f(&mut self.inbox.lock());
    }
}

impl<M: Send + 'static, C: Send + 'static> RelationsPlace for Cell<M, C> {
    fn stored(&self) -> Option<&SpinMutex<Relations>> {
        self.rare.get().map(|rare| &rare.relations)
    }

    fn to_store(&self) -> &SpinMutex<Relations> {
        &self.rare().relations
    }
}

// SAFETY: both are fields of the cell that only `waker.rs` and `wake_noted` use, and `WakingHandle::first` is the first to
// do so.
#[allow(unsafe_code, reason = "the contract of the trait, argued at `Wakeable`")]
unsafe impl<M: Send + 'static, C: Send + 'static> Wakeable for Cell<M, C> {
    fn waking(&self) -> &WakingCount {
        &self.progress.waking
    }

    fn noted_handle(&self) -> &NotedHandle {
        &self.core.noted_handle
    }

    fn wake(&self, used_up: Option<UsedHandle<'_>>) {
        self.wake(used_up);
    }

    unsafe fn wake_noted(this: *const Self) -> UsedNoted {
        // SAFETY: the noted handle keeps the cell until it comes in, or what it is counted as then.
        let cell = unsafe { &*this };
        let (handle, waking) = (&cell.core.noted_handle, &cell.progress.waking);
        let mut inbox = cell.inbox.lock();
        let Some(ready) = inbox.ready_for_wake() else {
            let used = handle.is_spent(waking);
            let _ = cell.noted(&inbox, None);
            return used;
        };
        // SAFETY: it is used below, in the poll in which this is called, if there is one.
        let Some(host) = (unsafe { current::host_of_poll(&cell.shared) }) else {
            // SAFETY: `ready` is the process itself.
            let used = unsafe { handle.is_spent_with_process(waking) };
            drop(inbox);
            cell.host.schedule(ready);
            return used;
        };
        // SAFETY: as above.
        unsafe { handle.comes_in() };
        drop(inbox);
        // The process may run and end at once, and the cell with it.
        host.schedule(ready);
        UsedNoted::CameIn
    }
}

impl<M, C> Cell<M, C> {
    fn rare(&self) -> &RareCell<M> {
        self.rare.get_or_init(Box::default)
    }

    /// The messages that its behaviour holds, if it has ever held any.
    pub(crate) fn in_hand(&self) -> Option<&Arc<MessagesInHand>> {
        self.rare.get().and_then(RareCell::in_hand)
    }

    /// The messages that its behaviour holds, from now on.
    pub(crate) fn begin_to_hold(&self) -> &Arc<MessagesInHand> {
        self.rare().begin_to_hold()
    }

    /// Counts a message of a control lane, or an event of a topic.
    pub(crate) fn count_beside_main(&self) {
        self.rare().count_beside_main();
    }

    /// How many messages were taken that Main does not count.
    pub(super) fn beside_main(&self) -> u64 {
        self.rare.get().map_or(0, RareCell::beside_main)
    }

    /// How many messages are in the stash of the process.
    pub(super) fn stashed(&self) -> usize {
        self.rare.get().map_or(0, RareCell::stashed)
    }

    /// Notes how many messages are in the stash, where others can read it.
    pub(crate) fn set_stashed(&self, messages: usize) {
        self.rare().set_stashed(messages);
    }

    /// How many messages the process has taken, with events of topics.
    pub(crate) fn handled(&self) -> u64 {
        self.progress.taken.load(Ordering::Relaxed) + self.beside_main()
    }

    /// How long workers were seen in the process.
    pub(super) fn running_time(&self) -> Duration {
        self.rare.get().map_or(Duration::ZERO, RareCell::running_time)
    }

    pub(super) fn add_running_time(&self, time: Duration) {
        self.rare().add_running_time(time);
    }

    /// What Main hands its messages on to, if this process is a route.
    #[inline]
    pub(crate) fn route(&self) -> Option<&dyn Route<M>> {
        match self.rare.get() {
            Some(rare) => rare.route.get().map(|route| &**route),
            None => None,
        }
    }

    /// Counts a message of type `T` that no process handles, and reports it (rules M7, D7).
    #[cold]
    pub(crate) fn dead_letter<T>(&self, sender: u64, cause: DeadLetterCause) {
        self.dead_letter_named(type_name::<T>(), sender, cause);
    }
}
