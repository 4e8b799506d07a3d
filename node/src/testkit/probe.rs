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

use crate::simulation::simulation::Simulation;
use crate::testkit::probe_process::{ProbeMail, ProbeProcess, ProbeState, ProbeTask};
use krarup_act::{Address, Context, Received, Recipient, contain};
use krarup_gen::{Pid, Ref, Result, SpawnError};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

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
    pub(crate) sim: &'a Simulation,
    address: Address<M>,
    pub(crate) kept: ProbeState<M>,
    /// Who sent the message that was taken last.
    pub(crate) sender: Mutex<Option<Pid>>,
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
        let kept = ProbeState::default();
        let keeper = ProbeProcess(kept.clone());
        let spawn = sim.spawn(move || keeper);
        let address = match name {
            Some(name) => spawn.name(name).start()?,
            None => spawn.start()?,
        };
        sim.spare(address.pid());
        // It traps exits before anything can happen to it.
        sim.step_of(address.pid());
        Ok(Probe { sim, address, kept, sender: Mutex::new(None) })
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
            ProbeTask::<M>(Box::new(move |ctx| {
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

    /// Lets a future run in the simulation, in the name of the probe; its output is a message to
    /// it. For a call that is to be answered while the test does something else.
    ///
    /// ```
    /// # use krarup_node::{Probe, Simulation};
    /// # use krarup_act::Reply;
    /// # use krarup_gen::CallError;
    /// # use std::time::Duration;
    /// let sim = Simulation::new(1);
    /// let till = Probe::<Reply<u32>>::spawn(&sim);
    /// let customer = Probe::<Result<u32, CallError>>::spawn(&sim);
    /// let to = till.address();
    /// customer.pipe(async move { to.call(|reply| reply).await });
    /// till.expect(Duration::ZERO).send(7);
    /// customer.expect_message(Duration::ZERO, &Ok(7));
    /// ```
    ///
    /// # Panics
    /// If the probe has ended or is suspended, or the simulation is stopping.
    #[track_caller]
    pub fn pipe(&self, work: impl Future<Output = M> + Send + 'static) {
        match self.run(move |ctx| ctx.pipe(work, |message| message)) {
            Ok(pid) => self.sim.spare(pid),
            Err(error) => panic!("{} cannot pipe: {error}", self.label()),
        }
    }

    /// Has the probe handle messages itself from now on, as they come and in its own turn: what
    /// `handle` gives back is kept for the expectations, and nothing else. For a neighbour that
    /// answers each time alike (Akka's `AutoPilot`). A panic in it ends the probe.
    ///
    /// ```
    /// # use krarup_node::{Probe, Simulation};
    /// # use krarup_act::Reply;
    /// # use std::time::Duration;
    /// let sim = Simulation::new(1);
    /// let rates = Probe::<Reply<u32>>::spawn(&sim);
    /// rates.on_message(|_, reply| {
    ///     reply.send(7);
    ///     None
    /// });
    /// assert_eq!(rates.address().call(|reply| reply).wait(), Ok(7));
    /// rates.expect_none(Duration::from_secs(1));
    /// ```
    pub fn on_message(&self, handle: impl FnMut(&mut Context<M>, M) -> Option<M> + Send + 'static) {
        let before = self.kept.pilot.lock().replace(Box::new(handle));
        drop(before);
    }

    /// Keeps a copy of every message that another process takes from now on, as it takes it: what
    /// was sent to whom is seen where a probe cannot stand. It is the process's tracer
    /// ([`Address::trace`]), in place of one that it had.
    pub fn listen_to<C: Send + 'static>(&self, other: &Address<M, C>)
    where
        M: Clone,
    {
        let kept = self.kept.clone();
        other.trace(move |traced| {
            if let Received::Message(message) = traced.item {
                kept.keep(traced.at, traced.sender, ProbeMail::Message(message.clone()));
            }
        });
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
}

impl<M: Send + 'static> fmt::Debug for Probe<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Probe({}, {} arrived)", self.address.pid(), self.kept.arrived.lock().len())
    }
}
