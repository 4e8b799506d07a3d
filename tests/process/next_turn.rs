//! A process that ends its turn before its budget is used up (rule R1).

use krarup::behavior::{behavior_fn, next_turn, yield_now};
use krarup::observe::TurnRecordingLimits;
use krarup::prelude::*;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;
use std::time::Duration;

/// How many turns a process has that pauses five times.
fn turns(ends_them: bool) -> usize {
    let sim = Simulation::new(1);
    let limits = TurnRecordingLimits::lasting(Duration::from_secs(1));
    let recording = sim.node().record_turns(limits).unwrap();
    let worker = behavior_fn(move |_: Context<()>| async move {
        for _ in 0..5 {
            if ends_them { next_turn().await } else { yield_now().await }
        }
        Ok(())
    });
    let worker = sim.spawn(move || worker).start().unwrap();
    sim.run_until_idle();
    assert!(!worker.is_alive());
    let turns = recording.finish().turns;
    turns.iter().filter(|turn| turn.pid == worker.pid()).count()
}

#[test]
fn r1_a_process_may_end_its_turn_before_its_budget_is_used_up() {
    assert_eq!(turns(true), 6);
    assert_eq!(turns(false), 1);
}

#[test]
fn r1_a_process_that_ends_its_turn_and_waits_for_a_message_too_goes_on() {
    let sim = Simulation::new(1);
    let passed = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&passed);
    let both = behavior_fn(move |mut ctx: Context<u32>| async move {
        {
            let (mut turns, mut message) = (
                pin!(async {
                    next_turn().await;
                    next_turn().await;
                }),
                pin!(ctx.receive()),
            );
            // The receive is polled last, so it is what the process waits for.
            std::future::poll_fn(|cx| {
                let over = turns.as_mut().poll(cx).is_ready();
                assert!(message.as_mut().poll(cx).is_pending());
                if over { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        }
        count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    let both = sim.spawn(move || both).start().unwrap();
    sim.run_until_idle();
    assert_eq!((passed.load(Ordering::Relaxed), both.is_alive()), (1, false));
}
