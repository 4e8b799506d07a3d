//! Full mailboxes: rules M5 and M6.

use crate::support::{Log, poll_once, simulations};
use krarup::mailbox::{Diverted, Overflow};
use krarup::observe::{DeadLetter, DeadLetterCause};
use krarup::pool::Elastic;
use krarup::prelude::*;
use krarup::{CannotWait, Recipient};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::task::Poll;
use std::thread;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Notes what it handles, a second for each.
struct Slow(Log);

impl Actor for Slow {
    type Message = String;

    async fn handle_message(&mut self, ctx: &mut Context<String>, text: String) -> Result {
        ctx.sleep(SECOND).await;
        self.0.note(text);
        Ok(())
    }
}

/// A slow process with room for two, which has one message in hand.
fn busy(sim: &Simulation, log: &Log, overflow: Overflow<String>) -> Address<String> {
    let noted = log.clone();
    let slow = sim.spawn(move || Slow(noted)).mailbox(2).overflow(overflow).wait().unwrap();
    slow.send("in hand".into()).unwrap();
    sim.run_until_idle();
    slow
}

fn send_four(to: &Address<String>) -> Vec<bool> {
    (1..=4).map(|n| to.send(n.to_string()).is_ok()).collect()
}

#[test]
fn m6_a_full_mailbox_refuses_by_default() {
    for sim in simulations(5) {
        let log = Log::new();
        let slow = busy(&sim, &log, Overflow::Refuse);
        assert_eq!(send_four(&slow), [true, true, false, false]);
        sim.advance(9 * SECOND);
        assert_eq!(log.take(), ["in hand", "1", "2"]);
    }
}

#[test]
fn m6_a_mailbox_that_drops_the_oldest_keeps_the_newest_in_order() {
    for sim in simulations(5) {
        let log = Log::new();
        let slow = busy(&sim, &log, Overflow::DropOldest);
        assert_eq!(send_four(&slow), [true; 4]);
        assert_eq!(slow.waiting(), 2);
        assert_eq!(sim.stats().dead_letters, 2);
        sim.advance(2 * SECOND);
        assert_eq!(log.take(), ["in hand", "3"]);
        // One is in hand, none waits: room for two more.
        assert_eq!(send_four(&slow), [true; 4]);
        sim.advance(9 * SECOND);
        assert_eq!(log.take(), ["4", "3", "4"]);
        assert_eq!(sim.stats().dead_letters, 4);
    }
}

#[test]
fn m6_a_mailbox_that_drops_the_newest_keeps_the_oldest() {
    for sim in simulations(5) {
        let log = Log::new();
        let slow = busy(&sim, &log, Overflow::DropNewest);
        assert_eq!(send_four(&slow), [true; 4]);
        assert_eq!(sim.stats().dead_letters, 2);
        sim.advance(9 * SECOND);
        assert_eq!(log.take(), ["in hand", "1", "2"]);
    }
}

/// Notes what was diverted to it, and who had sent it.
struct Spare(Log);

impl Actor for Spare {
    type Message = Diverted<String>;

    async fn handle_message(
        &mut self,
        ctx: &mut Context<Diverted<String>>,
        diverted: Diverted<String>,
    ) -> Result {
        let Diverted { origin, tag, message, .. } = diverted;
        let sender = ctx.sender().map_or("outside".into(), |pid| pid.to_string());
        self.0.note(format!("{message} of {origin} from {sender} as {tag}"));
        Ok(())
    }
}

#[test]
fn m6_overflow_goes_to_the_fallback_with_origin_tag_and_sender() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let spare = sim.spawn(move || Spare(noted)).wait().unwrap();
        let slow = busy(&sim, &log, Overflow::divert(spare.recipient(), "spare"));
        assert_eq!(send_four(&slow), [true; 4]);
        let to = slow.clone();
        let sender = krarup::behavior::behavior_fn(move |_: Context<()>| async move {
            to.send("5".into())?;
            Ok(())
        });
        let sender = sim.spawn(move || sender).start().unwrap().pid();
        sim.run_until_idle();
        let origin = slow.pid();
        assert_eq!(
            log.take(),
            [
                format!("3 of {origin} from outside as spare"),
                format!("4 of {origin} from outside as spare"),
                format!("5 of {origin} from {sender} as spare"),
            ]
        );
        sim.advance(9 * SECOND);
        assert_eq!(log.take(), ["in hand", "1", "2"]);
        assert_eq!(sim.stats().dead_letters, 0);
    }
}

