//! Debugging a living process (rule X5; OTP's `sys`).
//!
//! A process handles these requests between two messages, as it does inspections: a process
//! that is inside a handler handles them when the handler is done. Its statistics need no
//! switch: they are in [`krarup_gen::ProcessInfo`].

use crate::addressing::address::Address;
use crate::addressing::dynamic::Dynamic;
use crate::calls::call::DEFAULT_CALL_TIMEOUT;
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

impl From<CannotWait> for DebugError {
    fn from(why: CannotWait) -> Self {
        match why {
            CannotWait::InProcess => DebugError::WaitInProcess,
            CannotWait::InRuntime => DebugError::WaitInRuntime,
            CannotWait::Stalled => DebugError::Stalled,
        }
    }
}

/// Requests the state of a process.
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

/// Suspends a process: it handles nothing until it is resumed.
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

/// Resumes a process whose suspension was not confirmed, because it took too long or the
/// future was dropped. The caller does not know of that suspension and would not end it.
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
    match within(host, DEFAULT_CALL_TIMEOUT, answer).await {
        None => Err(DebugError::Timeout(DEFAULT_CALL_TIMEOUT)),
        Some(Some(Ok(value))) => Ok(value),
        Some(Some(Err(CallError::Terminated(reason)))) => Err(DebugError::Terminated(reason)),
        Some(Some(Err(CallError::NoReply))) => Err(DebugError::NotOffered(pid)),
        Some(_) => Err(DebugError::NoProcess),
    }
}

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    /// Returns the state of the process, if its behaviour offers it as a `T`
    /// ([`crate::Actor::state`]; OTP's `sys:get_state`).
    pub fn state<T: Send + 'static>(&self) -> Pending<T, DebugError> {
        state(Arc::clone(self.host()), Some(self.process()))
    }

    /// Suspends the process (OTP's `sys:suspend`): it handles nothing but stops, inspections
    /// and these requests, until it was resumed as often as it was suspended. Its messages
    /// wait, and a bound still holds. A stop ends the suspension, because a supervisor must
    /// then receive the notices of its children. The future is ready when the suspension is in
    /// effect and no handler runs. A process that does not confirm within 5 s is not
    /// suspended.
    pub fn suspend(&self) -> Pending<(), DebugError> {
        suspend(Arc::clone(self.host()), Some(self.process()))
    }

    /// Ends one suspension; returns whether there was one.
    pub fn resume(&self) -> bool {
        self.process().resume()
    }

    /// Calls `look` with every item that the process receives from now on, just before the
    /// item is handled, in the process's own turn (OTP's `sys:install`). If `look` panics it
    /// is removed, and the process continues.
    pub fn trace(&self, look: impl FnMut(&Traced<'_, M, C>) + Send + 'static) {
        self.set_tracer(Tracer::new(look));
    }

    /// Removes the tracer.
    pub fn stop_trace(&self) {
        self.set_tracer(Tracer::off());
    }
}
