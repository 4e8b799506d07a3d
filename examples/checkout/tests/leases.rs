//! Statements 2 to 5, 7 and 8: who gets a worker, and how it comes back.

use super::people::{Hold, holder};
use super::world::{Ask, AtGate, LONG, World, gate, pool, pool_of, statements, status};
use crate::calls::CheckoutCalls;
use crate::errors::LeaseError;
use crate::status::CheckoutState;
use krarup::prelude::*;
use std::time::Duration;

statements! {
    checkout_2_up_to_overflow_more_are_made_and_then_callers_wait_or_hear_that_it_is_full
    checkout_2_callers_get_workers_in_the_order_in_which_they_came
    checkout_3_a_lease_that_is_dropped_in_any_way_frees_its_worker
    checkout_3_a_lease_in_an_answer_that_comes_too_late_frees_its_worker
    checkout_3_a_lease_can_be_moved_and_outlives_the_process_that_wanted_it
    checkout_4_a_worker_that_comes_back_goes_to_the_first_in_line
    checkout_4_without_a_line_an_overflow_worker_ends
    checkout_5_the_mail_of_a_dead_holder_is_not_the_next_ones
    checkout_7_who_dies_or_gives_up_is_no_longer_in_line
    checkout_7_a_line_of_many_that_gave_up_is_forgotten
    checkout_8_the_last_that_came_back_is_first_or_the_first_as_told
}

const SOON: Duration = Duration::from_millis(20);

fn checkout_2_up_to_overflow_more_are_made_and_then_callers_wait_or_hear_that_it_is_full(
    world: &World,
) {
    let pool = pool(world, 2, 1);
    let (first, second) = (pool.lease(LONG).wait().unwrap(), pool.lease_now().wait().unwrap());
    assert_eq!(status(&pool).state, CheckoutState::Overflow);
    let third = pool.lease_now().wait().unwrap();
    assert_eq!((status(&pool).state, status(&pool).workers), (CheckoutState::Full, 3));
    let workers = [first.pid(), second.pid(), third.pid()];
    assert!((0..3).all(|n| !workers[..n].contains(&workers[n])), "each lease has its own worker");

    assert_eq!(pool.lease_now().wait().unwrap_err(), LeaseError::Full { workers: 3 });
    let error = pool.lease(SOON).wait().unwrap_err();
    assert_eq!(error, LeaseError::Timeout { limit: SOON });
    // No time at all is a wait that is over at once.
    let error = pool.lease(Duration::ZERO).wait().unwrap_err();
    assert_eq!(error, LeaseError::Timeout { limit: Duration::ZERO });

    let waiting = world.caller(&pool);
    world.settle(&pool, 0, 3, 1);
    let free = second.pid();
    drop(second);
    assert_eq!(waiting.wait().unwrap().unwrap().pid(), free);
    drop((first, third));
    world.settle(&pool, 2, 0, 0);
}

fn checkout_2_callers_get_workers_in_the_order_in_which_they_came(world: &World) {
    let pool = pool(world, 1, 0);
    let lease = pool.lease(LONG).wait().unwrap();
    let mut callers = Vec::new();
    for count in 1..=4 {
        callers.push(world.caller(&pool));
        world.settle(&pool, 0, 1, count);
    }
    drop(lease);
    for (caller, left) in callers.into_iter().zip((0..4).rev()) {
        let lease = caller.wait().unwrap().unwrap();
        assert_eq!(status(&pool).waiting, left);
        drop(lease);
    }
    world.settle(&pool, 1, 0, 0);
}

