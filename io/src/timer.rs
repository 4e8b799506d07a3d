//! A point in time that moves.

use krarup_act::{Context, Sleep};
use krarup_gen::Timestamp;
use std::pin::Pin;
use std::task::{self, Poll};

/// Wakes its process at a point in time that mostly moves on before it is reached. The node's
/// timer is set once and again when it rings, not with every move: so what is moved with every
/// read costs nothing there.
#[derive(Default)]
pub(crate) struct MovingTimer(Option<(Timestamp, Sleep)>);

impl MovingTimer {
    /// Ready when `due` has come. The context is borrowed as whoever awaits this may hold it:
    /// a shared one could not go from thread to thread with its process.
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

    /// No time is waited for.
    pub(crate) fn clear(&mut self) {
        self.0 = None;
    }
}
