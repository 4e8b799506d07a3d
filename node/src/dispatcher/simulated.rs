//! The dispatcher of a simulation: one thread, and every choice from a seed.
//!
//! The seed chooses among the ready processes of high class if there are any, but after 16 of
//! them in a row among the normal ones if there are any (rule R6).

use super::calling;
use super::express::IN_A_ROW;
use crate::clock::Clock;
use crate::faults::Faults;
use crate::recorder::Recorder;
use crate::seeded::Seeded;
use crate::timer::Timers;
use crate::trace::Run;
use crate::waiting::Flag;
use krarup_act::{Process, Ready, Stalled, TurnLimits, is_in_process};
use krarup_gen::{Class, DispatcherStats, Pid, Timestamp};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

pub(crate) struct Simulated {
    limits: TurnLimits,
    /// Held during a turn: whichever threads drive the simulation, turns come one after
    /// the other.
    turn: Mutex<()>,
    state: Mutex<State>,
    pub(crate) recorder: Recorder,
}

struct State {
    ready: Vec<Ready>,
    /// Ready ones of high class.
    high: Vec<Ready>,
    /// All living ones of high class, by number.
    highs: BTreeSet<u64>,
    /// Turns of these without one of a normal process.
    in_a_row: u32,
    high_turns: u64,
    seeded: Seeded,
    turns: u64,
    faults: Option<Faults>,
}

impl State {
    /// Takes the ready process out that the seed chooses, and the number of its turn.
    fn choose(&mut self) -> Option<(Ready, u64)> {
        let tired = self.in_a_row >= IN_A_ROW && !self.ready.is_empty();
        let class = if self.high.is_empty() || tired { Class::Normal } else { Class::High };
        let count = self.of_class(class).len();
        if count == 0 {
            return None;
        }
        let chosen = self.seeded.choose(count);
        Some(self.take(class, chosen))
    }

    fn of_class(&mut self, class: Class) -> &mut Vec<Ready> {
        match class {
            Class::High => &mut self.high,
            _ => &mut self.ready,
        }
    }

    /// Takes a ready process out, and the number of its turn.
    fn take(&mut self, class: Class, place: usize) -> (Ready, u64) {
        self.turns += 1;
        if class == Class::High {
            self.in_a_row += 1;
            self.high_turns += 1;
        } else {
            self.in_a_row = 0;
        }
        // Not `swap_remove`: the order of the others stays that of their arrival, so a
        // trace reads as it happened.
        (self.of_class(class).remove(place), self.turns)
    }

    fn class(&self, pid: Pid) -> Class {
        if self.highs.contains(&pid.id()) { Class::High } else { Class::Normal }
    }
}

impl Simulated {
    pub(crate) fn new(run: Run, clock: Arc<Clock>) -> Self {
        let limits = TurnLimits { throughput: run.throughput, deadline: None };
        let state = State {
            ready: Vec::new(),
            high: Vec::new(),
            highs: BTreeSet::new(),
            in_a_row: 0,
            high_turns: 0,
            seeded: Seeded::new(run.seed),
            turns: 0,
            faults: None,
        };
        let recorder = Recorder::new(run, clock);
        Simulated { limits, turn: Mutex::new(()), state: Mutex::new(state), recorder }
    }

    pub(crate) fn schedule(&self, ready: Ready) {
        let mut state = self.state.lock();
        let class = state.class(ready.pid());
        state.of_class(class).push(ready);
    }

    /// A process of this class is about to be.
    pub(crate) fn expect(&self, pid: Pid, class: Class) {
        if class == Class::High {
            self.state.lock().highs.insert(pid.id());
        }
    }

    /// A process has ended, or was not admitted.
    pub(crate) fn forget(&self, pid: Pid) {
        self.state.lock().highs.remove(&pid.id());
    }

    pub(crate) fn random(&self) -> u64 {
        self.state.lock().seeded.number()
    }

    /// Runs one turn of a ready process chosen by the seed; which, or `None` if none is
    /// ready.
    pub(crate) fn step(&self) -> Option<Pid> {
        if is_in_process() {
            // A process does not run others within its own turn.
            return None;
        }
        let _turn = self.turn.lock();
        let (ready, number) = self.state.lock().choose()?;
        let pid = self.run(ready, number);
        if let Some(victim) = self.fault() {
            victim.kill();
        }
        Some(pid)
    }

    pub(crate) fn set_faults(&self, faults: Faults) {
        self.state.lock().faults = Some(faults);
    }

    /// Whom a fault kills now, if there is one.
    fn fault(&self) -> Option<Arc<dyn Process>> {
        let victim = {
            let State { faults, seeded, .. } = &mut *self.state.lock();
            let faults = faults.as_mut()?;
            if !faults.strikes(seeded) {
                return None;
            }
            faults.choose(seeded, self.recorder.living().into_iter())?
        };
        self.recorder.fault(victim)
    }

    /// Runs one turn of this process, if it is ready, whatever the seed would choose.
    pub(crate) fn step_of(&self, pid: Pid) -> bool {
        if is_in_process() {
            return false;
        }
        let _turn = self.turn.lock();
        let (ready, number) = {
            let mut state = self.state.lock();
            let class = state.class(pid);
            let place = state.of_class(class).iter().position(|ready| ready.pid() == pid);
            let Some(place) = place else { return false };
            state.take(class, place)
        };
        self.run(ready, number);
        true
    }

    /// Under the lock `turn`.
    fn run(&self, ready: Ready, number: u64) -> Pid {
        let pid = ready.pid();
        let begun = self.recorder.turn_begins(number, pid);
        if let Some(again) = ready.run(&self.limits) {
            self.schedule(again);
        }
        if let Some(turn) = begun {
            self.recorder.turn_is_over(&turn);
        }
        // Of another node, which is none of the seed's business.
        calling::after_turn(|_| {});
        pid
    }

    /// Moves virtual time and fires what is due by then.
    pub(crate) fn move_to(&self, to: Timestamp, clock: &Clock, timers: &Timers) {
        clock.advance_to(to);
        timers.fire_noting(clock.now(), |count| self.recorder.timers_fired(count));
    }

    /// Runs until `future` is ready. Time moves only when no process is ready, and then
    /// to the next timer.
    pub(crate) fn drive(
        &self,
        mut future: Pin<&mut (dyn Future<Output = ()> + Send)>,
        clock: &Clock,
        timers: &Timers,
    ) -> Result<(), Stalled> {
        let flag = Arc::new(Flag::default());
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
                let due = timers.next_due().ok_or(Stalled)?;
                if clock.now() == Timestamp::MAX {
                    // At the end of time; what is due then is "never".
                    return Err(Stalled);
                }
                self.move_to(due, clock, timers);
            }
        }
    }

    /// Drops what has not run: the simulation ends.
    pub(crate) fn clear(&self) {
        let ready = {
            let mut state = self.state.lock();
            (std::mem::take(&mut state.ready), std::mem::take(&mut state.high))
        };
        drop(ready);
        self.recorder.forget_the_living();
    }

    pub(crate) fn stats(&self) -> DispatcherStats {
        let state = self.state.lock();
        DispatcherStats::new("simulated".to_owned(), 1).with(|stats| {
            (stats.turns, stats.high_turns) = (state.turns, state.high_turns);
            stats.queued = state.ready.len() + state.high.len();
            stats.scheduled = state.turns + stats.queued as u64;
        })
    }
}
