//! What a handle on a process gives back: addresses, recipients, aliases, room that is reserved, what
//! is asked of a process: rules C1, C3, C6, D2, D7, L1, L3, M2, M6, M7, N2, N5, R1, X4, X5.

use crate::support::{
    Act, Does, Log, Puppet, asked, boom, poll_once, puppet, simulations, trapper,
};
use krarup::behavior::{BehaviorContext, Received, Route, behavior_fn};
use krarup::mailbox::{Diverted, Overflow, Permit};
use krarup::observe::{DeadLetter, DebugError, EventTopic, Lifecycle};
use krarup::prelude::*;
use krarup::{Alias, CannotWait, Dynamic, LookupError, MessageTypes, Recipient};
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Notes dead letters and lives.
struct Noter(Log);

enum Noted {
    Letter(DeadLetter),
    Life(Lifecycle),
}

impl From<DeadLetter> for Noted {
    fn from(dead_letter: DeadLetter) -> Self {
        Noted::Letter(dead_letter)
    }
}

impl From<Lifecycle> for Noted {
    fn from(life: Lifecycle) -> Self {
        Noted::Life(life)
    }
}

impl Actor for Noter {
    type Message = Noted;

    async fn init(&mut self, ctx: &mut Context<Noted>) -> Result {
        ctx.subscribe_dead_letters();
        ctx.subscribe_lifecycle();
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<Noted>, noted: Noted) -> Result {
        match noted {
            Noted::Letter(dead_letter) => self.0.note(format!("{dead_letter}")),
            Noted::Life(life) => self.0.note(format!("life of {}", life.pid())),
        }
        Ok(())
    }
}

/// Where dead letters are noted from now on.
fn dead_letters(sim: &Simulation) -> Log {
    let log = Log::new();
    let noted = log.clone();
    let noter = sim.spawn(move || Noter(noted)).wait().unwrap();
    sim.run_until_idle();
    assert!(log.take().is_empty(), "it is notified only of other processes");
    sim.unsubscribe(EventTopic::Lifecycle, noter.pid());
    log
}

/// Takes numbers for ever.
fn taker(sim: &Simulation, log: &Log) -> Address<u32> {
    let log = log.clone();
    let run = behavior_fn(move |mut ctx: Context<u32>| async move {
        while let Received::Message(number) | Received::Command(number) = ctx.receive().await {
            log.note(number);
        }
        Ok(())
    });
    let taker = sim.spawn(move || run).start().unwrap();
    sim.run_until_idle();
    taker
}

/// A request, or nothing to be answered.
struct Job(Option<Reply<u32>>);

impl From<Reply<u32>> for Job {
    fn from(reply: Reply<u32>) -> Self {
        Job(Some(reply))
    }
}

/// A route that takes nothing, and says why.
struct Refusing(SendError<()>);

impl Route<Job> for Refusing {
    fn send(&self, job: Job, _: u64) -> Result<(), SendError<Job>> {
        Err(self.0.clone().map(|()| job))
    }
    fn reserve(&self) -> Result<Permit<Job>, SendError<()>> {
        Err(self.0.clone())
    }
    fn waiting(&self) -> usize {
        0
    }
}

#[test]
fn m7_the_reason_of_a_refusing_route_reaches_sends_reservations_and_calls() {
    let to = Pid::local(7, 0);
    let refusals: [(SendError<()>, CallError); 6] = [
        (SendError::Full { message: (), to }, CallError::Full { to }),
        (SendError::NoWorkers { message: (), to }, CallError::NoWorkers { to }),
        (
            SendError::RateLimited { message: (), to, retry_after: SECOND },
            CallError::RateLimited { to, retry_after: SECOND },
        ),
        (SendError::Draining { message: (), to }, CallError::Draining { to }),
        (SendError::NotReservable { message: (), to }, CallError::NotReservable { to }),
        (SendError::NoProcess { message: (), to }, CallError::NoProcess { to }),
    ];
    for (refusal, failed) in refusals {
        let sim = Simulation::new(1);
        let said = refusal.to_string();
        let routes = behavior_fn(move |mut ctx: Context<Job>| async move {
            ctx.route_main(Refusing(refusal));
            ctx.receive().await;
            Ok(())
        });
        let routes = sim.spawn(move || routes).start().unwrap();
        sim.run_until_idle();
        assert_eq!(routes.send(Job(None)).unwrap_err().to_string(), said);
        assert_eq!(routes.reserve().unwrap_err().to_string(), said);
        let recipient: Recipient<Job> = routes.recipient();
        assert_eq!(recipient.send(Job(None)).unwrap_err().to_string(), said);
        assert_eq!(recipient.reserve().unwrap_err().to_string(), said);
        assert_eq!(recipient.call(|reply| Job(Some(reply))).wait(), Err(failed.clone()));
        assert_eq!(routes.call(|reply| Job(Some(reply))).wait(), Err(failed));
    }
}

