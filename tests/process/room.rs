//! Room in odd circumstances: rules M5, M6, N5, D6, X3.

use crate::support::{
    Act, Does, Log, Puppet, boom, on_wake, poll_once, poll_with, puppet, simulations,
};
use krarup::Dynamic;
use krarup::behavior::{BehaviorContext, Received, Route, behavior_fn};
use krarup::mailbox::{Diverted, Overflow, Permit};
use krarup::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::time::Duration;

/// A puppet with room for so many.
fn bounded(sim: &Simulation, log: &Log, room: usize, overflow: Overflow<Act>) -> Address<Act> {
    let puppet = Puppet::new("p", log);
    sim.spawn(move || puppet).mailbox(room).overflow(overflow).wait().unwrap()
}

#[test]
fn m6_the_oldest_is_dropped_regardless_of_its_type() {
    struct Any(Log);
    impl Actor for Any {
        type Message = u8;
        async fn init(&mut self, ctx: &mut Context<u8>) -> Result {
            ctx.take_others();
            Ok(())
        }
        async fn handle_message(&mut self, _: &mut Context<u8>, number: u8) -> Result {
            self.0.note(number);
            Ok(())
        }
        async fn handle_other(&mut self, _: &mut Context<u8>, other: Dynamic) -> Result {
            self.0.note(other.type_name());
            Ok(())
        }
    }
    for sim in simulations(3) {
        let log = Log::new();
        let noted = log.clone();
        let any = sim.spawn(move || Any(noted)).mailbox(2);
        let any = any.overflow(Overflow::DropOldest).wait().unwrap();
        let other = |what: &'static str| sim.send(any.pid(), what).is_ok();
        assert!(other("1") && other("2") && any.send(3).is_ok());
        sim.run_until_idle();
        assert_eq!(log.take(), ["&str", "3"]);
        assert!(other("1") && other("2") && any.send(3).is_ok() && any.send(4).is_ok());
        sim.run_until_idle();
        assert_eq!(log.take(), ["3", "4"]);
        assert_eq!(sim.stats().dead_letters, 3);
    }
}

/// A fallback without room. At its second refusal it gives back the room that it holds at the
/// mailbox that asks it, between the two looks at that mailbox.
struct NoRoom {
    refusals: AtomicU32,
    held: Arc<Mutex<Option<Permit<Act>>>>,
}

impl Route<Diverted<Act>> for NoRoom {
    fn send(&self, message: Diverted<Act>, _: u64) -> Result<(), SendError<Diverted<Act>>> {
        Err(SendError::Full { message, to: Pid::local(7, 0) })
    }

    fn reserve(&self) -> Result<Permit<Diverted<Act>>, SendError<()>> {
        if self.refusals.fetch_add(1, Ordering::Relaxed) == 1 {
            let held = self.held.lock().unwrap().take();
            drop(held);
        }
        Err(SendError::Full { message: (), to: Pid::local(7, 0) })
    }

    fn waiting(&self) -> usize {
        0
    }
}

#[test]
fn m6_room_that_appears_while_the_fallback_refuses_is_not_missed() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let held: Arc<Mutex<Option<Permit<Act>>>> = Arc::default();
    let route = NoRoom { refusals: AtomicU32::new(0), held: Arc::clone(&held) };
    let fallback = behavior_fn(move |mut ctx: Context<Diverted<Act>>| async move {
        ctx.route_main(route);
        std::future::pending::<Result>().await
    });
    let fallback = sim.spawn(move || fallback).start().unwrap();
    sim.run_until_idle();
    let full = bounded(&sim, &log, 1, Overflow::divert(fallback.recipient(), "f"));
    *held.lock().unwrap() = full.reserve().ok();
    full.send_or_wait(Act::nothing()).wait().ok().unwrap();
    assert!(held.lock().unwrap().is_none());
}

#[test]
fn m6_a_fallback_whose_conversion_panics_affects_no_other() {
    struct Never;
    struct PanickingMessage;
    impl From<Diverted<Act>> for PanickingMessage {
        fn from(_: Diverted<Act>) -> Self {
            panic!("conversion")
        }
    }
    impl Actor for Never {
        type Message = PanickingMessage;
        async fn handle_message(
            &mut self,
            _: &mut Context<PanickingMessage>,
            _: PanickingMessage,
        ) -> Result {
            Ok(())
        }
    }
    let sim = Simulation::new(1);
    let log = Log::new();
    let fallback = sim.spawn(|| Never).mailbox(1).wait().unwrap();
    let full = bounded(&sim, &log, 1, Overflow::divert(fallback.recipient(), "f"));
    let _room = full.reserve().ok().unwrap();
    let sender = puppet(&sim, "sender", &log);
    let to = full.clone();
    sender.tells(move |_| assert!(to.send(Act::nothing()).is_ok()));
    sim.run_until_idle();
    assert!(sender.is_alive());
    assert_eq!((sim.stats().dead_letters, fallback.waiting()), (1, 0));
    assert!(fallback.reserve().is_ok(), "its room was given back");
}

