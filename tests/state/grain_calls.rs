//! Grains as callees and as mailboxes: who calls one waits for a process (rule C5), who sends to
//! one may wait for room (rules K2, M6), and what goes wrong has a type (rule K3).

use crate::machine_support::{Say, Script};
use crate::support::{Act, Log, Puppet, boom, simulations};
use krarup::Recipient;
use krarup::grains::{GrainAddress, GrainCalls, GrainCommand, Grains, ToGrain};
use krarup::prelude::*;
use krarup::supervisor::InPlace;
use krarup::{Event, Next};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A process that asks others, and says what came of it: as a grain, or on its own.
struct Asker;

/// Asks the first of these, which asks the next, and so on.
struct Ask {
    route: Vec<Whom>,
    reply: Reply<Asked>,
}

type Asked = Result<usize, CallError>;

#[derive(Clone)]
enum Whom {
    Grain(GrainAddress<u32, Ask>, u32),
    Process(Address<Ask>),
}

impl Whom {
    async fn ask(&self, route: Vec<Whom>) -> Asked {
        match self {
            Whom::Grain(grains, key) => {
                grains.call_to(*key, |reply| Ask { route, reply }).no_timeout().await?
            }
            Whom::Process(process) => {
                process.call(|reply| Ask { route, reply }).no_timeout().await?
            }
        }
    }
}

impl Actor for Asker {
    type Message = Ask;

    async fn handle_message(&mut self, _: &mut Context<Ask>, ask: Ask) -> Result {
        let Ask { mut route, reply } = ask;
        if route.is_empty() {
            reply.send(Ok(1));
        } else {
            let next = route.remove(0);
            reply.send(next.ask(route).await.map(|count| count + 1));
        }
        Ok(())
    }
}

fn askers(sim: &Simulation) -> GrainAddress<u32, Ask> {
    sim.spawn(|| Grains::new(|_: &u32| Asker)).wait().unwrap()
}

/// A cycle through grains, of which some are there already.
fn cycle_is_found(
    there: &[u32],
    route: impl Fn(&GrainAddress<u32, Ask>, &Address<Ask>) -> Vec<Whom>,
) {
    for sim in simulations(5) {
        let grains = askers(&sim);
        let process = sim.spawn(|| Asker).wait().unwrap();
        for key in there {
            let there = grains.call_to(*key, |reply| Ask { route: Vec::new(), reply }).wait();
            assert_eq!(there, Ok(Ok(1)));
        }
        let route = route(&grains, &process);
        let Some(Whom::Process(first)) = route.first() else { panic!("begins with a process") };
        let begin = sim.now();
        let asked = first.call(|reply| Ask { route: route[1..].to_vec(), reply }).wait().unwrap();
        let Err(CallError::Deadlock(cycle)) = asked else { panic!("{asked:?}") };
        assert_eq!(cycle.pids().len(), route.len() - 1, "{cycle}");
        assert!(cycle.pids().contains(&first.pid()));
        assert!(!cycle.pids().contains(&grains.pid()), "a keeper waits for nobody");
        assert_eq!(sim.now(), begin, "no time has passed");
        // All of them go on.
        let again = first.call(|reply| Ask { route: Vec::new(), reply }).wait();
        assert_eq!(again, Ok(Ok(1)));
    }
}

#[test]
fn c5_a_cycle_of_calls_through_a_grain_is_found_whether_it_is_there_or_is_yet_to_come() {
    let back = |grains: &GrainAddress<u32, Ask>, process: &Address<Ask>| {
        let process = Whom::Process(process.clone());
        vec![process.clone(), Whom::Grain(grains.clone(), 1), process]
    };
    cycle_is_found(&[1], back);
    cycle_is_found(&[], back);
    let far = |grains: &GrainAddress<u32, Ask>, process: &Address<Ask>| {
        let process = Whom::Process(process.clone());
        let grain = |key| Whom::Grain(grains.clone(), key);
        vec![process.clone(), grain(1), grain(2), process]
    };
    for there in [&[][..], &[1], &[2], &[1, 2]] {
        cycle_is_found(there, far);
    }
}