#[test]
fn m7_every_send_or_notice_to_an_ended_process_is_a_dead_letter() {
    for sim in simulations(3) {
        let dead_letters = dead_letters(&sim);
        let dead = taker(&sim, &Log::new());
        let sender = puppet(&sim, "sender", &Log::new());
        sim.kill(dead.pid());
        sim.run_until_idle();
        let (to, from) = (dead.clone(), dead.pid());
        sender.tells(move |_| {
            to.notify(1);
            assert!(to.send(1).is_err());
            assert!(to.send_high(1).is_err());
        });
        sim.run_until_idle();
        let dead_letter = format!("u32 to {from} from {}: no such process", sender.pid());
        assert_eq!(dead_letters.take(), vec![dead_letter; 3]);
        // Where another may be found it is none yet, and where there is no message it is none.
        assert!(matches!(
            dead.reserve(),
            Err(SendError::NoProcess { to, .. }) if to == dead.pid()
        ));
        assert!(matches!(
            dead.forward(1, 0),
            Err(SendError::NoProcess { message: 1, to, .. }) if to == dead.pid()
        ));
        sim.run_until_idle();
        assert!(dead_letters.take().is_empty());
    }
}

/// A message that is converted to one of a [`taker`].
struct Converted;

impl From<Converted> for u32 {
    fn from(_: Converted) -> u32 {
        7
    }
}

#[test]
fn m7_a_send_that_waits_for_room_at_an_ended_process_is_a_dead_letter() {
    for sim in simulations(3) {
        let dead_letters = dead_letters(&sim);
        let dead = taker(&sim, &Log::new());
        sim.kill(dead.pid());
        sim.run_until_idle();
        // It has ended before.
        let (own, converting): (Recipient<u32>, Recipient<Converted>) =
            (dead.recipient(), dead.recipient());
        assert!(dead.send_or_wait(1).wait().is_err());
        assert!(own.send_or_wait(1).wait().is_err());
        assert!(converting.send_or_wait(Converted).wait().is_err());
        sim.run_until_idle();
        let dead_letter = |from| format!("u32 to {}{from}: no such process", dead.pid());
        assert_eq!(dead_letters.take(), vec![dead_letter(String::new()); 3]);
        assert!(dead.reserve_or_wait().wait().is_err());
        sim.run_until_idle();
        assert!(dead_letters.take().is_empty(), "there was no message");
        let to = dead.clone();
        let sender = behavior_fn(move |_: Context<()>| async move {
            assert!(to.send_or_wait(1).await.is_err());
            assert!(own.send_or_wait(1).await.is_err());
            Ok(())
        });
        let sender = sim.spawn(move || sender).start().unwrap();
        sim.run_until_idle();
        let from = format!(" from {}", sender.pid());
        assert_eq!(dead_letters.take(), vec![dead_letter(from); 2]);
    }
}

#[test]
fn m7_a_send_whose_receiver_ends_while_it_waits_for_room_is_a_dead_letter() {
    for sim in simulations(3) {
        let dead_letters = dead_letters(&sim);
        let full = behavior_fn(|mut ctx: Context<u32>| async move {
            ctx.sleep(SECOND).await;
            ctx.receive().await;
            Ok(())
        });
        let full = sim.spawn(move || full).mailbox(1).start().unwrap();
        full.send(1).unwrap();
        sim.run_until_idle();
        let (own, converting): (Recipient<u32>, Recipient<Converted>) =
            (full.recipient(), full.recipient());
        let (mut first, mut second) =
            (full.send_or_wait(2).into_future(), own.send_or_wait(3).into_future());
        let mut third = converting.send_or_wait(Converted).into_future();
        let mut fourth = full.reserve_or_wait().into_future();
        let waits = [poll_once(&mut first).is_pending(), poll_once(&mut second).is_pending()];
        assert_eq!(waits, [true; 2]);
        let waits = [poll_once(&mut third).is_pending(), poll_once(&mut fourth).is_pending()];
        assert_eq!(waits, [true; 2]);
        sim.kill(full.pid());
        sim.run_until_idle();
        let lost = "receiver ended before it handled the message";
        assert_eq!(dead_letters.take(), [format!("u32 to {}: {lost}", full.pid())]);
        let given_back = poll_once(&mut first);
        assert!(matches!(given_back, Poll::Ready(Err(SendError::NoProcess { message: 2, .. }))));
        let given_back = poll_once(&mut second);
        assert!(matches!(given_back, Poll::Ready(Err(SendError::NoProcess { message: 3, .. }))));
        assert!(poll_once(&mut third).is_ready() && poll_once(&mut fourth).is_ready());
        sim.run_until_idle();
        let gone = "no such process";
        assert_eq!(dead_letters.take(), vec![format!("u32 to {}: {gone}", full.pid()); 3]);
    }
}

#[test]
fn d7_messages_on_every_lane_at_an_end_are_dead_letters_with_their_sender() {
    for sim in simulations(3) {
        let dead_letters = dead_letters(&sim);
        let doomed = taker(&sim, &Log::new());
        let sender = puppet(&sim, "sender", &Log::new());
        doomed.suspend().wait().unwrap();
        let to = doomed.clone();
        sender.tells(move |_| {
            to.send(1).unwrap();
            to.send_high(2).unwrap();
            to.send_max(3).unwrap();
        });
        doomed.notify(4);
        sim.run_until_idle();
        sim.kill(doomed.pid());
        sim.run_until_idle();
        let lost = |from: &str| {
            format!("u32 to {}{from}: receiver ended before it handled the message", doomed.pid())
        };
        let sent = lost(&format!(" from {}", sender.pid()));
        assert_eq!(dead_letters.take_sorted(), [sent.clone(), sent.clone(), sent, lost("")]);
    }
}

