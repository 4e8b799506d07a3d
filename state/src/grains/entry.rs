//! One entry of the directory: the stage of a grain, and the messages and senders that
//! wait for it.
//!
//! ```text
//!          a message                 spawned                  idle, released, or ended
//! none ───────────────► Away(queue) ─────────► Present ────────────────────► Leaving(queue)
//!   ▲                        ▲                     │ ended, queue empty           │ `Down`
//!   │                        └─────────────────────┼───────── messages are held ◄─┤
//!   └──────────────────────────────────────────────┴─────────────────── none held ◄┘
//! ```
//!
//! **Permits.** A sender that may send one message holds a permit (rule M6). While the
//! grain is present, the permit is room in its mailbox. Otherwise it counts towards the
//! number of held messages. A grain that leaves passes its permits on to the next one.
//! Free room is granted to waiting senders in the order of their arrival, and exactly as
//! many are woken as there is room. While the grain is present, only the first of the
//! waiting senders stands in the line of its mailbox.
//!
//! All of this happens under the directory's lock. Anything that may run user code is left
//! to [`AfterUnlock`].

use crate::grains::after_unlock::AfterUnlock;
use crate::grains::held_messages::{HeldMessages, QueuedMessage};
use crate::grains::waiting_line::{GrainLine, LeftLine};
use krarup_act::{Address, Delegate, Permit, UnusedPid, note_receiver};
use krarup_gen::{Pid, SendError};
use std::task::Waker;

/// The messages, permits and senders that wait for a grain.
struct GrainQueue<M> {
    /// The pid of the next grain. It is fixed by the first held message and stays the same
    /// until the grain is spawned.
    next: Option<Pid>,
    unused: Option<UnusedPid>,
    held: HeldMessages<M>,
    /// Unused permits, except those for room in the mailbox of a present grain.
    kept: usize,
    line: GrainLine,
}

impl<M> Default for GrainQueue<M> {
    fn default() -> Self {
        GrainQueue {
            next: None,
            unused: None,
            held: HeldMessages::default(),
            kept: 0,
            line: GrainLine::default(),
        }
    }
}

pub(crate) enum GrainStage<M, C> {
    /// No grain is running. If a message is held, the grain is in the list of those to spawn.
    Away,
    Present {
        grain: Address<M, C>,
        /// Unused permits for room in its mailbox.
        kept: Vec<Permit<M>>,
    },
    /// It was told to finish or has ended. The next one is not spawned before its `Down`
    /// arrives.
    Leaving(Pid),
}

/// The result of looking for room.
pub(crate) enum GrainLookup<M, C> {
    /// The sender has a permit.
    Place,
    /// The sender is the first of the line, and waits in the line of this present grain's
    /// mailbox.
    At(Address<M, C>),
    /// The sender waits.
    InLine,
    /// The sender is the grain itself, with this pid, and would wait for itself.
    Itself(Pid),
}

pub(crate) struct GrainEntry<M, C> {
    /// Entries are numbered in the order in which they were opened. Operations on all
    /// entries use this order.
    pub(crate) number: u64,
    pub(crate) stage: GrainStage<M, C>,
    queue: Option<Box<GrainQueue<M>>>,
}

impl<M: Send + 'static, C: Send + 'static> GrainEntry<M, C> {
    pub(crate) fn away(number: u64) -> Self {
        GrainEntry { number, stage: GrainStage::Away, queue: None }
    }

    /// Whether this is the entry of the grain with this pid, present or leaving.
    pub(crate) fn is_of(&self, pid: Pid) -> bool {
        match &self.stage {
            GrainStage::Present { grain, .. } => grain.pid() == pid,
            GrainStage::Leaving(leaving) => *leaving == pid,
            GrainStage::Away => false,
        }
    }

    /// Whether no grain is running and no messages, permits or waiting senders exist.
    pub(crate) fn is_forgotten(&self) -> bool {
        matches!(self.stage, GrainStage::Away)
            && self.queue.as_ref().is_none_or(|queue| {
                queue.held.is_empty() && queue.kept == 0 && queue.line.is_empty()
            })
    }

