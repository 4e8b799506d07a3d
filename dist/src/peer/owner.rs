//! What a peer uses of its cluster.

use crate::events::NodeEvent;
use crate::peer::signal::Signal;
use krarup_act::Host;
use krarup_wire::etf::Atom;
use std::fmt;
use std::sync::Arc;

/// What a peer needs of its cluster.
pub(crate) trait PeerOwner {
    fn host(&self) -> &Arc<dyn Host>;

    /// Makes a connection to a peer, unless that is under way.
    fn dial(&self, name: &Atom);

    /// A signal is dropped: its process belongs to an incarnation that has ended, or the peer does
    /// not know such signals.
    fn not_sent(&self, signal: Signal);

    /// A signal could not be written.
    fn log_dropped(&self, peer: &Atom, why: &dyn fmt::Display);

    /// Fails all calls to a peer.
    fn calls_lost(&self, peer: &Atom);

    /// Tells the subscribers.
    fn tell(&self, event: &NodeEvent);
}
