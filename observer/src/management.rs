//! Requests that a process may answer without its types being known: resize, drain and reopen of
//! pools, children of supervisors.

use crate::http::refusal::{Code, Refusal};
use crate::shared::Shared;
use krarup_gen::{ManageError, Management, Pid};

/// Has a process do this, and waits until it is done.
pub(crate) async fn manage(shared: &Shared, pid: Pid, request: Management) -> Result<(), Refusal> {
    let outcome = shared.view.manage(pid, request).await;
    outcome.map(drop).map_err(|error| Refusal::new(code(&error), error.to_string()))
}

fn code(error: &ManageError) -> Code {
    match error {
        ManageError::NoProcess(_) | ManageError::OtherNode(_) | ManageError::Terminated { .. } => {
            Code::NoProcess
        }
        ManageError::Timeout { .. } | ManageError::CannotWait(_) => Code::Timeout,
        // Also if the process knows the request and cannot do it now: the text says why.
        _ => Code::NotOffered,
    }
}
