//! `ctx.receive()` within other futures: rule M1.

use crate::support::{Log, poll_once, simulations};
use krarup::behavior::{BehaviorContext, Received, behavior_fn};
use krarup::prelude::*;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{self, Poll, Wake, Waker};
use std::time::Duration;

/// A collection of one future, which has a waker of its own and is polled only when that was
/// woken.
struct Own<F> {
    future: Pin<Box<F>>,
    woken: Arc<WakeForwarder>,
}

struct WakeForwarder {
    is: AtomicBool,
    around: std::sync::Mutex<Option<Waker>>,
}

impl Wake for WakeForwarder {
    fn wake(self: Arc<Self>) {
        self.is.store(true, Ordering::SeqCst);
        let around = self.around.lock().unwrap().take();
        around.into_iter().for_each(Waker::wake);
    }
}

fn own<F: Future>(future: F) -> Own<F> {
    let woken = WakeForwarder { is: AtomicBool::new(true), around: std::sync::Mutex::default() };
    Own { future: Box::pin(future), woken: Arc::new(woken) }
}

impl<F: Future> Future for Own<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<F::Output> {
        let Own { future, woken } = self.get_mut();
        *woken.around.lock().unwrap() = Some(cx.waker().clone());
        if !woken.is.swap(false, Ordering::SeqCst) {
            return Poll::Pending;
        }
        let waker = Waker::from(Arc::clone(woken));
        future.as_mut().poll(&mut task::Context::from_waker(&waker))
    }
}

#[test]
fn m1_a_message_wakes_a_receive_polled_with_another_waker() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let run = move |mut ctx: Context<u32, u32>| async move {
            for _ in 0..3 {
                match own(ctx.receive()).await {
                    Received::Message(number) => noted.note(format!("message {number}")),
                    Received::Command(number) => noted.note(format!("command {number}")),
                    _ => noted.note("something else"),
                }
            }
            if let Received::Command(number) = own(ctx.receive_control()).await {
                noted.note(format!("control {number}"));
            }
            ctx.sleep(Duration::from_secs(1)).await;
            // It waits in vain for a while, and is woken by what it does not want.
            let mut late = pin!(ctx.sleep(Duration::from_secs(1)));
            let mut receive = own(ctx.receive());
            std::future::poll_fn(|cx| {
                assert!(Pin::new(&mut receive).poll(cx).is_pending());
                late.as_mut().poll(cx)
            })
            .await;
            noted.note("nothing came");
            if let Received::Message(number) = receive.await {
                noted.note(format!("message {number}"));
            }
            Ok(())
        };
        let process = sim.spawn(|| behavior_fn(run)).start().unwrap();
        let turns = sim.run_until_idle();
        assert!(turns < 5, "it waits, and does not ask again and again: {turns} turns");
        process.send(1).unwrap();
        sim.run_until_idle();
        process.send_high(2).unwrap();
        process.send(3).unwrap();
        sim.run_until_idle();
        process.send_max(4).unwrap();
        sim.run_until_idle();
        let first = ["message 1", "command 2", "message 3", "control 4"];
        assert_eq!(log.take(), first);
        sim.advance(Duration::from_secs(3));
        assert_eq!(log.take(), ["nothing came"]);
        process.send(5).unwrap();
        sim.run_until_idle();
        assert_eq!(log.take(), ["message 5"]);
        assert!(!process.is_alive());
    }
}

#[test]
fn m1_a_process_killed_while_another_waker_waits_ends() {
    for sim in simulations(5) {
        let run = |mut ctx: Context<()>| async move {
            own(ctx.receive()).await;
            Ok(())
        };
        let process = sim.spawn(move || behavior_fn(run)).start().unwrap();
        sim.run_until_idle();
        sim.kill(process.pid());
        sim.run_until_idle();
        assert!(!process.is_alive());
    }
}

#[test]
fn m1_a_receive_that_is_dropped_before_it_is_ready_loses_nothing() {
    for sim in simulations(20) {
        let log = Log::new();
        let noted = log.clone();
        let run = move |mut ctx: Context<u32>| async move {
            let mut given_up = 0;
            for _ in 0..200 {
                let mut moment = ctx.sleep(Duration::from_millis(1));
                let mut receive = ctx.receive();
                let item = std::future::poll_fn(|cx| {
                    if Pin::new(&mut moment).poll(cx).is_ready() {
                        return Poll::Ready(None);
                    }
                    Pin::new(&mut receive).poll(cx).map(Some)
                })
                .await;
                match item {
                    Some(Received::Message(number)) => noted.note(number),
                    Some(_) => {}
                    None => given_up += 1,
                }
            }
            assert!(given_up > 50);
            Ok(())
        };
        let process = sim.spawn(|| behavior_fn(run)).start().unwrap();
        for number in 0..100 {
            process.send(number).unwrap();
            if number % 3 == 0 {
                sim.advance(Duration::from_millis(2));
            }
        }
        sim.advance(Duration::from_secs(1));
        let expected: Vec<String> = (0..100).map(|number: u32| number.to_string()).collect();
        assert_eq!(log.take(), expected);
        assert!(!process.is_alive());
    }
}

#[test]
fn m1_a_message_wakes_a_receive_polled_with_another_waker_before_the_start() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let run = move |mut ctx: Context<u32>| async move {
            while let Received::Message(number) = own(ctx.receive_early()).await {
                noted.note(number);
                if number == 2 {
                    ctx.initialised();
                }
            }
            Ok(())
        };
        let started = sim.spawn(|| behavior_fn(run)).begin();
        let (process, started) = started.unwrap();
        let mut started = Box::pin(started);
        for (number, has_started) in [(1, false), (2, true)] {
            sim.run_until_idle();
            process.send(number).unwrap();
            sim.run_until_idle();
            assert_eq!(poll_once(&mut started).is_ready(), has_started);
        }
        assert_eq!(log.take(), ["1", "2"]);
    }
}

#[test]
fn m5_receive_control_is_not_woken_by_messages_but_by_everything_else() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let run = move |mut ctx: Context<u32, u32>| async move {
            let mut moment = pin!(ctx.sleep(Duration::from_secs(1)));
            {
                let mut control = pin!(ctx.receive_control());
                std::future::poll_fn(|cx| {
                    assert!(control.as_mut().poll(cx).is_pending());
                    moment.as_mut().poll(cx)
                })
                .await;
            }
            noted.note("its time");
            if let Received::Command(number) = ctx.receive_control().await {
                noted.note(format!("command {number}"));
            }
            if let Received::Message(number) = ctx.receive().await {
                noted.note(format!("message {number}"));
            }
            Ok(())
        };
        let process = sim.spawn(|| behavior_fn(run)).start().unwrap();
        sim.run_until_idle();
        process.send(1).unwrap();
        assert_eq!(sim.run_until_idle(), 0, "a message brings no turn");
        sim.advance(Duration::from_secs(1));
        assert_eq!(log.take(), ["its time"]);
        process.send(2).unwrap();
        assert_eq!((sim.run_until_idle(), process.waiting()), (0, 2));
        process.send_high(3).unwrap();
        sim.run_until_idle();
        assert_eq!(log.take(), ["command 3", "message 1"]);
    }
}
