//! The line of callers that wait for a worker, the first to come in front.
//!
//! A caller gives up by itself: its time is over, or it has died. Nobody tells the pool, for its
//! reply token knows it. So a caller that has given up may still stand in the line for a while; it
//! is passed over, it is not counted, and no worker is made for it.

use crate::calls::LeaseReply;
use std::collections::VecDeque;

/// How long a line is at least when it is searched for callers that have given up.
const SEARCHED: usize = 16;

/// The callers that wait for a worker.
pub(crate) struct CallerLine<M: Send + 'static, C: Send + 'static> {
    callers: VecDeque<WaitingCaller<M, C>>,
    /// The number of the last caller that came.
    last: u64,
    /// The length at which the line is searched next.
    search_at: usize,
}

struct WaitingCaller<M: Send + 'static, C: Send + 'static> {
    /// Callers are numbered as they come, so the line is sorted.
    number: u64,
    reply: LeaseReply<M, C>,
    /// Whether a worker is or was made because of this caller.
    has_worker_made: bool,
}

impl<M: Send + 'static, C: Send + 'static> CallerLine<M, C> {
    pub(crate) fn new() -> Self {
        CallerLine { callers: VecDeque::new(), last: 0, search_at: SEARCHED }
    }

    /// Lets a caller join the line, at its end.
    pub(crate) fn join(&mut self, reply: LeaseReply<M, C>) {
        // A line of callers that all give up in time does not grow for ever. It is searched when
        // it has doubled, so each caller pays for a few others at most.
        if self.callers.len() >= self.search_at {
            self.forget_who_gave_up();
            self.search_at = SEARCHED.max(2 * self.callers.len());
        }
        self.last += 1;
        let caller = WaitingCaller { number: self.last, reply, has_worker_made: false };
        self.callers.push_back(caller);
    }

    /// Takes the first out of the line. It may have given up, or do so in this moment: use
    /// [`Reply::try_send`](krarup::Reply::try_send).
    pub(crate) fn take_first(&mut self) -> Option<LeaseReply<M, C>> {
        self.callers.pop_front().map(|caller| caller.reply)
    }

    /// Takes this caller out of the line, wherever it stands.
    pub(crate) fn take(&mut self, number: u64) -> Option<LeaseReply<M, C>> {
        let place = self.callers.binary_search_by_key(&number, |caller| caller.number).ok()?;
        self.callers.remove(place).map(|caller| caller.reply)
    }

    /// Returns the number of the first caller for which no worker has been made yet, and notes
    /// that one is.
    pub(crate) fn make_for_next(&mut self) -> Option<u64> {
        let lacks =
            |caller: &&mut WaitingCaller<M, C>| !caller.has_worker_made && caller.reply.is_wanted();
        let caller = self.callers.iter_mut().find(lacks)?;
        caller.has_worker_made = true;
        Some(caller.number)
    }

    /// How many stand in the line, with those that have given up.
    pub(crate) fn length(&self) -> usize {
        self.callers.len()
    }

    /// How many wait.
    pub(crate) fn count(&self) -> usize {
        self.callers.iter().filter(|caller| caller.reply.is_wanted()).count()
    }

    /// Takes all out of the line.
    pub(crate) fn leave(&mut self) -> impl Iterator<Item = LeaseReply<M, C>> {
        self.callers.drain(..).map(|caller| caller.reply)
    }

    fn forget_who_gave_up(&mut self) {
        self.callers.retain(|caller| caller.reply.is_wanted());
    }
}
