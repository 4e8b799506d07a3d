//! Processes by name in handlers (rule Q5).

use axum::extract::{FromRef, FromRequestParts};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use krarup::testing::Simulation;
use krarup::{Context, NameError, NamedAddress, Node};
use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

/// A process that handlers find by its name. Implement it for a type that stands for the process, for
/// example the actor itself.
pub trait NamedProcess: 'static {
    /// The name under which the process is spawned.
    const NAME: &'static str;
    /// What it takes on its Main lane.
    type Message: Send + 'static;
    /// What it takes on its control lanes. For an actor this is the message type, for a pool
    /// [`PoolCommand`](krarup::pool::PoolCommand).
    type Command: Send + 'static;
}

/// The processes that the handlers of a router use: its state, or a part of it ([`FromRef`]).
///
/// It keeps no node alive and no process. A clone has the same processes.
#[derive(Clone, Default)]
pub struct Processes {
    by_type: Arc<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl Processes {
    /// Creates a state without processes.
    #[must_use]
    pub fn new() -> Self {
        Processes::default()
    }

    /// Adds a process of this node, which need not have been spawned yet. In a process its context stands for the node.
    ///
    /// # Errors
    /// [`NameError`]: [`NamedProcess::NAME`] is no name.
    pub fn with<P: NamedProcess>(mut self, node: &impl FindsByName) -> Result<Self, NameError> {
        let address = node.address_of::<P>()?;
        Arc::make_mut(&mut self.by_type).insert(TypeId::of::<P>(), Arc::new(address));
        Ok(self)
    }

    /// Returns the address of a process that was added.
    #[must_use]
    pub fn address<P: NamedProcess>(&self) -> Option<NamedAddress<P::Message, P::Command>> {
        let address = self.by_type.get(&TypeId::of::<P>())?;
        address.downcast_ref::<NamedAddress<P::Message, P::Command>>().cloned()
    }
}

/// A [`Node`], a [`Simulation`], or the [`Context`] of a process: where [`Processes::with`] finds a process.
pub trait FindsByName: found::Sealed {
    /// Returns the address by name of a process.
    ///
    /// # Errors
    /// [`NameError`]: [`NamedProcess::NAME`] is no name.
    fn address_of<P: NamedProcess>(
        &self,
    ) -> Result<NamedAddress<P::Message, P::Command>, NameError>;
}

mod found {
    use super::{Arc, Context, Node, Simulation};

    pub trait Sealed {}

    impl Sealed for Node {}
    impl Sealed for Simulation {}
    impl<M: Send + 'static, C: Send + 'static> Sealed for Context<M, C> {}
    impl<T: Sealed + ?Sized> Sealed for &T {}
    impl<T: Sealed + ?Sized> Sealed for Arc<T> {}
}

type AddressOf<P> = NamedAddress<<P as NamedProcess>::Message, <P as NamedProcess>::Command>;

impl FindsByName for Node {
    fn address_of<P: NamedProcess>(&self) -> Result<AddressOf<P>, NameError> {
        self.named_address(P::NAME)
    }
}

impl FindsByName for Simulation {
    fn address_of<P: NamedProcess>(&self) -> Result<AddressOf<P>, NameError> {
        self.named_address(P::NAME)
    }
}

impl<M: Send + 'static, C: Send + 'static> FindsByName for Context<M, C> {
    fn address_of<P: NamedProcess>(&self) -> Result<AddressOf<P>, NameError> {
        self.named_address(P::NAME)
    }
}

impl<T: FindsByName + ?Sized> FindsByName for &T {
    fn address_of<P: NamedProcess>(&self) -> Result<AddressOf<P>, NameError> {
        (**self).address_of::<P>()
    }
}

impl<T: FindsByName + ?Sized> FindsByName for Arc<T> {
    fn address_of<P: NamedProcess>(&self) -> Result<AddressOf<P>, NameError> {
        (**self).address_of::<P>()
    }
}

impl fmt::Debug for Processes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Processes({})", self.by_type.len())
    }
}

/// Extracts the address of whichever process has the name of `P` (rule Q5): the one that a supervisor
/// has restarted, too.
///
/// ```
/// use krarup::Reply;
/// use krarup_axum::{ByName, CallRejection, NamedProcess};
///
/// struct Till;
///
/// impl NamedProcess for Till {
///     const NAME: &'static str = "till";
///     type Message = Reply<u64>;
///     type Command = Reply<u64>;
/// }
///
/// /// Waits through a restart of the till.
/// async fn total(till: ByName<Till>) -> Result<String, CallRejection> {
///     Ok(till.call(|reply| reply).await?.to_string())
/// }
/// # let _ = total;
/// ```
pub struct ByName<P: NamedProcess>(pub NamedAddress<P::Message, P::Command>);

impl<P: NamedProcess> Deref for ByName<P> {
    type Target = NamedAddress<P::Message, P::Command>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<P: NamedProcess> Clone for ByName<P> {
    fn clone(&self) -> Self {
        ByName(self.0.clone())
    }
}

impl<P: NamedProcess> fmt::Debug for ByName<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ByName").field(&self.0).finish()
    }
}

impl<S, P> FromRequestParts<S> for ByName<P>
where
    S: Send + Sync,
    P: NamedProcess,
    Processes: FromRef<S>,
{
    type Rejection = UnknownProcess<P>;

    async fn from_request_parts(_: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        Processes::from_ref(state).address::<P>().map(ByName).ok_or(UnknownProcess(PhantomData))
    }
}

/// A handler uses a process that was not added to the [`Processes`] of its router: a status 500.
#[derive(thiserror::Error)]
#[error("{} is not among the processes of the router: add it by Processes::with", type_name::<P>())]
pub struct UnknownProcess<P>(PhantomData<fn() -> P>);

impl<P> fmt::Debug for UnknownProcess<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UnknownProcess({})", type_name::<P>())
    }
}

impl<P> IntoResponse for UnknownProcess<P> {
    fn into_response(self) -> Response {
        (StatusCode::INTERNAL_SERVER_ERROR, self.to_string()).into_response()
    }
}
