//! What a process can do as itself, at the bounds of each: rules D7, D9, D10, L2, L3, M2, M3, M5, M6,
//! M9, M10, M12, T1, X3.

use crate::support::{Act, Does, Log, asked, boom, poll_once, puppet, simulations, trapper};
use krarup::behavior::{BehaviorContext, Received, Route, behavior_fn};
use krarup::mailbox::{NoBound, Order, Overflow, Permit};
use krarup::observe::{DeadLetter, ProcessState};
use krarup::prelude::*;
use krarup::supervisor::InPlace;
use krarup::{Dynamic, Stop};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

/// Notes dead letters as they print themselves.
struct Letters(Log);

impl Actor for Letters {
    type Message = DeadLetter;

    async fn handle_message(&mut self, _: &mut Context<DeadLetter>, letter: DeadLetter) -> Result {
        self.0.note(format!("{} {:?} {:?}", letter.message, letter.from, letter.cause));
        Ok(())
    }
}

/// Where dead letters are noted from now on.
fn letters(sim: &Simulation) -> Log {
    let log = Log::new();
    let noted = log.clone();
    let reader = sim.spawn(move || Letters(noted)).wait().unwrap();
    sim.subscribe_dead_letters(reader.recipient());
    log
}

/// Asks for a stop, and does not wait for it.
fn ask_to_stop(stop: Stop) {
    assert!(poll_once(&mut stop.into_future()).is_pending());
}

#[test]
fn d10_a_time_that_is_set_anew_begins_then_and_leaves_no_timer_behind() {
    for sim in simulations(3) {
        let log = Log::new();
        let noted = log.clone();
        let sleepy = behavior_fn(move |mut ctx: Context<u64>| async move {
            loop {
                match ctx.receive().await {
                    Received::Message(seconds) => {
                        ctx.set_idle_timeout(Some(Duration::from_secs(seconds)));
                    }
                    _ => noted.note(format!("timeout at {}", ctx.now())),
                }
            }
        });
        let sleepy = sim.spawn(move || sleepy).start().unwrap();
        for seconds in [10, 3] {
            sleepy.send(seconds).unwrap();
            sim.run_until_idle();
            assert_eq!(sim.stats().timers, 1);
        }
        sim.advance(5 * SECOND);
        assert_eq!(log.take(), ["timeout at 3s"]);
        sleepy.send(3).unwrap();
        sim.advance(6 * SECOND);
        assert_eq!(log.take(), ["timeout at 8s", "timeout at 11s"]);
        assert_eq!(sim.stats().timers, 1);
    }
}

#[test]
fn d10_the_passivation_decision_is_made_after_each_full_idle_time() {
    for sim in simulations(3) {
        let log = Log::new();
        let process = puppet(&sim, "p", &Log::new());
        let (noted, node) = (log.clone(), sim.node().clone());
        process.tells(move |ctx| {
            ctx.passivate_if(5 * SECOND, move || {
                noted.note(node.now());
                noted.lines().len() == 3
            });
        });
        sim.advance(7 * SECOND);
        assert_eq!(log.lines(), ["5s"]);
        // A message begins the time anew, and so does another time.
        process.tells(|_| {});
        sim.advance(7 * SECOND);
        assert_eq!(log.lines(), ["5s", "12s"]);
        process.tells(|ctx| ctx.passivate_after(Some(5 * SECOND)));
        sim.advance(4999 * MILLISECOND);
        assert!(process.is_alive());
        sim.advance(MILLISECOND);
        assert_eq!(log.lines(), ["5s", "12s", "19s"]);
        assert!(!process.is_alive());
    }
}

#[test]
fn d10_of_several_passivation_deciders_the_last_one_counts() {
    for sim in simulations(3) {
        let process = puppet(&sim, "p", &Log::new());
        process.tells(|ctx| {
            ctx.passivate_if(5 * SECOND, || true);
            ctx.passivate_if(5 * SECOND, || false);
        });
        sim.advance(7 * SECOND);
        assert!(process.is_alive());
        process.tells(|ctx| ctx.passivate_if(5 * SECOND, || true));
        sim.advance(7 * SECOND);
        assert!(!process.is_alive());
    }
}