#[test]
fn m6_a_full_or_ended_fallback_refuses_with_the_message() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let noted = log.clone();
    let spare = sim.spawn(move || Spare(noted)).mailbox(1).wait().unwrap();
    sim.suspend(spare.pid()).wait().unwrap();
    let slow = busy(&sim, &log, Overflow::divert(spare.recipient(), "spare"));
    assert_eq!(send_four(&slow), [true, true, true, false]);
    let refused = slow.send("more".into()).unwrap_err();
    assert!(refused.is_full());
    assert_eq!(refused.into_message(), "more");
    sim.kill(spare.pid());
    sim.run_until_idle();
    assert!(slow.send("again".into()).unwrap_err().is_full());
}

/// Diverts to whom it is told; takes its own messages and what others divert to it.
#[derive(Debug)]
enum Link {
    DivertTo(Recipient<Diverted<Link>>),
    Number(u32),
    Spilt(Box<Diverted<Link>>),
}

impl From<Diverted<Link>> for Link {
    fn from(diverted: Diverted<Link>) -> Self {
        Link::Spilt(Box::new(diverted))
    }
}

struct Linked(Log);

impl Actor for Linked {
    type Message = Link;

    async fn handle_message(&mut self, ctx: &mut Context<Link>, link: Link) -> Result {
        match link {
            Link::DivertTo(next) => ctx.set_overflow(Overflow::divert(next, "ring"))?,
            Link::Number(number) => self.0.note(number),
            Link::Spilt(spilt) => self.0.note(format!("{:?}", spilt.message)),
        }
        Ok(())
    }
}

#[test]
fn m6_fallbacks_in_a_cycle_refuse_and_do_not_recurse() {
    for length in 1..=4_u32 {
        let sim = Simulation::new(u64::from(length));
        let log = Log::new();
        let ring: Vec<_> = (0..length)
            .map(|_| {
                let log = log.clone();
                sim.spawn(move || Linked(log)).mailbox(1).wait().unwrap()
            })
            .collect();
        for (index, link) in ring.iter().enumerate() {
            let next = &ring[(index + 1) % ring.len()];
            link.send(Link::DivertTo(next.recipient())).unwrap();
            sim.run_until_idle();
            link.suspend().wait().unwrap();
        }
        // Each has room for one; whoever is sent to, one of the ring takes it.
        for number in 0..length {
            assert!(ring[0].send(Link::Number(number)).is_ok(), "{number}");
        }
        let refused = ring[0].send(Link::Number(99)).unwrap_err();
        assert!(refused.is_full());
        assert!(matches!(refused.into_message(), Link::Number(99)));
        assert!(ring.iter().all(Address::resume));
        sim.run_until_idle();
        let lines = log.take();
        assert_eq!(lines.len(), ring.len(), "{lines:?}");
    }
}

#[test]
fn m6_a_chain_of_more_than_64_fallbacks_refuses() {
    for (length, is_taken) in [(65_usize, true), (66, false), (5_000, false)] {
        let sim = Simulation::new(1);
        let log = Log::new();
        let chain: Vec<_> = (0..length)
            .map(|_| {
                let log = log.clone();
                sim.spawn(move || Linked(log)).mailbox(1).wait().unwrap()
            })
            .collect();
        for pair in chain.windows(2) {
            pair[0].send(Link::DivertTo(pair[1].recipient())).unwrap();
            sim.run_until_idle();
            pair[0].suspend().wait().unwrap();
            pair[0].send(Link::Number(0)).unwrap();
        }
        let sent = chain[0].send(Link::Number(1));
        assert_eq!(sent.is_ok(), is_taken, "{length}");
    }
}

