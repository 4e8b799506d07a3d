//! A node that cannot have the threads it needs: rule X2. One test, which has itself run once more
//! as a program of its own that may have little memory, and so few stacks.

#![cfg(target_os = "linux")]

use krarup::{DispatcherOptions, Node, NodeError};
use std::fs;
use std::process::Command;
use std::thread;

/// What tells the program that it has little memory.
const ROLE: &str = "KRARUP_FEW_THREADS";
/// KiB of addresses: enough for some stacks of a gigabyte, and not for all.
const ADDRESSES: usize = 6 << 20;

#[test]
fn x2_a_node_that_cannot_start_all_its_threads_leaves_none() {
    if std::env::var_os(ROLE).is_some() {
        return fails_to_start();
    }
    let ran = Command::new("sh")
        .args(["-c", &format!("ulimit -v {ADDRESSES} && exec \"$0\" --nocapture")])
        .arg(std::env::current_exe().unwrap())
        .env(ROLE, "few")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
}

fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

fn fails_to_start() {
    let before = threads();
    let options = DispatcherOptions::new().workers(64).stack_size(1 << 30);
    let error = Node::builder("few").options(options).start().unwrap_err();
    assert!(matches!(error, NodeError::Thread(_)), "{error}");
    // A thread that has been joined may still be on its way out.
    let gone = || {
        thread::yield_now();
        threads() <= before
    };
    assert!((0..100_000).any(|_| gone()), "{} threads are left", threads() - before);
    // And it may be tried again with less.
    let node = Node::builder("few").workers(2).start().unwrap();
    node.stop().wait().unwrap();
}
