//! Requests to run functions on other nodes.

use crate::core::ClusterCore;
use crate::functions::outcome::ending;
use crate::one_shot::{OneShotReceiver, one_shot};
use crate::peer::PeerNode;
use crate::peer::signal::{Signal, SignalPayload};
use crate::rpc::pending_rpcs::RpcEnd;
use krarup_act::current_pid;
use krarup_gen::Pid;
use krarup_wire::ControlMessage;
use krarup_wire::etf::{Atom, ExternalPid, Reference, Term};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A call that was sent.
pub(crate) struct SentRpc {
    /// The number of the reference of its request.
    pub(crate) number: u64,
    /// What stands before its value.
    pub(crate) mark: Term,
    pub(crate) end: OneShotReceiver<RpcEnd>,
}

impl ClusterCore {
    /// Requests a process that runs a function. `arguments` are the bytes of a list.
    pub(crate) fn send_rpc(
        self: &Arc<Self>,
        peer: &Arc<PeerNode>,
        (module, function): (Atom, Atom),
        arguments: Vec<u8>,
    ) -> SentRpc {
        let caller = current_pid().filter(|pid| pid.node() == 0);
        let by = caller.map_or(0, Pid::id);
        // It is not made reachable: the other node needs nothing of it but its name.
        let from = self.named(caller.unwrap_or(self.pid));
        let (request, mark) = (self.host.next_ref(), self.host.next_ref());
        let mark = Term::from(self.reference(mark));
        let control = ControlMessage::SpawnRequest {
            reference: self.reference(request),
            from: from.clone(),
            group_leader: self.output(),
            module: Atom::fixed("erpc"),
            function: Atom::fixed("execute_call"),
            arity: 4,
            options: Term::list([Term::atom("monitor")]),
        };
        let payload = call_arguments([mark.clone(), module.into(), function.into()], arguments);
        let (waits, end) = one_shot();
        let number = request.number();
        self.rpcs.insert(number, (peer.name.clone(), from), waits);
        peer.prints.store(true, Ordering::Relaxed);
        let signal = Signal::new(by, control, None).with_payload(SignalPayload::Bytes(payload));
        let not_pushed = peer.push(signal);
        peer.flush(self);
        if not_pushed.is_some() {
            self.rpcs.not_sent(number, RpcEnd::Lost);
        }
        SentRpc { number, mark, end }
    }

    /// The group leader of functions that run on other nodes: a pid that is nobody's.
    fn output(&self) -> ExternalPid {
        self.named(*self.output.get_or_init(|| self.host.next_pid()))
    }

    /// Whether this is the group leader of functions of this node's callers.
    pub(crate) fn is_output(&self, pid: &ExternalPid) -> bool {
        self.output.get().is_some_and(|output| self.named(*output) == *pid)
    }

    /// A request could not be sent: the peer does not know such requests, or there is no
    /// connection.
    pub(crate) fn rpc_not_sent(&self, reference: &Reference, end: RpcEnd) {
        if let Some(number) = self.number_of(reference) {
            self.rpcs.not_sent(number, end);
        }
    }
}

/// `[Mark, Module, Function, FunctionArguments]`, whose last element is written already.
fn call_arguments(first: [Term; 3], arguments: Vec<u8>) -> Vec<u8> {
    // A list of four elements and `[]`, in place of a tuple of four.
    const LIST: u8 = 108;
    const NIL: u8 = 106;
    let mut tuple = ending(first, arguments);
    // 104, 4: a small tuple.
    tuple.splice(..2, [LIST, 0, 0, 0, 4]);
    tuple.push(NIL);
    tuple
}

#[cfg(test)]
mod tests {
    use super::*;
    use krarup_wire::etf::Decoder;

    #[test]
    fn zcall10_the_arguments_of_a_call_are_a_list_of_four() {
        let mut written = Vec::new();
        Term::list([Term::Int(1), Term::Int(2)]).write(&mut written).unwrap();
        let bytes = call_arguments([Term::Int(9), Term::atom("m"), Term::atom("f")], written);
        assert_eq!(Decoder::new(&bytes).last_term().unwrap().to_string(), "[9,m,f,[1,2]]");
    }
}
