//! Statements 1, 6 and 9 to 12: the workers of a pool, its size, its status and its end.

use super::people::{Hold, holder};
use super::world::{Ask, Hire, LONG, Staff, World, gate, pool, pool_of, statements, status};
use crate::calls::CheckoutCalls;
use crate::errors::{CheckoutError, ExtendError, LeaseError, ShrinkError};
use crate::machine::Checkout;
use crate::status::{CheckoutState, CheckoutStatus};
use krarup::behavior::behavior_fn;
use krarup::prelude::*;
use krarup::state::Machine;
use std::sync::atomic::Ordering;
use std::time::Duration;

statements! {
    checkout_1_a_pool_has_its_size_at_the_start
    checkout_1_a_pool_without_workers_is_refused
    checkout_1_a_worker_that_cannot_start_fails_the_start_of_the_pool
    checkout_6_a_worker_that_dies_free_is_replaced
    checkout_6_a_worker_that_dies_leased_is_replaced_and_its_lease_frees_nobody
    checkout_6_an_overflow_worker_is_replaced_only_if_somebody_waits
    checkout_9_the_status_says_the_state_of_the_machine_and_the_counts
    checkout_10_a_pool_is_extended_and_shrunk_by_one
    checkout_10_a_pool_does_not_shrink_below_what_is_leased
    checkout_11_a_stop_ends_the_workers_and_fails_who_waits_with_its_reason
    checkout_11_a_killed_pool_takes_its_workers_along
    checkout_11_a_process_that_is_linked_to_the_pool_takes_it_along
    checkout_12_a_worker_that_cannot_be_made_fails_its_caller_alone
    checkout_12_an_extension_that_cannot_start_leaves_the_size
}

fn checkout_1_a_pool_has_its_size_at_the_start(world: &World) {
    let pool = pool(world, 3, 2);
    assert_eq!(pool.staff.alive(), 3);
    let status = status(&pool);
    assert_eq!((status.state, status.free, status.size), (CheckoutState::Ready, 3, 3));
}

fn checkout_1_a_pool_without_workers_is_refused(world: &World) {
    let spawn = |set: fn(super::world::Clerks) -> super::world::Clerks, size| {
        let make: Hire = Box::new(|| unreachable!("no worker is made"));
        let pool = world.spawn(move || Machine::new(set(Checkout::new(size, 1, make))));
        pool.wait().unwrap_err()
    };
    let refused = |error: CheckoutError| SpawnError::Init(error.into());
    let text = |error: SpawnError| error.to_string();
    assert_eq!(text(spawn(|pool| pool, 0)), text(refused(CheckoutError::ZeroSize)));
    let spawned = spawn(|pool| pool.shutdown(Duration::ZERO), 1);
    assert_eq!(text(spawned), text(refused(CheckoutError::ZeroShutdown)));
}

fn checkout_1_a_worker_that_cannot_start_fails_the_start_of_the_pool(world: &World) {
    let staff = Staff::default();
    staff.fails.store(true, Ordering::SeqCst);
    let hired = staff.clone();
    let pool = world.spawn(move || Machine::new(Checkout::new(3, 0, move || hired.hire())));
    let error = pool.wait().unwrap_err();
    assert!(error.to_string().contains("no clerk is to be had"), "{error}");
    world.until("none is left", || staff.alive() == 0);
}

fn checkout_6_a_worker_that_dies_free_is_replaced(world: &World) {
    let pool = pool(world, 2, 0);
    let worker = pool.lease(LONG).wait().unwrap().pid();
    world.settle(&pool, 2, 0, 0);
    world.kill(worker);
    world.until("it is replaced", || {
        let status = status(&pool);
        (status.free, status.starting) == (2, 0) && !world.is_alive(worker)
    });
    let leases = [pool.lease(LONG).wait().unwrap(), pool.lease(LONG).wait().unwrap()];
    assert!(leases.iter().all(|lease| lease.pid() != worker && lease.is_alive()));
}

fn checkout_6_a_worker_that_dies_leased_is_replaced_and_its_lease_frees_nobody(world: &World) {
    let pool = pool(world, 1, 0);
    let lease = pool.lease(LONG).wait().unwrap();
    lease.send(Ask::Fail).unwrap();
    world.settle(&pool, 1, 0, 0);
    assert!(!lease.is_alive());
    // The lease of the dead one is dropped while its successor is leased.
    let next = pool.lease(LONG).wait().unwrap();
    assert_ne!(next.pid(), lease.pid());
    drop(lease);
    world.settle(&pool, 0, 1, 0);
    assert_eq!(pool.lease_now().wait().unwrap_err(), LeaseError::Full { workers: 1 });
    drop(next);
    world.settle(&pool, 1, 0, 0);
}

