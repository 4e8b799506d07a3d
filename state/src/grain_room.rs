//! Room for one message to a grain, and who waits for it (rules K2, M6).
//!
//! A place at a grain that is there is room in its mailbox; at one that is not, it counts among
//! what may be held for it. Which of the two may change before the place is used, so it lies in
//! the book: a grain that goes gives its places to the next one, and who has one has only the
//! key.
//!
//! ```text
//!   wait ──► nobody is there, and there is room ─────────────────────────────► place
//!    ▲       nobody is there, and as many are held as may be ──► in line ──┐
//!    ├─────────────────────────────── it has come, or room has come free ◄─┘
//!    │       it is there ──► in the line of its mailbox ──► still there ────► place
//!    └────────────────────────────────────────── gone meanwhile ◄──┘
//! ```

use crate::grain_book::{Queue, Room, Shared};
use crate::grain_calls::ToGrain;
use krarup_act::{Address, Permit, holding};
use krarup_gen::{Pid, SendError};
use std::future::poll_fn;
use std::hash::Hash;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Waits for a place at the grain of this key.
pub(crate) async fn place<K, M, C>(
    shared: Arc<Shared<K, M, C>>,
    key: K,
) -> Result<Place<K, M, C>, SendError<()>>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    loop {
        let mut wait = Wait { shared: &shared, key: &key, number: None };
        let found = poll_fn(|cx| wait.poll(cx)).await;
        drop(wait);
        let grain = match found {
            Found::Place => break,
            Found::Closed => return Err(SendError::NoProcess(())),
            Found::Grain(grain) => grain,
        };
        match grain.reserve_or_wait().await {
            Ok(permit) => {
                if shared.keep_at(&key, grain.pid(), permit) {
                    break;
                }
            }
            Err(SendError::NoProcess(())) => shared.has_left(&key, grain.pid()),
            Err(error) => return Err(error),
        }
    }
    Ok(Place { shared, key: Some(key) })
}

/// What came of looking for a place.
enum Found<M, C> {
    /// One is kept.
    Place,
    /// The grain is there: room is in its mailbox.
    Grain(Address<M, C>),
    /// There are no grains any more.
    Closed,
}

/// A wait for a place; left when it is dropped.
struct Wait<'a, K, M: Send + 'static, C: Send + 'static>
where
    K: Hash + Eq + Clone,
{
    shared: &'a Shared<K, M, C>,
    key: &'a K,
    /// Its number in the line.
    number: Option<u64>,
}

impl<K, M, C> Wait<'_, K, M, C>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    fn poll(&mut self, cx: &Context<'_>) -> Poll<Found<M, C>> {
        let mut book = self.shared.book.lock();
        if book.closed {
            return Poll::Ready(Found::Closed);
        }
        let (bound, fresh) = (book.bound, book.waits);
        let Some(room) = book.rooms.get_mut(self.key) else {
            book.rooms.insert(self.key.clone(), Room::Away(Queue::with_places(1)));
            return Poll::Ready(Found::Place);
        };
        let queue = match room {
            Room::Present { grain, .. } => return Poll::Ready(Found::Grain(grain.clone())),
            Room::Away(queue) | Room::Leaving { queue, .. } => queue,
        };
        if queue.has_room(bound) {
            queue.kept += 1;
            return Poll::Ready(Found::Place);
        }
        let number = *self.number.get_or_insert(fresh);
        match queue.line.iter_mut().find(|(other, _)| *other == number) {
            Some((_, waker)) => waker.clone_from(cx.waker()),
            None => queue.line.push((number, cx.waker().clone())),
        }
        book.waits = book.waits.max(number + 1);
        Poll::Pending
    }
}

impl<K, M, C> Drop for Wait<'_, K, M, C>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let mut book = self.shared.book.lock();
        if let Some((queue, _)) = book.rooms.get_mut(self.key).and_then(Room::queue) {
            queue.line.retain(|(other, _)| *other != number);
        }
        book.forget(self.key);
    }
}

