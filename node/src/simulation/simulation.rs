//! A node whose every choice comes from a seed, in virtual time.

use crate::core::{Core, DispatcherHost};
use crate::dispatcher::any::Dispatcher;
use crate::error::NodeError;
use crate::mailbox_alarm;
use crate::node::Node;
use crate::options::{DEFAULT, THROUGHPUT};
use crate::side_threads::blocking::Blocking;
use crate::simulation::codecs::Carried;
use crate::simulation::dispatcher::Simulated;
use crate::simulation::faults::Faults;
use crate::simulation::trace::{Run, Trace};
use crate::stop::shutdown::stop_machine;
use crate::stop::stop::{NodeStop, Stopper};
use crate::timers::clock::Clock;
use krarup_act::Host;
use krarup_gen::{Name, Pid, Timestamp};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A node on one thread, the caller's, in which every choice comes from a seed and time is
/// virtual: the same seed gives the same run, and years pass in milliseconds.
///
/// The seed chooses who has a turn next; which of the timers that are due at
/// a time fires first, and whether turns come before it; and where a message arrives among
/// those that others sent at the same time. All of it is what a node of several workers could
/// have done: what one process sends another keeps its order (rule M1), timers of one process fire
/// in the order in which they are due (rule T1), and what a process sends knowing of a
/// message does not pass that. (What processes know by memory that they share is not seen.)
///
/// The generator behind the seed is a fixed algorithm, `ChaCha8`, and the choices are made of
/// its numbers by a fixed rule: a seed replays on every machine and with every version of
/// the dependencies, as long as Krarup and the program take the same turns.
///
/// It is a [`Node`] (it dereferences to one), so trees are spawned, called and inspected
/// as on a real node. Nothing runs by itself: `.wait()` on anything pending runs the
/// simulation until it is ready, and so do the methods here.
///
/// ```
/// # use krarup_node::Simulation;
/// # use krarup_act::{behavior_fn, Context};
/// # use std::time::Duration;
/// let sim = Simulation::new(7);
/// let patient = sim
///     .spawn(|| behavior_fn(|ctx: Context<()>| async move {
///         ctx.sleep(Duration::from_secs(3600)).await;
///         Ok(())
///     }))
///     .start()
///     .unwrap();
/// sim.advance(Duration::from_secs(3599));
/// assert!(patient.is_alive());
/// sim.advance(Duration::from_secs(1));
/// assert!(!patient.is_alive());
/// ```
pub struct Simulation {
    node: Node,
    home: Arc<DispatcherHost>,
}

