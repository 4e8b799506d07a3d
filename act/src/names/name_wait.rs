//! Waiting until a process has a name (rule H1).

use crate::addressing::address::Address;
use crate::calls::deadline::{DEFAULT_CALL_TIMEOUT, within};
use crate::calls::pending::Pending;
use crate::host::host::{CheckedName, Host};
use crate::names::name_scope::NameScope;
use crate::process::current;
use crate::process::process::Process;
use krarup_gen::{AwaitNameError, Name, Pid};
use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// A look-up that waits until a process has the name; made by `Node::lookup_or_wait`,
/// [`Context::lookup_or_wait`](crate::Context::lookup_or_wait) and
/// [`NamedAddress::lookup_or_wait`](crate::NamedAddress::lookup_or_wait). Use `.await`, or
/// `.wait()` on a plain thread.
///
/// It is ready at once if a living process has the name, and otherwise as soon as one is spawned
/// with it or registers it: it is woken, and does not look again and again. The default timeout is
/// 5 s. When the node begins to stop and nobody has the name, it ends with
/// [`AwaitNameError::NodeStopped`], so that it delays no stop (rule H1); in a process that is asked to stop with
/// [`AwaitNameError::Stopping`] (rule H10).
#[must_use = "nothing is looked up until it is awaited or waited for"]
pub struct LookupOrWait<M, C = M> {
    host: Arc<dyn Host>,
    name: CheckedName,
    timeout: Option<Duration>,
    address: PhantomData<fn() -> Address<M, C>>,
}

impl<M: Send + 'static, C: Send + 'static> LookupOrWait<M, C> {
    /// Creates the look-up. For hosts.
    pub fn new(host: Arc<dyn Host>, name: impl AsRef<str>) -> Self {
        let name = Name::new(name);
        LookupOrWait { host, name, timeout: Some(DEFAULT_CALL_TIMEOUT), address: PhantomData }
    }

    /// Sets the longest time to wait. With zero it is a look-up.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Waits as long as the node runs.
    pub fn no_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }

    /// Looks the name up, and waits on a plain thread.
    ///
    /// # Errors
    /// Those of awaiting it, and [`CannotWait`](krarup_gen::CannotWait).
    pub fn wait(self) -> Result<Address<M, C>, AwaitNameError> {
        self.into_future().wait()
    }
}

impl<M: Send + 'static, C: Send + 'static> IntoFuture for LookupOrWait<M, C> {
    type Output = Result<Address<M, C>, AwaitNameError>;
    type IntoFuture = Pending<Address<M, C>, AwaitNameError>;

    /// # Errors
    /// [`AwaitNameError`].
    fn into_future(self) -> Self::IntoFuture {
        let LookupOrWait { host, name, timeout, .. } = self;
        Pending::new(Arc::clone(&host), async move {
            let name = name?;
            let wait = NameWait::new(&host, &name, None);
            let process = match timeout {
                None => Some(wait.await),
                Some(limit) => within(&host, limit, wait).await,
            };
            match process {
                Some(Ok(process)) => Ok(Address::of(&process)?),
                Some(Err(NoWait::NodeStops)) => Err(AwaitNameError::NodeStopped { name }),
                Some(Err(NoWait::AskedToStop)) => Err(AwaitNameError::Stopping { name }),
                None => {
                    let limit = timeout.unwrap_or_default();
                    Err(AwaitNameError::Timeout { name, limit })
                }
            }
        })
    }
}

impl<M, C> fmt::Debug for LookupOrWait<M, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LookupOrWait")
            .field("name", &self.name)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// Why a wait for a name that nobody has ends.
#[derive(Debug)]
pub(crate) enum NoWait {
    /// The node begins to stop, or has stopped.
    NodeStops,
    /// Who waits is asked to stop.
    AskedToStop,
}

/// A future of the process that has the name.
pub(crate) struct NameWait {
    host: Arc<dyn Host>,
    name: Name,
    /// A process that has the name but has ended, or will have in a moment.
    except: Option<Pid>,
    /// The number of the waker in the table.
    number: Option<u64>,
    /// The number of the process in which it was polled last.
    process: Option<u64>,
    /// The scope in which it was polled first, outside processes.
    scope: Option<Arc<NameScope>>,
}

impl NameWait {
    pub(crate) fn new(host: &Arc<dyn Host>, name: &Name, except: Option<Pid>) -> Self {
        let (host, name) = (Arc::clone(host), name.clone());
        NameWait { host, name, except, number: None, process: None, scope: None }
    }

    fn check(&self) -> Option<Result<Arc<dyn Process>, NoWait>> {
        if let Some(holder) = self.host.whereis(self.name.as_str())
            && self.except.is_none_or(|ended| !holder.pid().is_same_process(ended))
        {
            return Some(Ok(holder));
        }
        // Without a table nobody would wake it.
        let ends = self.host.is_node_stopping() || self.host.has_stopped();
        (ends || self.host.name_waits().is_none()).then_some(Err(NoWait::NodeStops))
    }

    /// The process of this node that polls.
    fn polling(&self) -> Option<Arc<dyn Process>> {
        current::pid().and_then(|pid| self.host.process(pid))
    }

    /// Puts the waker into the table.
    fn enter(&mut self, process: Option<u64>, waker: Waker) {
        if self.process != process {
            // It was moved into another process.
            self.leave();
            self.process = process;
        }
        let waits = self.host.name_waits();
        self.number = waits.map(|waits| waits.enter(&self.name, self.number, process, waker));
    }

    /// Whether who waits is asked to stop. If not, it will be woken when it is.
    fn is_asked_to_stop(&mut self, process: Option<&dyn Process>) -> bool {
        if let Some(process) = process {
            return process.begin_name_wait();
        }
        if self.scope.is_none() {
            self.scope = NameScope::current();
        }
        self.scope.as_ref().is_some_and(|scope| scope.is_over())
    }

    fn leave(&mut self) {
        if let (Some(number), Some(waits)) = (self.number.take(), self.host.name_waits()) {
            waits.leave(&self.name, number, self.process);
        }
    }
}

impl Future for NameWait {
    type Output = Result<Arc<dyn Process>, NoWait>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let wait = self.get_mut();
        let mut found = wait.check();
        if found.is_none() {
            // A waker is user code: it is cloned outside the lock.
            let waker = cx.waker().clone();
            let process = wait.polling();
            wait.enter(process.as_ref().map(|process| process.pid().id()), waker);
            // The name may have been given away before the waker was in the table.
            found = wait.check();
            if found.is_none() && wait.is_asked_to_stop(process.as_deref()) {
                found = Some(Err(NoWait::AskedToStop));
            }
        }
        match found {
            Some(found) => {
                wait.leave();
                Poll::Ready(found)
            }
            None => {
                current::note_other_wait();
                Poll::Pending
            }
        }
    }
}

impl Drop for NameWait {
    fn drop(&mut self) {
        self.leave();
    }
}
