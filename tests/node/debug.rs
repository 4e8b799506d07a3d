//! Debugging live processes, and hearing of all of them: rules D7, M7, X3, X4 and X5.

use crate::support::{Does, Log, boom, puppet, settles, simulations};
use krarup::behavior::{BehaviorContext, Received, behavior_fn};
use krarup::mailbox::Overflow;
use krarup::observe::{
    DeadLetter, DeadLetterCause, DebugError, EventTopic, Lifecycle, ProcessState,
};
use krarup::prelude::*;
use krarup::topics::WhenFull;
use krarup::{CannotWait, Dynamic, Target};
use std::sync::mpsc::TryRecvError;
use std::time::Duration;

/// Adds numbers, and shows its sum.
#[derive(Clone, Debug, Default, PartialEq)]
struct Adder {
    sum: u32,
    shows: bool,
}

enum Add {
    Number(u32),
    Slowly(Duration, u32),
    Sum(Reply<u32>),
    Panic,
}

impl Actor for Adder {
    type Message = Add;

    async fn handle_message(&mut self, ctx: &mut Context<Add>, add: Add) -> Result {
        match add {
            Add::Number(number) => self.sum += number,
            Add::Slowly(time, number) => {
                ctx.sleep(time).await;
                self.sum += number;
            }
            Add::Sum(reply) => reply.send(self.sum),
            Add::Panic => panic!("told to"),
        }
        Ok(())
    }

    fn state(&self) -> Option<Dynamic> {
        self.shows.then(|| Dynamic::new(self.clone()))
    }
}

fn adder(sim: &Simulation) -> Address<Add> {
    sim.spawn(|| Adder { sum: 0, shows: true }).wait().unwrap()
}

#[test]
fn x5_the_state_is_shown_between_two_messages_if_it_is_offered() {
    for sim in simulations(5) {
        let adder = adder(&sim);
        for number in 1..=100 {
            adder.send(Add::Number(number)).ok().unwrap();
        }
        let state: Adder = adder.state().wait().unwrap();
        assert!(state.sum <= 5050);
        sim.run_until_idle();
        assert_eq!(sim.state::<Adder>(adder.pid()).wait().unwrap().sum, 5050);
        let wrong = adder.state::<String>().wait().unwrap_err();
        assert!(
            matches!(wrong, DebugError::WrongType { expected, .. } if expected.contains("String"))
        );
        let shy = sim.spawn(Adder::default).wait().unwrap();
        assert_eq!(shy.state::<Adder>().wait(), Err(DebugError::NotOffered(shy.pid())));
        let pool = sim.spawn(|| Pool::new(1, Adder::default)).wait().unwrap();
        assert_eq!(pool.state::<Adder>().wait(), Err(DebugError::NotOffered(pool.pid())));
        sim.kill(adder.pid());
        sim.run_until_idle();
        assert_eq!(adder.state::<Adder>().wait(), Err(DebugError::NoProcess(adder.pid())));
    }
}

#[test]
fn x5_a_suspended_process_handles_nothing_until_it_is_resumed_as_often() {
    for sim in simulations(5) {
        let adder = adder(&sim);
        adder.send(Add::Number(1)).ok().unwrap();
        sim.run_until_idle();
        adder.suspend().wait().unwrap();
        sim.suspend(adder.pid()).wait().unwrap();
        assert_eq!(adder.info().state, ProcessState::Suspended);
        for _ in 0..3 {
            adder.send(Add::Number(10)).ok().unwrap();
            adder.send_high(Add::Number(100)).ok().unwrap();
            adder.send_max(Add::Number(1000)).ok().unwrap();
        }
        sim.run_until_idle();
        let info = adder.info();
        assert_eq!((info.urgent, info.system, info.main), (3, 3, 3));
        // It can be looked at meanwhile.
        let before = adder.state::<Adder>().wait().unwrap().sum;
        assert!(before == 1, "{before}");
        adder.inspect().wait().unwrap();
        assert!(adder.resume());
        sim.run_until_idle();
        assert_eq!(adder.info().state, ProcessState::Suspended);
        assert!(sim.resume(adder.pid()));
        assert!(!adder.resume());
        sim.run_until_idle();
        assert_eq!(adder.call(Add::Sum).wait(), Ok(3331));
        sim.run_until_idle();
        assert_eq!(adder.info().state, ProcessState::Idle);
    }
}

