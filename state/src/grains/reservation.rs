//! Reservation of room for one message to a grain, and how a sender waits for it (rules K2, M6).
//!
//! The room may move before it is used: see [`super::entry`]. So a permit holds only the
//! key of its grain.
//!
//! ```text
//!   look ──► there is room, or it was granted ─────────────────────────────────► permit
//!    ▲ ▲     no grain runs, or others are before it ───► in line ──┐
//!    │ └───────────── it was granted room, or is the first ◄───────┘
//!    │       it is the first, and the grain runs ──► in the line of its mailbox ──► permit
//!    └────────────────────────────────────────────────── ended meanwhile ◄──┘
//! ```

use crate::grains::after_unlock::AfterUnlock;
use crate::grains::calls::ToGrain;
use crate::grains::directory::SharedDirectory;
use crate::grains::entry::GrainLookup;
use krarup_act::{Address, Permit, current_pid};
use krarup_gen::{Pid, SendError};
use std::future::poll_fn;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Waits for room at the grain of this key.
pub(crate) async fn place<K, M, C>(
    shared: Arc<SharedDirectory<K, M, C>>,
    key: K,
) -> Result<GrainPermit<K, M, C>, SendError<()>>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    let mut wait = GrainWait { shared: &shared, key: &key, ticket: None, at: None };
    poll_fn(|cx| wait.poll(cx)).await?;
    drop(wait);
    Ok(GrainPermit { shared, key: Some(key) })
}

/// A future of room in the mailbox of a grain.
type InMailbox<M> = Pin<Box<dyn Future<Output = Result<Permit<M>, SendError<()>>> + Send>>;

/// A wait for room. Dropping it gives it up.
struct GrainWait<'a, K, M: Send + 'static, C: Send + 'static>
where
    K: Hash + Eq + Clone,
{
    shared: &'a SharedDirectory<K, M, C>,
    key: &'a K,
    /// Its ticket, while it stands in line.
    ticket: Option<u64>,
    /// The grain whose mailbox's line it waits in, as the first of the waiting senders.
    at: Option<(Pid, InMailbox<M>)>,
}

impl<K, M, C> GrainWait<'_, K, M, C>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SendError<()>>> {
        loop {
            let grain = match self.look(cx) {
                Ok(GrainLookup::Place) => return Poll::Ready(Ok(())),
                Ok(GrainLookup::Itself(to)) => {
                    return Poll::Ready(Err(SendError::OwnMailbox { message: (), to }));
                }
                Err(()) => {
                    let to = self.shared.delegate.process();
                    return Poll::Ready(Err(SendError::NoProcess { message: (), to }));
                }
                Ok(GrainLookup::InLine) => {
                    self.at = None;
                    return Poll::Pending;
                }
                Ok(GrainLookup::At(grain)) => grain,
            };
            let pid = grain.pid();
            let (_, room) = match self.at.take() {
                Some(at) if at.0 == pid => self.at.insert(at),
                _ => self.at.insert((pid, in_mailbox(grain))),
            };
            let Poll::Ready(found) = room.as_mut().poll(cx) else { return Poll::Pending };
            self.at = None;
            match found {
                Ok(permit) => {
                    if self.keep_at(pid, permit) {
                        return Poll::Ready(Ok(()));
                    }
                }
                Err(SendError::NoProcess { .. }) => self.shared.has_left(self.key, pid),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn look(&mut self, cx: &Context<'_>) -> Result<GrainLookup<M, C>, ()> {
        let (waker, myself) = (cx.waker().clone(), current_pid());
        let mut after = AfterUnlock::default();
        let ticket = &mut self.ticket;
        let found = self.shared.with_entry(self.key, waker, |entry, bound, waker| {
            entry.look(ticket, myself, bound, waker, &mut after)
        });
        found
            .map(|(directory, found)| {
                drop(directory);
                found
            })
            .map_err(drop)
    }

    /// Stores room in the mailbox of a grain. Returns false, and gives the room back, if
    /// the grain is no longer running.
    fn keep_at(&mut self, pid: Pid, permit: Permit<M>) -> bool {
        let ticket = &mut self.ticket;
        self.shared.keep_at(self.key, pid, permit, ticket)
    }
}

fn in_mailbox<M: Send + 'static, C: Send + 'static>(grain: Address<M, C>) -> InMailbox<M> {
    Box::pin(async move { grain.reserve_or_wait().await })
}

impl<K, M, C> Drop for GrainWait<'_, K, M, C>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    fn drop(&mut self) {
        self.at = None;
        if let Some(ticket) = self.ticket.take() {
            self.shared.leave_line(self.key, ticket);
        }
    }
}

