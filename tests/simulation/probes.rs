//! The test kit: probes that stand where other processes would.

use krarup::behavior::behavior_fn;
use krarup::observe::DeadLetterCause;
use krarup::prelude::*;
use krarup::testing::Probe;
use krarup::{Dynamic, Name, Recipient};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// What `body` panics with.
fn panic_of<T>(body: impl FnOnce() -> T) -> String {
    let caught = catch_unwind(AssertUnwindSafe(|| drop(body())));
    *caught.unwrap_err().downcast::<String>().unwrap()
}

/// Says each number twice: at once, and a second later.
struct Twice(Recipient<u32>);

impl Actor for Twice {
    type Message = u32;

    async fn handle_message(&mut self, ctx: &mut Context<u32>, number: u32) -> Result {
        if number == 0 {
            return Err(Reason::error("no number"));
        }
        self.0.send(number).map_err(krarup::SendError::without_message)?;
        ctx.send_after_to(SECOND, &self.0, number);
        Ok(())
    }
}

fn twice(sim: &Simulation, probe: &Probe<'_, u32>) -> Address<u32> {
    let to = probe.recipient();
    sim.spawn(move || Twice(to)).name("twice").wait().unwrap()
}

#[test]
fn t4_a_probe_takes_a_message_at_the_moment_it_arrives() {
    Simulation::explore(0..20, |sim| {
        let probe = Probe::<u32>::spawn(sim);
        let twice = twice(sim, &probe);
        twice.send(3)?;
        twice.send(4)?;
        probe.expect_message(Duration::ZERO, &3);
        assert_eq!(probe.sender(), Some(twice.pid()));
        assert_eq!(probe.expect(Duration::ZERO), 4);
        probe.expect_none(SECOND / 2);
        assert_eq!(sim.now().since(krarup::Timestamp::ZERO), SECOND / 2);
        assert_eq!(probe.expect_that(10 * SECOND, "an odd number", |n| n % 2 == 1), 3);
        assert_eq!(sim.now().since(krarup::Timestamp::ZERO), SECOND);
        assert_eq!(probe.expect(SECOND), 4);
        probe.expect_none(100 * SECOND);
        probe.address().send(9)?;
        probe.expect_message(Duration::ZERO, &9);
        assert_eq!(probe.sender(), None);
        Ok(())
    });
}

#[test]
fn t4_a_message_exactly_at_the_limit_is_in_time() {
    let sim = Simulation::new(1);
    let probe = Probe::<u32>::spawn(&sim);
    twice(&sim, &probe).send(3).unwrap();
    probe.expect(Duration::ZERO);
    // It is due in a second, to the nanosecond.
    probe.expect_none(Duration::from_nanos(999_999_999));
    assert_eq!(probe.expect(Duration::from_nanos(1)), 3);
}

#[test]
fn t4_a_failure_names_the_unexpected_message_and_the_last_steps() {
    let sim = Simulation::new(2);
    let probe = Probe::<u32>::spawn(&sim);
    let twice = twice(&sim, &probe);
    twice.send(3).unwrap();
    twice.send(4).unwrap();
    let text = panic_of(|| probe.expect_message(SECOND, &5));
    let expected = "probe <0.1.0> expected 5 within 1s, but there came 3 at 0ns from <0.2.0> \
                    \"twice\"\n  behind that: 4 at 0ns from <0.2.0> \"twice\"\n\
                    the last steps of Simulation::with_throughput(2, 64)\n";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("<0.2.0> \"twice\" Twice: 2 messages"), "{text}");

    probe.expect(SECOND);
    let text = panic_of(|| probe.expect_none(2 * SECOND));
    assert!(text.starts_with("probe <0.1.0> expected nothing within 2s, but there came 3 at 1s"));
    probe.expect(SECOND);
    let text = panic_of(|| probe.expect(2 * SECOND));
    let expected = "probe <0.1.0> expected a message within 2s, but nothing arrived until 3s\n";
    assert!(text.starts_with(expected), "{text}");
    sim.kill(probe.pid());
    let text = panic_of(|| probe.expect(SECOND));
    assert!(text.contains("but it has ended\n"), "{text}");
    let text = panic_of(|| probe.run(|ctx| ctx.pid()));
    assert_eq!(text, "probe <0.1.0> has ended");
}

