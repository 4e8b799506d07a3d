//! A timer for a deadline that moves.

use krarup_act::{Context, Sleep};
use krarup_gen::Timestamp;
use std::pin::Pin;
use std::task::{self, Poll};

/// Wakes its process at a deadline that usually moves on before it is reached. The node's
/// timer is not set again at each move, only when it fires early. So a deadline that moves
/// with every read costs nothing there.
#[derive(Default)]
pub(crate) struct MovingTimer(Option<(Timestamp, Sleep)>);

impl MovingTimer {
    /// Ready when `due` has passed. The context is borrowed mutably: a shared borrow
    /// across an await would make the future `!Send`.
    pub(crate) fn poll<M, C>(
        &mut self,
        ctx: &mut Context<M, C>,
        due: Timestamp,
        cx: &mut task::Context<'_>,
    ) -> Poll<()>
    where
        M: Send + 'static,
        C: Send + 'static,
    {
        loop {
            let (set, sleep) = match &mut self.0 {
                Some(timer) if timer.0 <= due => timer,
                _ => self.0.insert((due, ctx.sleep(due - ctx.now()))),
            };
            if Pin::new(sleep).poll(cx).is_pending() {
                return Poll::Pending;
            }
            let rang_for = *set;
            self.0 = None;
            if rang_for >= due {
                return Poll::Ready(());
            }
        }
    }

    /// Cancels the timer.
    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }
}
