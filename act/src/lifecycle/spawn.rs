//! Spawning processes.

use crate::addressing::address::Address;
use crate::behavior::Behavior;
use crate::context::Context;
use crate::host::delegate::UnusedPid;
use crate::host::host::{CheckedName, Host};
use crate::host::shared_host::SharedHost;
use crate::mailbox::order::Order;
use crate::mailbox::overflow::Overflow;
use krarup_gen::{Class, Name, Pid, Ref};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

mod launch;
mod options;

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
    factory: F,
    overflow: Overflow<B::Message>,
    order: Option<Order<B::Message>>,
    options: UntypedOptions,
    kind: PhantomData<fn() -> (B, P)>,
}

/// The options that know no type of message.
struct UntypedOptions {
    shared: Arc<SharedHost>,
    /// The process that spawns it, or a process that is only shown as its parent.
    parent: Option<Pid>,
    name: Option<CheckedName>,
    label: Option<CheckedName>,
    mailbox: Option<usize>,
    dispatcher: Option<String>,
    class: Option<Class>,
    init_timeout: Option<Duration>,
    kill_grace: Duration,
    /// How many items the flight recorder keeps.
    record: usize,
    /// Whether messages are taken off Main one by one.
    one_by_one: bool,
    pid: Option<UnusedPid>,
    link: Option<LinkUrgency>,
    monitor: Option<(Ref, LinkUrgency)>,
}

impl UntypedOptions {
    fn new(shared: Arc<SharedHost>, parent: Option<Pid>) -> Self {
        UntypedOptions {
            shared,
            parent,
            name: None,
            label: None,
            mailbox: None,
            dispatcher: None,
            class: None,
            init_timeout: None,
            kill_grace: KILL_GRACE,
            record: 0,
            one_by_one: false,
            pid: None,
            link: None,
            monitor: None,
        }
    }
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
        Self::new(SharedHost::of(host), factory, None)
    }

    /// Makes a spawn from outside of a process that is shown as a child of this one, which may
    /// have ended. For hosts.
    pub fn under(host: Arc<dyn Host>, parent: Pid, factory: F) -> Self {
        Self::new(SharedHost::of(host), factory, Some(parent))
    }
}

impl<M: Send + 'static, C: Send + 'static> Context<M, C> {
    /// Spawns a child of this process. `factory` runs in the child's own first turn (rule D1).
    pub fn spawn<B, F>(&self, factory: F) -> Spawn<B, F, Inside>
    where
        B: Behavior,
        F: FnOnce() -> B + Send + 'static,
    {
        Spawn::new(Arc::clone(&self.cell.shared), factory, Some(self.pid()))
    }
}

