//! The rules of a state machine: events and time in, one instruction out.
//!
//! Pure, as the supervisor's plan is. Nothing here calls a callback, sets a timer or receives;
//! [`state_machine::machine`](crate::state_machine::machine) does what it is told and reports the
//! result.
//!
//! ```text
//!              ┌─────────────────── next_event ───────────────────┐
//!              ▼                                                  │
//!   mailbox ─► event ─► handled ──┬─ the state is entered ─► Enter ─► entered
//!                                 │                                 │
//!                                 └──────────► transition ◄─────────┘
//!   the queue:  inserted now │ come again now │ what was left of it
//!   behind it:  time-outs of zero; then the mailbox
//! ```
//!
//! | rule | what | where |
//! |---|---|---|
//! | F2 | an event is done whole; then come the queue, time-outs of zero, the mailbox | [`MachineEngine::next_event`] |
//! | F3 | enter calls: at the start, after a change, after `repeat` | [`MachineEngine::started`], [`MachineEngine::handled`] |
//! | F4 | a change is a state that is not equal; then postponed events come again | [`Agenda::transition`] |
//! | F5 | inserted events go before those, in their order | [`Agenda::transition`] |
//! | F6 | a state time-out ends with its state, an event time-out with any event | [`Agenda::transition`] |
//! | F7 | of one kind of time-out the last action counts, that of the enter call behind | [`last_of_each`] |
//! | F8 | a time-out that was set again or cancelled never comes by its old time | [`Timeouts::fired`] |
//! | F9 | `update` changes the content only; of one that is not set it is zero | [`Timeouts::act`] |
//! | F10 | zero is a line of its own behind the queue; a time takes its place | [`Timeouts::take_zero`] |
//! | F11 | the state of the end: the old one, but the new one after an error of `enter` | [`MachineEngine::enter_failed`] |
//! | F13 | one message more than the bound is not postponed | [`Agenda::postpone`] |

use crate::contained_drop::drop_each;
use crate::state_machine::event::{Event, ITSELF, SentEvent};
use crate::state_machine::next::{
    Actions, Entered, First, Next, NextAction, NextState, TimeoutAction, TimeoutKind,
};
use crate::state_machine::timeouts::{AlarmOrder, Timeouts};
use crate::state_machine::types::MachineTypes;
use krarup_act::{AsideTrace, TimerKey};
use krarup_gen::{Ref, Timestamp, Value};
use std::collections::{HashSet, VecDeque};

/// The state, and everything that waits.
pub(crate) struct MachineEngine<S: MachineTypes> {
    /// `None` until `init` has returned.
    state: Option<S::State>,
    /// Boxed, because a machine that only handles messages has none.
    agenda: Option<Box<Agenda<S>>>,
}

/// What the loop does next.
pub(crate) enum Instruction<S: MachineTypes> {
    /// Call `enter`, then [`MachineEngine::entered`] or [`MachineEngine::enter_failed`].
    Enter {
        from: S::State,
        to: S::State,
    },
    /// The state has changed: show it.
    Show,
    /// Lose a message that cannot be postponed (rule F13).
    Refuse(SentEvent<S>),
    Hibernate,
}

/// The time, what the process allows, and its trace. They cost something, so they are looked up only
/// if they are needed.
#[derive(Clone, Copy)]
pub(crate) struct ProcessLimits<'a> {
    pub(crate) now: &'a dyn Fn() -> Timestamp,
    /// How many messages may be postponed.
    pub(crate) bound: &'a dyn Fn() -> Option<usize>,
    /// The trace of the event in progress, for a message that is postponed.
    pub(crate) trace: &'a dyn Fn() -> Option<AsideTrace>,
}

impl<S: MachineTypes> MachineEngine<S> {
    pub(crate) const fn new() -> Self {
        MachineEngine { state: None, agenda: None }
    }

    /// The current state; during an enter call the old one. `None` before [`MachineEngine::started`].
    pub(crate) fn state(&self) -> Option<&S::State> {
        self.state.as_ref()
    }

    /// `init` has returned: the first state is entered.
    pub(crate) fn started(&mut self, first: First<S>) {
        let First { state, actions } = first;
        let agenda = self.agenda.get_or_insert_with(|| Box::new(Agenda::new()));
        let enter = Instruction::Enter { from: state.clone(), to: state.clone() };
        agenda.instructions.push_back(enter);
        agenda.transition = Some(Transition { to: None, actions, sender: ITSELF });
        self.state = Some(state);
    }

    /// Whether there is nothing to do before the mailbox, and this answer changes nothing. For
    /// most messages.
    #[inline]
    pub(crate) fn is_done_with(&self, next: &Next<S>) -> bool {
        next.is_plain()
            && match &self.agenda {
                None => true,
                Some(agenda) => agenda.is_quiet() && !agenda.timeouts.has_event_timeout(),
            }
    }