#[test]
fn t4_downs_and_exits_reach_probes_that_monitor_or_link() {
    Simulation::explore(0..20, |sim| {
        let probe = Probe::<u32>::spawn(sim);
        let twice = twice(sim, &probe);
        probe.monitor(twice.pid());
        twice.send(0)?;
        assert_eq!(probe.expect_down(SECOND, twice.pid()), Reason::error("no number"));

        let other = sim.spawn(|| {
            behavior_fn(|mut ctx: Context<()>| async move {
                ctx.receive().await;
                Err(Reason::error("over"))
            })
        });
        let other = other.wait()?;
        probe.link(other.pid());
        other.send(())?;
        assert_eq!(probe.expect_exit(SECOND, other.pid()), Reason::error("over"));
        sim.exit(probe.pid(), Reason::Shutdown);
        let text = panic_of(|| probe.expect_down(SECOND, other.pid()));
        assert!(text.contains("there came an exit signal of <0.0.0> at 0ns: shutdown"), "{text}");
        // The probe is dead to nobody: it traps.
        assert!(sim.is_alive(probe.pid()));
        Ok(())
    });
}

#[test]
fn t4_a_probe_acts_at_once_and_in_its_own_name() {
    let sim = Simulation::new(3);
    let probe = Probe::<u32>::named(&sim, "till");
    let bystander = sim
        .spawn(|| {
            behavior_fn(|mut ctx: Context<u32>| async move {
                ctx.receive().await;
                Ok(())
            })
        })
        .start()
        .unwrap();
    assert_eq!(probe.run(|ctx| ctx.pid()), probe.pid());
    probe.link(bystander.pid());
    // Nobody else has had a turn.
    assert_eq!(bystander.info().state, krarup::observe::ProcessState::Init);
    assert_eq!(sim.whereis("till"), Some(probe.pid()));
    let text = panic_of(|| probe.run(|_| panic!("not so")));
    assert!(text.starts_with("probe <0.1.0> \"till\" has failed: panic"), "{text}");

    let other = Probe::<u32>::spawn(&sim);
    let to = other.address();
    probe.run(move |_| to.send(5).unwrap());
    other.expect_message(SECOND, &5);
    assert_eq!(other.sender(), Some(probe.pid()));
    other.reply(6_u32);
    probe.expect_message(SECOND, &6);
    other.reply("six");
    assert_eq!(probe.expect_other::<&str>(SECOND), "six");
    assert!(panic_of(|| Probe::<u32>::named(&sim, "till")).contains("taken by <0.1.0>"));
}

/// Each of its turns has one message, and the order comes after two.
#[test]
fn t4_a_probe_runs_as_many_turns_as_it_takes_to_come_to_an_act() {
    let sim = Simulation::with_throughput(1, 1);
    let probe = Probe::<u32>::spawn(&sim);
    let twice = twice(&sim, &probe);
    probe.address().send(1).unwrap();
    probe.address().send(2).unwrap();
    assert_eq!(probe.run(|ctx| ctx.pid()), probe.pid());
    // Nobody else has run.
    assert_eq!((probe.take_messages(), twice.info().handled), (vec![1, 2], 0));
}

#[test]
fn t4_fishing_skips_other_messages() {
    let sim = Simulation::new(3);
    let probe = Probe::<u32>::spawn(&sim);
    (1..=5).for_each(|n| probe.address().send(n).unwrap());
    assert_eq!(probe.fish(SECOND, "more than 3", |n| *n > 3), 4);
    let text = panic_of(|| probe.fish(SECOND, "more than 5", |n| *n > 5));
    assert!(text.contains("but no match arrived until 1s\n  before that: 5 at 0ns from"));
    sim.send(probe.pid(), "a text").unwrap();
    let text = panic_of(|| probe.expect(SECOND));
    assert!(text.contains("there came a &str at 1s from outside"), "{text}");
    let text = panic_of(|| probe.expect_other::<Dynamic>(SECOND));
    assert!(text.contains("but nothing arrived until 2s"), "{text}");
}

#[test]
fn t4_a_request_is_answered_through_its_token() {
    let sim = Simulation::new(3);
    let till = Probe::<Reply<u32>>::spawn(&sim);
    let results = Probe::<Result<u32, CallError>>::spawn(&sim);
    let to = till.address();
    results.pipe(async move { to.call(|reply| reply).await });
    till.expect(SECOND).send(7);
    results.expect_message(SECOND, &Ok(7));
}

