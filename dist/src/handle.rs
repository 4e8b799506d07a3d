//! A handle on a cluster: values as terms, and messages whose receivers are terms.

use crate::core::ClusterCore;
use crate::error::ClusterError;
use crate::peer::PeerNode;
use crate::peer::proxy::RemoteProcess;
use krarup_act::{MessageRoom, Recipient, Reply};
use krarup_gen::{Name, NodeName, Pid, Ref, SendError};
use krarup_wire::etf::{ExternalPid, Reference, Term};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// A handle on the cluster of a node. It can be cloned and sent; it works while the cluster
/// runs.
#[derive(Clone)]
pub struct ClusterHandle(pub(crate) Arc<ClusterCore>);

impl fmt::Debug for ClusterHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClusterHandle({})", self.0.me)
    }
}

impl ClusterHandle {
    /// Returns the address on which the cluster listens; `None` while it starts.
    #[must_use]
    pub fn listens_at(&self) -> Option<SocketAddr> {
        self.0.listening.get().copied()
    }

    /// Writes a value as a term, pids and references in it as those of the cluster.
    ///
    /// # Errors
    /// [`ClusterError::Term`] if it cannot be written.
    pub fn to_term<T: Serialize + ?Sized>(&self, value: &T) -> Result<Term, ClusterError> {
        self.0.to_term(value).map_err(ClusterError::Term)
    }

    /// Reads a value from a term.
    ///
    /// # Errors
    /// [`ClusterError::Term`] if it cannot be read.
    pub fn from_term<T: DeserializeOwned>(&self, term: &Term) -> Result<T, ClusterError> {
        self.0.from_term(term).map_err(ClusterError::Term)
    }

    /// Returns the term of a token: `{Pid, [alias | Ref]}`. Whoever has it can answer the call,
    /// on any node. `by` is the process that passes it on.
    #[must_use]
    pub fn caller(&self, by: Pid, reply: Reply<Term>) -> Term {
        let reference = self.0.host.next_ref();
        self.0.keep_token(by, reference, reply);
        self.0.caller_term(by, reference)
    }

    /// Sends a term to a pid, a reference that is an alias, or `{Name, Node}`.
    ///
    /// # Errors
    /// [`SendError::Full`] if too much waits to be sent, [`SendError::NoName`] if the term is
    /// none of these, with its text; [`SendError::NoNode`] for an alias of an unknown node.
    pub fn send(&self, to: &Term, message: &Term) -> Result<(), SendError<()>> {
        self.send_with(to, message, MessageRoom::Wanted)
    }

    fn send_with(&self, to: &Term, message: &Term, room: MessageRoom) -> Result<(), SendError<()>> {
        match self.receiver(to) {
            Some(TermReceiver::Process(process)) => self.0.send_term(&process, message, room),
            Some(TermReceiver::Alias(alias)) => self.0.send_to_alias(&alias, message, room),
            None => Err(SendError::NoName { message: (), name: to.to_string() }),
        }
    }

    /// As [`ClusterHandle::send`], and waits in line for room if too much waits to be sent.
    ///
    /// # Errors
    /// [`SendError::NoName`] if `to` is no receiver, [`SendError::NoNode`] for an alias of an
    /// unknown node.
    pub async fn send_or_wait(&self, to: &Term, message: &Term) -> Result<(), SendError<()>> {
        let place = match self.peer_to(to) {
            Some(peer) => Some(peer.room().await),
            None => None,
        };
        let room = if place.is_some() { MessageRoom::Granted } else { MessageRoom::Wanted };
        let sent = self.send_with(to, message, room);
        drop(place);
        sent
    }

    /// Returns a recipient for a pid or `{Name, Node}` of another node.
    #[must_use]
    pub fn recipient<M: Serialize + Send + 'static>(&self, of: &Term) -> Option<Recipient<M>> {
        match self.receiver(of)? {
            TermReceiver::Process(process) => Some(process.recipient()),
            TermReceiver::Alias(_) => None,
        }
    }

    /// Returns the pid that a term is.
    #[must_use]
    pub fn pid(&self, term: &Term) -> Option<Pid> {
        match term {
            Term::Pid(pid) => self.0.pid_of(pid),
            _ => None,
        }
    }

    /// Returns the term of a pid. Other nodes can reach its process from now on.
    #[must_use]
    pub fn pid_term(&self, pid: Pid) -> Option<Term> {
        self.0.external(pid).map(Term::from)
    }

    /// Returns the term of a reference. If it is an alias, other nodes can reach its process from
    /// now on.
    #[must_use]
    pub fn ref_term(&self, reference: Ref) -> Term {
        self.0.alias(reference).into()
    }

    /// Returns the number of a reference of this node.
    #[must_use]
    pub fn reference(&self, term: &Term) -> Option<Ref> {
        match term {
            Term::Reference(reference) => self.0.number_of(reference).map(Ref::new),
            _ => None,
        }
    }

    /// The node of a receiver.
    fn peer_to(&self, to: &Term) -> Option<Arc<PeerNode>> {
        match self.receiver(to)? {
            TermReceiver::Process(process) => Some(Arc::clone(process.peer())),
            TermReceiver::Alias(alias) => self.0.peer(alias.node()),
        }
    }

    fn receiver(&self, to: &Term) -> Option<TermReceiver> {
        match to {
            Term::Pid(pid) => self.stand_in(pid).map(TermReceiver::Process),
            Term::Reference(alias) => Some(TermReceiver::Alias(Reference::clone(alias))),
            Term::Tuple(parts) => match &parts[..] {
                [Term::Atom(name), Term::Atom(node)] => {
                    let name = Name::new(name.as_str()).ok()?;
                    let node = NodeName::new(node.as_str()).ok()?;
                    self.0.stand_in_named(&name, &node).map(TermReceiver::Process)
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn stand_in(&self, pid: &ExternalPid) -> Option<Arc<RemoteProcess>> {
        let is_here = self.0.pid_of(pid).is_some_and(|pid| pid.node() == 0);
        if is_here { None } else { self.0.stand_in(pid) }
    }
}

enum TermReceiver {
    Process(Arc<RemoteProcess>),
    Alias(Reference),
}
