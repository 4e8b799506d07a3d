//! Several tasks at once: rules J6, J7 and J11.

use crate::support::{Guard, Log, boom, poll_once, simulations};
use krarup::behavior::{BehaviorContext, behavior_fn};
use krarup::prelude::*;
use krarup::{Sleep, TaskError};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Runs the function in a process, and lets 100 s pass.
fn in_process<F, R>(sim: &Simulation, run: F) -> Pid
where
    F: FnOnce(Context<()>) -> R + Send + 'static,
    R: Future<Output = Result> + Send + 'static,
{
    let pid = sim.spawn(|| behavior_fn(run)).start().unwrap().pid();
    sim.advance(100 * SECOND);
    pid
}

/// Makes futures that are ready after a time. An iterator that borrows the context could not be kept
/// over an await.
fn sleeper(ctx: &Context<()>) -> impl Fn(Duration) -> Sleep + Clone + Send + Sync + use<> {
    let host = ctx.node_host();
    move |time| Sleep::until(Arc::clone(&host), host.now() + time)
}

/// How many run now, and the most that have run at the same time.
#[derive(Clone, Default)]
struct Running(Arc<(AtomicUsize, AtomicUsize)>);

impl Running {
    fn enter(&self) -> impl Drop + use<> {
        struct Leave(Running);
        impl Drop for Leave {
            fn drop(&mut self) {
                (self.0.0).0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let now = self.0.0.fetch_add(1, Ordering::Relaxed) + 1;
        self.0.1.fetch_max(now, Ordering::Relaxed);
        Leave(self.clone())
    }

    fn most(&self) -> usize {
        self.0.1.load(Ordering::Relaxed)
    }
}

#[test]
fn j6_results_come_in_the_order_of_the_inputs() {
    for sim in simulations(50) {
        let log = Log::new();
        let noted = log.clone();
        in_process(&sim, |ctx| async move {
            let squares = ctx.tasks((0..20_u32).map(|n| async move { n * n })).at_once(3).await;
            let expected: Vec<_> = (0..20).map(|n| Ok(n * n)).collect();
            assert_eq!(squares, expected);
            assert_eq!(ctx.tasks((0..0).map(|n: u32| async move { n })).await, []);
            noted.note("done");
            Ok(())
        });
        assert_eq!(log.lines(), ["done"]);
    }
}

#[test]
fn j6_at_most_n_run_at_once_and_as_many_as_may() {
    for sim in simulations(50) {
        let (running, log) = (Running::default(), Log::new());
        let (counted, noted) = (running.clone(), log.clone());
        let asked = log.clone();
        in_process(&sim, move |ctx| async move {
            let (host, sleep_for) = (ctx.view(), sleeper(&ctx));
            let inputs = (0..20_u32).map(|n| {
                asked.note(format!("asked {n}"));
                let (counted, sleep) = (counted.clone(), sleep_for(SECOND));
                let view = host.clone();
                async move {
                    let _place = counted.enter();
                    // The owner and at most four tasks: who has ended holds no place.
                    assert!(view.stats().is_some_and(|stats| stats.processes <= 5));
                    sleep.await;
                }
            });
            let before = ctx.now();
            let results = ctx.tasks(inputs).at_once(4).await;
            assert_eq!(ctx.now() - before, 5 * SECOND, "five rounds");
            assert!(results.iter().all(Result::is_ok), "{results:?}");
            noted.note("done");
            Ok(())
        });
        assert_eq!(running.most(), 4);
        assert_eq!(log.lines().len(), 21);
    }
}

/// The iterator is asked for the next only when there is a place.
#[test]
fn j6_the_iterator_is_asked_when_there_is_a_place() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let asked = log.clone();
    let owner = sim.spawn(|| {
        behavior_fn(move |ctx: Context<()>| async move {
            let inputs = (0_u32..).map(|n| {
                asked.note(n);
                std::future::pending::<()>()
            });
            ctx.tasks(inputs).at_once(3).await;
            Ok(())
        })
    });
    owner.start().unwrap();
    sim.run_until_idle();
    assert_eq!(log.lines(), ["0", "1", "2"]);
    assert_eq!(sim.processes().len(), 4);
}

/// As recorded of Elixir: with a slow first of ten, nine have ended before it.
#[test]
fn j6_a_slow_first_holds_back_no_other() {
    for (keep, expected) in [(usize::MAX, 9), (4, 4), (0, 0)] {
        for sim in simulations(20) {
            let log = Log::new();
            let noted = log.clone();
            in_process(&sim, move |ctx| async move {
                let sleep_for = sleeper(&ctx);
                let inputs = (0..10_u32).map(|n| {
                    let (noted, sleep) = (noted.clone(), sleep_for(9 * SECOND));
                    async move {
                        if n == 0 {
                            sleep.await;
                        }
                        noted.note(n);
                        n
                    }
                });
                let results = ctx.tasks(inputs).at_once(2).keep(keep).await;
                assert_eq!(results, (0..10).map(Ok).collect::<Vec<_>>());
                Ok(())
            });
            let lines = log.lines();
            assert_eq!(lines.len(), 10);
            let first = lines.iter().position(|line| line == "0");
            assert_eq!(first, Some(expected), "kept at most {keep}");
        }
    }
}

#[test]
fn j6_each_task_has_its_own_timeout_and_its_own_failure() {
    for sim in simulations(20) {
        let log = Log::new();
        let noted = log.clone();
        in_process(&sim, move |ctx| async move {
            let sleep_for = sleeper(&ctx);
            let inputs = (0..4_u64).map(|n| {
                let sleep = sleep_for(u32::try_from(n).unwrap() * SECOND);
                async move {
                    sleep.await;
                    assert_ne!(n, 1, "planned");
                    n
                }
            });
            let limit = Duration::from_millis(2_500);
            let results = ctx.tasks(inputs).timeout(limit).await;
            assert!(matches!(results[1], Err(TaskError::Failed(_))), "{results:?}");
            assert_eq!(results[0], Ok(0));
            assert_eq!(results[2..], [Ok(2), Err(TaskError::Timeout(limit))]);
            let error = ctx.tasks([async {}]).dispatcher("none").await;
            assert!(matches!(error[..], [Err(TaskError::NotStarted(_))]), "{error:?}");
            noted.note("done");
            Ok(())
        });
        assert_eq!(log.lines(), ["done"]);
    }
}

#[test]
fn j6_ten_thousand_tasks_at_once() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    in_process(&sim, move |ctx| async move {
        let results = ctx.tasks((0..10_000_u32).map(|n| async move { n })).at_once(10_000).await;
        assert_eq!(results, (0..10_000).map(Ok).collect::<Vec<_>>());
        noted.note("done");
        Ok(())
    });
    assert_eq!(log.lines(), ["done"]);
}

