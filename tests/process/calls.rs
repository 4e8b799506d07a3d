//! Calls: rules C1 to C3 and C5 to C8.

use crate::support::{Log, boom, on_wake, poll_once, poll_with, simulations};
use krarup::CannotWait;
use krarup::behavior::{Received, behavior_fn};
use krarup::prelude::*;
use krarup_act::DroppedCalls;
use std::pin::Pin;
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

/// A server that answers in every way there is.
enum Ask {
    /// Answers at once.
    Double(u64, Reply<u64>),
    /// Answers after a time.
    Later(Duration, Reply<u64>),
    /// Keeps the token.
    Keep(Reply<u64>),
    /// Answers the oldest kept token.
    Release,
    /// Drops the token and lives on.
    Drop(Reply<u64>),
    /// Ends with the token in hand.
    End(Reason, Reply<u64>),
    /// Panics with the token in hand.
    Panic(Reply<u64>),
    /// Hands the token to another server.
    PassOn(Address<Ask>, Reply<u64>),
    /// Answers and ends.
    AnswerAndEnd(Reply<u64>),
    /// Calls another server, or itself, and answers with what came of it.
    Through(Address<Ask>, Reply<Result<u64, CallError>>),
}

#[derive(Default)]
struct Server {
    kept: Vec<Reply<u64>>,
}

impl Actor for Server {
    type Message = Ask;

    async fn handle_message(&mut self, ctx: &mut Context<Ask>, ask: Ask) -> Result {
        match ask {
            Ask::Double(n, reply) => reply.send(2 * n),
            Ask::Later(time, reply) => {
                ctx.sleep(time).await;
                reply.send(0);
            }
            Ask::Keep(reply) => self.kept.push(reply),
            Ask::Release if self.kept.is_empty() => {}
            Ask::Release => self.kept.remove(0).send(1),
            Ask::Drop(reply) => drop(reply),
            Ask::End(reason, _reply) => return Err(reason),
            Ask::Panic(_reply) => panic!("planned"),
            Ask::PassOn(to, reply) => to.send(Ask::Keep(reply)).map_err(|_| boom())?,
            Ask::AnswerAndEnd(reply) => {
                reply.send(3);
                return Err(boom());
            }
            Ask::Through(to, reply) => reply.send(to.call(|reply| Ask::Double(4, reply)).await),
        }
        Ok(())
    }
}

fn server(node: &Node) -> Address<Ask> {
    node.spawn(Server::default).wait().unwrap()
}

#[test]
fn c1_every_caller_gets_its_own_reply() {
    for sim in simulations(50) {
        let log = Log::new();
        let server = server(&sim);
        for n in 0..20 {
            let (server, log) = (server.clone(), log.clone());
            let caller = behavior_fn(move |_: Context<()>| async move {
                for round in 0..5 {
                    let number = n * 100 + round;
                    let answer = server.call(|reply| Ask::Double(number, reply)).await;
                    log.note(answer == Ok(2 * number));
                }
                Ok(())
            });
            sim.spawn(move || caller).start().unwrap();
        }
        sim.run_until_idle();
        assert_eq!((log.count("true"), log.count("false")), (100, 0));
        assert_eq!(sim.stats().timers, 0, "every timeout is disarmed");
    }
}

#[test]
fn c1_each_failure_is_its_own_error() {
    let sim = Simulation::new(1);
    let limit = Duration::from_secs(2);
    let server = server(&sim);
    assert_eq!(
        server.call(Ask::Keep).timeout(limit).wait(),
        Err(CallError::Timeout { to: server.pid(), limit })
    );
    assert_eq!(sim.now().as_nanos(), 2_000_000_000, "never early, and no later");
    assert_eq!(server.call(Ask::Drop).wait(), Err(CallError::NoReply { to: server.pid() }));
    let ended = server.call(|reply| Ask::End(boom(), reply)).wait();
    assert_eq!(ended, Err(CallError::Terminated { to: server.pid(), reason: boom() }));
    assert_eq!(server.call(Ask::Keep).wait(), Err(CallError::NoProcess { to: server.pid() }));

    let full = sim.spawn(Server::default).mailbox(1).wait().unwrap();
    full.send(Ask::Release).unwrap();
    assert_eq!(full.call(Ask::Keep).wait(), Err(CallError::Full { to: full.pid() }));
}

