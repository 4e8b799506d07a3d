//! Flight recorders, and the consent of a process to show its messages and its state (rules V16,
//! V50).

use crate::support::{Does, Log, puppet, simulations};
use krarup::Dynamic;
use krarup::behavior::{Behavior, Received, behavior_fn};
use krarup::observe::{
    CrashReport, DebugError, ItemKind, Lane, Memory, RecordError, Recorded, RecordedItem,
    TooManyRecorded,
};
use krarup::prelude::*;
use krarup::supervisor::InPlace;
use std::fmt;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq)]
enum Order {
    Take(u32),
    Break(&'static str),
    Secret,
}

/// An actor that shows its messages, except for secret ones.
#[derive(Default)]
struct Open;

impl Actor for Open {
    type Message = Order;

    async fn handle_message(&mut self, _: &mut Context<Order>, order: Order) -> Result {
        match order {
            Order::Break(why) => Err(Reason::error(why)),
            Order::Take(_) | Order::Secret => Ok(()),
        }
    }

    fn show_message(order: &Order) -> Option<String> {
        (*order != Order::Secret).then(|| format!("{order:?}"))
    }
}

/// The same actor, which shows nothing.
struct Private;

impl Actor for Private {
    type Message = Order;

    async fn handle_message(&mut self, ctx: &mut Context<Order>, order: Order) -> Result {
        Open.handle_message(ctx, order).await
    }
}

fn simulation(sim: Simulation) -> Simulation {
    sim.remember(Memory { crashes: 64, ..Memory::default() });
    sim
}

fn crash_of(sim: &Simulation, pid: Pid) -> CrashReport {
    let crashes = sim.view().crashes(0, 999).items;
    let report = crashes.iter().find(|report| report.item.pid == pid);
    (*report.expect("a crash report").item).clone()
}

/// The texts of the items.
fn texts(items: &[Recorded<RecordedItem>]) -> Vec<&str> {
    items.iter().map(|it| it.item.text.as_deref().unwrap_or("-")).collect()
}

fn kinds(items: &[Recorded<RecordedItem>]) -> Vec<(Lane, ItemKind)> {
    items.iter().map(|it| (it.item.lane, it.item.kind)).collect()
}

#[test]
fn v16_the_last_items_before_a_crash_are_there_in_order_and_end_with_the_one_in_hand() {
    for sim in simulations(5).map(simulation) {
        let open = sim.spawn(|| Open).record(3).wait().unwrap();
        let sender = puppet(&sim, "sender", &Log::new());
        let to = open.clone();
        sender.tells(move |_| {
            for number in 1..=5 {
                to.send(Order::Take(number)).unwrap();
            }
        });
        sim.advance(SECOND);
        let live = sim.recorded(open.pid());
        assert_eq!(texts(&live), ["Take(3)", "Take(4)", "Take(5)"]);
        assert_eq!(live.iter().map(|it| it.seq).collect::<Vec<_>>(), [3, 4, 5]);
        assert!(live.iter().all(|it| it.item.sender == Some(sender.pid())));
        assert_eq!(sim.process_info(open.pid()).unwrap().recorded, 3);
        open.send(Order::Secret).unwrap();
        open.send(Order::Break("no stock")).unwrap();
        sim.run_until_idle();
        let report = crash_of(&sim, open.pid());
        assert_eq!(texts(&report.recorded), ["Take(5)", "-", "Break(\"no stock\")"]);
        let order = Some(std::any::type_name::<Order>());
        assert!(report.recorded.iter().all(|it| it.item.type_name == order));
        assert_eq!(report.in_hand_text.as_deref(), Some("Break(\"no stock\")"));
        let last = &report.recorded[2];
        let in_hand = report.in_hand.unwrap();
        assert_eq!((last.item.kind, last.item.sender), (in_hand.kind, in_hand.sender));
        assert_eq!(last.item.sender, None, "it came from outside");
        assert_eq!(last.at.since(report.recorded[0].at), SECOND);
        assert!(sim.recorded(open.pid()).is_empty(), "it has ended");
    }
}

#[test]
fn v16_an_idle_process_that_is_killed_has_its_items_and_none_in_hand() {
    for sim in simulations(3).map(simulation) {
        let open = sim.spawn(|| Open).record(2).wait().unwrap();
        open.send(Order::Take(1)).unwrap();
        sim.run_until_idle();
        sim.kill(open.pid());
        sim.run_until_idle();
        let report = crash_of(&sim, open.pid());
        assert_eq!((report.in_hand, report.in_hand_text), (None, None));
        assert_eq!(texts(&report.recorded), ["Take(1)"]);
    }
}

#[test]
fn v16_each_item_is_recorded_with_its_lane_and_its_kind() {
    for sim in simulations(5) {
        let bare = || {
            behavior_fn(|mut ctx: Context<u32, char>| async move {
                ctx.trap_exits(true);
                loop {
                    match ctx.receive().await {
                        Received::Inspect(request) => {
                            request.send(krarup::observe::Inspection::new());
                        }
                        Received::State(reply) => reply.send(None),
                        _ => {}
                    }
                }
            })
        };
        let bare = sim.spawn(bare).record(256).wait().unwrap();
        bare.suspend().wait().unwrap();
        bare.send(1).unwrap();
        bare.send_high('s').unwrap();
        bare.send_max('u').unwrap();
        sim.exit(bare.pid(), Reason::Shutdown);
        assert!(bare.resume());
        sim.run_until_idle();
        bare.inspect().wait().unwrap();
        assert!(bare.state::<u8>().wait().is_err());
        let recorded = sim.recorded(bare.pid());
        assert_eq!(
            kinds(&recorded),
            [
                (Lane::Urgent, ItemKind::Command),
                (Lane::System, ItemKind::Command),
                (Lane::Main, ItemKind::Message),
                (Lane::Main, ItemKind::Exit),
                (Lane::Urgent, ItemKind::Inspect),
                (Lane::Urgent, ItemKind::State),
            ]
        );
        let types: Vec<_> = recorded.iter().map(|it| it.item.type_name).collect();
        assert_eq!(types, [Some("char"), Some("char"), Some("u32"), None, None, None]);
    }
}

#[test]
fn v16_a_recorder_is_turned_on_and_off_while_the_process_works() {
    for sim in simulations(5) {
        let open = sim.spawn(|| Open).wait().unwrap();
        let take = |number| {
            open.send(Order::Take(number)).unwrap();
            sim.run_until_idle();
        };
        take(1);
        assert!(sim.recorded(open.pid()).is_empty());
        sim.record(open.pid(), 2).unwrap();
        assert_eq!(sim.process_info(open.pid()).unwrap().recorded, 2);
        (2..=4).for_each(take);
        assert_eq!(texts(&sim.recorded(open.pid())), ["Take(3)", "Take(4)"]);
        // A smaller one keeps the newest.
        sim.record(open.pid(), 1).unwrap();
        assert_eq!(texts(&sim.recorded(open.pid())), ["Take(4)"]);
        sim.record(open.pid(), 0).unwrap();
        take(5);
        assert!(sim.recorded(open.pid()).is_empty());
        assert_eq!(sim.process_info(open.pid()).unwrap().recorded, 0);
        sim.record(open.pid(), 256).unwrap();
        take(6);
        assert_eq!(texts(&sim.recorded(open.pid())), ["Take(6)"]);
    }
}

#[test]
fn v16_a_recorder_of_more_than_256_items_is_a_typed_error() {
    let sim = Simulation::new(1);
    let too_many = TooManyRecorded::check(257).unwrap_err();
    assert_eq!(sim.spawn(|| Open).record(257).wait().unwrap_err(), SpawnError::Record(too_many));
    let open = sim.spawn(|| Open).record(256).wait().unwrap();
    assert_eq!(sim.record(open.pid(), 257), Err(RecordError::TooMany(too_many)));
    assert_eq!(sim.process_info(open.pid()).unwrap().recorded, 256);
    sim.kill(open.pid());
    sim.run_until_idle();
    assert_eq!(sim.record(open.pid(), 1), Err(RecordError::NoProcess(open.pid())));
}

#[test]
fn v16_a_child_of_a_supervisor_turns_its_own_recorder_on() {
    struct Careful;
    impl Actor for Careful {
        type Message = Order;
        async fn init(&mut self, ctx: &mut Context<Order>) -> Result {
            assert!(ctx.record(999).is_err());
            ctx.record(8).map_err(Reason::error)
        }
        async fn handle_message(&mut self, ctx: &mut Context<Order>, order: Order) -> Result {
            Open.handle_message(ctx, order).await
        }
        fn show_message(order: &Order) -> Option<String> {
            Some(format!("{order:?}"))
        }
    }
    for sim in simulations(3).map(simulation) {
        let child = || ChildSpec::worker("careful", || Careful).name("careful");
        sim.spawn(move || Supervisor::one_for_one().child(child())).wait().unwrap();
        let first: Address<Order> = sim.lookup("careful").unwrap();
        first.send(Order::Take(1)).unwrap();
        first.send(Order::Break("bad")).unwrap();
        sim.run_until_idle();
        let report = crash_of(&sim, first.pid());
        assert_eq!(texts(&report.recorded), ["Take(1)", "Break(\"bad\")"]);
        let second: Address<Order> = sim.lookup("careful").unwrap();
        assert_eq!(sim.process_info(second.pid()).unwrap().recorded, 8);
    }
}

#[test]
fn v16_a_process_in_place_keeps_its_recorder_over_a_restart() {
    for sim in simulations(3) {
        let shop = || InPlace::new(|| Open).intensity(9, SECOND);
        let shop = sim.spawn(shop).record(4).wait().unwrap();
        for order in [Order::Take(1), Order::Break("once"), Order::Take(2)] {
            shop.send(order).unwrap();
        }
        sim.run_until_idle();
        assert_eq!(texts(&sim.recorded(shop.pid())), ["Take(1)", "Break(\"once\")", "Take(2)"]);
    }
}

#[test]
fn v50_what_an_actor_does_not_offer_to_show_appears_nowhere() {
    for sim in simulations(3).map(simulation) {
        let private = sim.spawn(|| Private).record(8).wait().unwrap();
        let limits = krarup::observe::TraceLimits { items: 9, time: SECOND };
        let trace = sim.trace(private.pid(), limits).unwrap();
        private.send(Order::Take(4711)).unwrap();
        private.send(Order::Secret).unwrap();
        sim.run_until_idle();
        assert!(private.state::<Private>().wait().is_err());
        let refused = sim.state_text(private.pid()).wait().unwrap_err();
        assert!(matches!(refused, DebugError::NotOffered(_)), "{refused}");
        private.send(Order::Break("x")).unwrap();
        sim.run_until_idle();
        let report = crash_of(&sim, private.pid());
        let page = trace.page(0, 99).page;
        for item in report.recorded.iter().chain(&page.items) {
            assert_eq!(item.item.text, None);
        }
        assert_eq!((report.recorded.len(), page.items.len()), (5, 5));
        assert_eq!(report.in_hand_text, None);
        for shown in [format!("{report:?}"), format!("{page:?}")] {
            assert!(!shown.contains("4711") && !shown.contains("Secret"), "{shown}");
        }
    }
}

#[test]
fn v50_a_state_is_text_only_if_its_actor_made_it_so() {
    #[derive(Clone, Debug)]
    #[allow(dead_code, reason = "shown by its `Debug`")]
    struct Stock {
        items: u32,
    }
    struct Keeper(bool);
    impl Actor for Keeper {
        type Message = ();
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Ok(())
        }
        fn state(&self) -> Option<Dynamic> {
            let stock = Stock { items: 7 };
            Some(if self.0 { Dynamic::shown(stock) } else { Dynamic::new(stock) })
        }
    }
    let sim = Simulation::new(1);
    let (open, private) = (sim.spawn(|| Keeper(true)), sim.spawn(|| Keeper(false)));
    let (open, private) = (open.wait().unwrap(), private.wait().unwrap());
    let shown = sim.state_text(open.pid()).wait().unwrap();
    assert_eq!(shown.text, "Stock { items: 7 }");
    assert_eq!(shown.type_name, std::any::type_name::<Stock>());
    // The value itself is there for both, for code that knows its type.
    assert_eq!(open.state::<Stock>().wait().unwrap().items, 7);
    assert_eq!(private.state::<Stock>().wait().unwrap().items, 7);
    let refused = sim.state_text(private.pid()).wait().unwrap_err();
    assert!(matches!(refused, DebugError::NotOffered(_)), "{refused}");
}

