//! Applications on threads.

use crate::application_support::{Say, app, failing, say};
use crate::support::Log;
use krarup::application::{Application, Mode};
use krarup::behavior::{behavior_fn, yield_now};
use krarup::prelude::*;
use std::sync::Barrier;
use std::thread;

#[test]
fn a8_a_real_node_stops_because_of_an_application_and_says_so() {
    let log = Log::new();
    let node = Node::builder("a8@localhost")
        .application(app("shop", &log).needs("storage").mode(Mode::Permanent))
        .application(app("storage", &log))
        .start()
        .unwrap();
    say(&node, "shop", Say::End(Reason::Normal));
    let stopped = node.stopped().wait().unwrap();
    assert_eq!(stopped.to_string(), "application shop ended: normal");
    let lines = ["start storage", "start shop", "end shop normal", "end storage shutdown"];
    assert_eq!(log.take(), lines);
    node.stop().wait().unwrap();
}

#[test]
fn a3_a_builder_whose_application_fails_gives_no_node_and_leaves_no_process() {
    let log = Log::new();
    let builder = Node::builder("a3@localhost").application(app("a", &log));
    let error = builder.application(failing("b", &log)).start().unwrap_err();
    assert_eq!(error.to_string(), "application b did not start: boom");
    assert_eq!(log.take(), ["start a", "end a shutdown"]);
}

#[test]
fn a1_a_node_with_applications_is_not_started_within_a_process() {
    let node = Node::start("outer@localhost").unwrap();
    let log = Log::new();
    let task = node.task(async move {
        let inner = Node::builder("inner@localhost").application(app("a", &log)).start();
        inner.map(drop).unwrap_err().to_string()
    });
    assert!(task.wait().unwrap().starts_with("cannot wait for the start of the applications"));
    node.stop().wait().unwrap();
}

#[test]
fn a5_starts_and_stops_that_race_leave_an_application_that_runs_or_has_ended() {
    let log = Log::new();
    let node = Node::builder("race@localhost")
        .application(app("a", &log).on_request())
        .application(app("b", &log).needs("a").on_request())
        .start()
        .unwrap();
    let begin = Barrier::new(4);
    thread::scope(|scope| {
        for which in 0..4 {
            let (node, begin) = (&node, &begin);
            scope.spawn(move || {
                begin.wait();
                for round in 0..200 {
                    if (which + round) % 2 == 0 {
                        let _ = node.start_application("b").wait();
                    } else {
                        let _ = node.stop_application("a").with_dependents().wait();
                    }
                }
            });
        }
    });
    let _ = node.stop_application("a").with_dependents().wait();
    assert_eq!(log.count("start a"), log.count("end a shutdown"));
    assert_eq!(log.count("start b"), log.count("end b shutdown"));
    assert!(node.applications().iter().all(|app| !app.state.is_alive() && app.processes == 0));
    node.stop().wait().unwrap();
}

#[test]
fn a6_spawns_of_other_threads_that_race_with_a_stop_leave_nobody() {
    let many = || {
        behavior_fn(|mut ctx: Context<()>| async move {
            ctx.initialised();
            loop {
                let left = || {
                    behavior_fn(|mut ctx: Context<()>| async move {
                        ctx.trap_exits(true);
                        loop {
                            ctx.receive().await;
                        }
                    })
                };
                if ctx.spawn(left).start().is_err() {
                    return Ok(());
                }
                yield_now().await;
            }
        })
    };
    let node =
        Node::builder("stray@localhost").application(Application::new("a", many)).start().unwrap();
    for _ in 0..20 {
        node.stop_application("a").wait().unwrap();
        // The keeper of the application may still be about to end.
        let left = node.processes().into_iter().filter_map(|pid| node.process_info(pid));
        assert_eq!(left.filter(|process| process.application.is_some()).count(), 0);
        node.start_application("a").wait().unwrap();
    }
    node.stop().wait().unwrap();
}
