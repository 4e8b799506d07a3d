//! A node in virtual time in which every choice comes from a seed.

use crate::applications::application::Application;
#[cfg(feature = "settings")]
use crate::applications::configured::configure;
use crate::applications::error::ApplicationError;
use crate::core::{Core, DispatcherHost};
use crate::dispatcher::any::Dispatcher;
use crate::error::NodeError;
use crate::mailbox_alarm;
use crate::node::Node;
use crate::options::{DEFAULT, THROUGHPUT};
#[cfg(feature = "settings")]
use crate::settings::{ApplicationSettings, Settings};
use crate::side_threads::blocking::Blocking;
use crate::side_threads::pools;
use crate::simulation::codecs::Carried;
use crate::simulation::dispatcher::Simulated;
use crate::simulation::faults::Faults;
use crate::simulation::schedule::Schedule;
use crate::simulation::trace::{Run, Trace};
use crate::stop::shutdown::stop_machine;
use crate::stop::stop::{NodeStop, Stopper};
use crate::timers::clock::Clock;
use krarup_act::{Host, Pending, Propagation, is_in_process};
use krarup_gen::{CannotWait, Name, Pid, Timestamp};
use parking_lot::Mutex;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

/// The creations below this one are not used (rule Zid6).
const LEAST_CREATION: u32 = 4;

/// A node on one thread, the caller's, in virtual time, in which every choice comes from a seed:
/// the same seed gives the same run, and years pass in milliseconds.
///
/// The seed chooses which process has the next turn. It chooses which of the due timers fires
/// first, and whether turns come before it. It chooses where a message arrives among those that
/// others sent at the same time. A node with several workers could make every one of these
/// choices: messages of one process to another keep their order (rule M1), timers of one process
/// fire in the order in which they are due (rule T1), and a message does not overtake one that
/// its sender knows of. (Knowledge through shared memory is not tracked. A message overtakes a thousand others at
/// most.)
///
/// The generator is a fixed algorithm, `ChaCha8`, and a fixed rule turns its numbers into
/// choices: a seed replays on every machine and with every version of the dependencies, as long
/// as Krarup and the program take the same turns.
///
/// It has one node, and others on request ([`Simulation::beside`]).
///
/// A simulation dereferences to its first [`Node`], so trees are spawned, called and inspected as on a
/// real node. Nothing runs by itself: `.wait()` on a pending result runs the simulation until
/// the result is ready, and so do the methods here.
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
    pub(super) host: Arc<DispatcherHost>,
    /// The other nodes.
    beside: Mutex<Vec<Arc<DispatcherHost>>>,
}

