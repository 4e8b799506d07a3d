//! Time: rules T1 and T2.

use crate::support::{Act, Does, Log, boom, puppet, simulations, trapper};
use krarup::behavior::{Received, behavior_fn};
use krarup::prelude::*;
use std::sync::mpsc;
use std::time::{Duration, Instant};

const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// An act that notes the time at which it is done.
fn tick(log: &Log, name: &'static str) -> Act {
    let log = log.clone();
    Act::new(move |ctx| {
        log.note(format!("{name} {}", ctx.now()));
        Ok(())
    })
}

#[test]
fn t1_a_timer_fires_once_at_its_time() {
    for sim in simulations(10) {
        let log = Log::new();
        let process = puppet(&sim, "p", &log);
        for (name, delay) in [("c", 3 * SECOND), ("a", SECOND), ("b", 2 * SECOND)] {
            let act = tick(&log, name);
            process.tells(move |ctx| {
                ctx.send_after(delay, act);
            });
        }
        sim.run_until_idle();
        assert_eq!(sim.stats().timers, 3);
        sim.advance(999 * MILLISECOND);
        assert_eq!(log.take(), Vec::<String>::new());
        sim.advance(MILLISECOND);
        assert_eq!(log.take(), ["a 1s"]);
        sim.advance(60 * SECOND);
        assert_eq!(log.take(), ["b 2s", "c 3s"]);
        assert_eq!(sim.stats().timers, 0);
    }
}

#[test]
fn t1_timers_over_all_spans_fire_in_the_order_of_their_times() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let process = puppet(&sim, "p", &log);
    // Spans that cross every level of a wheel, set in a mixed order.
    let mut spans: Vec<u64> = (0..44).flat_map(|bit| [1 << bit, (1 << bit) + 1]).collect();
    spans.sort_unstable();
    spans.dedup();
    let mixed: Vec<u64> = (0..spans.len()).map(|n| spans[n * 37 % spans.len()]).collect();
    let noted = log.clone();
    process.tells(move |ctx| {
        for millis in mixed {
            let noted = noted.clone();
            let due = Duration::from_millis(millis);
            let act = move |ctx: &mut Context<Act>| {
                assert_eq!(Duration::from_nanos(ctx.now().as_nanos()), due);
                noted.note(millis);
                Ok(())
            };
            ctx.send_after(due, Act::new(act));
        }
    });
    sim.advance(Duration::from_millis(1 << 44));
    let expected: Vec<String> = spans.iter().map(u64::to_string).collect();
    assert_eq!(log.take(), expected);
}

#[test]
fn t1_timers_of_one_time_fire_in_the_order_they_were_set() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let process = puppet(&sim, "p", &log);
    let noted = log.clone();
    process.tells(move |ctx| {
        for name in ["a", "b", "c"] {
            ctx.send_after(100 * SECOND, tick(&noted, name));
        }
    });
    sim.advance(100 * SECOND);
    assert_eq!(log.take(), ["a 100s", "b 100s", "c 100s"]);
}

#[test]
fn t1_cancel_and_remaining_tell_the_time_that_was_left() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let process = puppet(&sim, "p", &log);
    let noted = log.clone();
    process.tells(move |ctx| {
        let timers = [SECOND, 10 * SECOND, 1500 * MILLISECOND / 1000].map(|delay| {
            let noted = noted.clone();
            let never = Act::new(move |_| {
                noted.note("fired");
                Ok(())
            });
            (ctx.send_after(delay, never), delay)
        });
        for (timer, delay) in timers {
            assert_eq!(ctx.remaining(timer), Some(delay));
            noted.note(format!("{:?}", ctx.cancel(timer) == Some(delay)));
            assert_eq!((ctx.cancel(timer), ctx.remaining(timer)), (None, None));
        }
        let unknown = ctx.make_ref();
        assert_eq!((ctx.cancel(unknown), ctx.remaining(unknown)), (None, None));
    });
    sim.advance(60 * SECOND);
    assert_eq!(log.take(), ["true", "true", "true"]);
    assert_eq!(sim.stats().timers, 0);
}

