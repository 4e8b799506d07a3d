//! The order in which processes have their turns, and how long a turn lasts.

use super::{as_worker, options};
use crate::core::Core;
use krarup_act::{Address, Context, Host, Spawn, behavior_fn};
use krarup_gen::Class;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// From Akka's `ForkJoinPoolStarvationSpec`: processes that keep the workers busy with messages
/// to themselves must not starve work from outside.
#[test]
fn r1_processes_that_send_to_themselves_for_ever_do_not_starve_work_from_outside() {
    for busy in [1, 2, 10, 100] {
        as_worker(options(1).throughput(5), move |stepped| {
            for n in 0..busy {
                let process =
                    stepped.nursery.spawn_with(n, Class::Normal, |own, _| own.send(()).unwrap());
                process.send(()).unwrap();
            }
            stepped.steps(1000);
            let asked = stepped.outside(|from| from.flooded(busy, Class::Normal, 1));
            let waited = (0..1000).take_while(|_| stepped.step() != Some(asked)).count();
            assert!(waited <= 61, "{waited} turns with {busy}");
            assert_eq!(stepped.taken().last(), Some(&busy));
        });
    }
}

#[test]
fn x4_every_976th_turn_is_measured() {
    as_worker(options(1).throughput(8), |stepped| {
        stepped.nursery.flood(0..2, 8 * 3000);
        stepped.run_until_idle();
        let measured = stepped.worker().messages_per_turn;
        // Turns of 8 to 15 messages.
        assert_eq!((measured.counts[4], measured.count()), (6, 6));
        assert_eq!(stepped.taken().len(), 2 * 8 * 3000);
        // With no local process there is nothing to measure.
        stepped.steps(2000);
        assert_eq!(stepped.worker().messages_per_turn.count(), 6);
    });
}