#[test]
fn x5_a_suspension_waits_for_the_handler_and_is_taken_back_if_that_takes_too_long() {
    let sim = Simulation::new(1);
    let adder = adder(&sim);
    adder.send(Add::Slowly(Duration::from_secs(2), 1)).ok().unwrap();
    adder.send(Add::Number(10)).ok().unwrap();
    sim.run_until_idle();
    adder.suspend().wait().unwrap();
    assert_eq!(sim.now().as_nanos(), 2_000_000_000);
    sim.advance(Duration::from_secs(60));
    assert_eq!(adder.state::<Adder>().wait().unwrap().sum, 1);
    adder.resume();
    adder.send(Add::Slowly(Duration::from_secs(7), 100)).ok().unwrap();
    sim.run_until_idle();
    let late = adder.suspend().wait();
    assert_eq!(late, Err(DebugError::Timeout { pid: adder.pid(), limit: Duration::from_secs(5) }));
    sim.advance(Duration::from_secs(60));
    assert_eq!(adder.call(Add::Sum).wait(), Ok(111));
}

#[test]
fn x5_a_suspended_process_can_be_stopped_killed_and_signalled() {
    for end in ["stop", "kill", "exit", "node"] {
        let sim = Simulation::new(1);
        let adder = adder(&sim);
        adder.suspend().wait().unwrap();
        adder.send(Add::Number(1)).ok().unwrap();
        match end {
            "stop" => adder.stop().wait().unwrap(),
            "kill" => sim.kill(adder.pid()),
            "exit" => sim.exit(adder.pid(), boom()),
            _ => sim.stop().wait().unwrap(),
        }
        sim.run_until_idle();
        assert!(!adder.is_alive(), "{end}");
    }
}

#[test]
fn x5_a_process_cannot_debug_itself() {
    struct Curious;
    impl Actor for Curious {
        type Message = Reply<Vec<DebugError>>;
        async fn handle_message(
            &mut self,
            ctx: &mut Context<Self::Message>,
            reply: Self::Message,
        ) -> Result {
            let suspended = ctx.address().suspend().await.unwrap_err();
            let state = ctx.address().state::<u32>().await.unwrap_err();
            let waited = ctx.address().state::<u32>().wait().unwrap_err();
            reply.send(vec![suspended, state, waited]);
            Ok(())
        }
    }
    let sim = Simulation::new(1);
    let curious = sim.spawn(|| Curious).wait().unwrap();
    let itself = DebugError::DebugsItself(curious.pid());
    let errors = curious.call(|reply| reply).wait().unwrap();
    assert_eq!(errors, [itself.clone(), itself, DebugError::CannotWait(CannotWait::InProcess)]);
}

#[test]
fn x5_a_tracer_sees_every_item_just_before_it_is_handled() {
    for sim in simulations(5) {
        let log = Log::new();
        let noter = puppet(&sim, "noter", &log);
        let noted = log.clone();
        noter.trace(move |traced| {
            let kind = match traced.item {
                Received::Message(_) => "message",
                Received::Command(_) => "command",
                Received::Inspect(_) => "inspect",
                Received::Stop(_) => "stop",
                _ => "?",
            };
            let sender = traced.sender.map_or("outside".into(), |pid| pid.to_string());
            noted.note(format!("{kind} to {} from {sender}", traced.pid));
        });
        let pid = noter.pid();
        for n in 0..2 {
            let noted = log.clone();
            noter.tells(move |_| noted.note(n));
        }
        sim.run_until_idle();
        let from_outside = format!("message to {pid} from outside");
        assert_eq!(log.take(), [&*from_outside, "0", &*from_outside, "1"]);
        noter.inspect().wait().unwrap();
        assert_eq!(log.take(), [format!("inspect to {pid} from outside")]);
        noter.stop_trace();
        let noted = log.clone();
        noter.tells(move |_| noted.note(2));
        sim.run_until_idle();
        assert_eq!(log.take(), ["2"]);
    }
}

#[test]
fn x5_a_tracer_that_panics_is_taken_away_and_does_no_harm() {
    let sim = Simulation::new(1);
    let adder = adder(&sim);
    let (looked, looks) = std::sync::mpsc::channel();
    adder.trace(move |_| {
        looked.send(()).unwrap();
        panic!("curious")
    });
    for number in 0..10 {
        adder.send(Add::Number(number)).ok().unwrap();
    }
    assert_eq!(adder.call(Add::Sum).wait(), Ok(45));
    assert_eq!(looks.try_iter().count(), 1, "it looked once");
    assert_eq!(looks.try_recv(), Err(TryRecvError::Disconnected), "and is gone");
    assert!(sim.trace_to_log(adder.pid()) && sim.stop_trace(adder.pid()));
    assert!(!sim.trace_to_log(krarup::Pid::local(99, 0)));
    assert_eq!(adder.call(Add::Sum).wait(), Ok(45));
}

