//! The time-outs of a state machine, one of each kind: which are set, when they are due, and the
//! line of those of zero (rules F6 to F10).
//!
//! Pure: the alarms that wake the process are set by the loop around the engine, when the process
//! waits ([`Timeouts::alarm`]). So a time-out that is set and cancelled in one turn has none. A
//! time-out that is cancelled or replaced forgets its alarm, so an alarm that lies in the mailbox
//! finds nothing.
//! Time-outs that were set for a time that was over come in the order of their times, as those of
//! the future do.

use crate::state_machine::event::Event;
use crate::state_machine::next::{TimeoutAction, TimeoutKind};
use crate::state_machine::types::MachineTypes;
use krarup_act::TimerKey;
use krarup_gen::{Inspection, Ref, Timestamp, Value};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

pub(crate) struct Timeouts<S: MachineTypes> {
    state: Option<Timeout<S::Internal>>,
    event: Option<Timeout<S::Internal>>,
    named: HashMap<S::Timer, Timeout<S::Internal>>,
    /// The names of the named ones that have an alarm.
    alarms: HashMap<Ref, S::Timer>,
    /// The names of the named ones that need an alarm, in the order in which they were set: of
    /// those due at the same time the first one set comes first.
    unarmed: BTreeMap<u64, S::Timer>,
    /// Alarms of time-outs that are not set any more.
    unneeded: Vec<TimerKey>,
    /// Time-outs of zero, in the order in which they come.
    zero: BTreeMap<u64, TimeoutKind<S::Timer>>,
    /// Those that were set for a time that was over, in the order of their times.
    past: BTreeMap<(Timestamp, u64), TimeoutKind<S::Timer>>,
    /// As many alarms, in the order in which they fire. Each brings the first of `past`.
    past_alarms: VecDeque<Ref>,
    /// The number of the last time-out.
    last: u64,
}

struct Timeout<I> {
    content: I,
    number: u64,
    due: DueTime,
}

#[derive(Clone, Copy)]
enum DueTime {
    /// As soon as no event is queued; with its number in the line.
    Zero(u64),
    /// At this time; with the alarm that was set for it.
    At(Timestamp, Option<(Ref, TimerKey)>),
    /// At a time that was over when it was set; with a number.
    Past(Timestamp, u64),
}

/// What the loop has to do before the process waits.
pub(crate) enum AlarmOrder<T> {
    Cancel(TimerKey),
    /// Set an alarm, and give it to [`Timeouts::armed`].
    Set {
        kind: TimeoutKind<T>,
        at: Timestamp,
    },
    /// Ring at once, and give the alarm to [`Timeouts::rung`].
    Ring,
}

