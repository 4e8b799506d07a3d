//! What is logged. All tests of a program share it, so a test of it is the only one of its file.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span;

/// The lines of the cluster.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<String>>>);

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
        metadata.target() == "krarup::cluster"
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

impl Lines {
    /// Records all lines of this program from now on.
    pub(crate) fn begin() -> Lines {
        let lines = Lines::default();
        tracing::subscriber::set_global_default(lines.clone()).unwrap();
        lines
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// Waits for one line with this text, and returns it.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        let mut found = String::new();
        super::watching::until(|| {
            let lines = self.0.lock().unwrap();
            let line = lines.iter().find(|line| line.contains(text));
            line.inspect(|line| found.clone_from(line)).is_some()
        });
        found
    }
}