#[test]
fn x5_a_tracer_that_panics_does_not_end_the_suspension_of_its_process() {
    for sim in simulations(3) {
        let log = Log::new();
        let noted = log.clone();
        let bare = behavior_fn(move |mut ctx: Context<u32>| async move {
            loop {
                match ctx.receive().await {
                    Received::Inspect(request) => {
                        noted.note(format!("suspended: {}", ctx.is_suspended()));
                        request.send(krarup::observe::Inspection::new());
                    }
                    Received::Message(number) => noted.note(number),
                    _ => return Ok::<(), Reason>(()),
                }
            }
        });
        let bare = sim.spawn(move || bare).start().unwrap();
        bare.trace(|_| panic!("curious"));
        bare.suspend().wait().unwrap();
        bare.send(1).unwrap();
        bare.inspect().wait().unwrap();
        sim.run_until_idle();
        assert_eq!(log.take(), ["suspended: true"]);
        assert!(bare.resume());
        sim.run_until_idle();
        assert_eq!(log.take(), ["1"]);
    }
}

#[test]
fn x3_process_info_counts_messages_in_out_and_handled() {
    for sim in simulations(5) {
        let adder = adder(&sim);
        let to = adder.clone();
        let sender = behavior_fn(move |mut ctx: Context<u32>| async move {
            for _ in 0..3 {
                to.send(Add::Number(1)).map_err(SendError::without_message)?;
            }
            to.send_max(Add::Number(1)).map_err(SendError::without_message)?;
            ctx.send(to.pid(), Add::Number(1)).map_err(SendError::without_message)?;
            to.call(Add::Sum).await?;
            loop {
                ctx.receive().await;
            }
        });
        let sender = sim.spawn(move || sender).wait().unwrap();
        sim.run_until_idle();
        let (sent, got) = (sender.info(), adder.info());
        assert_eq!((sent.messages_in, sent.messages_out, sent.handled), (0, 6, 0));
        assert_eq!((got.messages_in, got.messages_out, got.handled), (6, 0, 6));
        adder.suspend().wait().unwrap();
        adder.send(Add::Number(1)).ok().unwrap();
        adder.send_high(Add::Number(1)).ok().unwrap();
        sim.run_until_idle();
        let got = adder.info();
        // The suspension is a message as well.
        assert_eq!((got.messages_in, got.handled), (9, 7));
    }
}

#[test]
fn x3_a_message_that_is_dropped_as_the_oldest_was_received_and_one_dropped_as_the_newest_was_not() {
    for sim in simulations(5) {
        for (overflow, received) in [(Overflow::DropOldest, 3), (Overflow::DropNewest, 1)] {
            let waits = || {
                behavior_fn(|mut ctx: Context<u32>| async move {
                    loop {
                        ctx.receive().await;
                    }
                })
            };
            let full = sim.spawn(waits).mailbox(1).overflow(overflow).start().unwrap();
            sim.run_until_idle();
            full.suspend().wait().unwrap();
            let counts = || (full.info().messages_in, full.info().handled);
            let before = counts();
            let to = full.clone();
            let sender = behavior_fn(move |mut ctx: Context<u32>| async move {
                (1..=3).try_for_each(|n| to.send(n)).map_err(SendError::without_message)?;
                loop {
                    ctx.receive().await;
                }
            });
            let sender = sim.spawn(move || sender).wait().unwrap();
            sim.run_until_idle();
            assert_eq!(sender.info().messages_out, 3);
            assert_eq!(full.info().main, 1);
            assert_eq!(counts(), (before.0 + received, before.1));
            full.resume();
            sim.run_until_idle();
            assert_eq!(counts(), (before.0 + received, before.1 + 1));
            // They stay counted when the mailbox refuses, and when the process has ended.
            let of_ended = sim.stats().messages_of_ended.messages_in;
            let count = counts().0;
            sim.kill(full.pid());
            sim.run_until_idle();
            assert_eq!(full.info().messages_in, count);
            assert_eq!(sim.stats().messages_of_ended.messages_in - of_ended, count);
        }
    }
}

