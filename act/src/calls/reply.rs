//! The reply token, with which a request is answered.

use crate::calls::slot::{SlotReceiver, SlotSender, slot_for};
use crate::process::current::{self, OrphanCause};
use krarup_gen::{CallError, Pid, Timestamp};
use std::fmt;
use std::mem::forget;
use std::task::Waker;

/// The right, and the duty, to answer a call: Erlang's `From`.
///
/// A request is a message that contains a `Reply`. The token can be kept, passed on, and
/// answered later or by another process (rule C6). A token that is dropped unanswered fails
/// the call at once. The error is [`CallError::Terminated`] with the reason if its process
/// ended (rule C2), or [`CallError::NotBegun`] if no handler had received the request. In all
/// other cases it is [`CallError::NoReply`].
#[must_use = "a reply token that is dropped fails the call"]
pub struct Reply<T: Send + 'static> {
    pub(super) slot: SlotSender<Answer<T>>,
}

/// The answer of a call. Its error is boxed, so that a slot is not larger than its value needs.
pub(crate) type Answer<T> = Result<T, Box<CallError>>;

impl<T: Send + 'static> Reply<T> {
    pub(crate) fn new(waiter: Option<Waker>) -> (Self, SlotReceiver<Answer<T>>) {
        let (sender, receiver) = slot_for(waiter);
        (Reply { slot: sender }, receiver)
    }

    /// Answers the call. An answer to a call that was abandoned is dropped here and counted
    /// (rule C3). For a value that must not be lost see [`Reply::try_send`].
    #[inline]
    pub fn send(self, value: T) {
        self.into_slot().send_or_late(Ok(value));
    }

    /// Answers the call, or gives the value back if the caller does not wait any more (rule C9).
    /// For values that stand for something, such as a lease or a permit. The answer is counted
    /// as late (rule C3).
    ///
    /// After `Ok` the value is the caller's: if the call is abandoned later, the value is
    /// dropped where the call is dropped. A caller on another node or outside of any node
    /// always counts as waiting.
    ///
    /// ```
    /// # use krarup_act::Reply;
    /// # struct Lease;
    /// fn hand_out(free: &mut Vec<Lease>, reply: Reply<Lease>) {
    ///     let Some(lease) = free.pop() else { return };
    ///     if let Err(lease) = reply.try_send(lease) {
    ///         free.push(lease);
    ///     }
    /// }
    /// # let _ = hand_out;
    /// ```
    ///
    /// # Errors
    /// The value, if the caller has given up: its timeout has passed, its call was dropped, or
    /// it has ended.
    pub fn try_send(self, value: T) -> Result<(), T> {
        self.into_slot().try_send(Ok(value)).map_err(|answer| match answer {
            Ok(value) => value,
            Err(_) => unreachable!("the answer that was sent is a value"),
        })
    }

    /// Whether the caller still waits (rule C10). Once false it stays false. It can become
    /// false at any moment, so it can save work, but a value that must not be lost needs
    /// [`Reply::try_send`].
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.slot.is_awaited()
    }

    /// Until when the caller waits, on the clock of the node ([`Context::now`](crate::Context::now)),
    /// if it has said so: calls by name do ([`NamedAddress::call`](crate::NamedAddress::call)),
    /// others do with [`Reply::until`]. A call that is made for this one need not wait longer:
    /// [`NamedCall::until`](crate::NamedCall::until) (rule H7). The caller of another node does not
    /// say.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        self.slot.deadline()
    }

    /// Says until when the caller waits. It is for the caller, who knows its timeout: it makes the
    /// request of the token.
    ///
    /// ```
    /// # use krarup_act::{Address, Context, Reply};
    /// # use krarup_gen::CallError;
    /// # use std::time::Duration;
    /// # struct Total(Reply<u32>);
    /// # async fn total(ctx: &Context<()>, till: &Address<Total>) -> Result<u32, CallError> {
    /// let limit = Duration::from_secs(2);
    /// let until = ctx.now() + limit;
    /// till.call(|reply| Total(reply.until(until))).timeout(limit).await
    /// # }
    /// ```
    pub fn until(self, deadline: Timestamp) -> Self {
        self.slot.set_deadline(deadline);
        self
    }

    /// Takes the slot out; the remaining token has nothing to do when it is dropped.
    #[inline]
    fn into_slot(mut self) -> SlotSender<Answer<T>> {
        let slot = self.slot.take();
        forget(self);
        slot
    }

    /// Declares that another process will answer. Call it before the token goes to another
    /// process, if this one may then wait for the caller. Otherwise such a wait looks like a
    /// cycle of calls (rule C5), because the runtime cannot see which process holds a token.
    pub fn pass_on(self) -> Self {
        self.slot.pass_on();
        self
    }

    /// Fails the call with this error. For a router that knows why no process will answer.
    pub fn fail(self, error: CallError) {
        self.into_slot().send_or_late(Err(Box::new(error)));
    }
}

impl<T: Send + 'static> Drop for Reply<T> {
    fn drop(&mut self) {
        #[cfg(feature = "serde")]
        if self.slot.forget_if_lent() {
            return;
        }
        let slot = self.slot.take();
        // Inside a turn it is not known yet whether the process is about to end with a reason
        // that the caller should get.
        let orphan = move |to: Pid, fate: OrphanCause<'_>| {
            let error = match fate {
                OrphanCause::Ended(reason) => CallError::Terminated { to, reason: reason.clone() },
                OrphanCause::NotBegun(reason) => CallError::NotBegun { to, reason: reason.clone() },
                // The caller knows the process that it has called: see `PendingReply`.
                OrphanCause::Dropped => return drop(slot),
                OrphanCause::Refused(error) => error.clone(),
            };
            let _ = slot.send(Err(Box::new(error)));
        };
        // Outside a turn the slot is dropped at once.
        drop(current::adopt(orphan));
    }
}

impl<T: Send + 'static> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reply<{}>", std::any::type_name::<T>())
    }
}
