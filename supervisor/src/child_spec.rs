//! Specifications of children: how a child is made, named and restarted.

use crate::back_off::BackOff;
use crate::child_start::{ChildStart, Factory, FactoryInPlace, SpawnOptions, StartChild};
use crate::spec::{ChildId, ChildKind, ChildRules, RestartType, Shutdown};
use krarup_act::{Behavior, Restartable};
use krarup_gen::Class;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The specification of a child: its id, its factory, and its restart settings.
///
/// The factory is called for every incarnation, in the child's own first turn (rule D1), so a
/// panic in it is only a failed start. Any behaviour can be a child: an actor, a pool, another
/// supervisor, a bare process.
///
/// | setting | default |
/// |---|---|
/// | [`restart`](Self::restart) | [`RestartType::Permanent`] |
/// | [`shutdown`](Self::shutdown) | 5 s for a worker, [`Shutdown::Infinity`] for a supervisor |
/// | [`significant`](Self::significant) | no |
/// | [`back_off`](Self::back_off) | restarts do not wait |
/// | [`name`](Self::name), [`mailbox`](Self::mailbox), [`dispatcher`](Self::dispatcher), [`class`](Self::class), [`init_timeout`](Self::init_timeout) | as for any spawn |
#[derive(Clone)]
pub struct ChildSpec {
    pub(crate) rules: ChildRules,
    pub(crate) start: ChildStart<ChildSpec>,
}

impl ChildSpec {
    /// Returns the specification of a worker.
    pub fn worker<B, F>(id: impl Into<ChildId>, factory: F) -> Self
    where
        B: Behavior,
        F: Fn() -> B + Send + Sync + 'static,
    {
        Self::new::<B, F>(id.into(), ChildKind::Worker, factory)
    }

    /// Returns the specification of a supervisor.
    pub fn supervisor<B, F>(id: impl Into<ChildId>, factory: F) -> Self
    where
        B: Behavior,
        F: Fn() -> B + Send + Sync + 'static,
    {
        Self::new::<B, F>(id.into(), ChildKind::Supervisor, factory)
    }

    /// Returns the specification of a worker, an actor, that is restarted in place (rule S10):
    /// when its state fails, its process continues with a new state, and keeps its pid, address,
    /// name and mailbox. [`InPlace`](krarup_act::InPlace) says what else is kept and what is dropped.
    ///
    /// It counts as any other restart for the intensity and the reports of the supervisor. If no
    /// more restarts are allowed, or the child is temporary, or its process ends in another way,
    /// the process ends and is handled as for any child.
    ///
    /// Such a child is restarted alone, so `one_for_all` and `rest_for_one` refuse it.
    pub fn worker_in_place<A, F>(id: impl Into<ChildId>, factory: F) -> Self
    where
        A: Restartable,
        F: Fn() -> A + Send + Sync + 'static,
    {
        let rules = ChildRules::new(id.into(), ChildKind::Worker, A::label());
        let factory = Arc::new(FactoryInPlace(Arc::new(factory)));
        let start = ChildStart::new(factory, SpawnOptions::new());
        ChildSpec { rules: ChildRules { in_place: true, ..rules }, start }
    }

    fn new<B, F>(id: ChildId, kind: ChildKind, factory: F) -> Self
    where
        B: Behavior,
        F: Fn() -> B + Send + Sync + 'static,
    {
        let factory = Arc::new(Factory(Arc::new(factory)));
        let start = ChildStart::new(factory, SpawnOptions::new());
        ChildSpec { rules: ChildRules::new(id, kind, B::label()), start }
    }
}

/// The one specification from which `simple_one_for_one` makes all its children, each with its
/// own arguments (rule S1).
///
/// Its settings are those of a [`ChildSpec`]. The factory gets the arguments at the first start
/// of a child, and the same ones at each restart. Those of a temporary child are dropped once it
/// runs.
///
/// ```
/// # use krarup_act::{Actor, Context};
/// # use krarup_gen::Result;
/// # use krarup_node::Simulation;
/// # mod krarup { pub use krarup_supervisor as supervisor; }
/// use krarup::supervisor::{ChildTemplate, RestartType, Supervisor, SupervisorCalls};
///
/// struct Connection(String);
/// # impl Actor for Connection {
/// #     type Message = ();
/// #     async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
/// #         Ok(())
/// #     }
/// # }
///
/// # fn main() -> Result {
/// # let node = Simulation::new(1);
/// let connections = node
///     .spawn(|| {
///         let connection = ChildTemplate::worker("connection", Connection);
///         Supervisor::simple_one_for_one(connection.restart(RestartType::Temporary))
///     })
///     .wait()?;
/// let pid = connections.start_child("ada".to_owned()).wait()?.expect("a process");
/// connections.terminate_child(pid).wait()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ChildTemplate<A> {
    pub(crate) rules: ChildRules,
    options: SpawnOptions,
    factory: MakeFactory<A>,
}

/// Binds the arguments to the factory.
type MakeFactory<A> = Arc<dyn Fn(A) -> Arc<dyn StartChild<A>> + Send + Sync>;

