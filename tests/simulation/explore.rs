//! Simulations: portable seeds, the trace of the last steps, the search for a failing seed.

use crate::support::{Log, on_wake, poll_with, simulations};
use krarup::Recipient;
use krarup::behavior::{Received, behavior_fn};
use krarup::prelude::*;
use krarup::testing::{Faults, Probe, Trace};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Handles numbers, and ends at the first zero.
#[derive(Default)]
struct Clerk;

impl Actor for Clerk {
    type Message = u32;

    async fn handle_message(&mut self, _: &mut Context<u32>, number: u32) -> Result {
        if number == 0 {
            return Err(Reason::error("nothing to do"));
        }
        Ok(())
    }

    async fn init(&mut self, ctx: &mut Context<u32>) -> Result {
        ctx.send_after(SECOND, 7);
        Ok(())
    }
}

fn clerks(sim: &Simulation, count: usize) -> Vec<Address<u32>> {
    (0..count)
        .map(|n| sim.spawn(Clerk::default).name(format!("clerk {n}")).start().unwrap())
        .collect()
}

#[test]
fn t2_a_seed_orders_the_turns_alike_on_every_machine() {
    let sim = Simulation::new(7);
    clerks(&sim, 10);
    let turns: Vec<u64> = std::iter::from_fn(|| sim.step()).map(Pid::id).collect();
    assert_eq!(turns, [8, 5, 1, 4, 6, 3, 7, 2, 10, 9]);
}

fn a_run(seed: u64) -> Trace {
    let sim = Simulation::with_throughput(seed, 3);
    let all = clerks(&sim, 4);
    for (n, clerk) in all.iter().enumerate() {
        (1..=n).for_each(|_| clerk.send(1).unwrap());
    }
    sim.run_until_idle();
    all[2].send(0).unwrap();
    sim.advance(SECOND);
    sim.last_steps()
}

#[test]
fn t2_the_same_seed_gives_the_same_trace_byte_for_byte() {
    let text = a_run(3).to_string();
    assert_eq!(text, a_run(3).to_string());
    assert_ne!(text, a_run(4).to_string());
    assert_eq!(text, TRACE.trim_end());
}

const TRACE: &str = r#"the last steps of Simulation::with_throughput(3, 3)
       0ns spawned    <0.1.0> "clerk 0" Clerk
       0ns spawned    <0.2.0> "clerk 1" Clerk
       0ns spawned    <0.3.0> "clerk 2" Clerk
       0ns spawned    <0.4.0> "clerk 3" Clerk
       0ns sent       u32 to <0.2.0> from outside
       0ns sent       u32 to <0.3.0> from outside
       0ns sent       u32 to <0.3.0> from outside
       0ns sent       u32 to <0.4.0> from outside
       0ns sent       u32 to <0.4.0> from outside
       0ns sent       u32 to <0.4.0> from outside
       0ns turn 1     <0.3.0> "clerk 2" Clerk: 2 messages
       0ns turn 2     <0.2.0> "clerk 1" Clerk: 1 message
       0ns turn 3     <0.4.0> "clerk 3" Clerk: 3 messages
       0ns turn 4     <0.4.0> "clerk 3" Clerk
       0ns turn 5     <0.1.0> "clerk 0" Clerk
       0ns sent       u32 to <0.3.0> from outside
       0ns turn 6     <0.3.0> "clerk 2" Clerk: 1 message
       0ns ended      <0.3.0> "clerk 2" Clerk: nothing to do
        1s timer      <0.4.0> "clerk 3" Clerk
        1s turn 7     <0.4.0> "clerk 3" Clerk
        1s timer      <0.2.0> "clerk 1" Clerk
        1s timer      <0.1.0> "clerk 0" Clerk
        1s turn 8     <0.1.0> "clerk 0" Clerk
        1s turn 9     <0.2.0> "clerk 1" Clerk
"#;

#[test]
fn t2_the_trace_is_bounded_and_counts_dropped_steps() {
    let sim = Simulation::with_throughput(1, 1);
    let clerk = sim.spawn(Clerk::default).wait().unwrap();
    (0..1_000).for_each(|_| clerk.send(1).unwrap());
    sim.run_until_idle();
    let trace = sim.last_steps();
    assert_eq!(trace.len(), 256);
    let text = trace.clone().last(1).to_string();
    let run = "the last steps of Simulation::with_throughput(1, 1)\n  .. 2002 before these\n";
    assert_eq!(text, format!("{run}       0ns turn 1002  <0.1.0> Clerk"));
    assert!(Simulation::new(1).last_steps().to_string().ends_with("\n  none"));
}

