//! The common part of all benches: a node, and a signal for the end of the work.

use criterion::Criterion;
use krarup::Node;
use std::sync::mpsc;
use std::time::Instant;

/// The end signal. It is held by all work that is not complete, is only dropped, and sends
/// nothing.
pub(crate) type Over = mpsc::Sender<()>;

/// Measures the function that `prepare` returns, on a separate node: from its call, with a
/// number of iterations, until the last copy of the given end signal has been dropped.
pub(crate) fn bench<F: Fn(u64, Over)>(name: &str, prepare: impl FnOnce(&Node) -> F) {
    let node = Node::start("bench@localhost").expect("a valid name");
    let start = prepare(&node);
    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function(name, |bencher| {
        bencher.iter_custom(|iterations| {
            let (over, is_over) = mpsc::channel();
            let begin = Instant::now();
            start(iterations, over);
            // An error is the expected result: all senders have been dropped.
            let _ = is_over.recv();
            begin.elapsed()
        });
    });
    criterion.final_summary();
}
