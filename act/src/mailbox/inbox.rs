//! The mailbox of one process, with the state of the process in it.
//!
//! ```text
//!            senders                    one lock                       the process
//!   send ──►  ┌───────────────────────────────────────────────┐
//!             │ first │ main: VecDeque │ urgent │ system │ doom│──► takes all of Main at
//!             ├───────────────────────────────────────────────┤    once, then handles it
//!             │ parked: Option<Ready>  notified  phase        │    without the lock
//!             └───────────────────────────────────────────────┘
//! ```
//!
//! **State.** The process itself, a [`Ready`], lies here while it has nothing to do. A
//! sender that finds it takes it out and schedules it; one that finds it gone knows
//! that somebody runs it or will. Putting a message in and taking the process out are
//! one critical section, and so are looking for mail and putting the process back, so
//! a wake-up cannot fall between them (rule R2): no second flag has to agree with the
//! queue.
//!
//! | phase | `parked` | a message arrives | a waker fires | a doom arrives |
//! |---|---|---|---|---|
//! | Idle | there | schedule | schedule | schedule |
//! | Waiting (inside a handler) | there | stays queued | schedule | schedule |
//! | Active (queued or running) | gone | stays queued | `notified` | seen at the next message or await |
//! | Terminated | gone | refused | ignored | ignored |
//!
//! **Idle slot.** The first message to an empty mailbox lies in `first`, inside the
//! cell: a process that gets one message at a time never allocates a queue, and an idle
//! one holds none.

use super::entry::{Body, Control, Entry, Notice, SenderId};
use super::overflow::{Divert, Overflow};
use super::permit::Waiter;
use crate::host::Ready;
use crate::process::current;
use crate::slot::SlotSender;
use crate::trace::Tracer;
use krarup_gen::{Reason, SpawnError};
use std::collections::VecDeque;
use std::sync::Arc;

/// Where a process is, as far as its mailbox must know. See the table above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Active,
    Idle,
    Waiting,
    Terminated,
}

#[allow(clippy::struct_excessive_bools, reason = "facts that change each on its own")]
pub(crate) struct Inbox<M, C> {
    pub(crate) phase: Phase,
    /// A waker fired while the process was active: poll it again.
    pub(crate) notified: bool,
    /// Exit signals arrive as notices.
    pub(crate) trapping: bool,
    /// A stop asked for by the parent or the node arrives as `Control::Stop`.
    pub(crate) orderly: bool,
    pub(crate) initialised: bool,
    /// Main is a route: messages do not lie here.
    pub(crate) routed: bool,
    /// Messages of other types than the process's own are taken too.
    pub(crate) others: bool,
    /// Messages are taken out one by one, so that the oldest of them all lies here.
    singly: bool,
    parked: Option<Ready>,
    /// User messages accepted on Main since the start; see [`Inbox::push_main`].
    accepted: u64,
    /// Greatest number of user messages waiting on Main.
    bound: u32,
    /// Length of the last batch: what a new queue reserves.
    batch: u32,
    first: Option<Entry<M>>,
    main: Queue<M>,
    rare: Option<Box<Rare<M, C>>>,
}

/// Messages in line. Boxed: an idle process has none.
pub(crate) type Queue<M> = Option<Box<VecDeque<Entry<M>>>>;

/// What most processes never have.
pub(crate) struct Rare<M, C> {
    /// The process ends with this reason, without a word.
    pub(crate) doom: Option<Reason>,
    pub(crate) urgent: VecDeque<Control<C>>,
    pub(crate) system: VecDeque<Control<C>>,
    /// Told when `init` has returned or failed.
    pub(crate) starter: Option<SlotSender<Result<(), SpawnError>>>,
    /// What is done with one message more than the bound (rule M6).
    overflow: Overflow<M>,
    /// Senders that wait for room, the first first.
    waiting: VecDeque<Arc<Waiter<M>>>,
    /// How often the process has been suspended and not resumed (rule X5).
    pub(crate) suspended: u32,
    /// A tracer to be put in the place of the one there is.
    pub(crate) tracer: Option<Tracer<M, C>>,
}

impl<M, C> Default for Rare<M, C> {
    fn default() -> Self {
        Rare {
            doom: None,
            urgent: VecDeque::new(),
            system: VecDeque::new(),
            starter: None,
            overflow: Overflow::Refuse,
            waiting: VecDeque::new(),
            suspended: 0,
            tracer: None,
        }
    }
}

