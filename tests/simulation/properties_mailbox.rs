//! A mailbox against what one would write down on paper: lanes, bound, overflow, permits,
//! suspensions, batches and turns, in random order (rules M1, M2, M5, M6, M10, D7, X5, R1).

use krarup::behavior::{Received, behavior_fn};
use krarup::mailbox::{Overflow, Permit};
use krarup::prelude::*;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

#[derive(Clone, Debug)]
enum Step {
    Send,
    High,
    Max,
    Reserve,
    /// Of the permits there are.
    Fill(prop::sample::Index),
    GiveBack(prop::sample::Index),
    Turn,
    Suspend,
    Resume,
}

fn step() -> impl Strategy<Value = Step> {
    let which = any::<prop::sample::Index>;
    prop_oneof![
        6 => Just(Step::Send),
        1 => Just(Step::High),
        1 => Just(Step::Max),
        2 => Just(Step::Reserve),
        2 => which().prop_map(Step::Fill),
        1 => which().prop_map(Step::GiveBack),
        5 => Just(Step::Turn),
        1 => Just(Step::Suspend),
        1 => Just(Step::Resume),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Unbounded,
    Refuse(usize),
    DropOldest(usize),
    DropNewest(usize),
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Unbounded),
        (1..4_usize).prop_map(Kind::Refuse),
        (1..4_usize).prop_map(Kind::DropOldest),
        (1..4_usize).prop_map(Kind::DropNewest),
    ]
}

/// What the mailbox should be.
struct Paper {
    kind: Kind,
    throughput: usize,
    urgent: VecDeque<u32>,
    system: VecDeque<u32>,
    main: VecDeque<u32>,
    /// Room that is kept in the mailbox, and not filled.
    kept: usize,
    suspended: u32,
    handled: Vec<u32>,
    lost: u64,
}

/// What is to become of one message more.
#[derive(Debug, PartialEq, Eq)]
enum Room {
    Here,
    Nowhere,
    Full,
}

impl Paper {
    fn waiting(&self) -> usize {
        self.main.len() + self.kept
    }

    fn room(&mut self) -> Room {
        let (bound, kind) = match self.kind {
            Kind::Unbounded => return Room::Here,
            Kind::Refuse(bound) | Kind::DropOldest(bound) | Kind::DropNewest(bound) => {
                (bound, self.kind)
            }
        };
        if self.waiting() < bound {
            return Room::Here;
        }
        match kind {
            Kind::DropNewest(_) => Room::Nowhere,
            Kind::DropOldest(_) if self.main.pop_front().is_some() => {
                self.lost += 1;
                Room::Here
            }
            _ => Room::Full,
        }
    }

    /// How much a turn may handle: something if there is something, and at most its
    /// throughput.
    fn turn(&self) -> RangeInclusive<usize> {
        if self.suspended > 0 {
            return 0..=0;
        }
        let there = self.urgent.len() + self.system.len() + self.main.len();
        there.min(1)..=there.min(self.throughput)
    }

    fn handle(&mut self, count: usize) {
        for _ in 0..count {
            let lanes = [&mut self.urgent, &mut self.system, &mut self.main];
            self.handled.extend(lanes.into_iter().find_map(VecDeque::pop_front));
        }
    }
}

