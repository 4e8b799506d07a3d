//! Tracing what a living process receives (rule X5; OTP's `sys:trace` and `sys:install`).

use crate::received::Received;
use krarup_gen::{Lane, Pid, Timestamp};
use std::any::type_name;

/// One item that a traced process is about to handle.
#[derive(Debug)]
#[non_exhaustive]
pub struct Traced<'a, M, C> {
    /// The process.
    pub pid: Pid,
    /// When the process received the item.
    pub at: Timestamp,
    /// The sender, if the item is a message from a process.
    pub sender: Option<Pid>,
    /// The lane that it came by.
    pub lane: Lane,
    /// The item.
    pub item: &'a Received<M, C>,
}

type TraceFunction<M, C> = Box<dyn FnMut(&Traced<'_, M, C>) + Send>;

/// The function that is called with every item that a process receives.
pub(crate) struct Tracer<M, C>(Option<TraceFunction<M, C>>);

impl<M, C> Tracer<M, C> {
    pub(crate) fn new(look: impl FnMut(&Traced<'_, M, C>) + Send + 'static) -> Self {
        Tracer(Some(Box::new(look)))
    }

    /// Makes a tracer that does nothing.
    pub(crate) fn off() -> Self {
        Tracer(None)
    }

    /// Makes a tracer that logs the kind, the sender and the type of each item.
    pub(crate) fn logging() -> Self {
        Self::new(|traced| {
            let (kind, type_name) = describe(traced.item);
            log(traced.pid, traced.at, traced.sender, kind, type_name);
        })
    }

    pub(crate) fn is_off(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn look(&mut self, traced: &Traced<'_, M, C>) {
        if let Some(look) = &mut self.0 {
            look(traced);
        }
    }
}

/// Compiled once, and not for each type of message.
fn log(pid: Pid, at: Timestamp, sender: Option<Pid>, kind: &'static str, type_name: &'static str) {
    let sender = sender.map(|sender| sender.to_string());
    tracing::info!(target: "krarup::trace", %pid, %at, kind, type_name, sender, "received");
}

/// Returns the kind of an item, and the name of the type in it.
fn describe<M, C>(item: &Received<M, C>) -> (&'static str, &'static str) {
    match item {
        Received::Message(_) => ("message", type_name::<M>()),
        Received::Command(_) => ("command", type_name::<C>()),
        Received::Other(other) => ("other", other.type_name()),
        Received::Exit(_) => ("exit", ""),
        Received::Down(_) => ("down", ""),
        Received::Stop(_) => ("stop", ""),
        Received::Finish => ("finish", ""),
        Received::Timeout => ("timeout", ""),
        Received::Alarm(_) => ("alarm", ""),
        Received::Inspect(_) => ("inspect", ""),
        Received::State(_) => ("state", ""),
        Received::Manage(_) => ("manage", ""),
    }
}
