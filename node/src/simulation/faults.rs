//! Faults of a simulation: what goes wrong, to whom and when.
//!
//! Either at a step that is chosen, or at moments that the seed chooses. What a fault does it
//! does as it would happen: a process that is held up has no turns, a mailbox that is full
//! is one whose room others have taken.

use crate::simulation::seeded::Seeded;
use krarup_gen::{Name, Pid};
use std::time::Duration;

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It ends as `killed`, wherever it is (rule D3).
    Kill,
    /// It panics when it next looks for something to receive, as if the handler of a message had
    /// (rule D4).
    Panic,
    /// It has no turn for this long, though it has something to do: what it would send comes
    /// late. Time goes on without it.
    Delay(Duration),
    /// Its mailbox, which must have a bound, is full for this long: others have reserved all
    /// the room there was (rule M5).
    Fill(Duration),
    /// Its `init` fails, before it has done anything (rule D2).
    FailInit,
}

/// Whom a fault hits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Victim {
    /// Whom the seed chooses of those who live, or that start.
    Anyone,
    /// This process.
    Pid(Pid),
    /// Who has this name then.
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

/// What goes wrong in a simulation, how often or when: set by [`crate::Simulation::faults`]. What
/// is not said comes from the seed, so the same seed has the same faults. Each stands in the
/// trace. Probes are never hit.
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
/// // Or exactly here: after turn 17, as the trace counts them.
/// sim.faults(Faults::new().at_step(17, Fault::Panic, "stock"));
/// ```
#[derive(Clone, Debug)]
#[must_use = "faults do nothing until a simulation has them"]
pub struct Faults {
    /// By likelihood: one in so many.
    random: Vec<(Fault, usize)>,
    /// By step.
    chosen: Vec<(u64, Fault, Victim)>,
    left: u64,
    spared: Vec<Pid>,
    only: Victim,
}

/// A fault that strikes now.
pub(crate) struct Strike {
    pub(crate) fault: Fault,
    pub(crate) victim: Victim,
    /// The seed chose that it strikes.
    pub(crate) is_random: bool,
}

impl Faults {
    /// No faults yet.
    pub fn new() -> Self {
        Faults {
            random: Vec::new(),
            chosen: Vec::new(),
            left: u64::MAX,
            spared: Vec::new(),
            only: Victim::Anyone,
        }
    }

    /// After each turn, with a likelihood of one in `turns`, a living process is killed, each
    /// as likely as the others. 0 kills nobody.
    pub fn kill_one_in(self, turns: u32) -> Self {
        self.one_in(turns, Fault::Kill)
    }

    /// As [`Faults::kill_one_in`], but it panics: see [`Fault::Panic`].
    pub fn panic_one_in(self, turns: u32) -> Self {
        self.one_in(turns, Fault::Panic)
    }

    /// As [`Faults::kill_one_in`], but it is held up, for some whole milliseconds and at most this
    /// long: see [`Fault::Delay`].
    pub fn delay_one_in(self, turns: u32, at_most: Duration) -> Self {
        self.one_in(turns, Fault::Delay(at_most))
    }

    /// As [`Faults::kill_one_in`], but its mailbox is full, for some whole milliseconds and at
    /// most this long: see [`Fault::Fill`]. Who has no bound is not hit.
    pub fn fill_one_in(self, turns: u32, at_most: Duration) -> Self {
        self.one_in(turns, Fault::Fill(at_most))
    }

    /// Of the processes that start from now on, one in `starts` fails: see [`Fault::FailInit`].
    pub fn fail_init_one_in(self, starts: u32) -> Self {
        self.one_in(starts, Fault::FailInit)
    }

    /// After turn `step`, as the trace counts them, this goes wrong; an `init` fails at the first
    /// start at or after it. If nobody is there to be hit, the trace says so.
    pub fn at_step(mut self, step: u64, fault: Fault, victim: impl Into<Victim>) -> Self {
        self.chosen.push((step, fault, victim.into()));
        self
    }

    /// So many faults at most; without it there is no limit. Those of chosen steps do not
    /// count.
    pub fn at_most(mut self, faults: u64) -> Self {
        self.left = faults;
        self
    }

    /// Never hits this one by chance: a supervisor that nobody would start again.
    pub fn spare(mut self, pid: Pid) -> Self {
        self.spared.push(pid);
        self
    }

    /// By chance hits this one only, or who has this name.
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

    /// What strikes after this turn.
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
            if *fault != Fault::FailInit && self.left > 0 && seeded.choose(*one_in) == 0 {
                let (fault, victim) = (drawn(*fault, seeded), self.only.clone());
                strikes.push(Strike { fault, victim, is_random: true });
            }
        }
        strikes
    }

    /// Whether this process, which starts, fails.
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
        self.left > 0 && self.may_hit(pid, name) && seeded.choose(one_in) == 0 && self.count()
    }

    pub(crate) fn may_hit(&self, pid: Pid, name: Option<&Name>) -> bool {
        !self.spared.iter().any(|spared| spared.is_same_process(pid)) && self.only.is(pid, name)
    }

    /// Counts a fault that chance brings; false if there have been as many as there may be. Several
    /// can come after one turn, so each is counted when it strikes.
    pub(crate) fn count(&mut self) -> bool {
        let left = self.left.checked_sub(1);
        self.left = left.unwrap_or(0);
        left.is_some()
    }
}

/// The fault with a time that the seed chooses.
fn drawn(fault: Fault, seeded: &mut Seeded) -> Fault {
    let mut draw = |at_most: Duration| {
        let millis = usize::try_from(at_most.as_millis()).unwrap_or(usize::MAX).max(1);
        Duration::from_millis(seeded.choose(millis) as u64 + 1)
    };
    match fault {
        Fault::Delay(at_most) => Fault::Delay(draw(at_most)),
        Fault::Fill(at_most) => Fault::Fill(draw(at_most)),
        other => other,
    }
}

impl Default for Faults {
    fn default() -> Self {
        Self::new()
    }
}
