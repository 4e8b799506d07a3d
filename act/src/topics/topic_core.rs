//! The shared part of a topic: its subscribers, its kept events, the line of waiting publishers.
//!
//! One lock makes each operation one step, so a subscription lies between two events (rule E2). No
//! code of a user runs under the lock: what could run some is left in the [`Effects`] (rule E8).
//! Below this lock only the locks of a subscription's queue and of a mailbox are taken, never both.
//!
//! Direct subscribers ([`super::direct`]) get an event after the lock is released, by
//! [`super::publishing`]. Such a publication is in flight until it is done, and the topic ends behind
//! it.

use super::audience::{Audience, AudienceListener};
use super::direct::DirectHearers;
use super::hearer::{Effects, Hearer};
use super::missed_log::MissedLog;
use super::own_topics::OwnTopics;
use super::table::{AnyTopic, TopicInfo};
use super::waiting_publishers::{PublisherPlace, WaitingPublishers};
use crate::observe::watched_job::Mark;
use crate::process::crash::{drop_contained, ignore, log_contained};
use crate::sync::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering};
use krarup_gen::{Pid, Reason, Timestamp, TopicId, one_line};
use std::any::type_name;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak, atomic};
use std::task::Waker;

/// How many topics the program has made. A reference is unique in its node only, and a process may be
/// subscribed to topics of several nodes.
static MADE: atomic::AtomicU64 = atomic::AtomicU64::new(0);

pub(crate) struct TopicCore<T> {
    pub(super) id: TopicId,
    /// No other topic of the program has this number.
    pub(super) number: u64,
    pub(super) opener: Option<Pid>,
    pub(super) keep: usize,
    /// It has no subscribers, keeps nothing and has not ended: an event only needs to be counted.
    pub(super) quiet: AtomicBool,
    /// Events that were published while it was quiet.
    pub(super) unheard: AtomicU64,
    /// Events that were passed on; written under the lock.
    pub(super) passed_on: AtomicU64,
    pub(super) missed: AtomicU64,
    pub(super) missed_log: MissedLog,
    /// What its opener has opened; without a value if it is the node's.
    pub(super) opened_by: Weak<OwnTopics>,
    pub(super) direct: bool,
    pub(super) state: Mutex<TopicState<T>>,
}

pub(super) struct TopicState<T> {
    pub(super) ended: bool,
    pub(super) hearers: BTreeMap<HearerKey, Arc<dyn Hearer<T>>>,
    /// Those that take events without a queue; not known after a change.
    pub(super) direct: Option<DirectHearers<T>>,
    /// Publications that deliver to them.
    pub(super) in_flight: usize,
    /// The reason of an end that waits for those publications.
    pub(super) closing: Option<Reason>,
    pub(super) kept: VecDeque<Arc<T>>,
    pub(super) audience: Option<Arc<dyn AudienceListener<T>>>,
    pub(super) waiting: WaitingPublishers,
}

/// The numbers of a process and of its node: a subscriber may be a process of another node of the
/// program.
pub(super) type HearerKey = (u64, u32);

pub(super) fn hearer_key(pid: Pid) -> HearerKey {
    (pid.id(), pid.creation())
}

/// How a topic is opened.
pub(crate) struct TopicSettings<T> {
    pub(crate) id: TopicId,
    pub(crate) opener: Option<Pid>,
    pub(crate) keep: usize,
    pub(crate) audience: Option<Arc<dyn AudienceListener<T>>>,
    pub(crate) opened_by: Weak<OwnTopics>,
    /// Whether publishers make the messages of subscribers that need no queue.
    pub(crate) direct: bool,
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

impl<T> TopicState<T> {
    /// The subscribers that take events without a queue; `None` if there are none.
    pub(super) fn direct_hearers(&mut self) -> Option<DirectHearers<T>> {
        let TopicState { hearers, direct, .. } = self;
        let direct = direct
            .get_or_insert_with(|| hearers.values().filter_map(|hearer| hearer.direct()).collect());
        (!direct.is_empty()).then(|| Arc::clone(direct))
    }
}

impl<T: Send + Sync + 'static> TopicCore<T> {
    pub(crate) fn new(settings: TopicSettings<T>) -> Arc<Self> {
        let TopicSettings { id, opener, keep, audience, opened_by, direct } = settings;
        Arc::new(TopicCore {
            id,
            number: MADE.fetch_add(1, atomic::Ordering::Relaxed),
            opener,
            keep,
            quiet: AtomicBool::new(keep == 0),
            unheard: AtomicU64::new(0),
            passed_on: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            missed_log: MissedLog::new(),
            opened_by,
            direct,
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

    /// No other topic of the program has this number; one that was made later has a greater one.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn opener(&self) -> Option<Pid> {
        self.opener
    }

    /// Whether nobody hears of an event, and it is not kept.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet.load(Ordering::Acquire)
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
            tracing::error!(target: "krarup", %pid, %topic, panic = %one_line(panic), "an event could not be made a message");
        });
    }

    pub(crate) fn count_missed(&self, missed: u64) {
        self.missed.fetch_add(missed, Ordering::Relaxed);
    }

    /// A publisher waits no longer.
    pub(crate) fn leave_line(&self, place: &mut PublisherPlace) {
        let left = self.state.lock().waiting.leave(place);
        left.tell();
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
        } else if let Some(before) = state.hearers.get(&hearer_key(hearer.pid())) {
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
            state.hearers.insert(hearer_key(hearer.pid()), hearer);
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
        let number = hearer_key(hearer.pid());
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
    pub(super) fn note_left(&self, state: &mut TopicState<T>, effects: &mut Effects<T>) {
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
            // They see the end without waiting for it.
            let wakers = state.waiting.take_all();
            drop(state);
            wakers.into_iter().for_each(|waker| wake(Some(waker)));
            return;
        }
        self.finish(state, reason);
    }

    /// Tells all that the topic has ended.
    pub(super) fn finish(&self, mut state: MutexGuard<'_, TopicState<T>>, reason: &Reason) {
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
                ignore(|| hearer.mark(mark));
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

pub(super) fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        ignore(|| waker.wake());
    }
}