#[test]
fn c5_a_grain_that_calls_its_own_key_calls_itself() {
    for sim in simulations(5) {
        let grains = askers(&sim);
        let route = vec![Whom::Grain(grains.clone(), 1)];
        let asked = grains.call_to(1, |reply| Ask { route, reply }).wait().unwrap();
        assert!(matches!(asked, Err(CallError::CallsItself(_))), "{asked:?}");
        // Another key is another process.
        let route = vec![Whom::Grain(grains.clone(), 2)];
        assert_eq!(grains.call_to(1, |reply| Ask { route, reply }).wait(), Ok(Ok(2)));
    }
}

/// Counts, fails to start while it is told to, and takes its time to go.
struct Slow {
    key: u32,
    fixture: GrainFixture,
}

#[derive(Clone, Default)]
struct GrainFixture {
    /// Keys whose grains cannot start.
    broken: Arc<Mutex<Vec<u32>>>,
    seen: Arc<Mutex<Vec<(u32, u64)>>>,
    ends: Duration,
    made: Arc<AtomicUsize>,
}

enum Do {
    Note(u64),
    Rest(Duration),
    Ask(Reply<u64>),
    SendToMyself(GrainAddress<u32, Do>, Reply<bool>),
}

impl Actor for Slow {
    type Message = Do;

    async fn init(&mut self, _: &mut Context<Do>) -> Result {
        self.fixture.made.fetch_add(1, Ordering::SeqCst);
        if self.fixture.broken.lock().unwrap().contains(&self.key) { Err(boom()) } else { Ok(()) }
    }

    async fn handle_message(&mut self, ctx: &mut Context<Do>, message: Do) -> Result {
        match message {
            Do::Note(n) => self.fixture.seen.lock().unwrap().push((self.key, n)),
            Do::Rest(time) => ctx.sleep(time).await,
            Do::Ask(reply) => reply.send(u64::from(self.key)),
            Do::SendToMyself(grains, reply) => {
                let mut refused = false;
                for n in 0..5 {
                    let sent = grains.send_or_wait_to(self.key, Do::Note(n)).await;
                    refused |= matches!(sent, Err(SendError::OwnMailbox { .. }));
                }
                reply.send(refused);
            }
        }
        Ok(())
    }

    async fn terminate(&mut self, ctx: &mut Context<Do>, _: &Reason) {
        ctx.sleep(self.fixture.ends).await;
    }
}

fn slow(node: &Node, fixture: &GrainFixture) -> GrainAddress<u32, Do> {
    let fixture = fixture.clone();
    node.spawn(move || {
        Grains::new(move |key: &u32| Slow { key: *key, fixture: fixture.clone() })
            .mailbox(2)
            .named(|key| format!("slow/{key}"))
    })
    .wait()
    .unwrap()
}

fn ending_after(ends: Duration) -> GrainFixture {
    GrainFixture { ends, ..GrainFixture::default() }
}

