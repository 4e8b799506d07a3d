//! Room that `poll_ready` has waited for.
//!
//! ```text
//!            poll_ready                    room            call takes it
//!   Empty ───────────────► Waiting ───────────────► Room ───────────────► Empty
//!     ▲                       │ refused                │ dropped with the service: the room is given back
//!     └───────────────────────┴────────────────────────┘ its process has ended: an error, or by a name the next one's
//! ```

use crate::callee::{Callee, ReservedRoom, RoomWait};
use krarup::CallError;
use std::mem::replace;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

/// The room of one request.
///
/// Only `&mut self` reaches it, so the lock is never taken. It makes a service `Sync`, which a router of
/// axum asks of its layers and routes, while neither room nor the wait for it is.
pub(crate) struct RequestRoom<M, C>(Mutex<RoomState<M, C>>);

enum RoomState<M, C> {
    Empty,
    Waiting(RoomWait<M, C>),
    Room(ReservedRoom<M, C>),
}

impl<M, C> RequestRoom<M, C> {
    pub(crate) fn empty() -> Self {
        RequestRoom(Mutex::new(RoomState::Empty))
    }

    fn state(&mut self) -> &mut RoomState<M, C> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Send + 'static, C: Send + 'static> RequestRoom<M, C> {
    /// Waits until there is room, and keeps it.
    pub(crate) fn poll(
        &mut self,
        at: &Callee<M, C>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), CallError>> {
        let state = self.state();
        loop {
            match state {
                RoomState::Room((address, _)) if address.is_alive() => return Poll::Ready(Ok(())),
                RoomState::Room((address, _)) => {
                    let to = address.pid();
                    *state = RoomState::Empty;
                    if !at.outlives_processes() {
                        return Poll::Ready(Err(CallError::NoProcess { to }));
                    }
                }
                RoomState::Empty => *state = RoomState::Waiting(at.wait_for_room()),
                RoomState::Waiting(wait) => match wait.as_mut().poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(room)) => *state = RoomState::Room(room),
                    Poll::Ready(Err(error)) => {
                        *state = RoomState::Empty;
                        return Poll::Ready(Err(at.refused(&error)));
                    }
                },
            }
        }
    }

    /// Takes the room out, or reserves what there is now.
    pub(crate) fn take(&mut self, at: &Callee<M, C>) -> Result<ReservedRoom<M, C>, CallError> {
        match replace(self.state(), RoomState::Empty) {
            RoomState::Room(room) => Ok(room),
            _ => at.reserve(),
        }
    }
}