#[test]
fn c1_a_reply_that_was_sent_counts_though_the_callee_then_ended() {
    for sim in simulations(20) {
        assert_eq!(server(&sim).call(Ask::AnswerAndEnd).wait(), Ok(3));
    }
}

#[test]
fn c1_a_timeout_of_zero_fails_at_once_and_leaves_nothing() {
    let sim = Simulation::new(1);
    let server = server(&sim);
    let answer = server.call(|reply| Ask::Double(1, reply)).timeout(Duration::ZERO).wait();
    assert_eq!(answer, Err(CallError::Timeout { to: server.pid(), limit: Duration::ZERO }));
    sim.run_until_idle();
    assert_eq!((sim.stats().timers, sim.stats().late_replies), (0, 1));
    assert_eq!(server.call(|reply| Ask::Double(1, reply)).timeout(Duration::MAX).wait(), Ok(2));
    assert_eq!(server.call(|reply| Ask::Double(2, reply)).no_timeout().wait(), Ok(4));
    assert_eq!(sim.stats().timers, 0);
}

#[test]
fn c2_a_callee_that_dies_fails_its_calls_with_its_reason_wherever_the_request_is() {
    type Way = (&'static str, fn(&Simulation, &Address<Ask>), Reason);
    let ways: [Way; 4] = [
        ("ends", |_, s| s.stop().reason(boom()).wait().unwrap(), boom()),
        ("ends normally", |_, s| s.stop().wait().unwrap(), Reason::Normal),
        ("is killed", |sim, s| sim.kill(s.pid()), Reason::Killed),
        ("gets a signal", |sim, s| sim.exit(s.pid(), Reason::Shutdown), Reason::Shutdown),
    ];
    for (way, how, reason) in ways {
        for sim in simulations(20) {
            let server = server(&sim);
            let now = sim.now();
            // Kept in the state.
            let mut kept = [Ask::Keep as fn(_) -> _, Ask::Keep].map(|ask| call(&server, ask));
            kept.iter_mut().for_each(|call| assert!(poll_once(call).is_pending()));
            sim.run_until_idle();
            how(&sim, &server);
            // Queued behind the end.
            let mut queued = [Ask::Keep as fn(_) -> _, Ask::Drop].map(|ask| call(&server, ask));
            queued.iter_mut().for_each(|call| {
                let early = poll_once(call);
                let dead = Poll::Ready(Err(CallError::NoProcess { to: server.pid() }));
                assert!(early.is_pending() || early == dead, "{way}");
            });
            sim.run_until_idle();
            for call in &mut kept {
                let failed = Poll::Ready(Err(CallError::Terminated {
                    to: server.pid(),
                    reason: reason.clone(),
                }));
                assert_eq!(poll_once(call), failed, "{way}");
            }
            assert_eq!(sim.now(), now, "no call waits for its timeout");
        }
    }
}

type Asking<'a> = Pin<Box<dyn Future<Output = Result<u64, CallError>> + Send + 'a>>;

fn call(server: &Address<Ask>, ask: fn(Reply<u64>) -> Ask) -> Asking<'_> {
    Box::pin(server.call(ask).into_future())
}

