//! The start of a child: what its specification and a supervisor need to spawn it, each time anew.

use crate::command::SupervisorContext;
use crate::in_place::AskSupervisor;
use crate::spec::ChildRules;
use krarup_act::{Address, Behavior, InPlace, Restartable, Watch, contain};
use krarup_gen::{Class, SpawnError};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// The spawn options of a child.
#[derive(Clone)]
pub(crate) struct SpawnOptions {
    pub(crate) label: Option<String>,
    pub(crate) dispatcher: Option<String>,
    pub(crate) class: Option<Class>,
    pub(crate) init_timeout: Option<Duration>,
}

impl SpawnOptions {
    pub(crate) const fn new() -> Self {
        SpawnOptions { label: None, dispatcher: None, class: None, init_timeout: None }
    }
}

/// What a supervisor whose `start_child` takes a `T` needs to start one of its children
/// repeatedly.
pub(crate) struct ChildStart<T> {
    /// Set until it is dropped.
    factory: Option<Arc<dyn StartChild<T>>>,
    pub(crate) options: SpawnOptions,
}

impl<T> ChildStart<T> {
    pub(crate) fn new(factory: Arc<dyn StartChild<T>>, options: SpawnOptions) -> Self {
        ChildStart { factory: Some(factory), options }
    }

    /// Spawns the child, linked.
    pub(crate) fn start(
        &self,
        ctx: &SupervisorContext<T>,
        rules: &ChildRules,
        grace: Duration,
    ) -> StartingChild {
        let factory = self.factory.as_ref().expect("a child that is started has its factory");
        factory.start(ctx, &Incarnation { rules, grace, options: &self.options })
    }
}

impl<T> Clone for ChildStart<T> {
    fn clone(&self) -> Self {
        ChildStart { factory: self.factory.clone(), options: self.options.clone() }
    }
}

/// A factory and its arguments are user code, and a panic in their destructors must not affect
/// the supervisor.
impl<T> Drop for ChildStart<T> {
    fn drop(&mut self) {
        let factory = self.factory.take();
        let _ = contain(|| drop(factory));
    }
}

/// A child whose `init` has not returned, and the future of that `init`.
pub(crate) type StartingChild = Result<(Box<dyn RunningChild>, ChildInit), SpawnError>;
pub(crate) type ChildInit = Pin<Box<dyn Future<Output = Result<(), SpawnError>> + Send>>;

/// A factory of any behaviour.
pub(crate) trait StartChild<T>: Send + Sync {
    fn start(&self, ctx: &SupervisorContext<T>, birth: &Incarnation<'_>) -> StartingChild;
}

/// The parameters with which one incarnation of a child is spawned.
pub(crate) struct Incarnation<'a> {
    rules: &'a ChildRules,
    /// How long it has to end if it was killed because its `init` took too long.
    grace: Duration,
    options: &'a SpawnOptions,
}

pub(crate) struct Factory<F>(pub(crate) Arc<F>);

impl<T, B, F> StartChild<T> for Factory<F>
where
    T: Send + 'static,
    B: Behavior,
    F: Fn() -> B + Send + Sync + 'static,
{
    fn start(&self, ctx: &SupervisorContext<T>, birth: &Incarnation<'_>) -> StartingChild {
        let factory = Arc::clone(&self.0);
        birth.begin(ctx, move || factory())
    }
}

/// A factory of the states of an actor that is restarted in place.
pub(crate) struct FactoryInPlace<F>(pub(crate) Arc<F>);

impl<T, A, F> StartChild<T> for FactoryInPlace<F>
where
    T: Send + 'static,
    A: Restartable,
    F: Fn() -> A + Send + Sync + 'static,
{
    fn start(&self, ctx: &SupervisorContext<T>, birth: &Incarnation<'_>) -> StartingChild {
        let factory = Arc::clone(&self.0);
        let supervisor = AskSupervisor(ctx.address());
        birth.begin(ctx, || InPlace::new(move || factory()).policy(supervisor))
    }
}

impl Incarnation<'_> {
    fn begin<T, B, F>(&self, ctx: &SupervisorContext<T>, factory: F) -> StartingChild
    where
        T: Send + 'static,
        B: Behavior,
        F: FnOnce() -> B + Send + 'static,
    {
        let options = self.options;
        // Urgent: a supervisor receives ends, requests and stops on one lane, in the order in
        // which they happened, as on OTP's single mailbox (rule M3).
        let mut spawn = ctx.spawn(factory).link_urgent().kill_grace(self.grace);
        if let Some(name) = &self.rules.name {
            spawn = spawn.name(name);
        }
        if let Some(messages) = self.rules.mailbox {
            spawn = spawn.mailbox(messages);
        }
        if let Some(label) = &options.label {
            spawn = spawn.label(label);
        }
        if let Some(dispatcher) = &options.dispatcher {
            spawn = spawn.dispatcher(dispatcher);
        }
        if let Some(class) = options.class {
            spawn = spawn.class(class);
        }
        if let Some(timeout) = options.init_timeout {
            spawn = spawn.init_timeout(timeout);
        }
        let (address, init) = spawn.begin()?;
        Ok((Box::new(address), Box::pin(init)))
    }
}

/// A running child of any behaviour.
pub(crate) trait RunningChild: Send {
    fn pid(&self) -> krarup_gen::Pid;

    fn is_alive(&self) -> bool;

    /// Waits for its end.
    fn end(&self) -> Watch;
}

impl<M: Send + 'static, C: Send + 'static> RunningChild for Address<M, C> {
    fn pid(&self) -> krarup_gen::Pid {
        Address::pid(self)
    }

    fn is_alive(&self) -> bool {
        Address::is_alive(self)
    }

    fn end(&self) -> Watch {
        self.watch()
    }
}
