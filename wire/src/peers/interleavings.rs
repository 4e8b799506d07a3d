//! Every interleaving of two nodes that dial each other, explored without sockets.

use super::*;
use std::collections::{BTreeMap, HashSet, VecDeque};

const LIMIT: Duration = Duration::from_secs(7);
const START: Duration = Duration::ZERO;

/// The messages of a connection that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Message {
    Name,
    Status(Status),
    Reply,
    Acknowledgement,
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Status {
    Ok,
    Nok,
}

/// One connection, with the messages in transit to each side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Wire {
    replaces: Option<ConnectionId>,
    pipes: [VecDeque<Message>; 2],
    /// Whether each side still holds it.
    open: [bool; 2],
}

/// Two nodes that dial each other.
#[derive(Clone)]
struct TwoNodes {
    peers: [Peers; 2],
    wires: BTreeMap<ConnectionId, Wire>,
    /// How often each side was notified that a connection is up, or lost.
    told: [(u8, u8); 2],
    wants: [u8; 2],
    /// A node was told that no connection came up.
    failed: bool,
}

fn name(side: usize) -> Atom {
    Atom::fixed(["a@x", "b@x"][side])
}

impl TwoNodes {
    fn new(wants: u8) -> Self {
        let peers = [0, 1].map(|side| Peers::new(name(side), LIMIT));
        TwoNodes {
            peers,
            wires: BTreeMap::new(),
            told: [(0, 0); 2],
            wants: [wants; 2],
            failed: false,
        }
    }

    fn key(&self) -> impl Eq + std::hash::Hash + use<> {
        let states = [0, 1].map(|side| {
            self.peers[side].states.get(&name(1 - side)).map(|state| format!("{state:?}"))
        });
        (states, self.wires.clone(), self.told, self.wants, self.failed)
    }

    fn act(&mut self, side: usize, actions: impl IntoIterator<Item = PeerAction>) {
        for action in actions {
            match action {
                PeerAction::Dial { connection, .. } => {
                    let mut pipes = [VecDeque::new(), VecDeque::new()];
                    pipes[1 - side].push_back(Message::Name);
                    self.wires.insert(connection, Wire { replaces: None, pipes, open: [true; 2] });
                }
                PeerAction::Close(connection) => self.close(side, connection),
                PeerAction::Down { connection, .. } => {
                    self.told[side].1 += 1;
                    self.close(side, connection);
                }
                PeerAction::Up { .. } => self.told[side].0 += 1,
                PeerAction::Failed { .. } => self.failed = true,
                PeerAction::Hold(_) => {}
                PeerAction::Resume { connection, .. } => {
                    self.told[side].0 += 1;
                    self.send(side, connection, Message::Acknowledgement);
                }
            }
        }
    }

    fn close(&mut self, side: usize, connection: ConnectionId) {
        let Some(wire) = self.wires.get_mut(&connection) else { return };
        if std::mem::take(&mut wire.open[side]) {
            wire.pipes[side].clear();
            if wire.open[1 - side] {
                wire.pipes[1 - side].push_back(Message::Closed);
            }
        }
        if wire.open == [false; 2] {
            self.wires.remove(&connection);
        }
    }

    fn send(&mut self, from: usize, connection: ConnectionId, message: Message) {
        if let Some(wire) = self.wires.get_mut(&connection).filter(|wire| wire.open[1 - from]) {
            wire.pipes[1 - from].push_back(message);
        }
    }

    fn deliver(&mut self, connection: ConnectionId, to: usize) {
        let Some(wire) = self.wires.get_mut(&connection) else { return };
        let Some(message) = wire.pipes[to].pop_front() else { return };
        let other = name(1 - to);
        match message {
            Message::Name => {
                let answer = self.peers[to].name_received(&other, START);
                self.act(to, answer.close.map(PeerAction::Close));
                if let Some(wire) = self.wires.get_mut(&connection) {
                    wire.replaces = answer.replaces;
                }
                match answer.decision {
                    Decision::Refuse | Decision::NotAllowed => {
                        self.send(to, connection, Message::Status(Status::Nok));
                        self.close(to, connection);
                    }
                    // The other node's dial answers `alive` with `true`.
                    _ => self.send(to, connection, Message::Status(Status::Ok)),
                }
            }
            Message::Status(Status::Ok) => self.send(to, connection, Message::Reply),
            Message::Status(Status::Nok) => {
                self.peers[to].gave_way(&other, connection, START);
                self.close(to, connection);
            }
            Message::Reply => {
                let replaces = self.wires.get(&connection).and_then(|wire| wire.replaces);
                let actions = self.peers[to].accepted(&other, connection, replaces);
                let waits = [PeerAction::Close(connection), PeerAction::Hold(connection)];
                if !actions.iter().any(|action| waits.contains(action)) {
                    self.send(to, connection, Message::Acknowledgement);
                }
                self.act(to, actions);
            }
            Message::Acknowledgement => {
                let actions = self.peers[to].dialled(&other, connection);
                self.act(to, actions);
            }
            Message::Closed => {
                let action = self.peers[to].closed(&other, connection);
                self.act(to, action);
                self.close(to, connection);
            }
        }
    }

    fn next(&self) -> Vec<TwoNodes> {
        let mut next = Vec::new();
        for side in 0..2 {
            if self.wants[side] > 0 {
                let mut world = self.clone();
                world.wants[side] -= 1;
                let id = u64::from(world.wants[side]) * 2 + side as u64;
                let action = world.peers[side].wanted(&name(1 - side), id, START);
                world.act(side, action);
                next.push(world);
            }
            for (connection, wire) in &self.wires {
                if !wire.pipes[side].is_empty() {
                    let mut world = self.clone();
                    world.deliver(*connection, side);
                    next.push(world);
                }
            }
        }
        next
    }
}

#[test]
fn zhs5_in_every_interleaving_both_sides_keep_the_same_single_connection() {
    let mut known = HashSet::new();
    let mut worlds = vec![TwoNodes::new(3)];
    let mut rests = 0;
    while let Some(world) = worlds.pop() {
        if !known.insert(world.key()) {
            continue;
        }
        let next = world.next();
        if next.is_empty() {
            rests += 1;
            let standing = [0, 1].map(|side| world.peers[side].connection(&name(1 - side)));
            assert!(standing[0].is_some(), "none stands: {:?} {:?}", world.wires, world.told);
            assert_eq!(standing[0], standing[1], "{:?}", world.told);
            assert_eq!(world.wires.len(), 1, "{:?}", world.wires);
            // Neither side lost a connection on the way.
            assert_eq!(world.told, [(1, 0); 2]);
            // No dial failed, so nothing that waited for one did.
            assert!(!world.failed, "{:?}", world.told);
        }
        worlds.extend(next);
    }
    assert!(known.len() > 50 && rests > 1, "{} {rests}", known.len());
}