/// Those with a limit, which wait at the subscription, and those without one.
#[test]
fn x3_a_process_has_handled_the_events_of_topics_that_it_has_taken() {
    for sim in simulations(5) {
        for limit in [None, Some(9)] {
            let prices = sim.open_unnamed_topic::<u32>().open().unwrap();
            let topic = prices.topic();
            let chart = behavior_fn(move |mut ctx: Context<u32>| async move {
                let subscription = ctx.subscribe(&topic);
                match limit {
                    Some(limit) => subscription.at_most(limit, WhenFull::DropOldest).start()?,
                    None => subscription.start()?,
                };
                loop {
                    ctx.receive().await;
                }
            });
            let chart = sim.spawn(move || chart).wait().unwrap();
            for price in 0..3 {
                prices.publish(price).unwrap();
            }
            let counts = || (chart.info().messages_in, chart.info().handled);
            assert_eq!(counts(), (0, 0), "{limit:?}");
            sim.run_until_idle();
            assert_eq!(counts(), (3, 3), "{limit:?}");
            chart.send(7).unwrap();
            sim.run_until_idle();
            assert_eq!(counts(), (4, 4), "{limit:?}");
            // The list of processes, which the observer shows, has the same.
            let sample = sim.view().sample(chart.pid());
            assert_eq!(sample.map(|sample| sample.handled), Some(4), "{limit:?}");
            drop(prices);
        }
    }
}

/// Notes what it is told of the node.
enum Heard {
    Letter(DeadLetter),
    Life(Lifecycle),
    Subscribe,
    Unsubscribe(EventTopic),
}

impl From<DeadLetter> for Heard {
    fn from(letter: DeadLetter) -> Self {
        Heard::Letter(letter)
    }
}

impl From<Lifecycle> for Heard {
    fn from(event: Lifecycle) -> Self {
        Heard::Life(event)
    }
}

struct Listener(Log);

impl Actor for Listener {
    type Message = Heard;

    async fn handle_message(&mut self, ctx: &mut Context<Heard>, heard: Heard) -> Result {
        match heard {
            Heard::Letter(letter) => self.0.note(letter),
            Heard::Life(Lifecycle::Spawned { pid, name, parent, behavior, .. }) => {
                let parent = parent.map_or("outside".into(), |parent| parent.to_string());
                let name = name.map_or(String::new(), |name| name.to_string());
                self.0.note(format!("{pid} {name} spawned by {parent} {behavior}"));
            }
            Heard::Life(Lifecycle::Initialised { pid }) => self.0.note(format!("{pid} started")),
            Heard::Life(Lifecycle::Ended { pid, name, reason, .. }) => {
                let name = name.map_or(String::new(), |name| name.to_string());
                self.0.note(format!("{pid} {name} ended {reason}"));
            }
            Heard::Life(_) => self.0.note("?"),
            Heard::Subscribe => {
                ctx.subscribe_dead_letters();
                ctx.subscribe_lifecycle();
            }
            Heard::Unsubscribe(topic) => self.0.note(ctx.unsubscribe_events(topic)),
        }
        Ok(())
    }
}

fn listener(sim: &Simulation, log: &Log) -> Address<Heard> {
    let log = log.clone();
    let listener = sim.spawn(move || Listener(log)).mailbox(1).wait().unwrap();
    listener.send(Heard::Subscribe).ok().unwrap();
    sim.run_until_idle();
    listener
}

#[test]
fn x4_subscribers_receive_the_lifecycle_of_every_process() {
    for sim in simulations(5) {
        let log = Log::new();
        let listener = listener(&sim, &log);
        let adder = sim.spawn(Adder::default).name("adder").wait().unwrap();
        sim.run_until_idle();
        let pid = adder.pid();
        assert_eq!(
            log.take(),
            [format!("{pid} adder spawned by outside Adder"), format!("{pid} started"),]
        );
        adder.send(Add::Panic).ok().unwrap();
        sim.run_until_idle();
        let lines = log.take();
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with(&format!("{pid} adder ended panic: told to")), "{lines:?}");
        let ends = behavior_fn(|_: Context<()>| async { Err(boom()) });
        let ended = sim.spawn(move || ends).wait();
        assert!(ended.is_err());
        sim.run_until_idle();
        let lines = log.take();
        assert!(lines.len() == 2 && lines[1].ends_with("ended boom"), "{lines:?}");
        // It starts once, however often it says so.
        let starts = behavior_fn(|mut ctx: Context<()>| async move {
            ctx.initialised();
            ctx.initialised();
            ctx.receive().await;
            Ok(())
        });
        let started = sim.spawn(move || starts).wait().unwrap().pid();
        sim.run_until_idle();
        let lines = log.take();
        assert!(lines.len() == 2 && lines[1] == format!("{started} started"), "{lines:?}");
        listener.send(Heard::Unsubscribe(EventTopic::Lifecycle)).ok().unwrap();
        sim.run_until_idle();
        listener.send(Heard::Unsubscribe(EventTopic::Lifecycle)).ok().unwrap();
        sim.spawn(Adder::default).wait().unwrap();
        sim.run_until_idle();
        assert_eq!(log.take(), ["true", "false"]);
    }
}

