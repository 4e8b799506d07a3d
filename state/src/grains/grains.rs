//! Grains: the settings with which a keeper spawns them.

use krarup_act::Behavior;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The default bound of a grain's mailbox, and of the messages held while the grain starts
/// or ends.
const MAILBOX: usize = 1024;

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
///             .idle(Duration::from_secs(600))
///             .named(|customer| format!("cart/{customer}"))
///     })
///     .wait()
///     .unwrap();
/// carts.send_to("ada".to_owned(), Say::Add("tea".to_owned())).unwrap();
/// assert_eq!(carts.call_to("ada".to_owned(), Say::Count).wait(), Ok(1));
/// assert!(sim.whereis("cart/ada").is_some());
/// sim.advance(Duration::from_secs(3600));
/// assert!(sim.whereis("cart/ada").is_none());
/// assert_eq!(carts.call_to("ada".to_owned(), Say::Count).wait(), Ok(0));
/// ```
///
/// [`GrainCommand::Release`]: crate::GrainCommand::Release
/// [`GrainsError::Routes`]: crate::GrainsError::Routes
/// [`Context::passivate_after`]: krarup_act::Context::passivate_after
/// [`Received::Finish`]: krarup_act::Received::Finish
pub struct Grains<K, F> {
    pub(crate) make: Arc<F>,
    pub(crate) idle: Option<Duration>,
    pub(crate) mailbox: usize,
    pub(crate) name: Option<NameOf<K>>,
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
    /// [`GrainsError::ZeroMailbox`](crate::GrainsError::ZeroMailbox).
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
