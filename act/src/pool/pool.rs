//! The builder of a pool.

use super::behavior::{Plain, PoolBehavior, PoolContext};
use super::command::PoolCommand;
use super::elastic::Elastic;
use super::pool_workers::PoolWorkers;
use super::rate::Rate;
use super::routing::{RoundRobin, Routing};
use super::settings::{PoolError, PoolSettings};
use super::{opening, work};
use crate::behavior::Behavior;
use crate::context::Context;
use crate::mailbox::overflow::Overflow;
use crate::observe::watched_job::Discarded;
use crate::process::contained::Contained;
use crate::process::crash::{first_failure, try_drop};
use crate::process::current;
use crate::process::progress::ContextMark;
use krarup_gen::{ProcessKind, Result};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A pool of workers behind one address (Ergo's `act.Pool`; rules P1 to P7).
///
/// Messages to the pool go to its workers in strict rotation. At most size × mailbox messages
/// wait. **The pool routes at the sender**: the sender's own thread puts the message into a
/// worker's mailbox. So there is no hop and no bottleneck, and a sender to a saturated pool
/// gets [`SendError::Full`](krarup_gen::SendError::Full) at once.
///
/// The pool process replaces ended workers, and adds and removes workers
/// ([`Address::add_workers`](crate::Address::add_workers),
/// [`Address::remove_workers`](crate::Address::remove_workers)). It answers `inspect` with
/// `pool_size` (configured), `workers` (live), `worker_behavior`, `worker_mailbox_size`,
/// `worker_restarts`, `messages_forwarded`, `messages_unhandled` and `waiting` (accepted, and not
/// yet begun). [`Address::statistics`](crate::Address::statistics) returns more.
///
/// A worker that has ended takes nothing until its replacement has initialised. In the meantime
/// its share of the room is missing. If all workers have ended the error is
/// [`SendError::NoWorkers`](krarup_gen::SendError::NoWorkers). The pool accepts messages while
/// workers start. An exit *signal* sent by a live worker has no meaning for the pool; workers
/// report by messages.
///
/// The workers run any behaviour, also another pool. Order between messages is not kept. A
/// worker's state is lost when it ends.
///
/// | to get | use | default |
/// |---|---|---|
/// | a bound on waiting messages | [`mailbox`](Pool::mailbox) | none |
/// | another choice of worker | [`routing`](Pool::routing) | [`RoundRobin`] |
/// | another result than `Full` | [`overflow`](Pool::overflow) | refuse |
/// | a limit of jobs per second | [`rate`](Pool::rate) | no limit |
/// | old jobs discarded | [`time_to_live`](Pool::time_to_live) | jobs do not expire |
/// | a callback for discarded jobs | [`on_discard`](Pool::on_discard) | dead letters |
/// | how long jobs wait and run | [`measured`](Pool::measured) | not measured |
/// | regular reports | [`report_every`](Pool::report_every) | none |
/// | another time for workers to initialise | [`init_timeout`](Pool::init_timeout) | 5 s |
/// | stuck workers replaced | [`stuck_limit`](Pool::stuck_limit) | not replaced |
/// | as many workers as the queue needs | [`elastic`](Pool::elastic) | a fixed number |
/// | a limit of replacements | [`intensity`](Pool::intensity) | no limit |
/// | commands of your own | [`behavior`](Pool::behavior) | none |
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
/// // 4 workers with at most 20 waiting pictures each: 80 in all, then `Full`.
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
    /// Creates a pool of `workers` workers.
    ///
    /// `factory` is called for every worker and every replacement; the values it captures are
    /// the arguments of the workers. Spawning a pool of 0 workers fails with [`PoolError`].
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
    /// Sets how many messages may wait at each worker, at least 1.
    ///
    /// Without a bound the mailboxes grow, and overload uses memory instead of returning
    /// `Full`.
    #[must_use]
    pub fn mailbox(mut self, messages: usize) -> Self {
        self.settings.mailbox = Some(messages);
        self
    }

    /// Sets what happens to a message when all workers are full (rule M6): refuse it (the
    /// default), drop it, or divert it to a fallback.
    ///
    /// This needs a [`mailbox`](Pool::mailbox) bound. A sender that should wait instead uses
    /// [`Address::send_or_wait`](crate::Address::send_or_wait).
    #[must_use]
    pub fn overflow(mut self, overflow: Overflow<B::Message>) -> Self {
        self.settings.overflow = overflow;
        self
    }

    /// Limits the jobs per second, beside the bound on waiting messages.
    ///
    /// Further jobs are refused with
    /// [`SendError::RateLimited`](krarup_gen::SendError::RateLimited). A job that finds no room at
    /// any worker takes no token.
    #[must_use]
    pub fn rate(mut self, rate: Rate) -> Self {
        self.settings.rate = Some(rate);
        self
    }

    /// Sets how long a job may wait; more than zero.
    ///
    /// A job that has waited longer when its worker takes it is discarded: a call in it fails
    /// with [`CallError::Expired`](krarup_gen::CallError::Expired), and it counts as a dead letter.
    /// It keeps its room until then.
    #[must_use]
    pub fn time_to_live(mut self, limit: Duration) -> Self {
        self.settings.dead_at_once = limit.is_zero();
        self.settings.time_to_live = Some(Arc::new(move |_| Some(limit)));
        self
    }

    /// Sets the time to live of each job, like [`Pool::time_to_live`]; `None` means no limit.
    ///
    /// `limit` runs on the sender's thread.
    #[must_use]
    pub fn time_to_live_of(
        mut self,
        limit: impl Fn(&B::Message) -> Option<Duration> + Send + Sync + 'static,
    ) -> Self {
        self.settings.dead_at_once = false;
        self.settings.time_to_live = Some(Arc::new(limit));
        self
    }

    /// Sets a callback that receives every accepted job that will not be done, and the cause.
    ///
    /// It runs in the worker's turn, or where the worker's process is dropped, or where a job finds
    /// that no worker is left for it, so it must not wait. A call in the job that it drops fails as
    /// it would without the callback.
    #[must_use]
    pub fn on_discard(
        mut self,
        tell: impl Fn(B::Message, Discarded) + Send + Sync + 'static,
    ) -> Self {
        self.settings.on_discard = Some(Arc::new(tell));
        self
    }

    /// Measures how long jobs wait and how long they run: see
    /// [`PoolStatistics`](crate::PoolStatistics).
    ///
    /// This costs each job one allocation and three reads of the clock, as do `time_to_live`,
    /// `on_discard` and `stuck_limit`.
    #[must_use]
    pub fn measured(mut self) -> Self {
        self.settings.measured = true;
        self
    }

    /// Reports the counters as a `tracing` event at this period. A period under a millisecond
    /// counts as one.
    #[must_use]
    pub fn report_every(mut self, period: Duration) -> Self {
        self.settings.report = Some(period);
        self
    }

    /// Kills and replaces a worker that has handled one job for this long.
    ///
    /// The messages in its mailbox are lost with it: they become dead letters, and calls fail
    /// with its reason. A worker that blocks its thread is replaced as well, although it ends
    /// only when it releases the thread. A limit under a millisecond counts as one.
    #[must_use]
    pub fn stuck_limit(mut self, limit: Duration) -> Self {
        self.settings.stuck = Some(limit);
        self
    }

    /// Sets how long a worker may take to initialise, including the factory; 5 s by default.
    ///
    /// After that the worker is killed, and its start has failed. If it blocks its thread for
    /// the same time again it is left behind, and the pool continues without it.
    #[must_use]
    pub fn init_timeout(mut self, limit: Duration) -> Self {
        self.settings.init_timeout = limit;
        self
    }

    /// Makes the pool grow and shrink with its queue.
    ///
    /// Each change of the number of workers is a resize. With [`ByKey`](crate::ByKey) some keys move at it, and their
    /// messages may then be handled out of order, and at the same time (rule P8).
    #[must_use]
    pub fn elastic(mut self, elastic: Elastic) -> Self {
        self.settings.elastic = Some(elastic);
        self
    }

    /// Limits the replacements within `period`, a sliding window.
    ///
    /// One more replacement ends the pool with [`PoolError::TooManyReplacements`], an abnormal
    /// reason. Each attempt to start a replacement counts.
    #[must_use]
    pub fn intensity(mut self, replacements: u32, period: Duration) -> Self {
        self.settings.intensity = Some((replacements, period));
        self
    }

    /// Sets the delay before a failed replacement is tried again: `first`, then twice as long
    /// each time, up to `most`.
    ///
    /// The default is 10 ms to 1 s; a delay under a millisecond counts as one. Each place has
    /// its own back-off.
    #[must_use]
    pub fn back_off(mut self, first: Duration, most: Duration) -> Self {
        self.settings.back_off = (first, most);
        self
    }

    /// Sets which worker gets a message.
    #[must_use]
    pub fn routing<R2: Routing<B::Message>>(self, routing: R2) -> Pool<B, R2, P> {
        let Pool { factory, behavior, settings, .. } = self;
        Pool { factory, routing, behavior, settings }
    }

    /// Sets the behaviour of the pool's own process, beside the management of the workers.
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
        if let Some(messages) = ctx.mailbox_bound() {
            return Err(PoolError::MailboxOfPool(messages).into());
        }
        ctx.hurry_end_of_parent();
        ctx.trap_exits(true);
        ctx.stop_in_order();
        let mut pool_workers = PoolWorkers::new(&ctx, factory, routing, settings.rounded());
        let mut pool = PoolContext::new(&mut ctx, &mut pool_workers);
        if let Err(reason) = Contained::new(behavior.init(&mut pool)).await.unwrap_or_else(Err) {
            return Err(first_failure(reason, try_drop(behavior)));
        }
        let opened = opening::open(&mut pool_workers, &mut behavior, &mut ctx);
        let held = match Contained::new(opened).await.unwrap_or_else(Err) {
            Ok(held) => held,
            Err(reason) => {
                pool_workers.end_workers(&mut ctx).await;
                let reason = first_failure(reason, try_drop(behavior));
                return Err(first_failure(reason, try_drop(pool_workers)));
            }
        };
        ctx.route_main(pool_workers.entrance());
        ctx.initialised();
        let served = work::serve(&mut pool_workers, &mut behavior, &mut ctx, held);
        let reason = match Contained::new(served).await {
            Ok(reason) | Err(reason) => reason,
        };
        // Calls of the last turn fail when the pool has ended and its reason is known, which
        // may take a while.
        let _calls = current::take_orphans();
        pool_workers.end_workers(&mut ctx).await;
        ctx.cell.progress.note(ContextMark::Ends, true);
        let mut pool = PoolContext::new(&mut ctx, &mut pool_workers);
        // The first failure is the reason, whatever fails after it.
        let terminated = Contained::new(behavior.terminate(&mut pool, &reason)).await;
        let reason = first_failure(reason, terminated);
        let reason = first_failure(reason, try_drop(behavior));
        let reason = first_failure(reason, try_drop(pool_workers));
        if reason.is_normal() { Ok(()) } else { Err(reason) }
    }

    fn label() -> &'static str {
        "Pool"
    }

    fn kind() -> ProcessKind {
        ProcessKind::Pool
    }

    fn routes_main() -> bool {
        true
    }
}
