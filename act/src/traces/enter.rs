//! Code that runs in a trace context which it has brought along.

use super::trace_context::TraceContext;
use crate::process::current;

impl TraceContext {
    /// Runs `f` in this context: the messages and calls that it sends belong to the trace, and so
    /// does what it waits for with `.wait()`. A context that is not sampled does nothing.
    ///
    /// ```
    /// # use krarup_act::{Address, TraceContext};
    /// # struct Order;
    /// fn order(shop: &Address<Order>, traceparent: &str) {
    ///     match TraceContext::parse(traceparent) {
    ///         Ok(context) => drop(context.enter(|| shop.send(Order))),
    ///         Err(_) => drop(shop.send(Order)),
    ///     }
    /// }
    /// # let _ = order;
    /// ```
    pub fn enter<T>(self, f: impl FnOnce() -> T) -> T {
        if !self.is_sampled() {
            return f();
        }
        let _entered = current::enter_context(self);
        f()
    }

    /// Returns the context of the handler, or of [`TraceContext::enter`], that runs on this
    /// thread. Its text is the `traceparent` for what leaves the node.
    #[must_use]
    pub fn current() -> Option<TraceContext> {
        current::context()
    }
}

/// Runs `work` in no trace context. For hosts that run turns on the thread of a caller.
pub fn outside_traces<R>(work: impl FnOnce() -> R) -> R {
    let _context = current::is_traced().then(current::without_context);
    work()
}