impl Simulation {
    /// Makes a simulation with this seed, named `sim@localhost`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::with_throughput(seed, THROUGHPUT)
    }

    /// Makes a simulation whose turns have at most this many messages. With 1, the seed chooses anew
    /// after every message; zero counts as 1.
    #[must_use]
    pub fn with_throughput(seed: u64, throughput: u32) -> Self {
        let run = Run { seed, throughput: throughput.max(1) };
        Self::with_choices(|clock| Simulated::new(run, clock))
    }

    /// Makes a simulation that follows a schedule: the run of a failure that was shrunk.
    ///
    /// ```
    /// # use krarup_node::Simulation;
    /// let sim = Simulation::with_schedule("7.1.60:s3=p14,m17=2".parse().unwrap());
    /// assert_eq!(sim.choose(10), 0);
    /// ```
    #[must_use]
    pub fn with_schedule(schedule: Schedule) -> Self {
        Self::with_choices(|clock| Simulated::following(schedule, clock))
    }

    fn with_choices(simulated: impl FnOnce(Arc<Clock>) -> Simulated) -> Self {
        // The name is not empty and has 13 bytes.
        let name = Name::new("sim@localhost").expect("a valid name");
        krarup_act::note_panic_locations();
        // The creation does not come from the seed, but it is neither printed nor compared. Those
        // of other nodes follow it.
        let creation = (rand::random::<u32>() >> 1).max(LEAST_CREATION);
        let clock = Arc::new(Clock::simulated());
        let dispatcher = Dispatcher::Simulated(Arc::new(simulated(Arc::clone(&clock))));
        let host = node_on(name, creation, clock, dispatcher);
        Simulation { node: handle(&host), host, beside: Mutex::default() }
    }

    /// Makes a simulation whose node has these applications, and runs it until they have started,
    /// as [`NodeBuilder::start`](crate::NodeBuilder::start) does (rule A14).
    ///
    /// ```
    /// # use krarup_act::{behavior_fn, Context};
    /// # use krarup_node::{Application, Simulation};
    /// # fn main() -> krarup_gen::Result {
    /// let tree = || behavior_fn(|mut ctx: Context<()>| async move {
    ///     ctx.receive().await;
    ///     Ok(())
    /// });
    /// let sim = Simulation::with_applications(7, [Application::new("shop", tree)])?;
    /// assert_eq!(sim.applications()[0].processes, 1);
    /// # sim.stop().wait()
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`NodeError::Application`], [`NodeError::StartApplication`].
    pub fn with_applications(
        seed: u64,
        applications: impl IntoIterator<Item = Application>,
    ) -> Result<Simulation, NodeError> {
        let sim = Self::new(seed);
        sim.declare_applications(applications)?;
        sim.start_applications()?;
        Ok(sim)
    }

    /// Adds applications to this simulation, and starts none. They replace those that were
    /// declared before. For tests that set faults or a throughput first;
    /// [`Node::start_application`] starts one.
    ///
    /// # Errors
    /// [`NodeError::Application`], with [`ApplicationError::Twice`] also for one that is alive, and
    /// those of the settings of a configured one.
    pub fn declare_applications(
        &self,
        applications: impl IntoIterator<Item = Application>,
    ) -> Result<(), NodeError> {
        #[cfg_attr(not(feature = "settings"), allow(unused_mut, reason = "settings are moved out"))]
        let mut applications: Vec<Application> = applications.into_iter().collect();
        #[cfg(feature = "settings")]
        configure(&mut applications, &ApplicationSettings::default())?;
        Ok(self.host.core.applications.declare(applications, self.host.now())?)
    }

    /// As [`Simulation::declare_applications`], for applications whose settings are in a file (feature
    /// `settings`).
    ///
    /// # Errors
    /// As there.
    #[cfg(feature = "settings")]
    pub fn declare_configured(
        &self,
        settings: &Settings,
        applications: impl IntoIterator<Item = Application>,
    ) -> Result<(), NodeError> {
        let mut applications: Vec<Application> = applications.into_iter().collect();
        configure(&mut applications, &settings.layer.applications)?;
        Ok(self.host.core.applications.declare(applications, self.host.now())?)
    }

    /// Starts all declared applications that do not wait for a request, as the start of a node
    /// does.
    ///
    /// # Errors
    /// [`NodeError::StartApplication`].
    pub fn start_applications(&self) -> Result<(), NodeError> {
        if is_in_process() {
            return Err(ApplicationError::CannotWait(CannotWait::InProcess).into());
        }
        let started = self.node.start_with_node();
        let host: Arc<dyn Host> = Arc::clone(&self.host) as Arc<dyn Host>;
        Pending::new(host, started).wait()?;
        Ok(())
    }

    /// Adds a node to this simulation: it has its own processes, names and pids, and shares the
    /// thread, the virtual time, the seed and the trace (rule Zsim1). It is a [`Node`] as any
    /// other: it stops when its last handle is dropped, and another one with its name is its next
    /// start. Names are not compared: two nodes of one name can live beside each other, as on two
    /// machines.
    ///
    /// Two nodes reach each other only through a cluster, over a simulated network. What is set
    /// with the methods of the simulation, such as [`Simulation::add_dispatcher`], holds for its
    /// first node; faults and codecs hold for all.
    ///
    /// ```
    /// # use krarup_node::Simulation;
    /// # use krarup_act::{behavior_fn, Context};
    /// # fn main() -> krarup_gen::Result {
    /// let sim = Simulation::new(7);
    /// let other = sim.beside("b@sim")?;
    /// let process = other.spawn(|| behavior_fn(|_: Context<()>| async { Ok(()) }));
    /// process.name("one").start()?;
    /// assert!(other.whereis("one").is_some() && sim.whereis("one").is_none());
    /// sim.run_until_idle();
    /// assert!(sim.last_steps().to_string().contains("b@sim"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`NodeError::InvalidName`].
    pub fn beside(&self, name: impl AsRef<str>) -> Result<Node, NodeError> {
        let name = Name::new(name.as_ref())?;
        let mut beside = self.beside.lock();
        let number = u32::try_from(beside.len() + 1).unwrap_or(u32::MAX);
        let creation = self.host.core.creation.saturating_add(number);
        let clock = Arc::clone(&self.host.core.clock);
        let host = node_on(name, creation, clock, self.host.dispatcher.clone());
        beside.push(Arc::clone(&host));
        Ok(handle(&host))
    }

    /// Adds a dispatcher name, so that processes can be spawned with `.dispatcher(name)` as on a
    /// node with such a dispatcher. All processes run on this simulation, in the order that the
    /// seed chooses. Their dispatcher has this name for them.
    pub fn add_dispatcher(&self, name: impl AsRef<str>) {
        let dispatcher = self.host.dispatcher.clone();
        self.host.core.plan(name.as_ref(), Box::new(move || Ok(dispatcher.clone())));
    }

    /// Runs turns in spans of `tracing` from now on: see
    /// [`NodeBuilder::spans`](crate::NodeBuilder::spans).
    pub fn spans(&self) {
        simulated(&self.host).spans.store(true, Ordering::Relaxed);
    }

    /// Sets where traces begin, and what their spans are tied to: see
    /// [`NodeBuilder::propagation`](crate::NodeBuilder::propagation). Ids come from the seed. To
    /// be set once, before processes are spawned; returns whether it was not set before.
    pub fn propagation(&self, propagation: Propagation) -> bool {
        self.host.core.set_propagation(propagation)
    }

    /// Runs turns without spans from now on, as by default.
    pub fn no_spans(&self) {
        simulated(&self.host).spans.store(false, Ordering::Relaxed);
    }

    /// Sets the length at which a mailbox is reported: see
    /// [`NodeBuilder::mailbox_alarm`](crate::NodeBuilder::mailbox_alarm).
    ///
    /// # Errors
    /// [`NodeError::MailboxAlarm`](crate::NodeError::MailboxAlarm) if it is below the minimum.
    pub fn mailbox_alarm(&self, messages: impl Into<Option<usize>>) -> Result<(), NodeError> {
        let messages = messages.into();
        mailbox_alarm::check(messages)?;
        self.host.core.mailbox_alarm.set(messages);
        Ok(())
    }

    /// Adds a pool of this name for blocking work
    /// ([`Context::block_in`](krarup_act::Context::block_in)), as on a node with such a pool. Its
    /// work runs on this thread, like all blocking work of a simulation.
    ///
    /// # Errors
    /// [`NodeError::BlockingPoolName`](crate::NodeError::BlockingPoolName), or
    /// [`NodeError::BlockingPoolTwice`](crate::NodeError::BlockingPoolTwice).
    pub fn add_blocking_pool(&self, name: impl AsRef<str>) -> Result<(), NodeError> {
        let name = name.as_ref();
        pools::check_name(name)?;
        self.host.core.blocking.add(name, Blocking::none())
    }

    /// Sets the faults from now on, at given steps or at moments that the seed chooses. They
    /// replace earlier faults, whose effects end. For the body of [`Simulation::explore`]: its
    /// conditions must hold with any faults.
    pub fn faults(&self, faults: Faults) {
        simulated(&self.host).set_faults(faults);
    }

    /// Exempts a process from random faults.
    /// Whether this is a node of the simulation.
    pub(crate) fn has(&self, node: &Node) -> bool {
        let host = node.dispatcher_host();
        Arc::ptr_eq(host, &self.host) || self.beside.lock().iter().any(|it| Arc::ptr_eq(it, host))
    }

    pub(crate) fn spare(&self, pid: Pid) {
        simulated(&self.host).spare(pid);
    }

    /// Converts every message of type `M` that is sent to another process's mailbox from now on,
    /// to find those that would not survive a network before there is one (Akka's
    /// `serialize-messages`). The receiver gets the result of `codec`. If that fails or panics,
    /// the message is delivered unchanged; the failure is listed in [`Simulation::carried`] and
    /// in the trace, and fails the seed of an exploration.
    ///
    /// A message sent as a [`Dynamic`](krarup_act::Dynamic) is converted as the type that it holds.
    /// Replies, and messages of a process to itself by a timer or a pipe, are not converted.
    /// Types without a codec are listed.
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
        simulated(&self.host).codecs().lock().add(codec);
    }

    /// Returns a number below `count` that the seed chooses; 0 if `count` is 0. For a test with
    /// choices of its own: they are made again when the seed is run again.
    #[must_use]
    pub fn choose(&self, count: usize) -> usize {
        simulated(&self.host).choose_of(count)
    }

    /// Returns the results of the codecs so far.
    #[must_use]
    pub fn carried(&self) -> Carried {
        simulated(&self.host).carried()
    }

    /// Returns the last steps, at most 256 ([`Simulation::keep_steps`] changes that), for the
    /// report of a failing test. The same seed gives the same steps, byte for byte.
    #[must_use]
    pub fn last_steps(&self) -> Trace {
        simulated(&self.host).recorder.trace()
    }

    /// The choices so far, if a schedule is followed.
    pub(crate) fn choices(&self) -> Option<Schedule> {
        simulated(&self.host).choices()
    }

    /// Keeps this many steps from now on, at least one; a step has some 150 bytes. For a trace of
    /// a whole run, such as one for [`Trace::to_json`].
    pub fn keep_steps(&self, count: usize) {
        simulated(&self.host).recorder.keep(count);
    }

    /// Returns the virtual time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.host.now()
    }

    /// Sets the wall time, from which it moves on with the virtual time (rule T6). It may be set
    /// back or forward. The virtual time stays, and no timer changes. All nodes of the simulation
    /// have this wall time.
    ///
    /// ```
    /// # use krarup_node::Simulation;
    /// # use std::time::{Duration, SystemTime};
    /// let sim = Simulation::new(1);
    /// let launch = SystemTime::UNIX_EPOCH + Duration::from_secs(1_900_000_000);
    /// sim.set_wall_time(launch);
    /// sim.advance(Duration::from_secs(60));
    /// assert_eq!(sim.wall_time(), launch + Duration::from_secs(60));
    /// ```
    pub fn set_wall_time(&self, wall: SystemTime) {
        self.host.core.clock.set_wall_time(wall);
    }

    /// Returns the simulated node; clone it to give it to processes.
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