#[test]
fn t2_the_trace_has_sender_message_receiver_and_lane() {
    let sim = Simulation::new(1);
    let clerk = sim.spawn(Clerk::default).name("anna").wait().unwrap();
    let to = clerk.clone();
    let sender = behavior_fn(move |_: Context<()>| async move {
        to.send(1).map_err(SendError::without_message)?;
        to.send_high(2).map_err(SendError::without_message)?;
        to.send_max(3).map_err(SendError::without_message)?;
        Ok(())
    });
    sim.spawn(move || sender).name("bert").start().unwrap();
    sim.run_until_idle();
    let text = sim.last_steps().to_string();
    let sent: Vec<&str> =
        text.lines().filter_map(|line| Some(line.split_once(" sent  ")?.1.trim())).collect();
    assert_eq!(sent.len(), 3, "{text}");
    for (line, lane) in sent.iter().zip(["", ", on System", ", on Urgent"]) {
        assert!(line.starts_with("u32 to <0.1.0> by <0.2.0> \"bert\""), "{line}");
        assert!(line.ends_with(lane), "{line}");
        assert_eq!(line.contains(", on"), !lane.is_empty(), "{line}");
    }
}

/// Nobody is warned of processes that live until their simulation is dropped.
#[test]
fn t2_a_dropped_simulation_warns_about_no_process() {
    let journal = Log::new();
    let noted = journal.clone();
    let told = crate::support::journal::Journal::new(
        |event| event.level() <= &tracing::Level::WARN,
        move |fields| noted.note(format!("{fields:?}")),
    );
    tracing::subscriber::with_default(told, || {
        let sim = Simulation::new(1);
        let all = clerks(&sim, 3);
        sim.run_until_idle();
        drop(sim);
        assert!(!all[0].is_alive());
        assert!(journal.take().is_empty());
        let sim = Simulation::new(1);
        let killed = sim.spawn(Clerk::default).wait().unwrap();
        sim.kill(killed.pid());
        sim.run_until_idle();
        let lines = journal.take();
        assert_eq!(lines.len(), 2, "a warning of the end, and the crash: {lines:?}");
    });
}

/// An account that is asked for its balance and told the new one: whoever does both can be
/// overtaken in between.
#[derive(Default)]
struct Account {
    balance: u64,
}

enum Request {
    Balance(Reply<u64>),
    Set(u64, Reply<()>),
}

impl Actor for Account {
    type Message = Request;

    async fn handle_message(&mut self, _: &mut Context<Request>, request: Request) -> Result {
        match request {
            Request::Balance(reply) => reply.send(self.balance),
            Request::Set(balance, reply) => {
                self.balance = balance;
                reply.send(());
            }
        }
        Ok(())
    }
}

/// Two pay a coin each, whenever chance has it: most orders are harmless.
fn two_payments(sim: &Simulation) -> Result {
    let account = sim.spawn(Account::default).name("account").wait()?;
    for _ in 0..2 {
        let account = account.clone();
        let payer = sim.spawn(move || {
            behavior_fn(move |ctx: Context<()>| async move {
                ctx.sleep(Duration::from_secs(ctx.random() % 10)).await;
                let balance = account.call(Request::Balance).await?;
                account.call(|reply| Request::Set(balance + 1, reply)).await?;
                Ok(())
            })
        });
        payer.start()?;
    }
    sim.advance(Duration::from_secs(10));
    let balance = account.call(Request::Balance).wait()?;
    assert_eq!(balance, 2, "a payment is lost");
    Ok(())
}

