use crate::grains::directory::SharedDirectory;
use crate::grains::entry::{GrainEntry, GrainStage};
use crate::grains::reservation::tests::{
    TestDirectory, at_once, held, keeper_and_grain, make_present, polled, sends, take,
    waiting_line_of, waits_at,
};
use crate::grains::reservation::{GrainPermit, place};
use krarup_act::{Address, Context, Permit, Received, behavior_fn, contain};
use krarup_gen::{DeadLetter, Pid};
use krarup_node::Simulation;
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::task::{self, Poll, Wake, Waker};

/// Room in the mailbox of a process.
fn room(grain: &Address<u64>) -> Permit<u64> {
    grain.reserve().unwrap()
}

/// Ends a process without notifying the directory.
pub(crate) fn kill(sim: &Simulation, grain: &Address<u64>) {
    sim.kill(grain.pid());
    sim.run_until_idle();
}

pub(crate) fn wanted(shared: &TestDirectory) -> Vec<u32> {
    shared.directory.lock().wanted.clone()
}

pub(crate) fn stages(shared: &TestDirectory) -> [Option<u64>; 3] {
    let inspected = shared.inspect();
    ["present", "coming", "leaving"].map(|stage| inspected.number(stage))
}

#[test]
fn k1_grains_are_spawned_in_the_order_of_the_requests() {
    let sim = Simulation::new(1);
    let shared = TestDirectory::new(2, keeper_and_grain(&sim).0);
    for key in [3, 1, 2, 1] {
        assert!(shared.send(key, 5, 0).is_ok());
    }
    assert_eq!(shared.take_wanted(Waker::noop().clone()), [3, 1, 2]);
    assert_eq!(shared.take_wanted(Waker::noop().clone()), []);
}

#[test]
fn k2_a_message_sent_with_a_permit_after_the_keeper_ended_is_a_dead_letter() {
    let sim = Simulation::new(1);
    let senders: Arc<Mutex<Vec<_>>> = Arc::default();
    let noted = Arc::clone(&senders);
    sim.spawn(move || {
        behavior_fn(move |mut ctx: Context<DeadLetter>| async move {
            ctx.subscribe_dead_letters();
            while let Received::Message(letter) = ctx.receive().await {
                noted.lock().unwrap().push(letter.from);
            }
            Ok(())
        })
    })
    .start()
    .unwrap();
    sim.run_until_idle();
    let (delegate, sender) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(2, delegate);
    let (one, other) = (at_once(&shared).unwrap(), at_once(&shared).unwrap());
    assert!(shared.close().iter().all(|(_, held)| held.is_empty()));
    one.fill(3, sender.pid().id());
    sim.run_until_idle();
    assert_eq!(*senders.lock().unwrap(), [Some(sender.pid())]);
    assert_eq!(sim.stats().dead_letters, 1);
    drop(other);
    assert!(shared.directory.lock().entries.is_empty() && !sends(&shared, 4));
    assert_eq!(sim.stats().dead_letters, 1);
}

#[test]
fn k1_a_notice_about_one_grain_is_not_applied_to_a_later_one_of_its_key() {
    let sim = Simulation::new(1);
    let (delegate, grain) = keeper_and_grain(&sim);
    let (_, before) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(2, delegate);
    make_present(&shared, &grain);
    shared.has_left(&1, before.pid());
    shared.gone(1, before.pid());
    assert!(!shared.lets_go(&1, before.pid()));
    assert!(!shared.keep_at(&1, before.pid(), room(&before), &mut None));
    assert_eq!((stages(&shared), before.waiting()), ([Some(1), Some(0), Some(0)], 0));
    assert_eq!(shared.inspect().number("passivated"), Some(0));
    // Its own end is recorded once.
    shared.gone(1, grain.pid());
    shared.gone(1, grain.pid());
    assert_eq!(stages(&shared), [Some(0); 3]);
}

#[test]
fn k2_room_at_a_grain_that_began_to_finish_meanwhile_is_given_back() {
    let sim = Simulation::new(1);
    let (delegate, grain) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(2, delegate);
    make_present(&shared, &grain);
    let kept = room(&grain);
    shared.release(&1);
    assert!(!shared.keep_at(&1, grain.pid(), kept, &mut None));
    assert_eq!((grain.waiting(), shared.inspect().number("passivated")), (0, Some(1)));
    // A grain that is leaving already is not released again.
    shared.release(&1);
    assert!(!shared.lets_go(&1, grain.pid()));
    assert_eq!(shared.inspect().number("passivated"), Some(1));
    shared.release(&7);
    assert!(!shared.lets_go(&7, grain.pid()));
    assert!(!shared.directory.lock().entries.contains_key(&7));
}