#[test]
fn k2_a_waiter_gets_room_whether_its_grain_runs_starts_or_ends() {
    for sim in simulations(10) {
        let fixture = ending_after(SECOND);
        let grains = slow(&sim, &fixture);
        // Nobody is there: two are held, the others wait until it is.
        let sender = |first: u64| {
            let grains = grains.clone();
            sim.spawn(move || {
                krarup::behavior::behavior_fn(move |_: Context<()>| async move {
                    for n in first..first + 5 {
                        grains
                            .send_or_wait_to(1, Do::Note(n))
                            .await
                            .map_err(SendError::without_message)?;
                    }
                    Ok(())
                })
            })
            .start()
            .unwrap()
        };
        let first = [sender(0), sender(10)];
        sim.run_until_idle();
        assert!(first.iter().all(|sender| !sender.is_alive()));
        assert_eq!(fixture.seen.lock().unwrap().len(), 10);
        // It goes, and then it is full.
        grains.release(1).unwrap();
        sim.run_until_idle();
        let second = [sender(20), sender(30), sender(40)];
        sim.run_until_idle();
        assert_eq!(fixture.seen.lock().unwrap().len(), 10);
        assert_eq!(grains.waiting(), 2);
        assert!(second.iter().all(Address::is_alive));
        sim.advance(2 * SECOND);
        assert!(second.iter().all(|sender| !sender.is_alive()));
        // It is there, and busy.
        grains.send_to(1, Do::Rest(SECOND)).unwrap();
        sim.run_until_idle();
        let third = sender(50);
        sim.run_until_idle();
        assert!(third.is_alive() && grains.waiting() == 2);
        // It is told to go while they wait at it: they are the next one's.
        grains.release(1).unwrap();
        sim.advance(10 * SECOND);
        assert!(!third.is_alive());
        let seen = std::mem::take(&mut *fixture.seen.lock().unwrap());
        assert_eq!(seen.len(), 30);
        for sender in 0..6 {
            let of_one = seen.iter().filter(|(_, n)| n / 10 == sender).map(|(_, n)| n % 10);
            assert!(of_one.eq(0..5), "in order: {seen:?}");
        }
        assert_eq!(sim.stats().dead_letters, 0);
        assert_eq!(grains.inspect().wait().unwrap().number("present"), Some(1));
    }
}

#[test]
fn k2_a_wait_for_room_at_a_grain_ends_with_its_timeout_or_the_keeper() {
    for sim in simulations(5) {
        let fixture = ending_after(10 * SECOND);
        let grains = slow(&sim, &fixture);
        grains.send_to(1, Do::Note(0)).unwrap();
        sim.run_until_idle();
        grains.release(1).unwrap();
        sim.run_until_idle();
        // It goes, and takes 10 s; two are held.
        (1..3).for_each(|n| grains.send_to(1, Do::Note(n)).unwrap());
        assert!(grains.send_to(1, Do::Note(3)).unwrap_err().is_full());
        let late = grains.send_or_wait_to(1, Do::Note(4)).timeout(SECOND).wait().unwrap_err();
        assert!(matches!(&late, SendError::Timeout { limit, .. } if *limit == SECOND));
        assert!(matches!(late.into_message(), ToGrain { key: 1, message: Do::Note(4) }));
        // Of what goes on without waiting nothing is kept either.
        sim.advance(20 * SECOND);
        assert_eq!(*fixture.seen.lock().unwrap(), [(1, 0), (1, 1), (1, 2)]);
        // The mailbox of one that is there, of which a place is given up in the same way.
        grains.send_to(1, Do::Rest(5 * SECOND)).unwrap();
        sim.run_until_idle();
        (5..7).for_each(|n| grains.send_to(1, Do::Note(n)).unwrap());
        let late = grains.send_or_wait_to(1, Do::Note(7)).timeout(SECOND).wait();
        assert!(matches!(late, Err(SendError::Timeout { .. })));
        let waiting = grains.clone();
        let (told, heard) = std::sync::mpsc::channel();
        sim.spawn(move || {
            krarup::behavior::behavior_fn(move |_: Context<()>| async move {
                let sent = waiting.send_or_wait_to(1, Do::Note(8)).await;
                told.send(matches!(
                    sent,
                    Err(SendError::NoProcess { message: ToGrain { key: 1, .. }, .. })
                ))
                .unwrap();
                Ok(())
            })
        })
        .start()
        .unwrap();
        sim.run_until_idle();
        sim.kill(grains.pid());
        sim.run_until_idle();
        assert_eq!(heard.try_recv(), Ok(true));
        let refused = grains.send_or_wait_to(1, Do::Note(9)).wait();
        assert!(matches!(refused, Err(SendError::NoProcess { .. })));
    }
}

#[test]
fn k2_a_grain_does_not_wait_for_room_in_its_own_mailbox() {
    let (sim, fixture) = (Simulation::new(1), GrainFixture::default());
    let grains = slow(&sim, &fixture);
    let to_itself = grains.clone();
    let refused = grains.call_to(1, |reply| Do::SendToMyself(to_itself, reply)).wait();
    assert_eq!(refused, Ok(true));
    sim.run_until_idle();
    assert_eq!(*fixture.seen.lock().unwrap(), [(1, 0), (1, 1)], "there was room for two");
}

