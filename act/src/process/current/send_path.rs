//! What a send in progress on this thread has passed: the process that received it from a route,
//! and the full processes that divert it.

use crate::sync::thread_local;
use krarup_gen::Pid;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

thread_local! {
    /// The process that received the last message from a route or a full mailbox.
    static RECEIVER: Cell<Option<Pid>> = const { Cell::new(None) };
    /// Processes whose overflow is being diverted on this thread.
    static ONCE: RefCell<Vec<Pid>> = const { RefCell::new(Vec::new()) };
}

/// Records which process received, or holds, the message that a [`Route`](crate::Route) was just
/// given.
///
/// If the message is a call, its caller waits for that process (rule C5). With nested routes
/// the innermost records first, and its record stays.
pub fn note_receiver(receiver: Pid) {
    RECEIVER.with(|last| {
        if last.get().is_none() {
            last.set(Some(receiver));
        }
    });
}

/// Takes the process that received a message since the last call of this function.
#[inline]
pub(crate) fn take_receiver() -> Option<Pid> {
    RECEIVER.with(|last| last.replace(None))
}

/// The time in which the overflow of a process is diverted on this thread; made by [`once`].
pub(crate) struct Once(PhantomData<*const ()>);

/// The most fallbacks that are asked for one message: each takes stack.
const MOST_FALLBACKS: usize = 64;

/// Begins that time, unless it has begun for this process, or for too many others.
pub(crate) fn once(pid: Pid) -> Option<Once> {
    let is_refused = |others: &Vec<Pid>| {
        others.len() >= MOST_FALLBACKS || others.iter().any(|other| other.is_same_process(pid))
    };
    if ONCE.with(|once| is_refused(&once.borrow())) {
        return None;
    }
    ONCE.with(|once| once.borrow_mut().push(pid));
    Some(Once(PhantomData))
}

impl Drop for Once {
    fn drop(&mut self) {
        ONCE.with(|once| once.borrow_mut().pop());
    }
}
