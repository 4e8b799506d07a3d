//! Debugging a living process (rule X5; OTP's `sys`).
//!
//! A process handles these requests between two messages, as it does inspections: a process
//! that is inside a handler handles them when the handler is done. Its statistics need no
//! switch: they are in [`ProcessInfo`](krarup_gen::ProcessInfo).

use crate::addressing::address::Address;
use crate::addressing::dynamic::Dynamic;
use crate::calls::deadline::{DEFAULT_CALL_TIMEOUT, within};
use crate::calls::pending::Pending;
use crate::calls::reply::Reply;
use crate::host::host::Host;
use crate::observe::trace::{Traced, Tracer};
use crate::process::crash::{contain, drop_contained};
use crate::process::current;
use crate::process::process::Process;
use krarup_gen::{CallError, DebugError, Pid};
use std::any::type_name;
use std::sync::Arc;

/// Requests the state of a process. `process` is the process with this pid, if it is known.
pub fn state<T: Send + 'static>(
    host: Arc<dyn Host>,
    pid: Pid,
    process: Option<Arc<dyn Process>>,
) -> Pending<T, DebugError> {
    Pending::new(Arc::clone(&host), async move {
        let process = process.ok_or(DebugError::NoProcess(pid))?;
        let state = ask(&host, process, Process::state).await?;
        let state: Dynamic = state.ok_or(DebugError::NotOffered(pid))?;
        state.downcast().map_err(|state: Dynamic| DebugError::WrongType {
            pid,
            expected: type_name::<T>(),
            found: state.type_name(),
        })
    })
}

/// Requests the state of a process as text. `process` is the process with this pid, if it is
/// known.
pub fn state_text(
    host: Arc<dyn Host>,
    pid: Pid,
    process: Option<Arc<dyn Process>>,
) -> Pending<ShownState, DebugError> {
    Pending::new(Arc::clone(&host), async move {
        let process = process.ok_or(DebugError::NoProcess(pid))?;
        let state = ask(&host, process, Process::state).await?;
        let state: Dynamic = state.ok_or(DebugError::NotOffered(pid))?;
        // The formatting and the destructor of the state are user code.
        let text = contain(|| state.text()).ok().flatten();
        let type_name = state.type_name();
        drop_contained(state);
        let text = text.ok_or(DebugError::NotOffered(pid))?;
        Ok(ShownState { type_name, text })
    })
}

/// The state of a process as text, which its behaviour offers ([`Dynamic::shown`]).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShownState {
    /// The type of the state.
    pub type_name: &'static str,
    /// The state, cut at 4096 bytes.
    pub text: String,
}

/// Suspends a process: it handles nothing until it is resumed. `process` is the process with
/// this pid, if it is known.
pub fn suspend(
    host: Arc<dyn Host>,
    pid: Pid,
    process: Option<Arc<dyn Process>>,
) -> Pending<(), DebugError> {
    Pending::new(Arc::clone(&host), async move {
        let process = process.ok_or(DebugError::NoProcess(pid))?;
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
        None => Err(DebugError::Timeout { pid, limit: DEFAULT_CALL_TIMEOUT }),
        Some(None) => Err(DebugError::NotOffered(pid)),
        Some(Some(Ok(value))) => Ok(value),
        Some(Some(Err(error))) => Err(match *error {
            CallError::Terminated { reason, .. } => DebugError::Terminated { pid, reason },
            CallError::NoReply { .. } => DebugError::NotOffered(pid),
            _ => DebugError::NoProcess(pid),
        }),
    }
}

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    /// Returns the state of the process, if its behaviour offers it as a `T`
    /// ([`Actor::state`](crate::Actor::state); OTP's `sys:get_state`).
    pub fn state<T: Send + 'static>(&self) -> Pending<T, DebugError> {
        state(Arc::clone(self.host()), self.pid(), Some(self.process()))
    }

    /// Suspends the process (OTP's `sys:suspend`): it handles nothing but stops, inspections
    /// and these requests, until it was resumed as often as it was suspended. Its messages
    /// wait, and a bound still holds. A stop ends the suspension, because a supervisor must
    /// then receive the notices of its children. The future is ready when the suspension is in
    /// effect and no handler runs. A process that does not confirm within 5 s is not
    /// suspended.
    pub fn suspend(&self) -> Pending<(), DebugError> {
        suspend(Arc::clone(self.host()), self.pid(), Some(self.process()))
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
