//! Grains: processes that are there when they are needed.

use crate::grain_book::{Held, Queue, Room, Shared};
use crate::grain_calls::{GrainCommand, ToGrain};
use crate::grain_route::ToGrains;
use krarup_act::{AddressOf, Behavior, Context, DroppedCalls, Received, holding};
use krarup_gen::{Exit, Inspection, Pid, Reason, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::hash::Hash;
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::task::{self, Poll, Waker};
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
/// set messages aside. One that is a pool goes one to two idle times after its last message.
///
/// One that stops by itself takes along what it had accepted; [`GrainCommand::Release`] lets it go
/// without losing anything. A bare process must obey [`Received::Finish`]. In its `terminate` a
/// grain must not call who waits for its key: that one waits for the next, which comes
/// when this one is gone, so only a timeout ends it.
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
    /// unless told otherwise, at least 1.
    #[must_use]
    pub fn mailbox(mut self, messages: usize) -> Self {
        self.mailbox = messages.max(1);
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
        ctx.stop_in_order(true);
        ctx.trap_exits(true);
        let shared = Shared::new(self.mailbox, ctx.agent());
        ctx.route_main(ToGrains(Arc::clone(&shared)));
        let mut keeping = Keeping { plan: self, shared, grains: BTreeMap::new(), made: 0, ctx };
        let reason = poll_fn(|cx| keeping.poll(cx)).await;
        keeping.end(&reason).await;
        Err(reason)
    }
}

/// The keeper at work.
struct Keeping<K, B: Behavior, F>
where
    K: Hash + Eq + Clone + Send + 'static,
{
    plan: Grains<K, F>,
    shared: Arc<Shared<K, B::Message, B::Command>>,
    /// Those that live, or of whose end the keeper has not heard; in order, for what is done to all
    /// is done in the same order whenever a simulation is run again.
    grains: BTreeMap<Pid, (K, AddressOf<B>)>,
    made: u64,
    ctx: Context<ToGrain<K, B::Message>, GrainCommand<K>>,
}