impl<B, F, P> Spawn<B, F, P>
where
    B: Behavior,
    F: FnOnce() -> B + Send + 'static,
{
    pub(crate) fn new(shared: Arc<SharedHost>, factory: F, parent: Option<Pid>) -> Self {
        Spawn {
            factory,
            overflow: Overflow::Refuse,
            order: None,
            options: UntypedOptions::new(shared, parent),
            kind: PhantomData,
        }
    }

    /// Registers the process under this name, before its `init` runs (rules N2, N3).
    pub fn name(mut self, name: impl AsRef<str>) -> Self {
        self.options.name = Some(Name::new(name));
        self
    }

    /// Sets the label of the behaviour in displays and logs, 1 to 255 bytes, instead of the
    /// name of its type. For closures ([`behavior_fn`](crate::behavior_fn)), and for types with
    /// several uses. A label is not a name: it need not be unique, and no process is found by it.
    pub fn label(mut self, label: impl AsRef<str>) -> Self {
        self.options.label = Some(Name::new(label));
        self
    }

    /// Bounds the Main lane to this many waiting messages, at least 1 (rule M5). By default
    /// the mailbox is unbounded. The greatest bound is 4 294 967 294 messages, and a greater one
    /// counts as that.
    pub fn mailbox(mut self, messages: usize) -> Self {
        self.options.mailbox = Some(messages);
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
        self.options.dispatcher = Some(name.into());
        self
    }

    /// Schedules the process in this class (rule R6); by default in that of its parent. On a
    /// dispatcher without a queue (pinned, calling-thread or an executor) it makes no
    /// difference.
    pub fn class(mut self, class: Class) -> Self {
        self.options.class = Some(class);
        self
    }

    /// Gives the process a flight recorder: it records the last `items` items that it takes, at
    /// most [`RecordedItem::MOST`](krarup_gen::RecordedItem), for its crash report and for those
    /// that look at it (rule V16). The texts of messages are recorded only if the behaviour
    /// shows them ([`Actor::show_message`](crate::Actor::show_message)). Each message then takes a
    /// longer path; a process without a recorder pays nothing. A process may also turn its recorder
    /// on ([`Context::record`]), as may others ([`NodeView::record`](crate::NodeView::record)).
    pub fn record(mut self, items: usize) -> Self {
        self.options.record = items;
        self
    }

    /// Has the process take its messages one by one, so that waiting messages can be taken
    /// back.
    pub(crate) fn one_by_one(mut self) -> Self {
        self.options.one_by_one = true;
        self
    }

    /// Gives the process this reserved pid, for which callers may already wait (see
    /// [`Delegate`](crate::Delegate)). A pid of another node is ignored.
    pub fn pid(mut self, pid: UnusedPid) -> Self {
        self.options.pid = Some(pid);
        self
    }

    /// Kills the process if its `init` has not returned within this time. Applies to `.await`
    /// and `.wait()`: a future that is dropped before the start is over takes the limit with it.
    pub fn init_timeout(mut self, timeout: Duration) -> Self {
        self.options.init_timeout = Some(timeout);
        self
    }

    /// Sets how long the process has to end after it was killed because of its
    /// [`init_timeout`](Self::init_timeout); by default [`KILL_GRACE`]. A process that blocks
    /// its thread cannot be ended. After this time the spawn fails although the process has
    /// not ended, and the name is free.
    pub fn kill_grace(mut self, grace: Duration) -> Self {
        self.options.kill_grace = grace;
        self
    }
}

impl<B, F> Spawn<B, F, Inside>
where
    B: Behavior,
    F: FnOnce() -> B + Send + 'static,
{
    /// Links the child to this process (rule L1). If the spawn is awaited and `init` fails,
    /// only the error is returned: no exit signal follows (as OTP from 27 on).
    ///
    /// If this process has ended (a context can be moved out of it), the child gets the exit of a
    /// link to no process (rule L4): it ends with [`Reason::NoProcess`](krarup_gen::Reason::NoProcess)
    /// before its first instruction, and a spawn that is awaited fails with that reason.
    pub fn link(mut self) -> Self {
        self.options.link.get_or_insert(LinkUrgency::Ordinary);
        self
    }

    /// Links the child, with the exit notice on the Urgent lane (rule M3).
    pub fn link_urgent(mut self) -> Self {
        self.options.link = Some(LinkUrgency::Urgent);
        self
    }

    /// Monitors the child with this reference, made by [`Context::make_ref`] (rule L1). If this
    /// process has ended, nobody holds the monitor, and none is made.
    ///
    /// A reference is that of one monitor at a time. While this process holds a monitor with it, or has not received the
    /// notice of one, the spawn fails with [`SpawnError::MonitorInUse`](krarup_gen::SpawnError::MonitorInUse), and
    /// nothing is started (rule L5). After the notice, or after [`Context::demonitor`], it can be used again.
    pub fn monitor(mut self, monitor: Ref) -> Self {
        self.options.monitor = Some((monitor, LinkUrgency::Ordinary));
        self
    }

    /// Monitors the child as [`monitor`](Self::monitor) does, with the notice on the Urgent lane (rule M3).
    pub fn monitor_urgent(mut self, monitor: Ref) -> Self {
        self.options.monitor = Some((monitor, LinkUrgency::Urgent));
        self
    }
}

impl<B: Behavior, F, P> fmt::Debug for Spawn<B, F, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spawn")
            .field("name", &self.options.name)
            .field("label", &self.options.label)
            .field("mailbox", &self.options.mailbox)
            .field("overflow", &self.overflow)
            .field("order", &self.order)
            .field("dispatcher", &self.options.dispatcher)
            .field("class", &self.options.class)
            .field("parent", &self.options.parent)
            .finish_non_exhaustive()
    }
}
