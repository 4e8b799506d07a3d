//! Long work in parts, each in a turn of its own.

use crate::process::current;
use crate::process::turn_state::Wants;
use std::future::poll_fn;
use std::task::Poll;

/// Ends the turn: the process goes on in its next one, behind the processes that are ready now
/// (rule R1). A kill takes effect here.
///
/// [`yield_now`](crate::yield_now) lets a process go on within its turn until the budget of the turn
/// is used up, which is 64 times by default. So if the parts of long work take a millisecond each,
/// end the turn after each of them. Outside a process, and in a future that polls this with a
/// waker of its own, it only yields.
///
/// ```
/// # use krarup_act::next_turn;
/// async fn sum(parts: &[Vec<u64>]) -> u64 {
///     let mut sum = 0;
///     for part in parts {
///         sum += part.iter().sum::<u64>();
///         next_turn().await;
///     }
///     sum
/// }
/// ```
pub async fn next_turn() {
    let mut has_ended = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut has_ended, true) {
            return Poll::Ready(());
        }
        if current::is_own(cx.waker()) {
            current::want(Wants::Turn);
        }
        // Without this, another future of the same task that waits for a message would park it.
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
