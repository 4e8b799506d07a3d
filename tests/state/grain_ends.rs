//! The ends of grains and of their keeper (rules K1 to K3): what is an end, and what only looks
//! like one.

use crate::support::{Log, boom, simulations};
use krarup::behavior::behavior_fn;
use krarup::grains::{GrainAddress, GrainCalls, Grains};
use krarup::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// What a grain does when it is told to.
#[derive(Clone)]
enum Do {
    /// Sends its keeper an exit signal, and goes on.
    Signal(Reason),
    /// Sends its keeper two exit signals, and ends with this reason.
    SignalAndEnd(Reason, Reason),
    /// Takes its link to the keeper away.
    Unlink,
    End(Reason),
    SetAside,
    Note(u64),
    /// Takes its time, and then waits for room for messages to its own key.
    SendToItself,
}

enum Tell {
    Do(Do),
    Ask(Reply<Pid>),
}

/// How many live of each key, and what they have noted.
#[derive(Clone, Default)]
struct GrainFixture {
    alive: Arc<[AtomicUsize; 4]>,
    most: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<(u32, u64)>>>,
    /// Whether one in four fails its `init`.
    fails: Arc<AtomicBool>,
    /// How long an end takes.
    slow: Duration,
    /// The signal that each sends its keeper in its `terminate`.
    last_word: Option<Reason>,
    /// How to reach them all; and what came of a grain's messages to its own key.
    keeper: Arc<Mutex<Option<Address>>>,
    to_itself: Arc<Mutex<Vec<&'static str>>>,
}

impl GrainFixture {
    /// Sends to the key of the grain that runs this, and waits for room.
    async fn send_to_itself(&self, key: u32) {
        let grains = self.keeper.lock().unwrap().clone().unwrap();
        let told = match grains.send_or_wait_to(key, Tell::Do(Do::Note(7))).await {
            Ok(()) => "sent",
            Err(SendError::OwnMailbox { .. }) => "refused",
            Err(_) => "another error",
        };
        self.to_itself.lock().unwrap().push(told);
    }
}

struct Grain {
    key: u32,
    fixture: GrainFixture,
}

impl Grain {
    fn new(key: u32, fixture: &GrainFixture) -> Self {
        let alive = fixture.alive[key as usize].fetch_add(1, Ordering::SeqCst) + 1;
        fixture.most.fetch_max(alive, Ordering::SeqCst);
        Grain { key, fixture: fixture.clone() }
    }
}

impl Drop for Grain {
    fn drop(&mut self) {
        self.fixture.alive[self.key as usize].fetch_sub(1, Ordering::SeqCst);
    }
}

impl Actor for Grain {
    type Message = Tell;

    async fn init(&mut self, ctx: &mut Context<Tell>) -> Result {
        let fails = self.fixture.fails.load(Ordering::SeqCst) && ctx.random().is_multiple_of(4);
        if fails { Err(boom()) } else { Ok(()) }
    }

    async fn handle_message(&mut self, ctx: &mut Context<Tell>, tell: Tell) -> Result {
        let keeper = ctx.parent().expect("a grain has a keeper");
        match tell {
            Tell::Ask(reply) => reply.send(ctx.pid()),
            Tell::Do(Do::Signal(reason)) => ctx.exit(keeper, reason),
            Tell::Do(Do::SignalAndEnd(reason, end)) => {
                ctx.exit(keeper, reason.clone());
                ctx.exit(keeper, reason);
                return Err(end);
            }
            Tell::Do(Do::Unlink) => ctx.unlink(keeper),
            Tell::Do(Do::End(reason)) => return Err(reason),
            Tell::Do(Do::SetAside) => ctx.stash(Tell::Do(Do::SetAside)).map_err(|_| boom())?,
            Tell::Do(Do::SendToItself) => {
                ctx.sleep(SECOND).await;
                self.fixture.send_to_itself(self.key).await;
            }
            Tell::Do(Do::Note(n)) => self.fixture.seen.lock().unwrap().push((self.key, n)),
        }
        Ok(())
    }

