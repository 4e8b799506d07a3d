//! The pool: a state machine.
//!
//! ```text
//!              the last free worker is leased             the last possible worker is made
//!   ┌───────┐ ────────────────────────────► ┌──────────┐ ────────────────────────► ┌──────┐
//!   │ Ready │                               │ Overflow │                           │ Full │
//!   └───────┘ ◄──────────────────────────── └──────────┘ ◄──────────────────────── └──────┘
//!       ▲        a worker comes back, and          one of the overflow has ended       │
//!       │        nobody waits for it                                                   │
//!       └──────────────────────────────────────────────────────────────────────────────┘
//!                a worker comes back, and nobody waits for it
//! ```
//!
//! | event | `Ready` | `Overflow` | `Full` |
//! |---|---|---|---|
//! | a lease is wanted | the caller gets a free worker | one is made, and the caller waits for the first that is free | the caller waits in line, or has `Full` at once |
//! | a worker is free: it came back, or has started | it goes to the first in line; without a line it stays, or ends if the pool has more than its size | the same | the same |
//! | a worker could not start | the caller for which it was made has the error | the same | the same |
//! | a worker has died | one is made for each caller that waits, as far as the pool may; one more if the pool has less than its size | the same | the same |
//!
//! After each event [`Checkout::serve`] makes true what always holds: nobody waits while a worker
//! is free, and while another may be made one is being made for each that waits. The state follows
//! from what the table of workers then says.
//!
//! A caller that waits is not a postponed event: those all come again at each change of the state,
//! and here only the first can go on. So the machine keeps its line itself.

use crate::calls::{CheckoutMessage, LeaseReply};
use crate::errors::{CheckoutError, ExtendError, LeaseError, ShrinkError};
use crate::lease::Lease;
use crate::line::CallerLine;
use crate::status::{CheckoutState, CheckoutStatus};
use crate::workers::{Gone, LeaseOrder, Wanted, WorkerTable};
use krarup::behavior::Behavior;
use krarup::prelude::*;
use krarup::{Event, First, Next, StateMachine};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// How long a worker has to end in order, by default.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// A pool of workers that are leased: one caller has one worker for itself, for as long as it
/// wants.
///
/// A worker that dies is replaced at once. One that dies again and again, but starts well, is
/// replaced again and again: what is to stop that belongs into the `init` of the worker.
///
/// It is a [`StateMachine`]: `node.spawn(|| Machine::new(Checkout::new(5, 10, Connection::new)))`.
/// [`CheckoutCalls`](crate::calls::CheckoutCalls) are the methods of its address.
pub(crate) struct Checkout<B: Behavior, F> {
    make: Arc<F>,
    size: usize,
    overflow: usize,
    order: LeaseOrder,
    shutdown: Duration,
    workers: WorkerTable<B::Message, B::Command>,
    line: CallerLine<B::Message, B::Command>,
    /// The number of the last lease.
    leases: u64,
}

/// The context of a pool.
type PoolContext<B> = Context<CheckoutMessage<<B as Behavior>::Message, <B as Behavior>::Command>>;

