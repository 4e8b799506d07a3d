//! A process of the test: what the processes under test send to.
//!
//! A [`Probe`] stands where another actor would stand, keeps what comes, and says what it
//! expected and what came instead. Waiting for something runs the simulation, in virtual
//! time, exactly until it has come.
//!
//! ```text
//!   test body ── expect(..) ──► runs turns and timers ──► the processes under test
//!       ▲                                                          │ send, exit, die
//!       └───────── arrived: in order ◄──── probe, a process ◄──────┘
//! ```
//!
//! The form is that of Akka's `TestProbe` (`expectMessage`, `expectNoMessage`,
//! `expectTerminated`, `fishForMessage`, a reply to the last sender); that a test drives an
//! input and then asks what came of it, with no scheduler and no clock between, is that of
//! Ergo's `testing/unit`.

use crate::keeper::{Arrived, Item, Keeper, Order, Queue};
use crate::simulation::Simulation;
use crate::trace::Trace;
use krarup_act::{Address, Context, Recipient, contain};
use krarup_gen::{Pid, Reason, Ref, Result, SpawnError};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How many steps a failure shows.
const STEPS_SHOWN: usize = 12;

/// A process that expects messages of type `M`, notices of ends and exit signals.
///
/// What comes is kept in its order, and every expectation is about the next of it:
/// something else in its place is a failure, a panic that names what was expected, what came,
/// when and from whom, and the last steps of the simulation. An expectation that is met leaves
/// the simulation at the moment at which it was met. Time is virtual, so a generous limit
/// costs nothing.
///
/// A probe traps exit signals, has no bound, and takes all priorities alike. A request that it
/// got is answered through its reply token. A message of another type that is sent to its pid or
/// name is for [`Probe::expect_other`]; so `M` is not [`krarup_act::Dynamic`] itself.
///
/// ```
/// # use krarup_node::{Probe, Simulation};
/// # use krarup_act::{Actor, Context, Recipient};
/// # use krarup_gen::Result;
/// # use std::time::Duration;
/// /// Says it again, a second later.
/// struct Echo(Recipient<String>);
///
/// impl Actor for Echo {
///     type Message = String;
///     async fn handle_message(&mut self, ctx: &mut Context<String>, text: String) -> Result {
///         ctx.send_after_to(Duration::from_secs(1), &self.0, text);
///         Ok(())
///     }
/// }
///
/// # fn main() -> Result {
/// let sim = Simulation::new(1);
/// let probe = Probe::<String>::spawn(&sim);
/// let listener = probe.recipient();
/// let echo = sim.spawn(move || Echo(listener)).wait()?;
///
/// echo.send("hello".to_owned())?;
/// probe.expect_none(Duration::from_millis(999));
/// probe.expect_message(Duration::from_millis(1), &"hello".to_owned());
///
/// probe.monitor(echo.pid());
/// sim.kill(echo.pid());
/// assert_eq!(probe.expect_down(Duration::ZERO, echo.pid()).to_string(), "killed");
/// # Ok(())
/// # }
/// ```
pub struct Probe<'a, M: Send + 'static> {
    sim: &'a Simulation,
    address: Address<M>,
    arrived: Queue<M>,
    /// Who sent the message that was taken last.
    sender: Mutex<Option<Pid>>,
}

