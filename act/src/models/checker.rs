//! Runs one model with three checkers.
//!
//! A model is a function that starts threads and asserts. The build decides what runs it:
//!
//! | build | checker | finds |
//! |---|---|---|
//! | `--cfg loom` | loom: all orders of threads and values of loads | all errors up to its bound |
//! | a normal test | real threads, some hundred times | errors of real locks, by chance |
//! | miri | the threads of miri, a few times | undefined behaviour, data races, leaks |
//!
//! The bound of loom is the model's limit of preemptions.
//!
//! A model that must fail runs with loom only: loom finds with certainty what the others find
//! by chance. A lost wake-up shows as a deadlock in which every thread waits.
//!
//! Several crates share this file.

#![allow(dead_code, unused_imports, reason = "each crate uses its part of it")]

#[cfg(loom)]
pub(crate) use self::every_order::{bounded, model};
#[cfg(not(loom))]
pub(crate) use self::many_times::{bounded, model};
#[cfg(loom)]
pub(crate) use loom::{cell::Cell, thread};
#[cfg(not(loom))]
pub(crate) use std::{cell::Cell, thread};

#[cfg(loom)]
use loom::sync as raw;
#[cfg(not(loom))]
use std::sync as raw;

#[cfg(loom)]
mod every_order {
    use super::HAS_JOINED;
    use loom::model::Builder;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// The most steps of one order. Some models send more messages than loom's own bound of
    /// 1000 steps allows.
    const MAX_STEPS: usize = 10_000;

    /// Runs a model in every order.
    pub(crate) fn model(body: impl Fn() + Send + Sync + 'static) {
        check(Builder::new(), body);
    }

    /// Runs a model in every order with at most `preemptions` preemptions, for a model that has
    /// too many orders. `LOOM_MAX_PREEMPTIONS` sets the bound of every model, for a longer or
    /// shorter search.
    pub(crate) fn bounded(preemptions: usize, body: impl Fn() + Send + Sync + 'static) {
        let mut builder = Builder::new();
        builder.preemption_bound.get_or_insert(preemptions);
        check(builder, body);
    }

    /// Prints how many orders there were; shown when the tests run with `--nocapture`.
    fn check(mut builder: Builder, body: impl Fn() + Send + Sync + 'static) {
        builder.max_branches = MAX_STEPS;
        let orders = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&orders);
        builder.check(move || {
            count.fetch_add(1, Ordering::Relaxed);
            body();
        });
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        let orders = orders.load(Ordering::Relaxed);
        println!("{name}: {orders} orders");
        assert!(orders > 1 || !HAS_JOINED.get(), "its threads have one order: it shows nothing");
    }
}

#[cfg(not(loom))]
mod many_times {
    use std::panic::resume_unwind;
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::thread;
    use std::time::Duration;

    /// A model that takes this long has deadlocked.
    const PATIENCE: Duration = Duration::from_secs(300);

    /// Runs a model many times; `MODEL_ROUNDS` sets how often.
    pub(crate) fn model(body: impl Fn() + Send + Sync + 'static) {
        let (over, ends) = channel();
        let running = thread::spawn(move || {
            (0..rounds()).for_each(|_| body());
            drop(over);
        });
        let ended: Result<(), _> = ends.recv_timeout(PATIENCE);
        assert!(ended != Err(RecvTimeoutError::Timeout), "deadlock: everybody waits");
        if let Err(panic) = running.join() {
            resume_unwind(panic);
        }
    }

    pub(crate) fn bounded(_: usize, body: impl Fn() + Send + Sync + 'static) {
        model(body);
    }

    fn rounds() -> usize {
        let asked = std::env::var("MODEL_ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
        asked.unwrap_or(if cfg!(miri) { 2 } else { 200 })
    }
}

/// loom's cell with the interface of the standard library's. A pointer that is taken counts as one write,
/// at that moment.
#[cfg(loom)]
pub(crate) struct UnsafeCell<T>(loom::cell::UnsafeCell<T>);

#[cfg(loom)]
impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        UnsafeCell(loom::cell::UnsafeCell::new(value))
    }

    pub(crate) fn get(&self) -> *mut T {
        self.0.with_mut(|pointer| pointer)
    }
}

/// A lock that the checker observes.
#[derive(Default)]
pub(crate) struct Mutex<T>(raw::Mutex<T>);

pub(crate) type CheckerGuard<'a, T> = raw::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Mutex(raw::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> CheckerGuard<'_, T> {
        self.0.lock().expect("nothing panics under a lock")
    }
}

#[derive(Default)]
pub(crate) struct Condvar(raw::Condvar);

impl Condvar {
    pub(crate) fn wait<'a, T>(&self, locked: CheckerGuard<'a, T>) -> CheckerGuard<'a, T> {
        self.0.wait(locked).expect("nothing panics under a lock")
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

std::thread_local! {
    /// Whether a model of this test has joined a thread. The threads of loom are one thread.
    static HAS_JOINED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Joins a thread and repeats its panic.
pub(crate) fn joined<T>(thread: thread::JoinHandle<T>) -> T {
    HAS_JOINED.set(true);
    match thread.join() {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
