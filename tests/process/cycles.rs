//! Who waits for whom, and work in flight: rules C5 and C6.

use crate::support::{Guard, Log, boom, simulations};
use krarup::behavior::{Received, behavior_fn};
use krarup::mailbox::{Diverted, Overflow};
use krarup::pool::PoolCommand;
use krarup::prelude::*;
use krarup::{CallCycle, Priority, Recipient};
use std::sync::{Arc, Barrier};
use std::time::Duration;

type Node1 = Address<Step>;

/// A walk through other processes: each calls the next, and tells what came of it.
struct Step {
    route: Vec<Node1>,
    /// How each waits for the next.
    how: How,
    reply: Reply<Walked>,
}

#[derive(Clone, Copy, PartialEq)]
enum How {
    /// It waits for the call alone.
    Plainly,
    /// It waits for the call or for a second.
    OrASecond,
    /// It answers before it calls.
    AfterAnswering,
    /// Through a recipient.
    ByRecipient,
}

type Walked = Result<Vec<Pid>, CallError>;

/// Gives the token of its first request to another, and then calls its caller.
struct Walker;

impl From<(Vec<Node1>, How, Reply<Walked>)> for Step {
    fn from((route, how, reply): (Vec<Node1>, How, Reply<Walked>)) -> Self {
        Step { route, how, reply }
    }
}

impl Actor for Walker {
    type Message = Step;

    async fn handle_message(&mut self, ctx: &mut Context<Step>, step: Step) -> Result {
        let Step { mut route, how, reply } = step;
        if route.is_empty() {
            reply.send(Ok(vec![ctx.pid()]));
            return Ok(());
        }
        let next = route.remove(0);
        let myself = ctx.pid();
        let with_me = |mut walked: Vec<Pid>| {
            walked.insert(0, myself);
            walked
        };
        if how == How::ByRecipient {
            let to = next.recipient::<(Vec<Node1>, How, Reply<Walked>)>();
            let walked = to.call(move |reply| (route, how, reply)).await;
            reply.send(walked.unwrap_or_else(Err).map(with_me));
            return Ok(());
        }
        let request = move |reply| Step { route, how, reply };
        match how {
            How::Plainly => reply.send(next.call(request).await.unwrap_or_else(Err).map(with_me)),
            How::OrASecond => {
                let mut call = next.call(request).into_future();
                let mut second = ctx.sleep(Duration::from_secs(1));
                let walked = std::future::poll_fn(|cx| {
                    use std::pin::Pin;
                    match Pin::new(&mut call).poll(cx) {
                        std::task::Poll::Ready(walked) => {
                            std::task::Poll::Ready(walked.unwrap_or_else(Err))
                        }
                        std::task::Poll::Pending => {
                            Pin::new(&mut second).poll(cx).map(|()| Ok(vec![]))
                        }
                    }
                })
                .await;
                reply.send(walked.map(with_me));
            }
            How::AfterAnswering => {
                reply.send(Ok(vec![myself]));
                let _ = next.call(request).await;
            }
            How::ByRecipient => {}
        }
        Ok(())
    }
}

fn walkers(node: &Node, count: usize) -> Vec<Node1> {
    (0..count).map(|_| node.spawn(|| Walker).wait().unwrap()).collect()
}

fn pids(walkers: &[Node1]) -> Vec<Pid> {
    walkers.iter().map(Address::pid).collect()
}

fn walk(start: &Node1, route: &[&Node1], how: How) -> Walked {
    let route = route.iter().map(|walker| (*walker).clone()).collect();
    start.call(|reply| Step { route, how, reply }).wait().unwrap_or_else(Err)
}

/// The cycle in an error, as it must be named: from who closed it, once round.
fn cycle_of(walked: Walked) -> Vec<Pid> {
    match walked {
        Err(CallError::Deadlock(cycle)) => cycle.pids().to_vec(),
        other => panic!("{other:?} is no deadlock"),
    }
}

