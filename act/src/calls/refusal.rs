//! The error of a call whose request was not sent.

use crate::host::host::Host;
use krarup_gen::{CallError, Pid, SendError, Target, UndeliveredCause};

/// Converts the error of a request that was not sent into that of its call to `callee`, and drops
/// the request. It takes the error by value and is never inlined, so that the code that drops an
/// error is not in the path of a call, where it costs registers.
#[cold]
#[inline(never)]
#[allow(clippy::needless_pass_by_value, reason = "see above")]
pub(crate) fn refused<M>(host: &dyn Host, callee: Pid, error: SendError<M>) -> CallError {
    match &error {
        // What is full is the queue to its node, and not its mailbox.
        SendError::Full { to, .. } if to.node() != 0 => undelivered(*to, UndeliveredCause::Full),
        SendError::Full { to, .. } => CallError::Full { to: *to },
        SendError::NoWorkers { to, .. } => CallError::NoWorkers { to: *to },
        SendError::RateLimited { to, retry_after, .. } => {
            CallError::RateLimited { to: *to, retry_after: *retry_after }
        }
        SendError::Draining { to, .. } => CallError::Draining { to: *to },
        SendError::NotReservable { to, .. } => CallError::NotReservable { to: *to },
        SendError::Unserializable { to, why, .. } => {
            undelivered(*to, UndeliveredCause::Unserializable(why.clone()))
        }
        SendError::NoConnection { to, .. } => undelivered(*to, UndeliveredCause::NoConnection),
        _ if host.is_stopping() => CallError::NodeStopped { to: callee },
        SendError::Revoked { alias, .. } => CallError::Revoked { alias: *alias },
        SendError::NoProcess { to, .. } => CallError::NoProcess { to: *to },
        _ => CallError::NoProcess { to: callee },
    }
}

fn undelivered(to: Pid, cause: UndeliveredCause) -> CallError {
    CallError::Undelivered { to: Box::new(to.into()), cause }
}

/// As [`refused`], of a callee that was called by its name on another node: the pid that stands
/// for it here says nothing to a reader.
#[cold]
pub(crate) fn refused_by_name<M>(
    host: &dyn Host,
    callee: Pid,
    name: Option<Target>,
    error: SendError<M>,
) -> CallError {
    match (refused(host, callee, error), name) {
        (CallError::Undelivered { cause, .. }, Some(name)) => {
            CallError::Undelivered { to: Box::new(name), cause }
        }
        (error, _) => error,
    }
}
