//! The turn that runs on this thread.
//!
//! A turn stores its pid here. So a send knows its sender without a parameter, and a blocking
//! wait inside a process is detected. No other thread needs these values, and in the cell they
//! would have to be atomic.
//!
//! | module | subject |
//! |---|---|
//! | [`local`] | the values, the begin and the end of a turn |
//! | [`host`] | the host of the process that is polled |
//! | [`poll`] | what the turn and the polled future tell each other |
//! | [`budget`] | how much the turn may still do |
//! | [`waits`] | what the process waits for |
//! | [`orphans`] | reply tokens that are dropped during the turn |
//! | [`survivors`] | what survives a panic of the process |
//! | [`send_path`] | what a send in progress has passed |
//! | [`traces`] | the trace context in which the turn runs |

mod budget;
mod host;
mod local;
mod orphans;
mod poll;
mod send_path;
mod survivors;
mod traces;
mod waits;

pub(crate) use budget::{after_special_poll, begin_clock_poll, charge, flooded, refund, spend};
pub(crate) use host::host_of_poll;
#[cfg(test)]
pub(crate) use host::is_host_of_poll;
pub(crate) use local::{count_sent, enter, is_busy, pid, sender, take_sent};
pub(crate) use orphans::{
    OrphanCause, OrphanedReplies, adopt, apart, drop_refused, has_orphans, not_begun, refuse_calls,
    refusing, set_aside, settle_orphans, take_orphans,
};
#[cfg(test)]
pub(crate) use poll::begin_poll_with;
pub(crate) use poll::{
    begin_poll, has_looked, is_own, is_polled, is_special, keep_memory, keeps_memory, look,
    reads_clock_only, want, want_poke, wants, wants_a_message_only, wants_poke,
};
pub use send_path::note_receiver;
pub(crate) use send_path::{once, take_receiver};
pub(crate) use survivors::{Rest, Survivor, survive, take_survivor};
pub(crate) use traces::{
    CurrentContext, await_call, begin_call, begin_handling, carry, carry_aside, context,
    context_of_child, end_call, end_handling, enter_context, is_traced, keep, refuse_call, resume,
    without_context,
};
pub(crate) use waits::{
    note_other_wait, note_wait, poll_for_room, suspect, suspect_unsent, wait, waited_only_for,
};
