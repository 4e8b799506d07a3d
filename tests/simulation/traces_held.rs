//! Trace contexts of messages that are not handled by the actor at once: values of any type, messages
//! that are set aside, handlers of a state actor that run side by side (rules V55 and V57).

use crate::support::simulations;
use crate::support::spans::{MessageSpan, message_spans};
use krarup::Dynamic;
use krarup::observe::TraceContext;
use krarup::prelude::*;
use krarup::state::{Scope, StateActor, StateCalls, Stateful};
use std::time::Duration;

const TRACES: [&str; 2] = [
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "00-11111111111111111111111111111111-2222222222222222-01",
];

/// Sends in one of these traces.
fn in_trace<T>(number: usize, send: impl FnOnce() -> T) -> T {
    TraceContext::parse(TRACES[number]).unwrap().enter(send)
}

fn failed<T>(error: SendError<T>) -> Reason {
    Reason::from(error.map(|_| ()))
}

fn names(spans: &[MessageSpan]) -> Vec<String> {
    spans.iter().map(MessageSpan::name).collect()
}

struct Bill;

struct Clerk;

impl Actor for Clerk {
    type Message = Bill;
    async fn handle_message(&mut self, _: &mut Context<Bill>, _: Bill) -> Result {
        Ok(())
    }
}

enum Line {
    Text,
    Open,
}

/// Sets lines aside until it is open.
struct Printer {
    is_open: bool,
    clerk: Address<Bill>,
}

impl Actor for Printer {
    type Message = Line;
    async fn handle_message(&mut self, ctx: &mut Context<Line>, line: Line) -> Result {
        match line {
            Line::Text if !self.is_open => ctx.stash(line)?,
            Line::Text => self.clerk.send(Bill).map_err(failed)?,
            Line::Open => {
                self.is_open = true;
                ctx.unstash_all();
            }
        }
        Ok(())
    }
}

#[test]
fn v55_a_message_that_was_set_aside_is_handled_again_in_its_trace() {
    for sim in simulations(10) {
        let clerk = sim.spawn(|| Clerk).wait().unwrap();
        let printer = sim.spawn(move || Printer { is_open: false, clerk: clerk.clone() });
        let printer = printer.wait().unwrap();
        let spans = message_spans(|| {
            in_trace(0, || printer.send(Line::Text).unwrap());
            printer.send(Line::Text).unwrap();
            sim.advance(Duration::from_secs(1));
            in_trace(1, || printer.send(Line::Open).unwrap());
            sim.advance(Duration::from_secs(1));
        });
        let expected = ["process Line", "process Line", "process Line", "process Bill"];
        assert_eq!(names(&spans), expected, "the line without a trace has none");
        let [first, open, again, bill] = &spans[..] else { panic!() };
        assert_eq!((first.trace(), open.trace()), (&TRACES[0][3..35], &TRACES[1][3..35]));
        assert_eq!((again.trace(), again.parent()), (first.trace(), first.own()));
        assert_eq!((bill.trace(), bill.parent()), (first.trace(), again.own()));
        assert_eq!(again.at("krarup.queued_ms"), "1000.0");
        assert!(spans.iter().all(|span| span.ended && span.at("error.type").is_empty()));
    }
}

#[test]
fn v57_a_message_that_was_set_aside_and_is_never_handled_has_a_span_that_says_so() {
    let sim = Simulation::new(1);
    let clerk = sim.spawn(|| Clerk).wait().unwrap();
    let printer = sim.spawn(move || Printer { is_open: false, clerk: clerk.clone() });
    let printer = printer.wait().unwrap();
    let spans = message_spans(|| {
        in_trace(0, || printer.send(Line::Text).unwrap());
        sim.run_until_idle();
        printer.stop().wait().unwrap();
    });
    assert_eq!(names(&spans), ["process Line", "process Line"]);
    assert_eq!(spans[1].at("error.type"), "unhandled");
    assert_eq!(spans[1].parent(), spans[0].own());
}

/// Takes values of any type, and passes a number on.
struct Sorter {
    clerk: Address<Bill>,
}

impl Actor for Sorter {
    type Message = ();
    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
    async fn init(&mut self, ctx: &mut Context<()>) -> Result {
        ctx.take_others();
        Ok(())
    }
    async fn handle_other(&mut self, _: &mut Context<()>, value: Dynamic) -> Result {
        match value.downcast::<u32>() {
            Ok(_) => self.clerk.send(Bill).map_err(failed),
            Err(_) => Ok(()),
        }
    }
}

