//! Tests of room at grains, and what the tests of the directory share with them.

use super::{GrainPermit, place};
use crate::grains::directory::SharedDirectory;
use crate::grains::entry::{GrainEntry, GrainStage};
use crate::wake_count::WakeCount;
use krarup_act::{Address, BehaviorContext, Context, Delegate, behavior_fn};
use krarup_gen::SendError;
use krarup_node::Simulation;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{self, Poll, Wake, Waker};

pub(crate) type TestDirectory = SharedDirectory<u32, u64, u64>;

/// Returns a keeper's delegate, and a process with a bound of 2 that never receives.
pub(crate) fn keeper_and_grain(sim: &Simulation) -> (Delegate, Address<u64>) {
    let (tell, told) = mpsc::channel();
    let process = sim
        .spawn(move || {
            behavior_fn(move |mut ctx: Context<u64>| async move {
                ctx.initialised();
                tell.send(ctx.delegate()).ok();
                std::future::pending::<()>().await;
                drop(ctx.receive().await);
                Ok(())
            })
        })
        .mailbox(2)
        .wait()
        .unwrap();
    (told.recv().unwrap(), process)
}

pub(crate) fn at_once(shared: &Arc<TestDirectory>) -> Option<GrainPermit<u32, u64, u64>> {
    let cx = &mut task::Context::from_waker(Waker::noop());
    match pin!(place(Arc::clone(shared), 1)).poll(cx) {
        Poll::Ready(place) => Some(place.unwrap()),
        Poll::Pending => None,
    }
}

pub(crate) fn sends(shared: &Arc<TestDirectory>, message: u64) -> bool {
    shared.send(1, message, 0).is_ok()
}

pub(crate) fn held(shared: &TestDirectory) -> Vec<u64> {
    shared.directory.lock().entries.get(&1).map_or(Vec::new(), |entry| entry.held().collect())
}

pub(crate) fn make_present(shared: &TestDirectory, grain: &Address<u64>) {
    let mut entry = GrainEntry::away(1);
    entry.stage = GrainStage::Present { grain: grain.clone(), kept: Vec::new() };
    shared.directory.lock().entries.insert(1, entry);
}

#[test]
fn k2_a_permit_of_an_absent_grain_counts_until_it_is_used_or_given_back() {
    let sim = Simulation::new(1);
    let shared = TestDirectory::new(2, keeper_and_grain(&sim).0);
    let (one, other) = (at_once(&shared).unwrap(), at_once(&shared).unwrap());
    assert!(at_once(&shared).is_none() && !sends(&shared, 5));
    // No grain is spawned for a message that may never be sent.
    assert!(shared.directory.lock().wanted.is_empty());
    drop(one);
    assert!(sends(&shared, 6) && !sends(&shared, 7));
    other.fill(8, 0);
    assert_eq!(held(&shared), [6, 8]);
    assert_eq!(shared.directory.lock().wanted, [1], "wanted once");
}

#[test]
fn k2_a_dropped_permit_leaves_no_entry() {
    let sim = Simulation::new(1);
    let shared = TestDirectory::new(1, keeper_and_grain(&sim).0);
    let only = at_once(&shared).unwrap();
    assert!(at_once(&shared).is_none());
    drop(only);
    assert!(shared.directory.lock().entries.is_empty());
}

#[test]
fn k2_an_ending_grain_passes_its_permits_to_the_next_one() {
    let sim = Simulation::new(1);
    let (delegate, grain) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(2, delegate);
    let pid = grain.pid();
    make_present(&shared, &grain);
    let (one, other) = (at_once(&shared).unwrap(), at_once(&shared).unwrap());
    assert!(!sends(&shared, 5) && grain.reserve().is_err(), "they are places in its mailbox");
    assert!(!shared.lets_go(&1, pid), "it is needed");
    one.fill(6, 0);
    assert_eq!(grain.waiting(), 2, "one message and one place");
    shared.release(&1);
    assert_eq!(grain.waiting(), 1, "the place is not there any more");
    assert!(sends(&shared, 7) && !sends(&shared, 8));
    shared.gone(1, pid);
    assert!(!sends(&shared, 9));
    other.fill(10, 0);
    assert_eq!(held(&shared), [7, 10]);
    assert_eq!(shared.directory.lock().wanted, [1]);
}

