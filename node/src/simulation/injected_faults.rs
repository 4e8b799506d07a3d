//! The faults that are active in a simulation, and what they hold up.

use crate::simulation::faults::{Fault, Faults, Strike, Victim};
use crate::simulation::process_key::ProcessKey;
use crate::simulation::recorder::Candidate;
use crate::simulation::schedule::ChoiceKind;
use crate::simulation::seeded::{NamedItems, Seeded};
use krarup_act::{Process, Via};
use krarup_gen::{Exit, Pid, Reason, Timestamp};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

#[derive(Default)]
pub(crate) struct InjectedFaults {
    faults: Option<Faults>,
    /// Processes that no random fault hits: the test's own.
    spared: Vec<ProcessKey>,
    /// Processes that have no turn, and until when.
    held: BTreeMap<ProcessKey, Timestamp>,
    /// Room that is reserved, and until when.
    occupied: Vec<(Timestamp, OccupiedRoom)>,
    /// Processes that were to panic at their next message, and may not have had one.
    panicking: BTreeMap<ProcessKey, Arc<dyn Process>>,
}

/// Room in a mailbox. Dropping it returns the room, which must happen under no lock.
pub(crate) type OccupiedRoom = Box<dyn Send>;

/// A fault with the process that it hits.
pub(crate) struct Struck {
    fault: Fault,
    victim: Result<Candidate, Victim>,
}

/// Those that a fault may hit, by their numbers.
struct Victims<'a>(&'a [Candidate]);

impl NamedItems for Victims<'_> {
    fn default_item(&self) -> usize {
        0
    }

    fn name(&self, item: usize) -> usize {
        usize::try_from(self.0[item].pid.id()).unwrap_or(usize::MAX)
    }

    fn find(&self, name: usize) -> Option<usize> {
        (0..self.0.len()).find(|item| self.name(*item) == name)
    }
}

/// What a fault holds up from now on.
pub(crate) enum FaultEffect {
    Nothing,
    Turns(Pid, Timestamp),
    Room(Timestamp, OccupiedRoom),
    Panic(Pid, Arc<dyn Process>),
}

/// What earlier faults have left, to be ended under no lock.
pub(crate) struct EarlierEffects {
    occupied: Vec<(Timestamp, OccupiedRoom)>,
    panicking: BTreeMap<ProcessKey, Arc<dyn Process>>,
}

impl EarlierEffects {
    pub(crate) fn end(self) {
        drop(self.occupied);
        for process in self.panicking.into_values() {
            process.panic_at_next_message(false);
        }
    }
}

