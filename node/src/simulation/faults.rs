//! The faults of a simulation: what goes wrong, for which process, and when.
//!
//! A fault strikes at a given step, or at moments that the seed chooses. It has the effect of
//! its real counterpart: a delayed process has no turns, and the room of a full mailbox is
//! reserved by others.

use crate::simulation::schedule::ChoiceKind;
use crate::simulation::seeded::Seeded;
use krarup_gen::{Name, Pid};
use std::time::Duration;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The process ends as `killed`, whatever it does (rule D3).
    Kill,
    /// The process panics when it next receives, as if the handler of a message had panicked
    /// (rule D4).
    Panic,
    /// The process has no turn for this long, although it is ready, so its messages to others
    /// are late. Time advances meanwhile.
    Delay(Duration),
    /// The mailbox of the process, which must have a bound, is full for this long: all its room
    /// is reserved (rule M5).
    Fill(Duration),
    /// The `init` of the process fails before it has done anything (rule D2).
    FailInit,
    /// A connection between two nodes of the simulation is reset. The victim is the name of a
    /// node (rule Zsim2).
    Reset,
    /// Nothing passes between two nodes of the simulation for this long. The victim is the name
    /// of a node (rule Zsim2).
    Partition(Duration),
}

/// The process that a fault hits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Victim {
    /// A living process, or a starting one, that the seed chooses.
    Anyone,
    /// This process.
    Pid(Pid),
    /// The process that has this name when the fault strikes.
    Named(String),
}

impl From<Pid> for Victim {
    fn from(pid: Pid) -> Self {
        Victim::Pid(pid)
    }
}

impl From<&str> for Victim {
    fn from(name: &str) -> Self {
        Victim::Named(name.to_owned())
    }
}

impl Victim {
    pub(crate) fn is(&self, pid: Pid, name: Option<&Name>) -> bool {
        match self {
            Victim::Anyone => true,
            Victim::Pid(victim) => victim.is_same_process(pid),
            Victim::Named(victim) => name.is_some_and(|name| name.as_str() == victim),
        }
    }
}

/// The faults of a simulation, by frequency or by step; set with
/// [`Simulation::faults`](crate::Simulation::faults).
///
/// The seed chooses everything else, so the same seed gives the same faults. Each fault is
/// recorded in the trace. Probes and the stop of a node are never hit.
///
/// ```
/// # use krarup_node::{Fault, Faults, Simulation};
/// # use std::time::Duration;
/// let sim = Simulation::new(7);
/// sim.faults(
///     Faults::new()
///         .kill_one_in(50)                                    // after each turn, one in fifty
///         .delay_one_in(20, Duration::from_millis(100))       // for 1 ms to 100 ms
///         .fail_init_one_in(10)                               // of the starts
///         .at_most(3),
/// );
/// // Or at a given step: after turn 17, as the trace counts them.
/// sim.faults(Faults::new().at_step(17, Fault::Panic, "stock"));
/// ```
#[derive(Clone, Debug)]
#[must_use = "faults do nothing until a simulation has them"]
pub struct Faults {
    /// Random faults: the fault, and one in how many turns or starts it strikes.
    random: Vec<(Fault, usize)>,
    /// Faults at given steps.
    chosen: Vec<(u64, Fault, Victim)>,
    left: u64,
    spared: Vec<Victim>,
    only: Victim,
}

/// A fault that strikes now.
pub(crate) struct Strike {
    pub(crate) fault: Fault,
    pub(crate) victim: Victim,
    /// Whether the seed chose it.
    pub(crate) is_random: bool,
}

impl Faults {
    /// Returns a value without faults.
    pub fn new() -> Self {
        Faults {
            random: Vec::new(),
            chosen: Vec::new(),
            left: u64::MAX,
            spared: Vec::new(),
            only: Victim::Anyone,
        }
    }

    /// Kills a living process after a turn, with a probability of one in `turns`. Each process
    /// is equally likely. 0 kills none.
    pub fn kill_one_in(self, turns: u32) -> Self {
        self.one_in(turns, Fault::Kill)
    }

    /// Makes a process panic, with the probability of [`Faults::kill_one_in`]: see
    /// [`Fault::Panic`].
    pub fn panic_one_in(self, turns: u32) -> Self {
        self.one_in(turns, Fault::Panic)
    }

    /// Delays a process, with the probability of [`Faults::kill_one_in`], for a number of whole
    /// milliseconds up to `at_most`: see [`Fault::Delay`].
    pub fn delay_one_in(self, turns: u32, at_most: Duration) -> Self {
        self.one_in(turns, Fault::Delay(at_most))
    }

    /// Fills the mailbox of a process, with the probability of [`Faults::kill_one_in`], for a
    /// number of whole milliseconds up to `at_most`: see [`Fault::Fill`]. Processes without a
    /// bound are not hit.
    pub fn fill_one_in(self, turns: u32, at_most: Duration) -> Self {
        self.one_in(turns, Fault::Fill(at_most))
    }

