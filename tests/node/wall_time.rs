//! The wall time: rule T6.

use crate::support::{Act, Does, Log, puppet, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::prelude::*;
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
/// 2000-01-01 00:00 UTC.
const YEAR_2000: u64 = 946_684_800;

fn date(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// An act that notes the time of the node and how long ago the year 2000 began.
fn times(log: &Log) -> Act {
    let log = log.clone();
    Act::new(move |ctx| {
        let wall = ctx.wall_time().duration_since(date(YEAR_2000)).unwrap_or_default();
        log.note(format!("{} {wall:?}", ctx.now()));
        Ok(())
    })
}

#[test]
fn t6_a_simulation_begins_in_the_year_2000_and_its_wall_time_moves_with_virtual_time() {
    let sim = Simulation::new(1);
    let other = sim.beside("b@sim").unwrap();
    assert_eq!(sim.wall_time(), date(YEAR_2000));
    sim.advance(HOUR);
    assert_eq!((sim.wall_time(), other.wall_time()), (date(YEAR_2000) + HOUR, sim.wall_time()));
    // Forward, back before the beginning, and on from there.
    for to in [date(1_900_000_000), date(7), SystemTime::UNIX_EPOCH - HOUR] {
        sim.set_wall_time(to);
        assert_eq!((sim.wall_time(), other.wall_time()), (to, to));
        sim.advance(SECOND);
        assert_eq!(sim.wall_time(), to + SECOND);
    }
    assert_eq!(sim.now(), krarup::Timestamp::ZERO + HOUR + 3 * SECOND);
}

#[test]
fn t6_a_wall_time_at_the_end_of_all_dates_stands_still() {
    let sim = Simulation::new(1);
    let (mut last, mut step) = (sim.wall_time(), Duration::MAX);
    while !step.is_zero() {
        match last.checked_add(step) {
            Some(later) => last = later,
            None => step /= 2,
        }
    }
    sim.set_wall_time(last);
    sim.advance(HOUR);
    assert_eq!(sim.wall_time(), last);
}

#[test]
fn t6_no_timer_follows_the_wall_clock() {
    for sim in simulations(10) {
        let log = Log::new();
        let process = puppet(&sim, "p", &log);
        let (after, at) = (times(&log), times(&log));
        process.tells(move |ctx| {
            ctx.send_after(SECOND, after);
            ctx.send_at(date(YEAR_2000) + 2 * SECOND, at);
        });
        sim.run_until_idle();
        sim.set_wall_time(date(YEAR_2000) + HOUR);
        sim.run_until_idle();
        assert_eq!(log.take(), Vec::<String>::new());
        sim.advance(SECOND);
        sim.set_wall_time(date(YEAR_2000));
        sim.advance(HOUR);
        assert_eq!(log.take(), ["1s 3601s", "2s 1s"]);
    }
}

#[test]
fn t6_a_message_at_a_date_comes_then_or_at_once_if_it_has_passed() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let process = puppet(&sim, "p", &log);
    sim.set_wall_time(date(YEAR_2000) + HOUR);
    let (past, present, future) = (times(&log), times(&log), times(&log));
    process.tells(move |ctx| {
        let timer = ctx.send_at(date(YEAR_2000) + 3 * HOUR, future);
        assert_eq!(ctx.remaining(timer), Some(2 * HOUR));
        ctx.send_at(date(YEAR_2000), past);
        ctx.send_at(date(YEAR_2000) + HOUR, present);
    });
    sim.advance(3 * HOUR);
    // At once is a tick of the timers, a millisecond.
    assert_eq!(log.take(), ["1ms 3600.001s", "1ms 3600.001s", "7200s 10800s"]);
}

#[test]
fn t6_the_wall_time_of_a_node_is_the_systems() {
    let node = Node::builder("t6@localhost").start().unwrap();
    let (told, tells) = mpsc::channel();
    let earlier = SystemTime::now();
    let process = node.spawn(move || {
        behavior_fn(move |mut ctx: Context<()>| async move {
            ctx.send_at(ctx.wall_time(), ());
            let received = ctx.receive().await;
            told.send((matches!(received, Received::Message(())), ctx.wall_time())).unwrap();
            Ok(())
        })
    });
    process.start().unwrap();
    let (received, wall) = tells.recv().unwrap();
    // A test cannot tell more: somebody may set the clock of the machine meanwhile.
    assert!(received && wall.max(earlier) > date(YEAR_2000) && node.wall_time() > date(YEAR_2000));
}
