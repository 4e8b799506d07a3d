//! What an agent did and was told, and what must hold of it.

use super::tracked::MessageFates;
use krarup_gen::{CallError, Pid, Ref};
use std::collections::{BTreeMap, BTreeSet};

/// Something that an agent did or was told, in its order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AgentEvent {
    /// A message was accepted: its number, and the node.
    Sent(u64, String),
    /// A message was given back.
    Refused(u64),
    /// The connection to a node was lost.
    Lost(String),
    /// Everything before is at rest. A loss that is told later is none of what was sent before.
    Rest,
}

/// A monitor of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoggedMonitor {
    pub(crate) told: usize,
    pub(crate) is_removed: bool,
}

/// The links of an agent with one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoggedLink {
    /// How often a link was made where there was none.
    pub(crate) made: usize,
    pub(crate) unlinked: usize,
    pub(crate) told: usize,
    pub(crate) is_linked: bool,
}

/// Everything that one agent did and was told.
#[derive(Debug, Default)]
pub(crate) struct AgentLog {
    pub(crate) events: Vec<AgentEvent>,
    pub(crate) calls: usize,
    pub(crate) outcomes: Vec<Result<i64, CallError>>,
    pub(crate) monitors: BTreeMap<Ref, LoggedMonitor>,
    pub(crate) links: BTreeMap<Pid, LoggedLink>,
    pub(crate) marks: usize,
    /// It was killed: what was under way then has no end.
    pub(crate) is_killed: bool,
    /// What must never happen, and did.
    pub(crate) violations: Vec<String>,
}

/// The sums of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StressTotals {
    pub(crate) sent: usize,
    pub(crate) refused: usize,
    pub(crate) handled: usize,
    /// Arrived, and were dropped with their receiver.
    pub(crate) dropped: usize,
    /// Never arrived, and their senders were told of a loss.
    pub(crate) lost: usize,
    /// Never arrived, and nobody was told of a loss.
    pub(crate) untold: usize,
    pub(crate) calls: usize,
    pub(crate) answered: usize,
    pub(crate) monitors: usize,
    pub(crate) links: usize,
}

impl StressTotals {
    pub(crate) fn add(&mut self, other: &StressTotals) {
        self.sent += other.sent;
        self.refused += other.refused;
        self.handled += other.handled;
        self.dropped += other.dropped;
        self.lost += other.lost;
        self.untold += other.untold;
        self.calls += other.calls;
        self.answered += other.answered;
        self.monitors += other.monitors;
        self.links += other.links;
    }
}

impl AgentLog {
    /// The monitor has told.
    pub(crate) fn down(&mut self, monitor: Ref) {
        match self.monitors.get_mut(&monitor) {
            Some(LoggedMonitor { told, is_removed: false }) => {
                *told += 1;
                if *told > 1 {
                    self.violations.push(format!("{monitor} has told {told} times"));
                }
            }
            Some(_) => self.violations.push(format!("{monitor} has told after its removal")),
            None => self.violations.push(format!("{monitor} is no monitor")),
        }
    }

    /// A link has told the end of its process.
    pub(crate) fn exit(&mut self, pid: Pid) {
        let link = self.links.entry(pid).or_default();
        if std::mem::take(&mut link.is_linked) {
            link.told += 1;
        } else {
            self.violations.push(format!("{pid} has ended by a link that was not there: {link:?}"));
        }
    }

    /// The numbers of the messages that it has sent.
    pub(crate) fn sent_numbers(&self) -> BTreeSet<u64> {
        let number = |event: &AgentEvent| match event {
            AgentEvent::Sent(number, _) => Some(*number),
            AgentEvent::Refused(_) | AgentEvent::Lost(_) | AgentEvent::Rest => None,
        };
        self.events.iter().filter_map(number).collect()
    }

