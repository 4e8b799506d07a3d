use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

/// Counts how often it was woken.
#[derive(Default)]
struct IdleWorker(AtomicUsize);

impl Wake for IdleWorker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The turns, and what the thread does at its looks, each of them a guard's interval after the one before.
struct GuardedTurns {
    turns: PollTurns,
    seen: Option<SeenPolls>,
    now: Instant,
    worker: Arc<IdleWorker>,
}

impl GuardedTurns {
    /// Workers have the poller, and nobody is inside.
    fn new() -> Self {
        let (turns, worker) = (PollTurns::new(Instant::now), Arc::default());
        let guarded = GuardedTurns { turns, seen: None, now: Instant::now(), worker };
        assert_eq!(guarded.comes(), PollEntry::WakesThread);
        guarded
    }

    fn comes(&self) -> PollEntry {
        self.turns.enter_to_wait(&Waker::from(Arc::clone(&self.worker)))
    }

    /// A worker comes while another one is inside.
    fn idles(&self) {
        assert!(self.turns.enter_to_poll());
        assert_eq!(self.comes(), PollEntry::Occupied);
        self.turns.leave(false);
    }

    /// What the thread does next, if it does not look again.
    fn look(&mut self) -> Option<ThreadTurn> {
        self.now += GUARD_INTERVAL;
        let now = self.now;
        match self.turns.state.lock().look(&mut self.seen, || now) {
            GuardLook::Done(turn) => return Some(turn),
            GuardLook::Wakes(idle) => idle.wake(),
            GuardLook::Again => {}
        }
        None
    }

    fn wakes(&self) -> usize {
        self.worker.0.load(Ordering::Relaxed)
    }
}

#[test]
fn i10_the_thread_waits_until_an_idle_worker_comes_and_sleeps_while_it_is_there() {
    let turns = PollTurns::new(Instant::now);
    assert_eq!(turns.thread_turn(), ThreadTurn::Waits);
    // A busy worker does not take over.
    assert!(!turns.enter_to_poll());
    let mut guarded = GuardedTurns::new();
    assert_eq!(guarded.comes(), PollEntry::Enters);
    assert_eq!(guarded.comes(), PollEntry::Occupied);
    assert!(!guarded.turns.enter_to_poll());
    for _ in 0..=PATIENCE {
        assert_eq!(guarded.look(), None);
        assert!(guarded.turns.state.lock().asleep);
    }
    guarded.turns.leave(false);
    assert!(!guarded.turns.state.lock().asleep);
    assert_eq!(guarded.wakes(), 0);
}

#[test]
fn i10_an_idle_worker_is_woken_if_nobody_has_polled_between_two_looks() {
    let mut guarded = GuardedTurns::new();
    guarded.idles();
    assert_eq!((guarded.look(), guarded.wakes()), (None, 0));
    // A busy worker has.
    assert!(guarded.turns.enter_to_poll());
    guarded.turns.leave(true);
    assert_eq!((guarded.look(), guarded.wakes()), (None, 0));
    assert_eq!((guarded.look(), guarded.wakes()), (None, 1));
    // It was woken once, and is awake.
    assert_eq!((guarded.look(), guarded.wakes()), (None, 1));
}

#[test]
fn i10_a_worker_that_is_back_is_not_woken() {
    let mut guarded = GuardedTurns::new();
    guarded.idles();
    guarded.turns.is_back(&Waker::from(Arc::clone(&guarded.worker)));
    assert_eq!((guarded.look(), guarded.look(), guarded.wakes()), (None, None, 0));
}

#[test]
fn i10_the_thread_tries_before_a_worker_does_after_one_that_failed() {
    let mut guarded = GuardedTurns::new();
    assert_eq!(guarded.comes(), PollEntry::Enters);
    guarded.turns.give_back();
    guarded.turns.leave(false);
    assert_eq!(guarded.comes(), PollEntry::Occupied);
    assert_eq!(guarded.look(), Some(ThreadTurn::Waits));
    assert!(guarded.turns.is_of_thread());
    assert_eq!(guarded.comes(), PollEntry::WakesThread);
}

#[test]
fn i10_the_thread_waits_itself_if_nobody_has_polled_for_some_looks() {
    let mut guarded = GuardedTurns::new();
    for _ in 0..PATIENCE {
        assert_eq!(guarded.look(), None);
    }
    assert_eq!(guarded.look(), Some(ThreadTurn::Waits));
    assert!(!guarded.turns.enter_to_poll());
    assert_eq!(guarded.comes(), PollEntry::WakesThread);
    assert_eq!(guarded.comes(), PollEntry::Enters);
}

#[test]
fn i10_after_a_long_handler_workers_hand_over_at_once_for_some_time() {
    let mut guarded = GuardedTurns::new();
    let leaves = |guarded: &mut GuardedTurns, with_work| {
        let before = guarded.wakes();
        assert!(guarded.turns.enter_to_poll());
        assert_eq!(guarded.comes(), PollEntry::Occupied);
        guarded.turns.leave(with_work);
        guarded.turns.is_back(&Waker::from(Arc::clone(&guarded.worker)));
        guarded.wakes() - before
    };
    assert_eq!(leaves(&mut guarded, true), 0);
    // It is to be woken by the thread once, again soon after the time, and again much later.
    let mut time = EAGER.0;
    for (after, expected) in [
        (Duration::ZERO, EAGER.0),
        (EAGER.0 * (SOON - 2), EAGER.0 * 2),
        (EAGER.0 * 2 * SOON, EAGER.0),
    ] {
        guarded.now += after;
        guarded.idles();
        let before = guarded.wakes();
        guarded.seen = None;
        assert_eq!((guarded.look(), guarded.look()), (None, None));
        assert_eq!(guarded.wakes(), before + 1);
        time = expected;
        assert_eq!((leaves(&mut guarded, false), leaves(&mut guarded, true)), (0, 1));
        // One look before it is over.
        guarded.now += time;
        guarded.now -= GUARD_INTERVAL * 2;
        guarded.look();
        assert_eq!(leaves(&mut guarded, true), 1);
        guarded.look();
        assert_eq!(leaves(&mut guarded, true), 0);
    }
    assert_eq!(time, EAGER.0);
    // Never longer than that.
    for _ in 0..9 {
        let now = guarded.now;
        guarded.turns.state.lock().eager.begin(now);
    }
    assert_eq!(guarded.turns.state.lock().eager.time, EAGER.1);
}

#[test]
fn i10_nobody_enters_and_the_thread_ends_when_all_sockets_are_closed() {
    let guarded = GuardedTurns::new();
    guarded.idles();
    guarded.turns.close();
    // It has a handle on the poller.
    assert_eq!(guarded.wakes(), 1);
    assert!(!guarded.turns.enter_to_poll());
    assert_eq!(guarded.comes(), PollEntry::Closed);
    assert_eq!(guarded.turns.thread_turn(), ThreadTurn::Ends);
}
