//! The `tracing` span of a turn, which names the process in everything that a handler logs.
//!
//! The span covers the whole turn, so `init`, handlers, `terminate` and destructors are in it.
//! A subscriber is user code, so each call of it is contained. If it panics, only its span is
//! lost (rule D4).

use super::crash::{contain, drop_contained, ignore};
use krarup_gen::{Label, Name, Pid};
use tracing::Span;

/// A span that has been entered. It is exited when this is dropped.
pub(crate) struct TurnSpan(Option<Span>);

impl TurnSpan {
    /// Enters a new span without a parent.
    pub(crate) fn enter(pid: Pid, name: Option<&Name>, behavior: &Label) -> Self {
        let name = name.map(Name::as_str);
        let span = contain(
            || tracing::info_span!(target: "krarup", parent: None, "process", %pid, name, %behavior),
        );
        let Ok(span) = span else { return TurnSpan(None) };
        let entered = contain(|| span.with_subscriber(|(id, subscriber)| subscriber.enter(id)));
        if entered.is_err() {
            close(span);
            return TurnSpan(None);
        }
        TurnSpan(Some(span))
    }
}

impl Drop for TurnSpan {
    fn drop(&mut self) {
        if let Some(span) = self.0.take() {
            ignore(|| {
                span.with_subscriber(|(id, subscriber)| subscriber.exit(id));
            });
            close(span);
        }
    }
}

fn close(span: Span) {
    drop_contained(span);
}