#[test]
fn t4_several_messages_are_expected_in_any_order_and_by_number() {
    let sim = Simulation::new(3);
    let probe = Probe::<u32>::spawn(&sim);
    let send = |numbers: &[u32]| numbers.iter().for_each(|n| probe.address().send(*n).unwrap());
    send(&[3, 1, 2, 2]);
    probe.expect_all(SECOND, &[2, 1, 2, 3]);
    send(&[1, 2, 5]);
    let text = panic_of(|| probe.expect_all(SECOND, &[3, 2, 1]));
    let expected = "probe <0.1.0> expected 3 within 1s, but there came 5 at 0ns from outside\n";
    assert!(text.starts_with(expected), "{text}");
    send(&[1, 4]);
    let text = panic_of(|| probe.expect_all(SECOND, &[3, 2, 1]));
    assert!(text.starts_with("probe <0.1.0> expected one of [3, 2] within 1s, but"), "{text}");
    send(&[7, 8, 9]);
    assert_eq!(probe.expect_many(SECOND, 2), [7, 8]);
    let text = panic_of(|| probe.expect_many(SECOND, 2));
    assert!(text.contains("expected message 2 of 2 within 1s, but nothing arrived"), "{text}");
    let text = panic_of(|| probe.expect_many(SECOND, usize::MAX));
    assert!(text.contains(&format!("message 1 of {}", usize::MAX)), "{text}");
    send(&[1, 2]);
    sim.run_until_idle();
    assert_eq!((probe.take_messages(), probe.take_messages()), (vec![1, 2], vec![]));
}

#[test]
fn t4_expect_no_message_holds_despite_a_notice_of_an_end() {
    let sim = Simulation::new(3);
    let probe = Probe::<u32>::spawn(&sim);
    let twice = twice(&sim, &probe);
    probe.monitor(twice.pid());
    sim.kill(twice.pid());
    probe.expect_no_message(SECOND);
    assert_eq!(probe.expect_down(Duration::ZERO, twice.pid()), Reason::Killed);
    sim.send(probe.pid(), "a text").unwrap();
    let text = panic_of(|| probe.expect_no_message(SECOND));
    assert!(text.contains("expected no message within 1s, but there came a &str"), "{text}");
}

#[test]
fn t4_a_probe_with_on_message_keeps_only_what_the_closure_returns() {
    let sim = Simulation::new(3);
    let probe = Probe::<u32>::spawn(&sim);
    let mut sum = 0;
    probe.on_message(move |ctx, number| {
        sum += number;
        if number == 3 {
            // From now on another way.
            ctx.stop();
        }
        (number != 2).then_some(sum)
    });
    (1..=3).for_each(|n| probe.address().send(n).unwrap());
    assert_eq!(probe.expect_many(SECOND, 2), [1, 6]);
    let other = Probe::<u32>::spawn(&sim);
    other.on_message(|_, _| panic!("no number"));
    other.address().send(1).unwrap();
    let text = panic_of(|| other.expect(SECOND));
    assert!(text.contains("expected a message within 1s, but it has ended"), "{text}");
}

#[test]
fn t4_a_condition_is_waited_for_and_no_longer() {
    let sim = Simulation::new(3);
    let probe = Probe::<u32>::spawn(&sim);
    twice(&sim, &probe).send(3).unwrap();
    let mut came = Vec::new();
    sim.run_until(SECOND, "two have come", || {
        came.extend(probe.take_messages());
        came.len() == 2
    });
    assert_eq!(sim.now().since(krarup::Timestamp::ZERO), SECOND);
    let text = panic_of(|| sim.run_until(SECOND, "a third has come", || false));
    assert!(text.starts_with("condition not met within 1s: a third has come\nthe last"));
    assert_eq!(sim.within(SECOND, || probe.expect_none(SECOND)), ());
    let text = panic_of(|| sim.within(SECOND, || sim.advance(2 * SECOND)));
    assert!(text.starts_with("took 2s, expected at most 1s\n"), "{text}");
}