#[test]
fn m6_a_message_dropped_by_a_full_mailbox_fails_its_call_and_is_a_dead_letter() {
    struct Asked(Log);
    impl Actor for Asked {
        type Message = Reply<u32>;
        async fn handle_message(
            &mut self,
            _: &mut Context<Reply<u32>>,
            reply: Reply<u32>,
        ) -> Result {
            self.0.note("asked");
            reply.send(1);
            Ok(())
        }
    }
    struct Undertaker(Log);
    impl Actor for Undertaker {
        type Message = DeadLetter;
        async fn handle_message(
            &mut self,
            _: &mut Context<DeadLetter>,
            letter: DeadLetter,
        ) -> Result {
            assert_eq!(letter.cause, DeadLetterCause::Overflow);
            assert!(letter.message.contains("Reply"));
            self.0.note(letter.to);
            Ok(())
        }
    }
    for overflow in [|| Overflow::DropNewest, || Overflow::DropOldest] {
        let sim = Simulation::new(1);
        let log = Log::new();
        let noted = log.clone();
        let undertaker = sim.spawn(move || Undertaker(noted)).wait().unwrap();
        sim.subscribe_dead_letters(undertaker.recipient());
        let noted = log.clone();
        let asked = sim.spawn(move || Asked(noted)).mailbox(1).overflow(overflow()).wait().unwrap();
        asked.suspend().wait().unwrap();
        let (reply, callers) = (asked.clone(), asked.clone());
        let caller = |to: Address<Reply<u32>>, log: Log| {
            krarup::behavior::behavior_fn(move |_: Context<()>| async move {
                log.note(format!("{:?}", to.call(|reply| reply).await));
                Ok(())
            })
        };
        let (one, two) = (caller(reply, log.clone()), caller(callers, log.clone()));
        sim.spawn(move || one).start().unwrap();
        sim.run_until_idle();
        sim.spawn(move || two).start().unwrap();
        sim.run_until_idle();
        assert_eq!(
            log.take_sorted(),
            [asked.pid().to_string(), format!("Err(NoReply {{ to: {} }})", asked.pid())]
        );
        asked.resume();
        sim.run_until_idle();
        assert_eq!(log.take(), ["asked", "Ok(1)"]);
    }
}

#[test]
fn m6_an_overflow_without_a_bound_is_an_error() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let spawned = sim.spawn(move || Slow(log)).overflow(Overflow::DropNewest).wait();
    assert_eq!(spawned.unwrap_err(), SpawnError::NoBound(krarup::mailbox::NoBound));
    assert!(sim.processes().is_empty());
}

#[test]
fn m6_a_sender_that_waits_gets_room_in_its_turn() {
    for sim in simulations(20) {
        let log = Log::new();
        let slow = busy(&sim, &log, Overflow::Refuse);
        assert_eq!(send_four(&slow), [true, true, false, false]);
        for n in 0..3 {
            let (to, log) = (slow.clone(), log.clone());
            let waiting = krarup::behavior::behavior_fn(move |ctx: Context<()>| async move {
                to.send_or_wait(format!("w{n}")).await.map_err(SendError::without_message)?;
                log.note(format!("sent w{n} at {}", ctx.now().as_nanos() / 1_000_000_000));
                Ok(())
            });
            sim.spawn(move || waiting).start().unwrap();
            sim.run_until_idle();
        }
        assert_eq!(slow.waiting(), 2);
        sim.advance(9 * SECOND);
        assert_eq!(
            log.take(),
            ["in hand", "sent w0 at 1", "1", "sent w1 at 2", "2", "sent w2 at 3", "w0", "w1", "w2",]
        );
    }
}

#[test]
fn m6_a_sender_that_waits_waits_at_a_mailbox_that_drops_too() {
    for overflow in [|| Overflow::DropNewest, || Overflow::DropOldest] {
        for sim in simulations(5) {
            let log = Log::new();
            let slow = busy(&sim, &log, overflow());
            // Two fill the mailbox, and nothing of them is lost for those who wait.
            ["1", "2"].into_iter().for_each(|text| slow.send(text.into()).unwrap());
            let mut waits = slow.send_or_wait("w".into()).into_future();
            assert!(poll_once(&mut waits).is_pending());
            let mut reserves = slow.reserve_or_wait().into_future();
            assert!(poll_once(&mut reserves).is_pending());
            assert_eq!((slow.waiting(), sim.stats().dead_letters), (2, 0));
            sim.advance(9 * SECOND);
            assert!(matches!(poll_once(&mut waits), Poll::Ready(Ok(()))));
            let Poll::Ready(Ok(permit)) = poll_once(&mut reserves) else { panic!("no room") };
            permit.send("r".into());
            sim.advance(9 * SECOND);
            assert_eq!(log.take(), ["in hand", "1", "2", "w", "r"]);
            assert_eq!(sim.stats().dead_letters, 0);
        }
    }
}