impl<K, B, F> Keeping<K, B, F>
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
            let wanted = {
                let mut book = self.shared.book.lock();
                if book.wanted.is_empty() {
                    book.sleeper = Some(cx.waker().clone());
                    return Poll::Pending;
                }
                std::mem::take(&mut book.wanted)
            };
            wanted.into_iter().for_each(|key| self.make(key));
        }
    }

    fn handle(
        &mut self,
        item: Received<ToGrain<K, B::Message>, GrainCommand<K>>,
    ) -> Result<(), Reason> {
        match item {
            Received::Exit(Exit { pid, reason }) => match self.grains.remove(&pid) {
                Some((key, _)) => {
                    let kept = self.shared.book.lock().gone(&key, pid);
                    drop(kept);
                }
                None if reason.is_abnormal() || self.ctx.parent() == Some(pid) => {
                    return Err(reason);
                }
                None => {}
            },
            Received::Command(GrainCommand::Release(key)) => {
                holding(|| {
                    let kept = self.shared.book.lock().release(&key);
                    drop(kept);
                });
            }
            Received::Inspect(reply) => reply.send(self.inspect()),
            Received::Stop(reason) => return Err(reason),
            Received::Finish => return Err(Reason::Normal),
            // Main is a route, and nothing else is asked for.
            _ => {}
        }
        Ok(())
    }

    fn make(&mut self, key: K) {
        let (pid, name) = {
            let mut book = self.shared.book.lock();
            let Some(Room::Away(queue)) = book.rooms.get_mut(&key) else { return };
            (queue.unused.take(), self.plan.name.as_ref())
        };
        let (make, of) = (Arc::clone(&self.plan.make), key.clone());
        let kept = Kept { shared: Arc::downgrade(&self.shared), idle: self.plan.idle };
        let factory = move || Grain { behavior: make(&of), key: of, kept };
        let mut spawn = self.ctx.spawn(factory).mailbox(self.plan.mailbox).link_urgent();
        if let Some(name) = name {
            spawn = spawn.name(name(&key));
        }
        if let Some(pid) = pid {
            spawn = spawn.pid(pid);
        }
        match spawn.start() {
            Ok(grain) => {
                self.made += 1;
                self.moves_in(&key, &grain);
                self.grains.insert(grain.pid(), (key, grain));
            }
            Err(error) => {
                let pid = self.ctx.pid();
                tracing::error!(target: "krarup", %pid, %error, "a grain could not be made");
                let mut book = self.shared.book.lock();
                let room = book.rooms.get_mut(&key).and_then(Room::queue);
                let Some((queue, _)) = room else { return };
                // Those who have places keep them, for the next try.
                let Queue { held, line, .. } =
                    std::mem::replace(queue, Queue::with_places(queue.kept));
                book.forget(&key);
                drop(book);
                self.lose(&key, held, &Reason::error(error));
                wake(line);
            }
        }
    }

    /// A grain has been made: it gets what was held for it, and those who have places for
    /// what they will send have them in its mailbox, which has the same bound.
    fn moves_in(&mut self, key: &K, grain: &AddressOf<B>) {
        let mut lost = Vec::new();
        let mut line = Vec::new();
        holding(|| {
            let mut book = self.shared.book.lock();
            if let Some(Room::Away(queue)) = book.rooms.remove(key) {
                for (message, sender) in queue.held {
                    // Dead already, it takes them with it as if they had come in time.
                    if let Err(error) = grain.forward(message, sender) {
                        lost.push((error.into_message(), sender));
                    }
                }
                let kept: Vec<_> =
                    (0..queue.kept).map_while(|_| grain.reserve_quietly().ok()).collect();
                let room = if kept.len() == queue.kept {
                    Room::Present { grain: grain.clone(), touched: true, kept }
                } else {
                    Room::Leaving { pid: grain.pid(), queue: Queue::with_places(queue.kept) }
                };
                line = queue.line;
                book.rooms.insert(key.clone(), room);
            }
        });
        self.lose(key, lost, &Reason::NoProcess);
        wake(line);
    }

    fn inspect(&self) -> Inspection {
        let book = self.shared.book.lock();
        let count = |wanted: fn(&Room<B::Message, B::Command>) -> bool| {
            book.rooms.values().filter(|room| wanted(room)).count()
        };
        Inspection::new()
            .with("present", count(|room| matches!(room, Room::Present { .. })))
            .with("coming", count(|room| matches!(room, Room::Away(_))))
            .with("leaving", count(|room| matches!(room, Room::Leaving { .. })))
            .with("made", self.made)
            .with("passivated", book.passivated)
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
                Some(Received::Exit(exit)) => drop(self.grains.remove(&exit.pid)),
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

impl<K, B: Behavior, F> Keeping<K, B, F>
where
    K: Hash + Eq + Clone + Send + 'static,
{
    /// Nothing is accepted any more, and what is held is lost.
    fn close(&mut self) {
        let mut rooms: Vec<_> = {
            let mut book = self.shared.book.lock();
            book.closed = true;
            book.sleeper = None;
            book.wanted.clear();
            std::mem::take(&mut book.rooms).into_iter().collect()
        };
        // In an order that does not change from run to run.
        rooms.sort_by_key(|(_, room)| match room {
            Room::Away(queue) | Room::Leaving { queue, .. } => queue.next,
            Room::Present { .. } => None,
        });
        for (key, room) in rooms {
            if let Room::Away(queue) | Room::Leaving { queue, .. } = room {
                for (message, sender) in queue.held {
                    self.shared.agent.lose(ToGrain { key: key.clone(), message }, sender);
                }
                wake(queue.line);
            }
        }
    }

    /// Counts what nobody will handle; calls fail with this reason.
    fn lose(&self, key: &K, held: Vec<Held<B::Message>>, reason: &Reason) {
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
impl<K, B: Behavior, F> Drop for Keeping<K, B, F>
where
    K: Hash + Eq + Clone + Send + 'static,
{
    fn drop(&mut self) {
        self.close();
    }
}

fn wake(line: Vec<(u64, Waker)>) {
    line.into_iter().for_each(|(_, waker)| waker.wake());
}

/// A grain as a process: what was made for its key, and goes when it is idle and the book says so.
struct Grain<K, B: Behavior> {
    behavior: B,
    key: K,
    kept: Kept<K, B>,
}

/// How a grain is kept.
struct Kept<K, B: Behavior> {
    /// Not held: a grain is in the book.
    shared: Weak<Shared<K, B::Message, B::Command>>,
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
        let Grain { behavior, key, kept: Kept { shared, idle } } = self;
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
