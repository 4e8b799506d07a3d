//! Agents: a value in a process, and functions that are sent to it (rules J13, J14).

use crate::actor::Actor;
use crate::addressing::address::Address;
use crate::calls::call::Call;
use crate::calls::reply::Reply;
use crate::context::Context;
use krarup_gen::{Inspection, Result, SendError};
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// A process that holds a value (Elixir's `Agent`). Functions on the value are sent to it, and it
/// runs them one at a time, in their order.
///
/// For tests, counters and prototypes. A process that does more than hold a value is an
/// [`Actor`]. An agent is no lock: a function cannot await anything while it has the value.
///
/// ```
/// # mod krarup { pub use {krarup_act::*, krarup_gen::*}; }
/// use krarup::{Agent, Context, Result};
/// use std::collections::HashMap;
///
/// async fn count(ctx: &mut Context<()>) -> Result {
///     let words = ctx.spawn(|| Agent::new(HashMap::<String, u32>::new)).name("words").await?;
///     words.cast(|words| *words.entry("again".into()).or_default() += 1)?;
///     assert_eq!(words.get(|words| words.get("again").copied()).await?, Some(1));
///     Ok(())
/// }
/// # let _ = count;
/// ```
///
/// An agent is spawned and supervised as every process: it can have a name, a bound, a
/// supervisor. A function that panics ends the agent, and fails its call with the place of the
/// panic.
pub struct Agent<A, F> {
    init: Option<F>,
    value: Option<A>,
    show: fn(&A) -> Option<String>,
}

impl<A, F> Agent<A, F>
where
    A: Send + 'static,
    F: FnOnce() -> A + Send + 'static,
{
    /// Makes an agent whose value is that of `init`, which runs in the agent's process.
    pub fn new(init: F) -> Self {
        Agent { init: Some(init), value: None, show: |_| None }
    }

    /// Shows the value in inspections, as the item `value`.
    #[must_use]
    pub fn inspected(mut self) -> Self
    where
        A: fmt::Debug,
    {
        self.show = |value| Some(format!("{value:?}"));
        self
    }
}

impl<A, F> Actor for Agent<A, F>
where
    A: Send + 'static,
    F: FnOnce() -> A + Send + 'static,
{
    type Message = AgentMessage<A>;

    async fn init(&mut self, _: &mut Context<AgentMessage<A>>) -> Result {
        self.value = self.init.take().map(|init| init());
        Ok(())
    }

    async fn handle_message(
        &mut self,
        _: &mut Context<AgentMessage<A>>,
        message: AgentMessage<A>,
    ) -> Result {
        if let Some(value) = &mut self.value {
            message.into_function()(value);
        }
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        match self.value.as_ref().and_then(self.show) {
            Some(value) => Inspection::new().with("value", value),
            None => Inspection::new(),
        }
    }
}

impl<A, F> fmt::Debug for Agent<A, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Agent<{}>", std::any::type_name::<A>())
    }
}

/// A function on the value of an [`Agent`]: its message. Made by the methods of its address.
///
/// The lock makes it `Sync`, which an error with `?` must be. Nobody waits for it.
pub struct AgentMessage<A>(Mutex<AgentFn<A>>);

type AgentFn<A> = Box<dyn FnOnce(&mut A) + Send>;

impl<A> AgentMessage<A> {
    fn new(function: impl FnOnce(&mut A) + Send + 'static) -> Self {
        AgentMessage(Mutex::new(Box::new(function)))
    }

    fn into_function(self) -> AgentFn<A> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A> fmt::Debug for AgentMessage<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AgentMessage<{}>", std::any::type_name::<A>())
    }
}

/// A call of an agent that has not been made yet.
type AgentCall<'a, A, T, R> = Call<'a, AgentMessage<A>, AgentMessage<A>, T, R>;

/// The address of an [`Agent`].
pub type AgentAddress<A> = Address<AgentMessage<A>>;

impl<A: Send + 'static> Address<AgentMessage<A>> {
    /// Calls the agent for something of its value. As every call, it has a timeout of 5 s by
    /// default, and can be awaited or waited for.
    pub fn get<T, G>(
        &self,
        get: G,
    ) -> AgentCall<'_, A, T, impl FnOnce(Reply<T>) -> AgentMessage<A> + Send + use<A, T, G>>
    where
        T: Send + 'static,
        G: FnOnce(&A) -> T + Send + 'static,
    {
        self.get_and_update(move |value| get(value))
    }

    /// Calls the agent to change its value.
    pub fn update<U>(
        &self,
        update: U,
    ) -> AgentCall<'_, A, (), impl FnOnce(Reply<()>) -> AgentMessage<A> + Send + use<A, U>>
    where
        U: FnOnce(&mut A) + Send + 'static,
    {
        self.get_and_update(update)
    }

    /// Calls the agent to change its value, and for something of it.
    pub fn get_and_update<T, U>(
        &self,
        update: U,
    ) -> AgentCall<'_, A, T, impl FnOnce(Reply<T>) -> AgentMessage<A> + Send + use<A, T, U>>
    where
        T: Send + 'static,
        U: FnOnce(&mut A) -> T + Send + 'static,
    {
        self.call(move |reply: Reply<T>| AgentMessage::new(move |value| reply.send(update(value))))
    }

    /// Has the agent change its value, and does not wait for it.
    ///
    /// # Errors
    /// Those of a send.
    pub fn cast<U>(&self, update: U) -> Result<(), SendError<AgentMessage<A>>>
    where
        U: FnOnce(&mut A) + Send + 'static,
    {
        self.send(AgentMessage::new(update))
    }
}