#[test]
fn c5_a_call_that_closes_a_cycle_fails_at_once_and_names_it() {
    for sim in simulations(20) {
        for how in [How::Plainly, How::ByRecipient] {
            let walkers = walkers(&sim, 3);
            let [a, b, c] = &walkers[..] else { unreachable!() };
            let before = sim.now();
            assert_eq!(cycle_of(walk(a, &[b, a], how)), pids(&[b.clone(), a.clone()]));
            assert_eq!(
                cycle_of(walk(a, &[b, c, a], how)),
                pids(&[c.clone(), a.clone(), b.clone()])
            );
            // A cycle that does not lead through its first.
            assert_eq!(cycle_of(walk(a, &[b, c, b], how)), pids(&[c.clone(), b.clone()]));
            assert_eq!(sim.now(), before, "found at once, not by a timeout");
            // Nobody came to harm, and what is no cycle is none.
            assert_eq!(walk(a, &[b, c], how), Ok(pids(&walkers)));
        }
    }
}

#[test]
fn c5_a_cycle_prints_its_waiting_processes() {
    let sim = Simulation::new(1);
    let walkers = walkers(&sim, 2);
    let cycle = CallCycle::new(pids(&walkers));
    let (a, b) = (walkers[0].pid(), walkers[1].pid());
    assert_eq!(cycle.to_string(), format!("{a} waits for {b} waits for {a}"));
    let error = CallError::Deadlock(cycle).to_string();
    assert_eq!(error, format!("deadlock: {a} waits for {b} waits for {a}"));
}

#[test]
fn c5_a_process_that_may_continue_without_the_answer_is_in_no_cycle() {
    for sim in simulations(5) {
        let walkers = walkers(&sim, 2);
        let [a, b] = &walkers[..] else { unreachable!() };
        // After a second they give up.
        assert!(walk(a, &[b, a], How::OrASecond).is_ok());
        // Who has answered is not waited for, though its caller has not gone on yet.
        assert_eq!(walk(a, &[b, a], How::AfterAnswering), Ok(pids(&walkers[..1])));
        sim.advance(Duration::from_secs(9));
        let infos = walkers.iter().map(|walker| walker.info().state);
        assert!(infos.eq([krarup::observe::ProcessState::Idle; 2]));
    }
}

/// A router that hands its requests on and then has something to ask its caller.
struct Router {
    worker: Address<Reply<u32>>,
    says_so: bool,
    log: Log,
}

enum Routed {
    Job(Address<Caller>, Reply<u32>),
}

enum Caller {
    Start(Address<Routed>),
    Name(Reply<&'static str>),
}

impl Actor for Router {
    type Message = Routed;

    async fn handle_message(&mut self, _: &mut Context<Routed>, job: Routed) -> Result {
        let Routed::Job(caller, reply) = job;
        let reply = if self.says_so { reply.pass_on() } else { reply };
        self.worker.send(reply).map_err(SendError::without_message)?;
        let name = caller.call(Caller::Name).await;
        self.log
            .note(format!("{:?}", name.map_err(|error| matches!(error, CallError::Deadlock(_)))));
        Ok(())
    }
}

struct Client(Log);

impl Actor for Client {
    type Message = Caller;

