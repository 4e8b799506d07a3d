//! The threads of a node as the system counts them: rule R3. One test, for whatever else ran in
//! this program would be counted too.

#![cfg(target_os = "linux")]

use krarup::behavior::behavior_fn;
use krarup::dispatcher::DispatcherOptions;
use krarup::prelude::*;
use std::fs;
use std::sync::mpsc;
use std::thread;

fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

/// Waits until there are so many: a thread that has been joined may still be on its way out.
fn come_to(number: usize) -> bool {
    let mut looks = 0..1_000_000;
    looks.any(|_| {
        thread::yield_now();
        threads() == number
    })
}

#[test]
fn r3_the_system_counts_as_many_threads_with_a_hundred_thousand_processes_as_with_ten() {
    let before = threads();
    // A machine that is busy could make a worker look as if a handler held it.
    let options = |workers| DispatcherOptions::new().workers(workers).spare_workers(0);
    let node = Node::builder("r3count")
        .options(options(3))
        .dispatcher("others", options(2))
        .start()
        .unwrap();
    // Its workers, and one for timers.
    assert!(come_to(before + 3 + 1), "{} threads", threads());
    let (handled, all) = mpsc::channel();
    let mut living = Vec::new();
    for number in [10, 1_000, 100_000] {
        let first = living.len();
        while living.len() < number {
            let handled = handled.clone();
            let process = behavior_fn(move |mut ctx: Context<()>| async move {
                loop {
                    ctx.receive().await;
                    handled.send(()).unwrap();
                }
            });
            let name = if living.len() % 2 == 0 { "default" } else { "others" };
            living.push(node.spawn(move || process).dispatcher(name).start().unwrap());
        }
        living.iter().for_each(|process| process.send(()).unwrap());
        (0..number).for_each(|_| all.recv().unwrap());
        assert_eq!(node.stats().processes, number);
        assert_eq!(threads(), before + 3 + 2 + 1, "with {number} processes, {first} before");
    }
    node.stop().wait().unwrap();
    assert!(come_to(before), "{} threads are left", threads() - before);
}
