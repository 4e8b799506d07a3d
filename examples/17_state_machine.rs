//! A state machine: a turnstile that opens for a coin, closes after ten seconds, and keeps what is
//! asked of it at the wrong time until the right one.
//!
//! ```text
//! cargo run --example 17_state_machine
//! ```
//!
//! The state is an enum; one callback matches on state and event, and says what comes next. The
//! state time-out ends with its state, so nobody has to cancel it. Events that come too early are
//! postponed, and come again when the state has changed.

use krarup::prelude::*;
use krarup::state::{Entered, Event, First, Machine, Next, StateMachine};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Gate {
    Closed,
    Open,
    /// Somebody with a key has taken it out of service.
    Locked,
}

enum Say {
    Coin,
    /// Asks to pass: the answer says how many have passed.
    Push(Reply<u32>),
    Key,
}

#[derive(Default)]
struct Turnstile {
    passed: u32,
    coins: u32,
}

impl StateMachine for Turnstile {
    type State = Gate;
    type Message = Say;
    type Internal = &'static str;
    type Timer = &'static str;

    async fn init(&mut self, _: &mut Context<Say>) -> Result<First<Self>> {
        Ok(First::state(Gate::Closed))
    }

    async fn enter(&mut self, _: &mut Context<Say>, from: Gate, to: Gate) -> Result<Entered<Self>> {
        println!("{from:?} -> {to:?}");
        Ok(match to {
            Gate::Open => Entered::new().state_timeout(Duration::from_secs(10), "nobody passes"),
            Gate::Closed | Gate::Locked => Entered::new(),
        })
    }

    async fn handle_event(
        &mut self,
        _: &mut Context<Say>,
        state: Gate,
        event: Event<Self>,
    ) -> Result<Next<Self>> {
        Ok(match (state, event) {
            (Gate::Closed, Event::Message(Say::Coin)) => {
                self.coins += 1;
                Next::state(Gate::Open)
            }
            (Gate::Open, Event::Message(Say::Push(reply))) => {
                self.passed += 1;
                reply.send(self.passed);
                Next::state(Gate::Closed)
            }
            (Gate::Open, Event::StateTimeout(why)) => {
                println!("{why}");
                Next::state(Gate::Closed)
            }
            (Gate::Locked, Event::Message(Say::Key)) => Next::state(Gate::Closed),
            (_, Event::Message(Say::Key)) => Next::state(Gate::Locked),
            // A coin for the next one, a push before the coin: when the state is another one.
            (_, event) => Next::keep().postpone(event),
        })
    }

    async fn terminate(&mut self, _: &mut Context<Say>, state: Gate, reason: &Reason) {
        println!("ends {state:?} ({reason}): {} coins, {} passed", self.coins, self.passed);
    }
}

fn main() -> Result {
    // In virtual time: ten seconds pass at once.
    let sim = Simulation::new(17);
    let gate = sim.spawn(|| Machine::new(Turnstile::default())).name("gate").wait()?;

    // The push comes before its coin: its call waits in the machine.
    let push = gate.clone();
    let impatient = krarup::behavior::behavior_fn(move |_: Context<()>| async move {
        println!("passed as number {}", push.call(Say::Push).await?);
        Ok(())
    });
    sim.spawn(|| impatient).start()?;
    sim.run_until_idle();
    println!("{}", gate.inspect().wait()?);
    gate.send(Say::Coin)?;
    sim.run_until_idle();

    // A coin, and nobody passes.
    gate.send(Say::Coin)?;
    sim.advance(Duration::from_secs(10));

    // Out of service: the coin is kept until the key turns again.
    gate.send(Say::Key)?;
    gate.send(Say::Coin)?;
    sim.run_until_idle();
    gate.send(Say::Key)?;
    assert_eq!(gate.call(Say::Push).wait()?, 2);
    gate.stop().wait()?;
    Ok(())
}
