//! Idle times: rule D10.

use crate::support::{Log, simulations};
use krarup::behavior::{BehaviorContext, Received, behavior_fn};
use krarup::prelude::*;
use krarup::supervisor::InPlace;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Notes its timeouts.
struct Sleepy(Log);

enum Order {
    Timeout(Option<Duration>),
    Passivate(Option<Duration>),
    Pause,
    Resume,
    Work(Duration),
    Later(Duration),
    Nothing,
    Hibernate,
}

impl Actor for Sleepy {
    type Message = Order;

    async fn handle_message(&mut self, ctx: &mut Context<Order>, order: Order) -> Result {
        match order {
            Order::Timeout(timeout) => ctx.set_idle_timeout(timeout),
            Order::Passivate(time) => ctx.passivate_after(time),
            Order::Pause => ctx.pause_passivation(),
            Order::Resume => ctx.resume_passivation(),
            Order::Work(time) => ctx.sleep(time).await,
            Order::Later(delay) => {
                ctx.send_after(delay, Order::Nothing);
            }
            Order::Nothing => {}
            Order::Hibernate => ctx.hibernate(),
        }
        Ok(())
    }

    async fn handle_timeout(&mut self, ctx: &mut Context<Order>) -> Result {
        self.0.note(format!("timeout at {:?}", ctx.now()));
        Ok(())
    }

    async fn terminate(&mut self, ctx: &mut Context<Order>, reason: &Reason) {
        self.0.note(format!("{reason} at {:?}", ctx.now()));
    }
}

fn sleepy(sim: &Simulation, log: &Log) -> Address<Order> {
    let log = log.clone();
    sim.spawn(move || Sleepy(log)).wait().unwrap()
}

fn tell(sim: &Simulation, to: &Address<Order>, order: Order) {
    to.send(order).ok().unwrap();
    sim.run_until_idle();
}

#[test]
fn d10_a_timeout_comes_when_nothing_has_come_for_that_long_and_again() {
    for sim in simulations(5) {
        let log = Log::new();
        let sleepy = sleepy(&sim, &log);
        tell(&sim, &sleepy, Order::Timeout(Some(3 * SECOND)));
        // Each message begins the time anew.
        for _ in 0..4 {
            sim.advance(2 * SECOND);
            tell(&sim, &sleepy, Order::Nothing);
        }
        assert_eq!(log.take(), Vec::<String>::new());
        sim.advance(Duration::from_millis(2_999));
        assert_eq!(log.take(), Vec::<String>::new());
        sim.advance(Duration::from_millis(1));
        assert_eq!(log.take(), ["timeout at 11s"]);
        sim.advance(6 * SECOND);
        assert_eq!(log.take(), ["timeout at 14s", "timeout at 17s"]);
        tell(&sim, &sleepy, Order::Timeout(None));
        sim.advance(60 * SECOND);
        assert_eq!(log.take(), Vec::<String>::new());
        assert_eq!(sim.stats().timers, 0);
    }
}

#[test]
fn d10_time_in_a_handler_is_not_idle_and_an_inspection_is_no_message() {
    for sim in simulations(5) {
        let log = Log::new();
        let sleepy = sleepy(&sim, &log);
        tell(&sim, &sleepy, Order::Timeout(Some(3 * SECOND)));
        tell(&sim, &sleepy, Order::Work(10 * SECOND));
        sim.advance(11 * SECOND);
        assert_eq!(log.take(), Vec::<String>::new());
        sleepy.inspect().wait().unwrap();
        sim.advance(2 * SECOND);
        assert_eq!(log.take(), ["timeout at 13s"]);
        // A message of its own timer is one.
        tell(&sim, &sleepy, Order::Later(2 * SECOND));
        sim.advance(6 * SECOND);
        assert_eq!(log.take(), ["timeout at 18s"]);
    }
}

#[test]
fn d10_a_down_notice_ends_the_idle_time() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let brief = behavior_fn(|ctx: Context<()>| async move {
        ctx.sleep(2 * SECOND).await;
        Ok(())
    });
    let brief = sim.spawn(move || brief).start().unwrap().pid();
    let watcher = behavior_fn(move |mut ctx: Context<()>| async move {
        ctx.monitor(brief);
        ctx.set_idle_timeout(Some(3 * SECOND));
        loop {
            let item = ctx.receive().await;
            let kind = match item {
                Received::Down(_) => "down",
                Received::Timeout => "timeout",
                _ => "?",
            };
            noted.note(format!("{kind} at {:?}", ctx.now()));
            if kind == "timeout" {
                return Ok(());
            }
        }
    });
    sim.spawn(move || watcher).start().unwrap();
    sim.advance(60 * SECOND);
    assert_eq!(log.take(), ["down at 2s", "timeout at 5s"]);
}

