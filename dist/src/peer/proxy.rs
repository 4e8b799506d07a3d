//! The stand-in of a process of another node.
//!
//! It is a [`Process`] with relations of its own, and without a mailbox: what reaches it goes
//! over the wire. What only a process of this node can do (inspections, suspensions, traces)
//! fails as for a process that has ended.

mod bonds;

use crate::peer::signal::{Signal, SignalPayload};
use crate::peer::{LinkKey, NotPushed, NotSent, PeerNode};
use krarup_act::{
    Dynamic, Guarded, Host, InspectRequest, LockedRelations, MutedSender, NotWritten, Process, Put,
    Ready, Recipient, Remote, Reply, Via, WrittenMessage, current_pid, is_bound, lose,
};
use krarup_gen::{
    Alias, CallError, Down, Exit, Label, Name, Pid, ProcessInfo, ProcessState, Reason, Ref, Root,
    SendError, Target,
};
use krarup_wire::ControlMessage;
use krarup_wire::etf::{Atom, ExternalPid, Reference};
use serde::Serialize;
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The stand-in of a process of another node, of a name there, or of the node itself.
pub(crate) struct RemoteProcess {
    myself: Weak<RemoteProcess>,
    home: Arc<dyn StandInHome>,
    peer: Arc<PeerNode>,
    pid: Pid,
    target: RemoteTarget,
    relations: Guarded,
    /// A bond was made with a process of an earlier incarnation (rule Zid5).
    stale: AtomicBool,
    /// Something was said while the connection was being lost, or after the end of the cluster:
    /// whoever is bound now is told, for nobody else may tell it (rule Zlink7).
    cut: AtomicBool,
    /// A bond was made or removed since the last [`Process::schedule`].
    changed: AtomicBool,
}

/// What a stand-in needs of its cluster.
pub(crate) trait StandInHome: Send + Sync {
    fn host(&self) -> &Arc<dyn Host>;

    /// The process that acts for code outside any process.
    fn pid(&self) -> Pid;

    /// The pid of a process of this node, as other nodes see it.
    fn ours(&self, pid: Pid) -> ExternalPid;

    fn reference(&self, reference: Ref) -> Reference;

    /// The reason that processes of other nodes are told.
    fn end_of(&self, reason: Reason) -> Reason;

    /// The caller does not wait any more.
    fn end_call(&self, call: u64);

    /// Writes a message of the process with this number.
    fn write(
        &self,
        to: &RemoteProcess,
        message: &dyn erased_serde::Serialize,
        number: u64,
    ) -> Result<WrittenMessage, NotWritten>;

    /// Sends a value whose type is known only at run time.
    fn send_any(&self, to: &RemoteProcess, message: Dynamic) -> Result<(), SendError<Dynamic>>;

    /// Offers a message of the process with this number as a dead letter: the cluster has ended.
    fn unsent(&self, to: Target, by: u64);

    /// Sends what is recorded for a peer.
    fn flush(&self, peer: &Arc<PeerNode>);
}

/// What a stand-in stands for.
#[derive(Clone, Debug)]
pub(crate) enum RemoteTarget {
    Pid(ExternalPid),
    Name(Name, Atom),
    Node,
}

impl RemoteProcess {
    pub(crate) fn new(
        home: &Arc<dyn StandInHome>,
        peer: &Arc<PeerNode>,
        pid: Pid,
        target: RemoteTarget,
    ) -> Arc<Self> {
        Arc::new_cyclic(|myself| RemoteProcess {
            myself: Weak::clone(myself),
            home: Arc::clone(home),
            peer: Arc::clone(peer),
            pid,
            target,
            relations: Guarded::default(),
            stale: AtomicBool::new(false),
            cut: AtomicBool::new(false),
            changed: AtomicBool::new(false),
        })
    }

    /// The stand-in that a process is.
    pub(crate) fn of(process: Arc<dyn Process>) -> Option<Arc<Self>> {
        let process: Arc<dyn Any + Send + Sync> = process;
        process.downcast().ok()
    }

    pub(crate) fn peer(&self) -> &Arc<PeerNode> {
        &self.peer
    }

    pub(crate) fn target(&self) -> &RemoteTarget {
        &self.target
    }

