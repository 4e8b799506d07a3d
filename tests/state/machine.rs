//! State machines as processes: what is obeyed between events, how they end, what they show (rules
//! F2, F4, F8, F11 to F17). The rules of time-outs and postponed events stand with the engine
//! (`state/src/state_machine/engine/tests.rs`) and in the recorded scenarios (`examples/oracle`).

use crate::machine_support::{Say, Script, To};
use crate::support::{Log, boom, puppet, simulations};
use krarup::behavior::{BehaviorContext, behavior_fn};
use krarup::observe::Value;
use krarup::prelude::*;
use krarup::supervisor::InPlace;
use krarup::{Entered, Event, First, Machine, Next, StateMachine, Timestamp};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// The result of a call that a process of its own makes.
fn asks(sim: &Simulation, machine: &Address<Say>, word: &'static str, log: &Log) {
    let (machine, told) = (machine.clone(), log.clone());
    let caller = krarup::behavior::behavior_fn(move |_: Context<()>| async move {
        let call = machine.call(|reply| Say::Ask(word, reply));
        told.note(match call.no_timeout().await {
            Ok(answer) => format!("{word} answered {answer}"),
            Err(CallError::Terminated { reason, .. } | CallError::NotBegun { reason, .. }) => {
                format!("{word} failed {reason}")
            }
            Err(CallError::Full { .. }) => format!("{word} full"),
            Err(other) => format!("{word} {other}"),
        });
        Ok(())
    });
    sim.spawn(|| caller).start().unwrap();
    sim.run_until_idle();
}

/// Runs some turns.
fn steps(sim: &Simulation) {
    for _ in 0..20 {
        sim.step();
    }
}

/// Never waits for its mailbox: each event inserts another.
fn endless(log: &Log) -> Script {
    let init = |_: &mut Context<Say>| Ok(First::state("a").insert("more"));
    Script::new(log, |_, _, event| {
        Ok(match event {
            Event::Internal(_) => Next::keep().insert("more"),
            event => Next::keep().postpone(event),
        })
    })
    .begins(init)
}

#[test]
fn f2_a_stop_and_an_inspection_are_obeyed_between_two_events_that_never_end() {
    for sim in simulations(5) {
        let log = Log::new();
        let machine = endless(&log).machine();
        let address = sim.spawn(|| machine).start().unwrap();
        steps(&sim);
        let inspection = address.inspect().wait().unwrap();
        assert_eq!(inspection.number("queued"), Some(1));
        // Others have their turns.
        let other = puppet(&sim, "other", &log);
        assert!(other.is_alive());
        assert!(log.count("internal") > 0);
        address.stop().wait().unwrap();
        assert_eq!(log.count("terminate a normal"), 1);
        sim.run_until_idle();
    }
}

#[test]
fn f2_a_suspension_holds_between_two_events_until_it_is_resumed() {
    for sim in simulations(5) {
        let log = Log::new();
        let machine = endless(&log).machine();
        let address = sim.spawn(|| machine).start().unwrap();
        steps(&sim);
        sim.suspend(address.pid()).wait().unwrap();
        log.take();
        sim.run_until_idle();
        assert_eq!(log.take(), Vec::<String>::new());
        assert_eq!(address.inspect().wait().unwrap().number("queued"), Some(1));
        assert!(sim.resume(address.pid()));
        steps(&sim);
        assert!(log.count("internal") > 0);
        sim.kill(address.pid());
        sim.run_until_idle();
        assert!(!address.is_alive());
    }
}