#[test]
fn t4_dead_letters_are_expected_by_the_type_of_the_message() {
    let sim = Simulation::new(3);
    let letters = Probe::of_dead_letters(&sim);
    let probe = Probe::<u32>::spawn(&sim);
    let twice = twice(&sim, &probe);
    twice.send(0).unwrap();
    twice.send(1).unwrap();
    assert_eq!(letters.expect_dead_letter::<u32>(SECOND), DeadLetterCause::Unhandled);
    twice.send(1).unwrap_err();
    let text = panic_of(|| letters.expect_dead_letter::<String>(SECOND));
    assert!(text.contains("expected a dead letter of a alloc::string::String"), "{text}");
}

/// Sends 1 a second later, 2 another second later, and so on.
fn ticker(sim: &Simulation, to: Recipient<u32>) -> Address<()> {
    let ticks = behavior_fn(move |ctx: Context<()>| async move {
        for n in 1.. {
            ctx.sleep(SECOND).await;
            to.send(n).map_err(SendError::without_message)?;
        }
        Ok(())
    });
    sim.spawn(move || ticks).start().unwrap()
}

#[test]
fn t4_a_limit_is_for_all_that_is_expected_together() {
    let limit = 5 * SECOND / 2;
    let fails = |expect: &dyn Fn(&Probe<'_, u32>)| {
        let sim = Simulation::new(3);
        let probe = Probe::<u32>::spawn(&sim);
        ticker(&sim, probe.recipient());
        let text = panic_of(|| expect(&probe));
        assert_eq!(sim.now(), krarup::Timestamp::ZERO + limit, "{text}");
        text
    };
    let text = fails(&|probe| drop(probe.expect_many(limit, 3)));
    assert!(text.contains("expected message 3 of 3 within 500ms, but nothing arrived"), "{text}");
    let text = fails(&|probe| probe.expect_all(limit, &[3, 2, 1]));
    assert!(text.contains("expected 3 within 500ms, but nothing arrived until 2.5s"), "{text}");
    let text = fails(&|probe| _ = probe.fish(limit, "more", |n| *n > 2));
    let passed = "expected more within 2.5s, but no match arrived until 2.5s\n  before that: 1 at \
                  1s from <0.2.0>\n  before that: 2 at 2s from <0.2.0>\n";
    assert!(text.contains(passed), "{text}");
    fails(&|probe| {
        assert_eq!((probe.expect(SECOND), probe.expect(SECOND)), (1, 2));
        probe.expect_none(SECOND / 2);
        panic!("{}", "met");
    });
}

#[test]
fn t4_the_sender_is_that_of_the_message_that_was_taken_last() {
    let sim = Simulation::new(3);
    let probe = Probe::<u32>::spawn(&sim);
    let others = [(); 4].map(|()| Probe::<u32>::spawn(&sim));
    let from = |n: usize, send: fn(&Address<u32>)| {
        let to = probe.address();
        others[n].run(move |_| send(&to));
        sim.run_until_idle();
    };
    let one: fn(&Address<u32>) = |to| to.send(1).unwrap();
    from(0, one);
    from(1, |to| to.send(2).unwrap());
    probe.fish(SECOND, "two", |n| *n == 2);
    assert_eq!(probe.sender(), Some(others[1].pid()));
    let pid = probe.pid();
    others[2].run(move |ctx| ctx.send(pid, "text").unwrap());
    assert_eq!(probe.expect_other::<&str>(SECOND), "text");
    assert_eq!(probe.sender(), Some(others[2].pid()));
    from(3, one);
    from(0, one);
    assert_eq!(probe.expect_many(SECOND, 2), [1, 1]);
    assert_eq!(probe.sender(), Some(others[0].pid()));
    from(3, one);
    probe.expect_all(SECOND, &[1]);
    assert_eq!(probe.sender(), Some(others[3].pid()));
    // A text that is no number: what came is named, and nobody is the sender of it.
    others[1].run(move |ctx| ctx.send(pid, "text").unwrap());
    let text = panic_of(|| probe.expect_other::<u64>(SECOND));
    assert!(text.contains("expected a u64 within 1s, but there came a &str at 0ns from <0.3.0>"));
    assert_eq!(probe.sender(), Some(others[3].pid()));
    sim.send(pid, 7_u32).unwrap();
    probe.expect_message(SECOND, &7);
    assert_eq!(probe.sender(), None);
    let text = panic_of(|| probe.reply(1_u32));
    assert_eq!(text, "probe <0.1.0> has no sender to reply to");
    from(3, one);
    probe.expect(SECOND);
    sim.kill(others[3].pid());
    sim.run_until_idle();
    let text = panic_of(|| probe.reply(1_u32));
    assert!(text.starts_with("probe <0.1.0> cannot reply to <0.5.0>: "), "{text}");
}

