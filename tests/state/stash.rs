//! Messages set aside and taken in batches: rules M9 and M10.

use crate::support::{Log, boom, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::prelude::*;
use std::time::Duration;

/// Sets numbers aside until it is opened.
#[derive(Default)]
struct Door {
    log: Log,
    open: bool,
    fails: bool,
}

enum Knock {
    Number(u32),
    Ask(Reply<u32>),
    Open,
    Close,
}

impl Actor for Door {
    type Message = Knock;

    async fn handle_message(&mut self, ctx: &mut Context<Knock>, knock: Knock) -> Result {
        match knock {
            Knock::Open => {
                self.open = true;
                let back = ctx.unstash_all();
                self.log.note(format!("open {back} {}", ctx.stashed()));
            }
            Knock::Close => self.open = false,
            knock if !self.open => {
                if let Err(refused) = ctx.stash(knock) {
                    assert!(refused.is_full());
                    self.log.note("full");
                    if let Knock::Ask(reply) = refused.into_message() {
                        reply.fail(CallError::Full { to: ctx.pid() });
                    }
                }
            }
            Knock::Number(13) => return Err(boom()),
            Knock::Number(number) => {
                let sender = ctx.sender().map_or("outside".into(), |pid| pid.to_string());
                self.log.note(format!("{number} from {sender}"));
            }
            Knock::Ask(reply) => reply.send(7),
        }
        if self.fails { Err(boom()) } else { Ok(()) }
    }
}

fn door(sim: &Simulation, log: &Log, bound: Option<usize>) -> Address<Knock> {
    let log = log.clone();
    let spawn = sim.spawn(move || Door { log, ..Door::default() });
    match bound {
        None => spawn.wait().unwrap(),
        Some(bound) => spawn.mailbox(bound).wait().unwrap(),
    }
}

#[test]
fn m9_stashed_messages_return_in_order_before_newer_ones_with_their_sender() {
    for sim in simulations(20) {
        let log = Log::new();
        let door = door(&sim, &log, None);
        let to = door.clone();
        let sender = behavior_fn(move |_: Context<()>| async move {
            to.send(Knock::Number(1)).map_err(SendError::without_message)?;
            to.send(Knock::Number(2)).map_err(SendError::without_message)?;
            Ok(())
        });
        let sender = sim.spawn(move || sender).start().unwrap().pid();
        sim.run_until_idle();
        for knock in [Knock::Number(3), Knock::Open, Knock::Number(4)] {
            assert!(door.send(knock).is_ok());
        }
        sim.run_until_idle();
        assert_eq!(
            log.take(),
            [
                "open 3 0".to_owned(),
                format!("1 from {sender}"),
                format!("2 from {sender}"),
                "3 from outside".into(),
                "4 from outside".into(),
            ]
        );
    }
}

#[test]
fn m9_a_message_stashed_again_during_replay_keeps_its_place() {
    for sim in simulations(20) {
        let log = Log::new();
        let door = door(&sim, &log, None);
        for knock in [
            Knock::Number(1),
            Knock::Close,
            Knock::Number(2),
            Knock::Open,
            Knock::Close,
            Knock::Number(3),
        ] {
            assert!(door.send(knock).is_ok());
        }
        // The close that was sent after the open comes after what the open has brought back.
        sim.run_until_idle();
        assert_eq!(log.take(), ["open 2 0", "1 from outside", "2 from outside"]);
        assert!(door.send(Knock::Number(4)).is_ok());
        assert!(door.send(Knock::Open).is_ok());
        sim.run_until_idle();
        assert_eq!(log.take(), ["open 2 0", "3 from outside", "4 from outside"]);
    }
}

#[test]
fn m9_the_stash_has_the_bound_of_the_mailbox() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let door = door(&sim, &log, Some(2));
    for number in 1..=3 {
        assert!(door.send(Knock::Number(number)).is_ok());
        sim.run_until_idle();
    }
    assert_eq!(log.take(), ["full"]);
    // What is set aside takes no room in the mailbox.
    assert!(door.send(Knock::Open).is_ok() && door.send(Knock::Number(5)).is_ok());
    assert!(door.send(Knock::Number(6)).is_err_and(|error| error.is_full()));
    sim.run_until_idle();
    assert_eq!(log.take(), ["open 2 0", "1 from outside", "2 from outside", "5 from outside"]);
}