    /// `handle_event` has returned.
    pub(crate) fn handled(&mut self, next: Next<S>, sender: u64, limits: ProcessLimits<'_>) {
        let Next { to, actions } = next;
        let Some(state) = &mut self.state else { return };
        let agenda = self.agenda.get_or_insert_with(|| Box::new(Agenda::new()));
        let to = match to {
            NextState::State(to) if to != *state => Some(to),
            NextState::State(same) => {
                *state = same;
                None
            }
            NextState::Repeat => {
                let enter = Instruction::Enter { from: state.clone(), to: state.clone() };
                agenda.instructions.push_back(enter);
                agenda.transition = Some(Transition { to: None, actions, sender });
                return;
            }
            NextState::Keep => None,
        };
        let transition = Transition { to, actions, sender };
        match &transition.to {
            Some(to) => {
                let enter = Instruction::Enter { from: state.clone(), to: to.clone() };
                agenda.instructions.push_back(enter);
                agenda.transition = Some(transition);
            }
            None => agenda.carry_out(transition, limits),
        }
    }

    /// `enter` has returned.
    pub(crate) fn entered(&mut self, entered: Entered<S>, limits: ProcessLimits<'_>) {
        let Some(agenda) = &mut self.agenda else { return };
        let Some(mut transition) = agenda.transition.take() else { return };
        transition.actions.append(entered.actions);
        if let Some(to) = &transition.to {
            self.state = Some(to.clone());
        }
        agenda.carry_out(transition, limits);
    }

    /// `enter` has returned an error: the machine ends in the new state (rule F11).
    pub(crate) fn enter_failed(&mut self) {
        let transition = self.agenda.as_mut().and_then(|agenda| agenda.transition.as_mut());
        if let Some(to) = transition.and_then(|transition| transition.to.take()) {
            self.state = Some(to);
        }
    }

    /// The next instruction; `None` if the last event is done whole.
    pub(crate) fn instruction(&mut self) -> Option<Instruction<S>> {
        self.agenda.as_mut()?.instructions.pop_front()
    }

    /// Whether an event comes before the mailbox.
    #[inline]
    pub(crate) fn has_event(&self) -> bool {
        self.agenda.as_ref().is_some_and(|agenda| agenda.has_event())
    }

    /// The event that comes before the mailbox, if there is one (rule F2).
    pub(crate) fn next_event(&mut self) -> Option<SentEvent<S>> {
        let agenda = self.agenda.as_mut()?;
        agenda.queue.pop_front().or_else(|| agenda.timeouts.take_zero().map(SentEvent::of_itself))
    }

    /// What is to be done with alarms before the process waits.
    pub(crate) fn alarm(&mut self) -> Option<AlarmOrder<S::Timer>> {
        self.agenda.as_mut()?.timeouts.alarm()
    }

    /// An alarm was set for a time-out.
    pub(crate) fn armed(&mut self, kind: &TimeoutKind<S::Timer>, alarm: (Ref, TimerKey)) {
        if let Some(agenda) = &mut self.agenda {
            agenda.timeouts.armed(kind, alarm);
        }
    }

    /// An alarm was rung at once.
    pub(crate) fn rung(&mut self, alarm: Ref) {
        if let Some(agenda) = &mut self.agenda {
            agenda.timeouts.rung(alarm);
        }
    }

    /// An alarm has fired. Returns its event, unless the time-out is not set any more (rule F8).
    pub(crate) fn fired(&mut self, alarm: Ref) -> Option<Event<S>> {
        self.agenda.as_mut()?.timeouts.fired(alarm)
    }

    /// Whether it has anything but its state.
    #[inline]
    pub(crate) fn has_agenda(&self) -> bool {
        self.agenda.is_some()
    }

    /// Frees what is empty.
    pub(crate) fn release(&mut self) {
        self.agenda.take_if(|agenda| agenda.is_empty());
    }

    pub(crate) fn postponed(&self) -> usize {
        self.agenda.as_ref().map_or(0, |agenda| agenda.postponed.len())
    }

    /// How many events wait that are not in the mailbox and not postponed.
    pub(crate) fn queued(&self) -> usize {
        self.agenda.as_ref().map_or(0, |agenda| agenda.queue.len() + agenda.timeouts.zeros())
    }

    pub(crate) fn timers(&self, now: Timestamp) -> Vec<Value> {
        self.agenda.as_ref().map_or_else(Vec::new, |agenda| agenda.timeouts.describe(now))
    }

    /// Takes what the machine leaves behind when it ends: the events that wait, and the alarms
    /// that are set.
    pub(crate) fn close(
        &mut self,
    ) -> (impl Iterator<Item = SentEvent<S>> + use<S>, impl Iterator<Item = TimerKey> + use<S>)
    {
        let parts = self.agenda.take().map(|agenda| {
            let Agenda { instructions, transition, queue, postponed, timeouts, .. } = *agenda;
            let refused = instructions.into_iter().filter_map(|instruction| match instruction {
                Instruction::Refuse(event) => Some(event),
                _ => None,
            });
            let held = transition
                .into_iter()
                .flat_map(|transition| transition.actions.into_events(transition.sender));
            (refused.chain(held).chain(queue).chain(postponed), timeouts.into_alarms())
        });
        let (events, alarms) = parts.unzip();
        (events.into_iter().flatten(), alarms.into_iter().flatten())
    }
}