/// A process with an alias, the alias, and a recipient by it.
fn by_alias(sim: &Simulation, log: &Log) -> (Address<Act>, Alias, Recipient<Act>) {
    let process = puppet(sim, "p", log);
    let (alias, recipient) = asked(sim, &process, |ctx| {
        let alias = ctx.alias();
        (alias, ctx.recipient_by(alias))
    });
    (process, alias, recipient)
}

#[test]
fn n5_every_send_to_a_revoked_alias_is_a_dead_letter_and_an_error() {
    for sim in simulations(3) {
        let dead_letters = dead_letters(&sim);
        let log = Log::new();
        let (process, alias, by) = by_alias(&sim, &log);
        let note = |text: &'static str| {
            let noted = log.clone();
            Act::new(move |_| {
                noted.note(text);
                Ok(())
            })
        };
        by.notify(note("told"));
        by.reserve().ok().unwrap().send(note("sent"));
        let late = by.reserve().ok().unwrap();
        sim.run_until_idle();
        assert_eq!(log.take(), ["told", "sent"]);
        assert!(by.is_alive());
        assert_eq!(sim.stats().aliases, 1);
        assert_eq!(
            asked(&sim, &process, move |ctx| (ctx.revoke(alias), ctx.revoke(alias))),
            (true, false)
        );
        assert_eq!(sim.stats().aliases, 0);
        assert!(!by.is_alive() && process.is_alive());
        by.notify(note("told"));
        assert!(matches!(by.reserve(), Err(SendError::Revoked { alias: of, .. }) if of == alias));
        let sent = by.send(note("sent"));
        assert!(matches!(sent, Err(SendError::Revoked { alias: of, .. }) if of == alias));
        late.send(note("late"));
        // Of the alias in the table nobody knows any more whose it was.
        let sent = sim.send(alias, 7_u8);
        assert!(matches!(sent, Err(SendError::Revoked { alias: of, .. }) if of == alias));
        sim.run_until_idle();
        assert!(log.take().is_empty());
        let dead_letter = format!("support::Act to {}: alias was revoked", process.pid());
        let mut lost = dead_letters.take();
        lost.iter_mut().for_each(|line| *line = line.replace("process::", ""));
        let unknown = format!("u8 to {alias}: alias was revoked");
        assert_eq!(lost, [dead_letter.clone(), dead_letter.clone(), dead_letter, unknown]);
    }
}

#[test]
fn x4_a_subscription_by_alias_ends_when_the_alias_is_revoked() {
    /// Makes an alias, subscribes by it, and revokes it.
    async fn run(
        log: Log,
        mut ctx: Context<DeadLetter>,
        to: mpsc::Sender<Recipient<DeadLetter>>,
    ) -> Result {
        let alias = ctx.alias();
        to.send(ctx.recipient_by(alias)).ok();
        for _ in 0..2 {
            if let Received::Message(dead_letter) = ctx.receive().await {
                log.note(dead_letter.message);
            }
            ctx.revoke(alias);
        }
        Ok(())
    }
    let sim = Simulation::new(1);
    let log = Log::new();
    let (to, recipients) = mpsc::channel();
    let noted = log.clone();
    let hears = behavior_fn(move |ctx: Context<DeadLetter>| run(noted, ctx, to));
    let hears = sim.spawn(move || hears).start().unwrap();
    sim.run_until_idle();
    sim.subscribe_dead_letters(recipients.recv().unwrap());
    for _ in 0..3 {
        assert!(sim.send(Pid::local(777, 0), 1_u16).is_err());
        sim.run_until_idle();
    }
    assert_eq!(log.take(), ["u16"]);
    assert!(hears.is_alive());
    assert!(!sim.unsubscribe(EventTopic::DeadLetters, hears.pid()));
}

#[test]
fn x4_a_context_that_outlives_its_process_cannot_subscribe() {
    let sim = Simulation::new(1);
    let (sender, contexts) = mpsc::channel::<Context<Noted>>();
    let leaves = behavior_fn(move |ctx: Context<Noted>| async move {
        let _ = sender.send(ctx);
        Ok(())
    });
    let pid = sim.spawn(move || leaves).start().unwrap().pid();
    sim.run_until_idle();
    let mut ctx = contexts.recv().unwrap();
    ctx.subscribe_lifecycle();
    ctx.subscribe_dead_letters();
    assert!(!sim.unsubscribe(EventTopic::Lifecycle, pid));
    assert!(!ctx.unsubscribe_events(EventTopic::DeadLetters));
}

#[test]
fn m7_a_dynamic_value_is_not_wrapped_again() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let taker = taker(&sim, &log);
    sim.send(taker.pid(), Dynamic::new(Dynamic::new(7_u32))).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["7"]);
    let back = sim.send(taker.pid(), Dynamic::new(7_u8)).unwrap_err();
    let types = MessageTypes { expected: "u32", found: "u8", commands: None };
    assert!(matches!(
        &back,
        SendError::WrongType { to, types: of, .. } if *to == taker.pid() && **of == types
    ));
    assert!(back.into_message().is::<u8>());
    // What takes anything gets it as it came.
    let noted = log.clone();
    let any = behavior_fn(move |mut ctx: Context<Dynamic>| async move {
        while let Received::Message(message) = ctx.receive().await {
            noted.note(message.type_name());
        }
        Ok(())
    });
    let any = sim.spawn(move || any).start().unwrap();
    sim.send(any.pid(), 7_u8).unwrap();
    sim.send(any.pid(), Dynamic::new("text")).unwrap();
    any.send(Dynamic::new(7_u16)).ok().unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["u8", "&str", "u16"]);
}