impl<S: MachineTypes> Timeouts<S> {
    pub(crate) fn new() -> Self {
        Timeouts {
            state: None,
            event: None,
            named: HashMap::new(),
            alarms: HashMap::new(),
            unarmed: BTreeMap::new(),
            unneeded: Vec::new(),
            zero: BTreeMap::new(),
            past: BTreeMap::new(),
            past_alarms: VecDeque::new(),
            last: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.state.is_none()
            && self.event.is_none()
            && self.named.is_empty()
            && self.unneeded.is_empty()
    }

    pub(crate) fn has_event_timeout(&self) -> bool {
        self.event.is_some()
    }

    /// How many time-outs of zero wait.
    pub(crate) fn zeros(&self) -> usize {
        self.zero.len()
    }

    /// Carries out an action. A time is counted from `now`.
    pub(crate) fn act(
        &mut self,
        kind: TimeoutKind<S::Timer>,
        action: TimeoutAction<S::Internal>,
        now: Timestamp,
    ) {
        let (due, content) = match action {
            TimeoutAction::Cancel => return self.cancel(&kind),
            TimeoutAction::Update(content) => match self.find(&kind) {
                Some(timeout) => {
                    timeout.content = content;
                    return;
                }
                None => (None, content),
            },
            TimeoutAction::After(Duration::ZERO, content) => (None, content),
            TimeoutAction::After(after, content) => (Some(now + after), content),
            TimeoutAction::At(at, content) => (Some(at), content),
        };
        self.cancel(&kind);
        self.last += 1;
        let due = match due {
            Some(at) if at > now => DueTime::At(at, None),
            Some(at) => {
                self.past.insert((at, self.last), kind.clone());
                DueTime::Past(at, self.last)
            }
            None => {
                self.zero.insert(self.last, kind.clone());
                DueTime::Zero(self.last)
            }
        };
        let timeout = Timeout { content, number: self.last, due };
        match kind {
            TimeoutKind::State => self.state = Some(timeout),
            TimeoutKind::Event => self.event = Some(timeout),
            TimeoutKind::Named(name) => {
                if let DueTime::At(..) = due {
                    self.unarmed.insert(self.last, name.clone());
                }
                self.named.insert(name, timeout);
            }
        }
    }

    /// Cancels a time-out, if it is set.
    pub(crate) fn cancel(&mut self, kind: &TimeoutKind<S::Timer>) {
        if let Some(Timeout { due: DueTime::At(_, Some((_, key))), .. }) = self.take(kind) {
            self.unneeded.push(key);
        }
    }

    /// What is to be done before the process waits; `None` if all alarms are set.
    pub(crate) fn alarm(&mut self) -> Option<AlarmOrder<S::Timer>> {
        if let Some(key) = self.unneeded.pop() {
            return Some(AlarmOrder::Cancel(key));
        }
        if self.past_alarms.len() < self.past.len() {
            return Some(AlarmOrder::Ring);
        }
        let state = self.state.iter().map(|timeout| (timeout, TimeoutKind::State));
        let event = self.event.iter().map(|timeout| (timeout, TimeoutKind::Event));
        let named = self.unarmed.values().next();
        let named =
            named.and_then(|name| Some((self.named.get(name)?, TimeoutKind::Named(name.clone()))));
        let unarmed =
            state.chain(event).chain(named).filter_map(|(timeout, kind)| match timeout.due {
                DueTime::At(at, None) => Some((timeout.number, kind, at)),
                _ => None,
            });
        // In the order in which they were set.
        let (_, kind, at) = unarmed.min_by_key(|(number, ..)| *number)?;
        Some(AlarmOrder::Set { kind, at })
    }

    /// Records the alarm that was set for a time-out.
    pub(crate) fn armed(&mut self, kind: &TimeoutKind<S::Timer>, alarm: (Ref, TimerKey)) {
        let Some(Timeout { due: DueTime::At(_, set), number, .. }) = self.find(kind) else {
            return;
        };
        *set = Some(alarm);
        let number = *number;
        if let TimeoutKind::Named(name) = kind {
            self.unarmed.remove(&number);
            self.alarms.insert(alarm.0, name.clone());
        }
    }

    /// Records the alarm that was rung at once.
    pub(crate) fn rung(&mut self, alarm: Ref) {
        self.past_alarms.push_back(alarm);
    }

    /// The first time-out of zero comes.
    pub(crate) fn take_zero(&mut self) -> Option<Event<S>> {
        let (_, kind) = self.zero.first_key_value()?;
        let kind = kind.clone();
        self.take(&kind).map(|timeout| event_of(kind, timeout.content))
    }

    /// An alarm has fired: its time-out comes, if it is still set.
    pub(crate) fn fired(&mut self, alarm: Ref) -> Option<Event<S>> {
        let is_it = |timeout: &Option<Timeout<S::Internal>>| match timeout {
            Some(Timeout { due: DueTime::At(_, Some((set, _))), .. }) => *set == alarm,
            _ => false,
        };
        let of_past = self.past_alarms.iter().position(|rung| *rung == alarm);
        let kind = if let Some(place) = of_past {
            self.past_alarms.remove(place);
            self.past.first_key_value()?.1.clone()
        } else if is_it(&self.state) {
            TimeoutKind::State
        } else if is_it(&self.event) {
            TimeoutKind::Event
        } else {
            TimeoutKind::Named(self.alarms.get(&alarm)?.clone())
        };
        self.take(&kind).map(|timeout| event_of(kind, timeout.content))
    }

    /// Takes the alarms that are set, for the end of the machine.
    pub(crate) fn into_alarms(self) -> impl Iterator<Item = TimerKey> {
        let set = self.state.into_iter().chain(self.event).chain(self.named.into_values());
        let keys = set.filter_map(|timeout| match timeout.due {
            DueTime::At(_, Some((_, key))) => Some(key),
            _ => None,
        });
        self.unneeded.into_iter().chain(keys)
    }

    /// Describes those that are set: kind, name, time left. Sorted by kind, then by name.
    pub(crate) fn describe(&self, now: Timestamp) -> Vec<Value> {
        let record = |kind: &str, name: Option<String>, timeout: &Timeout<S::Internal>| {
            let left = match timeout.due {
                DueTime::Zero(_) => Duration::ZERO,
                DueTime::At(at, _) | DueTime::Past(at, _) => at - now,
            };
            let mut record = Inspection::new().with("kind", kind);
            if let Some(name) = name {
                record.set("name", name);
            }
            Value::Record(record.with("left", left))
        };
        let mut named: Vec<_> =
            self.named.iter().map(|(name, timeout)| (format!("{name:?}"), timeout)).collect();
        named.sort_by(|one, other| one.0.cmp(&other.0));
        let event = self.event.as_ref().map(|timeout| record("event_timeout", None, timeout));
        let state = self.state.as_ref().map(|timeout| record("state_timeout", None, timeout));
        let named = named.into_iter().map(|(name, timeout)| record("timeout", Some(name), timeout));
        event.into_iter().chain(state).chain(named).collect()
    }

    fn find(&mut self, kind: &TimeoutKind<S::Timer>) -> Option<&mut Timeout<S::Internal>> {
        match kind {
            TimeoutKind::State => self.state.as_mut(),
            TimeoutKind::Event => self.event.as_mut(),
            TimeoutKind::Named(name) => self.named.get_mut(name),
        }
    }

    /// Takes a time-out out, with its place in the line or its alarm.
    fn take(&mut self, kind: &TimeoutKind<S::Timer>) -> Option<Timeout<S::Internal>> {
        let timeout = match kind {
            TimeoutKind::State => self.state.take(),
            TimeoutKind::Event => self.event.take(),
            TimeoutKind::Named(name) => self.named.remove(name),
        }?;
        match timeout.due {
            DueTime::Zero(number) => drop(self.zero.remove(&number)),
            DueTime::Past(at, number) => {
                self.past.remove(&(at, number));
                // One of them less: the last of their alarms is not needed.
                self.past_alarms.truncate(self.past.len());
            }
            DueTime::At(_, Some((alarm, _))) => drop(self.alarms.remove(&alarm)),
            DueTime::At(_, None) => drop(self.unarmed.remove(&timeout.number)),
        }
        Some(timeout)
    }
}

fn event_of<S: MachineTypes>(kind: TimeoutKind<S::Timer>, content: S::Internal) -> Event<S> {
    match kind {
        TimeoutKind::State => Event::StateTimeout(content),
        TimeoutKind::Event => Event::EventTimeout(content),
        TimeoutKind::Named(name) => Event::Timeout(name, content),
    }
}
