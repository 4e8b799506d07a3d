//! The faults of a simulation: when they strike, and whom.

use super::Simulated;
use crate::simulation::faults::Faults;
use crate::simulation::injected_faults::InjectedFaults;
use krarup_gen::Pid;

impl Simulated {
    pub(crate) fn set_faults(&self, faults: Faults) {
        let before = self.faults.lock().begin(faults);
        before.end();
    }

    /// Whether one more random fault may strike.
    pub(crate) fn may_count(&self) -> bool {
        self.faults.lock().may_count()
    }

    /// Counts a random fault.
    pub(crate) fn count_fault(&self) {
        self.faults.lock().count();
    }

    /// Exempts a process from random faults.
    pub(crate) fn spare(&self, pid: Pid) {
        self.faults.lock().spare(pid);
    }

    pub(super) fn fail_start(&self, pid: Pid, turn: u64) {
        if !self.faults.lock().is_on() {
            return;
        }
        let Some(newcomer) = self.recorder.newcomer(pid) else { return };
        let fails = {
            let mut faults = self.faults.lock();
            faults.fails_to_start(&newcomer, turn, &mut self.state.lock().seeded)
        };
        if fails {
            self.recorder.fault(Some(pid), format!("{} fails to start", newcomer.label()));
            InjectedFaults::fail_start(newcomer);
        }
    }

    /// Applies the faults that strike after this turn.
    pub(super) fn strike(&self, turn: u64) {
        let mut faults = self.faults.lock();
        if !faults.is_on() {
            return;
        }
        let strikes = faults.after_turn(turn, &mut self.state.lock().seeded);
        drop(faults);
        for strike in strikes {
            if strike.fault.is_of_network() {
                self.strike_network(strike);
                continue;
            }
            let living = self.recorder.living();
            let struck = {
                let mut faults = self.faults.lock();
                faults.choose(strike, living, &mut self.state.lock().seeded)
            };
            let Some(struck) = struck else { continue };
            self.recorder.fault(struck.pid(), struck.to_string());
            // Not under any lock: the fault may make the process ready.
            let held = struck.apply(self.clock.now());
            self.faults.lock().keep(held);
        }
    }
}
