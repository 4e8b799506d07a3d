//! The behaviour of the pool process beside the management of its workers (Ergo's
//! `PoolBehavior`).

use super::command::PoolCommand;
use super::resize::{ResizeError, Resized};
use super::statistics::PoolStatistics;
use crate::addressing::address::Address;
use crate::context::Context;
use crate::observe::inspect_request::InspectRequest;
use crate::observe::subscription::{Subscription, Tell};
use crate::process::crash::contain;
use krarup_gen::{
    DeadLetter, Down, Exit, Inspection, Lifecycle, Pid, Reason, Result, Target, one_line,
};
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, ready};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;

/// Callbacks of a pool's process, set with [`Pool::behavior`](crate::Pool::behavior).
///
/// All but [`PoolBehavior::handle_command`] have defaults. They handle what arrives on the
/// control lanes. Jobs go to the workers, on Main, and never reach these callbacks (rule P3). A
/// callback that returns `Err(reason)`, or panics, ends the pool and with it its workers (rule
/// P7).
///
/// | callback | when | Ergo |
/// |---|---|---|
/// | the factory of the [`Pool`](crate::Pool) | first, in the pool's own turn | `Init`'s `PoolOptions` |
/// | [`init`] | before the workers are started | `Init` |
/// | [`handle_command`] | a command or a call, at High or Max | `HandleMessage`, `HandleCall` |
/// | the same | an event that the pool subscribed to | `HandleEvent` |
/// | [`handle_worker_exit`] | a worker has ended | - |
/// | [`handle_exit`], [`handle_down`] | another linked or monitored process has ended | - |
/// | [`inspect`], [`handle_inspect`] | the pool is inspected | `HandleInspect` |
/// | [`terminate`] | last, after the workers have ended | `Terminate` |
///
/// [`init`]: PoolBehavior::init
/// [`handle_command`]: PoolBehavior::handle_command
/// [`handle_worker_exit`]: PoolBehavior::handle_worker_exit
/// [`handle_exit`]: PoolBehavior::handle_exit
/// [`handle_down`]: PoolBehavior::handle_down
/// [`inspect`]: PoolBehavior::inspect
/// [`handle_inspect`]: PoolBehavior::handle_inspect
/// [`terminate`]: PoolBehavior::terminate
pub trait PoolBehavior: Sized + Send + 'static {
    /// The type of the jobs, which the workers take.
    type Job: Send + 'static;
    /// The type of the pool's own commands, usually an enum.
    type Command: Send + 'static;

    /// Initialises the behaviour before the workers are started. An error fails the spawn.
    fn init(
        &mut self,
        pool: &mut PoolContext<'_, Self::Job, Self::Command>,
    ) -> impl Future<Output = Result> + Send {
        let _ = pool;
        ready(Ok(()))
    }

    /// Handles a command, a call or an event.
    ///
    /// A reply token in it that is dropped fails the call at once with `NoReply`. No worker
    /// sees it.
    fn handle_command(
        &mut self,
        pool: &mut PoolContext<'_, Self::Job, Self::Command>,
        command: Self::Command,
    ) -> impl Future<Output = Result> + Send;

    /// Handles the end of a worker that was not removed.
    ///
    /// The replacement is started after this returns. A stuck worker is replaced earlier, when
    /// it is killed.
    fn handle_worker_exit(
        &mut self,
        pool: &mut PoolContext<'_, Self::Job, Self::Command>,
        exit: &Exit,
    ) -> impl Future<Output = Result> + Send {
        let _ = (pool, exit);
        ready(Ok(()))
    }

    /// Handles the exit signal of a process that is not a worker.
    ///
    /// The default ends the pool with the reason if that is abnormal. `Normal` and `Shutdown`
    /// leave it alive.
    fn handle_exit(
        &mut self,
        pool: &mut PoolContext<'_, Self::Job, Self::Command>,
        exit: Exit,
    ) -> impl Future<Output = Result> + Send {
        let _ = pool;
        ready(if exit.reason.is_abnormal() { Err(exit.reason) } else { Ok(()) })
    }

    /// Handles the end of a process that the pool monitors.
    fn handle_down(
        &mut self,
        pool: &mut PoolContext<'_, Self::Job, Self::Command>,
        down: Down,
    ) -> impl Future<Output = Result> + Send {
        let _ = (pool, down);
        ready(Ok(()))
    }

    /// Describes the behaviour. The items come after those of the pool.
    fn inspect(&self) -> Inspection {
        Inspection::new()
    }

    /// Describes the behaviour for one inspection, like
    /// [`Actor::handle_inspect`](crate::Actor::handle_inspect).
    ///
    /// The default is [`PoolBehavior::inspect`].
    fn handle_inspect(&self, request: &InspectRequest) -> Inspection {
        let _ = request;
        self.inspect()
    }

    /// Cleans up after the workers have ended.
    ///
    /// It runs at most once, and not if the pool is killed.
    fn terminate(
        &mut self,
        pool: &mut PoolContext<'_, Self::Job, Self::Command>,
        reason: &Reason,
    ) -> impl Future<Output = ()> + Send {
        let _ = (pool, reason);
        ready(())
    }
}

/// The context of a pool's own behaviour: the [`Context`] of the process and operations on the
/// workers.
pub struct PoolContext<'a, M: Send + 'static, C: Send + 'static> {
    ctx: &'a mut Context<M, PoolCommand<C>>,
    hands: &'a mut dyn WorkerControl<M, C>,
}

