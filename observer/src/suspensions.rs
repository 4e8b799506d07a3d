//! Suspensions that end by themselves: the process `observer.suspensions`, and one more process
//! for each suspension.
//!
//! The process of a suspension is linked to nobody. So it ends the suspension at its time also if
//! all of the observer was killed meanwhile. A suspension that was taken back before is not taken
//! back again: that one would be the program's.

use krarup_act::{Actor, Address, Context, NodeView, Reply};
use krarup_gen::{DebugError, Inspection, Pid, Result};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The suspensions of the observer that are in effect.
#[derive(Default)]
pub(crate) struct Suspensions {
    keeper: Mutex<Option<Address<Suspend>>>,
    state: Mutex<SuspensionState>,
}

#[derive(Default)]
struct SuspensionState {
    next: u64,
    /// By process, the numbers of its suspensions.
    held: BTreeMap<Pid, Vec<u64>>,
}

/// The request for a suspension.
pub(crate) struct Suspend {
    pub(crate) pid: Pid,
    pub(crate) lasts: Duration,
    pub(crate) reply: Reply<std::result::Result<(), DebugError>>,
}

impl Suspensions {
    /// The process that suspends, if it lives.
    pub(crate) fn keeper(&self) -> Option<Address<Suspend>> {
        self.keeper.lock().clone()
    }

    /// Takes back one of the observer's suspensions of a process. Returns whether there was one.
    pub(crate) fn take_back(&self, pid: Pid) -> bool {
        let mut state = self.state.lock();
        let Some(numbers) = state.held.get_mut(&pid) else { return false };
        let taken = numbers.pop().is_some();
        if numbers.is_empty() {
            state.held.remove(&pid);
        }
        taken
    }

    fn add(&self, pid: Pid) -> u64 {
        let mut state = self.state.lock();
        state.next += 1;
        let number = state.next;
        state.held.entry(pid).or_default().push(number);
        number
    }

    /// Takes back this suspension, unless it was before.
    fn end(&self, pid: Pid, number: u64) -> bool {
        let mut state = self.state.lock();
        let Some(numbers) = state.held.get_mut(&pid) else { return false };
        let before = numbers.len();
        numbers.retain(|held| *held != number);
        let ended = numbers.len() < before;
        if numbers.is_empty() {
            state.held.remove(&pid);
        }
        ended
    }
}

/// The process that starts the others.
pub(crate) struct Suspender {
    suspensions: Arc<Suspensions>,
    view: NodeView,
}

impl Suspender {
    pub(crate) fn new(suspensions: Arc<Suspensions>, view: NodeView) -> Self {
        Suspender { suspensions, view }
    }
}

impl Actor for Suspender {
    type Message = Suspend;

    async fn init(&mut self, ctx: &mut Context<Suspend>) -> Result {
        let before = self.suspensions.keeper.lock().replace(ctx.address());
        drop(before);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Suspend>, request: Suspend) -> Result {
        let (suspensions, view) = (Arc::clone(&self.suspensions), self.view.clone());
        let suspension =
            move || Suspension { suspensions, view, request: Some(request), held: None };
        // If it cannot start, its request is dropped, and so answered.
        let _ = ctx.spawn(suspension).start();
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        Inspection::new().with("suspended", self.suspensions.state.lock().held.len())
    }
}

/// One suspension.
struct Suspension {
    suspensions: Arc<Suspensions>,
    view: NodeView,
    request: Option<Suspend>,
    held: Option<(Pid, u64)>,
}

/// The time of a suspension is over.
struct Over;

impl Actor for Suspension {
    type Message = Over;

    async fn init(&mut self, ctx: &mut Context<Over>) -> Result {
        let Some(Suspend { pid, lasts, reply }) = self.request.take() else { return Ok(()) };
        let outcome = self.view.suspend(pid).await;
        if outcome.is_ok() {
            self.held = Some((pid, self.suspensions.add(pid)));
            ctx.send_after(lasts, Over);
        } else {
            ctx.stop();
        }
        reply.send(outcome);
        Ok(())
    }

    async fn handle_message(&mut self, ctx: &mut Context<Over>, _: Over) -> Result {
        ctx.stop();
        Ok(())
    }

    /// Also when the node stops: nothing is left suspended.
    async fn terminate(&mut self, _: &mut Context<Over>, _: &krarup_gen::Reason) {
        if let Some((pid, number)) = self.held.take()
            && self.suspensions.end(pid, number)
        {
            self.view.resume(pid);
        }
    }
}
