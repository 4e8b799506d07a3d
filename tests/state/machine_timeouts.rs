//! Time-outs of state machines under random actions: none comes that is not set, and each that is
//! set comes (rule F8).

use krarup::prelude::*;
use krarup::{Entered, Event, First, Machine, Next, StateMachine, Timestamp};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Random numbers from a seed (`SplitMix64`).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    State,
    Event,
    Named(u8),
}

/// The time-outs that are set, by the test's own account: the content and the time.
type Set = BTreeMap<Kind, (u64, Timestamp)>;

/// Sets, changes and cancels time-outs by chance, and keeps account of them.
struct Chance {
    random: Random,
    set: Set,
    /// The number of the last content.
    last: u64,
    /// How many have come, and the account, for the test.
    came: Arc<Mutex<(u64, Set)>>,
}

impl Chance {
    /// Chooses up to three actions, and keeps account of them.
    fn actions(&mut self, now: Timestamp) -> Vec<(Kind, Doing)> {
        let count = self.random.below(4);
        let mut actions = Vec::new();
        for _ in 0..count {
            let kind = match self.random.below(4) {
                0 => Kind::State,
                1 => Kind::Event,
                name => Kind::Named(u8::try_from(name).unwrap()),
            };
            self.last += 1;
            let time = Duration::from_millis(self.random.below(12));
            let doing = match self.random.below(6) {
                0 => Doing::Cancel,
                1 => Doing::Update(self.last),
                2 => Doing::At(
                    Timestamp::ZERO + Duration::from_millis(self.random.below(90)),
                    self.last,
                ),
                _ => Doing::After(time, self.last),
            };
            actions.push((kind, doing));
        }
        // Of one kind the last counts.
        for (place, (kind, doing)) in actions.iter().enumerate() {
            if actions[place + 1..].iter().any(|(other, _)| other == kind) {
                continue;
            }
            match *doing {
                Doing::Cancel => {
                    self.set.remove(kind);
                }
                Doing::Update(content) => self.set.entry(*kind).or_insert((0, now)).0 = content,
                Doing::At(at, content) => {
                    self.set.insert(*kind, (content, at));
                }
                Doing::After(after, content) => {
                    self.set.insert(*kind, (content, now + after));
                }
            }
        }
        actions
    }

    /// A time-out has come: it is set, with this content, and its time is over.
    fn comes(&mut self, kind: Kind, content: u64, now: Timestamp) {
        let (set, due) = self.set.remove(&kind).unwrap_or_else(|| panic!("{kind:?} is not set"));
        assert_eq!(set, content, "an old content of {kind:?}");
        assert!(due <= now, "{kind:?} comes at {now:?} and is due at {due:?}");
        self.came.lock().unwrap().0 += 1;
    }
}

#[derive(Clone, Copy)]
enum Doing {
    After(Duration, u64),
    At(Timestamp, u64),
    Update(u64),
    Cancel,
}

impl StateMachine for Chance {
    type State = u64;
    type Message = ();
    type Internal = u64;
    type Timer = u8;

    async fn init(&mut self, _: &mut Context<()>) -> Result<First<Self>> {
        Ok(First::state(0))
    }

    async fn enter(&mut self, _: &mut Context<()>, _: u64, _: u64) -> Result<Entered<Self>> {
        Ok(Entered::new())
    }

    async fn handle_event(
        &mut self,
        ctx: &mut Context<()>,
        state: u64,
        event: Event<Self>,
    ) -> Result<Next<Self>> {
        let now = ctx.now();
        match event {
            Event::StateTimeout(content) => self.comes(Kind::State, content, now),
            Event::EventTimeout(content) => self.comes(Kind::Event, content, now),
            Event::Timeout(name, content) => self.comes(Kind::Named(name), content, now),
            Event::Message(()) => {}
            event => panic!("{event:?}"),
        }
        self.set.remove(&Kind::Event);
        let next = match self.random.below(4) {
            0 => {
                self.set.remove(&Kind::State);
                Next::state(state + 1)
            }
            1 => Next::repeat(),
            _ => Next::keep(),
        };
        // Few actions follow a time-out, so that there is an end to them.
        let actions = if self.random.below(8) == 0 { Vec::new() } else { self.actions(now) };
        let quiet = now > Timestamp::ZERO + Duration::from_millis(100);
        let actions = if quiet { self.quiet(actions) } else { actions };
        let next = actions.into_iter().fold(next, |next, (kind, doing)| match (kind, doing) {
            (Kind::State, Doing::After(after, content)) => next.state_timeout(after, content),
            (Kind::State, Doing::At(at, content)) => next.state_timeout_at(at, content),
            (Kind::State, Doing::Update(content)) => next.update_state_timeout(content),
            (Kind::State, Doing::Cancel) => next.cancel_state_timeout(),
            (Kind::Event, Doing::After(after, content)) => next.event_timeout(after, content),
            (Kind::Event, Doing::At(at, content)) => next.event_timeout_at(at, content),
            (Kind::Event, Doing::Update(content)) => next.update_event_timeout(content),
            (Kind::Event, Doing::Cancel) => next.cancel_event_timeout(),
            (Kind::Named(name), Doing::After(after, content)) => next.timeout(name, after, content),
            (Kind::Named(name), Doing::At(at, content)) => next.timeout_at(name, at, content),
            (Kind::Named(name), Doing::Update(content)) => next.update(name, content),
            (Kind::Named(name), Doing::Cancel) => next.cancel(name),
        });
        self.came.lock().unwrap().1 = self.set.clone();
        Ok(next)
    }
}

impl Chance {
    /// Near the end everything is cancelled instead.
    fn quiet(&mut self, actions: Vec<(Kind, Doing)>) -> Vec<(Kind, Doing)> {
        actions
            .into_iter()
            .map(|(kind, _)| {
                self.set.remove(&kind);
                (kind, Doing::Cancel)
            })
            .collect()
    }
}

#[test]
fn f8_over_ten_thousand_seeds_no_timeout_comes_that_is_not_set_and_each_that_is() {
    let mut all = 0;
    for seed in 0..10_000 {
        let sim = if seed % 2 == 0 {
            Simulation::new(seed)
        } else {
            Simulation::with_throughput(seed, 1)
        };
        let came = Arc::new(Mutex::new((0, Set::new())));
        let machine =
            Chance { random: Random(seed), set: Set::new(), last: 0, came: Arc::clone(&came) };
        let address = sim.spawn(|| Machine::new(machine)).wait().unwrap();
        let mut driver = Random(!seed);
        for _ in 0..10 {
            let held = driver.below(4) == 0;
            if held {
                sim.suspend(address.pid()).wait().unwrap();
            }
            (0..driver.below(3)).for_each(|_| address.send(()).unwrap());
            sim.advance(Duration::from_millis(driver.below(10)));
            if held {
                address.send(()).unwrap();
                sim.resume(address.pid());
            }
            assert!(address.is_alive(), "seed {seed}");
        }
        sim.advance(Duration::from_secs(1));
        assert!(address.is_alive(), "seed {seed}");
        let (count, left) = &*came.lock().unwrap();
        assert!(left.is_empty(), "seed {seed}: {left:?} have not come");
        all += count;
    }
    assert!(all > 50_000, "only {all} time-outs came");
}