#[test]
fn m6_a_dropped_call_is_not_affected_by_the_end_of_the_flooding_sender() {
    for sim in simulations(3) {
        let log = Log::new();
        let full = bounded(&sim, &log, 1, Overflow::DropOldest);
        full.suspend().wait().unwrap();
        let (caller, sender) = (puppet(&sim, "caller", &log), puppet(&sim, "sender", &log));
        let to = full.clone();
        caller.tells(move |ctx| {
            let call = async move {
                to.call(|reply: Reply<()>| {
                    Act::new(move |_| {
                        reply.send(());
                        Ok(())
                    })
                })
                .await
            };
            let noted = |answer| Act::new(move |_| Err(Reason::error(format!("{answer:?}"))));
            ctx.pipe(call, noted).unwrap();
        });
        sim.run_until_idle();
        let to = full.clone();
        sender.does(move |_| {
            to.send(Act::nothing()).ok().unwrap();
            Err(boom())
        });
        sim.run_until_idle();
        let lost = format!("caller terminate Err(NoReply {{ to: {} }})", full.pid());
        assert_eq!(log.count(&lost), 1, "{:?}", log.lines());
    }
}

#[test]
fn d6_a_waiting_sender_is_notified_of_the_end_when_the_name_is_free() {
    for sim in simulations(3) {
        let log = Log::new();
        let puppet = Puppet::new("p", &log);
        let named = sim.spawn(move || puppet).mailbox(1).name("named").wait().unwrap();
        let _room = named.reserve().ok().unwrap();
        let (noted, node) = (log.clone(), sim.node().clone());
        let waker = on_wake(move || noted.note(format!("{:?}", node.whereis("named"))));
        let mut waiting = named.send_or_wait(Act::nothing()).into_future();
        assert!(poll_with(&mut waiting, &waker).is_pending());
        sim.kill(named.pid());
        sim.run_until_idle();
        assert_eq!(log.take(), ["p dropped", "None"]);
    }
}

#[test]
fn n5_room_reserved_by_an_alias_is_void_after_its_revocation() {
    for sim in simulations(3) {
        let log = Log::new();
        let full = bounded(&sim, &log, 1, Overflow::Refuse);
        let (tell, told) = mpsc::channel();
        full.tells(move |ctx| {
            let alias = ctx.alias();
            tell.send((alias, ctx.recipient_by(alias))).unwrap();
        });
        sim.run_until_idle();
        let (alias, by) = told.recv().unwrap();
        let permit = by.reserve().ok().unwrap();
        sim.run_until_idle();
        full.send_max(Act::new(move |ctx| {
            ctx.revoke(alias);
            Ok(())
        }))
        .ok()
        .unwrap();
        sim.run_until_idle();
        let noted = log.clone();
        permit.send(Act::new(move |_| {
            noted.note("arrived");
            Ok(())
        }));
        sim.run_until_idle();
        assert!(log.lines().is_empty());
        assert_eq!(sim.stats().dead_letters, 1);
        assert!(full.reserve().is_ok(), "the room was given back");
    }
}

type Sending = Box<dyn FnOnce(&mut Context<Act>) + Send>;

#[test]
fn x3_a_message_is_counted_once_however_it_is_sent() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let (to, from) = (puppet(&sim, "to", &log), puppet(&sim, "from", &log));
    let (tell, told) = mpsc::channel();
    to.tells(move |ctx| {
        let alias = ctx.alias();
        tell.send((alias, ctx.recipient_by(alias))).unwrap();
    });
    sim.run_until_idle();
    let (alias, by) = told.recv().unwrap();
    let (pid, other) = (to.pid(), to.recipient::<Act>());
    let reserved = to.clone();
    let sends: [Sending; 6] = [
        Box::new(move |_| by.send(Act::nothing()).ok().unwrap()),
        Box::new(move |_| other.send(Act::nothing()).ok().unwrap()),
        Box::new(move |_| reserved.reserve().ok().unwrap().send(Act::nothing())),
        Box::new(move |ctx| ctx.send(pid, Act::nothing()).ok().unwrap()),
        Box::new(move |ctx| ctx.send(alias, Act::nothing()).ok().unwrap()),
        Box::new(move |_| to.send(Act::nothing()).ok().unwrap()),
    ];
    for (count, send) in sends.into_iter().enumerate() {
        from.tells(send);
        sim.run_until_idle();
        assert_eq!(from.info().messages_out, count as u64 + 1);
    }
}

