//! Workers in virtual time: what each does next, and what that costs.
//!
//! ```text
//!   Look ── own queue ──► turn ──► TurnOver ──► Look
//!    ▲ ╲ empty
//!    │  ╲► Round 0, 1, .. ── injector or sibling ──► turn
//!    │          ╲ nothing
//!    └── woken ── parked, or dozing for as long as the policy holds back
//! ```
//!
//! Whether a theft pays, how long a worker holds back and how long it searches is decided by the real
//! [`StealPolicy`](super::StealPolicy) and [`Searcher`]. The rules of waking are those of `sleep.rs`, whose races have
//! loom models; here each step is whole.

use super::costs::{CARRIED, LOOK, QUEUE, ROUND_SPIN, ROUND_YIELD, WAKE};
use crate::dispatcher::searcher::Searcher;
use crate::dispatcher::steal_policy::{Sibling, Theft};
use krarup_gen::Timestamp;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

/// The most processes of a theft, and of what is taken from the injector at once.
const THEFT: usize = 32;
const INJECTED: usize = 17;
/// The most messages of a turn.
const BUDGET: u64 = 64;
/// Rounds of a search that spin; the others yield.
const SPINS: u32 = 4;

/// A ready process: how long each of its turns is, in nanoseconds, and how many it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct SimulatedProcess {
    pub(super) turn: u64,
    pub(super) turns: u64,
    /// Where it ran last.
    pub(super) home: Option<usize>,
    /// Its place in the crowd. Its turns are as long as the messages that it has, and never end.
    pub(super) member: Option<usize>,
}

impl SimulatedProcess {
    pub(super) fn new(turn: u64, turns: u64) -> Self {
        SimulatedProcess { turn, turns, home: None, member: None }
    }

    fn member(place: usize, turn: u64) -> Self {
        SimulatedProcess { turn, turns: u64::MAX, home: None, member: Some(place) }
    }
}

/// Processes each of which answers a message with one to a process at random.
struct Crowd {
    members: Vec<CrowdMember>,
    rng: SmallRng,
}

struct CrowdMember {
    home: usize,
    messages: u64,
    /// How many messages it handles in the turn that has begun.
    handled: u64,
    /// Whether it is in a queue or in a turn.
    active: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum WorkerStep {
    Look,
    Round(u32),
    TurnOver,
    /// The doze or the sleep is over.
    Awake,
    /// A process comes from outside.
    Arrival,
}

struct ModelWorker {
    queue: VecDeque<SimulatedProcess>,
    running: Option<SimulatedProcess>,
    searcher: Searcher,
    patience: Option<Duration>,
    /// Since when it sleeps, and whether for a limited time.
    asleep: Option<(u64, bool)>,
    /// Earlier plans for this worker are void.
    plan: u64,
    turns: u64,
    first_turn: Option<u64>,
    busy: u64,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StealingTotals {
    pub(super) wakes: u64,
    pub(super) thefts: u64,
}

pub(super) struct ModelNode {
    workers: Vec<ModelWorker>,
    injector: VecDeque<SimulatedProcess>,
    /// Workers that are parked; those that doze lie at the bottom.
    stack: Vec<usize>,
    dozing: usize,
    searching: usize,
    pub(super) now: u64,
    plans: BinaryHeap<Reverse<(u64, u64, usize, WorkerStep)>>,
    arrivals: VecDeque<SimulatedProcess>,
    crowd: Option<Crowd>,
    pub(super) totals: StealingTotals,
    pub(super) left: usize,
}

impl ModelNode {
    /// Workers that have been asleep for long.
    pub(super) fn at_rest(workers: usize) -> Self {
        let worker = |index| ModelWorker {
            queue: VecDeque::new(),
            running: None,
            searcher: Searcher::new(index),
            patience: None,
            asleep: Some((0, false)),
            plan: 0,
            turns: 0,
            first_turn: None,
            busy: 0,
        };
        ModelNode {
            workers: (0..workers).map(worker).collect(),
            injector: VecDeque::new(),
            stack: (0..workers).collect(),
            dozing: 0,
            searching: 0,
            now: 1_000_000_000,
            plans: BinaryHeap::new(),
            arrivals: VecDeque::new(),
            crowd: None,
            totals: StealingTotals::default(),
            left: 0,
        }
    }

    /// Wakes a worker with processes in its own queue, all others too if they have some.
    pub(super) fn give(
        &mut self,
        worker: usize,
        processes: impl IntoIterator<Item = SimulatedProcess>,
    ) {
        let before = self.workers[worker].queue.len();
        self.workers[worker].queue.extend(processes);
        self.left += self.workers[worker].queue.len() - before;
        if self.leave_stack(worker) {
            self.plan(worker, 0, WorkerStep::Awake);
        }
    }

