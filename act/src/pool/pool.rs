//! A pool, as a user makes it.

use super::behavior::{Plain, PoolBehavior, PoolContext};
use super::command::PoolCommand;
use super::elastic::Elastic;
use super::rate::Rate;
use super::routing::{RoundRobin, Routing};
use super::settings::{PoolError, PoolSettings};
use super::staff::PoolWorkers;
use super::{opening, work};
use crate::behavior::Behavior;
use crate::context::Context;
use crate::mailbox::overflow::Overflow;
use crate::observe::watched_job::Discarded;
use crate::process::crash::{Contained, contain, first_failure};
use crate::process::current;
use krarup_gen::Result;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A pool of workers behind one address (Ergo's `act.Pool`; rules P1 to P7).
///
/// What is sent to the pool goes to its workers in strict rotation; size × mailbox is
/// how much may wait. **The pool routes at the sender**: the sender's own thread puts
/// the message into a worker's mailbox, so there is no hop and no bottleneck, and a
/// saturated pool is [`krarup_gen::SendError::Full`] at the sender, at once.
///
/// The pool process replaces dead workers, adds and removes them
/// ([`crate::Address::add_workers`], [`crate::Address::remove_workers`]), and answers `inspect`
/// with `pool_size` (configured), `workers` (live), `worker_behavior`,
/// `worker_mailbox_size`, `worker_restarts`, `messages_forwarded`, `messages_unhandled` and
/// `waiting` (accepted, and not yet begun), and [`crate::Address::statistics`] with more.
///
/// A worker that has died takes nothing until its replacement has initialised: meanwhile
/// its share of the room is missing, and if all are dead the answer is
/// [`krarup_gen::SendError::NoWorkers`]. The pool serves while workers start. An exit *signal* of a
/// worker is not its end, and means nothing to the pool: what a worker has to say it sends.
///
/// Workers are any behaviour, another pool included. Order between messages is not kept;
/// a worker's state is lost with it.
///
/// | wanted | said by | unless said |
/// |---|---|---|
/// | a bound to what waits | [`mailbox`](Pool::mailbox) | none |
/// | another choice of worker | [`routing`](Pool::routing) | [`RoundRobin`] |
/// | something else than `Full` | [`overflow`](Pool::overflow) | refuse |
/// | at most so many jobs a second | [`rate`](Pool::rate) | any number |
/// | jobs that are too old are not done | [`time_to_live`](Pool::time_to_live) | they are |
/// | to hear of jobs that are not done | [`on_discard`](Pool::on_discard) | dead letters |
/// | how long jobs wait and take | [`measured`](Pool::measured), [`report_every`](Pool::report_every) | not measured |
/// | another time for workers to initialise | [`init_timeout`](Pool::init_timeout) | 5 s |
/// | workers that hang are replaced | [`stuck_limit`](Pool::stuck_limit) | they hang |
/// | as many workers as the queue needs | [`elastic`](Pool::elastic) | a fixed number |
/// | an end to replacements | [`intensity`](Pool::intensity) | no end |
/// | commands of one's own | [`behavior`](Pool::behavior) | none |
///
/// ```
/// # use krarup_act::{Actor, Context, Pool};
/// # use krarup_gen::Result;
/// #[derive(Default)]
/// struct Resizer;
///
/// impl Actor for Resizer {
///     type Message = String;
///     async fn handle_message(&mut self, _: &mut Context<String>, picture: String) -> Result {
///         println!("resizing {picture}");
///         Ok(())
///     }
/// }
///
/// // 4 workers, 20 pictures waiting at each at most: 80, and then `Full`.
/// let pool = || Pool::new(4, Resizer::default).mailbox(20);
/// # let _ = pool;
/// ```
pub struct Pool<B: Behavior, R = RoundRobin, P = Plain<<B as Behavior>::Message>> {
    factory: Arc<dyn Fn() -> B + Send + Sync>,
    routing: R,
    behavior: P,
    settings: PoolSettings<B::Message>,
}

impl<B: Behavior> Pool<B> {
    /// A pool of `workers` workers, made by `factory`, which is called for every worker
    /// and every replacement: what it has captured are their arguments. Spawning it fails with
    /// [`PoolError`] if there are none.
    pub fn new(workers: usize, factory: impl Fn() -> B + Send + Sync + 'static) -> Self {
        Pool {
            factory: Arc::new(factory),
            routing: RoundRobin::new(),
            behavior: Plain::new(),
            settings: PoolSettings::new(workers),
        }
    }
}

impl<B: Behavior, R, P> Pool<B, R, P> {
    /// How many messages may wait at each worker, at least 1. Without it the mailboxes are
    /// unbounded, and overload shows as memory instead of as `Full`.
    #[must_use]
    pub fn mailbox(mut self, messages: usize) -> Self {
        self.settings.mailbox = Some(messages);
        self
    }

    /// What is done with one message more than all workers have room for (rule M6): refuse it,
    /// which is the default, drop it, or divert it to a fallback. It needs a
    /// [`mailbox`](Pool::mailbox) bound. A sender that would rather wait uses
    /// [`crate::Address::send_or_wait`].
    #[must_use]
    pub fn overflow(mut self, overflow: Overflow<B::Message>) -> Self {
        self.settings.overflow = overflow;
        self
    }

    /// At most so many jobs in a second, beside the bound to what waits; one more is refused
    /// with [`krarup_gen::SendError::RateLimited`]. A job that no worker has room for takes no
    /// token.
    #[must_use]
    pub fn rate(mut self, rate: Rate) -> Self {
        self.settings.rate = Some(rate);
        self
    }

    /// How long a job may wait, more than zero. One that has waited longer when its worker
    /// comes to it is not done: a call in it fails with [`krarup_gen::CallError::Expired`], and
    /// it is counted as a dead letter. It keeps its room until then.
    #[must_use]
    pub fn time_to_live(mut self, limit: Duration) -> Self {
        self.settings.dead_at_once = limit.is_zero();
        self.settings.time_to_live = Some(Arc::new(move |_| Some(limit)));
        self
    }

    /// As [`Pool::time_to_live`], for each job its own; `None`: it may wait for ever. Asked on
    /// the sender's thread.
    #[must_use]
    pub fn time_to_live_of(
        mut self,
        limit: impl Fn(&B::Message) -> Option<Duration> + Send + Sync + 'static,
    ) -> Self {
        self.settings.dead_at_once = false;
        self.settings.time_to_live = Some(Arc::new(limit));
        self
    }

    /// Gets every job that was accepted and will not be done, and why not. Runs in the worker's
    /// turn, or where its process is torn down: it must not wait. A call in the job that it
    /// drops fails as it would without this.
    #[must_use]
    pub fn on_discard(
        mut self,
        tell: impl Fn(B::Message, Discarded) + Send + Sync + 'static,
    ) -> Self {
        self.settings.on_discard = Some(Arc::new(tell));
        self
    }

    /// Measures how long jobs wait and how long they take: see [`crate::PoolStatistics`]. Costs
    /// each job an allocation and three looks at the clock, as any of `time_to_live`,
    /// `on_discard` and `stuck_limit` does.
    #[must_use]
    pub fn measured(mut self) -> Self {
        self.settings.measured = true;
        self
    }

    /// Reports its numbers as a `tracing` event this often; a time under a millisecond counts as
    /// one.
    #[must_use]
    pub fn report_every(mut self, period: Duration) -> Self {
        self.settings.report = Some(period);
        self
    }

    /// Kills and replaces a worker that has had one job in hand for this long. What waits in its
    /// mailbox is lost with it: dead letters, and calls that fail with its end. One that blocks
    /// its thread is replaced as well, though it ends only when it lets the thread go. A time under
    /// a millisecond counts as one.
    #[must_use]
    pub fn stuck_limit(mut self, limit: Duration) -> Self {
        self.settings.stuck = Some(limit);
        self
    }

    /// How long a worker may take to initialise: 5 s unless said. Then it is killed, and its start
    /// has failed. One that blocks its thread for as long again is left behind: the pool goes on
    /// without it. The factory of the workers counts as part of it.
    #[must_use]
    pub fn init_timeout(mut self, limit: Duration) -> Self {
        self.settings.init_timeout = limit;
        self
    }

    /// Grows and shrinks with its queue.
    #[must_use]
    pub fn elastic(mut self, elastic: Elastic) -> Self {
        self.settings.elastic = Some(elastic);
        self
    }

    /// At most this many replacements within this time, over a sliding window; one more ends the
    /// pool with [`PoolError::TooManyReplacements`], an abnormal reason. Each try to start one
    /// counts.
    #[must_use]
    pub fn intensity(mut self, replacements: u32, period: Duration) -> Self {
        self.settings.intensity = Some((replacements, period));
        self
    }

    /// How long to wait until a replacement that could not be started is tried again: `first`,
    /// then twice as long each time, up to `most`. 10 ms to 1 s unless said; a time under a
    /// millisecond counts as one. Each place has a back-off of its own.
    #[must_use]
    pub fn back_off(mut self, first: Duration, most: Duration) -> Self {
        self.settings.back_off = (first, most);
        self
    }

    /// Which worker gets a message.
    #[must_use]
    pub fn routing<R2: Routing<B::Message>>(self, routing: R2) -> Pool<B, R2, P> {
        let Pool { factory, behavior, settings, .. } = self;
        Pool { factory, routing, behavior, settings }
    }

    /// What the pool's own process does beside keeping the workers.
    #[must_use]
    pub fn behavior<P2: PoolBehavior<Job = B::Message>>(self, behavior: P2) -> Pool<B, R, P2> {
        let Pool { factory, routing, settings, .. } = self;
        Pool { factory, routing, behavior, settings }
    }
}

impl<B: Behavior, R, P> fmt::Debug for Pool<B, R, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("size", &self.settings.size)
            .field("mailbox", &self.settings.mailbox)
            .finish_non_exhaustive()
    }
}

