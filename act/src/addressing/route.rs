//! A Main lane that is a route instead of a queue.

use crate::mailbox::permit::{Permit, Waiter};
use crate::observe::watched_job::{Mark, WatchedJob};
use krarup_gen::{PoolGauges, SendError};
use std::any::Any;
use std::pin::Pin;
use std::sync::Arc;

/// A future of room; see [`Route::room`].
pub type RoomFuture<M> = Pin<Box<dyn Future<Output = Result<Permit<M>, SendError<()>>> + Send>>;

/// A Main lane that hands its messages on instead of queueing them.
///
/// A behaviour that calls [`BehaviorContext::route_main`](crate::BehaviorContext::route_main)
/// receives none of its Main messages. The *sender's* thread hands each message to the route, and
/// the sender gets the route's result. The address keeps the route after the process has ended;
/// from then on the route must answer [`SendError::NoProcess`]. A pool is such a behaviour: its
/// messages take no extra hop, and a full pool is an error at the sender (rule P2). If a route
/// reports the receiver of each message ([`note_receiver`](crate::note_receiver)), cycles of calls
/// that lead through it are detected (rule C5).
///
/// ```
/// # mod krarup { pub use {krarup_act as behavior, krarup_act as mailbox, krarup_act::*, krarup_gen::*}; }
/// use krarup::behavior::{Behavior, BehaviorContext, Received, Route, note_receiver};
/// use krarup::mailbox::Permit;
/// use krarup::{Address, Context, Pid, Result, SendError};
/// use std::convert::Infallible;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// /// Uses the second process when the first is full.
/// struct WithSpare<M> {
///     router: Pid,
///     processes: [Address<M>; 2],
///     ended: Arc<AtomicBool>,
/// }
///
/// impl<M: Send + 'static> Route<M> for WithSpare<M> {
///     fn send(&self, message: M, sender: u64) -> Result<(), SendError<M>> {
///         if self.ended.load(Ordering::Acquire) {
///             return Err(SendError::NoProcess { message, to: self.router });
///         }
///         let [first, spare] = &self.processes;
///         let receiver = match first.forward(message, sender) {
///             Ok(()) => first,
///             Err(SendError::Full { message, .. }) => {
///                 spare.forward(message, sender)?;
///                 spare
///             }
///             Err(error) => return Err(error),
///         };
///         note_receiver(receiver.pid());
///         Ok(())
///     }
///
///     fn reserve(&self) -> Result<Permit<M>, SendError<()>> {
///         if self.ended.load(Ordering::Acquire) {
///             return Err(SendError::NoProcess { message: (), to: self.router });
///         }
///         let [first, spare] = &self.processes;
///         first.reserve().or_else(|_| spare.reserve())
///     }
///
///     fn waiting(&self) -> usize {
///         self.processes.iter().map(Address::waiting).sum()
///     }
/// }
///
/// /// The process of the route.
/// struct Router<M>([Address<M>; 2]);
///
/// impl<M: Send + 'static> Behavior for Router<M> {
///     type Message = M;
///     type Command = Infallible;
///
///     async fn run(self, mut ctx: Context<M, Infallible>) -> Result {
///         let ended = Arc::new(AtomicBool::new(false));
///         let end = Arc::clone(&ended);
///         ctx.on_end(move |_| end.store(true, Ordering::Release));
///         ctx.route_main(WithSpare { router: ctx.pid(), processes: self.0, ended });
///         ctx.stop_in_order();
///         ctx.initialised();
///         loop {
///             match ctx.receive().await {
///                 Received::Stop(reason) => return Err(reason),
///                 Received::Finish => return Ok(()),
///                 _ => {}
///             }
///         }
///     }
///
///     fn routes_main() -> bool {
///         true
///     }
/// }
/// # fn _spawned(ctx: &Context<()>, processes: [Address<u32>; 2]) {
/// let router = ctx.spawn(|| Router(processes));
/// # let _ = router;
/// # }
/// ```
pub trait Route<M>: Any + Send + Sync {
    /// Hands the message on, or returns it. `sender` is the number of the sending process of
    /// this node, or 0 for none. Runs on the sender's thread and must not block.
    ///
    /// # Errors
    /// The message, and why no receiver accepted it.
    fn send(&self, message: M, sender: u64) -> Result<(), SendError<M>>;

    /// Reserves room for one message at a receiver of the route.
    ///
    /// # Errors
    /// The reason why there is no room.
    fn reserve(&self) -> Result<Permit<M>, SendError<()>>;

    /// Does the same for a sender that is ready to wait. Where a full receiver would drop a message, there is no room.
    ///
    /// # Errors
    /// The reason why there is no room.
    #[doc(hidden)]
    fn reserve_patiently(&self) -> Result<Permit<M>, SendError<()>> {
        self.reserve()
    }

    /// Returns the number of messages handed on and not yet handled.
    fn waiting(&self) -> usize;

    /// Waits in line for room for this message. `None` if the route has no line; a full route
    /// then stays an error.
    fn room(&self, message: &M) -> Option<RoomFuture<M>> {
        let _ = message;
        None
    }

    /// Waits in line for room for a message that is not known yet. `None` if the receiver depends on
    /// the message, or if the route has no line.
    fn room_for_any(&self) -> Option<RoomFuture<M>> {
        None
    }

    /// Returns how many senders wait in line for room at any receiver.
    fn room_waiters(&self) -> usize {
        0
    }

    /// Returns the numbers of the pool, if the route is one.
    #[doc(hidden)]
    fn gauges(&self) -> Option<PoolGauges> {
        None
    }

    /// As [`Route::send`], with a message whose progress is watched. The default hands on the
    /// message alone.
    #[doc(hidden)]
    fn send_job(&self, job: WatchedJob<M>, sender: u64) -> Result<(), SendError<M>> {
        self.send(job.into_message(), sender)
    }

    /// Adds a line of senders to the waiters of every receiver of the route.
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