fn checkout_3_a_lease_that_is_dropped_in_any_way_frees_its_worker(world: &World) {
    let pool = pool(world, 2, 0);
    let people: Vec<_> = (0..2).map(|_| holder(world, &pool)).collect();
    let workers: Vec<_> =
        people.iter().map(|holder| holder.call(Hold::Lease).wait().unwrap()).collect();
    assert_eq!(status(&pool).state, CheckoutState::Full);
    // One after the other, in each of the ways, gives its worker back; the worker lives.
    people[0].send(Hold::Drop).unwrap();
    world.settle(&pool, 1, 1, 0);
    assert_eq!(people[0].call(Hold::Lease).wait().unwrap(), workers[0]);
    people[0].send(Hold::Panic).unwrap();
    world.settle(&pool, 1, 1, 0);
    world.kill(people[1].pid());
    world.settle(&pool, 2, 0, 0);
    assert!(workers.iter().all(|worker| world.is_alive(*worker)));
    // In a task that panics.
    let address = pool.address.clone();
    let task = world.task(async move {
        let _lease = address.lease(LONG).await;
        panic!("with a lease");
    });
    let _: krarup::TaskError = task.wait().unwrap_err();
    world.settle(&pool, 2, 0, 0);
}

fn checkout_3_a_lease_in_an_answer_that_comes_too_late_frees_its_worker(world: &World) {
    let pool = pool(world, 1, 0);
    let broker = holder(world, &pool);
    let error = broker.call(Hold::Fetch).timeout(SOON).wait().unwrap_err();
    assert!(matches!(error, CallError::Timeout { .. }), "{error}");
    broker.send(Hold::Answer).unwrap();
    // The broker has leased the worker when it takes the next message.
    assert_eq!(broker.call(Hold::Lease).wait().unwrap(), {
        broker.send(Hold::Drop).unwrap();
        pool.lease(LONG).wait().unwrap().pid()
    });
    world.settle(&pool, 1, 0, 0);
}

fn checkout_3_a_lease_can_be_moved_and_outlives_the_process_that_wanted_it(world: &World) {
    let pool = pool(world, 1, 0);
    let address = pool.address.clone();
    let lease = world.task(async move { address.lease(LONG).await }).wait().unwrap().unwrap();
    // The task has ended, and the lease is here: nobody else gets the worker.
    assert_eq!(pool.lease_now().wait().unwrap_err(), LeaseError::Full { workers: 1 });
    lease.send(Ask::Note("from here")).unwrap();
    drop(lease);
    world.settle(&pool, 1, 0, 0);
    assert_eq!(pool.staff.take_notes(), ["from here"]);
}

fn checkout_4_a_worker_that_comes_back_goes_to_the_first_in_line(world: &World) {
    let pool = pool(world, 1, 1);
    let (own, more) = (pool.lease(LONG).wait().unwrap(), pool.lease(LONG).wait().unwrap());
    let workers = [own.pid(), more.pid()];
    let first = world.caller(&pool);
    world.settle(&pool, 0, 2, 1);
    let second = world.caller(&pool);
    world.settle(&pool, 0, 2, 2);
    // An overflow worker goes on to the next, too.
    drop(more);
    let first = first.wait().unwrap().unwrap();
    assert_eq!(first.pid(), workers[1]);
    assert_eq!(status(&pool).waiting, 1);
    drop(own);
    let second = second.wait().unwrap().unwrap();
    assert_eq!(second.pid(), workers[0]);
    drop((first, second));
    world.settle(&pool, 1, 0, 0);
}

fn checkout_4_without_a_line_an_overflow_worker_ends(world: &World) {
    let pool = pool(world, 1, 2);
    let leases: Vec<_> = (0..3).map(|_| pool.lease(LONG).wait().unwrap()).collect();
    assert_eq!((status(&pool).overflow, pool.staff.alive()), (2, 3));
    for (lease, left) in leases.into_iter().zip([2, 1, 0]) {
        drop(lease);
        world.settle(&pool, usize::from(left == 0), left, 0);
    }
    assert_eq!((status(&pool).overflow, pool.staff.alive()), (0, 1));
    world.until("both ended in order", || pool.staff.alive() == 1);
    assert_eq!(pool.staff.take_notes(), ["ended in order"; 2]);
}

