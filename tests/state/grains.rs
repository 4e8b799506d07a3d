//! Grains (rules K1 to K3): they are there when they are needed, one at a time, and nothing is
//! lost between one and the next.

use crate::support::{Log, boom, simulations};
use krarup::grains::{GrainAddress, GrainCalls, GrainCommand, Grains, ToGrain};
use krarup::prelude::*;
use krarup::testing::Probe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

enum Say {
    Add(u64),
    Sum(Reply<u64>),
    Fail,
    Wait(Duration),
    Sender(Reply<Option<Pid>>),
    Release,
    Number(u64, Reply<u64>),
}

/// What is written down between two lives of a grain, and how many live at once.
#[derive(Clone, Default)]
struct Disk {
    sums: Arc<Mutex<std::collections::HashMap<u32, u64>>>,
    alive: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

struct Register {
    key: u32,
    sum: u64,
    disk: Disk,
    log: Log,
    /// How long its `terminate` takes.
    slow: Duration,
    keeper: Option<GrainAddress<u32, Say>>,
}

impl Register {
    fn new(key: u32, disk: &Disk, log: &Log) -> Self {
        let alive = disk.alive.fetch_add(1, Ordering::SeqCst) + 1;
        disk.most.fetch_max(alive, Ordering::SeqCst);
        let (disk, log) = (disk.clone(), log.clone());
        Register { key, sum: 0, disk, log, slow: Duration::ZERO, keeper: None }
    }
}

impl Drop for Register {
    fn drop(&mut self) {
        self.disk.alive.fetch_sub(1, Ordering::SeqCst);
        self.log.note(format!("{} gone", self.key));
    }
}

impl Actor for Register {
    type Message = Say;

    async fn init(&mut self, ctx: &mut Context<Say>) -> Result {
        self.log.note(format!("{} comes", self.key));
        self.sum = self.disk.sums.lock().unwrap().get(&self.key).copied().unwrap_or(0);
        if let Some(parent) = ctx.parent() {
            self.keeper = ctx.address_of(parent).ok();
        }
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Say>, say: Say) -> Result {
        match say {
            Say::Add(n) => self.sum += n,
            Say::Sum(reply) => reply.send(self.sum),
            Say::Fail => return Err(boom()),
            Say::Wait(time) => ctx.sleep(time).await,
            Say::Sender(reply) => reply.send(ctx.sender()),
            Say::Release => {
                if let Some(keeper) = &self.keeper {
                    keeper.release(self.key).map_err(SendError::without_message)?;
                }
            }
            Say::Number(n, reply) => reply.send(n),
        }
        Ok(())
    }

