//! Selective receive: rule M14.

use crate::support::{Log, boom, settles, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::mailbox::{Order, Overflow};
use krarup::observe::{Memory, ProcessState};
use krarup::prelude::*;
use krarup::supervisor::InPlace;
use krarup::testing::Probe;
use krarup::{Event, First, Machine, Next, SpawnError, StateMachine};
use std::collections::VecDeque;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A number of some class. The classes are the last digits.
type Number = u32;

fn is_of(class: u32) -> impl FnMut(&Number) -> bool {
    move |number| number % 10 == class
}

/// A step of a process that receives.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// The first number of this class.
    Where(u32),
    Next,
    /// As `Where`, given up at once if it has to wait.
    Glance(u32),
}

/// Numbers without a pattern.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn class(&mut self) -> u32 {
        u32::try_from(self.below(4)).unwrap()
    }
}

/// Whatever the moments at which messages come, the first of its class is received, and the others in their order.
#[test]
fn m14_random_conversations_receive_what_a_list_says() {
    for (round, sim) in simulations(150).enumerate() {
        let mut dice = Dice(round as u64 + 1);
        let numbers: Vec<Number> = (0..24).map(|place| place * 10 + dice.class()).collect();
        let mut waiting: VecDeque<Number> = numbers.iter().copied().collect();
        let (mut steps, mut expected) = (Vec::new(), Vec::new());
        while !waiting.is_empty() {
            let class = dice.class();
            let place = waiting.iter().position(|number| number % 10 == class);
            let (step, place) = match (dice.below(3), place) {
                (0, _) | (1, None) => (Step::Next, 0),
                (1, Some(place)) => (Step::Where(class), place),
                _ => {
                    steps.push(Step::Glance(9));
                    continue;
                }
            };
            steps.push(step);
            expected.push(waiting.remove(place).unwrap());
        }
        let log = Log::new();
        let noted = log.clone();
        let receiver = behavior_fn(move |mut ctx: Context<Number>| async move {
            for step in steps {
                let number = match step {
                    Step::Where(class) => ctx.receive_where(is_of(class)).await,
                    Step::Glance(class) => {
                        let clock = ctx.clock();
                        let glance = ctx.receive_where(is_of(class));
                        assert_eq!(clock.timeout(Duration::ZERO, glance).await, None);
                        continue;
                    }
                    Step::Next => match ctx.receive().await {
                        Received::Message(number) => Some(number),
                        other => panic!("{other:?}"),
                    },
                };
                noted.note(number.unwrap());
            }
            Ok(())
        });
        let to: Address<Number> = sim.spawn(move || receiver).start().unwrap();
        let sender = behavior_fn(move |ctx: Context<()>| async move {
            for number in numbers {
                to.send(number).map_err(SendError::without_message)?;
                if number % 3 == 0 {
                    ctx.sleep(SECOND).await;
                }
            }
            Ok(())
        });
        sim.spawn(move || sender).start().unwrap();
        sim.run_until_idle();
        sim.advance(100 * SECOND);
        let expected: Vec<String> = expected.iter().map(u32::to_string).collect();
        assert_eq!(log.take(), expected, "{round}");
        assert_eq!(sim.stats().dead_letters, 0);
    }
}

/// On 0 it waits for a number of class 7, and notes what it gets.
struct Waits {
    log: Log,
    traps: bool,
}

impl Actor for Waits {
    type Message = Number;

    async fn init(&mut self, ctx: &mut Context<Number>) -> Result {
        ctx.trap_exits(self.traps);
        let log = self.log.clone();
        ctx.on_end(move |ended| log.note(format!("ended: {}", ended.reason)));
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Number>, number: Number) -> Result {
        let sender =
            |ctx: &Context<Number>| ctx.sender().map_or("outside".into(), |pid| pid.to_string());
        if number > 0 {
            self.log.note(format!("{number} from {}", sender(ctx)));
            return Ok(());
        }
        let got = ctx.receive_where(is_of(7)).await;
        self.log.note(format!("got {got:?} from {} at {:?}", sender(ctx), ctx.now()));
        Ok(())
    }

    async fn handle_down(&mut self, _: &mut Context<Number>, down: Down) -> Result {
        self.log.note(format!("down: {}", down.reason));
        Ok(())
    }