#[test]
fn x3_a_send_by_an_alias_to_a_full_mailbox_is_counted_if_accepted() {
    for (overflow, accepted) in
        [(Overflow::Refuse, 0), (Overflow::DropOldest, 1), (Overflow::DropNewest, 1)]
    {
        let (sim, log) = (Simulation::new(1), Log::new());
        let from = puppet(&sim, "from", &log);
        let full = bounded(&sim, &log, 1, overflow);
        let (tell, told) = mpsc::channel();
        full.tells(move |ctx| {
            let alias = ctx.alias();
            tell.send(ctx.recipient_by(alias)).unwrap();
        });
        sim.run_until_idle();
        let by = told.recv().unwrap();
        full.suspend().wait().unwrap();
        assert!(full.tells(|_| ()));
        from.tells(move |_| drop(by.send(Act::nothing())));
        sim.run_until_idle();
        assert_eq!(from.info().messages_out, accepted);
    }
}

/// Notes what it handles, a second for each; drops its oldest, chosen early or late.
struct Slow(Log, bool);

impl Actor for Slow {
    type Message = u32;

    async fn init(&mut self, ctx: &mut Context<u32>) -> Result {
        if self.1 {
            ctx.set_overflow(Overflow::DropOldest).map_err(Reason::from)?;
        }
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<u32>, number: u32) -> Result {
        // Looks at what comes next, and takes nothing of it.
        assert!(ctx.take_batch_while(9, |_| number == 100).is_empty());
        ctx.sleep(Duration::from_secs(1)).await;
        self.0.note(number);
        Ok(())
    }
}

#[test]
fn m6_the_oldest_of_all_that_wait_is_dropped_though_the_process_has_looked_at_it() {
    for late in [false, true] {
        for (bound, most) in [(1_usize, 1_u32), (3, 3)] {
            for sim in simulations(3) {
                let log = Log::new();
                let noted = log.clone();
                let slow = sim.spawn(move || Slow(noted, late)).mailbox(bound);
                let slow = if late { slow } else { slow.overflow(Overflow::DropOldest) };
                let slow = slow.wait().unwrap();
                let wave = |first: u32| {
                    for number in first..first + 5 {
                        slow.send(number).unwrap();
                    }
                };
                wave(10);
                // One is in hand, the others are at hand.
                sim.run_until_idle();
                wave(20);
                sim.advance(Duration::from_secs(1));
                wave(30);
                sim.advance(Duration::from_secs(9));
                let kept = |last: u32| (last - most + 1..=last).map(|n| n.to_string());
                let mut expected = vec![kept(14).next().unwrap(), kept(24).next().unwrap()];
                expected.extend(kept(34));
                assert_eq!(log.take(), expected, "{late} {bound}");
            }
        }
    }
}

#[test]
fn m1_a_mailbox_that_is_taken_one_by_one_keeps_the_order() {
    for sim in simulations(3) {
        let log = Log::new();
        let full = bounded(&sim, &log, 9, Overflow::DropOldest);
        let note = |number: u32| {
            let noted = log.clone();
            full.tells(move |_| noted.note(number));
        };
        // The third, taken while others wait behind it, sends one more.
        (0..3).for_each(note);
        let (noted, to) = (log.clone(), full.clone());
        full.tells(move |_| {
            noted.note("three");
            to.tells(move |_| noted.note("last"));
        });
        (4..7).for_each(note);
        sim.run_until_idle();
        assert_eq!(log.take(), ["0", "1", "2", "three", "4", "5", "6", "last"]);
    }
}

/// Says that it is in its handler, and stays there until it is let go.
struct Held(mpsc::Sender<u32>, mpsc::Receiver<()>);

impl Actor for Held {
    type Message = u32;

    async fn handle_message(&mut self, _: &mut Context<u32>, number: u32) -> Result {
        self.0.send(number)?;
        self.1.recv()?;
        Ok(())
    }
}