impl<M, C> Rare<M, C> {
    fn is_empty(&self) -> bool {
        self.doom.is_none()
            && self.urgent.is_empty()
            && self.system.is_empty()
            && self.starter.is_none()
            && matches!(self.overflow, Overflow::Refuse)
            && self.waiting.is_empty()
            && self.suspended == 0
            && self.tracer.is_none()
    }
}

/// From this many messages in the queue on a sender pays for each that it adds: as many
/// messages of its own turn as there are crowds in the queue, up to a limit, so that to
/// send one or two costs nobody a turn.
const CROWD: usize = 64;
const MOST_CHARGED: usize = 16;

fn charge(waiting: usize) {
    current::charge(i32::try_from((waiting / CROWD).min(MOST_CHARGED)).unwrap_or(0));
}

/// The bound of a mailbox without one.
pub(crate) const UNBOUNDED: u32 = u32::MAX;

/// Room for one message, as the mailbox gives it.
pub(crate) enum Room<M> {
    /// In the mailbox; it counts from now on. The message that had to make room is handed
    /// out, to be dropped outside the lock.
    Here(Option<Entry<M>>),
    /// The message is to be dropped.
    Nowhere,
    /// The message is to go to a fallback.
    Elsewhere(Divert<M>),
}

/// Why there is no room.
pub(crate) enum Crowded {
    Dead,
    Full,
    Routed,
}

/// Why a message was not put in.
pub(crate) enum Refused<M> {
    Dead(M),
    Full(M),
    /// Full, and something else than refusing is to be done (rule M6).
    Over(M),
    /// Main has become a route since the sender looked.
    Routed(M),
}

impl<M, C> Inbox<M, C> {
    pub(crate) fn new(bound: u32, overflow: Overflow<M>) -> Self {
        let singly = matches!(overflow, Overflow::DropOldest);
        let rare = match overflow {
            Overflow::Refuse => None,
            overflow => Some(Box::new(Rare { overflow, ..Rare::default() })),
        };
        Inbox {
            phase: Phase::Active,
            notified: false,
            trapping: false,
            orderly: false,
            initialised: false,
            routed: false,
            others: false,
            singly,
            parked: None,
            accepted: 0,
            bound,
            batch: 0,
            first: None,
            main: None,
            rare,
        }
    }

    /// Puts a user's message on Main. `taken` is how many user messages the process
    /// has taken off Main so far: the difference to those accepted is what waits.
    /// `taken` only grows, and is written before a message is handled, so a stale
    /// reading can refuse a message that had just got room, and never accept one too
    /// many; whoever has seen an effect of a message sees its room too (rule M5).
    #[inline]
    pub(crate) fn push_main(
        &mut self,
        message: M,
        sender: SenderId,
        taken: impl FnOnce() -> u64,
    ) -> Result<Option<Ready>, Refused<M>> {
        if self.phase == Phase::Terminated {
            return Err(Refused::Dead(message));
        }
        if self.routed {
            return Err(Refused::Routed(message));
        }
        if self.bound != UNBOUNDED && !self.has_room(taken()) {
            return Err(match &self.rare {
                Some(rare) if !matches!(rare.overflow, Overflow::Refuse) => Refused::Over(message),
                _ => Refused::Full(message),
            });
        }
        self.accepted += 1;
        self.push_entry(Entry { sender, body: Body::Message(message) });
        Ok(self.ready_for_mail())
    }

    /// Chooses anew what is done when the mailbox is full; what was chosen before is handed
    /// out, to be dropped outside the lock. `None`: the mailbox has no bound.
    pub(crate) fn set_overflow(&mut self, overflow: Overflow<M>) -> Option<Overflow<M>> {
        if self.bound == UNBOUNDED {
            return None;
        }
        self.singly = matches!(overflow, Overflow::DropOldest);
        Some(std::mem::replace(&mut self.rare().overflow, overflow))
    }

    fn has_room(&self, taken: u64) -> bool {
        self.bound == UNBOUNDED || self.accepted.wrapping_sub(taken) < u64::from(self.bound)
    }