#[test]
fn k1_a_grain_without_permits_messages_or_waiters_may_passivate() {
    let sim = Simulation::new(1);
    let (delegate, grain) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(2, delegate);
    make_present(&shared, &grain);
    let place = at_once(&shared).unwrap();
    assert!(!shared.lets_go(&1, grain.pid()), "a waiter has a place");
    drop(place);
    assert!(sends(&shared, 1));
    assert!(!shared.lets_go(&1, grain.pid()), "it has mail");
    assert!(sends(&shared, 2));
    let mut waiting = waits_at(&shared, 1);
    assert!(polled(&mut waiting, Waker::noop()).is_none());
    assert!(!shared.lets_go(&1, grain.pid()), "a sender waits");
    drop(waiting);
    let (delegate, grain) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(2, delegate);
    make_present(&shared, &grain);
    assert!(shared.lets_go(&1, grain.pid()));
    assert_eq!(stages(&shared), [Some(0), Some(0), Some(1)]);
    assert!(sends(&shared, 3) && wanted(&shared).is_empty());
    assert_eq!((grain.waiting(), shared.waiting(), held(&shared)), (0, 1, vec![3]));
    shared.gone(1, grain.pid());
    assert_eq!((wanted(&shared), stages(&shared)), (vec![1], [Some(0), Some(1), Some(0)]));
}

#[test]
fn k2_a_message_to_an_ended_grain_before_its_down_goes_to_the_next_grain() {
    let sim = Simulation::new(1);
    for first in ["sends", "fills", "gives back", "waits"] {
        let (delegate, grain) = keeper_and_grain(&sim);
        let shared = TestDirectory::new(2, delegate);
        make_present(&shared, &grain);
        let place = at_once(&shared).unwrap();
        let mut line = Vec::new();
        if first == "waits" {
            assert!(sends(&shared, 9));
            line.push(waits_at(&shared, 1));
            assert!(polled(&mut line[0], Waker::noop()).is_none());
        }
        let dead = sim.stats().dead_letters;
        kill(&sim, &grain);
        let taken = sim.stats().dead_letters - dead;
        assert_eq!(taken, u64::from(first == "waits"), "its accepted messages are lost with it");
        match first {
            "sends" => assert!(sends(&shared, 1)),
            "fills" => place.fill(1, 0),
            "gives back" => drop(place),
            // The room of the other sender goes to the next grain too.
            _ => drop(polled(&mut line[0], Waker::noop()).expect("there is room at the next")),
        }
        let expected = if first == "sends" || first == "fills" { vec![1] } else { Vec::new() };
        assert_eq!((held(&shared), wanted(&shared)), (expected.clone(), Vec::new()), "{first}");
        assert_eq!(sim.stats().dead_letters, dead + taken);
        shared.gone(1, grain.pid());
        assert_eq!(held(&shared), expected);
        assert_eq!(wanted(&shared).len(), expected.len());
    }
}

#[test]
fn k2_an_unused_permit_of_a_present_grain_frees_only_its_own_room() {
    let sim = Simulation::new(1);
    let (delegate, grain) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(2, delegate);
    make_present(&shared, &grain);
    let (one, other) = (at_once(&shared).unwrap(), at_once(&shared).unwrap());
    assert_eq!(grain.waiting(), 2);
    drop(one);
    assert_eq!(grain.waiting(), 1);
    drop(other);
    assert_eq!((grain.waiting(), shared.lets_go(&1, grain.pid())), (0, true));
}

