//! The process that keeps the workers of a pool.

use super::command::{PoolCommand, Resized};
use super::rotation::Rotation;
use crate::address::Address;
use crate::behavior::Behavior;
use crate::context::Context;
use crate::deadline::{Sleep, within};
use crate::monitor::watch;
use crate::received::Received;
use krarup_gen::{Exit, Inspection, Pid, Reason, Result, SpawnError, Target};
use std::any::type_name;
use std::collections::BTreeSet;
use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// How long a worker may take to initialise before it is killed and tried again.
const INIT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the workers may take to end with their pool before they are killed.
const SHUTDOWN: Duration = Duration::from_secs(5);
/// Between two tries to start a replacement: doubled each time, from the first to the
/// last.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// A pool of workers behind one address (Ergo's `act.Pool`; rules P1 to P7).
///
/// What is sent to the pool goes to its workers in strict rotation; size × mailbox is
/// how much may wait. **The pool routes at the sender**: the sender's own thread puts
/// the message into a worker's mailbox, so there is no hop and no bottleneck, and a
/// saturated pool is [`krarup_gen::SendError::Full`] at the sender, at once.
///
/// The pool process replaces dead workers, adds and removes them
/// ([`Address::add_workers`], [`Address::remove_workers`]), and answers `inspect` with
/// `pool_size` (configured), `workers` (live), `worker_behavior`,
/// `worker_mailbox_size`, `worker_restarts`, `messages_forwarded` and
/// `messages_unhandled`.
///
/// A worker that has died takes nothing until its replacement has initialised: meanwhile
/// its share of the room is missing, and if all are dead the answer is
/// [`krarup_gen::SendError::NoWorkers`].
///
/// Workers are any behaviour, another pool included. Order between messages is not kept;
/// a worker's state is lost with it.
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
pub struct Pool<F> {
    size: usize,
    mailbox: Option<usize>,
    factory: Arc<F>,
}

/// A pool that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PoolError {
    /// A pool of no workers was asked for.
    #[error("a pool cannot start with 0 workers")]
    NoWorkers,
    /// The pool's own mailbox was bounded, which holds no work: the bound of the workers
    /// is set by [`Pool::mailbox`].
    #[error("a mailbox bound of {0} is set on the pool itself; Pool::mailbox bounds its workers'")]
    MailboxOfPool(usize),
    /// A mailbox bound of 0 was asked for.
    #[error("a worker mailbox bound of 0 would refuse every message")]
    ZeroMailbox,
}

impl<B, F> Pool<F>
where
    B: Behavior,
    F: Fn() -> B + Send + Sync + 'static,
{
    /// A pool of `workers` workers, made by `factory`, which is called for every worker
    /// and every replacement. Spawning it fails with [`PoolError`] if there are none.
    pub fn new(workers: usize, factory: F) -> Self {
        Pool { size: workers, mailbox: None, factory: Arc::new(factory) }
    }

    /// How many messages may wait at each worker, at least 1. Without it the mailboxes are
    /// unbounded, and overload shows as memory instead of as `Full`.
    #[must_use]
    pub fn mailbox(mut self, messages: usize) -> Self {
        self.mailbox = Some(messages);
        self
    }
}

impl<F> fmt::Debug for Pool<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("size", &self.size)
            .field("mailbox", &self.mailbox)
            .finish_non_exhaustive()
    }
}

impl<B, F> Behavior for Pool<F>
where
    B: Behavior,
    F: Fn() -> B + Send + Sync + 'static,
{
    type Message = B::Message;
    type Command = PoolCommand;

    async fn run(self, mut ctx: Context<B::Message, PoolCommand>) -> Result {
        if self.size == 0 {
            return Err(PoolError::NoWorkers.into());
        }
        if self.mailbox == Some(0) {
            return Err(PoolError::ZeroMailbox.into());
        }
        if let Some(messages) = ctx.mailbox() {
            return Err(PoolError::MailboxOfPool(messages).into());
        }
        ctx.trap_exits(true);
        ctx.stop_in_order(true);
        let mut keeper = Keeper::new(self);
        for _ in 0..keeper.pool.size {
            match keeper.start(&mut ctx).await {
                Ok(worker) => keeper.rotation.add(worker),
                Err(error) => {
                    keeper.end_workers(&mut ctx).await;
                    return Err(start_failure(error));
                }
            }
        }
        ctx.route_main(Arc::clone(&keeper.rotation));
        ctx.initialised();
        let reason = keeper.serve(&mut ctx).await;
        keeper.end_workers(&mut ctx).await;
        if reason.is_normal() { Ok(()) } else { Err(reason) }
    }

    fn label() -> &'static str {
        "Pool"
    }
}

