//! One grain in the book: whether it is there, and what waits for it.
//!
//! ```text
//!             a message                 spawned                  idle, released, or it died
//!   nobody ─────────────► Away(queue) ─────────► Present ──────────────────────► Leaving(queue)
//!     ▲                        ▲                     │ it died, and nothing came        │ it is gone
//!     │                        └─────────────────────┼──────────── something waits ◄────┤
//!     └──────────────────────────────────────────────┴───────────────── nothing waits ◄─┘
//! ```
//!
//! **Places.** A sender that may send one message has a place (rule M6). At a grain that is there a
//! place is room in its mailbox; at one that is not, it counts among what may be held. A
//! grain that goes leaves its places to the next one. Whenever places come free they are granted to
//! those that wait, the first first, and as many are woken as there are places; of those that
//! wait at a grain that is there, the first stands in the line of its mailbox.
//!
//! All of it happens while the book is locked: what may run a user's code is left to [`AfterUnlock`].

use crate::grains::after_unlock::AfterUnlock;
use crate::grains::waiting_line::{GrainLine, LeftLine};
use krarup_act::{Address, Delegate, Permit, UnusedPid, note_receiver};
use krarup_gen::{Pid, SendError};
use std::task::Waker;

/// A message that waits for its grain, and the number of its sender.
pub(crate) type QueuedMessage<M> = (M, u64);

/// What waits for a grain that is not there.
struct GrainQueue<M> {
    /// The pid that it will have, once something is held for it; and the same until it is made.
    next: Option<Pid>,
    unused: Option<UnusedPid>,
    held: Vec<QueuedMessage<M>>,
    /// Places of senders that have not used them yet, but for those in the mailbox of one that is
    /// there.
    kept: usize,
    line: GrainLine,
}

impl<M> Default for GrainQueue<M> {
    fn default() -> Self {
        GrainQueue {
            next: None,
            unused: None,
            held: Vec::new(),
            kept: 0,
            line: GrainLine::default(),
        }
    }
}

pub(crate) enum GrainStage<M, C> {
    /// Nobody is there. If anything is held the grain is among those that are wanted.
    Away,
    Present {
        grain: Address<M, C>,
        /// Room in its mailbox that senders have got and not used yet.
        kept: Vec<Permit<M>>,
    },
    /// It has been told to finish, or has died; nobody is made before it is gone.
    Leaving(Pid),
}

/// What a sender finds that looks for a place.
pub(crate) enum GrainLookup<M, C> {
    /// It has one.
    Place,
    /// It is the first in line at a grain that is there, and stands in the line of its mailbox.
    At(Address<M, C>),
    /// It waits.
    InLine,
    /// It is the grain itself, which would wait for itself.
    Itself,
}

pub(crate) struct GrainEntry<M, C> {
    /// Entries are numbered in the order in which they were opened: what is done to all of them is
    /// done in it.
    pub(crate) number: u64,
    pub(crate) stage: GrainStage<M, C>,
    queue: Option<Box<GrainQueue<M>>>,
}

impl<M: Send + 'static, C: Send + 'static> GrainEntry<M, C> {
    pub(crate) fn away(number: u64) -> Self {
        GrainEntry { number, stage: GrainStage::Away, queue: None }
    }

    /// Whether it is the entry of this grain, which is there or goes.
    pub(crate) fn is_of(&self, pid: Pid) -> bool {
        match &self.stage {
            GrainStage::Present { grain, .. } => grain.pid() == pid,
            GrainStage::Leaving(leaving) => *leaving == pid,
            GrainStage::Away => false,
        }
    }

    /// Whether nobody is there and nobody wants anything of the grain.
    pub(crate) fn is_forgotten(&self) -> bool {
        matches!(self.stage, GrainStage::Away)
            && self.queue.as_ref().is_none_or(|queue| {
                queue.held.is_empty() && queue.kept == 0 && queue.line.is_empty()
            })
    }

    /// Whether it is there and nobody wants anything of it.
    pub(crate) fn is_idle(&self) -> bool {
        let GrainStage::Present { grain, kept } = &self.stage else { return false };
        let is_waited_for = self.queue.as_ref().is_some_and(|queue| !queue.line.is_empty());
        kept.is_empty() && !is_waited_for && grain.waiting() == 0
    }

    /// What is held for it.
    #[cfg(test)]
    pub(crate) fn held(&self) -> impl Iterator<Item = M> + '_
    where
        M: Copy,
    {
        self.queue.iter().flat_map(|queue| queue.held.iter().map(|(message, _)| *message))
    }

    /// The pid that callers of the grain to come are told.
    #[cfg(test)]
    pub(crate) fn next(&self) -> Option<Pid> {
        self.queue.as_ref().and_then(|queue| queue.next)
    }