/// Is passivated after 5 s, and notes its timeouts.
struct Kept(Log);

impl Actor for Kept {
    type Message = bool;

    async fn init(&mut self, ctx: &mut Context<bool>) -> Result {
        ctx.passivate_if(5 * SECOND, || true);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<bool>, fails: bool) -> Result {
        ctx.pause_passivation();
        ctx.set_idle_timeout(Some(SECOND));
        if fails { Err(boom()) } else { Ok(()) }
    }

    async fn handle_timeout(&mut self, ctx: &mut Context<bool>) -> Result {
        self.0.note(format!("timeout at {}", ctx.now()));
        Ok(())
    }
}

#[test]
fn s10_the_idle_times_of_a_state_end_with_it_and_those_of_the_process_stay() {
    for sim in simulations(3) {
        let log = Log::new();
        let noted = log.clone();
        let kept = sim.spawn(move || InPlace::new(move || Kept(noted.clone()))).wait().unwrap();
        kept.send(false).unwrap();
        sim.advance(2 * SECOND);
        assert_eq!(log.take(), ["timeout at 1s", "timeout at 2s"]);
        kept.send(true).unwrap();
        sim.advance(4999 * MILLISECOND);
        assert!(kept.is_alive());
        sim.advance(MILLISECOND);
        assert!(log.take().is_empty());
        assert!(!kept.is_alive());
    }
}

#[test]
fn d10_a_process_with_sorted_messages_is_not_passivated() {
    for sim in simulations(3) {
        let log = Log::new();
        let noted = log.clone();
        let worker = behavior_fn(move |mut ctx: Context<u32>| async move {
            ctx.passivate_after(Some(5 * SECOND));
            loop {
                match ctx.receive().await {
                    Received::Message(number) => noted.note(number),
                    _ => return Ok(()),
                }
            }
        });
        let worker = sim.spawn(move || worker).order(Order::fair()).start().unwrap();
        sim.run_until_idle();
        worker.suspend().wait().unwrap();
        sim.advance(6 * SECOND);
        worker.send(1).unwrap();
        worker.resume();
        sim.run_until_idle();
        assert_eq!(log.take(), ["1"]);
        sim.advance(6 * SECOND);
        assert!(!worker.is_alive());
    }
}

#[test]
fn m9_a_replayed_message_takes_room_in_the_stash_and_is_not_stashed_again() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let run = behavior_fn(move |mut ctx: Context<u32>| async move {
            for _ in 0..2 {
                let Received::Message(number) = ctx.receive().await else { return Ok(()) };
                ctx.stash(number)?;
            }
            let back = (ctx.stashed(), ctx.unstash_all(), ctx.stashed());
            noted.note(format!("{back:?}"));
            let refused = ctx.stash(9).map_err(SendError::into_message);
            noted.note(format!("{refused:?} {}", ctx.unstash_all()));
            loop {
                let Received::Message(number) = ctx.receive().await else { return Ok(()) };
                noted.note(number);
                if number == 1 {
                    ctx.stash(8)?;
                    noted.note(format!("{} {}", ctx.stashed(), ctx.unstash_all()));
                }
            }
        });
        let process = sim.spawn(move || run).mailbox(2).start().unwrap();
        for number in [1, 2] {
            process.send(number).unwrap();
        }
        sim.run_until_idle();
        assert_eq!(log.take(), ["(2, 2, 0)", "Err(9) 0", "1", "1 1", "8", "2"]);
    }
}

#[test]
fn d7_a_stashed_message_lost_at_the_end_names_its_sender_and_was_begun() {
    let sim = Simulation::new(1);
    let letters = letters(&sim);
    let aside = behavior_fn(|mut ctx: Context<Reply<u32>>| async move {
        let Received::Message(reply) = ctx.receive().await else { return Ok(()) };
        ctx.stash(reply).map_err(SendError::without_message)?;
        ctx.receive().await;
        Err(boom())
    });
    let aside = sim.spawn(move || aside).start().unwrap();
    let log = Log::new();
    let (asked, noted) = (aside.clone(), log.clone());
    let caller = behavior_fn(move |_: Context<()>| async move {
        noted.note(format!("{:?}", asked.call(|reply| reply).await));
        Ok(())
    });
    let caller = sim.spawn(move || caller).start().unwrap().pid();
    sim.run_until_idle();
    aside.finish();
    sim.run_until_idle();
    let failed = CallError::Terminated { to: aside.pid(), reason: boom() };
    assert_eq!(log.take(), [format!("Err({failed:?})")]);
    let lost = letters.take();
    assert_eq!(lost.len(), 1);
    assert!(lost[0].ends_with(&format!("Some({caller}) Unhandled")), "{lost:?}");
}

