//! What the node tells `tracing`, for tests to look at.

use std::fmt::Debug;
use std::sync::OnceLock;
use tracing::Dispatch;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::NoSubscriber;
use tracing::{Event, Metadata, Subscriber};

/// Tells of each event that is wanted, with its fields as they print themselves, in their order.
pub(crate) struct Journal<W, T> {
    wants: W,
    tell: T,
}

/// While a program has one subscriber, `tracing` asks the thread that is the first to come to an
/// event whether anybody hears it there, and keeps the answer for all threads: a test that runs
/// beside a subscriber would make that deaf. Of two it asks each, so there is always another one
/// too. Every test that makes a subscriber of one thread calls this first.
pub(crate) fn keep_another_subscriber() {
    static ANOTHER: OnceLock<Dispatch> = OnceLock::new();
    ANOTHER.get_or_init(|| Dispatch::new(NoSubscriber::default()));
}

impl<W, T> Journal<W, T>
where
    W: Fn(&Metadata<'_>) -> bool + Send + Sync + 'static,
    T: Fn(&[(&'static str, String)]) + Send + Sync + 'static,
{
    pub(crate) fn new(wants: W, tell: T) -> Self {
        keep_another_subscriber();
        Journal { wants, tell }
    }
}

struct Fields(Vec<(&'static str, String)>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push((field.name(), format!("{value:?}")));
    }
}

impl<W, T> Subscriber for Journal<W, T>
where
    W: Fn(&Metadata<'_>) -> bool + Send + Sync + 'static,
    T: Fn(&[(&'static str, String)]) + Send + Sync + 'static,
{
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        (self.wants)(metadata)
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(Vec::new());
        event.record(&mut fields);
        (self.tell)(&fields.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
