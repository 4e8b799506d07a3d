//! The dispatcher of a simulation: one thread, and every choice from a seed.
//!
//! | choice | between |
//! |---|---|
//! | the next step | a turn of any ready process (of high class, if any is ready: [`ReadyLists`]), the first due timer of any process, work for a side thread, an event of the network ([`NetworkEvents`]) |
//! | the place of a message | after all others, or before those that were sent concurrently ([`Arrivals`]) |
//! | the faults | see [`Faults`] |
//!
//! All nodes of a simulation share it, with one virtual time and one trace.

mod carrying;
mod choosing;
mod striking;

use crate::block_on::WokenFlag;
use crate::dispatcher::calling_thread;
use crate::dispatcher::late_timers::LateTimers;
use crate::dispatcher::turn_log::TurnLog;
use crate::simulation::arrivals::Arrivals;
use crate::simulation::codecs::Codecs;
use crate::simulation::due_timers::{Due, DueTimers};
use crate::simulation::faults::Faults;
use crate::simulation::injected_faults::InjectedFaults;
use crate::simulation::network_events::NetworkEvents;
use crate::simulation::next_step::{NextStep, SimulatedWork};
use crate::simulation::nodes::SimulatedNodes;
use crate::simulation::ready_lists::ReadyLists;
use crate::simulation::recorder::Recorder;
use crate::simulation::schedule::Schedule;
use crate::simulation::seeded::Seeded;
use crate::simulation::trace::Run;
use crate::simulation::turn_limit::TurnLimit;
use crate::timers::clock::Clock;
use crate::timers::timer::{NodeTimers, give_up, ring};
use krarup_act::{
    NetworkEvent, Poke, Ready, SimulatedNetwork, Stalled, TimerKey, TurnLimits, contain,
    is_in_process, outside_traces,
};
use krarup_gen::{Class, DispatcherStats, Name, Pid, Timestamp, one_line};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

pub(crate) struct Simulated {
    limits: TurnLimits,
    /// Whether turns run in spans of `tracing`.
    pub(crate) spans: AtomicBool,
    clock: Arc<Clock>,
    /// Held during a turn: turns run one after the other, whichever threads drive the
    /// simulation.
    turn: Mutex<()>,
    state: Mutex<SimulatedState>,
    nodes: Mutex<SimulatedNodes>,
    /// The network between the nodes.
    network: Mutex<Option<Weak<dyn SimulatedNetwork>>>,
    codecs: Mutex<Codecs>,
    faults: Mutex<InjectedFaults>,
    /// See [`Simulated::poke_later`].
    pokes: LateTimers,
    /// By the creation of the node, what records its turns.
    turn_logs: Mutex<BTreeMap<u32, TurnLog>>,
    pub(crate) turn_limit: TurnLimit,
    pub(crate) recorder: Recorder,
}

struct SimulatedState {
    ready: ReadyLists,
    due: DueTimers,
    arrivals: Arrivals,
    seeded: Seeded,
    /// The work that processes have given to side threads.
    works: Vec<SimulatedWork>,
    events: NetworkEvents,
    /// The process whose turn runs.
    running: Option<Pid>,
    /// How many ready processes were passed over for the last turn, and for those before it.
    passed: usize,
}

impl Simulated {
    pub(crate) fn new(run: Run, clock: Arc<Clock>) -> Self {
        Self::with(run, Seeded::new(run.seed), Arc::default(), clock)
    }

    /// Makes the choices of a schedule instead of those of a seed, and records them.
    pub(crate) fn following(schedule: Schedule, clock: Arc<Clock>) -> Self {
        let (run, deviates) = (schedule.run, Arc::default());
        Self::with(run, Seeded::following(schedule, Arc::clone(&deviates)), deviates, clock)
    }

    fn with(run: Run, seeded: Seeded, deviates: Arc<AtomicBool>, clock: Arc<Clock>) -> Self {
        let state = SimulatedState {
            ready: ReadyLists::default(),
            due: DueTimers::default(),
            arrivals: Arrivals::default(),
            seeded,
            works: Vec::new(),
            events: NetworkEvents::default(),
            running: None,
            passed: 0,
        };
        Simulated {
            limits: TurnLimits {
                throughput: NonZeroU32::new(run.throughput).unwrap_or(NonZeroU32::MIN),
                deadline: None,
                spans: false,
            },
            spans: AtomicBool::new(false),
            clock: Arc::clone(&clock),
            turn: Mutex::new(()),
            state: Mutex::new(state),
            nodes: Mutex::default(),
            network: Mutex::default(),
            codecs: Mutex::default(),
            faults: Mutex::default(),
            pokes: LateTimers::default(),
            turn_logs: Mutex::default(),
            turn_limit: TurnLimit::default(),
            recorder: Recorder::new(run, clock, deviates),
        }
    }

