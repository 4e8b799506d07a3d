//! Spans of messages in OpenTelemetry: rules V55 to V57, by an exporter into memory.

use crate::OtelSpans;
use krarup_act::{Actor, Address, Context, Propagation, Reply, TraceContext};
use krarup_gen::Result;
use krarup_node::Simulation;
use opentelemetry::trace::{SpanKind, Status, TracerProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tracing::Dispatch;
use tracing::subscriber::NoSubscriber;
use tracing_subscriber::layer::SubscriberExt;

const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

struct TracedFront(Address<TracedAsk>);
struct TracedOrder;
struct TracedAsk(Reply<u32>);
struct TracedStock;

impl Actor for TracedFront {
    type Message = TracedOrder;
    async fn handle_message(&mut self, ctx: &mut Context<TracedOrder>, _: TracedOrder) -> Result {
        self.0.call(TracedAsk).await?;
        ctx.address().notify(TracedOrder);
        panic!("planned");
    }
}

impl Actor for TracedStock {
    type Message = TracedAsk;
    async fn handle_message(&mut self, _: &mut Context<TracedAsk>, ask: TracedAsk) -> Result {
        ask.0.send(7);
        Ok(())
    }
}

/// The spans that are exported meanwhile, in the order of their ends.
fn exported(run: impl FnOnce()) -> Vec<SpanData> {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("krarup"));
    // With one subscriber alone `tracing` would keep the answers of other threads.
    let _another = Dispatch::new(NoSubscriber::default());
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), run);
    exporter.get_finished_spans().unwrap()
}

#[test]
fn v55_spans_are_exported_as_one_trace_with_right_parents_links_and_errors() {
    let sim = Simulation::new(1);
    assert!(sim.propagation(Propagation::new().ties(OtelSpans::new())));
    let stock = sim.spawn(|| TracedStock).name("stock").wait().unwrap();
    let front = sim.spawn(move || TracedFront(stock)).name("front").wait().unwrap();
    let spans = exported(|| {
        TraceContext::parse(HEADER).unwrap().enter(|| front.send(TracedOrder).unwrap());
        sim.run_until_idle();
    });
    let of = |kind: SpanKind, name: &str| -> &SpanData {
        let named = |span: &&SpanData| span.span_kind == kind && span.name.ends_with(name);
        spans.iter().find(named).unwrap_or_else(|| panic!("no {name} in {spans:?}"))
    };
    assert_eq!(spans.len(), 4, "{spans:?}");
    let order =
        spans.iter().find(|span| span.parent_span_id.to_string() == HEADER[36..52]).unwrap();
    let (call, ask) = (of(SpanKind::Client, "TracedAsk"), of(SpanKind::Server, "TracedAsk"));
    assert!(order.name.starts_with("process ") && call.name.starts_with("call "));
    for span in [order, call, ask] {
        assert_eq!(span.span_context.trace_id().to_string(), HEADER[3..35]);
    }
    assert_eq!(call.parent_span_id, order.span_context.span_id());
    assert_eq!(ask.parent_span_id, call.span_context.span_id());
    assert!(matches!(order.status, Status::Error { .. }), "{:?}", order.status);
    let has = |span: &SpanData, key: &str, value: &str| {
        span.attributes.iter().any(|at| at.key.as_str() == key && at.value.as_str() == value)
    };
    assert!(has(order, "error.type", "panic") && has(order, "messaging.system", "krarup"));
    // The message to itself, which became a dead letter, is a trace of its own.
    let [lost] = &spans.iter().filter(|span| !span.links.is_empty()).collect::<Vec<_>>()[..] else {
        panic!("one span is linked: {spans:?}")
    };
    assert_eq!(lost.links[0].span_context.span_id(), order.span_context.span_id());
    assert_ne!(lost.span_context.trace_id(), order.span_context.trace_id());
    assert!(has(lost, "error.type", "unhandled"));
}
