//! The dispatcher of a simulation: one thread, and every choice from a seed.
//!
//! | choice | between |
//! |---|---|
//! | the next step | a turn of any ready process (of high class, if any is ready: [`ReadyLists`]), the first due timer of any process, work for a side thread |
//! | the place of a message | after all others, or before those that were sent concurrently ([`Arrivals`]) |
//! | the faults | see [`Faults`] |

use crate::block_on::WokenFlag;
use crate::dispatcher::calling_thread;
use crate::dispatcher::late_timers::LateTimers;
use crate::simulation::arrivals::Arrivals;
use crate::simulation::codecs::{Carried, Codecs};
use crate::simulation::due_timers::{Due, DueTimers};
use crate::simulation::faults::Faults;
use crate::simulation::injected_faults::InjectedFaults;
use crate::simulation::ready_lists::ReadyLists;
use crate::simulation::recorder::Recorder;
use crate::simulation::seeded::Seeded;
use crate::simulation::trace::Run;
use crate::timers::clock::Clock;
use crate::timers::timer::{NodeTimers, give_up, ring};
use krarup_act::{
    Poke, Ready, Sending, SimulatedLink, Stalled, TimerKey, TurnLimits, contain, is_in_process,
};
use krarup_gen::{Class, DispatcherStats, Pid, Timestamp};
use parking_lot::{Mutex, MutexGuard};
use std::any::Any;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    codecs: Mutex<Codecs>,
    faults: Mutex<InjectedFaults>,
    /// See [`Simulated::poke_later`].
    pokes: LateTimers,
    pub(crate) recorder: Recorder,
}

struct SimulatedState {
    ready: ReadyLists,
    due: DueTimers,
    arrivals: Arrivals,
    seeded: Seeded,
    /// The work that processes have given to side threads.
    works: Vec<SimulatedWork>,
    /// The process whose turn runs.
    running: Option<Pid>,
}

/// Work that may block: see [`krarup_act::Host::block`].
type SimulatedWork = Box<dyn FnOnce() + Send>;

/// The next step.
enum NextStep {
    Turn(Ready, u64),
    Timer(Due),
    Work(SimulatedWork),
}

impl Simulated {
    pub(crate) fn new(run: Run, clock: Arc<Clock>) -> Self {
        let state = SimulatedState {
            ready: ReadyLists::default(),
            due: DueTimers::default(),
            arrivals: Arrivals::default(),
            seeded: Seeded::new(run.seed),
            works: Vec::new(),
            running: None,
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
            codecs: Mutex::default(),
            faults: Mutex::default(),
            pokes: LateTimers::default(),
            recorder: Recorder::new(run, clock),
        }
    }

    pub(crate) fn schedule(&self, ready: Ready) {
        let mut state = self.state.lock();
        state.arrivals.reached(ready.pid());
        state.ready.push(ready);
    }

    /// See [`krarup_act::Host::poke_later`]. The processes are poked when no process is ready,
    /// before time advances, so a timer that is set late is still due at its exact time.
    pub(crate) fn poke_later(&self, process: &dyn Fn() -> Arc<dyn Poke>) -> bool {
        self.pokes.add(process)
    }