/// What waits, and what is to be done.
struct Agenda<S: MachineTypes> {
    /// What the loop is to do, in order.
    instructions: VecDeque<Instruction<S>>,
    /// The transition that waits for its enter call.
    transition: Option<Transition<S>>,
    /// Events that were inserted or come again.
    queue: VecDeque<SentEvent<S>>,
    postponed: VecDeque<SentEvent<S>>,
    /// How many of those are messages.
    postponed_messages: usize,
    timeouts: Timeouts<S>,
}

/// What one event has asked for.
struct Transition<S: MachineTypes> {
    /// The new state, if it is another one.
    to: Option<S::State>,
    actions: Actions<S>,
    /// The sender of the event.
    sender: u64,
}

impl<S: MachineTypes> Agenda<S> {
    fn new() -> Self {
        Agenda {
            instructions: VecDeque::new(),
            transition: None,
            queue: VecDeque::new(),
            postponed: VecDeque::new(),
            postponed_messages: 0,
            timeouts: Timeouts::new(),
        }
    }

    /// Whether nothing is to be done before the mailbox.
    fn is_quiet(&self) -> bool {
        self.instructions.is_empty() && !self.has_event()
    }

    fn has_event(&self) -> bool {
        !self.queue.is_empty() || self.timeouts.zeros() > 0
    }

    fn is_empty(&self) -> bool {
        self.is_quiet()
            && self.transition.is_none()
            && self.postponed.is_empty()
            && self.timeouts.is_empty()
    }

    /// The state is the new one already.
    fn carry_out(&mut self, transition: Transition<S>, limits: ProcessLimits<'_>) {
        let Transition { to, actions, sender } = transition;
        let now = if actions.needs_time() { (limits.now)() } else { Timestamp::ZERO };
        let (mut inserted, mut times, mut hibernates) = (Vec::new(), Vec::new(), false);
        for action in actions.into_iter() {
            match action {
                NextAction::Postpone(event) => {
                    let bound = if to.is_none() { (limits.bound)() } else { None };
                    let trace = if event.is_message() { (limits.trace)() } else { None };
                    self.postpone(SentEvent { sender, trace, event }, bound);
                }
                NextAction::Insert(event) => inserted.push(SentEvent::of_itself(event)),
                NextAction::Timeout(kind, action) => times.push((kind, action)),
                NextAction::Hibernate => hibernates = true,
            }
        }
        if to.is_some() {
            self.come_again();
            self.timeouts.cancel(&TimeoutKind::State);
            self.instructions.push_back(Instruction::Show);
        }
        self.timeouts.cancel(&TimeoutKind::Event);
        for (kind, action) in last_of_each::<S>(times) {
            self.timeouts.act(kind, action, now);
        }
        for event in inserted.into_iter().rev() {
            self.queue.push_front(event);
        }
        if hibernates {
            self.instructions.push_back(Instruction::Hibernate);
        }
    }

    /// Keeps an event until the state has changed. A message beyond the bound is not kept (rule
    /// F13).
    fn postpone(&mut self, event: SentEvent<S>, bound: Option<usize>) {
        if event.event.is_message() {
            if bound.is_some_and(|bound| self.postponed_messages >= bound) {
                self.instructions.push_back(Instruction::Refuse(event));
                return;
            }
            self.postponed_messages += 1;
        }
        self.postponed.push_back(event);
    }

    /// The postponed events go before what is queued, the oldest first.
    fn come_again(&mut self) {
        self.postponed_messages = 0;
        if self.queue.is_empty() {
            std::mem::swap(&mut self.queue, &mut self.postponed);
        }
        for event in self.postponed.drain(..).rev() {
            self.queue.push_front(event);
        }
    }
}

impl<S: MachineTypes> Drop for MachineEngine<S> {
    /// Drops each value on its own: a destructor that panics must not keep the next from running.
    fn drop(&mut self) {
        if self.agenda.is_some() {
            drop_each(self.close().0);
        }
    }
}

type TimeoutActions<S> =
    Vec<(TimeoutKind<<S as MachineTypes>::Timer>, TimeoutAction<<S as MachineTypes>::Internal>)>;

/// Of each kind the last action, in the order of these (rule F7).
fn last_of_each<S: MachineTypes>(mut times: TimeoutActions<S>) -> TimeoutActions<S> {
    if times.len() < 2 {
        return times;
    }
    let mut seen = HashSet::new();
    times.reverse();
    times.retain(|(kind, _)| seen.insert(kind.clone()));
    times.reverse();
    times
}

#[cfg(test)]
mod tests;
