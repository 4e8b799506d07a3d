//! The connections of a cluster: the handshakes under way, the dials, the decisions of the table
//! of peers.

use super::ClusterCore;
use crate::messages::{ClusterMessage, ClusterRequest, ConnectionMessage};
use krarup_act::{Address, Watch};
use krarup_gen::NodeName;
use krarup_wire::etf::Atom;
use krarup_wire::peers::{ConnectionId, PeerAction, Peers};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Why a connection is closed that is not needed: there is another one of the same nodes.
pub(crate) const GIVEN_UP: &str = "given up";
/// The most handshakes of accepted connections at a time (rule Zhs7).
const MOST_PENDING: usize = 64;
/// The most dials at a time: a peer may name nodes that must be dialled to answer it.
const MOST_DIALS: usize = 1_024;

impl ClusterCore {
    pub(crate) fn next_connection(&self) -> ConnectionId {
        self.next_connection.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn add_connection(&self, id: ConnectionId, address: Address<ConnectionMessage>) {
        self.connections.lock().insert(id, address);
    }

    /// Adds an accepted connection whose handshake begins. One too many ends the oldest, so a
    /// crowd of the silent keeps nobody out.
    pub(crate) fn handshake_begins(&self, id: ConnectionId) {
        let oldest = {
            let mut pending = self.pending.lock();
            pending.push_back(id);
            if pending.len() > MOST_PENDING { pending.pop_front() } else { None }
        };
        if let Some(oldest) = oldest {
            self.close(oldest, "too many handshakes at a time");
        }
    }

    pub(crate) fn handshake_ends(&self, id: ConnectionId) {
        self.pending.lock().retain(|pending| *pending != id);
    }

    /// Dials a peer, unless that is under way (rule Zhs10).
    pub(super) fn dial_peer(self: &Arc<Self>, name: &Atom) {
        let connection = self.next_connection();
        let action = self.peers.lock().wanted(name, connection, self.now());
        self.act(action);
    }

    /// Uses the table of peers, and performs what it decides.
    pub(crate) fn decide<R>(
        self: &Arc<Self>,
        decide: impl FnOnce(&mut Peers, Duration) -> (R, Vec<PeerAction>),
    ) -> R {
        let (result, actions) = decide(&mut self.peers.lock(), self.now());
        self.act(actions);
        result
    }

    fn act(self: &Arc<Self>, actions: impl IntoIterator<Item = PeerAction>) {
        for action in actions {
            match action {
                PeerAction::Dial { peer, connection } => {
                    let is_allowed = self.admission.admits(peer.as_str());
                    if !is_allowed {
                        self.log_unfound(&peer, &"the node is not allowed here");
                    }
                    let has_room = is_allowed && {
                        let mut dials = self.dials.lock();
                        dials.len() < MOST_DIALS && dials.insert(connection)
                    };
                    if !has_room {
                        self.closed(Some(&peer), connection);
                        continue;
                    }
                    self.cluster.notify(ClusterMessage(ClusterRequest::Dial { peer, connection }));
                }
                PeerAction::Close(connection) => self.close(connection, GIVEN_UP),
                PeerAction::Resume { connection, .. } => {
                    let address = self.connections.lock().get(&connection).cloned();
                    if let Some(address) = address {
                        address.notify(ConnectionMessage::Resume);
                    }
                }
                // Its process may still handle a message. It tells everybody when that is over
                // (rule Zhs6).
                PeerAction::Down { peer, connection } => {
                    if self.connections.lock().contains_key(&connection) {
                        self.close(connection, "replaced");
                    } else if let Some(peer) = self.peer(&peer) {
                        peer.lost_unless_replaced(self, connection);
                    }
                }
                PeerAction::Failed { peer } => {
                    if let Some(peer) = self.peer(&peer) {
                        peer.lost(self);
                    }
                    self.kept_failed(&peer);
                }
                // The connection itself tells its peer, or knows that it is held.
                _ => {}
            }
        }
    }

    /// A dial is over: its connection is up.
    pub(crate) fn dial_ends(&self, connection: ConnectionId) {
        self.dials.lock().remove(&connection);
    }

    /// Whether a dial is still wanted.
    pub(crate) fn is_dialling(&self, connection: ConnectionId) -> bool {
        self.dials.lock().contains(&connection)
    }

    pub(crate) fn close(&self, connection: ConnectionId, why: &'static str) {
        self.dials.lock().remove(&connection);
        let address = self.connections.lock().get(&connection).cloned();
        if let Some(address) = address {
            address.notify(ConnectionMessage::Close(why));
        }
    }

    /// Has each connection write what waits, and end. Returns what completes when it has.
    pub(crate) fn finish_connections(&self) -> Vec<Watch> {
        let all: Vec<_> = self.connections.lock().values().cloned().collect();
        all.into_iter()
            .map(|connection| {
                let end = connection.watch();
                connection.notify(ConnectionMessage::Finish);
                end
            })
            .collect()
    }

    /// A connection, or a dial, has ended.
    pub(crate) fn closed(self: &Arc<Self>, peer: Option<&Atom>, connection: ConnectionId) {
        self.dials.lock().remove(&connection);
        let address = self.connections.lock().remove(&connection);
        drop(address);
        if let Some(peer) = peer {
            self.decide(|peers, _| ((), peers.closed(peer, connection).into_iter().collect()));
            // Also if the table of peers has replaced it already.
            if let Some(peer) = self.peer(peer) {
                peer.lost_connection(self, connection);
            }
        }
    }

    /// Dials and waits beyond their time have failed. Idle peers are forgotten.
    pub(crate) fn sweep(self: &Arc<Self>) {
        self.decide(|peers, now| ((), peers.tick(now)));
        self.forget_peers();
        self.statistics.forget(|pid| self.host.process(pid).is_some());
    }

    /// Closes the connection to a node.
    pub(crate) fn disconnect(&self, node: &NodeName) -> bool {
        let Ok(name) = Atom::new(node.as_str()) else { return false };
        let connection = self.peers.lock().connection(&name);
        if let Some(connection) = connection {
            self.close(connection, "disconnected");
        }
        connection.is_some()
    }
}
