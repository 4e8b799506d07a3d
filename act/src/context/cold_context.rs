//! The parts of a context that most processes never use, behind one pointer.

use super::idle_state::Idle;
use super::stash_queue::Stash;
use super::timer_table::ProcessTimers;
use crate::mailbox::order::SortsEntries;
use crate::observe::item_log::ItemLog;
use crate::observe::trace::Tracer;
use crate::observe::watched_job::{InHand, JobAhead};
use crate::topics::direct::DirectCounts;
use crate::topics::own_topics::OwnTopics;
use crate::traces::propagation::TraceSampler;
use krarup_gen::{Lane, Reason};
use std::sync::Arc;

/// The parts of a context that most processes never use.
pub(crate) struct ColdContext<M, C> {
    pub(crate) timers: ProcessTimers<M>,
    pub(crate) stash: Stash<M>,
    pub(crate) idle: Option<Box<Idle>>,
    pub(crate) tracer: Tracer<M, C>,
    /// The flight recorder and the trace, if one of them is on.
    pub(super) item_log: Option<Arc<ItemLog>>,
    /// The lane of the item in progress, until it is shown.
    pub(super) lane: Lane,
    pub(crate) suspended: bool,
    /// The job in progress, if it is watched.
    pub(crate) job: Option<InHand>,
    /// The job that was received last, if its process begins it later.
    pub(super) job_ahead: Option<JobAhead<M>>,
    pub(crate) holding: Holding,
    /// How many received messages keep their room.
    pub(super) held: u64,
    /// Entries that were taken off Main, if the process has an order.
    pub(crate) sorted: Option<Box<dyn SortsEntries<M>>>,
    /// The reason of a stop that a handler has received, to be obeyed when the handler is
    /// done.
    pub(super) stop_reason: Option<Reason>,
    /// The topics that it has opened or is subscribed to, from the first one on: its cleaner is
    /// registered once.
    pub(crate) topics: Option<Arc<OwnTopics>>,
    /// What it has taken of the topics whose events come directly.
    pub(crate) direct_counts: DirectCounts,
    /// Where traces begin in this process.
    pub(super) sampler: Option<TraceSampler>,
}

/// Whether messages keep their room when they are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holding {
    Never,
    /// They can, but the current receive does not keep it.
    Sometimes,
    /// The current receive keeps it.
    Now,
    /// The current receive has kept it.
    Done,
}

impl<M, C> Default for ColdContext<M, C> {
    fn default() -> Self {
        ColdContext {
            timers: ProcessTimers::new(),
            stash: Stash::default(),
            idle: None,
            tracer: Tracer::off(),
            item_log: None,
            lane: Lane::Main,
            suspended: false,
            job: None,
            job_ahead: None,
            holding: Holding::Never,
            held: 0,
            sorted: None,
            stop_reason: None,
            topics: None,
            direct_counts: DirectCounts::default(),
            sampler: None,
        }
    }
}

impl<M, C> ColdContext<M, C> {
    pub(super) fn is_empty(&self) -> bool {
        self.timers.is_empty()
            && self.stash.is_empty()
            && self.idle.is_none()
            && self.tracer.is_off()
            && self.item_log.is_none()
            && !self.suspended
            && self.job.is_none()
            && self.job_ahead.is_none()
            && self.holding == Holding::Never
            && self.sorted.is_none()
            && self.stop_reason.is_none()
            && self.topics.is_none()
            && self.direct_counts.is_empty()
            && self.sampler.is_none()
    }

    /// Whether a condition keeps the process from taking the next message directly.
    pub(crate) fn is_in_the_way(&self) -> bool {
        self.suspended
            || self.job.is_some()
            || self.sampler.is_some()
            || !self.tracer.is_off()
            || self.item_log.is_some()
            || self.stash.has_replay()
    }
}
