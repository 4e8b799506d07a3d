//! The token of a request to change the size of a pool: of a typed command, or of a request that
//! knows no types (rules P5, X12).

use super::resize::{ResizeError, Resized};
use crate::calls::reply::Reply;
use crate::observe::manage_request::ManageRequest;
use krarup_gen::Managed;

/// Receives the answer to a request to add workers.
pub(super) enum SizeAnswer {
    /// Of [`PoolCommand::AddWorkers`](crate::PoolCommand::AddWorkers).
    Typed(Reply<Result<Resized, ResizeError>>),
    /// Of [`Management::Resize`](krarup_gen::Management::Resize).
    Untyped(ManageRequest),
}

impl SizeAnswer {
    pub(super) fn send(self, outcome: Result<Resized, ResizeError>) {
        match (self, outcome) {
            (SizeAnswer::Typed(reply), outcome) => reply.send(outcome),
            (SizeAnswer::Untyped(request), Ok(Resized { size, .. })) => {
                request.done(Managed::Resized { workers: size });
            }
            (SizeAnswer::Untyped(request), Err(error)) => request.refuse(error),
        }
    }
}
