//! Faults from the seed: processes that die at moments nobody chose.

use crate::seeded::Seeded;
use krarup_gen::Pid;

/// What goes wrong in a simulation, and how often: set by [`crate::Simulation::faults`]. Which
/// process, and after which turn, comes from the seed, so the same seed has the same faults.
///
/// ```
/// # use krarup_node::{Faults, Simulation};
/// let sim = Simulation::new(7);
/// // After each turn, one in fifty kills somebody, three times at most.
/// sim.faults(Faults::new().kill_one_in(50).at_most(3));
/// ```
#[derive(Clone, Debug)]
#[must_use = "faults do nothing until a simulation has them"]
pub struct Faults {
    one_in: usize,
    left: u64,
    spared: Vec<Pid>,
}

impl Faults {
    /// No faults yet.
    pub fn new() -> Self {
        Faults { one_in: 0, left: u64::MAX, spared: Vec::new() }
    }

    /// After each turn, with a likelihood of one in `turns`, a living process is killed, each
    /// as likely as the others. 0 kills nobody.
    pub fn kill_one_in(mut self, turns: u32) -> Self {
        self.one_in = usize::try_from(turns).unwrap_or(usize::MAX);
        self
    }

    /// At most this many are killed; without it there is no limit.
    pub fn at_most(mut self, kills: u64) -> Self {
        self.left = kills;
        self
    }

    /// Never kills this one: a probe, or a supervisor that nobody would start again.
    pub fn spare(mut self, pid: Pid) -> Self {
        self.spared.push(pid);
        self
    }

    /// Whether something goes wrong now.
    pub(crate) fn strikes(&self, seeded: &mut Seeded) -> bool {
        self.left > 0 && self.one_in > 0 && seeded.choose(self.one_in) == 0
    }

    /// Whom it hits of these, if any may be hit.
    pub(crate) fn choose(
        &mut self,
        seeded: &mut Seeded,
        living: impl Iterator<Item = Pid>,
    ) -> Option<Pid> {
        let hit: Vec<Pid> = living.filter(|pid| !self.spared.contains(pid)).collect();
        let victim = hit.get(seeded.choose(hit.len())).copied()?;
        self.left -= 1;
        Some(victim)
    }
}

impl Default for Faults {
    fn default() -> Self {
        Self::new()
    }
}