#[test]
fn k2_room_at_a_grain_cannot_be_reserved_before_its_message_is_there() {
    let sim = Simulation::new(1);
    let grains = slow(&sim, &GrainFixture::default());
    assert!(matches!(grains.reserve(), Err(SendError::NotReservable { .. })));
    let recipient: Recipient<ToGrain<u32, Do>> = grains.recipient();
    let refused = recipient.send(ToGrain { key: 1, message: Do::Note(1) }).unwrap_err();
    assert!(matches!(refused, SendError::NotReservable { message: ToGrain { key: 1, .. }, .. }));
    let called = recipient.call(|reply| ToGrain { key: 1, message: Do::Ask(reply) }).wait();
    assert_eq!(called, Err(CallError::NotReservable { to: grains.pid() }));
    // What has no key goes by the address alone, also beyond any bound and from a process.
    assert_eq!(grains.call(|reply| ToGrain { key: 1, message: Do::Ask(reply) }).wait(), Ok(1));
    grains.send_or_wait(ToGrain { key: 2, message: Do::Note(1) }).wait().unwrap();
}

#[test]
fn k3_a_grain_that_fails_to_start_fails_the_calls_that_made_it_and_the_next_message_tries_again() {
    for sim in simulations(5) {
        let fixture = GrainFixture::default();
        let grains = slow(&sim, &fixture);
        fixture.broken.lock().unwrap().push(1);
        for tries in 1..4 {
            let failed = grains.call_to(1, Do::Ask).wait();
            // The error names the grain, not its keeper.
            let Err(CallError::NotBegun { to, reason }) = failed else { panic!("{failed:?}") };
            assert!(to != grains.pid() && reason == boom(), "{to} {reason}");
            assert_eq!(fixture.made.load(Ordering::SeqCst), tries, "one try for each message");
            assert_eq!(sim.whereis("slow/1"), None);
        }
        let dead = sim.stats().dead_letters;
        grains.send_to(1, Do::Note(1)).unwrap();
        sim.run_until_idle();
        assert_eq!(sim.stats().dead_letters, dead + 1);
        // Who waits for room hears of it, or has its message lost with the grain's: never in vain.
        (0..2).for_each(|n| grains.send_to(1, Do::Note(n)).unwrap());
        assert!(grains.send_or_wait_to(1, Do::Note(2)).wait().is_ok());
        assert_eq!(grains.call_to(2, Do::Ask).wait(), Ok(2));
        fixture.broken.lock().unwrap().clear();
        assert_eq!(grains.call_to(1, Do::Ask).wait(), Ok(1));
        assert!(grains.is_alive());
    }
}

#[test]
fn k3_a_node_that_stops_ends_its_grains_in_order_and_makes_none() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let grains = sim
            .spawn(move || Grains::new(move |key: &u32| Puppet::new(&key.to_string(), &noted)))
            .wait()
            .unwrap();
        (0..3).for_each(|key| grains.send_to(key, Act::nothing()).unwrap());
        sim.run_until_idle();
        // One is on its way out, and wanted again; one is yet to come.
        grains.release(0).unwrap();
        grains.send_to(3, Act::nothing()).unwrap();
        let stop = sim.stop();
        stop.wait().unwrap();
        assert_eq!(log.count("terminate"), log.count("dropped"));
        assert!(log.count("terminate") >= 3, "{:?}", log.lines());
        assert!(matches!(grains.send_to(1, Act::nothing()), Err(SendError::NoProcess { .. })));
        assert_eq!(sim.stats().processes, 0);
    }
}