#[test]
fn k2_permits_of_a_key_stay_bounded_over_many_lives_of_its_grain() {
    let sim = Simulation::new(1);
    let (delegate, mut grain) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(2, delegate);
    let (one, other) = (at_once(&shared).unwrap(), at_once(&shared).unwrap());
    for _ in 0..3 {
        assert!(at_once(&shared).is_none() && !sends(&shared, 1));
        assert!(shared.move_in(&1, &grain).is_empty());
        assert_eq!(grain.waiting(), 2, "the places are in its mailbox");
        assert!(at_once(&shared).is_none() && !sends(&shared, 1));
        let before = std::mem::replace(&mut grain, keeper_and_grain(&sim).1);
        kill(&sim, &before);
        shared.gone(1, before.pid());
    }
    // Both are used or given up, and then there is room for two again.
    one.fill(1, 0);
    drop(other);
    assert!(sends(&shared, 2) && !sends(&shared, 3));
    assert_eq!(held(&shared), [1, 2]);
}

#[test]
fn k2_waiters_without_room_in_a_new_grain_are_called_to_its_mailbox_each_time() {
    let sim = Simulation::new(1);
    let (delegate, grain) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(2, delegate);
    assert!(sends(&shared, 1) && sends(&shared, 2));
    let (mut line, woken) = waiting_line_of(&shared, 3);
    assert!(shared.move_in(&1, &grain).is_empty());
    assert_eq!(take(&woken), [0], "only the first");
    assert!(polled(&mut line[0], Waker::noop()).is_none());
    // It gives up: the next one is called.
    drop(line.remove(0));
    assert_eq!(take(&woken), [1]);
    drop(line);

    // Two senders hold all the room, wherever it is, and others wait.
    let (delegate, grain) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(2, delegate);
    make_present(&shared, &grain);
    let places = (at_once(&shared).unwrap(), at_once(&shared).unwrap());
    let (line, woken) = waiting_line_of(&shared, 3);
    kill(&sim, &grain);
    shared.gone(1, grain.pid());
    take(&woken);
    let (_, next) = keeper_and_grain(&sim);
    assert!(shared.move_in(&1, &next).is_empty());
    assert_eq!(take(&woken), [0], "called again");
    drop((line, places));
}

#[test]
fn k2_a_sender_with_a_granted_permit_has_one_permit_once_the_grain_runs() {
    let sim = Simulation::new(1);
    let (delegate, grain) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(2, delegate);
    let place = at_once(&shared).unwrap();
    assert!(sends(&shared, 1));
    let (mut line, woken) = waiting_line_of(&shared, 1);
    drop(place);
    assert_eq!(take(&woken), [0]);
    // It has not looked when the grain starts, and the grain's last room is its own.
    assert!(shared.move_in(&1, &grain).is_empty());
    assert!(!sends(&shared, 2));
    let place = polled(&mut line[0], Waker::noop()).expect("it was granted one");
    assert_eq!(grain.waiting(), 2);
    place.fill(3, 0);
    assert_eq!(grain.waiting(), 2);
    let (_, next) = keeper_and_grain(&sim);
    kill(&sim, &grain);
    shared.gone(1, grain.pid());
    let (one, other) = (at_once(&shared), at_once(&shared));
    assert!(one.is_some() && other.is_some() && at_once(&shared).is_none());
    assert!(shared.move_in(&1, &next).is_empty());
    drop((one, other));
    assert!(shared.lets_go(&1, next.pid()));
}

#[test]
fn k3_messages_held_for_a_grain_that_ends_before_it_gets_them_are_lost_with_it() {
    let sim = Simulation::new(1);
    let (delegate, grain) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(3, delegate);
    assert!(sends(&shared, 1) && sends(&shared, 2));
    let place = at_once(&shared).unwrap();
    kill(&sim, &grain);
    let lost: Vec<u64> =
        shared.move_in(&1, &grain).into_iter().map(|(message, _)| message).collect();
    assert_eq!((lost, held(&shared)), (vec![1, 2], Vec::new()));
    // The permit is for the next grain.
    shared.gone(1, grain.pid());
    assert!(wanted(&shared).len() <= 1);
    place.fill(3, 0);
    assert_eq!(held(&shared), [3]);
}

/// Returns the pid that callers of the next grain wait for, and the pid that the grain gets.
fn told_and_taken(shared: &Arc<TestDirectory>) -> (Pid, Pid) {
    let told = shared.directory.lock().entries.get(&1).and_then(GrainEntry::next).unwrap();
    (told, shared.take_pid(&1).unwrap().pid())
}