#[test]
fn m6_a_sender_that_waits_takes_free_room_of_its_own_mailbox_that_drops() {
    struct Own(Log);
    impl Actor for Own {
        type Message = u32;
        async fn handle_message(&mut self, ctx: &mut Context<u32>, number: u32) -> Result {
            self.0.note(number);
            if number == 1 {
                let own = ctx.address();
                own.send_or_wait(2).await?;
                own.reserve_or_wait().await?.send(3);
                let full = own.send_or_wait(4).await.unwrap_err();
                assert!(matches!(full, SendError::OwnMailbox { message: 4, .. }), "{full}");
                let full = own.reserve_or_wait().await.unwrap_err();
                assert!(matches!(full, SendError::OwnMailbox { .. }), "{full}");
            }
            Ok(())
        }
    }
    for overflow in [|| Overflow::Refuse, || Overflow::DropNewest, || Overflow::DropOldest] {
        let (sim, log) = (Simulation::new(1), Log::new());
        let noted = log.clone();
        let own = sim.spawn(move || Own(noted)).mailbox(2).overflow(overflow()).wait().unwrap();
        own.send(1).unwrap();
        sim.run_until_idle();
        assert_eq!(
            (log.take(), sim.stats().dead_letters),
            (vec!["1".into(), "2".into(), "3".into()], 0)
        );
    }
}

#[test]
fn m6_a_thread_waits_for_room_too() {
    let sim = Simulation::new(3);
    let log = Log::new();
    let slow = busy(&sim, &log, Overflow::Refuse);
    assert_eq!(send_four(&slow), [true, true, false, false]);
    slow.send_or_wait("waited".into()).wait().unwrap();
    assert_eq!(log.lines(), ["in hand"]);
    sim.advance(9 * SECOND);
    assert_eq!(log.take(), ["in hand", "1", "2", "waited"]);
}

#[test]
fn m6_waiting_for_room_ends_with_the_time_and_with_the_receiver_and_gives_the_message_back() {
    let sim = Simulation::new(3);
    let log = Log::new();
    let slow = busy(&sim, &log, Overflow::Refuse);
    assert_eq!(send_four(&slow), [true, true, false, false]);
    let late = slow.send_or_wait("late".into()).timeout(SECOND / 2).wait().unwrap_err();
    assert!(matches!(&late, SendError::Timeout { limit, .. } if *limit == SECOND / 2), "{late}");
    assert_eq!(late.into_message(), "late");
    let to = slow.clone();
    let waiting = krarup::behavior::behavior_fn(move |_: Context<()>| async move {
        let gone = to.send_or_wait("gone".into()).await.unwrap_err();
        assert!(
            matches!(&gone, SendError::NoProcess { message, .. } if message == "gone"),
            "{gone}"
        );
        Ok(())
    });
    let waiting = sim.spawn(move || waiting).start().unwrap();
    sim.run_until_idle();
    sim.kill(slow.pid());
    let end = waiting.watch();
    assert_eq!(end.wait().unwrap().reason, Reason::Normal);
    // Nobody took the room of those that gave up.
    assert_eq!(log.take(), Vec::<String>::new());
    assert!(matches!(
        slow.send_or_wait("x".into()).wait(),
        Err(SendError::NoProcess { to, .. }) if to == slow.pid()
    ));
}

