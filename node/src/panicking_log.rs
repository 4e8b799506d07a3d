//! A log subscriber that panics: for tests of code that must survive that.

use std::cell::Cell;
use std::sync::Once;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

thread_local! {
    /// The number of events on this thread, if the subscriber is active here.
    static TOLD: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Panics at each event on a thread where it is active. It is installed for the whole program:
/// with a subscriber per thread, `tracing` may cache the disinterest of one thread for all.
struct PanickingSubscriber;

impl Subscriber for PanickingSubscriber {
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

/// Runs `run` with the subscriber active on this thread. Returns the number of events.
pub(crate) fn told(run: impl FnOnce()) -> usize {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        tracing::subscriber::set_global_default(PanickingSubscriber).expect("the only one");
    });
    TOLD.set(Some(0));
    run();
    TOLD.take().unwrap_or_default()
}