#[test]
fn m9_the_stash_is_lost_with_its_process_and_its_calls_fail_at_once() {
    for sim in simulations(5) {
        let log = Log::new();
        let door = door(&sim, &log, None);
        let (to, noted) = (door.clone(), log.clone());
        let asker = behavior_fn(move |ctx: Context<()>| async move {
            let answer = to.call(Knock::Ask).await;
            noted.note(format!("{answer:?} after {:?}", ctx.now()));
            Ok(())
        });
        sim.spawn(move || asker).start().unwrap();
        assert!(door.send(Knock::Number(1)).is_ok());
        sim.run_until_idle();
        sim.kill(door.pid());
        sim.run_until_idle();
        let killed = CallError::Terminated { to: door.pid(), reason: Reason::Killed };
        assert_eq!(log.take(), [format!("Err({killed:?}) after 0ns")]);
        assert_eq!(sim.stats().dead_letters, 2);
    }
}

#[test]
fn m9_a_failure_during_replay_loses_and_counts_the_rest() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let door = door(&sim, &log, None);
    for number in [1, 13, 2, 3] {
        assert!(door.send(Knock::Number(number)).is_ok());
    }
    assert!(door.send(Knock::Open).is_ok());
    sim.run_until_idle();
    assert_eq!(log.take(), ["open 4 0", "1 from outside"]);
    assert!(!door.is_alive());
    assert_eq!(sim.stats().dead_letters, 2);
}

/// Takes what it can get at once, up to three more, as long as they are even.
struct Batches {
    log: Log,
    even: bool,
}

impl Actor for Batches {
    type Message = u32;

    async fn handle_message(&mut self, ctx: &mut Context<u32>, first: u32) -> Result {
        let mut all = vec![first];
        if self.even {
            all.extend(ctx.take_batch_while(3, |number| number % 2 == 0));
        } else {
            all.extend(ctx.take_batch(3));
        }
        self.log.note(format!("{all:?}"));
        Ok(())
    }

    async fn handle_timeout(&mut self, _: &mut Context<u32>) -> Result {
        Ok(())
    }
}

fn batches(sim: &Simulation, log: &Log, even: bool) -> Address<u32> {
    let log = log.clone();
    sim.spawn(move || Batches { log, even }).wait().unwrap()
}

#[test]
fn m10_batches_and_singles_together_are_the_arrival_order() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let to = batches(&sim, &log, false);
    for number in 0..10 {
        to.send(number).unwrap();
    }
    sim.run_until_idle();
    assert_eq!(log.take(), ["[0, 1, 2, 3]", "[4, 5, 6, 7]", "[8, 9]"]);
    to.send(10).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["[10]"]);
    assert_eq!(sim.process_info(to.pid()).unwrap().handled, 11);
}

#[test]
fn m10_a_filter_ends_the_batch_and_the_rejected_message_comes_next() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let to = batches(&sim, &log, true);
    for number in [0, 2, 3, 4, 6, 8, 10, 12] {
        to.send(number).unwrap();
    }
    sim.run_until_idle();
    assert_eq!(log.take(), ["[0, 2]", "[3, 4, 6, 8]", "[10, 12]"]);
}