/// Why the first workers could not be started, as the pool's own reason.
fn start_failure(error: SpawnError) -> Reason {
    match error {
        SpawnError::Init(reason) => reason,
        error => error.into(),
    }
}

/// The pool at work.
struct Keeper<B: Behavior, F> {
    pool: Pool<F>,
    rotation: Arc<Rotation<B::Message, B::Command>>,
    /// Removed workers that still finish what they have.
    leaving: BTreeSet<Pid>,
    /// Workers that died and have not been replaced: their places in the ring.
    missing: Vec<Pid>,
    retry: Option<(Sleep, Duration)>,
    restarts: u64,
    /// End when the last leaving worker has ended.
    finishing: bool,
}

/// However the pool ends, its route ends with it: then a send is `NoProcess`.
impl<B: Behavior, F> Drop for Keeper<B, F> {
    fn drop(&mut self) {
        drop(self.rotation.close());
    }
}

impl<B, F> Keeper<B, F>
where
    B: Behavior,
    F: Fn() -> B + Send + Sync + 'static,
{
    fn new(pool: Pool<F>) -> Self {
        Keeper {
            pool,
            rotation: Rotation::new(),
            leaving: BTreeSet::new(),
            missing: Vec::new(),
            retry: None,
            restarts: 0,
            finishing: false,
        }
    }

    async fn start(
        &self,
        ctx: &mut Context<B::Message, PoolCommand>,
    ) -> Result<Address<B::Message, B::Command>, SpawnError> {
        let factory = Arc::clone(&self.pool.factory);
        let spawn = ctx.spawn(move || factory()).link_urgent().init_timeout(INIT_TIMEOUT);
        match self.pool.mailbox {
            Some(messages) => spawn.mailbox(messages).await,
            None => spawn.await,
        }
    }

    async fn serve(&mut self, ctx: &mut Context<B::Message, PoolCommand>) -> Reason {
        loop {
            match self.next(ctx).await {
                None => self.replace_missing(ctx).await,
                Some(Received::Command(command)) => self.obey(ctx, command).await,
                Some(Received::Exit(exit)) => {
                    if let Some(reason) = self.handle_exit(ctx, exit).await {
                        return reason;
                    }
                }
                Some(Received::Inspect(reply)) => reply.send(self.inspect()),
                Some(Received::Stop(reason)) => return reason,
                Some(Received::Finish) => {
                    self.finishing = true;
                    self.remove(usize::MAX);
                }
                // Main is a route, so no message comes; a pool monitors nobody, sets no timeout,
                // takes no others and shows no state.
                Some(
                    Received::Message(_)
                    | Received::Down(_)
                    | Received::Timeout
                    | Received::Other(_)
                    | Received::State(_),
                ) => {}
            }
            if self.finishing && self.leaving.is_empty() {
                return Reason::Normal;
            }
        }
    }

    /// The next item, or `None` when it is time to try the missing workers again.
    async fn next(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand>,
    ) -> Option<Received<B::Message, PoolCommand>> {
        let Some((retry, _)) = &mut self.retry else { return Some(ctx.receive().await) };
        let mut receive = pin!(ctx.receive());
        poll_fn(|cx| match receive.as_mut().poll(cx) {
            Poll::Ready(item) => Poll::Ready(Some(item)),
            Poll::Pending => Pin::new(&mut *retry).poll(cx).map(|()| None),
        })
        .await
    }

    async fn obey(&mut self, ctx: &mut Context<B::Message, PoolCommand>, command: PoolCommand) {
        match command {
            PoolCommand::AddWorkers(count, reply) => {
                let mut changed = 0;
                while changed < count
                    && let Ok(worker) = self.start(ctx).await
                {
                    self.rotation.add(worker);
                    changed += 1;
                }
                reply.send(Resized { size: self.rotation.size(), changed });
            }
            PoolCommand::RemoveWorkers(count, reply) => {
                let changed = self.remove(count);
                reply.send(Resized { size: self.rotation.size(), changed });
            }
            PoolCommand::Workers(reply) => reply.send(self.rotation.pids()),
        }
    }

    /// Lets workers go: out of the rotation at once, and each ends when it has handled
    /// what it had accepted. Places whose worker is missing go first.
    fn remove(&mut self, count: usize) -> usize {
        let vacant = count.min(self.missing.len());
        for place in self.missing.split_off(self.missing.len() - vacant) {
            self.rotation.remove(place);
        }
        let leaving = self.rotation.take(count - vacant);
        for worker in &leaving {
            self.leaving.insert(worker.pid());
            worker.finish();
        }
        vacant + leaving.len()
    }

    /// A worker has ended, or somebody else wants the pool to.
    async fn handle_exit(
        &mut self,
        ctx: &mut Context<B::Message, PoolCommand>,
        exit: Exit,
    ) -> Option<Reason> {
        if self.leaving.remove(&exit.pid) {
            return None;
        }
        if !self.rotation.pids().contains(&exit.pid) {
            // Not a worker: as a process that does not trap (rule L2).
            return exit.reason.is_abnormal().then_some(exit.reason);
        }
        tracing::debug!(
            target: "krarup", pool = %ctx.pid(), worker = %exit.pid, reason = %exit.reason,
            "replacing a dead worker"
        );
        self.missing.push(exit.pid);
        self.replace_missing(ctx).await;
        None
    }

    /// Starts replacements for the missing workers, each in its place in the rotation. One
    /// that fails is tried again later (rule P4): its place is kept.
    async fn replace_missing(&mut self, ctx: &mut Context<B::Message, PoolCommand>) {
        while let Some(dead) = self.missing.first().copied() {
            match self.start(ctx).await {
                Ok(worker) => {
                    self.rotation.replace(dead, worker);
                    self.missing.remove(0);
                    self.restarts += 1;
                    self.retry = None;
                }
                Err(error) => {
                    let delay = self.retry.take().map_or(BACK_OFF.0, |(_, delay)| delay);
                    tracing::warn!(
                        target: "krarup", pool = %ctx.pid(), %error, ?delay,
                        "cannot replace a dead worker; trying again"
                    );
                    self.retry = Some((ctx.sleep(delay), (delay * 2).min(BACK_OFF.1)));
                    return;
                }
            }
        }
        self.retry = None;
    }

    fn inspect(&self) -> Inspection {
        let (forwarded, unhandled) = self.rotation.counts();
        let inspection = Inspection::new()
            .with("pool_size", self.pool.size)
            .with("workers", self.rotation.size() - self.missing.len())
            .with("worker_behavior", type_name::<B>());
        let inspection = match self.pool.mailbox {
            Some(messages) => inspection.with("worker_mailbox_size", messages),
            None => inspection.with("worker_mailbox_size", "unbounded"),
        };
        inspection
            .with("worker_restarts", self.restarts)
            .with("messages_forwarded", forwarded)
            .with("messages_unhandled", unhandled)
    }

    /// Ends the workers with the pool (rule P7): asked in order, and killed if they take
    /// too long.
    async fn end_workers(&mut self, ctx: &mut Context<B::Message, PoolCommand>) {
        let mut workers: BTreeSet<Pid> = self.rotation.close().iter().map(Address::pid).collect();
        workers.append(&mut self.leaving);
        for worker in &workers {
            ctx.exit(*worker, Reason::Shutdown);
        }
        let host = Arc::clone(ctx.host());
        let until = ctx.now() + SHUTDOWN;
        for worker in workers {
            let left = until - ctx.now();
            let mut end = watch(Arc::clone(&host), Target::Pid(worker));
            if within(&host, left, &mut end).await.is_none() {
                ctx.exit(worker, Reason::Kill);
                // Whoever hears of the pool's end finds no workers, unless one blocks its
                // thread: nothing can end that.
                within(&host, SHUTDOWN, end).await;
            }
        }
    }
}