#[test]
fn t4_messages_are_taken_and_looked_for_among_ends_and_exits() {
    let sim = Simulation::new(3);
    let probe = Probe::<u32>::spawn(&sim);
    let twice = twice(&sim, &probe);
    probe.monitor(twice.pid());
    probe.link(twice.pid());
    twice.send(3).unwrap();
    twice.send(0).unwrap();
    sim.run_until_idle();
    probe.address().send(4).unwrap();
    sim.run_until_idle();
    assert_eq!(sim.inspect(probe.pid()).wait().unwrap().number("arrived"), Some(4));
    assert_eq!(format!("{probe:?}"), "Probe(<0.1.0>, 4 arrived)");
    assert_eq!(probe.take_messages(), [3, 4]);
    // Both ends of it have stayed; a message behind them is found.
    probe.address().send(5).unwrap();
    let text = panic_of(|| probe.expect_no_message(SECOND));
    assert!(text.contains("expected no message within 1s, but there came 5 at"), "{text}");
    assert!(text.contains("behind that: "), "{text}");
    probe.expect_no_message(SECOND);
    let other = Probe::<u32>::named(&sim, "other");
    let text = panic_of(|| probe.expect_down(SECOND, other.pid()));
    assert!(text.contains("expected the end of <0.3.0> \"other\", monitored, within 1s, but"));
    let text = panic_of(|| probe.expect_exit(SECOND, other.pid()));
    assert!(text.contains("expected an exit signal of <0.3.0> \"other\" within 1s, but"), "{text}");
    let none = panic_of(|| probe.expect(SECOND));
    assert!(none.contains("but nothing arrived until"), "{none}");
}

#[test]
fn t4_a_probe_is_suspended_finishes_and_stops_like_any_process() {
    let sim = Simulation::new(3);
    let probe = Probe::<u32>::spawn(&sim);
    sim.suspend(probe.pid()).wait().unwrap();
    let text = panic_of(|| probe.run(|ctx| ctx.pid()));
    assert_eq!(text, "probe <0.1.0> is suspended");
    assert!(sim.resume(probe.pid()));
    assert_eq!(probe.run(|ctx| ctx.pid()), probe.pid());
    let watcher = Probe::<u32>::spawn(&sim);
    watcher.monitor(probe.pid());
    probe.address().finish();
    assert_eq!(watcher.expect_down(SECOND, probe.pid()), Reason::Normal);
    // It is asked to stop and does, without waiting for a kill.
    let end = sim.watch(watcher.pid());
    sim.stop().wait().unwrap();
    assert_eq!(end.wait().map(|down| down.reason), Ok(Reason::Shutdown));
    assert_eq!(sim.now(), krarup::Timestamp::ZERO);
    assert!(panic_of(|| Probe::<u32>::spawn(&sim)).starts_with("cannot spawn a probe: "));
    let named = panic_of(|| Probe::<u32>::named(&sim, "late"));
    assert!(named.starts_with("cannot spawn a probe named \"late\": "), "{named}");
}

#[test]
fn t4_a_condition_that_holds_at_the_limit_has_come_in_time() {
    let sim = Simulation::new(3);
    let until = krarup::Timestamp::ZERO + SECOND;
    sim.run_until(SECOND, "the time has come", || sim.now() == until);
    assert_eq!(sim.now(), until);
    // One that holds already costs no time, and no turn.
    let waits = sim.spawn(|| behavior_fn(|_: Context<()>| async { Ok(()) })).start().unwrap();
    sim.run_until(SECOND, "nothing", || true);
    assert!(waits.is_alive() && sim.now() == until);
    // What is due at the very limit has been run.
    let probe = Probe::<u32>::spawn(&sim);
    ticker(&sim, probe.recipient());
    sim.run_until(SECOND, "one has come", || probe.take_messages() == [1]);
    sim.within(SECOND, || sim.advance(SECOND));
    assert_eq!(probe.take_messages(), [2]);
    sim.advance(Duration::from_nanos(999_999_999));
    assert!(probe.take_messages().is_empty());
    sim.advance(Duration::from_nanos(1));
    assert_eq!(probe.take_messages(), [3]);
}

