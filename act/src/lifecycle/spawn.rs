//! Spawning processes.

use crate::addressing::address::Address;
use crate::addressing::naming::release_name;
use crate::behavior::Behavior;
use crate::calls::deadline::within;
use crate::calls::pending::wait;
use crate::calls::slot::{SlotSender, slot};
use crate::context::Context;
use crate::host::delegate::UnusedPid;
use crate::host::host::{CheckedName, Host};
use crate::mailbox::inbox::UNBOUNDED;
use crate::mailbox::order::Order;
use crate::mailbox::overflow::Overflow;
use crate::process::cell::{Cell, NewProcess};
use crate::process::process::Process;
use crate::process::turn::Life;
use crate::process::{bonds, current};
use krarup_gen::{Class, Name, NoBound, OrderError, Ref, SpawnError, Target};
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Marks a spawn from outside any process.
#[derive(Debug)]
pub struct Outside;

/// Marks a spawn by a process. The child can be linked and monitored.
#[derive(Debug)]
pub struct Inside;

/// A process that has not been spawned yet.
///
/// Set options, then `.await` it (or `.wait()` on a plain thread) to wait until `init` has
/// returned, or call [`Spawn::start`] to continue at once. An invalid option is an error of
/// these, and nothing has changed then (rule B1).
#[must_use = "a process is not spawned until it is awaited, waited for or started"]
pub struct Spawn<B: Behavior, F, P = Outside> {
    host: Arc<dyn Host>,
    factory: F,
    parent: Option<Arc<dyn Process>>,
    name: Option<CheckedName>,
    label: Option<CheckedName>,
    mailbox: Option<usize>,
    overflow: Overflow<B::Message>,
    order: Option<Order<B::Message>>,
    dispatcher: Option<String>,
    class: Option<Class>,
    init_timeout: Option<Duration>,
    kill_grace: Duration,
    /// Whether messages are taken off Main one by one.
    one_by_one: bool,
    pid: Option<UnusedPid>,
    link: Option<LinkUrgency>,
    monitor: Option<(Ref, LinkUrgency)>,
    kind: PhantomData<fn() -> (B, P)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkUrgency {
    Ordinary,
    Urgent,
}

/// The default time that a killed process has to end before it is left behind. A killed
/// process ends at its next `await` or turn, so only one that blocks its thread takes longer.
pub const KILL_GRACE: Duration = Duration::from_secs(5);

/// The address type of a behaviour.
pub type AddressOf<B> = Address<<B as Behavior>::Message, <B as Behavior>::Command>;

impl<B, F> Spawn<B, F, Outside>
where
    B: Behavior,
    F: FnOnce() -> B + Send + 'static,
{
    /// Makes a spawn from outside. For hosts; users have `Node::spawn`.
    pub fn outside(host: Arc<dyn Host>, factory: F) -> Self {
        Self::new(host, factory, None)
    }
}

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Spawns a child of this process. `factory` runs in the child's own first turn (rule D1).
    pub fn spawn<B, F>(&self, factory: F) -> Spawn<B, F, Inside>
    where
        B: Behavior,
        F: FnOnce() -> B + Send + 'static,
    {
        Spawn::new(Arc::clone(self.host()), factory, Some(self.process()))
    }
}

