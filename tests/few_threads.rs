//! A node that cannot have the threads it needs: rules X2 and R5. Each test has the file itself run
//! once more, as a program of its own that may have little memory, and so few stacks.

#![cfg(target_os = "linux")]

use krarup::behavior::behavior_fn;
use krarup::dispatcher::DispatcherOptions;
use krarup::prelude::*;
use krarup::{BlockError, Node, NodeError};
use std::fs;
use std::future::poll_fn;
use std::pin::Pin;
use std::process::Command;
use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::thread;
use std::time::Duration;

/// What tells the program that it has little memory.
const ROLE: &str = "KRARUP_FEW_THREADS";
/// KiB of addresses: enough for some stacks of a gigabyte, and not for all.
const ADDRESSES: usize = 6 << 20;
/// A stack of which there is never one.
const TOO_LARGE: u64 = 64 << 30;

/// Runs a test of this file with few addresses, and with this as the stack of whatever thread
/// says nothing of its own.
fn runs(test: &str, stack: Option<u64>, body: fn()) {
    if std::env::var_os(ROLE).is_some() {
        return body();
    }
    let ran = Command::new("sh")
        .args(["-c", &format!("ulimit -v {ADDRESSES} && exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(ROLE, "few")
        // A thread that makes an arena of its own takes twice the room and gives half of it back.
        .env("MALLOC_ARENA_MAX", "1")
        .envs(stack.map(|bytes| ("RUST_MIN_STACK", bytes.to_string())))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    let ran = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.contains("1 passed"), "{ran}");
}

fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

/// Waits until there are no more threads than these: one that has been joined may still be on its
/// way out.
fn until_gone(before: usize) {
    let gone = || {
        thread::yield_now();
        threads() <= before
    };
    assert!((0..100_000).any(|_| gone()), "{} threads are left", threads() - before);
}

#[test]
fn x2_a_node_that_cannot_start_all_its_threads_leaves_none() {
    runs("x2_a_node_that_cannot_start_all_its_threads_leaves_none", None, || {
        let before = threads();
        let options = DispatcherOptions::new().workers(64).stack_size(1 << 30);
        let error = Node::builder("few").options(options).start().unwrap_err();
        assert!(matches!(error, NodeError::Thread(_)), "{error}");
        until_gone(before);
        // And it may be tried again with less.
        let node = Node::builder("few").workers(2).start().unwrap();
        node.stop().wait().unwrap();
    });
}

#[test]
fn x2_a_node_that_cannot_start_its_timer_leaves_no_worker() {
    let test = "x2_a_node_that_cannot_start_its_timer_leaves_no_worker";
    runs(test, Some(TOO_LARGE), || {
        let before = threads();
        let options = DispatcherOptions::new().workers(2).stack_size(1 << 20);
        let error = Node::builder("timer").options(options).start().unwrap_err();
        assert!(matches!(error, NodeError::Thread(_)), "{error}");
        until_gone(before);
    });
}

#[test]
fn r5_a_process_that_cannot_have_its_thread_is_not_there() {
    runs("r5_a_process_that_cannot_have_its_thread_is_not_there", None, || {
        let options = DispatcherOptions::pinned().stack_size(1 << 30);
        let node = Node::builder("pin").workers(1).dispatcher("pin", options).start().unwrap();
        let waits = || behavior_fn(|_: Context<()>| std::future::pending::<Result>());
        let spawn = |name: &str| node.spawn(waits).dispatcher("pin").name(name).start();
        let mut have = Vec::new();
        let refused = loop {
            assert!(have.len() < 64, "one of them has no stack");
            match spawn(&format!("p{}", have.len())) {
                Ok(process) => have.push(process),
                Err(error) => break error,
            }
        };
        assert!(matches!(&refused, SpawnError::NoThread(_)), "{refused}");
        assert!(refused.to_string().contains("a thread of dispatcher \"pin\": "), "{refused}");
        let there = || {
            let stats = node.stats();
            (stats.processes, stats.names, stats.dispatcher("pin").unwrap().workers)
        };
        let number = have.len();
        assert!(number > 0);
        assert_eq!(there(), (number, number, number));
        // When one has gone there is room for another, in time.
        let last = have.pop().unwrap();
        node.kill(last.pid());
        let again = std::iter::repeat_with(|| spawn("again")).take(100_000);
        let again = again.inspect(|_| thread::yield_now()).find_map(Result::ok).unwrap();
        assert!(again.is_alive());
        assert_eq!(there(), (number, number, number));
        node.stop().timeout(Duration::ZERO).wait().unwrap();
    });
}

#[test]
fn r3_blocking_work_for_which_no_thread_starts_waits_for_an_existing_thread() {
    let test = "r3_blocking_work_for_which_no_thread_starts_waits_for_an_existing_thread";
    runs(test, Some(1 << 30), || {
        const WORKS: usize = 12;
        let options = DispatcherOptions::new().workers(1).stack_size(1 << 20);
        let node = Node::builder("block").options(options).start().unwrap();
        let (release, released) = mpsc::channel::<()>();
        let released = Arc::new(Mutex::new(released));
        let (asks, asked) = mpsc::channel();
        let (done, is_done) = mpsc::channel();
        let mut ends = Vec::new();
        for _ in 0..WORKS {
            let (released, asks, done) = (Arc::clone(&released), asks.clone(), done.clone());
            let process = behavior_fn(move |ctx: Context<()>| async move {
                let mut work = ctx.block(move || released.lock().unwrap().recv().is_ok());
                let first = poll_fn(|cx| Poll::Ready(Pin::new(&mut work).poll(cx))).await;
                asks.send(first.is_pending()).unwrap();
                done.send(work.await).unwrap();
                Ok(())
            });
            ends.push(node.spawn(move || process).start().unwrap().watch());
        }
        assert!(asked.iter().take(WORKS).all(|waits| waits), "one is refused");
        let stats = node.stats();
        assert!((1..WORKS).contains(&stats.blocking_threads), "{}", stats.blocking_threads);
        assert_eq!(stats.blocking_work, WORKS);
        drop(release);
        assert!(is_done.iter().take(WORKS).all(|done| done.is_ok()));
        // A stop for which no thread starts kills at once, also a process that is about to end.
        assert!(ends.into_iter().all(|end| end.wait().is_ok_and(|down| down.reason.is_normal())));
        node.stop().wait().unwrap();
    });
}

#[test]
fn x2_a_stop_that_cannot_have_a_thread_kills_all_and_halts() {
    let test = "x2_a_stop_that_cannot_have_a_thread_kills_all_and_halts";
    runs(test, None, || {
        let node = Node::builder("full").workers(1).start().unwrap();
        let (held, ends) = mpsc::channel::<()>();
        let (failed, fails) = mpsc::channel();
        let (begun, begins) = mpsc::channel();
        let process = behavior_fn(move |mut ctx: Context<()>| async move {
            let _held = held;
            ctx.send_after(Duration::from_nanos(1), ());
            ctx.receive().await;
            begun.send(()).unwrap();
            ctx.receive().await;
            failed.send(ctx.block(|| ()).await.unwrap_err()).unwrap();
            std::future::pending().await
        });
        let process = node.spawn(move || process).start().unwrap();
        // The worker and the timer run: a thread that begins without room for its signal stack aborts the program.
        begins.recv().unwrap();
        // No room for one more stack, of 2 MiB.
        let (mut taken, mut size) = (Vec::new(), 1_usize << 34);
        while size >= 1 << 20 {
            let mut room = Vec::<u8>::new();
            match room.try_reserve_exact(size) {
                Ok(()) => taken.push(room),
                Err(_) => size /= 2,
            }
        }
        process.send(()).unwrap();
        let error = fails.recv().unwrap();
        assert!(matches!(error.downcast_ref(), Some(BlockError::NoThread(_))), "{error}");
        assert_eq!((node.stats().blocking_threads, node.stats().blocking_work), (0, 0));
        let end = process.watch();
        // It waits for nobody.
        let _ = node.stop().wait();
        assert!(node.is_stopping() && ends.recv().is_err());
        assert_eq!(end.wait().map(|down| down.reason), Ok(Reason::Killed));
        drop(taken);
    });
}