#[test]
fn d7_messages_lost_by_a_behaviour_are_counted_with_their_sender() {
    let sim = Simulation::new(1);
    let letters = letters(&sim);
    let process = puppet(&sim, "p", &Log::new());
    process.tells(|ctx| {
        ctx.dead_letter(7_u8, Some(ctx.pid()));
        ctx.dead_letter(7_u16, None);
        ctx.dead_letter_other(Dynamic::new(7_u32), Some(ctx.pid()));
    });
    sim.run_until_idle();
    let from = process.pid();
    let [own, other] = ["u8", "u32"].map(|lost| format!("{lost} Some({from}) Unhandled"));
    assert_eq!(letters.take(), [own, "u16 None Unhandled".into(), other]);
}

/// Messages that it holds are no silence, though they still take their room.
#[test]
fn d10_a_received_message_that_keeps_its_room_restarts_the_idle_time() {
    for sim in simulations(3) {
        let log = Log::new();
        let noted = log.clone();
        let holds = behavior_fn(move |mut ctx: Context<u32>| async move {
            ctx.hold_room()?;
            ctx.set_idle_timeout(Some(5 * SECOND));
            loop {
                let item = std::future::poll_fn(|_| ctx.poll_holding()).await;
                match item {
                    (Received::Message(number), true) => noted.note(number),
                    (Received::Timeout, false) => noted.note(format!("timeout at {}", ctx.now())),
                    other => noted.note(format!("{other:?}")),
                }
            }
        });
        let holds = sim.spawn(move || holds).mailbox(2).start().unwrap();
        sim.advance(3 * SECOND);
        holds.send(1).unwrap();
        sim.advance(4 * SECOND);
        assert_eq!(log.take(), ["1"]);
        assert_eq!(holds.waiting(), 1);
        sim.advance(2 * SECOND);
        assert_eq!(log.take(), ["timeout at 8s"]);
    }
}

#[test]
fn m5_held_room_survives_a_cancelled_timer() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let noted = log.clone();
    let holds = behavior_fn(move |mut ctx: Context<u32>| async move {
        ctx.hold_room()?;
        let timer = ctx.send_after(SECOND, 9);
        ctx.cancel(timer);
        while let (Received::Message(number), holds) =
            std::future::poll_fn(|_| ctx.poll_holding()).await
        {
            noted.note(format!("{number} {holds}"));
        }
        Ok(())
    });
    let holds = sim.spawn(move || holds).mailbox(2).start().unwrap();
    (1..3).for_each(|number| holds.send(number).unwrap());
    sim.run_until_idle();
    assert_eq!(log.take(), ["1 true", "2 true"]);
    assert!(holds.send(3).unwrap_err().is_full());
}

#[test]
fn m5_no_more_room_is_freed_than_messages_hold() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let noted = log.clone();
    let frees = behavior_fn(move |mut ctx: Context<usize>| async move {
        ctx.free_room(1);
        ctx.hold_room()?;
        ctx.free_room(usize::MAX);
        while let (Received::Message(room), true) =
            std::future::poll_fn(|_| ctx.poll_holding()).await
        {
            noted.note(room);
            ctx.free_room(room);
        }
        Ok(())
    });
    let frees = sim.spawn(move || frees).mailbox(2).start().unwrap();
    for (room, waiting) in [(0, 1), (1, 1), (usize::MAX, 0), (0, 1), (0, 2)] {
        frees.send(room).unwrap();
        sim.run_until_idle();
        assert_eq!(frees.waiting(), waiting);
    }
    assert!(frees.send(1).unwrap_err().is_full());
    assert_eq!(log.lines().len(), 5);
}

