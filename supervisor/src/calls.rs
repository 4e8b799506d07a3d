//! The requests to a supervisor (rule S8).

use crate::child_spec::ChildSpec;
use crate::command::{ChildRef, Command, CommandReply, SupervisorCommand};
use crate::error::{
    DeleteChildError, GetChildSpecError, RestartChildError, StartChildError, TerminateChildError,
};
use crate::info::{ChildCounts, ChildInfo, ChildSpecInfo};
use crate::spec::ChildId;
use krarup_act::Address;
use krarup_gen::{CallError, Pid};
use std::convert::Infallible;
use std::fmt;
use std::future::IntoFuture;
use std::pin::Pin;
use std::time::Duration;

/// The address of a supervisor whose `start_child` takes a `T`: a [`ChildSpec`], or the
/// arguments of a `simple_one_for_one`'s template.
///
/// Nothing can be sent to its Main lane. Requests go to the Urgent lane, where the exit notices
/// of its children arrive too, and are served in the order of arrival.
pub type SupervisorAddress<T = ChildSpec> = Address<Infallible, SupervisorCommand<T>>;

/// The requests of OTP's `supervisor` module, on the address of a supervisor.
///
/// Each request is served in its order among the ends of children and other requests. A request
/// waits as long as the supervisor lives, as in OTP: starting or stopping a child takes as long
/// as the child takes. Requests work in processes, on plain threads and in foreign tasks.
///
/// A supervisor starts one child after the other, and serves nothing while it waits for an
/// `init` to return (rule S2). So a request of a child to its own supervisor from `init`, or to
/// a sibling that waits for the supervisor, is answered only after that `init` has returned:
/// never, unless the request or the child's [`init_timeout`](ChildSpec::init_timeout) has a
/// limit. Make the request while handling the first message instead, which the child sends
/// itself in `init`.
///
/// When each request is refused:
///
/// | the child | `start_child` | `restart_child` | `delete_child` | `terminate_child` |
/// |---|---|---|---|---|
/// | runs | `AlreadyStarted` | `Running` | `Running` | - |
/// | is restarting | `AlreadyPresent` | `Restarting` | `Restarting` | - (no restart any more) |
/// | has no process | `AlreadyPresent` | - | - | - |
/// | is unknown | - | `NotFound` | `NotFound` | `NotFound` |
/// | fails to start | `Failed`, not kept | `Failed`, kept | | |
/// | has an invalid spec | `BadSpec` | | | |
/// | is one of `simple_one_for_one`, named by its id | | `SimpleOneForOne` | `SimpleOneForOne` | `SimpleOneForOne` |
///
/// `get_childspec` fails only with `NotFound`, the other two do not fail. A supervisor that has
/// ended, or ends meanwhile, gives the error `Call` for all of them.
///
/// ```
/// # mod krarup {
/// #     pub use {krarup_act::*, krarup_gen::*, krarup_node as testing, krarup_supervisor as supervisor};
/// # }
/// use krarup::supervisor::{
///     ChildSpec, ChildTemplate, DeleteChildError, GetChildSpecError, RestartChildError,
///     SpecError, StartChildError, Supervisor, SupervisorCalls, TerminateChildError,
/// };
/// use krarup::testing::Simulation;
/// use krarup::{Actor, CallError, Context, Reason, Result};
///
/// /// Starts only if the file exists.
/// struct Reader(bool);
///
/// impl Actor for Reader {
///     type Message = ();
///     async fn init(&mut self, _: &mut Context<()>) -> Result {
///         if self.0 { Ok(()) } else { Err(Reason::error("no file")) }
///     }
///     async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
///         Ok(())
///     }
/// }
///
/// # fn main() -> Result {
/// let node = Simulation::new(1);
/// let reader = |id: &str, there| ChildSpec::worker(id.to_owned(), move || Reader(there));
/// let readers = node.spawn(move || Supervisor::one_for_one().child(reader("a", true))).wait()?;
///
/// // It runs.
/// let start = readers.start_child(reader("a", true)).wait();
/// assert!(matches!(start, Err(StartChildError::AlreadyStarted { .. })));
/// let restart = readers.restart_child("a").wait();
/// assert!(matches!(restart, Err(RestartChildError::Running { .. })));
/// let delete = readers.delete_child("a").wait();
/// assert!(matches!(delete, Err(DeleteChildError::Running { .. })));
///
/// // It has no process: its specification is kept, until it is deleted.
/// readers.terminate_child("a").wait()?;
/// let start = readers.start_child(reader("a", true)).wait();
/// assert!(matches!(start, Err(StartChildError::AlreadyPresent { .. })));
/// readers.delete_child("a").wait()?;
///
/// // It is unknown now.
/// let terminate = readers.terminate_child("a").wait();
/// assert!(matches!(terminate, Err(TerminateChildError::NotFound { .. })));
/// let restart = readers.restart_child("a").wait();
/// assert!(matches!(restart, Err(RestartChildError::NotFound { .. })));
/// let delete = readers.delete_child("a").wait();
/// assert!(matches!(delete, Err(DeleteChildError::NotFound { .. })));
/// let spec = readers.get_childspec("a").wait();
/// assert!(matches!(spec, Err(GetChildSpecError::NotFound { .. })));
///
/// // It fails to start, or its specification is invalid.
/// let start = readers.start_child(reader("b", false)).wait();
/// assert!(matches!(start, Err(StartChildError::Failed { .. })));
/// let start = readers.start_child(reader("b", true).significant(true)).wait();
/// let meaningless = SpecError::SignificantWithoutAutoShutdown { id: "b".into() };
/// assert_eq!(start, Err(StartChildError::BadSpec(meaningless)));
///
/// // Dynamic children are named by their pids.
/// let template = ChildTemplate::worker("reader", Reader);
/// let dynamic = node.spawn(|| Supervisor::simple_one_for_one(template)).wait()?;
/// let terminate = dynamic.terminate_child("reader").wait();
/// let id = || "reader".into();
/// assert_eq!(terminate, Err(TerminateChildError::SimpleOneForOne { id: id() }));
/// let restart = dynamic.restart_child("reader").wait();
/// assert_eq!(restart, Err(RestartChildError::SimpleOneForOne { id: id() }));
/// let delete = dynamic.delete_child("reader").wait();
/// assert_eq!(delete, Err(DeleteChildError::SimpleOneForOne { id: id() }));
///
/// // The supervisor has ended.
/// readers.stop().wait()?;
/// assert_eq!(readers.which_children().wait(), Err(CallError::NoProcess { to: readers.pid() }));
/// let start = readers.start_child(reader("c", true)).wait();
/// assert_eq!(start, Err(StartChildError::Call(CallError::NoProcess { to: readers.pid() })));
/// # Ok(())
/// # }
/// ```
///
/// A child is `Restarting` if its restart has failed or waits for its back-off:
///
/// ```
/// # use krarup_act::{Actor, Context};
/// # use krarup_gen::{Reason, Result};
/// # use krarup_node::Simulation;
/// # use krarup_supervisor::{
/// #     BackOff, ChildSpec, DeleteChildError, RestartChildError, Supervisor, SupervisorCalls,
/// # };
/// # use std::time::Duration;
/// # struct Client;
/// # impl Actor for Client {
/// #     type Message = ();
/// #     async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result { Ok(()) }
/// # }
/// # fn main() -> Result {
/// # let node = Simulation::new(1);
/// let second = Duration::from_secs(1);
/// let client = ChildSpec::worker("client", || Client).name("client");
/// let client = client.back_off(BackOff::new(second, second));
/// let clients = node.spawn(|| Supervisor::one_for_one().child(client)).wait()?;
/// node.kill(node.whereis("client").expect("a client"));
/// node.run_until_idle();
/// let restart = clients.restart_child("client").wait();
/// assert_eq!(restart, Err(RestartChildError::Restarting { id: "client".into() }));
/// let delete = clients.delete_child("client").wait();
/// assert_eq!(delete, Err(DeleteChildError::Restarting { id: "client".into() }));
/// clients.terminate_child("client").wait()?;         // it is not waited for any more
/// clients.delete_child("client").wait()?;
/// # Ok(())
/// # }
/// ```
pub trait SupervisorCalls<T> {
    /// Adds a child and starts it, the last in start order. Returns `None` if its `init`
    /// returned [`Ignore`](crate::Ignore). Under `simple_one_for_one`: starts a child with these
    /// arguments.
    fn start_child(&self, child: T) -> SupervisorCall<'_, T, Option<Pid>, StartChildError>;

