//! The trace context of a message on its way, boxed with it.

use super::propagation::SpanTies;
use super::trace_context::TraceContext;
use krarup_gen::{Lane, Timestamp};
use std::num::{NonZeroU64, NonZeroU128};
use std::sync::Arc;

/// After this many hops a new trace begins, linked with the last.
pub(crate) const MOST_HOPS: u8 = 64;
/// So many sends of one handling belong to the trace; further ones are counted.
pub(crate) const MOST_SENDS: u32 = 64;

/// What a message carries. The ids of the span of its handling are drawn when it is sent.
#[derive(Clone)]
pub(crate) struct CarriedContext {
    pub(crate) own: TraceContext,
    /// The span that has sent it; `None` if the trace begins here.
    pub(crate) parent: Option<TraceContext>,
    /// The span of another trace that has caused this one.
    pub(crate) link: Option<TraceContext>,
    pub(crate) sent: Timestamp,
    /// Whether it is the request of a call.
    pub(crate) call: bool,
    pub(crate) lane: Lane,
    pub(crate) ties: Option<Arc<dyn SpanTies>>,
}

impl CarriedContext {
    /// A message that `parent` sends. Begins a new trace, linked with it, if it has had too many
    /// hops or `anew`.
    pub(crate) fn below(
        parent: TraceContext,
        anew: bool,
        sent: Timestamp,
        random: &dyn Fn() -> u64,
    ) -> Self {
        if anew || parent.hops() >= MOST_HOPS {
            return CarriedContext { link: Some(parent), ..Self::root(sent, random) };
        }
        let own = parent.child(id(random), 1);
        let parent = Some(parent);
        CarriedContext { own, parent, link: None, sent, call: false, lane: Lane::Main, ties: None }
    }

    /// A message with which a trace begins.
    pub(crate) fn root(sent: Timestamp, random: &dyn Fn() -> u64) -> Self {
        let own = TraceContext::root(trace_id(random), id(random));
        CarriedContext {
            own,
            parent: None,
            link: None,
            sent,
            call: false,
            lane: Lane::Main,
            ties: None,
        }
    }
}

/// An id that is not zero.
pub(crate) fn id(random: &dyn Fn() -> u64) -> NonZeroU64 {
    NonZeroU64::new(random()).unwrap_or(NonZeroU64::MIN)
}

fn trace_id(random: &dyn Fn() -> u64) -> NonZeroU128 {
    let id = (u128::from(random()) << 64) | u128::from(random());
    NonZeroU128::new(id).unwrap_or(NonZeroU128::MIN)
}
