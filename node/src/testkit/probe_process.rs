//! The process behind a probe: it keeps what it receives, and runs the tasks of its test.

use krarup_act::{Behavior, Context, Dynamic, Received};
use krarup_gen::{Down, Exit, Inspection, Pid, Result, Timestamp};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// The state that a probe's process and its test share.
pub(crate) struct ProbeState<M> {
    /// What has arrived and was not expected yet.
    pub(crate) arrived: Arc<Mutex<VecDeque<Arrived<M>>>>,
    /// The handler of messages, if one is set.
    pub(crate) handler: Arc<Mutex<Option<ProbeHandle<M>>>>,
}

pub(crate) type ProbeHandle<M> = Box<dyn FnMut(&mut Context<M>, M) -> Option<M> + Send>;

impl<M> ProbeState<M> {
    pub(crate) fn keep(&self, at: Timestamp, from: Option<Pid>, item: ProbeMail<M>) {
        self.arrived.lock().push_back(Arrived { at, from, item });
    }
}

impl<M> Default for ProbeState<M> {
    fn default() -> Self {
        ProbeState { arrived: Arc::default(), handler: Arc::default() }
    }
}

impl<M> Clone for ProbeState<M> {
    fn clone(&self) -> Self {
        ProbeState { arrived: Arc::clone(&self.arrived), handler: Arc::clone(&self.handler) }
    }
}

pub(crate) struct Arrived<M> {
    pub(crate) at: Timestamp,
    pub(crate) from: Option<Pid>,
    pub(crate) item: ProbeMail<M>,
}

pub(crate) enum ProbeMail<M> {
    Message(M),
    Exit(Exit),
    Down(Down),
    /// A message of another type, sent by pid, name or alias.
    Other(Dynamic),
}

/// A task for the probe's process.
pub(crate) struct ProbeTask<M>(pub(crate) Act<M>);

pub(crate) type Act<M> = Box<dyn FnOnce(&mut Context<M>) + Send>;

/// The probe as a process.
pub(crate) struct ProbeProcess<M>(pub(crate) ProbeState<M>);

impl<M: Send + 'static> Behavior for ProbeProcess<M> {
    type Message = M;
    type Command = M;

    async fn run(self, mut ctx: Context<M>) -> Result {
        ctx.trap_exits(true);
        ctx.stop_in_order();
        ctx.take_others();
        loop {
            let item = match ctx.receive().await {
                Received::Message(message) | Received::Command(message) => {
                    match self.handled(&mut ctx, message) {
                        Some(message) => ProbeMail::Message(message),
                        None => continue,
                    }
                }
                Received::Exit(exit) => ProbeMail::Exit(exit),
                Received::Down(down) => ProbeMail::Down(down),
                Received::Other(other) => match other.downcast::<ProbeTask<M>>() {
                    Ok(order) => {
                        (order.0)(&mut ctx);
                        continue;
                    }
                    Err(other) => ProbeMail::Other(other),
                },
                Received::Inspect(reply) => {
                    reply.send(Inspection::new().with("arrived", self.0.arrived.lock().len()));
                    continue;
                }
                Received::Stop(reason) => return Err(reason),
                Received::Finish => return Ok(()),
                // A request for the state is not answered, and its dropped token says so.
                _ => continue,
            };
            self.0.keep(ctx.now(), ctx.sender(), item);
        }
    }

    fn label() -> &'static str {
        "Probe"
    }
}

impl<M: Send + 'static> ProbeProcess<M> {
    /// The message to keep, if any.
    fn handled(&self, ctx: &mut Context<M>, message: M) -> Option<M> {
        // Taken out during the call, because the handler may set another one.
        let Some(mut handler) = self.0.handler.lock().take() else { return Some(message) };
        let left = handler(ctx, message);
        self.0.handler.lock().get_or_insert(handler);
        left
    }
}
