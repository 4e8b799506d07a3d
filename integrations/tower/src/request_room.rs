//! Room that `poll_ready` has waited for.
//!
//! ```text
//!            poll_ready                    room            call takes it
//!   Empty ───────────────► Waiting ───────────────► Room ───────────────► Empty
//!     ▲                       │ refused                │ dropped with the service
//!     └───────────────────────┘                        ▼ the room is given back
//! ```

use krarup::mailbox::Permit;
use krarup::{Address, CallError, SendError};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Waits in line for room.
type RequestRoomWait<M> = Pin<Box<dyn Future<Output = Result<Permit<M>, SendError<()>>> + Send>>;

/// The room of one request.
pub(crate) enum RequestRoom<M> {
    Empty,
    Waiting(RequestRoomWait<M>),
    Room(Permit<M>),
}

impl<M: Send + 'static> RequestRoom<M> {
    /// Waits until there is room, and keeps it.
    pub(crate) fn poll<C: Send + 'static>(
        &mut self,
        at: &Address<M, C>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), CallError>> {
        loop {
            match self {
                RequestRoom::Room(_) => return Poll::Ready(Ok(())),
                RequestRoom::Empty => {
                    let at = at.clone();
                    *self =
                        RequestRoom::Waiting(Box::pin(async move { at.reserve_or_wait().await }));
                }
                RequestRoom::Waiting(wait) => match wait.as_mut().poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(room)) => *self = RequestRoom::Room(room),
                    Poll::Ready(Err(error)) => {
                        *self = RequestRoom::Empty;
                        return Poll::Ready(Err(refused(at, &error)));
                    }
                },
            }
        }
    }

    /// Takes the room out, if there is some.
    pub(crate) fn take(&mut self) -> Option<Permit<M>> {
        match std::mem::replace(self, RequestRoom::Empty) {
            RequestRoom::Room(room) => Some(room),
            _ => None,
        }
    }
}

/// The error of a call whose request has found no room.
pub(crate) fn refused<M, C>(at: &Address<M, C>, error: &SendError<()>) -> CallError
where
    M: Send + 'static,
    C: Send + 'static,
{
    match *error {
        SendError::Full { to, .. } => CallError::Full { to },
        SendError::NoWorkers { to, .. } => CallError::NoWorkers { to },
        SendError::RateLimited { to, retry_after, .. } => {
            CallError::RateLimited { to, retry_after }
        }
        SendError::Draining { to, .. } => CallError::Draining { to },
        SendError::NotReservable { to, .. } => CallError::NotReservable { to },
        SendError::NoProcess { to, .. } => CallError::NoProcess { to },
        _ => CallError::NoProcess { to: at.pid() },
    }
}
