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
use std::mem::replace;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

/// Waits in line for room.
type RequestRoomWait<M> = Pin<Box<dyn Future<Output = Result<Permit<M>, SendError<()>>> + Send>>;

/// The room of one request.
///
/// Only `&mut self` reaches it, so the lock is never taken. It makes a service `Sync`, which a router of
/// axum asks of its layers and routes, while neither room nor the wait for it is.
pub(crate) struct RequestRoom<M>(Mutex<RoomState<M>>);

enum RoomState<M> {
    Empty,
    Waiting(RequestRoomWait<M>),
    Room(Permit<M>),
}

impl<M> RequestRoom<M> {
    pub(crate) fn empty() -> Self {
        RequestRoom(Mutex::new(RoomState::Empty))
    }

    fn state(&mut self) -> &mut RoomState<M> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Send + 'static> RequestRoom<M> {
    /// Waits until there is room, and keeps it.
    pub(crate) fn poll<C: Send + 'static>(
        &mut self,
        at: &Address<M, C>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), CallError>> {
        let state = self.state();
        loop {
            match state {
                RoomState::Room(_) if at.is_alive() => return Poll::Ready(Ok(())),
                RoomState::Room(_) => {
                    *state = RoomState::Empty;
                    return Poll::Ready(Err(CallError::NoProcess { to: at.pid() }));
                }
                RoomState::Empty => {
                    *state = RoomState::Waiting(at.reserve_or_wait().into_future());
                }
                RoomState::Waiting(wait) => match wait.as_mut().poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(room)) => *state = RoomState::Room(room),
                    Poll::Ready(Err(error)) => {
                        *state = RoomState::Empty;
                        return Poll::Ready(Err(refused(at, &error)));
                    }
                },
            }
        }
    }

    /// Takes the room out, if there is some.
    pub(crate) fn take(&mut self) -> Option<Permit<M>> {
        match replace(self.state(), RoomState::Empty) {
            RoomState::Room(room) => Some(room),
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