    /// Resets a connection between two nodes, with the probability of [`Faults::kill_one_in`]:
    /// see [`Fault::Reset`].
    pub fn reset_one_in(self, turns: u32) -> Self {
        self.one_in(turns, Fault::Reset)
    }

    /// Cuts two nodes off from each other, with the probability of [`Faults::kill_one_in`], for
    /// a number of whole milliseconds up to `at_most`: see [`Fault::Partition`].
    pub fn partition_one_in(self, turns: u32, at_most: Duration) -> Self {
        self.one_in(turns, Fault::Partition(at_most))
    }

    /// Makes one in `starts` of the processes that start from now on fail: see
    /// [`Fault::FailInit`].
    pub fn fail_init_one_in(self, starts: u32) -> Self {
        self.one_in(starts, Fault::FailInit)
    }

    /// Adds a fault after turn `step`, as the trace counts them. An `init` fails at the first
    /// start at or after it. If no process fits, the trace records that.
    pub fn at_step(mut self, step: u64, fault: Fault, victim: impl Into<Victim>) -> Self {
        self.chosen.push((step, fault, victim.into()));
        self
    }

    /// Limits the number of faults; by default there is no limit. Faults at given steps do not
    /// count.
    pub fn at_most(mut self, faults: u64) -> Self {
        self.left = faults;
        self
    }

    /// Exempts a process from random faults, for example a supervisor that nothing would
    /// restart, or whichever process has this name at that moment. May be called several times.
    pub fn spare(mut self, process: impl Into<Victim>) -> Self {
        self.spared.push(process.into());
        self
    }

    /// Limits random faults to this process, or to the process with this name.
    pub fn only(mut self, victim: impl Into<Victim>) -> Self {
        self.only = victim.into();
        self
    }

    fn one_in(mut self, many: u32, fault: Fault) -> Self {
        let kind = std::mem::discriminant(&fault);
        self.random.retain(|(other, _)| std::mem::discriminant(other) != kind);
        if many > 0 {
            self.random.push((fault, usize::try_from(many).unwrap_or(usize::MAX)));
        }
        self
    }

    /// The faults that strike after this turn.
    pub(crate) fn after_turn(&mut self, turn: u64, seeded: &mut Seeded) -> Vec<Strike> {
        let is_now = |(step, fault, _): &mut (u64, Fault, Victim)| {
            *step <= turn && *fault != Fault::FailInit
        };
        let mut strikes: Vec<Strike> = self
            .chosen
            .extract_if(.., is_now)
            .map(|(_, fault, victim)| Strike { fault, victim, is_random: false })
            .collect();
        for (fault, one_in) in &self.random {
            if *fault != Fault::FailInit && self.left > 0 && seeded.one_in(*one_in) {
                let (fault, victim) = (drawn(*fault, seeded), self.only.clone());
                strikes.push(Strike { fault, victim, is_random: true });
            }
        }
        strikes
    }

    /// Whether this starting process fails.
    pub(crate) fn fails_to_start(
        &mut self,
        turn: u64,
        pid: Pid,
        name: Option<&Name>,
        seeded: &mut Seeded,
    ) -> bool {
        let is_chosen = |(step, fault, victim): &(u64, Fault, Victim)| {
            let may_hit = *victim != Victim::Anyone || self.may_hit(pid, name);
            *step <= turn && *fault == Fault::FailInit && victim.is(pid, name) && may_hit
        };
        if let Some(place) = self.chosen.iter().position(is_chosen) {
            self.chosen.remove(place);
            return true;
        }
        let random = self.random.iter().find(|(fault, _)| *fault == Fault::FailInit);
        let Some((_, one_in)) = random.copied() else { return false };
        self.left > 0 && self.may_hit(pid, name) && seeded.one_in(one_in) && self.count()
    }

    pub(crate) fn may_hit(&self, pid: Pid, name: Option<&Name>) -> bool {
        !self.spared.iter().any(|spared| spared.is(pid, name)) && self.only.is(pid, name)
    }

    /// Whether one more random fault may strike.
    pub(crate) fn may_count(&self) -> bool {
        self.left > 0
    }

    /// Counts a random fault. Returns false if the limit has been reached. Several faults can
    /// strike after one turn, so each is counted when it strikes.
    pub(crate) fn count(&mut self) -> bool {
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or(0);
        left.is_some()
    }
}

/// The fault with a duration that the seed chooses.
fn drawn(fault: Fault, seeded: &mut Seeded) -> Fault {
    let mut draw = |at_most: Duration| {
        let millis = usize::try_from(at_most.as_millis()).unwrap_or(usize::MAX).max(1);
        Duration::from_millis(seeded.choose(ChoiceKind::Duration, millis) as u64 + 1)
    };
    match fault {
        Fault::Delay(at_most) => Fault::Delay(draw(at_most)),
        Fault::Fill(at_most) => Fault::Fill(draw(at_most)),
        Fault::Partition(at_most) => Fault::Partition(draw(at_most)),
        other => other,
    }
}

impl Default for Faults {
    fn default() -> Self {
        Self::new()
    }
}