#[test]
fn v50_a_text_that_panics_or_is_long_harms_nobody() {
    struct Wild;
    impl Actor for Wild {
        type Message = u32;
        async fn handle_message(&mut self, _: &mut Context<u32>, _: u32) -> Result {
            Ok(())
        }
        fn show_message(number: &u32) -> Option<String> {
            assert!(*number > 0, "no text");
            Some("x".repeat(100_000))
        }
        fn state(&self) -> Option<Dynamic> {
            struct Bad;
            impl fmt::Debug for Bad {
                fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                    panic!("no state")
                }
            }
            Some(Dynamic::shown(Bad))
        }
    }
    let sim = Simulation::new(1);
    let wild = sim.spawn(|| Wild).record(8).wait().unwrap();
    wild.send(0).unwrap();
    wild.send(1).unwrap();
    sim.run_until_idle();
    let recorded = sim.recorded(wild.pid());
    assert_eq!(recorded[0].item.text, None);
    let long = recorded[1].item.text.as_ref().unwrap();
    assert!(long.len() <= RecordedItem::MOST_TEXT && long.ends_with("x…"));
    assert!(sim.state_text(wild.pid()).wait().is_err());
    assert!(sim.is_alive(wild.pid()));
}

#[test]
fn v50_a_grain_and_a_bare_process_show_what_their_behaviour_shows() {
    struct Bare;
    impl Behavior for Bare {
        type Message = u32;
        type Command = char;
        async fn run(self, mut ctx: Context<u32, char>) -> Result {
            loop {
                ctx.receive().await;
            }
        }
        fn show_message(number: &u32) -> Option<String> {
            Some(format!("number {number}"))
        }
        fn show_command(command: &char) -> Option<String> {
            Some(format!("command {command}"))
        }
    }
    let sim = Simulation::new(1);
    let bare = sim.spawn(|| Bare).record(8).wait().unwrap();
    bare.send_high('c').unwrap();
    bare.send(3).unwrap();
    sim.run_until_idle();
    let recorded = sim.recorded(bare.pid());
    assert_eq!(texts(&recorded), ["command c", "number 3"]);
}