#[test]
fn m5_room_cannot_be_held_in_a_mailbox_without_a_bound() {
    let sim = Simulation::new(1);
    let process = puppet(&sim, "p", &Log::new());
    assert_eq!(asked(&sim, &process, BehaviorContext::hold_room), Err(NoBound));
    assert_eq!(asked(&sim, &process, |ctx| ctx.mailbox_bound()), None);
}

#[test]
fn m6_a_mailbox_that_dropped_its_oldest_can_have_an_order_when_it_does_no_more() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let late = behavior_fn(move |mut ctx: Context<u32>| async move {
        ctx.set_overflow(Overflow::DropOldest)?;
        noted.note(ctx.drops_oldest());
        ctx.set_overflow(Overflow::Refuse)?;
        noted.note(ctx.drops_oldest());
        ctx.set_order(Order::by_priority(|number: &u32| i64::from(*number)))?;
        ctx.sleep(SECOND).await;
        while let Received::Message(number) = ctx.receive().await {
            noted.note(number);
        }
        Ok(())
    });
    let late = sim.spawn(move || late).mailbox(2).start().unwrap();
    sim.run_until_idle();
    for number in 1..=2 {
        late.send(number).unwrap();
    }
    assert!(late.send(3).unwrap_err().is_full());
    sim.advance(2 * SECOND);
    assert_eq!(log.take(), ["true", "false", "2", "1"]);
}

#[test]
fn m6_a_notice_is_never_dropped_to_make_room() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let ends = || {
            behavior_fn(|ctx: Context<()>| async move {
                ctx.sleep(SECOND).await;
                Ok(())
            })
        };
        let ending: Vec<Pid> = (0..2).map(|_| sim.spawn(ends).start().unwrap().pid()).collect();
        let busy = behavior_fn(move |mut ctx: Context<u32>| async move {
            for pid in ending {
                ctx.monitor(pid);
            }
            ctx.sleep(3 * SECOND).await;
            loop {
                match ctx.receive().await {
                    Received::Message(number) => noted.note(number),
                    Received::Down(_) => noted.note("down"),
                    _ => return Ok(()),
                }
            }
        });
        let busy = sim.spawn(move || busy).mailbox(2).overflow(Overflow::DropOldest).start();
        let busy = busy.unwrap();
        sim.advance(2 * SECOND);
        for number in 1..=4 {
            busy.send(number).unwrap();
        }
        sim.advance(2 * SECOND);
        assert_eq!(log.take(), ["down", "down", "3", "4"]);
    }
}

/// Sends these to a process, each in the name of the process that is told to.
fn send_to(sim: &Simulation, from: &Address<Act>, to: &Address<u32>, numbers: &[u32]) {
    for &number in numbers {
        let to = to.clone();
        from.tells(move |_| drop(to.send(number)));
    }
    sim.run_until_idle();
}

#[test]
fn m12_a_sender_that_was_silent_for_a_while_does_not_make_up_for_it() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| puppet(&sim, name, &Log::new()));
    let (noted, first) = (log.clone(), a.clone());
    let fair = behavior_fn(move |mut ctx: Context<u32>| async move {
        // All but the last are there before the first is taken.
        ctx.sleep(SECOND).await;
        let to = ctx.address();
        while let Received::Message(number) = ctx.receive().await {
            noted.note(number);
            if number == 22 {
                let to = to.clone();
                first.tells(move |_| drop(to.send(11)));
                // The sender has its turn now.
                ctx.sleep(SECOND).await;
            }
        }
        Ok(())
    });
    let fair = sim.spawn(move || fair).order(Order::fair()).start().unwrap();
    send_to(&sim, &a, &fair, &[10]);
    send_to(&sim, &b, &fair, &[20, 21, 22, 23, 24]);
    send_to(&sim, &c, &fair, &[30, 31, 32, 33, 34]);
    sim.advance(5 * SECOND);
    let order = ["10", "20", "30", "21", "31", "22", "32", "11", "23", "33", "24", "34"];
    assert_eq!(log.take(), order);
}