#[test]
fn t1_a_cancelled_timer_does_not_arrive_even_from_the_mailbox() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let process = behavior_fn(move |mut ctx: Context<&'static str>| async move {
        let timer = ctx.send_after(SECOND, "timer");
        ctx.sleep(2 * SECOND).await;
        noted.note(format!("{:?} {:?}", ctx.remaining(timer), ctx.cancel(timer)));
        noted.note(format!("{:?}", ctx.cancel(timer)));
        while let Received::Message(text) = ctx.receive().await {
            noted.note(text);
        }
        Ok(())
    });
    let process = sim.spawn(move || process).start().unwrap();
    sim.advance(SECOND);
    process.send("message").unwrap();
    sim.advance(60 * SECOND);
    assert_eq!(log.take(), ["Some(0ns) Some(0ns)", "None", "message"]);
}

#[test]
fn t1_an_interval_keeps_its_times_and_ends_when_cancelled() {
    for sim in simulations(10) {
        let log = Log::new();
        let process = puppet(&sim, "p", &log);
        let (noted, timer) = (log.clone(), mpsc::channel());
        process.tells(move |ctx| {
            let timer_ref = ctx.send_interval(2 * SECOND, move || tick(&noted, "tick"));
            timer.0.send(timer_ref).unwrap();
        });
        sim.advance(SECOND);
        sim.advance(6 * SECOND);
        assert_eq!(log.take(), ["tick 2s", "tick 4s", "tick 6s"]);
        let timer = timer.1.recv().unwrap();
        let noted = log.clone();
        process.tells(move |ctx| noted.note(format!("{:?}", ctx.cancel(timer))));
        sim.advance(60 * SECOND);
        assert_eq!(log.take(), ["Some(1s)"]);
        assert_eq!(sim.stats().timers, 0);
    }
}

#[test]
fn t1_intervals_do_not_pile_up_in_a_process_that_is_busy() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let process = behavior_fn(|mut ctx: Context<()>| async move {
        ctx.send_interval(SECOND, || ());
        ctx.sleep(60 * SECOND).await;
        loop {
            ctx.receive().await;
        }
    });
    let process = sim.spawn(move || process).start().unwrap();
    sim.advance(30 * SECOND);
    let info = sim.process_info(process.pid()).unwrap();
    assert_eq!(info.main, 0, "timers are no user messages");
    assert_eq!(sim.stats().timers, 1, "the sleep alone: the interval waits to be received");
    sim.advance(60 * SECOND);
    assert!(process.is_alive());
    assert_eq!(log.take(), Vec::<String>::new());
}

#[test]
fn t1_timers_die_with_their_process() {
    for sim in simulations(10) {
        let log = Log::new();
        let ends: [fn(&Simulation, &Address<Act>); 3] = [
            |_, p| assert!(p.dies(boom())),
            |sim, p| sim.kill(p.pid()),
            |_, p| {
                p.stop().wait().unwrap();
            },
        ];
        for end in ends {
            let process = puppet(&sim, "p", &log);
            let noted = log.clone();
            process.tells(move |ctx| {
                for n in 1..=100 {
                    ctx.send_after(n * SECOND, tick(&noted, "late"));
                }
                let noted = noted.clone();
                ctx.send_interval(SECOND, move || tick(&noted, "late"));
            });
            sim.run_until_idle();
            assert_eq!(sim.stats().timers, 101);
            end(&sim, &process);
            sim.run_until_idle();
            assert_eq!(sim.stats().timers, 0);
            sim.advance(200 * SECOND);
            assert_eq!(log.count("late"), 0);
        }
        assert_eq!(sim.stats().dead_letters, 0);
    }
}

#[test]
fn t1_a_sleep_that_is_given_up_leaves_no_timer() {
    let sim = Simulation::new(1);
    let process = behavior_fn(|mut ctx: Context<()>| async move {
        let mut sleep = ctx.sleep(60 * SECOND);
        assert!(crate::support::poll_once(&mut sleep).is_pending());
        drop(sleep);
        ctx.receive().await;
        Ok(())
    });
    let process = sim.spawn(move || process).start().unwrap();
    sim.run_until_idle();
    assert!(process.is_alive());
    assert_eq!(sim.stats().timers, 0);
}

