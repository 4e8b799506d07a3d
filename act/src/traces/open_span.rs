//! The spans of `tracing` for messages and calls: target `krarup::message`, level `INFO`.
//!
//! `otel.name`, `otel.kind` and `otel.status_code` are the fields by which `tracing-opentelemetry`
//! names a span. A subscriber is user code, so each call of it is contained (rule D4).

use super::carried::CarriedContext;
use super::trace_context::TraceContext;
use crate::process::crash::{contain, drop_contained, ignore};
use krarup_gen::{Pid, Timestamp};
use tracing::field::Empty;
use tracing::{Span, info_span};

/// A span that ends when this is dropped. Empty if no subscriber wants it.
pub(crate) struct OpenSpan(Option<Span>);

/// What is known of a message when its handling begins.
pub(crate) struct MessageFacts<'a> {
    pub(crate) message: &'static str,
    /// The name or the behaviour of the receiver. Asked only if the span is wanted.
    pub(crate) destination: &'a dyn Fn() -> Option<String>,
    pub(crate) to: Option<Pid>,
    pub(crate) from: Option<Pid>,
}

impl OpenSpan {
    pub(crate) const NONE: OpenSpan = OpenSpan(None);

    /// The span of the handling of a message, and the context that its sends carry.
    pub(crate) fn of_message(
        carried: &CarriedContext,
        facts: &MessageFacts<'_>,
        now: Timestamp,
    ) -> (Self, TraceContext) {
        let kind = if carried.call { "server" } else { "consumer" };
        let queued_ms = (now - carried.sent).as_secs_f64() * 1_000.0;
        let own = &carried.own;
        let begun = contain(|| {
            let span = info_span!(
                target: "krarup::message",
                parent: None,
                "process",
                otel.name = format!("process {}", facts.message),
                otel.kind = kind,
                otel.status_code = Empty,
                "messaging.system" = "krarup",
                "messaging.operation.type" = "process",
                "messaging.destination.name" = (facts.destination)(),
                "krarup.pid" = facts.to.map(tracing::field::display),
                "krarup.sender" = facts.from.map(tracing::field::display),
                "krarup.lane" = carried.lane.as_str(),
                "krarup.queued_ms" = queued_ms,
                "krarup.hops" = own.hops(),
                "krarup.traceparent" = %own,
                "krarup.parent" = carried.parent.map(tracing::field::display),
                "krarup.link" = carried.link.map(tracing::field::display),
                "krarup.sends_left_out" = Empty,
                "error.type" = Empty,
            );
            let ids = carried
                .ties
                .as_ref()
                .and_then(|ties| ties.begin(&span, carried.parent.as_ref(), carried.link.as_ref()));
            (span, ids)
        });
        opened(begun, *own)
    }

    /// The span of a call that `own` makes, below `parent`.
    pub(crate) fn of_call(
        carried: &CarriedContext,
        message: &'static str,
        callee: Pid,
    ) -> (Self, TraceContext) {
        let own = &carried.own;
        let begun = contain(|| {
            let span = info_span!(
                target: "krarup::message",
                parent: None,
                "call",
                otel.name = format!("call {message}"),
                otel.kind = "client",
                otel.status_code = Empty,
                "messaging.system" = "krarup",
                "messaging.operation.type" = "send",
                "krarup.pid" = %callee,
                "krarup.hops" = own.hops(),
                "krarup.traceparent" = %own,
                "krarup.parent" = carried.parent.map(tracing::field::display),
                "error.type" = Empty,
            );
            let ids = carried
                .ties
                .as_ref()
                .and_then(|ties| ties.begin(&span, carried.parent.as_ref(), None));
            (span, ids)
        });
        opened(begun, *own)
    }

    /// A message of this type was not handled: its span is there, and has ended by an error.
    #[cold]
    pub(crate) fn lost(carried: &CarriedContext, message: &'static str, error: &'static str) {
        let facts = MessageFacts { message, destination: &|| None, to: None, from: None };
        let (span, _) = OpenSpan::of_message(carried, &facts, carried.sent);
        span.fail(error);
    }

    /// Makes it the span of what this thread logs.
    pub(crate) fn enter(&self) {
        if let Some(span) = &self.0 {
            ignore(|| {
                span.with_subscriber(|(id, subscriber)| subscriber.enter(id));
            });
        }
    }

    /// Undoes [`OpenSpan::enter`].
    pub(crate) fn exit(&self) {
        if let Some(span) = &self.0 {
            ignore(|| {
                span.with_subscriber(|(id, subscriber)| subscriber.exit(id));
            });
        }
    }

    /// Records that it ends by an error.
    pub(crate) fn fail(&self, error: &'static str) {
        if let Some(span) = &self.0 {
            ignore(|| {
                span.record("error.type", error);
                span.record("otel.status_code", "ERROR");
            });
        }
    }

    /// Records how many sends do not belong to the trace, because there were too many.
    pub(crate) fn leave_out(&self, sends: u64) {
        if let Some(span) = &self.0 {
            ignore(|| {
                span.record("krarup.sends_left_out", sends);
            });
        }
    }
}

/// The span, and its context under the ids that it is tied to.
fn opened<E>(
    begun: Result<(Span, Option<TraceContext>), E>,
    own: TraceContext,
) -> (OpenSpan, TraceContext) {
    let Ok((span, ids)) = begun else { return (OpenSpan::NONE, own) };
    let context = ids.map_or(own, |ids| own.named(ids));
    (OpenSpan((!span.is_none()).then_some(span)), context)
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        if let Some(span) = self.0.take() {
            drop_contained(span);
        }
    }
}