    /// A recipient that sends to it.
    pub(crate) fn recipient<M: Serialize + Send + 'static>(self: Arc<Self>) -> Recipient<M> {
        let host = Arc::clone(self.home.host());
        match &self.target {
            RemoteTarget::Name(name, _) => {
                let name = (name.clone(), self.peer.node.clone());
                Recipient::remote_named(self, host, name)
            }
            RemoteTarget::Pid(_) | RemoteTarget::Node => Recipient::remote(self, host),
        }
    }

    /// The number of the incarnation of its node; `None` if it is not of a certain one.
    pub(crate) fn incarnation(&self) -> Option<u32> {
        matches!(self.target, RemoteTarget::Pid(_)).then(|| self.pid.node())
    }

    /// Whether it belongs to an earlier incarnation of its node.
    pub(crate) fn is_stranger(&self) -> bool {
        let current = self.peer.state.lock().incarnation();
        current.is_some() && self.incarnation().is_some_and(|of| Some(of) != current)
    }

    /// Whether its cluster has ended.
    fn is_ended(&self) -> bool {
        self.peer.state.lock().is_ended()
    }

    /// The stand-in of the same process in the cluster that runs now, if this one's has ended: a
    /// cluster that is started again has another [`ClusterCore`](crate::core::ClusterCore), and who
    /// has a stand-in of before goes on with it (rule Zlive7).
    fn successor(&self) -> Option<Arc<RemoteProcess>> {
        let network = self.home.host().network()?;
        let next = match &self.target {
            RemoteTarget::Pid(_) => network.process(self.pid),
            RemoteTarget::Name(name, _) => network.named(name, &self.peer.node),
            RemoteTarget::Node => network.node(&self.peer.node),
        };
        RemoteProcess::of(next?).filter(|next| !Arc::ptr_eq(&next.peer, &self.peer))
    }

    /// Offers a message as a dead letter: the cluster has ended, and none runs in its place.
    fn unsent(&self, by: u64) {
        let to = match &self.target {
            RemoteTarget::Pid(_) => Target::Pid(self.pid),
            RemoteTarget::Name(name, _) => Target::Remote(name.clone(), self.peer.node.clone()),
            RemoteTarget::Node => Target::Node(self.peer.node.clone()),
        };
        self.home.unsent(to, by);
    }

    fn external(&self) -> Option<&ExternalPid> {
        match &self.target {
            RemoteTarget::Pid(pid) => Some(pid),
            _ => None,
        }
    }

    /// Keeps the stand-in while it has bonds. Called with its relations locked.
    pub(crate) fn note_bond(&self) {
        self.changed.store(true, Ordering::Relaxed);
        if let Some(myself) = self.myself.upgrade() {
            // The same stand-in, if there was one.
            drop(self.peer.proxies.lock().keep(myself));
        }
    }

    /// Releases the stand-in if it has no bond any more.
    fn release_if_unbound(&self) {
        if !self.changed.swap(false, Ordering::Relaxed) {
            return;
        }
        if is_bound(self) {
            self.changed.store(true, Ordering::Relaxed);
            return;
        }
        let released = self.peer.proxies.lock().release(self.pid);
        // A bond that was made meanwhile has kept it again, or keeps it now.
        if is_bound(self) {
            self.note_bond();
        }
        drop(released);
    }

    fn key(&self, local: Pid) -> LinkKey {
        (local.id(), self.pid)
    }

    /// Records a signal to the process, from the local process `by`.
    fn push(&self, by: u64, control: ControlMessage, payload: SignalPayload) {
        let signal = Signal::new(by, control, self.incarnation()).with_payload(payload);
        self.note_lost(self.peer.push(signal).as_ref());
    }

    /// Has whoever is bound told by the next [`Process::schedule`] if a signal is lost.
    fn note_lost(&self, not_pushed: Option<&NotPushed>) {
        if not_pushed.is_some_and(|not_pushed| not_pushed.why == NotSent::Lost) {
            self.cut.store(true, Ordering::Relaxed);
        }
    }
}

impl Process for RemoteProcess {
    fn pid(&self) -> Pid {
        self.pid
    }

    fn parent(&self) -> Option<Pid> {
        None
    }

    fn root(&self) -> Root {
        Root::User
    }

    fn behavior(&self) -> Label {
        Label::of_type("remote process")
    }

    fn info(&self) -> ProcessInfo {
        ProcessInfo::new(self.pid, self.behavior(), ProcessState::Waiting)
    }

    fn handled(&self) -> u64 {
        0
    }

    fn ran(&self, _: Duration) {}

