//! Execution of a user's callbacks.

use krarup_act::contain;
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Runs a callback, and runs `meanwhile` whenever it waits, to write the frames it has sent.
pub(crate) fn driven<W, F>(meanwhile: W, callback: F) -> Driven<W, F>
where
    W: FnMut(&mut Context<'_>),
    F: Future,
{
    Driven { meanwhile, callback }
}

pin_project! {
    /// The future of [`driven`]. An async function would have room for the callback twice, as its
    /// argument and as what it polls; a connection has that room for as long as it lives.
    pub(crate) struct Driven<W, F> {
        meanwhile: W,
        #[pin]
        callback: F,
    }
}

impl<W, F> Future for Driven<W, F>
where
    W: FnMut(&mut Context<'_>),
    F: Future,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let driven = self.project();
        let polled = driven.callback.poll(cx);
        if polled.is_pending() {
            (driven.meanwhile)(cx);
        }
        polled
    }
}

/// Logs. A subscriber is user code too, and its panic must not keep the following steps
/// from running.
pub(crate) fn log(event: impl FnOnce()) {
    let _ = contain(event);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, OnceLock};
    use tracing::span::{Attributes, Id, Record};
    use tracing::subscriber::NoSubscriber;
    use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

    /// Counts warnings and errors, and panics at each of them.
    struct PanicsAtCallbacks(Arc<AtomicUsize>);

    impl Subscriber for PanicsAtCallbacks {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == "krarup" && *metadata.level() <= Level::WARN
        }
        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }
        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn event(&self, _: &Event<'_>) {
            self.0.fetch_add(1, Ordering::Relaxed);
            panic!("on purpose");
        }
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    /// Returns how many warnings and errors are logged on this thread during the test, by
    /// a subscriber that panics at each of them.
    pub(crate) fn logged(test: impl FnOnce()) -> usize {
        // While a program has one subscriber, `tracing` asks the thread that is the first to come
        // to an event whether anybody hears it there, and keeps the answer for all threads: a test
        // beside this one would make it deaf. Of two it asks each.
        static ANOTHER: OnceLock<Dispatch> = OnceLock::new();
        ANOTHER.get_or_init(|| Dispatch::new(NoSubscriber::default()));
        let events = Arc::new(AtomicUsize::new(0));
        tracing::subscriber::with_default(PanicsAtCallbacks(Arc::clone(&events)), test);
        events.load(Ordering::Relaxed)
    }

    #[test]
    fn a_panicking_subscriber_does_not_skip_any_work() {
        let events = logged(|| {
            log(|| tracing::error!(target: "krarup", "once"));
            log(|| tracing::warn!(target: "krarup", "twice"));
            log(|| tracing::debug!(target: "krarup", "no warning"));
        });
        assert_eq!(events, 2);
    }
}