    async fn handle_message(&mut self, ctx: &mut Context<Caller>, message: Caller) -> Result {
        match message {
            Caller::Start(router) => {
                let myself = ctx.address();
                let answer = router.call(|reply| Routed::Job(myself, reply)).await;
                self.0.note(format!("{answer:?}"));
            }
            Caller::Name(reply) => reply.send("client"),
        }
        Ok(())
    }
}

#[test]
fn c5_a_process_that_declares_a_passed_on_token_may_call_its_caller() {
    for (says_so, expected) in
        [(true, ["Ok(7)", "Ok(\"client\")"]), (false, ["Err(true)", "Ok(7)"])]
    {
        for sim in simulations(10) {
            let log = Log::new();
            let worker = behavior_fn(|mut ctx: Context<Reply<u32>>| async move {
                while let Received::Message(reply) = ctx.receive().await {
                    ctx.sleep(Duration::from_millis(1)).await;
                    reply.send(7);
                }
                Ok(())
            });
            let worker = sim.spawn(move || worker).start().unwrap();
            let (one, two) = (log.clone(), log.clone());
            let router = sim.spawn(move || Router { worker, says_so, log: one }).wait().unwrap();
            let client = sim.spawn(move || Client(two)).wait().unwrap();
            client.send(Caller::Start(router)).ok().unwrap();
            sim.advance(Duration::from_secs(1));
            assert_eq!(log.take(), expected);
        }
    }
}

#[test]
fn c5_a_cycle_through_a_pool_is_found_at_its_worker() {
    struct Worker(Log);
    impl Actor for Worker {
        type Message = (Address<Asker>, Reply<u32>);
        async fn handle_message(
            &mut self,
            ctx: &mut Context<Self::Message>,
            (asker, reply): Self::Message,
        ) -> Result {
            let answer = asker.call(Asker::Number).await;
            let expected = vec![ctx.pid(), asker.pid()];
            assert_eq!(answer, Err(CallError::Deadlock(CallCycle::new(expected))));
            self.0.note("found");
            reply.send(1);
            Ok(())
        }
    }
    enum Asker {
        Ask(Address<(Address<Asker>, Reply<u32>), PoolCommand>),
        Number(Reply<u32>),
    }
    struct Convert(Address<Asker>, Reply<u32>);
    impl From<Convert> for (Address<Asker>, Reply<u32>) {
        fn from(Convert(asker, reply): Convert) -> Self {
            (asker, reply)
        }
    }
    struct Asking(Log);
    impl Actor for Asking {
        type Message = Asker;
        async fn handle_message(&mut self, ctx: &mut Context<Asker>, ask: Asker) -> Result {
            match ask {
                Asker::Ask(pool) => {
                    let myself = ctx.address();
                    self.0.note(format!("{:?}", pool.call(|reply| (myself, reply)).await));
                    // What it sends is converted on the way.
                    let (pool, myself) = (pool.recipient::<Convert>(), ctx.address());
                    self.0.note(format!("{:?}", pool.call(|reply| Convert(myself, reply)).await));
                }
                Asker::Number(reply) => reply.send(2),
            }
            Ok(())
        }
    }
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let pool = sim.spawn(move || Pool::new(2, move || Worker(noted.clone()))).wait().unwrap();
        let noted = log.clone();
        let asking = sim.spawn(move || Asking(noted)).wait().unwrap();
        let found = ["found", "Ok(1)", "found", "Ok(1)"];
        asking.send(Asker::Ask(pool.clone())).ok().unwrap();
        sim.run_until_idle();
        assert_eq!(log.take(), found);
        // The first in turn is dead, and another takes it.
        let first = pool.workers().wait().unwrap()[0];
        sim.suspend(pool.pid()).wait().unwrap();
        sim.kill(first);
        sim.run_until_idle();
        asking.send(Asker::Ask(pool)).ok().unwrap();
        sim.run_until_idle();
        assert_eq!(log.take(), found);
    }
}

/// Calls its peer when it is told to, both at the same moment.
enum Twin {
    Meet(Address<Twin>, Priority, Arc<Barrier>, Reply<Result<(), CallError>>),
    Greet(Reply<()>),
}

struct Twins;

impl Actor for Twins {
    type Message = Twin;

    async fn handle_message(&mut self, _: &mut Context<Twin>, twin: Twin) -> Result {
        match twin {
            Twin::Meet(peer, lane, together, reply) => {
                // Its request is made when it has looked for a cycle, and before it waits.
                let greet = |reply| {
                    together.wait();
                    Twin::Greet(reply)
                };
                reply.send(match lane {
                    Priority::Normal => peer.call(greet).await,
                    Priority::High => peer.call_high(greet).await,
                    Priority::Max => peer.call_max(greet).await,
                });
            }
            Twin::Greet(reply) => reply.send(()),
        }
        Ok(())
    }
}