#[test]
fn k1_a_grain_ends_exactly_one_idle_time_after_it_was_last_busy() {
    let tick = Duration::from_millis(1);
    let nearly = Duration::from_millis(9_999);
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let grains = sim
            .spawn(move || {
                Grains::new(move |key: &u32| Puppet::new(&key.to_string(), &noted))
                    .idle(10 * SECOND)
            })
            .wait()
            .unwrap();
        let is_there = |there: bool| {
            let inspected = grains.inspect().wait().unwrap();
            assert_eq!(inspected.number("present"), Some(u64::from(there)));
        };
        grains.send_to(1, Act::nothing()).unwrap();
        sim.run_until_idle();
        for pause in [Duration::ZERO, tick, 3 * SECOND, 9 * SECOND, nearly] {
            sim.advance(pause);
            is_there(true);
            grains.send_to(1, Act::nothing()).unwrap();
            sim.run_until_idle();
        }
        // Nobody who only looks keeps it, neither at it nor at its keeper.
        sim.advance(nearly);
        is_there(true);
        sim.advance(tick);
        is_there(false);
        assert_eq!(log.count("terminate"), 1);
        assert_eq!(grains.inspect().wait().unwrap().number("passivated"), Some(1));
    }
}

#[test]
fn k1_a_grain_may_choose_its_own_idle_time_pause_it_and_loses_nothing_it_has_set_aside() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let grains = sim
            .spawn(move || {
                Grains::new(move |key: &u32| Puppet::new(&key.to_string(), &noted))
                    .idle(10 * SECOND)
            })
            .wait()
            .unwrap();
        let tells = |key, act: fn(&mut Context<Act>)| {
            let act = Act::new(move |ctx| {
                act(ctx);
                Ok(())
            });
            grains.send_to(key, act).unwrap();
            sim.run_until_idle();
        };
        tells(1, |ctx| ctx.passivate_after(Some(30 * SECOND)));
        tells(2, |ctx| ctx.passivate_after(None));
        tells(3, Context::pause_passivation);
        tells(4, |ctx| ctx.stash(Act::nothing()).unwrap());
        tells(5, |_| {});
        let gone = || ["1", "2", "3", "4", "5"].map(|key| log.count(&format!("{key} dropped")));
        sim.advance(29 * SECOND);
        assert_eq!(gone(), [0, 0, 0, 0, 1]);
        sim.advance(SECOND);
        assert_eq!(gone(), [1, 0, 0, 0, 1]);
        sim.advance(600 * SECOND);
        assert_eq!(gone(), [1, 0, 0, 0, 1]);
        tells(3, Context::resume_passivation);
        tells(4, |ctx| assert_eq!(ctx.unstash_all(), 1));
        sim.advance(10 * SECOND);
        assert_eq!(gone(), [1, 0, 1, 1, 1]);
        assert_eq!(sim.stats().dead_letters, 0);
    }
}

#[test]
fn k1_a_grain_whose_state_was_replaced_in_place_has_the_idle_time_of_its_keeper() {
    for sim in simulations(5) {
        let log = Log::new();
        let noted = log.clone();
        let grains = sim
            .spawn(move || {
                Grains::new(move |key: &u32| {
                    let (name, log) = (key.to_string(), noted.clone());
                    InPlace::new(move || Puppet::new(&name, &log)).intensity(3, 60 * SECOND)
                })
                .idle(10 * SECOND)
            })
            .wait()
            .unwrap();
        grains
            .send_to(
                1,
                Act::new(|ctx| {
                    ctx.passivate_after(None);
                    Ok(())
                }),
            )
            .unwrap();
        sim.advance(100 * SECOND);
        assert_eq!(log.count("dropped"), 0);
        grains.send_to(1, Act::new(|_| Err(boom()))).unwrap();
        sim.advance(9 * SECOND);
        assert_eq!((log.count("dropped"), log.count("terminate")), (1, 0));
        sim.advance(SECOND);
        assert_eq!((log.count("dropped"), log.count("terminate")), (2, 1));
    }
}

