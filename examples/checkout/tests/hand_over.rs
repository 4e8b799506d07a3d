//! Statement 7 under many seeds: callers give up, or die, at the very moment of the hand-over.
//!
//! The races that pools of this kind have had: a worker is given to a caller whose time is just
//! over (poolboy#70, `worker_pool#37`), or that has just died (poolex#210), and nobody gives it
//! back. Here holders give their workers back at the moments at which others give up, or are
//! killed, and the seed chooses what comes first.
//!
//! 2 000 seeds take seconds. More:
//!
//! ```sh
//! CHECKOUT_SEEDS=100000 cargo test --example checkout checkout_7_no_worker_is_lost -- --nocapture
//! ```

use super::world::{Ask, LONG, Pool, World, pool, status};
use crate::calls::CheckoutCalls;
use crate::lease::Lease;
use crate::status::CheckoutState;
use krarup::Pid;
use krarup::behavior::behavior_fn;
use krarup::prelude::*;
use std::env;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SEEDS: u64 = 2_000;

/// The moments at which things happen: multiples of this.
const TICK: Duration = Duration::from_millis(10);

/// How many there are until all callers have ended.
const TICKS: u32 = 10;

/// How many callers come.
const CALLERS: usize = 6;

/// What the callers have had, over all seeds.
#[derive(Default)]
struct Account {
    leased: AtomicUsize,
    gave_up: AtomicUsize,
    killed: AtomicUsize,
    /// The workers that are in the hands of somebody now.
    held: Mutex<Vec<Pid>>,
}

/// Notes that somebody has a worker, for as long as the value lives. Nobody else may have it.
struct Held(Arc<Account>, Pid);

impl Held {
    fn new(account: &Arc<Account>, lease: &Lease<Ask>) -> Self {
        let mut held = account.held.lock().unwrap();
        assert!(!held.contains(&lease.pid()), "two have the same worker");
        held.push(lease.pid());
        drop(held);
        account.leased.fetch_add(1, Ordering::Relaxed);
        Held(Arc::clone(account), lease.pid())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.held.lock().unwrap().retain(|worker| *worker != self.1);
    }
}

/// A caller that comes at some tick, waits for some ticks, and holds what it gets for some.
fn caller(world: &World, pool: &Pool, account: &Arc<Account>, ticks: [u32; 3]) -> Pid {
    let [comes, waits, holds] = ticks.map(|ticks| ticks * TICK);
    let (pool, account) = (pool.address.clone(), Arc::clone(account));
    let caller = behavior_fn(move |ctx: Context<()>| async move {
        ctx.sleep(comes).await;
        match pool.lease(waits).await {
            Ok(lease) => {
                // Dropped before the lease, however the caller ends.
                let _held = Held::new(&account, &lease);
                ctx.sleep(holds).await;
            }
            Err(_) => drop(account.gave_up.fetch_add(1, Ordering::Relaxed)),
        }
        Ok(())
    });
    world.spawn(|| caller).start().unwrap().pid()
}

/// Kills a process at a tick.
fn killer(world: &World, account: &Arc<Account>, victim: Pid, tick: u32) {
    let account = Arc::clone(account);
    let killer = behavior_fn(move |ctx: Context<()>| async move {
        ctx.sleep(tick * TICK).await;
        account.killed.fetch_add(usize::from(ctx.is_alive(victim)), Ordering::Relaxed);
        ctx.exit(victim, Reason::Kill);
        Ok(())
    });
    world.spawn(|| killer).start().unwrap();
}

/// Asks for the status at each tick, at the moment that the seed chooses.
fn observer(world: &World, pool: &Pool) {
    let pool = pool.address.clone();
    let observer = behavior_fn(move |ctx: Context<()>| async move {
        for _ in 0..TICKS {
            let status = pool.status().await?;
            assert_eq!(status.free + status.leased, status.workers, "{status:?}");
            ctx.sleep(TICK).await;
        }
        Ok(())
    });
    world.spawn(|| observer).start().unwrap();
}

