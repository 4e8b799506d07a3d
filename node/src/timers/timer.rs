//! The node's timers: the wheel, and the thread that advances it.

use crate::sync::{Condvar, Mutex};
use crate::timers::clock::Clock;
use crate::timers::wheel::Wheel;
use krarup_act::{Alarm, TimerKey, contain};
use krarup_gen::{Timestamp, one_line};
use std::sync::Arc;

/// The timers of a node. A real node advances the wheel on a thread of its own; a simulation
/// advances it directly.
pub(crate) struct NodeTimers {
    state: Mutex<TimerState>,
    changed: Condvar,
}

struct TimerState {
    wheel: Wheel,
    /// The thread sleeps until this time; a timer that is due earlier must wake it.
    sleeping_until: Timestamp,
    stopped: bool,
}

impl NodeTimers {
    pub(crate) fn new() -> Self {
        let state =
            TimerState { wheel: Wheel::new(), sleeping_until: Timestamp::ZERO, stopped: false };
        NodeTimers { state: Mutex::new(state), changed: Condvar::new() }
    }

    pub(crate) fn set(&self, due: Timestamp, alarm: Alarm) -> TimerKey {
        self.insert(due, |wheel| wheel.set(due, alarm))
    }

    /// Sets a timer of a dispatcher, which [`NodeTimers::len`] does not count.
    pub(crate) fn set_internal(&self, due: Timestamp, alarm: Alarm) -> TimerKey {
        self.insert(due, |wheel| wheel.set_internal(due, alarm))
    }

    fn insert(&self, due: Timestamp, insert: impl FnOnce(&mut Wheel) -> TimerKey) -> TimerKey {
        let mut state = self.state.lock();
        if state.stopped {
            // A key that no timer ever has.
            return TimerKey { index: u32::MAX, generation: 0 };
        }
        let key = insert(&mut state.wheel);
        let wake = due < state.sleeping_until;
        if wake {
            state.sleeping_until = due;
        }
        drop(state);
        if wake {
            self.changed.notify_one();
        }
        key
    }

    /// Returns false if the timer has fired or was cancelled.
    pub(crate) fn cancel(&self, key: TimerKey) -> bool {
        let cancelled = self.state.lock().wheel.cancel(key);
        // The alarm is dropped outside the lock: it may hold the last handle on a process.
        cancelled.is_some()
    }

    /// The number of timers that are set, without those of dispatchers.
    pub(crate) fn len(&self) -> usize {
        self.state.lock().wheel.len()
    }

    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.state.lock().wheel.next_due()
    }

    /// Fires what is due. Returns whether anything was.
    pub(crate) fn fire(&self, now: Timestamp) -> bool {
        let due = self.take_due(now);
        let any = !due.is_empty();
        due.into_iter().for_each(|(_, alarm)| ring(alarm));
        any
    }

    /// Takes out what is due, in the order in which it is to fire.
    pub(crate) fn take_due(&self, now: Timestamp) -> Vec<(TimerKey, Alarm)> {
        let mut due = Vec::new();
        self.state.lock().wheel.advance(now, &mut due);
        due
    }

    /// Ends the timer thread. No timer fires any more. Futures that wait for a timer are polled
    /// once more, and then find that the node has stopped.
    pub(crate) fn stop(&self) {
        let wheel = {
            let mut state = self.state.lock();
            state.stopped = true;
            std::mem::replace(&mut state.wheel, Wheel::new())
        };
        self.changed.notify_all();
        wheel.into_alarms().for_each(give_up);
    }

    /// Runs the timer thread.
    pub(crate) fn run(&self, clock: &Arc<Clock>) {
        loop {
            self.fire(clock.now());
            let mut state = self.state.lock();
            if state.stopped {
                return;
            }
            let next = state.wheel.next_due();
            let now = clock.now();
            match next {
                Some(due) if due <= now => {}
                Some(due) => {
                    state.sleeping_until = due;
                    self.changed.wait_for(&mut state, due.since(now));
                }
                None => {
                    state.sleeping_until = Timestamp::MAX;
                    self.changed.wait(&mut state);
                }
            }
            state.sleeping_until = Timestamp::ZERO;
        }
    }
}

/// Discards a timer that will not fire; a future that waits for it is polled once more.
pub(crate) fn give_up(alarm: Alarm) {
    match alarm {
        Alarm::Wake(_) => ring(alarm),
        // Dropping the action may drop user values.
        Alarm::Run(_) | Alarm::Tell(..) => drop(contain(|| drop(alarm))),
    }
}

/// Fires an alarm. A waker may be user code and panic, which must not end the timer thread.
pub(crate) fn ring(alarm: Alarm) {
    let fired = contain(|| match alarm {
        Alarm::Wake(waker) => waker.wake(),
        Alarm::Tell(owner, timer) => {
            if let Some(owner) = owner.upgrade() {
                owner.timer_is_due(timer);
            }
        }
        Alarm::Run(action) => action(),
    });
    if let Err(reason) = fired {
        // The log subscriber is user code too.
        let _ = contain(
            || tracing::error!(target: "krarup", reason = %one_line(&reason), "a timer panicked"),
        );
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::panicking_work;
    use std::sync::mpsc;

    #[test]
    fn t1_a_stopped_node_has_no_timers_and_finds_none_by_an_old_key() {
        let timers = NodeTimers::new();
        let (tell, told) = mpsc::channel();
        for _ in 0..3 {
            timers.set(Timestamp::from_nanos(1), Alarm::Run(panicking_work::work(&tell)));
        }
        assert_eq!(timers.len(), 3);
        timers.stop();
        assert_eq!(told.try_iter().collect::<Vec<_>>(), ["dropped"; 3]);
        let late = timers.set(Timestamp::from_nanos(1), Alarm::Run(Box::new(|| {})));
        assert_eq!((timers.len(), timers.next_due()), (0, None));
        assert!(!timers.cancel(late) && !timers.fire(Timestamp::MAX));
        assert_eq!((late.index, late.generation), (u32::MAX, 0));
    }

    #[test]
    fn t1_a_timer_that_panics_keeps_no_other_from_its_time() {
        let timers = NodeTimers::new();
        let (tell, told) = mpsc::channel();
        let at = Timestamp::from_nanos;
        timers.set(at(1), Alarm::Run(Box::new(|| panic!("timer"))));
        let other = tell.clone();
        timers.set(at(2), Alarm::Run(Box::new(move || other.send(2).unwrap())));
        timers.set(at(3_000_000), Alarm::Run(Box::new(move || tell.send(3).unwrap())));
        assert!(!timers.fire(at(999_999)));
        assert!(timers.fire(at(1_000_000)));
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [2]);
        assert!(!timers.fire(at(2_999_999)) && timers.fire(at(3_000_000)));
        assert_eq!(told.iter().collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn t1_a_log_that_panics_keeps_no_timer_from_its_time_either() {
        let timers = NodeTimers::new();
        let (tell, rang) = mpsc::channel();
        for n in [1, 3] {
            timers.set(Timestamp::from_nanos(n), Alarm::Run(Box::new(|| panic!("timer"))));
        }
        let after = move || tell.send(()).unwrap();
        timers.set(Timestamp::from_nanos(4), Alarm::Run(Box::new(after)));
        let fire = || assert!(timers.fire(Timestamp::MAX));
        assert_eq!(crate::panicking_log::told(fire), 2);
        assert_eq!(rang.try_iter().count(), 1);
    }
}
