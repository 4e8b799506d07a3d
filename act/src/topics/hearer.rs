//! A subscriber, as its topic knows it, and what is left to do when the topic is unlocked.

use super::direct::DirectHearer;
use crate::calls::slot::SlotSender;
use crate::host::host::Host;
use crate::host::ready::Ready;
use crate::observe::watched_job::Mark;
use crate::process::crash::{drop_contained, ignore};
use krarup_gen::{Pid, Reason};
use std::any::Any;
use std::sync::Arc;
use std::task::Waker;

/// A subscriber of a topic with events of type `T`. Today each is a process of this node. A
/// stand-in for all subscribers of another node can be one too (rule E14).
///
/// The topic is locked while it calls a function that gets [`Effects`]. Such a function runs no
/// code of a user, and leaves to the effects what may run some.
pub(crate) trait Hearer<T>: Send + Sync {
    fn pid(&self) -> Pid;

    /// The subscription begins, or gets other options, when the topic has passed on so many events.
    fn begin(&self, passed_on: u64);

    /// Its other form, if it takes events without a queue.
    fn direct(&self) -> Option<Arc<dyn DirectHearer<T>>>;

    /// Queues an event, or misses it. If it takes events without a queue, it does so only if
    /// `at_all`.
    fn hear(self: Arc<Self>, event: &Arc<T>, number: u64, at_all: bool, effects: &mut Effects<T>);

    /// It gets no event, neither by its queue nor directly.
    fn pass_over(&self);

    /// Queues the notice that the topic has ended, or sends the exit signal (rule E6).
    fn end(self: Arc<Self>, opener: Option<Pid>, reason: &Reason, effects: &mut Effects<T>);

    /// Takes the options of a later subscription of the same process (rule E3).
    fn adopt(&self, later: Arc<dyn Hearer<T>>, passed_on: u64, effects: &mut Effects<T>);

    /// Whether it has no room for an event of a publisher that waits (rule E9). If so, the topic
    /// is told when there is room.
    fn is_full(&self) -> bool;

    /// Forgets that its process is subscribed. Called without a lock, when the topic has ended the
    /// subscription.
    fn forget(self: Arc<Self>);

    /// Puts a mark behind everything that was published (rule E10). Called without a lock.
    fn mark(&self, mark: &Mark);

    fn load(&self) -> HearerLoad;

    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

/// The numbers of one subscription.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HearerLoad {
    pub(crate) untaken: usize,
    pub(crate) missed: u64,
}

/// What an operation on a topic leaves to be done when the topic is unlocked: nothing of it may
/// run under a lock, because executors, wakers and destructors are users' code.
pub(crate) struct Effects<T> {
    pub(crate) heard: usize,
    pub(crate) missed: usize,
    pub(crate) ready: Vec<(Arc<dyn Host>, Ready)>,
    pub(crate) events: Vec<Arc<T>>,
    pub(crate) values: Vec<Box<dyn Any + Send>>,
    /// Subscriptions that have ended.
    pub(crate) ended: Vec<Arc<dyn Hearer<T>>>,
    pub(crate) waker: Option<Waker>,
}

impl<T> Effects<T> {
    pub(crate) fn none() -> Self {
        Effects {
            heard: 0,
            missed: 0,
            ready: Vec::new(),
            events: Vec::new(),
            values: Vec::new(),
            ended: Vec::new(),
            waker: None,
        }
    }

    /// Does it. Each part is contained.
    pub(crate) fn carry_out(self) {
        let Effects { ready, events, values, ended, waker, .. } = self;
        for (host, ready) in ready {
            ignore(|| host.schedule(ready));
        }
        if let Some(waker) = waker {
            ignore(|| waker.wake());
        }
        for hearer in ended {
            ignore(|| hearer.forget());
        }
        events.into_iter().for_each(drop_contained);
        values.into_iter().for_each(drop_contained);
    }
}

/// The value in a mark: when its last copy is dropped, the waiter is told.
pub(crate) struct SettleMark(
    #[allow(dead_code, reason = "held for its destructor")] SlotSender<()>,
);

impl SettleMark {
    pub(crate) fn new(waiter: SlotSender<()>) -> Self {
        SettleMark(waiter)
    }
}