#[test]
fn c2_a_request_in_progress_or_queued_fails_with_the_reason() {
    // Queued in the mailbox, or taken from there as a batch and not handled yet.
    for (sim, batch) in simulations(50).zip([false, false, true, true].into_iter().cycle()) {
        let server = server(&sim);
        let later = |reply| Ask::Later(Duration::from_secs(60), reply);
        let mut in_progress = server.call(later).no_timeout().into_future();
        assert!(poll_once(&mut in_progress).is_pending());
        if !batch {
            sim.run_until_idle();
        }
        let mut queued: Vec<_> = (0..5).map(|_| server.call(Ask::Keep).into_future()).collect();
        queued.iter_mut().for_each(|call| assert!(poll_once(call).is_pending()));
        sim.run_until_idle();
        sim.exit(server.pid(), boom());
        sim.run_until_idle();
        let terminated =
            Poll::Ready(Err(CallError::Terminated { to: server.pid(), reason: boom() }));
        assert_eq!(poll_once(&mut in_progress), terminated);
        let failed = Poll::Ready(Err(CallError::NotBegun { to: server.pid(), reason: boom() }));
        queued.iter_mut().for_each(|call| assert_eq!(poll_once(call), failed));
        assert_eq!((sim.stats().timers, sim.stats().dead_letters), (0, 5));
    }
}

#[test]
fn c2_a_panic_fails_the_current_call_and_the_waiting_ones_with_the_panic() {
    for sim in simulations(20) {
        let server = server(&sim);
        let mut calls: Vec<_> = (0..3).map(|_| server.call(Ask::Panic).into_future()).collect();
        calls.iter_mut().for_each(|call| assert!(poll_once(call).is_pending()));
        sim.run_until_idle();
        for (place, call) in calls.iter_mut().enumerate() {
            let Poll::Ready(Err(error)) = poll_once(call) else { panic!("another outcome") };
            assert_eq!(error.was_begun(), place == 0);
            let Some(Reason::Panic(panic)) = error.end() else { panic!("{error}") };
            assert_eq!(panic.message(), "planned");
        }
    }
}

#[test]
fn c2_a_process_that_waits_for_an_ended_callee_continues_at_once() {
    for sim in simulations(50) {
        let log = Log::new();
        let (server, noted) = (server(&sim), log.clone());
        let to = server.clone();
        let caller = behavior_fn(move |ctx: Context<()>| async move {
            let answer = to.call(Ask::Keep).no_timeout().await;
            noted.note(format!("{answer:?} at {}", ctx.now()));
            Ok(())
        });
        sim.spawn(move || caller).start().unwrap();
        sim.advance(Duration::from_secs(1));
        sim.kill(server.pid());
        sim.run_until_idle();
        let killed = CallError::Terminated { to: server.pid(), reason: Reason::Killed };
        assert_eq!(log.take(), [format!("Err({killed:?}) at 1s")]);
    }
}

#[test]
fn c3_a_late_reply_is_dropped_and_counted() {
    for sim in simulations(20) {
        let server = server(&sim);
        let late = server.call(Ask::Keep).timeout(Duration::from_secs(1)).wait();
        assert_eq!(
            late,
            Err(CallError::Timeout { to: server.pid(), limit: Duration::from_secs(1) })
        );
        server.send(Ask::Release).unwrap();
        sim.run_until_idle();
        assert_eq!(sim.stats().late_replies, 1);
        // A call that is dropped was given up too.
        let mut dropped = Box::pin(server.call(Ask::Keep).into_future());
        assert!(poll_once(&mut dropped).is_pending());
        drop(dropped);
        assert_eq!(sim.stats().timers, 0);
        server.send(Ask::Release).unwrap();
        sim.run_until_idle();
        assert_eq!(sim.stats().late_replies, 2);
        assert_eq!(server.call(|reply| Ask::Double(5, reply)).wait(), Ok(10));
    }
}

