//! A model of messages against passivation: every order in which senders, a grain and the
//! keeper may lock the directory.
//!
//! Every operation on a grain runs under the directory's lock, so an order of these steps
//! is an interleaving. Each order is run from the beginning, with the real directory and
//! real processes.

use crate::grains::reservation::GrainPermit;
use crate::grains::reservation::tests::{
    TestDirectory, Waiting, keeper_and_grain, make_present, sends, waits_at,
};
use crate::wake_count::WakeCount;
use krarup_act::{Address, Context, Delegate, Received, behavior_fn};
use krarup_node::Simulation;
use std::sync::{Arc, Mutex};
use std::task::{self, Poll, Waker};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DirectoryStep {
    Send,
    /// The sender that waits for room looks for it: first, and whenever it was woken.
    Look,
    /// It uses its permit.
    Fill,
    /// It gives up, in the line or with a permit.
    GiveUp,
    /// The grain handles its messages and commands.
    Run,
    /// The grain has been idle.
    Idle,
    /// The grain fails.
    Die,
    Release,
    /// The keeper gets the `Down` of the grain.
    Hear,
    /// The keeper spawns the requested grain.
    Make,
}

/// The limits of a run.
#[allow(clippy::struct_excessive_bools, reason = "each says whether one thing may happen once")]
#[derive(Clone, Copy, Default)]
struct ModelBounds {
    bound: usize,
    sends: u64,
    waits: bool,
    gives_up: bool,
    idles: u32,
    kill: bool,
    releases: bool,
}

struct DirectoryModel<'a> {
    sim: &'a Simulation,
    shared: Arc<TestDirectory>,
    plan: ModelBounds,
    /// The grain whose `Down` has not reached the keeper.
    grain: Option<Address<u64>>,
    /// It may have messages to handle.
    due: bool,
    waiting: Option<Waiting>,
    /// The wake-ups of the waiting sender since it looked last.
    woken: Arc<WakeCount>,
    waker: Waker,
    place: Option<GrainPermit<u32, u64, u64>>,
    accepted: Vec<u64>,
    seen: Arc<Mutex<Vec<u64>>>,
    /// The number of dead letters before the run.
    dead: u64,
    /// The grain may fail and lose messages it had accepted.
    may_fail: bool,
}

/// The message of the sender that waits for room.
const FILLED: u64 = 100;

impl<'a> DirectoryModel<'a> {
    fn new(sim: &'a Simulation, delegate: &Delegate, plan: ModelBounds) -> Self {
        let shared = TestDirectory::new(plan.bound, delegate.clone());
        let waiting = plan.waits.then(|| waits_at(&shared, 1));
        let (woken, waker) = WakeCount::with_waker();
        // A sender looks at once when it comes.
        waker.wake_by_ref();
        let mut model = DirectoryModel {
            sim,
            shared,
            plan,
            grain: None,
            due: false,
            waiting,
            woken,
            waker,
            place: None,
            accepted: Vec::new(),
            seen: Arc::default(),
            dead: sim.stats().dead_letters,
            may_fail: plan.kill,
        };
        let grain = model.process();
        make_present(&model.shared, &grain);
        model.grain = Some(grain);
        model
    }

    fn process(&self) -> Address<u64> {
        let seen = Arc::clone(&self.seen);
        let process = self.sim.spawn(move || {
            behavior_fn(move |mut ctx: Context<u64>| async move {
                ctx.initialised();
                loop {
                    match ctx.receive().await {
                        Received::Message(message) => seen.lock().unwrap().push(message),
                        Received::Finish => return Ok(()),
                        _ => {}
                    }
                }
            })
        });
        process.mailbox(self.plan.bound).wait().unwrap()
    }

    fn lives(&self) -> Option<&Address<u64>> {
        self.grain.as_ref().filter(|grain| self.sim.is_alive(grain.pid()))
    }

    fn steps(&self) -> Vec<DirectoryStep> {
        let (plan, lives) = (self.plan, self.lives().is_some());
        let woken = self.woken.count() > 0;
        let is_wanted = !self.shared.directory.lock().wanted.is_empty();
        [
            (DirectoryStep::Send, plan.sends > 0),
            (DirectoryStep::Look, self.waiting.is_some() && woken),
            (DirectoryStep::Fill, self.place.is_some()),
            (
                DirectoryStep::GiveUp,
                plan.gives_up && (self.waiting.is_some() || self.place.is_some()),
            ),
            (DirectoryStep::Run, lives && self.due),
            (DirectoryStep::Idle, lives && plan.idles > 0),
            (DirectoryStep::Die, lives && plan.kill),
            (DirectoryStep::Release, lives && plan.releases),
            (DirectoryStep::Hear, self.grain.is_some() && !lives),
            (DirectoryStep::Make, is_wanted),
        ]
        .into_iter()
        .filter_map(|(step, may_be)| may_be.then_some(step))
        .collect()
    }

    fn kill(&self) {
        if let Some(grain) = &self.grain {
            self.sim.kill(grain.pid());
            self.sim.run_until_idle();
        }
    }