#[test]
fn t4_the_end_and_the_signal_of_another_are_not_those_that_are_expected() {
    let sim = Simulation::new(3);
    let probe = Probe::<u32>::spawn(&sim);
    let [one, other] = ["one", "other"].map(|name| Probe::<u32>::named(&sim, name));
    let pids = [one.pid(), other.pid()];
    let monitors = || pids.iter().for_each(|pid| drop(probe.monitor(*pid).to_string()));
    monitors();
    sim.kill(pids[0]);
    let text = panic_of(|| probe.expect_down(SECOND, pids[1]));
    let came = "expected the end of <0.3.0> \"other\", monitored, within 1s, but there came the end of \
                <0.2.0>, monitored, at 0ns: killed\n";
    assert!(text.contains(came), "{text}");
    pids.iter().for_each(|pid| probe.link(*pid));
    // One has ended: its signal is that there is nobody.
    let text = panic_of(|| probe.expect_exit(SECOND, pids[1]));
    assert!(text.contains("but there came an exit signal of <0.2.0> at"), "{text}");
    sim.kill(pids[1]);
    sim.run_until_idle();
    let mut came = [panic_of(|| probe.expect(SECOND)), panic_of(|| probe.expect(SECOND))];
    came.sort();
    assert!(came[0].contains("there came an exit signal of <0.3.0> at"), "{came:?}");
    assert!(came[1].contains("there came the end of <0.3.0>, monitored, at"), "{came:?}");
    // By a name there may be nobody.
    probe.run(|ctx| {
        ctx.monitor(Name::new("nobody").unwrap());
    });
    let text = panic_of(|| probe.expect(SECOND));
    assert!(text.contains("there came the end of ") && text.contains("nobody"), "{text}");
}

#[test]
fn t4_the_mode_of_a_probe_can_change_with_a_message() {
    // So that what is done can hold the probe.
    let sim: &'static Simulation = Box::leak(Box::new(Simulation::new(1)));
    let probe = std::sync::Arc::new(Probe::<u32>::spawn(sim));
    let same = std::sync::Arc::downgrade(&probe);
    probe.on_message(move |_, number| {
        let probe = same.upgrade().expect("a probe");
        probe.on_message(|_, number| Some(100 * number));
        Some(number)
    });
    (1..=3).for_each(|number| probe.address().send(number).unwrap());
    sim.run_until_idle();
    assert_eq!(probe.take_messages(), [1, 200, 300]);
}

#[test]
fn t4_a_probe_may_be_on_another_node_of_the_simulation() {
    Simulation::explore(0..20, |sim| {
        let beside = sim.beside("b@sim")?;
        let probe = Probe::<u32>::named_on(sim, &beside, "probe");
        assert_eq!(beside.whereis("probe"), Some(probe.pid()));
        assert_eq!(sim.whereis("probe"), None);
        let to = probe.recipient();
        let twice = beside.spawn(move || Twice(to)).wait()?;
        twice.send(3)?;
        probe.expect_message(Duration::ZERO, &3);
        assert_eq!(probe.sender(), Some(twice.pid()));
        probe.expect_message(SECOND, &3);
        probe.monitor(twice.pid());
        twice.send(0)?;
        assert_eq!(probe.expect_down(Duration::ZERO, twice.pid()).to_string(), "no number");
        // It is spared by faults as any probe.
        sim.faults(krarup::testing::Faults::new().kill_one_in(1));
        assert_eq!(probe.run(|ctx| ctx.pid()), probe.pid());
        sim.faults(krarup::testing::Faults::new());
        let second = Probe::<u32>::spawn_on(sim, &beside);
        second.address().send(7)?;
        second.expect_message(Duration::ZERO, &7);
        Ok(())
    });
}

#[test]
fn t4_a_probe_on_a_node_of_another_simulation_is_refused() {
    let (sim, other) = (Simulation::new(1), Simulation::new(2));
    let said = panic_of(|| Probe::<u32>::spawn_on(&sim, &other));
    assert!(said.ends_with("is not one of the simulation"), "{said}");
}