#[test]
fn f2_a_message_waits_behind_what_is_queued_whatever_its_lane() {
    for sim in simulations(5) {
        let log = Log::new();
        let machine = Script::new(&log, |ctx, _, event| {
            Ok(match event {
                Event::Message(Say::Word("go")) => {
                    let to = ctx.address();
                    to.send(Say::Word("main"))?;
                    to.send_high(Say::Word("high"))?;
                    to.send_max(Say::Word("max"))?;
                    Next::keep().timeout("t", Duration::ZERO, "zero").insert("i")
                }
                Event::Internal("i") => Next::keep().insert("j"),
                _ => Next::keep(),
            })
        });
        let address = sim.spawn(|| machine.machine()).wait().unwrap();
        address.send(Say::Word("go")).unwrap();
        sim.run_until_idle();
        let lines = log.take();
        let came: Vec<&str> = lines.iter().skip(2).map(String::as_str).collect();
        let expected =
            ["internal i", "internal j", "timeout t zero", "word max", "word high", "word main"];
        assert_eq!(came, expected.map(|word| format!("a {word}")));
    }
}

#[test]
fn f4_what_comes_again_keeps_its_sender_and_its_reply_token() {
    for sim in simulations(5) {
        let log = Log::new();
        let told = log.clone();
        let machine = Script::new(&log, move |ctx, state, event| {
            told.note(format!("from {:?}", ctx.sender()));
            Ok(match (state, event) {
                (_, Event::Message(Say::Word("go"))) => Next::state("b"),
                ("a", event) => Next::keep().postpone(event),
                (_, Event::Message(Say::Ask(word, reply))) => {
                    reply.send(word);
                    Next::keep()
                }
                _ => Next::keep(),
            })
        });
        let address = sim.spawn(|| machine.machine()).wait().unwrap();
        asks(&sim, &address, "x", &log);
        let from = log.take().pop().unwrap();
        assert!(from.starts_with("from Some"), "{from}");
        address.send(Say::Word("go")).unwrap();
        sim.run_until_idle();
        let expected = ["a word go", "from None", "enter b a", "b ask x", &from, "x answered x"];
        assert_eq!(log.take(), expected);
    }
}

/// What a machine does that is told to end in `how`.
fn ends(
    how: &'static str,
) -> impl FnMut(&mut Context<Say>, &'static str, Event<Script>) -> Result<To> {
    let mut kept = Vec::new();
    move |ctx, _, event| match event {
        Event::Message(Say::Word("end")) => match how {
            "error" => Err(boom()),
            "panic" => panic!("boom"),
            "stop" => {
                ctx.stop();
                Ok(Next::state("b").insert("never"))
            }
            _ => Ok(Next::state("b")),
        },
        Event::Message(Say::Ask("kept", reply)) => {
            kept.push(reply);
            Ok(Next::keep())
        }
        Event::Message(Say::Ask("answered", reply)) => {
            reply.send("yes");
            Ok(Next::keep())
        }
        event @ Event::Message(Say::Ask("postponed", _)) => Ok(Next::keep().postpone(event)),
        _ => Ok(Next::keep()),
    }
}

#[test]
fn f11_terminate_gets_the_state_and_what_waits_fails_with_the_reason() {
    for (how, state, reason) in [
        ("error", "a", "boom"),
        ("panic", "a", "panicked: boom"),
        ("stop", "a", "normal"),
        ("enter error", "b", "boom"),
        ("enter panic", "a", "panicked: boom"),
        ("enter stop", "b", "normal"),
        ("told", "a", "shutdown"),
        ("killed", "", "killed"),
    ] {
        for sim in simulations(3) {
            let log = Log::new();
            let machine = Script::new(&log, ends(how)).enters(move |ctx, _, to| {
                match how {
                    "enter error" if to == "b" => return Err(boom()),
                    "enter panic" if to == "b" => panic!("boom"),
                    "enter stop" if to == "b" => ctx.stop(),
                    _ => {}
                }
                Ok(Entered::new().timeout("t", SECOND, "t"))
            });
            let address = sim.spawn(|| machine.machine()).wait().unwrap();
            let end = address.watch();
            for word in ["answered", "kept", "postponed"] {
                asks(&sim, &address, word, &log);
            }
            sim.suspend(address.pid()).wait().unwrap();
            asks(&sim, &address, "queued", &log);
            match how {
                "told" => drop(address.stop().reason(Reason::Shutdown).wait()),
                "killed" => sim.kill(address.pid()),
                _ => {
                    // The one that ends it goes before the call that waits.
                    address.send_high(Say::Word("end")).unwrap();
                    sim.resume(address.pid());
                }
            }
            sim.run_until_idle();
            assert!(!address.is_alive(), "{how}");
            let ended = end.wait().unwrap().reason.to_string();
            assert!(ended.contains(reason.trim_start_matches("panicked: ")), "{how}: {ended}");
            let lines = log.take();
            let terminate: Vec<_> = lines.iter().filter(|l| l.starts_with("terminate")).collect();
            if how == "killed" {
                assert!(terminate.is_empty(), "{terminate:?}");
            } else {
                assert_eq!(terminate, [&format!("terminate {state} {ended}")], "{how}");
            }
            assert!(lines.contains(&"answered answered yes".to_owned()), "{how}: {lines:?}");
            for word in ["kept", "postponed", "queued"] {
                let failed = format!("{word} failed {ended}");
                assert!(lines.contains(&failed), "{how}: {failed} is not in {lines:?}");
            }
            // The postponed one and the queued one; the kept one was handled.
            assert_eq!(sim.stats().dead_letters, 2, "{how}");
        }
    }
}