#[test]
fn m12_messages_sorted_by_an_old_order_come_before_those_of_a_new_one() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let by_number = || Order::by_priority(|number: &u32| i64::from(*number));
    let noted = log.clone();
    let reorders = behavior_fn(move |mut ctx: Context<u32>| async move {
        ctx.sleep(SECOND).await;
        while let Received::Message(number) = ctx.receive().await {
            noted.note(number);
            if number == 3 {
                ctx.set_order(by_number())?;
                ctx.address().send(9)?;
                ctx.address().notify(10);
                ctx.address().send(8)?;
            }
        }
        Ok(())
    });
    let reorders = sim.spawn(move || reorders).order(by_number()).start().unwrap();
    for number in [1, 3, 2] {
        reorders.send(number).unwrap();
    }
    sim.advance(2 * SECOND);
    // What comes beyond the bound has its priority too.
    assert_eq!(log.take(), ["3", "2", "1", "10", "9", "8"]);
}

/// Takes what it can get with each message; a number above 9 has it do something before.
async fn take_batches(log: Log, mut ctx: Context<u32>) -> Result {
    ctx.sleep(SECOND).await;
    loop {
        let item = ctx.receive().await;
        let number = match item {
            Received::Message(number) => number,
            Received::Command(number) => {
                log.note(format!("command {number}"));
                continue;
            }
            _ => return Ok(()),
        };
        match number {
            10 => {
                ctx.address().send_high(5)?;
                ctx.address().send(12)?;
            }
            11 => {
                ctx.stash(4)?;
                ctx.unstash_all();
            }
            _ => {}
        }
        let first = ctx.sender();
        let batch = ctx.take_batch(9);
        let senders = (first.map(Pid::id), ctx.sender().map(Pid::id));
        log.note(format!("{number} {batch:?} {senders:?}"));
    }
}

#[test]
fn m10_a_batch_of_messages_that_arrived_during_the_handler_is_in_order() {
    for seed in 0..3 {
        let (sim, log) = (Simulation::new(seed), Log::new());
        let noted = log.clone();
        let takes = behavior_fn(move |mut ctx: Context<u32>| async move {
            while let Received::Message(first) = ctx.receive().await {
                ctx.sleep(SECOND).await;
                noted.note(format!("{first} {:?}", ctx.take_batch(9)));
            }
            Ok(())
        });
        let takes = sim.spawn(move || takes).start().unwrap();
        takes.send(1).unwrap();
        sim.run_until_idle();
        (2..6).for_each(|number| takes.send(number).unwrap());
        sim.advance(SECOND);
        assert_eq!(log.take(), ["1 [2, 3, 4, 5]"]);
    }
}

#[test]
fn m10_a_batch_has_the_sender_of_its_last_and_ends_before_urgent_items() {
    for ordered in [false, true] {
        for (throughput, expected) in [
            (
                64,
                [
                    "0 [1, 2] (None, Some(P))",
                    "10 [] (None, None)",
                    "command 5",
                    "12 [] (Some(Q), Some(Q))",
                    "11 [] (None, None)",
                    "4 [3] (None, Some(P))",
                ]
                .as_slice(),
            ),
            (
                1,
                &[
                    "0 [] (None, None)",
                    "1 [] (None, None)",
                    "2 [] (Some(P), Some(P))",
                    "10 [] (None, None)",
                    "command 5",
                    "12 [] (Some(Q), Some(Q))",
                    "11 [] (None, None)",
                    "4 [] (None, None)",
                    "3 [] (Some(P), Some(P))",
                ],
            ),
        ] {
            let sim = Simulation::with_throughput(1, throughput);
            let log = Log::new();
            let noted = log.clone();
            let run = behavior_fn(move |ctx: Context<u32>| take_batches(noted, ctx));
            let spawn = sim.spawn(move || run);
            let order = Order::by_priority(|_: &u32| 0);
            let process = if ordered { spawn.order(order) } else { spawn }.start().unwrap();
            let from = puppet(&sim, "from", &Log::new());
            sim.run_until_idle();
            for number in [0, 1] {
                process.send(number).unwrap();
            }
            send_to(&sim, &from, &process, &[2]);
            sim.advance(2 * SECOND);
            for number in [10, 11] {
                process.send(number).unwrap();
                if number == 11 {
                    send_to(&sim, &from, &process, &[3]);
                } else {
                    sim.run_until_idle();
                }
            }
            sim.advance(SECOND);
            let ids = [from.pid(), process.pid()].map(|pid| pid.id().to_string());
            let expected: Vec<_> =
                expected.iter().map(|it| it.replace('P', &ids[0]).replace('Q', &ids[1])).collect();
            assert_eq!(log.take(), expected, "ordered: {ordered}, {throughput} a turn");
        }
    }
}

