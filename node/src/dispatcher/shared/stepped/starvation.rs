//! Starvation, stepped by hand (rules R1, R6; seeds M12, M13): processes that never stop, and
//! others beside them that need their turns.

use super::super::LOCAL_CAPACITY;
use super::{SpawnQueue, as_worker, options};
use krarup_act::{Address, Context, Host, Spawn, behavior_fn};
use krarup_gen::{Class, Pid};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::iter;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

/// With this throughput a turn handles one message, and the look for another ends it. So no turn
/// is useless.
const ONE_AND_A_LOOK: u32 = 2;

/// Spawns a process that sends itself a message whenever it handles one.
fn endless(from: &SpawnQueue, number: usize, class: Class) -> Address<()> {
    let process = from.spawn_with(number, class, |own, _| own.send(()).unwrap());
    process.send(()).unwrap();
    process
}

/// The longest wait of each process between its turns, from the first on, in turns of the
/// others.
fn waits(turns: &[usize]) -> BTreeMap<usize, usize> {
    let mut last: BTreeMap<usize, usize> = BTreeMap::new();
    let mut longest = BTreeMap::new();
    for (turn, number) in turns.iter().enumerate() {
        let waited = turn - last.insert(*number, turn + 1).unwrap_or(0);
        let most = longest.entry(*number).or_insert(0);
        *most = waited.max(*most);
    }
    for (number, since) in last {
        let most = longest.entry(number).or_insert(0);
        *most = (turns.len() - since).max(*most);
    }
    longest
}

/// Asserts that each of `all` processes has its turns, and waits for at most `others` turns,
/// besides those due to looks at the injector: one look comes every 61 turns, and runs one
/// process at once.
fn takes_turns(turns: &[usize], all: usize, others: usize) {
    let waits = waits(turns);
    assert_eq!(waits.len(), all);
    let most = others + all / 60 + 2 * 61;
    let late = waits.into_iter().filter(|(_, waited)| *waited > most).max_by_key(|late| late.1);
    assert_eq!(late, None, "{most}");
}

#[test]
fn r1_more_processes_than_a_queue_holds_still_take_turns() {
    as_worker(options(1).throughput(ONE_AND_A_LOOK), |stepped| {
        const ALL: usize = LOCAL_CAPACITY + 1_500;
        for number in 0..ALL {
            endless(&stepped.nursery, number, Class::Normal);
        }
        stepped.steps(4 * ALL);
        assert!(stepped.worker().spills > 3_000);
        takes_turns(&stepped.taken(), ALL, ALL);
    });
}

/// As if there were one queue, whether it is long or short.
#[test]
fn r1_processes_flooded_from_outside_take_turns_from_the_first_one_on() {
    for (all, budget) in [(2, 5), (2, 64), (17, 1), (18, 1), (61, 3)] {
        as_worker(options(1).throughput(budget), move |stepped| {
            let budget = budget as usize;
            stepped.outside(|from| from.flood(0..all, 20 * budget));
            stepped.steps(20 * all);
            let round: Vec<_> = (0..all).flat_map(|number| vec![number; budget]).collect();
            let taken = stepped.taken();
            assert!(taken.chunks(round.len()).take(10).all(|all| all == round), "{taken:?}");
        });
    }
}

/// The same for processes that set their own class to normal, or to high on a dispatcher without
/// classes.
#[test]
fn r1_flooded_processes_of_class_varying_take_turns_like_others() {
    for (says, all, budget) in [
        (Class::Normal, 2, 5),
        (Class::Normal, 17, 1),
        (Class::Normal, 61, 3),
        (Class::High, 2, 5),
        (Class::High, 61, 3),
    ] {
        let options = options(1).throughput(budget);
        let options = if says == Class::High { options.no_classes() } else { options };
        as_worker(options, move |stepped| {
            let budget = budget as usize;
            stepped.outside(|from| {
                for number in 0..all {
                    let log = Arc::clone(&from.log);
                    let process = behavior_fn(move |mut ctx: Context<()>| async move {
                        assert!(ctx.set_class(says));
                        loop {
                            ctx.receive().await;
                            log.lock().unwrap().push(number);
                        }
                    });
                    let host: Arc<dyn Host> = Arc::clone(&from.host) as Arc<dyn Host>;
                    let spawn = Spawn::outside(host, move || process).class(Class::Varying);
                    let process = spawn.start().unwrap();
                    (0..20 * budget).for_each(|_| process.send(()).unwrap());
                }
            });
            stepped.steps(20 * all);
            let round: Vec<_> = (0..all).flat_map(|number| vec![number; budget]).collect();
            let taken = stepped.taken();
            assert!(taken.chunks(round.len()).take(10).all(|all| all == round), "{taken:?}");
        });
    }
}