fn checkout_5_the_mail_of_a_dead_holder_is_not_the_next_ones(world: &World) {
    let pool = pool(world, 1, 0);
    let (dead, gate) = (holder(world, &pool), gate(world));
    let worker = dead.call(Hold::Lease).wait().unwrap();
    // It calls its worker, leaves more mail there, and dies before the worker is done.
    dead.send(Hold::Leave(gate.clone(), "left by the dead")).unwrap();
    world.until("it waits for its worker", || {
        world.process_info(dead.pid()).is_some_and(|info| info.waits.is_some())
    });
    world.kill(dead.pid());
    world.until("it is dead", || !dead.is_alive());

    // The worker is not free while it has to do with that.
    let next = world.caller(&pool);
    world.settle(&pool, 0, 1, 1);
    assert_eq!(pool.lease_now().wait().unwrap_err(), LeaseError::Full { workers: 1 });
    assert_eq!(pool.staff.take_notes(), [""; 0]);
    gate.send(AtGate::Open).unwrap();
    let next = next.wait().unwrap().unwrap();
    assert_eq!(pool.staff.take_notes(), ["left by the dead"], "done before the next has it");
    assert_eq!(next.pid(), worker, "it is the same worker");
    // What the next one asks is answered to it.
    let gate = super::world::gate(world);
    gate.send(AtGate::Open).unwrap();
    assert_eq!(next.call(|reply| Ask::Pass(gate, reply)).wait(), Ok("passed"));
    drop(next);
    world.settle(&pool, 1, 0, 0);
}

fn checkout_7_who_dies_or_gives_up_is_no_longer_in_line(world: &World) {
    let pool = pool(world, 1, 0);
    let lease = pool.lease(LONG).wait().unwrap();
    let dies = world.caller(&pool);
    world.settle(&pool, 0, 1, 1);
    let gives_up = world.caller(&pool);
    world.settle(&pool, 0, 1, 2);
    let stays = world.caller(&pool);
    world.settle(&pool, 0, 1, 3);
    assert!(pool.lease(SOON).wait().is_err());
    world.settle(&pool, 0, 1, 3);
    world.kill(dies.pid());
    world.settle(&pool, 0, 1, 2);
    drop(gives_up);
    world.settle(&pool, 0, 1, 1);
    drop(lease);
    let lease = stays.wait().unwrap().unwrap();
    world.settle(&pool, 0, 1, 0);
    drop(lease);
    world.settle(&pool, 1, 0, 0);
    drop(dies);
}

fn checkout_7_a_line_of_many_that_gave_up_is_forgotten(world: &World) {
    let pool = pool(world, 1, 0);
    let lease = pool.lease(LONG).wait().unwrap();
    for _ in 0..200 {
        assert!(pool.lease(Duration::ZERO).wait().is_err());
    }
    let stays = world.caller(&pool);
    world.settle(&pool, 0, 1, 1);
    let inspection = pool.inspect().wait().unwrap();
    let in_line = inspection.number("in line").unwrap();
    assert!(in_line < 50, "{in_line} of 201 callers are kept");
    drop(lease);
    drop(stays.wait().unwrap().unwrap());
    world.settle(&pool, 1, 0, 0);
}

fn checkout_8_the_last_that_came_back_is_first_or_the_first_as_told(world: &World) {
    for lifo in [true, false] {
        let pool = pool_of(world, 3, 0, move |pool| if lifo { pool.lifo() } else { pool.fifo() });
        let leases: Vec<_> = (0..3).map(|_| pool.lease(LONG).wait().unwrap()).collect();
        let mut came_back: Vec<_> = leases.iter().map(|lease| lease.pid()).collect();
        for (lease, free) in leases.into_iter().zip(1..) {
            drop(lease);
            world.settle(&pool, free, 3 - free, 0);
        }
        if lifo {
            came_back.reverse();
        }
        let leases: Vec<_> = (0..3).map(|_| pool.lease(LONG).wait().unwrap()).collect();
        assert!(leases.iter().map(|lease| lease.pid()).eq(came_back), "lifo: {lifo}");
    }
}
