//! Trace contexts of messages that a state machine postpones (rules V55 and V57).

use crate::machine_support::{Say, Script};
use crate::support::simulations;
use crate::support::spans::message_spans;
use krarup::observe::TraceContext;
use krarup::prelude::*;
use krarup::{Event, Next};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

const TRACES: [&str; 2] = [
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "00-11111111111111111111111111111111-2222222222222222-01",
];

/// Sends in one of these traces.
fn in_trace<T>(number: usize, send: impl FnOnce() -> T) -> T {
    TraceContext::parse(TRACES[number]).unwrap().enter(send)
}

struct Bill;

struct Clerk;

impl Actor for Clerk {
    type Message = Bill;

    async fn handle_message(&mut self, _: &mut Context<Bill>, _: Bill) -> Result {
        Ok(())
    }
}

/// Postpones in the state `a`. In `b` it sends a bill for each message, and one for what it inserts.
fn printer(sim: &Simulation, bound: usize) -> Address<Say> {
    let clerk = sim.spawn(|| Clerk).wait().unwrap();
    let script = Script::new(&crate::support::Log::new(), move |_, state, event| {
        Ok(match event {
            Event::Message(Say::Word("open")) => Next::state("b").insert("opened"),
            event if state == "a" => Next::keep().postpone(event),
            _ => {
                clerk.send(Bill).map_err(|error| Reason::from(error.map(|_| ())))?;
                Next::keep()
            }
        })
    });
    let machine = script.machine();
    sim.spawn(move || machine).mailbox(bound).wait().unwrap()
}

#[test]
fn v55_a_postponed_message_comes_again_in_its_trace() {
    for sim in simulations(10) {
        let printer = printer(&sim, 10);
        let spans = message_spans(|| {
            in_trace(0, || printer.send(Say::Word("text")).unwrap());
            printer.send(Say::Word("text")).unwrap();
            sim.advance(SECOND);
            in_trace(1, || printer.send(Say::Word("open")).unwrap());
            sim.advance(SECOND);
        });
        // The bill for what was inserted is in the trace of the message that opened, that of the
        // first text in its own, and the second text has none.
        let mut seen: Vec<_> =
            spans.iter().map(|span| format!("{} {}", span.name(), &span.trace()[..4])).collect();
        seen.sort();
        let expected = [
            "process Bill 1111",
            "process Bill 4bf9",
            "process Say 1111",
            "process Say 4bf9",
            "process Say 4bf9",
        ];
        assert_eq!(seen, expected);
        let mut first = spans.iter().filter(|span| span.trace() == &TRACES[0][3..35]);
        let (text, again, bill) =
            (first.next().unwrap(), first.next().unwrap(), first.next().unwrap());
        assert_eq!((again.parent(), bill.parent()), (text.own(), again.own()));
        assert_eq!(again.at("krarup.queued_ms"), "1000.0");
        assert!(spans.iter().all(|span| span.ended && span.at("error.type").is_empty()));
    }
}

#[test]
fn v57_a_postponed_message_that_is_lost_has_a_span_that_says_so() {
    let sim = Simulation::new(1);
    let printer = printer(&sim, 1);
    let spans = message_spans(|| {
        for number in [0, 1] {
            in_trace(number, || printer.send(Say::Word("text")).unwrap());
            sim.run_until_idle();
        }
        printer.stop().wait().unwrap();
    });
    let errors: Vec<_> = spans.iter().map(|span| (span.name(), span.at("error.type"))).collect();
    // The second is beyond the bound; the first is postponed until the end.
    let name = "process Say".to_owned();
    let expected = ["", "", "overflow", "unhandled"].map(|error| (name.clone(), error));
    assert_eq!(errors, expected);
    assert_eq!(spans[3].parent(), spans[0].own());
    assert!(spans.iter().all(|span| span.ended));
}
