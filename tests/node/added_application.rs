//! Applications that are added to a running node: rules A1, A4.

use crate::application_support::{app, states};
use crate::support::Log;
use krarup::NodeError;
use krarup::application::ApplicationError;
use krarup::prelude::*;

fn refused(error: NodeError) -> ApplicationError {
    match error {
        NodeError::Application(error) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn a4_one_that_is_added_to_a_running_node_starts_on_request_after_what_it_needs() {
    let log = Log::new();
    let sim = Simulation::with_applications(1, [app("shop", &log)]).unwrap();
    sim.stop_application("shop").wait().unwrap();
    sim.add_application(app("web", &log).needs("shop")).unwrap();
    sim.add_application(app("mail", &log).needs("web")).unwrap();
    assert_eq!(states(&sim), ["shop ended: shutdown", "web loaded", "mail loaded"]);
    let started = sim.start_application("mail").wait().unwrap();
    assert_eq!(
        started.iter().map(|name| name.as_str()).collect::<Vec<_>>(),
        ["shop", "web", "mail"]
    );
    assert_eq!(states(&sim), ["shop running", "web running", "mail running"]);
    sim.stop().wait().unwrap();
    let ended = log.lines().split_off(log.lines().len() - 3);
    assert_eq!(ended, ["end mail shutdown", "end web shutdown", "end shop shutdown"]);
}

#[test]
fn a1_one_that_does_not_fit_is_not_added_to_a_running_node() {
    let log = Log::new();
    let sim = Simulation::with_applications(1, [app("shop", &log)]).unwrap();
    let mut errors =
        [app("shop", &log), app("web", &log).needs("no"), app("web", &log).needs("web")]
            .map(|one| refused(sim.add_application(one).unwrap_err()).to_string())
            .to_vec();
    let name = refused(sim.add_application(app("", &log)).unwrap_err());
    assert!(matches!(name, ApplicationError::InvalidName { .. }), "{name}");
    sim.stop().wait().unwrap();
    errors.push(sim.add_application(app("late", &log)).unwrap_err().to_string());
    assert_eq!(
        errors,
        [
            "application shop is given twice",
            "application web needs no, which is not given",
            "applications need each other in a cycle: web, web",
            "the node is stopping: nothing can be added to it",
        ]
    );
    assert_eq!(states(&sim), ["shop ended: shutdown"]);
}