/// Room for one message, wherever it is when it is used.
pub(crate) struct Place<K, M, C>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    shared: Arc<Shared<K, M, C>>,
    /// Taken when it is used.
    key: Option<K>,
}

impl<K, M, C> Place<K, M, C>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    M: Send + 'static,
    C: Send + 'static,
{
    /// As what it is to whoever sends.
    pub(crate) fn into_permit(self) -> Permit<ToGrain<K, M>> {
        let holder = self.shared.agent.process();
        Permit::on_route(holder, move |letter: ToGrain<K, M>, sender| {
            self.fill(letter.message, sender);
        })
    }

    fn fill(mut self, message: M, sender: u64) {
        if let Some(key) = self.key.take() {
            self.shared.fill(key, message, sender);
        }
    }
}

impl<K, M, C> Drop for Place<K, M, C>
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

impl<K, M, C> Shared<K, M, C>
where
    K: Hash + Eq + Clone,
    M: Send + 'static,
    C: Send + 'static,
{
    /// Keeps room in the mailbox of a grain; false, and given back, if it is not there any more.
    fn keep_at(&self, key: &K, pid: Pid, permit: Permit<M>) -> bool {
        // Given back behind the lock.
        let mut permit = Some(permit);
        let mut book = self.book.lock();
        match book.rooms.get_mut(key) {
            Some(Room::Present { grain, kept, .. }) if grain.pid() == pid => {
                kept.extend(permit.take());
                true
            }
            _ => false,
        }
    }

    /// A grain takes nothing any more, and the keeper has not heard of it yet.
    fn has_left(&self, key: &K, pid: Pid) {
        let kept;
        let mut book = self.book.lock();
        kept = match book.rooms.get_mut(key) {
            Some(room @ Room::Present { .. }) if room.is_of(pid) => room.leave(),
            _ => Vec::new(),
        };
        drop(book);
        drop(kept);
    }

    /// Puts a message where its place is by now.
    fn fill(&self, key: K, message: M, sender: u64) {
        holding(|| self.fill_locked(key, message, sender));
    }

    fn fill_locked(&self, key: K, message: M, sender: u64) {
        let kept;
        let mut book = self.book.lock();
        let Some(room) = book.rooms.get_mut(&key) else {
            // They have closed.
            drop(book);
            return self.agent.lose(ToGrain { key, message }, sender);
        };
        if let Room::Present { grain, touched, kept } = room
            && grain.is_alive()
            && let Some(permit) = kept.pop()
        {
            *touched = true;
            return permit.send_from(message, sender);
        }
        kept = room.leave();
        let Some((queue, away)) = room.queue() else { return };
        queue.kept = queue.kept.saturating_sub(1);
        if queue.hold(&self.agent, (message, sender)) && away {
            let sleeper = book.want(key);
            drop(book);
            sleeper.into_iter().for_each(Waker::wake);
        }
        drop(kept);
    }

    /// A place was not used.
    fn give_back(&self, key: &K) {
        let mut line = Vec::new();
        let mut permit = None;
        let mut book = self.book.lock();
        match book.rooms.get_mut(key) {
            Some(Room::Present { kept, .. }) => permit = kept.pop(),
            Some(Room::Away(queue) | Room::Leaving { queue, .. }) => {
                queue.kept = queue.kept.saturating_sub(1);
                line = std::mem::take(&mut queue.line);
            }
            None => {}
        }
        book.forget(key);
        drop(book);
        drop(permit);
        line.into_iter().for_each(|(_, waker)| waker.wake());
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, place};
    use crate::grain_book::{Room, Shared};
    use krarup_act::{Address, Agent, Context, behavior_fn};
    use krarup_node::Simulation;
    use std::pin::pin;
    use std::sync::{Arc, mpsc};
    use std::task::{self, Poll, Waker};

    type Tills = Shared<u32, u64, u64>;

    /// A keeper's agent, and a process with room for two that never looks.
    fn world(sim: &Simulation) -> (Agent, Address<u64>) {
        let (tell, told) = mpsc::channel();
        let process = sim
            .spawn(move || {
                behavior_fn(move |mut ctx: Context<u64>| async move {
                    ctx.initialised();
                    tell.send(ctx.agent()).ok();
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

    fn at_once(tills: &Arc<Tills>) -> Option<Place<u32, u64, u64>> {
        let cx = &mut task::Context::from_waker(Waker::noop());
        match pin!(place(Arc::clone(tills), 1)).poll(cx) {
            Poll::Ready(place) => Some(place.unwrap()),
            Poll::Pending => None,
        }
    }

    fn sends(tills: &Arc<Tills>, message: u64) -> bool {
        tills.send(1, message, 0).is_ok()
    }

    fn held(tills: &Tills) -> Vec<u64> {
        let mut book = tills.book.lock();
        let queue = book.rooms.get_mut(&1).and_then(Room::queue);
        queue.map_or(Vec::new(), |(queue, _)| queue.held.iter().map(|(n, _)| *n).collect())
    }

    #[test]
    fn k2_a_place_at_a_grain_that_is_not_there_counts_until_it_is_used_or_given_back() {
        let sim = Simulation::new(1);
        let tills = Tills::new(2, world(&sim).0);
        let (one, other) = (at_once(&tills).unwrap(), at_once(&tills).unwrap());
        assert!(at_once(&tills).is_none() && !sends(&tills, 5));
        // Nobody is made for what may never be sent.
        assert!(tills.book.lock().wanted.is_empty());
        drop(one);
        assert!(sends(&tills, 6) && !sends(&tills, 7));
        other.fill(8, 0);
        assert_eq!(held(&tills), [6, 8]);
        assert_eq!(tills.book.lock().wanted, [1], "wanted once");
    }

    #[test]
    fn k2_who_gives_up_its_place_leaves_nothing() {
        let sim = Simulation::new(1);
        let tills = Tills::new(1, world(&sim).0);
        let only = at_once(&tills).unwrap();
        assert!(at_once(&tills).is_none());
        drop(only);
        assert!(tills.book.lock().rooms.is_empty());
    }

    #[test]
    fn k2_a_grain_that_goes_leaves_its_places_to_the_next_one() {
        let sim = Simulation::new(1);
        let (agent, grain) = world(&sim);
        let tills = Tills::new(2, agent);
        let pid = grain.pid();
        let present = Room::Present { grain: grain.clone(), touched: false, kept: Vec::new() };
        tills.book.lock().rooms.insert(1, present);
        let (one, other) = (at_once(&tills).unwrap(), at_once(&tills).unwrap());
        assert!(!sends(&tills, 5) && grain.reserve().is_err(), "they are places in its mailbox");
        assert!(!tills.lets_go(&1, pid), "it is needed");
        one.fill(6, 0);
        assert_eq!(grain.waiting(), 2, "one message and one place");
        drop(tills.book.lock().release(&1));
        assert_eq!(grain.waiting(), 1, "the place is not there any more");
        assert!(sends(&tills, 7) && !sends(&tills, 8));
        drop(tills.book.lock().gone(&1, pid));
        assert!(!sends(&tills, 9));
        other.fill(10, 0);
        assert_eq!(held(&tills), [7, 10]);
        assert_eq!(tills.book.lock().wanted, [1]);
    }

    #[test]
    fn k2_a_place_is_the_next_grains_though_nothing_else_was_sent() {
        let sim = Simulation::new(1);
        let (agent, grain) = world(&sim);
        let tills = Tills::new(2, agent);
        let present = Room::Present { grain: grain.clone(), touched: false, kept: Vec::new() };
        tills.book.lock().rooms.insert(1, present);
        let only = at_once(&tills).unwrap();
        sim.kill(grain.pid());
        sim.run_until_idle();
        drop(tills.book.lock().gone(&1, grain.pid()));
        assert!(tills.book.lock().wanted.is_empty());
        only.fill(3, 0);
        assert_eq!((held(&tills), tills.book.lock().wanted.clone()), (vec![3], vec![1]));
    }
}