/// A sleep that goes from task to task has one timer, that of the last one that polled it.
#[test]
fn t1_a_sleep_that_several_tasks_poll_has_one_timer() {
    let sim = Simulation::new(1);
    let (sent, sleeps) = std::sync::mpsc::channel();
    let process = behavior_fn(move |ctx: Context<()>| async move {
        sent.send(ctx.sleep(60 * SECOND)).unwrap();
        Ok(())
    });
    sim.spawn(move || process).start().unwrap();
    sim.run_until_idle();
    let mut sleep = sleeps.recv().unwrap();
    let wakes = [(); 3].map(|()| std::sync::Arc::new(Counted::default()));
    for wake in &wakes {
        let waker = std::task::Waker::from(std::sync::Arc::clone(wake));
        let mut cx = std::task::Context::from_waker(&waker);
        for _ in 0..2 {
            assert!(std::pin::Pin::new(&mut sleep).poll(&mut cx).is_pending());
            assert_eq!(sim.stats().timers, 1);
        }
    }
    sim.advance(61 * SECOND);
    sim.run_until_idle();
    let woken = wakes.map(|wake| wake.0.load(std::sync::atomic::Ordering::Relaxed));
    assert_eq!((woken, sim.stats().timers), ([0, 0, 1], 0));
    drop(sleep);
    assert_eq!(sim.stats().timers, 0);
}

/// A task that counts how often it is woken.
#[derive(Default)]
struct Counted(std::sync::atomic::AtomicUsize);

impl std::task::Wake for Counted {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn t1_zero_and_endless_times_are_legal() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let process = puppet(&sim, "p", &log);
    let noted = log.clone();
    process.tells(move |ctx| {
        ctx.send_after(Duration::MAX, tick(&noted, "never"));
        ctx.send_after(Duration::ZERO, tick(&noted, "soon"));
        let (often, seldom) = (noted.clone(), noted.clone());
        let every_millisecond = ctx.send_interval(Duration::ZERO, move || tick(&often, "often"));
        ctx.send_interval(Duration::MAX, move || tick(&seldom, "never"));
        let stop = Act::new(move |ctx| {
            ctx.cancel(every_millisecond);
            Ok(())
        });
        ctx.send_after(Duration::from_micros(3_500), stop);
    });
    sim.advance(Duration::from_secs(100 * 365 * 86_400));
    assert_eq!((log.count("soon"), log.count("often"), log.count("never")), (1, 3, 0));
    assert_eq!(sim.stats().timers, 2);
}

#[test]
fn t1_on_a_real_node_no_timer_is_early() {
    let node = Node::builder("t1").workers(2).start().unwrap();
    let (done, fired) = mpsc::channel();
    let process = behavior_fn(move |mut ctx: Context<u64>| async move {
        let start = Instant::now();
        for micros in [0, 1, 999, 1_000, 1_001, 2_500, 5_000, 9_999] {
            ctx.send_after(Duration::from_micros(micros), micros);
        }
        for _ in 0..8 {
            if let Received::Message(micros) = ctx.receive().await {
                let _ = done.send(start.elapsed() >= Duration::from_micros(micros));
            }
        }
        let before = Instant::now();
        ctx.sleep(Duration::from_micros(1_500)).await;
        let _ = done.send(before.elapsed() >= Duration::from_micros(1_500));
        Ok(())
    });
    node.spawn(move || process).start().unwrap();
    let in_time: Vec<bool> = fired.iter().collect();
    assert_eq!(in_time, [true; 9]);
    node.stop().wait().unwrap();
}

#[test]
fn t1_a_hundred_thousand_timers_set_and_cancelled_leave_nothing() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let process = puppet(&sim, "p", &log);
    process.tells(|ctx| {
        let timers: Vec<_> = (0..100_000_u32)
            .map(|n| ctx.send_after(n * MILLISECOND + SECOND, Act::nothing()))
            .collect();
        for (n, timer) in timers.into_iter().enumerate() {
            assert!(n % 2 == 0 || ctx.cancel(timer).is_some());
        }
    });
    sim.run_until_idle();
    assert_eq!(sim.stats().timers, 50_000);
    sim.advance(200 * SECOND);
    assert_eq!(sim.stats().timers, 0);
    assert!(process.is_alive());
}