    async fn terminate(&mut self, ctx: &mut Context<Say>, _: &Reason) {
        ctx.sleep(self.slow).await;
        self.disk.sums.lock().unwrap().insert(self.key, self.sum);
    }
}

fn registers(sim: &Simulation, disk: &Disk, log: &Log, slow: Duration) -> GrainAddress<u32, Say> {
    let (disk, log) = (disk.clone(), log.clone());
    sim.spawn(move || {
        Grains::new(move |key: &u32| {
            let mut register = Register::new(*key, &disk, &log);
            register.slow = slow;
            register
        })
        .idle(10 * SECOND)
        .mailbox(8)
        .named(|key| format!("register/{key}"))
    })
    .wait()
    .unwrap()
}

#[test]
fn k1_a_grain_is_spawned_by_a_message_ends_when_idle_and_is_spawned_again() {
    for sim in simulations(5) {
        let (disk, log) = (Disk::default(), Log::new());
        let registers = registers(&sim, &disk, &log, Duration::ZERO);
        sim.run_until_idle();
        assert_eq!(log.take(), Vec::<String>::new());
        registers.send_to(1, Say::Add(3)).unwrap();
        registers.send_to(2, Say::Add(4)).unwrap();
        sim.run_until_idle();
        assert_eq!(log.take_sorted(), ["1 comes", "2 comes"]);
        let first = sim.whereis("register/1").unwrap();
        // It is needed, so it stays.
        for _ in 0..10 {
            sim.advance(5 * SECOND);
            registers.send_to(1, Say::Add(1)).unwrap();
        }
        assert_eq!(log.take(), ["2 gone"]);
        assert_eq!(sim.whereis("register/1"), Some(first));
        sim.advance(30 * SECOND);
        assert_eq!((log.take(), sim.whereis("register/1")), (vec!["1 gone".to_owned()], None));
        assert_eq!(registers.call_to(1, Say::Sum).wait(), Ok(13));
        assert_ne!(sim.whereis("register/1"), Some(first));
        let inspected = registers.inspect().wait().unwrap();
        assert_eq!(inspected.number("made"), Some(3));
        assert_eq!(inspected.number("passivated"), Some(2));
        assert_eq!(inspected.number("present"), Some(1));
    }
}

#[test]
fn k1_one_grain_at_a_time_and_later_messages_go_to_the_next() {
    for sim in simulations(10) {
        let (disk, log) = (Disk::default(), Log::new());
        let registers = registers(&sim, &disk, &log, 5 * SECOND);
        registers.send_to(1, Say::Add(3)).unwrap();
        sim.run_until_idle();
        registers.release(1).unwrap();
        sim.advance(SECOND);
        // It is in its `terminate`, and will not look into its mailbox again.
        for n in [10, 100] {
            registers.send_to(1, Say::Add(n)).unwrap();
        }
        assert_eq!(registers.inspect().wait().unwrap().number("leaving"), Some(1));
        assert_eq!(registers.call_to(1, Say::Sum).timeout(60 * SECOND).wait(), Ok(113));
        assert_eq!(log.take(), ["1 comes", "1 gone", "1 comes"]);
        assert_eq!(disk.most.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn k1_a_grain_that_is_released_before_it_has_started_ends_behind_what_was_sent_to_it() {
    for sim in simulations(10) {
        let (disk, log) = (Disk::default(), Log::new());
        let registers = registers(&sim, &disk, &log, SECOND);
        // The keeper has had no turn: no grain runs.
        registers.send_to(1, Say::Add(3)).unwrap();
        registers.release(1).unwrap();
        // Long before it is idle for its time.
        sim.advance(2 * SECOND);
        let count = |item| registers.inspect().wait().unwrap().number(item);
        assert_eq!(log.take(), ["1 comes", "1 gone"]);
        assert_eq!(["made", "passivated", "present"].map(count), [Some(1), Some(1), Some(0)]);
        // It is in its `terminate`. What is sent behind a release is for a grain of its own.
        registers.send_to(1, Say::Add(10)).unwrap();
        sim.run_until_idle();
        registers.release(1).unwrap();
        sim.run_until_idle();
        for n in [100, 1000] {
            registers.send_to(1, Say::Add(n)).unwrap();
            for _ in 0..2 {
                registers.release(1).unwrap();
                sim.run_until_idle();
            }
        }
        registers.send_to(1, Say::Add(10_000)).unwrap();
        sim.advance(5 * SECOND);
        assert_eq!(log.take(), ["1 comes", "1 gone"].repeat(4)[..7]);
        assert_eq!(["made", "passivated", "present"].map(count), [Some(5), Some(4), Some(1)]);
        assert_eq!(registers.call_to(1, Say::Sum).wait(), Ok(11_113));
        assert_eq!(disk.most.load(Ordering::SeqCst), 1);
    }
}

#[test]
fn k2_held_messages_arrive_in_order_and_with_their_sender() {
    for sim in simulations(5) {
        let (disk, log) = (Disk::default(), Log::new());
        let registers = registers(&sim, &disk, &log, 5 * SECOND);
        let probe = Probe::<()>::spawn(&sim);
        let asked = registers.clone();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        sim.spawn(move || {
            krarup::behavior::behavior_fn(move |ctx: Context<()>| async move {
                // Nobody is there, then it is, then it goes.
                for _ in 0..3 {
                    let sender = asked.call_to(7, Say::Sender).timeout(60 * SECOND).await?;
                    noted.lock().unwrap().push(sender == Some(ctx.pid()));
                    asked.release(7).map_err(SendError::without_message)?;
                }
                Ok(())
            })
        })
        .start()
        .unwrap();
        sim.advance(60 * SECOND);
        assert_eq!(*seen.lock().unwrap(), [true, true, true]);
        drop(probe);
    }
}

#[test]
fn k2_too_many_that_wait_for_one_grain_are_refused_and_given_back() {
    let sim = Simulation::new(1);
    let (disk, log) = (Disk::default(), Log::new());
    let registers = registers(&sim, &disk, &log, 5 * SECOND);
    registers.send_to(1, Say::Wait(SECOND)).unwrap();
    sim.run_until_idle();
    // The mailbox of one that is there.
    let refused = (0..20).filter(|n| registers.send_to(1, Say::Add(*n)).is_err()).count();
    assert_eq!(refused, 12);
    sim.advance(2 * SECOND);
    registers.release(1).unwrap();
    sim.advance(SECOND);
    // What is held for one that is not.
    let refused: Vec<_> = (0..20).filter_map(|n| registers.send_to(1, Say::Add(n)).err()).collect();
    assert_eq!(refused.len(), 12);
    for error in refused {
        assert!(error.is_full());
        let ToGrain { key, message } = error.into_message();
        assert!(key == 1 && matches!(message, Say::Add(8..)));
    }
    // Another grain is none the worse.
    assert_eq!(registers.call_to(2, Say::Sum).wait(), Ok(0));
}

#[test]
fn k2_a_failing_grain_loses_its_messages_and_is_spawned_again() {
    for sim in simulations(5) {
        let (disk, log) = (Disk::default(), Log::new());
        let registers = registers(&sim, &disk, &log, Duration::ZERO);
        registers.send_to(1, Say::Add(5)).unwrap();
        registers.send_to(1, Say::Fail).unwrap();
        let failed = registers.call_to(1, Say::Sum).wait();
        assert!(matches!(failed, Err(CallError::NotBegun { .. })) || failed == Ok(5), "{failed:?}");
        assert_eq!(registers.call_to(1, Say::Sum).wait(), Ok(5));
        assert!(registers.is_alive());
    }
}

#[test]
fn k2_a_grain_may_let_itself_go() {
    for sim in simulations(5) {
        let (disk, log) = (Disk::default(), Log::new());
        let registers = registers(&sim, &disk, &log, Duration::ZERO);
        registers.send_to(1, Say::Add(5)).unwrap();
        registers.send_to(1, Say::Release).unwrap();
        registers.send_to(1, Say::Add(6)).unwrap();
        sim.run_until_idle();
        assert_eq!(log.count("1 gone"), 1);
        assert_eq!(registers.call_to(1, Say::Sum).wait(), Ok(11));
    }
}

#[test]
fn k3_an_ending_keeper_ends_its_grains_and_reports_it() {
    for how in ["stop", "kill"] {
        for sim in simulations(5) {
            let (disk, log) = (Disk::default(), Log::new());
            let registers = registers(&sim, &disk, &log, Duration::ZERO);
            for key in 0..5 {
                registers.send_to(key, Say::Add(1)).unwrap();
            }
            sim.run_until_idle();
            if how == "stop" {
                registers.stop().wait().unwrap();
                assert_eq!(disk.sums.lock().unwrap().len(), 5);
            } else {
                sim.kill(registers.pid());
                sim.run_until_idle();
            }
            assert_eq!(disk.alive.load(Ordering::SeqCst), 0);
            let refused = registers.send_to(1, Say::Add(1)).unwrap_err();
            assert!(matches!(
                refused,
                SendError::NoProcess { message: ToGrain { key: 1, .. }, .. }
            ));
        }
    }
}

#[test]
fn k3_grains_that_do_not_end_with_their_keeper_are_killed() {
    let sim = Simulation::new(1);
    let (disk, log) = (Disk::default(), Log::new());
    let registers = registers(&sim, &disk, &log, Duration::from_secs(3600));
    (1..4).for_each(|key| registers.send_to(key, Say::Add(1)).unwrap());
    sim.run_until_idle();
    registers.stop().timeout(10 * SECOND).wait().unwrap();
    assert_eq!((log.count("gone"), disk.sums.lock().unwrap().len()), (3, 0));
}

#[test]
fn k3_a_name_that_is_taken_keeps_the_grain_from_being_made_and_nothing_waits_in_vain() {
    let sim = Simulation::new(1);
    let (disk, log) = (Disk::default(), Log::new());
    let registers = registers(&sim, &disk, &log, Duration::ZERO);
    let squatter = Probe::<()>::named(&sim, "register/1");
    let dead = sim.stats().dead_letters;
    registers.send_to(1, Say::Add(1)).unwrap();
    let failed = registers.call_to(1, Say::Sum).wait().unwrap_err();
    let taken = format!("name register/1 is taken by {}", squatter.pid());
    assert!(!failed.was_begun());
    assert_eq!(failed.end().map(ToString::to_string), Some(taken));
    assert_eq!(sim.stats().dead_letters, dead + 2);
    sim.kill(squatter.pid());
    sim.run_until_idle();
    assert_eq!(registers.call_to(1, Say::Sum).wait(), Ok(0));
    assert!(registers.send_high(GrainCommand::Release(99)).is_ok());
    sim.run_until_idle();
    assert!(registers.is_alive());
}

#[test]
fn k2_nothing_is_lost_however_sending_and_ending_meet() {
    Simulation::explore(0..200, |sim| {
        let (disk, log) = (Disk::default(), Log::new());
        let registers = registers(sim, &disk, &log, Duration::from_millis(3));
        let sent = Arc::new(AtomicUsize::new(0));
        for sender in 0..4_u32 {
            let (registers, sent) = (registers.clone(), Arc::clone(&sent));
            sim.spawn(move || {
                krarup::behavior::behavior_fn(move |ctx: Context<()>| async move {
                    for round in 0..25 {
                        let key = (sender + round) % 3;
                        if registers.send_to(key, Say::Add(1)).is_ok() {
                            sent.fetch_add(1, Ordering::SeqCst);
                        }
                        if ctx.random().is_multiple_of(3) {
                            let _ = registers.release(key);
                        }
                        if ctx.random().is_multiple_of(4) {
                            ctx.sleep(Duration::from_millis(ctx.random() % 5)).await;
                        }
                        if ctx.random().is_multiple_of(5) {
                            let answer =
                                registers.call_to(key, |reply| Say::Number(7, reply)).await?;
                            assert_eq!(answer, 7);
                        }
                    }
                    Ok(())
                })
            })
            .start()?;
        }
        sim.advance(60 * SECOND);
        let mut sum = 0;
        for key in 0..3 {
            sum += registers.call_to(key, Say::Sum).wait()?;
        }
        assert_eq!(sum, sent.load(Ordering::SeqCst) as u64);
        assert!(disk.most.load(Ordering::SeqCst) <= 3);
        assert_eq!(sim.stats().dead_letters, 0);
        Ok(())
    });
}

#[test]
fn k2_nothing_is_lost_between_threads() {
    let node = Node::start("grains@localhost").unwrap();
    let (disk, log) = (Disk::default(), Log::new());
    let (kept, noted) = (disk.clone(), log.clone());
    let registers = node
        .spawn(move || Grains::new(move |key: &u32| Register::new(*key, &kept, &noted)))
        .wait()
        .unwrap();
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let registers = registers.clone();
            std::thread::spawn(move || {
                let mut sent = 0_u64;
                for round in 0..2000_u32 {
                    let key = round % 2;
                    if registers.send_to(key, Say::Add(1)).is_ok() {
                        sent += 1;
                    }
                    if round % 50 == thread {
                        registers.release(key).unwrap();
                    }
                    if round % 100 == 0 {
                        assert_eq!(
                            registers.call_to(key, |reply| Say::Number(3, reply)).wait(),
                            Ok(3)
                        );
                    }
                }
                sent
            })
        })
        .collect();
    let sent: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    let sum = |key| registers.call_to(key, Say::Sum).wait().unwrap();
    assert_eq!(sum(0) + sum(1), sent);
    assert!(disk.most.load(Ordering::SeqCst) <= 2);
    node.stop().wait().unwrap();
}
