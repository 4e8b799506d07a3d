//! Which node dials, and which connection to a peer is kept: a table that decides and
//! performs no I/O.
//!
//! Events go in, [`PeerAction`]s come out. Two nodes may dial each other at the same time.
//! Of the two connections, both sides keep the one dialled by the node with the greater
//! name (rule Zhs5):
//!
//! ```text
//!  greater                                     lesser
//!  needs a connection: dials ──── name ──────► dialling: abandons its dial, ok_simultaneous
//!  sends nok: its own dial is kept ◄── name ── needs a connection: dials
//!                                nok ────────► abandons its dial, waits for the other
//! ```
//!
//! Until the digest of a peer is checked, its claims affect only the answer to it and
//! whether this node continues a dial of its own. So the handshake of an accepted connection
//! may be complete while this node dials. Then the greater name decides again: the lesser node
//! abandons its dial, the greater one holds the accepted connection without an acknowledgement.
//! It is closed when the dial is up, and comes up itself if the dial fails. So the lesser node,
//! which has not heard of the dial yet, does not take the end of its own for a failure.

use crate::etf::Atom;
use crate::handshake::Decision;
use std::collections::HashMap;
use std::time::Duration;

/// The number of a dialled or accepted connection. The caller assigns the numbers, each
/// only once.
pub type ConnectionId = u64;

/// An action for the caller to perform.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeerAction {
    /// Open a connection to this peer, and start a handshake under this number.
    Dial {
        /// The peer.
        peer: Atom,
        /// The number of the new connection.
        connection: ConnectionId,
    },
    /// Close this connection, which was not up.
    Close(ConnectionId),
    /// Keep this accepted connection, whose handshake is complete, without writing its
    /// acknowledgement, until it is closed or resumed.
    Hold(ConnectionId),
    /// This connection was held and is up: write its acknowledgement.
    Resume {
        /// The peer.
        peer: Atom,
        /// The connection.
        connection: ConnectionId,
    },
    /// This connection to the peer is up, and messages can be sent.
    Up {
        /// The peer.
        peer: Atom,
        /// The connection.
        connection: ConnectionId,
    },
    /// This connection was up and is lost. Close it, and notify everything bound to it,
    /// before any other action.
    Down {
        /// The peer.
        peer: Atom,
        /// The connection.
        connection: ConnectionId,
    },
    /// No connection came up. Every process that waits for one fails.
    Failed {
        /// The peer.
        peer: Atom,
    },
}

/// The answer to a peer that has sent its name, and the actions that go with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct NameAnswer {
    /// The decision to send.
    pub decision: Decision,
    /// The connection that the new one replaces if it comes up: the argument for
    /// [`Peers::accepted`].
    pub replaces: Option<ConnectionId>,
    /// This node's own dial, which must be closed.
    pub close: Option<ConnectionId>,
}

/// The known peers of a node.
#[derive(Clone, Debug)]
pub struct Peers {
    me: Atom,
    states: HashMap<Atom, PeerState>,
    /// The time limit of a dial, and of the wait for a peer's dial.
    limit: Duration,
}

/// The state of a peer. A peer without connections and dials has no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PeerState {
    /// This node dials. A connection that the peer has dialled may be held meanwhile.
    Dialling { connection: ConnectionId, until: Duration, held: Option<ConnectionId> },
    /// This node has abandoned its dial, and waits for the peer's.
    Waiting { until: Duration },
    /// A connection is up.
    Up { connection: ConnectionId },
}

impl Peers {
    /// Creates the table of the node with this name, without peers. `limit` is the time
    /// limit of a dial (7 s in OTP).
    #[must_use]
    pub fn new(me: Atom, limit: Duration) -> Self {
        Peers { me, states: HashMap::new(), limit }
    }