    /// Finds room for a message that is to come: as [`Inbox::push_main`] would, and with
    /// what is chosen for a full mailbox (rule M6). If there is none, and a waiter is given,
    /// that stands in line from now on.
    pub(crate) fn reserve(
        &mut self,
        taken: u64,
        waiter: Option<&Arc<Waiter<M>>>,
    ) -> Result<Room<M>, Crowded> {
        match self.take_room(taken) {
            Ok(()) => return Ok(Room::Here(None)),
            Err(Crowded::Full) => {}
            Err(crowded) => return Err(crowded),
        }
        match self.rare.as_ref().map(|rare| &rare.overflow) {
            None | Some(Overflow::Refuse) => Err(self.crowded(waiter)),
            Some(Overflow::DropNewest) => Ok(Room::Nowhere),
            Some(Overflow::Divert(divert)) => Ok(Room::Elsewhere(divert.clone())),
            // The one that goes was counted as accepted, and the one that comes is in its
            // stead.
            Some(Overflow::DropOldest) => match self.remove_oldest() {
                Some(oldest) => Ok(Room::Here(Some(oldest))),
                // All room is reserved by messages that are still to come.
                None => Err(self.crowded(waiter)),
            },
        }
    }

    /// As [`Inbox::reserve`], for who has tried the fallback in vain.
    pub(crate) fn reserve_here(
        &mut self,
        taken: u64,
        waiter: Option<&Arc<Waiter<M>>>,
    ) -> Result<(), Crowded> {
        match self.take_room(taken) {
            Err(Crowded::Full) => Err(self.crowded(waiter)),
            taken => taken,
        }
    }

    fn take_room(&mut self, taken: u64) -> Result<(), Crowded> {
        if self.phase == Phase::Terminated {
            return Err(Crowded::Dead);
        }
        if self.routed {
            return Err(Crowded::Routed);
        }
        if !self.has_room(taken) {
            return Err(Crowded::Full);
        }
        self.accepted += 1;
        Ok(())
    }

    /// There is no room: a waiter that is given stands in line.
    fn crowded(&mut self, waiter: Option<&Arc<Waiter<M>>>) -> Crowded {
        if let Some(waiter) = waiter {
            self.rare().waiting.push_back(Arc::clone(waiter));
        }
        Crowded::Full
    }

    /// Whether messages are taken out one by one.
    pub(crate) fn is_singly(&self) -> bool {
        self.singly
    }

    /// Puts an entry in again, before all that lie here.
    pub(crate) fn put_back(&mut self, entry: Entry<M>) {
        if let Some(second) = self.first.replace(entry) {
            self.main.get_or_insert_default().push_front(second);
        }
    }

    /// Takes the message out that has waited longest.
    fn remove_oldest(&mut self) -> Option<Entry<M>> {
        if self.first.as_ref().is_some_and(Entry::takes_room) {
            let oldest = self.first.take();
            // The idle slot holds the oldest entry, or nothing.
            self.first = self.main.as_mut().and_then(|main| main.pop_front());
            return oldest;
        }
        let main = self.main.as_mut()?;
        let place = main.iter().position(Entry::takes_room)?;
        main.remove(place)
    }

    /// Room that was reserved is not used.
    pub(crate) fn give_back(&mut self) {
        if self.phase != Phase::Terminated {
            self.accepted -= 1;
        }
    }

    /// Puts in what room was reserved for; gives it back if the process has ended.
    pub(crate) fn fill(&mut self, entry: Entry<M>) -> Result<Option<Ready>, Entry<M>> {
        if self.phase == Phase::Terminated {
            return Err(entry);
        }
        self.push_entry(entry);
        Ok(self.ready_for_mail())
    }

    /// A sender waits no longer.
    pub(crate) fn forget_waiter(&mut self, waiter: &Arc<Waiter<M>>) {
        if let Some(rare) = &mut self.rare {
            rare.waiting.retain(|other| !Arc::ptr_eq(other, waiter));
        }
    }

    /// Reserves room for the first sender that waits, if there is both.
    pub(crate) fn next_waiter(&mut self, taken: u64) -> Option<Arc<Waiter<M>>> {
        if !self.has_waiters() || !self.has_room(taken) {
            return None;
        }
        let waiter = self.rare.as_mut()?.waiting.pop_front()?;
        self.accepted += 1;
        Some(waiter)
    }

