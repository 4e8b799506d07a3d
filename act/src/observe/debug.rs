//! Debugging a living process (rule X5; OTP's `sys`).
//!
//! A process attends to all of this between two messages, as to an inspection: one that is
//! inside a handler comes to it when the handler is done. Its statistics need no switch:
//! [`krarup_gen::ProcessInfo`] has them.

use crate::addressing::address::Address;
use crate::addressing::dynamic::Dynamic;
use crate::calls::deadline::within;
use crate::calls::pending::{CannotWait, Pending};
use crate::calls::reply::Reply;
use crate::host::host::Host;
use crate::observe::trace::{Traced, Tracer};
use crate::process::current;
use crate::process::process::Process;
use krarup_gen::{CallError, DebugError};
use std::any::type_name;
use std::sync::Arc;
use std::time::Duration;

/// How long a process may take to come to it.
const TIMEOUT: Duration = Duration::from_secs(5);

impl From<CannotWait> for DebugError {
    fn from(why: CannotWait) -> Self {
        match why {
            CannotWait::InProcess => DebugError::WaitInProcess,
            CannotWait::InRuntime => DebugError::WaitInRuntime,
            CannotWait::Stalled => DebugError::Stalled,
        }
    }
}

/// Asks for the state of a process.
pub fn state<T: Send + 'static>(
    host: Arc<dyn Host>,
    process: Option<Arc<dyn Process>>,
) -> Pending<T, DebugError> {
    Pending::new(Arc::clone(&host), async move {
        let process = process.ok_or(DebugError::NoProcess)?;
        let pid = process.pid();
        let state = ask(&host, process, Process::state).await?;
        let state: Dynamic = state.ok_or(DebugError::NotOffered(pid))?;
        state.downcast().map_err(|state: Dynamic| DebugError::WrongType {
            expected: type_name::<T>(),
            found: state.type_name(),
        })
    })
}

/// Has a process handle nothing until it is resumed.
pub fn suspend(host: Arc<dyn Host>, process: Option<Arc<dyn Process>>) -> Pending<(), DebugError> {
    Pending::new(Arc::clone(&host), async move {
        let process = process.ok_or(DebugError::NoProcess)?;
        let mut unheard = Unheard(None);
        let suspend = |process: Arc<dyn Process>, reply| {
            unheard.0 = Some(Arc::clone(&process));
            process.suspend(reply);
        };
        let outcome = ask(&host, process, suspend).await;
        if outcome.is_ok() {
            unheard.0 = None;
        }
        outcome
    })
}

/// Takes a suspension back: who does not hear that a process is suspended, for it took too
/// long or was given up, cannot be expected to resume it.
struct Unheard(Option<Arc<dyn Process>>);

impl Drop for Unheard {
    fn drop(&mut self) {
        if let Some(process) = self.0.take() {
            process.resume();
        }
    }
}

async fn ask<T: Send + 'static>(
    host: &Arc<dyn Host>,
    process: Arc<dyn Process>,
    post: impl FnOnce(Arc<dyn Process>, Reply<T>),
) -> Result<T, DebugError> {
    let pid = process.pid();
    if current::pid().is_some_and(|myself| myself.is_same_process(pid)) {
        return Err(DebugError::DebugsItself(pid));
    }
    let (reply, answer) = Reply::new(None);
    post(process, reply);
    match within(host, TIMEOUT, answer).await {
        None => Err(DebugError::Timeout(TIMEOUT)),
        Some(Some(Ok(value))) => Ok(value),
        Some(Some(Err(CallError::Terminated(reason)))) => Err(DebugError::Terminated(reason)),
        Some(Some(Err(CallError::NoReply))) => Err(DebugError::NotOffered(pid)),
        Some(_) => Err(DebugError::NoProcess),
    }
}

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    /// The state of the process, if its behaviour offers it as a `T`
    /// ([`crate::Actor::state`]; OTP's `sys:get_state`).
    pub fn state<T: Send + 'static>(&self) -> Pending<T, DebugError> {
        state(Arc::clone(self.host()), Some(self.process()))
    }

    /// Has the process handle nothing but stops, inspections and these requests, until it has
    /// been resumed as often as it was suspended (OTP's `sys:suspend`). Its mail waits; a
    /// bound still holds. A stop ends the suspension, for a supervisor must hear of its children. Ready when it is in effect: no handler runs then. A process that
    /// does not come to it within 5 s is not suspended.
    pub fn suspend(&self) -> Pending<(), DebugError> {
        suspend(Arc::clone(self.host()), Some(self.process()))
    }

    /// Takes one suspension back; whether there was one.
    pub fn resume(&self) -> bool {
        self.process().resume()
    }

    /// Shows every item to `look` that the process takes from now on, just before it is
    /// handled, in the process's own turn (OTP's `sys:install`). One that panics is taken
    /// away, and the process goes on.
    pub fn trace(&self, look: impl FnMut(&Traced<'_, M, C>) + Send + 'static) {
        self.set_tracer(Tracer::new(look));
    }

    /// Takes the tracer away.
    pub fn stop_trace(&self) {
        self.set_tracer(Tracer::off());
    }
}