fn start(
    sim: &Simulation,
    kind: Kind,
    batch: usize,
    handled: &Arc<Mutex<Vec<u32>>>,
) -> Address<u32> {
    let handled = Arc::clone(handled);
    let life = behavior_fn(move |mut ctx: Context<u32>| async move {
        loop {
            let numbers = match ctx.receive().await {
                Received::Command(number) => vec![number],
                Received::Message(number) => {
                    let mut numbers = vec![number];
                    numbers.extend(ctx.take_batch(batch));
                    numbers
                }
                _ => vec![],
            };
            handled.lock().unwrap().extend(numbers);
        }
    });
    let spawn = sim.spawn(move || life);
    let spawn = match kind {
        Kind::Unbounded => spawn,
        Kind::Refuse(bound) => spawn.mailbox(bound),
        Kind::DropOldest(bound) => spawn.mailbox(bound).overflow(Overflow::DropOldest),
        Kind::DropNewest(bound) => spawn.mailbox(bound).overflow(Overflow::DropNewest),
    };
    let address = spawn.wait().unwrap();
    sim.run_until_idle();
    address
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 4 * ProptestConfig::default().cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn m2_a_mailbox_matches_the_model(
        kind in kind(),
        throughput in 1..4_u32,
        batch in 0..3_usize,
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let sim = Simulation::with_throughput(1, throughput);
        let handled = Arc::default();
        let process = start(&sim, kind, batch, &handled);
        let mut paper = Paper {
            kind,
            throughput: throughput as usize,
            urgent: VecDeque::new(),
            system: VecDeque::new(),
            main: VecDeque::new(),
            kept: 0,
            suspended: 0,
            handled: Vec::new(),
            lost: 0,
        };
        let mut permits: Vec<(Permit<u32>, Room)> = Vec::new();
        for (number, step) in (0..).zip(steps) {
            match step {
                Step::Send => {
                    let room = paper.room();
                    prop_assert_eq!(process.send(number).is_ok(), room != Room::Full);
                    match room {
                        Room::Here => paper.main.push_back(number),
                        Room::Nowhere => paper.lost += 1,
                        Room::Full => {}
                    }
                }
                Step::High => {
                    prop_assert!(process.send_high(number).is_ok());
                    paper.system.push_back(number);
                }
                Step::Max => {
                    prop_assert!(process.send_max(number).is_ok());
                    paper.urgent.push_back(number);
                }
                Step::Reserve => {
                    let room = paper.room();
                    let permit = process.reserve();
                    prop_assert_eq!(permit.is_ok(), room != Room::Full);
                    paper.kept += usize::from(room == Room::Here);
                    permits.extend(permit.ok().map(|permit| (permit, room)));
                }
                Step::Fill(which) if !permits.is_empty() => {
                    let (permit, room) = permits.swap_remove(which.index(permits.len()));
                    permit.send(number);
                    if room == Room::Here {
                        paper.kept -= 1;
                        paper.main.push_back(number);
                    } else {
                        paper.lost += 1;
                    }
                }
                Step::GiveBack(which) if !permits.is_empty() => {
                    let (permit, room) = permits.swap_remove(which.index(permits.len()));
                    drop(permit);
                    paper.kept -= usize::from(room == Room::Here);
                }
                Step::Fill(_) | Step::GiveBack(_) => {}
                Step::Turn => {
                    sim.step();
                    let count = handled.lock().unwrap().len() - paper.handled.len();
                    prop_assert!(paper.turn().contains(&count), "{} in a turn", count);
                    paper.handle(count);
                }
                Step::Suspend => {
                    sim.suspend(process.pid()).wait().unwrap();
                    paper.suspended += 1;
                }
                Step::Resume => {
                    prop_assert_eq!(sim.resume(process.pid()), paper.suspended > 0);
                    paper.suspended = paper.suspended.saturating_sub(1);
                }
            }
            prop_assert_eq!(&*handled.lock().unwrap(), &paper.handled);
            prop_assert_eq!(process.waiting(), paper.waiting());
            prop_assert_eq!(sim.stats().dead_letters, paper.lost);
        }
        // Whatever is left goes down with the process, and what comes by a permit too.
        sim.kill(process.pid());
        sim.run_until_idle();
        let left = paper.urgent.len() + paper.system.len() + paper.main.len() + permits.len();
        permits.into_iter().for_each(|(permit, _)| permit.send(0));
        prop_assert_eq!(sim.stats().dead_letters, paper.lost + left as u64);
        prop_assert!(process.send(0).is_err());
    }
}
