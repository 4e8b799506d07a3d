//! The marks of a process, which share a byte: threads that change different marks at once.

use super::checker::{joined, model, thread};
use crate::process::progress::{ProcessMark, Progress};
use std::sync::Arc;

#[test]
fn a_mark_is_not_lost_when_another_thread_changes_another() {
    model(|| {
        let progress = Arc::new(Progress::new());
        progress.set(ProcessMark::Traced, true);
        let other = Arc::clone(&progress);
        let exposing = thread::spawn(move || {
            other.set(ProcessMark::Exposed, true);
            other.set(ProcessMark::Traced, false);
        });
        progress.set(ProcessMark::Listed, true);
        progress.set(ProcessMark::HasCleaners, true);
        progress.set(ProcessMark::Listed, false);
        joined(exposing);
        let marks = [
            ProcessMark::Listed,
            ProcessMark::HasCleaners,
            ProcessMark::Exposed,
            ProcessMark::Traced,
            ProcessMark::HoldsMessages,
        ];
        assert_eq!(marks.map(|mark| progress.has(mark)), [false, true, true, false, false]);
    });
}
