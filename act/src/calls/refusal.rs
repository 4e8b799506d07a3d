//! The error of a call whose request was not sent.

use crate::host::host::Host;
use krarup_gen::{CallError, Pid, SendError};

/// Converts the error of a request that was not sent into that of its call to `callee`.
#[cold]
pub(crate) fn refused<M>(host: &dyn Host, callee: Pid, error: &SendError<M>) -> CallError {
    match error {
        SendError::Full { to, .. } => CallError::Full { to: *to },
        SendError::NoWorkers { to, .. } => CallError::NoWorkers { to: *to },
        SendError::RateLimited { to, retry_after, .. } => {
            CallError::RateLimited { to: *to, retry_after: *retry_after }
        }
        SendError::Draining { to, .. } => CallError::Draining { to: *to },
        SendError::NotReservable { to, .. } => CallError::NotReservable { to: *to },
        _ if host.is_stopping() => CallError::NodeStopped { to: callee },
        SendError::Revoked { alias, .. } => CallError::Revoked { alias: *alias },
        SendError::NoProcess { to, .. } => CallError::NoProcess { to: *to },
        _ => CallError::NoProcess { to: callee },
    }
}