    /// Whether the grain is present and no messages, permits or waiting senders exist.
    pub(crate) fn is_idle(&self) -> bool {
        let GrainStage::Present { grain, kept } = &self.stage else { return false };
        let is_waited_for = self.queue.as_ref().is_some_and(|queue| !queue.line.is_empty());
        kept.is_empty() && !is_waited_for && grain.waiting() == 0
    }

    /// The held messages.
    #[cfg(test)]
    pub(crate) fn held(&self) -> impl Iterator<Item = M> + '_
    where
        M: Copy,
    {
        self.queue.iter().flat_map(|queue| queue.held.iter().map(|(message, _)| *message))
    }

    /// The pid of the next grain, which its callers wait for.
    #[cfg(test)]
    pub(crate) fn next(&self) -> Option<Pid> {
        self.queue.as_ref().and_then(|queue| queue.next)
    }

    /// How many messages wait, held or in the mailbox.
    pub(crate) fn waiting(&self) -> usize {
        let held = self.queue.as_ref().map_or(0, |queue| queue.held.len());
        match &self.stage {
            GrainStage::Present { grain, .. } => held + grain.waiting(),
            GrainStage::Away | GrainStage::Leaving(_) => held,
        }
    }

    /// Puts a message into the mailbox of the grain, or holds it. Returns whether the
    /// grain must now be spawned.
    pub(crate) fn put(
        &mut self,
        bound: usize,
        delegate: &Delegate,
        (mut message, sender): QueuedMessage<M>,
        after: &mut AfterUnlock<M>,
    ) -> Result<bool, SendError<M>> {
        if let GrainStage::Present { grain, .. } = &self.stage {
            match grain.forward(message, sender) {
                Ok(()) => {
                    note_receiver(grain.pid());
                    return Ok(false);
                }
                // The grain has ended, and its `Down` has not reached the keeper.
                Err(SendError::NoProcess { message: back, .. }) => message = back,
                Err(error) => return Err(error),
            }
        }
        self.leave(bound, after);
        let queue = self.queue.get_or_insert_default();
        if queue.held.len() + queue.kept >= bound {
            let to = delegate.process();
            return Err(SendError::Full { message, to });
        }
        Ok(self.hold(delegate, (message, sender)))
    }

    /// Sends a message with a permit, wherever the room is by now. Returns whether the
    /// grain must now be spawned.
    pub(crate) fn fill(
        &mut self,
        bound: usize,
        delegate: &Delegate,
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
        self.hold(delegate, (message, sender))
    }

    /// Holds a message for a grain that is not running. Returns whether it must now be spawned.
    fn hold(&mut self, delegate: &Delegate, message: QueuedMessage<M>) -> bool {
        let queue = self.queue.get_or_insert_default();
        note_receiver(
            *queue.next.get_or_insert_with(|| queue.unused.insert(delegate.unused_pid()).pid()),
        );
        queue.held.push(message);
        queue.held.len() == 1 && matches!(self.stage, GrainStage::Away)
    }

    /// Returns an unused permit, whose room goes to the next sender in line.
    pub(crate) fn give_back(&mut self, bound: usize, after: &mut AfterUnlock<M>) {
        match &mut self.stage {
            // The mailbox passes the room on.
            GrainStage::Present { kept, .. } => after.permits.extend(kept.pop()),
            GrainStage::Away | GrainStage::Leaving(_) => {
                if let Some(queue) = &mut self.queue {
                    queue.kept = queue.kept.saturating_sub(1);
                }
                self.settle(bound, after);
            }
        }
    }