    /// Returns the connection to a peer that is up.
    #[must_use]
    pub fn connection(&self, peer: &Atom) -> Option<ConnectionId> {
        match self.states.get(peer) {
            Some(PeerState::Up { connection }) => Some(*connection),
            _ => None,
        }
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Handles the request for a connection to this peer. It is dialled under this number,
    /// unless a connection or a dial exists already. A node never connects to itself.
    pub fn wanted(
        &mut self,
        peer: &Atom,
        connection: ConnectionId,
        now: Duration,
    ) -> Option<PeerAction> {
        if self.states.contains_key(peer) {
            return None;
        }
        if *peer == self.me {
            return Some(PeerAction::Failed { peer: peer.clone() });
        }
        let until = now + self.limit;
        self.states.insert(peer.clone(), PeerState::Dialling { connection, until, held: None });
        Some(PeerAction::Dial { peer: peer.clone(), connection })
    }

    /// Handles the name that a peer sends on an accepted connection, and returns the answer.
    pub fn name_received(&mut self, peer: &Atom, now: Duration) -> NameAnswer {
        let accept = NameAnswer { decision: Decision::Accept, replaces: None, close: None };
        match self.states.get(peer) {
            None | Some(PeerState::Waiting { .. }) => accept,
            Some(PeerState::Up { connection }) => {
                NameAnswer { decision: Decision::Alive, replaces: Some(*connection), ..accept }
            }
            Some(PeerState::Dialling { .. }) if self.me > *peer => {
                NameAnswer { decision: Decision::Refuse, ..accept }
            }
            Some(PeerState::Dialling { connection, .. }) => {
                let close = Some(*connection);
                self.states.insert(peer.clone(), PeerState::Waiting { until: now + self.limit });
                NameAnswer { decision: Decision::AcceptSimultaneous, close, ..accept }
            }
        }
    }

    /// Handles the end of the handshake of an accepted connection: the peer has the
    /// cookie. `replaces` is the value from the answer to its name. If the result closes or
    /// holds the connection, the acknowledgement must not be written.
    pub fn accepted(
        &mut self,
        peer: &Atom,
        connection: ConnectionId,
        replaces: Option<ConnectionId>,
    ) -> Vec<PeerAction> {
        match self.states.get(peer).copied() {
            // Both nodes dial, and this one started after it had received the name. The
            // dial of the greater name is kept.
            Some(PeerState::Dialling { connection: dialled, until, held }) if self.me > *peer => {
                let dialling =
                    PeerState::Dialling { connection: dialled, until, held: Some(connection) };
                self.states.insert(peer.clone(), dialling);
                let before = held.map(PeerAction::Close);
                before.into_iter().chain([PeerAction::Hold(connection)]).collect()
            }
            Some(PeerState::Dialling { connection: dialled, .. }) => {
                vec![PeerAction::Close(dialled), self.up(peer, connection)]
            }
            // The peer has declared that it does not know the old connection any more
            // (rule Zhs6).
            Some(PeerState::Up { connection: old }) if replaces == Some(old) => {
                let down = PeerAction::Down { peer: peer.clone(), connection: old };
                vec![down, self.up(peer, connection)]
            }
            // Another connection has come up since. The peer knows it, and has abandoned
            // this one.
            Some(PeerState::Up { .. }) => vec![PeerAction::Close(connection)],
            None | Some(PeerState::Waiting { .. }) => vec![self.up(peer, connection)],
        }
    }

    /// Handles the end of the handshake of a connection that this node dialled.
    pub fn dialled(&mut self, peer: &Atom, connection: ConnectionId) -> Vec<PeerAction> {
        match self.states.get(peer).copied() {
            Some(PeerState::Dialling { connection: current, held, .. })
                if current == connection =>
            {
                let held = held.map(PeerAction::Close);
                held.into_iter().chain([self.up(peer, connection)]).collect()
            }
            // The dial was abandoned meanwhile.
            _ => vec![PeerAction::Close(connection)],
        }
    }

    /// Handles a `nok` of the peer to a dial. The peer is dialling this node, and this node
    /// waits for that dial. The caller closes the connection.
    pub fn gave_way(&mut self, peer: &Atom, connection: ConnectionId, now: Duration) {
        if self.is_dialling(peer, connection) && self.held(peer).is_none() {
            self.states.insert(peer.clone(), PeerState::Waiting { until: now + self.limit });
        }
    }

    /// Handles the close of any connection: a failed dial, a handshake, or one that was up.
    pub fn closed(&mut self, peer: &Atom, connection: ConnectionId) -> Option<PeerAction> {
        if self.is_dialling(peer, connection) {
            return Some(self.dial_failed(peer));
        }
        if let Some(PeerState::Dialling { held, .. }) = self.states.get_mut(peer)
            && *held == Some(connection)
        {
            *held = None;
        }
        if self.connection(peer) == Some(connection) {
            self.states.remove(peer);
            return Some(PeerAction::Down { peer: peer.clone(), connection });
        }
        None
    }

    /// Handles the passing of time: dials and waits beyond the limit have failed. The
    /// results are in the order of names.
    pub fn tick(&mut self, now: Duration) -> Vec<PeerAction> {
        let is_late = |state: &PeerState| state.until().is_some_and(|until| until <= now);
        let late = self.states.iter().filter(|(_, state)| is_late(state));
        let mut late: Vec<Atom> = late.map(|(peer, _)| peer.clone()).collect();
        late.sort_unstable();
        let mut actions = Vec::new();
        for peer in late {
            if let Some(PeerState::Dialling { connection, .. }) = self.states.get(&peer) {
                actions.push(PeerAction::Close(*connection));
            }
            actions.push(self.dial_failed(&peer));
        }
        actions
    }

    /// When [`Peers::tick`] must be called next, if no event occurs before.
    #[must_use]
    pub fn next_tick(&self) -> Option<Duration> {
        self.states.values().filter_map(|state| state.until()).min()
    }

    fn up(&mut self, peer: &Atom, connection: ConnectionId) -> PeerAction {
        self.states.insert(peer.clone(), PeerState::Up { connection });
        PeerAction::Up { peer: peer.clone(), connection }
    }

    /// A dial has failed: what was held comes up in its place.
    fn dial_failed(&mut self, peer: &Atom) -> PeerAction {
        let (held, peer) = (self.held(peer), peer.clone());
        match held {
            Some(connection) => {
                self.states.insert(peer.clone(), PeerState::Up { connection });
                PeerAction::Resume { peer, connection }
            }
            None => {
                self.states.remove(&peer);
                PeerAction::Failed { peer }
            }
        }
    }

    fn held(&self, peer: &Atom) -> Option<ConnectionId> {
        match self.states.get(peer) {
            Some(PeerState::Dialling { held, .. }) => *held,
            _ => None,
        }
    }

    fn is_dialling(&self, peer: &Atom, connection: ConnectionId) -> bool {
        let state = self.states.get(peer);
        matches!(state, Some(PeerState::Dialling { connection: current, .. }) if *current == connection)
    }
}

impl PeerState {
    fn until(self) -> Option<Duration> {
        match self {
            PeerState::Dialling { until, .. } | PeerState::Waiting { until } => Some(until),
            PeerState::Up { .. } => None,
        }
    }
}

#[cfg(test)]
mod interleavings;

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(7);
    const START: Duration = Duration::ZERO;

