//! The test kit as its users use it: three small services and their tests.

use krarup::Recipient;
use krarup::observe::Lifecycle;
use krarup::prelude::*;
use krarup::testing::{Faults, Probe};
use std::collections::HashMap;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A shop that charges before it ships, and tries a silent bank twice.
struct Shop {
    bank: Recipient<Charge>,
    depot: Recipient<Ship>,
}

#[derive(Debug)]
struct Charge {
    amount: u32,
    reply: Reply<bool>,
}

#[derive(Clone, Debug, PartialEq)]
struct Ship(u32);

#[derive(Debug, PartialEq)]
enum Bill {
    Paid,
    Refused,
    Later,
}

struct Order {
    number: u32,
    reply: Reply<Bill>,
}

impl Actor for Shop {
    type Message = Order;

    async fn handle_message(&mut self, _: &mut Context<Order>, order: Order) -> Result {
        for _ in 0..2 {
            let amount = order.number * 10;
            let asked = self.bank.call(move |reply| Charge { amount, reply }).timeout(SECOND).await;
            match asked {
                Ok(true) => {
                    self.depot.send(Ship(order.number)).map_err(SendError::without_message)?;
                    order.reply.send(Bill::Paid);
                    return Ok(());
                }
                Ok(false) => {
                    order.reply.send(Bill::Refused);
                    return Ok(());
                }
                Err(CallError::Timeout { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        order.reply.send(Bill::Later);
        Ok(())
    }
}

#[test]
fn t4_a_shop_with_a_bank_that_answers_by_itself_or_not_at_all() {
    Simulation::explore(0..50, |sim| {
        let bank = Probe::<Charge>::named(sim, "bank");
        let depot = Probe::<Ship>::spawn(sim);
        let (to_bank, to_depot) = (bank.recipient(), depot.recipient());
        let shop = sim.spawn(move || Shop { bank: to_bank, depot: to_depot }).wait()?;
        let order = |number| shop.call(move |reply| Order { number, reply }).wait();

        // A bank that trusts nobody with more than 50.
        bank.on_message(|_, charge: Charge| {
            charge.reply.send(charge.amount <= 50);
            None
        });
        assert_eq!(sim.within(Duration::ZERO, || order(5))?, Bill::Paid);
        depot.expect_message(Duration::ZERO, &Ship(5));
        assert_eq!(order(6)?, Bill::Refused);
        depot.expect_no_message(SECOND);

        // Two orders at once: which is first is the seed's choice.
        let customers = Probe::<Result<Bill, CallError>>::spawn(sim);
        for number in [1, 2] {
            let shop = shop.clone();
            customers.pipe(async move { shop.call(|reply| Order { number, reply }).await });
        }
        assert_eq!(customers.expect_many(SECOND, 2), [Ok(Bill::Paid), Ok(Bill::Paid)]);
        depot.expect_all(SECOND, &[Ship(2), Ship(1)]);

        // A bank that keeps what it is asked and says nothing.
        bank.on_message(|_, charge| Some(charge));
        assert_eq!(sim.within(2 * SECOND, || order(3))?, Bill::Later);
        let asked = bank.expect_many(Duration::ZERO, 2);
        assert!(asked.iter().all(|charge| charge.amount == 30), "{asked:?}");
        Ok(())
    });
}

/// Counts visits for each room, in a process that is started when it is needed.
#[derive(Default)]
struct House {
    rooms: HashMap<&'static str, Address<Visit>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Visit {
    Enter,
    Wreck,
    Count(u32),
}

struct Room(u32, Recipient<Visit>);

impl Actor for Room {
    type Message = Visit;

    async fn handle_message(&mut self, ctx: &mut Context<Visit>, visit: Visit) -> Result {
        ctx.passivate_after(Some(60 * SECOND));
        match visit {
            Visit::Enter => self.0 += 1,
            Visit::Wreck => return Err(Reason::error("wrecked")),
            Visit::Count(_) => {}
        }
        self.1.send(Visit::Count(self.0)).map_err(SendError::without_message)?;
        Ok(())
    }
}

struct Go(&'static str, Visit, Recipient<Visit>);

impl Actor for House {
    type Message = Go;

    async fn handle_message(&mut self, ctx: &mut Context<Go>, go: Go) -> Result {
        let Go(name, visit, to) = go;
        let room = match self.rooms.get(name) {
            Some(room) if room.is_alive() => room.clone(),
            _ => {
                let room = ctx.spawn(move || Room(0, to)).name(name).await?;
                self.rooms.insert(name, room.clone());
                room
            }
        };
        room.send(visit).map_err(SendError::without_message)?;
        Ok(())
    }
}

#[test]
fn t4_probes_test_a_parent_whose_children_end_by_themselves() {
    let sim = Simulation::new(4);
    let lives = Probe::of_lives(&sim);
    let guest = Probe::<Visit>::spawn(&sim);
    let house = sim.spawn(House::default).name("house").wait().unwrap();
    assert_eq!(lives.expect_spawned(SECOND, "House"), house.pid());

    house.send(Go("hall", Visit::Enter, guest.recipient())).unwrap();
    let hall = lives.expect_spawned(SECOND, "Room");
    assert_eq!(sim.whereis("hall"), Some(hall));
    guest.expect_message(SECOND, &Visit::Count(1));
    assert_eq!(guest.sender(), Some(hall));

    // What the room is told is seen, though it is not told to a probe.
    let spy = Probe::<Visit>::spawn(&sim);
    spy.listen_to(&sim.lookup::<Visit, Visit>("hall").unwrap());
    house.send(Go("hall", Visit::Enter, guest.recipient())).unwrap();
    spy.expect_message(SECOND, &Visit::Enter);
    assert_eq!(spy.sender(), Some(house.pid()));
    guest.expect_message(SECOND, &Visit::Count(2));

    // A minute without a visit, and it has gone.
    assert_eq!(lives.expect_ended(60 * SECOND, hall), Reason::Normal);
    house.send(Go("hall", Visit::Wreck, guest.recipient())).unwrap();
    let again = lives.expect_spawned(SECOND, "hall");
    assert_eq!(lives.expect_ended(SECOND, again), Reason::error("wrecked"));
    sim.run_until(SECOND, "the name is free", || sim.whereis("hall").is_none());
}

/// Tells the first of two sources that answers.
struct Weather {
    sources: [Recipient<Reply<i32>>; 2],
}

impl Actor for Weather {
    type Message = Reply<Option<i32>>;

    async fn handle_message(
        &mut self,
        _: &mut Context<Reply<Option<i32>>>,
        reply: Reply<Option<i32>>,
    ) -> Result {
        let mut told = None;
        for source in &self.sources {
            if told.is_none() {
                told = source.call(|reply| reply).timeout(SECOND).await.ok();
            }
        }
        reply.send(told);
        Ok(())
    }
}

#[test]
fn t4_the_weather_is_reported_or_not_under_every_fault() {
    Simulation::explore(0..200, |sim| {
        let sources = [20, 30].map(|degrees| {
            let source = Probe::<Reply<i32>>::spawn(sim);
            source.on_message(move |_, reply| {
                reply.send(degrees);
                None
            });
            source
        });
        let to = [sources[0].recipient(), sources[1].recipient()];
        let weather = move || {
            let weather = move || Weather { sources: to.clone() };
            let weather = ChildSpec::worker("weather", weather).name("weather").mailbox(1);
            Supervisor::one_for_one().intensity(1_000, SECOND).child(weather)
        };
        let root = sim.spawn(weather).wait()?;
        let faults = Faults::new()
            .kill_one_in(20)
            .panic_one_in(20)
            .delay_one_in(10, 2 * SECOND)
            .fill_one_in(10, SECOND)
            .fail_init_one_in(4);
        sim.faults(faults.spare(root.pid()));
        let mut told = 0;
        for _ in 0..10 {
            let Ok(weather) = sim.lookup::<Reply<Option<i32>>, Reply<Option<i32>>>("weather")
            else {
                sim.advance(SECOND);
                continue;
            };
            match weather.call(|reply| reply).wait() {
                Ok(degrees) => assert!(matches!(degrees, None | Some(20 | 30)), "{degrees:?}"),
                Err(
                    CallError::Terminated { .. }
                    | CallError::NotBegun { .. }
                    | CallError::NoProcess { .. }
                    | CallError::Full { .. }
                    | CallError::Timeout { .. },
                ) => {}
                Err(other) => return Err(other.into()),
            }
            told += 1;
        }
        sim.faults(Faults::new());
        sim.run_until(10 * SECOND, "it is there", || sim.whereis("weather").is_some());
        sim.advance(5 * SECOND);
        let weather: Address<Reply<Option<i32>>> = sim.lookup("weather")?;
        assert!(weather.call(|reply| reply).wait()?.is_some(), "after {told} questions");
        Ok(())
    });
}

#[test]
fn t4_lifecycle_probes_skip_other_events_and_report_all_they_received() {
    let sim = Simulation::new(1);
    let lives = Probe::of_lives(&sim);
    let guest = Probe::<Visit>::spawn(&sim);
    let to = guest.recipient();
    let room = sim.spawn(move || Room(0, to)).name("attic").wait().unwrap();
    assert_eq!(lives.expect_spawned(SECOND, "attic"), room.pid());
    sim.kill(room.pid());
    sim.run_until_idle();
    let life = lives.expect(SECOND);
    assert_eq!(life, Lifecycle::Initialised { pid: room.pid() });
    assert_eq!(lives.expect_ended(SECOND, room.pid()), Reason::Killed);
}

/// Does nothing, of some type.
struct Idle<T>(std::marker::PhantomData<T>);

impl<T: Send + 'static> Actor for Idle<T> {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        Ok(())
    }
}

#[test]
fn t4_lifecycle_events_are_matched_by_name_and_by_behaviour_with_or_without_path() {
    let sim = Simulation::new(1);
    let lives = Probe::of_lives(&sim);
    let spawn = |name: Option<&str>| {
        let idle = sim.spawn(|| Idle::<u32>(std::marker::PhantomData));
        let idle = if let Some(name) = name { idle.name(name) } else { idle };
        idle.wait().unwrap().pid()
    };
    let path = "simulation::example::Idle<u32>";
    for who in ["Idle", "Idle<u32>", path] {
        let pid = spawn(None);
        assert_eq!(lives.expect_spawned(SECOND, who), pid, "{who}");
    }
    let [anna, bert] = ["anna", "bert"].map(|name| spawn(Some(name)));
    assert_eq!(lives.expect_spawned(SECOND, "bert"), bert);
    // The ends of others are passed over.
    sim.exit(anna, Reason::Shutdown);
    sim.run_until_idle();
    sim.kill(bert);
    assert_eq!(lives.expect_ended(SECOND, bert), Reason::Killed);
    let carl = spawn(Some("carl"));
    sim.exit(carl, Reason::Shutdown);
    let dora = spawn(Some("dora"));
    sim.kill(dora);
    assert_eq!(lives.expect_ended(SECOND, dora), Reason::Killed);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        lives.expect_spawned(SECOND, "Idl")
    }));
    let text = *caught.unwrap_err().downcast::<String>().unwrap();
    assert!(text.contains("expected the spawn of \"Idl\" within 1s, but no match"), "{text}");
}