/// One day at a pool.
fn day(seed: u64, account: &Arc<Account>) {
    let throughput = if seed.is_multiple_of(2) { 1 } else { 64 };
    let sim = Simulation::with_throughput(seed, throughput);
    let choose = |count: usize| u32::try_from(sim.choose(count)).unwrap();
    let (size, overflow) = (1 + sim.choose(2), sim.choose(2));
    let callers: Vec<_> = (0..CALLERS).map(|_| [choose(3), choose(4), choose(3)]).collect();
    let kills: Vec<_> = (0..CALLERS).map(|_| (sim.choose(4) == 0).then(|| choose(6))).collect();
    let worker_dies = (sim.choose(4) == 0).then(|| choose(6));

    let world = World::Simulated(sim);
    let pool = pool(&world, size, overflow);
    observer(&world, &pool);
    for (ticks, kill) in callers.into_iter().zip(kills) {
        let caller = caller(&world, &pool, account, ticks);
        if let Some(tick) = kill {
            killer(&world, account, caller, tick);
        }
    }
    if let Some(tick) = worker_dies {
        let worker = pool.lease(LONG).wait().unwrap().pid();
        killer(&world, account, worker, tick);
    }
    let World::Simulated(sim) = &world else { return };
    for _ in 0..TICKS {
        // In the middle between two ticks nothing is on its way.
        sim.advance(TICK / 2);
        let status = status(&pool);
        let held = account.held.lock().unwrap().len();
        // The holder of a worker that was killed has its lease still.
        let dead = usize::from(worker_dies.is_some());
        assert!(status.leased <= held && held <= status.leased + dead, "seed {seed}: {held} held");
        assert_eq!(pool.staff.alive(), status.workers, "seed {seed}");
        sim.advance(TICK / 2);
    }
    let end = status(&pool);
    let counts = (end.free, end.leased, end.waiting, end.state);
    assert_eq!(counts, (size, 0, 0, CheckoutState::Ready), "seed {seed}: a worker is lost");
    let leases: Vec<_> = (0..size).map(|_| pool.lease_now().wait().unwrap()).collect();
    assert!(leases.iter().all(|lease| lease.is_alive()), "seed {seed}");
}

#[test]
fn checkout_7_no_worker_is_lost_to_who_gives_up_or_dies_at_the_moment_of_the_hand_over() {
    let seeds = env::var("CHECKOUT_SEEDS").map_or(SEEDS, |text| text.parse().unwrap());
    let account = Arc::new(Account::default());
    (0..seeds).for_each(|seed| day(seed, &account));
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    let (leased, gave_up) = (count(&account.leased), count(&account.gave_up));
    println!(
        "{seeds} seeds: {leased} leases, {gave_up} gave up, {} killed",
        count(&account.killed)
    );
    // All of it has happened.
    let least = usize::try_from(seeds).unwrap() / 4;
    assert!(leased > least && gave_up > least && count(&account.killed) > least);
}

#[test]
fn checkout_7_no_worker_is_lost_to_callers_on_threads_whose_time_is_just_over() {
    World::run(|world| {
        let pool = pool(world, 2, 1);
        let callers = (0..8).map(|number| {
            let pool = pool.address.clone();
            async move {
                let mut leases = 0;
                for round in 0..500 {
                    let limit = Duration::from_micros((7 * round + 13 * number) % 150);
                    if let Ok(lease) = pool.lease(limit).await {
                        lease.send(Ask::Note("used")).map_err(SendError::without_message)?;
                        leases += 1;
                    }
                }
                Ok::<usize, Reason>(leases)
            }
        });
        let callers: Vec<_> = callers.map(|caller| world.task(caller).start().unwrap()).collect();
        let leases: usize = callers.into_iter().map(|caller| caller.wait().unwrap().unwrap()).sum();
        world.settle(&pool, 2, 0, 0);
        assert_eq!(pool.staff.take_notes().iter().filter(|line| *line == "used").count(), leases);
        assert!(leases > 0);
    });
}
