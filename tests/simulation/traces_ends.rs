//! How the spans of messages and calls end: rule V57.

use crate::support::simulations;
use crate::support::spans::{MessageSpan, message_spans};
use krarup::observe::TraceContext;
use krarup::prelude::*;
use std::time::Duration;

fn context() -> TraceContext {
    TraceContext::new(7, 8).unwrap()
}

enum Do {
    Panic,
    Fail,
    Stop,
    Wait,
    Call(Address<Do>),
    Answer(Reply<u32>),
}

struct Doer;

impl Actor for Doer {
    type Message = Do;
    async fn handle_message(&mut self, ctx: &mut Context<Do>, what: Do) -> Result {
        match what {
            Do::Panic => panic!("planned"),
            Do::Fail => return Err(Reason::from(std::fmt::Error)),
            Do::Stop => ctx.stop(),
            Do::Wait => ctx.sleep(Duration::from_secs(100)).await,
            Do::Call(other) => {
                let _ = other.call(Do::Answer).timeout(Duration::from_millis(10)).await;
            }
            Do::Answer(reply) => {
                ctx.sleep(Duration::from_secs(1)).await;
                reply.send(1);
            }
        }
        Ok(())
    }
}

/// The spans of one message, and what else `then` does.
fn traced(sim: &Simulation, message: Do, then: impl FnOnce(&Address<Do>)) -> Vec<MessageSpan> {
    let doer = sim.spawn(|| Doer).wait().unwrap();
    let spans = message_spans(|| {
        context().enter(|| drop(doer.send(message)));
        then(&doer);
        sim.advance(Duration::from_secs(10));
    });
    assert!(spans.iter().all(|span| span.ended), "{spans:?}");
    spans
}

#[test]
fn v57_a_handler_that_fails_ends_its_span_with_the_kind_of_the_reason() {
    for sim in simulations(5) {
        let error = |message| traced(&sim, message, |_| ())[0].at("error.type").to_owned();
        assert_eq!(error(Do::Panic), "panic");
        assert_eq!(error(Do::Fail), "error");
        assert_eq!(error(Do::Stop), "");
        let killed = traced(&sim, Do::Wait, |doer| {
            sim.advance(Duration::from_millis(1));
            sim.kill(doer.pid());
        });
        assert_eq!(killed[0].at("error.type"), "killed");
        assert_eq!(killed[0].at("otel.status_code"), "ERROR");
    }
}

#[test]
fn v57_a_call_that_times_out_ends_its_span_with_timeout() {
    for sim in simulations(5) {
        let slow = sim.spawn(|| Doer).wait().unwrap();
        let spans = traced(&sim, Do::Call(slow), |_| ());
        let names: Vec<_> = spans.iter().map(|span| (span.name(), span.at("error.type"))).collect();
        let expected = [("process Do", ""), ("call Do", "timeout"), ("process Do", "")];
        assert_eq!(names, expected.map(|(name, error)| (name.to_owned(), error)));
    }
}

#[test]
fn v57_a_call_that_is_refused_or_lost_ends_its_span() {
    let sim = Simulation::new(1);
    let gone = sim.spawn(|| Doer).wait().unwrap();
    sim.kill(gone.pid());
    sim.run_until_idle();
    let spans = traced(&sim, Do::Call(gone), |_| ());
    let call = spans.iter().find(|span| span.name() == "call Do").unwrap();
    assert_eq!(call.at("error.type"), "no_process");
    let lost = sim.spawn(|| Doer).wait().unwrap();
    let other = lost.clone();
    let spans = traced(&sim, Do::Call(lost), |_| {
        sim.advance(Duration::from_millis(1));
        sim.kill(other.pid());
    });
    let call = spans.iter().find(|span| span.name() == "call Do").unwrap();
    assert_eq!(call.at("error.type"), "terminated");
}

#[test]
fn v57_a_message_that_becomes_a_dead_letter_has_a_span_that_says_so() {
    let sim = Simulation::new(1);
    let doer = sim.spawn(|| Doer).wait().unwrap();
    let spans = message_spans(|| {
        context().enter(|| {
            doer.send(Do::Stop).unwrap();
            doer.send(Do::Fail).unwrap();
        });
        sim.run_until_idle();
        context()
            .enter(|| assert!(doer.send(Do::Fail).is_err() && doer.send_high(Do::Fail).is_err()));
    });
    let errors: Vec<_> = spans.iter().map(|span| span.at("error.type")).collect();
    assert_eq!(errors, ["", "unhandled", "no_process", "no_process"]);
    assert!(spans.iter().all(|span| span.ended && span.trace().ends_with('7')));
    assert_eq!(sim.stats().dead_letters, 3);
}