    async fn terminate(&mut self, ctx: &mut Context<Number>, reason: &Reason) {
        let got = ctx.receive_where(is_of(7)).await;
        self.log.note(format!("terminate: {reason} {got:?}"));
    }

    fn inspect(&self) -> Inspection {
        Inspection::new().with("waits", true)
    }
}

/// Suspends a process that is in a handler: nothing waits until that is done.
fn suspend(sim: &Simulation, to: &Address<Number>) {
    let to = to.clone();
    let suspends = behavior_fn(move |_: Context<()>| async move {
        to.suspend().await?;
        Ok(())
    });
    sim.spawn(move || suspends).start().unwrap();
    assert!(settles(sim));
}

fn waits(sim: &Simulation) -> (Address<Number>, Log) {
    let log = Log::new();
    let noted = log.clone();
    (sim.spawn(move || Waits { log: noted, traps: false }).wait().unwrap(), log)
}

#[test]
fn m14_messages_that_are_passed_over_come_next_in_their_order_from_their_senders() {
    for sim in simulations(30) {
        let (to, log) = waits(&sim);
        to.send(0).unwrap();
        let by = to.clone();
        let sender = behavior_fn(move |_: Context<()>| async move {
            [11, 17, 12].into_iter().for_each(|number| by.send(number).unwrap());
            Ok(())
        });
        to.send(1).unwrap();
        let pid = sim.spawn(move || sender).start().unwrap().pid();
        sim.run_until_idle();
        to.send(27).unwrap();
        sim.run_until_idle();
        let expected = [
            format!("got Some(17) from {pid} at 0ns"),
            "1 from outside".into(),
            format!("11 from {pid}"),
            format!("12 from {pid}"),
            "27 from outside".into(),
        ];
        assert_eq!(log.take(), expected);
        let info = sim.process_info(to.pid()).unwrap();
        assert_eq!((info.handled, info.main), (6, 0));
    }
}

#[test]
fn m14_commands_notices_and_inspections_stay_and_do_not_keep_it_busy() {
    for sim in simulations(10) {
        let (to, log) = waits(&sim);
        let watched = sim.spawn(|| {
            behavior_fn(|mut ctx: Context<()>| async move {
                ctx.receive().await;
                Ok(())
            })
        });
        let watched: Address<()> = watched.start().unwrap();
        to.send(0).unwrap();
        sim.run_until_idle();
        to.send_high(5).unwrap();
        let inspected = to.inspect();
        let other = behavior_fn(move |ctx: Context<()>| async move {
            let _ = ctx;
            Ok(())
        });
        sim.spawn(move || other).start().unwrap();
        watched.send(()).unwrap();
        assert!(settles(&sim), "it is polled on and on");
        assert_eq!(log.take(), [""; 0]);
        to.send(7).unwrap();
        assert!(settles(&sim));
        assert_eq!(log.take(), ["got Some(7) from outside at 0ns", "5 from outside"]);
        assert!(inspected.wait().is_ok());
    }
}

#[test]
fn m14_the_notice_of_an_end_stays_and_a_demonitor_removes_it() {
    for (sim, frees) in simulations(10).zip([false, true].into_iter().cycle()) {
        let log = Log::new();
        let noted = log.clone();
        let watcher = behavior_fn(move |mut ctx: Context<Number>| async move {
            let ends = ctx.spawn(|| behavior_fn(|_: Context<()>| async { Err(boom()) })).start()?;
            let monitor = ctx.monitor(ends.pid());
            noted.note(format!("{:?}", ctx.receive_where(is_of(7)).await));
            if frees {
                ctx.demonitor(monitor);
            }
            for _ in 0..2 {
                match ctx.receive().await {
                    Received::Down(down) => noted.note(format!("down: {}", down.reason)),
                    other => noted.note(format!("{other:?}")),
                }
            }
            Ok(())
        });
        let to: Address<Number> = sim.spawn(move || watcher).start().unwrap();
        sim.run_until_idle();
        [1, 7, 2].into_iter().for_each(|number| to.send(number).unwrap());
        sim.run_until_idle();
        let down = "down: boom".to_owned();
        let rest = if frees {
            vec!["Message(1)".into(), "Message(2)".into()]
        } else {
            vec![down, "Message(1)".into()]
        };
        assert_eq!(log.take(), [vec!["Some(7)".to_owned()], rest].concat());
    }
}