    /// How many messages wait for it, wherever it is.
    pub(crate) fn waiting(&self) -> usize {
        let held = self.queue.as_ref().map_or(0, |queue| queue.held.len());
        match &self.stage {
            GrainStage::Present { grain, .. } => held + grain.waiting(),
            GrainStage::Away | GrainStage::Leaving(_) => held,
        }
    }

    /// Puts a message into the mailbox of the grain, or holds it; whether the grain is wanted
    /// from now on.
    pub(crate) fn put(
        &mut self,
        bound: usize,
        agent: &Delegate,
        (mut message, sender): QueuedMessage<M>,
        after: &mut AfterUnlock<M>,
    ) -> Result<bool, SendError<M>> {
        if let GrainStage::Present { grain, .. } = &self.stage {
            match grain.forward(message, sender) {
                Ok(()) => {
                    note_receiver(grain.pid());
                    return Ok(false);
                }
                // It has died, and the keeper has not heard of it yet.
                Err(SendError::NoProcess(back)) => message = back,
                Err(error) => return Err(error),
            }
        }
        self.leave(bound, after);
        let queue = self.queue.get_or_insert_default();
        if queue.held.len() + queue.kept >= bound {
            return Err(SendError::Full(message));
        }
        Ok(self.hold(agent, (message, sender)))
    }

    /// Puts a message where its place is by now; whether the grain is wanted from now on.
    pub(crate) fn fill(
        &mut self,
        bound: usize,
        agent: &Delegate,
        (message, sender): QueuedMessage<M>,
        after: &mut AfterUnlock<M>,
    ) -> bool {
        if let GrainStage::Present { grain, kept } = &mut self.stage
            && grain.is_alive()
            && let Some(permit) = kept.pop()
        {
            permit.send_from(message, sender);
            return false;
        }
        self.leave(bound, after);
        let queue = self.queue.get_or_insert_default();
        queue.kept = queue.kept.saturating_sub(1);
        self.hold(agent, (message, sender))
    }

    /// Holds a message for a grain that is not there; whether it is wanted from now on.
    fn hold(&mut self, agent: &Delegate, letter: QueuedMessage<M>) -> bool {
        let queue = self.queue.get_or_insert_default();
        note_receiver(
            *queue.next.get_or_insert_with(|| queue.unused.insert(agent.unused_pid()).pid()),
        );
        queue.held.push(letter);
        queue.held.len() == 1 && matches!(self.stage, GrainStage::Away)
    }

    /// A place was not used: it is the next one's.
    pub(crate) fn give_back(&mut self, bound: usize, after: &mut AfterUnlock<M>) {
        match &mut self.stage {
            // The mailbox hands it on.
            GrainStage::Present { kept, .. } => after.permits.extend(kept.pop()),
            GrainStage::Away | GrainStage::Leaving(_) => {
                if let Some(queue) = &mut self.queue {
                    queue.kept = queue.kept.saturating_sub(1);
                }
                self.settle(bound, after);
            }
        }
    }

    /// Looks for a place, and waits for one if there is none.
    pub(crate) fn look(
        &mut self,
        ticket: &mut Option<u64>,
        myself: Option<Pid>,
        bound: usize,
        waker: Waker,
        after: &mut AfterUnlock<M>,
    ) -> GrainLookup<M, C> {
        let queue = self.queue.get_or_insert_default();
        if ticket.take_if(|ticket| queue.line.take_grant(*ticket)).is_some() {
            after.stale.push(waker);
            return GrainLookup::Place;
        }
        let first = queue.line.is_first(*ticket);
        let (grain, pid) = match &self.stage {
            GrainStage::Away => (None, None),
            GrainStage::Leaving(pid) => (None, Some(*pid)),
            GrainStage::Present { grain, .. } => (Some(grain), Some(grain.pid())),
        };
        if first && grain.is_none() && queue.held.len() + queue.kept < bound {
            queue.kept += 1;
            after.stale.push(waker);
            return GrainLookup::Place;
        }
        let is_itself = pid.is_some_and(|pid| myself.is_some_and(|me| me.is_same_process(pid)));
        if is_itself && !(first && grain.is_some()) {
            after.stale.push(waker);
            return GrainLookup::Itself;
        }
        after.stale.extend(queue.line.stand(ticket, waker));
        match grain {
            Some(grain) if first => {
                queue.line.note_called(*ticket);
                GrainLookup::At(grain.clone())
            }
            _ => GrainLookup::InLine,
        }
    }

    /// The first in line has got room in the mailbox of the grain that is there: it leaves the line,
    /// and the next is first.
    pub(crate) fn keep(
        &mut self,
        ticket: &mut Option<u64>,
        permit: Permit<M>,
        bound: usize,
        after: &mut AfterUnlock<M>,
    ) {
        if let GrainStage::Present { kept, .. } = &mut self.stage {
            kept.push(permit);
        }
        if let Some(ticket) = ticket.take() {
            self.leave_line(ticket, bound, after);
        }
    }