    async fn terminate(&mut self, ctx: &mut Context<Tell>, _: &Reason) {
        if let (Some(word), Some(keeper)) = (&self.fixture.last_word, ctx.parent()) {
            ctx.exit(keeper, word.clone());
        }
        ctx.sleep(self.fixture.slow).await;
        if self.fixture.keeper.lock().unwrap().is_some() {
            self.fixture.send_to_itself(self.key).await;
        }
    }
}

type Address = GrainAddress<u32, Tell>;

fn grains(sim: &Simulation, fixture: &GrainFixture) -> Address {
    let fixture = fixture.clone();
    sim.spawn(move || {
        Grains::new(move |key: &u32| Grain::new(*key, &fixture))
            .mailbox(2)
            .named(|key| format!("grain/{key}"))
    })
    .wait()
    .unwrap()
}

fn tell(grains: &Address, key: u32, what: Do) {
    assert!(grains.send_to(key, Tell::Do(what)).is_ok());
}

fn most(fixture: &GrainFixture) -> usize {
    fixture.most.load(Ordering::SeqCst)
}

fn alive(fixture: &GrainFixture) -> usize {
    fixture.alive.iter().map(|count| count.load(Ordering::SeqCst)).sum()
}

#[test]
fn k1_an_exit_signal_of_a_grain_that_lives_is_not_its_end() {
    for reason in [Reason::Normal, Reason::Shutdown, boom()] {
        for sim in simulations(5) {
            let fixture = GrainFixture::default();
            let grains = grains(&sim, &fixture);
            let first = grains.call_to(1, Tell::Ask).wait().unwrap();
            tell(&grains, 1, Do::Signal(reason.clone()));
            sim.run_until_idle();
            // A message would make a second one.
            tell(&grains, 1, Do::Note(1));
            sim.run_until_idle();
            assert_eq!((most(&fixture), sim.whereis("grain/1")), (1, Some(first)), "{reason}");
            assert_eq!(grains.call_to(1, Tell::Ask).wait(), Ok(first));
            assert_eq!(grains.inspect().wait().unwrap().number("made"), Some(1));
            // Its end is still heard of.
            tell(&grains, 1, Do::End(boom()));
            sim.run_until_idle();
            assert_eq!(alive(&fixture), 0);
            assert_ne!(grains.call_to(1, Tell::Ask).wait(), Ok(first));
            assert_eq!(most(&fixture), 1);
        }
    }
}

#[test]
fn k1_a_signal_that_a_grain_sends_in_its_end_brings_its_successor_no_earlier() {
    for sim in simulations(5) {
        let fixture =
            GrainFixture { slow: 5 * SECOND, last_word: Some(boom()), ..GrainFixture::default() };
        let grains = grains(&sim, &fixture);
        tell(&grains, 1, Do::Note(1));
        sim.run_until_idle();
        grains.release(1).unwrap();
        sim.run_until_idle();
        tell(&grains, 1, Do::Note(2));
        sim.advance(4 * SECOND);
        assert_eq!(*fixture.seen.lock().unwrap(), [(1, 1)], "the previous grain has not ended");
        assert_eq!(grains.inspect().wait().unwrap().number("leaving"), Some(1));
        sim.advance(2 * SECOND);
        assert_eq!(*fixture.seen.lock().unwrap(), [(1, 1), (1, 2)]);
        assert_eq!((most(&fixture), sim.stats().dead_letters), (1, 0));
    }
}

#[test]
fn k3_signals_of_strangers_and_ended_grains_do_not_end_the_keeper() {
    for sim in simulations(5) {
        let fixture = GrainFixture::default();
        let grains = grains(&sim, &fixture);
        for end in [Reason::Normal, boom()] {
            for signal in [Reason::Normal, boom()] {
                // They may come before and behind what tells of the end.
                tell(&grains, 1, Do::SignalAndEnd(signal, end.clone()));
                sim.run_until_idle();
                assert!(grains.is_alive());
            }
        }
        let keeper = grains.pid();
        sim.spawn(move || {
            behavior_fn(move |mut ctx: Context<()>| async move {
                ctx.exit(keeper, boom());
                ctx.link(keeper);
                Err(boom())
            })
        })
        .start()
        .unwrap();
        sim.run_until_idle();
        assert!(grains.is_alive());
        assert!(grains.call_to(1, Tell::Ask).wait().is_ok());
        // A kill ends it, as it does any process.
        sim.exit(keeper, Reason::Kill);
        sim.run_until_idle();
        assert_eq!((grains.is_alive(), alive(&fixture)), (false, 0));
    }
}