/// How the parent of the process that waits has it end.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Stop,
    Crash,
    Finish,
}

/// Starts the process that waits below a parent, which has it end at a message. Before that it waits already.
fn ends(sim: &Simulation, end: End) -> (Address<()>, Address<Number>, Log) {
    let log = Log::new();
    let noted = log.clone();
    let probe = Probe::<Address<Number>>::spawn(sim);
    let told = probe.address();
    let parent = behavior_fn(move |mut ctx: Context<()>| async move {
        let waits = ctx.spawn(move || Waits { log: noted, traps: true });
        let child = waits.link().await?;
        child.send(0).map_err(SendError::without_message)?;
        told.send(child.clone()).map_err(SendError::without_message)?;
        ctx.receive().await;
        match end {
            End::Stop => ctx.exit(child.pid(), Reason::Shutdown),
            End::Finish => child.finish(),
            End::Crash => return Err(boom()),
        }
        ctx.receive().await;
        Ok(())
    });
    let parent = sim.spawn(move || parent).start().unwrap();
    let child = probe.expect(SECOND);
    sim.run_until_idle();
    (parent, child, log)
}

#[test]
fn m14_a_stop_the_end_of_the_parent_and_a_request_to_finish_end_the_wait_at_once() {
    for sim in simulations(10) {
        for end in [End::Stop, End::Crash, End::Finish] {
            let now = sim.now();
            let (parent, child, log) = ends(&sim, end);
            child.send(1).unwrap();
            parent.send(()).unwrap();
            sim.run_until_idle();
            let reason = ["shutdown", "boom", "normal"][end as usize];
            let mut lines = log.take();
            // A stop overtakes what waits; the others do not.
            let handled = lines.iter().position(|line| line == "1 from outside");
            assert_eq!(handled.map(|place| lines.remove(place)).is_some(), end != End::Stop);
            let expected = [
                format!("got None from {} at {now}", parent.pid()),
                format!("terminate: {reason} None"),
                format!("ended: {reason}"),
            ];
            assert_eq!(lines, expected);
        }
    }
}

/// The stop comes before or after the second message, but not before the first.
#[test]
fn m14_a_wanted_message_that_is_there_is_received_before_a_stop_is_seen() {
    let (mut in_terminate, mut after) = (0, 0);
    for sim in (0..40).map(Simulation::new) {
        let (parent, child, log) = ends(&sim, End::Stop);
        [17, 27].into_iter().for_each(|number| child.send(number).unwrap());
        parent.send(()).unwrap();
        sim.run_until_idle();
        let lines = log.take();
        let seen = lines[1].ends_with("Some(27)");
        *(if seen { &mut in_terminate } else { &mut after }) += 1;
        let first = "got Some(17) from outside at 0ns";
        let last = ["27 from outside", "terminate: shutdown None", "ended: shutdown"];
        if seen {
            assert_eq!(lines, [first, "terminate: shutdown Some(27)", last[2]]);
        } else {
            assert_eq!(lines, [[first].as_slice(), &last].concat());
        }
    }
    assert!(in_terminate > 0 && after > 0, "{in_terminate} {after}");
}

#[test]
fn m14_who_stops_itself_receives_what_is_there_and_waits_for_nothing() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let run = move |mut ctx: Context<Number>| async move {
        ctx.receive().await;
        ctx.stop();
        noted.note(format!("{:?}", ctx.receive_where(is_of(7)).await));
        noted.note(format!("{:?}", ctx.receive_where(is_of(7)).await));
        Ok(())
    };
    let to: Address<Number> = sim.spawn(move || behavior_fn(run)).start().unwrap();
    [0, 1, 7].into_iter().for_each(|number| to.send(number).unwrap());
    assert!(settles(&sim));
    assert_eq!(log.take(), ["Some(7)", "None"]);
}

