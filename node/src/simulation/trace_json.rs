//! The trace of a simulation as a file: `krarup view FILE` opens it in the page of the observer.
//!
//! The file has the head of a snapshot of an observer (`GET /api/v1/snapshot`), and one part:
//!
//! ```text
//! {"snapshot":"krarup","api":"v1","replay":{
//!   "expression":"Simulation::with_throughput(7, 1)",    makes the run again
//!   "seed":7,"throughput":1,
//!   "reason":"80 are left",                              null if no failure is known
//!   "omitted":0,                                         steps before the first one here
//!   "processes":[{"pid":"<0.1.0>","node":null,"name":"bank","behavior":"Account"}, ..],
//!   "steps":[{"at_ms":0.000,"node":null,"kind":"turn","process":0,"by":null,"turn":1,
//!             "handled":2,"message":null,"lane":null,"text":null}, ..]}}
//! ```
//!
//! A step has every field, and `null` where it has nothing to say. `process` and `by` are places in
//! the list of processes, because pids of several nodes may be equal.
//!
//! | kind | `process` | `by` | others |
//! |---|---|---|---|
//! | `spawned` | the new process | its parent | |
//! | `turn` | the one that runs | | `turn`: its number, `handled`: messages |
//! | `sent` | the receiver | the sender | `message`: its type, `lane` |
//! | `timer` | the one that set it | | |
//! | `ended` | the one that ended | | `text`: its reason |
//! | `codec` | | | `message`, `text`: the error |
//! | `fault`, `network` | | | `text` |

use crate::simulation::process_key::ProcessKey;
use crate::simulation::trace::{Trace, TraceEvent, TraceStep, Who};
use krarup_act::contain;
use krarup_gen::{Label, Name, Pid, Priority, Reason, Timestamp};
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// The most bytes of a text of a step.
const MOST_TEXT: usize = 4096;

impl Trace {
    /// Returns these steps as a file that `krarup view FILE` opens in the page of the observer:
    /// step by step, forwards and backwards. [`FailingSeed::to_json`](crate::FailingSeed::to_json)
    /// also has the failure.
    ///
    /// ```
    /// # use krarup_node::Simulation;
    /// # use krarup_act::{behavior_fn, Context};
    /// let sim = Simulation::new(7);
    /// sim.spawn(|| behavior_fn(|_: Context<()>| async { Ok(()) })).start().unwrap();
    /// let file = sim.last_steps().to_json();
    /// assert!(file.contains(r#""expression":"Simulation::with_throughput(7, "#));
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        json_of(self, None)
    }
}

/// The file of a trace, and of the failure after it.
pub(crate) fn json_of(trace: &Trace, reason: Option<&Reason>) -> String {
    // Formatting an error runs user code.
    let text = |reason: &Reason| contain(|| reason.to_string()).unwrap_or_else(|it| it.to_string());
    let reason = reason.map(text);
    format!(
        "{{\"snapshot\":\"krarup\",\"api\":\"v1\",\"replay\":{{\
         \"expression\":{},\"seed\":{},\"throughput\":{},\"reason\":{},\"omitted\":{},\n{}}}}}\n",
        Quoted(&trace.run.to_string()),
        trace.run.seed,
        trace.run.throughput,
        OrNull(reason.as_deref().map(Quoted)),
        trace.omitted,
        TraceLists::of(trace),
    )
}

/// The processes of a trace, each once, and its steps.
struct TraceLists<'a> {
    places: BTreeMap<ProcessKey, usize>,
    processes: Vec<TraceProcess<'a>>,
    steps: &'a [TraceStep],
}

/// What a trace tells of a process.
struct TraceProcess<'a> {
    pid: Pid,
    node: Option<&'a Name>,
    name: Option<&'a Name>,
    behavior: Option<&'a Label>,
}

