//! The shared part of a topic: its subscribers, its kept events, the line of waiting publishers.
//!
//! One lock makes each operation one step, so all subscribers hear the events in one order, and a
//! subscription lies between two events (rule E2). Under the lock an event is passed on as an `Arc`:
//! it is cloned in the turn of each subscriber. No code of a user runs under the lock: what could
//! run some is left in the [`Effects`] (rule E8). Below this lock only the locks of a
//! subscription's queue and of a mailbox are taken, never both.

use super::audience::{Audience, AudienceListener};
use super::hearer::{Effects, Hearer};
use super::missed_log::MissedLog;
use super::own_topics::OwnTopics;
use super::table::{AnyTopic, TopicInfo};
use super::waiting_publishers::{PublisherPlace, WaitingPublishers};
use crate::observe::watched_job::Mark;
use crate::process::crash::{contain, drop_contained};
use crate::sync::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering};
use krarup_gen::{Pid, Reason, Timestamp, TopicId};
use std::any::type_name;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
use std::task::Waker;

pub(crate) struct TopicCore<T> {
    id: TopicId,
    opener: Option<Pid>,
    keep: usize,
    /// It has no subscribers, keeps nothing and has not ended: an event only needs to be counted.
    quiet: AtomicBool,
    published: AtomicU64,
    missed: AtomicU64,
    missed_log: MissedLog,
    /// What its opener has opened; without a value if it is the node's.
    opened_by: Weak<OwnTopics>,
    state: Mutex<TopicState<T>>,
}

struct TopicState<T> {
    ended: bool,
    /// By the numbers of their pids.
    hearers: BTreeMap<u64, Arc<dyn Hearer<T>>>,
    kept: VecDeque<Arc<T>>,
    audience: Option<Arc<dyn AudienceListener<T>>>,
    waiting: WaitingPublishers,
}

/// How a topic is opened.
pub(crate) struct TopicSettings<T> {
    pub(crate) id: TopicId,
    pub(crate) opener: Option<Pid>,
    pub(crate) keep: usize,
    pub(crate) audience: Option<Arc<dyn AudienceListener<T>>>,
    pub(crate) opened_by: Weak<OwnTopics>,
}

