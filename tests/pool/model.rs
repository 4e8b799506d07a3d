//! Pools against a reference model, over many random histories: accounting, rotation, capacity,
//! and the sender through nested pools (rules P1, P2, P4, P5, P6).

use crate::pool_support::{Job, PoolAddress, done, numbers, seconds, workers};
use crate::support::{Log, boom};
use krarup::behavior::behavior_fn;
use krarup::observe::Inspection;
use krarup::pool::{PoolState, ResizeError};
use krarup::prelude::*;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::Poll;

/// One step of a history.
#[derive(Clone, Copy, Debug)]
enum Step {
    Send,
    Call,
    Reserve,
    UsePermit,
    DropPermit,
    Wait,
    Crash,
    Kill(usize),
    Add(usize),
    Remove(usize),
    Work,
    Time,
    Factory(bool),
    Drain,
    Reopen,
    Hang,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => Just(Step::Send),
        2 => Just(Step::Call),
        2 => Just(Step::Reserve),
        2 => Just(Step::UsePermit),
        1 => Just(Step::DropPermit),
        2 => Just(Step::Wait),
        1 => Just(Step::Crash),
        1 => (0_usize..6).prop_map(Step::Kill),
        1 => (0_usize..4).prop_map(Step::Add),
        1 => (0_usize..4).prop_map(Step::Remove),
        3 => Just(Step::Work),
        2 => Just(Step::Time),
        1 => any::<bool>().prop_map(Step::Factory),
        1 => Just(Step::Drain),
        1 => Just(Step::Reopen),
        1 => Just(Step::Hang),
    ]
}

/// A worker whose start can be made to fail.
struct Frail(Log, Arc<AtomicBool>);

impl Actor for Frail {
    type Message = Job;

    async fn init(&mut self, _: &mut Context<Job>) -> Result {
        if self.1.load(Ordering::Relaxed) { Err(boom()) } else { Ok(()) }
    }

    async fn handle_message(&mut self, ctx: &mut Context<Job>, job: Job) -> Result {
        match job {
            Job::Note(n) => self.0.note(format!("done {n}")),
            Job::Slow(n, time) => {
                ctx.sleep(time).await;
                self.0.note(format!("done {n}"));
            }
            Job::Who(reply) => reply.send(ctx.pid()),
            Job::End(reason) => return Err(reason),
            Job::Hang => std::future::pending().await,
            Job::Ask(..) => {}
        }
        Ok(())
    }
}

/// What a pool is like at one moment, and so what it does with a message that is sent now.
struct PoolSnapshot {
    draining: bool,
    places: usize,
    /// The workers in the rotation, the next one first, and how much waits at each; at one that
    /// has died nothing does, nor can it.
    workers: Vec<(Pid, Option<usize>)>,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It goes to this worker.
    To(Pid),
    Full,
    NoWorkers,
    Draining,
}

impl PoolSnapshot {
    /// Looks, when the pool has obeyed all that it was told.
    fn of(sim: &Simulation, pool: &PoolAddress) -> Self {
        let numbers = numbers(pool);
        let pids = pool.workers().wait().unwrap();
        let waiting = |pid: Pid| sim.process_info(pid).map(|info| info.main);
        let workers = pids.into_iter().map(|pid| (pid, waiting(pid))).collect();
        PoolSnapshot { draining: numbers.draining, places: numbers.places, workers }
    }

    fn waiting(&self) -> usize {
        self.workers.iter().filter_map(|(_, waiting)| *waiting).sum()
    }

    fn waiting_at(&self, pid: Pid) -> Option<usize> {
        self.workers.iter().find(|(worker, _)| *worker == pid)?.1
    }

    fn has_room(&self, bound: usize) -> bool {
        self.workers.iter().any(|(_, waiting)| waiting.is_some_and(|waiting| waiting < bound))
    }

    /// The next living worker that is not full gets it.
    fn fate(&self, bound: usize) -> Fate {
        let mut living = self.workers.iter().filter_map(|(pid, waiting)| Some((pid, (*waiting)?)));
        match living.clone().find(|(_, waiting)| *waiting < bound) {
            _ if self.draining => Fate::Draining,
            Some((pid, _)) => Fate::To(*pid),
            None if living.next().is_some() => Fate::Full,
            None => Fate::NoWorkers,
        }
    }