#[test]
fn d10_an_idle_timeout_of_zero_lets_time_pass() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let sleepy = sleepy(&sim, &log);
    tell(&sim, &sleepy, Order::Timeout(Some(Duration::ZERO)));
    sim.advance(Duration::from_millis(3));
    assert_eq!(log.take(), ["timeout at 1ms", "timeout at 2ms", "timeout at 3ms"]);
    tell(&sim, &sleepy, Order::Timeout(Some(Duration::MAX)));
    sim.advance(1_000_000 * SECOND);
    assert_eq!(log.take(), Vec::<String>::new());
}

#[test]
fn d10_an_idle_process_is_passivated_and_that_can_be_paused() {
    for sim in simulations(5) {
        let log = Log::new();
        let sleepy = sleepy(&sim, &log);
        tell(&sim, &sleepy, Order::Passivate(Some(5 * SECOND)));
        sim.advance(4 * SECOND);
        tell(&sim, &sleepy, Order::Pause);
        sim.advance(60 * SECOND);
        assert!(sleepy.is_alive());
        tell(&sim, &sleepy, Order::Resume);
        sim.advance(4 * SECOND);
        assert!(sleepy.is_alive());
        tell(&sim, &sleepy, Order::Nothing);
        sim.advance(4 * SECOND);
        assert!(sleepy.is_alive());
        sim.advance(SECOND);
        assert_eq!(log.take(), ["normal at 73s"]);
        assert!(!sleepy.is_alive());
        assert_eq!(sim.stats().timers, 0);
    }
}

#[test]
fn d10_timeouts_and_passivation_go_together() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let sleepy = sleepy(&sim, &log);
    tell(&sim, &sleepy, Order::Passivate(Some(5 * SECOND)));
    tell(&sim, &sleepy, Order::Timeout(Some(2 * SECOND)));
    sim.advance(60 * SECOND);
    assert_eq!(log.take(), ["timeout at 2s", "timeout at 4s", "normal at 5s"]);
}

#[test]
fn d10_an_ended_process_leaves_no_idle_timer() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let sleepy = sleepy(&sim, &log);
    tell(&sim, &sleepy, Order::Timeout(Some(3 * SECOND)));
    tell(&sim, &sleepy, Order::Passivate(Some(3 * SECOND)));
    assert_eq!(sim.stats().timers, 1);
    sim.kill(sleepy.pid());
    sim.run_until_idle();
    assert_eq!(sim.stats().timers, 0);
}

#[test]
fn d10_a_hibernated_process_continues_as_before() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let sleepy = sleepy(&sim, &log);
    for _ in 0..100 {
        sleepy.send(Order::Nothing).ok().unwrap();
    }
    sleepy.send(Order::Hibernate).ok().unwrap();
    sleepy.send(Order::Timeout(Some(SECOND))).ok().unwrap();
    sim.advance(SECOND);
    assert_eq!(log.take(), ["timeout at 1s"]);
    tell(&sim, &sleepy, Order::Hibernate);
    sim.advance(SECOND);
    assert_eq!(log.take(), ["timeout at 2s"]);
    assert_eq!(sleepy.info().handled, 103);
}

#[test]
fn d10_neither_a_debugger_nor_an_inspection_is_a_message() {
    for sim in simulations(5) {
        let log = Log::new();
        let sleepy = sleepy(&sim, &log);
        tell(&sim, &sleepy, Order::Timeout(Some(9 * SECOND)));
        sim.advance(2 * SECOND);
        assert!(sleepy.state::<()>().wait().is_err());
        sim.advance(2 * SECOND);
        sleepy.suspend().wait().unwrap();
        sleepy.resume();
        sim.advance(2 * SECOND);
        sleepy.inspect().wait().unwrap();
        sim.advance(3 * SECOND);
        assert_eq!(log.take(), ["timeout at 9s"]);
    }
}

#[test]
fn d10_an_idle_time_that_is_taken_back_leaves_no_timer() {
    for times in [Order::Timeout as fn(Option<Duration>) -> Order, Order::Passivate] {
        let (sim, log) = (Simulation::new(1), Log::new());
        let sleepy = sleepy(&sim, &log);
        tell(&sim, &sleepy, times(Some(SECOND)));
        assert_eq!(sim.stats().timers, 1);
        tell(&sim, &sleepy, times(None));
        assert_eq!(sim.stats().timers, 0);
        sim.advance(10 * SECOND);
        assert!(log.take().is_empty());
    }
}