#[test]
fn m14_it_sees_the_messages_of_timers_and_a_cancelled_one_does_not_come() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let run = move |mut ctx: Context<Number>| async move {
            let mut count = 0;
            ctx.send_after(2 * SECOND, 37);
            let once = ctx.send_after(SECOND, 1);
            let again = ctx.send_interval(SECOND, move || {
                count += 10;
                count + 2
            });
            noted.note(format!("{:?} at {:?}", ctx.receive_where(is_of(7)).await, ctx.now()));
            // Both messages have been examined, and are in the mailbox.
            assert!(ctx.cancel(once).is_some());
            noted.note(format!("{:?}", ctx.receive_where(is_of(2)).await));
            noted.note(format!("{:?} at {:?}", ctx.receive_where(is_of(2)).await, ctx.now()));
            assert!(ctx.disarm(again));
            let clock = ctx.clock();
            noted.note(format!("{:?}", clock.timeout(9 * SECOND, ctx.receive()).await.is_none()));
            Ok(())
        };
        sim.spawn(move || behavior_fn(run)).start().unwrap();
        sim.advance(60 * SECOND);
        let expected = ["Some(37) at 2s", "Some(12)", "Some(22) at 2.001s", "true"];
        assert_eq!(log.take(), expected);
    }
}

#[test]
fn m14_what_waits_takes_room_in_a_bounded_mailbox() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let to = sim.spawn(move || Waits { log: noted, traps: false }).mailbox(2).wait().unwrap();
    to.send(0).unwrap();
    sim.run_until_idle();
    assert!(to.send(1).is_ok());
    sim.run_until_idle();
    assert!(to.send(2).is_ok());
    sim.run_until_idle();
    assert!(to.send(17).is_err_and(|refused| refused.is_full()), "nothing of it was received");
    assert_eq!(sim.process_info(to.pid()).unwrap().main, 2);
    sim.kill(to.pid());
    sim.run_until_idle();
    assert_eq!((log.take(), sim.stats().dead_letters), (vec!["ended: killed".to_owned()], 2));
}

#[test]
fn m14_a_mailbox_that_drops_its_oldest_gets_back_what_was_passed_over() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let run = move |mut ctx: Context<Number>| async move {
            noted.note(format!("{:?}", ctx.receive_where(is_of(7)).await));
            ctx.sleep(SECOND).await;
            loop {
                noted.note(format!("{:?}", ctx.receive().await));
            }
        };
        let spawn = sim.spawn(move || behavior_fn(run)).mailbox(3).overflow(Overflow::DropOldest);
        let to: Address<Number> = spawn.start().unwrap();
        for number in [1, 2, 7, 3] {
            to.send(number).unwrap();
            sim.run_until_idle();
        }
        assert_eq!(log.take(), ["Some(7)"]);
        [4, 5].into_iter().for_each(|number| to.send(number).unwrap());
        sim.advance(SECOND);
        assert_eq!(log.take(), ["Message(3)", "Message(4)", "Message(5)"]);
        assert_eq!(sim.stats().dead_letters, 2);
    }
}

#[test]
fn m14_in_an_order_of_its_own_the_first_in_that_order_is_received() {
    for sim in simulations(20) {
        let log = Log::new();
        let noted = log.clone();
        let spawn = sim.spawn(move || Waits { log: noted, traps: false });
        let to =
            spawn.order(Order::by_priority(|number: &Number| i64::from(*number))).wait().unwrap();
        to.send(0).unwrap();
        sim.run_until_idle();
        [11, 52].into_iter().for_each(|number| to.send(number).unwrap());
        sim.run_until_idle();
        suspend(&sim, &to);
        [17, 37, 60].into_iter().for_each(|number| to.send(number).unwrap());
        to.resume();
        sim.run_until_idle();
        let lines = log.take();
        let got = "got Some(37) from outside at 0ns";
        let rest = ["60", "52", "17", "11"].map(|number| format!("{number} from outside"));
        assert_eq!((lines[0].as_str(), &lines[1..]), (got, &rest[..]));
    }
}

#[test]
fn m14_it_takes_what_the_stash_hands_out_again_first() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let run = move |mut ctx: Context<Number>| async move {
            for _ in 0..3 {
                if let Received::Message(number) = ctx.receive().await {
                    ctx.stash(number).map_err(SendError::without_message)?;
                }
            }
            ctx.unstash_all();
            noted.note(format!("{:?} {}", ctx.receive_where(is_of(7)).await, ctx.now()));
            for _ in 0..3 {
                noted.note(format!("{:?}", ctx.receive().await));
            }
            Ok(())
        };
        let to: Address<Number> = sim.spawn(move || behavior_fn(run)).start().unwrap();
        [1, 17, 2, 27].into_iter().for_each(|number| to.send(number).unwrap());
        sim.run_until_idle();
        let lines = log.take();
        assert!(lines[0].starts_with("Some(17)"), "{lines:?}");
        assert_eq!(lines[1..], ["Message(1)", "Message(2)", "Message(27)"]);
    }
}

