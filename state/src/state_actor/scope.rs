//! The scope of a handler: its access to the state, the process and promises.

use crate::state_actor::handler_wakers::HandlerWakers;
use crate::state_actor::kinds::{Kinds, StateContext};
use crate::state_actor::promise::{Promise, PromiseTable, Settled};
use crate::table::TableKey;
use krarup_act::Sleep;
use krarup_gen::{CallError, Pid};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Shared by all handlers in flight of one actor.
pub(crate) struct HandlerScope<A: Kinds> {
    /// The state and the context; `None` while lifecycle callbacks use them. Only the
    /// process's own turn accesses this field, so the lock is never contended. It is held
    /// while the state is lent to a user's code. That code cannot lock it again: it would need
    /// a [`Scope`], each scope is lent to one handler, and this handler is the one that lends.
    pub(crate) owner: Mutex<Option<StateOwner<A>>>,
    pub(crate) table: Arc<PromiseTable<A::Reply, A::Event>>,
    pub(crate) wakers: Arc<HandlerWakers>,
    pub(crate) pid: Pid,
}

/// The state and the context of its process.
pub(crate) struct StateOwner<A: Kinds> {
    pub(crate) actor: A,
    pub(crate) ctx: StateContext<A>,
}

/// The access of a handler of a [`StateActor`](crate::StateActor) to its state, its process and its
/// promises.
///
/// Many handlers may be in flight at the same time, so no handler keeps the state across
/// an `await`: [`Scope::with`] lends it to a closure, which cannot wait. Between two such
/// closures other handlers may have changed the state. If that must not happen, the ask is
/// a barrier ([`StateActor::is_barrier`](crate::StateActor::is_barrier)). No two handlers run at
/// the same time, so no locking is needed.
pub struct Scope<A: Kinds> {
    shared: Arc<HandlerScope<A>>,
    sender: Option<Pid>,
}

/// A timer that was set with [`Scope::after`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventTimer(TableKey);

impl<A: Kinds> Scope<A> {
    pub(crate) fn new(shared: &Arc<HandlerScope<A>>, sender: Option<Pid>) -> Self {
        Scope { shared: Arc::clone(shared), sender }
    }

    /// Lends the state to `f`. A panic in `f` is a failure of the handler.
    ///
    /// # Panics
    /// Panics if there is no state. A handler that runs always has one.
    pub fn with<T>(&mut self, f: impl FnOnce(&mut A) -> T) -> T {
        self.with_context(|actor, _| f(actor))
    }

    /// Lends the state and the context: to spawn, link, monitor, set idle timeouts or stop.
    ///
    /// # Panics
    /// Panics as [`Scope::with`] does.
    pub fn with_context<T>(&mut self, f: impl FnOnce(&mut A, &mut StateContext<A>) -> T) -> T {
        let mut owner = self.shared.owner.lock();
        let StateOwner { actor, ctx } =
            owner.as_mut().expect("handlers end before the state is dropped");
        f(actor, ctx)
    }

    pub(crate) fn shared(&self) -> &HandlerScope<A> {
        &self.shared
    }

    /// The pid of this process.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.shared.pid
    }

    /// The sender of the message that began this handler; for a batch, the sender of its
    /// first message. It is `None` in the same cases as
    /// [`Context::sender`](krarup_act::Context::sender).
    #[must_use]
    pub fn sender(&self) -> Option<Pid> {
        self.sender
    }

    /// The number of this actor's asks that are not answered yet, in all its handlers.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.shared.table.pending()
    }

    /// Makes a promise of any future. The future starts now, is polled in the turns of
    /// this process, and counts as pending until its outcome is delivered.
    pub fn promise<T: Send + 'static>(
        &mut self,
        work: impl Future<Output = Result<T, CallError>> + Send + 'static,
    ) -> Promise<T> {
        Promise::open(&self.shared.table, &self.shared.wakers, work)
    }

    /// Delivers an event after a delay. The timer ends with the state. No barrier holds
    /// the event back.
    pub fn after(&mut self, delay: Duration, event: A::Event) -> EventTimer {
        let sleep = self.sleep(delay);
        EventTimer(self.shared.table.open(&self.shared.wakers, None, false, |_| {
            Box::pin(async move {
                sleep.await;
                Settled::Event(event)
            })
        }))
    }

    /// Cancels a timer. Returns whether its event had not been handled.
    pub fn cancel(&mut self, timer: EventTimer) -> bool {
        self.shared.table.withdraw(timer.0)
    }

    /// Suspends this handler, and no other one, for this long.
    pub fn sleep(&mut self, duration: Duration) -> Sleep {
        self.with_context(|_, ctx| ctx.sleep(duration))
    }
}

impl<A: Kinds> fmt::Debug for Scope<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({})", self.shared.pid)
    }
}