#[test]
fn c5_callers_get_the_pid_of_the_grain_in_each_of_its_lives() {
    let sim = Simulation::new(1);
    let (delegate, grain) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(3, delegate);
    let mut pids = BTreeSet::new();
    let mut is_new = || {
        let (told, taken) = told_and_taken(&shared);
        assert_eq!(told, taken);
        assert!(pids.insert(taken), "each is another process");
    };
    assert!(sends(&shared, 1));
    let told = shared.directory.lock().entries.get(&1).and_then(GrainEntry::next);
    assert!(sends(&shared, 2));
    let told_next = shared.directory.lock().entries.get(&1).and_then(GrainEntry::next);
    assert_eq!(told_next, told, "all that wait for one wait for the same");
    is_new();
    // The grain could not be spawned, twice. A sender holds a permit all the time, so the
    // entry stays.
    let place = at_once(&shared).unwrap();
    assert_eq!(shared.give_up(&1).len(), 2);
    assert!(sends(&shared, 3));
    assert_eq!(shared.give_up(&1).len(), 1);
    assert!(sends(&shared, 4));
    is_new();
    assert!(sends(&shared, 5));
    let (mut line, _) = waiting_line_of(&shared, 1);
    drop(place);
    assert!(shared.move_in(&1, &grain).is_empty());
    kill(&sim, &grain);
    shared.gone(1, grain.pid());
    assert!(sends(&shared, 6));
    is_new();
    drop(polled(&mut line[0], Waker::noop()));
}