/// One grain of a key at a time, whatever is done to it; nothing that was accepted is lost unless
/// its grain has failed, and what one sender has sent comes in its order.
#[test]
fn k1_one_grain_per_key_and_its_messages_in_order_whatever_ends_it() {
    #[derive(Clone, Default)]
    struct Watch {
        alive: Arc<[AtomicUsize; 3]>,
        seen: Arc<Mutex<Vec<(u32, u64, u64)>>>,
    }

    struct Watched(u32, Watch);

    impl Watched {
        fn new(key: u32, watch: &Watch) -> Self {
            let before = watch.alive[key as usize].fetch_add(1, Ordering::SeqCst);
            assert_eq!(before, 0, "two of one key");
            Watched(key, watch.clone())
        }
    }

    impl Drop for Watched {
        fn drop(&mut self) {
            self.1.alive[self.0 as usize].fetch_sub(1, Ordering::SeqCst);
        }
    }

    impl Actor for Watched {
        type Message = (u64, u64);

        async fn init(&mut self, ctx: &mut Context<Self::Message>) -> Result {
            ctx.sleep(Duration::from_millis(ctx.random() % 3)).await;
            Ok(())
        }

        async fn handle_message(
            &mut self,
            ctx: &mut Context<Self::Message>,
            (from, n): (u64, u64),
        ) -> Result {
            if ctx.random().is_multiple_of(4) {
                ctx.sleep(Duration::from_millis(ctx.random() % 4)).await;
            }
            self.1.seen.lock().unwrap().push((self.0, from, n));
            Ok(())
        }

        async fn terminate(&mut self, ctx: &mut Context<Self::Message>, _: &Reason) {
            ctx.sleep(Duration::from_millis(ctx.random() % 5)).await;
        }
    }

    Simulation::explore(0..300, |sim| {
        let watch = Watch::default();
        let kept = watch.clone();
        let grains = sim
            .spawn(move || {
                Grains::new(move |key: &u32| Watched::new(*key, &kept))
                    .idle(Duration::from_millis(4))
                    .mailbox(2)
            })
            .wait()?;
        let sent = Arc::new(AtomicUsize::new(0));
        for from in 0..4 {
            let (grains, sent) = (grains.clone(), Arc::clone(&sent));
            sim.spawn(move || {
                krarup::behavior::behavior_fn(move |ctx: Context<()>| async move {
                    for n in 0..12 {
                        let key = u32::try_from(ctx.random() % 3).unwrap_or(0);
                        let accepted = match ctx.random() % 3 {
                            0 => grains.send_to(key, (from, n)).is_ok(),
                            1 => grains.send_or_wait_to(key, (from, n)).await.is_ok(),
                            _ => {
                                let limit = Duration::from_millis(ctx.random() % 4);
                                let waits = grains.send_or_wait_to(key, (from, n)).timeout(limit);
                                waits.await.is_ok()
                            }
                        };
                        sent.fetch_add(usize::from(accepted), Ordering::SeqCst);
                        if ctx.random().is_multiple_of(3) {
                            let _ = grains.release(key);
                        }
                        if ctx.random().is_multiple_of(3) {
                            ctx.sleep(Duration::from_millis(ctx.random() % 9)).await;
                        }
                    }
                    Ok(())
                })
            })
            .start()?;
        }
        sim.advance(10 * SECOND);
        let seen = watch.seen.lock().unwrap();
        assert_eq!(seen.len(), sent.load(Ordering::SeqCst));
        for (key, from) in (0..3).flat_map(|key| (0..4).map(move |from| (key, from))) {
            let of_one = seen.iter().filter(|(to, by, _)| (*to, *by) == (key, from));
            assert!(of_one.map(|(_, _, n)| n).is_sorted(), "{seen:?}");
        }
        assert_eq!(sim.stats().dead_letters, 0);
        let inspected = grains.inspect().wait()?;
        let rooms = ["present", "coming", "leaving"].map(|what| inspected.number(what));
        assert_eq!(rooms, [Some(0), Some(0), Some(0)], "nothing is left");
        Ok(())
    });
}