impl<A: Clone + Send + Sync + 'static> ChildTemplate<A> {
    /// Returns a template of workers.
    pub fn worker<B, F>(id: impl Into<ChildId>, factory: F) -> Self
    where
        B: Behavior,
        F: Fn(A) -> B + Send + Sync + 'static,
    {
        Self::new::<B, F>(id.into(), ChildKind::Worker, factory)
    }

    /// Returns a template of supervisors.
    pub fn supervisor<B, F>(id: impl Into<ChildId>, factory: F) -> Self
    where
        B: Behavior,
        F: Fn(A) -> B + Send + Sync + 'static,
    {
        Self::new::<B, F>(id.into(), ChildKind::Supervisor, factory)
    }

    /// Returns a template of workers, actors, that are restarted in place
    /// ([`ChildSpec::worker_in_place`]). The arguments are cloned for every state.
    pub fn worker_in_place<B, F>(id: impl Into<ChildId>, factory: F) -> Self
    where
        B: Restartable,
        F: Fn(A) -> B + Send + Sync + 'static,
    {
        let rules = ChildRules::new(id.into(), ChildKind::Worker, B::label());
        let factory = Arc::new(factory);
        let with_arguments = move |arguments: A| -> Arc<dyn StartChild<A>> {
            let factory = Arc::clone(&factory);
            Arc::new(FactoryInPlace(Arc::new(move || factory(arguments.clone()))))
        };
        ChildTemplate {
            rules: ChildRules { in_place: true, ..rules },
            options: SpawnOptions::new(),
            factory: Arc::new(with_arguments),
        }
    }

    fn new<B, F>(id: ChildId, kind: ChildKind, factory: F) -> Self
    where
        B: Behavior,
        F: Fn(A) -> B + Send + Sync + 'static,
    {
        let factory = Arc::new(factory);
        let with_arguments = move |arguments: A| -> Arc<dyn StartChild<A>> {
            let factory = Arc::clone(&factory);
            // Cloned in the child's own turn: a clone that panics is a failed start.
            Arc::new(Factory(Arc::new(move || factory(arguments.clone()))))
        };
        let rules = ChildRules::new(id, kind, B::label());
        ChildTemplate { rules, options: SpawnOptions::new(), factory: Arc::new(with_arguments) }
    }
}

impl<A> ChildTemplate<A> {
    pub(crate) fn start(&self, arguments: A) -> ChildStart<A> {
        ChildStart::new((self.factory)(arguments), self.options.clone())
    }
}

macro_rules! settings {
    ($options:ident $(. $more:ident)?) => {
        /// Sets after which ends it is restarted (rule S4).
        #[must_use]
        pub fn restart(mut self, restart: RestartType) -> Self {
            self.rules.restart = restart;
            self
        }

        /// Sets how long its restarts wait (rule S10).
        #[must_use]
        pub fn back_off(mut self, back_off: BackOff) -> Self {
            self.rules.back_off = Some(back_off);
            self
        }

        /// Sets how it is ended (rule S7); a `Duration` is a timeout.
        #[must_use]
        pub fn shutdown(mut self, shutdown: impl Into<Shutdown>) -> Self {
            self.rules.shutdown = Some(shutdown.into());
            self
        }

        /// Sets whether its end can end the supervisor (rule S1). Such a child must not be
        /// permanent, and its supervisor must have an auto-shutdown. The argument is that of
        /// OTP's `significant` in a child specification.
        #[must_use]
        pub fn significant(mut self, significant: bool) -> Self {
            self.rules.significant = significant;
            self
        }

        /// Sets the name of its process, which each new incarnation takes over (rule N3).
        #[must_use]
        pub fn name(mut self, name: impl Into<String>) -> Self {
            self.rules.name = Some(name.into());
            self
        }

        /// Bounds its Main lane (rule M5). The child chooses in its `init` what happens when the
        /// lane is full, with [`Context::set_overflow`](krarup_act::Context::set_overflow) (rule
        /// M6).
        #[must_use]
        pub fn mailbox(mut self, messages: usize) -> Self {
            self.rules.mailbox = Some(messages);
            self
        }

        /// Sets the label of its behaviour in displays and logs: see
        /// [`Spawn::label`](krarup_act::Spawn::label).
        #[must_use]
        pub fn label(mut self, label: impl Into<String>) -> Self {
            self.$options$(.$more)?.label = Some(label.into());
            self
        }

        /// Runs it on the dispatcher with this name (rule R5).
        #[must_use]
        pub fn dispatcher(mut self, name: impl Into<String>) -> Self {
            self.$options$(.$more)?.dispatcher = Some(name.into());
            self
        }

        /// Schedules it in this class (rule R6).
        #[must_use]
        pub fn class(mut self, class: Class) -> Self {
            self.$options$(.$more)?.class = Some(class);
            self
        }

        /// Kills it, as a failed start, if its `init` has not returned within this time. The
        /// supervisor serves nothing else while it waits for `init`. A request of the child to
        /// its own supervisor from `init` is answered only after `init` has returned: with this
        /// limit the child is ended, without one both wait for ever.
        #[must_use]
        pub fn init_timeout(mut self, timeout: Duration) -> Self {
            self.$options$(.$more)?.init_timeout = Some(timeout);
            self
        }
    };
}

impl ChildSpec {
    settings!(start.options);
}

impl<A> ChildTemplate<A> {
    settings!(options);
}

impl fmt::Debug for ChildSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChildSpec").field(&self.rules).finish()
    }
}

impl<A> fmt::Debug for ChildTemplate<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChildTemplate").field(&self.rules).finish()
    }
}