fn checkout_6_an_overflow_worker_is_replaced_only_if_somebody_waits(world: &World) {
    let pool = pool(world, 1, 1);
    let (own, more) = (pool.lease(LONG).wait().unwrap(), pool.lease(LONG).wait().unwrap());
    world.kill(more.pid());
    world.settle(&pool, 0, 1, 0);
    assert_eq!((status(&pool).state, status(&pool).starting), (CheckoutState::Overflow, 0));
    drop(more);

    let more = pool.lease(LONG).wait().unwrap();
    let waiting = world.caller(&pool);
    world.settle(&pool, 0, 2, 1);
    world.kill(more.pid());
    let made = waiting.wait().unwrap().unwrap();
    assert!(made.pid() != more.pid() && made.pid() != own.pid());
    world.settle(&pool, 0, 2, 0);
    drop((own, more, made));
    world.settle(&pool, 1, 0, 0);
}

fn checkout_9_the_status_says_the_state_of_the_machine_and_the_counts(world: &World) {
    let pool = pool(world, 1, 1);
    let mut expected = CheckoutStatus {
        state: CheckoutState::Ready,
        size: 1,
        workers: 1,
        free: 1,
        leased: 0,
        overflow: 0,
        starting: 0,
        waiting: 0,
    };
    let check = |expected: CheckoutStatus| {
        world.until("the status", || status(&pool) == expected);
        let inspection = pool.inspect().wait().unwrap();
        assert_eq!(inspection.text("state"), Some(&*format!("{:?}", expected.state)));
    };
    check(expected);
    let own = pool.lease(LONG).wait().unwrap();
    expected = CheckoutStatus { state: CheckoutState::Overflow, free: 0, leased: 1, ..expected };
    check(expected);
    let more = pool.lease(LONG).wait().unwrap();
    expected = CheckoutStatus {
        state: CheckoutState::Full,
        workers: 2,
        leased: 2,
        overflow: 1,
        ..expected
    };
    check(expected);
    let waiting = world.caller(&pool);
    check(CheckoutStatus { waiting: 1, ..expected });
    drop(waiting);
    check(expected);
    drop(more);
    expected = CheckoutStatus {
        state: CheckoutState::Overflow,
        workers: 1,
        leased: 1,
        overflow: 0,
        ..expected
    };
    check(expected);
    drop(own);
    check(CheckoutStatus { state: CheckoutState::Ready, free: 1, leased: 0, ..expected });
}

fn checkout_10_a_pool_is_extended_and_shrunk_by_one(world: &World) {
    let pool = pool(world, 1, 1);
    assert_eq!(pool.extend().wait(), Ok(2));
    world.settle(&pool, 2, 0, 0);
    assert_eq!(pool.shrink().wait(), Ok(1));
    world.settle(&pool, 1, 0, 0);
    assert_eq!(pool.shrink().wait(), Err(ShrinkError::LastWorker));

    // One of the overflow stays.
    let leases = [pool.lease(LONG).wait().unwrap(), pool.lease(LONG).wait().unwrap()];
    let waiting = world.caller(&pool);
    world.settle(&pool, 0, 2, 1);
    assert_eq!(pool.extend().wait(), Ok(2));
    // Now one more may be made, and the caller that waited has it.
    let third = waiting.wait().unwrap().unwrap();
    world.settle(&pool, 0, 3, 0);
    drop((leases, third));
    world.settle(&pool, 2, 0, 0);

    // A new one, for who waits.
    let leases: Vec<_> = (0..2).map(|_| pool.lease(LONG).wait().unwrap()).collect();
    assert_eq!((pool.extend().wait(), status(&pool).state), (Ok(3), CheckoutState::Ready));
    drop(leases);
    world.settle(&pool, 3, 0, 0);
}

fn checkout_10_a_pool_does_not_shrink_below_what_is_leased(world: &World) {
    let pool = pool(world, 2, 1);
    let leases = [pool.lease(LONG).wait().unwrap(), pool.lease(LONG).wait().unwrap()];
    let error = pool.shrink().wait().unwrap_err();
    assert_eq!(error, ShrinkError::Leased { leased: 2, size: 2 });
    assert_eq!(error.to_string(), "2 workers are leased: a size of 2 cannot become less");
    assert_eq!(status(&pool).size, 2);
    let [kept, returned] = leases;
    drop(returned);
    world.settle(&pool, 1, 1, 0);
    assert_eq!(pool.shrink().wait(), Ok(1));
    world.settle(&pool, 0, 1, 0);
    assert!(kept.is_alive());
}