impl<'a> TraceLists<'a> {
    fn of(trace: &'a Trace) -> Self {
        let mut lists =
            TraceLists { places: BTreeMap::new(), processes: Vec::new(), steps: &trace.steps };
        for step in lists.steps {
            let node = step.node.as_ref();
            match &step.event {
                TraceEvent::Spawned { who, parent } => {
                    lists.meet(who, node);
                    lists.place_of(*parent);
                }
                TraceEvent::Turn { who, .. }
                | TraceEvent::Ended { who, .. }
                | TraceEvent::Timer { who: Some(who), .. } => lists.meet(who, node),
                TraceEvent::Timer { owner, who: None } => {
                    lists.place_of(*owner);
                }
                TraceEvent::Sent { from, sending } => {
                    if let Some(place) = lists.place_of(Some(sending.to)) {
                        lists.processes[place].node = node;
                    }
                    match from {
                        Some(who) => lists.meet(who, None),
                        None => {
                            lists.place_of(sending.from);
                        }
                    }
                }
                TraceEvent::Codec { .. } | TraceEvent::Fault(_) | TraceEvent::Network(_) => {}
            }
        }
        lists
    }

    /// Notes what a line says of a process. What later lines say counts.
    fn meet(&mut self, who: &'a Who, node: Option<&'a Name>) {
        let Some(place) = self.place_of(Some(who.pid)) else { return };
        let process = &mut self.processes[place];
        process.node = node.or(process.node);
        process.name = who.name.as_ref().or(process.name);
        process.behavior = Some(&who.behavior);
    }

    fn place_of(&mut self, pid: Option<Pid>) -> Option<usize> {
        let (pid, next) = (pid?, self.processes.len());
        let place = *self.places.entry(pid.into()).or_insert(next);
        if place == next {
            self.processes.push(TraceProcess { pid, node: None, name: None, behavior: None });
        }
        Some(place)
    }

    fn place(&self, pid: Option<Pid>) -> OrNull<usize> {
        OrNull(pid.and_then(|pid| self.places.get(&pid.into()).copied()))
    }

    fn write_step(&self, f: &mut fmt::Formatter<'_>, step: &TraceStep) -> fmt::Result {
        let mut row = StepRow::default();
        row.read(&step.event);
        write!(
            f,
            "{{\"at_ms\":{},\"node\":{},\"kind\":\"{}\",\"process\":{},\"by\":{},\"turn\":{},\
             \"handled\":{},\"message\":{},\"lane\":{},\"text\":{}}}",
            Millis(step.at),
            OrNull(step.node.as_ref().map(|node| Quoted(node.as_str()))),
            row.kind,
            self.place(row.process),
            self.place(row.by),
            OrNull(row.turn),
            OrNull(row.handled),
            OrNull(row.message.map(Quoted)),
            OrNull(row.lane.map(Quoted)),
            OrNull(row.text.map(StepText)),
        )
    }
}

/// Writes `"processes":[..],"steps":[..]`, each item on a line.
impl fmt::Display for TraceLists<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"processes\":[")?;
        for (place, process) in self.processes.iter().enumerate() {
            write!(
                f,
                "{}\n{{\"pid\":{},\"node\":{},\"name\":{},\"behavior\":{}}}",
                if place == 0 { "" } else { "," },
                Quoted(&process.pid.to_string()),
                OrNull(process.node.map(|node| Quoted(node.as_str()))),
                OrNull(process.name.map(|name| Quoted(name.as_str()))),
                OrNull(process.behavior.map(|behavior| Quoted(behavior.full()))),
            )?;
        }
        f.write_str("],\n\"steps\":[")?;
        for (place, step) in self.steps.iter().enumerate() {
            f.write_str(if place == 0 { "\n" } else { ",\n" })?;
            self.write_step(f, step)?;
        }
        f.write_char(']')
    }
}

/// The fields of a step.
#[derive(Default)]
struct StepRow<'a> {
    kind: &'static str,
    process: Option<Pid>,
    by: Option<Pid>,
    turn: Option<u64>,
    handled: Option<u64>,
    message: Option<&'static str>,
    lane: Option<&'static str>,
    text: Option<&'a str>,
}

