//! Real calls between real processes (rules C1, C3, C5). Each call has one outcome, whatever
//! happens at the same moment.

use super::checker::{Mutex, bounded, joined, thread};
use super::model_host::ModelHost;
use super::wake_flag::{WakeSignal, block_on};
use crate::addressing::address::Address;
use crate::behavior::behavior_fn;
use crate::calls::reply::Reply;
use crate::context::Context;
use crate::lifecycle::spawn::Spawn;
use crate::observe::watch::watch;
use crate::received::Received;
use krarup_gen::{CallError, Reason, Target};
use std::sync::Arc;
use std::time::Duration;

/// The messages of these processes.
enum Ask {
    /// Make the receiver call this process.
    Call(Address<Ask>),
    /// Make the receiver call this process with high priority.
    CallHigh(Address<Ask>),
    /// Make the receiver call these processes, each through the one before it.
    CallThrough(Vec<Address<Ask>>),
    /// Call these processes, each through the one before it, and answer then: 7 if the last has answered, 8 if a call has
    /// failed by a cycle.
    Through(Vec<Address<Ask>>, Reply<u32>),
    Hello(Reply<u32>),
}

/// The outcome of a call that a process made.
#[derive(Clone, Default)]
struct CallOutcome {
    result: Arc<Mutex<Option<Result<u32, CallError>>>>,
    came: Arc<WakeSignal>,
}

impl CallOutcome {
    fn tell(&self, result: Result<u32, CallError>) {
        *self.result.lock() = Some(result);
        self.came.notify();
    }

    fn take(&self) -> Option<Result<u32, CallError>> {
        self.result.lock().take()
    }
}

/// Answers calls, and makes the calls that it is asked to make, until it is told to finish.
async fn live(mut ctx: Context<Ask>, timeout: Option<Duration>, outcome: CallOutcome) {
    loop {
        match ctx.receive().await {
            Received::Message(Ask::Hello(reply)) | Received::Command(Ask::Hello(reply)) => {
                reply.send(7);
            }
            Received::Message(Ask::Call(other)) => {
                let call = other.call(Ask::Hello);
                let answer = match timeout {
                    None => call.no_timeout().await,
                    Some(limit) => call.timeout(limit).await,
                };
                outcome.tell(answer);
            }
            Received::Message(Ask::CallHigh(other)) => {
                outcome.tell(other.call_high(Ask::Hello).no_timeout().await);
            }
            Received::Message(Ask::CallThrough(path)) => outcome.tell(call_through(path).await),
            Received::Message(Ask::Through(path, reply)) => match call_through(path).await {
                Ok(answer) => reply.send(answer),
                Err(CallError::Deadlock(_)) => reply.send(8),
                Err(error) => reply.fail(error),
            },
            _ => return,
        }
    }
}

async fn call_through(mut path: Vec<Address<Ask>>) -> Result<u32, CallError> {
    let next = path.remove(0);
    if path.is_empty() {
        next.call(Ask::Hello).no_timeout().await
    } else {
        next.call(|reply| Ask::Through(path, reply)).no_timeout().await
    }
}

fn process(host: &Arc<ModelHost>, timeout: Option<Duration>) -> (Address<Ask>, CallOutcome) {
    let outcome = CallOutcome::default();
    let told = outcome.clone();
    let life = behavior_fn(move |ctx: Context<Ask>| async move {
        live(ctx, timeout, told).await;
        Ok(())
    });
    let address = Spawn::outside(host.host(), move || life).start().expect("a process");
    (address, outcome)
}

fn finish(host: &Arc<ModelHost>, process: &Address<Ask>) -> Reason {
    let end = watch(host.host(), Target::Pid(process.pid()));
    process.finish();
    block_on(end).reason
}

/// Processes in a ring, of which each calls the next at the same moment. Exactly one call fails, and the
/// others are answered; with `call_high`, where a request overtakes the message that has its receiver call, at most one.
fn a_ring(
    processes: usize,
    call: fn(Address<Ask>) -> Ask,
    least_failed: usize,
    preemptions: usize,
) {
    bounded(preemptions, move || {
        let host = ModelHost::until(processes as u64);
        let ring: Vec<_> = (0..processes).map(|_| process(&host, None)).collect();
        for ((one, _), (next, _)) in ring.iter().zip(ring.iter().cycle().skip(1)) {
            assert!(one.send(call(next.clone())).is_ok());
        }
        let workers = [host.worker(), host.worker()];
        for (_, outcome) in &ring {
            outcome.came.wait();
        }
        for (process, _) in &ring {
            finish(&host, process);
        }
        workers.into_iter().for_each(joined);
        let outcomes: Vec<_> =
            ring.iter().map(|(_, outcome)| outcome.take().expect("a call")).collect();
        let answered = outcomes.iter().filter(|outcome| **outcome == Ok(7)).count();
        let failed = outcomes
            .iter()
            .filter(|outcome| matches!(outcome, Err(CallError::Deadlock(_))))
            .count();
        assert_eq!(answered + failed, processes, "{outcomes:?}");
        assert!((least_failed..=1).contains(&failed), "{outcomes:?}");
        host.clear();
    });
}

