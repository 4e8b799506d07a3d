//! Telling those who subscribed what happens in the node, and logging what nobody handled.
//!
//! Nobody subscribed is the usual case, and costs one look at a flag.

use krarup_act::{EventTopic, Subscription, Tell, contain};
use krarup_gen::{DeadLetter, Lifecycle, Pid, Timestamp};
use parking_lot::{Mutex, RwLock};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Dead letters that are logged one by one within a second; of the rest only their number.
const LOGGED_PER_SECOND: u32 = 10;

/// Letters that come of telling of letters, and so on: a subscriber's conversion may send to the
/// dead. Beyond this they are counted and not told.
const DEEPEST: u32 = 16;

thread_local! {
    /// How many subscribers are being told on this thread, each in the midst of the one before.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Somebody is told.
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
    /// Whether there are any.
    any: AtomicBool,
    dead_letters: AtomicU64,
    log: Mutex<LogRate>,
}

/// How much has been logged of late.
#[derive(Default)]
struct LogRate {
    since: Timestamp,
    logged: u32,
    left_out: u64,
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

    /// A process has ended, and its subscriptions with it.
    pub(crate) fn forget(&self, pid: Pid) {
        if !self.any.load(Ordering::Acquire) {
            return;
        }
        if self.subscriptions.read().iter().any(|other| is_of(other, pid)) {
            self.unsubscribe(EventTopic::DeadLetters, pid);
            self.unsubscribe(EventTopic::Lifecycle, pid);
        }
    }

    /// Tells all who want to know, without a lock, for they may subscribe to more.
    fn publish(&self, tell: impl Fn(&Tell) -> Option<bool>) {
        if !self.any.load(Ordering::Acquire) {
            return;
        }
        let Some(_telling) = EventDepth::begin() else { return };
        let subscriptions = self.subscriptions.read().clone();
        let gone: Vec<_> = subscriptions
            .iter()
            .filter(|subscription| {
                // Each by itself: a subscriber that panics keeps no other from hearing.
                contain(|| tell(&subscription.tell)) == Ok(Some(false))
            })
            .map(|subscription| (subscription.topic(), subscription.pid))
            .collect();
        for (topic, pid) in gone {
            self.unsubscribe(topic, pid);
        }
    }

    pub(crate) fn lifecycle(&self, event: impl FnOnce() -> Lifecycle) {
        if self.any.load(Ordering::Acquire) {
            let event = event();
            self.publish(|tell| match tell {
                Tell::Lifecycle(tell) => Some(tell(&event)),
                Tell::DeadLetters(_) => None,
            });
        }
    }

    pub(crate) fn dead_letter(&self, letter: &DeadLetter, now: impl FnOnce() -> Timestamp) {
        self.dead_letters.fetch_add(1, Ordering::Relaxed);
        self.publish(|tell| match tell {
            Tell::DeadLetters(tell) => Some(tell(letter)),
            Tell::Lifecycle(_) => None,
        });
        // What listens to `tracing` is a user's, and may panic: no business of whoever sends.
        let _ = contain(|| {
            if tracing::enabled!(target: "krarup::dead_letters", tracing::Level::INFO) {
                self.log(letter, now());
            }
        });
    }

    pub(crate) fn dead_letters(&self) -> u64 {
        self.dead_letters.load(Ordering::Relaxed)
    }

    fn log(&self, letter: &DeadLetter, now: Timestamp) {
        let left_out = {
            let mut log = self.log.lock();
            if now.since(log.since) >= Duration::from_secs(1) {
                log.since = now;
                log.logged = 0;
            }
            if log.logged == LOGGED_PER_SECOND {
                log.left_out += 1;
                return;
            }
            log.logged += 1;
            std::mem::take(&mut log.left_out)
        };
        tracing::info!(target: "krarup::dead_letters", %letter, left_out, "dead letter");
    }
}

/// Takes subscriptions out, to be dropped when they are not locked: with one can go the last
/// handle on a process, and what that holds of a user's.
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
