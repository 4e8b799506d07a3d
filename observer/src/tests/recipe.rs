//! The recipe of a crash: `recipe_of_a_crash.rs` is one whose values are filled in.

use crate::api::recipe::recipe;
use krarup_act::{Actor, Context};
use krarup_gen::{CrashReport, Memory, ProcessKind, Reason, Result};
use krarup_node::{Probe, Simulation};

const FILLED: &str = include_str!("recipe_of_a_crash.rs");

/// An actor that fails when more is taken than there is.
#[derive(Default)]
struct Till {
    cents: u32,
}

#[derive(Debug)]
enum TillOrder {
    Put(u32),
    Take(u32),
}

impl Actor for Till {
    type Message = TillOrder;

    async fn handle_message(&mut self, _: &mut Context<TillOrder>, order: TillOrder) -> Result {
        match order {
            TillOrder::Put(cents) => self.cents += cents,
            TillOrder::Take(cents) => match self.cents.checked_sub(cents) {
                Some(left) => self.cents = left,
                None => return Err(Reason::error(format!("{cents} of {} cents", self.cents))),
            },
        }
        Ok(())
    }

    fn show_message(order: &TillOrder) -> Option<String> {
        Some(format!("{order:?}"))
    }
}

/// A simulation whose till fails.
fn crash(recorded: usize) -> CrashReport {
    let sim = Simulation::new(7);
    sim.remember(Memory { crashes: 1, ..Memory::default() });
    let till = sim.spawn(Till::default).record(recorded).wait().unwrap();
    let buyer = Probe::<()>::spawn(&sim);
    till.send(TillOrder::Put(500)).unwrap();
    sim.run_until_idle();
    till.send_high(TillOrder::Put(20)).unwrap();
    till.inspect().wait().unwrap();
    let to = till.clone();
    buyer.run(move |_| to.send(TillOrder::Take(120)).unwrap());
    let to = till.clone();
    buyer.run(move |_| to.send(TillOrder::Take(1000)).unwrap());
    sim.run_until_idle();
    let crashes = sim.view().crashes(0, 1).items;
    (*crashes[0].item).clone()
}

#[test]
fn v17_a_recipe_has_the_recorded_messages_in_order_and_compiles_when_it_is_filled_in() {
    let mut text = recipe(&crash(256));
    for (todo, value) in [
        ("todo!(\"its state\")", "krarup_observer::tests::recipe::Till::default()"),
        ("todo!(\"message 1\")", "krarup_observer::tests::recipe::TillOrder::Put(500)"),
        ("todo!(\"message 3\")", "krarup_observer::tests::recipe::TillOrder::Put(20)"),
        ("todo!(\"message 4\")", "krarup_observer::tests::recipe::TillOrder::Take(120)"),
        ("todo!(\"message 5\")", "krarup_observer::tests::recipe::TillOrder::Take(1000)"),
    ] {
        assert_eq!(text.matches(todo).count(), 1, "{todo} in {text}");
        text = text.replace(todo, value);
    }
    assert_eq!(text, FILLED);
}

/// The run of the recipe ends with the same reason.
mod filled {
    use crate as krarup_observer;

    mod krarup {
        pub(super) mod testing {
            pub(in super::super) use krarup_node::{Probe, Simulation};
        }
    }

    include!("recipe_of_a_crash.rs");
}

#[test]
fn v17_without_a_recorder_a_recipe_has_the_item_in_hand() {
    let report = crash(0);
    assert!(report.recorded.is_empty());
    let text = recipe(&report);
    assert!(
        text.contains("let message: krarup_observer::tests::recipe::TillOrder = todo!"),
        "{text}"
    );
    assert_eq!(text.matches("todo!(\"message").count(), 1);
    assert!(!text.contains("Take"), "{text}");
}

/// The name of a behaviour is that of its state: what is spawned may be around it.
#[test]
fn v17_a_recipe_says_how_what_has_a_state_of_its_own_is_spawned() {
    let mut report = crash(0);
    for (kind, line) in [
        (ProcessKind::Actor, "let behavior = || -> krarup_observer::tests::recipe::Till { todo!"),
        (ProcessKind::Stateful, "let behavior = move || krarup::state::Stateful::new(state());"),
        (
            ProcessKind::Process,
            "recipe::Till; of a state machine `krarup::Machine::new` around its state.",
        ),
        (ProcessKind::Step, "recipe::Till, wrapped as it was when it was spawned."),
    ] {
        report.kind = kind;
        let text = recipe(&report);
        assert!(text.contains(line), "{kind}: {text}");
        assert_eq!(text.matches("let behavior = ").count(), 1);
    }
}