#[test]
fn m14_a_panic_of_the_filter_ends_the_process_and_nothing_is_lost_uncounted() {
    let sim = Simulation::new(1);
    let run = |mut ctx: Context<Number>| async move {
        ctx.receive_where(|number| if *number == 3 { panic!("sore") } else { false }).await;
        Ok(())
    };
    let to: Address<Number> = sim.spawn(move || behavior_fn(run)).start().unwrap();
    sim.run_until_idle();
    [1, 2, 3, 4].into_iter().for_each(|number| to.send(number).unwrap());
    sim.run_until_idle();
    assert!(!to.is_alive());
    assert_eq!(sim.stats().dead_letters, 4);
}

/// The filter is asked once for each message, however often the process is woken.
#[test]
fn m14_each_message_is_examined_once() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let run = move |mut ctx: Context<Number>| async move {
        let wanted = |number: &Number| {
            noted.note(number);
            *number == 50
        };
        ctx.receive_where(wanted).await;
        Ok(())
    };
    let to: Address<Number> = sim.spawn(move || behavior_fn(run)).start().unwrap();
    for number in 0..=50 {
        to.send(number).unwrap();
        sim.run_until_idle();
    }
    assert_eq!(log.take(), (0..=50).map(|number| number.to_string()).collect::<Vec<_>>());
    assert_eq!(sim.stats().dead_letters, 50);
}

#[test]
fn m14_while_it_is_suspended_it_receives_nothing() {
    for sim in simulations(5) {
        let (to, log) = waits(&sim);
        to.send(0).unwrap();
        sim.run_until_idle();
        suspend(&sim, &to);
        to.send(7).unwrap();
        assert!(settles(&sim));
        assert_eq!(log.take(), [""; 0]);
        to.resume();
        sim.run_until_idle();
        assert_eq!(log.take(), ["got Some(7) from outside at 0ns"]);
    }
}

/// Ends as it is told, and waits in its `terminate`.
struct Ends(Log);

impl Actor for Ends {
    type Message = Number;

    async fn handle_message(&mut self, ctx: &mut Context<Number>, number: Number) -> Result {
        match number {
            0 => ctx.stop(),
            1 => return Err(boom()),
            2 => panic!("sore"),
            _ => ctx.passivate_after(Some(SECOND)),
        }
        Ok(())
    }

    async fn terminate(&mut self, ctx: &mut Context<Number>, _: &Reason) {
        self.0.note(format!("{:?}", ctx.receive_where(is_of(7)).await));
    }
}

impl StateMachine for Ends {
    type State = ();
    type Message = Number;
    type Internal = ();
    type Timer = ();

    async fn init(&mut self, _: &mut Context<Number>) -> Result<First<Self>> {
        Ok(First::state(()))
    }

    async fn handle_event(
        &mut self,
        ctx: &mut Context<Number>,
        (): (),
        event: Event<Self>,
    ) -> Result<Next<Self>> {
        match event {
            Event::Message(0) => ctx.stop(),
            _ => return Err(boom()),
        }
        Ok(Next::keep())
    }

    async fn terminate(&mut self, ctx: &mut Context<Number>, (): (), _: &Reason) {
        self.0.note(format!("{:?}", ctx.receive_where(is_of(7)).await));
    }
}

#[test]
fn m14_in_terminate_it_takes_what_is_there_and_waits_for_nothing() {
    for sim in simulations(3) {
        for (first, is_machine) in
            [(0, false), (1, false), (2, false), (3, false), (0, true), (1, true)]
        {
            for there in [false, true] {
                let log = Log::new();
                let noted = log.clone();
                let to: Address<Number> = if is_machine {
                    sim.spawn(move || Machine::new(Ends(noted))).start().unwrap()
                } else {
                    sim.spawn(move || Ends(noted)).start().unwrap()
                };
                to.send(first).unwrap();
                if there && first != 3 {
                    to.send(7).unwrap();
                }
                sim.advance(2 * SECOND);
                let got = if there && first != 3 { "Some(7)" } else { "None" };
                assert_eq!(
                    (log.take(), to.is_alive()),
                    (vec![got.to_owned()], false),
                    "{first} {is_machine}"
                );
            }
        }
    }
}