#[test]
fn n2_a_failed_look_up_by_pid_gives_the_cause() {
    let sim = Simulation::new(1);
    let taker = taker(&sim, &Log::new());
    let remote: Pid = "<3.1.0>".parse().unwrap();
    let process = puppet(&sim, "p", &Log::new());
    let pid = taker.pid();
    let errors = asked(&sim, &process, move |ctx| {
        [remote, Pid::local(777, 0), pid].map(|pid| ctx.address_of::<u8, u16>(pid).unwrap_err())
    });
    let wrong = LookupError::WrongType {
        process: pid.to_string(),
        expected: ("u32", "u32"),
        found: ("u8", "u16"),
    };
    let none = LookupError::NoProcess("<0.777.0>".parse().unwrap());
    assert_eq!(errors, [LookupError::NoConnection(remote), none, wrong]);
    assert_eq!(asked(&sim, &process, move |ctx| ctx.address_of(pid)), Ok(taker));
}

#[test]
fn m2_every_way_to_name_a_lane_takes_that_lane() {
    for sim in simulations(3) {
        let log = Log::new();
        let noted = log.clone();
        let run = behavior_fn(move |mut ctx: Context<(u32, Option<Reply<u32>>)>| async move {
            while let Received::Message((number, reply)) | Received::Command((number, reply)) =
                ctx.receive().await
            {
                noted.note(number);
                reply.into_iter().for_each(|reply| reply.send(number));
            }
            Ok(())
        });
        let process = sim.spawn(move || run).start().unwrap();
        process.suspend().wait().unwrap();
        for (number, priority) in [(6, Priority::Normal), (3, Priority::High), (1, Priority::Max)] {
            process.send_with(priority, (number, None)).ok().unwrap();
        }
        let mut main = process.call(|reply| (7, Some(reply))).into_future();
        let mut high = process.call_high(|reply| (4, Some(reply))).into_future();
        let mut max = process.call_max(|reply| (2, Some(reply))).into_future();
        assert!(poll_once(&mut main).is_pending());
        assert!(poll_once(&mut high).is_pending());
        assert!(poll_once(&mut max).is_pending());
        process.send_high((5, None)).ok().unwrap();
        process.resume();
        sim.run_until_idle();
        assert_eq!(log.take(), ["1", "2", "3", "4", "5", "6", "7"]);
    }
}

#[test]
fn c1_a_call_through_a_recipient_has_its_own_timeout_and_leaves_nothing() {
    let sim = Simulation::new(1);
    let (tell, told) = mpsc::channel();
    let keeps = behavior_fn(move |mut ctx: Context<Job>| async move {
        while let Received::Message(job) = ctx.receive().await {
            let _ = tell.send(job);
        }
        Ok(())
    });
    let keeps = sim.spawn(move || keeps).start().unwrap();
    let recipient: Recipient<Reply<u32>> = keeps.recipient();
    let before = sim.now();
    let asked = recipient.call(|reply| reply).timeout(SECOND).wait();
    assert_eq!(
        (asked, sim.now() - before),
        (Err(CallError::Timeout { to: keeps.pid(), limit: SECOND }), SECOND)
    );
    let before = sim.now();
    let asked = recipient.call(|reply| reply).wait();
    assert_eq!(
        (asked, sim.now() - before),
        (Err(CallError::Timeout { to: keeps.pid(), limit: 5 * SECOND }), 5 * SECOND)
    );
    // One that is given up is late too when its answer comes.
    let mut given_up = recipient.call(|reply| reply).into_future();
    assert!(poll_once(&mut given_up).is_pending());
    let mut also = keeps.call(|reply| Job(Some(reply))).into_future();
    assert!(poll_once(&mut also).is_pending());
    sim.run_until_idle();
    drop(given_up);
    drop(also);
    assert_eq!((sim.stats().timers, sim.stats().late_replies), (0, 0));
    let replies: Vec<Job> = told.try_iter().collect();
    assert_eq!(replies.len(), 4);
    replies.into_iter().filter_map(|job| job.0).for_each(|reply| reply.send(7));
    assert_eq!(sim.stats().late_replies, 4);
}

