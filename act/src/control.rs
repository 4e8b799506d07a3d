//! What one can do with any process from anywhere: inspect it, watch it, stop it.

use crate::address::Address;
use crate::deadline::within;
use crate::dynamic::Dynamic;
use crate::host::Host;
use crate::pending::{CannotWait, Pending, wait};
use crate::process::process::Process;
use crate::process::{bonds, current};
use crate::reply::Reply;
use crate::slot::{SlotReceiver, slot};
use krarup_gen::{
    CallError, DeadLetter, DeadLetterCause, Destination, Down, Inspection, LookupError, Name, Pid,
    Reason, Ref, SendError, StopError, Target,
};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// How long an inspection waits for its answer, unless told otherwise.
const INSPECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Asks a process to describe itself (rule X3): answered within one message, however
/// much mail it has.
pub fn inspect(
    host: Arc<dyn Host>,
    process: Option<Arc<dyn Process>>,
) -> Pending<Inspection, CallError> {
    Pending::new(Arc::clone(&host), async move {
        let process = process.ok_or(CallError::NoProcess)?;
        let pid = process.pid();
        if current::pid().is_some_and(|myself| myself.is_same_process(pid)) {
            return Err(CallError::CallsItself(pid));
        }
        let (reply, answer) = Reply::new(None);
        process.inspect(reply);
        within(&host, INSPECT_TIMEOUT, answer)
            .await
            .ok_or(CallError::Timeout(INSPECT_TIMEOUT))?
            .unwrap_or(Err(CallError::NoReply))
    })
}

/// Sends a value to a process named by its pid, its name or an alias; the receiver's message
/// type must be the value's, unless it takes others (rule M7).
///
/// # Errors
/// [`SendError::WrongType`], and those of [`Address::send`]; all give the value back.
pub fn send_dynamic<T: Send + 'static>(
    host: &dyn Host,
    to: Destination<'_>,
    message: T,
) -> Result<(), SendError<Dynamic>> {
    let message = Dynamic::new(message);
    let (process, alias) = match to {
        Destination::Pid(pid) => (host.process(pid), None),
        Destination::Name(name) => (host.whereis(name), None),
        Destination::Alias(alias) => (host.by_alias(alias), Some(alias)),
    };
    if let Some(process) = process {
        return process.send_dynamic(message, alias);
    }
    let (target, cause) = match to {
        Destination::Pid(pid) => (Some(Target::Pid(pid)), DeadLetterCause::NoProcess),
        // What cannot be a name is nobody's.
        Destination::Name(name) => {
            (Name::new(name).ok().map(|name| Target::Name(name, None)), DeadLetterCause::NoProcess)
        }
        Destination::Alias(alias) => (Some(Target::Alias(alias, None)), DeadLetterCause::Revoked),
    };
    let target = target.unwrap_or(Target::Pid(host.node_pid()));
    let from = current::pid().filter(|pid| pid.creation() == host.node_pid().creation());
    host.dead_letter(DeadLetter::new(target, from, message.type_name(), cause));
    Err(SendError::NoProcess(message))
}

/// The typed address of the process with this name.
///
/// # Errors
/// [`LookupError`]: nobody has the name, or the process takes other messages.
pub fn lookup<M, C>(host: &dyn Host, name: &str) -> Result<Address<M, C>, LookupError>
where
    M: Send + 'static,
    C: Send + 'static,
{
    let process = host.whereis(name);
    Address::of(&process.ok_or_else(|| LookupError::NoProcess(format!("{name:?}")))?)
}

/// The typed address of the process with this pid.
///
/// # Errors
/// As [`lookup`].
pub fn address_of<M, C>(host: &dyn Host, pid: Pid) -> Result<Address<M, C>, LookupError>
where
    M: Send + 'static,
    C: Send + 'static,
{
    Address::of(&host.process(pid).ok_or_else(|| LookupError::NoProcess(pid.to_string()))?)
}