/// The operations on the workers of a pool, independent of their type.
pub(super) trait WorkerControl<M: Send + 'static, C: Send + 'static>: Send {
    fn add<'a>(
        &'a mut self,
        ctx: &'a mut Context<M, PoolCommand<C>>,
        count: usize,
    ) -> Pin<Box<dyn Future<Output = Result<Resized, ResizeError>> + Send + 'a>>;
    fn remove(&mut self, pool: Pid, count: usize) -> Result<Resized, ResizeError>;
    fn workers(&self) -> Vec<Pid>;
    fn drain(&mut self);
    fn reopen(&mut self) -> bool;
    fn statistics(&self) -> PoolStatistics;
}

impl<'a, M: Send + 'static, C: Send + 'static> PoolContext<'a, M, C> {
    pub(super) fn new(
        ctx: &'a mut Context<M, PoolCommand<C>>,
        hands: &'a mut dyn WorkerControl<M, C>,
    ) -> Self {
        PoolContext { ctx, hands }
    }

    /// Adds workers, which take jobs when this returns (rule P5).
    ///
    /// The pool handles nothing else until this callback returns.
    ///
    /// # Errors
    /// Returns the errors of [`Address::add_workers`].
    pub async fn add_workers(&mut self, count: usize) -> Result<Resized, ResizeError> {
        self.hands.add(self.ctx, count).await
    }

    /// Removes workers from the rotation, like [`Address::remove_workers`].
    ///
    /// # Errors
    /// Fails if the pool is not at work, for example in `init` and `terminate`.
    pub fn remove_workers(&mut self, count: usize) -> Result<Resized, ResizeError> {
        self.hands.remove(self.ctx.pid(), count)
    }

    /// Returns the pids of the workers in the rotation, the next one first.
    #[must_use]
    pub fn workers(&self) -> Vec<Pid> {
        self.hands.workers()
    }

    /// Stops accepting jobs, like [`Address::drain`], without waiting.
    pub fn drain(&mut self) {
        self.hands.drain();
    }

    /// Accepts jobs again. Returns whether the pool was drained.
    pub fn reopen(&mut self) -> bool {
        self.hands.reopen()
    }

    /// Returns the counters of the pool.
    #[must_use]
    pub fn statistics(&self) -> PoolStatistics {
        self.hands.statistics()
    }

    /// Subscribes the pool's own behaviour to the dead letters of the other processes of the
    /// node.
    ///
    /// Each is delivered as a command that is made from it. In contrast,
    /// [`Context::subscribe_dead_letters`] of a pool delivers them to the workers, as jobs.
    pub fn watch_dead_letters(&mut self)
    where
        C: From<DeadLetter>,
    {
        let pool = self.ctx.address();
        let pid = pool.pid();
        let tell = move |letter: &DeadLetter| {
            let own = matches!(letter.to, Target::Pid(to) if to.is_same_process(pid));
            own || tell(&pool, letter)
        };
        let tell = Tell::DeadLetters(Box::new(tell));
        self.ctx.host().subscribe(Subscription { pid, tell });
    }

    /// Subscribes the pool's own behaviour to the lifecycle events of every other process of
    /// the node, as commands. The workers of the pool are other processes too.
    pub fn watch_lifecycle(&mut self)
    where
        C: From<Lifecycle>,
    {
        let pool = self.ctx.address();
        let pid = pool.pid();
        let tell = move |event: &Lifecycle| event.pid().is_same_process(pid) || tell(&pool, event);
        let tell = Tell::Lifecycle(Box::new(tell));
        self.ctx.host().subscribe(Subscription { pid, tell });
    }
}

/// Sends an event to a pool. Returns whether the pool is alive.
fn tell<M, C, T>(pool: &Address<M, PoolCommand<C>>, event: &T) -> bool
where
    M: Send + 'static,
    C: From<T> + Send + 'static,
    T: Clone,
{
    let alive = pool.is_alive();
    if alive {
        // The conversion is user code, and runs on the thread where the event happens.
        let told = contain(|| pool.send_high(PoolCommand::Own(event.clone().into())).is_ok());
        if let Err(panic) = told {
            tracing::error!(target: "krarup", pool = %pool.pid(), panic = %one_line(&panic), "cannot deliver an event to a pool");
        }
    }
    alive
}

impl<M: Send + 'static, C: Send + 'static> Deref for PoolContext<'_, M, C> {
    type Target = Context<M, PoolCommand<C>>;

    fn deref(&self) -> &Self::Target {
        self.ctx
    }
}

impl<M: Send + 'static, C: Send + 'static> DerefMut for PoolContext<'_, M, C> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.ctx
    }
}

impl<M: Send + 'static, C: Send + 'static> fmt::Debug for PoolContext<'_, M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PoolContext({})", self.ctx.pid())
    }
}

/// The behaviour of a pool that has no commands of its own.
pub struct Plain<M>(PhantomData<fn(M)>);

impl<M> Plain<M> {
    pub(super) const fn new() -> Self {
        Plain(PhantomData)
    }
}

impl<M: Send + 'static> PoolBehavior for Plain<M> {
    type Job = M;
    type Command = Infallible;

    fn handle_command(
        &mut self,
        _: &mut PoolContext<'_, M, Infallible>,
        command: Infallible,
    ) -> impl Future<Output = Result> + Send {
        match command {}
        #[allow(unreachable_code, reason = "there is no such command")]
        ready(Ok(()))
    }
}

impl<M> fmt::Debug for Plain<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Plain")
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Plain;

    #[test]
    fn the_behaviour_of_a_pool_without_one_says_so() {
        assert_eq!(format!("{:?}", Plain::<()>::new()), "Plain");
    }
}