    /// Whether senders wait for room.
    pub(crate) fn has_waiters(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| !rare.waiting.is_empty())
    }

    /// Puts a notice on Main of a living process, beyond any bound.
    pub(crate) fn push_notice(&mut self, notice: Box<Notice<M>>) -> Option<Ready> {
        debug_assert!(self.phase != Phase::Terminated);
        self.push_entry(Entry { sender: 0, body: Body::Notice(notice) });
        self.ready_for_mail()
    }

    #[allow(
        clippy::inline_always,
        reason = "or the entry is made beside its place and copied there"
    )]
    #[inline(always)]
    fn push_entry(&mut self, entry: Entry<M>) {
        if self.first.is_none() && self.main.as_ref().is_none_or(|main| main.is_empty()) {
            self.first = Some(entry);
            return;
        }
        // As much room as the last batch needed.
        let room = self.batch.clamp(4, 256) as usize;
        let main = self.main.get_or_insert_with(|| Box::new(VecDeque::with_capacity(room)));
        main.push_back(entry);
        if main.len() >= CROWD {
            charge(main.len());
        }
    }

    /// Takes the process out to be scheduled because mail has come: only from Idle. A
    /// process inside a handler does not want to be disturbed.
    #[inline]
    pub(crate) fn ready_for_mail(&mut self) -> Option<Ready> {
        if self.phase != Phase::Idle {
            return None;
        }
        self.phase = Phase::Active;
        self.parked.take()
    }

    /// Takes the process out to be scheduled, from Idle and Waiting; an active one is
    /// told to look again.
    pub(crate) fn ready_for_wake(&mut self) -> Option<Ready> {
        match self.phase {
            Phase::Idle | Phase::Waiting => {
                self.phase = Phase::Active;
                self.parked.take()
            }
            Phase::Active => {
                self.notified = true;
                None
            }
            Phase::Terminated => None,
        }
    }

    /// The process has started: whoever waits for that is handed out.
    pub(crate) fn initialise(&mut self) -> Option<SlotSender<Result<(), SpawnError>>> {
        self.initialised = true;
        self.rare.as_mut().and_then(|rare| rare.starter.take())
    }

    /// Puts the process back. `phase` is Idle or Waiting.
    #[inline]
    pub(crate) fn park(&mut self, phase: Phase, process: Ready) {
        debug_assert!(self.parked.is_none() && matches!(phase, Phase::Idle | Phase::Waiting));
        self.phase = phase;
        self.parked = Some(process);
    }

    /// Whether anything waits on Main.
    #[inline]
    pub(crate) fn has_main(&self) -> bool {
        self.first.is_some() || self.main.as_ref().is_some_and(|main| !main.is_empty())
    }

    /// Takes everything off Main: the oldest entry is returned, those after it are
    /// swapped into `batch`, which must be empty and whose memory is used again here.
    #[inline]
    pub(crate) fn take_main(&mut self, batch: &mut Queue<M>) -> Option<Entry<M>> {
        debug_assert!(batch.as_ref().is_none_or(|batch| batch.is_empty()));
        let first = self.first.take();
        if self.singly {
            return first.or_else(|| self.main.as_mut()?.pop_front());
        }
        if let Some(main) = self.main.as_ref().filter(|main| !main.is_empty()) {
            self.batch = u32::try_from(main.len()).unwrap_or(u32::MAX);
            std::mem::swap(&mut self.main, batch);
        }
        first.or_else(|| batch.as_mut()?.pop_front())
    }

    /// Takes the message on Main if it is the only entry.
    #[inline]
    pub(crate) fn take_single(&mut self) -> Option<Entry<M>> {
        let single = self.main.as_ref().is_none_or(|main| main.is_empty())
            && self.first.as_ref().is_some_and(|entry| matches!(entry.body, Body::Message(_)));
        if single { self.first.take() } else { None }
    }

    /// Gives the memory of an empty queue back.
    pub(crate) fn release_memory(&mut self) {
        if self.main.as_ref().is_some_and(|main| main.is_empty()) {
            self.main = None;
        }
        if self.rare.as_ref().is_some_and(|rare| rare.is_empty()) {
            self.rare = None;
        }
    }

    pub(crate) fn rare(&mut self) -> &mut Rare<M, C> {
        self.rare.get_or_insert_default()
    }

    pub(crate) fn rare_if_any(&mut self) -> Option<&mut Rare<M, C>> {
        self.rare.as_deref_mut()
    }

    /// Whether there may be a doom, a starter, or something on the control lanes.
    #[inline]
    pub(crate) fn has_rare(&self) -> bool {
        self.rare.is_some()
    }

    pub(crate) fn has_doom(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.doom.is_some())
    }

    /// A stop that came before the first poll, when it was not known what kind of process
    /// this is, ends one that turned out to stop neither in order nor to trap; whether
    /// there was one.
    pub(crate) fn doom_by_early_stop(&mut self) -> bool {
        if self.orderly || self.trapping {
            return false;
        }
        let Some(rare) = &mut self.rare else { return false };
        let stop = rare.urgent.iter().position(|control| matches!(control, Control::Stop(_)));
        match stop.and_then(|place| rare.urgent.remove(place)) {
            Some(Control::Stop(reason)) => {
                rare.doom = Some(reason);
                true
            }
            _ => false,
        }
    }

    /// Whether anything waits on the control lanes.
    fn has_control(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| !rare.urgent.is_empty() || !rare.system.is_empty())
    }

    /// Whether the process handles nothing until it is resumed.
    pub(crate) fn is_suspended(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.suspended > 0)
    }

    /// Whether there is anything that the process would receive now.
    #[inline]
    pub(crate) fn has_mail(&self) -> bool {
        match &self.rare {
            None => self.has_main(),
            Some(rare) if rare.suspended > 0 => rare.urgent.iter().any(Control::is_for_suspended),
            Some(_) => self.has_main() || self.has_control(),
        }
    }

    /// Whether anything goes before what lies on Main.
    pub(crate) fn has_mail_ahead(&self) -> bool {
        if self.is_suspended() { self.has_mail() } else { self.has_control() }
    }

    /// Whether the process must look up before its next message, and not only to grant room.
    pub(crate) fn wants_attention(&self) -> bool {
        self.has_doom()
            || self.has_mail_ahead()
            || self.rare.as_ref().is_some_and(|rare| rare.suspended > 0 || rare.tracer.is_some())
    }

    /// Takes the tracer that is to be put in the place of another.
    pub(crate) fn take_tracer(&mut self) -> Option<Tracer<M, C>> {
        self.rare.as_mut()?.tracer.take()
    }

    /// Takes what is next on the control lanes.
    pub(crate) fn take_control(&mut self) -> Option<Control<C>> {
        let rare = self.rare.as_mut()?;
        if rare.suspended > 0 {
            let place = rare.urgent.iter().position(Control::is_for_suspended)?;
            return rare.urgent.remove(place);
        }
        rare.urgent.pop_front().or_else(|| rare.system.pop_front())
    }

    /// Lengths of the Urgent and System lanes.
    pub(crate) fn control_lengths(&self) -> (usize, usize) {
        self.rare.as_ref().map_or((0, 0), |rare| (rare.urgent.len(), rare.system.len()))
    }

    pub(crate) fn accepted(&self) -> u64 {
        self.accepted
    }

    pub(crate) fn bound(&self) -> Option<usize> {
        (self.bound != UNBOUNDED).then_some(self.bound as usize)
    }

    /// Closes the mailbox: nothing is accepted from now on. What lay in it is handed
    /// out, to be dropped outside the lock.
    pub(crate) fn close(&mut self) -> Remains<M, C> {
        self.phase = Phase::Terminated;
        Remains { first: self.first.take(), main: self.main.take(), rare: self.rare.take() }
    }
}

