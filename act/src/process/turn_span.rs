//! The span of `tracing` in which a turn runs: what a handler logs says whose it is.
//!
//! The span is around the whole turn, so that `init`, handlers, `terminate` and destructors are in
//! it. A subscriber is a user's code: each call of it is contained, and one that panics takes its
//! span along and nothing else (rule D4).

use super::crash::contain;
use krarup_gen::{Label, Name, Pid};
use tracing::Span;

/// A span that has been entered, and is left when this is dropped.
pub(crate) struct TurnSpan(Option<Span>);

impl TurnSpan {
    /// Enters a span of its own, below no other.
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
            let _ = contain(|| span.with_subscriber(|(id, subscriber)| subscriber.exit(id)));
            close(span);
        }
    }
}

fn close(span: Span) {
    let _ = contain(|| drop(span));
}
