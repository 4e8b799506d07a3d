//! How processes come to be.

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

/// Marks a spawn by a process: it can be linked and monitored.
#[derive(Debug)]
pub struct Inside;

/// A process that has not been spawned yet.
///
/// Set options, then `.await` it (or `.wait()` on a plain thread) to go on when its
/// `init` has returned, or [`Spawn::start`] it to go on at once. An option that cannot
/// be is an error of those, and then nothing has changed (rule B1).
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
    /// Messages are taken off Main one by one.
    singly: bool,
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

/// How long a killed process has to end before it is left behind, unless told otherwise. It ends
/// at its next `await` or turn, so only one that blocks its thread takes longer.
pub const KILL_GRACE: Duration = Duration::from_secs(5);

/// The address type of a behaviour.
pub type AddressOf<B> = Address<<B as Behavior>::Message, <B as Behavior>::Command>;

impl<B, F> Spawn<B, F, Outside>
where
    B: Behavior,
    F: FnOnce() -> B + Send + 'static,
{
    /// A spawn from outside: for hosts; users have `Node::spawn`.
    pub fn outside(host: Arc<dyn Host>, factory: F) -> Self {
        Self::new(host, factory, None)
    }
}

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Spawns a child of this process. `factory` runs in the child's own first turn
    /// (rule D1).
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
            singly: false,
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

    /// What the behaviour is called wherever the process is shown or logged, 1 to 255 bytes, in place
    /// of the name of its type: for closures ([`crate::behavior_fn`]), and where one type plays
    /// several parts. It is no name: others may have the same, and nobody is found by it.
    pub fn label(mut self, label: impl AsRef<str>) -> Self {
        self.label = Some(Name::new(label));
        self
    }

    /// Bounds the Main lane to this many waiting messages, at least 1 (rule M5).
    /// Without it the mailbox is unbounded.
    pub fn mailbox(mut self, messages: usize) -> Self {
        self.mailbox = Some(messages);
        self
    }

    /// What is done with one message more than the bound (rule M6). Without a bound there is
    /// nothing to choose: an error of the spawn.
    pub fn overflow(mut self, overflow: Overflow<B::Message>) -> Self {
        self.overflow = overflow;
        self
    }

    /// In which order the process takes the messages that wait on Main (rule M12); without it, in that
    /// of their arrival. A mailbox that drops its oldest message can have none: an error of the spawn.
    pub fn order(mut self, order: Order<B::Message>) -> Self {
        self.order = Some(order);
        self
    }

    /// Runs the process on the dispatcher of this name; without it, on the one its
    /// parent runs on, or the node's default.
    pub fn dispatcher(mut self, name: impl Into<String>) -> Self {
        self.dispatcher = Some(name.into());
        self
    }

    /// Schedules the process in this class (rule R6); without it, in that of its parent.
    /// Where there is no queue, on a pinned dispatcher, a calling thread or an executor, it
    /// makes no difference.
    pub fn class(mut self, class: Class) -> Self {
        self.class = Some(class);
        self
    }

    /// Has the process take its messages one by one: what waits can be taken back.
    pub(crate) fn singly(mut self) -> Self {
        self.singly = true;
        self
    }

    /// Gives the process this pid, which others may wait for already (see [`crate::Delegate`]); one of
    /// another node is not used.
    pub fn pid(mut self, pid: UnusedPid) -> Self {
        self.pid = Some(pid);
        self
    }

    /// Kills the process if its `init` has not returned within this time. Counts for
    /// `.await` and `.wait()`.
    pub fn init_timeout(mut self, timeout: Duration) -> Self {
        self.init_timeout = Some(timeout);
        self
    }

    /// How long the process has to end after it was killed because of its
    /// [`init_timeout`](Self::init_timeout), [`KILL_GRACE`] unless told otherwise. A process that
    /// blocks its thread cannot be ended. After this time the spawn fails without its end, and
    /// the name is free.
    pub fn kill_grace(mut self, grace: Duration) -> Self {
        self.kill_grace = grace;
        self
    }

    /// Spawns and does not wait for `init`.
    ///
    /// # Errors
    /// Those of [`SpawnError`] that are known at once: all but `Init`.
    pub fn start(self) -> Result<AddressOf<B>, SpawnError> {
        self.launch(None)
    }

    /// Spawns, and waits on a plain thread until `init` has returned.
    ///
    /// # Errors
    /// As awaiting it, and [`SpawnError::WaitInProcess`] inside a process.
    pub fn wait(self) -> Result<AddressOf<B>, SpawnError> {
        if current::pid().is_some() {
            return Err(SpawnError::WaitInProcess);
        }
        let host = Arc::clone(&self.host);
        wait(&*host, self.run())?
    }

    /// Spawns, and gives the address at once beside what waits for `init`: for whoever has
    /// more to do meanwhile.
    ///
    /// # Errors
    /// Those of [`SpawnError`] that are known at once; the others come of the wait.
    pub fn begin(
        self,
    ) -> Result<
        (AddressOf<B>, impl Future<Output = Result<(), SpawnError>> + Send + use<B, F, P>),
        SpawnError,
    > {
        let host = Arc::clone(&self.host);
        let (timeout, grace) = (self.init_timeout, self.kill_grace);
        // To be taken away, if need be.
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
                        // Its name is free again before anyone hears of it (rule N3).
                        let end = spawned.monitor();
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
            // A starter that was dropped unheard went down with the node.
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
        if self.order.is_some() && (self.singly || matches!(self.overflow, Overflow::DropOldest)) {
            return Err(OrderError.into());
        }
        let bound = match self.mailbox {
            Some(0) => return Err(SpawnError::ZeroMailbox),
            // A bound that no memory could fill is none.
            Some(messages) => u32::try_from(messages).unwrap_or(UNBOUNDED),
            None if !matches!(self.overflow, Overflow::Refuse) => {
                return Err(NoBound.into());
            }
            None => UNBOUNDED,
        };
        let host = match self.dispatcher {
            None => self.host,
            Some(name) => {
                // Who names a dispatcher keeps the class.
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
            cell.inbox.lock().rare().starter = Some(starter);
        }
        if self.singly {
            cell.inbox.lock().take_singly();
        }
        if let Some(name) = &name {
            cell.locked_relations().set_name(name.clone());
        }
        if let Some(label) = label {
            cell.locked_relations().set_label(label);
        }
        let process: Arc<dyn Process> = Arc::clone(&cell) as Arc<dyn Process>;
        host.admit(process, name.as_ref())?;
        // Links and monitors stand before the first instruction (rule L1).
        if let Some(parent) = &self.parent {
            if let Some(urgency) = self.link {
                bonds::link(&*host, parent, cell.pid, urgency == LinkUrgency::Urgent);
            }
            if let Some((monitor, urgency)) = self.monitor {
                let target = Target::Pid(cell.pid);
                bonds::monitor(&*host, parent, monitor, target, urgency == LinkUrgency::Urgent);
            }
        }
        // A process that spawns many lets them run before it goes on.
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

/// The host for a process of this class, if it is to have another.
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
    /// Links the child to this process (rule L1). If the spawn is awaited and `init`
    /// fails, the error is all that comes of it: no exit signal follows (as OTP from
    /// 27 on).
    pub fn link(mut self) -> Self {
        self.link.get_or_insert(LinkUrgency::Ordinary);
        self
    }

    /// Links, and has the exit notice take the Urgent lane (rule M3).
    pub fn link_urgent(mut self) -> Self {
        self.link = Some(LinkUrgency::Urgent);
        self
    }

    /// Monitors the child with this reference, made by [`Context::make_ref`] (rule L1).
    pub fn monitor(mut self, monitor: Ref) -> Self {
        self.monitor = Some((monitor, LinkUrgency::Ordinary));
        self
    }

    /// Monitors, and has the notice take the Urgent lane (rule M3).
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