/// What is done to all grains is done in the same order for the same seed.
#[test]
fn k3_the_same_seed_ends_its_grains_in_the_same_order() {
    let ends = || {
        let sim = Simulation::new(5);
        let log = Log::new();
        let noted = log.clone();
        let grains = sim
            .spawn(move || {
                Grains::new(move |key: &u32| Puppet::new(&key.to_string(), &noted)).idle(SECOND)
            })
            .wait()
            .unwrap();
        (0..40).for_each(|key| grains.send_to(key, Act::nothing()).unwrap());
        sim.run_until_idle();
        sim.advance(2 * SECOND);
        (0..40).for_each(|key| grains.send_to(key, Act::nothing()).unwrap());
        sim.run_until_idle();
        grains.stop().wait().unwrap();
        log.take()
    };
    let first = ends();
    assert_eq!(first.len(), 160);
    assert_eq!(first, ends());
}

#[test]
fn k2_no_sender_waits_for_room_in_vain_between_threads() {
    let node = Node::start("grain-calls@localhost").unwrap();
    let fixture = GrainFixture::default();
    let grains = slow(&node, &fixture);
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let grains = grains.clone();
            std::thread::spawn(move || {
                for n in 0..1000 {
                    grains.send_or_wait_to(n % 2, Do::Note(u64::from(n))).wait().unwrap();
                    if n % 37 == thread {
                        grains.release(n % 2).unwrap();
                    }
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    (0..2).for_each(|key| has_handled_all(&grains, key));
    assert_eq!(fixture.seen.lock().unwrap().len(), 4000);
    assert!(grains.send_high(GrainCommand::Release(7)).is_ok());
    node.stop().wait().unwrap();
}

/// Waits until what was sent to this grain has been handled.
fn has_handled_all(grains: &GrainAddress<u32, Do>, key: u32) {
    let answer = loop {
        match grains.call_to(key, Do::Ask).no_timeout().wait() {
            Err(CallError::Full { .. }) => std::thread::yield_now(),
            answer => break answer,
        }
    };
    assert_eq!(answer, Ok(u64::from(key)));
}

/// Grains find out that they are idle while others send to them.
#[test]
fn k2_nothing_is_lost_between_threads_when_grains_go_by_themselves() {
    const KEYS: u32 = 400;
    let node = Node::start("grain-idle@localhost").unwrap();
    let fixture = GrainFixture::default();
    let kept = fixture.clone();
    let grains = node
        .spawn(move || {
            Grains::new(move |key: &u32| Slow { key: *key, fixture: kept.clone() })
                .idle(Duration::from_millis(1))
        })
        .wait()
        .unwrap();
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let grains = grains.clone();
            std::thread::spawn(move || {
                for n in 0..20 * KEYS {
                    grains.send_to(n % KEYS, Do::Note(u64::from(n))).unwrap();
                    (0..n % 20).for_each(|_| std::thread::yield_now());
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    (0..KEYS).for_each(|key| has_handled_all(&grains, key));
    assert_eq!(fixture.seen.lock().unwrap().len(), 40 * KEYS as usize);
    assert_eq!(node.stats().dead_letters, 0);
    assert!(grains.inspect().wait().unwrap().number("passivated") > Some(0));
    node.stop().wait().unwrap();
}

#[test]
fn k2_an_idle_grain_that_is_a_state_machine_loses_nothing_that_it_has_postponed() {
    for sim in simulations(3) {
        let log = Log::new();
        let noted = log.clone();
        let machine = move |_: &u32| {
            let script = Script::new(&noted, |_, state, event| {
                Ok(match event {
                    Event::Message(Say::Word("open")) => Next::state("b"),
                    event if state == "a" => Next::keep().postpone(event),
                    _ => Next::keep(),
                })
            });
            script.machine()
        };
        let grains = sim.spawn(move || Grains::new(machine).idle(SECOND)).wait().unwrap();
        grains.send_to(1, Say::Word("later")).unwrap();
        sim.advance(10 * SECOND);
        assert_eq!(log.count("dropped"), 0);
        grains.send_to(1, Say::Word("open")).unwrap();
        sim.run_until_idle();
        assert_eq!((log.count("b word later"), log.count("dropped")), (1, 0));
        // It has nothing any more, and goes when it is idle.
        sim.advance(SECOND);
        assert_eq!((log.count("dropped"), sim.stats().dead_letters), (1, 0));
    }
}