/// A process that comes in waits for those that came before it, in the injector and in the
/// queue.
#[test]
fn r1_an_injected_process_waits_for_all_processes_injected_before_it() {
    for all in [20, 100, 1_000] {
        as_worker(options(1).throughput(ONE_AND_A_LOOK), move |stepped| {
            stepped.outside(|from| {
                (0..all).for_each(|number| drop(endless(from, number, Class::Normal)));
            });
            stepped.steps(4 * all + 122);
            takes_turns(&stepped.taken(), all, 2 * all);
        });
    }
}

/// One process that never stops, and a thousand that have one message each.
#[test]
fn r1_an_endless_process_and_a_thousand_with_one_message_all_have_turns() {
    for from_outside in [false, true] {
        as_worker(options(1), move |stepped| {
            endless(&stepped.nursery, 0, Class::Normal);
            if from_outside {
                stepped.outside(|from| from.flood(1..1_001, 1));
            } else {
                stepped.nursery.flood(1..1_001, 1);
            }
            let turns = if from_outside { 1_000 + 122 } else { 1_001 };
            stepped.steps(turns);
            let taken = stepped.taken();
            let mut ones: Vec<_> = taken.iter().copied().filter(|number| *number > 0).collect();
            // Some of those from outside run at once when they are taken in.
            if from_outside {
                ones.sort_unstable();
            }
            assert_eq!(ones, (1..1_001).collect::<Vec<_>>());
            // The first process has had its turns, and now has all of them.
            assert!(taken.len() > ones.len() + 32);
            stepped.steps(10);
            let own = stepped.taken();
            assert!(own.len() >= 320 && own.iter().all(|number| *number == 0));
        });
    }
}

/// The processes of a ring make the next one ready as the last thing they do. A queue that ran
/// the newest process first would run no other process.
#[test]
fn r1_a_chain_that_readies_itself_first_takes_one_turn_per_round() {
    for (ring, others) in [(1, 1), (2, 1), (2, 30), (7, 3)] {
        as_worker(options(1).throughput(ONE_AND_A_LOOK), move |stepped| {
            let next = Arc::<Mutex<Vec<Address<()>>>>::default();
            for number in 0..ring {
                let known = Arc::clone(&next);
                let process = stepped.nursery.spawn_with(others, Class::Normal, move |_, _| {
                    let to = known.lock().unwrap()[(number + 1) % ring].clone();
                    to.send(()).unwrap();
                });
                next.lock().unwrap().push(process);
            }
            stepped.run_until_idle();
            next.lock().unwrap()[0].send(()).unwrap();
            for number in 0..others {
                endless(&stepped.nursery, number, Class::Normal);
            }
            stepped.steps(50 * (others + 1));
            let round: Vec<_> = iter::once(others).chain(0..others).collect();
            let expected: Vec<_> = round.into_iter().cycle().take(50 * (others + 1)).collect();
            assert_eq!(stepped.taken()[..expected.len()], expected);
        });
    }
}

/// High processes that never end, normal ones that never end, and normal ones from outside: of
/// 17 turns one is a normal process's, and of 61 of those one is for the injector.
#[test]
fn r6_normal_processes_have_turns_beside_endless_high_ones() {
    for (high, normal) in [(1, 1), (3, 10), (40, 2)] {
        as_worker(options(1).throughput(ONE_AND_A_LOOK), move |stepped| {
            (0..normal).for_each(|number| drop(endless(&stepped.nursery, number, Class::Normal)));
            let highs = normal..normal + high;
            highs.clone().for_each(|number| drop(endless(&stepped.nursery, number, Class::High)));
            let steps = 61 + 61 + 30 + normal;
            stepped.steps(61);
            let come = highs.end..highs.end + 30;
            stepped.outside(|from| from.flood(come.clone(), 1));
            stepped.steps(steps - 61);
            let (high, normals): (Vec<_>, Vec<_>) =
                stepped.taken().into_iter().partition(|number| highs.contains(number));
            assert_eq!(high.len(), 16 * steps);
            assert!(come.clone().all(|number| normals.contains(&number)), "{normals:?}");
            let own: Vec<_> = normals.into_iter().filter(|n| !come.contains(n)).collect();
            let expected: Vec<_> = (0..normal).cycle().take(own.len()).collect();
            assert_eq!(own, expected);
        });
    }
}