#[test]
fn k2_a_permit_alone_carries_over_to_the_next_grain() {
    let sim = Simulation::new(1);
    let (delegate, grain) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(2, delegate);
    make_present(&shared, &grain);
    let only = at_once(&shared).unwrap();
    sim.kill(grain.pid());
    sim.run_until_idle();
    shared.gone(1, grain.pid());
    assert!(shared.directory.lock().wanted.is_empty());
    only.fill(3, 0);
    assert_eq!((held(&shared), shared.directory.lock().wanted.clone()), (vec![3], vec![1]));
}

pub(crate) type Waiting =
    Pin<Box<dyn Future<Output = Result<GrainPermit<u32, u64, u64>, SendError<()>>> + Send>>;

pub(crate) fn waits_at(shared: &Arc<TestDirectory>, key: u32) -> Waiting {
    Box::pin(place(Arc::clone(shared), key))
}

pub(crate) fn polled(waiting: &mut Waiting, waker: &Waker) -> Option<GrainPermit<u32, u64, u64>> {
    match waiting.as_mut().poll(&mut task::Context::from_waker(waker)) {
        Poll::Ready(place) => Some(place.unwrap()),
        Poll::Pending => None,
    }
}

/// Records its number when it is woken, and then panics if the flag is set.
struct RecordingWaker(usize, Arc<Mutex<Vec<usize>>>, bool);

impl Wake for RecordingWaker {
    fn wake(self: Arc<Self>) {
        self.1.lock().unwrap().push(self.0);
        assert!(!self.2, "a waker that panics");
    }
}

/// Makes this many senders wait for room at grain 1. Returns them and the list of
/// those that were woken.
pub(crate) fn waiting_line_of(
    shared: &Arc<TestDirectory>,
    most: usize,
) -> (Vec<Waiting>, Arc<Mutex<Vec<usize>>>) {
    let woken = Arc::default();
    let line = (0..most).map(|number| {
        let waker = Waker::from(Arc::new(RecordingWaker(number, Arc::clone(&woken), number == 0)));
        let mut waiting = waits_at(shared, 1);
        assert!(polled(&mut waiting, &waker).is_none());
        waiting
    });
    (line.collect(), woken)
}

pub(crate) fn take(woken: &Mutex<Vec<usize>>) -> Vec<usize> {
    std::mem::take(&mut *woken.lock().unwrap())
}

#[test]
fn k2_each_free_permit_wakes_one_waiter_and_an_abandoned_one_is_passed_on() {
    let sim = Simulation::new(1);
    let shared = TestDirectory::new(3, keeper_and_grain(&sim).0);
    let mut places: Vec<_> = (0..3).map(|_| at_once(&shared).unwrap()).collect();
    let (mut line, woken) = waiting_line_of(&shared, 10);
    let noop = Waker::noop();
    // The first panics when it is woken, which does not affect the others.
    places.clear();
    assert_eq!(take(&woken), [0, 1, 2]);
    assert!(!sends(&shared, 1), "the permits belong to the waiting senders");
    let taken = polled(&mut line[1], noop).unwrap();
    // Give up one sender that was granted room, and one that waits.
    drop(line.remove(0));
    assert_eq!(take(&woken), [3]);
    drop(line.remove(3));
    assert_eq!(take(&woken), Vec::<usize>::new());
    drop(taken);
    assert_eq!(take(&woken), [5]);
    // Losing the held messages frees as much room.
    for granted in [1, 2, 3] {
        polled(&mut line[granted], noop).unwrap().fill(7, 0);
    }
    assert_eq!(held(&shared), [7, 7, 7]);
    assert_eq!(shared.give_up(&1).len(), 3);
    assert_eq!(take(&woken), [6, 7, 8]);
    drop(line);
    assert_eq!(take(&woken), [9], "the last one, by a waiter that was dropped");
    assert!(shared.directory.lock().entries.is_empty());
}

