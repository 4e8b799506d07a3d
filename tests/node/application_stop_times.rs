//! The time that an application has for its stop: rules A5, A9 and X8.

use crate::application_support::{Say, app, say};
use crate::support::Log;
use krarup::application::Application;
use krarup::behavior::{Received, behavior_fn};
use krarup::observe::{ApplicationStep, Report};
use krarup::prelude::*;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Needs 12 s for its end.
struct Slow(Log);

impl Actor for Slow {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }

    async fn terminate(&mut self, ctx: &mut Context<()>, _: &Reason) {
        ctx.sleep(12 * SECOND).await;
        self.0.note(format!("written at {}", ctx.now()));
    }
}

/// An application with a child that needs 12 s and may take 20 s.
fn slow(log: &Log) -> Application {
    let log = log.clone();
    Application::new("slow", move || {
        let log = log.clone();
        let child = ChildSpec::worker("writer", move || Slow(log.clone()));
        Supervisor::one_for_one().child(child.shutdown(20 * SECOND))
    })
}

/// What is written, and when it has stopped.
fn stopped(
    application: impl Fn(&Log) -> Application,
    stop: impl Fn(&Simulation),
) -> (Vec<String>, Duration) {
    let log = Log::new();
    let sim = Simulation::with_applications(1, [application(&log)]).unwrap();
    stop(&sim);
    (log.take(), sim.now().since(krarup::Timestamp::ZERO))
}

#[test]
fn a9_an_application_has_the_time_of_the_stop_of_its_node() {
    let node =
        |time: u32| move |sim: &Simulation| sim.stop().timeout(time * SECOND).wait().unwrap();
    let written = || vec!["written at 12s".to_owned()];
    assert_eq!(stopped(slow, node(30)), (written(), 12 * SECOND));
    assert_eq!(stopped(|log| slow(log).service(), node(30)), (written(), 12 * SECOND));
    // No more than that.
    assert_eq!(stopped(slow, node(5)), (vec![], 5 * SECOND));
    // A time of its own is exact.
    assert_eq!(stopped(|log| slow(log).stop_timeout(3 * SECOND), node(30)), (vec![], 3 * SECOND));
    let longer = |log: &Log| slow(log).stop_timeout(60 * SECOND);
    assert_eq!(stopped(longer, node(30)), (written(), 12 * SECOND));
}

#[test]
fn a9_what_runs_on_stop_has_the_time_of_the_stop_of_the_node_too() {
    let prepares = |log: &Log| {
        let log = log.clone();
        slow(&Log::new()).on_stop(move |ctx: Context<()>| {
            let log = log.clone();
            async move {
                ctx.sleep(15 * SECOND).await;
                log.note("prepared");
                Ok(())
            }
        })
    };
    let (log, time) = stopped(prepares, |sim| sim.stop().timeout(60 * SECOND).wait().unwrap());
    assert_eq!((log, time), (vec!["prepared".to_owned()], 27 * SECOND));
}

#[test]
fn a5_an_application_that_is_stopped_alone_has_ten_seconds_or_its_own_time() {
    let alone = |sim: &Simulation| sim.stop_application("slow").wait().unwrap();
    assert_eq!(stopped(slow, alone), (vec![], Application::STOP_TIMEOUT));
    let longer = |log: &Log| slow(log).stop_timeout(20 * SECOND);
    assert_eq!(stopped(longer, alone), (vec!["written at 12s".to_owned()], 12 * SECOND));
}

#[test]
fn a9_a_stop_of_the_node_gives_more_time_to_an_application_that_is_being_stopped() {
    let both = |sim: &Simulation| {
        sim.stop_application("slow").start().unwrap();
        sim.advance(5 * SECOND);
        sim.stop().timeout(30 * SECOND).wait().unwrap();
    };
    assert_eq!(stopped(slow, both), (vec!["written at 12s".to_owned()], 12 * SECOND));
    // It is killed with the others at the end of that time.
    let hangs = |sim: &Simulation| {
        say(sim, "hangs", Say::Hang);
        sim.stop_application("hangs").start().unwrap();
        sim.advance(5 * SECOND);
        sim.stop().timeout(30 * SECOND).wait().unwrap();
    };
    assert_eq!(stopped(|log| app("hangs", log), hangs).1, 35 * SECOND);
}

fn is_kill(report: &Report) -> bool {
    match report {
        Report::Overdue(_) => true,
        Report::Application(event) => matches!(event.what.step, ApplicationStep::Overdue(_)),
        _ => false,
    }
}

/// Takes what waits.
async fn waiting(ctx: &mut Context<Report>) -> Option<Received<Report>> {
    let mut next = pin!(ctx.receive());
    poll_fn(|cx| match next.as_mut().poll(cx) {
        Poll::Ready(received) => Poll::Ready(Some(received)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// A service that notes what a stop had to kill.
fn kills(sim: &Simulation, log: &Log) {
    let (reports, log) = (sim.reports(), log.clone());
    let hears = behavior_fn(move |mut ctx: Context<Report>| async move {
        ctx.subscribe(&reports).start()?;
        ctx.stop_in_order();
        ctx.initialised();
        loop {
            match ctx.receive().await {
                Received::Message(report) if is_kill(&report) => log.note(&report),
                Received::Stop(_) => break,
                _ => {}
            }
        }
        // Its own stop has overtaken what waits.
        while let Some(received) = waiting(&mut ctx).await {
            if let Received::Message(report) = received
                && is_kill(&report)
            {
                log.note(&report);
            }
        }
        Ok(())
    });
    sim.spawn_system(move || hears).wait().unwrap();
}

#[test]
fn x8_a_stop_that_kills_an_application_is_reported_with_the_time_that_was_over() {
    let killed = |application: fn(&Log) -> Application| {
        let log = Log::new();
        let sim = Simulation::with_applications(1, [application(&Log::new())]).unwrap();
        kills(&sim, &log);
        sim.stop().timeout(5 * SECOND).wait().unwrap();
        log.take()
    };
    // The supervisor and its child.
    let of_the_node = killed(slow);
    assert_eq!(of_the_node.len(), 2, "{of_the_node:?}");
    for line in of_the_node {
        assert!(line.starts_with("5s warn overdue stop <"), "{line}");
        assert!(line.ends_with("of slow: killed, because it had not stopped after 5s"), "{line}");
    }
    let own = killed(|log| slow(log).stop_timeout(3 * SECOND));
    assert_eq!(own, ["3s warn application of slow: has not stopped after 3s"]);
}
