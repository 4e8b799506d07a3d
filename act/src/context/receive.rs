//! Receiving: how a process takes entries out of its mailbox.
//!
//! Main is taken in batches, which are handled without the lock. Everything that goes before
//! Main, or keeps the process from it, raises `progress.attention`, which is checked before
//! every message: the control lanes, a pending exit, senders that wait for room, a suspension,
//! a tracer. If an entry taken off Main is not always the next item, the process takes the
//! slow path ([`Context`]'s `slow_path`), which costs the fast path nothing.

use super::context::Context;
use super::stash_queue::StashedMessage;
use crate::mailbox::entry::{Body, MailboxEntry};
use crate::mailbox::inbox_core::InboxCore;
use crate::process::attention::{Attention, TakeControl, WatchChange};
use crate::process::current;
use crate::process::last_item;
use crate::process::turn_state::Wants;
use crate::received::Received;
use krarup_gen::{Lane, Ref};
use std::any::{Any, type_name};
use std::future::poll_fn;
use std::sync::atomic::Ordering;
use std::task::{self, Poll};

/// The result of checking `attention`.
pub(super) enum LookedUp<M, C> {
    /// The next item.
    Item(Received<M, C>),
    /// There is nothing to receive now.
    Wait(Wants),
    /// Nothing goes before Main.
    Main,
}

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Puts back an entry that was taken too early, and refunds its share of the budget.
    #[cold]
    pub(super) fn put_back(&mut self, entry: MailboxEntry<M>) {
        current::refund();
        self.main.get_or_insert_default().push_front(entry);
    }

    /// See [`BehaviorContext::receive_early`](crate::BehaviorContext::receive_early).
    pub(crate) async fn receive_early(&mut self) -> Received<M, C> {
        poll_fn(|cx| {
            let item = self.poll_mailbox();
            if item.is_pending() {
                self.wait_with(cx.waker());
            }
            item
        })
        .await
    }

    /// See [`BehaviorContext::receive_control`](crate::BehaviorContext::receive_control).
    pub(crate) async fn receive_control(&mut self) -> Received<M, C> {
        let poll = |cx: &mut task::Context<'_>| {
            let item = self.poll_control();
            if item.is_pending() {
                self.wait_with(cx.waker());
            }
            item
        };
        let item = poll_fn(poll).await;
        self.remember(&item);
        item
    }

    fn poll_control(&mut self) -> Poll<Received<M, C>> {
        if self.cell.progress.attention.load(Ordering::Relaxed) {
            match self.look_up(InboxCore::take_control) {
                LookedUp::Item(item) => return Poll::Ready(self.shown(item)),
                LookedUp::Wait(wants) => return self.pending(wants),
                LookedUp::Main => {}
            }
        }
        self.pending(Wants::Control)
    }

    pub(super) fn poll_receive(&mut self) -> Poll<Received<M, C>> {
        if !self.is_started() {
            self.initialised();
        }
        self.poll_mailbox()
    }

    #[inline]
    fn poll_mailbox(&mut self) -> Poll<Received<M, C>> {
        if self.slow_path() {
            self.end_job();
        }
        loop {
            if self.cell.progress.attention.load(Ordering::Relaxed) {
                match self.look_up(InboxCore::take_control) {
                    LookedUp::Item(item) => return Poll::Ready(self.shown(item)),
                    LookedUp::Wait(wants) => return self.pending(wants),
                    LookedUp::Main => {}
                }
            }
            if self.slow_path() && self.is_suspended() {
                return self.pending(Wants::Message);
            }
            if !current::spend(&self.cell.host) {
                return self.pending(Wants::Turn);
            }
            if self.slow_path()
                && let Some(message) = self.next_replayed()
            {
                return Poll::Ready(self.shown(Received::Message(message)));
            }
            let next = if self.slow_path() && self.is_ordered() {
                self.next_sorted()
            } else {
                let next = self.main.as_mut().and_then(|main| main.pop_front());
                next.or_else(|| self.take_main())
            };
            let Some(entry) = next else {
                return self.pending(Wants::Message);
            };
            if let Some(item) = self.open(entry) {
                return Poll::Ready(item);
            }
        }
    }

    /// Opens an entry that was taken off Main. Returns the item in it, unless it is none for this process.
    #[inline]
    pub(super) fn open(&mut self, entry: MailboxEntry<M>) -> Option<Received<M, C>> {
        self.sender = entry.sender();
        match entry.body {
            Body::Message(message) => {
                if !self.slow_path() {
                    self.cell.progress.count_taken();
                    return Some(Received::Message(message));
                }
                self.count_received();
                if self.cell.is_routed() {
                    self.cell.pass_on(message, entry.sender);
                    return None;
                }
                self.sample(type_name::<M>(), Lane::Main);
                Some(self.shown(Received::Message(message)))
            }
            Body::Event(message) => {
                let subscription = Ref::new(entry.sender);
                if self.takes_event(subscription) {
                    return Some(self.shown(Received::Message(message)));
                }
                self.refuse_event(message, subscription);
                None
            }
            Body::Notice(notice) => {
                let item = self.accept(notice.into_inner())?;
                self.mark(&item);
                Some(self.shown(item))
            }
        }
    }

    /// Whether everything that was there in this poll has been received. The turn checks again
    /// when it parks the process.
    #[inline]
    pub(super) fn is_drained(&self) -> bool {
        self.main.is_none()
            && self.cold.is_none()
            && !self.slow_path()
            && current::has_looked()
            && !self.cell.progress.attention.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn pending<T>(&mut self, wants: Wants) -> Poll<T> {
        if wants == Wants::Message && self.cold.is_some() {
            self.note_idle();
        }
        current::want(wants);
        Poll::Pending
    }

    /// Takes everything off Main and returns the oldest entry.
    ///
    /// A process that gets one message at a time checks the mailbox once in a poll; the turn
    /// checks again under the lock with which it parks the process. A process that has just
    /// emptied a batch checks again, because there are likely more messages. If there are none
    /// it leaves the batch's memory in the mailbox: it may need it again soon, or frees it
    /// when idle.
    #[inline]
    fn take_main(&mut self) -> Option<MailboxEntry<M>> {
        let emptied_batch = self.main.is_some();
        if current::has_looked() && !emptied_batch {
            return None;
        }
        current::look();
        let entry = self.cell.inbox.lock().take_main(&mut self.main);
        if entry.is_none() && emptied_batch {
            self.main = None;
            current::keep_memory();
        }
        entry
    }

    /// Handles what raised `attention`: the control lanes, one item at a time, and all else
    /// that must be handled before the next message.
    #[cold]
    pub(super) fn look_up(&mut self, take: TakeControl) -> LookedUp<M, C> {
        let mut granted = false;
        loop {
            match self.cell.untyped().look(take, self.is_suspended(), granted) {
                Attention::Wait(wants) => return LookedUp::Wait(wants),
                Attention::Main => return LookedUp::Main,
                Attention::Changed(WatchChange { suspended, tracer, log }) => {
                    self.set_suspended(suspended);
                    if let Some(Ok(tracer)) = tracer.map(<Box<dyn Any + Send>>::downcast) {
                        self.set_tracer(*tracer);
                    }
                    if let Some(log) = log {
                        self.set_item_log(log);
                    }
                    self.cell.grant_room();
                    granted = true;
                }
                Attention::Control(control, lane) => {
                    if let Some(item) = self.accept_control(control) {
                        self.mark(&item);
                        self.note_lane(lane);
                        return LookedUp::Item(item);
                    }
                }
            }
        }
    }

    /// Applies a suspension that was set from outside.
    fn set_suspended(&mut self, suspended: bool) {
        if suspended != self.is_suspended() {
            self.cold().suspended = suspended;
        }
        self.update_slow_path();
    }

    /// See [`BehaviorContext::is_suspended`](crate::BehaviorContext::is_suspended).
    pub(crate) fn is_suspended(&self) -> bool {
        self.cold.as_ref().is_some_and(|cold| cold.suspended)
    }

    #[cold]
    fn next_replayed(&mut self) -> Option<M> {
        let stashed = self.cold.as_mut()?.stash.next()?;
        Some(self.replay(stashed))
    }

    /// Has a message handled again that was taken out of the stash.
    pub(super) fn replay(&mut self, stashed: StashedMessage<M>) -> M {
        let StashedMessage { sender, message, context } = stashed;
        let stash = &self.cold().stash;
        let (left, last) = (stash.len(), !stash.has_replay());
        self.sender = sender;
        self.cell.set_stashed(left);
        if last {
            self.update_slow_path();
        }
        if let Some(context) = context {
            self.begin_traced(&context, type_name::<M>());
        }
        message
    }

    /// Notes the kind of an item that is no plain message on Main.
    #[cold]
    fn mark(&mut self, item: &Received<M, C>) {
        self.sender = last_item::of_kind(self.sender, item.kind());
    }
}