    fn put_exit(&self, exit: Exit, via: Via) -> Put {
        let Some(to) = self.external().cloned() else { return Put::unheard(None) };
        let from = self.home.ours(exit.pid);
        let payload = SignalPayload::Reason(exit.reason);
        match via {
            Via::Signal => {
                self.push(exit.pid.id(), ControlMessage::PayloadExit2 { from, to }, payload);
            }
            Via::Link { .. } => {
                self.changed.store(true, Ordering::Relaxed);
                let ended = self.peer.state.lock().links.ended(&self.key(exit.pid));
                if ended {
                    self.push(exit.pid.id(), ControlMessage::PayloadExit { from, to }, payload);
                }
            }
        }
        Put::unheard(None)
    }

    fn put_down(&self, down: Down, _: bool) -> Option<Ready> {
        self.changed.store(true, Ordering::Relaxed);
        let foreign = self.peer.state.lock().foreign.remove_ref(down.monitor);
        if let Some(foreign) = foreign {
            let by = down.pid().map_or(0, Pid::id);
            let control = ControlMessage::PayloadMonitorExit {
                target: foreign.target,
                to: foreign.by,
                reference: foreign.reference,
            };
            let reason = self.home.end_of(down.reason);
            self.push(by, control, SignalPayload::Reason(reason));
        }
        None
    }

    fn schedule(&self, _: Option<Ready>) {
        for (flag, reason) in [(&self.stale, Reason::NoProcess), (&self.cut, Reason::NoConnection)]
        {
            if flag.swap(false, Ordering::Relaxed)
                && let Some(myself) = self.myself.upgrade()
            {
                let process: Arc<dyn Process> = myself;
                lose(&**self.home.host(), &process, &reason);
            }
        }
        self.release_if_unbound();
        self.home.flush(&self.peer);
    }

    fn enter_muted(&self, _: Arc<dyn MutedSender>) -> bool {
        false
    }

    fn has_pending_exit(&self) -> bool {
        false
    }

    fn request_stop(self: Arc<Self>, reason: Reason) {
        let pid = self.home.host().node_pid();
        self.exit_signal(Exit { pid, reason }, Via::Signal);
    }

    fn kill(self: Arc<Self>) {
        self.request_stop(Reason::Kill);
    }

    fn inspect(self: Arc<Self>, request: InspectRequest) {
        request.fail(CallError::NoProcess { to: self.pid });
    }

    fn send_dynamic(
        self: Arc<Self>,
        message: Dynamic,
        _: Option<Alias>,
    ) -> Result<(), SendError<Dynamic>> {
        if self.is_ended() {
            if let Some(next) = self.successor() {
                return next.send_dynamic(message, None);
            }
            self.unsent(current_pid().filter(|pid| pid.node() == 0).map_or(0, Pid::id));
            return Err(SendError::NoConnection { message, to: self.pid });
        }
        self.home.send_any(&self, message)
    }

    fn state(self: Arc<Self>, reply: Reply<Option<Dynamic>>) {
        reply.fail(CallError::NoProcess { to: self.pid });
    }

    fn suspend(self: Arc<Self>, reply: Reply<()>) {
        reply.fail(CallError::NoProcess { to: self.pid });
    }

    fn resume(self: Arc<Self>) -> bool {
        false
    }

    fn nudge(self: Arc<Self>) {}

    fn waits_for(&self) -> Option<Pid> {
        None
    }

    fn waits_for_or_mark(&self) -> Option<Pid> {
        None
    }

    fn is_awaited_task(&self) -> bool {
        false
    }

    fn lane_types(&self) -> (&'static str, &'static str) {
        ("a message of another node", "a message of another node")
    }

    fn trace(self: Arc<Self>, _: bool) {}

    fn relations(&self) -> LockedRelations<'_> {
        self.relations.lock()
    }

    fn join_simulated_link(&self) {}

    fn panic_at_next_message(self: Arc<Self>, _: bool) {}

    fn occupy(self: Arc<Self>) -> Option<Box<dyn Send>> {
        None
    }

    fn remote(&self) -> Option<&dyn Remote> {
        Some(self)
    }
}

impl Drop for RemoteProcess {
    fn drop(&mut self) {
        let name = match &self.target {
            RemoteTarget::Name(name, _) => Some(name),
            _ => None,
        };
        self.peer.proxies.lock().forget(self.pid, name);
    }
}
