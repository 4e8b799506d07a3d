//! Work whose destructor panics: for tests of code that drops work without running it.

use std::sync::mpsc::Sender;

/// Panics when it is dropped.
struct PanicsOnDrop(Sender<&'static str>);

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        self.0.send("dropped").unwrap();
        panic!("work that is dropped");
    }
}

/// Work that reports `ran` if it is run, and `dropped` when it is dropped, with a panic.
pub(crate) fn work(reports: &Sender<&'static str>) -> Box<dyn FnOnce() + Send> {
    let (panics, ran) = (PanicsOnDrop(reports.clone()), reports.clone());
    Box::new(move || {
        let _panics = panics;
        ran.send("ran").unwrap();
    })
}