/// The panic is that of who answers, and no reason not to count.
#[test]
fn c3_a_late_reply_whose_destructor_panics_is_counted() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("planned");
        }
    }
    let sim = Simulation::new(1);
    let server = sim.spawn(|| {
        behavior_fn(|mut ctx: Context<Reply<Bomb>>| async move {
            if let Received::Message(reply) = ctx.receive().await {
                ctx.sleep(Duration::from_secs(2)).await;
                reply.send(Bomb);
            }
            Ok(())
        })
    });
    let server = server.wait().unwrap();
    let limit = Duration::from_secs(1);
    let answer = server.call(|reply| reply).timeout(limit).wait();
    assert!(matches!(answer, Err(CallError::Timeout { .. })));
    sim.advance(Duration::from_secs(2));
    assert!(!server.is_alive());
    assert_eq!(sim.stats().late_replies, 1);
}

#[test]
fn c3_a_token_that_is_dropped_late_is_no_late_reply() {
    let sim = Simulation::new(1);
    let server = server(&sim);
    let limit = Duration::from_secs(1);
    assert_eq!(
        server.call(Ask::Keep).timeout(limit).wait(),
        Err(CallError::Timeout { to: server.pid(), limit })
    );
    server.stop().wait().unwrap();
    assert_eq!(sim.stats().late_replies, 0);
}

#[test]
fn c5_a_process_that_calls_itself_fails_at_once() {
    for sim in simulations(5) {
        let server = server(&sim);
        let itself = server.clone();
        let answer = server.call(|reply| Ask::Through(itself, reply)).wait().unwrap();
        assert_eq!(answer, Err(CallError::CallsItself(server.pid())));
        assert_eq!(server.call(|reply| Ask::Double(1, reply)).wait(), Ok(2));
        assert_eq!(sim.stats().late_replies, 0);
    }
}

#[test]
fn c6_any_process_may_answer_a_token() {
    for sim in simulations(50) {
        let (first, second) = (server(&sim), server(&sim));
        let to = second.clone();
        let mut call = first.call(|reply| Ask::PassOn(to, reply)).into_future();
        assert!(poll_once(&mut call).is_pending());
        sim.run_until_idle();
        // Whose token it was may be gone.
        sim.kill(first.pid());
        sim.run_until_idle();
        assert!(poll_once(&mut call).is_pending());
        second.send(Ask::Release).unwrap();
        sim.run_until_idle();
        assert_eq!(poll_once(&mut call), Poll::Ready(Ok(1)));
    }
}

#[test]
fn c6_a_token_that_was_passed_on_fails_with_the_end_of_its_holder() {
    for sim in simulations(50) {
        let (first, second) = (server(&sim), server(&sim));
        let to = second.clone();
        let mut call = first.call(|reply| Ask::PassOn(to, reply)).into_future();
        assert!(poll_once(&mut call).is_pending());
        sim.run_until_idle();
        sim.exit(second.pid(), boom());
        sim.run_until_idle();
        assert_eq!(
            poll_once(&mut call),
            Poll::Ready(Err(CallError::Terminated { to: second.pid(), reason: boom() }))
        );
        assert!(first.is_alive());
    }
}

#[test]
fn c6_a_plain_thread_may_answer_a_token_or_drop_it() {
    let node = Node::builder("c6").workers(1).start().unwrap();
    let (tokens, kept) = mpsc::channel();
    let hands_out = behavior_fn(move |mut ctx: Context<Reply<u64>>| async move {
        while let Received::Message(reply) = ctx.receive().await {
            tokens.send(reply).unwrap();
        }
        Ok(())
    });
    let hands_out = node.spawn(move || hands_out).start().unwrap();
    let pid = hands_out.pid();
    let answers = thread::spawn(move || {
        kept.recv().unwrap().send(1);
        drop(kept.recv().unwrap());
        kept.recv().unwrap().fail(CallError::Full { to: pid });
    });
    assert_eq!(hands_out.call(|reply| reply).wait(), Ok(1));
    assert_eq!(
        hands_out.call(|reply| reply).wait(),
        Err(CallError::NoReply { to: hands_out.pid() })
    );
    assert_eq!(hands_out.call(|reply| reply).wait(), Err(CallError::Full { to: hands_out.pid() }));
    answers.join().unwrap();
    node.stop().wait().unwrap();
}