/// A handler that awaits something and wakes itself in each poll has a turn like any other: as
/// many polls as a turn has messages, or until its deadline. A kill ends it.
#[test]
fn r1_a_handler_that_wakes_itself_without_end_has_turns_like_any() {
    for (class, deadline) in [
        (Class::Normal, None),
        (Class::Normal, Some(3)),
        (Class::Varying, None),
        (Class::Varying, Some(3)),
    ] {
        let mut limited = options(1).throughput(7);
        if let Some(polls) = deadline {
            limited = limited.throughput_deadline(Duration::from_micros(polls));
        }
        as_worker(limited, move |stepped| {
            let polls = Arc::new(AtomicUsize::new(0));
            let (counts, core) = (Arc::clone(&polls), Arc::clone(&stepped.nursery.core));
            let restless = behavior_fn(move |mut ctx: Context<()>| async move {
                ctx.receive().await;
                poll_fn(|cx| {
                    counts.fetch_add(1, Ordering::Relaxed);
                    core.clock.advance_to(core.clock.now() + Duration::from_micros(1));
                    cx.waker().wake_by_ref();
                    Poll::<()>::Pending
                })
                .await;
                Ok(())
            });
            let host = Arc::clone(&stepped.nursery.host) as Arc<dyn Host>;
            let restless = Spawn::outside(host, move || restless).class(class).start().unwrap();
            restless.send(()).unwrap();
            let others: Vec<_> =
                (0..3).map(|n| endless(&stepped.nursery, n, Class::Normal).pid()).collect();
            stepped.steps(4);
            for _ in 0..20 {
                let before = polls.load(Ordering::Relaxed);
                let ran: Vec<Pid> = (0..4).filter_map(|_| stepped.step()).collect();
                assert_eq!(ran, [&[restless.pid()], &others[..]].concat());
                let polled = polls.load(Ordering::Relaxed) - before;
                // A turn begins with a poll, and each wake-up in it counts as a message.
                assert_eq!(polled as u64, deadline.unwrap_or(8));
            }
            restless.process().kill();
            stepped.steps(4);
            assert!(!restless.is_alive());
        });
    }
}

/// A kill does not wait for the messages in the mailbox, nor do the other processes: a process
/// with a hundred thousand messages ends in its next turn.
#[test]
fn m4_a_kill_of_a_process_with_100_000_waiting_messages_takes_effect_in_its_next_turn() {
    for class in [Class::Normal, Class::High, Class::Varying] {
        as_worker(options(1), move |stepped| {
            const ALL: usize = 100_000;
            (0..3).for_each(|number| drop(endless(&stepped.nursery, number, Class::Normal)));
            let flooded = stepped.nursery.spawn_with(3, class, |_, _| {});
            (0..ALL).for_each(|_| flooded.send(()).unwrap());
            stepped.steps(4);
            let handled = flooded.info().handled;
            assert!((64..ALL as u64).contains(&handled), "{handled}");
            flooded.process().kill();
            stepped.taken();
            stepped.steps(4);
            assert!(!flooded.is_alive());
            assert!(!stepped.taken().contains(&3));
            // Every message that was accepted and not handled is counted as a dead letter.
            assert_eq!(stepped.nursery.core.stats().dead_letters, ALL as u64 - handled);
        });
    }
}

/// Each process has ten thousand messages from outside, and sends itself another one for each
/// that it handles. So it stays flooded, and floods no other process: its turns are whole.
#[test]
fn r1_a_flooded_process_that_sends_to_itself_takes_turns_like_others() {
    for (busy, flooded, budget) in [(0, 10, 1), (0, 10, 64), (5, 5, 1), (5, 5, 64), (0, 1, 5)] {
        as_worker(options(1).throughput(budget), move |stepped| {
            for number in 0..busy {
                stepped.nursery.flooded(number, Class::Normal, 20_000);
            }
            for number in busy..busy + flooded {
                let process = endless(&stepped.nursery, number, Class::Normal);
                (1..10_000).for_each(|_| process.send(()).unwrap());
            }
            let mut turns = Vec::new();
            for _ in 0..900 {
                stepped.step();
                let taken = stepped.taken();
                assert_eq!(taken.len(), budget as usize);
                turns.extend(taken.first());
            }
            let all = busy + flooded;
            let waits = waits(&turns);
            assert_eq!(waits.len(), all);
            assert!(waits.values().all(|waited| *waited < all), "{all} {budget}: {waits:?}");
        });
    }
}

/// The spare leaves right after a turn, when it is one too many.
#[test]
fn r4_a_spare_that_leaves_after_its_turn_is_in_no_turn() {
    as_worker(options(1).spare_workers(1), |stepped| {
        let shared = Arc::clone(&stepped.shared);
        let slot = shared.spares.enter().unwrap();
        assert!(!shared.spares.want(1));
        let spares = Arc::downgrade(&shared);
        let last = move |_: &Address<()>, _: &crate::core::Core| {
            assert!(spares.upgrade().unwrap().spares.want(0));
        };
        stepped.nursery.spawn_with(7, Class::Normal, last).send(()).unwrap();
        shared.stand_in_for_busy(&slot);
        assert_eq!(*stepped.nursery.log.lock().unwrap(), [7]);
        let snapshot = shared.counters[slot.index].snapshot();
        assert_eq!((snapshot.turns, snapshot.pid), (1, 0));
        assert_eq!((shared.spares.live(), shared.sleep.searching()), (0, 0));
        shared.spares.give_back(slot);
    });
}