    /// What has become of a message that was sent since, by who has more now.
    fn became<T>(&self, sent: &std::result::Result<T, Fate>, now: &PoolSnapshot) -> Fate {
        match sent {
            Err(refused) => *refused,
            Ok(_) => {
                let more =
                    |(pid, _): &&(Pid, Option<usize>)| now.waiting_at(*pid) > self.waiting_at(*pid);
                now.workers.iter().find(more).map_or(Fate::Full, |(pid, _)| Fate::To(*pid))
            }
        }
    }

    /// The same workers, now: without a step of the simulation.
    fn again(&self, sim: &Simulation) -> Self {
        let waiting = |pid: Pid| sim.process_info(pid).map(|info| info.main);
        let workers = self.workers.iter().map(|(pid, _)| (*pid, waiting(*pid))).collect();
        PoolSnapshot { draining: self.draining, places: self.places, workers }
    }
}

fn refusal<M>(error: &SendError<M>) -> Fate {
    match error {
        SendError::Full { .. } => Fate::Full,
        SendError::NoWorkers { .. } => Fate::NoWorkers,
        SendError::Draining { .. } => Fate::Draining,
        other => panic!("{other}"),
    }
}

/// One step of a rotation.
#[derive(Clone, Copy, Debug)]
enum Turn {
    Add,
    Remove,
    Factory,
    Time,
    Send(Work),
}

/// What is sent, or only reserved room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Note,
    Hang,
    End,
    Permit,
    Room,
}

fn turn() -> impl Strategy<Value = Turn> {
    let work = prop_oneof![
        5 => Just(Work::Note),
        3 => Just(Work::Hang),
        2 => Just(Work::End),
        2 => Just(Work::Permit),
        1 => Just(Work::Room),
    ];
    prop_oneof![
        1 => Just(Turn::Add),
        1 => Just(Turn::Remove),
        1 => Just(Turn::Factory),
        3 => Just(Turn::Time),
        9 => work.prop_map(Turn::Send),
    ]
}

/// A place in the rotation, and its worker.
#[derive(Clone, Copy, Debug)]
struct Place {
    pid: Pid,
    lives: bool,
    /// For how many seconds it has had a job in hand that never ends.
    hangs: Option<u64>,
    waiting: usize,
}

impl Place {
    fn new(pid: Pid) -> Self {
        Place { pid, lives: true, hangs: None, waiting: 0 }
    }
}

/// The rotation as it is promised.
#[derive(Debug, Default)]
struct Turns {
    queue: VecDeque<Place>,
    /// Workers that have died and are not replaced, in their order; `None`: it was given up, and is
    /// not in the queue.
    missing: Vec<Option<Pid>>,
    /// Removed workers that hang, and for how long.
    leaving: Vec<u64>,
    least: bool,
    fails: bool,
    /// Those of the missing that have been replaced by now.
    replaced: Vec<Option<Pid>>,
    /// Nobody has taken the last message.
    refused: bool,
    restarts: u64,
    stuck: u64,
}

impl Turns {
    const BOUND: usize = 2;
    const LIMIT: u64 = 3;

    fn places(&self) -> usize {
        self.queue.len() + self.missing.iter().filter(|place| place.is_none()).count()
    }

    /// Who takes the next message, and is the last then.
    fn take(&mut self, given_back: bool) -> std::result::Result<usize, Fate> {
        let has_room = |place: &Place| place.lives && place.waiting < Self::BOUND;
        let load = |place: &Place| {
            if self.least { place.waiting + usize::from(place.hangs.is_some()) } else { 0 }
        };
        let takers = self.queue.iter().enumerate().filter(|(_, place)| has_room(place));
        let Some((index, _)) = takers.min_by_key(|(_, place)| load(place)) else {
            self.refused = true;
            let living = self.queue.iter().any(|place| place.lives);
            return Err(if living { Fate::Full } else { Fate::NoWorkers });
        };
        self.queue.rotate_left(index + 1);
        let taker = self.queue.len() - 1;
        self.queue[taker].waiting += usize::from(!given_back);
        Ok(taker)
    }

    /// It begins what it has taken, unless it hangs.
    fn begin(&mut self, taker: usize, work: Work) {
        let place = &mut self.queue[taker];
        if place.hangs.is_some() {
            return;
        }
        place.waiting = 0;
        match work {
            Work::Hang => place.hangs = Some(0),
            Work::End => {
                place.lives = false;
                let dead = Some(place.pid);
                if self.fails { self.missing.push(dead) } else { self.replaced.push(dead) }
            }
            Work::Note | Work::Permit | Work::Room => {}
        }
    }