#[test]
fn m6_reserve_or_wait_fails_for_oneself_and_for_an_ended_process() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let full = behavior_fn(move |mut ctx: Context<u32>| async move {
        let myself = ctx.address();
        let room = myself.reserve_or_wait().await;
        noted.note(room.is_ok());
        noted.note(format!("{:?}", myself.reserve_or_wait().await.map(drop)));
        noted.note(format!("{:?}", myself.send_or_wait(1).await));
        noted.note(format!("{:?}", myself.send_or_wait(2).wait()));
        drop(room);
        // It is an error also where there is room.
        noted.note(format!("{:?}", myself.send_or_wait(3).wait()));
        noted.note(myself.reserve_or_wait().await.is_ok());
        while let Received::Message(number) = ctx.receive().await {
            noted.note(number);
            ctx.sleep(SECOND).await;
        }
        Ok(())
    });
    let full = sim.spawn(move || full).mailbox(1).start().unwrap();
    sim.run_until_idle();
    let own = format!("Err(OwnMailbox {{ to: {}, .. }})", full.pid());
    let waits = "Err(CannotWait { cause: InProcess, .. })";
    assert_eq!(log.take(), ["true", &own, &own, waits, waits, "true"]);
    // Who finds a line stands behind it.
    for number in [1, 2] {
        full.send(number).unwrap();
        if number == 1 {
            sim.run_until_idle();
        }
    }
    let mut first = full.reserve_or_wait().into_future();
    assert!(poll_once(&mut first).is_pending());
    let mut second = full.reserve_or_wait().into_future();
    assert!(poll_once(&mut second).is_pending());
    drop(first);
    sim.advance(SECOND);
    let mut third = full.reserve_or_wait().into_future();
    assert!(poll_once(&mut third).is_pending());
    let std::task::Poll::Ready(Ok(permit)) = poll_once(&mut second) else { panic!("no room") };
    permit.send(3);
    sim.kill(full.pid());
    sim.run_until_idle();
    let std::task::Poll::Ready(Err(refused)) = poll_once(&mut third) else { panic!("it waits") };
    assert_eq!(refused, SendError::NoProcess { message: (), to: full.pid() });
    let dead = poll_once(&mut full.reserve_or_wait().into_future());
    assert!(matches!(dead, std::task::Poll::Ready(Err(SendError::NoProcess { .. }))));
}

#[test]
fn m6_a_thread_gets_its_message_back_when_room_can_never_come() {
    let sim = Simulation::new(1);
    let full = behavior_fn(|_: Context<u32>| std::future::pending::<Result>());
    let full = sim.spawn(move || full).mailbox(1).start().unwrap();
    full.send(1).unwrap();
    assert_eq!(
        full.send_or_wait(2).wait(),
        Err(SendError::CannotWait { message: 2, cause: CannotWait::Stalled })
    );
    assert_eq!(
        full.send_or_wait(3).timeout(SECOND).wait(),
        Err(SendError::Timeout { message: 3, to: full.pid(), limit: SECOND })
    );
    let stalled = SendError::CannotWait { message: (), cause: CannotWait::Stalled };
    assert_eq!(full.reserve_or_wait().wait().map(drop), Err(stalled));
}

#[test]
fn c6_the_result_of_work_that_completes_after_the_end_is_a_dead_letter() {
    let sim = Simulation::new(1);
    let dead_letters = dead_letters(&sim);
    let owner = puppet(&sim, "owner", &Log::new());
    owner.tells(|ctx| {
        let end = ctx.watch(ctx.pid());
        ctx.pipe(end, |_| Act::nothing()).unwrap();
    });
    sim.run_until_idle();
    sim.kill(owner.pid());
    sim.run_until_idle();
    let lost = dead_letters.take();
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert!(lost[0].ends_with("result of the receiver's own work, after its end"), "{lost:?}");
}

/// Shows a text, drops the question, or ends with it in hand.
async fn shows_a_text(mut ctx: Context<()>) -> Result {
    for asked in 0.. {
        match (ctx.receive().await, asked) {
            (Received::State(reply), 0) => reply.send(Some(Dynamic::new("text"))),
            (Received::State(reply), 1) => reply.send(None),
            (Received::State(reply), 2) => drop(reply),
            _ => return Err(boom()),
        }
    }
    Ok(())
}

#[test]
fn x5_why_a_state_is_not_shown_is_its_own_error() {
    let sim = Simulation::new(1);
    let shows = sim.spawn(|| behavior_fn(shows_a_text)).start().unwrap();
    let wrong = DebugError::WrongType { pid: shows.pid(), expected: "u8", found: "&str" };
    assert_eq!(shows.state::<u8>().wait(), Err(wrong));
    for _ in 0..2 {
        assert_eq!(shows.state::<&str>().wait(), Err(DebugError::NotOffered(shows.pid())));
    }
    assert_eq!(
        shows.state::<&str>().wait(),
        Err(DebugError::Terminated { pid: shows.pid(), reason: boom() })
    );
    assert_eq!(shows.state::<&str>().wait(), Err(DebugError::NoProcess(shows.pid())));
    assert_eq!(shows.suspend().wait(), Err(DebugError::NoProcess(shows.pid())));
    assert_eq!(shows.inspect().wait(), Err(CallError::NoProcess { to: shows.pid() }));
    assert!(!shows.resume());
}

#[test]
fn l3_the_default_handle_exit_ends_only_for_an_abnormal_exit() {
    struct Traps;
    impl Actor for Traps {
        type Message = ();
        async fn init(&mut self, ctx: &mut Context<()>) -> Result {
            ctx.trap_exits(true);
            Ok(())
        }
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Ok(())
        }
    }
    for sim in simulations(3) {
        let traps = sim.spawn(|| Traps).wait().unwrap();
        let end = traps.watch();
        for reason in [Reason::Normal, Reason::Shutdown, Reason::shutdown("why")] {
            sim.exit(traps.pid(), reason);
            sim.run_until_idle();
            assert!(traps.is_alive());
        }
        sim.exit(traps.pid(), boom());
        assert_eq!(end.wait().unwrap().reason, boom());
    }
}

#[test]
fn d2_an_actor_that_ends_normally_in_init_has_not_started() {
    struct Done;
    impl Actor for Done {
        type Message = ();
        async fn init(&mut self, _: &mut Context<()>) -> Result {
            Err(Reason::Normal)
        }
        async fn handle_message(&mut self, _: &mut Context<()>, (): ()) -> Result {
            Ok(())
        }
    }
    let sim = Simulation::new(1);
    assert_eq!(sim.spawn(|| Done).wait().unwrap_err(), SpawnError::Init(Reason::Normal));
}