#[test]
fn d10_a_process_with_reserved_room_is_not_passivated() {
    for sim in simulations(5) {
        let log = Log::new();
        let sleepy = sleepy(&sim, &log);
        tell(&sim, &sleepy, Order::Passivate(Some(SECOND)));
        let permit = sleepy.reserve().unwrap();
        sim.advance(9 * SECOND);
        permit.send(Order::Nothing);
        sim.run_until_idle();
        assert_eq!((log.take(), sim.stats().dead_letters), (Vec::<String>::new(), 0));
        // Room that was given back is not waited for.
        drop(sleepy.reserve().unwrap());
        sim.advance(2 * SECOND);
        assert_eq!(log.take(), ["normal at 10s"]);
        assert!(!sleepy.is_alive());
    }
}

#[test]
fn d10_a_process_with_a_stash_is_not_passivated() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let noted = log.clone();
    let stashes = behavior_fn(move |mut ctx: Context<u32>| async move {
        ctx.passivate_after(Some(SECOND));
        while let Received::Message(number) = ctx.receive().await {
            noted.note(number);
            match number {
                1 if log_is_short(&noted) => ctx.stash(number)?,
                2 => drop(ctx.unstash_all()),
                _ => {}
            }
        }
        Ok(())
    });
    let stashes = sim.spawn(move || stashes).start().unwrap();
    stashes.send(1).unwrap();
    sim.advance(10 * SECOND);
    assert!(stashes.is_alive());
    stashes.send(2).unwrap();
    sim.run_until_idle();
    assert_eq!(log.lines(), ["1", "2", "1"]);
    sim.advance(10 * SECOND);
    assert!(!stashes.is_alive());
}

/// Whether this is the first line.
fn log_is_short(log: &Log) -> bool {
    log.lines().len() == 1
}

/// Does what it is told, and fails when nothing comes for its idle time.
struct Kept;

struct Deed(Doing);

type Doing = Box<dyn FnOnce(&mut Context<Deed>) -> Result + Send>;

impl Actor for Kept {
    type Message = Deed;

    async fn handle_message(&mut self, ctx: &mut Context<Deed>, deed: Deed) -> Result {
        (deed.0)(ctx)
    }

    async fn handle_timeout(&mut self, _: &mut Context<Deed>) -> Result {
        Err(Reason::error("nothing comes"))
    }
}

/// One that is replaced in place once, and is passivated after ten seconds if its keeper, which
/// notes that it is asked, agrees.
fn kept(sim: &Simulation, asked: &Log) -> Address<Deed> {
    let kept =
        sim.spawn(|| InPlace::new(|| Kept).intensity(1, Duration::from_secs(3600))).wait().unwrap();
    let asked = asked.clone();
    does(sim, &kept, move |ctx| {
        ctx.passivate_if(10 * SECOND, move || {
            asked.note("asked");
            true
        });
        Ok(())
    });
    kept
}

fn does(
    sim: &Simulation,
    kept: &Address<Deed>,
    deed: impl FnOnce(&mut Context<Deed>) -> Result + Send + 'static,
) {
    kept.send(Deed(Box::new(deed))).ok().unwrap();
    sim.run_until_idle();
}

#[test]
fn d10_a_grains_idle_time_survives_a_restart_in_place_and_settings_of_the_state_do_not() {
    let choices: [fn(&mut Context<Deed>); 4] = [
        |_| {},
        Context::pause_passivation,
        |ctx| ctx.passivate_after(Some(SECOND)),
        |ctx| ctx.set_idle_timeout(Some(SECOND)),
    ];
    for choice in choices {
        let (sim, asked) = (Simulation::new(1), Log::new());
        let kept = kept(&sim, &asked);
        does(&sim, &kept, move |ctx| {
            choice(ctx);
            Ok(())
        });
        does(&sim, &kept, |_| Err(Reason::error("a new state")));
        sim.advance(Duration::from_millis(9_999));
        assert!(kept.is_alive() && asked.take().is_empty());
        sim.advance(Duration::from_millis(1));
        assert!(!kept.is_alive());
        assert_eq!(asked.take(), ["asked"]);
    }
}

#[test]
fn d10_the_time_of_a_keeper_begins_anew_with_a_new_state() {
    let (sim, asked) = (Simulation::new(1), Log::new());
    let kept = kept(&sim, &asked);
    does(&sim, &kept, |ctx| {
        ctx.set_idle_timeout(Some(4 * SECOND));
        Ok(())
    });
    // The timeout is its failure, and no message.
    sim.advance(Duration::from_millis(13_999));
    assert!(kept.is_alive() && asked.take().is_empty());
    sim.advance(Duration::from_millis(1));
    assert!(!kept.is_alive());
}