#[test]
fn of_two_that_call_each_other_exactly_one_fails() {
    a_ring(2, Ask::Call, 1, 2);
}

/// The requests lie on a control lane, so who parks last has no message on Main.
#[test]
fn c5_of_two_that_call_each_other_with_priority_at_most_one_fails() {
    a_ring(2, Ask::CallHigh, 0, 2);
}

#[test]
fn of_three_that_call_each_other_in_a_ring_exactly_one_fails() {
    a_ring(3, Ask::Call, 1, 2);
}

/// A process calls another one, which calls the next before it answers, and the last calls the first. Its request lies in
/// the mailbox of the first. The others have none: they have taken the request that they handle.
fn a_ring_of_requests(processes: usize, preemptions: usize) {
    bounded(preemptions, move || {
        let host = ModelHost::until(processes as u64);
        let ring: Vec<_> = (0..processes).map(|_| process(&host, None)).collect();
        let mut path: Vec<_> = ring.iter().map(|(process, _)| process.clone()).collect();
        path.rotate_left(1);
        let (first, outcome) = &ring[0];
        assert!(first.send(Ask::CallThrough(path)).is_ok());
        let workers = [host.worker(), host.worker()];
        outcome.came.wait();
        ring.iter().for_each(|(process, _)| drop(finish(&host, process)));
        workers.into_iter().for_each(joined);
        let outcome = outcome.take().expect("a call");
        assert!(matches!(outcome, Ok(8) | Err(CallError::Deadlock(_))), "{outcome:?}");
        host.clear();
    });
}

#[test]
fn c5_a_callee_that_calls_back_is_found_whoever_parks_last() {
    a_ring_of_requests(2, 2);
}

#[test]
fn c5_a_callee_whose_callee_calls_back_is_found_whoever_parks_last() {
    a_ring_of_requests(3, 2);
}

/// A reply, a timeout and, if `kills` is set, a kill of the caller, in any order.
fn a_call(kills: bool) {
    bounded(3, move || {
        let host = ModelHost::until(2);
        // Timeouts under a second are set at once.
        let (caller, outcome) = process(&host, Some(Duration::from_millis(10)));
        let (callee, _) = process(&host, None);
        assert!(caller.send(Ask::Call(callee.clone())).is_ok());
        let worker = host.worker();
        let time = thread::spawn({
            let host = Arc::clone(&host);
            move || host.time_passes()
        });
        if kills {
            caller.process().kill();
        }
        joined(time);
        // No thread fires a timer that is set after that.
        host.time_passes();
        finish(&host, &caller);
        finish(&host, &callee);
        joined(worker);
        let outcome = outcome.take();
        let late = host.late_replies();
        match outcome {
            Some(Ok(7)) => assert_eq!(late, 0, "counted as late although it arrived"),
            Some(Err(CallError::Timeout { .. })) => {
                assert_eq!(late, 1, "the late reply was not counted");
            }
            None if kills => assert!(late <= 1),
            other => panic!("{other:?}"),
        }
        assert_eq!(host.timers(), 0, "timers");
        host.clear();
    });
}

#[test]
fn a_reply_or_a_timeout_and_not_both() {
    a_call(false);
}

#[test]
fn a_caller_that_is_killed_leaves_neither_reply_nor_timer() {
    a_call(true);
}

/// A callee is killed while it is called. The caller receives its reason, or that there is no
/// process, or its reply; it never waits for ever.
#[test]
fn a_call_to_a_killed_process_ends() {
    bounded(3, || {
        let host = ModelHost::until(2);
        let (caller, outcome) = process(&host, None);
        let (callee, _) = process(&host, None);
        assert!(caller.send(Ask::Call(callee.clone())).is_ok());
        let worker = host.worker();
        callee.process().kill();
        finish(&host, &caller);
        joined(worker);
        let outcome = outcome.take();
        assert!(
            matches!(
                outcome,
                Some(
                    Ok(7)
                        | Err(CallError::NoProcess { .. }
                            | CallError::Terminated { reason: Reason::Killed, .. }
                            | CallError::NotBegun { reason: Reason::Killed, .. })
                )
            ),
            "{outcome:?}"
        );
        host.clear();
    });
}