#[test]
fn m6_a_new_waiter_does_not_take_room_of_an_earlier_waiter() {
    let node = Node::start("line@localhost").unwrap();
    let (entered, handled) = mpsc::channel();
    let (gate, held) = mpsc::channel();
    let actor = Held(entered, held);
    let to = node.spawn(move || actor).mailbox(1).wait().unwrap();
    to.send(0).unwrap();
    assert_eq!(handled.recv(), Ok(0));
    to.send(1).unwrap();
    let mut first = to.send_or_wait(2).into_future();
    assert!(poll_once(&mut first).is_pending());
    gate.send(()).unwrap();
    // The process has taken the message, so there is room; it has not given it away.
    assert_eq!(handled.recv(), Ok(1));
    let mut second = to.send_or_wait(3).into_future();
    assert!(poll_once(&mut second).is_pending());
    let mut third = to.reserve_or_wait().into_future();
    assert!(poll_once(&mut third).is_pending());
    for (number, mut send) in [(2, first), (3, second)] {
        gate.send(()).unwrap();
        while poll_once(&mut send).is_pending() {
            std::thread::yield_now();
        }
        assert_eq!(handled.recv(), Ok(number));
    }
    gate.send(()).unwrap();
    while poll_once(&mut third).is_pending() {
        std::thread::yield_now();
    }
    node.stop().wait().unwrap();
}

#[test]
fn m6_a_waiter_that_gives_up_leaves_the_line() {
    let node = Node::start("left-line@localhost").unwrap();
    let (entered, handled) = mpsc::channel();
    let (gate, held) = mpsc::channel();
    let actor = Held(entered, held);
    let to = node.spawn(move || actor).mailbox(1).wait().unwrap();
    to.send(0).unwrap();
    assert_eq!(handled.recv(), Ok(0));
    to.send(1).unwrap();
    let mut given_up = to.send_or_wait(2).into_future();
    assert!(poll_once(&mut given_up).is_pending());
    drop(given_up);
    gate.send(()).unwrap();
    // The process has taken the message, and will not look at the line before the next one.
    assert_eq!(handled.recv(), Ok(1));
    assert_eq!(poll_once(&mut to.send_or_wait(3).into_future()), Poll::Ready(Ok(())));
    (0..2).for_each(|_| gate.send(()).unwrap());
    assert_eq!(handled.recv(), Ok(3));
    node.stop().wait().unwrap();
}

#[test]
fn m6_a_waiter_that_got_room_has_left_the_line() {
    let node = Node::start("given-room@localhost").unwrap();
    let (entered, handled) = mpsc::channel();
    let (gate, held) = mpsc::channel();
    let actor = Held(entered, held);
    let to = node.spawn(move || actor).mailbox(1).wait().unwrap();
    to.send(0).unwrap();
    assert_eq!(handled.recv(), Ok(0));
    to.send(1).unwrap();
    let mut given = to.send_or_wait(2).into_future();
    assert!(poll_once(&mut given).is_pending());
    (0..2).for_each(|_| gate.send(()).unwrap());
    while poll_once(&mut given).is_pending() {
        std::thread::yield_now();
    }
    assert_eq!([handled.recv(), handled.recv()], [Ok(1), Ok(2)]);
    // The process has taken the message, and will not look at the line before the next one.
    assert_eq!(poll_once(&mut to.send_or_wait(3).into_future()), Poll::Ready(Ok(())));
    (0..2).for_each(|_| gate.send(()).unwrap());
    assert_eq!(handled.recv(), Ok(3));
    node.stop().wait().unwrap();
}

#[test]
fn m6_senders_in_line_get_room_before_the_process_has_a_rest() {
    // A process that is never without a message looks up before each of them.
    // The second in line makes the process look up by itself, so each way is tried with one in line too.
    for (fallback, in_line) in [(false, 2), (true, 2), (false, 1), (true, 1)] {
        let sim = Simulation::with_throughput(1, 100);
        let log = Log::new();
        let noted = log.clone();
        let overflow = if fallback {
            let nobody = behavior_fn(|_: Context<Diverted<u32>>| async { Ok(()) });
            let nobody = sim.spawn(|| nobody).start().unwrap();
            Overflow::divert(nobody.recipient(), "nobody")
        } else {
            Overflow::Refuse
        };
        let takes = behavior_fn(move |mut ctx: Context<u32>| async move {
            ctx.sleep(Duration::from_secs(1)).await;
            while let Received::Message(number) = ctx.receive().await {
                noted.note(number);
            }
            Ok(())
        });
        let to = sim.spawn(move || takes).mailbox(4).overflow(overflow).start().unwrap();
        sim.run_until_idle();
        (0..4).for_each(|number| to.send(number).unwrap());
        let noted = log.clone();
        let told = on_wake(move || noted.note("room"));
        let mut first = to.send_or_wait(4).into_future();
        assert!(poll_with(&mut first, &told).is_pending());
        let mut second = to.send_or_wait(5).into_future();
        if in_line == 2 {
            assert!(poll_with(&mut second, &told).is_pending());
        }
        sim.advance(Duration::from_secs(1));
        let expected: &[&str] = match in_line {
            1 => &["0", "room", "1", "2", "3"],
            _ => &["0", "room", "1", "room", "2", "3"],
        };
        assert_eq!(log.take(), expected, "fallback: {fallback}");
    }
}

