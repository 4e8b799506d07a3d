//! Failing simulations are shrunk: rule Y4.

use krarup::prelude::*;
use krarup::testing::{Faults, Schedule};
use std::env;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// The money that is left, and who asks for it.
struct Account(u32);

enum Money {
    Count(Reply<u32>),
    Take,
}

impl Actor for Account {
    type Message = Money;

    async fn handle_message(&mut self, _: &mut Context<Money>, request: Money) -> Result {
        match request {
            Money::Count(reply) => reply.send(self.0),
            Money::Take => self.0 = self.0.checked_sub(1).ok_or(Reason::error("overdrawn"))?,
        }
        Ok(())
    }
}

/// Takes what it has seen; another may have taken it meanwhile.
struct Taker(Address<Money>);

impl Actor for Taker {
    type Message = ();

    async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
        if self.0.call(Money::Count).await? > 0 {
            self.0.send(Money::Take).map_err(SendError::without_message)?;
        }
        Ok(())
    }
}

/// Has nothing to do with the money: passes a number back until it is 0.
struct Player(Option<Address<u32>>);

impl Actor for Player {
    type Message = u32;

    async fn handle_message(&mut self, ctx: &mut Context<u32>, left: u32) -> Result {
        let Some(left) = left.checked_sub(1) else { return Ok(()) };
        let _ = match &self.0 {
            Some(other) => other.send(left),
            None => ctx.address().send(left),
        };
        Ok(())
    }
}

/// Two take one coin, in the middle of much that does not matter.
fn nobody_overdraws(sim: &Simulation) -> Result {
    let account = sim.spawn(|| Account(1)).name("account").wait()?;
    for _ in 0..6 {
        let second = sim.spawn(|| Player(None)).wait()?;
        sim.spawn(move || Player(Some(second))).wait()?.send(12)?;
    }
    for name in ["anna", "bert"] {
        let account = account.clone();
        sim.spawn(move || Taker(account)).name(name).wait()?.send(())?;
        for _ in 0..25 {
            sim.step();
        }
    }
    sim.run_until_idle();
    if account.is_alive() { Ok(()) } else { Err(Reason::error("the account has ended")) }
}

#[test]
fn y4_a_failing_seed_is_shrunk_to_the_few_choices_that_matter() {
    let failing = Simulation::try_explore(0..1_000, nobody_overdraws).unwrap_err();
    let shrunk = failing.shrunk().expect("it fails again");
    let (before, schedule) = (shrunk.before(), shrunk.schedule());
    assert!(before.choices() > 100 && before.deviations() > 50, "{before}");
    assert!(schedule.choices() <= before.choices(), "{schedule}");
    assert!((1..=5).contains(&schedule.deviations()), "{schedule}");
    assert_eq!(shrunk.reason(), failing.reason());
    let text = failing.to_string();
    assert!(text.contains(&format!("KRARUP_SCHEDULE={schedule}\n")), "{text}");
    let marked = text.lines().filter(|line| line.starts_with('>')).count();
    assert!((1..=5).contains(&marked), "{text}");
    // Most of what does not matter is not printed.
    assert!(text.lines().count() < 30, "{text}");
}

#[test]
fn y4_a_shrunk_run_fails_again_from_its_text_and_the_search_is_the_same_each_time() {
    let failing = || Simulation::try_explore(0..1_000, nobody_overdraws).unwrap_err();
    let (one, other) = (failing(), failing());
    let text = one.shrunk().unwrap().schedule().to_string();
    assert_eq!((text.clone(), one.to_string()), {
        let shrunk = other.shrunk().unwrap();
        (shrunk.schedule().to_string(), other.to_string())
    });
    let schedule: Schedule = text.parse().unwrap();
    let again = Simulation::with_schedule(schedule);
    assert_eq!(nobody_overdraws(&again).unwrap_err(), *one.reason());
    let steps = one.shrunk().unwrap().last_steps();
    assert_eq!(again.last_steps(), steps.clone().last(again.last_steps().len()));
    let replay = one.shrunk().unwrap().replay();
    assert_eq!(nobody_overdraws(&replay).unwrap_err(), *one.reason());
}

#[test]
fn y4_random_faults_that_do_not_matter_are_left_out() {
    let failing = Simulation::try_explore(0..1_000, |sim| {
        sim.faults(Faults::new().kill_one_in(4).delay_one_in(4, SECOND).at_most(1_000));
        let all: Vec<_> =
            (0..8).map(|_| sim.spawn(|| Player(None)).start()).collect::<Result<_, _>>()?;
        for player in &all {
            // It may have been killed.
            let _ = player.send(6);
        }
        sim.advance(10 * SECOND);
        assert!(all[5].is_alive(), "the sixth was killed at {}", sim.now());
        Ok(())
    })
    .unwrap_err();
    let shrunk = failing.shrunk().expect("it fails again");
    let faults = shrunk.last_steps().to_string().matches(" fault ").count();
    assert_eq!(faults, 1, "{shrunk}");
    // That one strikes, and that it hits the sixth.
    assert!(shrunk.schedule().deviations() <= 2, "{shrunk}");
}

/// Where a limit of faults was reached, one that is left out adds choices: at each later turn it is asked
/// again whether one strikes.
#[test]
fn y4_faults_up_to_a_limit_that_do_not_matter_are_left_out() {
    let failing = Simulation::try_explore(0..1_000, |sim| {
        sim.faults(Faults::new().kill_one_in(4).at_most(6));
        let all: Vec<_> =
            (0..16).map(|_| sim.spawn(|| Player(None)).start()).collect::<Result<_, _>>()?;
        for player in &all {
            // It may have been killed.
            let _ = player.send(20);
        }
        sim.run_until_idle();
        if all[5].is_alive() { Ok(()) } else { Err(Reason::error("the sixth has ended")) }
    })
    .unwrap_err();
    let shrunk = failing.shrunk().expect("it fails again");
    let faults = shrunk.last_steps().to_string().matches(" fault ").count();
    assert_eq!(faults, 1, "{shrunk}");
}

