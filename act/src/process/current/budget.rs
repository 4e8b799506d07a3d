//! How much a turn may still do: messages, time, and an overdraft for the work it makes for others.

use super::local::{LocalTurn, TURN};
use crate::host::host::Host;
use crate::process::turn_state::AfterSpecialPoll;
use std::sync::Arc;

/// Takes one message from the budget of the turn. Returns false if the turn is used up.
#[inline]
pub(crate) fn spend(host: &Arc<dyn Host>) -> bool {
    TURN.with(|turn| {
        let budget = turn.budget.get();
        if budget <= 0 || (turn.deadline.get() != 0 && is_late(turn, host)) {
            return false;
        }
        turn.budget.set(budget - 1);
        true
    })
}

/// Gives back the message that was just spent.
pub(crate) fn refund() {
    TURN.with(|turn| {
        turn.budget.set(turn.budget.get() + 1);
        turn.state.set(turn.state.get().fresh());
    });
}

#[cold]
fn is_late(turn: &LocalTurn, host: &Arc<dyn Host>) -> bool {
    let state = turn.state.get();
    turn.state.set(state.not_fresh());
    !state.is_fresh() && host.now().as_nanos() >= turn.deadline.get()
}

/// Charges the turn for more than the current message, because its sends have made work for
/// others. `receiver` is the number of one such process; 0: none, or one of another node. The
/// budget below zero is an overdraft: see [`flooded`]. A process that fills its own mailbox is not charged,
/// because only the process itself can empty it.
#[inline]
pub(crate) fn charge(messages: u32, receiver: u64) {
    TURN.with(|turn| {
        if receiver == turn.pid.get().id() {
            return;
        }
        turn.budget.set(turn.budget.get().saturating_sub(i64::from(messages)));
        turn.receiver.set(receiver);
    });
}

/// The number of the process whose mailbox the turn has filled, of several the last, if it has
/// overdrawn its budget by 64 messages or more.
#[inline]
pub(crate) fn flooded() -> Option<u64> {
    TURN.with(|turn| {
        let receiver = turn.receiver.get();
        (turn.budget.get() <= -64 && receiver != 0).then_some(receiver)
    })
}

/// Makes the next poll one that only lets calls read the clock.
///
/// A new call does not read the clock, because nearly every call is answered at once. The poke,
/// some 10 ms later, tells it the time early enough. But a process that waits for something
/// else too may be busy with that by then. Nothing is received in such a poll, because it has
/// no budget.
#[cold]
pub(crate) fn begin_clock_poll() {
    TURN.with(|turn| {
        turn.state.set(turn.state.get().clock_only());
        let rest = turn.budget.get().max(0);
        turn.put_aside.set(rest);
        turn.budget.set(turn.budget.get() - rest);
    });
}

/// Returns what to do after a special poll that has returned `Pending`. If it was a poll for the
/// clock, it ends here.
#[cold]
pub(crate) fn after_special_poll() -> AfterSpecialPoll {
    TURN.with(|turn| {
        let state = turn.state.get();
        if state.is_clock_only() {
            turn.state.set(state.clock_poll_ended());
            turn.budget.set(turn.budget.get() + turn.put_aside.replace(0));
        }
        state.after_special_poll()
    })
}
