//! Inspecting a process (rule X3).

use crate::addressing::address::Address;
use crate::calls::deadline::{DEFAULT_CALL_TIMEOUT, within};
use crate::calls::pending::Pending;
use crate::calls::reply::Reply;
use crate::host::host::Host;
use crate::observe::inspect_request::InspectRequest;
use crate::process::current;
use crate::process::process::Process;
use krarup_gen::{CallError, Inspection, Pid};
use std::sync::Arc;

/// Requests an inspection of a process (rule X3). It answers within one message, however many
/// messages wait. `process` is the process with this pid, if it is known.
pub fn inspect(
    host: Arc<dyn Host>,
    pid: Pid,
    process: Option<Arc<dyn Process>>,
) -> Pending<Inspection, CallError> {
    inspect_items(host, pid, process, Box::default())
}

/// As [`inspect`], for these items; for all if there are none.
pub fn inspect_items(
    host: Arc<dyn Host>,
    pid: Pid,
    process: Option<Arc<dyn Process>>,
    items: Box<[String]>,
) -> Pending<Inspection, CallError> {
    Pending::new(Arc::clone(&host), async move {
        let process = process.ok_or(CallError::NoProcess { to: pid })?;
        let asker = current::pid();
        if asker.is_some_and(|myself| myself.is_same_process(pid)) {
            return Err(CallError::CallsItself(pid));
        }
        let (reply, answer) = Reply::new(None);
        process.inspect(InspectRequest::new(asker, items, reply));
        match within(&host, DEFAULT_CALL_TIMEOUT, answer).await {
            None => Err(CallError::Timeout { to: pid, limit: DEFAULT_CALL_TIMEOUT }),
            Some(None) => Err(CallError::NoReply { to: pid }),
            Some(Some(answer)) => answer.map_err(|error| *error),
        }
    })
}

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    /// Requests an inspection of the process (rule X3). A process that is inside a handler
    /// answers when the handler is done; after 5 s this fails with [`CallError::Timeout`].
    pub fn inspect(&self) -> Pending<Inspection, CallError> {
        inspect(Arc::clone(self.host()), self.pid(), Some(self.process()))
    }

    /// As [`Address::inspect`], for these items only (Ergo's `Inspect(pid, item...)`). Items
    /// that the process does not have are not in the answer.
    pub fn inspect_items<I>(&self, items: I) -> Pending<Inspection, CallError>
    where
        I: IntoIterator<Item: Into<String>>,
    {
        let items = items.into_iter().map(Into::into).collect();
        inspect_items(Arc::clone(self.host()), self.pid(), Some(self.process()), items)
    }
}