#[test]
fn d9_of_several_stops_that_a_handler_receives_the_first_is_obeyed() {
    /// Hears of two stops in one handler.
    struct Patient(Log);
    impl Actor for Patient {
        type Message = ();
        async fn handle_message(&mut self, ctx: &mut Context<()>, (): ()) -> Result {
            for _ in 0..2 {
                self.0.note(format!("{:?}", ctx.receive_control().await));
            }
            Ok(())
        }
        async fn terminate(&mut self, _: &mut Context<()>, reason: &Reason) {
            self.0.note(reason);
        }
    }
    for sim in simulations(3) {
        let log = Log::new();
        let noted = log.clone();
        let patient = sim.spawn(move || Patient(noted)).wait().unwrap();
        patient.send(()).unwrap();
        sim.run_until_idle();
        let end = patient.watch();
        for reason in ["one", "two"] {
            ask_to_stop(patient.stop().reason(Reason::shutdown(reason)));
            sim.run_until_idle();
        }
        let stops = ["Stop(ShutdownWith(one))", "Stop(ShutdownWith(two))", "shutdown: one"];
        assert_eq!(log.take(), stops);
        assert_eq!(end.wait().unwrap().reason, Reason::shutdown("one"));
    }
}

#[test]
fn l3_a_stop_before_the_first_turn_reaches_a_trapping_process_as_an_exit_signal() {
    for sim in simulations(3) {
        let log = Log::new();
        let noted = log.clone();
        let run = behavior_fn(move |mut ctx: Context<()>| async move {
            ctx.trap_exits(true);
            // It is not looked for in the first turn.
            ctx.sleep(SECOND).await;
            if let Received::Exit(exit) = ctx.receive().await {
                noted.note(format!("{} {}", exit.pid, exit.reason));
            }
            ctx.sleep(SECOND).await;
            noted.note("at its own time");
            Ok(())
        });
        let process = sim.spawn(move || run).start().unwrap();
        ask_to_stop(process.stop().reason(Reason::Shutdown));
        sim.advance(3 * SECOND);
        assert_eq!(log.take(), ["<0.0.0> shutdown", "at its own time"]);
    }
}

#[test]
fn l2_a_peer_that_has_ended_with_kill_is_a_peer_like_any() {
    for sim in simulations(3) {
        let log = Log::new();
        let (traps, dies) = (trapper(&sim, "traps", &log), puppet(&sim, "dies", &Log::new()));
        let pid = dies.pid();
        traps.tells(move |ctx| ctx.link(pid));
        sim.run_until_idle();
        dies.dies(Reason::Kill);
        sim.run_until_idle();
        assert_eq!(log.take(), [format!("traps exit {pid} kill")]);
        assert!(traps.is_alive());
    }
}

#[test]
fn l1_a_child_that_fails_an_unawaited_start_is_reported_by_its_link() {
    for sim in simulations(3) {
        let log = Log::new();
        let parent = trapper(&sim, "parent", &log);
        parent.tells(|ctx| {
            let fails = || {
                behavior_fn(|mut ctx: Context<()>| async move {
                    ctx.stop_in_order();
                    ctx.sleep(SECOND).await;
                    Err(boom())
                })
            };
            ctx.spawn(fails).link().start().unwrap();
        });
        sim.advance(2 * SECOND);
        assert_eq!(log.count("boom"), 1);
        assert_eq!(asked(&sim, &parent, |ctx| ctx.process_info(ctx.pid()).unwrap().links), []);
    }
}