    /// Looks for room, and joins the line if there is none.
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
        if let Some(pid) = pid
            && myself.is_some_and(|me| me.is_same_process(pid))
            && !(first && grain.is_some())
        {
            after.stale.push(waker);
            return GrainLookup::Itself(pid);
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

    /// Stores the permit that the first of the line got from the grain's mailbox. That
    /// sender leaves the line, and the next one is first.
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

    /// Removes a sender from the line. A permit that was granted to it goes to the next one.
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

    /// Marks a present grain as leaving, because it ends or has ended. The room reserved in
    /// its mailbox is released, and the same number of permits is reserved for the next grain.
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

    /// Ends the grain behind the messages that it has accepted: one that runs is told to finish, one
    /// that has not been spawned will be when it has its held messages. Returns whether there is one.
    pub(crate) fn release(&mut self, bound: usize, after: &mut AfterUnlock<M>) -> bool {
        if let GrainStage::Present { grain, .. } = &self.stage {
            grain.finish();
            self.leave(bound, after);
            return true;
        }
        self.queue.as_mut().is_some_and(|queue| queue.held.release())
    }

    /// Records that the grain has ended. Returns whether it must be spawned again.
    pub(crate) fn gone(&mut self, bound: usize, after: &mut AfterUnlock<M>) -> bool {
        self.leave(bound, after);
        self.stage = GrainStage::Away;
        self.queue.as_ref().is_some_and(|queue| !queue.held.is_empty())
    }

    /// The pid for the grain that is about to be spawned.
    pub(crate) fn take_pid(&mut self, delegate: &Delegate) -> UnusedPid {
        let unused = self.queue.as_mut().and_then(|queue| queue.unused.take());
        unused.unwrap_or_else(|| delegate.unused_pid())
    }

    /// Records that the grain could not be spawned, and returns the held messages. Permits
    /// stay valid for the next attempt.
    pub(crate) fn give_up(
        &mut self,
        bound: usize,
        after: &mut AfterUnlock<M>,
    ) -> Vec<QueuedMessage<M>> {
        let Some(queue) = &mut self.queue else { return Vec::new() };
        (queue.next, queue.unused) = (None, None);
        let held = queue.held.take_all();
        self.settle(bound, after);
        held
    }

    /// Records a spawned grain: it gets the held messages, and the permits become room in
    /// its mailbox, which has the same bound. Returns the messages that it did not live
    /// long enough to get.
    pub(crate) fn move_in(
        &mut self,
        grain: &Address<M, C>,
        bound: usize,
        after: &mut AfterUnlock<M>,
    ) -> Vec<QueuedMessage<M>> {
        let (mut lost, mut kept, mut stays) = (Vec::new(), Vec::new(), true);
        if let Some(queue) = &mut self.queue {
            queue.next = None;
            let mut part = queue.held.begin();
            stays = !part.is_released;
            while let Some((message, sender)) = queue.held.take(&mut part) {
                match grain.forward(message, sender) {
                    Ok(()) => {}
                    Err(SendError::Full { message, .. }) => {
                        queue.held.put_back((message, sender), &part);
                        stays = false;
                        break;
                    }
                    // The grain has ended already. The messages are lost as if they had
                    // arrived in time.
                    Err(error) => lost.push((error.into_message(), sender)),
                }
            }
            while stays && queue.kept > 0 {
                match grain.reserve() {
                    Ok(permit) => {
                        kept.push(permit);
                        queue.kept -= 1;
                    }
                    Err(_) => stays = false,
                }
            }
            while stays
                && !queue.line.is_empty()
                && let Ok(permit) = grain.reserve_patiently()
            {
                kept.push(permit);
                queue.line.grant(&mut after.woken);
            }
        }
        self.stage = GrainStage::Present { grain: grain.clone(), kept };
        if stays {
            self.settle(bound, after);
        } else {
            // It was released before it was spawned, or other senders have found the grain by its
            // name and filled its mailbox. The messages and permits that it did not get go to the
            // next grain.
            grain.finish();
            self.leave(bound, after);
        }
        if self.queue.as_ref().is_some_and(|queue| stays && queue.line.is_unused()) {
            self.queue = None;
        }
        lost
    }

    /// Closes the entry. Returns the held messages and wakes the waiting senders.
    pub(crate) fn close(self, after: &mut AfterUnlock<M>) -> Vec<QueuedMessage<M>> {
        let GrainEntry { stage, queue, .. } = self;
        if let GrainStage::Present { kept, .. } = stage {
            after.permits.extend(kept);
        }
        let Some(mut queue) = queue else { return Vec::new() };
        after.woken.extend(queue.line.dismiss());
        queue.held.take_all()
    }

    /// Grants free room to the waiting senders.
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
