//! What a node reports of its applications: rule A13.

use crate::application_support::{Say, app, failing, say};
use crate::support::Log;
use crate::support::journal::Journal;
use krarup::application::Mode;
use krarup::prelude::*;

/// Runs this with a subscriber that notes what is said of applications.
fn reported(run: impl FnOnce(&Log)) -> Vec<String> {
    let log = Log::new();
    let said = log.clone();
    let told = Journal::new(
        |event| event.target() == "krarup" && event.fields().field("application").is_some(),
        move |fields| {
            let known = ["message", "application", "phase", "reason", "error"];
            let known = fields.iter().filter(|(name, _)| known.contains(name));
            let line: Vec<_> = known.map(|(_, value)| value.as_str()).collect();
            said.note(line.join(" | "));
        },
    );
    tracing::subscriber::with_default(told, || run(&Log::new()));
    log.take()
}

#[test]
fn a13_each_start_phase_end_and_stop_is_reported() {
    let lines = reported(|log| {
        let shop = app("shop", log).phase("warm", |_: Context<()>| async { Ok(()) });
        let bad = failing("bad", log).on_request();
        let sim = Simulation::with_applications(1, [shop.mode(Mode::Permanent), bad]).unwrap();
        sim.start_application("bad").wait().unwrap_err();
        sim.stop_application("shop").wait().unwrap();
        sim.start_application("shop").wait().unwrap();
        say(&sim, "shop", Say::End(Reason::error("crash")));
        sim.stopped().wait().unwrap();
    });
    let up = [
        "an application starts | shop",
        "a phase of an application begins | shop | \"warm\"",
        "an application runs | shop",
    ];
    let failed = [
        "an application starts | bad",
        "an application did not start | bad | application bad did not start: boom",
        "an application has ended | bad | boom",
    ];
    let stopped =
        ["an application is asked to stop | shop", "an application has ended | shop | shutdown"];
    let ended = [
        "an application ends | shop | crash",
        "the node stops because an application ended | shop | crash",
        "an application has ended | shop | crash",
    ];
    assert_eq!(lines, [&up[..], &failed, &stopped, &up, &ended].concat());
}
