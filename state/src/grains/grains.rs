//! Grains: processes that are there when they are needed.

use crate::grains::calls::{GrainCommand, ToGrain};
use crate::grains::directory::SharedDirectory;
use crate::grains::entry::QueuedMessage;
use crate::grains::error::GrainsError;
use crate::grains::route::ToGrains;
use krarup_act::{AddressOf, Behavior, Context, DroppedCalls, Received, contain};
use krarup_gen::{Down, Inspection, Pid, Reason, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::hash::Hash;
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::task::{self, Poll};
use std::time::Duration;

/// How many messages a grain's mailbox has room for unless told otherwise, and how many are
/// held while it comes or goes.
const MAILBOX: usize = 1024;

/// How long grains may take to end with their keeper, before they are killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// A keeper of processes by key, that are made when something is sent to them and go when they
/// are idle: `GoAkt`'s passivation and grains, Orleans' virtual actors.
///
/// To a sender the grain of a key is always there. Its first message makes it; after an idle
/// time it [finishes](krarup_act::Address::finish) what it has and ends normally; the next message makes it
/// again, under the same key and name, with a fresh state. Whatever it wants to know then it
/// has written down in `terminate` and reads in `init`.
///
/// - There is one of a key at a time: the next is made when the one before is gone, its state
///   dropped and its name free (rule K1).
/// - Nothing is lost between them: what is sent while one ends or begins is held, in its order
///   and with its sender, and is the next one's (rule K2). What has been accepted by a grain
///   that fails goes down with it, as with any process; the next message makes it again.
/// - Messages go from the sender right into the mailbox of the grain; one that is full is an
///   error at the sender, or [waited for](crate::GrainCalls::send_or_wait_to).
/// - A caller waits for the grain, whether it is there yet or not: it hears of its end, and a
///   cycle of calls through grains is found (rule C5).
///
/// A grain is idle when it has handled all that has come, and goes when it has been idle for the idle
/// time, to the tick: as with [`Context::passivate_after`], with which it may choose another
/// time for itself in its `init`, and pause that while it has work in flight. It stays while it has
/// set messages aside.
///
/// One that stops by itself takes along what it had accepted; [`GrainCommand::Release`] lets it go
/// without losing what it has accepted, but for what it has set aside. A bare process must obey
/// [`Received::Finish`]. The end of a grain is that of its process: an exit signal that it sends
/// its keeper is none, and does nothing; the keeper takes no notice of signals of others either.
///
/// A pool cannot be a grain, nor can another keeper of grains
/// ([`GrainsError::Routes`]): no message waits with such a process, so it does not know that it is
/// idle, nor is there room with it for what is held. A grain may have a pool as its child.
/// In its `terminate` a
/// grain must not call who waits for its key: that one waits for the next, which comes
/// when this one is gone, so only a timeout ends it.
///
/// The key's `Hash` and `Eq` run on the threads of senders while the keeper's book is locked: they
/// must not send to its grains.
///
/// A grain that fails its `init` fails the calls that have made it with that reason, and what else
/// had come is a dead letter. The next message tries again.
///
/// ```
/// # use krarup_node::Simulation;
/// # use krarup_act::{Actor, Context, Reply};
/// # use krarup_gen::Result;
/// # use krarup_state::{GrainCalls, Grains};
/// # use std::time::Duration;
/// struct Cart(Vec<String>);
///
/// enum Say {
///     Add(String),
///     Count(Reply<usize>),
/// }
///
/// impl Actor for Cart {
///     type Message = Say;
///     async fn handle_message(&mut self, _: &mut Context<Say>, say: Say) -> Result {
///         match say {
///             Say::Add(thing) => self.0.push(thing),
///             Say::Count(reply) => reply.send(self.0.len()),
///         }
///         Ok(())
///     }
/// }
///
/// let sim = Simulation::new(7);
/// let carts = sim
///     .spawn(|| {
///         Grains::new(|_customer: &String| Cart(Vec::new()))
///             .idle(Duration::from_mins(10))
///             .named(|customer| format!("cart/{customer}"))
///     })
///     .wait()
///     .unwrap();
/// carts.send_to("ada".to_owned(), Say::Add("tea".to_owned())).unwrap();
/// assert_eq!(carts.call_to("ada".to_owned(), Say::Count).wait(), Ok(1));
/// assert!(sim.whereis("cart/ada").is_some());
/// sim.advance(Duration::from_hours(1));
/// assert!(sim.whereis("cart/ada").is_none());
/// assert_eq!(carts.call_to("ada".to_owned(), Say::Count).wait(), Ok(0));
/// ```
pub struct Grains<K, F> {
    make: Arc<F>,
    idle: Option<Duration>,
    mailbox: usize,
    name: Option<NameOf<K>>,
}

type NameOf<K> = Arc<dyn Fn(&K) -> String + Send + Sync>;

impl<K, B, F> Grains<K, F>
where
    B: Behavior,
    F: Fn(&K) -> B + Send + Sync + 'static,
{
    /// Grains that `make` makes, each in its own first turn. They stay until they are released,
    /// unless an [idle](Grains::idle) time is set.
    pub fn new(make: F) -> Self {
        Grains { make: Arc::new(make), idle: None, mailbox: MAILBOX, name: None }
    }

    /// How long a grain may be idle before it goes; a time under a millisecond counts as a
    /// millisecond.
    #[must_use]
    pub fn idle(mut self, time: Duration) -> Self {
        self.idle = Some(time.max(Duration::from_millis(1)));
        self
    }

    /// The bound of each grain's mailbox, and of what is held for it while it is not there; 1024
    /// unless told otherwise. Zero fails the spawn with [`GrainsError::ZeroMailbox`].
    #[must_use]
    pub fn mailbox(mut self, messages: usize) -> Self {
        self.mailbox = messages;
        self
    }

    /// The name under which the grain of a key is registered; none unless told. One that is taken
    /// by somebody else, or is no name, keeps the grain from being made: the calls that were to
    /// make it fail with that, what else was sent to it is a dead letter, and that is logged.
    #[must_use]
    pub fn named(mut self, name: impl Fn(&K) -> String + Send + Sync + 'static) -> Self {
        self.name = Some(Arc::new(name));
        self
    }
}

impl<K, F> fmt::Debug for Grains<K, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grains")
            .field("idle", &self.idle)
            .field("mailbox", &self.mailbox)
            .finish_non_exhaustive()
    }
}

