//! Room for messages in the queue to a peer: when there is none, and who waits for it (rule
//! Zmsg13).

use super::{PeerNode, Phase};
use crate::peer::room_line::Place;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

impl PeerNode {
    /// Whether so much waits that messages are refused. Senders that wait in line come first.
    pub(crate) fn is_full(&self) -> bool {
        let mut state = self.state.lock();
        let is_full = !state.line.is_empty() || state.waiting() > self.limits.soft;
        if is_full && let Phase::Up(up) = &mut state.phase {
            up.sent.refusals += 1;
        }
        is_full
    }

    /// Waits in line for room for one message.
    pub(crate) fn room(self: &Arc<Self>) -> RoomWait {
        RoomWait(Some(RoomPlace { peer: Arc::clone(self), place: None }))
    }

    /// Wakes the first sender in line if there is room, and nobody else was woken.
    pub(super) fn wake_if_room(&self) {
        let first = {
            let mut state = self.state.lock();
            if state.line.is_empty() || state.waiting() > self.limits.soft {
                return;
            }
            state.line.grant()
        };
        if let Some(first) = first {
            first.wake();
        }
    }

    /// As [`PeerNode::wake_if_room`], also if a sender that was woken has not sent: it may not
    /// be polled any more.
    pub(super) fn wake_another_if_room(&self) {
        let another = {
            let mut state = self.state.lock();
            let has_room = state.waiting() <= self.limits.soft;
            if has_room { state.line.grant_beside() } else { None }
        };
        if let Some(another) = another {
            another.wake();
        }
    }

    /// Whether more waits than may. Returns the connection that must be ended for it, once.
    pub(super) fn overloaded(&self) -> Option<Overloaded> {
        let mut state = self.state.lock();
        if state.waiting() <= self.limits.hard {
            return None;
        }
        match &mut state.phase {
            Phase::Up(up) => {
                let is_known = std::mem::replace(&mut up.is_overloaded, true);
                let link = Arc::clone(&up.link);
                Some(if is_known { Overloaded::Ending } else { Overloaded::Connection(link) })
            }
            Phase::Dialling => Some(Overloaded::Dial),
            Phase::Idle | Phase::Losing | Phase::Gone | Phase::Ended => None,
        }
    }
}

/// What has more bytes waiting than the hard limit.
pub(super) enum Overloaded {
    Connection(Arc<dyn super::PeerLink>),
    /// A connection that is being ended for it.
    Ending,
    Dial,
}

/// A future of room.
pub(crate) struct RoomWait(Option<RoomPlace>);

/// Room for one message, which its holder may send whatever waits by then. The next in line has
/// its turn when it is dropped.
pub(crate) struct RoomPlace {
    peer: Arc<PeerNode>,
    /// `None` if there was room at once.
    place: Option<Place>,
}

impl Future for RoomWait {
    type Output = RoomPlace;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<RoomPlace> {
        let Some(waiting) = &mut self.0 else { return Poll::Pending };
        if waiting.has_room(cx.waker().clone()) {
            return self.0.take().map_or(Poll::Pending, Poll::Ready);
        }
        Poll::Pending
    }
}

impl RoomPlace {
    fn has_room(&mut self, waker: Waker) -> bool {
        let limit = self.peer.limits.soft;
        // A waker is dropped without the lock.
        let (has_room, unused) = {
            let mut state = self.peer.state.lock();
            match self.place {
                Some(place) => state.line.poll(place, waker),
                None if state.line.is_empty() && state.waiting() <= limit => (true, Some(waker)),
                None => {
                    self.place = Some(state.line.join(waker));
                    (false, None)
                }
            }
        };
        drop(unused);
        has_room
    }
}

impl Drop for RoomPlace {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let waker = self.peer.state.lock().line.leave(place);
        drop(waker);
        self.peer.wake_if_room();
    }
}
