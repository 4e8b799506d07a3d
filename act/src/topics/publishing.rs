//! Publishing: an event on its way from the lock of a topic to queues and mailboxes.
//!
//! ```text
//!   lock the topic ─► number it ─► queues of those with a limit ─► kept ─► unlock ─► direct subscribers
//!                     in flight += 1                                                 in flight -= 1
//! ```
//!
//! If all subscribers are direct and nothing is kept, the second half is all there is, and the event
//! is not shared.

use super::direct::{DirectHearers, deliver, is_making};
use super::hearer::Effects;
use super::topic_core::{TopicCore, TopicState, hearer_key, wake};
use super::waiting_publishers::PublisherPlace;
use crate::process::crash::drop_contained;
use crate::sync::{MutexGuard, Ordering};
use krarup_gen::Pid;
use std::sync::Arc;
use std::task::Waker;

/// The answer to a publisher that waits.
pub(crate) enum WaitingTry<T> {
    Published {
        heard: usize,
        missed: usize,
    },
    Ended(T),
    /// These are full. `None`: others are before it in line.
    Full(T, Option<Vec<Pid>>),
}

impl<T: Send + Sync + 'static> TopicCore<T> {
    /// Passes an event to all subscribers. Gives it back if the topic has ended.
    /// Those of `except` get none: the event says something of them. Returns how many have heard of
    /// it and how many have missed it, for [`TopicCore::note_missed`].
    pub(crate) fn publish(&self, event: T, except: &[Pid]) -> Result<(usize, usize), T> {
        // A subscriber that comes at the same time comes after the event.
        if self.is_quiet() {
            self.unheard.fetch_add(1, Ordering::Relaxed);
            drop_contained(event);
            return Ok((0, 0));
        }
        let state = self.state.lock();
        if state.ended {
            drop(state);
            return Err(event);
        }
        Ok(self.publish_in(state, event, except))
    }

    /// Passes an event on while the caller holds a lock of its own. The caller carries out the
    /// effects when it has unlocked it.
    pub(crate) fn publish_under_lock(&self, event: T) -> Effects<T> {
        if self.is_quiet() {
            let mut effects = Effects::none();
            effects.events.push(Arc::new(event));
            return effects;
        }
        let mut state = self.state.lock();
        let number = self.next_number();
        let effects = self.queue(&mut state, &Arc::new(event), number, &[], true);
        drop(state);
        effects
    }

    fn publish_in(
        &self,
        mut state: MutexGuard<'_, TopicState<T>>,
        event: T,
        except: &[Pid],
    ) -> (usize, usize) {
        let number = self.next_number();
        let by_queue = !self.direct || is_making();
        let direct = if by_queue { None } else { state.direct_hearers() };
        state.in_flight += usize::from(direct.is_some());
        if let Some(direct) = &direct
            && direct.len() == state.hearers.len()
            && self.keep == 0
        {
            drop(state);
            let heard = self.deliver(direct, &event, number, except);
            drop_contained((event, direct));
            return (heard, 0);
        }
        let event = Arc::new(event);
        let effects = self.queue(&mut state, &event, number, except, direct.is_none());
        drop(state);
        let (mut heard, missed) = (effects.heard, effects.missed);
        effects.carry_out();
        if missed > 0 {
            self.count_missed(missed as u64);
        }
        if let Some(direct) = &direct {
            heard += self.deliver(direct, &event, number, except);
        }
        drop_contained((event, direct));
        (heard, missed)
    }

    fn next_number(&self) -> u64 {
        let passed_on = self.passed_on.load(Ordering::Relaxed) + 1;
        self.passed_on.store(passed_on, Ordering::Relaxed);
        passed_on + self.unheard.load(Ordering::Relaxed)
    }

    /// Delivers an event that is in flight. Runs code of users, without the lock.
    fn deliver(&self, to: &DirectHearers<T>, event: &T, number: u64, except: &[Pid]) -> usize {
        let heard = deliver(to, event, number, except, |pid, panic| self.note_failed(pid, &panic));
        let mut state = self.state.lock();
        state.in_flight -= 1;
        if state.in_flight == 0
            && let Some(reason) = state.closing.take()
        {
            self.finish(state, &reason);
        }
        heard
    }

    /// Queues an event at the subscribers that have queues, or at all.
    fn queue(
        &self,
        state: &mut TopicState<T>,
        event: &Arc<T>,
        number: u64,
        except: &[Pid],
        at_all: bool,
    ) -> Effects<T> {
        let mut effects = Effects::none();
        for hearer in state.hearers.values() {
            if !except.contains(&hearer.pid()) {
                Arc::clone(hearer).hear(event, number, at_all, &mut effects);
            } else if at_all {
                hearer.pass_over();
            }
        }
        if !effects.ended.is_empty() {
            for ended in &effects.ended {
                // The effects hold it too.
                drop(state.hearers.remove(&hearer_key(ended.pid())));
            }
            self.note_left(state, &mut effects);
        }
        if self.keep > 0 {
            if state.kept.len() == self.keep {
                effects.events.extend(state.kept.pop_front());
            }
            state.kept.push_back(Arc::clone(event));
        }
        // With its last copy the event is dropped when the effects are carried out.
        effects.events.push(Arc::clone(event));
        effects
    }

    /// Publishes if all who let publishers wait have room, and none is before this publisher in
    /// line. `myself`: the process that publishes, which does not wait for itself, nor behind those that
    /// wait for it.
    pub(crate) fn publish_with_room(
        &self,
        event: T,
        place: &mut PublisherPlace,
        waker: &Waker,
        myself: Option<Pid>,
    ) -> WaitingTry<T> {
        // Its clone is the user's code.
        let waker = waker.clone();
        let mut state = self.state.lock();
        if state.ended {
            drop(state);
            drop_contained(waker);
            return WaitingTry::Ended(event);
        }
        let (mut full, mut behind) = (None, None);
        let is_awaited = || {
            let own = state.hearers.get(&hearer_key(myself?))?;
            Some(own.is_full())
        };
        if state.waiting.is_next(place) || is_awaited() == Some(true) {
            let is_other = |pid: Pid| !myself.is_some_and(|own| own.is_same_process(pid));
            let all = state.hearers.values().filter(|hearer| is_other(hearer.pid()));
            let pids: Vec<_> =
                all.filter(|hearer| hearer.is_full()).map(|full| full.pid()).collect();
            if pids.is_empty() {
                let left = state.waiting.leave(place);
                let (heard, missed) = self.publish_in(state, event, &[]);
                left.tell();
                drop_contained(waker);
                return WaitingTry::Published { heard, missed };
            }
            // If it alone is waited for, it may pass.
            if let [only] = *pids {
                behind = state.waiting.of(only);
            }
            full = Some(pids);
        }
        let before = state.waiting.wait(place, myself, waker);
        drop(state);
        wake(behind);
        drop_contained(before);
        WaitingTry::Full(event, full)
    }
}