#[test]
fn f13_one_message_more_than_the_bound_is_a_dead_letter_and_the_machine_goes_on() {
    for sim in simulations(5) {
        let log = Log::new();
        let machine = Script::new(&log, |_, state, event| {
            Ok(match (state, event) {
                (_, Event::Message(Say::Word("go"))) => Next::state("b"),
                ("b", Event::Message(Say::Ask(word, reply))) => {
                    reply.send(word);
                    Next::keep()
                }
                ("a", event) => Next::keep().postpone(event),
                _ => Next::keep(),
            })
        });
        let address = sim.spawn(|| machine.machine()).mailbox(2).wait().unwrap();
        for word in ["x", "y", "z"] {
            asks(&sim, &address, word, &log);
        }
        assert_eq!(log.count("z full"), 1);
        assert_eq!(sim.stats().dead_letters, 1);
        let inspection = address.inspect().wait().unwrap();
        assert_eq!(inspection.number("postponed"), Some(2));
        address.send(Say::Word("go")).unwrap();
        sim.run_until_idle();
        assert_eq!((log.count("x answered x"), log.count("y answered y")), (1, 1));
    }
}

#[test]
fn f14_an_inspection_shows_the_state_what_waits_and_the_time_that_is_left() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let machine = Script::new(&log, |_, _, event| {
        let next = Next::keep().state_timeout(2 * SECOND, "s").timeout("t", 3 * SECOND, "t");
        Ok(next.event_timeout(4 * SECOND, "e").postpone(event))
    });
    let address = sim.spawn(|| machine.machine()).wait().unwrap();
    address.send(Say::Word("x")).unwrap();
    sim.advance(SECOND);
    let inspection = address.inspect().wait().unwrap();
    assert_eq!(inspection.number("own"), Some(7));
    assert_eq!((inspection.number("postponed"), inspection.number("queued")), (Some(1), Some(0)));
    assert_eq!(inspection.text("state"), Some("\"a\""));
    let Some(Value::List(timers)) = inspection.value("timers") else { panic!("no timers") };
    let timers: Vec<String> = timers.iter().map(ToString::to_string).collect();
    let expected = [
        "{kind=event_timeout left=3s}",
        "{kind=state_timeout left=1s}",
        "{kind=timeout name=\"t\" left=2s}",
    ];
    assert_eq!(timers, expected);
    // The debugger gets the state.
    assert_eq!(sim.state::<&'static str>(address.pid()).wait(), Ok("a"));
}