#[test]
fn t3_a_bug_that_few_orders_show_is_found_and_fails_again() {
    let fails = |seed: &u64| Simulation::try_explore(*seed..seed + 1, two_payments).is_err();
    let failing: Vec<u64> = (0..100).filter(fails).collect();
    assert!((1..20).contains(&failing.len()), "it fails at {failing:?}");

    let failing = Simulation::try_explore(1..100, two_payments).unwrap_err();
    let seed = failing.seed();
    assert!(seed > 1, "the first seed shows it");
    let again = Simulation::try_explore(seed..seed + 1, two_payments).unwrap_err();
    assert_eq!(again.to_string(), failing.to_string());
    let sim = failing.replay();
    let text = panic_of(|| two_payments(&sim));
    assert!(text.contains("a payment is lost"), "{text}");
    assert_eq!(sim.last_steps(), *failing.last_steps());

    let text = failing.to_string();
    assert!(text.starts_with(&format!("seed {seed} fails: panic")), "{text}");
    assert!(
        text.contains("a payment is lost") && text.contains("tests/simulation/explore.rs:"),
        "{text}"
    );
    assert!(text.contains(&format!("Simulation::explore({seed}..{}, ..)", seed + 1)), "{text}");
    assert!(text.contains("<0.1.0> \"account\" Account: 1 message"), "{text}");
}

/// What `body` panics with.
fn panic_of<T>(body: impl FnOnce() -> T) -> String {
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(body())));
    *caught.unwrap_err().downcast::<String>().unwrap()
}

#[test]
fn t3_exploring_ends_at_the_first_seed_that_fails() {
    let run = AtomicU64::new(0);
    // Shrinking runs the failing seed once more.
    let body = |at: u64| {
        let run = &run;
        move |sim: &Simulation| {
            sim.spawn(Clerk::default).wait()?;
            match run.fetch_add(1, Ordering::Relaxed) {
                n if n == at => Err(Reason::error("that is enough")),
                _ => Ok(()),
            }
        }
    };
    let failing = Simulation::try_explore(10..20, body(3)).unwrap_err();
    assert_eq!((failing.seed(), failing.throughput(), run.load(Ordering::Relaxed)), (13, 1, 5));
    assert_eq!(failing.reason(), &Reason::error("that is enough"));
    run.store(0, Ordering::Relaxed);
    assert_eq!(Simulation::try_explore(10..20, body(10)).unwrap(), 10);
    run.store(0, Ordering::Relaxed);
    let text = panic_of(|| Simulation::explore(10..20, body(4)));
    assert!(text.starts_with("seed 14 fails: that is enough\n"), "{text}");
}