impl Simulation {
    /// A simulation with this seed, named `sim@localhost`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::with_throughput(seed, THROUGHPUT)
    }

    /// A simulation whose turns last at most this many messages (at least 1): with 1,
    /// the seed chooses anew after every message.
    #[allow(clippy::missing_panics_doc, reason = "the name in it is a valid one")]
    #[must_use]
    pub fn with_throughput(seed: u64, throughput: u32) -> Self {
        let run = Run { seed, throughput: throughput.max(1) };
        // The name is not empty and has 13 bytes.
        let name = Name::new("sim@localhost").expect("a valid name");
        krarup_act::note_panic_locations();
        // The creation is neither printed nor compared: it does not come from the seed.
        let core =
            Core::new(name, rand::random::<u32>().max(1), Clock::simulated(), Blocking::none());
        let dispatcher =
            Dispatcher::Simulated(Arc::new(Simulated::new(run, Arc::clone(&core.clock))));
        let home = core.settle(DEFAULT, "simulated", dispatcher);
        Simulation {
            node: Node::on(Arc::clone(&home), Stopper::new(NodeStop::DEFAULT_TIMEOUT, Vec::new())),
            home,
        }
    }

    /// Lets processes be spawned with `.dispatcher(name)`, as on a node that was started
    /// with one of this name: so that a tree that names several can be simulated. All run
    /// here, in the order that the seed chooses; what they are told of their dispatcher is
    /// this name.
    pub fn add_dispatcher(&self, name: impl AsRef<str>) {
        let dispatcher = self.home.dispatcher.clone();
        self.home.core.plan(name.as_ref(), Box::new(move || Ok(dispatcher.clone())));
    }

    /// Whether turns run in spans of `tracing` from now on: see
    /// [`NodeBuilder::spans`](crate::NodeBuilder::spans).
    pub fn spans(&self, on: bool) {
        simulated(&self.home).spans.store(on, Ordering::Relaxed);
    }

    /// When to warn of a mailbox: see
    /// [`NodeBuilder::mailbox_alarm`](crate::NodeBuilder::mailbox_alarm).
    ///
    /// # Errors
    /// [`NodeError::MailboxAlarm`](crate::NodeError::MailboxAlarm) if that is too early.
    pub fn mailbox_alarm(&self, messages: impl Into<Option<usize>>) -> Result<(), NodeError> {
        let messages = messages.into();
        mailbox_alarm::check(messages)?;
        self.home.core.mailbox_alarm.set(messages);
        Ok(())
    }

    /// Lets processes block in a pool of this name ([`krarup_act::Context::block_in`]), as on a node
    /// that was built with one. As all blocking work, it runs at once.
    pub fn add_blocking_pool(&self, name: impl AsRef<str>) {
        self.home.core.blocking.add(name.as_ref(), Blocking::none());
    }

    /// Runs one turn of a ready process chosen by the seed; which, or `None` if none is
    /// ready.
    pub fn step(&self) -> Option<Pid> {
        simulated(&self.home).step()
    }

    /// Runs turns until no process is ready; time stands still. How many.
    pub fn run_until_idle(&self) -> u64 {
        let mut turns = 0;
        while self.step().is_some() {
            turns += 1;
        }
        turns
    }

    /// Moves virtual time on by this much, running whatever becomes due when it is due.
    pub fn advance(&self, by: Duration) {
        let until = self.home.now() + by;
        while self.step_until(until) {}
        self.run_until_idle();
    }

    /// Runs one turn, or moves time to the next timer that is due by then; if there is
    /// neither, moves it there, and that was all.
    pub(crate) fn step_until(&self, until: Timestamp) -> bool {
        if self.step().is_some() {
            return true;
        }
        match simulated(&self.home).next_due(&self.home.core.timers) {
            Some(due) if due <= until && self.now() < Timestamp::MAX => {
                self.move_to(due);
                true
            }
            _ => {
                self.move_to(until);
                false
            }
        }
    }

    /// Runs one turn of this process, if it is ready; no choice is made.
    pub(crate) fn step_of(&self, pid: Pid) -> bool {
        simulated(&self.home).step_of(pid)
    }

    fn move_to(&self, to: Timestamp) {
        let core = &self.home.core;
        simulated(&self.home).move_to(to, &core.clock, &core.timers);
    }

    /// Has things go wrong from now on, at chosen steps or at moments that the seed chooses: in
    /// place of the faults that were set before, and what those hold up goes on. For the body
    /// of [`Simulation::explore`]: whatever goes wrong, what shall hold must hold.
    pub fn faults(&self, faults: Faults) {
        simulated(&self.home).set_faults(faults);
    }

    /// No fault hits this one by chance.
    pub(crate) fn spare(&self, pid: Pid) {
        simulated(&self.home).spare(pid);
    }

    /// Has every message of type `M` taken apart and put together again from now on, wherever it
    /// is sent to another process's mailbox: what would not survive a network is found
    /// before there is one (Akka's `serialize-messages`). The receiver gets what `codec` makes of
    /// it. If that fails, or panics, the message goes on as it was; the failure stands in
    /// [`Simulation::carried`] and in the trace, and a seed that is explored fails by it.
    ///
    /// A message that is sent as a [`krarup_act::Dynamic`] is carried as what it is. Not carried are
    /// replies, what a process sends itself by a timer or a pipe, and messages of
    /// types without a codec, which are listed.
    ///
    /// ```
    /// # use krarup_node::Simulation;
    /// # use krarup_act::{behavior_fn, Context};
    /// let sim = Simulation::new(1);
    /// sim.add_codec(|number: &u32| Ok::<_, String>(number & 0xFFFF));
    /// let echo = sim.spawn(|| behavior_fn(|mut ctx: Context<u32>| async move {
    ///     println!("{:?}", ctx.receive().await);              // 0, after its codec
    ///     Ok(())
    /// }));
    /// echo.start().unwrap().send(0x1_0000).unwrap();
    /// assert_eq!(sim.carried().through["u32"], 1);
    /// ```
    pub fn add_codec<M: 'static, E: fmt::Display>(
        &self,
        codec: impl Fn(&M) -> Result<M, E> + Send + Sync + 'static,
    ) {
        simulated(&self.home).codecs().lock().add(codec);
    }

    /// What has gone by the codecs so far, and what could not.
    #[must_use]
    pub fn carried(&self) -> Carried {
        simulated(&self.home).carried()
    }

    /// The last steps, 256 at most: what a failing test should show. The same seed gives the
    /// same steps, byte for byte.
    #[must_use]
    pub fn last_steps(&self) -> Trace {
        simulated(&self.home).recorder.trace()
    }

    /// The virtual time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.home.now()
    }

    /// The simulated node; clone it to hand it to processes.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.node
    }
}

impl Deref for Simulation {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.node
    }
}

/// What still lives is killed, so that its state is dropped; not while the thread
/// panics, for then more of the user's code could run into the same trouble.
impl Drop for Simulation {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        self.home.core.registry.close();
        // Who is held up goes on.
        self.faults(Faults::new());
        for process in self.home.core.registry.all() {
            process.kill();
        }
        self.run_until_idle();
        stop_machine(&self.home.core);
    }
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Simulation({}, at {})", simulated(&self.home).recorder.run(), self.now())
    }
}

fn simulated(home: &DispatcherHost) -> &Simulated {
    match &home.dispatcher {
        Dispatcher::Simulated(simulated) => simulated,
        _ => unreachable!("a simulation is made with this dispatcher"),
    }
}