impl<'a, M: fmt::Debug + Send + 'static> Probe<'a, M> {
    /// A probe in this simulation.
    ///
    /// # Panics
    /// If the simulation is stopping.
    #[must_use]
    #[track_caller]
    pub fn spawn(sim: &'a Simulation) -> Self {
        match Self::start(sim, None) {
            Ok(probe) => probe,
            Err(error) => panic!("cannot spawn a probe: {error}"),
        }
    }

    /// A probe under this name, in place of the process that would have it.
    ///
    /// # Panics
    /// If somebody has the name, if it cannot be one, or if the simulation is stopping.
    #[must_use]
    #[track_caller]
    pub fn named(sim: &'a Simulation, name: &str) -> Self {
        match Self::start(sim, Some(name)) {
            Ok(probe) => probe,
            Err(error) => panic!("cannot spawn a probe named {name:?}: {error}"),
        }
    }

    fn start(sim: &'a Simulation, name: Option<&str>) -> Result<Self, SpawnError> {
        let arrived = Queue::default();
        let keeper = Keeper(Arc::clone(&arrived));
        let spawn = sim.spawn(move || keeper);
        let address = match name {
            Some(name) => spawn.name(name).start()?,
            None => spawn.start()?,
        };
        sim.spare(address.pid());
        // It traps exits before anything can happen to it.
        sim.step_of(address.pid());
        Ok(Probe { sim, address, arrived, sender: Mutex::new(None) })
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> Address<M> {
        self.address.clone()
    }

    /// A handle for one of the types that its messages are made from.
    #[must_use]
    pub fn recipient<T: Send + 'static>(&self) -> Recipient<T>
    where
        M: From<T>,
    {
        self.address.recipient()
    }

    /// Its pid.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.address.pid()
    }

    /// Who sent the message that was taken last; `None` if it came from outside any process.
    #[must_use]
    pub fn sender(&self) -> Option<Pid> {
        *self.sender.lock()
    }

    /// Runs `act` in the probe's own turn, now and before anybody else: what it sends, links or
    /// registers is the probe's. Time stands still.
    ///
    /// # Panics
    /// If `act` does, or the probe has ended or is suspended.
    #[track_caller]
    pub fn run<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Context<M>) -> T + Send + 'static,
    ) -> T {
        let outcome = Arc::new(Mutex::new(None));
        let order = {
            let outcome = Arc::clone(&outcome);
            Order::<M>(Box::new(move |ctx| {
                let done = contain(|| act(ctx));
                *outcome.lock() = Some(done);
            }))
        };
        let sent = self.sim.send(self.pid(), order).is_ok();
        while outcome.lock().is_none() && self.sim.step_of(self.pid()) {}
        let done = outcome.lock().take();
        match done {
            Some(Ok(value)) => value,
            Some(Err(reason)) => panic!("{} has failed: {reason}", self.label()),
            None if sent => panic!("{} is suspended", self.label()),
            None => panic!("{} has ended", self.label()),
        }
    }

    /// Links the probe to a process: an [`Probe::expect_exit`] can follow.
    #[track_caller]
    pub fn link(&self, pid: Pid) {
        self.run(move |ctx| ctx.link(pid));
    }

    /// Monitors a process: an [`Probe::expect_down`] can follow.
    #[track_caller]
    pub fn monitor(&self, pid: Pid) -> Ref {
        self.run(move |ctx| ctx.monitor(pid))
    }

    /// Sends a message to whoever sent the message that was taken last, in the name of the
    /// probe.
    ///
    /// # Panics
    /// If that came from outside any process, or the process does not take this.
    #[track_caller]
    pub fn reply<T: Send + 'static>(&self, message: T) {
        let Some(pid) = self.sender() else {
            panic!("{} has nobody to reply to", self.label());
        };
        let sent = self.run(move |ctx| ctx.send(pid, message).map_err(|error| error.to_string()));
        if let Err(error) = sent {
            panic!("{} cannot reply to {}: {error}", self.label(), self.name_of(pid));
        }
    }

    /// The next message, which comes within this time.
    ///
    /// # Panics
    /// If something else comes, or nothing.
    #[track_caller]
    pub fn expect(&self, within: Duration) -> M {
        self.expect_that(within, "a message", |_| true)
    }

    /// The next message equals this one.
    ///
    /// # Panics
    /// If something else comes within this time, or nothing.
    #[track_caller]
    pub fn expect_message(&self, within: Duration, message: &M)
    where
        M: PartialEq,
    {
        self.expect_that(within, &format!("{message:?}"), |came| came == message);
    }

    /// The next message, which satisfies the condition; `what` says in words what that is.
    ///
    /// # Panics
    /// If something else comes within this time, or nothing.
    #[track_caller]
    pub fn expect_that(
        &self,
        within: Duration,
        what: &str,
        condition: impl FnOnce(&M) -> bool,
    ) -> M {
        match self.next(within) {
            Some(Arrived { item: Item::Message(message), from, .. }) if condition(&message) => {
                *self.sender.lock() = from;
                message
            }
            came => self.fail(what, within, came.as_ref(), &[]),
        }
    }

    /// The next thing is a message of this other type, sent by pid, name or alias.
    ///
    /// # Panics
    /// If something else comes within this time, or nothing.
    #[track_caller]
    pub fn expect_other<T: 'static>(&self, within: Duration) -> T {
        let what = format!("a {}", std::any::type_name::<T>());
        match self.next(within) {
            Some(Arrived { item: Item::Other(other), from, at }) => match other.downcast() {
                Ok(value) => {
                    *self.sender.lock() = from;
                    value
                }
                Err(other) => {
                    let came = Arrived { item: Item::Other(other), from, at };
                    self.fail(&what, within, Some(&came), &[])
                }
            },
            came => self.fail(&what, within, came.as_ref(), &[]),
        }
    }

    /// The first message that satisfies the condition; what comes before it is dropped. `what`
    /// says in words what is looked for.
    ///
    /// # Panics
    /// If none comes within this time.
    #[track_caller]
    pub fn fish(&self, within: Duration, what: &str, condition: impl Fn(&M) -> bool) -> M {
        let until = self.sim.now() + within;
        let mut passed = Vec::new();
        loop {
            match self.next(until - self.sim.now()) {
                Some(Arrived { item: Item::Message(message), from, .. }) if condition(&message) => {
                    *self.sender.lock() = from;
                    return message;
                }
                Some(other) => passed.push(other),
                None => self.fail(what, within, None, &passed),
            }
        }
    }

    /// Nothing comes for this time, which passes.
    ///
    /// # Panics
    /// If anything comes.
    #[track_caller]
    pub fn expect_none(&self, during: Duration) {
        if let Some(came) = self.next(during) {
            self.fail("nothing", during, Some(&came), &[]);
        }
    }

    /// The next thing is the end of this process, which the probe monitors: its reason.
    ///
    /// # Panics
    /// If something else comes within this time, or nothing.
    #[track_caller]
    pub fn expect_down(&self, within: Duration, pid: Pid) -> Reason {
        match self.next(within) {
            Some(Arrived { item: Item::Down(down), .. }) if down.pid() == Some(pid) => down.reason,
            came => {
                let what = format!("the end of {}, monitored,", self.name_of(pid));
                self.fail(&what, within, came.as_ref(), &[])
            }
        }
    }

    /// The next thing is an exit signal of this process, because the probe is linked to it or
    /// because it sent one: its reason.
    ///
    /// # Panics
    /// If something else comes within this time, or nothing.
    #[track_caller]
    pub fn expect_exit(&self, within: Duration, pid: Pid) -> Reason {
        match self.next(within) {
            Some(Arrived { item: Item::Exit(exit), .. }) if exit.pid == pid => exit.reason,
            came => {
                let what = format!("an exit signal of {}", self.name_of(pid));
                self.fail(&what, within, came.as_ref(), &[])
            }
        }
    }

    /// Runs the simulation until something has come, or this time has passed.
    fn next(&self, within: Duration) -> Option<Arrived<M>> {
        let until = self.sim.now() + within;
        loop {
            let next = self.arrived.lock().pop_front();
            if next.is_some() || !self.sim.step_until(until) {
                return next;
            }
        }
    }

    #[track_caller]
    fn fail(
        &self,
        what: &str,
        within: Duration,
        came: Option<&Arrived<M>>,
        passed: &[Arrived<M>],
    ) -> ! {
        let came = match came {
            Some(came) => format!("there came {}", self.describe(came)),
            None if !self.sim.is_alive(self.pid()) => "it has ended".to_owned(),
            None if passed.is_empty() => format!("nothing came until {}", self.sim.now()),
            None => format!("nothing like it came until {}", self.sim.now()),
        };
        let before = passed.iter().map(|item| ("before", self.describe(item)));
        let waiting = self.arrived.lock();
        let behind = waiting.iter().map(|item| ("behind", self.describe(item)));
        let around: String = before
            .chain(behind)
            .map(|(when, item)| ["\n  ", when, " that: ", &item].concat())
            .collect();
        drop(waiting);
        let steps: Trace = self.sim.last_steps().last(STEPS_SHOWN);
        panic!("{} expected {what} within {within:?}, but {came}{around}\n{steps}", self.label());
    }

    fn describe(&self, arrived: &Arrived<M>) -> String {
        let from = match arrived.from {
            Some(pid) => format!("from {}", self.name_of(pid)),
            None => "from outside".to_owned(),
        };
        let at = arrived.at;
        match &arrived.item {
            Item::Message(message) => format!("{message:?} at {at} {from}"),
            Item::Other(other) => format!("a {} at {at} {from}", other.type_name()),
            Item::Exit(exit) => {
                format!("an exit signal of {} at {at}: {}", self.name_of(exit.pid), exit.reason)
            }
            Item::Down(down) => {
                let whom =
                    down.pid().map_or_else(|| down.target.to_string(), |pid| self.name_of(pid));
                format!("the end of {whom}, monitored, at {at}: {}", down.reason)
            }
        }
    }

    fn label(&self) -> String {
        format!("probe {}", self.name_of(self.pid()))
    }

    /// The pid, and the name if it lives and has one.
    fn name_of(&self, pid: Pid) -> String {
        match self.sim.process_info(pid).and_then(|info| info.name) {
            Some(name) => format!("{pid} {name:?}"),
            None => pid.to_string(),
        }
    }
}

impl<M: Send + 'static> fmt::Debug for Probe<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Probe({}, {} arrived)", self.address.pid(), self.arrived.lock().len())
    }
}
