//! What the callbacks of a state machine return: the next state, and actions.

use crate::state_machine::event::{Event, SentEvent};
use crate::state_machine::types::MachineTypes;
use krarup_gen::Timestamp;
use std::fmt;
use std::time::Duration;

/// What a [`StateMachine`](crate::StateMachine) does after an event: keep its state, take another,
/// or enter its state again; and the actions (`gen_statem`'s transition and its actions).
///
/// The actions are carried out when the callback has returned, and the enter call if there is
/// one. Of the time-outs of one kind the last action counts (rule F7).
///
/// ```
/// # use krarup_state::{Event, First, Next, StateMachine};
/// # use krarup_act::Context;
/// # use krarup_gen::Result;
/// # use std::time::Duration;
/// # struct Door;
/// # impl StateMachine for Door {
/// #     type State = bool;
/// #     type Message = u8;
/// #     type Internal = &'static str;
/// #     type Timer = &'static str;
/// #     async fn init(&mut self, _: &mut Context<u8>) -> Result<First<Self>> {
/// #         Ok(First::state(false))
/// #     }
/// #     async fn handle_event(&mut self, _: &mut Context<u8>, open: bool, event: Event<Self>) -> Result<Next<Self>> {
/// #         let _ = event;
/// let open_for_10_s: Next<Door> =
///     Next::state(true).state_timeout(Duration::from_secs(10), "close").insert("ring");
/// #         drop(open_for_10_s);
/// #         Ok(Next::keep())
/// #     }
/// # }
/// ```
///
/// An event that was moved out of cannot be postponed (rule F12):
///
/// ```compile_fail,E0382
/// # use krarup_state::{Event, Next, StateMachine};
/// fn both<S: StateMachine>(event: Event<S>) -> Next<S> {
///     if let Event::Message(message) = event {
///         drop(message);
///     }
///     Next::keep().postpone(event) // error: use of partially moved value
/// }
/// ```
#[must_use = "a `Next` does nothing unless the callback returns it"]
pub struct Next<S: MachineTypes> {
    pub(crate) to: NextState<S::State>,
    pub(crate) actions: Actions<S>,
}

/// What a [`StateMachine`](crate::StateMachine) begins with: its first state, and actions. All
/// those of [`Next`] but `postpone`, because there is no event (rule F12):
///
/// ```compile_fail,E0599
/// # use krarup_state::{Event, First, StateMachine};
/// fn begin<S: StateMachine>(state: S::State, event: Event<S>) -> First<S> {
///     First::state(state).postpone(event) // error: no method named `postpone`
/// }
/// ```
#[must_use = "a `First` does nothing unless `init` returns it"]
pub struct First<S: MachineTypes> {
    pub(crate) state: S::State,
    pub(crate) actions: Actions<S>,
}

/// What an enter call of a [`StateMachine`](crate::StateMachine) wants: time-outs, and nothing
/// else. It can neither insert events nor postpone one nor change the state again (rule F12):
///
/// ```compile_fail,E0599
/// # use krarup_state::{Entered, StateMachine};
/// fn enter<S: StateMachine>(internal: S::Internal) -> Entered<S> {
///     Entered::new().insert(internal) // error: no method named `insert`
/// }
/// ```
///
/// ```compile_fail,E0599
/// # use krarup_state::{Entered, Event, StateMachine};
/// fn enter<S: StateMachine>(event: Event<S>) -> Entered<S> {
///     Entered::new().postpone(event) // error: no method named `postpone`
/// }
/// ```
///
/// ```compile_fail,E0599
/// # use krarup_state::{Entered, StateMachine};
/// fn enter<S: StateMachine>(state: S::State) -> Entered<S> {
///     Entered::state(state) // error: no function named `state`
/// }
/// ```
#[must_use = "an `Entered` does nothing unless `enter` returns it"]
pub struct Entered<S: MachineTypes> {
    pub(crate) actions: Actions<S>,
}

/// The state that follows an event.
#[derive(Debug)]
pub(crate) enum NextState<T> {
    Keep,
    Repeat,
    State(T),
}

/// The kind of a time-out. There is at most one of each kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TimeoutKind<T> {
    State,
    Event,
    Named(T),
}

/// What an action does with a time-out.
pub(crate) enum TimeoutAction<I> {
    After(Duration, I),
    At(Timestamp, I),
    Update(I),
    Cancel,
}

