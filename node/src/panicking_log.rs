//! A log subscriber that panics: for tests of what must go on all the same.

use std::cell::Cell;
use std::sync::Once;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

thread_local! {
    /// How often it was told something on this thread, if it listens here.
    static TOLD: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Panics whenever it is told something on a thread where it listens. It is that of the whole
/// program: what is wanted by one thread alone may be taken for unwanted by all.
struct Panics;

impl Subscriber for Panics {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target() == "krarup"
    }

    fn event(&self, _: &Event<'_>) {
        if let Some(told) = TOLD.get() {
            TOLD.set(Some(told + 1));
            panic!("a log subscriber");
        }
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// Runs this while it listens on this thread; how often it was told something.
pub(crate) fn told(run: impl FnOnce()) -> usize {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Panics).expect("the only one"));
    TOLD.set(Some(0));
    run();
    TOLD.take().unwrap_or_default()
}