#[test]
fn t2_years_pass_in_no_time_and_only_when_nothing_is_ready() {
    let sim = Simulation::new(1);
    let year = Duration::from_secs(365 * 86_400);
    let process = behavior_fn(move |ctx: Context<()>| async move {
        for _ in 0..1_000 {
            ctx.sleep(year).await;
        }
        Ok(())
    });
    let process = sim.spawn(move || process).start().unwrap();
    sim.run_until_idle();
    assert_eq!(sim.now().as_nanos(), 0);
    // Over 500 of them exceed what 64 bits of nanoseconds hold.
    sim.advance(500 * year);
    assert!(process.is_alive());
    assert_eq!(sim.now().since(krarup::Timestamp::ZERO), 500 * year);
}

#[test]
fn t2_the_same_seed_gives_the_same_run() {
    let run = |seed| {
        let sim = Simulation::with_throughput(seed, 2);
        let log = Log::new();
        let all: Vec<_> = (0..6).map(|_| puppet(&sim, "p", &log)).collect();
        for (n, process) in all.iter().enumerate() {
            let (next, log) = (all[(n + 1) % 6].clone(), log.clone());
            process.tells(move |ctx| {
                ctx.link(next.pid());
                ctx.monitor(next.pid());
                for k in 0..5 {
                    let log = log.clone();
                    next.tells(move |ctx| log.note(format!("{k} at {}", ctx.pid())));
                }
                ctx.send_after(u32::try_from(n).unwrap() * SECOND, Act::nothing());
            });
        }
        let mut turns: Vec<_> = std::iter::from_fn(|| sim.step()).collect();
        all[2].dies(boom());
        turns.extend(std::iter::from_fn(|| sim.step()));
        (turns, log.take())
    };
    let runs: Vec<_> = (0..20).map(run).collect();
    assert!(runs.iter().eq((0..20).map(run).collect::<Vec<_>>().iter()));
    assert!(runs.windows(2).any(|pair| pair[0].0 != pair[1].0), "seeds make a difference");
}

#[test]
fn t1_an_exit_signal_can_be_sent_after_a_time_and_called_back() {
    for sim in simulations(5) {
        let log = Log::new();
        let (owner, victim) = (puppet(&sim, "owner", &log), trapper(&sim, "victim", &log));
        let pid = victim.pid();
        let noted = log.clone();
        owner.tells(move |ctx| {
            let first = ctx.exit_after(Duration::from_secs(1), pid, boom());
            ctx.exit_after(Duration::from_secs(2), pid, Reason::Shutdown);
            let third = ctx.exit_after(Duration::from_secs(3), pid, Reason::Kill);
            noted.note(format!("{:?} {:?}", ctx.remaining(first), ctx.cancel(third)));
        });
        sim.run_until_idle();
        assert_eq!(log.take(), ["Some(1s) Some(3s)"]);
        sim.advance(Duration::from_secs(9));
        assert_eq!(
            log.take(),
            [
                format!("victim exit {} boom", owner.pid()),
                format!("victim exit {} shutdown", owner.pid()),
            ]
        );
        assert_eq!(sim.stats().timers, 0);
        // To oneself, and with the process dies what it had set.
        let itself = owner.pid();
        owner.tells(move |ctx| {
            ctx.exit_after(Duration::from_secs(1), itself, boom());
            ctx.exit_after(Duration::from_secs(2), pid, Reason::Kill);
        });
        sim.advance(Duration::from_secs(9));
        assert!(!owner.is_alive() && victim.is_alive());
        assert_eq!(log.take(), ["owner dropped"]);
        assert_eq!(sim.stats().timers, 0);
    }
}

#[test]
fn t1_a_due_timer_that_acts_on_others_cannot_be_cancelled() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let (owner, other) = (puppet(&sim, "owner", &log), puppet(&sim, "other", &log));
    let (to, noted) = (other.recipient(), log.clone());
    owner.tells(move |ctx| {
        let act = Act::new({
            let noted = noted.clone();
            move |ctx| {
                noted.note(format!("acted from {:?}", ctx.sender()));
                Ok(())
            }
        });
        let timer = ctx.send_after_to(Duration::from_secs(1), &to, act);
        let myself = ctx.address();
        let cancel = Act::new(move |ctx| {
            noted.note(format!("{:?} {:?}", ctx.remaining(timer), ctx.cancel(timer)));
            Ok(())
        });
        ctx.send_after(Duration::from_secs(1), cancel);
        // Suspended, the owner comes to its notice late; the other got its message in time.
        drop(myself);
    });
    sim.run_until_idle();
    owner.suspend().wait().unwrap();
    sim.advance(Duration::from_secs(2));
    assert_eq!(log.take(), ["acted from None"]);
    owner.resume();
    sim.run_until_idle();
    assert_eq!(log.take(), ["None None"]);
}