    /// Adds and starts several children in one request, one after the other, and answers for each in
    /// their order, as [`SupervisorCalls::start_child`] does (rule S14). One that fails does not keep
    /// the others from starting. If the supervisor is told to stop meanwhile, the rest is refused with
    /// [`StartChildError::Stopping`].
    #[allow(clippy::type_complexity, reason = "an answer for each child")]
    fn start_children(
        &self,
        children: impl IntoIterator<Item = T>,
    ) -> SupervisorCall<'_, T, Vec<Result<Option<Pid>, StartChildError>>, CallError>;

    /// Ends a child and does not restart it. Its spec stays unless it is temporary. Succeeds
    /// also if the child has no process. A pending restart is cancelled.
    fn terminate_child(
        &self,
        child: impl Into<ChildRef>,
    ) -> SupervisorCall<'_, T, (), TerminateChildError>;

    /// Starts a child that has no process. Returns `None` if its `init` returned
    /// [`Ignore`](crate::Ignore).
    fn restart_child(
        &self,
        id: impl Into<ChildId>,
    ) -> SupervisorCall<'_, T, Option<Pid>, RestartChildError>;

    /// Removes the specification of a child that has no process.
    fn delete_child(&self, id: impl Into<ChildId>) -> SupervisorCall<'_, T, (), DeleteChildError>;