    fn peers(me: &'static str) -> Peers {
        Peers::new(Atom::fixed(me), LIMIT)
    }

    #[test]
    fn zhs6_a_restarted_peer_replaces_its_old_connection_which_is_lost_first() {
        let (mut peers, other) = (peers("b@x"), Atom::fixed("a@x"));
        assert_eq!(peers.accepted(&other, 1, None).len(), 1);
        let answer = peers.name_received(&other, START);
        assert_eq!(
            (answer.decision, answer.replaces, answer.close),
            (Decision::Alive, Some(1), None)
        );
        // A connection for which no answer offered a replacement does not replace one.
        assert_eq!(peers.accepted(&other, 2, None), [PeerAction::Close(2)]);
        assert_eq!(peers.accepted(&other, 2, Some(9)), [PeerAction::Close(2)]);
        let (peer, connection) = (other.clone(), 3);
        let expected = [
            PeerAction::Down { peer: peer.clone(), connection: 1 },
            PeerAction::Up { peer, connection },
        ];
        assert_eq!(peers.accepted(&other, 3, answer.replaces), expected);
        assert_eq!(peers.closed(&other, 1), None);
        assert_eq!(peers.connection(&other), Some(3));
        assert_eq!(peers.closed(&other, 3), Some(PeerAction::Down { peer: other, connection: 3 }));
        assert!(peers.is_empty());
    }