#[test]
fn t1_a_timer_for_others_that_was_due_during_the_handler_cannot_be_called_back_in_it() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let other: krarup::Recipient<Act> = puppet(&sim, "other", &log).recipient();
    let noted = log.clone();
    let run = move |mut ctx: Context<()>| async move {
        let one = ctx.send_after_to(Duration::from_secs(1), &other, Act::nothing());
        let two = ctx.send_after(Duration::from_secs(1), ());
        let late = ctx.send_after_to(Duration::from_secs(3), &other, Act::nothing());
        ctx.sleep(Duration::from_secs(2)).await;
        noted.note(format!("{:?} {:?} {:?}", ctx.cancel(one), ctx.cancel(two), ctx.cancel(late)));
        Ok(())
    };
    sim.spawn(move || krarup::behavior::behavior_fn(run)).start().unwrap();
    sim.advance(Duration::from_secs(9));
    assert_eq!(log.take(), ["None Some(0ns) Some(1s)"]);
}

#[test]
fn t1_a_timer_that_is_disarmed_does_not_come_and_one_that_has_acted_cannot_be() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let other: krarup::Recipient<Act> = puppet(&sim, "other", &log).recipient();
    let noted = log.clone();
    let run = move |mut ctx: Context<&'static str>| async move {
        let acted = ctx.send_after_to(Duration::from_secs(1), &other, Act::nothing());
        let waits = ctx.send_after(Duration::from_secs(1), "waits in the mailbox");
        let ahead = ctx.send_after(Duration::from_secs(3), "ahead");
        ctx.send_after(Duration::from_secs(4), "kept");
        ctx.sleep(Duration::from_secs(2)).await;
        let first = [acted, waits, ahead].map(|timer| ctx.disarm(timer));
        let again = [acted, waits, ahead].map(|timer| ctx.disarm(timer));
        noted.note(format!("{first:?} {again:?} {:?}", ctx.remaining(ahead)));
        while let krarup::behavior::Received::Message(message) = ctx.receive().await {
            noted.note(message);
        }
        Ok(())
    };
    sim.spawn(move || krarup::behavior::behavior_fn(run)).start().unwrap();
    sim.advance(Duration::from_secs(9));
    assert_eq!(log.take(), ["[false, true, true] [false, false, false] None", "kept"]);
}

#[test]
fn t1_an_interval_keeps_its_times_though_one_was_received_late() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let run = move |mut ctx: Context<()>| async move {
        ctx.send_interval(Duration::from_secs(3), || ());
        ctx.sleep(Duration::from_secs(4)).await;
        loop {
            ctx.receive().await;
            noted.note(format!("{:?}", ctx.now()));
        }
    };
    sim.spawn(move || krarup::behavior::behavior_fn(run)).start().unwrap();
    sim.advance(Duration::from_secs(10));
    assert_eq!(log.take(), ["4s", "6s", "9s"]);
}

#[test]
fn t1_a_sleep_ends_with_its_node() {
    let sim = Simulation::new(1);
    let (out, moved) = std::sync::mpsc::channel();
    let sleepy = krarup::behavior::behavior_fn(move |mut ctx: Context<()>| async move {
        out.send(ctx.sleep(Duration::from_secs(60))).unwrap();
        ctx.receive().await;
        Ok(())
    });
    sim.spawn(move || sleepy).start().unwrap();
    sim.run_until_idle();
    let mut sleep = moved.recv().unwrap();
    assert!(crate::support::poll_once(&mut sleep).is_pending());
    sim.stop().wait().unwrap();
    assert!(crate::support::poll_once(&mut sleep).is_ready());
}