#[test]
fn m3_a_link_that_is_made_again_stays_urgent() {
    for sim in simulations(3) {
        let log = Log::new();
        let (hears, dies) = (trapper(&sim, "hears", &log), puppet(&sim, "dies", &Log::new()));
        let pid = dies.pid();
        hears.tells(move |ctx| {
            ctx.link_urgent(pid);
            ctx.link(pid);
        });
        sim.run_until_idle();
        hears.suspend().wait().unwrap();
        let noted = log.clone();
        hears.tells(move |_| noted.note("message"));
        dies.dies(boom());
        sim.run_until_idle();
        hears.resume();
        sim.run_until_idle();
        assert_eq!(log.take(), [format!("hears exit {pid} boom"), "message".into()]);
    }
}

#[test]
fn m2_a_priority_message_has_no_sender_unless_a_process_sent_it() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let (noted, dies) = (log.clone(), puppet(&sim, "dies", &Log::new()));
    let pid = dies.pid();
    let hears = behavior_fn(move |mut ctx: Context<u32>| async move {
        ctx.monitor_urgent(pid);
        for _ in 0..3 {
            let kind = match ctx.receive().await {
                Received::Message(_) => "message",
                Received::Command(_) => "command",
                _ => "down",
            };
            noted.note(format!("{kind} {:?}", ctx.sender()));
        }
        Ok(())
    });
    let hears = sim.spawn(move || hears).start().unwrap();
    let from = puppet(&sim, "from", &Log::new());
    send_to(&sim, &from, &hears, &[1]);
    dies.dies(boom());
    sim.run_until_idle();
    from.tells(move |_| drop(hears.send_max(2)));
    sim.run_until_idle();
    let from = from.pid();
    let expected =
        [format!("message Some({from})"), "down None".into(), format!("command Some({from})")];
    assert_eq!(log.take(), expected);
}

#[test]
fn m2_a_process_sees_how_much_lies_on_both_control_lanes() {
    let sim = Simulation::new(1);
    let process = puppet(&sim, "p", &Log::new());
    let waiting = asked(&sim, &process, |ctx| {
        for _ in 0..2 {
            ctx.address().send_high(Act::nothing()).ok().unwrap();
        }
        ctx.address().send_max(Act::nothing()).ok().unwrap();
        ctx.address().send(Act::nothing()).ok().unwrap();
        ctx.controls_waiting()
    });
    assert_eq!(waiting, 3);
}

/// A route that takes nothing.
struct Nowhere;

impl Route<u32> for Nowhere {
    fn send(&self, message: u32, _: u64) -> Result<(), SendError<u32>> {
        Err(SendError::Full { message, to: Pid::local(7, 0) })
    }
    fn reserve(&self) -> Result<Permit<u32>, SendError<()>> {
        Err(SendError::Draining { message: (), to: Pid::local(7, 0) })
    }
    fn waiting(&self) -> usize {
        42
    }
}

#[test]
fn p2_a_process_has_one_route_and_a_second_is_refused() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let routes = behavior_fn(move |mut ctx: Context<u32>| async move {
        noted.note(ctx.route_main(Nowhere));
        noted.note(ctx.route_main(Nowhere));
        ctx.receive().await;
        Ok(())
    });
    let routes = sim.spawn(move || routes).start().unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["true", "false"]);
    assert!(routes.is_routed());
    assert!(matches!(routes.send(1), Err(SendError::Full { message: 1, .. })));
    assert!(matches!(routes.reserve(), Err(SendError::Draining { .. })));
    assert_eq!(routes.waiting(), 42);
}

/// What lies in the mailbox when Main becomes a route goes along it; one of another type cannot.
#[test]
fn d7_a_message_of_another_type_that_a_new_route_cannot_take_is_a_dead_letter() {
    let sim = Simulation::new(1);
    let letters = letters(&sim);
    let routes = behavior_fn(move |mut ctx: Context<u32>| async move {
        ctx.take_others();
        ctx.sleep(SECOND).await;
        ctx.route_main(Nowhere);
        ctx.receive().await;
        Ok(())
    });
    let routes = sim.spawn(move || routes).start().unwrap();
    sim.run_until_idle();
    assert!(sim.send(routes.pid(), 7_u8).is_ok());
    routes.send(1).unwrap();
    sim.advance(SECOND);
    assert_eq!(letters.take(), ["u8 None Unhandled", "u32 None Unhandled"]);
    assert!(routes.is_alive());
}