#[test]
fn c5_of_two_that_call_each_other_at_the_same_moment_exactly_one_fails_and_at_once() {
    let node = Node::builder("twins@localhost").workers(2).start().unwrap();
    let a = node.spawn(|| Twins).wait().unwrap();
    let b = node.spawn(|| Twins).wait().unwrap();
    for round in 0..999 {
        let lane = [Priority::Normal, Priority::High, Priority::Max][round % 3];
        let together = Arc::new(Barrier::new(2));
        let meet = |one: &Address<Twin>, other: &Address<Twin>| {
            let (one, other, together) = (one.clone(), other.clone(), Arc::clone(&together));
            std::thread::spawn(move || {
                one.call(|reply| Twin::Meet(other, lane, together, reply))
                    .wait()
                    .unwrap_or_else(Err)
            })
        };
        let (first, second) = (meet(&a, &b), meet(&b, &a));
        let outcomes = [first.join().unwrap(), second.join().unwrap()];
        let failed = outcomes.iter().filter(|outcome| outcome.is_err()).count();
        let found = outcomes.iter().any(|o| matches!(o, Err(CallError::Deadlock(_))));
        assert!(failed == 1 && found, "round {round}: {outcomes:?}");
    }
    node.stop().wait().unwrap();
}

/// Has work done beside it, and notes what comes of it.
struct Front(Log);

enum Errand {
    Wait(u64),
    Panic,
    Back(u64),
    Ping,
    Stop,
    Ask(Address<Errand>),
    Answer(Reply<u64>),
    Answered(Result<u64, CallError>),
}

impl Actor for Front {
    type Message = Errand;

    async fn handle_message(&mut self, ctx: &mut Context<Errand>, errand: Errand) -> Result {
        match errand {
            Errand::Wait(seconds) => {
                let sleep = ctx.sleep(Duration::from_secs(seconds));
                let dropped = Guard::new(&self.0, format!("{seconds} dropped"));
                ctx.pipe(
                    async move {
                        let _dropped = dropped;
                        sleep.await;
                        seconds
                    },
                    Errand::Back,
                )?;
            }
            Errand::Panic => {
                ctx.pipe(async { panic!("in flight") }, |()| Errand::Ping)?;
            }
            Errand::Ask(peer) => {
                ctx.pipe(async move { peer.call(Errand::Answer).await }, Errand::Answered)?;
            }
            Errand::Back(seconds) => self.0.note(format!("back {seconds}")),
            Errand::Ping => self.0.note("ping"),
            Errand::Answer(reply) => reply.send(42),
            Errand::Answered(answer) => self.0.note(format!("{answer:?}")),
            Errand::Stop => ctx.stop(),
        }
        Ok(())
    }

    async fn terminate(&mut self, _: &mut Context<Errand>, reason: &Reason) {
        self.0.note(format!("terminate {reason}"));
    }
}

fn front(sim: &Simulation, log: &Log) -> Address<Errand> {
    let log = log.clone();
    sim.spawn(move || Front(log)).mailbox(2).wait().unwrap()
}

#[test]
fn c6_a_process_serves_while_its_work_is_in_flight() {
    for sim in simulations(10) {
        let log = Log::new();
        let front = front(&sim, &log);
        for errand in [Errand::Wait(3), Errand::Wait(1), Errand::Ping] {
            front.send(errand).ok().unwrap();
            sim.run_until_idle();
        }
        assert_eq!(log.take(), ["ping"]);
        sim.advance(Duration::from_secs(2));
        assert_eq!(log.take(), ["1 dropped", "back 1"]);
        sim.advance(Duration::from_secs(2));
        assert_eq!(log.take(), ["3 dropped", "back 3"]);
        // Nothing of it is left.
        assert_eq!(sim.processes(), [front.pid()]);
        assert_eq!(sim.process_info(front.pid()).unwrap().monitored_by, 0);
    }
}

#[test]
fn c6_a_process_can_ask_itself_and_its_caller_by_a_pipe() {
    for sim in simulations(10) {
        let log = Log::new();
        let front = front(&sim, &log);
        front.send(Errand::Ask(front.clone())).ok().unwrap();
        sim.run_until_idle();
        assert_eq!(log.take(), ["Ok(42)"]);
    }
}

#[test]
fn c6_the_result_of_a_pipe_ignores_the_bound() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let front = front(&sim, &log);
    front.send(Errand::Wait(1)).ok().unwrap();
    sim.run_until_idle();
    front.suspend().wait().unwrap();
    front.send(Errand::Ping).ok().unwrap();
    front.send(Errand::Ping).ok().unwrap();
    sim.advance(Duration::from_secs(2));
    assert!(front.send(Errand::Ping).is_err());
    front.resume();
    sim.run_until_idle();
    assert_eq!(log.take(), ["1 dropped", "ping", "ping", "back 1"]);
}

