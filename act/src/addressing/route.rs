//! A Main lane that is a route instead of a queue.

use crate::mailbox::permit::{Permit, Waiter};
use crate::observe::watched_job::{Job, Mark};
use krarup_gen::SendError;
use std::pin::Pin;
use std::sync::Arc;

/// Room that will come; see [`Route::room`].
pub type RoomFuture<M> = Pin<Box<dyn Future<Output = Result<Permit<M>, SendError<()>>> + Send>>;

/// Where messages go that are sent to a process which does not queue them itself.
///
/// A behaviour that calls [`crate::Context::route_main`] gets none of its Main
/// messages; the *sender's* thread hands each one to the route, and the sender gets the
/// route's answer. The address keeps the route when the process has ended: it must
/// answer [`SendError::NoProcess`] from then on. A pool is such a behaviour: no hop, and a
/// full pool is an error at the sender (rule P2). A route that says to whom it has handed a
/// message ([`note_receiver`](crate::note_receiver)) has cycles of calls found that lead through
/// it (rule C5).
pub trait Route<M>: Send + Sync + 'static {
    /// Hands the message on in the name of `sender` (the number of a process of this
    /// node, 0 for none), or gives it back. Runs on the sender's thread: it must not
    /// block.
    ///
    /// # Errors
    /// The message, and why nobody took it.
    fn send(&self, message: M, sender: u64) -> Result<(), SendError<M>>;

    /// Reserves room for one message where the route leads.
    ///
    /// # Errors
    /// Why there is none.
    fn reserve(&self) -> Result<Permit<M>, SendError<()>>;

    /// Messages handed on and not yet handled.
    fn waiting(&self) -> usize;

    /// Waits in line for room for this message. `None`: the route has no line, and what is full
    /// stays an error.
    fn room(&self, message: &M) -> Option<RoomFuture<M>> {
        let _ = message;
        None
    }

    /// As [`Route::send`], with a message that somebody watches on its way. A route that does
    /// not know of such hands on the message alone.
    #[doc(hidden)]
    fn send_job(&self, job: Job<M>, sender: u64) -> Result<(), SendError<M>> {
        self.send(job.into_message(), sender)
    }

    /// Has a line of senders stand wherever the route leads.
    #[doc(hidden)]
    fn enlist(&self, line: &Arc<Waiter<M>>) {
        let _ = line;
    }

    /// Whether a line of senders that stands here can get room.
    #[doc(hidden)]
    fn admits_line(&self) -> bool {
        false
    }

    /// Puts a mark behind everything that was handed on.
    #[doc(hidden)]
    fn mark(&self, mark: &Mark) {
        let _ = mark;
    }
}