    /// A sender waits no more. A place that was granted to it is the next one's.
    pub(crate) fn leave_line(&mut self, ticket: u64, bound: usize, after: &mut AfterUnlock<M>) {
        match self.queue.as_mut().map(|queue| queue.line.leave(ticket)) {
            Some(LeftLine::Grant) => self.give_back(bound, after),
            Some(LeftLine::Wait(waker)) => {
                after.stale.extend(waker);
                self.settle(bound, after);
            }
            None => {}
        }
    }

    /// The grain that is there goes, or has gone. The room that was kept at it is given up; as much
    /// is kept from now on for the next one.
    pub(crate) fn leave(&mut self, bound: usize, after: &mut AfterUnlock<M>) {
        let GrainStage::Present { grain, kept } = &mut self.stage else { return };
        let kept = std::mem::take(kept);
        self.stage = GrainStage::Leaving(grain.pid());
        if !kept.is_empty() {
            self.queue.get_or_insert_default().kept += kept.len();
            after.permits.extend(kept);
        }
        if let Some(queue) = &mut self.queue {
            queue.line.note_called(None);
        }
        self.settle(bound, after);
    }

    /// The grain is gone; whether it is wanted again.
    pub(crate) fn gone(&mut self, bound: usize, after: &mut AfterUnlock<M>) -> bool {
        self.leave(bound, after);
        self.stage = GrainStage::Away;
        self.queue.as_ref().is_some_and(|queue| !queue.held.is_empty())
    }

    /// The pid that the grain is to have that is about to be made.
    pub(crate) fn take_pid(&mut self, agent: &Delegate) -> UnusedPid {
        let unused = self.queue.as_mut().and_then(|queue| queue.unused.take());
        unused.unwrap_or_else(|| agent.unused_pid())
    }

    /// The grain could not be made: what was held is lost. Senders that have places keep them, for
    /// the next try.
    pub(crate) fn give_up(
        &mut self,
        bound: usize,
        after: &mut AfterUnlock<M>,
    ) -> Vec<QueuedMessage<M>> {
        let Some(queue) = &mut self.queue else { return Vec::new() };
        (queue.next, queue.unused) = (None, None);
        let held = std::mem::take(&mut queue.held);
        self.settle(bound, after);
        held
    }

    /// The grain has been made: it gets what was held for it, and the places are in its mailbox from
    /// now on, which has the same bound. What it has not lived long enough to get is handed out.
    pub(crate) fn move_in(
        &mut self,
        grain: &Address<M, C>,
        bound: usize,
        after: &mut AfterUnlock<M>,
    ) -> Vec<QueuedMessage<M>> {
        let (mut lost, mut kept, mut fits) = (Vec::new(), Vec::new(), true);
        if let Some(queue) = &mut self.queue {
            queue.next = None;
            let mut held = std::mem::take(&mut queue.held).into_iter();
            for (message, sender) in held.by_ref() {
                match grain.forward(message, sender) {
                    Ok(()) => {}
                    Err(SendError::Full(message)) => {
                        queue.held.push((message, sender));
                        fits = false;
                        break;
                    }
                    // Dead already, it takes them with it as if they had come in time.
                    Err(error) => lost.push((error.into_message(), sender)),
                }
            }
            queue.held.extend(held);
            while fits && queue.kept > 0 {
                match grain.reserve_quietly() {
                    Ok(permit) => {
                        kept.push(permit);
                        queue.kept -= 1;
                    }
                    Err(_) => fits = false,
                }
            }
            while fits
                && !queue.line.is_empty()
                && let Ok(permit) = grain.reserve_quietly()
            {
                kept.push(permit);
                queue.line.grant(&mut after.woken);
            }
        }
        self.stage = GrainStage::Present { grain: grain.clone(), kept };
        if fits {
            self.settle(bound, after);
        } else {
            // Others have found it first, by its name, and have filled its mailbox. What it has
            // no room for is the next one's.
            grain.finish();
            self.leave(bound, after);
        }
        if self.queue.as_ref().is_some_and(|queue| fits && queue.line.is_unused()) {
            self.queue = None;
        }
        lost
    }

    /// There are no grains any more: what was held is handed out, and those that wait are
    /// woken.
    pub(crate) fn close(self, after: &mut AfterUnlock<M>) -> Vec<QueuedMessage<M>> {
        let GrainEntry { stage, queue, .. } = self;
        if let GrainStage::Present { kept, .. } = stage {
            after.permits.extend(kept);
        }
        let Some(mut queue) = queue else { return Vec::new() };
        after.woken.extend(queue.line.dismiss());
        queue.held
    }

    /// Grants the places there are to those that wait.
    fn settle(&mut self, bound: usize, after: &mut AfterUnlock<M>) {
        let Some(queue) = &mut self.queue else { return };
        if let GrainStage::Present { .. } = self.stage {
            after.woken.extend(queue.line.call_first());
            return;
        }
        while queue.held.len() + queue.kept < bound && queue.line.grant(&mut after.woken) {
            queue.kept += 1;
        }
    }
}