#[test]
fn l1_a_link_asked_for_twice_at_a_spawn_is_urgent_if_one_was() {
    for sim in simulations(3) {
        let log = Log::new();
        let parent = trapper(&sim, "parent", &log);
        let ends = || {
            behavior_fn(|ctx: Context<()>| async move {
                ctx.sleep(SECOND).await;
                Err(boom())
            })
        };
        parent.tells(move |ctx| {
            ctx.spawn(ends).link_urgent().link().start().unwrap();
        });
        sim.run_until_idle();
        parent.suspend().wait().unwrap();
        let noted = log.clone();
        parent.tells(move |_| noted.note("message"));
        sim.advance(2 * SECOND);
        parent.resume();
        sim.run_until_idle();
        let lines = log.take();
        assert!(lines[0].starts_with("parent exit") && lines[1] == "message", "{lines:?}");
    }
}

#[test]
fn l4_removing_the_last_link_keeps_the_other_relations() {
    for sim in simulations(2) {
        let log = Log::new();
        let other = puppet(&sim, "other", &Log::new());
        let other = other.pid();
        // Each has one thing, so that nothing else keeps it.
        let unlinked = |keep: fn(&mut Context<Act>, Log, Pid)| {
            let (process, noted) = (trapper(&sim, "p", &log), log.clone());
            process.tells(move |ctx| {
                keep(ctx, noted, other);
                let passing = ctx.spawn(|| {
                    behavior_fn(|mut ctx: Context<()>| async move {
                        ctx.receive().await;
                        Ok(())
                    })
                });
                let passing = passing.start().unwrap().pid();
                ctx.link(passing);
                ctx.unlink(passing);
            });
            sim.run_until_idle();
            process
        };
        let named = unlinked(|ctx, _, _| ctx.register("named").unwrap());
        let aliased = unlinked(|ctx, _, _| _ = ctx.alias());
        let cleans = unlinked(|ctx, log, _| ctx.on_end(move |_| log.note("cleaned")));
        let watches = unlinked(|ctx, _, other| _ = ctx.monitor(other));
        let links = unlinked(|ctx, _, other| ctx.link(other));
        let watched = unlinked(|_, _, _| {});
        let end = watched.watch();
        let passing = puppet(&sim, "passing", &Log::new()).pid();
        watched.tells(move |ctx| {
            ctx.link(passing);
            ctx.unlink(passing);
        });
        let run = behavior_fn(move |mut ctx: Context<()>| async move {
            ctx.link(passing);
            ctx.unlink(passing);
            ctx.receive().await;
            Ok(())
        });
        let labelled = sim.spawn(move || run).label("saga").start().unwrap();
        sim.run_until_idle();
        assert_eq!(labelled.info().behavior.to_string(), "saga");
        assert_eq!(named.info().name.map(|name| name.to_string()), Some("named".to_owned()));
        assert_eq!(aliased.info().aliases.len(), 1);
        sim.exit(other, boom());
        sim.run_until_idle();
        let heard = log.take_sorted();
        assert_eq!(heard, [format!("p down {other} boom"), format!("p exit {other} boom")]);
        for process in [&named, &aliased, &cleans, &watches, &links, &watched] {
            process.dies(boom());
        }
        sim.run_until_idle();
        assert_eq!(log.count("cleaned"), 1);
        assert_eq!(end.wait().unwrap().reason, boom());
        assert_eq!((sim.stats().names, sim.stats().aliases), (0, 0));
    }
}

#[test]
fn x3_a_link_to_an_ended_process_is_not_shown_even_before_its_notice_is_taken() {
    let sim = Simulation::new(1);
    let (hears, dies) = (trapper(&sim, "hears", &Log::new()), puppet(&sim, "dies", &Log::new()));
    let pid = dies.pid();
    hears.tells(move |ctx| ctx.link(pid));
    sim.run_until_idle();
    assert_eq!(hears.info().links, [pid]);
    hears.suspend().wait().unwrap();
    dies.dies(boom());
    sim.run_until_idle();
    assert_eq!(hears.info().links, []);
}

#[test]
fn n1_a_pid_that_was_kept_for_a_process_is_that_of_the_process() {
    let [sim, other] = [1, 2].map(Simulation::new);
    let dead_letters = dead_letters(&sim);
    let (process, stranger) =
        (puppet(&sim, "p", &Log::new()), puppet(&other, "stranger", &Log::new()));
    let delegate = asked(&sim, &process, |ctx| ctx.delegate());
    assert_eq!(delegate.process(), process.pid());
    let (kept, foreign) =
        (delegate.unused_pid(), asked(&other, &stranger, |ctx| ctx.delegate().unused_pid()));
    let (pid, foreign_pid) = (kept.pid(), foreign.pid());
    let ends = || {
        behavior_fn(|ctx: Context<()>| async move {
            ctx.sleep(SECOND).await;
            Ok(())
        })
    };
    assert_eq!(sim.spawn(ends).pid(kept).start().unwrap().pid(), pid);
    let own = sim.spawn(ends).pid(foreign).start().unwrap().pid();
    assert!(!own.is_same_process(foreign_pid));
    assert_eq!(own.creation(), pid.creation());
    assert!(sim.is_alive(pid) && sim.is_alive(own));
    delegate.dead_letter(7_u8, pid.id());
    delegate.dead_letter(7_u16, 0);
    sim.run_until_idle();
    let to = process.pid();
    let lost = |what: &str| format!("{what}: receiver ended before it handled the message");
    let expected = [lost(&format!("u8 to {to} from {pid}")), lost(&format!("u16 to {to}"))];
    assert_eq!(dead_letters.take(), expected);
}

