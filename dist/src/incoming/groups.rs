//! Messages of a peer to the scopes of groups, and monitors of these (rules Zpg1 to Zpg5).
//!
//! A scope is below the system root, so no peer reaches it as a process: it can be monitored, and the
//! messages of scopes are read here. Nothing else of a peer gets to it (rule Zsec5).

use super::Dispatch;
use super::envelope::Envelope;
use crate::groups::scope_signal::{ScopeSignal, SenderNode};
use crate::groups::shared::{ScopePut, SharedScope};
use crate::peer::Phase;
use krarup_act::Process;
use krarup_gen::Pid;
use krarup_wire::etf::ExternalPid;
use krarup_wire::frame::Payload;
use std::sync::Arc;

impl Dispatch<'_> {
    /// The scope with this pid, if it runs.
    pub(super) fn scope_of(&self, pid: &ExternalPid) -> Option<&Arc<SharedScope>> {
        let scopes = self.core.scopes();
        // A cluster without scopes looks no further.
        let (false, Some(pid)) = (scopes.is_empty(), self.core.own_pid(pid)) else { return None };
        scopes.iter().find(|scope| scope.process() == Some(pid))
    }

    /// The process of a scope, to be monitored by a peer that takes part in it.
    pub(super) fn shared_scope(&self, scope: &SharedScope) -> Option<Arc<dyn Process>> {
        let process = self.core.host.process(scope.process()?)?;
        self.shares(scope).then_some(process)
    }

    /// Whether the peer takes part in a scope (rule Zsec4). What it may not is counted.
    pub(super) fn shares(&self, scope: &SharedScope) -> bool {
        self.may_use(|rights| rights.groups.has(|| Some(scope.name.as_str())))
    }

    /// Handles a message to a scope.
    pub(super) fn to_scope(&self, scope: &Arc<SharedScope>, payload: &Payload<'_>) {
        let Some(sender) = self.sender_node() else { return };
        if !self.shares(scope) {
            return;
        }
        let signal = payload.decoder().last_term();
        let signal = signal.ok().and_then(|message| ScopeSignal::read(&message, &sender));
        let Some(signal) = signal else { return self.refuse(scope, payload) };
        match scope.put(&self.peer.name, signal, payload.len()) {
            ScopePut::Waits => {}
            ScopePut::Missed => self.core.counters.scope_message_missed(),
            ScopePut::NoProcess => self.core.counters.unreachable(),
        }
    }

    /// What is no message of a scope changes nothing. A call fails at once.
    fn refuse(&self, scope: &SharedScope, payload: &Payload<'_>) {
        self.core.counters.undecodable();
        let by = scope.process().map_or(0, Pid::id);
        if let Envelope::Call(caller) | Envelope::System(caller) =
            self.envelope(&mut payload.decoder())
        {
            caller.refuse_undecodable(self.core, by, "a scope of groups takes no calls");
        }
    }

    /// Whether a message to a name that nobody has is a greeting of a scope. A node with groups greets
    /// those without again and again (rule Zpg7), so it is counted, and no dead letter.
    pub(super) fn is_greeting(&self, payload: &Payload<'_>) -> bool {
        let mut decoder = payload.decoder();
        // Most messages are none by their first word.
        if !(matches!(decoder.tuple(), Ok(Some(2 | 3))) && decoder.atom("discover") == Ok(true)) {
            return false;
        }
        let message = payload.decoder().last_term();
        let signal = message.ok().zip(self.sender_node());
        let signal = signal.and_then(|(message, sender)| ScopeSignal::read(&message, &sender));
        matches!(signal, Some(ScopeSignal::Discover { .. }))
    }

    fn sender_node(&self) -> Option<SenderNode> {
        let state = self.current()?;
        let Phase::Up(up) = &state.phase else { return None };
        Some(SenderNode {
            name: self.peer.name.clone(),
            creation: up.creation,
            incarnation: up.incarnation,
            ours: self.core.host.node_pid().creation(),
        })
    }
}