/// A recording begins the count of takes anew, wherever it comes.
#[test]
fn x4_turns_are_measured_after_a_recording_too() {
    as_worker(options(1).throughput(8), |stepped| {
        stepped.nursery.flood(0..2, 8 * 3000);
        stepped.steps(7);
        stepped.takes.look_up = stepped.takes.begun + 61;
        stepped.run_until_idle();
        assert_eq!(stepped.worker().messages_per_turn.count(), 6);
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 64 }))]

    /// Of P flooded processes each has every P-th turn, and each turn handles its budget.
    #[test]
    fn r1_flooded_processes_take_turns_in_strict_rotation(
        budget in 1..40_usize,
        mails in prop::collection::vec(1..150_usize, 1..12),
    ) {
        as_worker(options(1).throughput(u32::try_from(budget).unwrap()), move |stepped| {
            for (n, mail) in mails.iter().enumerate() {
                stepped.nursery.flooded(n, Class::Normal, *mail);
            }
            stepped.run_until_idle();
            let mut left: Vec<_> = mails.into_iter().enumerate().collect();
            let mut expected = Vec::new();
            while !left.is_empty() {
                for (n, mail) in &mut left {
                    let now = budget.min(*mail);
                    expected.extend(std::iter::repeat_n(*n, now));
                    *mail -= now;
                }
                left.retain(|(_, mail)| *mail > 0);
            }
            assert_eq!(stepped.taken(), expected);
        });
    }

    /// The bound holds however many processes are busy, and whenever others come from outside. A
    /// process in the queue of a worker has its turn within a round. A process in the injector
    /// has it within 61 turns for each take of a batch before it, plus a round.
    #[test]
    fn r1_no_process_waits_longer_than_the_turns_of_the_others(
        busy in 1..20_usize,
        arrivals in prop::collection::vec((0..400_usize, 1..30_usize), 0..5),
    ) {
        as_worker(options(1).throughput(1), move |stepped| {
            const MAIL: usize = 2_000;
            let mut next = busy;
            let all = busy + arrivals.iter().map(|(_, count)| count).sum::<usize>();
            // For each process: the turn since which it waits, and how many turns more than one
            // round it may wait.
            let mut since: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
            for n in 0..busy {
                stepped.nursery.flooded(n, Class::Normal, MAIL);
                since.insert(n, (0, 0));
            }
            let mut turn = 0;
            for round in 0..1_000 {
                for (_, count) in arrivals.iter().filter(|(at, _)| *at == round) {
                    let before = stepped.shared.injector.len();
                    let come = next..next + count;
                    next = come.end;
                    for (n, number) in come.clone().enumerate() {
                        // A take gets only half of a short injector, and it ends early at the
                        // end of one of the injector's blocks.
                        let batches = (before + n) / 17 + (before + n) / 63 + 6;
                        since.insert(number, (turn, 61 * batches));
                    }
                    stepped.outside(|from| {
                        from.flood(come, MAIL);
                    });
                }
                stepped.step().unwrap();
                for ran in stepped.taken() {
                    turn += 1;
                    let (when, extra) = since.insert(ran, (turn, 0)).unwrap();
                    assert!(turn - when <= all + extra, "{ran} waited {} turns", turn - when);
                }
            }
            for (number, (when, extra)) in since {
                assert!(turn - when <= all + extra, "{number} waits");
            }
        });
    }

    /// A turn ends with its budget, or after the message during which its deadline passes. It
    /// always handles one message.
    #[test]
    fn r1_a_turn_keeps_its_budget_and_its_deadline_to_one_message(
        budget in 1..30_u32,
        deadline in 1..100_u64,
        works in prop::collection::vec(0..40_u64, 1..60),
    ) {
        let limited = options(1).throughput(budget);
        let limited = limited.throughput_deadline(Duration::from_micros(deadline));
        as_worker(limited, move |stepped| {
            let times = Arc::new(Mutex::new(works.clone().into_iter()));
            let process = stepped.nursery.spawn_with(0, Class::Normal, move |_, core| {
                let worked = Duration::from_micros(times.lock().unwrap().next().unwrap());
                core.clock.advance_to(core.clock.now() + worked);
            });
            works.iter().for_each(|_| process.send(()).unwrap());
            let mut left = works.iter();
            while left.len() > 0 {
                let mut over = 0;
                let mut expected = 0;
                while expected < budget && (expected == 0 || over < deadline) {
                    let Some(work) = left.next() else { break };
                    over += work;
                    expected += 1;
                }
                assert_eq!(stepped.step(), Some(process.pid()));
                assert_eq!(stepped.taken().len(), expected as usize);
            }
        });
    }

    /// A process of class Varying is queued in the class it sets, from the end of that turn on.
    /// Process `normal` is of high class for 20 turns.
    #[test]
    fn r6_a_process_that_sets_its_class_is_queued_in_it_next(normal in 1..5_usize) {
        as_worker(options(1).throughput(1), move |stepped| {
            let again = |own: &Address<()>, _: &Core| own.send(()).unwrap();
            (0..normal).for_each(|n| {
                stepped.nursery.spawn_with(n, Class::Normal, again).send(()).unwrap();
            });
            let log = Arc::clone(&stepped.nursery.log);
            let process = behavior_fn(move |mut ctx: Context<()>| async move {
                for turn in 1.. {
                    ctx.address().send(())?;
                    ctx.receive().await;
                    log.lock().unwrap().push(normal);
                    let class = if turn <= 20 { Class::High } else { Class::Normal };
                    assert!(ctx.set_class(class));
                }
                Ok(())
            });
            let host: Arc<dyn Host> = Arc::clone(&stepped.nursery.host) as Arc<dyn Host>;
            Spawn::outside(host, move || process).class(Class::Varying).start().unwrap();
            stepped.steps(50);
            let mut normals = (0..normal).cycle();
            // Its first turn, as a normal process; then 16 as a high one, and four more.
            let mut expected: Vec<_> = normals.by_ref().take(normal).collect();
            expected.extend([normal; 17]);
            expected.extend(normals.next());
            expected.extend([normal; 4]);
            // After that it is the last in the queue of normal processes.
            while expected.len() < 60 {
                expected.extend(normals.by_ref().take(normal));
                expected.push(normal);
            }
            let taken = stepped.taken();
            assert_eq!(taken[..60], expected[..60]);
            assert_eq!(stepped.shared.stats().high_turns, 20);
        });
    }

    /// High processes go first, for sixteen turns; then one normal process has a turn. Each
    /// class has its own rotation.
    #[test]
    fn r6_high_processes_run_first_and_after_16_turns_a_normal_one(
        high in 0..40_usize,
        normal in 0..40_usize,
    ) {
        as_worker(options(1).throughput(1), move |stepped| {
            let busy = |number, class| {
                let again = |own: &Address<()>, _: &Core| own.send(()).unwrap();
                stepped.nursery.spawn_with(number, class, again).send(()).unwrap();
            };
            (0..normal).for_each(|n| busy(n, Class::Normal));
            (normal..normal + high).for_each(|n| busy(n, Class::High));
            stepped.steps(50);
            let mut highs = (normal..normal + high).cycle();
            let mut normals = (0..normal).cycle();
            let mut expected = Vec::new();
            for _ in 0..50 {
                expected.extend(highs.by_ref().take(16));
                expected.extend(normals.next());
            }
            assert_eq!(stepped.taken(), expected);
            let stats = stepped.shared.stats();
            let turns = if high > 0 { 50 * 16 } else { 0 };
            assert_eq!((stats.high_turns, stats.turns), (turns, expected.len() as u64));
        });
    }
}