#[test]
fn j7_as_they_come_gives_each_with_its_index_and_ends_the_rest_with_itself() {
    for sim in simulations(50) {
        let log = Log::new();
        let noted = log.clone();
        let owner = in_process(&sim, move |mut ctx| async move {
            let sleep_for = sleeper(&ctx);
            let inputs = (0..4_u32).map(|n| {
                let guard = Guard::new(&noted, format!("{n} dropped"));
                let sleep = sleep_for((4 - n) * SECOND);
                async move {
                    let _guard = guard;
                    sleep.await;
                    10 * n
                }
            });
            let mut results = ctx.tasks(inputs).at_once(4).as_they_come();
            assert_eq!(results.next().await, Some((3, Ok(30))));
            assert_eq!(results.next().await, Some((2, Ok(20))));
            noted.note("enough");
            drop(results);
            ctx.sleep(SECOND / 2).await;
            noted.note("later");
            ctx.receive().await;
            Ok(())
        });
        let lines = log.take();
        assert_eq!(lines[..3], ["3 dropped", "2 dropped", "enough"]);
        assert_eq!(lines.last().map(String::as_str), Some("later"), "{lines:?}");
        let rest: BTreeSet<_> = lines[3..5].iter().map(String::as_str).collect();
        assert_eq!(rest, BTreeSet::from(["0 dropped", "1 dropped"]));
        assert_eq!(sim.processes(), [owner]);
    }
}

#[test]
fn j7_all_or_first_error_ends_the_rest_at_the_first_error_and_waits_for_their_end() {
    for panics in [true, false] {
        for sim in simulations(50) {
            let log = Log::new();
            let noted = log.clone();
            in_process(&sim, move |ctx| async move {
                let logged = noted.clone();
                let sleep_for = sleeper(&ctx);
                let inputs = (0..4_u32).map(|n| {
                    let guard = Guard::new(&logged, "over");
                    let sleep = sleep_for((n + 1) * SECOND);
                    async move {
                        let _guard = guard;
                        sleep.await;
                        if n == 1 {
                            assert!(!panics, "planned");
                            return Err(crate::support::boom());
                        }
                        Ok(n)
                    }
                });
                let error = ctx.tasks(inputs).at_once(3).all_or_first_error().await.unwrap_err();
                noted.note(if panics { "a panic".to_owned() } else { error.to_string() });
                assert!(matches!(error, TaskError::Failed(_)), "{error}");
                Ok(())
            });
            // The fourth was begun when the first was done.
            let said = if panics { "a panic" } else { "task failed: boom" };
            assert_eq!(log.lines(), ["over", "over", "over", "over", said]);
        }
    }
}