#[test]
fn c6_work_in_flight_ends_with_its_process_and_a_panic_in_it_ends_the_process() {
    for sim in simulations(10) {
        let log = Log::new();
        let one = front(&sim, &log);
        one.send(Errand::Wait(9)).ok().unwrap();
        sim.run_until_idle();
        one.send(Errand::Stop).ok().unwrap();
        sim.run_until_idle();
        assert_eq!(log.take(), ["terminate normal", "9 dropped"]);
        assert!(sim.processes().is_empty());
        let two = front(&sim, &log);
        two.send(Errand::Panic).ok().unwrap();
        let down = two.watch().wait().unwrap();
        assert!(matches!(&down.reason, Reason::Panic(panic) if panic.message() == "in flight"));
        assert!(log.take()[0].starts_with("terminate panic"));
        assert!(sim.processes().is_empty());
        assert_eq!(sim.stats().timers, 0);
    }
}

#[test]
fn c6_a_process_that_stops_with_its_node_may_still_have_work_in_flight() {
    struct Late(Log);
    impl Actor for Late {
        type Message = ();
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Err(boom())
        }
        async fn terminate(&mut self, ctx: &mut Context<()>, _: &Reason) {
            self.0.note(format!("{:?}", ctx.pipe(async {}, |()| ())));
        }
    }
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    sim.spawn(move || Late(noted)).wait().unwrap();
    sim.stop().wait().unwrap();
    let piped = log.take();
    assert!(matches!(&piped[..], [one] if one.starts_with("Ok(")), "{piped:?}");
    assert!(sim.processes().is_empty());
}

/// A full mailbox hands a message to the process that sent it; whom that calls next is another.
#[test]
fn c5_to_whom_an_earlier_message_was_handed_on_is_no_part_of_a_call() {
    type Answers = Address<Reply<u64>>;
    enum Say {
        Spilt,
        Ask(Address<u8>, Answers, How, Reply<Result<u64, CallError>>),
    }
    enum How {
        OnLane(Priority),
        To(Recipient<Reply<u64>>),
    }
    impl From<Diverted<u8>> for Say {
        fn from(_: Diverted<u8>) -> Self {
            Say::Spilt
        }
    }
    struct Fallback;
    impl Actor for Fallback {
        type Message = Say;
        async fn handle_message(&mut self, _: &mut Context<Say>, say: Say) -> Result {
            if let Say::Ask(full, to, how, reply) = say {
                full.send(2).unwrap();
                reply.send(match how {
                    How::OnLane(Priority::Normal) => to.call(|reply| reply).await,
                    How::OnLane(Priority::High) => to.call_high(|reply| reply).await,
                    How::OnLane(Priority::Max) => to.call_max(|reply| reply).await,
                    How::To(recipient) => recipient.call(|reply| reply).await,
                });
            }
            Ok(())
        }
    }
    for sim in simulations(3) {
        let (tell, told) = std::sync::mpsc::channel();
        let answers = behavior_fn(move |mut ctx: Context<Reply<u64>>| async move {
            let alias = ctx.alias();
            tell.send(ctx.recipient_by(alias)).unwrap();
            while let Received::Message(reply) | Received::Command(reply) = ctx.receive().await {
                reply.send(42);
            }
            Ok(())
        });
        let answers: Answers = sim.spawn(move || answers).start().unwrap();
        sim.run_until_idle();
        let fallback = sim.spawn(|| Fallback).wait().unwrap();
        let hangs = behavior_fn(|_: Context<u8>| std::future::pending());
        let spilling = Overflow::divert(fallback.recipient(), "spilt");
        let full = sim.spawn(|| hangs).mailbox(1).overflow(spilling).start().unwrap();
        full.send(1).unwrap();
        let lanes = [Priority::Normal, Priority::High, Priority::Max].map(How::OnLane);
        let recipients = [told.recv().unwrap(), answers.recipient()].map(How::To);
        for how in lanes.into_iter().chain(recipients) {
            let (full, answers) = (full.clone(), answers.clone());
            let asked = fallback.call(|reply| Say::Ask(full, answers, how, reply));
            assert_eq!(asked.wait().flatten(), Ok(42));
        }
    }
}
