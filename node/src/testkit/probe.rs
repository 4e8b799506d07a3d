//! Probes: processes of a test to which the processes under test send.
//!
//! A [`Probe`] takes the place of another actor, keeps what it receives, and reports what it
//! expected and what arrived instead. Waiting for something runs the simulation, in virtual
//! time, exactly until it has arrived.
//!
//! ```text
//!   test body ── expect(..) ──► runs turns and timers ──► the processes under test
//!       ▲                                                          │ send, exit, end
//!       └───────── arrived: in order ◄──── probe, a process ◄──────┘
//! ```
//!
//! The API follows Akka's `TestProbe` (`expectMessage`, `expectNoMessage`, `expectTerminated`,
//! `fishForMessage`, a reply to the last sender). As in Ergo's `testing/unit`, a test drives an
//! input and then checks its effects, with no scheduler and no clock in between.

use crate::node::Node;
use crate::simulation::simulation::Simulation;
use crate::testkit::probe_process::{ProbeMail, ProbeProcess, ProbeState, ProbeTask};
use krarup_act::{Address, Context, Received, Recipient, contain};
use krarup_gen::{Pid, Ref, Result, SpawnError};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// A process that expects messages of type `M`, monitor notices and exit signals.
///
/// It keeps what it receives in order, and every expectation is about the next item. If
/// something else arrives, the expectation panics: the message names what was expected, what
/// arrived, when and from which process, and the last steps of the simulation. An expectation
/// that is met leaves the simulation at the moment at which it was met. Time is virtual, so a
/// generous limit costs nothing.
///
/// A probe traps exit signals, has no bound, and treats all priorities alike. A request is
/// answered through its reply token. Messages of other types that are sent to its pid or name
/// are for [`Probe::expect_other`]; so `M` is not [`Dynamic`](krarup_act::Dynamic) itself.
///
/// A probe that is dropped does not end: its process lives on, keeps its name and receives what is
/// sent to it, until the simulation ends. End it with `sim.kill(probe.pid())`.
///
/// ```
/// # use krarup_node::{Probe, Simulation};
/// # use krarup_act::{Actor, Context, Recipient};
/// # use krarup_gen::Result;
/// # use std::time::Duration;
/// /// Sends each text back, a second later.
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
    /// The node of the simulation on which it is.
    pub(crate) node: &'a Node,
    address: Address<M>,
    pub(crate) kept: ProbeState<M>,
    /// The sender of the message that was taken last.
    pub(crate) sender: Mutex<Option<Pid>>,
}

