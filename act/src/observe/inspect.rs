//! Inspecting a process (rule X3).

use crate::addressing::address::Address;
use crate::calls::call::DEFAULT_CALL_TIMEOUT;
use crate::calls::deadline::within;
use crate::calls::pending::Pending;
use crate::calls::reply::Reply;
use crate::host::host::Host;
use crate::observe::inspect_request::InspectRequest;
use crate::process::current;
use crate::process::process::Process;
use krarup_gen::{CallError, Inspection};
use std::sync::Arc;

/// Requests an inspection of a process (rule X3). It answers within one message, however many
/// messages wait.
pub fn inspect(
    host: Arc<dyn Host>,
    process: Option<Arc<dyn Process>>,
) -> Pending<Inspection, CallError> {
    inspect_items(host, process, Box::default())
}

/// As [`inspect`], for these items; for all if there are none.
pub fn inspect_items(
    host: Arc<dyn Host>,
    process: Option<Arc<dyn Process>>,
    items: Box<[String]>,
) -> Pending<Inspection, CallError> {
    Pending::new(Arc::clone(&host), async move {
        let process = process.ok_or(CallError::NoProcess)?;
        let (pid, asker) = (process.pid(), current::pid());
        if asker.is_some_and(|myself| myself.is_same_process(pid)) {
            return Err(CallError::CallsItself(pid));
        }
        let (reply, answer) = Reply::new(None);
        process.inspect(InspectRequest::new(asker, items, reply));
        within(&host, DEFAULT_CALL_TIMEOUT, answer)
            .await
            .ok_or(CallError::Timeout(DEFAULT_CALL_TIMEOUT))?
            .unwrap_or(Err(CallError::NoReply))
    })
}

impl<M: Send + 'static, C: Send + 'static> Address<M, C> {
    /// Requests an inspection of the process (rule X3). A process that is inside a handler
    /// answers when the handler is done; after 5 s this fails with [`CallError::Timeout`].
    pub fn inspect(&self) -> Pending<Inspection, CallError> {
        inspect(Arc::clone(self.host()), Some(self.process()))
    }

    /// As [`Address::inspect`], for these items only (Ergo's `Inspect(pid, item...)`). Items
    /// that the process does not have are not in the answer.
    pub fn inspect_items<I>(&self, items: I) -> Pending<Inspection, CallError>
    where
        I: IntoIterator<Item: Into<String>>,
    {
        let items = items.into_iter().map(Into::into).collect();
        inspect_items(Arc::clone(self.host()), Some(self.process()), items)
    }
}
