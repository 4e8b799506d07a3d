//! What is logged, as lines.

use super::raw::until;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span;

/// The events of one target, a line for each.
#[derive(Clone)]
pub(crate) struct Lines {
    target: &'static str,
    pub(crate) all: Arc<Mutex<Vec<String>>>,
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = write!(self.0, "{field}={value:?};");
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let _ = write!(self.0, "{field}={value};");
    }
}

impl tracing::Subscriber for Lines {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == self.target
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.all.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

impl Lines {
    /// Records the events of a target from now on. A program does this once.
    pub(crate) fn record(target: &'static str) -> Lines {
        let lines = Lines { target, all: Arc::default() };
        tracing::subscriber::set_global_default(lines.clone()).unwrap();
        lines
    }

    /// Waits for one line with this text, and returns it.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        let mut found = String::new();
        until(text, || {
            let lines = self.all.lock().unwrap();
            let line = lines.iter().find(|line| line.contains(text));
            line.inspect(|line| found.clone_from(line)).is_some()
        });
        found
    }
}