    /// Returns the children as the supervisor knows them, the last started first.
    fn which_children(&self) -> SupervisorCall<'_, T, Vec<ChildInfo>, CallError>;

    /// Returns the numbers of children.
    fn count_children(&self) -> SupervisorCall<'_, T, ChildCounts, CallError>;

    /// Returns the specification of a child, with the defaults filled in.
    fn get_childspec(
        &self,
        child: impl Into<ChildRef>,
    ) -> SupervisorCall<'_, T, ChildSpecInfo, GetChildSpecError>;
}

impl<T: Send + 'static> SupervisorCalls<T> for SupervisorAddress<T> {
    fn start_child(&self, child: T) -> SupervisorCall<'_, T, Option<Pid>, StartChildError> {
        SupervisorCall::new(self, |reply| Command::StartChild(child, reply))
    }

    fn start_children(
        &self,
        children: impl IntoIterator<Item = T>,
    ) -> SupervisorCall<'_, T, Vec<Result<Option<Pid>, StartChildError>>, CallError> {
        let children: Vec<T> = children.into_iter().collect();
        SupervisorCall::new(self, |reply| Command::StartChildren(children, reply))
    }

    fn terminate_child(
        &self,
        child: impl Into<ChildRef>,
    ) -> SupervisorCall<'_, T, (), TerminateChildError> {
        let child = child.into();
        SupervisorCall::new(self, |reply| Command::TerminateChild(child, reply))
    }

    fn restart_child(
        &self,
        id: impl Into<ChildId>,
    ) -> SupervisorCall<'_, T, Option<Pid>, RestartChildError> {
        let id = id.into();
        SupervisorCall::new(self, |reply| Command::RestartChild(id, reply))
    }

    fn delete_child(&self, id: impl Into<ChildId>) -> SupervisorCall<'_, T, (), DeleteChildError> {
        let id = id.into();
        SupervisorCall::new(self, |reply| Command::DeleteChild(id, reply))
    }

    fn which_children(&self) -> SupervisorCall<'_, T, Vec<ChildInfo>, CallError> {
        SupervisorCall::new(self, Command::WhichChildren)
    }

    fn count_children(&self) -> SupervisorCall<'_, T, ChildCounts, CallError> {
        SupervisorCall::new(self, Command::CountChildren)
    }

    fn get_childspec(
        &self,
        child: impl Into<ChildRef>,
    ) -> SupervisorCall<'_, T, ChildSpecInfo, GetChildSpecError> {
        let child = child.into();
        SupervisorCall::new(self, |reply| Command::GetChildSpec(child, reply))
    }
}

/// A request that has not been made yet; `.await` it, or `.wait()` on a plain thread.
#[must_use = "a request is not made until it is awaited or waited for"]
pub struct SupervisorCall<'a, T, R: Send + 'static, E: Send + 'static> {
    address: &'a SupervisorAddress<T>,
    request: MakeCommand<T, R, E>,
    timeout: Option<Duration>,
}

type MakeCommand<T, R, E> = Box<dyn FnOnce(CommandReply<R, E>) -> SupervisorCommand<T> + Send>;

impl<'a, T, R, E> SupervisorCall<'a, T, R, E>
where
    T: Send + 'static,
    R: Send + 'static,
    E: From<CallError> + Send + 'static,
{
    fn new(
        address: &'a SupervisorAddress<T>,
        request: impl FnOnce(CommandReply<R, E>) -> Command<T> + Send + 'static,
    ) -> Self {
        let request = Box::new(|reply| SupervisorCommand(request(reply)));
        SupervisorCall { address, request, timeout: None }
    }

    /// Sets how long to wait for the answer. After a timeout the request is still served.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Makes the request and waits for the answer on a plain thread.
    ///
    /// # Errors
    /// The errors of awaiting it, and [`CallError::CannotWait`].
    pub fn wait(self) -> Result<R, E> {
        let call = self.address.call_max(self.request);
        match self.timeout {
            Some(timeout) => call.timeout(timeout).wait()?,
            None => call.no_timeout().wait()?,
        }
    }
}

impl<'a, T, R, E> IntoFuture for SupervisorCall<'a, T, R, E>
where
    T: Send + 'static,
    R: Send + 'static,
    E: From<CallError> + Send + 'static,
{
    type Output = Result<R, E>;
    type IntoFuture = Pin<Box<dyn Future<Output = Result<R, E>> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let call = self.address.call_max(self.request);
            match self.timeout {
                Some(timeout) => call.timeout(timeout).await?,
                None => call.no_timeout().await?,
            }
        })
    }
}

impl<T, R: Send + 'static, E: Send + 'static> fmt::Debug for SupervisorCall<'_, T, R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SupervisorCall").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}
