//! Grains and their keeper: the process that spawns them by key and monitors them.

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

/// The default bound of a grain's mailbox, and of the messages held while the grain starts
/// or ends.
const MAILBOX: usize = 1024;

/// The time grains have to end with their keeper before they are killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// A keeper of processes by key. A grain is spawned when a message is sent to it, and ends
/// when it is idle: `GoAkt`'s passivation and grains, Orleans' virtual actors.
///
/// For a sender, the grain of a key always exists. Its first message spawns it. After an
/// idle time it [finishes](krarup_act::Address::finish) its messages and ends normally.
/// The next message spawns it again, under the same key and name, with a fresh state.
/// State that must survive is saved in `terminate` and loaded in `init`.
///
/// - There is one grain of a key at a time. The next one is spawned when the previous one
///   has ended, its state is dropped and its name is free (rule K1).
/// - No message is lost between them. Messages sent while a grain ends or starts are held, in
///   order and with their senders, and go to the next grain (rule K2). Messages accepted by a
///   grain that fails are lost with it, as with any process. The next message spawns it again.
/// - Messages go from the sender directly into the mailbox of the grain. A full mailbox is an
///   error at the sender, or the sender [waits for room](crate::GrainCalls::send_or_wait_to).
/// - A caller waits for the grain, whether it is running yet or not: it is notified of the
///   grain's end, and a cycle of calls through grains is detected (rule C5).
///
/// A grain is idle when it has handled all its messages. It ends when it has been idle for
/// the idle time, exact to the tick, as with [`Context::passivate_after`]. With that
/// method a grain can set another idle time in its `init`, and pause it while it has work
/// in flight. A grain with stashed messages does not end.
///
/// A grain that stops itself drops the messages it has accepted. [`GrainCommand::Release`]
/// ends a grain without losing accepted messages, except for stashed ones. A bare process
/// must obey [`Received::Finish`]. A grain ends when its process ends. An exit signal from
/// a grain to its keeper is not the end of that grain and has no effect. The keeper
/// ignores exit signals of other processes too.
///
/// A pool cannot be a grain, nor can another keeper of grains ([`GrainsError::Routes`]).
/// No message waits in such a process, so it cannot know that it is idle, and it has no
/// room for held messages. A grain may have a pool as its child. In `terminate` a grain
/// must not call a process that waits for its key. That process waits for the next grain,
/// which is spawned after this one has ended, so only a timeout resolves the call.
///
/// The key's `Hash` and `Eq` run on the threads of senders while the keeper's directory is
/// locked. They must not send to its grains.
///
/// If a grain fails in `init`, the calls that caused its spawn fail with that reason, and
/// its other held messages are dead letters. The next message tries again.
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
    /// Creates grains with `make`, which runs in each grain's first turn. Without an
    /// [idle](Grains::idle) time, grains run until they are released.
    pub fn new(make: F) -> Self {
        Grains { make: Arc::new(make), idle: None, mailbox: MAILBOX, name: None }
    }

    /// Sets how long a grain may be idle before it ends. A time below one millisecond
    /// counts as one millisecond.
    #[must_use]
    pub fn idle(mut self, time: Duration) -> Self {
        self.idle = Some(time.max(Duration::from_millis(1)));
        self
    }

    /// Sets the bound of each grain's mailbox, which is also the bound of the messages
    /// held while the grain is not running. The default is 1024. Zero fails the spawn with
    /// [`GrainsError::ZeroMailbox`].
    #[must_use]
    pub fn mailbox(mut self, messages: usize) -> Self {
        self.mailbox = messages;
        self
    }

    /// Sets the name under which the grain of a key is registered; by default it has none.
    /// If the name is invalid or taken by another process, the grain is not spawned. The
    /// calls that caused the spawn fail with that error, the other messages are dead
    /// letters, and an error is logged.
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
        ctx.stop_in_order();
        ctx.trap_exits(true);
        let shared = SharedDirectory::new(self.mailbox, ctx.delegate());
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

/// The running keeper.
struct GrainKeeper<K, B: Behavior, F>
where
    K: Hash + Eq + Clone + Send + 'static,
{
    plan: Grains<K, F>,
    shared: Arc<SharedDirectory<K, B::Message, B::Command>>,
    /// The grains that are alive, or whose `Down` has not arrived. The map is ordered, so
    /// an operation on all grains has the same order in every run of a simulation.
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
    /// Runs the keeper until it is to end, and returns the reason.
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
            // The keeper monitors its grains and no other process. It ignores exit
            // signals: a signal does not prove that its sender has ended. A keeper ends
            // when its parent or the node tells it to.
            Received::Down(down) => {
                if let Some((key, pid)) = self.is_gone(&down) {
                    self.shared.gone(key, pid);
                }
            }
            Received::Command(GrainCommand::Release(key)) => self.shared.release(&key),
            Received::Inspect(reply) => reply.send(self.inspect()),
            Received::Stop(reason) => return Err(reason),
            Received::Finish => return Err(Reason::Normal),
            // Main is a route, and the keeper subscribes to nothing else.
            _ => {}
        }
        Ok(())
    }

    /// Removes the grain that has ended.
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
        // A grain can remove the link, but the monitor belongs to the keeper alone.
        let mut spawn = spawn.link().monitor_urgent(monitor).pid(pid);
        if let Some(name) = name {
            spawn = spawn.name(name);
        }
        match spawn.start() {
            Ok(grain) => {
                self.made += 1;
                let lost = self.shared.move_in(&key, &grain);
                self.dead_letter(&key, lost, &Reason::NoProcess);
                self.grains.insert(grain.pid(), (key, grain));
            }
            Err(error) => self.give_up(&key, &Reason::error(error)),
        }
    }

    /// Drops the held messages of a grain that cannot be spawned.
    fn give_up(&mut self, key: &K, error: &Reason) {
        let pid = self.ctx.pid();
        tracing::error!(target: "krarup", %pid, %error, "a grain could not be spawned");
        let lost = self.shared.give_up(key);
        self.dead_letter(key, lost, error);
    }

    fn inspect(&self) -> Inspection {
        self.shared.inspect().with("made", self.made)
    }

    /// Stops accepting messages and ends the grains, by a stop first and by a kill after
    /// `PATIENCE`.
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
    /// Stops accepting messages. The held messages are lost.
    fn close(&mut self) {
        for (key, held) in self.shared.close() {
            for (message, sender) in held {
                self.shared.delegate.dead_letter(ToGrain { key: key.clone(), message }, sender);
            }
        }
    }

    /// Counts messages that will not be handled. Their calls fail with this reason.
    fn dead_letter(&self, key: &K, held: Vec<QueuedMessage<B::Message>>, reason: &Reason) {
        if held.is_empty() {
            return;
        }
        let others = DroppedCalls::take();
        for (message, sender) in held {
            self.shared.delegate.dead_letter(ToGrain { key: key.clone(), message }, sender);
        }
        DroppedCalls::take().fail(reason);
        drop(others);
    }
}

/// Closes the directory in whatever way the keeper ends, so that later sends to its
/// address fail.
impl<K, B: Behavior, F> Drop for GrainKeeper<K, B, F>
where
    K: Hash + Eq + Clone + Send + 'static,
{
    fn drop(&mut self) {
        self.close();
    }
}

/// A grain as a process: the behaviour made for its key. It ends when it is idle and the
/// directory permits it.
struct Grain<K, B: Behavior> {
    behavior: B,
    key: K,
    kept: GrainOptions<K, B>,
}

/// The keeper's settings for a grain.
struct GrainOptions<K, B: Behavior> {
    /// A weak reference, because the directory holds the grain.
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