/// Fails at 1, and waits at 0.
struct Again(Log);

impl Actor for Again {
    type Message = Number;

    async fn handle_message(&mut self, ctx: &mut Context<Number>, number: Number) -> Result {
        if number == 1 {
            return Err(boom());
        }
        self.0.note(format!("{:?}", ctx.receive_where(is_of(7)).await));
        Ok(())
    }
}

#[test]
fn m14_after_a_restart_in_place_it_waits_again() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let to = sim.spawn(move || InPlace::new(move || Again(noted.clone()))).wait().unwrap();
    [1, 0].into_iter().for_each(|number| to.send(number).unwrap());
    sim.run_until_idle();
    to.send(7).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["Some(7)"]);
}

#[test]
fn m14_an_end_of_the_parent_that_was_unlinked_does_not_end_the_wait() {
    for sim in simulations(10) {
        let log = Log::new();
        let noted = log.clone();
        let probe = Probe::<Address<Number>>::spawn(&sim);
        let told = probe.address();
        let parent = behavior_fn(move |mut ctx: Context<()>| async move {
            let child = behavior_fn(move |mut ctx: Context<Number>| async move {
                ctx.trap_exits(true);
                ctx.stop_in_order();
                noted.note(format!("{:?}", ctx.receive_where(is_of(1)).await));
                // Its parent has ended meanwhile.
                if let Some(parent) = ctx.parent() {
                    ctx.unlink(parent);
                }
                noted.note(format!("{:?}", ctx.receive_where(is_of(7)).await));
                Ok(())
            });
            let child = ctx.spawn(move || child).link().start()?;
            told.send(child).map_err(SendError::without_message)?;
            ctx.receive().await;
            Err(boom())
        });
        let parent = sim.spawn(move || parent).start().unwrap();
        let child = probe.expect(SECOND);
        sim.run_until_idle();
        parent.send(()).unwrap();
        sim.run_until_idle();
        child.send(7).unwrap();
        sim.run_until_idle();
        assert_eq!(log.take(), ["None", "Some(7)"]);
    }
}

#[test]
fn m14_who_waits_for_a_message_alone_is_in_a_handler() {
    let sim = Simulation::new(1);
    sim.remember(Memory { crashes: 1, ..Memory::default() });
    let (to, _log) = waits(&sim);
    to.send(0).unwrap();
    sim.run_until_idle();
    assert_eq!(sim.process_info(to.pid()).unwrap().state, ProcessState::Waiting);
    sim.kill(to.pid());
    sim.run_until_idle();
    let crash = &sim.view().crashes(0, 1).items[0].item;
    assert!(crash.in_hand.is_some(), "{crash:?}");
}

/// A stop that comes before its first turn: it ends with that reason, and not as one that has nothing to do.
#[test]
fn m14_a_bare_process_that_is_asked_to_stop_before_it_waits_ends_with_that_reason() {
    for sim in simulations(5) {
        let run = |mut ctx: Context<Number>| async move {
            ctx.receive_where(is_of(7)).await;
            Ok(())
        };
        let to: Address<Number> = sim.spawn(move || behavior_fn(run)).start().unwrap();
        let end = to.watch();
        sim.stop().wait().unwrap();
        assert_eq!(end.wait().unwrap().reason, Reason::Shutdown);
    }
}

/// As any other wait in `init`: it does not complete the spawn.
#[test]
fn m14_in_init_it_is_part_of_the_start() {
    struct Asks;

    impl Actor for Asks {
        type Message = Number;

        async fn init(&mut self, ctx: &mut Context<Number>) -> Result {
            ctx.receive_where(is_of(7)).await;
            Err(boom())
        }

        async fn handle_message(&mut self, _: &mut Context<Number>, _: Number) -> Result {
            Ok(())
        }
    }

    let sim = Simulation::new(1);
    let (to, started) = sim.spawn(|| Asks).begin().unwrap();
    sim.run_until_idle();
    to.send(7).unwrap();
    let outcome = sim.block_on(started).unwrap();
    assert_eq!(outcome, Err(SpawnError::Init(boom())));
}
