//! The request to change a process (rule X12).

use crate::calls::reply::Reply;
use krarup_gen::{Managed, Management, Pid};
use std::fmt;

/// The answer of a process: what it did, or why it cannot.
pub(crate) type ManageReply = Reply<Result<Managed, String>>;

/// A request to change a process, as in [`Received::Manage`](crate::Received::Manage).
///
/// A process that does not know the request drops it. The requester then gets
/// [`ManageError::NotOffered`](krarup_gen::ManageError::NotOffered).
pub struct ManageRequest(Box<ManageCall>);

/// Boxed, because these requests are rare, and no item may become larger for them.
struct ManageCall {
    request: Management,
    asker: Option<Pid>,
    reply: ManageReply,
}

impl ManageRequest {
    pub(crate) fn new(request: Management, asker: Option<Pid>, reply: ManageReply) -> Self {
        ManageRequest(Box::new(ManageCall { request, asker, reply }))
    }

    /// Returns the request.
    #[must_use]
    pub fn request(&self) -> &Management {
        &self.0.request
    }

    /// Returns the requesting process; `None` if the request came from outside any process.
    #[must_use]
    pub fn asker(&self) -> Option<Pid> {
        self.0.asker
    }

    /// Answers that the request is done.
    pub fn done(self, managed: Managed) {
        self.0.reply.send(Ok(managed));
    }

    /// Answers that the request cannot be done now, and why.
    pub fn refuse(self, cause: impl fmt::Display) {
        self.0.reply.send(Err(cause.to_string()));
    }

    /// Takes the token out. The request is not done.
    pub(crate) fn into_reply(self) -> ManageReply {
        self.0.reply
    }
}

impl fmt::Debug for ManageRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManageRequest")
            .field("request", self.request())
            .field("asker", &self.asker())
            .finish_non_exhaustive()
    }
}
