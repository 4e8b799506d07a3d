//! The request for an inspection (rule X3).

use crate::calls::reply::Reply;
use krarup_gen::{CallError, Inspection, Pid};
use std::fmt;

/// A request for an inspection, as in [`crate::Received::Inspect`] and
/// [`crate::Actor::handle_inspect`], with the inspecting process and the requested items.
#[must_use = "a request that is dropped fails the inspection"]
pub struct InspectRequest {
    reply: Reply<Inspection>,
    /// Boxed, because most requests come from outside any process and are for all items.
    asked: Option<Box<InspectCall>>,
}

struct InspectCall {
    asker: Option<Pid>,
    items: Box<[String]>,
}

impl InspectRequest {
    pub(crate) fn new(asker: Option<Pid>, items: Box<[String]>, reply: Reply<Inspection>) -> Self {
        let asked = asker.is_some() || !items.is_empty();
        InspectRequest { reply, asked: asked.then(|| Box::new(InspectCall { asker, items })) }
    }

    /// Returns the inspecting process; `None` if the request came from outside any process.
    #[must_use]
    pub fn asker(&self) -> Option<Pid> {
        self.asked.as_ref()?.asker
    }

    /// Returns the requested items; empty if all are requested.
    #[must_use]
    pub fn items(&self) -> &[String] {
        self.asked.as_ref().map_or(&[], |asked| &asked.items)
    }

    /// Whether this item is requested. For items that are costly to compute.
    #[must_use]
    pub fn wants(&self, item: &str) -> bool {
        let items = self.items();
        items.is_empty() || items.iter().any(|asked| asked == item)
    }

    /// Answers the request. Only the requested items are sent.
    pub fn send(self, inspection: Inspection) {
        let inspection = match self.items() {
            [] => inspection,
            items => inspection.only(items),
        };
        self.reply.send(inspection);
    }

    /// Fails the inspection with this error.
    pub fn fail(self, error: CallError) {
        self.reply.fail(error);
    }
}

impl fmt::Debug for InspectRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InspectRequest")
            .field("asker", &self.asker())
            .field("items", &self.items())
            .finish_non_exhaustive()
    }
}