impl<K, B, F> Behavior for Grains<K, F>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    B: Behavior,
    F: Fn(&K) -> B + Send + Sync + 'static,
{
    type Message = ToGrain<K, B::Message>;
    type Command = GrainCommand<K>;

    async fn run(self, mut ctx: Context<Self::Message, Self::Command>) -> Result {
        if self.mailbox == 0 {
            return Err(Reason::error(GrainsError::ZeroMailbox));
        }
        if B::routes_main() {
            return Err(Reason::error(GrainsError::Routes(B::label())));
        }
        ctx.stop_in_order(true);
        ctx.trap_exits(true);
        let shared = SharedDirectory::new(self.mailbox, ctx.agent());
        ctx.route_main(ToGrains(Arc::clone(&shared)));
        let mut keeping = GrainKeeper { plan: self, shared, grains: BTreeMap::new(), made: 0, ctx };
        let reason = poll_fn(|cx| keeping.poll(cx)).await;
        keeping.end(&reason).await;
        Err(reason)
    }

    fn routes_main() -> bool {
        true
    }
}

/// The keeper at work.
struct GrainKeeper<K, B: Behavior, F>
where
    K: Hash + Eq + Clone + Send + 'static,
{
    plan: Grains<K, F>,
    shared: Arc<SharedDirectory<K, B::Message, B::Command>>,
    /// Those that live, or of whose end the keeper has not heard; in order, for what is done to all
    /// is done in the same order whenever a simulation is run again.
    grains: BTreeMap<Pid, (K, AddressOf<B>)>,
    made: u64,
    ctx: Context<ToGrain<K, B::Message>, GrainCommand<K>>,
}