impl<'a> StepRow<'a> {
    fn read(&mut self, event: &'a TraceEvent) {
        match event {
            TraceEvent::Spawned { who, parent } => {
                (self.kind, self.process, self.by) = ("spawned", Some(who.pid), *parent);
            }
            TraceEvent::Turn { number, who, handled } => {
                (self.kind, self.process) = ("turn", Some(who.pid));
                (self.turn, self.handled) = (Some(*number), Some(*handled));
            }
            TraceEvent::Timer { owner, who } => {
                let owner = who.as_ref().map(|who| who.pid).or(*owner);
                (self.kind, self.process) = ("timer", owner);
            }
            TraceEvent::Fault(what) => {
                (self.kind, self.text) = ("fault", Some(what.as_str()));
            }
            TraceEvent::Network(what) => {
                (self.kind, self.text) = ("network", Some(what.as_str()));
            }
            TraceEvent::Sent { from, sending } => {
                let from = from.as_ref().map(|who| who.pid).or(sending.from);
                (self.kind, self.process, self.by) = ("sent", Some(sending.to), from);
                self.message = Some(sending.type_name);
                self.lane = Some(match sending.priority {
                    Priority::Max => "urgent",
                    Priority::High => "system",
                    Priority::Normal => "main",
                });
            }
            TraceEvent::Codec { message, error } => {
                (self.kind, self.message) = ("codec", Some(*message));
                self.text = Some(error.as_str());
            }
            TraceEvent::Ended { who, reason } => {
                (self.kind, self.process) = ("ended", Some(who.pid));
                self.text = Some(reason.as_str());
            }
        }
    }
}

/// A value of JSON, or `null`.
struct OrNull<T>(Option<T>);

impl<T: fmt::Display> fmt::Display for OrNull<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => fmt::Display::fmt(value, f),
            None => f.write_str("null"),
        }
    }
}

/// A point in time in milliseconds, to the microsecond.
struct Millis(Timestamp);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_nanos() / 1_000;
        write!(f, "{}.{:03}", micros / 1_000, micros % 1_000)
    }
}

/// A text as a string of JSON.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        write_inside(f, self.0)?;
        f.write_char('"')
    }
}

/// A text that is cut at a character, and ends in `…` then.
struct StepText<'a>(&'a str);

impl fmt::Display for StepText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = krarup_gen::char_boundary_to(self.0, MOST_TEXT);
        f.write_char('"')?;
        write_inside(f, &self.0[..end])?;
        f.write_str(if end < self.0.len() { "…\"" } else { "\"" })
    }
}

fn write_inside(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    text.chars().try_for_each(|letter| match letter {
        '"' => f.write_str("\\\""),
        '\\' => f.write_str("\\\\"),
        '\u{0}'..='\u{1f}' => write!(f, "\\u{:04x}", u32::from(letter)),
        letter => f.write_char(letter),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v83_texts_of_a_file_are_strings_of_json_and_bounded() {
        let odd = "a\"b\\c\nd\u{0}\u{1f}é\u{2028}<b>";
        assert_eq!(Quoted(odd).to_string(), "\"a\\\"b\\\\c\\u000ad\\u0000\\u001fé\u{2028}<b>\"");
        let exact = "x".repeat(MOST_TEXT);
        assert_eq!(StepText(&exact).to_string(), format!("\"{exact}\""));
        let long = format!("{}é", "x".repeat(MOST_TEXT - 1));
        assert_eq!(StepText(&long).to_string(), format!("\"{}…\"", "x".repeat(MOST_TEXT - 1)));
        let whole = OrNull(Some(7)).to_string() + &OrNull(None::<u8>).to_string();
        assert_eq!(whole, "7null");
        assert_eq!(Millis(Timestamp::from_nanos(1_002_003_999)).to_string(), "1002.003");
        assert_eq!(Millis(Timestamp::MAX).to_string(), "18446744073709.551");
    }
}
