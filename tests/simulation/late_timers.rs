//! Calls whose timers are set late, beside whatever else a process waits for: rules C1 and T1.

use crate::support::{Log, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::prelude::*;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

/// Keeps every token.
#[derive(Default)]
struct Keeper(Vec<Reply<u32>>);

impl Actor for Keeper {
    type Message = Reply<u32>;

    async fn handle_message(&mut self, _: &mut Context<Reply<u32>>, token: Reply<u32>) -> Result {
        self.0.push(token);
        Ok(())
    }
}

enum Either<A, B> {
    First(A),
    Second(B),
}

/// Whichever is ready first; `flipped`, the second is polled first.
async fn either<A, B>(
    flipped: bool,
    first: &mut (impl Future<Output = A> + Unpin),
    second: &mut (impl Future<Output = B> + Unpin),
) -> Either<A, B> {
    std::future::poll_fn(|cx| {
        if flipped && let Poll::Ready(output) = Pin::new(&mut *second).poll(cx) {
            return Poll::Ready(Either::Second(output));
        }
        if let Poll::Ready(output) = Pin::new(&mut *first).poll(cx) {
            return Poll::Ready(Either::First(output));
        }
        if flipped { Poll::Pending } else { Pin::new(&mut *second).poll(cx).map(Either::Second) }
    })
    .await
}

/// A process that calls the keeper beside its mailbox. A message is a number of seconds for which
/// it looks at neither.
fn caller(sim: &Simulation, log: &Log, flipped: bool) -> Address<u64> {
    let keeper = sim.spawn(Keeper::default).wait().unwrap();
    let log = log.clone();
    let run = move |mut ctx: Context<u64>| async move {
        let mut call = keeper.call(|token| token).timeout(Duration::from_secs(2)).into_future();
        loop {
            let item = either(flipped, &mut ctx.receive(), &mut call).await;
            match item {
                Either::First(Received::Message(seconds)) => {
                    ctx.sleep(Duration::from_secs(seconds)).await;
                }
                Either::First(_) => {}
                Either::Second(outcome) => {
                    log.note(format!("{outcome:?} at {:?}", ctx.now()));
                    return Ok(());
                }
            }
        }
    };
    sim.spawn(|| behavior_fn(run)).start().unwrap()
}

/// The outcome of a call to the keeper, which is the first process of each simulation.
fn timed_out_at(seconds: u64) -> [String; 1] {
    let at = krarup::Timestamp::ZERO + Duration::from_secs(seconds);
    [format!("Err(Timeout {{ to: <0.1.0>, limit: 2s }}) at {at:?}")]
}

#[test]
fn c1_a_call_combined_with_receive_times_out_in_time() {
    for flipped in [false, true] {
        for sim in simulations(5) {
            let log = Log::new();
            let caller = caller(&sim, &log, flipped);
            sim.advance(Duration::from_secs(8));
            assert_eq!(log.take(), timed_out_at(2));
            assert!(!caller.is_alive());
        }
    }
}

#[test]
fn c1_the_timeout_of_a_call_runs_from_when_it_was_made() {
    for flipped in [false, true] {
        for sim in simulations(5) {
            let log = Log::new();
            let caller = caller(&sim, &log, flipped);
            for _ in 0..6 {
                sim.advance(Duration::from_millis(300));
                caller.send(0).unwrap();
            }
            sim.advance(Duration::from_secs(8));
            assert_eq!(log.take(), timed_out_at(2));
        }
    }
}

/// The first message comes before the process is poked, and then it does not look at its call.
#[test]
fn c1_the_time_of_a_call_runs_while_its_process_waits_for_something_else() {
    for flipped in [false, true] {
        for sim in simulations(5) {
            let log = Log::new();
            let caller = caller(&sim, &log, flipped);
            // Until the process has made its call, and no further.
            while sim.process_info(caller.pid()).unwrap().state
                != krarup::observe::ProcessState::Idle
            {
                sim.step().unwrap();
            }
            caller.send(5).unwrap();
            sim.advance(Duration::from_secs(9));
            assert_eq!(log.take(), timed_out_at(5));
        }
    }
}

/// Two calls in one future: what waits beside the second, when the first has been answered.
#[test]
fn c1_of_two_calls_at_once_each_has_its_own_time() {
    for flipped in [false, true] {
        for sim in simulations(5) {
            let log = Log::new();
            let keeper = sim.spawn(Keeper::default).wait().unwrap();
            let quick = sim
                .spawn(|| {
                    behavior_fn(|mut ctx: Context<Reply<u32>>| async move {
                        while let Received::Message(token) = ctx.receive().await {
                            token.send(1);
                        }
                        Ok(())
                    })
                })
                .start()
                .unwrap();
            let noted = log.clone();
            let run = move |ctx: Context<()>| async move {
                let two = Duration::from_secs(2);
                let mut kept = keeper.call(|token| token).timeout(two).into_future();
                let mut answered = quick.call(|token| token).timeout(two).into_future();
                let Either::First(answer) = either(flipped, &mut answered, &mut kept).await else {
                    panic!("nobody has answered")
                };
                assert_eq!(answer, Ok(1));
                ctx.sleep(Duration::from_secs(5)).await;
                noted.note(format!("{:?} at {:?}", kept.await, ctx.now()));
                Ok(())
            };
            sim.spawn(|| behavior_fn(run)).start().unwrap();
            sim.advance(Duration::from_secs(9));
            assert_eq!(log.take(), timed_out_at(5));
        }
    }
}

/// A simulation has what a node has: the timer of a call is set late, and at the exact time.
#[test]
fn t1_a_call_alone_times_out_at_its_exact_time() {
    for sim in simulations(5) {
        let keeper = sim.spawn(Keeper::default).wait().unwrap();
        let log = Log::new();
        let noted = log.clone();
        let run = move |ctx: Context<()>| async move {
            let kept = keeper.call(|token| token).timeout(Duration::from_secs(2)).await;
            noted.note(format!("{kept:?} at {:?}", ctx.now()));
            Ok(())
        };
        sim.spawn(|| behavior_fn(run)).start().unwrap();
        sim.advance(Duration::from_secs(1));
        assert_eq!(sim.stats().timers, 1);
        sim.advance(Duration::from_secs(9));
        assert_eq!(log.take(), timed_out_at(2));
    }
}

/// The timer of a call is set when its process is poked: each time, whatever it was poked for
/// before.
#[test]
fn c1_each_of_several_calls_of_a_process_times_out_in_its_time() {
    for sim in simulations(5) {
        let keeper = sim.spawn(Keeper::default).wait().unwrap();
        let log = Log::new();
        let noted = log.clone();
        let run = move |mut ctx: Context<u64>| async move {
            while let Received::Message(calls) = ctx.receive().await {
                for _ in 0..calls {
                    let kept = keeper.call(|token| token).timeout(Duration::from_secs(2)).await;
                    noted.note(format!("{kept:?} at {:?}", ctx.now()));
                }
            }
            Ok(())
        };
        let caller = sim.spawn(|| behavior_fn(run)).start().unwrap();
        // For several at once it keeps memory, until it is poked.
        for _ in 0..8 {
            caller.send(0).unwrap();
        }
        sim.advance(Duration::from_secs(1));
        caller.send(2).unwrap();
        sim.advance(Duration::from_secs(9));
        assert_eq!(log.take(), [timed_out_at(3), timed_out_at(5)].concat());
    }
}

/// Sets three timers that are due at the same moment.
struct Sets {
    name: u32,
    log: Log,
}

impl Actor for Sets {
    type Message = u32;

    async fn init(&mut self, ctx: &mut Context<u32>) -> Result {
        for number in 0..3 {
            ctx.send_after(Duration::from_secs(1), number);
        }
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<u32>, number: u32) -> Result {
        self.log.note(format!("{} {number}", self.name));
        Ok(())
    }
}

#[test]
fn t1_thousands_of_timers_that_are_due_at_one_moment_fire_in_order_in_each_process() {
    const PROCESSES: u32 = 2000;
    for sim in simulations(2) {
        let log = Log::new();
        for name in 0..PROCESSES {
            let log = log.clone();
            sim.spawn(move || Sets { name, log: log.clone() }).start().unwrap();
        }
        sim.advance(Duration::from_secs(1));
        sim.run_until_idle();
        let mut lines = log.take();
        // A stable sort: the order in each process stays.
        lines.sort_by_key(|line| line.split(' ').next().and_then(|name| name.parse::<u32>().ok()));
        let each = |name: u32| (0..3).map(move |number| format!("{name} {number}"));
        assert_eq!(lines, (0..PROCESSES).flat_map(each).collect::<Vec<_>>());
    }
}