/// Records which user code runs, and which of it runs while the directory is locked.
#[derive(Clone)]
struct UserCalls(Arc<dyn Fn(&'static str) + Send + Sync>);

/// A key, a message or a waker whose code records its calls.
struct Looking(u32, &'static str, UserCalls);

impl Looking {
    fn note(&self, what: &'static str) {
        (self.2.0)(what);
    }
}

impl Clone for Looking {
    fn clone(&self) -> Self {
        self.note("clone");
        Looking(self.0, self.1, self.2.clone())
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        self.note(self.1);
    }
}

impl Hash for Looking {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.note("hash");
        self.0.hash(state);
    }
}

impl PartialEq for Looking {
    fn eq(&self, other: &Self) -> bool {
        self.note("eq");
        self.0 == other.0
    }
}

impl Eq for Looking {}

impl Wake for Looking {
    fn wake(self: Arc<Self>) {
        self.note("wake");
    }
}

type CheckedDirectory = SharedDirectory<Looking, Looking, ()>;

/// Operations on a directory, each with new keys, messages and wakers.
struct DirectoryFixture {
    sim: Simulation,
    shared: Arc<CheckedDirectory>,
    look: UserCalls,
}

impl DirectoryFixture {
    fn key(&self, key: u32) -> Looking {
        Looking(key, "drop of a key", self.look.clone())
    }

    fn message(&self) -> Looking {
        Looking(0, "drop of a message", self.look.clone())
    }

    fn sends(&self, key: u32) -> bool {
        self.shared.send(self.key(key), self.message(), 0).is_ok()
    }

    fn waits(&self, key: u32) -> TestWaits {
        Box::pin(place(Arc::clone(&self.shared), self.key(key)))
    }

    fn polled(&self, waits: &mut TestWaits) -> Option<GrainPermit<Looking, Looking, ()>> {
        let waker = Waker::from(Arc::new(Looking(0, "drop of a waker", self.look.clone())));
        match waits.as_mut().poll(&mut task::Context::from_waker(&waker)) {
            Poll::Ready(place) => place.ok(),
            Poll::Pending => None,
        }
    }

    /// Spawns a grain for this key that never receives.
    fn comes(&self, key: u32) -> Address<Looking, ()> {
        let run = |mut ctx: Context<Looking, ()>| async move {
            ctx.initialised();
            std::future::pending::<()>().await;
            drop(ctx.receive().await);
            Ok(())
        };
        let grain = self.sim.spawn(move || behavior_fn(run)).mailbox(2).wait().unwrap();
        assert!(self.shared.move_in(&self.key(key), &grain).is_empty());
        grain
    }

    fn kill(&self, key: u32, grain: &Address<Looking, ()>) {
        self.sim.kill(grain.pid());
        self.sim.run_until_idle();
        self.shared.gone(self.key(key), grain.pid());
    }
}

type TestWaits = std::pin::Pin<
    Box<
        dyn Future<Output = Result<GrainPermit<Looking, Looking, ()>, krarup_gen::SendError<()>>>
            + Send,
    >,
>;

#[test]
fn k2_only_hash_and_eq_of_a_key_run_under_the_directory_lock() {
    let sim = Simulation::new(1);
    let directory: Arc<OnceLock<Weak<CheckedDirectory>>> = Arc::default();
    let (seen, locked) =
        (Arc::new(Mutex::new(BTreeSet::new())), Arc::new(Mutex::new(BTreeSet::new())));
    let look = {
        let (directory, seen, locked) =
            (Arc::clone(&directory), Arc::clone(&seen), Arc::clone(&locked));
        UserCalls(Arc::new(move |what| {
            seen.lock().unwrap().insert(what);
            if directory
                .get()
                .and_then(Weak::upgrade)
                .is_some_and(|shared| shared.directory.is_locked())
            {
                locked.lock().unwrap().insert(what);
            }
        }))
    };
    let shared = CheckedDirectory::new(2, keeper_and_grain(&sim).0);
    directory.set(Arc::downgrade(&shared)).unwrap();
    let fixture = DirectoryFixture { sim, shared, look };
    let waker = || Waker::from(Arc::new(Looking(0, "drop of a waker", fixture.look.clone())));

    // Requested, looked for, refused; waited for twice, with another waker; given up; spawned.
    assert!(fixture.shared.take_wanted(waker()).is_empty());
    assert!(fixture.shared.take_wanted(waker()).is_empty());
    assert!(fixture.sends(1) && fixture.sends(1) && !fixture.sends(1));
    assert_eq!(fixture.shared.take_wanted(waker()).len(), 1);
    let mut line: Vec<_> = (0..4).map(|_| fixture.waits(1)).collect();
    for _ in 0..2 {
        assert!(line.iter_mut().all(|waits| fixture.polled(waits).is_none()));
    }
    assert_eq!(fixture.shared.give_up(&fixture.key(1)).len(), 2);
    let place = fixture.polled(&mut line[0]).unwrap();
    place.fill(fixture.message(), 0);
    drop(line.drain(..2));
    let grain = fixture.comes(1);
    let place = fixture.polled(&mut line.remove(0)).expect("it was given up by another");
    assert!(fixture.polled(&mut line[0]).is_none());
    assert!(!fixture.sends(1) && !fixture.shared.lets_go(&fixture.key(1), grain.pid()));
    fixture.shared.release(&fixture.key(1));
    drop(place);
    fixture.kill(1, &grain);
    // A grain without waiting messages ends by itself. An entry is removed with its last permit.
    assert!(fixture.sends(2));
    let grain = fixture.comes(2);
    let mut waits = fixture.waits(2);
    drop(fixture.polled(&mut waits).unwrap());
    fixture.kill(2, &grain);
    let mut waits = fixture.waits(3);
    drop(fixture.polled(&mut waits).unwrap());
    // Close with waiting senders and with permits.
    let mut waits = fixture.waits(4);
    let late = fixture.polled(&mut waits).unwrap();
    assert!(fixture.sends(5));
    drop(fixture.shared.close());
    late.fill(fixture.message(), 0);
    assert!(!fixture.sends(6));
    assert!(line.iter_mut().all(|waits| fixture.polled(waits).is_none()));
    drop(line);

    let all =
        ["clone", "drop of a key", "drop of a message", "drop of a waker", "eq", "hash", "wake"];
    assert!(seen.lock().unwrap().iter().eq(&all), "{seen:?}");
    assert!(locked.lock().unwrap().iter().eq(&["eq", "hash"]), "{locked:?}");
}

/// A key whose destructor panics.
#[derive(Clone, PartialEq, Eq, Hash)]
struct BombKey;

impl Drop for BombKey {
    fn drop(&mut self) {
        panic!("bomb");
    }
}

#[test]
fn d4_the_two_keys_of_a_grain_that_is_gone_are_dropped_one_by_one() {
    let sim = Simulation::new(1);
    let (keeper, grain) = keeper_and_grain(&sim);
    let shared = SharedDirectory::<BombKey, u64, u64>::new(2, keeper);
    let mut entry = GrainEntry::away(1);
    entry.stage = GrainStage::Present { grain: grain.clone(), kept: Vec::new() };
    shared.directory.lock().entries.insert(BombKey, entry);
    assert!(contain(|| shared.gone(BombKey, grain.pid())).is_err());
    assert!(shared.directory.lock().entries.is_empty());
}