#[test]
fn k2_waiters_of_an_ended_grain_wait_for_the_next_one_and_get_its_room() {
    let sim = Simulation::new(1);
    let (delegate, grain) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(2, delegate);
    make_present(&shared, &grain);
    assert!(sends(&shared, 1) && sends(&shared, 2) && !sends(&shared, 3));
    let (mut line, woken) = waiting_line_of(&shared, 5);
    assert!(line.iter_mut().skip(1).all(|waiting| polled(waiting, Waker::noop()).is_none()));
    let noop = Waker::noop();
    // Only the first waits at the mailbox. If it gives up, the next one is called.
    drop(line.remove(0));
    drop(line.remove(0));
    assert_eq!(take(&woken), Vec::<usize>::new(), "it had another waker by then");
    let (more, woken) = waiting_line_of(&shared, 3);
    line.extend(more);
    shared.gone(1, grain.pid());
    assert_eq!(take(&woken), Vec::<usize>::new(), "two have room, and stood before them");
    let places: Vec<_> = line.iter_mut().filter_map(|waiting| polled(waiting, noop)).collect();
    assert_eq!(places.len(), 2);
    for place in places {
        place.fill(4, 0);
    }
    let (_, next) = keeper_and_grain(&sim);
    assert!(shared.move_in(&1, &next).is_empty());
    assert_eq!((next.waiting(), held(&shared).len()), (2, 0));
}

#[test]
fn k2_messages_a_new_grain_has_no_room_for_go_to_the_next_one() {
    let sim = Simulation::new(1);
    let (delegate, grain) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(2, delegate);
    assert!(sends(&shared, 1));
    let place = at_once(&shared).unwrap();
    // Another sender has found the grain by its name before it got the held messages.
    grain.send(9).unwrap();
    assert!(shared.move_in(&1, &grain).is_empty());
    assert!(sends(&shared, 2), "for the next one");
    sim.run_until_idle();
    sim.kill(grain.pid());
    sim.run_until_idle();
    shared.gone(1, grain.pid());
    place.fill(3, 0);
    assert_eq!(held(&shared), [2, 3]);
    // A grain that has no room even for the held messages.
    let (_, full) = keeper_and_grain(&sim);
    full.send(8).unwrap();
    assert!(shared.move_in(&1, &full).is_empty());
    assert_eq!((held(&shared), full.waiting()), (vec![3], 2));
    let (delegate, full) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(3, delegate);
    assert!((1..4).all(|message| sends(&shared, message)));
    full.send(8).unwrap();
    assert!(shared.move_in(&1, &full).is_empty());
    assert_eq!((held(&shared), full.waiting()), (vec![2, 3], 2));
}

#[test]
fn k2_with_100_000_waiters_each_free_permit_wakes_one() {
    const MANY: usize = 100_000;
    let sim = Simulation::new(1);
    let shared = TestDirectory::new(1, keeper_and_grain(&sim).0);
    let mut place = at_once(&shared);
    let (wakes, waker) = WakeCount::with_waker();
    let mut line: Vec<_> = (0..MANY).map(|_| waits_at(&shared, 1)).collect();
    for _ in 0..2 {
        assert!(line.iter_mut().all(|waiting| polled(waiting, &waker).is_none()));
    }
    for waiting in &mut line[..MANY / 2] {
        drop(place.take());
        place = polled(waiting, &waker);
        assert!(place.is_some());
    }
    assert_eq!(wakes.count(), MANY / 2);
    // The others give up, the last arrivals first.
    while let Some(waiting) = line.pop() {
        drop(waiting);
    }
    assert_eq!(wakes.count(), MANY / 2);
}

#[test]
fn k3_when_the_keeper_ends_waiters_are_notified_in_order_of_their_keys_first_messages() {
    let sim = Simulation::new(1);
    let shared = TestDirectory::new(1, keeper_and_grain(&sim).0);
    let woken = Arc::default();
    let mut all = Vec::new();
    for number in 0..50 {
        let key = u32::try_from(number * 7 % 50).unwrap();
        let place = pin!(place(Arc::clone(&shared), key))
            .poll(&mut task::Context::from_waker(Waker::noop()));
        let waiting = [2 * number, 2 * number + 1].map(|number| {
            let waker =
                Waker::from(Arc::new(RecordingWaker(number, Arc::clone(&woken), number == 6)));
            let mut waiting = waits_at(&shared, key);
            assert!(polled(&mut waiting, &waker).is_none());
            waiting
        });
        all.push((place, waiting));
    }
    assert!(shared.close().iter().all(|(_, held)| held.is_empty()));
    assert!(take(&woken).into_iter().eq(0..100));
    for waiting in all.iter_mut().flat_map(|(_, waiting)| waiting) {
        let refused = waiting.as_mut().poll(&mut task::Context::from_waker(Waker::noop()));
        assert!(matches!(refused, Poll::Ready(Err(SendError::NoProcess { .. }))));
    }
}
