//! What all benches have in common: a node, and how they know that something is over.

use criterion::Criterion;
use krarup::Node;
use std::sync::mpsc;
use std::time::Instant;

/// Held by whatever is not over yet: nothing is sent, it is only dropped.
pub(crate) type Over = mpsc::Sender<()>;

/// Measures what `prepare` returns, on a node of its own: from its call, with a number of
/// iterations, until the last copy of the end that it is given has been dropped.
pub(crate) fn bench<F: Fn(u64, Over)>(name: &str, prepare: impl FnOnce(&Node) -> F) {
    let node = Node::start("bench@localhost").expect("a valid name");
    let start = prepare(&node);
    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function(name, |bencher| {
        bencher.iter_custom(|iterations| {
            let (over, is_over) = mpsc::channel();
            let begin = Instant::now();
            start(iterations, over);
            // An error is what is waited for: nobody is left who could send.
            let _ = is_over.recv();
            begin.elapsed()
        });
    });
    criterion.final_summary();
}