#[test]
fn j7_all_or_first_error_gives_all_values_in_order() {
    for sim in simulations(20) {
        let log = Log::new();
        let noted = log.clone();
        in_process(&sim, move |ctx| async move {
            let inputs = (0..9_u32).map(|n| async move { Ok::<_, Reason>(n) });
            let all = ctx.tasks(inputs).at_once(3).all_or_first_error().await?;
            assert_eq!(all, (0..9).collect::<Vec<_>>());
            noted.note("done");
            Ok(())
        });
        assert_eq!(log.lines(), ["done"]);
    }
}

/// Tasks that are killed together with their owner, in mid-air.
#[test]
fn j7_no_task_is_left_when_the_owner_is_killed() {
    for sim in simulations(50) {
        let owner = in_process(&sim, move |ctx| async move {
            let inputs = (0..9_u32).map(|_| std::future::pending::<()>());
            ctx.tasks(inputs).at_once(4).await;
            Ok(())
        });
        assert_eq!(sim.processes().len(), 5);
        sim.kill(owner);
        sim.run_until_idle();
        assert_eq!(sim.processes().len(), 0);
    }
}

#[test]
fn j11_every_order_of_three_occurs_and_the_same_seed_gives_the_same() {
    let order_of = |seed| {
        let sim = Simulation::new(seed);
        let log = Log::new();
        let noted = log.clone();
        in_process(&sim, move |ctx| async move {
            let inputs = (0..3_u32).map(|n| async move { n });
            let mut results = ctx.tasks(inputs).at_once(3).as_they_come();
            while let Some((index, _)) = results.next().await {
                noted.note(index);
            }
            Ok(())
        });
        log.lines()
    };
    let orders: BTreeSet<_> = (0..200).map(order_of).collect();
    assert_eq!(orders.len(), 6, "{orders:?}");
    assert_eq!(order_of(7), order_of(7));
}

#[test]
fn j10_several_tasks_of_the_node_are_waited_for_on_a_plain_thread() {
    let node = Node::start("many@localhost").unwrap();
    let squares = node.tasks((0..1_000_u32).map(|n| async move { n * n })).at_once(8).wait();
    assert_eq!(squares, Ok((0..1_000).map(|n| Ok(n * n)).collect::<Vec<_>>()));
    node.stop().wait().unwrap();
}

/// Its destructor panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("bomb");
    }
}

/// Futures of bombs, the first of which is never done.
fn bombs() -> impl Iterator<Item: Future<Output = Bomb> + Send + 'static> + Send {
    (0..4_u32).map(|n| async move {
        if n == 0 {
            std::future::pending::<()>().await;
        }
        Bomb
    })
}

/// Runs the function in a process; the reason of its end.
fn end_of<F, R>(sim: &Simulation, run: F) -> Reason
where
    F: FnOnce(Context<()>) -> R + Send + 'static,
    R: Future<Output = Result> + Send + 'static,
{
    let end = sim.spawn(|| behavior_fn(run)).start().unwrap().watch();
    sim.advance(100 * SECOND);
    end.wait().unwrap().reason
}

#[test]
fn d4_results_whose_destructors_panic_end_their_owner_and_not_the_program() {
    for sim in simulations(10) {
        // Some are kept until it is their turn.
        let kept = end_of(&sim, |ctx| async move {
            let mut all = ctx.tasks(bombs()).at_once(9).into_future();
            for _ in 0..2 {
                assert!(poll_once(&mut all).is_pending());
                ctx.sleep(SECOND).await;
            }
            drop(all);
            Ok(())
        });
        // None was taken: the last task of them drops them.
        let untaken = end_of(&sim, |ctx| async move {
            let mut results = ctx.tasks(bombs()).at_once(9).as_they_come();
            assert!(poll_once(&mut std::pin::pin!(results.next())).is_pending());
            ctx.sleep(SECOND).await;
            drop(results);
            Ok(())
        });
        // An error comes after values.
        let failed = end_of(&sim, |ctx| async move {
            let inputs =
                (0..4_u32).map(|n| async move { if n < 3 { Ok(Bomb) } else { Err(boom()) } });
            let values = ctx.tasks(inputs).at_once(1).all_or_first_error().await?;
            std::mem::forget(values);
            Ok(())
        });
        assert_eq!(untaken, Reason::Normal);
        for reason in [kept, failed] {
            assert!(
                matches!(&reason, Reason::Panic(panic) if panic.message() == "bomb"),
                "{reason}"
            );
        }
    }
}