#[test]
fn f14_the_state_is_the_label_of_a_process_that_has_no_other() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let script = |log: &Log| Script::new(log, |_, _, _| Ok(Next::state("b"))).machine();
    let one = script(&log);
    let other = Script::new(&log, |ctx, _, _| {
        ctx.set_label("chosen").unwrap();
        Ok(Next::state("b"))
    });
    let other = other.machine();
    let address = sim.spawn(|| one).wait().unwrap();
    let labelled = sim.spawn(|| other).wait().unwrap();
    let label = |pid: Pid| sim.process_info(pid).unwrap().label.unwrap().to_string();
    assert_eq!((label(address.pid()).as_str(), label(labelled.pid()).as_str()), ("\"a\"", "\"a\""));
    for address in [&address, &labelled] {
        address.send(Say::Word("x")).unwrap();
    }
    sim.run_until_idle();
    assert_eq!(
        (label(address.pid()).as_str(), label(labelled.pid()).as_str()),
        ("\"b\"", "chosen")
    );
}

#[test]
fn f14_a_state_beyond_those_that_are_kept_for_all_replaces_no_chosen_label() {
    let sim = Simulation::new(1);
    let show = |chosen: bool| {
        behavior_fn(move |mut ctx: Context<()>| async move {
            // A node keeps the texts of this many states once for all processes.
            for state in 0..4096 {
                ctx.show_state(&state);
            }
            if chosen {
                ctx.set_label("chosen").unwrap();
            }
            ctx.show_state(&"beyond");
            ctx.receive().await;
            Ok(())
        })
    };
    let plain = sim.spawn(move || show(false)).wait().unwrap();
    let labelled = sim.spawn(move || show(true)).wait().unwrap();
    sim.run_until_idle();
    let label = |pid: Pid| sim.process_info(pid).unwrap().label.unwrap().to_string();
    assert_eq!((label(plain.pid()), label(labelled.pid())), ("\"beyond\"".into(), "chosen".into()));
}

#[test]
fn f15_exits_downs_and_messages_of_other_types_are_events_that_end_nobody() {
    for sim in simulations(5) {
        let log = Log::new();
        let watched = puppet(&sim, "watched", &log);
        let pid = watched.pid();
        let machine = Script::new(&log, |_, state, event| {
            Ok(match (state, event) {
                (_, Event::Message(_)) => Next::state("b"),
                ("a", event @ Event::Down(_)) => Next::keep().postpone(event),
                _ => Next::keep(),
            })
        });
        let machine = machine.begins(move |ctx| {
            ctx.trap_exits(true);
            ctx.take_others();
            ctx.link(pid);
            ctx.monitor(pid);
            Ok(First::state("a"))
        });
        let address = sim.spawn(|| machine.machine()).wait().unwrap();
        sim.exit(pid, boom());
        sim.run_until_idle();
        sim.send(address.pid(), 7_u64).unwrap();
        sim.run_until_idle();
        address.send(Say::Word("go")).unwrap();
        sim.run_until_idle();
        assert!(address.is_alive());
        let mut lines = log.take();
        lines.retain(|line| line.starts_with("a ") || line.starts_with("b "));
        lines[..2].sort();
        assert_eq!(
            lines,
            ["a down boom", "a exit boom", "a other u64", "a word go", "b down boom"]
        );
    }
}

#[test]
fn f16_after_a_stop_what_the_callback_returned_is_not_carried_out() {
    for sim in simulations(5) {
        let log = Log::new();
        let machine = Script::new(&log, |ctx, _, event| {
            ctx.stop();
            Ok(Next::state("b").insert("never").postpone(event).hibernate())
        });
        let address = sim.spawn(|| machine.machine()).wait().unwrap();
        log.take();
        asks(&sim, &address, "x", &log);
        assert_eq!(log.take(), ["a ask x", "terminate a normal", "dropped", "x failed normal"]);
        assert_eq!(sim.stats().dead_letters, 1);
    }
}