    /// Whether a loss of its node was told after this message was sent, or the message was given back.
    pub(crate) fn is_lost(&self, number: u64) -> bool {
        let events = self.events.iter();
        let mut behind =
            events.skip_while(|event| !matches!(event, AgentEvent::Sent(one, _) if *one == number));
        let Some(AgentEvent::Sent(_, node)) = behind.next() else { return true };
        behind.any(|event| *event == AgentEvent::Lost(node.clone()))
    }

    /// Whether every bond has told that was not removed.
    pub(crate) fn is_told(&self) -> bool {
        self.monitors.values().all(|monitor| monitor.is_removed || monitor.told > 0)
            && self.links.values().all(|link| !link.is_linked)
    }

    /// Everything is at rest, and every process that was bound has ended: checks the log, and
    /// counts. A message that never arrived although nobody was told of a loss is counted, too, by
    /// its node.
    pub(crate) fn check(
        &self,
        who: &str,
        fates: &MessageFates,
        untold: &mut BTreeMap<String, usize>,
    ) -> Result<StressTotals, String> {
        let mut totals = StressTotals::default();
        if let Some(violation) = self.violations.first() {
            return Err(format!("{who}: {violation}"));
        }
        for (at, event) in self.events.iter().enumerate() {
            let (number, node) = match event {
                AgentEvent::Sent(number, node) => (*number, node),
                AgentEvent::Refused(number) => {
                    totals.refused += 1;
                    let fate = fates.of(*number);
                    if fate.arrived > 0 {
                        return Err(format!("{who}: {number} was refused, and is {fate:?}"));
                    }
                    continue;
                }
                AgentEvent::Lost(_) | AgentEvent::Rest => continue,
            };
            totals.sent += 1;
            let fate = fates.of(number);
            match (fate.arrived, fate.handled, fate.dropped) {
                (1, 1, 0) => totals.handled += 1,
                (1, 0, 1) => totals.dropped += 1,
                (0, 0, 0) => {
                    let told = AgentEvent::Lost(node.clone());
                    let mut until_rest =
                        self.events[at..].iter().take_while(|event| **event != AgentEvent::Rest);
                    if self.is_killed || until_rest.any(|event| *event == told) {
                        totals.lost += 1;
                    } else {
                        totals.untold += 1;
                        *untold.entry(node.clone()).or_default() += 1;
                    }
                }
                _ => return Err(format!("{who}: message {number} to {node} is {fate:?}")),
            }
        }
        self.check_calls(who, &mut totals)?;
        self.check_bonds(who, &mut totals)?;
        Ok(totals)
    }

    fn check_calls(&self, who: &str, totals: &mut StressTotals) -> Result<(), String> {
        totals.calls = self.calls;
        totals.answered = self.outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        let ended = self.outcomes.len();
        let all_ended = ended == self.calls || self.is_killed && ended + 1 == self.calls;
        if !all_ended {
            return Err(format!("{who}: {} calls have {ended} outcomes", self.calls));
        }
        let wrong = self.outcomes.iter().find(|outcome| match outcome {
            Ok(sum) => *sum != 23,
            Err(error) => !matches!(
                error,
                CallError::Timeout { .. }
                    | CallError::Terminated { .. }
                    | CallError::NoProcess { .. }
                    | CallError::Undelivered { .. }
                    | CallError::Full { .. }
            ),
        });
        wrong.map_or(Ok(()), |wrong| Err(format!("{who}: a call ended with {wrong:?}")))
    }

    fn check_bonds(&self, who: &str, totals: &mut StressTotals) -> Result<(), String> {
        totals.monitors = self.monitors.len();
        for (monitor, logged) in &self.monitors {
            let once = logged.told == 1 || logged.is_removed && logged.told == 0;
            let is_excused = self.is_killed && logged.told == 0;
            if !once && !is_excused {
                return Err(format!("{who}: the monitor {monitor} is {logged:?}"));
            }
        }
        for (pid, link) in &self.links {
            totals.links += link.made;
            if link.told + link.unlinked != link.made && !self.is_killed {
                return Err(format!("{who}: the links with {pid} are {link:?}"));
            }
        }
        Ok(())
    }
}