impl<B, R, P> Behavior for Pool<B, R, P>
where
    B: Behavior,
    R: Routing<B::Message>,
    P: PoolBehavior<Job = B::Message>,
{
    type Message = B::Message;
    type Command = PoolCommand<P::Command>;

    async fn run(self, mut ctx: Context<B::Message, Self::Command>) -> Result {
        let Pool { factory, routing, mut behavior, settings } = self;
        settings.check()?;
        if let Some(messages) = ctx.mailbox() {
            return Err(PoolError::MailboxOfPool(messages).into());
        }
        ctx.trap_exits(true);
        ctx.stop_in_order(true);
        let mut staff = PoolWorkers::new(&ctx, factory, routing, settings.rounded());
        let mut pool = PoolContext::new(&mut ctx, &mut staff);
        if let Err(reason) = Contained::new(behavior.init(&mut pool)).await.flatten() {
            return Err(first_failure(reason, contain(|| drop(behavior))));
        }
        let opened = opening::open(&mut staff, &mut behavior, &mut ctx);
        let held = match Contained::new(opened).await.flatten() {
            Ok(held) => held,
            Err(reason) => {
                staff.end_workers(&mut ctx).await;
                let reason = first_failure(reason, contain(|| drop(behavior)));
                return Err(first_failure(reason, contain(|| drop(staff))));
            }
        };
        ctx.route_main(staff.entrance());
        ctx.initialised();
        let served = work::serve(&mut staff, &mut behavior, &mut ctx, held);
        let reason = match Contained::new(served).await {
            Ok(reason) | Err(reason) => reason,
        };
        // The calls in hand hear of the end when there is one, though it may take its time.
        let _calls = current::take_orphans();
        staff.end_workers(&mut ctx).await;
        let mut pool = PoolContext::new(&mut ctx, &mut staff);
        // The first failure is the cause, whatever goes wrong on the way out.
        let terminated = Contained::new(behavior.terminate(&mut pool, &reason)).await;
        let reason = first_failure(reason, terminated);
        let reason = first_failure(reason, contain(|| drop(behavior)));
        let reason = first_failure(reason, contain(|| drop(staff)));
        if reason.is_normal() { Ok(()) } else { Err(reason) }
    }

    fn label() -> &'static str {
        "Pool"
    }

    fn routes_main() -> bool {
        true
    }
}
