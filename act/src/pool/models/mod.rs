//! Models of the line of senders that wait at a pool: the real pool, its real workers' mailboxes, and
//! the threads of senders, of workers and of the pool process (rules M6, P4).
//!
//! | module | subject |
//! |---|---|
//! | [`line`] | the stand-ins of the line: joining, offers, a sender that gives up |
//! | [`changes`] | workers that end, are removed or added, and drains, while a sender waits |
//! | [`panics`] | user code that panics while a worker offers room |
//! | [`nested`] | lines of pools whose workers are pools |
//!
//! A lost wake-up shows as a deadlock: a sender waits, and a worker has room. Room that is promised
//! twice shows in the bound of the worker.

mod changes;
mod line;
mod nested;
mod panics;

use super::delivery::PoolRoute;
use super::routing::{RoundRobin, Routing};
use super::shared::{PoolNumbers, Rules, SharedPool};
use crate::addressing::address::Address;
use crate::mailbox::inbox_core::UNBOUNDED;
use crate::mailbox::overflow::Overflow;
use crate::mailbox::permit::Permit;
use crate::models::checker::thread;
use crate::models::model_host::{ModelActor, ModelHost};
use crate::models::wake_flag::block_on;
use krarup_gen::Pid;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::task::{Context, Poll};

type ModelPool<R> = Arc<SharedPool<u32, u32, R>>;

/// A pool of these workers. Nobody runs its process.
fn pool<R: Routing<u32>>(
    model: &Arc<ModelHost>,
    routing: R,
    workers: &[&ModelActor],
) -> ModelPool<R> {
    pool_of(model, model.host().next_pid(), routing, workers)
}

fn pool_of<R: Routing<u32>>(
    model: &Arc<ModelHost>,
    pid: Pid,
    routing: R,
    workers: &[&ModelActor],
) -> ModelPool<R> {
    let host = model.host();
    let rules = Rules { overflow: Overflow::Refuse, time_to_live: None, records: None };
    let numbers = PoolNumbers {
        worker_behavior: "worker",
        size: workers.len(),
        mailbox: Some(1),
        restarts: AtomicU64::new(0),
        stuck: AtomicU64::new(0),
    };
    let pool = SharedPool::new(pid, &host, routing, rules, None, false, numbers);
    for worker in workers {
        pool.add(&Address::new(Arc::clone(worker)));
    }
    pool
}

/// A pool of a pool of one worker, the inner pool, and that worker with its room.
fn nested(host: &Arc<ModelHost>) -> (ModelPool<RoundRobin>, ModelPool<RoundRobin>, FullWorker) {
    let (worker, room) = full_worker(host);
    let (outer, inner) = nested_of(host, &[&worker]);
    (outer, inner, (worker, room))
}

/// A pool of a pool of these workers, and the inner pool.
fn nested_of(
    host: &Arc<ModelHost>,
    workers: &[&ModelActor],
) -> (ModelPool<RoundRobin>, ModelPool<RoundRobin>) {
    let process = host.admit_new(UNBOUNDED);
    let inner = pool_of(host, process.pid(), RoundRobin::new(), workers);
    assert!(process.set_route(Box::new(PoolRoute(Arc::clone(&inner)))));
    (pool(host, RoundRobin::new(), &[&process]), inner)
}

/// A worker with room for one message, and that room.
type FullWorker = (ModelActor, Permit<u32>);

fn full_worker(host: &Arc<ModelHost>) -> FullWorker {
    let worker = host.admit_new(1);
    let room = Address::new(Arc::clone(&worker)).reserve().expect("room for one");
    (worker, room)
}

/// Waits for room at a pool, on a thread of its own.
fn waiting<R: Routing<u32>>(pool: &ModelPool<R>) -> thread::JoinHandle<Option<Permit<u32>>> {
    let pool = Arc::clone(pool);
    thread::spawn(move || block_on(pool.wait_for_room(0)).ok())
}

/// Does the same, and returns the room at once.
fn using<R: Routing<u32>>(pool: &ModelPool<R>) -> thread::JoinHandle<bool> {
    let pool = Arc::clone(pool);
    thread::spawn(move || block_on(pool.wait_for_room(0)).is_ok())
}

/// Begins to wait, and gives up at once. Returns the room if there was some.
fn hasty<R: Routing<u32>>(pool: &ModelPool<R>) -> Option<Permit<u32>> {
    let mut wait = Box::pin(Arc::clone(pool).wait_for_room(0));
    match wait.as_mut().poll(&mut Context::from_waker(futures_task::noop_waker_ref())) {
        Poll::Ready(room) => room.ok(),
        Poll::Pending => None,
    }
}

/// Ends the model. The pool and its workers hold the host, and each other.
fn over<R: Routing<u32>>(host: &ModelHost, pools: &[&ModelPool<R>]) {
    pools.iter().for_each(|pool| drop(pool.close()));
    host.clear();
}
