//! The trace context in which this thread runs (`crate::traces`).
//!
//! A bit of the turn's state says that there is one, so that a send outside any context pays
//! for one test. The context follows its process:
//!
//! ```text
//!   message begun ──► [begin_handling] ──► this thread ──► [end_handling]: the process receives again, or ends
//!                                    │      ▲
//!                              [keep]│      │[resume]
//!                                    ▼      │
//!                               the mailbox of the process, while it waits in its handler
//! ```

use super::local::TURN;
use crate::host::host::Host;
use crate::sync::thread_local;
use crate::traces::carried::{CarriedContext, MOST_HOPS, MOST_SENDS, id};
use crate::traces::open_span::OpenSpan;
use crate::traces::propagation::Propagation;
use crate::traces::trace_context::TraceContext;
use krarup_gen::{CallError, Lane, Pid};
use std::cell::RefCell;

thread_local! {
    static CONTEXT: RefCell<Option<Box<CurrentContext>>> = const { RefCell::new(None) };
}

/// A context, the span in it, and what has been sent from it.
pub(crate) struct CurrentContext {
    context: TraceContext,
    span: OpenSpan,
    sends: u32,
    /// Sends beyond [`MOST_SENDS`].
    left_out: u64,
    /// The call whose request is being sent.
    posting: Option<(CarriedContext, OpenSpan)>,
    /// The calls whose answers are waited for, by the addresses of their slots.
    calls: Vec<(usize, OpenSpan)>,
}

impl CurrentContext {
    pub(crate) fn new(context: TraceContext, span: OpenSpan) -> Box<Self> {
        let calls = Vec::new();
        Box::new(CurrentContext { context, span, sends: 0, left_out: 0, posting: None, calls })
    }

    /// Counts a send. Whether it still belongs to the trace.
    fn admits(&mut self) -> bool {
        let admits = self.sends < MOST_SENDS;
        if admits {
            self.sends += 1;
        } else {
            self.left_out += 1;
        }
        admits
    }
}

/// Whether this thread runs in a trace context.
#[inline]
pub(crate) fn is_traced() -> bool {
    TURN.with(|turn| turn.state.get().is_traced())
}

/// The context in which this thread runs.
pub(crate) fn context() -> Option<TraceContext> {
    is_traced().then(|| with(|current| current.context)).flatten()
}

/// No user code may run in `f`.
fn with<T>(f: impl FnOnce(&mut CurrentContext) -> T) -> Option<T> {
    CONTEXT.with(|current| current.borrow_mut().as_deref_mut().map(f))
}

fn replace(next: Option<Box<CurrentContext>>) -> Option<Box<CurrentContext>> {
    let traced = next.is_some();
    TURN.with(|turn| turn.state.set(turn.state.get().traced(traced)));
    CONTEXT.with(|current| current.replace(next))
}

/// Begins a context on this thread. One that was there ends.
#[cold]
pub(crate) fn begin_handling(next: Box<CurrentContext>) {
    end_handling(None);
    resume(Some(next));
}

/// Continues with a context that was kept.
#[cold]
pub(crate) fn resume(kept: Option<Box<CurrentContext>>) {
    let Some(kept) = kept else { return };
    kept.span.enter();
    drop(replace(Some(kept)));
}

/// Takes the context off this thread, to be resumed later.
#[cold]
pub(crate) fn keep() -> Option<Box<CurrentContext>> {
    if !is_traced() {
        return None;
    }
    let kept = replace(None);
    if let Some(kept) = &kept {
        kept.span.exit();
    }
    kept
}

/// Ends the context of this thread, by an error if there is one.
#[cold]
pub(crate) fn end_handling(error: Option<&'static str>) {
    if let Some(ended) = keep() {
        if ended.left_out > 0 {
            ended.span.leave_out(ended.left_out);
        }
        if let Some(error) = error {
            ended.span.fail(error);
        }
    }
}

/// Has this thread run in a context until the returned value is dropped, which brings back the
/// one before.
#[cold]
pub(crate) fn enter_context(context: TraceContext) -> impl Drop {
    struct EnteredContext(Option<Box<CurrentContext>>);
    impl Drop for EnteredContext {
        fn drop(&mut self) {
            end_handling(None);
            resume(self.0.take());
        }
    }
    let outer = keep();
    resume(Some(CurrentContext::new(context, OpenSpan::NONE)));
    EnteredContext(outer)
}