/// The eighth of eight survives faults of every kind that hits processes.
fn the_eighth_survives(sim: &Simulation) -> Result {
    let faults = Faults::new().kill_one_in(9).panic_one_in(9).delay_one_in(5, SECOND);
    sim.faults(faults.fail_init_one_in(20));
    let all: Vec<_> =
        (0..8).map(|_| sim.spawn(|| Player(None)).start()).collect::<Result<_, _>>()?;
    for player in &all {
        // It may have been killed.
        let _ = player.send(6);
    }
    sim.advance(10 * SECOND);
    if all[7].is_alive() { Ok(()) } else { Err(Reason::error("the eighth has ended")) }
}

#[test]
fn y4_every_schedule_that_is_printed_is_read_and_fails_again() {
    let (mut failed, mut beyond) = (0, 0);
    for seed in 0..60 {
        let Err(failing) = Simulation::try_explore(seed..seed + 1, the_eighth_survives) else {
            continue;
        };
        let shrunk = failing.shrunk().expect("it fails again");
        failed += 1;
        for schedule in [shrunk.before(), shrunk.schedule()] {
            let text = schedule.to_string();
            assert_eq!(text.parse(), Ok(schedule.clone()), "seed {seed}");
            let again = Simulation::with_schedule(text.parse().unwrap());
            let outcome = the_eighth_survives(&again);
            assert_eq!(outcome.as_ref(), Err(failing.reason()), "seed {seed}, {text}");
            beyond += usize::from(has_a_place_beyond_its_choices(schedule));
        }
    }
    assert!(failed > 20, "{failed}");
    assert!(beyond > 20, "{beyond}");
}

/// Set in the runs of a test that it starts itself.
const EXPLORES: &str = "KRARUP_TEST_EXPLORES";

#[test]
fn y4_the_environment_has_a_schedule_or_the_runs_of_a_search_or_is_told_what_it_has() {
    if env::var_os(EXPLORES).is_some() {
        match Simulation::try_explore(0..60, the_eighth_survives) {
            Ok(_) => println!("none fails"),
            Err(failing) => println!("{failing}"),
        }
        return;
    }
    let explored = |variable: &str, value: &str| {
        let test = "shrinking::y4_the_environment_has_a_schedule_or_the_runs_of_a_search_or_is_told_what_it_has";
        let mut run = Command::new(env::current_exe().unwrap());
        run.args([test, "--exact", "--nocapture", "--test-threads=2"]);
        run.env_remove("KRARUP_SCHEDULE").env_remove("KRARUP_SHRINK");
        let ran = run.env(EXPLORES, "1").env(variable, value).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(said.contains("1 passed"), "{said}");
        said
    };
    let failing = explored("KRARUP_SHRINK", "60");
    let printed = failing.split("KRARUP_SCHEDULE=").nth(1).expect("it is shrunk");
    let schedule = printed.lines().next().unwrap();
    let reason = "fails: the eighth has ended\n";
    assert!(failing.contains(reason), "{failing}");
    // A schedule is run, and named: its seed alone may pass.
    let again = explored("KRARUP_SCHEDULE", schedule);
    assert!(again.contains(&format!("{reason}it fails again with KRARUP_SCHEDULE={schedule}\n")));
    assert!(!again.contains("Simulation::explore("), "{again}");
    assert!(!explored("KRARUP_SHRINK", "0").contains("shrunk in"));
    // What cannot be meant is named, and no seed is.
    for (variable, value) in [("KRARUP_SCHEDULE", "7"), ("KRARUP_SHRINK", "-1")] {
        let told = explored(variable, value);
        let no_seed = format!("no seed was run: {variable}: {value:?} is not a ");
        assert!(told.contains(&no_seed) && !told.contains("it fails again"), "{told}");
    }
}

/// A victim and a duration have their places by their fault, four for each.
fn has_a_place_beyond_its_choices(schedule: &Schedule) -> bool {
    let text = schedule.to_string();
    let deviations = text.split([':', ',']).skip(1);
    let mut places = deviations.map(|one| one.split_once('=').unwrap().0[1..].parse::<u64>());
    places.any(|place| place.unwrap() >= schedule.choices())
}

#[test]
fn y4_a_run_that_does_not_fail_again_is_not_shrunk() {
    let runs = AtomicU64::new(0);
    let failing = Simulation::try_explore(3..9, |_| {
        let first = runs.fetch_add(1, Ordering::Relaxed) == 0;
        if first { Err(Reason::error("once")) } else { Ok(()) }
    })
    .unwrap_err();
    assert!(failing.shrunk().is_none());
    assert_eq!((failing.seed(), runs.into_inner()), (3, 2));
    assert!(failing.to_string().contains("the last steps of"), "{failing}");
}

/// Behind the choices of a schedule the seed chooses, so a run that became longer ends.
#[test]
fn y4_behind_its_choices_a_schedule_leaves_them_to_the_seed() {
    let sim = Simulation::with_schedule("7.1.2:t1=5".parse().unwrap());
    let chosen: Vec<usize> = (0..20).map(|_| sim.choose(10)).collect();
    let seed = Simulation::with_throughput(7, 1);
    let drawn: Vec<usize> = (0..20).map(|_| seed.choose(10)).collect();
    assert_eq!((&chosen[..2], &chosen[2..]), (&[0, 5][..], &drawn[2..]));
}