/// The handler that sets the time, changes it or is told of it takes longer than that.
#[test]
fn d10_the_time_of_a_handler_that_sets_an_idle_time_is_not_idle() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let run = move |mut ctx: Context<()>| async move {
            ctx.set_idle_timeout(Some(2 * SECOND));
            ctx.sleep(3 * SECOND).await;
            for _ in 0..2 {
                let item = ctx.receive().await;
                noted.note(format!("{item:?} at {}", ctx.now()));
                ctx.sleep(3 * SECOND).await;
            }
            ctx.receive().await;
            noted.note(format!("again at {}", ctx.now()));
            // As in a handler, after a message.
            ctx.receive().await;
            ctx.set_idle_timeout(Some(SECOND));
            ctx.sleep(3 * SECOND).await;
            ctx.receive().await;
            noted.note(format!("changed at {}", ctx.now()));
            ctx.set_idle_timeout(None);
            ctx.pause_passivation();
            ctx.passivate_after(Some(2 * SECOND));
            ctx.resume_passivation();
            ctx.sleep(3 * SECOND).await;
            let item = ctx.receive().await;
            noted.note(format!("{item:?} at {}", ctx.now()));
            Ok(())
        };
        sim.spawn(move || behavior_fn(run)).start().unwrap();
        sim.advance(60 * SECOND);
        let expected =
            ["Timeout at 5s", "Timeout at 10s", "again at 15s", "changed at 21s", "Finish at 26s"];
        assert_eq!(log.take(), expected);
    }
}

/// With both times set: the passivation is not early by the time of a handler that was told of the shorter one.
#[test]
fn d10_a_handler_of_an_idle_time_does_not_count_for_the_passivation() {
    struct Slow(Log);

    impl Actor for Slow {
        type Message = ();

        async fn init(&mut self, ctx: &mut Context<()>) -> Result {
            ctx.set_idle_timeout(Some(2 * SECOND));
            ctx.passivate_after(Some(3 * SECOND));
            Ok(())
        }

        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Ok(())
        }

        async fn handle_timeout(&mut self, ctx: &mut Context<()>) -> Result {
            self.0.note(format!("told at {}", ctx.now()));
            ctx.sleep(10 * SECOND).await;
            Ok(())
        }

        async fn terminate(&mut self, ctx: &mut Context<()>, _: &Reason) {
            self.0.note(format!("ends at {}", ctx.now()));
        }
    }

    let (sim, log) = (Simulation::new(1), Log::new());
    let noted = log.clone();
    sim.spawn(move || Slow(noted)).start().unwrap();
    sim.advance(60 * SECOND);
    // Two seconds before that handler, and one after it.
    assert_eq!(log.take(), ["told at 2s", "ends at 13s"]);
}

/// The same of an actor that chooses the time in its first handler, and is sent something while it is idle.
#[test]
fn d10_who_works_longer_than_its_idle_time_is_not_passivated_at_once() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let one = sleepy(&sim, &log);
    for order in [Order::Passivate(Some(2 * SECOND)), Order::Work(3 * SECOND)] {
        one.send(order).ok().unwrap();
    }
    sim.advance(4 * SECOND);
    tell(&sim, &one, Order::Nothing);
    sim.advance(10 * SECOND);
    assert_eq!(log.take(), ["normal at 6s"]);
}

#[test]
fn d10_a_changed_idle_time_begins_at_the_change() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let one = sleepy(&sim, &log);
    tell(&sim, &one, Order::Timeout(Some(2 * SECOND)));
    sim.advance(3 * SECOND);
    tell(&sim, &one, Order::Timeout(Some(5 * SECOND)));
    sim.advance(6 * SECOND);
    assert_eq!(log.take(), ["timeout at 2s", "timeout at 8s"]);
    sim.kill(one.pid());
    // The same where a keeper has had it stay.
    let (sim, asked) = (Simulation::new(1), Log::new());
    let kept = sim.spawn(|| InPlace::new(|| Kept)).wait().unwrap();
    let noted = asked.clone();
    let sim_time = sim.node().clone();
    does(&sim, &kept, move |ctx| {
        ctx.passivate_if(2 * SECOND, move || {
            noted.note(format!("asked at {:?}", sim_time.now()));
            false
        });
        Ok(())
    });
    sim.advance(3 * SECOND);
    does(&sim, &kept, |ctx| {
        ctx.passivate_after(Some(5 * SECOND));
        Ok(())
    });
    sim.advance(6 * SECOND);
    assert_eq!(asked.take(), ["asked at 2s", "asked at 8s"]);
    sim.kill(kept.pid());
    sim.run_until_idle();
}