    /// Processes with a message each, all in the queue of the first worker. A message takes so many nanoseconds.
    pub(super) fn crowd(&mut self, processes: usize, turn: u64) {
        let member = |_| CrowdMember { home: 0, messages: 1, handled: 0, active: true };
        let members = (0..processes).map(member).collect();
        self.crowd = Some(Crowd { members, rng: SmallRng::seed_from_u64(1) });
        self.give(0, (0..processes).map(|place| SimulatedProcess::member(place, turn)));
    }

    /// A process comes from outside, so much later.
    pub(super) fn arrives(&mut self, after: u64, process: SimulatedProcess) {
        self.left += 1;
        self.arrivals.push_back(process);
        self.plans.push(Reverse((self.now + after, u64::MAX, usize::MAX, WorkerStep::Arrival)));
    }

    /// Goes on until all processes have ended, or this moment.
    pub(super) fn run(&mut self, until: u64) {
        while self.left > 0
            && let Some(Reverse((when, plan, worker, step))) = self.plans.pop()
        {
            if when > until {
                self.plans.push(Reverse((when, plan, worker, step)));
                return;
            }
            if step == WorkerStep::Arrival {
                self.now = when;
                let process = self.arrivals.pop_front().expect("as many as were planned");
                self.injector.push_back(process);
                self.wake_one();
            } else if self.workers[worker].plan == plan {
                self.now = when;
                self.step(worker, step);
            }
        }
    }

    /// When the last of the workers began its first turn. `None`: one has had none.
    pub(super) fn all_began(&self) -> Option<u64> {
        self.workers
            .iter()
            .map(|worker| worker.first_turn)
            .max_by_key(|first| first.unwrap_or(u64::MAX))?
    }

    /// The time that all workers together spent in turns.
    pub(super) fn busy(&self) -> u64 {
        self.workers.iter().map(|worker| worker.busy).sum()
    }

    pub(super) fn turns(&self) -> u64 {
        self.workers.iter().map(|worker| worker.turns).sum()
    }

    fn plan(&mut self, worker: usize, after: u64, step: WorkerStep) {
        self.workers[worker].plan += 1;
        let plan = self.workers[worker].plan;
        self.plans.push(Reverse((self.now + after, plan, worker, step)));
    }

    fn step(&mut self, worker: usize, step: WorkerStep) {
        match step {
            WorkerStep::Look => self.look(worker),
            WorkerStep::Round(round) => self.round(worker, round),
            WorkerStep::TurnOver => self.turn_over(worker),
            WorkerStep::Awake => {
                if let Some((since, limited)) = self.workers[worker].asleep.take() {
                    // A worker that wakes by itself is still on the stack.
                    self.leave_stack(worker);
                    self.dozing -= usize::from(limited);
                    if !limited {
                        let slept = Duration::from_nanos(self.now - since);
                        self.workers[worker].searcher.has_slept(slept);
                    }
                    self.workers[worker].searcher.searching = true;
                }
                self.look(worker);
            }
            WorkerStep::Arrival => {}
        }
    }

    fn look(&mut self, worker: usize) {
        if let Some(process) = self.workers[worker].queue.pop_front() {
            return self.begin(worker, process, QUEUE);
        }
        let now = self.timestamp();
        let siblings = self.siblings(worker);
        let one = &mut self.workers[worker];
        if !one.searcher.searching {
            one.searcher.searching = true;
            self.searching += 1;
            one.searcher.policy.has_run_dry(one.turns, || now, siblings.iter().copied());
        }
        one.patience = one.searcher.policy.patience(|| now, siblings.iter().copied());
        self.plan(worker, 0, WorkerStep::Round(0));
    }

    fn round(&mut self, worker: usize, round: u32) {
        if round == self.workers[worker].searcher.rounds {
            return self.park(worker);
        }
        if let Some(first) = self.injector.pop_front() {
            let more = (self.injector.len() / 2).min(INJECTED - 1);
            let batch: Vec<_> = self.injector.drain(..more).collect();
            self.workers[worker].queue.extend(batch);
            self.workers[worker].searcher.has_taken();
            return self.begin(worker, first, LOOK);
        }
        let mut cost = LOOK;
        if self.workers[worker].patience.is_none() {
            let count = self.workers.len();
            let start = self.workers[worker].searcher.rng.random_range(0..count);
            for victim in (start..count).chain(0..start).filter(|victim| *victim != worker) {
                cost += LOOK;
                if !self.workers[victim].queue.is_empty() {
                    return self.steal(worker, victim, cost);
                }
            }
        }
        let pause = if round < SPINS { ROUND_SPIN << round } else { ROUND_YIELD };
        self.plan(worker, cost + pause, WorkerStep::Round(round + 1));
    }

    /// Half of the victim's queue, at most 32.
    fn steal(&mut self, worker: usize, victim: usize, cost: u64) {
        let processes = self.workers[victim].queue.len().div_ceil(2).min(THEFT);
        let mut taken: VecDeque<_> = self.workers[victim].queue.drain(..processes).collect();
        self.totals.thefts += 1;
        let now = self.timestamp();
        let (from, siblings) = (self.sibling(victim), self.siblings(worker));
        let one = &mut self.workers[worker];
        let theft = Theft { when: now, processes, from, turns: one.turns };
        one.searcher.policy.has_stolen(theft, siblings.into_iter());
        one.searcher.has_stolen();
        let first = taken.pop_front().expect("the victim has work");
        one.queue.extend(taken);
        self.begin(worker, first, cost);
    }