#[test]
fn m6_a_reservation_waits_as_long_as_it_says_on_a_thread_too() {
    let sim = Simulation::new(3);
    let log = Log::new();
    let slow = busy(&sim, &log, Overflow::Refuse);
    assert_eq!(send_four(&slow), [true, true, false, false]);
    let late = slow.reserve_or_wait().timeout(SECOND / 2).wait().map(drop).unwrap_err();
    assert_eq!(late, SendError::Timeout { message: (), to: slow.pid(), limit: SECOND / 2 });
    assert_eq!(log.lines(), Vec::<String>::new(), "its own time is over first");
    // It has left the line, and the room that it gets is its own.
    let room = slow.reserve_or_wait().timeout(9 * SECOND).wait().unwrap();
    assert_eq!(log.lines(), ["in hand"]);
    room.send("reserved".into());
    let to = slow.clone();
    let (told, tells) = (log.clone(), slow.clone());
    let process = krarup::behavior::behavior_fn(move |_: Context<()>| async move {
        told.note(to.reserve_or_wait().wait().map(drop).unwrap_err());
        told.note(tells.reserve_or_wait().timeout(SECOND / 4).await.map(drop).unwrap_err());
        Ok(())
    });
    sim.spawn(move || process).start().unwrap();
    sim.advance(SECOND / 2);
    let told = log.take();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[1].contains("a process cannot use `.wait()`"), "{told:?}");
    assert!(told[2].contains("250ms"), "{told:?}");
    sim.advance(9 * SECOND);
    assert_eq!(log.take(), ["1", "2", "reserved"]);
    assert_eq!(sim.stats().timers, 0);
    sim.kill(slow.pid());
    sim.run_until_idle();
    let gone = slow.reserve_or_wait().wait().map(drop);
    assert_eq!(gone, Err(SendError::NoProcess { message: (), to: slow.pid() }));
}

#[test]
fn m6_a_process_cannot_wait_for_room_in_its_own_mailbox() {
    struct Selfish(Log);
    impl Actor for Selfish {
        type Message = u32;
        async fn handle_message(&mut self, ctx: &mut Context<u32>, n: u32) -> Result {
            if n == 0 {
                ctx.address().send(1).map_err(SendError::without_message)?;
                let own = ctx.address().send_or_wait(2).await.unwrap_err();
                assert!(matches!(own, SendError::OwnMailbox { message: 2, to } if to == ctx.pid()));
                let wait = ctx.address().send_or_wait(3).wait().unwrap_err();
                assert!(matches!(
                    wait,
                    SendError::CannotWait { message: 3, cause: CannotWait::InProcess }
                ));
            }
            self.0.note(n);
            Ok(())
        }
    }
    let sim = Simulation::new(3);
    let log = Log::new();
    let noted = log.clone();
    let selfish = sim.spawn(move || Selfish(noted)).mailbox(1).wait().unwrap();
    selfish.send(0).unwrap();
    sim.run_until_idle();
    assert_eq!(log.take(), ["0", "1"]);
}

#[test]
fn m5_room_that_is_reserved_counts_until_it_is_used_or_given_back() {
    let sim = Simulation::new(1);
    let log = Log::new();
    let slow = busy(&sim, &log, Overflow::Refuse);
    let one = slow.reserve().unwrap();
    let two = slow.reserve().unwrap();
    assert_eq!(slow.reserve().unwrap_err(), SendError::Full { message: (), to: slow.pid() });
    assert!(slow.send("x".into()).unwrap_err().is_full());
    drop(one);
    assert!(slow.send("y".into()).is_ok());
    two.send("z".into());
    assert!(slow.send("x".into()).unwrap_err().is_full());
    sim.advance(9 * SECOND);
    assert_eq!(log.take(), ["in hand", "y", "z"]);
    let late = slow.reserve().unwrap();
    sim.kill(slow.pid());
    sim.run_until_idle();
    late.send("late".into());
    assert_eq!(sim.stats().dead_letters, 1);
    assert_eq!(slow.reserve().unwrap_err(), SendError::NoProcess { message: (), to: slow.pid() });
}

/// Handles messages as fast as it can, and holds the bound against itself.
struct Counting(Arc<AtomicUsize>);

impl Actor for Counting {
    type Message = usize;