impl<B: Behavior, F: Fn() -> B + Send + Sync + 'static> Checkout<B, F> {
    /// Describes a pool that keeps `size` workers, and makes up to `overflow` more while none is
    /// free. `make` makes a worker; it runs in the worker's own process. A size of 0 fails the
    /// spawn with [`CheckoutError::ZeroSize`]; an overflow of 0 means that no more are made.
    #[must_use]
    pub(crate) fn new(size: usize, overflow: usize, make: F) -> Self {
        Checkout {
            make: Arc::new(make),
            size,
            overflow,
            order: LeaseOrder::Lifo,
            shutdown: SHUTDOWN,
            workers: WorkerTable::new(),
            line: CallerLine::new(),
            leases: 0,
        }
    }

    /// Leases the worker first that came back last. This is the default.
    #[must_use]
    pub(crate) fn lifo(mut self) -> Self {
        self.order = LeaseOrder::Lifo;
        self
    }

    /// Leases the worker first that has been free for the longest time.
    #[must_use]
    pub(crate) fn fifo(mut self) -> Self {
        self.order = LeaseOrder::Fifo;
        self
    }

    /// Sets how long a worker has to end in order, when it is one too many or when the pool stops;
    /// by default 5 s. Then it is killed. Zero fails the spawn.
    #[must_use]
    pub(crate) fn shutdown(mut self, time: Duration) -> Self {
        self.shutdown = time;
        self
    }

    /// Makes true what always holds, see above.
    fn serve(&mut self, ctx: &mut PoolContext<B>) {
        while self.line.length() > 0 {
            let Some(worker) = self.workers.take_free(self.order) else { break };
            self.hand_over(ctx, &worker);
        }
        while self.may_make() && self.workers.starting() < self.line.length() {
            let Some(caller) = self.line.make_for_next() else { break };
            self.make(ctx, Wanted::Caller(caller));
        }
    }

    /// Ends the workers that are too many, and returns the state in which the pool is now.
    fn next(&mut self) -> Next<Self> {
        let mut ending = Vec::new();
        while let Some(worker) = self.workers.take_surplus(self.size) {
            worker.finish();
            ending.push(worker.pid());
        }
        // If it does not end in time it is killed.
        let next = Next::state(self.state());
        ending.into_iter().fold(next, |next, worker| next.timeout(worker, self.shutdown, ()))
    }

    /// Gives a worker to the first caller that takes it.
    fn hand_over(&mut self, ctx: &mut PoolContext<B>, worker: &Address<B::Message, B::Command>) {
        while let Some(reply) = self.line.take_first() {
            self.leases += 1;
            let lease = Lease::new(worker.clone(), self.leases, ctx.address().recipient());
            // If the caller has given up, before or in this very moment, the lease comes back here.
            // Its end means nothing, for the worker was never leased by that number.
            if reply.try_send(Ok(lease)).is_ok() {
                return self.workers.lease(worker.pid(), self.leases);
            }
        }
        self.workers.put_back(worker.pid(), self.order);
    }

    /// Begins to make a worker. The pool goes on while it starts.
    fn make(&mut self, ctx: &mut PoolContext<B>, wanted: Wanted) {
        let make = Arc::clone(&self.make);
        let (worker, init) = match ctx.spawn(move || make()).link().begin() {
            Ok(begun) => begun,
            Err(error) => return self.not_made(wanted, error),
        };
        let pid = worker.pid();
        self.workers.begin(worker, wanted);
        let told = ctx.pipe(init, move |outcome| CheckoutMessage::Started { worker: pid, outcome });
        if let Err(error) = told {
            // The node is stopping.
            ctx.unlink(pid);
            ctx.exit(pid, Reason::Kill);
            self.started(pid, Err(error));
        }
    }

    /// A worker could not be made: who wanted it has the error, and nobody else.
    fn not_made(&mut self, wanted: Wanted, error: SpawnError) {
        match wanted {
            Wanted::Caller(number) => {
                if let Some(reply) = self.line.take(number) {
                    reply.send(Err(LeaseError::NotMade(error)));
                }
            }
            Wanted::Extension(reply) => reply.send(Err(ExtendError::NotMade(error))),
            // The next caller that finds none free has one made.
            Wanted::Replacement => {}
        }
    }

    fn started(&mut self, worker: Pid, outcome: Result<(), SpawnError>) {
        match outcome {
            Ok(()) => {
                if let Some(Wanted::Extension(reply)) = self.workers.started(worker) {
                    self.size += 1;
                    reply.send(Ok(self.size));
                }
            }
            Err(error) => {
                if let Some(Gone::Unstarted(wanted)) = self.workers.remove(worker) {
                    self.not_made(wanted, error);
                }
            }
        }
    }

    /// A linked process has ended.
    fn ended(&mut self, ctx: &mut PoolContext<B>, exit: Exit) -> Result<Next<Self>> {
        match self.workers.remove(exit.pid) {
            Some(Gone::Unstarted(wanted)) => self.not_made(wanted, SpawnError::Init(exit.reason)),
            // Somebody else has linked itself to the pool: a link is a link.
            None if exit.reason.is_abnormal() => return Err(exit.reason),
            Some(Gone::Worker) | None => {}
        }
        // Who waits comes first: the same worker may be the replacement.
        self.serve(ctx);
        let own = self.workers.count() + self.workers.starting() - self.workers.extensions();
        if own < self.size {
            self.make(ctx, Wanted::Replacement);
        }
        Ok(self.next().cancel(exit.pid))
    }

    fn extend(&mut self, ctx: &mut PoolContext<B>, reply: Reply<Result<usize, ExtendError>>) {
        if self.workers.count() > self.size {
            // One of the overflow stays.
            self.size += 1;
            reply.send(Ok(self.size));
        } else {
            self.make(ctx, Wanted::Extension(reply));
        }
    }

    fn shrink(&mut self) -> Result<usize, ShrinkError> {
        // Those that are made for callers will be leased.
        let leased = self.workers.leased() + self.workers.made_for_callers();
        match self.size {
            0 | 1 => Err(ShrinkError::LastWorker),
            size if leased >= size => Err(ShrinkError::Leased { leased, size }),
            _ => {
                self.size -= 1;
                Ok(self.size)
            }
        }
    }

    /// Whether another worker may be made.
    fn may_make(&self) -> bool {
        let limit =
            self.size.saturating_add(self.overflow).saturating_add(self.workers.extensions());
        self.workers.processes() < limit
    }

    fn state(&self) -> CheckoutState {
        if self.workers.free() > 0 {
            CheckoutState::Ready
        } else if self.may_make() {
            CheckoutState::Overflow
        } else {
            CheckoutState::Full
        }
    }

    fn status(&self, state: CheckoutState) -> CheckoutStatus {
        CheckoutStatus {
            state,
            size: self.size,
            workers: self.workers.count(),
            free: self.workers.free(),
            leased: self.workers.leased(),
            overflow: self.workers.count().saturating_sub(self.size),
            starting: self.workers.starting(),
            waiting: self.line.count(),
        }
    }

    /// Ends all workers: in order, at the same time, and those that take too long by a kill.
    async fn end_workers(&mut self, ctx: &mut PoolContext<B>) {
        let workers = self.workers.take_all();
        let stop = |worker: &Address<_, _>| {
            worker.stop().reason(Reason::Shutdown).timeout(self.shutdown).into_future()
        };
        let mut stops: Vec<_> = workers.iter().map(stop).collect();
        poll_fn(|cx| {
            stops.retain_mut(|stop| Pin::new(stop).poll(cx).is_pending());
            if stops.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        for worker in workers.iter().filter(|worker| worker.is_alive()) {
            ctx.exit(worker.pid(), Reason::Kill);
        }
    }
}

impl<B: Behavior, F: Fn() -> B + Send + Sync + 'static> StateMachine for Checkout<B, F> {
    type State = CheckoutState;
    type Message = CheckoutMessage<B::Message, B::Command>;
    type Internal = ();
    /// Each worker that ends has a time-out of its own.
    type Timer = Pid;

    async fn init(&mut self, ctx: &mut PoolContext<B>) -> Result<First<Self>> {
        if self.size == 0 {
            return Err(CheckoutError::ZeroSize.into());
        }
        if self.shutdown.is_zero() {
            return Err(CheckoutError::ZeroShutdown.into());
        }
        // The end of a worker is an event, and the end of the pool ends its workers.
        ctx.trap_exits(true);
        // They start at the same time.
        let mut begun = Vec::new();
        for _ in 0..self.size {
            let make = Arc::clone(&self.make);
            begun.push(ctx.spawn(move || make()).link().begin()?);
        }
        for (worker, init) in begun {
            init.await?;
            self.workers.add(worker);
        }
        Ok(First::state(self.state()))
    }

    async fn handle_event(
        &mut self,
        ctx: &mut PoolContext<B>,
        state: CheckoutState,
        event: Event<Self>,
    ) -> Result<Next<Self>> {
        match (state, event) {
            (
                CheckoutState::Full,
                Event::Message(CheckoutMessage::Lease { waits: false, reply }),
            ) => {
                reply.send(Err(LeaseError::Full { workers: self.workers.count() }));
            }
            (_, Event::Message(CheckoutMessage::Lease { reply, .. })) => self.line.join(reply),
            (_, Event::Message(CheckoutMessage::Returned(end))) => self.workers.returned(&end),
            (_, Event::Message(CheckoutMessage::Started { worker, outcome })) => {
                self.started(worker, outcome);
            }
            (_, Event::Exit(exit)) => return self.ended(ctx, *exit),
            (_, Event::Message(CheckoutMessage::Extend(reply))) => self.extend(ctx, reply),
            (_, Event::Message(CheckoutMessage::Shrink(reply))) => reply.send(self.shrink()),
            (_, Event::Message(CheckoutMessage::Status(reply))) => reply.send(self.status(state)),
            // It was told to end, and did not.
            (_, Event::Timeout(worker, ())) => ctx.exit(worker, Reason::Kill),
            (_, _) => {}
        }
        self.serve(ctx);
        Ok(self.next())
    }

    fn inspect(&self) -> Inspection {
        Inspection::new()
            .with("free", self.workers.free())
            .with("leased", self.workers.leased())
            .with("waiting", self.line.count())
            .with("in line", self.line.length())
    }

    async fn before_restart(&mut self, ctx: &mut PoolContext<B>, _: &Reason) {
        self.end_workers(ctx).await;
    }

    async fn terminate(&mut self, ctx: &mut PoolContext<B>, _: CheckoutState, reason: &Reason) {
        let fail = |reply: LeaseReply<_, _>| {
            reply.fail(CallError::Terminated { to: ctx.pid(), reason: reason.clone() });
        };
        self.line.leave().for_each(fail);
        self.end_workers(ctx).await;
    }
}