/// Watches whatever `target` names from now on: a monitor for somebody who is no
/// process. Told at once, with `NoProcess`, if there is nobody (rule L4).
pub fn watch(host: Arc<dyn Host>, target: Target) -> Monitor {
    let (sender, down) = slot();
    let monitor = host.next_ref();
    bonds::watch(&*host, monitor, target.clone(), sender);
    Monitor { host, reference: monitor, target, down }
}

/// A monitor that stands: it waits for the end of a process. `.await` it, or `.wait()`
/// on a plain thread; dropped, it is taken away.
#[must_use = "a monitor that is dropped is taken away"]
pub struct Monitor {
    host: Arc<dyn Host>,
    reference: Ref,
    target: Target,
    down: SlotReceiver<Down>,
}

impl Monitor {
    /// Waits on a plain thread for the end.
    ///
    /// # Errors
    /// [`CannotWait`]: a process must await, and a simulation can run out of events.
    pub fn wait(self) -> Result<Down, CannotWait> {
        let host = Arc::clone(&self.host);
        wait(&*host, self)
    }
}

impl Future for Monitor {
    type Output = Down;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Down> {
        Pin::new(&mut self.down).poll(cx).map(|down| {
            let (monitor, target) = (self.reference, self.target.clone());
            // A slot that is dropped unheard went down with the node.
            down.unwrap_or(Down { monitor, target, reason: Reason::NoProcess })
        })
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        bonds::unwatch(&*self.host, self.reference, &self.target);
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Monitor({} of {})", self.reference, self.target)
    }
}

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    /// Asks the process to describe itself (rule X3).
    pub fn inspect(&self) -> Pending<Inspection, CallError> {
        inspect(Arc::clone(self.host()), Some(self.process()))
    }

    /// Monitors the process from now on: what comes back waits for its end.
    pub fn monitor(&self) -> Monitor {
        watch(Arc::clone(self.host()), Target::Pid(self.pid()))
    }

    /// Stops the process in order (`gen_server:stop`): it finishes the message in hand,
    /// runs `terminate`, and ends with [`Reason::Normal`] unless told otherwise.
    pub fn stop(&self) -> Stop {
        Stop {
            host: Arc::clone(self.host()),
            process: self.process(),
            reason: Reason::Normal,
            timeout: None,
        }
    }
}

/// A stop that has not been asked for yet.
#[must_use = "nothing is stopped until it is awaited or waited for"]
pub struct Stop {
    host: Arc<dyn Host>,
    process: Arc<dyn Process>,
    reason: Reason,
    timeout: Option<Duration>,
}

impl Stop {
    /// The reason to end with.
    pub fn reason(mut self, reason: Reason) -> Self {
        self.reason = reason;
        self
    }

    /// How long to wait for the end; without it, as long as it takes. The process is
    /// not killed when the time is over.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Asks for the stop and waits for the end on a plain thread.
    ///
    /// # Errors
    /// As awaiting it, and [`StopError::WaitInProcess`] inside a process.
    pub fn wait(self) -> Result<(), StopError> {
        self.into_future().wait()
    }
}

impl IntoFuture for Stop {
    type Output = Result<(), StopError>;
    type IntoFuture = Pending<(), StopError>;

    fn into_future(self) -> Pending<(), StopError> {
        let host = Arc::clone(&self.host);
        Pending::new(self.host, async move {
            let pid = self.process.pid();
            if current::pid().is_some_and(|myself| myself.is_same_process(pid)) {
                return Err(StopError::StopsItself(pid));
            }
            // Watched before it is asked, so that its end cannot be missed.
            let end = watch(Arc::clone(&host), Target::Pid(pid));
            self.process.request_stop(self.reason.clone());
            let down = match self.timeout {
                None => end.await,
                Some(limit) => within(&host, limit, end).await.ok_or(StopError::Timeout(limit))?,
            };
            match down.reason {
                reason if reason == self.reason => Ok(()),
                Reason::NoProcess => Err(StopError::NoProcess),
                reason => Err(StopError::Other(reason)),
            }
        })
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stop({}, {})", self.process.pid(), self.reason)
    }
}