    async fn handle_message(&mut self, ctx: &mut Context<usize>, _: usize) -> Result {
        let info = ctx.process_info(ctx.pid()).map_or(0, |info| info.main);
        assert!(info <= 4, "{info} messages wait where 4 may");
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn m6_many_senders_that_wait_are_all_served_and_the_bound_holds() {
    let node = Node::start("overflow@localhost").unwrap();
    let handled = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&handled);
    let counting = node.spawn(move || Counting(counted)).mailbox(4).wait().unwrap();
    let start = Arc::new(Barrier::new(4));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (to, start) = (counting.clone(), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                for n in 0..2_000 {
                    to.send_or_wait(n).wait().unwrap();
                }
            })
        })
        .collect();
    let waiters: Vec<_> = (0..4)
        .map(|_| {
            let to = counting.clone();
            let waiting = krarup::behavior::behavior_fn(move |_: Context<()>| async move {
                for n in 0..2_000 {
                    to.send_or_wait(n).await.map_err(SendError::without_message)?;
                }
                Ok(())
            });
            node.spawn(move || waiting).start().unwrap().watch()
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    for waiter in waiters {
        let down = waiter.wait().unwrap();
        assert!(matches!(down.reason, Reason::Normal | Reason::NoProcess), "{}", down.reason);
    }
    // Everything that was accepted is handled before the process finishes.
    let end = counting.watch();
    counting.finish();
    assert_eq!(end.wait().unwrap().reason, Reason::Normal);
    assert_eq!(handled.load(Ordering::Relaxed), 16_000);
    assert_eq!(node.stats().dead_letters, 0);
    node.stop().wait().unwrap();
}

#[test]
fn m5_a_bound_beyond_the_greatest_is_the_greatest() {
    let sim = Simulation::new(1);
    let spawn = |room: usize| {
        let spawn = sim.spawn(|| Slow(Log::new())).mailbox(room).overflow(Overflow::DropNewest);
        spawn.wait().unwrap()
    };
    let greatest = u32::MAX as usize - 1;
    for room in [1, 2, greatest - 1, greatest] {
        assert_eq!(spawn(room).info().mailbox, Some(room));
    }
    #[cfg(target_pointer_width = "64")]
    let beyond = [greatest + 1, greatest + 2, greatest + 3, greatest << 8, usize::MAX];
    #[cfg(not(target_pointer_width = "64"))]
    let beyond = [greatest + 1];
    for room in beyond {
        let slow = spawn(room);
        assert_eq!(slow.info().mailbox, Some(greatest), "{room}");
        (0..3).for_each(|n| slow.send(n.to_string()).unwrap());
        assert_eq!((slow.waiting(), sim.stats().dead_letters), (3, 0));
    }
}

/// A worker of an elastic pool takes its jobs one by one, so that the others can be moved.
#[test]
fn p13_the_jobs_of_a_worker_that_chooses_its_own_overflow_are_moved_too() {
    struct Choosing(Log, fn() -> Vec<Overflow<String>>);
    impl Actor for Choosing {
        type Message = String;
        async fn init(&mut self, ctx: &mut Context<String>) -> Result {
            (self.1)().into_iter().try_for_each(|overflow| ctx.set_overflow(overflow))?;
            Ok(())
        }
        async fn handle_message(&mut self, ctx: &mut Context<String>, text: String) -> Result {
            ctx.sleep(SECOND).await;
            self.0.note(text);
            Ok(())
        }
    }
    let choices: [fn() -> Vec<Overflow<String>>; 4] = [
        Vec::new,
        || vec![Overflow::DropNewest],
        || vec![Overflow::DropOldest],
        || vec![Overflow::DropOldest, Overflow::Refuse],
    ];
    for choice in choices {
        for sim in simulations(5) {
            let log = Log::new();
            let noted = log.clone();
            let worker = move || Choosing(noted.clone(), choice);
            let elastic = Elastic::between(1, 4).grow_at(1_000).every(SECOND / 4);
            let pool = Pool::new(1, worker).mailbox(40).elastic(elastic);
            let pool = sim.spawn(move || pool).wait().unwrap();
            (0..13).for_each(|n| pool.send(n.to_string()).unwrap());
            // One is done, and another in hand.
            sim.advance(SECOND * 3 / 2);
            pool.add_workers(3).wait().unwrap();
            sim.advance(4 * SECOND);
            assert_eq!(log.take().len(), 13, "four workers handle the remaining jobs");
        }
    }
}