#[test]
fn r1_a_process_that_spawns_many_lets_them_run_first() {
    for seed in 0..10 {
        let sim = Simulation::new(seed);
        let log = Log::new();
        let parent = puppet(&sim, "parent", &log);
        let noted = log.clone();
        parent.tells(move |ctx| {
            for _ in 0..300 {
                let noted = noted.clone();
                let child = move || {
                    behavior_fn(move |_: Context<()>| async move {
                        noted.note("child");
                        Ok(())
                    })
                };
                ctx.spawn(child).start().unwrap();
            }
        });
        let noted = log.clone();
        parent.tells(move |_| noted.note("parent"));
        sim.run_until_idle();
        let lines = log.take();
        let before = lines.iter().take_while(|line| *line == "child").count();
        assert!(before > 0 && lines.len() == 301, "seed {seed}: {before} before");
    }
}

#[test]
fn x3_an_inspection_of_a_process_that_is_busy_ends_with_its_time() {
    let sim = Simulation::new(1);
    let busy = behavior_fn(|mut ctx: Context<()>| async move {
        ctx.sleep(8 * SECOND).await;
        loop {
            match ctx.receive().await {
                Received::Inspect(request) => request.send(Inspection::new()),
                Received::State(reply) => reply.send(Some(Dynamic::new(7_u8))),
                _ => return Ok(()),
            }
        }
    });
    let busy = sim.spawn(move || busy).start().unwrap();
    assert_eq!(
        busy.inspect().wait(),
        Err(CallError::Timeout { to: busy.pid(), limit: 5 * SECOND })
    );
    assert_eq!(sim.now().as_nanos(), 5_000_000_000);
    // In time, it is answered; a question that was given up is none any more.
    assert_eq!(busy.state::<u8>().wait(), Ok(7));
    assert_eq!(sim.now().as_nanos(), 8_000_000_000);
    assert_eq!(sim.stats().timers, 0);
}

#[test]
fn l4_a_context_that_outlives_its_process_cannot_link_or_monitor() {
    let sim = Simulation::new(1);
    let mut ctx = outlived(&sim);
    let (other, dead) = (puppet(&sim, "other", &Log::new()), puppet(&sim, "dead", &Log::new()));
    dead.dies(boom());
    sim.run_until_idle();
    for pid in [other.pid(), dead.pid()] {
        ctx.link(pid);
        let monitor = ctx.monitor(pid);
        assert!(!ctx.demonitor(monitor));
    }
    let (theirs, ours) = (other.info(), sim.process_info(other.pid()).unwrap());
    assert_eq!((theirs.links, theirs.monitored_by, ours.monitored_by), (vec![], 0, 0));
}

/// The context of a process that has ended.
fn outlived(sim: &Simulation) -> Context<()> {
    let (sender, contexts) = mpsc::channel();
    let leaves = behavior_fn(move |ctx: Context<()>| async move {
        let _ = sender.send(ctx);
        Ok(())
    });
    sim.spawn(move || leaves).start().unwrap();
    sim.run_until_idle();
    contexts.recv().unwrap()
}

#[test]
fn l4_a_linked_child_of_an_ended_process_gets_no_process() {
    for sim in simulations(3) {
        let (ctx, log) = (outlived(&sim), Log::new());
        let new = || {
            let log = log.clone();
            move || {
                log.note("is made");
                Puppet::trapping("child", &log)
            }
        };
        let end = ctx.spawn(new()).link().start().unwrap().watch();
        assert_eq!(end.wait().unwrap().reason, Reason::NoProcess);
        let awaited = ctx.spawn(new()).link_urgent().wait().map(drop);
        assert_eq!(awaited, Err(SpawnError::Init(Reason::NoProcess)));
        // It was ended before its first instruction.
        assert_eq!(log.take(), [""; 0]);
        // A monitor whose holder has ended is none.
        let monitored = ctx.spawn(new()).monitor(ctx.make_ref()).wait().unwrap();
        sim.run_until_idle();
        assert!(monitored.is_alive());
        assert_eq!((monitored.info().links, monitored.info().monitored_by), (vec![], 0));
    }
}

#[test]
fn l5_a_removed_monitor_leaves_no_entry_at_either_side() {
    let sim = Simulation::new(1);
    let (one, other) = (puppet(&sim, "one", &Log::new()), puppet(&sim, "other", &Log::new()));
    let pid = other.pid();
    let monitor = asked(&sim, &one, move |ctx| ctx.monitor(pid));
    assert_eq!((one.info().monitors, other.info().monitored_by), (1, 1));
    assert!(asked(&sim, &one, move |ctx| ctx.demonitor(monitor)));
    assert_eq!((one.info().monitors, other.info().monitored_by), (0, 0));
    assert!(!asked(&sim, &one, move |ctx| ctx.demonitor(monitor)));
}