impl<'a, M: fmt::Debug + Send + 'static> Probe<'a, M> {
    /// Spawns a probe in this simulation.
    ///
    /// # Panics
    /// Panics if the simulation is stopping.
    #[must_use]
    #[track_caller]
    pub fn spawn(sim: &'a Simulation) -> Self {
        Self::spawn_on(sim, sim)
    }

    /// Spawns a probe on a node of this simulation that [`Simulation::beside`] has made.
    ///
    /// # Panics
    /// Panics if the node is stopping, or of another simulation.
    #[must_use]
    #[track_caller]
    pub fn spawn_on(sim: &'a Simulation, node: &'a Node) -> Self {
        match Self::start(sim, node, None) {
            Ok(probe) => probe,
            Err(error) => panic!("cannot spawn a probe: {error}"),
        }
    }

    /// Spawns a probe with this name, in place of the process that would have it.
    ///
    /// # Panics
    /// Panics if the name is taken or not valid, or if the simulation is stopping.
    #[must_use]
    #[track_caller]
    pub fn named(sim: &'a Simulation, name: &str) -> Self {
        Self::named_on(sim, sim, name)
    }

    /// Spawns a probe with this name on a node of this simulation that [`Simulation::beside`] has
    /// made.
    ///
    /// # Panics
    /// Panics as [`Probe::named`] does, and if the node is of another simulation.
    #[must_use]
    #[track_caller]
    pub fn named_on(sim: &'a Simulation, node: &'a Node, name: &str) -> Self {
        match Self::start(sim, node, Some(name)) {
            Ok(probe) => probe,
            Err(error) => panic!("cannot spawn a probe named {name:?}: {error}"),
        }
    }

    #[track_caller]
    fn start(sim: &'a Simulation, node: &'a Node, name: Option<&str>) -> Result<Self, SpawnError> {
        assert!(sim.has(node), "node {} is not one of the simulation", node.name());
        let kept = ProbeState::default();
        let probe = ProbeProcess(kept.clone());
        let spawn = node.spawn(move || probe);
        let address = match name {
            Some(name) => spawn.name(name).start()?,
            None => spawn.start()?,
        };
        sim.spare(address.pid());
        // It traps exit signals before anything else can happen to it.
        sim.step_of(address.pid());
        Ok(Probe { sim, node, address, kept, sender: Mutex::new(None) })
    }

    /// Returns its address.
    #[must_use]
    pub fn address(&self) -> Address<M> {
        self.address.clone()
    }

    /// Returns a handle for one of the types that convert into its message type.
    #[must_use]
    pub fn recipient<T: Send + 'static>(&self) -> Recipient<T>
    where
        M: From<T>,
    {
        self.address.recipient()
    }

    /// Returns its pid.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.address.pid()
    }

    /// Returns the sender of the message that was taken last; `None` if it came from outside any
    /// process.
    #[must_use]
    pub fn sender(&self) -> Option<Pid> {
        *self.sender.lock()
    }

    /// Runs `act` in the probe's own turn, at once and before any other process: the probe is
    /// the sender, the link partner, the registered process. Time does not advance.
    ///
    /// # Panics
    /// Panics if `act` panics, or if the probe has ended or is suspended.
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
        let sent = self.node.send(self.pid(), order).is_ok();
        while outcome.lock().is_none() && self.sim.step_of(self.pid()) {}
        let done = outcome.lock().take();
        match done {
            Some(Ok(value)) => value,
            Some(Err(reason)) => panic!("{} has failed: {reason}", self.label()),
            None if sent => panic!("{} is suspended", self.label()),
            None => panic!("{} has ended", self.label()),
        }
    }

    /// Links the probe to a process, for [`Probe::expect_exit`].
    #[track_caller]
    pub fn link(&self, pid: Pid) {
        self.run(move |ctx| ctx.link(pid));
    }

    /// Monitors a process, for [`Probe::expect_down`].
    #[track_caller]
    pub fn monitor(&self, pid: Pid) -> Ref {
        self.run(move |ctx| ctx.monitor(pid))
    }

    /// Runs a future in the simulation on behalf of the probe, which receives its output as a
    /// message. For a call that is answered while the test does something else.
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
    /// Panics if the probe has ended or is suspended, or if the simulation is stopping.
    #[track_caller]
    pub fn pipe(&self, work: impl Future<Output = M> + Send + 'static) {
        match self.run(move |ctx| ctx.pipe(work, |message| message)) {
            Ok(pid) => self.sim.spare(pid),
            Err(error) => panic!("{} cannot pipe: {error}", self.label()),
        }
    }

    /// Makes the probe handle messages from now on, as they arrive and in its own turn. Only
    /// what `handle` returns is kept for the expectations. For a peer that always answers in the
    /// same way (Akka's `AutoPilot`). A panic in `handle` ends the probe.
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
        let before = self.kept.handler.lock().replace(Box::new(handle));
        drop(before);
    }

    /// Keeps a copy of every message that another process takes from now on, so that messages
    /// can be checked where a probe cannot take the process's place. It becomes the process's
    /// tracer ([`Address::trace`]), and replaces an earlier one.
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

    /// Sends a message to the sender of the message that was taken last, on behalf of the probe.
    ///
    /// # Panics
    /// Panics if that message came from outside any process, or if the process does not take
    /// this type.
    #[track_caller]
    pub fn reply<T: Send + 'static>(&self, message: T) {
        let Some(pid) = self.sender() else {
            panic!("{} has no sender to reply to", self.label());
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