/// Room for one message, wherever it is when it is used.
pub(crate) struct GrainPermit<K, M, C>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    shared: Arc<SharedDirectory<K, M, C>>,
    /// Taken when the permit is used.
    key: Option<K>,
}

impl<K, M, C> GrainPermit<K, M, C>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    M: Send + 'static,
    C: Send + 'static,
{
    /// Converts this to the general permit type for a sender.
    pub(crate) fn into_permit(self) -> Permit<ToGrain<K, M>> {
        let holder = self.shared.delegate.process();
        Permit::on_route(holder, move |letter: ToGrain<K, M>, sender| {
            self.fill(letter.message, sender);
        })
    }

    pub(crate) fn fill(mut self, message: M, sender: u64) {
        if let Some(key) = self.key.take() {
            self.shared.fill(key, message, sender);
        }
    }
}

impl<K, M, C> Drop for GrainPermit<K, M, C>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.shared.give_back(&key);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{GrainPermit, place};
    use crate::grains::directory::SharedDirectory;
    use crate::grains::entry::{GrainEntry, GrainStage};
    use krarup_act::{Address, Context, Delegate, behavior_fn};
    use krarup_gen::SendError;
    use krarup_node::Simulation;
    use std::pin::{Pin, pin};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex, mpsc};
    use std::task::{self, Poll, Wake, Waker};

    pub(crate) type Tills = SharedDirectory<u32, u64, u64>;

    /// Returns a keeper's delegate, and a process with a bound of 2 that never receives.
    pub(crate) fn world(sim: &Simulation) -> (Delegate, Address<u64>) {
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

    pub(crate) fn at_once(tills: &Arc<Tills>) -> Option<GrainPermit<u32, u64, u64>> {
        let cx = &mut task::Context::from_waker(Waker::noop());
        match pin!(place(Arc::clone(tills), 1)).poll(cx) {
            Poll::Ready(place) => Some(place.unwrap()),
            Poll::Pending => None,
        }
    }

    pub(crate) fn sends(tills: &Arc<Tills>, message: u64) -> bool {
        tills.send(1, message, 0).is_ok()
    }

    pub(crate) fn held(tills: &Tills) -> Vec<u64> {
        tills.directory.lock().entries.get(&1).map_or(Vec::new(), |entry| entry.held().collect())
    }

    pub(crate) fn is_there(tills: &Tills, grain: &Address<u64>) {
        let mut entry = GrainEntry::away(1);
        entry.stage = GrainStage::Present { grain: grain.clone(), kept: Vec::new() };
        tills.directory.lock().entries.insert(1, entry);
    }

    #[test]
    fn k2_a_permit_of_an_absent_grain_counts_until_it_is_used_or_given_back() {
        let sim = Simulation::new(1);
        let tills = Tills::new(2, world(&sim).0);
        let (one, other) = (at_once(&tills).unwrap(), at_once(&tills).unwrap());
        assert!(at_once(&tills).is_none() && !sends(&tills, 5));
        // No grain is spawned for a message that may never be sent.
        assert!(tills.directory.lock().wanted.is_empty());
        drop(one);
        assert!(sends(&tills, 6) && !sends(&tills, 7));
        other.fill(8, 0);
        assert_eq!(held(&tills), [6, 8]);
        assert_eq!(tills.directory.lock().wanted, [1], "wanted once");
    }

    #[test]
    fn k2_a_dropped_permit_leaves_no_entry() {
        let sim = Simulation::new(1);
        let tills = Tills::new(1, world(&sim).0);
        let only = at_once(&tills).unwrap();
        assert!(at_once(&tills).is_none());
        drop(only);
        assert!(tills.directory.lock().entries.is_empty());
    }

    #[test]
    fn k2_an_ending_grain_passes_its_permits_to_the_next_one() {
        let sim = Simulation::new(1);
        let (delegate, grain) = world(&sim);
        let tills = Tills::new(2, delegate);
        let pid = grain.pid();
        is_there(&tills, &grain);
        let (one, other) = (at_once(&tills).unwrap(), at_once(&tills).unwrap());
        assert!(!sends(&tills, 5) && grain.reserve().is_err(), "they are places in its mailbox");
        assert!(!tills.lets_go(&1, pid), "it is needed");
        one.fill(6, 0);
        assert_eq!(grain.waiting(), 2, "one message and one place");
        tills.release(&1);
        assert_eq!(grain.waiting(), 1, "the place is not there any more");
        assert!(sends(&tills, 7) && !sends(&tills, 8));
        tills.gone(1, pid);
        assert!(!sends(&tills, 9));
        other.fill(10, 0);
        assert_eq!(held(&tills), [7, 10]);
        assert_eq!(tills.directory.lock().wanted, [1]);
    }

    #[test]
    fn k2_a_permit_alone_carries_over_to_the_next_grain() {
        let sim = Simulation::new(1);
        let (delegate, grain) = world(&sim);
        let tills = Tills::new(2, delegate);
        is_there(&tills, &grain);
        let only = at_once(&tills).unwrap();
        sim.kill(grain.pid());
        sim.run_until_idle();
        tills.gone(1, grain.pid());
        assert!(tills.directory.lock().wanted.is_empty());
        only.fill(3, 0);
        assert_eq!((held(&tills), tills.directory.lock().wanted.clone()), (vec![3], vec![1]));
    }

    pub(crate) type Waiting =
        Pin<Box<dyn Future<Output = Result<GrainPermit<u32, u64, u64>, SendError<()>>> + Send>>;

    pub(crate) fn waits_at(tills: &Arc<Tills>, key: u32) -> Waiting {
        Box::pin(place(Arc::clone(tills), key))
    }

    pub(crate) fn polled(
        waiting: &mut Waiting,
        waker: &Waker,
    ) -> Option<GrainPermit<u32, u64, u64>> {
        match waiting.as_mut().poll(&mut task::Context::from_waker(waker)) {
            Poll::Ready(place) => Some(place.unwrap()),
            Poll::Pending => None,
        }
    }

    /// Records its number when it is woken, and then panics if the flag is set.
    struct Notes(usize, Arc<Mutex<Vec<usize>>>, bool);

    impl Wake for Notes {
        fn wake(self: Arc<Self>) {
            self.1.lock().unwrap().push(self.0);
            assert!(!self.2, "a waker that panics");
        }
    }

    /// Makes this many senders wait for room at grain 1. Returns them and the list of
    /// those that were woken.
    pub(crate) fn a_line(
        tills: &Arc<Tills>,
        most: usize,
    ) -> (Vec<Waiting>, Arc<Mutex<Vec<usize>>>) {
        let woken = Arc::default();
        let line = (0..most).map(|number| {
            let waker = Waker::from(Arc::new(Notes(number, Arc::clone(&woken), number == 0)));
            let mut waiting = waits_at(tills, 1);
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
        let tills = Tills::new(3, world(&sim).0);
        let mut places: Vec<_> = (0..3).map(|_| at_once(&tills).unwrap()).collect();
        let (mut line, woken) = a_line(&tills, 10);
        let noop = Waker::noop();
        // The first panics when it is woken, which does not affect the others.
        places.clear();
        assert_eq!(take(&woken), [0, 1, 2]);
        assert!(!sends(&tills, 1), "the permits belong to the waiting senders");
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
        assert_eq!(held(&tills), [7, 7, 7]);
        assert_eq!(tills.give_up(&1).len(), 3);
        assert_eq!(take(&woken), [6, 7, 8]);
        drop(line);
        assert_eq!(take(&woken), [9], "the last one, by a waiter that was dropped");
        assert!(tills.directory.lock().entries.is_empty());
    }

    #[test]
    fn k2_waiters_of_an_ended_grain_wait_for_the_next_one_and_get_its_room() {
        let sim = Simulation::new(1);
        let (delegate, grain) = world(&sim);
        let tills = Tills::new(2, delegate);
        is_there(&tills, &grain);
        assert!(sends(&tills, 1) && sends(&tills, 2) && !sends(&tills, 3));
        let (mut line, woken) = a_line(&tills, 5);
        assert!(line.iter_mut().skip(1).all(|waiting| polled(waiting, Waker::noop()).is_none()));
        let noop = Waker::noop();
        // Only the first waits at the mailbox. If it gives up, the next one is called.
        drop(line.remove(0));
        drop(line.remove(0));
        assert_eq!(take(&woken), Vec::<usize>::new(), "it had another waker by then");
        let (more, woken) = a_line(&tills, 3);
        line.extend(more);
        tills.gone(1, grain.pid());
        assert_eq!(take(&woken), Vec::<usize>::new(), "two have room, and stood before them");
        let places: Vec<_> = line.iter_mut().filter_map(|waiting| polled(waiting, noop)).collect();
        assert_eq!(places.len(), 2);
        for place in places {
            place.fill(4, 0);
        }
        let (_, next) = world(&sim);
        assert!(tills.move_in(&1, &next).is_empty());
        assert_eq!((next.waiting(), held(&tills).len()), (2, 0));
    }

    #[test]
    fn k2_messages_a_new_grain_has_no_room_for_go_to_the_next_one() {
        let sim = Simulation::new(1);
        let (delegate, grain) = world(&sim);
        let tills = Tills::new(2, delegate);
        assert!(sends(&tills, 1));
        let place = at_once(&tills).unwrap();
        // Another sender has found the grain by its name before it got the held messages.
        grain.send(9).unwrap();
        assert!(tills.move_in(&1, &grain).is_empty());
        assert!(sends(&tills, 2), "for the next one");
        sim.run_until_idle();
        sim.kill(grain.pid());
        sim.run_until_idle();
        tills.gone(1, grain.pid());
        place.fill(3, 0);
        assert_eq!(held(&tills), [2, 3]);
        // A grain that has no room even for the held messages.
        let (_, full) = world(&sim);
        full.send(8).unwrap();
        assert!(tills.move_in(&1, &full).is_empty());
        assert_eq!((held(&tills), full.waiting()), (vec![3], 2));
        let (delegate, full) = world(&sim);
        let tills = Tills::new(3, delegate);
        assert!((1..4).all(|message| sends(&tills, message)));
        full.send(8).unwrap();
        assert!(tills.move_in(&1, &full).is_empty());
        assert_eq!((held(&tills), full.waiting()), (vec![2, 3], 2));
    }

    #[test]
    fn k2_with_100_000_waiters_each_free_permit_wakes_one() {
        const MANY: usize = 100_000;
        struct Counts(AtomicUsize);
        impl Wake for Counts {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let sim = Simulation::new(1);
        let tills = Tills::new(1, world(&sim).0);
        let mut place = at_once(&tills);
        let wakes = Arc::new(Counts(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&wakes));
        let mut line: Vec<_> = (0..MANY).map(|_| waits_at(&tills, 1)).collect();
        for _ in 0..2 {
            assert!(line.iter_mut().all(|waiting| polled(waiting, &waker).is_none()));
        }
        for waiting in &mut line[..MANY / 2] {
            drop(place.take());
            place = polled(waiting, &waker);
            assert!(place.is_some());
        }
        assert_eq!(wakes.0.load(Ordering::Relaxed), MANY / 2);
        // The others give up, the last arrivals first.
        while let Some(waiting) = line.pop() {
            drop(waiting);
        }
        assert_eq!(wakes.0.load(Ordering::Relaxed), MANY / 2);
    }

    #[test]
    fn k3_when_the_keeper_ends_waiters_are_notified_in_order_of_their_keys_first_messages() {
        let sim = Simulation::new(1);
        let tills = Tills::new(1, world(&sim).0);
        let woken = Arc::default();
        let mut all = Vec::new();
        for number in 0..50 {
            let key = u32::try_from(number * 7 % 50).unwrap();
            let place = pin!(place(Arc::clone(&tills), key))
                .poll(&mut task::Context::from_waker(Waker::noop()));
            let waiting = [2 * number, 2 * number + 1].map(|number| {
                let waker = Waker::from(Arc::new(Notes(number, Arc::clone(&woken), number == 6)));
                let mut waiting = waits_at(&tills, key);
                assert!(polled(&mut waiting, &waker).is_none());
                waiting
            });
            all.push((place, waiting));
        }
        assert!(tills.close().iter().all(|(_, held)| held.is_empty()));
        assert!(take(&woken).into_iter().eq(0..100));
        for waiting in all.iter_mut().flat_map(|(_, waiting)| waiting) {
            let refused = waiting.as_mut().poll(&mut task::Context::from_waker(Waker::noop()));
            assert!(matches!(refused, Poll::Ready(Err(SendError::NoProcess { .. }))));
        }
    }
}