#[test]
fn m6_a_full_diverting_mailbox_refuses_messages_of_another_type() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let fallback = behavior_fn(move |mut ctx: Context<Diverted<u32>>| async move {
        while let Received::Message(diverted) = ctx.receive().await {
            noted.note(diverted.message);
        }
        Ok(())
    });
    let fallback = sim.spawn(move || fallback).start().unwrap();
    let full = behavior_fn(|mut ctx: Context<u32>| async move {
        ctx.take_others();
        ctx.receive().await;
        std::future::pending().await
    });
    let overflow = Overflow::divert(fallback.recipient(), "spare");
    let full = sim.spawn(move || full).mailbox(1).overflow(overflow).start().unwrap();
    sim.run_until_idle();
    full.suspend().wait().unwrap();
    full.send(1).unwrap();
    let refused = sim.send(full.pid(), "text").unwrap_err();
    assert!(refused.is_full());
    assert_eq!(refused.into_message().downcast::<&str>().unwrap(), "text");
    full.send(2).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["2"]);
}

#[test]
fn d7_an_unhandled_message_of_another_type_is_a_dead_letter_of_that_type() {
    let sim = Simulation::new(1);
    let dead_letters = dead_letters(&sim);
    let takes = behavior_fn(|mut ctx: Context<u32>| async move {
        ctx.take_others();
        ctx.receive().await;
        Ok(())
    });
    let takes = sim.spawn(move || takes).start().unwrap();
    sim.run_until_idle();
    takes.suspend().wait().unwrap();
    let (sender, to) = (puppet(&sim, "sender", &Log::new()), takes.pid());
    sender.tells(move |ctx| ctx.send(to, 7_u8).ok().unwrap());
    sim.run_until_idle();
    assert_eq!(sender.info().messages_out, 1);
    sim.kill(to);
    sim.run_until_idle();
    let from = sender.pid();
    assert_eq!(
        dead_letters.take(),
        [format!("u8 to {to} from {from}: receiver ended before it handled the message")]
    );
}

#[test]
fn t1_an_exit_signal_after_a_time_is_from_the_process_that_set_it() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let (hears, sets) = (trapper(&sim, "hears", &log), puppet(&sim, "sets", &log));
    let pid = hears.pid();
    sets.tells(move |ctx| {
        ctx.exit_after(SECOND, pid, boom());
        ctx.exit(pid, Reason::Shutdown);
    });
    sim.advance(SECOND);
    let from = sets.pid();
    assert_eq!(
        log.take(),
        [format!("hears exit {from} shutdown"), format!("hears exit {from} boom")]
    );
}

#[test]
fn d7_a_message_in_reserved_room_of_an_ended_process_is_a_dead_letter() {
    let sim = Simulation::new(1);
    let dead_letters = dead_letters(&sim);
    let doomed = taker(&sim, &Log::new());
    let room = doomed.reserve().unwrap();
    sim.kill(doomed.pid());
    sim.run_until_idle();
    room.send(1);
    sim.run_until_idle();
    let to = doomed.pid();
    assert_eq!(
        dead_letters.take(),
        [format!("u32 to {to}: receiver ended before it handled the message")]
    );
}

#[test]
fn m6_reserved_room_is_not_given_to_others_and_each_place_serves_one() {
    let sim = Simulation::new(1);
    let full = behavior_fn(|mut ctx: Context<u32>| async move {
        while let Received::Message(_) = ctx.receive().await {
            ctx.sleep(SECOND).await;
        }
        Ok(())
    });
    let full = sim.spawn(move || full).mailbox(1).overflow(Overflow::DropOldest).start().unwrap();
    sim.run_until_idle();
    let room = full.reserve().unwrap();
    // Room that should not be there is kept: given back, it would panic in a destructor.
    assert!(full.reserve().map(std::mem::forget).unwrap_err().is_full());
    assert!(full.send(1).unwrap_err().is_full());
    let [mut one, mut other] = [1, 2].map(|_| full.reserve_or_wait().into_future());
    assert!(poll_once(&mut one).is_pending() && poll_once(&mut other).is_pending());
    room.send(1);
    sim.run_until_idle();
    let given = poll_once(&mut one);
    assert!(given.is_ready() && poll_once(&mut other).is_pending());
    drop(given);
    assert!(poll_once(&mut other).is_ready());
}

#[test]
fn x3_a_process_cannot_inspect_itself() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let asks = behavior_fn(move |ctx: Context<()>| async move {
        noted.note(ctx.address().inspect().await == Err(CallError::CallsItself(ctx.pid())));
        Ok(())
    });
    sim.spawn(move || asks).start().unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["true"]);
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("bomb");
    }
}

#[test]
fn d4_a_destructor_that_panics_does_not_hide_why_a_process_was_ended() {
    for sim in simulations(3) {
        let waits = || {
            behavior_fn(|mut ctx: Context<()>| async move {
                let _bomb = Bomb;
                ctx.receive().await;
                Ok(())
            })
        };
        let [killed, exited] = [1, 2].map(|_| sim.spawn(waits).start().unwrap());
        let ends = [killed.watch(), exited.watch()];
        sim.run_until_idle();
        sim.kill(killed.pid());
        sim.exit(exited.pid(), boom());
        let reasons = ends.map(|end| end.wait().unwrap().reason);
        assert_eq!(reasons, [Reason::Killed, boom()]);
    }
}