/// Has this thread run in no context until the returned value is dropped.
#[cold]
pub(crate) fn without_context() -> OuterContext {
    OuterContext(keep())
}

/// A context that was set aside. It is the current one again when this is dropped.
pub(crate) struct OuterContext(Option<Box<CurrentContext>>);

impl Drop for OuterContext {
    fn drop(&mut self) {
        resume(self.0.take());
    }
}

/// The context of a process that is spawned here.
#[cold]
pub(crate) fn context_of_child() -> Option<Box<CurrentContext>> {
    let context = context()?;
    let child = context.child(std::num::NonZeroU64::new(context.span_id())?, 1);
    (context.hops() < MOST_HOPS).then(|| CurrentContext::new(child, OpenSpan::NONE))
}

/// What a message to this process carries, if this thread runs in a context. A message of a
/// process to itself begins a new trace, linked with this one.
#[cold]
pub(crate) fn carry(host: &dyn Host, to: Pid, lane: Lane) -> Option<Box<CarriedContext>> {
    let (context, called) = with(|current| {
        let called = current.posting.as_ref().map(|(carried, _)| carried.own);
        current.admits().then_some((current.context, called))
    })??;
    let to_itself = super::local::sender(to.creation()) == to.id();
    let random = || host.random();
    let parent = called.unwrap_or(context);
    let below = CarriedContext::below(parent, to_itself, host.now(), &random);
    let ties = host.propagation().and_then(Propagation::tied_to);
    Some(Box::new(CarriedContext { call: called.is_some(), lane, ties, ..below }))
}

/// What a message that is set aside while it is handled keeps for its next handling. It is no
/// send.
#[cold]
pub(crate) fn carry_aside(host: &dyn Host) -> Option<Box<CarriedContext>> {
    let kept = CarriedContext::below(context()?, false, host.now(), &|| host.random());
    let ties = host.propagation().and_then(Propagation::tied_to);
    Some(Box::new(CarriedContext { ties, ..kept }))
}

/// Begins the span of a call, whose request is sent next.
#[cold]
pub(crate) fn begin_call(host: &dyn Host, message: &'static str, callee: Pid) {
    let asked = with(|current| (current.sends < MOST_SENDS).then_some(current.context));
    let Some(Some(context)) = asked else { return };
    let own = context.child(id(&|| host.random()), 0);
    let mut carried = CarriedContext {
        own,
        parent: Some(context),
        link: None,
        sent: host.now(),
        call: true,
        lane: Lane::Main,
        ties: host.propagation().and_then(Propagation::tied_to),
    };
    let (span, own) = OpenSpan::of_call(&carried, message, callee);
    carried.own = own;
    with(move |current| current.posting = Some((carried, span)));
}

/// The request of the call was sent, and its answer is waited for in this slot.
#[cold]
pub(crate) fn await_call(slot: usize) {
    with(|current| {
        if let Some((_, span)) = current.posting.take() {
            current.calls.push((slot, span));
        }
    });
}

/// The request of the call was refused.
#[cold]
pub(crate) fn refuse_call(error: &CallError) {
    if let Some((_, span)) = with(|current| current.posting.take()).flatten() {
        span.fail(error_type(error));
    }
}

/// The call with this slot has ended, by an error if there is one.
#[cold]
pub(crate) fn end_call(slot: usize, error: Option<&CallError>) {
    let ended = with(|current| {
        let at = current.calls.iter().position(|(other, _)| *other == slot)?;
        Some(current.calls.swap_remove(at).1)
    });
    if let (Some(Some(span)), Some(error)) = (ended, error) {
        span.fail(error_type(error));
    }
}

/// The error as the value of `error.type`.
fn error_type(error: &CallError) -> &'static str {
    match error {
        CallError::Timeout { .. } => "timeout",
        CallError::Terminated { .. } => "terminated",
        CallError::NoReply { .. } => "no_reply",
        CallError::NoProcess { .. } => "no_process",
        CallError::Full { .. } => "full",
        CallError::NoWorkers { .. } => "no_workers",
        CallError::RateLimited { .. } => "rate_limited",
        CallError::Draining { .. } => "draining",
        CallError::Expired { .. } => "expired",
        CallError::NodeStopped { .. } => "node_stopped",
        CallError::Undelivered { .. } => "undelivered",
        CallError::Deadlock(_) | CallError::CallsItself(_) => "deadlock",
        _ => "error",
    }
}