    /// Adds a node.
    pub(crate) fn add_node(
        &self,
        creation: u32,
        name: Name,
        timers: Arc<NodeTimers>,
        turn_log: TurnLog,
    ) {
        self.nodes.lock().add(creation, timers);
        self.turn_logs.lock().insert(creation, turn_log);
        self.recorder.node_is_made(creation, name);
    }

    pub(crate) fn schedule(&self, ready: Ready) {
        let mut state = self.state.lock();
        state.arrivals.reached(ready.pid());
        state.ready.push(ready);
    }

    /// See [`Host::poke_later`](krarup_act::Host::poke_later). The processes are poked when no
    /// process is ready, before time advances, so a timer that is set late is still due at its
    /// exact time.
    pub(crate) fn poke_later(&self, process: &dyn Fn() -> Arc<dyn Poke>) -> bool {
        self.pokes.add(process)
    }

    /// Runs the work between turns, on the thread that drives the simulation. As on a side
    /// thread, no process is the current one.
    pub(crate) fn block(&self, node: u32, run: Box<dyn FnOnce() + Send>) {
        self.state.lock().works.push(SimulatedWork { node, run });
    }

    /// Prepares for a process of this class, which is about to be spawned.
    pub(crate) fn expect(&self, pid: Pid, class: Class) {
        self.state.lock().ready.expect(pid, class);
    }

    /// Removes a process that has ended or was not admitted.
    pub(crate) fn forget(&self, pid: Pid) {
        let mut state = self.state.lock();
        state.ready.forget(pid);
        state.arrivals.ended(pid);
        drop(state);
        self.faults.lock().forget(pid);
    }

    /// Runs one turn of a ready process that the seed chooses, and all timers and work chosen
    /// before it. Returns the process, or `None` if none is ready.
    pub(crate) fn step(&self) -> Option<Pid> {
        if is_in_process() {
            // A process does not run others within its own turn.
            return None;
        }
        let mut turn = self.turn.lock();
        loop {
            let Some(next) = self.choose() else {
                if self.pokes.poke() {
                    continue;
                }
                return None;
            };
            match next {
                NextStep::Timer(Due { owner, alarm, .. }) => {
                    self.recorder.timer_fires(owner);
                    ring(alarm);
                }
                NextStep::Work(work) => {
                    // Outside any turn: the work may wait for processes, which then run here.
                    let done = MutexGuard::unlocked(&mut turn, || contain(work.run));
                    if let Err(reason) = done {
                        // The log subscriber is user code too.
                        let _ = contain(|| {
                            tracing::error!(target: "krarup", reason = %one_line(&reason), "blocking work panicked");
                        });
                    }
                }
                NextStep::Network(event) => {
                    if let Ok(Some(text)) = contain(|| event.run()) {
                        self.recorder.network(text);
                    }
                }
                NextStep::Turn(ready, number) => {
                    if !self.turn_limit.admits_turn() {
                        // The panic must not drop the process, whose state is a user's.
                        self.schedule(ready);
                        self.turn_limit.no_rest(self.recorder.trace());
                    }
                    self.fail_start(ready.pid(), number);
                    let pid = self.run(ready, number);
                    self.strike(number);
                    return Some(pid);
                }
            }
        }
    }

    /// The network between the nodes.
    pub(crate) fn network(&self) -> Option<Weak<dyn SimulatedNetwork>> {
        self.network.lock().clone()
    }

    pub(crate) fn set_network(&self, network: Weak<dyn SimulatedNetwork>) {
        *self.network.lock() = Some(network);
    }

    /// Adds an event of the network, which happens at this time or later.
    pub(crate) fn add_event(&self, at: Timestamp, event: NetworkEvent) {
        self.state.lock().events.add(at, event);
    }

    /// Runs one turn of this process if it is ready, whatever the seed would choose.
    pub(crate) fn step_of(&self, pid: Pid) -> bool {
        if is_in_process() {
            return false;
        }
        let _turn = self.turn.lock();
        let Some((ready, number)) = self.state.lock().ready.take_this(pid) else { return false };
        self.run(ready, number);
        true
    }

