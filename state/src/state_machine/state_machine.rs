//! The [`StateMachine`] trait.

use crate::state_machine::event::Event;
use crate::state_machine::next::{Entered, First, Next};
use crate::state_machine::types::MachineTypes;
use krarup_act::{Context, Dynamic, InspectRequest};
use krarup_gen::{Inspection, Reason, Result};
use std::fmt;
use std::future::ready;
use std::hash::Hash;

/// A process that is in one of several states: OTP's `gen_statem`, typed.
///
/// The state is an enum, or any value that can be compared. The data is `self`. One callback
/// gets the state and the event, and returns what comes next; [`Machine`](crate::Machine) does it.
///
/// | callback | when | `gen_statem` |
/// |---|---|---|
/// | [`init`](Self::init) | first; returns the first state | `init/1` |
/// | [`enter`](Self::enter) | a state is entered | state enter calls |
/// | [`handle_event`](Self::handle_event) | an event comes | `handle_event/4`, the state functions |
/// | [`terminate`](Self::terminate) | last, with the state | `terminate/3` |
///
/// | `gen_statem` | here |
/// |---|---|
/// | `{next_state, S, D, Actions}`, `keep_state`, `repeat_state` | `Next::state(s)..`, `Next::keep()..`, `Next::repeat()..` |
/// | `{state_timeout, T, C}`, `{timeout, T, C}`, `{{timeout, N}, T, C}` | `.state_timeout(t, c)`, `.event_timeout(t, c)`, `.timeout(n, t, c)` |
/// | `{Type, cancel}`, `{Type, update, C}`, `{abs, true}` | `.cancel..`, `.update..`, `.._at` |
/// | `{next_event, internal, E}`, `postpone`, `{reply, From, R}` | `.insert(e)`, `.postpone(event)`, `reply.send(r)` |
/// | `stop`, `{stop_and_reply, R, Replies}` | `Err(reason)`, after `reply.send(..)` |
///
/// An event is done whole before the next: its callback, its enter call, its transition. What
/// comes next are inserted events and those that come again, then time-outs of zero, then the
/// mailbox (rule F2). A callback that returns `Err(reason)`, or panics, ends the process with
/// that reason. [`Context::stop`] ends it normally; what the callback returned is then not carried
/// out (rule F16).
///
/// Idle times of the context ([`Context::set_idle_timeout`]) are no events. The event time-out
/// does the same.
///
/// ```
/// # use krarup_act::{Context, Reply};
/// # use krarup_gen::Result;
/// # use krarup_node::Simulation;
/// # use krarup_state::{Entered, Event, First, Machine, Next, StateMachine};
/// # use std::time::Duration;
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// enum Lock {
///     Locked,
///     Open,
/// }
///
/// enum Say {
///     Button(char),
///     Opened(Reply<usize>),
/// }
///
/// struct CodeLock {
///     code: String,
///     typed: String,
///     opened: usize,
/// }
///
/// impl StateMachine for CodeLock {
///     type State = Lock;
///     type Message = Say;
///     type Internal = ();
///     type Timer = &'static str;
///
///     async fn init(&mut self, _: &mut Context<Say>) -> Result<First<Self>> {
///         Ok(First::state(Lock::Locked))
///     }
///
///     async fn enter(&mut self, _: &mut Context<Say>, _: Lock, to: Lock) -> Result<Entered<Self>> {
///         self.typed.clear();
///         if to == Lock::Locked {
///             return Ok(Entered::new());
///         }
///         self.opened += 1;
///         Ok(Entered::new().state_timeout(Duration::from_secs(10), ()))
///     }
///
///     async fn handle_event(
///         &mut self,
///         _: &mut Context<Say>,
///         state: Lock,
///         event: Event<Self>,
///     ) -> Result<Next<Self>> {
///         Ok(match (state, event) {
///             (_, Event::Message(Say::Opened(reply))) => {
///                 reply.send(self.opened);
///                 Next::keep()
///             }
///             (Lock::Locked, Event::Message(Say::Button(digit))) => {
///                 self.typed.push(digit);
///                 if self.typed == self.code {
///                     Next::state(Lock::Open)
///                 } else {
///                     Next::keep().event_timeout(Duration::from_secs(30), ())
///                 }
///             }
///             // No digit followed.
///             (Lock::Locked, _) => {
///                 self.typed.clear();
///                 Next::keep()
///             }
///             (Lock::Open, Event::StateTimeout(())) => Next::state(Lock::Locked),
///             // When it is locked again.
///             (Lock::Open, event) => Next::keep().postpone(event),
///         })
///     }
/// }
///
/// let sim = Simulation::new(7);
/// let lock = sim
///     .spawn(|| Machine::new(CodeLock { code: "12".into(), typed: String::new(), opened: 0 }))
///     .wait()
///     .unwrap();
/// for digit in "1212".chars() {
///     lock.send(Say::Button(digit)).unwrap(); // The last two are typed into the open lock.
/// }
/// assert_eq!(lock.call(Say::Opened).wait(), Ok(1));
/// sim.advance(Duration::from_secs(10));
/// assert_eq!(lock.call(Say::Opened).wait(), Ok(2));
/// ```
pub trait StateMachine: Sized + Send + 'static {
    /// The states. A callback gets the state by value, so that no borrow of it is held over an
    /// await. The state has changed if the new one is not equal to the old one (rule F4).
    type State: Clone + PartialEq + fmt::Debug + Send + 'static;
    /// The messages of others, usually an enum.
    type Message: Send + 'static;
    /// What the machine tells itself: inserted events, and the contents of time-outs.
    type Internal: Send + 'static;
    /// The names of its named time-outs; `()` if it has none.
    type Timer: Clone + Eq + Hash + fmt::Debug + Send + 'static;

    /// Prepares the machine, and returns its first state. The spawn completes when `init` has
    /// returned (rule D2). The enter call of the first state follows.
    fn init(
        &mut self,
        ctx: &mut Context<Self::Message>,
    ) -> impl Future<Output = Result<First<Self>>> + Send;

    /// Runs when a state is entered: at the start, with `from` equal to `to`; after a change of
    /// the state; after [`Next::repeat`] (rule F3). An error ends the process in the new state
    /// (rule F11). The default wants nothing.
    fn enter(
        &mut self,
        ctx: &mut Context<Self::Message>,
        from: Self::State,
        to: Self::State,
    ) -> impl Future<Output = Result<Entered<Self>>> + Send {
        let _ = (ctx, from, to);
        ready(Ok(Entered::new()))
    }

    /// Handles an event in a state.
    fn handle_event(
        &mut self,
        ctx: &mut Context<Self::Message>,
        state: Self::State,
        event: Event<Self>,
    ) -> impl Future<Output = Result<Next<Self>>> + Send;

    /// Returns the state and the data for a debugger, as a value of any type (rule X5). The
    /// default returns the state.
    fn debug(&self, state: &Self::State) -> Option<Dynamic> {
        Some(Dynamic::new(state.clone()))
    }

    /// Describes the machine for an inspection. Its state, its waiting events and its time-outs
    /// are added (rule F14).
    fn inspect(&self) -> Inspection {
        Inspection::new()
    }

    /// Describes the machine to the inspecting process. The default returns
    /// [`StateMachine::inspect`] for every request.
    fn handle_inspect(&self, request: &InspectRequest) -> Inspection {
        let _ = request;
        self.inspect()
    }

    /// Runs last on a machine that has failed, if the process continues with a fresh one: see
    /// [`InPlace`](krarup_act::InPlace) (rule S10). `terminate` does not run in that case.
    fn before_restart(
        &mut self,
        ctx: &mut Context<Self::Message>,
        reason: &Reason,
    ) -> impl Future<Output = ()> + Send {
        let _ = (ctx, reason);
        ready(())
    }

    /// Runs first on a fresh machine that has replaced one that failed for `reason`, after its
    /// `init` and before its first enter call (rule S10). An error counts as another failure.
    fn after_restart(
        &mut self,
        ctx: &mut Context<Self::Message>,
        reason: &Reason,
    ) -> impl Future<Output = Result> + Send {
        let _ = (ctx, reason);
        ready(Ok(()))
    }

    /// Cleans up, with the state in which the machine ends (rule F11). It runs as an actor's
    /// does (rule D5): not if the process is killed or ended by a peer's exit signal.
    fn terminate(
        &mut self,
        ctx: &mut Context<Self::Message>,
        state: Self::State,
        reason: &Reason,
    ) -> impl Future<Output = ()> + Send {
        let _ = (ctx, state, reason);
        ready(())
    }
}

impl<S: StateMachine> MachineTypes for S {
    type State = S::State;
    type Message = S::Message;
    type Internal = S::Internal;
    type Timer = S::Timer;
}
