//! A subscriber of `tracing` that keeps the spans of messages and calls.

use super::journal::keep_another_subscriber;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The fields of a span, and whether it has ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessageSpan {
    pub(crate) fields: BTreeMap<&'static str, String>,
    pub(crate) ended: bool,
    /// What was logged in it.
    pub(crate) logged: u32,
}

impl MessageSpan {
    /// The field, or an empty text.
    pub(crate) fn at(&self, field: &str) -> &str {
        self.fields.get(field).map_or("", String::as_str)
    }

    /// The part of the `traceparent` in this field: 1 the trace, 2 the span.
    pub(crate) fn id(&self, field: &str, part: usize) -> &str {
        self.at(field).split('-').nth(part).unwrap_or("")
    }

    /// The id of its trace.
    pub(crate) fn trace(&self) -> &str {
        self.id("krarup.traceparent", 1)
    }

    /// Its own id.
    pub(crate) fn own(&self) -> &str {
        self.id("krarup.traceparent", 2)
    }

    /// The id of the span above it.
    pub(crate) fn parent(&self) -> &str {
        self.id("krarup.parent", 2)
    }

    /// What it is called, without the path of the type.
    pub(crate) fn name(&self) -> String {
        let name = self.at("otel.name");
        let (kind, path) = name.split_once(' ').unwrap_or((name, ""));
        format!("{kind} {}", path.rsplit("::").next().unwrap_or(path))
    }
}

impl Visit for MessageSpan {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }
}

#[derive(Default)]
struct Kept {
    spans: Vec<MessageSpan>,
    entered: Vec<u64>,
}

struct Keeper(Arc<Mutex<Kept>>);

impl Keeper {
    fn with<T>(&self, f: impl FnOnce(&mut Kept) -> T) -> T {
        f(&mut self.0.lock().unwrap())
    }
}

fn place(id: &Id) -> usize {
    usize::try_from(id.into_u64() - 1).unwrap()
}

impl Subscriber for Keeper {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        ["krarup::message", "test"].contains(&metadata.target())
    }
    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut span = MessageSpan::default();
        attributes.record(&mut span);
        self.with(|kept| {
            kept.spans.push(span);
            Id::from_u64(kept.spans.len() as u64)
        })
    }
    fn record(&self, id: &Id, values: &Record<'_>) {
        self.with(|kept| values.record(&mut kept.spans[place(id)]));
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {
        self.with(|kept| {
            if let Some(id) = kept.entered.last() {
                kept.spans[place(&Id::from_u64(*id))].logged += 1;
            }
        });
    }
    fn enter(&self, id: &Id) {
        self.with(|kept| kept.entered.push(id.into_u64()));
    }
    fn exit(&self, id: &Id) {
        let left = self.with(|kept| kept.entered.pop());
        assert_eq!(left, Some(id.into_u64()), "spans are left in the order of their entering");
    }
    fn try_close(&self, id: Id) -> bool {
        self.with(|kept| kept.spans[place(&id)].ended = true);
        true
    }
}

/// The spans of messages and calls that `run` makes, in the order of their begin.
pub(crate) fn message_spans(run: impl FnOnce()) -> Vec<MessageSpan> {
    let kept = Arc::new(Mutex::new(Kept::default()));
    keep_another_subscriber();
    tracing::subscriber::with_default(Keeper(Arc::clone(&kept)), run);
    let mut kept = kept.lock().unwrap();
    assert!(kept.entered.is_empty(), "each span that was entered was left");
    std::mem::take(&mut kept.spans)
}