impl InjectedFaults {
    /// Sets the faults from now on, and ends the effects of earlier ones; what is returned is to be ended under no lock.
    pub(crate) fn begin(&mut self, faults: Faults) -> EarlierEffects {
        self.faults = Some(faults);
        self.held.clear();
        EarlierEffects {
            occupied: std::mem::take(&mut self.occupied),
            panicking: std::mem::take(&mut self.panicking),
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.faults.is_some()
    }

    pub(crate) fn spare(&mut self, pid: Pid) {
        self.spared.push(pid.into());
    }

    pub(crate) fn forget(&mut self, pid: Pid) {
        self.held.remove(&pid.into());
        self.panicking.remove(&pid.into());
        self.spared.retain(|spared| *spared != pid.into());
    }

    /// Whether any process is held up now.
    pub(crate) fn holds_any(&mut self, now: Timestamp) -> bool {
        self.held.retain(|_, until| *until > now);
        !self.held.is_empty()
    }

    pub(crate) fn holds(&self, pid: Pid) -> bool {
        self.held.contains_key(&pid.into())
    }

    /// When the next effect ends.
    pub(crate) fn next_end(&self) -> Option<Timestamp> {
        self.held.values().chain(self.occupied.iter().map(|(until, _)| until)).min().copied()
    }

    /// Ends the effects that are over by now. Returns their room, to be dropped under no lock.
    pub(crate) fn until(&mut self, now: Timestamp) -> Vec<(Timestamp, OccupiedRoom)> {
        self.held.retain(|_, until| *until > now);
        self.occupied.extract_if(.., |(until, _)| *until <= now).collect()
    }

    pub(crate) fn fails_to_start(
        &mut self,
        newcomer: &Candidate,
        turn: u64,
        seeded: &mut Seeded,
    ) -> bool {
        let spared = self.spared.contains(&newcomer.pid.into());
        let name = newcomer.name.as_ref();
        let faults = self.faults.as_mut().filter(|_| !spared);
        faults.is_some_and(|faults| faults.fails_to_start(turn, newcomer.pid, name, seeded))
    }

    /// Ends a process before its first turn, like a failing `init`.
    pub(crate) fn fail_start(newcomer: Candidate) {
        let reason = Reason::error("injected fault of the simulation");
        let exit = Exit { pid: newcomer.pid, reason };
        newcomer.process.exit_signal(exit, Via::Signal);
    }

    /// Whether one more random fault may strike.
    pub(crate) fn may_count(&self) -> bool {
        self.faults.as_ref().is_some_and(Faults::may_count)
    }

    /// Counts a random fault.
    pub(crate) fn count(&mut self) {
        if let Some(faults) = &mut self.faults {
            faults.count();
        }
    }

    pub(crate) fn after_turn(&mut self, turn: u64, seeded: &mut Seeded) -> Vec<Strike> {
        self.faults.as_mut().map_or(Vec::new(), |faults| faults.after_turn(turn, seeded))
    }

    /// Chooses which of these processes the fault hits.
    pub(crate) fn choose(
        &mut self,
        strike: Strike,
        living: Vec<Candidate>,
        seeded: &mut Seeded,
    ) -> Option<Struck> {
        let Strike { fault, victim, is_random } = strike;
        let faults = self.faults.as_mut()?;
        let may_hit = |one: &Candidate| {
            let name = one.name.as_ref();
            let apart = is_random || victim == Victim::Anyone;
            let spared =
                apart && (self.spared.contains(&one.pid.into()) || !faults.may_hit(one.pid, name));
            let fits = match fault {
                Fault::Fill(_) => one.process.info().mailbox.is_some(),
                Fault::Delay(_) => !self.held.contains_key(&one.pid.into()),
                _ => true,
            };
            !spared && fits && victim.is(one.pid, name)
        };
        let mut hit: Vec<Candidate> = living.into_iter().filter(may_hit).collect();
        if hit.is_empty() {
            // A random fault then has no victim, but a victim that was named should exist.
            return (!is_random).then_some(Struck { fault, victim: Err(victim) });
        }
        if is_random && !faults.count() {
            return None;
        }
        let is_choice = is_random || hit.len() > 1;
        let victims = Victims(&hit);
        let mut choose = || seeded.choose_named(ChoiceKind::Victim, hit.len(), &victims);
        let place = if is_choice { choose() } else { 0 };
        Some(Struck { fault, victim: Ok(hit.swap_remove(place)) })
    }

    pub(crate) fn keep(&mut self, held: FaultEffect) {
        match held {
            FaultEffect::Nothing => {}
            FaultEffect::Turns(pid, until) => {
                self.held.insert(pid.into(), until);
            }
            FaultEffect::Room(until, room) => self.occupied.push((until, room)),
            FaultEffect::Panic(pid, process) => {
                self.panicking.insert(pid.into(), process);
            }
        }
    }
}

impl Struck {
    /// The process that it hits.
    pub(crate) fn pid(&self) -> Option<Pid> {
        self.victim.as_ref().ok().map(|victim| victim.pid)
    }

    pub(crate) fn apply(self, now: Timestamp) -> FaultEffect {
        let Ok(Candidate { pid, process, .. }) = self.victim else { return FaultEffect::Nothing };
        match self.fault {
            Fault::Kill => process.kill(),
            Fault::Panic => {
                Arc::clone(&process).panic_at_next_message(true);
                return FaultEffect::Panic(pid, process);
            }
            Fault::Delay(time) => return FaultEffect::Turns(pid, now + time),
            Fault::Fill(time) => {
                let room = Arc::clone(&process).occupy();
                return room
                    .map_or(FaultEffect::Nothing, |room| FaultEffect::Room(now + time, room));
            }
            // Faults of the network hit no process.
            Fault::FailInit | Fault::Reset | Fault::Partition(_) => {}
        }
        FaultEffect::Nothing
    }
}

impl fmt::Display for Struck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let victim = match &self.victim {
            Ok(victim) => victim.label(),
            Err(Victim::Anyone) => return write!(f, "{:?} finds no process", self.fault),
            Err(Victim::Pid(pid)) => return write!(f, "{:?} does not find {pid}", self.fault),
            Err(Victim::Named(name)) => {
                return write!(f, "{:?} does not find {name:?}", self.fault);
            }
        };
        match self.fault {
            Fault::Kill => write!(f, "{victim} is killed"),
            Fault::Panic => write!(f, "{victim} panics at its next message"),
            Fault::Delay(time) => write!(f, "{victim} is delayed for {time:?}"),
            Fault::Fill(time) => write!(f, "the mailbox of {victim} is full for {time:?}"),
            Fault::FailInit => write!(f, "{victim} fails to start"),
            fault @ (Fault::Reset | Fault::Partition(_)) => write!(f, "{fault:?} at {victim}"),
        }
    }
}