#[test]
fn m6_a_hundred_thousand_senders_can_wait_in_line_and_leave_it() {
    const MANY: u32 = 100_000;
    const ROOM: u32 = 1_000;
    let sim = Simulation::new(1);
    let counted = Arc::new(AtomicU32::new(0));
    let sum = Arc::clone(&counted);
    let to = move || {
        behavior_fn(move |mut ctx: Context<u32>| async move {
            while let Received::Message(number) = ctx.receive().await {
                assert_eq!(sum.fetch_add(1, Ordering::Relaxed), number, "in their order");
            }
            Ok(())
        })
    };
    let to = sim.spawn(to).mailbox(ROOM as usize).wait().unwrap();
    to.suspend().wait().unwrap();
    (0..ROOM).for_each(|number| to.send(number).unwrap());
    let mut next = ROOM;
    let mut line = std::collections::VecDeque::new();
    for place in 0..MANY {
        // Every second one gives up.
        let gives_up = place % 2 == 1;
        let number = if gives_up { u32::MAX } else { next };
        let mut sending = to.send_or_wait(number).into_future();
        assert!(poll_once(&mut sending).is_pending());
        next += u32::from(!gives_up);
        line.push_back((gives_up, sending));
    }
    // From the end of the line on, then from the middle of it.
    line.make_contiguous().reverse();
    line.retain(|(gives_up, _)| !gives_up);
    line.make_contiguous().reverse();
    to.resume();
    while let Some((_, mut sending)) = line.pop_front() {
        while poll_once(&mut sending).is_pending() {
            sim.run_until_idle();
        }
    }
    sim.run_until_idle();
    assert_eq!(counted.load(Ordering::Relaxed), ROOM + MANY / 2);
    assert_eq!(sim.stats().dead_letters, 0);
}

#[test]
fn m6_a_taken_message_can_be_dropped_as_the_oldest() {
    for sim in simulations(3) {
        let log = Log::new();
        let noted = log.clone();
        let slow = krarup::behavior::behavior_fn(move |mut ctx: Context<u32>| async move {
            ctx.sleep(Duration::from_secs(1)).await;
            ctx.receive().await;
            ctx.set_overflow(Overflow::DropOldest)?;
            ctx.sleep(Duration::from_secs(1)).await;
            while let krarup::behavior::Received::Message(number) = ctx.receive().await {
                noted.note(number);
            }
            Ok(())
        });
        let slow = sim.spawn(move || slow).mailbox(3).start().unwrap();
        sim.run_until_idle();
        (1..=3).for_each(|number| slow.send(number).unwrap());
        sim.advance(Duration::from_secs(1));
        (4..=6).for_each(|number| slow.send(number).unwrap());
        sim.advance(Duration::from_secs(1));
        assert_eq!(log.take(), ["4", "5", "6"]);
    }
}

#[test]
fn m6_taken_messages_keep_their_order_when_the_oldest_is_dropped() {
    let (sim, log) = (Simulation::new(1), Log::new());
    let noted = log.clone();
    let takes = behavior_fn(move |mut ctx: Context<u32>| async move {
        while let Received::Message(number) = ctx.receive().await {
            noted.note(number);
            if number == 0 {
                ctx.set_overflow(Overflow::DropOldest).map_err(Reason::from)?;
            }
        }
        Ok(())
    });
    let to = sim.spawn(move || takes).mailbox(9).start().unwrap();
    sim.run_until_idle();
    (0..7).for_each(|number| to.send(number).unwrap());
    sim.run_until_idle();
    assert_eq!(log.take(), ["0", "1", "2", "3", "4", "5", "6"]);
}

#[test]
fn x3_sends_by_an_alias_are_counted_on_threads_too() {
    let node = Node::start("counted@localhost").unwrap();
    let log = Log::new();
    let (to, from) = (puppet(&node, "to", &log), puppet(&node, "from", &log));
    let (tell, told) = mpsc::channel();
    to.tells(move |ctx| {
        let alias = ctx.alias();
        tell.send(ctx.recipient_by(alias)).unwrap();
    });
    let by = told.recv().unwrap();
    let end = from.watch();
    from.does(move |_| {
        by.send(Act::nothing()).ok().unwrap();
        Err(boom())
    });
    end.wait().unwrap();
    assert_eq!(from.info().messages_out, 1);
    node.stop().wait().unwrap();
}