    /// A second passes: that is the back-off too.
    fn pass(&mut self) {
        let is_stuck = |hangs: &mut u64| {
            *hangs += 1;
            *hangs == Self::LIMIT
        };
        let before = self.leaving.len();
        self.leaving.retain_mut(|hangs| !is_stuck(hangs));
        let mut stuck = 0;
        self.queue.retain_mut(|place| {
            let stays = !place.hangs.as_mut().is_some_and(is_stuck);
            stuck += usize::from(!stays);
            stays
        });
        self.missing.extend(vec![None; stuck]);
        self.stuck += (stuck + before - self.leaving.len()) as u64;
        if !self.fails {
            self.replaced.append(&mut self.missing);
        }
    }

    /// How many are removed: those first that are missing, from the last.
    fn remove(&mut self, count: usize) -> usize {
        let missing = self.missing.len().min(count);
        for dead in self.missing.split_off(self.missing.len() - missing).into_iter().flatten() {
            self.queue.retain(|place| place.pid != dead);
        }
        let living = self.queue.len().min(count - missing);
        self.leaving.extend(self.queue.drain(..living).filter_map(|place| place.hangs));
        missing + living
    }

    /// Takes over from the pool what no rule says: the pids of replacements, and whose turn it is
    /// when nobody has taken the last message.
    fn note(&mut self, now: &[Pid]) {
        let replaced = std::mem::take(&mut self.replaced);
        self.restarts += replaced.len() as u64;
        for dead in replaced.iter().flatten() {
            if let Some(index) = self.queue.iter().position(|place| place.pid == *dead)
                && let Some(pid) = now.get(index)
            {
                self.queue[index] = Place::new(*pid);
            }
        }
        // Nobody says which of those whose places were given up has started first.
        let given_up = replaced.iter().filter(|dead| dead.is_none()).count();
        let last = now.iter().skip(now.len().saturating_sub(given_up));
        self.queue.extend(last.copied().map(Place::new));
        if std::mem::take(&mut self.refused)
            && let Some(first) = now.first()
            && let Some(turn) = self.queue.iter().position(|place| place.pid == *first)
        {
            self.queue.rotate_left(turn);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// M25, M26: whatever happens, forwarded + unhandled is what was sent; everything that was
    /// accepted is handled once or went down with a worker; no place is ever lost.
    #[test]
    fn p6_every_message_is_accounted_for_in_any_history(
        seed in any::<u64>(),
        size in 1_usize..5,
        bound in 1_usize..4,
        watched in any::<bool>(),
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let sim = Simulation::with_throughput(seed, 1);
        let log = Log::new();
        let fails = Arc::new(AtomicBool::new(false));
        let (noted, failing) = (log.clone(), Arc::clone(&fails));
        let pool: PoolAddress = sim
            .spawn(move || {
                let pool = Pool::new(size, move || Frail(noted.clone(), Arc::clone(&failing)));
                let pool = pool.mailbox(bound);
                // Longer than any job but one that hangs.
                if watched { pool.measured().stuck_limit(seconds(3)) } else { pool }
            })
            .wait()
            .unwrap();
        let mut places = size;
        // Messages whose room went down with a worker, and which may wait beyond the bound.
        let mut orphans = 0;
        let (mut received, mut accepted, mut next) = (0_u64, 0_u64, 0_u32);
        let mut permits = Vec::new();
        let mut waits = Vec::new();
        let mut number = || {
            next += 1;
            next
        };
        let mut seen = PoolSnapshot::of(&sim, &pool);
        for step in steps {
            let fate = seen.fate(bound);
            match step {
                Step::Send | Step::Crash | Step::Hang => {
                    let job = match step {
                        Step::Crash => Job::End(boom()),
                        // Without a limit it would hang for ever.
                        Step::Hang if watched => Job::Hang,
                        _ => Job::Slow(number(), seconds(1)),
                    };
                    let sent = pool.send(job).map_err(|error| refusal(&error));
                    received += 1;
                    accepted += u64::from(sent.is_ok());
                    prop_assert_eq!(seen.became(&sent, &seen.again(&sim)), fate);
                }
                Step::Call => {
                    received += 1;
                    let mut call = pool.call(Job::Who).into_future();
                    let sent = match crate::support::poll_once(&mut call) {
                        Poll::Pending => Ok(()),
                        Poll::Ready(Err(CallError::Full { .. })) => Err(Fate::Full),
                        Poll::Ready(Err(CallError::NoWorkers { .. })) => Err(Fate::NoWorkers),
                        Poll::Ready(Err(CallError::Draining { .. })) => Err(Fate::Draining),
                        Poll::Ready(other) => panic!("{other:?}"),
                    };
                    accepted += u64::from(sent.is_ok());
                    prop_assert_eq!(seen.became(&sent, &seen.again(&sim)), fate);
                }
                Step::Reserve => {
                    let reserved = pool.reserve().map_err(|error| refusal(&error));
                    // Room counts from now on.
                    prop_assert_eq!(seen.became(&reserved, &seen.again(&sim)), fate);
                    match (reserved, fate) {
                        (Ok(permit), Fate::To(worker)) => permits.push((permit, worker)),
                        _ => received += 1,
                    }
                }
                Step::DropPermit => drop(permits.pop()),
                // A drained pool without places discards what waits for a worker (rule P11).
                Step::UsePermit if seen.draining && seen.places == 0 => drop(permits.pop()),
                Step::Drain if seen.places == 0 && pool.waiting() > 0 => {}
                Step::UsePermit => if let Some((permit, worker)) = permits.pop() {
                    let before = pool.waiting();
                    permit.send(Job::Slow(number(), seconds(1)));
                    received += 1;
                    accepted += 1;
                    let now = seen.again(&sim);
                    if seen.waiting_at(worker).is_some() {
                        prop_assert_eq!((now.waiting(), pool.waiting()), (seen.waiting(), before));
                    } else {
                        // Its room is gone: it goes to another, though the pool be drained, or is
                        // the first in line.
                        let elsewhere = usize::from(seen.has_room(bound));
                        prop_assert_eq!(now.waiting(), seen.waiting() + elsewhere);
                        prop_assert_eq!(pool.waiting(), before + 1);
                        orphans += 1;
                    }
                },
                Step::Wait => {
                    let wait = pool.send_or_wait(Job::Slow(number(), seconds(1))).timeout(seconds(40));
                    let sent = behavior_fn(move |ctx: Context<()>| async move {
                        let sent = wait.await.is_ok();
                        let _ = ctx;
                        if sent { Ok(()) } else { Err(boom()) }
                    });
                    let process = sim.spawn(move || sent).start().unwrap();
                    waits.push(process.watch());
                }
                Step::Kill(index) => {
                    if let Some(worker) = pool.workers().wait().unwrap().get(index) {
                        sim.kill(*worker);
                    }
                }
                Step::Add(count) => match pool.add_workers(count).wait() {
                    Ok(resized) => {
                        prop_assert!(!seen.draining && resized.changed == count);
                        places += count;
                        prop_assert_eq!(resized.size, places);
                    }
                    Err(ResizeError::NotStarted { asked, resized, error }) => {
                        prop_assert_eq!((asked, error), (count, SpawnError::Init(boom())));
                        prop_assert!(fails.load(Ordering::Relaxed) && resized.changed == 0);
                        prop_assert_eq!(resized.size, places);
                    }
                    Err(error) => {
                        let state = PoolState::Draining;
                        let pool = pool.pid();
                        prop_assert!(seen.draining);
                        prop_assert_eq!(error, ResizeError::NotRunning { pool, state });
                    }
                },
                Step::Remove(count) => match pool.remove_workers(count).wait() {
                    Ok(resized) => {
                        prop_assert_eq!(resized.changed, count.min(places));
                        places -= resized.changed;
                        prop_assert_eq!(resized.size, places);
                    }
                    Err(error) => {
                        let state = PoolState::Draining;
                        let pool = pool.pid();
                        prop_assert!(seen.draining);
                        prop_assert_eq!(error, ResizeError::NotRunning { pool, state });
                    }
                },
                Step::Work => { for _ in 0..5 { sim.step(); } }
                Step::Time => sim.advance(seconds(1)),
                Step::Factory(failing) => fails.store(failing, Ordering::Relaxed),
                Step::Drain => drop(crate::support::poll_once(&mut pool.drain().into_future())),
                Step::Reopen => drop(pool.reopen().wait().unwrap()),
            }
            // P2, exactly: at no worker more than its bound, at the pool no more than that, but for
            // what was promised and lost its room.
            let now = PoolSnapshot::of(&sim, &pool);
            prop_assert!(now.workers.iter().all(|(_, waiting)| waiting.unwrap_or(0) <= bound));
            let beyond = pool.waiting() - now.waiting();
            // One that waits has room before it sends, and may lose it in between.
            let promised = orphans + waits.len();
            prop_assert!(beyond <= promised, "{} beyond, {} promised", beyond, promised);
            prop_assert_eq!(now.places, places);
            seen = now;
        }
        fails.store(false, Ordering::Relaxed);
        pool.reopen().wait().unwrap();
        if places == 0 {
            places += pool.add_workers(1).wait().unwrap().changed;
        }
        for (permit, _) in permits {
            permit.send(Job::Slow(number(), seconds(1)));
            received += 1;
            accepted += 1;
        }
        // Time for every back-off, every job and every wait.
        sim.advance(seconds(600));
        for wait in waits {
            received += 1;
            accepted += u64::from(wait.wait().unwrap().reason == Reason::Normal);
        }
        sim.advance(seconds(600));
        let numbers = numbers(&pool);
        prop_assert_eq!(numbers.received(), received);
        prop_assert_eq!(numbers.forwarded, accepted);
        prop_assert_eq!((numbers.places, numbers.workers), (places, places));
        prop_assert_eq!(pool.waiting(), 0);
        let mut handled = done(&log);
        handled.sort_unstable();
        let count = handled.len();
        handled.dedup();
        prop_assert_eq!(handled.len(), count, "nothing is handled twice");
        if watched {
            prop_assert_eq!(numbers.wait.unwrap().count + numbers.lost, accepted);
            prop_assert_eq!(numbers.service.unwrap().count + numbers.crashed + numbers.lost, accepted);
        }
        pool.drain().wait().unwrap();
        pool.stop().wait().unwrap();
        sim.advance(seconds(60));
        prop_assert_eq!(sim.stats().processes, 0);
    }

    /// M26: the rotation is a queue: the one in front gets the next message and goes to the end, and
    /// so does one that is passed over; new ones come in at the end, and those in front go first.
    /// Places whose worker is missing go before them. With the least loaded first, the rotation is
    /// among equals.
    #[test]
    fn p1_the_rotation_is_a_queue_of_workers(
        seed in any::<u64>(),
        size in 1_usize..6,
        least in any::<bool>(),
        steps in prop::collection::vec((turn(), 0_usize..4), 1..60),
    ) {
        let sim = Simulation::new(seed);
        let log = Log::new();
        let fails = Arc::new(AtomicBool::new(false));
        let (noted, failing) = (log.clone(), Arc::clone(&fails));
        let pool = move || {
            let pool = Pool::new(size, move || Frail(noted.clone(), Arc::clone(&failing)));
            pool.mailbox(Turns::BOUND).stuck_limit(seconds(3)).back_off(seconds(1), seconds(1))
        };
        let pool: PoolAddress = if least {
            sim.spawn(move || pool().routing(krarup::pool::LeastLoaded::new())).wait().unwrap()
        } else {
            sim.spawn(pool).wait().unwrap()
        };
        let queue = pool.workers().wait().unwrap().into_iter().map(Place::new).collect();
        let mut turns = Turns { queue, least, ..Turns::default() };
        for (step, count) in steps {
            match step {
                Turn::Add => match pool.add_workers(count).wait() {
                    Ok(resized) => {
                        prop_assert!(resized.changed == count && (count == 0 || !turns.fails));
                        let all = pool.workers().wait().unwrap();
                        turns.queue.extend(all[all.len() - count..].iter().copied().map(Place::new));
                    }
                    Err(error) => prop_assert!(turns.fails, "{error}"),
                },
                Turn::Remove => {
                    let gone = turns.remove(count);
                    prop_assert_eq!(pool.remove_workers(count).wait().unwrap().changed, gone);
                }
                Turn::Factory => {
                    turns.fails = !turns.fails;
                    fails.store(turns.fails, Ordering::Relaxed);
                }
                Turn::Time => {
                    sim.advance(seconds(1));
                    turns.pass();
                }
                Turn::Send(job) => {
                    let taker = turns.take(job == Work::Room);
                    let sent = match job {
                        Work::Note => pool.send(Job::Note(1)),
                        Work::Hang => pool.send(Job::Hang),
                        Work::End => pool.send(Job::End(boom())),
                        Work::Permit => pool.reserve().map(|permit| permit.send(Job::Note(2)))
                            .map_err(|error| error.map(|()| Job::Note(2))),
                        Work::Room => pool.reserve().map(drop)
                            .map_err(|error| error.map(|()| Job::Note(2))),
                    };
                    sim.run_until_idle();
                    match (sent, taker) {
                        (Ok(()), Ok(taker)) => turns.begin(taker, job),
                        (Err(error), Err(refused)) => prop_assert_eq!(refusal(&error), refused),
                        (sent, taker) => panic!("{taker:?}: {}", sent.is_ok()),
                    }
                }
            }
            // Where nobody has taken a message the turn may have gone on.
            let now = pool.workers().wait().unwrap();
            turns.note(&now);
            prop_assert_eq!(now, turns.queue.iter().map(|place| place.pid).collect::<Vec<_>>());
            for place in &turns.queue {
                let waiting = sim.process_info(place.pid).map(|info| info.main);
                prop_assert_eq!(waiting, place.lives.then_some(place.waiting));
            }
            let numbers = numbers(&pool);
            let living = turns.queue.iter().filter(|place| place.lives).count();
            prop_assert_eq!((numbers.places, numbers.workers), (turns.places(), living));
            prop_assert_eq!((numbers.restarts, numbers.stuck), (turns.restarts, turns.stuck));
        }
    }

    /// M27: with all workers held exactly size × bound messages are accepted, through any
    /// routing and any nesting.
    #[test]
    fn p2_the_capacity_is_size_times_bound_through_any_routing(
        seed in any::<u64>(),
        size in 1_usize..6,
        bound in 1_usize..6,
        routing in 0_u8..3,
        watched in any::<bool>(),
        permits in 0_usize..4,
    ) {
        let sim = Simulation::new(seed);
        let factory = workers(&Log::new());
        let pool = move || {
            let pool = Pool::new(size, factory).mailbox(bound);
            if watched { pool.measured() } else { pool }
        };
        let pool: PoolAddress = match routing {
            0 => sim.spawn(pool).wait().unwrap(),
            1 => sim.spawn(move || pool().routing(krarup::pool::LeastLoaded::new())).wait().unwrap(),
            _ => sim.spawn(move || pool().routing(krarup::pool::TwoChoices)).wait().unwrap(),
        };
        // One at a time, so that each worker has one in hand before any has one that waits.
        let mut accepted = 0;
        loop {
            let taken = if accepted % 4 < permits {
                pool.reserve().map(|permit| permit.send(Job::Hang)).is_ok()
            } else {
                pool.send(Job::Hang).is_ok()
            };
            if !taken {
                break;
            }
            accepted += 1;
            sim.run_until_idle();
        }
        prop_assert_eq!(accepted, size * bound + size);
        prop_assert_eq!(pool.waiting(), size * bound);
    }

    /// M28: the worker sees the process that asked, and answers it directly, however deep the
    /// pools are nested.
    #[test]
    fn p1_the_sender_survives_nesting(seed in any::<u64>(), depth in 0_usize..3, calls in 1_usize..12) {
        struct Leaf;
        struct Ask(Reply<(Pid, Option<Pid>)>);
        impl Actor for Leaf {
            type Message = Ask;
            async fn handle_message(&mut self, ctx: &mut Context<Ask>, Ask(reply): Ask) -> Result {
                reply.send((ctx.pid(), ctx.sender()));
                Ok(())
            }
        }
        let sim = Simulation::with_throughput(seed, 1);
        let one = || Pool::new(2, || Leaf).mailbox(3);
        let two = move || Pool::new(2, one).measured();
        let pool = match depth {
            0 => sim.spawn(one).wait().unwrap(),
            1 => sim.spawn(two).wait().unwrap(),
            _ => sim.spawn(move || Pool::new(2, two)).wait().unwrap(),
        };
        let answered = Arc::new(AtomicU32::new(0));
        let (counted, to) = (Arc::clone(&answered), pool.clone());
        let asks = behavior_fn(move |ctx: Context<()>| async move {
            for _ in 0..calls {
                let (worker, sender) = to.call(Ask).await?;
                assert!(worker != to.pid() && sender == Some(ctx.pid()));
                counted.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        });
        sim.spawn(move || asks).start().unwrap();
        sim.run_until_idle();
        prop_assert_eq!(answered.load(Ordering::Relaxed) as usize, calls);
        let inspection: Inspection = pool.inspect().wait().unwrap();
        prop_assert_eq!(inspection.number("messages_forwarded"), Some(calls as u64));
    }
}