#[test]
fn m10_a_batch_ends_at_the_next_notice_and_with_the_turn() {
    // Turns of one message: a batch never crosses the end of a turn.
    let sim = Simulation::with_throughput(1, 1);
    let log = Log::new();
    let to = batches(&sim, &log, false);
    for number in 0..3 {
        to.send(number).unwrap();
    }
    sim.run_until_idle();
    assert_eq!(log.take(), ["[0]", "[1]", "[2]"]);

    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let watcher = behavior_fn(move |mut ctx: Context<u32>| async move {
        loop {
            match ctx.receive().await {
                Received::Message(number) => {
                    let more = ctx.take_batch(9);
                    noted.note(format!("{number} {more:?}"));
                    if number == 0 {
                        let other =
                            ctx.spawn(|| behavior_fn(|_: Context<()>| async { Ok(()) })).start()?;
                        ctx.monitor(other.pid());
                        ctx.sleep(Duration::from_secs(1)).await;
                    }
                }
                Received::Down(_) => noted.note("down"),
                other => noted.note(format!("{other:?}")),
            }
        }
    });
    let watcher: Address<u32> = sim.spawn(move || watcher).start().unwrap();
    watcher.send(0).unwrap();
    sim.run_until_idle();
    for number in 1..4 {
        watcher.send(number).unwrap();
    }
    sim.advance(Duration::from_secs(1));
    // The notice had come before the messages, and nothing overtakes it.
    assert_eq!(log.take(), ["0 []", "down", "1 [2, 3]"]);
}

#[test]
fn m10_senders_that_wait_for_room_do_not_end_a_batch() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let to = sim.spawn(move || Batches { log: noted, even: false }).mailbox(4).wait().unwrap();
    to.suspend().wait().unwrap();
    for number in 0..4 {
        to.send(number).unwrap();
    }
    for number in 4..12 {
        let to = to.clone();
        let waiting = behavior_fn(move |_: Context<()>| async move {
            to.send_or_wait(number).await.map_err(SendError::without_message)?;
            Ok(())
        });
        sim.spawn(move || waiting).start().unwrap();
        sim.run_until_idle();
    }
    to.resume();
    sim.run_until_idle();
    let batches = log.take();
    assert_eq!(batches[0], "[0, 1, 2, 3]");
    let all = batches.join(", ").replace(['[', ']'], "");
    assert_eq!(all.split(", ").count(), 12, "{all}");
}

#[test]
fn m9_a_message_stashed_during_replay_stays_before_the_rest() {
    for sim in simulations(3) {
        let log = Log::new();
        let noted = log.clone();
        let run = move |mut ctx: Context<u32>| async move {
            let mut took = Vec::new();
            for step in 0.. {
                let Received::Message(number) = ctx.receive().await else { break };
                took.push(number);
                match step {
                    // Three are set aside, and come back; the first of them once more.
                    0 | 1 => ctx.stash(number)?,
                    2 | 3 => {
                        ctx.stash(number)?;
                        ctx.unstash_all();
                    }
                    7 => break,
                    _ => {}
                }
            }
            noted.note(format!("{took:?}"));
            Ok(())
        };
        let process = sim.spawn(move || behavior_fn(run)).start().unwrap();
        for number in 1..=4 {
            process.send(number).unwrap();
        }
        sim.run_until_idle();
        assert_eq!(log.take(), ["[1, 2, 3, 1, 1, 2, 3, 4]"]);
    }
}

/// Sets numbers aside until a zero comes, and takes a second for each one then.
#[derive(Default)]
struct SlowDoor {
    open: bool,
}

impl Actor for SlowDoor {
    type Message = u32;

    async fn handle_message(&mut self, ctx: &mut Context<u32>, number: u32) -> Result {
        match number {
            0 => {
                self.open = true;
                ctx.unstash_all();
            }
            number if !self.open => ctx.stash(number)?,
            _ => ctx.sleep(Duration::from_secs(1)).await,
        }
        Ok(())
    }
}

#[test]
fn m9_a_snapshot_of_a_process_tells_how_many_messages_it_has_stashed() {
    let sim = Simulation::new(1);
    let door = sim.spawn(SlowDoor::default).wait().unwrap();
    let stashed = || sim.node().process_info(door.pid()).unwrap().stashed;
    assert_eq!(stashed(), 0);
    for number in [1, 2, 3] {
        door.send(number).unwrap();
    }
    assert_eq!(stashed(), 0);
    sim.run_until_idle();
    let info = sim.node().process_info(door.pid()).unwrap();
    assert_eq!((info.stashed, info.main, info.handled), (3, 0, 3));
    // The first one is in progress, and the others are still set aside.
    door.send(0).unwrap();
    for left in [2, 1, 0, 0] {
        sim.run_until_idle();
        assert_eq!(stashed(), left);
        sim.advance(Duration::from_secs(1));
    }
}