#[test]
fn k3_the_keeper_is_notified_of_and_waits_for_a_grain_that_unlinked_itself() {
    for sim in simulations(5) {
        let fixture = GrainFixture { slow: SECOND, ..GrainFixture::default() };
        let grains = grains(&sim, &fixture);
        tell(&grains, 1, Do::Unlink);
        tell(&grains, 1, Do::End(boom()));
        sim.advance(2 * SECOND);
        assert_eq!(alive(&fixture), 0);
        assert!(grains.call_to(1, Tell::Ask).timeout(SECOND).wait().is_ok());
        tell(&grains, 1, Do::Unlink);
        sim.run_until_idle();
        grains.stop().wait().unwrap();
        assert_eq!(alive(&fixture), 0, "a keeper does not end before its grains");
    }
}

#[test]
fn k3_a_keeper_does_not_take_a_signal_for_the_end_that_it_waits_for() {
    for sim in simulations(5) {
        let fixture =
            GrainFixture { slow: SECOND, last_word: Some(boom()), ..GrainFixture::default() };
        let grains = grains(&sim, &fixture);
        (0..3).for_each(|key| tell(&grains, key, Do::Note(0)));
        sim.run_until_idle();
        assert_eq!(alive(&fixture), 3);
        let began = sim.now();
        grains.stop().wait().unwrap();
        assert_eq!((alive(&fixture), sim.now().since(began)), (0, SECOND));
    }
}

#[test]
fn k2_a_waiter_for_room_at_a_grain_is_notified_at_once_when_the_keeper_ends() {
    for sim in simulations(5) {
        let fixture = GrainFixture { slow: 2 * SECOND, ..GrainFixture::default() };
        let grains = grains(&sim, &fixture);
        let log = Log::new();
        let waits = |name: &'static str| {
            let (grains, log) = (grains.clone(), log.clone());
            sim.spawn(move || {
                behavior_fn(move |_: Context<()>| async move {
                    let sent = grains.send_or_wait_to(1, Tell::Do(Do::Note(9))).await;
                    let refused = matches!(sent, Err(SendError::NoProcess { .. }));
                    log.note(format!("{name} refused {refused}"));
                    Ok(())
                })
            })
            .start()
            .unwrap();
        };
        // It is on its way out and two are held for the next: whoever waits, waits in the book.
        tell(&grains, 1, Do::Note(0));
        sim.run_until_idle();
        grains.release(1).unwrap();
        sim.run_until_idle();
        (0..2).for_each(|n| tell(&grains, 1, Do::Note(n)));
        waits("first");
        waits("second");
        sim.run_until_idle();
        assert_eq!(log.lines(), Vec::<String>::new());
        let stop = grains.stop();
        let began = sim.now();
        grains.process().request_stop(Reason::Shutdown);
        sim.run_until_idle();
        assert_eq!(log.take_sorted(), ["first refused true", "second refused true"]);
        assert_eq!(sim.now(), began);
        stop.wait().ok();
    }
}

