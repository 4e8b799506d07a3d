//! The request of somebody who wants to know how a process is (rule X3).

use crate::calls::reply::Reply;
use krarup_gen::{CallError, Inspection, Pid};
use std::fmt;

/// A request to a process to describe itself, as [`crate::Received::Inspect`] brings it and
/// [`crate::Actor::handle_inspect`] sees it: who asks, and for what.
#[must_use = "a request that is dropped fails the inspection"]
pub struct InspectRequest {
    reply: Reply<Inspection>,
    /// In a box: most ask from outside any process, for everything.
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

    /// The process that asks; nobody's, if it is asked from outside any process.
    #[must_use]
    pub fn asker(&self) -> Option<Pid> {
        self.asked.as_ref()?.asker
    }

    /// The items asked for; none: all are.
    #[must_use]
    pub fn items(&self) -> &[String] {
        self.asked.as_ref().map_or(&[], |asked| &asked.items)
    }

    /// Whether this item is asked for: for those that cost something to find out.
    #[must_use]
    pub fn wants(&self, item: &str) -> bool {
        let items = self.items();
        items.is_empty() || items.iter().any(|asked| asked == item)
    }

    /// Answers. Of the items those go that were asked for.
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