impl<B, F, P> Spawn<B, F, P>
where
    B: Behavior,
    F: FnOnce() -> B + Send + 'static,
{
    fn new(host: Arc<dyn Host>, factory: F, parent: Option<Arc<dyn Process>>) -> Self {
        Spawn {
            host,
            factory,
            parent,
            name: None,
            label: None,
            mailbox: None,
            overflow: Overflow::Refuse,
            order: None,
            dispatcher: None,
            class: None,
            init_timeout: None,
            kill_grace: KILL_GRACE,
            one_by_one: false,
            pid: None,
            link: None,
            monitor: None,
            kind: PhantomData,
        }
    }

    /// Registers the process under this name, before its `init` runs (rules N2, N3).
    pub fn name(mut self, name: impl AsRef<str>) -> Self {
        self.name = Some(Name::new(name));
        self
    }

    /// Sets the label of the behaviour in displays and logs, 1 to 255 bytes, instead of the
    /// name of its type. For closures ([`crate::behavior_fn`]), and for types with several
    /// uses. A label is not a name: it need not be unique, and no process is found by it.
    pub fn label(mut self, label: impl AsRef<str>) -> Self {
        self.label = Some(Name::new(label));
        self
    }

    /// Bounds the Main lane to this many waiting messages, at least 1 (rule M5). By default
    /// the mailbox is unbounded.
    pub fn mailbox(mut self, messages: usize) -> Self {
        self.mailbox = Some(messages);
        self
    }

    /// Sets what happens to a message that exceeds the bound (rule M6). It is an error of the
    /// spawn if the mailbox has no bound.
    pub fn overflow(mut self, overflow: Overflow<B::Message>) -> Self {
        self.overflow = overflow;
        self
    }

    /// Sets the order in which the process takes the messages on Main (rule M12); by default
    /// that of their arrival. It is an error of the spawn if the mailbox drops its oldest
    /// message.
    pub fn order(mut self, order: Order<B::Message>) -> Self {
        self.order = Some(order);
        self
    }

    /// Runs the process on the dispatcher of this name; by default on that of its parent, or
    /// on the node's default.
    pub fn dispatcher(mut self, name: impl Into<String>) -> Self {
        self.dispatcher = Some(name.into());
        self
    }

    /// Schedules the process in this class (rule R6); by default in that of its parent. On a
    /// dispatcher without a queue (pinned, calling-thread or an executor) it makes no
    /// difference.
    pub fn class(mut self, class: Class) -> Self {
        self.class = Some(class);
        self
    }

    /// Has the process take its messages one by one, so that waiting messages can be taken
    /// back.
    pub(crate) fn one_by_one(mut self) -> Self {
        self.one_by_one = true;
        self
    }

    /// Gives the process this reserved pid, for which callers may already wait (see
    /// [`crate::Delegate`]). A pid of another node is ignored.
    pub fn pid(mut self, pid: UnusedPid) -> Self {
        self.pid = Some(pid);
        self
    }

    /// Kills the process if its `init` has not returned within this time. Applies to `.await`
    /// and `.wait()`.
    pub fn init_timeout(mut self, timeout: Duration) -> Self {
        self.init_timeout = Some(timeout);
        self
    }

    /// Sets how long the process has to end after it was killed because of its
    /// [`init_timeout`](Self::init_timeout); by default [`KILL_GRACE`]. A process that blocks
    /// its thread cannot be ended. After this time the spawn fails although the process has
    /// not ended, and the name is free.
    pub fn kill_grace(mut self, grace: Duration) -> Self {
        self.kill_grace = grace;
        self
    }

    /// Spawns the process and does not wait for `init`.
    ///
    /// # Errors
    /// Those of [`SpawnError`] that are known at once: all but those of `init`.
    pub fn start(self) -> Result<AddressOf<B>, SpawnError> {
        self.launch(None)
    }

    /// Spawns the process, and waits on a plain thread until `init` has returned.
    ///
    /// # Errors
    /// Those of awaiting it, and [`SpawnError::WaitInProcess`] inside a process.
    pub fn wait(self) -> Result<AddressOf<B>, SpawnError> {
        if current::pid().is_some() {
            return Err(SpawnError::WaitInProcess);
        }
        let host = Arc::clone(&self.host);
        wait(&*host, self.run())?
    }

    /// Spawns the process, and returns its address at once with a future of its `init`. For
    /// callers that have other work to do meanwhile.
    ///
    /// # Errors
    /// Those of [`SpawnError`] that are known at once; the future returns the others.
    pub fn begin(
        self,
    ) -> Result<
        (AddressOf<B>, impl Future<Output = Result<(), SpawnError>> + Send + use<B, F, P>),
        SpawnError,
    > {
        let host = Arc::clone(&self.host);
        let (timeout, grace) = (self.init_timeout, self.kill_grace);
        // Kept to release the name if the process cannot be ended.
        let name = timeout.and(self.name.as_ref()).and_then(|name| name.as_ref().ok().cloned());
        let (sender, mut started) = slot();
        let address = self.launch(Some(sender))?;
        let spawned = address.clone();
        let init = async move {
            let outcome = match timeout {
                None => started.await,
                Some(limit) => match within(&host, limit, &mut started).await {
                    Some(outcome) => outcome,
                    None => {
                        // The name is free again before the error is returned (rule N3).
                        let end = spawned.watch();
                        spawned.process().kill();
                        if within(&host, grace, end).await.is_none()
                            && let Some(name) = name
                        {
                            release_name(&*host, name.as_str(), spawned.pid());
                        }
                        Some(Err(SpawnError::Timeout(limit)))
                    }
                },
            };
            // A starter that is dropped without a value means that the node has stopped.
            outcome.unwrap_or(Err(SpawnError::NodeStopping))
        };
        Ok((address, init))
    }

    async fn run(self) -> Result<AddressOf<B>, SpawnError> {
        let (address, init) = self.begin()?;
        init.await?;
        Ok(address)
    }

    fn launch(
        self,
        starter: Option<SlotSender<Result<(), SpawnError>>>,
    ) -> Result<AddressOf<B>, SpawnError> {
        let name = self.name.transpose()?;
        let label = self.label.transpose()?;
        if self.order.is_some()
            && (self.one_by_one || matches!(self.overflow, Overflow::DropOldest))
        {
            return Err(OrderError.into());
        }
        let bound = match self.mailbox {
            Some(0) => return Err(SpawnError::ZeroMailbox),
            // A bound beyond any memory counts as no bound.
            Some(messages) => u32::try_from(messages).unwrap_or(UNBOUNDED),
            None if !matches!(self.overflow, Overflow::Refuse) => {
                return Err(NoBound.into());
            }
            None => UNBOUNDED,
        };
        let host = match self.dispatcher {
            None => self.host,
            Some(name) => {
                // Another dispatcher does not change the class.
                let class = self.host.class();
                of_class(self.host.with_dispatcher(&name)?, Some(class))?
            }
        };
        let host = of_class(host, self.class)?;
        let cell = Arc::new(Cell::<B::Message, B::Command>::new(NewProcess {
            pid: self.pid.and_then(|pid| pid.on(&*host)).unwrap_or_else(|| host.next_pid()),
            parent: self.parent.as_ref().map(|parent| parent.pid()),
            host: Arc::clone(&host),
            behavior: B::label,
            bound,
            overflow: self.overflow,
        }));
        if let Some(starter) = starter {
            cell.inbox.lock().cold().starter = Some(starter);
        }
        if self.one_by_one {
            cell.inbox.lock().take_one_by_one();
        }
        if let Some(name) = &name {
            cell.locked_relations().set_name(name.clone());
        }
        if let Some(label) = label {
            cell.locked_relations().set_label(label);
        }
        let process: Arc<dyn Process> = Arc::clone(&cell) as Arc<dyn Process>;
        host.admit(process, name.as_ref())?;
        // Links and monitors are set before the process runs (rule L1).
        if let Some(parent) = &self.parent {
            if let Some(urgency) = self.link {
                bonds::link(&*host, parent, cell.pid, urgency == LinkUrgency::Urgent);
            }
            if let Some((monitor, urgency)) = self.monitor {
                let target = Target::Pid(cell.pid);
                bonds::monitor(&*host, parent, monitor, target, urgency == LinkUrgency::Urgent);
            }
        }
        // Charged to the turn: a process that spawns many lets them run before it continues.
        current::charge(1, 0);
        let factory = self.factory;
        let mut ctx = Context::new(Arc::clone(&cell));
        if let Some(order) = self.order {
            ctx.set_order(order)?;
        }
        host.schedule(Life::ready(Arc::clone(&cell), move || factory().run(ctx)));
        Ok(Address::new(cell))
    }
}

