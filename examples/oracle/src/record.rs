//! The events of a scenario, recorded by its own processes.
//!
//! Every process of a tree is wrapped in [`Recorded`], a behaviour around its behaviour.
//! The wrapper's guard records the end of the process before any other process is notified:
//! the guard is dropped with the process's future, before the links and monitors fire.

use crate::scenario::Outcome;
use crate::terms;
use krarup::behavior::Behavior;
use krarup::supervisor::{ChildSpec, FailedToStartChild, Supervisor, SupervisorAddress};
use krarup::{Address, AddressOf, Context, Pid, Reason, Result, Watch};
use std::collections::{HashMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};

/// The index of an instance. Each start of a node of the tree is a new instance.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct InstanceKey(pub usize);

pub(crate) struct Instance {
    pub(crate) id: String,
    pub(crate) number: u32,
    pub(crate) pid: Option<Pid>,
    pub(crate) parent: Option<Pid>,
    pub(crate) handle: Option<Handle>,
    pub(crate) alive: bool,
    /// Whether its init has succeeded. If not, its end is a failed start and not an event.
    pub(crate) starts_well: bool,
    pub(crate) terminating: bool,
    end: Option<Watch>,
}

/// How the driver reaches an instance.
#[derive(Clone)]
pub(crate) enum Handle {
    Worker(Address<Order>),
    Supervisor(SupervisorAddress),
    Simple(SupervisorAddress<()>),
}

/// The messages of a worker.
pub(crate) enum Order {
    Stop(Reason),
    Crash(String),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    Init,
    Info,
    Term,
    Exit,
}

pub(crate) struct Event {
    pub(crate) what: What,
    pub(crate) of: InstanceKey,
    /// `None` if the process ended without recording its reason.
    pub(crate) text: Option<String>,
}

/// Blocks an init call until the gate is opened.
#[derive(Default)]
pub(crate) struct Gate {
    pub(crate) armed: bool,
    pub(crate) reached: bool,
    open: bool,
    waiting: Option<Waker>,
}

#[derive(Default)]
pub(crate) struct RecordedTree {
    pub(crate) instances: Vec<Instance>,
    pub(crate) events: Vec<Event>,
    pub(crate) plans: HashMap<String, VecDeque<Outcome>>,
    pub(crate) gate: Gate,
    /// Answers by number: 0 is that of the step, K that of the K-th queue line.
    pub(crate) answers: HashMap<usize, String>,
}

#[derive(Clone, Default)]
pub(crate) struct Record(Arc<Mutex<RecordedTree>>);

impl Record {
    pub(crate) fn state(&self) -> MutexGuard<'_, RecordedTree> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Adds an instance for a process of this node that starts.
    pub(crate) fn born(&self, id: &str) -> InstanceKey {
        let mut state = self.state();
        let before = state.instances.iter().filter(|instance| instance.id == id).count();
        state.instances.push(Instance {
            id: id.to_owned(),
            number: u32::try_from(before).unwrap_or(u32::MAX) + 1,
            pid: None,
            parent: None,
            handle: None,
            alive: true,
            starts_well: false,
            terminating: false,
            end: None,
        });
        InstanceKey(state.instances.len() - 1)
    }

    pub(crate) fn note(&self, what: What, of: InstanceKey, text: impl Into<Option<String>>) {
        self.state().events.push(Event { what, of, text: text.into() });
    }

    /// Takes the outcome for the init call that is running now.
    pub(crate) fn next_outcome(&self, of: InstanceKey) -> Outcome {
        let mut state = self.state();
        let id = state.instances[of.0].id.clone();
        let planned = state.plans.get_mut(&id).and_then(VecDeque::pop_front);
        planned.unwrap_or_else(|| Outcome::parse("ok"))
    }

    /// Waits at the gate, if it is armed.
    pub(crate) async fn pass_gate(&self) {
        {
            let gate = &mut self.state().gate;
            if !gate.armed {
                return;
            }
            *gate = Gate { armed: false, reached: true, open: false, waiting: None };
        }
        poll_fn(|cx| {
            let gate = &mut self.state().gate;
            gate.waiting = Some(cx.waker().clone());
            if gate.open { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    pub(crate) fn open_gate(&self) {
        let waiting = {
            let gate = &mut self.state().gate;
            gate.armed = false;
            gate.open = true;
            gate.waiting.take()
        };
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    /// Fills in the reasons of the processes that ended without recording one.
    pub(crate) fn fill_in_reasons(&self) {
        let mut state = self.state();
        let RecordedTree { events, instances, .. } = &mut *state;
        for event in events.iter_mut().filter(|event| event.text.is_none()) {
            let Some(end) = &mut instances[event.of.0].end else { continue };
            let mut cx = std::task::Context::from_waker(Waker::noop());
            if let Poll::Ready(down) = Pin::new(end).poll(&mut cx) {
                event.text = Some(terms::word(&down.reason));
            }
        }
    }
}

/// A behaviour that the driver of a scenario can reach.
pub(crate) trait Recordable: Behavior {
    fn handle(address: AddressOf<Self>) -> Handle;
}

impl Recordable for Supervisor<ChildSpec> {
    fn handle(address: AddressOf<Self>) -> Handle {
        Handle::Supervisor(address)
    }
}

impl Recordable for Supervisor<()> {
    fn handle(address: AddressOf<Self>) -> Handle {
        Handle::Simple(address)
    }
}

/// A behaviour whose start and end are recorded.
pub(crate) struct Recorded<B> {
    pub(crate) inner: B,
    pub(crate) record: Record,
    pub(crate) key: InstanceKey,
}

impl<B: Recordable> Behavior for Recorded<B> {
    type Message = B::Message;
    type Command = B::Command;

    async fn run(self, ctx: Context<B::Message, B::Command>) -> Result {
        let Recorded { inner, record, key } = self;
        let mut guard = Guard { record: record.clone(), key, ended: None };
        {
            let mut state = record.state();
            let instance = &mut state.instances[key.0];
            instance.pid = Some(ctx.pid());
            instance.parent = ctx.parent();
            instance.handle = Some(B::handle(ctx.address()));
            instance.end = Some(ctx.address().watch());
        }
        let is_supervisor =
            !matches!(record.state().instances[key.0].handle, Some(Handle::Worker(_)));
        if is_supervisor {
            record.note(What::Init, key, "ok".to_owned());
            record.state().instances[key.0].starts_well = true;
        }
        let result = inner.run(ctx).await;
        let reason = result.err().unwrap_or(Reason::Normal);
        guard.ended = Some(reason.clone());
        Err(reason)
    }
}

struct Guard {
    record: Record,
    key: InstanceKey,
    ended: Option<Reason>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let starts_well = {
            let mut state = self.record.state();
            let instance = &mut state.instances[self.key.0];
            instance.alive = false;
            instance.starts_well
        };
        // A start that failed has no line for its end.
        let given_up = self.ended.as_ref().and_then(Reason::downcast_ref::<FailedToStartChild>);
        if starts_well && given_up.is_none() {
            self.record.note(What::Exit, self.key, self.ended.as_ref().map(terms::word));
        }
    }
}