#[test]
fn k2_a_grain_does_not_wait_for_room_at_its_own_key() {
    for sim in simulations(5) {
        let fixture = GrainFixture { slow: SECOND, ..GrainFixture::default() };
        let grains = grains(&sim, &fixture);
        *fixture.keeper.lock().unwrap() = Some(grains.clone());
        let waits = || {
            let grains = grains.clone();
            sim.spawn(move || {
                behavior_fn(move |_: Context<()>| async move {
                    let sent = grains.send_or_wait_to(1, Tell::Do(Do::Note(1))).await;
                    sent.map_err(SendError::without_message)?;
                    Ok(())
                })
            })
            .start()
            .unwrap();
        };
        // Its mailbox is full, and others stand in line: they would wait for it, and it for them.
        tell(&grains, 1, Do::SendToItself);
        sim.run_until_idle();
        (0..2).for_each(|n| tell(&grains, 1, Do::Note(n)));
        (0..3).for_each(|_| waits());
        sim.advance(2 * SECOND);
        assert_eq!(*fixture.to_itself.lock().unwrap(), ["refused"]);
        assert_eq!(fixture.seen.lock().unwrap().len(), 5, "and all others have room");
        // It ends, and as many are held for the next one as may be.
        grains.release(1).unwrap();
        sim.run_until_idle();
        (0..2).for_each(|n| tell(&grains, 1, Do::Note(n)));
        waits();
        sim.advance(2 * SECOND);
        assert_eq!(*fixture.to_itself.lock().unwrap(), ["refused", "refused"]);
        assert_eq!(fixture.seen.lock().unwrap().len(), 8);
        *fixture.keeper.lock().unwrap() = None;
    }
}

#[test]
fn k2_the_stash_of_a_released_grain_is_lost() {
    for sim in simulations(5) {
        let fixture = GrainFixture::default();
        let grains = grains(&sim, &fixture);
        tell(&grains, 1, Do::SetAside);
        sim.run_until_idle();
        assert_eq!((alive(&fixture), sim.stats().dead_letters), (1, 0));
        grains.release(1).unwrap();
        sim.run_until_idle();
        assert_eq!((alive(&fixture), sim.stats().dead_letters), (0, 1));
    }
}

/// Whatever ends grains, and whatever looks like an end: there is one of a key at a time, a keeper
/// lives, everybody hears, and each message is handled or counted as lost.
#[test]
fn k1_one_grain_at_a_time_for_real_and_apparent_ends() {
    Simulation::explore(0..300, |sim| {
        let fixture = GrainFixture {
            slow: Duration::from_millis(2),
            last_word: Some(boom()),
            ..GrainFixture::default()
        };
        let grains = grains(sim, &fixture);
        fixture.fails.store(true, Ordering::SeqCst);
        let ended = Arc::new(AtomicUsize::new(0));
        for from in 0..4_u64 {
            let (grains, ended) = (grains.clone(), Arc::clone(&ended));
            sim.spawn(move || {
                behavior_fn(move |ctx: Context<()>| async move {
                    for n in 0..15 {
                        let key = u32::try_from(ctx.random() % 3).unwrap_or(0);
                        let what = match ctx.random() % 8 {
                            0 => Do::Signal(boom()),
                            1 => Do::Signal(Reason::Normal),
                            2 => Do::SignalAndEnd(boom(), Reason::Normal),
                            3 => Do::Unlink,
                            4 => Do::End(boom()),
                            _ => Do::Note(from * 100 + n),
                        };
                        if ctx.random().is_multiple_of(2) {
                            drop(grains.send_to(key, Tell::Do(what)));
                        } else {
                            drop(grains.send_or_wait_to(key, Tell::Do(what)).await);
                        }
                        match ctx.random() % 6 {
                            0 => drop(grains.release(key)),
                            1 => drop(ctx.whereis(&format!("grain/{key}")).map(|grain| {
                                ctx.exit(grain, Reason::Kill);
                            })),
                            2 => ctx.sleep(Duration::from_millis(ctx.random() % 4)).await,
                            _ => {}
                        }
                    }
                    ended.fetch_add(1, Ordering::SeqCst);
                    Ok(())
                })
            })
            .start()?;
        }
        sim.advance(20 * SECOND);
        assert_eq!(ended.load(Ordering::SeqCst), 4, "no sender waits for ever");
        fixture.fails.store(false, Ordering::SeqCst);
        assert_eq!(sim.stats().processes, 1 + alive(&fixture));
        assert_eq!(most(&fixture), 1);
        for key in 0..3 {
            assert!(grains.call_to(key, Tell::Ask).timeout(SECOND).wait().is_ok());
        }
        Ok(())
    });
}