#[test]
fn x3_process_info_shows_everything_of_a_suspended_process() {
    let sim = Simulation::new(1);
    let [peer, other, watcher, parent] =
        ["peer", "other", "watcher", "parent"].map(|name| trapper(&sim, name, &Log::new()));
    let child: Arc<Mutex<Option<Address<u32>>>> = Arc::default();
    let (spawned, linked, watched) = (Arc::clone(&child), peer.pid(), other.pid());
    parent.tells(move |ctx| {
        let run = behavior_fn(move |mut ctx: Context<u32>| async move {
            ctx.trap_exits(true);
            ctx.alias();
            ctx.link(linked);
            for pid in [linked, watched] {
                ctx.monitor(pid);
            }
            loop {
                ctx.receive().await;
            }
        });
        *spawned.lock().unwrap() = Some(ctx.spawn(move || run).mailbox(10).start().unwrap());
    });
    sim.run_until_idle();
    let child = child.lock().unwrap().take().unwrap();
    let pid = child.pid();
    watcher.tells(move |ctx| {
        ctx.monitor(pid);
    });
    sim.run_until_idle();
    child.suspend().wait().unwrap();
    sim.advance(5 * SECOND);
    let before = child.info();
    for number in 0..3 {
        child.send(number).unwrap();
    }
    for number in 0..2 {
        child.send_high(number).unwrap();
    }
    child.send_max(1).unwrap();
    sim.run_until_idle();
    let info = child.info();
    assert_eq!(
        (info.state, info.trapping, info.mailbox),
        (ProcessState::Suspended, true, Some(10))
    );
    assert_eq!((info.parent, info.links.clone()), (Some(parent.pid()), vec![linked]));
    assert_eq!((info.monitors, info.monitored_by, info.aliases.len()), (2, 1, 1));
    assert_eq!((info.urgent, info.system, info.main), (1, 2, 3));
    assert_eq!((info.messages_in, info.handled), (before.messages_in + 6, before.handled));
    assert_eq!(info.uptime, 5 * SECOND);
    child.resume();
    sim.run_until_idle();
    let after = child.info();
    assert_eq!((after.messages_in, after.handled), (info.messages_in, before.handled + 6));
    assert_eq!((after.urgent, after.system, after.main), (0, 0, 0));
    sim.kill(pid);
    child.send(7).unwrap();
    sim.run_until_idle();
    assert_eq!((child.info().state, child.waiting()), (ProcessState::Terminated, 0));
}

#[test]
fn m6_another_message_that_a_full_mailbox_drops_is_counted_by_its_own_type() {
    let sim = Simulation::new(1);
    let letters = letters(&sim);
    let process = behavior_fn(|mut ctx: Context<u32>| async move {
        ctx.take_others();
        ctx.receive().await;
        ctx.refuse_others();
        std::future::pending::<()>().await;
        Ok(())
    });
    let process = sim.spawn(move || process).mailbox(1).overflow(Overflow::DropNewest).start();
    let process = process.unwrap();
    sim.run_until_idle();
    process.suspend().wait().unwrap();
    process.send(1).unwrap();
    sim.send(process.pid(), "text").unwrap();
    sim.run_until_idle();
    assert_eq!(letters.take(), ["&str None Overflow"]);
    // Who takes others no more says what it takes.
    process.resume();
    sim.run_until_idle();
    let refused = sim.send(process.pid(), "text").unwrap_err();
    let said = format!("{} takes messages of type u32, not &str", process.pid());
    assert_eq!(refused.to_string(), said);
    assert_eq!(refused.into_message().downcast::<&str>().unwrap(), "text");
}

#[test]
fn x3_sends_of_a_process_that_wakes_itself_are_counted() {
    for sim in simulations(2) {
        let other = puppet(&sim, "other", &Log::new());
        let restless = behavior_fn(move |mut ctx: Context<()>| async move {
            for _ in 0..5 {
                other.tells(|_| {});
                krarup_act::yield_now().await;
            }
            ctx.receive().await;
            Ok(())
        });
        let restless = sim.spawn(move || restless).start().unwrap();
        sim.run_until_idle();
        assert_eq!(restless.info().messages_out, 5);
    }
}
