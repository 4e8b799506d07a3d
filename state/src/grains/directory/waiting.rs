//! Tests of senders that wait for room at one key while its grain changes.

use crate::grains::directory::tests::{kill, stages, wanted};
use crate::grains::reservation::tests::{
    TestDirectory, at_once, held, keeper_and_grain, make_present, polled, sends, take,
    waiting_line_of, waits_at,
};
use krarup_act::{Context, Received, behavior_fn};
use krarup_node::Simulation;
use std::task::{self, Waker};

/// A process with a bound of 2 that handles all its messages.
fn obedient(sim: &Simulation) -> krarup_act::Address<u64> {
    let process = sim.spawn(|| {
        behavior_fn(|mut ctx: Context<u64>| async move {
            ctx.initialised();
            while !matches!(ctx.receive().await, Received::Finish) {}
            Ok(())
        })
    });
    process.mailbox(2).wait().unwrap()
}

#[test]
fn k2_the_first_waiter_at_the_mailbox_is_not_called_again_when_another_gives_up() {
    let sim = Simulation::new(1);
    let (delegate, grain) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(2, delegate);
    make_present(&shared, &grain);
    assert!(sends(&shared, 1) && sends(&shared, 2));
    let (mut line, woken) = waiting_line_of(&shared, 3);
    drop(line.remove(1));
    drop(line.pop());
    assert_eq!(take(&woken), Vec::<usize>::new());
}

#[test]
fn k2_an_ending_grain_grants_as_many_permits_as_the_next_has_room_for() {
    let sim = Simulation::new(1);
    let (delegate, grain) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(2, delegate);
    make_present(&shared, &grain);
    assert!(sends(&shared, 1) && sends(&shared, 2));
    let (mut line, woken) = waiting_line_of(&shared, 4);
    shared.release(&1);
    assert_eq!(take(&woken), [0, 1]);
    let noop = Waker::noop();
    assert!(polled(&mut line[2], noop).is_none() && !sends(&shared, 3));
    let places: Vec<_> = line.iter_mut().take(2).filter_map(|it| polled(it, noop)).collect();
    assert_eq!(places.len(), 2);
}

#[test]
fn k3_a_failed_spawn_of_a_grain_leaves_permits_with_their_holders() {
    let sim = Simulation::new(1);
    let shared = TestDirectory::new(2, keeper_and_grain(&sim).0);
    let place = at_once(&shared).unwrap();
    assert!(sends(&shared, 1) && !sends(&shared, 2));
    assert_eq!(shared.give_up(&1).len(), 1);
    assert!(sends(&shared, 3) && !sends(&shared, 4), "one place is taken");
    place.fill(5, 0);
    assert_eq!(held(&shared), [3, 5]);
    assert_eq!(wanted(&shared), [1, 1], "once for each try");
}

#[test]
fn k2_a_waiting_sender_looks_for_room_at_the_present_grain() {
    let sim = Simulation::new(1);
    let (delegate, before) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(2, delegate);
    make_present(&shared, &before);
    let places = (at_once(&shared).unwrap(), at_once(&shared).unwrap());
    let (mut first, mut next) = (waits_at(&shared, 1), waits_at(&shared, 1));
    let noop = Waker::noop();
    assert!(polled(&mut first, noop).is_none() && polled(&mut next, noop).is_none());
    // The permits go to the next grain, and the mailbox has room for the sender that waits
    // there.
    shared.release(&1);
    let mut looks = waits_at(&shared, 1);
    assert!(polled(&mut looks, noop).is_none());
    drop(looks);
    kill(&sim, &before);
    shared.gone(1, before.pid());
    let (_, grain) = keeper_and_grain(&sim);
    assert!(shared.move_in(&1, &grain).is_empty());
    assert!(polled(&mut first, noop).is_none(), "both places are taken");
    assert_eq!((stages(&shared)[0], grain.waiting()), (Some(1), 2));
    drop(places);
    assert!(polled(&mut first, noop).is_some() && polled(&mut next, noop).is_some());
}

#[test]
fn k2_a_waiter_behind_permits_of_the_next_grain_takes_no_room_at_the_previous_one() {
    let sim = Simulation::new(1);
    let (delegate, grain) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(2, delegate);
    make_present(&shared, &grain);
    let _places = (at_once(&shared).unwrap(), at_once(&shared).unwrap());
    let mut waiting = waits_at(&shared, 1);
    assert!(polled(&mut waiting, Waker::noop()).is_none());
    shared.release(&1);
    assert_eq!(grain.waiting(), 1, "the mailbox has given its room to the first of its line");
    assert!(polled(&mut waiting, Waker::noop()).is_none());
    assert_eq!(grain.waiting(), 0);
}

