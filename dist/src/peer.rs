//! What is known of one other node: whether there is a connection, what waits to be sent, and
//! the links and monitors over it.
//!
//! ```text
//!          a signal, connect            handshake over
//!   idle ───────────────────► dialling ───────────────► up
//!    ▲                           │ failed                │ lost
//!    └──────── losing ◄──────────┴───────────────────────┘
//!              everybody bound to a process there is told
//! ```
//!
//! When the cluster ends, the peer is lost, and has ended: nothing is recorded any more.
//!
//! A signal goes into a queue under the lock of the peer, which is a leaf: whoever holds the
//! locks of two processes may take it. [`PeerNode::flush`], without any lock, writes the queue as
//! frames and hands them to the socket. One thread at a time does that for one peer, so signals
//! stay in order.

pub(crate) mod connection_info;
pub(crate) mod control_trace;
mod flush;
pub(crate) mod foreign;
mod outbox;
pub(crate) mod owner;
pub(crate) mod proxies;
pub(crate) mod proxy;
pub(crate) mod queue_limits;
mod room;
mod room_line;
pub(crate) mod signal;
mod traffic;
pub(crate) mod up_and_down;

use crate::functions::asker::Asker;
use crate::functions::permit::SpawnCount;
use crate::functions::runs::Runs;
use crate::peer::control_trace::ControlTracer;
use crate::peer::foreign::{ForeignMonitors, OurMonitor};
use crate::peer::outbox::Outbox;
use crate::peer::proxies::Proxies;
use crate::peer::queue_limits::QueueLimits;
use crate::peer::room_line::RoomLine;
use crate::peer::signal::{Signal, SignalPayload};
use crate::peer::traffic::{ReceivedCounters, SentCounters};
use crate::rights::node_rights::NodeRights;
use krarup_gen::{NodeName, Pid, Timestamp};
use krarup_wire::etf::Atom;
use krarup_wire::peers::ConnectionId;
use krarup_wire::{DistributionFlags, Links};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll, Waker};

/// The most links over one connection (rule Zlink10).
const MOST_LINKS: usize = 1 << 20;

/// The pair of a link: the number of the local process, and the other one.
pub(crate) type LinkKey = (u64, Pid);

/// Another node.
pub(crate) struct PeerNode {
    pub(crate) name: Atom,
    pub(crate) node: NodeName,
    pub(crate) limits: QueueLimits,
    pub(crate) state: Mutex<PeerNodeState>,
    pub(crate) proxies: Mutex<Proxies>,
    /// What has come over the connection that is up.
    pub(crate) received: ReceivedCounters,
    /// The processes of this node that it has requested, and that live.
    pub(crate) spawned: SpawnCount,
    /// Whether functions of this node's callers may print there (rule Zcall10).
    pub(crate) prints: AtomicBool,
    /// What it may do here; `None` if that is not narrowed (rule Zsec4).
    pub(crate) rights: Option<Arc<NodeRights>>,
    /// Who sees its control messages (rule Zobs4).
    pub(crate) tracer: Arc<ControlTracer>,
}

/// The connection, and what goes over it.
pub(crate) struct PeerNodeState {
    pub(crate) phase: Phase,
    queue: VecDeque<Signal>,
    queued: usize,
    flushing: bool,
    /// A signal waits, and nobody dials.
    wants_dial: bool,
    pub(crate) links: Links<LinkKey>,
    /// The monitors of processes of this node on processes there, by their references.
    pub(crate) monitors: HashMap<u64, OurMonitor>,
    pub(crate) foreign: ForeignMonitors,
    /// The functions of this node that it has called.
    pub(crate) runs: Runs<(Asker, SignalPayload)>,
    /// Senders that wait for room.
    line: RoomLine,
    /// The cluster has ended (rule Zlive7).
    is_ended: bool,
    /// Futures that wait for a connection, or for its loss.
    wakers: Vec<Waker>,
}

pub(crate) enum Phase {
    Idle,
    Dialling,
    Up(Box<UpConnection>),
    Losing,
    /// The peer is an earlier incarnation of this node: all its processes have ended.
    Gone,
    /// The cluster has ended: there is no connection, and nobody dials (rule Zlive7).
    Ended,
}