    /// Called under the lock `turn`.
    fn run(&self, ready: Ready, number: u64) -> Pid {
        let pid = ready.pid();
        let begun = self.recorder.turn_begins(number, pid);
        {
            let mut state = self.state.lock();
            state.running = Some(pid);
            state.arrivals.turn_begins(pid);
        }
        let spans = self.spans.load(Ordering::Relaxed);
        let limits = TurnLimits { spans, ..self.limits };
        let turn_log = self.turn_logs.lock().get(&pid.creation()).cloned();
        let again = match turn_log.filter(TurnLog::is_on) {
            Some(turn_log) => {
                let run = |ready: Ready| outside_traces(|| ready.run(&limits));
                turn_log.run_recorded(0, ready, run)
            }
            None => outside_traces(|| ready.run(&limits)),
        };
        {
            let mut state = self.state.lock();
            state.running = None;
            state.arrivals.turn_is_over();
        }
        if let Some(again) = again {
            self.schedule(again);
        }
        if let Some(turn) = begun {
            self.recorder.turn_is_over(&turn);
        }
        // Processes of another node, for which the seed does not choose.
        calling_thread::after_turn(|_| {});
        pid
    }

    pub(crate) fn timer_is_set(&self, node: u32, key: TimerKey) {
        let mut state = self.state.lock();
        let owner = state.running;
        state.due.is_set(node, key, owner);
    }

    /// Cancels a timer that is set or due. Returns whether it was in time.
    pub(crate) fn cancel(&self, node: u32, key: TimerKey, was_set: bool) -> bool {
        let mut state = self.state.lock();
        if was_set {
            state.due.cancelled(node, key);
            return true;
        }
        let alarm = state.due.cancel(node, key);
        drop(state);
        // The alarm is dropped without the lock: it may hold the last handle on a process.
        alarm.is_some()
    }

    /// The number of timers of a node that are due and have not fired.
    pub(crate) fn due(&self, node: u32) -> usize {
        self.state.lock().due.of_node(node)
    }

    /// When the next timer, event of the network or end of a fault is due.
    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        let timers = self.nodes.lock().next_due();
        let event = self.state.lock().events.next();
        timers.into_iter().chain(event).chain(self.faults.lock().next_end()).min()
    }

    /// Advances virtual time. Timers that are due by then fire in the next steps.
    pub(crate) fn move_to(&self, to: Timestamp) {
        let before = self.clock.now();
        self.clock.advance_to(to);
        let now = self.clock.now();
        if now > before {
            self.turn_limit.begin_instant();
        }
        let due = self.nodes.lock().take_due(now);
        self.state.lock().due.add(due);
        let over = self.faults.lock().until(now);
        drop(over);
    }

    /// Runs until `future` is ready. Time advances only when no process is ready, and then to
    /// the next timer.
    ///
    /// # Panics
    /// If it takes more turns than the limit (rule Y7).
    pub(crate) fn drive(
        &self,
        mut future: Pin<&mut (dyn Future<Output = ()> + Send)>,
    ) -> Result<(), Stalled> {
        let flag = Arc::new(WokenFlag::default());
        let waker = Waker::from(Arc::clone(&flag));
        let mut cx = Context::from_waker(&waker);
        let mut turns = 0;
        loop {
            if let Poll::Ready(()) = future.as_mut().poll(&mut cx) {
                return Ok(());
            }
            while !flag.take() {
                if self.step().is_some() {
                    turns += 1;
                    self.turn_limit.check_wait(turns, || self.recorder.trace());
                    continue;
                }
                // A timer alone may have woken it.
                if flag.take() {
                    break;
                }
                let due = self.next_due().ok_or(Stalled)?;
                if self.clock.now() == Timestamp::MAX {
                    // Time has reached its maximum, at which only timers that mean "never" are
                    // due.
                    return Err(Stalled);
                }
                self.move_to(due);
            }
        }
    }

    /// Drops all work of a node that has not run, at its end. With the last node the simulation
    /// ends.
    pub(crate) fn clear(&self, node: u32) {
        let is_last = self.nodes.lock().remove(node);
        let turn_log = self.turn_logs.lock().remove(&node);
        drop(turn_log);
        let (ready, due, works, events) = {
            let mut state = self.state.lock();
            let works: Vec<_> = state.works.extract_if(.., |work| work.node == node).collect();
            let events = if is_last { state.events.take_all() } else { Vec::new() };
            (state.ready.take_of_node(node), state.due.take_of_node(node), works, events)
        };
        let _ = contain(|| drop(works));
        drop(ready);
        due.into_iter().for_each(give_up);
        drop(events);
        self.recorder.forget_the_living(node);
        if is_last {
            // A process on the list keeps its host alive, and so this dispatcher.
            self.pokes.clear();
            self.set_faults(Faults::new());
        }
    }

    /// How many turns there were.
    pub(crate) fn turns(&self) -> u64 {
        self.state.lock().ready.turns().0
    }

    pub(crate) fn stats(&self) -> DispatcherStats {
        let state = self.state.lock();
        DispatcherStats::new("simulated".to_owned(), 1).with(|stats| {
            (stats.turns, stats.high_turns) = state.ready.turns();
            stats.queued = state.ready.len();
            stats.scheduled = stats.turns + stats.queued as u64;
        })
    }
}