    #[test]
    fn zhs10_a_peer_is_dialled_once_and_a_failed_or_late_dial_is_reported_once() {
        let (mut peers, other) = (peers("b@x"), Atom::fixed("a@x"));
        let failed = PeerAction::Failed { peer: other.clone() };
        let dial = |connection| Some(PeerAction::Dial { peer: other.clone(), connection });
        assert_eq!(peers.wanted(&other, 0, START), dial(0));
        assert_eq!(peers.wanted(&other, 1, START), None);
        assert_eq!(peers.closed(&other, 0), Some(failed.clone()));
        assert_eq!(peers.closed(&other, 0), None);
        assert_eq!(peers.wanted(&other, 2, START), dial(2));
        assert_eq!(peers.next_tick(), Some(LIMIT));
        assert_eq!(peers.tick(LIMIT.saturating_sub(Duration::from_nanos(1))), []);
        assert_eq!(peers.tick(LIMIT), [PeerAction::Close(2), failed.clone()]);
        // The end of the handshake arrives too late.
        assert_eq!(peers.dialled(&other, 2), [PeerAction::Close(2)]);
        // A wait for the dial of a peer that never dials.
        assert_eq!(peers.wanted(&other, 4, LIMIT), dial(4));
        peers.gave_way(&other, 4, LIMIT);
        assert_eq!(peers.closed(&other, 4), None);
        assert_eq!(peers.tick(LIMIT * 2), [failed]);
        assert!(peers.is_empty());
        let me = Atom::fixed("b@x");
        assert_eq!(peers.wanted(&me, 5, START), Some(PeerAction::Failed { peer: me }));
    }

    #[test]
    fn zhs10_the_end_of_an_earlier_dial_is_not_that_of_the_current_one() {
        let (mut peers, other) = (peers("b@x"), Atom::fixed("a@x"));
        assert!(peers.wanted(&other, 1, START).is_some());
        assert!(peers.closed(&other, 1).is_some());
        assert!(peers.wanted(&other, 2, START).is_some());
        assert_eq!(peers.dialled(&other, 1), [PeerAction::Close(1)]);
        assert_eq!(peers.closed(&other, 1), None);
        peers.gave_way(&other, 1, START);
        let up = PeerAction::Up { peer: other.clone(), connection: 2 };
        assert_eq!(peers.dialled(&other, 2), [up]);
    }

    #[test]
    fn zhs5_a_held_connection_comes_up_if_the_dial_fails_and_is_closed_if_it_is_up() {
        let other = Atom::fixed("a@x");
        let dialling = || {
            let mut peers = peers("b@x");
            assert!(peers.wanted(&other, 1, START).is_some());
            assert_eq!(peers.accepted(&other, 2, None), [PeerAction::Hold(2)]);
            peers
        };
        let up = |connection| PeerAction::Up { peer: other.clone(), connection };
        let resume = |connection| PeerAction::Resume { peer: other.clone(), connection };
        let failed = PeerAction::Failed { peer: other.clone() };
        let mut peers = dialling();
        assert_eq!(peers.dialled(&other, 1), [PeerAction::Close(2), up(1)]);
        let mut peers = dialling();
        assert_eq!(peers.closed(&other, 1), Some(resume(2)));
        assert_eq!(peers.connection(&other), Some(2));
        let mut peers = dialling();
        assert_eq!(peers.tick(LIMIT), [PeerAction::Close(1), resume(2)]);
        // Another one takes its place; one that is closed is not held any more.
        let mut peers = dialling();
        let both = [PeerAction::Close(2), PeerAction::Hold(3)];
        assert_eq!(peers.accepted(&other, 3, None), both);
        assert_eq!(peers.closed(&other, 2), None);
        peers.gave_way(&other, 1, START);
        assert_eq!(peers.closed(&other, 1), Some(resume(3)));
        let mut peers = dialling();
        assert_eq!(peers.closed(&other, 2), None);
        assert_eq!(peers.closed(&other, 1), Some(failed));
    }

    #[test]
    fn zhs4_an_unauthenticated_name_leaves_no_state() {
        let (mut peers, other) = (peers("b@x"), Atom::fixed("a@x"));
        assert_eq!(peers.name_received(&other, START).decision, Decision::Accept);
        assert!(peers.is_empty());
        assert!(peers.wanted(&other, 1, START).is_some());
    }
}
