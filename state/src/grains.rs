//! Grains: processes that are there when they are needed.

use crate::grain_book::{Held, Room, Shared, ToGrains};
use crate::grain_calls::{GrainCommand, ToGrain};
use krarup_act::{AddressOf, Behavior, Context, Received, Sleep, hold};
use krarup_gen::{Exit, Inspection, Pid, ProcessState, Reason, Result};
use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::hash::Hash;
use std::pin::{Pin, pin};
use std::sync::Arc;
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
///   error at the sender.
///
/// A grain is idle when nothing was sent to it through its keeper for the idle time, and it has
/// nothing to do: it goes after at least that time and at most twice as long. What is sent past
/// the keeper, by address, does not count. Let it not stop by itself: [`GrainCommand::Release`]
/// lets it go without losing anything. A bare process must obey [`Received::Finish`].
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

    /// How long a grain may be idle; a time under a millisecond counts as a millisecond.
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
    /// by somebody else, or is no name, keeps the grain from being made: what was sent to
    /// it is a dead letter, and that is logged.
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
        let shared = Shared::new(self.mailbox);
        ctx.route_main(ToGrains(Arc::clone(&shared)));
        let mut keeping = Keeping {
            plan: self,
            shared,
            grains: HashMap::new(),
            look: None,
            made: 0,
            passivated: 0,
            ctx,
        };
        let reason = poll_fn(|cx| keeping.poll(cx)).await;
        keeping.end().await;
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
    /// Those that live, or of whose end the keeper has not heard.
    grains: HashMap<Pid, (K, AddressOf<B>)>,
    /// When it looks next who is idle; never, while there is nobody.
    look: Option<Pin<Box<Sleep>>>,
    made: u64,
    passivated: u64,
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
            if self.look.as_mut().is_some_and(|look| look.as_mut().poll(cx).is_ready()) {
                self.look_who_is_idle();
                continue;
            }
            let wanted = {
                let mut book = self.shared.0.lock();
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
                Some((key, _)) => self.shared.0.lock().gone(&key, pid),
                None if reason.is_abnormal() || self.ctx.parent() == Some(pid) => {
                    return Err(reason);
                }
                None => {}
            },
            Received::Command(GrainCommand::Release(key)) => {
                let _held = hold();
                let mut book = self.shared.0.lock();
                if let Some(room) = book.rooms.get_mut(&key) {
                    self.passivated += u64::from(let_go(room));
                }
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
        let (make, of) = (Arc::clone(&self.plan.make), key.clone());
        let mut spawn = self.ctx.spawn(move || make(&of)).mailbox(self.plan.mailbox).link_urgent();
        if let Some(name) = &self.plan.name {
            spawn = spawn.name(name(&key));
        }
        let started = spawn.start();
        let mut lost = Vec::new();
        {
            let _held = hold();
            let mut book = self.shared.0.lock();
            let waiting = match book.rooms.remove(&key) {
                Some(Room::Coming(held)) => held,
                // Not reached: a room whose grain is wanted waits for it.
                Some(room) => {
                    book.rooms.insert(key.clone(), room);
                    Vec::new()
                }
                None => Vec::new(),
            };
            match &started {
                Ok(grain) => {
                    for (message, sender) in waiting {
                        // Dead already, it takes them with it as if they had come in time.
                        if let Err(error) = grain.forward(message, sender) {
                            lost.push((error.into_message(), sender));
                        }
                    }
                    let room = Room::Present { grain: grain.clone(), touched: true };
                    book.rooms.insert(key.clone(), room);
                }
                Err(_) => lost = waiting,
            }
        }
        lose(&self.ctx, &key, lost);
        match started {
            Ok(grain) => {
                self.made += 1;
                self.grains.insert(grain.pid(), (key, grain));
                if self.look.is_none() {
                    self.look = self.plan.idle.map(|idle| Box::pin(self.ctx.sleep(idle)));
                }
            }
            Err(error) => {
                let pid = self.ctx.pid();
                tracing::error!(target: "krarup", %pid, %error, "a grain could not be made");
            }
        }
    }

    /// Lets go who was not needed since the last look.
    fn look_who_is_idle(&mut self) {
        let _held = hold();
        let mut book = self.shared.0.lock();
        for room in book.rooms.values_mut() {
            let Room::Present { grain, touched } = room else { continue };
            if std::mem::take(touched) || grain.waiting() > 0 {
                continue;
            }
            if grain.info().state == ProcessState::Idle {
                self.passivated += u64::from(let_go(room));
            }
        }
        self.look = match self.plan.idle {
            Some(idle) if !book.rooms.is_empty() => Some(Box::pin(self.ctx.sleep(idle))),
            _ => None,
        };
    }

    fn inspect(&self) -> Inspection {
        let book = self.shared.0.lock();
        let count = |wanted: fn(&Room<B::Message, B::Command>) -> bool| {
            book.rooms.values().filter(|room| wanted(room)).count()
        };
        Inspection::new()
            .with("present", count(|room| matches!(room, Room::Present { .. })))
            .with("coming", count(|room| matches!(room, Room::Coming(_))))
            .with("leaving", count(|room| matches!(room, Room::Leaving { .. })))
            .with("made", self.made)
            .with("passivated", self.passivated)
    }

    /// Nothing is accepted any more; the grains end, in order if they do so in time.
    async fn end(&mut self) {
        self.close();
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
        let rooms = {
            let mut book = self.shared.0.lock();
            book.closed = true;
            book.sleeper = None;
            book.wanted.clear();
            std::mem::take(&mut book.rooms)
        };
        for (key, room) in rooms {
            if let Room::Coming(held) | Room::Leaving { held, .. } = room {
                lose(&self.ctx, &key, held);
            }
        }
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

/// Tells a grain to finish what it has; whether there was one. From now on its mail is held.
fn let_go<M: Send + 'static, C: Send + 'static>(room: &mut Room<M, C>) -> bool {
    let Room::Present { grain, .. } = room else { return false };
    grain.finish();
    *room = Room::Leaving { pid: grain.pid(), held: Vec::new() };
    true
}

/// Counts what nobody will handle.
fn lose<K, M>(ctx: &Context<ToGrain<K, M>, GrainCommand<K>>, key: &K, held: Vec<Held<M>>)
where
    K: Clone + Send + 'static,
    M: Send + 'static,
{
    for (message, sender) in held {
        let sender = (sender != 0).then(|| Pid::local(sender, ctx.pid().creation()));
        ctx.lose(ToGrain { key: key.clone(), message }, sender);
    }
}