#[test]
fn k2_a_new_grain_filled_by_other_senders_finishes_and_the_next_one_starts() {
    let sim = Simulation::new(1);
    let grain = obedient(&sim);
    let shared = TestDirectory::new(2, keeper_and_grain(&sim).0);
    assert!(sends(&shared, 1));
    grain.send(8).unwrap();
    grain.send(9).unwrap();
    assert!(shared.move_in(&1, &grain).is_empty());
    sim.run_until_idle();
    assert!(!sim.is_alive(grain.pid()));
    shared.gone(1, grain.pid());
    assert_eq!((held(&shared), sim.stats().dead_letters), (vec![1], 0));
}

#[test]
fn k1_a_grain_is_not_idle_while_a_called_waiter_has_not_looked_for_room() {
    let sim = Simulation::new(1);
    let (grain, delegate) = (obedient(&sim), keeper_and_grain(&sim).0);
    let shared = TestDirectory::new(2, delegate);
    make_present(&shared, &grain);
    assert!(sends(&shared, 1) && sends(&shared, 2));
    let (mut first, mut next) = (waits_at(&shared, 1), waits_at(&shared, 1));
    let noop = Waker::noop();
    assert!(polled(&mut first, noop).is_none() && polled(&mut next, noop).is_none());
    sim.run_until_idle();
    polled(&mut first, noop).unwrap().fill(3, 0);
    sim.run_until_idle();
    assert_eq!(grain.waiting(), 0);
    assert!(!shared.lets_go(&1, grain.pid()), "a sender waits");
    drop(polled(&mut next, noop).unwrap());
    assert!(shared.lets_go(&1, grain.pid()));
}

#[test]
fn k2_permits_of_an_ended_grain_count_until_its_down_arrives() {
    let sim = Simulation::new(1);
    for uses in [false, true] {
        let (delegate, grain) = keeper_and_grain(&sim);
        let shared = TestDirectory::new(2, delegate);
        make_present(&shared, &grain);
        let (one, other) = (at_once(&shared).unwrap(), at_once(&shared).unwrap());
        kill(&sim, &grain);
        if uses {
            one.fill(1, 0);
        } else {
            drop(one);
            assert!(sends(&shared, 1));
        }
        assert!(!sends(&shared, 2), "one message is held, and one is expected");
        shared.gone(1, grain.pid());
        assert!(!sends(&shared, 3));
        drop(other);
        assert!(sends(&shared, 4) && !sends(&shared, 5));
        assert_eq!(held(&shared), [1, 4]);
    }
}

#[test]
fn k2_the_first_waiter_keeps_its_place_in_the_line_of_the_mailbox_when_polled_again() {
    let sim = Simulation::new(1);
    let (grain, delegate) = (obedient(&sim), keeper_and_grain(&sim).0);
    let shared = TestDirectory::new(2, delegate);
    make_present(&shared, &grain);
    assert!(sends(&shared, 1) && sends(&shared, 2));
    let noop = Waker::noop();
    let mut first = waits_at(&shared, 1);
    assert!(polled(&mut first, noop).is_none());
    // Those that know the grain itself stand in the same line.
    let mut others: Vec<_> = (0..2).map(|_| grain.reserve_or_wait().into_future()).collect();
    let cx = &mut task::Context::from_waker(noop);
    assert!(others.iter_mut().all(|other| other.as_mut().poll(cx).is_pending()));
    assert!(polled(&mut first, noop).is_none());
    sim.run_until_idle();
    assert!(polled(&mut first, noop).is_some());
}

#[test]
fn k2_places_for_which_a_new_grain_has_no_room_are_kept_for_the_next_one() {
    let sim = Simulation::new(1);
    let (delegate, grain) = keeper_and_grain(&sim);
    let shared = TestDirectory::new(2, delegate);
    let (one, other) = (at_once(&shared).unwrap(), at_once(&shared).unwrap());
    let (_line, woken) = waiting_line_of(&shared, 1);
    // Somebody has found it by its name: it has room for one of the two.
    grain.send(9).unwrap();
    assert!(shared.move_in(&1, &grain).is_empty());
    assert_eq!((stages(&shared)[2], grain.waiting()), (Some(1), 1));
    assert!(!sends(&shared, 1), "both have their places");
    kill(&sim, &grain);
    shared.gone(1, grain.pid());
    assert!(!sends(&shared, 2) && take(&woken).is_empty());
    drop(one);
    assert_eq!(take(&woken), [0]);
    other.fill(3, 0);
    assert_eq!(held(&shared), [3]);
}