fn checkout_11_a_stop_ends_the_workers_and_fails_who_waits_with_its_reason(world: &World) {
    let pool = pool(world, 1, 1);
    let (held, gate) = (holder(world, &pool), gate(world));
    held.call(Hold::Lease).wait().unwrap();
    let lease = pool.lease(LONG).wait().unwrap();
    let waiting = world.caller(&pool);
    world.settle(&pool, 0, 2, 1);
    let reason = Reason::shutdown("closed for today");
    pool.stop().reason(reason.clone()).wait().unwrap();
    let error = CallError::Terminated { to: pool.pid(), reason };
    assert_eq!(waiting.wait().unwrap().unwrap_err(), LeaseError::Pool(error));
    assert_eq!(pool.staff.alive(), 0, "all have ended when the pool has");
    assert_eq!(pool.staff.take_notes(), ["ended in order"; 2]);
    // Leases that are left are of no use, and do no harm.
    assert!(lease.call(|reply| Ask::Pass(gate, reply)).wait().is_err());
    drop(lease);
    let error = pool.lease(LONG).wait().unwrap_err();
    assert_eq!(error, LeaseError::Pool(CallError::NoProcess { to: pool.pid() }));
}

fn checkout_11_a_killed_pool_takes_its_workers_along(world: &World) {
    let pool = pool(world, 2, 0);
    let leases = [pool.lease(LONG).wait().unwrap(), pool.lease(LONG).wait().unwrap()];
    let waiting = world.caller(&pool);
    world.settle(&pool, 0, 2, 1);
    world.kill(pool.pid());
    let error = CallError::Terminated { to: pool.pid(), reason: Reason::Killed };
    assert_eq!(waiting.wait().unwrap().unwrap_err(), LeaseError::Pool(error));
    world.until("no worker is left", || pool.staff.alive() == 0);
    drop(leases);
}

fn checkout_11_a_process_that_is_linked_to_the_pool_takes_it_along(world: &World) {
    let pool = pool(world, 2, 0);
    let (end, to) = (pool.watch(), pool.pid());
    for fails in [false, true] {
        let linked = behavior_fn(move |mut ctx: Context<()>| async move {
            ctx.link(to);
            if fails { Err(Reason::error("together")) } else { Ok(()) }
        });
        let linked = world.spawn(|| linked).start().unwrap();
        world.until("it has ended", || !linked.is_alive());
        // A normal end ends nobody.
        assert!(fails || status(&pool).free == 2);
    }
    assert_eq!(end.wait().unwrap().reason.to_string(), "together");
    assert_eq!((pool.staff.alive(), pool.staff.take_notes().len()), (0, 2));
}

fn checkout_12_a_worker_that_cannot_be_made_fails_its_caller_alone(world: &World) {
    let pool = pool(world, 1, 1);
    let own = pool.lease(LONG).wait().unwrap();
    pool.staff.fails.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        let error = pool.lease(LONG).wait().unwrap_err();
        assert!(matches!(&error, LeaseError::NotMade(SpawnError::Init(_))), "{error}");
        world.settle(&pool, 0, 1, 0);
    }
    assert!(own.is_alive() && pool.is_alive());
    // The pool's own dies and cannot be replaced: nobody has wanted it but the next caller.
    world.kill(own.pid());
    world.settle(&pool, 0, 0, 0);
    assert!(matches!(pool.lease(LONG).wait(), Err(LeaseError::NotMade(_))));
    pool.staff.fails.store(false, Ordering::SeqCst);
    let made = pool.lease(LONG).wait().unwrap();
    drop((own, made));
    world.settle(&pool, 1, 0, 0);
}

fn checkout_12_an_extension_that_cannot_start_leaves_the_size(world: &World) {
    let pool = pool_of(world, 1, 0, |pool| pool);
    pool.staff.fails.store(true, Ordering::SeqCst);
    let error = pool.extend().wait().unwrap_err();
    assert!(matches!(&error, ExtendError::NotMade(SpawnError::Init(_))), "{error}");
    world.settle(&pool, 1, 0, 0);
    assert_eq!(status(&pool).size, 1);
}