/// What lay in a mailbox when it was closed, to be dropped outside its lock.
pub(crate) struct Remains<M, C> {
    first: Option<Entry<M>>,
    main: Queue<M>,
    rare: Option<Box<Rare<M, C>>>,
}

impl<M, C> Remains<M, C> {
    /// Drops everything, one by one and in its order, by means of `drop`; all but those who
    /// hear of the end last.
    pub(crate) fn drop_all(self, drop: impl Fn(Dropped<M, C>)) -> LastToHear<M> {
        let mut last = LastToHear { starter: None, waiting: VecDeque::new() };
        if let Some(rare) = self.rare {
            last = LastToHear { starter: rare.starter, waiting: rare.waiting };
            rare.urgent.into_iter().chain(rare.system).for_each(|c| drop(Dropped::Control(c)));
        }
        let main = self.main.into_iter().flat_map(|main| *main);
        self.first.into_iter().chain(main).for_each(|entry| drop(Dropped::Entry(entry)));
        last
    }
}

/// Who hears of the end when everything else is done (rule D6).
pub(crate) struct LastToHear<M> {
    pub(crate) starter: Option<SlotSender<Result<(), SpawnError>>>,
    /// Senders that wait for room.
    pub(crate) waiting: VecDeque<Arc<Waiter<M>>>,
}

/// One thing that lay in a closed mailbox.
#[allow(dead_code, reason = "made to be dropped")]
pub(crate) enum Dropped<M, C> {
    Entry(Entry<M>),
    Control(Control<C>),
}