impl<K, B, F> GrainKeeper<K, B, F>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    B: Behavior,
    F: Fn(&K) -> B + Send + Sync + 'static,
{
    /// The reason to end.
    fn poll(&mut self, cx: &mut task::Context<'_>) -> Poll<Reason> {
        loop {
            while let Poll::Ready(item) = Pin::new(&mut self.ctx.receive()).poll(cx) {
                if let Err(reason) = self.handle(item) {
                    return Poll::Ready(reason);
                }
            }
            let wanted = self.shared.take_wanted(cx.waker().clone());
            if wanted.is_empty() {
                return Poll::Pending;
            }
            wanted.into_iter().for_each(|key| self.make(key));
        }
    }

    fn handle(
        &mut self,
        item: Received<ToGrain<K, B::Message>, GrainCommand<K>>,
    ) -> Result<(), Reason> {
        match item {
            // It monitors its grains, and nobody else. An exit signal says nothing about its sender,
            // who may live, and is not obeyed: a keeper ends as its parent or the node wants it.
            Received::Down(down) => {
                if let Some((key, pid)) = self.is_gone(&down) {
                    self.shared.gone(key, pid);
                }
            }
            Received::Command(GrainCommand::Release(key)) => self.shared.release(&key),
            Received::Inspect(reply) => reply.send(self.inspect()),
            Received::Stop(reason) => return Err(reason),
            Received::Finish => return Err(Reason::Normal),
            // Main is a route, and nothing else is asked for.
            _ => {}
        }
        Ok(())
    }

    /// Which grain has ended.
    fn is_gone(&mut self, down: &Down) -> Option<(K, Pid)> {
        let pid = down.pid()?;
        self.grains.remove(&pid).map(|(key, _)| (key, pid))
    }

    fn make(&mut self, key: K) {
        let Some(pid) = self.shared.take_pid(&key) else { return };
        let name = match &self.plan.name {
            None => None,
            Some(name) => match contain(|| name(&key)) {
                Ok(name) => Some(name),
                Err(panic) => return self.give_up(&key, &panic),
            },
        };
        let (make, of) = (Arc::clone(&self.plan.make), key.clone());
        let kept = GrainOptions { shared: Arc::downgrade(&self.shared), idle: self.plan.idle };
        let factory = move || Grain { behavior: make(&of), key: of, kept };
        let monitor = self.ctx.make_ref();
        let spawn = self.ctx.spawn(factory).mailbox(self.plan.mailbox);
        // The monitor is the keeper's alone; the link a grain may take away.
        let mut spawn = spawn.link().monitor_urgent(monitor).pid(pid);
        if let Some(name) = name {
            spawn = spawn.name(name);
        }
        match spawn.start() {
            Ok(grain) => {
                self.made += 1;
                let lost = self.shared.move_in(&key, &grain);
                self.lose(&key, lost, &Reason::NoProcess);
                self.grains.insert(grain.pid(), (key, grain));
            }
            Err(error) => self.give_up(&key, &Reason::error(error)),
        }
    }

    /// A grain cannot be made: what was held for it is lost.
    fn give_up(&mut self, key: &K, error: &Reason) {
        let pid = self.ctx.pid();
        tracing::error!(target: "krarup", %pid, %error, "a grain could not be made");
        let lost = self.shared.give_up(key);
        self.lose(key, lost, error);
    }

    fn inspect(&self) -> Inspection {
        self.shared.inspect().with("made", self.made)
    }

    /// Nothing is accepted any more; the grains end, in order if they do so in time.
    async fn end(&mut self, reason: &Reason) {
        let others = DroppedCalls::take();
        self.close();
        DroppedCalls::take().fail(reason);
        drop(others);
        for (_, grain) in self.grains.values() {
            grain.process().request_stop(Reason::Shutdown);
        }
        let mut patience = pin!(self.ctx.sleep(PATIENCE));
        let mut killed = false;
        while !self.grains.is_empty() {
            let next = poll_fn(|cx| {
                if let Poll::Ready(item) = Pin::new(&mut self.ctx.receive()).poll(cx) {
                    return Poll::Ready(Some(item));
                }
                if killed {
                    return Poll::Pending;
                }
                patience.as_mut().poll(cx).map(|()| None)
            })
            .await;
            match next {
                Some(Received::Down(down)) => drop(self.is_gone(&down)),
                Some(Received::Inspect(reply)) => reply.send(self.inspect()),
                Some(_) => {}
                None => {
                    killed = true;
                    self.grains.values().for_each(|(_, grain)| grain.process().kill());
                }
            }
        }
    }
}

impl<K, B: Behavior, F> GrainKeeper<K, B, F>
where
    K: Hash + Eq + Clone + Send + 'static,
{
    /// Nothing is accepted any more, and what is held is lost.
    fn close(&mut self) {
        for (key, held) in self.shared.close() {
            for (message, sender) in held {
                self.shared.agent.lose(ToGrain { key: key.clone(), message }, sender);
            }
        }
    }

    /// Counts what nobody will handle; calls fail with this reason.
    fn lose(&self, key: &K, held: Vec<QueuedMessage<B::Message>>, reason: &Reason) {
        if held.is_empty() {
            return;
        }
        let others = DroppedCalls::take();
        for (message, sender) in held {
            self.shared.agent.lose(ToGrain { key: key.clone(), message }, sender);
        }
        DroppedCalls::take().fail(reason);
        drop(others);
    }
}

/// However the keeper ends, its address says so from then on.
impl<K, B: Behavior, F> Drop for GrainKeeper<K, B, F>
where
    K: Hash + Eq + Clone + Send + 'static,
{
    fn drop(&mut self) {
        self.close();
    }
}

/// A grain as a process: what was made for its key, and goes when it is idle and the book says so.
struct Grain<K, B: Behavior> {
    behavior: B,
    key: K,
    kept: GrainOptions<K, B>,
}

/// How a grain is kept.
struct GrainOptions<K, B: Behavior> {
    /// Not held: a grain is in the book.
    shared: Weak<SharedDirectory<K, B::Message, B::Command>>,
    idle: Option<Duration>,
}

impl<K, B> Behavior for Grain<K, B>
where
    K: Hash + Eq + Clone + Send + Sync + 'static,
    B: Behavior,
{
    type Message = B::Message;
    type Command = B::Command;

    fn run(self, mut ctx: Context<B::Message, B::Command>) -> impl Future<Output = Result> + Send {
        let Grain { behavior, key, kept: GrainOptions { shared, idle } } = self;
        if let Some(idle) = idle {
            let pid = ctx.pid();
            let may_go = move || shared.upgrade().is_none_or(|shared| shared.lets_go(&key, pid));
            ctx.passivate_if(idle, may_go);
        }
        behavior.run(ctx)
    }

    fn label() -> &'static str {
        B::label()
    }
}
