//! The begin and the loss of a connection to a peer.

use super::traffic::SentCounters;
use super::{NotSent, PeerAbout, PeerLink, PeerNode, PeerNodeState, Phase, UpConnection};
use crate::events::NodeEvent;
use crate::peer::foreign::StandIn;
use crate::peer::outbox::Outbox;
use crate::peer::owner::PeerOwner;
use crate::peer::signal::Signal;
use krarup_act::{Host, Via, lose};
use krarup_gen::{Exit, Pid, Reason};
use krarup_wire::peers::ConnectionId;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

impl PeerNode {
    /// A connection is up. Returns false if the loss of an earlier one is not over.
    pub(crate) fn up<O: PeerOwner>(
        &self,
        owner: &Arc<O>,
        connection: ConnectionId,
        PeerAbout { incarnation, creation, flags, is_dialled }: PeerAbout,
        link: Arc<dyn PeerLink>,
    ) -> bool {
        let since = owner.host().now();
        let (wakers, stale) = {
            let mut state = self.state.lock();
            if matches!(state.phase, Phase::Up(_) | Phase::Losing | Phase::Gone | Phase::Ended) {
                return false;
            }
            let outbox = Outbox::default();
            self.received.reset();
            state.phase = Phase::Up(Box::new(UpConnection {
                connection,
                incarnation,
                creation,
                flags,
                is_dialled,
                since,
                sent: SentCounters::default(),
                link,
                outbox,
                sequence: 0,
                wrote: false,
                is_overloaded: false,
            }));
            state.wants_dial = false;
            // What was meant for an earlier incarnation is not for this one (rule Zid5).
            let stale = state.take_stale(incarnation);
            (std::mem::take(&mut state.wakers), stale)
        };
        for signal in stale {
            owner.not_sent(self, signal, NotSent::Stale);
        }
        let strangers = self.proxies.lock().bonded_of_others(incarnation);
        for process in strangers {
            lose(&**owner.host(), &process, &Reason::NoProcess);
            process.schedule(None);
        }
        owner.tell(&NodeEvent::Up(self.node.clone()));
        wakers.into_iter().for_each(Waker::wake);
        self.flush(owner);
        true
    }

    /// The connection is lost, or could not be made. Everybody bound to a process there is
    /// told (rule Zlink7), and each message that was not written is a dead letter (rule Zmsg16).
    pub(crate) fn lost<O: PeerOwner>(&self, owner: &Arc<O>) {
        let before = {
            let mut state = self.state.lock();
            match state.phase {
                Phase::Idle if state.is_ended => {
                    state.phase = Phase::Ended;
                    return;
                }
                Phase::Idle | Phase::Losing | Phase::Gone | Phase::Ended => return,
                Phase::Dialling | Phase::Up(_) => {}
            }
            std::mem::replace(&mut state.phase, Phase::Losing)
        };
        let was_up = matches!(before, Phase::Up(_));
        owner.calls_lost(&self.name, was_up);
        if let Phase::Up(up) = before {
            for letter in up.outbox.into_letters() {
                owner.not_written(self, letter);
            }
        }
        let wakers = loop {
            let (dropped, functions) = {
                let mut state = self.state.lock();
                state.clear()
            };
            for signal in dropped {
                owner.not_sent(self, signal, NotSent::Lost);
            }
            for pid in functions {
                end_function(&**owner.host(), pid);
            }
            let bonded = self.proxies.lock().take_bonded();
            if bonded.is_empty() {
                let mut state = self.state.lock();
                state.phase = if state.is_ended { Phase::Ended } else { Phase::Idle };
                break std::mem::take(&mut state.wakers);
            }
            for process in bonded {
                lose(&**owner.host(), &process, &Reason::NoConnection);
            }
        };
        if was_up {
            owner.tell(&NodeEvent::Down(self.node.clone()));
        }
        wakers.into_iter().for_each(Waker::wake);
        self.wake_if_room();
    }

    /// The cluster has ended: the connection is lost, and none is made any more (rule Zlive7).
    pub(crate) fn end<O: PeerOwner>(&self, owner: &Arc<O>) {
        // Under the lock under which signals are recorded: whatever comes later is refused.
        self.state.lock().is_ended = true;
        self.lost(owner);
    }

    /// As [`PeerNode::lost`], unless another connection than this is up.
    pub(crate) fn lost_unless_replaced<O: PeerOwner>(
        &self,
        owner: &Arc<O>,
        connection: ConnectionId,
    ) {
        let is_replaced = matches!(&self.state.lock().phase,
            Phase::Up(up) if up.connection != connection);
        if !is_replaced {
            self.lost(owner);
        }
    }

    /// As [`PeerNode::lost`], if this connection is the one that is up.
    pub(crate) fn lost_connection<O: PeerOwner>(&self, owner: &Arc<O>, connection: ConnectionId) {
        let is_up = matches!(&self.state.lock().phase,
            Phase::Up(up) if up.connection == connection);
        if is_up {
            self.lost(owner);
        }
    }
}

/// Ends the process of a function: its caller does not wait any more (rule Zcall8).
pub(crate) fn end_function(host: &dyn Host, pid: Pid) {
    if let Some(process) = host.process(pid) {
        let exit = Exit { pid: host.node_pid(), reason: Reason::Shutdown };
        process.exit_signal(exit, Via::Signal);
    }
}

impl PeerNodeState {
    /// Takes the signals for other incarnations out of the queue, and forgets the links and
    /// monitors that they would have made.
    fn take_stale(&mut self, incarnation: u32) -> Vec<Signal> {
        let is_stale = |signal: &Signal| signal.to.is_some_and(|to| to != incarnation);
        let (stale, queue): (Vec<Signal>, VecDeque<Signal>) = {
            let (stale, rest): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.queue).into_iter().partition(is_stale);
            (stale, rest.into())
        };
        self.queue = queue;
        self.queued = self.queue.iter().map(Signal::bytes).sum();
        self.links.retain(|(_, pid)| pid.node() == incarnation);
        self.monitors.retain(|_, ours| match ours.stand_in {
            StandIn::Pid(pid) => pid.node() == incarnation,
            StandIn::Name(_) => true,
        });
        stale
    }
}
