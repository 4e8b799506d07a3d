//! The error of a call whose request was not sent.

use crate::host::host::Host;
use krarup_gen::{CallError, Pid, Reason, SendError};

/// Converts the error of a request that was not sent into that of its call to `callee`, and drops
/// the request. It takes the error by value and is never inlined, so that the code that drops an
/// error is not in the path of a call, where it costs registers.
#[cold]
#[inline(never)]
#[allow(clippy::needless_pass_by_value, reason = "see above")]
pub(crate) fn refused<M>(host: &dyn Host, callee: Pid, error: SendError<M>) -> CallError {
    match &error {
        SendError::Full { to, .. } => CallError::Full { to: *to },
        SendError::NoWorkers { to, .. } => CallError::NoWorkers { to: *to },
        SendError::RateLimited { to, retry_after, .. } => {
            CallError::RateLimited { to: *to, retry_after: *retry_after }
        }
        SendError::Draining { to, .. } => CallError::Draining { to: *to },
        SendError::NotReservable { to, .. } => CallError::NotReservable { to: *to },
        SendError::Unserializable { to, why, .. } => CallError::Terminated {
            to: *to,
            reason: Reason::error(format!("the request cannot be written: {why}")),
        },
        // As of a connection that is lost while the call waits (rule Zcall4).
        SendError::NoConnection { to, .. } => {
            CallError::Terminated { to: *to, reason: Reason::NoConnection }
        }
        _ if host.is_stopping() => CallError::NodeStopped { to: callee },
        SendError::Revoked { alias, .. } => CallError::Revoked { alias: *alias },
        SendError::NoProcess { to, .. } => CallError::NoProcess { to: *to },
        _ => CallError::NoProcess { to: callee },
    }
}
