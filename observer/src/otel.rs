//! Ties of the spans of messages and calls to OpenTelemetry, by `tracing-opentelemetry`.
//!
//! ```text
//!   traceparent ─► TraceContext ─► message ─► span of `tracing` ─► [OtelSpans]: parent, link
//!                       ▲                                                  │
//!                       └──────────── the ids of the exported span ────────┘
//! ```
//!
//! Messages then carry the ids of the exported spans, so the traces of this node and of others
//! fit together. The exporter is the program's choice: a layer of `tracing-opentelemetry` in its
//! subscriber, with a tracer that exports.

use krarup_act::{SpanTies, TraceContext};
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Ties the spans of messages and calls to OpenTelemetry: their parents, their links, and the ids
/// that messages carry (feature `otel`).
///
/// ```
/// # mod krarup { pub use {krarup_act as observe, krarup_node::*, krarup_observer as observer}; }
/// use krarup::Node;
/// use krarup::observe::{Propagation, TraceSampler};
/// use krarup::observer::OtelSpans;
///
/// # fn main() -> krarup_gen::Result {
/// // The subscriber of the program has a layer of `tracing-opentelemetry`.
/// let traces = Propagation::new().sampler(TraceSampler::ratio(0.01)?).ties(OtelSpans::new());
/// let node = Node::builder("shop@localhost").propagation(traces).start()?;
/// # drop(node);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct OtelSpans(());

impl OtelSpans {
    /// Makes the ties.
    #[must_use]
    pub fn new() -> Self {
        OtelSpans::default()
    }
}

impl SpanTies for OtelSpans {
    fn begin(
        &self,
        span: &Span,
        parent: Option<&TraceContext>,
        link: Option<&TraceContext>,
    ) -> Option<TraceContext> {
        let above = opentelemetry::Context::new();
        let above = match parent {
            Some(parent) => above.with_remote_span_context(span_context(parent)),
            None => above,
        };
        // It fails if no layer knows the span: nothing is exported then.
        span.set_parent(above).ok()?;
        if let Some(link) = link {
            span.add_link(span_context(link));
        }
        let own = span.context();
        let own = own.span().span_context().clone();
        let trace_id = u128::from_be_bytes(own.trace_id().to_bytes());
        let span_id = u64::from_be_bytes(own.span_id().to_bytes());
        TraceContext::new(trace_id, span_id)
    }
}

fn span_context(context: &TraceContext) -> SpanContext {
    let trace_id = TraceId::from_bytes(context.trace_id().to_be_bytes());
    let span_id = SpanId::from_bytes(context.span_id().to_be_bytes());
    let flags = if context.is_sampled() { TraceFlags::SAMPLED } else { TraceFlags::default() };
    SpanContext::new(trace_id, span_id, flags, true, TraceState::default())
}