/// A signal that was not recorded.
#[derive(Debug)]
pub(crate) struct NotPushed {
    pub(crate) signal: Signal,
    pub(crate) why: NotSent,
}

/// Why a signal is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotSent {
    /// There is no connection: it is lost, none could be made, or the cluster has ended.
    Lost,
    /// It was meant for an incarnation that has ended (rule Zid5).
    Stale,
    /// The peer does not know such signals.
    Unknown,
}

/// Who is at the other end of a connection, and who has dialled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerAbout {
    /// The number of the peer's incarnation.
    pub(crate) incarnation: u32,
    pub(crate) creation: u32,
    pub(crate) flags: DistributionFlags,
    pub(crate) is_dialled: bool,
}

/// A connection that is up.
pub(crate) struct UpConnection {
    pub(crate) connection: ConnectionId,
    /// The number of the peer's incarnation.
    pub(crate) incarnation: u32,
    pub(crate) creation: u32,
    pub(crate) flags: DistributionFlags,
    is_dialled: bool,
    since: Timestamp,
    sent: SentCounters,
    pub(crate) link: Arc<dyn PeerLink>,
    outbox: Outbox,
    sequence: u64,
    /// Whether something was written since the last tick.
    wrote: bool,
    /// It is being ended because too much waits.
    is_overloaded: bool,
}

/// The socket of a connection, as other threads use it.
pub(crate) trait PeerLink: Send + Sync {
    /// Appends bytes, without writing them.
    fn append(&self, bytes: Vec<u8>);
    /// Writes what the system takes. Returns false if some bytes are left.
    fn write(&self) -> bool;
    /// The number of bytes that are left.
    fn waiting(&self) -> usize;
    /// Makes the process of the connection go on writing.
    fn wake(&self);
    /// Whether the process of the connection handles a frame.
    fn is_reading(&self) -> bool;
    /// Closes the connection.
    fn close(&self, why: &'static str);
}

impl PeerNode {
    pub(crate) fn new(
        name: Atom,
        node: NodeName,
        limits: QueueLimits,
        rights: Option<Arc<NodeRights>>,
    ) -> Arc<Self> {
        PeerNode::in_phase(name, node, limits, (Phase::Idle, rights))
    }

    /// The earlier incarnations of this node.
    pub(crate) fn gone(name: Atom, node: NodeName, limits: QueueLimits) -> Arc<Self> {
        PeerNode::in_phase(name, node, limits, (Phase::Gone, None))
    }

    /// A node of a cluster that has ended.
    pub(crate) fn ended(name: Atom, node: NodeName, limits: QueueLimits) -> Arc<Self> {
        PeerNode::in_phase(name, node, limits, (Phase::Ended, None))
    }

    fn in_phase(
        name: Atom,
        node: NodeName,
        limits: QueueLimits,
        (phase, rights): (Phase, Option<Arc<NodeRights>>),
    ) -> Arc<Self> {
        Arc::new(PeerNode {
            name,
            node,
            limits,
            state: Mutex::new(PeerNodeState {
                phase,
                queue: VecDeque::new(),
                queued: 0,
                flushing: false,
                wants_dial: false,
                links: Links::new(MOST_LINKS),
                monitors: HashMap::new(),
                foreign: ForeignMonitors::default(),
                runs: Runs::default(),
                line: RoomLine::default(),
                is_ended: false,
                wakers: Vec::new(),
            }),
            proxies: Mutex::default(),
            received: ReceivedCounters::default(),
            spawned: SpawnCount::default(),
            prints: AtomicBool::new(false),
            rights,
            tracer: Arc::default(),
        })
    }

    /// Whether a connection is up.
    pub(crate) fn is_up(&self) -> bool {
        matches!(self.state.lock().phase, Phase::Up(_))
    }

    /// Whether there is nothing to know of it.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.state.lock();
        matches!(state.phase, Phase::Idle)
            && state.queue.is_empty()
            && state.wakers.is_empty()
            && state.line.is_empty()
            // What it has spawned and still lives counts when it comes again (rule Zcall9).
            && self.spawned.get() == 0
    }