#[test]
fn f16_a_stop_in_init_or_in_the_first_enter_call_ends_the_machine() {
    for in_init in [true, false] {
        let (sim, log) = (Simulation::new(1), Log::new());
        let stop = move |ctx: &mut Context<Say>, here: bool| {
            if here {
                ctx.stop();
            }
        };
        let machine = Script::new(&log, |_, _, _| Ok(Next::keep()))
            .begins(move |ctx| {
                stop(ctx, in_init);
                Ok(First::state("a").insert("never"))
            })
            .enters(move |ctx, _, _| {
                stop(ctx, !in_init);
                Ok(Entered::new())
            });
        let address = sim.spawn(|| machine.machine()).wait().unwrap();
        sim.run_until_idle();
        assert!(!address.is_alive());
        let mut lines = log.take();
        lines.retain(|line| line != "enter a a");
        assert_eq!(lines, ["terminate a normal", "dropped"]);
    }
}

#[test]
fn f17_a_restart_in_place_begins_with_init_and_has_nothing_postponed_and_no_timeout() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let factory = move || {
            let script = Script::new(&noted, |_, _, event| match event {
                Event::Message(Say::Word("fail")) => Err(boom()),
                Event::Message(Say::Word("set")) => Ok(Next::keep()
                    .timeout("t", 2 * SECOND, "old")
                    .state_timeout(2 * SECOND, "old")),
                Event::Message(Say::Word("b")) => Ok(Next::state("b")),
                event => Ok(Next::keep().postpone(event)),
            });
            script.machine()
        };
        let address = sim.spawn(|| InPlace::new(factory)).name("in place").wait().unwrap();
        address.send(Say::Word("set")).unwrap();
        asks(&sim, &address, "x", &log);
        sim.suspend(address.pid()).wait().unwrap();
        log.take();
        for word in ["fail", "b"] {
            address.send(Say::Word(word)).unwrap();
        }
        sim.resume(address.pid());
        sim.run_until_idle();
        let expected =
            ["a word fail", "dropped", "enter a a", "a word b", "enter b a", "x failed boom"];
        let mut lines = log.take();
        lines.sort();
        let mut sorted = expected.map(str::to_owned);
        sorted.sort();
        assert_eq!(lines, sorted);
        assert_eq!(sim.stats().dead_letters, 1, "what the failed machine had postponed");
        sim.advance(10 * SECOND);
        assert_eq!(log.take(), Vec::<String>::new(), "a time-out of the machine that failed");
        let inspection = address.inspect().wait().unwrap();
        assert_eq!(inspection.number("postponed"), Some(0));
        assert_eq!(inspection.value("timers"), Some(&Value::List(Vec::new())));
        assert_eq!(sim.whereis("in place"), Some(address.pid()));
    }
}

#[test]
fn f17_a_supervisor_restarts_a_machine_as_any_child() {
    for in_place in [false, true] {
        for sim in simulations(3) {
            let log = Log::new();
            let noted = log.clone();
            let factory = move || {
                Script::new(&noted, |_, _, event| match event {
                    Event::Message(Say::Word("fail")) => Err(boom()),
                    _ => Ok(Next::state("b")),
                })
                .machine()
            };
            let child = if in_place {
                ChildSpec::worker_in_place("m", factory)
            } else {
                ChildSpec::worker("m", factory)
            };
            let tree = || Supervisor::one_for_one().child(child.name("m"));
            let supervisor = sim.spawn(tree).wait().unwrap();
            let first = sim.whereis("m").unwrap();
            sim.send("m", Say::Word("x")).map_err(SendError::without_message).unwrap();
            sim.send("m", Say::Word("fail")).map_err(SendError::without_message).unwrap();
            sim.run_until_idle();
            let second = sim.whereis("m").unwrap();
            assert_eq!(first == second, in_place);
            assert_eq!(sim.process_info(second).unwrap().label.unwrap().as_str(), "\"a\"");
            supervisor.stop().wait().unwrap();
            assert_eq!(log.count("terminate a shutdown"), 1);
        }
    }
}

