//! A pool's own behaviour: what its process does beside keeping workers (Ergo's
//! `PoolBehavior`).

use super::command::PoolCommand;
use super::resize::{ResizeError, Resized};
use super::statistics::PoolStatistics;
use crate::addressing::address::Address;
use crate::context::Context;
use crate::observe::inspect_request::InspectRequest;
use crate::observe::subscription::{Subscription, Tell};
use crate::process::crash::contain;
use krarup_gen::{DeadLetter, Down, Exit, Inspection, Lifecycle, Pid, Reason, Result, Target};
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, ready};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;

/// Callbacks of a pool's process, given to it with [`crate::Pool::behavior`]. All but
/// [`PoolBehavior::handle_command`] have defaults.
///
/// They hear what comes on the control lanes; jobs go to the workers, on Main, and never come
/// here (rule P3). A callback that returns `Err(reason)`, or panics, ends the pool, and with
/// it its workers (rule P7).
///
/// | callback | when | Ergo |
/// |---|---|---|
/// | the factory that makes the [`crate::Pool`] | first of all, in the pool's own turn | `Init`'s `PoolOptions` |
/// | [`init`](PoolBehavior::init) | before the workers are started | `Init` |
/// | [`handle_command`](PoolBehavior::handle_command) | a command or a call, priority High or Max | `HandleMessage`, `HandleCall` |
/// | the same | an event it subscribed to | `HandleEvent` |
/// | [`handle_worker_exit`](PoolBehavior::handle_worker_exit) | a worker has ended | - |
/// | [`handle_exit`](PoolBehavior::handle_exit), [`handle_down`](PoolBehavior::handle_down) | another process it is linked to, or monitors, has ended | - |
/// | [`inspect`](PoolBehavior::inspect), [`handle_inspect`](PoolBehavior::handle_inspect) | somebody inspects the pool | `HandleInspect` |
/// | [`terminate`](PoolBehavior::terminate) | last, when the workers have ended | `Terminate` |
pub trait PoolBehavior: Sized + Send + 'static {
    /// The jobs of the pool: what its workers take.
    type Job: Send + 'static;
    /// The commands of its own: usually an enum.
    type Command: Send + 'static;

    /// Prepares the behaviour; the workers are started after it. An error fails the spawn.
    fn init(
        &mut self,
        pool: &mut PoolContext<'_, Self::Job, Self::Command>,
    ) -> impl Future<Output = Result> + Send {
        let _ = pool;
        ready(Ok(()))
    }

    /// Handles a command, a call or an event. A reply token in it that is dropped fails the
    /// call at once with `NoReply`; no worker ever sees it.
    fn handle_command(
        &mut self,
        pool: &mut PoolContext<'_, Self::Job, Self::Command>,
        command: Self::Command,
    ) -> impl Future<Output = Result> + Send;

    /// Hears that a worker has ended which was not removed; its replacement is started after
    /// this, but for one that was stuck: that is replaced when it is killed.
    fn handle_worker_exit(
        &mut self,
        pool: &mut PoolContext<'_, Self::Job, Self::Command>,
        exit: &Exit,
    ) -> impl Future<Output = Result> + Send {
        let _ = (pool, exit);
        ready(Ok(()))
    }

    /// Hears the exit signal of a process that is no worker. The default ends the pool with an
    /// abnormal reason, as if it did not trap.
    fn handle_exit(
        &mut self,
        pool: &mut PoolContext<'_, Self::Job, Self::Command>,
        exit: Exit,
    ) -> impl Future<Output = Result> + Send {
        let _ = pool;
        ready(if exit.reason.is_abnormal() { Err(exit.reason) } else { Ok(()) })
    }

    /// Hears that a process has ended which the pool monitors.
    fn handle_down(
        &mut self,
        pool: &mut PoolContext<'_, Self::Job, Self::Command>,
        down: Down,
    ) -> impl Future<Output = Result> + Send {
        let _ = (pool, down);
        ready(Ok(()))
    }

    /// Describes the behaviour; the items come after those of the pool.
    fn inspect(&self) -> Inspection {
        Inspection::new()
    }

    /// Describes the behaviour to who asks, as [`crate::Actor::handle_inspect`]. The default is
    /// [`PoolBehavior::inspect`].
    fn handle_inspect(&self, request: &InspectRequest) -> Inspection {
        let _ = request;
        self.inspect()
    }

    /// Cleans up, when the workers have ended; at most once, and not when the pool is killed.
    fn terminate(
        &mut self,
        pool: &mut PoolContext<'_, Self::Job, Self::Command>,
        reason: &Reason,
    ) -> impl Future<Output = ()> + Send {
        let _ = (pool, reason);
        ready(())
    }
}

/// A pool as its own behaviour sees it: the process's [`Context`], and what can be done with
/// the workers.
pub struct PoolContext<'a, M: Send + 'static, C: Send + 'static> {
    ctx: &'a mut Context<M, PoolCommand<C>>,
    hands: &'a mut dyn WorkerControl<M, C>,
}

/// What a pool can do with its workers, whatever they are.
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

    /// Adds workers; they are available when this is ready (rule P5). The pool serves nothing
    /// else until this callback is done.
    ///
    /// # Errors
    /// Those of [`crate::Address::add_workers`].
    pub async fn add_workers(&mut self, count: usize) -> Result<Resized, ResizeError> {
        self.hands.add(self.ctx, count).await
    }

    /// Takes workers out of the rotation, as [`crate::Address::remove_workers`].
    ///
    /// # Errors
    /// The pool is not at work: in `init` and `terminate`, say.
    pub fn remove_workers(&mut self, count: usize) -> Result<Resized, ResizeError> {
        self.hands.remove(self.ctx.pid(), count)
    }

    /// The pids of the workers in the rotation, the next one first.
    #[must_use]
    pub fn workers(&self) -> Vec<Pid> {
        self.hands.workers()
    }

    /// Takes nothing new from now on, as [`crate::Address::drain`]; does not wait.
    pub fn drain(&mut self) {
        self.hands.drain();
    }

    /// Takes jobs again; whether the pool did not before.
    pub fn reopen(&mut self) -> bool {
        self.hands.reopen()
    }

    /// The numbers of the pool.
    #[must_use]
    pub fn statistics(&self) -> PoolStatistics {
        self.hands.statistics()
    }

    /// Has the pool itself told of every dead letter to others in the node from now on, as a
    /// command that is made from it. Where [`Context::subscribe_dead_letters`] of a pool
    /// tells its workers, as jobs.
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

    /// Has the pool itself told of the life of every other process of the node, as commands.
    /// Its workers are other processes too.
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

/// Tells a pool of an event; whether it is still there.
fn tell<M, C, T>(pool: &Address<M, PoolCommand<C>>, event: &T) -> bool
where
    M: Send + 'static,
    C: From<T> + Send + 'static,
    T: Clone,
{
    let alive = pool.is_alive();
    if alive {
        // The conversion is a user's, and runs wherever something happens.
        let told = contain(|| pool.send_high(PoolCommand::Own(event.clone().into())).is_ok());
        if let Err(panic) = told {
            tracing::error!(target: "krarup", pool = %pool.pid(), %panic, "cannot tell a pool");
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

/// The behaviour of a pool that has none of its own.
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