#[test]
fn c7_more_nested_calls_than_workers_complete() {
    struct Link(Option<Address<Reply<u32>>>);
    impl Actor for Link {
        type Message = Reply<u32>;
        async fn handle_message(&mut self, _: &mut Context<Reply<u32>>, up: Reply<u32>) -> Result {
            let below = match &self.0 {
                Some(next) => next.call(|reply| reply).await?,
                None => 0,
            };
            up.send(below + 1);
            Ok(())
        }
    }
    let node = Node::builder("c7").workers(2).start().unwrap();
    let mut next = None;
    for _ in 0..102 {
        next = Some(node.spawn(move || Link(next)).wait().unwrap());
    }
    let first = next.unwrap();
    for _ in 0..10 {
        assert_eq!(first.call(|reply| reply).wait(), Ok(102));
    }
    node.stop().wait().unwrap();
}

#[test]
fn c8_calls_work_from_processes_threads_and_a_foreign_executor() {
    let node = Node::builder("c8").workers(2).start().unwrap();
    let server = server(&node);
    let doubled = |n: u64| move |reply: Reply<u64>| Ask::Double(n, reply);
    assert_eq!(server.call(doubled(1)).wait(), Ok(2));
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let server = server.clone();
            thread::spawn(move || server.call(doubled(n)).wait())
        })
        .collect();
    for (n, thread) in (0..).zip(threads) {
        assert_eq!(thread.join().unwrap(), Ok(2 * n));
    }
    let to = server.clone();
    let answer = server.call(|reply| Ask::Through(to, reply)).wait();
    assert_eq!(answer, Ok(Err(CallError::CallsItself(server.pid()))));
    // A foreign executor: it polls when it is woken, on whatever thread it likes.
    let (wake, woken) = mpsc::channel();
    let waker = on_wake(move || {
        let _ = wake.send(());
    });
    let limit = Duration::from_millis(1);
    let mut answered = Box::pin(server.call(doubled(21)).into_future());
    let mut never = Box::pin(server.call(Ask::Keep).timeout(limit).into_future());
    let (mut first, mut second) = (None, None);
    while first.is_none() || second.is_none() {
        if first.is_none()
            && let Poll::Ready(answer) = poll_with(&mut answered, &waker)
        {
            first = Some(answer);
        }
        if second.is_none()
            && let Poll::Ready(answer) = poll_with(&mut never, &waker)
        {
            second = Some(answer);
        }
        if first.is_none() || second.is_none() {
            woken.recv().unwrap();
        }
    }
    assert_eq!(
        (first, second),
        (Some(Ok(42)), Some(Err(CallError::Timeout { to: server.pid(), limit })))
    );
    node.stop().wait().unwrap();
}

#[test]
fn c8_a_wait_inside_a_process_is_an_error_and_does_nothing() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let (server, noted) = (server(&sim), log.clone());
    let node = sim.node().clone();
    let waits = behavior_fn(move |ctx: Context<()>| async move {
        noted.note(format!("{:?}", server.call(Ask::Drop).wait()));
        noted.note(format!("{:?}", ctx.spawn(Server::default).wait().map(|a| a.pid())));
        noted.note(format!("{:?}", node.spawn(Server::default).wait().map(|a| a.pid())));
        noted.note(format!("{:?}", server.stop().wait()));
        noted.note(format!("{:?}", node.stop().wait()));
        noted.note(format!("{:?}", node.watch(server.pid()).wait().is_err()));
        noted.note(format!("{:?}", server.inspect().wait()));
        Ok(())
    });
    sim.spawn(move || waits).start().unwrap();
    sim.run_until_idle();
    let refused = "Err(CannotWait(InProcess))";
    let stop = format!("{:?}", Err::<(), _>(Reason::from(CannotWait::InProcess)));
    assert_eq!(log.take(), [refused, refused, refused, refused, &stop, "true", refused]);
    assert!(!sim.is_stopping());
    assert_eq!(sim.stats().processes, 1);
}

