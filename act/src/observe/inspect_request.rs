//! The request for an inspection (rule X3).

use crate::calls::reply::Reply;
use krarup_gen::{CallError, Inspection, Pid, Value};
use std::fmt;

/// A request for an inspection, as in [`Received::Inspect`](crate::Received::Inspect) and
/// [`Actor::handle_inspect`](crate::Actor::handle_inspect), with the inspecting process and the
/// requested items.
#[must_use = "a request that is dropped fails the inspection"]
pub struct InspectRequest {
    reply: Reply<Inspection>,
    /// Boxed, because most requests come from outside any process and are for all items.
    asked: Option<Box<InspectCall>>,
}

struct InspectCall {
    asker: Option<Pid>,
    items: Box<[String]>,
    /// What the runtime adds to the answer.
    beside: Inspection,
}

impl InspectRequest {
    pub(crate) fn new(asker: Option<Pid>, items: Box<[String]>, reply: Reply<Inspection>) -> Self {
        let asked = asker.is_some() || !items.is_empty();
        let call = || Box::new(InspectCall { asker, items, beside: Inspection::new() });
        InspectRequest { reply, asked: asked.then(call) }
    }

    /// Adds an item of the runtime's, behind those of the behaviour.
    pub(crate) fn add(&mut self, item: &str, values: Vec<Value>) {
        if !values.is_empty() && self.wants(item) {
            let none = || {
                Box::new(InspectCall { asker: None, items: [].into(), beside: Inspection::new() })
            };
            self.asked.get_or_insert_with(none).beside.set(item, values);
        }
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
    pub fn send(self, mut inspection: Inspection) {
        for (item, value) in self.asked.iter().flat_map(|asked| asked.beside.iter()) {
            if inspection.value(item).is_none() {
                inspection.set(item, value.clone());
            }
        }
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
