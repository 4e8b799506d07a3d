//! The trace of a simulation: its last steps as text.

use krarup_act::Sending;
use krarup_gen::{Label, Name, Pid, Priority, Timestamp};
use std::fmt;

/// The last steps of a simulation: turns, spawns and ends of processes, sent messages, fired
/// timers, faults. Made by [`Simulation::last_steps`](crate::Simulation::last_steps).
///
/// It prints one step per line, the oldest first, each with its virtual time. The same seed
/// gives the same trace, byte for byte. A turn has its number from the start of the simulation,
/// and the process that ran: pid, name if it has one, behaviour. If the simulation has several
/// nodes, each step names its node (rule Zsim1); what arrives over the network between them is a
/// step, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub(crate) run: Run,
    /// The number of steps before these.
    pub(crate) omitted: u64,
    pub(crate) steps: Vec<TraceStep>,
}

/// The parameters of a simulation: the same parameters give the same run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) seed: u64,
    pub(crate) throughput: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TraceStep {
    pub(crate) at: Timestamp,
    /// The node, if the simulation has several.
    pub(crate) node: Option<Name>,
    pub(crate) event: TraceEvent,
    /// Whether it comes of a choice that was not the default. Known only if a schedule is
    /// followed.
    pub(crate) deviates: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TraceEvent {
    Spawned {
        who: Who,
        parent: Option<Pid>,
    },
    /// `handled` is set when the turn is over.
    Turn {
        number: u64,
        who: Who,
        handled: u64,
    },
    /// A timer fires that this process set, or that was set from outside.
    Timer {
        owner: Option<Pid>,
        who: Option<Who>,
    },
    /// A fault, as text.
    Fault(String),
    /// An event of the network, as text.
    Network(String),
    /// A message is sent; `from` gives the sender's name.
    Sent {
        from: Option<Who>,
        sending: Sending,
    },
    /// A message of this type failed in its codec.
    Codec {
        message: &'static str,
        error: String,
    },
    Ended {
        who: Who,
        reason: String,
    },
}

/// A process as a line of the trace names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) pid: Pid,
    pub(crate) name: Option<Name>,
    pub(crate) behavior: Label,
}

impl Trace {
    /// Returns the last `count` of these steps.
    #[must_use]
    pub fn last(mut self, count: usize) -> Trace {
        let earlier = self.steps.len().saturating_sub(count);
        self.steps.drain(..earlier);
        self.omitted += earlier as u64;
        self
    }

    /// Returns the number of steps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns whether there are no steps.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the last steps of {}", self.run)?;
        if self.omitted > 0 {
            write!(f, "\n  .. {} before these", self.omitted)?;
        }
        if self.is_empty() && self.omitted == 0 {
            f.write_str("\n  none")?;
        }
        self.steps.iter().try_for_each(|step| write!(f, "\n  {step}"))
    }
}

impl fmt::Display for Run {
    /// The expression that makes the simulation again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Simulation::with_throughput({}, {})", self.seed, self.throughput)
    }
}

impl fmt::Display for TraceStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>8} ", self.at.to_string())?;
        if let Some(node) = &self.node {
            write!(f, "{:<12} ", node.as_str())?;
        }
        match &self.event {
            TraceEvent::Spawned { who, parent: None } => write!(f, "spawned    {who}"),
            TraceEvent::Spawned { who, parent: Some(parent) } => {
                write!(f, "spawned    {who} by {parent}")
            }
            TraceEvent::Turn { number, who, handled } => {
                write!(f, "turn {number:<5} {who}")?;
                match handled {
                    0 => Ok(()),
                    1 => f.write_str(": 1 message"),
                    several => write!(f, ": {several} messages"),
                }
            }
            TraceEvent::Timer { who: Some(who), .. } => write!(f, "timer      {who}"),
            TraceEvent::Timer { owner: Some(owner), .. } => write!(f, "timer      {owner}, ended"),
            TraceEvent::Timer { .. } => f.write_str("timer      set from outside"),
            TraceEvent::Fault(what) => write!(f, "fault      {what}"),
            TraceEvent::Network(what) => write!(f, "network    {what}"),
            TraceEvent::Sent { from, sending } => write_sent(f, from.as_ref(), sending),
            TraceEvent::Codec { message, error } => write!(f, "codec      {message}: {error}"),
            TraceEvent::Ended { who, reason } => write!(f, "ended      {who}: {reason}"),
        }
    }
}

/// Writes a sent message: its type, sender and receiver, and its lane if it is not Main.
fn write_sent(f: &mut fmt::Formatter<'_>, from: Option<&Who>, sending: &Sending) -> fmt::Result {
    write!(f, "sent       {} to {} ", sending.type_name, sending.to)?;
    match (from, sending.from) {
        (Some(who), _) => write!(f, "by {who}")?,
        (None, Some(pid)) => write!(f, "by {pid}")?,
        (None, None) => f.write_str("from outside")?,
    }
    f.write_str(match sending.priority {
        Priority::Max => ", on Urgent",
        Priority::High => ", on System",
        Priority::Normal => "",
    })
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.pid)?;
        if let Some(name) = &self.name {
            write!(f, "{name:?} ")?;
        }
        write!(f, "{}", self.behavior)
    }
}
