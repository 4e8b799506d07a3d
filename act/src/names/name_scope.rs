//! Work outside processes whose waits for a name end together (rule H10).

use crate::context::Context;
use crate::host::host::Host;
use std::cell::Cell;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{self, Poll};

/// Work that a process answers for and that runs elsewhere, such as the requests under way of a server: what it
/// waits for by name ends when the process says so (rule H10).
///
/// A process that waits for a name stops waiting when it is asked to stop, because who stops it may be the one who
/// would start the process with that name. Work outside processes does not know who waits for its end; with a scope
/// it does. [`NameScope::end`] ends the waits that have begun for names of this node, and those that begin later wait for
/// nothing.
///
/// ```
/// # use krarup_act::{Context, NameScope};
/// # use std::sync::Arc;
/// fn requests(ctx: &Context<()>, request: impl Future<Output = ()> + Send + 'static) {
///     let scope = NameScope::new(ctx);
///     let under_way = scope.contain(request);
///     // When this process is asked to stop:
///     scope.end();
///     # drop(under_way);
/// }
/// # let _ = |ctx: &Context<()>| requests(ctx, async {});
/// ```
pub struct NameScope {
    host: Arc<dyn Host>,
    over: AtomicBool,
}

thread_local! {
    /// The scope of the future that this thread polls.
    static SCOPE: Cell<Option<Arc<NameScope>>> = const { Cell::new(None) };
}

impl NameScope {
    /// Creates a scope of the process that has this context.
    pub fn new<M: Send + 'static, C: Send + 'static>(ctx: &Context<M, C>) -> Arc<Self> {
        Arc::new(NameScope { host: Arc::clone(ctx.host()), over: AtomicBool::new(false) })
    }

    /// Returns the future as one whose waits for a name are in the scope. Within a process they are those of
    /// the process.
    pub fn contain<F: Future>(self: &Arc<Self>, future: F) -> InNameScope<F> {
        InNameScope { scope: Some(Arc::clone(self)), future }
    }

    /// Ends the scope. It wakes every wait for a name of the node, which looks again.
    pub fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
        if let Some(waits) = self.host.name_waits() {
            waits.wake_all();
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Returns the scope of the future that this thread polls.
    pub(crate) fn current() -> Option<Arc<NameScope>> {
        let scope = exchange(None);
        exchange(scope.clone());
        scope
    }
}

/// Sets the scope of this thread, and returns the one before. A thread that is ending has none.
fn exchange(scope: Option<Arc<NameScope>>) -> Option<Arc<NameScope>> {
    SCOPE.try_with(|current| current.replace(scope)).ok().flatten()
}

impl fmt::Debug for NameScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NameScope").field("over", &self.is_over()).finish_non_exhaustive()
    }
}

pin_project_lite::pin_project! {
    /// A future in a [`NameScope`]; made by [`NameScope::contain`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless they are polled"]
    pub struct InNameScope<F> {
        // The thread has it during a poll, so a poll counts no handles.
        scope: Option<Arc<NameScope>>,
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for InNameScope<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _inside = ScopedPoll { outer: exchange(this.scope.take()), scope: this.scope };
        this.future.poll(cx)
    }
}

/// A poll in a scope. The one around it is set again however the poll ends.
struct ScopedPoll<'a> {
    outer: Option<Arc<NameScope>>,
    scope: &'a mut Option<Arc<NameScope>>,
}

impl Drop for ScopedPoll<'_> {
    fn drop(&mut self) {
        *self.scope = exchange(self.outer.take());
    }
}