/// Returns the host for a process of this class.
fn of_class(host: Arc<dyn Host>, class: Option<Class>) -> Result<Arc<dyn Host>, SpawnError> {
    match class {
        Some(class) if class != host.class() => Ok(host.of_class(class)?.unwrap_or(host)),
        _ => Ok(host),
    }
}

impl<B, F> Spawn<B, F, Inside>
where
    B: Behavior,
    F: FnOnce() -> B + Send + 'static,
{
    /// Links the child to this process (rule L1). If the spawn is awaited and `init` fails,
    /// only the error is returned: no exit signal follows (as OTP from 27 on).
    pub fn link(mut self) -> Self {
        self.link.get_or_insert(LinkUrgency::Ordinary);
        self
    }

    /// Links the child, with the exit notice on the Urgent lane (rule M3).
    pub fn link_urgent(mut self) -> Self {
        self.link = Some(LinkUrgency::Urgent);
        self
    }

    /// Monitors the child with this reference, made by [`Context::make_ref`] (rule L1).
    pub fn monitor(mut self, monitor: Ref) -> Self {
        self.monitor = Some((monitor, LinkUrgency::Ordinary));
        self
    }

    /// Monitors the child, with the notice on the Urgent lane (rule M3).
    pub fn monitor_urgent(mut self, monitor: Ref) -> Self {
        self.monitor = Some((monitor, LinkUrgency::Urgent));
        self
    }
}

impl<B, F, P> IntoFuture for Spawn<B, F, P>
where
    B: Behavior,
    F: FnOnce() -> B + Send + 'static,
    P: 'static,
{
    type Output = Result<AddressOf<B>, SpawnError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl<B: Behavior, F, P> fmt::Debug for Spawn<B, F, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spawn")
            .field("name", &self.name)
            .field("label", &self.label)
            .field("mailbox", &self.mailbox)
            .field("overflow", &self.overflow)
            .field("order", &self.order)
            .field("dispatcher", &self.dispatcher)
            .field("class", &self.class)
            .field("parent", &self.parent.as_ref().map(|parent| parent.pid()))
            .finish_non_exhaustive()
    }
}