#[test]
fn v55_a_value_of_any_type_carries_its_trace() {
    for sim in simulations(10) {
        let clerk = sim.spawn(|| Clerk).wait().unwrap();
        let sorter = sim.spawn(move || Sorter { clerk: clerk.clone() }).wait().unwrap();
        let spans = message_spans(|| {
            in_trace(0, || sim.node().send(sorter.pid(), 7_u32).unwrap());
            sim.node().send(sorter.pid(), 8_u32).unwrap();
            sim.run_until_idle();
        });
        assert_eq!(names(&spans), ["process u32", "process Bill"]);
        assert_eq!(spans[0].parent(), &TRACES[0][36..52]);
        assert_eq!(spans[1].parent(), spans[0].own());
        let spans = message_spans(|| {
            sorter.suspend().wait().unwrap();
            in_trace(0, || sim.node().send(sorter.pid(), 7_u32).unwrap());
            sim.node().kill(sorter.pid());
            sim.run_until_idle();
        });
        assert_eq!(names(&spans), ["process u32"]);
        assert_eq!(spans[0].at("error.type"), "unhandled");
    }
}

/// Passes each notice on after a while: the first one takes longer.
struct Desk {
    clerk: Address<Bill>,
}

impl StateActor for Desk {
    type Notice = u32;
    type Ask = ();
    type Reply = ();
    type Event = u32;

    async fn handle_notice(scope: &mut Scope<Self>, number: u32) -> Result {
        if number == 9 {
            return Err(Reason::error("no desk has that number"));
        }
        scope.sleep(Duration::from_millis(u64::from(10 - number))).await;
        scope.with(|desk| desk.clerk.send(Bill)).map_err(failed)
    }

    async fn handle_ask(_: &mut Scope<Self>, (): ()) -> Result {
        Ok(())
    }

    async fn handle_event(scope: &mut Scope<Self>, _: u32) -> Result {
        scope.with(|desk| desk.clerk.send(Bill)).map_err(failed)
    }
}

#[test]
fn v55_handlers_of_a_state_actor_that_run_side_by_side_have_each_their_trace() {
    for sim in simulations(10) {
        let clerk = sim.spawn(|| Clerk).wait().unwrap();
        let desk = sim.spawn(move || Stateful::new(Desk { clerk })).wait().unwrap();
        let spans = message_spans(|| {
            in_trace(0, || desk.notice(1).unwrap());
            in_trace(1, || desk.notice(2).unwrap());
            desk.notice(3).unwrap();
            sim.advance(Duration::from_secs(1));
            in_trace(0, || desk.send_high(4).unwrap());
            sim.advance(Duration::from_secs(1));
        });
        let notices: Vec<_> =
            spans.iter().filter(|span| span.name().contains("StateMessage")).collect();
        let bills: Vec<_> = spans.iter().filter(|span| span.name() == "process Bill").collect();
        assert_eq!((notices.len(), bills.len(), spans.len()), (2, 3, 6), "{:?}", names(&spans));
        // The second one was passed on first.
        assert_eq!((bills[0].trace(), bills[0].parent()), (&TRACES[1][3..35], notices[1].own()));
        assert_eq!((bills[1].trace(), bills[1].parent()), (&TRACES[0][3..35], notices[0].own()));
        assert_eq!(bills[2].trace(), &TRACES[0][3..35]);
        assert!(spans.iter().all(|span| span.ended && span.at("error.type").is_empty()));
    }
}

#[test]
fn v57_a_handler_of_a_state_actor_that_fails_ends_its_span_and_those_of_the_others() {
    let sim = Simulation::new(1);
    let clerk = sim.spawn(|| Clerk).wait().unwrap();
    let desk = sim.spawn(move || Stateful::new(Desk { clerk })).wait().unwrap();
    let spans = message_spans(|| {
        in_trace(0, || desk.notice(1).unwrap());
        in_trace(1, || desk.notice(9).unwrap());
        sim.advance(Duration::from_secs(1));
    });
    let errors: Vec<_> = spans.iter().map(|span| span.at("error.type")).collect();
    assert_eq!(errors, ["killed", "error"]);
    assert!(spans.iter().all(|span| span.ended));
}