#[test]
fn f17_a_first_enter_call_that_fails_does_not_fail_the_spawn() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let machine = Script::new(&log, |_, _, _| Ok(Next::keep())).enters(|_, _, _| Err(boom()));
    let address = sim.spawn(|| machine.machine()).wait().unwrap();
    sim.run_until_idle();
    assert!(!address.is_alive());
    assert_eq!(log.take(), ["enter a a", "terminate a boom", "dropped"]);
    let machine = Script::new(&log, |_, _, _| Ok(Next::keep())).begins(|_| Err(boom()));
    assert!(matches!(sim.spawn(|| machine.machine()).wait(), Err(SpawnError::Init(_))));
    assert_eq!(log.take(), ["dropped"]);
}

#[test]
fn f8_a_timeout_of_the_past_comes_at_once_and_one_of_a_point_in_time_at_that_time() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let told = log.clone();
    let machine = Script::new(&log, move |ctx, _, event| {
        told.note(format!("at {:?}", ctx.now() - Timestamp::ZERO));
        Ok(match event {
            Event::Message(_) => Next::keep()
                .state_timeout_at(Timestamp::ZERO + SECOND, "past")
                .timeout_at("t", Timestamp::ZERO + 7 * SECOND, "later"),
            _ => Next::keep(),
        })
    });
    let address = sim.spawn(|| machine.machine()).wait().unwrap();
    sim.advance(5 * SECOND);
    log.take();
    address.send(Say::Word("x")).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["a word x", "at 5s", "a state_timeout past", "at 5s"]);
    sim.advance(5 * SECOND);
    assert_eq!(log.take(), ["a timeout t later", "at 7s"]);
}

/// Sets a time-out at the first message, waits in a callback at the second.
struct Waits(Log);

impl krarup::StateMachine for Waits {
    type State = ();
    type Message = u32;
    type Internal = ();
    type Timer = ();

    async fn init(&mut self, _: &mut Context<u32>) -> Result<First<Self>> {
        Ok(First::state(()))
    }

    async fn handle_event(
        &mut self,
        ctx: &mut Context<u32>,
        (): (),
        event: Event<Self>,
    ) -> Result<Next<Self>> {
        Ok(match event {
            Event::Message(1) => Next::keep().state_timeout(2 * SECOND, ()),
            Event::Message(2) => {
                ctx.sleep(5 * SECOND).await;
                Next::keep()
            }
            Event::Message(number) => {
                self.0.note(number);
                Next::keep()
            }
            event => {
                self.0.note(format!("{event:?}"));
                Next::keep()
            }
        })
    }
}

#[test]
fn f8_a_timeout_is_due_while_a_callback_waits_and_keeps_its_place_among_the_messages() {
    for sim in simulations(3) {
        let log = Log::new();
        let machine = Machine::new(Waits(log.clone()));
        let address = sim.spawn(|| machine).wait().unwrap();
        // Both are handled in one turn.
        for number in [1, 2] {
            address.send(number).unwrap();
        }
        for number in [3, 4] {
            sim.advance(SECOND + SECOND / 2);
            address.send(number).unwrap();
        }
        sim.advance(10 * SECOND);
        assert_eq!(log.take(), ["3", "StateTimeout", "4"]);
    }
}

/// Waits in the enter call of the state 1.
struct SlowToEnter(Log);

impl StateMachine for SlowToEnter {
    type State = u32;
    type Message = u32;
    type Internal = &'static str;
    type Timer = ();

    async fn init(&mut self, _: &mut Context<u32>) -> Result<First<Self>> {
        Ok(First::state(0))
    }

    async fn enter(&mut self, ctx: &mut Context<u32>, from: u32, to: u32) -> Result<Entered<Self>> {
        if to == 1 {
            ctx.sleep(SECOND).await;
        }
        self.0.note(format!("enter {to} {from}"));
        Ok(Entered::new().state_timeout(SECOND, "over"))
    }

    async fn handle_event(
        &mut self,
        _: &mut Context<u32>,
        state: u32,
        event: Event<Self>,
    ) -> Result<Next<Self>> {
        self.0.note(format!("{state} {event:?}"));
        Ok(match event {
            Event::Message(to) if to != state => Next::state(to).insert("inserted").postpone(event),
            _ => Next::keep(),
        })
    }
}

