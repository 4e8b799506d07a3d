//! The dispatcher of a simulation: one thread, and every choice from a seed.

use super::calling;
use crate::clock::Clock;
use crate::faults::Faults;
use crate::recorder::Recorder;
use crate::seeded::Seeded;
use crate::timer::Timers;
use crate::trace::Run;
use crate::waiting::Flag;
use krarup_act::{Process, Ready, Stalled, TurnLimits, is_in_process};
use krarup_gen::{DispatcherStats, Pid, Timestamp};
use parking_lot::Mutex;
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
    seeded: Seeded,
    turns: u64,
    faults: Option<Faults>,
}

impl State {
    /// Takes a ready process out, and the number of its turn.
    fn take(&mut self, place: usize) -> (Ready, u64) {
        self.turns += 1;
        // Not `swap_remove`: the order of the others stays that of their arrival, so a
        // trace reads as it happened.
        (self.ready.remove(place), self.turns)
    }
}

impl Simulated {
    pub(crate) fn new(run: Run, clock: Arc<Clock>) -> Self {
        let limits = TurnLimits { throughput: run.throughput, deadline: None };
        let state =
            State { ready: Vec::new(), seeded: Seeded::new(run.seed), turns: 0, faults: None };
        let recorder = Recorder::new(run, clock);
        Simulated { limits, turn: Mutex::new(()), state: Mutex::new(state), recorder }
    }

    pub(crate) fn schedule(&self, ready: Ready) {
        self.state.lock().ready.push(ready);
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
        let (ready, number) = {
            let mut state = self.state.lock();
            let count = state.ready.len();
            if count == 0 {
                return None;
            }
            let chosen = state.seeded.choose(count);
            state.take(chosen)
        };
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
            let Some(place) = state.ready.iter().position(|ready| ready.pid() == pid) else {
                return false;
            };
            state.take(place)
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
        let ready = std::mem::take(&mut self.state.lock().ready);
        drop(ready);
        self.recorder.forget_the_living();
    }

    pub(crate) fn stats(&self) -> DispatcherStats {
        let turns = self.state.lock().turns;
        DispatcherStats::new("simulated".to_owned(), 1).with(|stats| stats.turns = turns)
    }
}
