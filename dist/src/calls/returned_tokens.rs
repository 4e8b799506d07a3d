//! Tokens of this node that another node has passed back to a process of this node.
//!
//! The caller and the process that has the token are on one node, so nothing is sent: the call is
//! found by the reference in the tag (rule Zcall6).

use crate::calls::pending_calls::call_error;
use crate::core::ClusterCore;
use crate::terms::reason::reason_from_term;
use krarup_wire::etf::{Decoder, Reference, Term};
use std::sync::Arc;

impl ClusterCore {
    /// Handles the answer of a process of this node to a call of this node.
    pub(crate) fn answered_at_home(self: &Arc<Self>, alias: Option<&Reference>, payload: &[u8]) {
        let number = alias.and_then(|alias| self.number_of(alias));
        if !number.is_some_and(|number| self.answered(number, Decoder::new(payload), &self.me)) {
            self.count_late_reply();
        }
    }

    /// A process of this node will not answer a call of this node: the call fails at once (rule
    /// Zcall3).
    pub(crate) fn refused_at_home(self: &Arc<Self>, alias: Option<&Reference>, reason: &Term) {
        let Some(number) = alias.and_then(|alias| self.number_of(alias)) else {
            return self.counters.refused();
        };
        // It is over already.
        let Some(call) = self.calls.take(number) else { return };
        self.demonitor_call(number, &call);
        let (to, callee) = (call.token.to(), call.callee());
        call.token.fail(call_error(to, callee, reason, reason_from_term(reason)));
    }
}
