//! What a peer uses of its cluster.

use crate::events::NodeEvent;
use crate::peer::signal::{Signal, UnwrittenLetter};
use crate::peer::{NotSent, PeerNode};
use krarup_act::Host;
use krarup_wire::etf::Atom;
use std::fmt;
use std::sync::Arc;

/// What a peer needs of its cluster.
pub(crate) trait PeerOwner {
    fn host(&self) -> &Arc<dyn Host>;

    /// Makes a connection to a peer, unless that is under way.
    fn dial(&self, name: &Atom);

    /// A signal to a peer is dropped.
    fn not_sent(&self, peer: &PeerNode, signal: Signal, why: NotSent);

    /// A message to a peer was given to a connection, which is lost before it was written.
    fn not_written(&self, peer: &PeerNode, letter: UnwrittenLetter);

    /// A signal could not be written.
    fn log_dropped(&self, peer: &Atom, why: &dyn fmt::Display);

    /// Fails all calls to a peer. Without a connection, `was_up` is false, nothing was sent.
    fn calls_lost(&self, peer: &Atom, was_up: bool);

    /// Tells the subscribers.
    fn tell(&self, event: &NodeEvent);
}
