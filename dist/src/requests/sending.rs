//! Requests for processes on other nodes.

use crate::core::ClusterCore;
use crate::one_shot::{OneShotReceiver, one_shot};
use crate::peer::PeerNode;
use crate::peer::signal::{Signal, SignalPayload};
use crate::requests::pending_requests::{RequestEnd, RequestKind};
use krarup_gen::Pid;
use krarup_wire::ControlMessage;
use krarup_wire::etf::{Atom, ExternalPid, Reference, Term};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A request that was sent.
pub(crate) struct SentRequest {
    /// The number of its reference.
    pub(crate) number: u64,
    pub(crate) end: OneShotReceiver<RequestEnd>,
}

/// What a process begins with.
pub(crate) struct RequestedFunction {
    pub(crate) module: Atom,
    pub(crate) function: Atom,
    pub(crate) arity: u8,
    /// The bytes of a list.
    pub(crate) arguments: Vec<u8>,
}

impl ClusterCore {
    /// Requests a process for `caller`, or for code outside any process.
    pub(crate) fn request(
        self: &Arc<Self>,
        peer: &Arc<PeerNode>,
        caller: Option<Pid>,
        kind: RequestKind,
        what: RequestedFunction,
    ) -> SentRequest {
        let by = caller.map_or(0, Pid::id);
        let asker = caller.unwrap_or(self.pid);
        // Only a link needs more of the asker than its name.
        let (bond, from) = match kind {
            RequestKind::Function => (Some("monitor"), self.named(asker)),
            RequestKind::Process { link: false } => (None, self.named(asker)),
            RequestKind::Process { link: true } => (Some("link"), self.ours(asker)),
        };
        let number = self.host.next_ref();
        let RequestedFunction { module, function, arity, arguments } = what;
        let control = ControlMessage::SpawnRequest {
            reference: self.reference(number),
            from: from.clone(),
            group_leader: self.output(),
            module,
            function,
            arity,
            options: Term::list(bond.map(Term::atom)),
        };
        let (waits, end) = one_shot();
        let number = number.number();
        self.requests.insert(number, (peer.name.clone(), from), kind, waits);
        peer.prints.store(true, Ordering::Relaxed);
        let signal = Signal::new(by, control, None).with_payload(SignalPayload::Bytes(arguments));
        let not_pushed = peer.push(signal);
        peer.flush(self);
        if not_pushed.is_some() {
            self.requests.not_sent(number, RequestEnd::Lost);
        }
        SentRequest { number, end }
    }

    /// The group leader of processes on other nodes that this node has requested: a pid that is nobody's.
    fn output(&self) -> ExternalPid {
        self.named(*self.output.get_or_init(|| self.host.next_pid()))
    }

    /// Whether this is that group leader.
    pub(crate) fn is_output(&self, pid: &ExternalPid) -> bool {
        self.output.get().is_some_and(|output| self.named(*output) == *pid)
    }

    /// A request could not be sent: the peer does not know such requests, or there is no
    /// connection.
    pub(crate) fn request_not_sent(&self, reference: &Reference, end: RequestEnd) {
        if let Some(number) = self.number_of(reference) {
            self.requests.not_sent(number, end);
        }
    }
}
