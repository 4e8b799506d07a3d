//! Traces of the control messages of one connection (rule Zobs4).
//!
//! ```text
//!  frame ──► decoded ──► tracer on? ── no ──► obeyed
//!                            └─ yes: the closure, without a lock ──┘
//! ```
//!
//! Without a trace, a message pays one load of a flag that nobody writes.

use krarup_act::{contain, from_outside};
use krarup_gen::{NodeName, Timestamp};
use krarup_wire::ControlMessage;
use parking_lot::Mutex;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A control message that was sent to another node, or received from it (rule Zobs4).
///
/// It prints as `b@host -> Link { from: .., to: .. }`, with an arrow in its direction.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TracedControl<'a> {
    /// The other node.
    pub node: &'a NodeName,
    /// Whether this node has sent it.
    pub is_sent: bool,
    /// When, on the clock of this node: received messages before they are obeyed, sent ones when
    /// they are written as frames, in the order of the frames of their process.
    pub at: Timestamp,
    /// The message, as it crosses.
    pub control: &'a ControlMessage,
    /// The bytes of the message or the reason that goes with it; 0 if there is none.
    pub payload_bytes: usize,
}

impl fmt::Display for TracedControl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arrow = if self.is_sent { "<-" } else { "->" };
        write!(f, "{} {arrow} {:?}", self.node, self.control)?;
        match self.payload_bytes {
            0 => Ok(()),
            bytes => write!(f, " and {bytes} bytes"),
        }
    }
}

pub(crate) type ControlFunction = dyn Fn(&TracedControl<'_>) + Send + Sync;

/// The trace of one peer, if there is one.
#[derive(Default)]
pub(crate) struct ControlTracer {
    is_on: AtomicBool,
    function: Mutex<Option<Arc<ControlFunction>>>,
}

impl ControlTracer {
    /// The function that is to see the messages, if there is one.
    pub(crate) fn current(&self) -> Option<Arc<ControlFunction>> {
        if !self.is_on.load(Ordering::Relaxed) {
            return None;
        }
        self.function.lock().clone()
    }

    /// Replaces the function. The one before is returned, to be dropped without a lock.
    fn set(&self, function: Option<Arc<ControlFunction>>) -> Option<Arc<ControlFunction>> {
        let mut current = self.function.lock();
        self.is_on.store(function.is_some(), Ordering::Relaxed);
        std::mem::replace(&mut *current, function)
    }

    /// Ends the trace by this function, unless another one has replaced it.
    fn end(&self, function: &Arc<ControlFunction>) {
        let ended = {
            let mut current = self.function.lock();
            let is_it = current.as_ref().is_some_and(|current| Arc::ptr_eq(current, function));
            if !is_it {
                return;
            }
            self.is_on.store(false, Ordering::Relaxed);
            current.take()
        };
        drop(ended);
    }

    /// Shows a message to the function of the trace. No lock may be held.
    pub(crate) fn show(&self, function: &Arc<ControlFunction>, traced: &TracedControl<'_>) {
        // A function that panics ends its trace, and nothing else.
        if from_outside(|| contain(|| function(traced))).is_err() {
            self.end(function);
        }
    }
}

/// A trace of control messages; dropping it ends the trace.
#[must_use = "a trace ends when it is dropped"]
pub struct ControlTrace {
    node: NodeName,
    tracer: Arc<ControlTracer>,
    function: Arc<ControlFunction>,
    /// The peer, which is remembered as long as it is traced.
    _peer: Arc<dyn Any + Send + Sync>,
}

impl ControlTrace {
    /// Begins a trace of a peer, in place of the one before.
    pub(crate) fn begin(
        node: NodeName,
        tracer: Arc<ControlTracer>,
        peer: Arc<dyn Any + Send + Sync>,
        function: impl Fn(&TracedControl<'_>) + Send + Sync + 'static,
    ) -> Self {
        let function: Arc<ControlFunction> = Arc::new(function);
        let before = tracer.set(Some(Arc::clone(&function)));
        drop(before);
        ControlTrace { node, tracer, function, _peer: peer }
    }
}

impl Drop for ControlTrace {
    fn drop(&mut self) {
        self.tracer.end(&self.function);
    }
}

impl fmt::Debug for ControlTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ControlTrace({})", self.node)
    }
}