    fn begin(&mut self, worker: usize, mut process: SimulatedProcess, cost: u64) {
        if std::mem::take(&mut self.workers[worker].searcher.searching) {
            self.searching -= 1;
            let any_work =
                !self.injector.is_empty() || self.workers.iter().any(|one| !one.queue.is_empty());
            if self.searching == 0 && any_work {
                self.wake_one();
            }
        }
        let mut messages = 1;
        if let Some(member) = self.member(process) {
            process.home = Some(std::mem::replace(&mut member.home, worker));
            member.handled = member.messages.min(BUDGET);
            member.messages -= member.handled;
            messages = member.handled;
        }
        let carried = process.home.is_some_and(|home| home != worker);
        let turn = process.turn * messages + if carried { CARRIED } else { 0 };
        process.home = Some(worker);
        let one = &mut self.workers[worker];
        one.turns += 1;
        one.busy += process.turn * messages;
        one.first_turn.get_or_insert(self.now);
        one.running = Some(process);
        self.plan(worker, cost + turn, WorkerStep::TurnOver);
    }

    fn turn_over(&mut self, worker: usize) {
        let mut process = self.workers[worker].running.take().expect("it ran one");
        process.turns -= 1;
        if let Some(place) = process.member {
            self.send_on(worker, place, process.turn);
        } else if process.turns == 0 {
            self.left -= 1;
        } else {
            self.push(worker, process);
        }
        self.look(worker);
    }

    fn push(&mut self, worker: usize, process: SimulatedProcess) {
        let is_first = self.workers[worker].queue.is_empty();
        self.workers[worker].queue.push_back(process);
        // A second process in the queue is worth a sibling, if one could be woken.
        if !is_first && self.stack.len() > self.dozing && self.searching == 0 {
            self.wake_one();
        }
    }

    /// Each message that a member of the crowd has handled becomes one to any other. A receiver without messages is
    /// made ready here.
    fn send_on(&mut self, worker: usize, place: usize, turn: u64) {
        let crowd = self.crowd.as_mut().expect("a member is of a crowd");
        let member = &mut crowd.members[place];
        let handled = std::mem::take(&mut member.handled);
        member.active = member.messages > 0;
        let mut ready: Vec<_> = member.active.then_some(place).into_iter().collect();
        for _ in 0..handled {
            let receiver = crowd.rng.random_range(0..crowd.members.len());
            let member = &mut crowd.members[receiver];
            member.messages += 1;
            if !std::mem::replace(&mut member.active, true) {
                ready.push(receiver);
            }
        }
        for place in ready {
            self.push(worker, SimulatedProcess::member(place, turn));
        }
    }

    fn member(&mut self, process: SimulatedProcess) -> Option<&mut CrowdMember> {
        self.crowd.as_mut()?.members.get_mut(process.member?)
    }

    /// After a push: wakes a parked worker if none searches.
    fn wake_one(&mut self) {
        if self.searching == 0
            && let Some(worker) = self.stack.pop()
        {
            self.searching += 1;
            self.totals.wakes += 1;
            self.plan(worker, WAKE, WorkerStep::Awake);
        }
    }

    fn park(&mut self, worker: usize) {
        let patience = self.workers[worker].patience;
        self.searching -= 1;
        self.workers[worker].searcher.searching = false;
        let at_siblings = self.workers.iter().any(|one| !one.queue.is_empty());
        if !self.injector.is_empty() || (patience.is_none() && at_siblings) {
            self.searching += 1;
            self.workers[worker].searcher.searching = true;
            return self.plan(worker, LOOK, WorkerStep::Look);
        }
        self.workers[worker].asleep = Some((self.now, patience.is_some()));
        match patience {
            Some(limit) => {
                self.stack.insert(0, worker);
                self.dozing += 1;
                let limit = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
                self.plan(worker, limit, WorkerStep::Awake);
            }
            None => self.stack.push(worker),
        }
    }

    /// Takes a worker off the stack and counts it as searching.
    fn leave_stack(&mut self, worker: usize) -> bool {
        let Some(place) = self.stack.iter().rposition(|parked| *parked == worker) else {
            return false;
        };
        self.stack.remove(place);
        self.searching += 1;
        true
    }

    fn timestamp(&self) -> Timestamp {
        Timestamp::from_nanos(self.now)
    }

    fn sibling(&self, worker: usize) -> Sibling {
        let one = &self.workers[worker];
        Sibling { worker, turns: one.turns, has_work: !one.queue.is_empty() }
    }

    fn siblings(&self, of: usize) -> Vec<Sibling> {
        (0..self.workers.len())
            .filter(|other| *other != of)
            .map(|other| self.sibling(other))
            .collect()
    }
}