/// The answer of a topic to a subscriber.
pub(crate) enum Joined<T> {
    /// Subscribed, with the events that are kept.
    New(Vec<Arc<T>>),
    /// It was subscribed, and has new options (rule E3).
    Again,
    /// The topic has ended.
    Ended,
    /// The process has ended meanwhile.
    Gone,
}

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
    pub(crate) fn new(settings: TopicSettings<T>) -> Arc<Self> {
        let TopicSettings { id, opener, keep, audience, opened_by } = settings;
        Arc::new(TopicCore {
            id,
            opener,
            keep,
            quiet: AtomicBool::new(keep == 0),
            published: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            missed_log: MissedLog::new(),
            opened_by,
            state: Mutex::new(TopicState {
                ended: false,
                hearers: BTreeMap::new(),
                kept: VecDeque::new(),
                audience,
                waiting: WaitingPublishers::default(),
            }),
        })
    }

    pub(crate) fn id(&self) -> &TopicId {
        &self.id
    }

    pub(crate) fn opener(&self) -> Option<Pid> {
        self.opener
    }

    /// Whether nobody hears of an event, and it is not kept.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet.load(Ordering::Acquire)
    }

    /// Passes an event to all subscribers. Gives it back if the topic has ended.
    /// Those of `except` get none: the event says something of them. Returns how many have heard of
    /// it and how many have missed it, for [`TopicCore::note_missed`].
    pub(crate) fn publish(&self, event: T, except: &[Pid]) -> Result<(usize, usize), T> {
        // A subscriber that comes at the same time comes after the event.
        if self.is_quiet() {
            self.published.fetch_add(1, Ordering::Relaxed);
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
        self.pass_on(self.state.lock(), event, &[])
    }

    fn publish_in(
        &self,
        state: MutexGuard<'_, TopicState<T>>,
        event: T,
        except: &[Pid],
    ) -> (usize, usize) {
        let effects = self.pass_on(state, event, except);
        let counts = (effects.heard, effects.missed);
        effects.carry_out();
        if counts.1 > 0 {
            self.count_missed(counts.1 as u64);
        }
        counts
    }

    fn pass_on(
        &self,
        mut state: MutexGuard<'_, TopicState<T>>,
        event: T,
        except: &[Pid],
    ) -> Effects<T> {
        let event = Arc::new(event);
        let mut effects = Effects::none();
        let number = self.published.fetch_add(1, Ordering::Relaxed) + 1;
        for hearer in state.hearers.values() {
            if !except.contains(&hearer.pid()) {
                Arc::clone(hearer).hear(&event, number, &mut effects);
            }
        }
        if !effects.ended.is_empty() {
            for ended in &effects.ended {
                // The effects hold it too.
                drop(state.hearers.remove(&ended.pid().id()));
            }
            self.note_left(&mut state, &mut effects);
        }
        if self.keep > 0 {
            if state.kept.len() == self.keep {
                effects.events.extend(state.kept.pop_front());
            }
            state.kept.push_back(Arc::clone(&event));
        }
        drop(state);
        // With its last copy the event is dropped when the effects are carried out.
        effects.events.push(event);
        effects
    }

    /// Logs that an event was missed so often, unless that was logged ten times within a second.
    /// Returns how many the line was about (rule E7).
    pub(crate) fn note_missed(
        &self,
        missed: usize,
        now: impl FnOnce() -> Timestamp,
    ) -> Option<u64> {
        if missed == 0 { None } else { self.missed_log.note(&self.id, missed as u64, now()) }
    }

    pub(crate) fn count_missed(&self, missed: u64) {
        self.missed.fetch_add(missed, Ordering::Relaxed);
    }

    /// Publishes if all who let publishers wait have room, and none is before this publisher in
    /// line. `myself`: the process that publishes, which does not wait for itself.
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
        let mut full = None;
        if state.waiting.is_next(place) {
            let is_other = |pid: Pid| !myself.is_some_and(|own| own.is_same_process(pid));
            let all = state.hearers.values().filter(|hearer| is_other(hearer.pid()));
            let pids: Vec<_> =
                all.filter(|hearer| hearer.is_full()).map(|full| full.pid()).collect();
            if pids.is_empty() {
                let next = state.waiting.leave(place);
                let (heard, missed) = self.publish_in(state, event, &[]);
                wake(next);
                drop_contained(waker);
                return WaitingTry::Published { heard, missed };
            }
            full = Some(pids);
        }
        let before = state.waiting.wait(place, waker);
        drop(state);
        drop_contained(before);
        WaitingTry::Full(event, full)
    }

    /// A publisher waits no longer.
    pub(crate) fn leave_line(&self, place: &mut PublisherPlace) {
        let next = self.state.lock().waiting.leave(place);
        wake(next);
    }

    /// There may be room for the first of the waiting publishers.
    pub(crate) fn wake_waiting(&self) {
        let first = self.state.lock().waiting.first();
        wake(first);
    }

    /// Adds a subscriber. `is_gone` says whether its process has ended; it is asked under the lock.
    pub(crate) fn join(&self, hearer: Arc<dyn Hearer<T>>, is_gone: impl Fn() -> bool) -> Joined<T> {
        let mut effects = Effects::none();
        let mut state = self.state.lock();
        let joined = if state.ended {
            Joined::Ended
        } else if is_gone() {
            Joined::Gone
        } else if let Some(before) = state.hearers.get(&hearer.pid().id()) {
            before.adopt(hearer, &mut effects);
            effects.waker = state.waiting.first();
            Joined::Again
        } else {
            self.quiet.store(false, Ordering::Release);
            if state.hearers.is_empty()
                && let Some(audience) = &state.audience
            {
                audience.tell(Audience::Some, &mut effects);
            }
            state.hearers.insert(hearer.pid().id(), hearer);
            Joined::New(state.kept.iter().cloned().collect())
        };
        drop(state);
        effects.carry_out();
        joined
    }

    /// Removes a subscriber that has left or has ended.
    pub(crate) fn remove(&self, hearer: &Arc<dyn Hearer<T>>) {
        let mut effects = Effects::none();
        let mut state = self.state.lock();
        let number = hearer.pid().id();
        let is_it =
            |held: &Arc<dyn Hearer<T>>| std::ptr::addr_eq(Arc::as_ptr(held), Arc::as_ptr(hearer));
        if state.hearers.get(&number).is_some_and(is_it) {
            // The caller holds it too.
            drop(state.hearers.remove(&number));
            self.note_left(&mut state, &mut effects);
        }
        drop(state);
        effects.carry_out();
    }

    /// Subscribers were removed.
    fn note_left(&self, state: &mut TopicState<T>, effects: &mut Effects<T>) {
        effects.waker = state.waiting.first();
        if state.hearers.is_empty() {
            self.quiet.store(self.keep == 0 && !state.ended, Ordering::Release);
            if let Some(audience) = &state.audience {
                audience.tell(Audience::None, effects);
            }
        }
    }

    /// Ends the topic (rule E6). Its name is free already.
    pub(crate) fn close(&self, reason: &Reason) {
        let mut effects = Effects::none();
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.ended, true) {
            return;
        }
        self.quiet.store(false, Ordering::Release);
        let hearers = std::mem::take(&mut state.hearers);
        for hearer in hearers.values() {
            Arc::clone(hearer).end(self.opener, reason, &mut effects);
        }
        if !hearers.is_empty() {
            self.note_left(&mut state, &mut effects);
        }
        effects.events.extend(state.kept.drain(..));
        let audience = state.audience.take();
        let wakers = state.waiting.take_all();
        drop(state);
        effects.carry_out();
        drop_contained((hearers, audience));
        wakers.into_iter().for_each(|waker| wake(Some(waker)));
        if let Some(opened_by) = self.opened_by.upgrade() {
            opened_by.forget_opened(self.id.reference);
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.state.lock().ended
    }

    /// The subscribers in the order of their pids.
    pub(crate) fn hearers(&self) -> Vec<Arc<dyn Hearer<T>>> {
        self.state.lock().hearers.values().cloned().collect()
    }

    /// Puts a mark behind everything that was published, at all subscribers but `myself`.
    pub(crate) fn mark(&self, mark: &Mark, myself: Option<Pid>) {
        for hearer in self.hearers() {
            if !myself.is_some_and(|own| own.is_same_process(hearer.pid())) {
                let _ = contain(|| hearer.mark(mark));
            }
            drop_contained(hearer);
        }
    }
}

impl<T: Send + Sync + 'static> AnyTopic for TopicCore<T> {
    fn id(&self) -> &TopicId {
        &self.id
    }

    fn opener(&self) -> Option<Pid> {
        self.opener
    }

    fn info(&self) -> TopicInfo {
        let state = self.state.lock();
        TopicInfo {
            id: self.id.clone(),
            event: type_name::<T>(),
            opener: self.opener,
            keep: self.keep,
            kept: state.kept.len(),
            subscribers: state.hearers.len(),
            published: self.published.load(Ordering::Relaxed),
            missed: self.missed.load(Ordering::Relaxed),
        }
    }

    fn end(&self, reason: &Reason) {
        self.close(reason);
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        let _ = contain(|| waker.wake());
    }
}