/// The actions of one callback, in their order.
pub(crate) struct Actions<S: MachineTypes> {
    list: Vec<NextAction<S>>,
}

pub(crate) enum NextAction<S: MachineTypes> {
    Postpone(Event<S>),
    Insert(Event<S>),
    Timeout(TimeoutKind<S::Timer>, TimeoutAction<S::Internal>),
    Hibernate,
}

impl<S: MachineTypes> Actions<S> {
    const fn new() -> Self {
        Actions { list: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether a time is counted from now.
    pub(crate) fn needs_time(&self) -> bool {
        self.list.iter().any(|action| match action {
            NextAction::Timeout(_, TimeoutAction::After(after, _)) => !after.is_zero(),
            NextAction::Timeout(_, TimeoutAction::At(..)) => true,
            _ => false,
        })
    }

    /// Adds the actions of the enter call behind those of the event.
    pub(crate) fn append(&mut self, mut behind: Self) {
        self.list.append(&mut behind.list);
    }

    pub(crate) fn into_iter(self) -> impl Iterator<Item = NextAction<S>> {
        self.list.into_iter()
    }

    /// The events that they hold. `sender` is that of the event in hand.
    pub(crate) fn into_events(self, sender: u64) -> impl Iterator<Item = SentEvent<S>> {
        self.list.into_iter().filter_map(move |action| match action {
            NextAction::Postpone(event) => Some(SentEvent { sender, trace: None, event }),
            NextAction::Insert(event) => Some(SentEvent::of_itself(event)),
            NextAction::Timeout(..) | NextAction::Hibernate => None,
        })
    }

    fn timeout(&mut self, kind: TimeoutKind<S::Timer>, action: TimeoutAction<S::Internal>) {
        self.list.push(NextAction::Timeout(kind, action));
    }
}

impl<S: MachineTypes> Next<S> {
    fn to(to: NextState<S::State>) -> Self {
        Next { to, actions: Actions::new() }
    }

    /// Keeps the state (`keep_state`).
    pub fn keep() -> Self {
        Self::to(NextState::Keep)
    }

    /// Takes this state (`next_state`). If it is not equal to the current one the state has
    /// changed: its time-out ends, it is entered, and all postponed events come again (rules F3
    /// to F6). If it is equal, this is [`Next::keep`].
    pub fn state(state: S::State) -> Self {
        Self::to(NextState::State(state))
    }

    /// Enters the current state again (`repeat_state`). It is no change: postponed events stay,
    /// and so does the state time-out.
    pub fn repeat() -> Self {
        Self::to(NextState::Repeat)
    }

    /// Sets this event aside until the state has changed (`postpone`). It is the event in hand,
    /// and keeps its sender and its reply token. Postponed messages have the bound of the
    /// mailbox; one more is not kept (rule F13).
    pub fn postpone(mut self, event: Event<S>) -> Self {
        self.actions.list.push(NextAction::Postpone(event));
        self
    }

    /// Whether it changes nothing.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.to, NextState::Keep) && self.actions.is_empty()
    }
}

impl<S: MachineTypes> First<S> {
    /// Begins in this state. It is entered with itself as the old state (rule F3).
    pub const fn state(state: S::State) -> Self {
        First { state, actions: Actions::new() }
    }
}

impl<S: MachineTypes> Entered<S> {
    /// Wants nothing.
    pub const fn new() -> Self {
        Entered { actions: Actions::new() }
    }
}

impl<S: MachineTypes> Default for Entered<S> {
    fn default() -> Self {
        Self::new()
    }
}

/// The actions that insert events.
macro_rules! inserting {
    ($type:ident) => {
        impl<S: MachineTypes> $type<S> {
            /// Has the machine handle this next, as [`Event::Internal`], before anything that is
            /// queued or sent (`{next_event, internal, ..}`). Several come in their order (rule
            /// F5).
            pub fn insert(mut self, internal: S::Internal) -> Self {
                self.actions.list.push(NextAction::Insert(Event::Internal(internal)));
                self
            }

            /// The same for a message, which comes as [`Event::Message`] from this process
            /// itself.
            pub fn insert_message(mut self, message: S::Message) -> Self {
                self.actions.list.push(NextAction::Insert(Event::Message(message)));
                self
            }
        }
    };
}

/// The actions on time-outs.
macro_rules! timing {
    ($type:ident) => {
        impl<S: MachineTypes> $type<S> {
            /// Sets the state time-out: [`Event::StateTimeout`] comes with this content after
            /// this time, unless the state has changed before (rule F6). It replaces one that is
            /// set. A time-out of zero comes before anything that is received from now on (rule
            /// F10).
            pub fn state_timeout(self, after: Duration, content: S::Internal) -> Self {
                self.set(TimeoutKind::State, TimeoutAction::After(after, content))
            }

            /// As [`Self::state_timeout`], at a point in time.
            pub fn state_timeout_at(self, at: Timestamp, content: S::Internal) -> Self {
                self.set(TimeoutKind::State, TimeoutAction::At(at, content))
            }

            /// Changes the content of the state time-out and leaves its time. If none is set it
            /// is one of zero (rule F9).
            pub fn update_state_timeout(self, content: S::Internal) -> Self {
                self.set(TimeoutKind::State, TimeoutAction::Update(content))
            }

            /// Cancels the state time-out. It does not come any more, though its time was over
            /// (rule F8).
            pub fn cancel_state_timeout(self) -> Self {
                self.set(TimeoutKind::State, TimeoutAction::Cancel)
            }

            /// Sets the event time-out: [`Event::EventTimeout`] comes with this content after
            /// this time, unless any event has come before (rule F6).
            pub fn event_timeout(self, after: Duration, content: S::Internal) -> Self {
                self.set(TimeoutKind::Event, TimeoutAction::After(after, content))
            }

            /// As [`Self::event_timeout`], at a point in time.
            pub fn event_timeout_at(self, at: Timestamp, content: S::Internal) -> Self {
                self.set(TimeoutKind::Event, TimeoutAction::At(at, content))
            }

            /// As [`Self::update_state_timeout`], for the event time-out. The event in hand has
            /// ended the one that was set before.
            pub fn update_event_timeout(self, content: S::Internal) -> Self {
                self.set(TimeoutKind::Event, TimeoutAction::Update(content))
            }

            /// Cancels the event time-out that was set for this event by an action before.
            pub fn cancel_event_timeout(self) -> Self {
                self.set(TimeoutKind::Event, TimeoutAction::Cancel)
            }

            /// Sets the time-out of this name: [`Event::Timeout`] comes with the name and this
            /// content after this time, whatever the machine does meanwhile (rule F6).
            pub fn timeout(self, name: S::Timer, after: Duration, content: S::Internal) -> Self {
                self.set(TimeoutKind::Named(name), TimeoutAction::After(after, content))
            }

            /// As [`Self::timeout`], at a point in time.
            pub fn timeout_at(self, name: S::Timer, at: Timestamp, content: S::Internal) -> Self {
                self.set(TimeoutKind::Named(name), TimeoutAction::At(at, content))
            }

            /// As [`Self::update_state_timeout`], for the time-out of this name.
            pub fn update(self, name: S::Timer, content: S::Internal) -> Self {
                self.set(TimeoutKind::Named(name), TimeoutAction::Update(content))
            }

            /// Cancels the time-out of this name.
            pub fn cancel(self, name: S::Timer) -> Self {
                self.set(TimeoutKind::Named(name), TimeoutAction::Cancel)
            }

            /// Frees memory that is kept for speed, before the machine waits for an event:
            /// [`Context::hibernate`](krarup_act::Context::hibernate).
            pub fn hibernate(mut self) -> Self {
                self.actions.list.push(NextAction::Hibernate);
                self
            }

            fn set(
                mut self,
                kind: TimeoutKind<S::Timer>,
                action: TimeoutAction<S::Internal>,
            ) -> Self {
                self.actions.timeout(kind, action);
                self
            }
        }

        impl<S: MachineTypes> fmt::Debug for $type<S> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut output = f.debug_struct(stringify!($type));
                self.describe(&mut output);
                output.field("actions", &self.actions.list.len()).finish()
            }
        }
    };
}

inserting!(Next);
inserting!(First);
timing!(Next);
timing!(First);
timing!(Entered);

impl<S: MachineTypes> Next<S> {
    fn describe(&self, output: &mut fmt::DebugStruct<'_, '_>) {
        output.field("to", &self.to);
    }
}

impl<S: MachineTypes> First<S> {
    fn describe(&self, output: &mut fmt::DebugStruct<'_, '_>) {
        output.field("state", &self.state);
    }
}

impl<S: MachineTypes> Entered<S> {
    #[allow(clippy::unused_self, reason = "as for the others")]
    fn describe(&self, _: &mut fmt::DebugStruct<'_, '_>) {}
}