#[test]
fn f2_a_transition_is_carried_out_though_its_enter_call_waits() {
    for sim in simulations(3) {
        let log = Log::new();
        let machine = Machine::new(SlowToEnter(log.clone()));
        let address = sim.spawn(|| machine).wait().unwrap();
        sim.advance(5 * SECOND);
        assert_eq!(log.take(), ["enter 0 0", "0 StateTimeout"]);
        address.send(1).unwrap();
        sim.advance(5 * SECOND);
        let expected = ["0 Message", "enter 1 0", "1 Internal", "1 Message", "1 StateTimeout"];
        assert_eq!(log.take(), expected);
        assert_eq!(sim.stats().dead_letters, 0);
    }
}

#[test]
fn f8_of_timeouts_of_all_kinds_that_are_due_at_the_same_time_the_first_one_set_comes_first() {
    for sim in simulations(3) {
        let log = Log::new();
        let script = Script::new(&log, |_, _, event| {
            Ok(match event {
                Event::Message(_) => Next::keep()
                    .timeout("n", SECOND, "1")
                    .state_timeout(SECOND, "2")
                    .timeout("m", SECOND, "3")
                    .event_timeout(SECOND, "4"),
                // An event cancels the event time-out.
                _ => Next::keep(),
            })
        });
        let begins = |_: &mut Context<Say>| {
            Ok(First::state("a").event_timeout(SECOND, "1").state_timeout(SECOND, "2"))
        };
        let machine = script.begins(begins).machine();
        let address = sim.spawn(|| machine).wait().unwrap();
        log.take();
        sim.advance(2 * SECOND);
        assert_eq!(log.take(), ["a event_timeout 1", "a state_timeout 2"]);
        address.send(Say::Word("set")).unwrap();
        sim.advance(2 * SECOND);
        let expected = ["a word set", "a timeout n 1", "a state_timeout 2", "a timeout m 3"];
        assert_eq!(log.take(), expected);
    }
}

/// Ends when it is idle for a second. Postpones words in the state `a`, but `set` it handles, and
/// `fail` fails.
fn passivated(log: &Log) -> Machine<Script> {
    let script = Script::new(log, |_, state, event| {
        Ok(match event {
            Event::Message(Say::Word("b")) => Next::state("b"),
            Event::Message(Say::Word("fail")) => return Err(boom()),
            Event::Message(_) if state == "a" => Next::keep().postpone(event),
            _ => Next::keep(),
        })
    });
    let begins = |ctx: &mut Context<Say>| {
        ctx.passivate_after(Some(SECOND));
        Ok(First::state("a"))
    };
    script.begins(begins).machine()
}

#[test]
fn d10_a_state_machine_that_has_postponed_something_is_not_passivated() {
    for sim in simulations(3) {
        let log = Log::new();
        let machine = passivated(&log);
        let address = sim.spawn(|| machine).wait().unwrap();
        address.send(Say::Word("later")).unwrap();
        sim.advance(10 * SECOND);
        assert!(address.is_alive());
        address.send(Say::Word("b")).unwrap();
        sim.advance(SECOND / 2);
        assert_eq!(log.lines().last(), Some(&"b word later".to_owned()));
        assert!(address.is_alive());
        sim.advance(10 * SECOND);
        assert!(!address.is_alive());
        assert_eq!(sim.stats().dead_letters, 0);
    }
}

#[test]
fn d10_a_state_machine_that_was_replaced_in_place_has_postponed_nothing() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let factory = move || passivated(&log);
    let address = sim.spawn(|| InPlace::new(factory)).wait().unwrap();
    for word in ["later", "fail"] {
        address.send(Say::Word(word)).unwrap();
        sim.run_until_idle();
    }
    assert_eq!((address.is_alive(), sim.stats().dead_letters), (true, 1));
    sim.advance(10 * SECOND);
    assert!(!address.is_alive());
}