/// Kills the living processes, so that their states are dropped. Not while the thread panics,
/// because then more user code could fail in the same way.
impl Drop for Simulation {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let beside = std::mem::take(&mut *self.beside.lock());
        let cores = || std::iter::once(&self.host.core).chain(beside.iter().map(|host| &host.core));
        for core in cores() {
            core.registry.close();
        }
        // What never rests is killed here.
        simulated(&self.host).turn_limit.begin_instant();
        // Ends all delays.
        self.faults(Faults::new());
        for process in cores().flat_map(|core| core.registry.all()) {
            process.kill();
        }
        self.run_until_idle();
        cores().for_each(|core| stop_machine(core));
    }
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Simulation({}, at {})", simulated(&self.host).recorder.run(), self.now())
    }
}

/// Makes a node of a simulation.
fn node_on(
    name: Name,
    creation: u32,
    clock: Arc<Clock>,
    dispatcher: Dispatcher,
) -> Arc<DispatcherHost> {
    let core = Core::new(name.clone(), creation, clock, Blocking::none());
    let host = core.settle(DEFAULT, "simulated", dispatcher);
    let turn_log = core.turn_log("simulated");
    simulated(&host).add_node(creation, name, Arc::clone(&core.timers), turn_log);
    host
}

fn handle(host: &Arc<DispatcherHost>) -> Node {
    Node::on(Arc::clone(host), Stopper::new(NodeStop::DEFAULT_TIMEOUT, Vec::new()))
}

pub(super) fn simulated(host: &DispatcherHost) -> &Simulated {
    match &host.dispatcher {
        Dispatcher::Simulated(simulated) => simulated,
        _ => unreachable!("a simulation is made with this dispatcher"),
    }
}