/// A test of no seed could not fail.
#[test]
#[expect(clippy::reversed_empty_ranges, reason = "that is what is refused")]
fn t3_an_empty_range_of_seeds_is_an_error_and_runs_nothing() {
    let runs = AtomicU64::new(0);
    let body = |_: &Simulation| {
        runs.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    for (seeds, told) in [(0..0, "0..0"), (5..3, "5..3"), (u64::MAX..u64::MAX, "")] {
        let failing = Simulation::try_explore(seeds.clone(), body).unwrap_err();
        let text = failing.to_string();
        assert!(text.starts_with(&format!("no seed was run: the range of seeds {told}")), "{text}");
        assert!(text.ends_with(" is empty"), "{text}");
        assert_eq!((failing.seed(), failing.file()), (seeds.start, None));
        assert_eq!(panic_of(|| Simulation::explore(seeds, body)), text);
    }
    assert_eq!(runs.into_inner(), 0);
}

#[test]
fn t3_processes_of_a_failing_simulation_are_dropped() {
    let state = Arc::new(());
    let held = Arc::clone(&state);
    let failing = Simulation::try_explore(0..3, move |sim| {
        let held = Arc::clone(&held);
        sim.spawn(move || {
            behavior_fn(move |mut ctx: Context<()>| async move {
                ctx.receive().await;
                drop(held);
                Ok(())
            })
        })
        .wait()?;
        panic!("over")
    });
    assert_eq!(failing.unwrap_err().seed(), 0);
    assert_eq!(Arc::strong_count(&state), 1);
}

/// Under a supervisor, with faults: how often somebody was killed, and what ran.
fn a_run_with_faults(seed: u64, faults: Faults) -> (usize, String) {
    let sim = Simulation::new(seed);
    let shop = || {
        Supervisor::one_for_one()
            .intensity(100, SECOND)
            .child(ChildSpec::worker("anna", Clerk::default).name("anna"))
            .child(ChildSpec::worker("bert", Clerk::default).name("bert"))
    };
    let shop = sim.spawn(shop).name("shop").wait().unwrap();
    sim.faults(faults.spare(shop.pid()));
    for _ in 0..40 {
        for name in ["anna", "bert"] {
            if let Ok(clerk) = sim.lookup::<u32, u32>(name) {
                let _ = clerk.send(1);
            }
        }
        sim.run_until_idle();
    }
    sim.faults(Faults::new());
    sim.run_until_idle();
    assert_eq!(sim.whereis("shop"), Some(shop.pid()));
    assert!(sim.whereis("anna").is_some() && sim.whereis("bert").is_some());
    let text = sim.last_steps().to_string();
    (text.matches("fault ").count(), text)
}

#[test]
fn t3_faults_come_from_the_seed_and_spare_excluded_processes() {
    let some = || Faults::new().kill_one_in(20);
    let runs: Vec<_> = (0..20).map(|seed| a_run_with_faults(seed, some())).collect();
    assert!(runs.iter().any(|(kills, _)| *kills > 2), "few are killed");
    assert!(
        runs.iter()
            .all(|(_, text)| text.matches(": killed").count() <= text.matches("fault ").count())
    );
    for (seed, run) in (0..).zip(&runs) {
        assert_eq!(a_run_with_faults(seed, some()), *run);
    }
    let limited = |seed| a_run_with_faults(seed, some().at_most(1)).0;
    assert_eq!((0..20).map(limited).max(), Some(1));
    let without = a_run_with_faults(3, Faults::new());
    assert_eq!(without.0, 0);
    assert_eq!(a_run_with_faults(3, some().at_most(0)), without);
}

/// Does for the process under test what it is told.
type Act = Box<dyn FnOnce(&mut Context<Told>) + Send>;

/// A message of [`told`].
struct Told(Act);

/// A process that does what it is told, each in one message.
fn told(sim: &Simulation) -> Address<Told> {
    let run = |mut ctx: Context<Told>| async move {
        while let Received::Message(Told(act)) | Received::Command(Told(act)) = ctx.receive().await
        {
            act(&mut ctx);
        }
        Ok(())
    };
    sim.spawn(move || behavior_fn(run)).start().unwrap()
}

fn tell(to: &Address<Told>, act: impl FnOnce(&mut Context<Told>) + Send + 'static) {
    assert!(to.send(Told(Box::new(act))).is_ok());
}

/// What `body` has sent to a probe, in the orders that the seeds have it arrive.
fn orders(body: impl Fn(&Simulation, Address<u32>)) -> BTreeSet<Vec<u32>> {
    let orders = Mutex::new(BTreeSet::new());
    Simulation::explore(0..300, |sim| {
        let probe = Probe::<u32>::spawn(sim);
        body(sim, probe.address());
        sim.run_until_idle();
        orders.lock().unwrap().insert(probe.take_messages());
        Ok(())
    });
    orders.into_inner().unwrap()
}

#[test]
fn t2_messages_of_senders_that_run_at_the_same_time_mix_in_every_way() {
    let orders = orders(|sim, to| {
        for numbers in [[1, 2], [11, 12]] {
            let to = to.clone();
            let sender = told(sim);
            tell(&sender, move |_| numbers.into_iter().for_each(|n| to.send(n).unwrap()));
        }
    });
    // Each keeps its own order (rule M1).
    let mixed = [[1, 2, 11, 12], [1, 11, 2, 12], [1, 11, 12, 2], [11, 1, 2, 12], [11, 1, 12, 2]];
    let mut expected: BTreeSet<Vec<u32>> = mixed.into_iter().map(Vec::from).collect();
    expected.insert(vec![11, 12, 1, 2]);
    assert_eq!(orders, expected);
}

#[test]
fn t2_a_message_sent_with_knowledge_of_another_does_not_pass_it() {
    // By a message.
    let known = orders(|sim, to| {
        let (a, b) = (told(sim), told(sim));
        sim.run_until_idle();
        tell(&a, move |_| {
            to.send(1).unwrap();
            tell(&b, move |_| to.send(2).unwrap());
        });
    });
    assert_eq!(known, BTreeSet::from([vec![1, 2]]));
    // By an answer.
    let answered = orders(|sim, to| {
        let a = told(sim);
        let b = behavior_fn(move |_: Context<()>| async move {
            let first = to.clone();
            a.call(|reply: Reply<()>| {
                Told(Box::new(move |_| {
                    first.send(1).unwrap();
                    reply.send(());
                }))
            })
            .await?;
            to.send(2).map_err(krarup::SendError::without_message)?;
            Ok(())
        });
        sim.spawn(|| b).start().unwrap();
    });
    assert_eq!(answered, BTreeSet::from([vec![1, 2]]));
    // By what overtakes a message for which it was ready before.
    let overtaken = orders(|sim, to| {
        let (a, b) = (told(sim), told(sim));
        sim.run_until_idle();
        tell(&b, |_| {});
        tell(&a, move |_| {
            to.send(1).unwrap();
            assert!(b.send_high(Told(Box::new(move |_| to.send(2).unwrap()))).is_ok());
        });
    });
    assert_eq!(overtaken, BTreeSet::from([vec![1, 2]]));
    // By an end.
    let ended = orders(|sim, to| {
        let b = to.clone();
        let a = told(sim);
        let watcher = behavior_fn({
            let a = a.pid();
            move |mut ctx: Context<()>| async move {
                ctx.monitor(a);
                ctx.receive().await;
                b.send(2).map_err(krarup::SendError::without_message)?;
                Ok(())
            }
        });
        sim.spawn(|| watcher).start().unwrap();
        sim.run_until_idle();
        tell(&a, move |ctx| {
            to.send(1).unwrap();
            ctx.exit(ctx.pid(), Reason::error("over"));
        });
    });
    assert_eq!(ended, BTreeSet::from([vec![1, 2]]));
    // But who knew before it was sent may be first.
    let before = orders(|sim, to| {
        let (a, b) = (told(sim), told(sim));
        sim.run_until_idle();
        tell(&a, move |_| {
            let first = to.clone();
            tell(&b, move |_| first.send(2).unwrap());
            to.send(1).unwrap();
        });
    });
    assert_eq!(before, BTreeSet::from([vec![1, 2], vec![2, 1]]));
}

#[test]
fn t2_a_full_mailbox_is_full_in_every_arrival_order() {
    Simulation::explore(0..100, |sim| {
        let keeper = sim.spawn(|| {
            behavior_fn(|mut ctx: Context<u32>| async move {
                ctx.sleep(SECOND).await;
                while let Received::Message(_) = ctx.receive().await {}
                Ok(())
            })
        });
        let keeper = keeper.mailbox(3).start()?;
        sim.run_until_idle();
        for first in [0, 10] {
            let to = keeper.clone();
            tell(&told(sim), move |_| (first..first + 3).for_each(|n| drop(to.send(n))));
        }
        sim.run_until_idle();
        assert_eq!((keeper.waiting(), keeper.info().messages_in), (3, 3));
        Ok(())
    });
}

#[test]
fn t1_timers_of_several_processes_fire_in_any_order_and_of_one_in_theirs() {
    let orders = orders(|sim, to| {
        for numbers in [[1, 2], [11, 12]] {
            let to = to.clone();
            tell(&told(sim), move |ctx| {
                for n in numbers {
                    let to: Recipient<u32> = to.recipient();
                    ctx.send_after_to(SECOND, &to, n);
                }
            });
        }
        sim.advance(SECOND);
    });
    assert_eq!(orders.len(), 6, "{orders:?}");
    for order in orders {
        let of = |least: u32| order.iter().filter(move |n| **n / 10 == least).copied();
        assert_eq!((of(0).collect(), of(1).collect()), (vec![1, 2], vec![11, 12]));
    }
}

#[test]
fn t1_a_timer_that_is_due_and_has_not_fired_can_be_cancelled() {
    let cancelled = AtomicU64::new(0);
    Simulation::explore(0..50, |sim| {
        let probe = Probe::<u32>::spawn(sim);
        let (one, other, to) = (told(sim), told(sim), probe.recipient::<u32>());
        let timer = Arc::new(Mutex::new(None));
        let set = Arc::clone(&timer);
        tell(&one, move |ctx| *set.lock().unwrap() = Some(ctx.send_after_to(SECOND, &to, 1)));
        sim.run_until_idle();
        let (to, left) = (one.clone(), Arc::new(Mutex::new(None)));
        let noted = Arc::clone(&left);
        let cancel = move |ctx: &mut Context<Told>| {
            let timer = timer.lock().unwrap().take().expect("a timer");
            *noted.lock().unwrap() = Some(ctx.cancel(timer));
        };
        tell(&other, move |ctx| {
            ctx.send_after_to(SECOND, &to.recipient(), Told(Box::new(cancel)));
        });
        sim.advance(SECOND);
        let left = left.lock().unwrap().expect("it was tried");
        assert_eq!(probe.take_messages().is_empty(), left == Some(Duration::ZERO));
        cancelled.fetch_add(u64::from(left.is_some()), Ordering::Relaxed);
        assert_eq!(sim.stats().timers, 0);
        Ok(())
    });
    assert!((5..45).contains(&cancelled.load(Ordering::Relaxed)), "{cancelled:?}");
}

#[test]
fn t2_turns_come_between_timers_of_one_time() {
    let seen = Mutex::new(BTreeSet::new());
    Simulation::explore(0..100, |sim| {
        for name in ["anna", "bert"] {
            let sleeper = behavior_fn(|ctx: Context<()>| async move {
                ctx.sleep(SECOND).await;
                Ok(())
            });
            sim.spawn(|| sleeper).name(name).start()?;
        }
        sim.advance(SECOND);
        let trace = sim.last_steps().last(6).to_string();
        let kinds: String = trace
            .lines()
            .filter_map(|line| line.trim().strip_prefix("1s "))
            .map(|line| line[..1].replace('t', if line.starts_with("turn") { "T" } else { "t" }))
            .collect();
        seen.lock().unwrap().insert(kinds);
        Ok(())
    });
    let seen = seen.into_inner().unwrap();
    // Timers, turns, ends.
    assert_eq!(seen, ["tTetTe", "ttTeTe"].map(String::from).into_iter().collect());
}

/// Room that was reserved before holds no place in the order.
#[test]
fn t2_a_message_in_reserved_room_may_pass_messages_that_were_sent_concurrently() {
    for by_recipient in [false, true] {
        let passing = orders(|sim, to| {
            let (a, b) = (told(sim), told(sim));
            sim.run_until_idle();
            let room = if by_recipient { to.recipient::<u32>().reserve() } else { to.reserve() };
            let room = room.unwrap();
            tell(&a, move |_| {
                tell(&b, move |_| room.send(2));
                to.send(1).unwrap();
            });
        });
        assert_eq!(passing, BTreeSet::from([vec![1, 2], vec![2, 1]]));
    }
    let knowing = orders(|sim, to| {
        let (a, b) = (told(sim), told(sim));
        sim.run_until_idle();
        let room = to.reserve().unwrap();
        tell(&a, move |_| {
            to.send(1).unwrap();
            tell(&b, move |_| room.send(2));
        });
    });
    assert_eq!(knowing, BTreeSet::from([vec![1, 2]]));
}

/// Of two sleepers that wake at the same time, on two dispatchers, the first may see the timer of
/// the other: due, and not fired.
#[test]
fn x3_a_timer_that_is_due_is_counted_once_however_many_dispatchers_there_are() {
    let counted = Arc::new(Mutex::new(BTreeSet::new()));
    Simulation::explore(0..50, |sim| {
        sim.add_dispatcher("other");
        for dispatcher in ["default", "other"] {
            let (node, counted) = (sim.node().clone(), Arc::clone(&counted));
            let sleeper = behavior_fn(move |ctx: Context<()>| async move {
                ctx.sleep(SECOND).await;
                counted.lock().unwrap().insert(node.stats().timers);
                Ok(())
            });
            sim.spawn(|| sleeper).dispatcher(dispatcher).start()?;
        }
        sim.advance(SECOND);
        Ok(())
    });
    assert_eq!(*counted.lock().unwrap(), BTreeSet::from([0, 1]));
}

/// A test does one thing after the other.
#[test]
fn t1_timers_that_were_set_from_outside_at_the_same_time_fire_in_their_order() {
    for sim in simulations(20) {
        let log = Log::new();
        let hangs = behavior_fn(|_: Context<Reply<()>>| std::future::pending());
        let hangs = sim.spawn(|| hangs).start().unwrap();
        let call = |_| hangs.call(|reply: Reply<()>| reply).timeout(SECOND).into_future();
        let mut calls: Vec<_> = (0..4).map(call).collect();
        for (number, call) in calls.iter_mut().enumerate() {
            let noted = log.clone();
            assert!(poll_with(call, &on_wake(move || noted.note(number))).is_pending());
        }
        sim.advance(SECOND);
        assert_eq!(log.take(), ["0", "1", "2", "3"]);
    }
}
