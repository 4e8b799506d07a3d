//! The timers of a node against the thread that fires them, against threads that cancel them,
//! and against the stop of the node (rules T1, X2).

use super::checker::{Condvar, Mutex, joined, model, thread};
use crate::timers::clock::Clock;
use crate::timers::timer::NodeTimers;
use krarup_act::Alarm;
use krarup_gen::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

fn ms(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

/// A timer that is set while the thread falls asleep, or while it sleeps without any timer,
/// fires when it is due.
#[test]
fn a_timer_is_not_overslept() {
    model(|| {
        let (timers, clock) = (Arc::new(NodeTimers::new()), Arc::new(Clock::simulated()));
        let turning = thread::spawn({
            let (timers, clock) = (Arc::clone(&timers), Arc::clone(&clock));
            move || timers.run(&clock)
        });
        let fired = Arc::new((Mutex::new(false), Condvar::default()));
        let ring = Arc::clone(&fired);
        timers.set(
            ms(1),
            Alarm::Run(Box::new(move || {
                *ring.0.lock() = true;
                ring.1.notify_one();
            })),
        );
        clock.advance_to(ms(2));
        let mut over = fired.0.lock();
        while !*over {
            over = fired.1.wait(over);
        }
        drop(over);
        timers.stop();
        joined(turning);
        assert_eq!(timers.len(), 0);
    });
}

/// A timer that is cancelled when it is due has fired, or never fires.
#[test]
fn a_timer_fires_or_is_cancelled() {
    model(|| {
        let timers = Arc::new(NodeTimers::new());
        let fired = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&fired);
        let action = move || {
            count.fetch_add(1, Ordering::Relaxed);
        };
        let key = timers.set(ms(1), Alarm::Run(Box::new(action)));
        let firing = thread::spawn({
            let timers = Arc::clone(&timers);
            move || timers.fire(ms(2))
        });
        let cancelled = timers.cancel(key);
        assert_eq!(joined(firing), !cancelled);
        assert_eq!(fired.load(Ordering::Relaxed), usize::from(!cancelled), "fired");
        assert!(!timers.cancel(key), "cancelled twice");
    });
}

#[derive(Default)]
struct TimerWakes(AtomicUsize);

impl Wake for TimerWakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A timer that is set while the node stops is woken, or is refused.
#[test]
fn a_timer_that_is_set_during_the_stop_is_woken_or_refused() {
    model(|| {
        let timers = Arc::new(NodeTimers::new());
        let stopping = thread::spawn({
            let timers = Arc::clone(&timers);
            move || timers.stop()
        });
        let woken = Arc::new(TimerWakes::default());
        let key = timers.set(ms(1), Alarm::Wake(Waker::from(Arc::clone(&woken))));
        joined(stopping);
        let refused = key.index == u32::MAX;
        assert_eq!(woken.0.load(Ordering::Relaxed), usize::from(!refused), "woken");
        assert_eq!(timers.len(), 0);
    });
}

#[cfg(loom)]
mod broken {
    use super::*;

    /// A set of one timer, with a thread that checks it and falls asleep in two steps.
    #[derive(Default)]
    struct Hasty {
        set: Mutex<bool>,
        changed: Condvar,
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn a_thread_that_checks_and_sleeps_in_two_steps_oversleeps_a_timer() {
        model(|| {
            let timers = Arc::new(Hasty::default());
            let turning = thread::spawn({
                let timers = Arc::clone(&timers);
                move || {
                    let set = *timers.set.lock();
                    if !set {
                        drop(timers.changed.wait(timers.set.lock()));
                    }
                }
            });
            *timers.set.lock() = true;
            timers.changed.notify_one();
            joined(turning);
        });
    }

    #[test]
    #[should_panic(expected = "fired")]
    fn a_timer_found_and_taken_in_two_steps_fires_after_its_cancel() {
        model(|| {
            let timer = Arc::new(Mutex::new(Some(())));
            let firing = thread::spawn({
                let timer = Arc::clone(&timer);
                move || {
                    let due = timer.lock().is_some();
                    timer.lock().take();
                    due
                }
            });
            let cancelled = timer.lock().take().is_some();
            assert!(!(joined(firing) && cancelled), "fired");
        });
    }
}
