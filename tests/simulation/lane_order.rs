//! The order in which a process takes what comes while it handles messages, against a
//! scheduler of five lines (rules M2, M4; seeds M14).

use crate::support::{Log, simulations};
use krarup::prelude::*;
use proptest::prelude::*;
use std::collections::VecDeque;

/// What a message has come for: the number that is noted, and what is sent while it is handled.
#[derive(Clone, Debug)]
struct Arrival {
    lane: Lane,
    number: usize,
    /// Handled together with this one.
    sends: Vec<Arrival>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    Main,
    System,
    Urgent,
    /// No message, but an exit signal: it overtakes everything.
    Exit,
}

struct Taker {
    log: Log,
}

impl Actor for Taker {
    type Message = Arrival;

    async fn handle_message(&mut self, ctx: &mut Context<Arrival>, arrival: Arrival) -> Result {
        self.log.note(arrival.number);
        for next in arrival.sends {
            match next.lane {
                Lane::Exit => ctx.exit(ctx.pid(), Reason::Shutdown),
                _ => send(&ctx.address(), next),
            }
        }
        Ok(())
    }
}

fn send(to: &Address<Arrival>, arrival: Arrival) {
    match arrival.lane {
        Lane::System => drop(to.send_high(arrival)),
        Lane::Urgent => drop(to.send_max(arrival)),
        Lane::Main | Lane::Exit => drop(to.send(arrival)),
    }
}

/// What a process must do with these.
fn reference(first: Vec<Arrival>) -> Vec<String> {
    let mut lanes: [VecDeque<Arrival>; 3] = Default::default();
    let mut handled = Vec::new();
    let mut arrive = first;
    loop {
        for arrival in arrive.drain(..) {
            match arrival.lane {
                Lane::Urgent => lanes[0].push_back(arrival),
                Lane::System => lanes[1].push_back(arrival),
                Lane::Main => lanes[2].push_back(arrival),
                Lane::Exit => return handled,
            }
        }
        let Some(next) = lanes.iter_mut().find_map(VecDeque::pop_front) else { return handled };
        handled.push(next.number.to_string());
        arrive = next.sends;
    }
}

/// Gives each its number.
fn number(arrivals: &mut [Arrival], next: &mut usize) {
    for arrival in arrivals {
        arrival.number = *next;
        *next += 1;
        number(&mut arrival.sends, next);
    }
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let lane = prop_oneof![
        20 => Just(Lane::Main), 8 => Just(Lane::System), 8 => Just(Lane::Urgent), 1 => Just(Lane::Exit)
    ];
    let leaf = lane.clone().prop_map(|lane| Arrival { lane, number: 0, sends: Vec::new() });
    let tree = leaf.prop_recursive(4, 40, 5, move |inner| {
        (lane.clone(), prop::collection::vec(inner, 0..5)).prop_map(|(lane, sends)| Arrival {
            lane,
            number: 0,
            sends,
        })
    });
    prop::collection::vec(tree, 1..8).prop_map(|mut all| {
        number(&mut all, &mut 0);
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]

    #[test]
    fn m2_lanes_are_drained_as_in_a_simple_model_for_any_arrivals(
        first in arrivals(),
    ) {
        for sim in simulations(2) {
            let log = Log::new();
            let taker = Taker { log: log.clone() };
            let process = sim.spawn(move || taker).wait().unwrap();
            for arrival in first.clone() {
                match arrival.lane {
                    Lane::Exit => sim.exit(process.pid(), Reason::Shutdown),
                    _ => send(&process, arrival),
                }
            }
            sim.run_until_idle();
            prop_assert_eq!(log.take(), reference(first.clone()));
        }
    }
}