#[test]
fn c2_the_current_call_fails_with_the_reason_even_if_terminate_is_slow() {
    /// Fails with the request in hand, and then cleans up for a while.
    struct Tidy;
    impl Actor for Tidy {
        type Message = Reply<u32>;
        async fn handle_message(&mut self, _: &mut Context<Reply<u32>>, _: Reply<u32>) -> Result {
            Err(boom())
        }
        async fn terminate(&mut self, ctx: &mut Context<Reply<u32>>, _: &Reason) {
            ctx.sleep(Duration::from_secs(1)).await;
        }
    }
    for sim in simulations(5) {
        let tidy = sim.spawn(|| Tidy).name("tidy").wait().unwrap();
        assert_eq!(
            tidy.call(|reply| reply).wait(),
            Err(CallError::Terminated { to: tidy.pid(), reason: boom() })
        );
        assert_eq!(sim.whereis("tidy"), None);
        assert_eq!(sim.now().as_nanos(), 1_000_000_000);
    }
}

/// What a behaviour does with the calls whose tokens it has dropped.
#[derive(Clone, Copy)]
enum Taken {
    Fails,
    GivesBack,
    GivesAway,
}

#[test]
fn c2_calls_that_were_dropped_or_taken_get_their_outcome() {
    for sim in simulations(3) {
        let (away, given) = mpsc::channel();
        let takes = behavior_fn(move |mut ctx: Context<(Taken, Reply<u64>)>| async move {
            loop {
                let Received::Message((taken, reply)) = ctx.receive().await else { return Ok(()) };
                drop(reply);
                let calls = DroppedCalls::take();
                // There are none any more.
                DroppedCalls::take().fail(&Reason::Killed);
                match taken {
                    Taken::Fails => calls.fail(&boom()),
                    Taken::GivesBack => drop(calls),
                    Taken::GivesAway => away.send(calls).unwrap(),
                }
            }
        });
        let takes = sim.spawn(move || takes).start().unwrap();
        let call = |taken| takes.call(move |reply| (taken, reply));
        assert_eq!(
            call(Taken::Fails).wait(),
            Err(CallError::Terminated { to: takes.pid(), reason: boom() })
        );
        assert_eq!(call(Taken::GivesBack).wait(), Err(CallError::NoReply { to: takes.pid() }));
        let mut called = call(Taken::GivesAway).no_timeout().into_future();
        assert!(poll_once(&mut called).is_pending());
        sim.run_until_idle();
        assert!(poll_once(&mut called).is_pending());
        // Outside of any turn there is none they could go back to.
        drop(given.recv().unwrap());
        assert_eq!(
            poll_once(&mut called),
            Poll::Ready(Err(CallError::NoReply { to: takes.pid() }))
        );
        DroppedCalls::take().fail(&boom());
    }
}

/// The token lies where no process holds it, so nothing but the stop itself ends the wait.
#[test]
fn c1_a_call_whose_token_outlives_the_node_ends_with_the_node() {
    let sim = Simulation::new(1);
    let (out, token) = mpsc::channel();
    let gives = behavior_fn(move |mut ctx: Context<Reply<u64>>| async move {
        while let Received::Message(reply) = ctx.receive().await {
            out.send(reply).unwrap();
        }
        Ok(())
    });
    let gives = sim.spawn(move || gives).start().unwrap();
    let mut call = gives.call(|reply| reply).timeout(Duration::from_secs(60)).into_future();
    assert!(poll_once(&mut call).is_pending());
    sim.run_until_idle();
    let _token = token.recv().unwrap();
    sim.stop().wait().unwrap();
    assert_eq!(poll_once(&mut call), Poll::Ready(Err(CallError::NodeStopped { to: gives.pid() })));
}