#[test]
fn m7_a_send_to_an_ended_process_is_an_error_and_a_dead_letter() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let adder = adder(&sim);
    sim.kill(adder.pid());
    sim.run_until_idle();
    let listener = listener(&sim, &log);
    let pid = adder.pid();
    assert!(adder.send(Add::Number(1)).is_err());
    assert!(adder.send_max(Add::Number(1)).is_err());
    assert!(sim.send(pid, 1_u8).is_err());
    assert!(sim.send("nobody", 1_u8).is_err());
    assert_eq!(adder.call(Add::Sum).wait(), Err(CallError::NoProcess { to: adder.pid() }));
    // What is no message is no letter.
    assert_eq!(adder.inspect().wait(), Err(CallError::NoProcess { to: adder.pid() }));
    assert_eq!(adder.suspend().wait(), Err(DebugError::NoProcess(adder.pid())));
    assert_eq!(adder.state::<u64>().wait(), Err(DebugError::NoProcess(adder.pid())));
    sim.run_until_idle();
    let lines = log.take();
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert!(lines[0].ends_with(&format!("Add to {pid}: no such process")), "{lines:?}");
    assert_eq!(lines[2], format!("u8 to {pid}: no such process"));
    assert_eq!(lines[3], "u8 to \"nobody\": no such process");
    // Who has ended hears of nothing any more, and is in nobody's way.
    listener.stop().wait().unwrap();
    assert!(adder.send(Add::Number(1)).is_err());
    assert_eq!(sim.stats().dead_letters, 6);
}

#[test]
fn d7_messages_accepted_and_never_handled_are_offered_as_dead_letters() {
    for sim in simulations(5) {
        let log = Log::new();
        let adder = adder(&sim);
        let to = adder.clone();
        let sender = behavior_fn(move |_: Context<()>| async move {
            to.send(Add::Number(1)).map_err(SendError::without_message).map_err(Reason::error)
        });
        listener(&sim, &log);
        adder.suspend().wait().unwrap();
        let sender = sim.spawn(move || sender).start().unwrap().pid();
        sim.run_until_idle();
        adder.send_high(Add::Number(2)).ok().unwrap();
        log.take();
        sim.kill(adder.pid());
        sim.run_until_idle();
        let pid = adder.pid();
        let lines = log.take();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(
            lines[0]
                .ends_with(&format!("Add to {pid}: receiver ended before it handled the message"))
        );
        assert!(lines[1].ends_with(&format!(
            "Add to {pid} from {sender}: receiver ended before it handled the message"
        )));
        assert_eq!(lines[2], format!("{pid}  ended killed"));
    }
}

#[test]
fn m7_a_dead_letter_has_receiver_sender_and_cause() {
    let to = Target::Pid(Pid::local(7, 0));
    let letter = DeadLetter::new(to, Some(Pid::local(8, 0)), "u8", DeadLetterCause::Overflow);
    assert_eq!(letter.to_string(), "u8 to <0.7.0> from <0.8.0>: dropped by a full mailbox");
}

#[test]
fn x5_a_suspended_process_rests_whatever_its_mailbox_holds() {
    for sim in simulations(1) {
        let adder = adder(&sim);
        adder.suspend().wait().unwrap();
        adder.send(Add::Number(1)).ok().unwrap();
        assert!(settles(&sim));
        adder.send_high(Add::Number(1)).ok().unwrap();
        assert!(settles(&sim));
        adder.send_max(Add::Number(1)).ok().unwrap();
        assert!(settles(&sim));
        adder.resume();
        assert!(settles(&sim));
        assert_eq!(adder.call(Add::Sum).wait(), Ok(3));
    }
}

#[test]
fn x5_a_tracer_that_panics_when_it_is_replaced_does_no_harm() {
    struct PanickingTracer(Log);
    impl Drop for PanickingTracer {
        fn drop(&mut self) {
            self.0.note("dropped");
            panic!("a tracer that panics when it is dropped");
        }
    }
    let (sim, log) = (Simulation::new(1), Log::new());
    let adder = adder(&sim);
    let tracer = PanickingTracer(log.clone());
    adder.trace(move |_| tracer.0.note("looked"));
    assert_eq!(adder.call(Add::Sum).wait(), Ok(0));
    adder.stop_trace();
    assert_eq!(adder.call(Add::Sum).wait(), Ok(0));
    assert_eq!(log.take(), ["looked", "dropped"]);
    assert!(adder.is_alive());
}
