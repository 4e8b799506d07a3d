//! Who asks a process how it is, and for what (rule X3).

use crate::pool_support::{Job, seconds, workers};
use crate::support::{Log, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::observe::InspectRequest;
use krarup::pool::{PoolBehavior, PoolContext};
use krarup::prelude::*;

/// Says who has asked it, and for what.
struct Asked;

fn answer(request: &InspectRequest) -> Inspection {
    let asker = request.asker().map_or("nobody".to_owned(), |pid| pid.to_string());
    let answer = Inspection::new().with("asker", asker).with("items", request.items().join(" "));
    if request.wants("dear") { answer.with("dear", true) } else { answer }
}

impl Actor for Asked {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }

    fn handle_inspect(&self, request: &InspectRequest) -> Inspection {
        answer(request)
    }
}

#[test]
fn x3_an_actor_knows_the_requester_and_items_of_an_inspection() {
    for sim in simulations(5) {
        let actor = sim.spawn(|| Asked).wait().unwrap();
        let all = actor.inspect().wait().unwrap();
        assert_eq!(all.to_string(), "asker=nobody items= dear=true");
        let some = sim.inspect_items(actor.pid(), ["items", "asker", "other"]).wait().unwrap();
        assert_eq!(some.to_string(), "asker=nobody items=items asker other", "in its own order");
        assert!(actor.inspect_items(["other"]).wait().unwrap().is_empty());
        let log = Log::new();
        let noted = log.clone();
        let asks = behavior_fn(move |ctx: Context<()>| async move {
            let inspection = actor.inspect_items(["asker"]).await?;
            noted.note(inspection.text("asker") == Some(&ctx.pid().to_string()));
            Ok(())
        });
        sim.spawn(move || asks).start().unwrap();
        sim.run_until_idle();
        assert_eq!(log.take(), ["true"]);
    }
}

#[test]
fn x3_requested_items_are_selected_from_a_full_inspection() {
    struct Plain;
    impl Actor for Plain {
        type Message = ();
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Ok(())
        }
        fn inspect(&self) -> Inspection {
            Inspection::new().with("a", 1_u64).with("b", 2_u64)
        }
    }
    let sim = Simulation::new(1);
    let plain = sim.spawn(|| Plain).wait().unwrap();
    assert_eq!(plain.inspect_items(["b"]).wait().unwrap().to_string(), "b=2");
    let bare = behavior_fn(|mut ctx: Context<()>| async move {
        loop {
            if let Received::Inspect(request) = ctx.receive().await {
                request.send(Inspection::new().with("a", 1_u64).with("b", 2_u64));
            }
        }
    });
    let bare = sim.spawn(move || bare).start().unwrap();
    assert_eq!(bare.inspect_items(["a"]).wait().unwrap().to_string(), "a=1");
    let failing = behavior_fn(|mut ctx: Context<()>| async move {
        loop {
            if let Received::Inspect(request) = ctx.receive().await {
                request.fail(CallError::Draining { to: ctx.pid() });
            }
        }
    });
    let failing = sim.spawn(move || failing).start().unwrap();
    assert_eq!(failing.inspect().wait(), Err(CallError::Draining { to: failing.pid() }));
}

/// A pool's behaviour that says who has asked.
struct Curious;

impl PoolBehavior for Curious {
    type Job = Job;
    type Command = ();

    async fn handle_command(&mut self, _: &mut PoolContext<'_, Job, ()>, (): ()) -> Result {
        Ok(())
    }

    fn handle_inspect(&self, request: &InspectRequest) -> Inspection {
        answer(request)
    }
}

#[test]
fn p6_an_inspection_of_a_pool_shows_how_many_messages_wait() {
    for sim in simulations(5) {
        let factory = workers(&Log::new());
        let pool = move || Pool::new(2, factory).mailbox(4).behavior(Curious);
        let pool = sim.spawn(pool).wait().unwrap();
        (0..2).for_each(|n| pool.send(Job::Slow(n, seconds(1))).unwrap());
        sim.run_until_idle();
        (0..3).for_each(|n| pool.send(Job::Slow(n, seconds(1))).unwrap());
        let permit = pool.reserve().unwrap();
        let items = ["waiting", "workers", "items"];
        let answer = pool.inspect_items(items).wait().unwrap();
        // Room that is reserved counts.
        assert_eq!(answer.to_string(), "workers=2 waiting=4 items=waiting workers items");
        drop(permit);
        sim.advance(seconds(1));
        assert_eq!(pool.inspect_items(["waiting"]).wait().unwrap().number("waiting"), Some(1));
        sim.advance(seconds(9));
        assert_eq!(pool.inspect_items(["waiting"]).wait().unwrap().number("waiting"), Some(0));
    }
}