    fn take(&mut self, step: DirectoryStep) {
        match step {
            DirectoryStep::Send => {
                let message = self.plan.sends;
                self.plan.sends -= 1;
                if sends(&self.shared, message) {
                    self.accepted.push(message);
                    self.due = true;
                }
            }
            DirectoryStep::Look => {
                self.woken.take();
                let waiting = self.waiting.as_mut().unwrap();
                let looked = waiting.as_mut().poll(&mut task::Context::from_waker(&self.waker));
                if let Poll::Ready(place) = looked {
                    self.place = Some(place.unwrap());
                    self.waiting = None;
                }
            }
            DirectoryStep::Fill => {
                self.place.take().unwrap().fill(FILLED, 0);
                self.accepted.push(FILLED);
                self.due = true;
            }
            DirectoryStep::GiveUp => {
                self.plan.gives_up = false;
                (self.waiting, self.place) = (None, None);
            }
            DirectoryStep::Run => {
                self.due = false;
                self.sim.run_until_idle();
            }
            DirectoryStep::Idle => {
                self.plan.idles -= 1;
                let pid = self.grain.as_ref().unwrap().pid();
                if self.shared.lets_go(&1, pid) {
                    let dead = self.sim.stats().dead_letters;
                    self.kill();
                    assert_eq!(self.sim.stats().dead_letters, dead, "it had mail");
                }
            }
            DirectoryStep::Die => {
                self.plan.kill = false;
                self.kill();
            }
            DirectoryStep::Release => {
                self.plan.releases = false;
                self.shared.release(&1);
                self.due = true;
            }
            DirectoryStep::Hear => {
                let grain = self.grain.take().unwrap();
                self.shared.gone(1, grain.pid());
            }
            DirectoryStep::Make => {
                assert_eq!(self.shared.take_wanted(Waker::noop().clone()), [1], "wanted once");
                if self.shared.take_pid(&1).is_some() {
                    assert!(self.grain.is_none(), "the previous grain has not ended");
                    let grain = self.process();
                    assert!(self.shared.move_in(&1, &grain).is_empty());
                    (self.grain, self.due) = (Some(grain), true);
                }
            }
        }
    }

    /// Checks the end of a run, when no step is possible any more.
    fn ends(self) {
        assert!(self.waiting.is_none(), "it waits in vain");
        let mut seen = self.seen.lock().unwrap().clone();
        let lost = self.sim.stats().dead_letters - self.dead;
        assert_eq!(seen.len() + usize::try_from(lost).unwrap(), self.accepted.len());
        assert!(lost == 0 || self.may_fail, "{lost} lost");
        // Messages of one sender arrive in their order, each exactly once.
        assert!(seen.iter().filter(|message| **message != FILLED).is_sorted_by(|a, b| a > b));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len() + usize::try_from(lost).unwrap(), self.accepted.len());
        assert_eq!(self.shared.waiting(), 0);
        if let Some(grain) = &self.grain {
            assert!(self.shared.lets_go(&1, grain.pid()), "the grain is not needed");
            self.kill();
            self.shared.gone(1, grain.pid());
        }
        assert!(self.shared.directory.lock().entries.is_empty(), "nothing is left");
    }
}

/// Runs every order of the steps of a plan. Returns the number of orders.
fn explore(sim: &Simulation, plan: ModelBounds) -> usize {
    let (delegate, _) = keeper_and_grain(sim);
    let (mut orders, mut path) = (0, Vec::<(usize, usize)>::new());
    loop {
        let (mut model, mut depth) = (DirectoryModel::new(sim, &delegate, plan), 0);
        loop {
            let steps = model.steps();
            if steps.is_empty() {
                break;
            }
            if depth == path.len() {
                path.push((0, steps.len()));
            }
            model.take(steps[path[depth].0]);
            depth += 1;
        }
        model.ends();
        orders += 1;
        while path.pop_if(|(chosen, of)| *chosen + 1 == *of).is_some() {}
        let Some((chosen, _)) = path.last_mut() else { return orders };
        *chosen += 1;
    }
}

#[test]
fn k2_no_interleaving_of_messages_passivation_and_respawn_loses_a_message() {
    let sim = Simulation::new(1);
    let plan = ModelBounds { bound: 2, ..ModelBounds::default() };
    let plans = [
        ModelBounds { sends: 3, idles: 2, ..plan },
        ModelBounds { sends: 2, idles: 1, releases: true, ..plan },
        ModelBounds { sends: 2, waits: true, idles: 1, ..plan },
        ModelBounds { bound: 1, sends: 1, waits: true, gives_up: true, idles: 1, ..plan },
        ModelBounds { bound: 1, sends: 2, waits: true, releases: true, ..plan },
        ModelBounds { bound: 1, sends: 1, waits: true, idles: 1, releases: true, ..plan },
    ];
    for plan in plans {
        assert!(explore(&sim, plan) > 100);
    }
}

#[test]
fn k1_no_interleaving_spawns_a_grain_before_the_previous_one_is_down() {
    let sim = Simulation::new(1);
    let plan = ModelBounds { bound: 2, kill: true, ..ModelBounds::default() };
    let plans = [
        ModelBounds { sends: 3, idles: 1, ..plan },
        ModelBounds { sends: 1, waits: true, gives_up: true, ..plan },
        ModelBounds { bound: 1, sends: 2, waits: true, ..plan },
        ModelBounds { bound: 1, sends: 1, waits: true, releases: true, ..plan },
    ];
    for plan in plans {
        assert!(explore(&sim, plan) > 100);
    }
}
