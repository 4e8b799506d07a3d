//! Changing a process without its types (rule X12).
//!
//! A request takes the System lane, as the commands of pools do, so it overtakes the messages on
//! Main and no exit notice of a child.

use crate::calls::deadline::within;
use crate::calls::pending::Pending;
use crate::calls::reply::Reply;
use crate::host::host::Host;
use crate::observe::manage_request::ManageRequest;
use crate::process::current;
use crate::process::process::Process;
use krarup_gen::{CallError, ManageError, Managed, Management, Pid};
use std::sync::Arc;
use std::time::Duration;

/// Requests a change of a process, and waits for the answer for at most `limit`. `process` is the
/// process with this pid, if it is known.
pub fn manage(
    host: Arc<dyn Host>,
    pid: Pid,
    process: Option<Arc<dyn Process>>,
    request: Management,
    limit: Duration,
) -> Pending<Managed, ManageError> {
    Pending::new(Arc::clone(&host), async move {
        let is_remote = |process: &Arc<dyn Process>| process.remote().is_some();
        if pid.node() != 0 || process.as_ref().is_some_and(is_remote) {
            return Err(ManageError::OtherNode(pid));
        }
        let process = process.ok_or(ManageError::NoProcess(pid))?;
        let asker = current::pid();
        if asker.is_some_and(|myself| myself.is_same_process(pid)) {
            return Err(ManageError::ManagesItself(pid));
        }
        let name = request.as_str();
        let (reply, answer) = Reply::new(None);
        process.manage(ManageRequest::new(request, asker, reply));
        match within(&host, limit, answer).await {
            None => Err(ManageError::Timeout { pid, limit }),
            Some(None) => Err(ManageError::NotOffered { pid, request: name }),
            Some(Some(Ok(outcome))) => {
                outcome.map_err(|cause| ManageError::Refused { pid, request: name, cause })
            }
            Some(Some(Err(error))) => Err(match *error {
                CallError::Terminated { reason, .. } => ManageError::Terminated { pid, reason },
                CallError::NoReply { .. } => ManageError::NotOffered { pid, request: name },
                _ => ManageError::NoProcess(pid),
            }),
        }
    })
}
