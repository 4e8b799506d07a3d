//! The shared part of a topic: its subscribers, its kept events, the line of waiting publishers.
//!
//! One lock makes each operation one step, so a subscription lies between two events (rule E2). Under
//! the lock an event is passed on as an `Arc`, to the queues of subscribers, which clone it in their
//! turns. No code of a user runs under the lock: what could run some is left in the [`Effects`] (rule
//! E8). Below this lock only the locks of a subscription's queue and of a mailbox are taken, never
//! both.
//!
//! Direct subscribers ([`super::direct`]) get an event after the lock is released. Such a publication
//! is in flight until it is done, and the topic ends behind it.

use super::audience::{Audience, AudienceListener};
use super::direct::{DirectHearers, deliver, is_delivering};
use super::hearer::{Effects, Hearer};
use super::missed_log::MissedLog;
use super::own_topics::OwnTopics;
use super::table::{AnyTopic, TopicInfo};
use super::waiting_publishers::{PublisherPlace, WaitingPublishers};
use crate::observe::watched_job::Mark;
use crate::process::crash::{contain, drop_contained, log_contained};
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
    /// Events that were published while it was quiet.
    unheard: AtomicU64,
    /// Events that were passed on; written under the lock.
    passed_on: AtomicU64,
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
    /// Those that take events without a queue; not known after a change.
    direct: Option<DirectHearers<T>>,
    /// Publications that deliver to them.
    in_flight: usize,
    /// The reason of an end that waits for those publications.
    closing: Option<Reason>,
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

impl<T> TopicState<T> {
    /// The subscribers that take events without a queue; `None` if there are none.
    fn direct_hearers(&mut self) -> Option<DirectHearers<T>> {
        let TopicState { hearers, direct, .. } = self;
        let direct = direct
            .get_or_insert_with(|| hearers.values().filter_map(|hearer| hearer.direct()).collect());
        (!direct.is_empty()).then(|| Arc::clone(direct))
    }
}

impl<T: Send + Sync + 'static> TopicCore<T> {
    pub(crate) fn new(settings: TopicSettings<T>) -> Arc<Self> {
        let TopicSettings { id, opener, keep, audience, opened_by } = settings;
        Arc::new(TopicCore {
            id,
            opener,
            keep,
            quiet: AtomicBool::new(keep == 0),
            unheard: AtomicU64::new(0),
            passed_on: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            missed_log: MissedLog::new(),
            opened_by,
            state: Mutex::new(TopicState {
                ended: false,
                hearers: BTreeMap::new(),
                direct: None,
                in_flight: 0,
                closing: None,
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
        let direct = if is_delivering() { None } else { state.direct_hearers() };
        state.in_flight += usize::from(direct.is_some());
        if let Some(direct) = &direct
            && direct.len() == state.hearers.len()
            && self.keep == 0
        {
            drop(state);
            let heard = self.deliver(direct, &event, number, except);
            drop_contained(event);
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
                drop(state.hearers.remove(&ended.pid().id()));
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

    /// Logs that an event was missed so often, unless that was logged ten times within a second.
    /// Returns how many the line was about (rule E7).
    pub(crate) fn note_missed(
        &self,
        missed: usize,
        now: impl FnOnce() -> Timestamp,
    ) -> Option<u64> {
        if missed == 0 { None } else { self.missed_log.note(&self.id, missed as u64, now()) }
    }

    /// Counts an event of which no message could be made for a subscriber (rule E8).
    #[cold]
    pub(crate) fn note_failed(&self, subscriber: Pid, panic: &Reason) {
        self.count_missed(1);
        let (pid, topic) = (subscriber, &self.id);
        log_contained(|| {
            tracing::error!(target: "krarup", %pid, %topic, %panic, "an event could not be made a message");
        });
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
            before.adopt(hearer, self.passed_on(), &mut effects);
            effects.values.extend(state.direct.take().map(|direct| Box::new(direct) as _));
            effects.waker = state.waiting.first();
            Joined::Again
        } else {
            self.quiet.store(false, Ordering::Release);
            if state.hearers.is_empty()
                && let Some(audience) = &state.audience
            {
                audience.tell(Audience::Some, &mut effects);
            }
            hearer.begin(self.passed_on());
            effects.values.extend(state.direct.take().map(|direct| Box::new(direct) as _));
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
        effects.values.extend(state.direct.take().map(|direct| Box::new(direct) as _));
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
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.ended, true) {
            return;
        }
        self.quiet.store(false, Ordering::Release);
        if state.in_flight > 0 {
            state.closing = Some(reason.clone());
            return;
        }
        self.finish(state, reason);
    }

    /// Tells all that the topic has ended.
    fn finish(&self, mut state: MutexGuard<'_, TopicState<T>>, reason: &Reason) {
        let mut effects = Effects::none();
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

    /// The number of events that were passed on to subscribers or kept.
    pub(crate) fn passed_on(&self) -> u64 {
        self.passed_on.load(Ordering::Relaxed)
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
            published: self.passed_on() + self.unheard.load(Ordering::Relaxed),
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
