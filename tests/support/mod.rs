//! What the tests share: a log, drop guards, and a process that does what it is told.

#![allow(dead_code, reason = "each test binary uses its own part of this")]

pub(crate) mod journal;
pub(crate) mod spans;

use krarup::observe::{DeadLetter, Lifecycle};
use krarup::prelude::*;
use std::fmt::Display;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Wake, Waker};

/// Lines in the order in which things happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn new() -> Self {
        Log::default()
    }

    fn locked(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, line: impl Display) {
        let line = line.to_string();
        self.locked().push(line);
    }

    /// The lines so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.locked().clone()
    }

    /// The lines since the last time this was asked.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.locked())
    }

    /// The lines since the last time this was asked, sorted.
    pub(crate) fn take_sorted(&self) -> Vec<String> {
        let mut lines = self.take();
        lines.sort();
        lines
    }

    /// How many lines contain the text.
    pub(crate) fn count(&self, text: &str) -> usize {
        self.locked().iter().filter(|line| line.contains(text)).count()
    }
}

/// Notes in the log that it was dropped.
#[derive(Debug)]
pub(crate) struct Guard {
    log: Log,
    line: String,
}

impl Guard {
    pub(crate) fn new(log: &Log, line: impl Into<String>) -> Self {
        Guard { log: log.clone(), line: line.into() }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.log.note(&self.line);
    }
}

/// Notes that it was dropped, and may panic then.
pub(crate) struct Leaves(Guard, bool);

impl Drop for Leaves {
    fn drop(&mut self) {
        let _ = &self.0;
        assert!(!self.1, "sore");
    }
}

pub(crate) fn leaves(log: &Log, line: &str, sore: bool) -> Leaves {
    Leaves(Guard::new(log, line), sore)
}

/// Notes that its thread has ended, after a while: whoever does not wait for the thread does
/// not see the note.
pub(crate) struct ThreadEnd(Guard);

impl ThreadEnd {
    pub(crate) fn new(log: &Log, line: impl Into<String>) -> Self {
        ThreadEnd(Guard::new(log, line))
    }
}

impl Drop for ThreadEnd {
    fn drop(&mut self) {
        (0..20_000).for_each(|_| std::thread::yield_now());
    }
}

pub(crate) fn boom() -> Reason {
    Reason::error("boom")
}

/// Simulations with the seeds from 0, each once with ordinary turns and once with turns
/// of one message.
pub(crate) fn simulations(seeds: u64) -> impl Iterator<Item = Simulation> {
    (0..seeds).flat_map(|seed| [Simulation::new(seed), Simulation::with_throughput(seed, 1)])
}

/// Polls a future once, with a waker that does nothing.
pub(crate) fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    poll_with(future, Waker::noop())
}

/// Runs what is ready, for a bounded number of turns; whether there was an end to it.
pub(crate) fn settles(sim: &Simulation) -> bool {
    (0..10_000).any(|_| sim.step().is_none())
}

/// A waker that runs a function: it sees the world as it is at the very moment when
/// somebody is told something.
pub(crate) fn on_wake(look: impl Fn() + Send + Sync + 'static) -> Waker {
    struct Look<F>(F);

    impl<F: Fn() + Send + Sync> Wake for Look<F> {
        fn wake(self: Arc<Self>) {
            (self.0)();
        }
    }

    Waker::from(Arc::new(Look(look)))
}

/// Polls a future once with this waker.
pub(crate) fn poll_with<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut std::task::Context::from_waker(waker))
}

/// What a [`Puppet`] is told to do.
pub(crate) struct Act(Doing);

type Doing = Box<dyn FnOnce(&mut Context<Act>) -> Result + Send>;

impl Act {
    pub(crate) fn new(act: impl FnOnce(&mut Context<Act>) -> Result + Send + 'static) -> Self {
        Act(Box::new(act))
    }

    pub(crate) fn nothing() -> Self {
        Act(Box::new(|_| Ok(())))
    }
}

/// A process that does what it is told and notes what it hears:
/// `name exit <pid> reason`, `name down <pid> reason`, `name terminate reason` and
/// `name dropped`.
pub(crate) struct Puppet {
    name: String,
    log: Log,
    traps: bool,
    _dropped: Guard,
}

impl Puppet {
    pub(crate) fn new(name: &str, log: &Log) -> Self {
        let dropped = Guard::new(log, format!("{name} dropped"));
        Puppet { name: name.to_owned(), log: log.clone(), traps: false, _dropped: dropped }
    }

    pub(crate) fn trapping(name: &str, log: &Log) -> Self {
        Puppet { traps: true, ..Puppet::new(name, log) }
    }
}

impl Actor for Puppet {
    type Message = Act;

    async fn init(&mut self, ctx: &mut Context<Act>) -> Result {
        ctx.trap_exits(self.traps);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Act>, act: Act) -> Result {
        (act.0)(ctx)
    }

    async fn handle_exit(&mut self, _: &mut Context<Act>, exit: Exit) -> Result {
        self.log.note(format!("{} exit {} {}", self.name, exit.pid, exit.reason));
        Ok(())
    }

    async fn handle_down(&mut self, _: &mut Context<Act>, down: Down) -> Result {
        self.log.note(format!("{} down {} {}", self.name, down.target, down.reason));
        Ok(())
    }

    async fn terminate(&mut self, _: &mut Context<Act>, reason: &Reason) {
        self.log.note(format!("{} terminate {reason}", self.name));
    }
}

/// Telling a puppet.
pub(crate) trait Does {
    /// Sends it an act; whether it was there to take it.
    fn does(&self, act: impl FnOnce(&mut Context<Act>) -> Result + Send + 'static) -> bool;

    /// As [`Does::does`], for an act that does not end the process.
    fn tells(&self, act: impl FnOnce(&mut Context<Act>) + Send + 'static) -> bool {
        self.does(move |ctx| {
            act(ctx);
            Ok(())
        })
    }

    /// Ends the puppet with this reason.
    fn dies(&self, reason: Reason) -> bool {
        self.does(move |_| Err(reason))
    }
}

impl Does for Address<Act> {
    fn does(&self, act: impl FnOnce(&mut Context<Act>) -> Result + Send + 'static) -> bool {
        self.send(Act(Box::new(act))).is_ok()
    }
}

/// Spawns an ordinary puppet.
pub(crate) fn puppet(node: &Node, name: &'static str, log: &Log) -> Address<Act> {
    let puppet = Puppet::new(name, log);
    node.spawn(move || puppet).wait().unwrap()
}

/// Spawns a puppet that traps exits.
pub(crate) fn trapper(node: &Node, name: &'static str, log: &Log) -> Address<Act> {
    let puppet = Puppet::trapping(name, log);
    node.spawn(move || puppet).wait().unwrap()
}

/// What a puppet says when it is asked something.
pub(crate) fn asked<T: Send + 'static>(
    sim: &Simulation,
    puppet: &Address<Act>,
    ask: impl FnOnce(&mut Context<Act>) -> T + Send + 'static,
) -> T {
    let answer = Arc::new(Mutex::new(None));
    let told = Arc::clone(&answer);
    assert!(puppet.tells(move |ctx| *told.lock().unwrap() = Some(ask(ctx))));
    sim.run_until_idle();
    answer.lock().unwrap().take().expect("an answer")
}

/// What subscribers are told of; its conversions panic.
pub(crate) struct Unheard;

impl From<DeadLetter> for Unheard {
    fn from(_: DeadLetter) -> Self {
        panic!("conversion")
    }
}

impl From<Lifecycle> for Unheard {
    fn from(_: Lifecycle) -> Self {
        panic!("conversion")
    }
}
