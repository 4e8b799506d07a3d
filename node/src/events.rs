//! Notifies subscribers of events in the node, and logs dead letters.
//!
//! Usually there are no subscribers; then an event costs one read of a flag.

use krarup_act::{EventTopic, ReportRate, Subscription, Tell, contain};
use krarup_gen::{CountsBy, DeadLetter, DeadLetterCause, Lifecycle, Pid, Timestamp};
use parking_lot::{Mutex, RwLock};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The depth limit of dead letters caused by notifying subscribers of dead letters: a
/// subscriber's conversion may send to an ended process. Deeper dead letters are counted, but
/// subscribers are not notified.
const DEEPEST: u32 = 16;

thread_local! {
    /// How many notifications are nested on this thread.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// A notification in progress.
struct EventDepth;

impl EventDepth {
    fn begin() -> Option<Self> {
        let depth = DEPTH.get();
        (depth < DEEPEST).then(|| {
            DEPTH.set(depth + 1);
            EventDepth
        })
    }
}

impl Drop for EventDepth {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

#[derive(Default)]
pub(crate) struct Events {
    subscriptions: RwLock<Vec<Arc<Subscription>>>,
    /// Whether there are any subscriptions.
    any: AtomicBool,
    /// The dead letters by the number of their cause.
    dead_letters: [AtomicU64; DeadLetterCause::ALL.len()],
    log: Mutex<ReportRate>,
}

impl Events {
    pub(crate) fn subscribe(&self, subscription: Subscription) {
        let mut subscriptions = self.subscriptions.write();
        let before = remove(&mut subscriptions, subscription.topic(), subscription.pid);
        subscriptions.push(Arc::new(subscription));
        self.any.store(true, Ordering::Release);
        drop(subscriptions);
        drop(before);
    }

    pub(crate) fn unsubscribe(&self, topic: EventTopic, pid: Pid) -> bool {
        let mut subscriptions = self.subscriptions.write();
        let before = remove(&mut subscriptions, topic, pid);
        self.any.store(!subscriptions.is_empty(), Ordering::Release);
        drop(subscriptions);
        !before.is_empty()
    }

    /// Removes the subscriptions of a process that has ended.
    pub(crate) fn forget(&self, pid: Pid) {
        if !self.any.load(Ordering::Acquire) {
            return;
        }
        if self.subscriptions.read().iter().any(|other| is_of(other, pid)) {
            self.unsubscribe(EventTopic::DeadLetters, pid);
            self.unsubscribe(EventTopic::Lifecycle, pid);
        }
    }

    /// Notifies all subscribers, without a lock, because they may subscribe to more.
    fn publish(&self, tell: impl Fn(&Tell) -> Option<bool>) {
        if !self.any.load(Ordering::Acquire) {
            return;
        }
        let Some(_telling) = EventDepth::begin() else { return };
        let subscriptions = self.subscriptions.read().clone();
        let gone: Vec<_> = subscriptions
            .iter()
            .filter(|subscription| {
                // Contained separately: a subscriber that panics does not keep the others from
                // being notified.
                contain(|| tell(&subscription.tell)) == Ok(Some(false))
            })
            .map(|subscription| (subscription.topic(), subscription.pid))
            .collect();
        for (topic, pid) in gone {
            self.unsubscribe(topic, pid);
        }
    }

    /// Whether there are subscribers.
    pub(crate) fn is_heard(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    pub(crate) fn lifecycle(&self, event: impl FnOnce() -> Lifecycle) {
        if self.is_heard() {
            let event = event();
            self.publish(|tell| match tell {
                Tell::Lifecycle(tell) => Some(tell(&event)),
                Tell::DeadLetters(_) => None,
            });
        }
    }

    pub(crate) fn dead_letter(&self, letter: &DeadLetter, now: impl FnOnce() -> Timestamp) {
        self.dead_letters[letter.cause as usize].fetch_add(1, Ordering::Relaxed);
        self.publish(|tell| match tell {
            Tell::DeadLetters(tell) => Some(tell(letter)),
            Tell::Lifecycle(_) => None,
        });
        // The log subscriber is user code and may panic, which must not reach the sender.
        let _ = contain(|| {
            if tracing::enabled!(target: "krarup::dead_letters", tracing::Level::INFO) {
                self.log(letter, now());
            }
        });
    }

    pub(crate) fn dead_letters(&self) -> u64 {
        self.dead_letters.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    pub(crate) fn dead_letters_by_cause(&self) -> CountsBy<DeadLetterCause> {
        let counts = self.dead_letters.iter().map(|count| count.load(Ordering::Relaxed));
        DeadLetterCause::ALL.iter().copied().zip(counts).collect()
    }

    fn log(&self, letter: &DeadLetter, now: Timestamp) {
        let Some(count) = self.log.lock().report(1, now) else { return };
        let left_out = count - 1;
        tracing::info!(target: "krarup::dead_letters", %letter, left_out, "dead letter");
    }
}

/// Takes subscriptions out, so that they are dropped after the lock is released: one may hold
/// the last handle on a process, and so user values.
fn remove(
    subscriptions: &mut Vec<Arc<Subscription>>,
    topic: EventTopic,
    pid: Pid,
) -> Vec<Arc<Subscription>> {
    let gone = |other: &mut Arc<Subscription>| is_of(other, pid) && other.topic() == topic;
    subscriptions.extract_if(.., gone).collect()
}

fn is_of(subscription: &Subscription, pid: Pid) -> bool {
    subscription.pid.is_same_process(pid)
}