    /// Runs the work between turns, on the thread that drives the simulation. As on a side
    /// thread, no process is the current one.
    pub(crate) fn block(&self, work: SimulatedWork) {
        self.state.lock().works.push(work);
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

    pub(crate) fn random(&self) -> u64 {
        self.state.lock().seeded.number()
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
                    let done = MutexGuard::unlocked(&mut turn, || contain(work));
                    if let Err(reason) = done {
                        // The log subscriber is user code too.
                        let _ = contain(|| {
                            tracing::error!(target: "krarup", %reason, "blocking work panicked");
                        });
                    }
                }
                NextStep::Turn(ready, number) => {
                    self.fail_start(ready.pid(), number);
                    let pid = self.run(ready, number);
                    self.strike(number);
                    return Some(pid);
                }
            }
        }
    }

    fn choose(&self) -> Option<NextStep> {
        let mut faults = self.faults.lock();
        let mut state = self.state.lock();
        let SimulatedState { ready, due, seeded, works, .. } = &mut *state;
        let holds_any = faults.holds_any(self.clock.now());
        let holds = |pid| faults.holds(pid);
        let candidates = ready.candidates(if holds_any { Some(&holds) } else { None });
        let timers = due.choices();
        let count = candidates.count + timers + works.len();
        if count == 0 {
            return None;
        }
        let chosen = seeded.choose(count);
        if chosen >= candidates.count + timers {
            return Some(NextStep::Work(works.remove(chosen - candidates.count - timers)));
        }
        if chosen >= candidates.count {
            return due.take(chosen - candidates.count).map(NextStep::Timer);
        }
        let (ready, number) = ready.take(&candidates, chosen);
        Some(NextStep::Turn(ready, number))
    }

    pub(crate) fn set_faults(&self, faults: Faults) {
        let before = self.faults.lock().begin(faults);
        drop(before);
    }

    /// Exempts a process from random faults.
    pub(crate) fn spare(&self, pid: Pid) {
        self.faults.lock().spare(pid);
    }

    fn fail_start(&self, pid: Pid, turn: u64) {
        if !self.faults.lock().is_on() {
            return;
        }
        let Some(newcomer) = self.recorder.newcomer(pid) else { return };
        let fails = {
            let mut faults = self.faults.lock();
            faults.fails_to_start(&newcomer, turn, &mut self.state.lock().seeded)
        };
        if fails {
            self.recorder.fault(format!("{} fails to start", newcomer.label()));
            InjectedFaults::fail_start(newcomer);
        }
    }

    /// Applies the faults that strike after this turn.
    fn strike(&self, turn: u64) {
        let mut faults = self.faults.lock();
        if !faults.is_on() {
            return;
        }
        let strikes = faults.after_turn(turn, &mut self.state.lock().seeded);
        drop(faults);
        for strike in strikes {
            let living = self.recorder.living();
            let struck = {
                let mut faults = self.faults.lock();
                faults.choose(strike, living, &mut self.state.lock().seeded)
            };
            let Some(struck) = struck else { continue };
            self.recorder.fault(struck.to_string());
            // Not under any lock: the fault may make the process ready.
            let held = struck.apply(self.clock.now());
            self.faults.lock().keep(held);
        }
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
        let again = ready.run(&TurnLimits { spans, ..self.limits });
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

    pub(crate) fn timer_is_set(&self, key: TimerKey) {
        let mut state = self.state.lock();
        let owner = state.running;
        state.due.is_set(key, owner);
    }

    /// Cancels a timer that is set or due. Returns whether it was in time.
    pub(crate) fn cancel(&self, key: TimerKey, was_set: bool) -> bool {
        let mut state = self.state.lock();
        if was_set {
            state.due.cancelled(key);
            return true;
        }
        let alarm = state.due.cancel(key);
        drop(state);
        // The alarm is dropped without the lock: it may hold the last handle on a process.
        alarm.is_some()
    }

    /// The number of timers that are due and have not fired.
    pub(crate) fn due(&self) -> usize {
        self.state.lock().due.len()
    }

    /// When the next timer or the end of a fault is due.
    pub(crate) fn next_due(&self, timers: &NodeTimers) -> Option<Timestamp> {
        timers.next_due().into_iter().chain(self.faults.lock().next_end()).min()
    }

    /// Advances virtual time. Timers that are due by then fire in the next steps.
    pub(crate) fn move_to(&self, to: Timestamp, clock: &Clock, timers: &NodeTimers) {
        clock.advance_to(to);
        let due = timers.take_due(clock.now());
        self.state.lock().due.add(due);
        let over = self.faults.lock().until(clock.now());
        drop(over);
    }

    /// Runs until `future` is ready. Time advances only when no process is ready, and then to
    /// the next timer.
    pub(crate) fn drive(
        &self,
        mut future: Pin<&mut (dyn Future<Output = ()> + Send)>,
        clock: &Clock,
        timers: &NodeTimers,
    ) -> Result<(), Stalled> {
        let flag = Arc::new(WokenFlag::default());
        let waker = Waker::from(Arc::clone(&flag));
        let mut cx = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(()) = future.as_mut().poll(&mut cx) {
                return Ok(());
            }
            while !flag.take() {
                if self.step().is_some() {
                    continue;
                }
                // A timer alone may have woken it.
                if flag.take() {
                    break;
                }
                let due = self.next_due(timers).ok_or(Stalled)?;
                if clock.now() == Timestamp::MAX {
                    // Time has reached its maximum, at which only timers that mean "never" are
                    // due.
                    return Err(Stalled);
                }
                self.move_to(due, clock, timers);
            }
        }
    }

    pub(crate) fn codecs(&self) -> &Mutex<Codecs> {
        &self.codecs
    }

    pub(crate) fn carried(&self) -> Carried {
        self.codecs.lock().carried().clone()
    }

    /// Drops all work that has not run, at the end of the simulation.
    pub(crate) fn clear(&self) {
        let (ready, due, works) = {
            let mut state = self.state.lock();
            (state.ready.take_all(), state.due.take_all(), std::mem::take(&mut state.works))
        };
        let _ = contain(|| drop(works));
        ready.for_each(drop);
        due.for_each(give_up);
        // A process on the list keeps its host alive, and so this dispatcher.
        self.pokes.clear();
        self.set_faults(Faults::new());
        self.recorder.forget_the_living();
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

impl SimulatedLink for Simulated {
    fn carry(&self, sending: &Sending, message: &mut dyn Any) {
        self.recorder.sent(sending);
        let type_name = sending.type_name;
        let Some(codec) = self.codecs.lock().find(type_name, message) else { return };
        // The codec is user code and may panic.
        let outcome = contain(|| codec(message)).map_err(|panic| panic.to_string()).flatten();
        if let Err(error) = &outcome {
            self.recorder.codec_failed(type_name, error.clone());
        }
        self.codecs.lock().note(type_name, outcome);
    }

    fn arrives(&self, to: Pid, outside: bool, overtake: &mut dyn FnMut(usize) -> usize) {
        let mut state = self.state.lock();
        let SimulatedState { arrivals, seeded, .. } = &mut *state;
        let passed = match arrivals.passable(to, outside) {
            0 => 0,
            most => overtake(seeded.choose(most + 1)),
        };
        arrivals.arrived(to, outside, passed);
    }

    fn touches(&self, to: Pid) {
        self.state.lock().arrivals.reached(to);
    }
}