    /// Records a signal. [`PeerNode::flush`] must follow when no lock is held.
    /// Returns a signal that is not sent.
    #[must_use]
    pub(crate) fn push(&self, signal: Signal) -> Option<NotPushed> {
        self.state.lock().push(signal)
    }

    /// Records a signal if a connection is up. Returns whether it did; then [`PeerNode::flush`] must
    /// follow when no lock is held.
    pub(crate) fn push_if_up(&self, signal: Signal) -> bool {
        let mut state = self.state.lock();
        let is_up = matches!(state.phase, Phase::Up(_));
        if is_up {
            let _ = state.push(signal);
        }
        is_up
    }

    /// Asks for a connection if there is none. [`PeerNode::flush`] must follow. Returns false if
    /// there will be none: it is being lost, or the cluster has ended.
    pub(crate) fn want(&self) -> bool {
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::Idle) {
            state.phase = Phase::Dialling;
            state.wants_dial = true;
        }
        !state.is_losing()
    }

    /// Ready with whether there is a connection, when nobody dials any more.
    pub(crate) fn poll_connected(&self, cx: &Context<'_>) -> Poll<bool> {
        let waker = cx.waker().clone();
        let mut state = self.state.lock();
        let over = match state.phase {
            Phase::Up(_) => true,
            Phase::Idle | Phase::Gone | Phase::Ended => false,
            Phase::Dialling | Phase::Losing => {
                state.wakers.push(waker);
                return Poll::Pending;
            }
        };
        drop(state);
        drop(waker);
        Poll::Ready(over)
    }

    /// Ready when no connection is up and none is being lost.
    pub(crate) fn poll_free(&self, cx: &Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::Up(_) | Phase::Losing) {
            state.wakers.push(waker);
            return Poll::Pending;
        }
        drop(state);
        drop(waker);
        Poll::Ready(())
    }
}

impl PeerNodeState {
    /// The number of the peer's incarnation that runs, if it is known.
    pub(crate) fn incarnation(&self) -> Option<u32> {
        match &self.phase {
            Phase::Up(up) => Some(up.incarnation),
            // This node.
            Phase::Gone => Some(0),
            _ => None,
        }
    }

    /// The connection that is up.
    pub(crate) fn connection(&self) -> Option<ConnectionId> {
        match &self.phase {
            Phase::Up(up) => Some(up.connection),
            _ => None,
        }
    }

    /// Whether what is said now reaches nobody: the connection is being lost, or the cluster has
    /// ended.
    pub(crate) fn is_losing(&self) -> bool {
        matches!(self.phase, Phase::Losing | Phase::Ended)
    }

    pub(crate) fn is_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended)
    }

    /// Records a signal, or returns it.
    #[must_use]
    pub(crate) fn push(&mut self, signal: Signal) -> Option<NotPushed> {
        match &self.phase {
            Phase::Losing | Phase::Ended => return Some(NotPushed { signal, why: NotSent::Lost }),
            Phase::Gone => return Some(NotPushed { signal, why: NotSent::Stale }),
            Phase::Idle => {
                self.phase = Phase::Dialling;
                self.wants_dial = true;
            }
            Phase::Dialling | Phase::Up(_) => {}
        }
        let current = self.incarnation();
        if current.is_some() && signal.to.is_some() && signal.to != current {
            return Some(NotPushed { signal, why: NotSent::Stale });
        }
        self.queued += signal.bytes();
        self.queue.push_back(signal);
        let waiting = self.waiting();
        if let Phase::Up(up) = &mut self.phase {
            up.sent.most_waiting = up.sent.most_waiting.max(waiting);
        }
        None
    }

    fn waiting(&self) -> usize {
        self.queued
            + match &self.phase {
                Phase::Up(up) => up.outbox.waiting() + up.link.waiting(),
                _ => 0,
            }
    }

    /// Forgets everything that goes over the connection. Returns what must be dropped without a
    /// lock, and the functions that are to end.
    fn clear(&mut self) -> (VecDeque<Signal>, Vec<Pid>) {
        self.links.lost();
        self.monitors.clear();
        self.foreign.clear();
        self.wants_dial = false;
        self.queued = 0;
        (std::mem::take(&mut self.queue), self.runs.clear())
    }
}
