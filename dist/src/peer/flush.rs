//! The way of a signal from the queue of a peer to its socket.

use super::room::Overloaded;
use super::{PeerLink, PeerNode, Phase};
use crate::peer::control_trace::TracedControl;
use crate::peer::owner::PeerOwner;
use crate::peer::signal::ShowControl;
use krarup_wire::{ControlMessage, DistributionFlags};
use std::sync::Arc;

/// How many bytes are handed to the socket at a time.
const BATCH: usize = 32 << 10;
/// How many batches one thread writes before others have their turn.
const MOST_BATCHES: usize = 4;

impl PeerNode {
    /// Sends what is recorded, or asks for a connection. No lock may be held.
    pub(crate) fn flush<O: PeerOwner>(&self, owner: &Arc<O>) {
        loop {
            let (batch, flags, connection, mut sequence) = {
                let mut state = self.state.lock();
                if std::mem::take(&mut state.wants_dial) {
                    drop(state);
                    owner.dial(&self.name);
                    return;
                }
                if state.flushing || state.queue.is_empty() {
                    break;
                }
                let Phase::Up(up) = &state.phase else {
                    drop(state);
                    return self.give_up_if_overloaded(owner);
                };
                let found = (up.flags, up.connection, up.sequence);
                state.flushing = true;
                state.queued = 0;
                (std::mem::take(&mut state.queue), found.0, found.1, found.2)
            };
            let mut messages = Vec::with_capacity(batch.len());
            let tracer = self.tracer.current();
            let show = tracer.as_ref().map(|function| {
                let at = owner.host().now();
                move |control: &ControlMessage, payload_bytes| {
                    let (node, is_sent) = (&self.node, true);
                    let traced = TracedControl { node, is_sent, at, control, payload_bytes };
                    self.tracer.show(function, &traced);
                }
            });
            let show = show.as_ref().map(|show| show as &ShowControl<'_>);
            for signal in batch {
                // Without this flag the peer cannot read it.
                if let ControlMessage::SpawnRequest { .. } = signal.control
                    && !flags.contains(DistributionFlags::SPAWN)
                {
                    owner.not_sent(signal);
                    continue;
                }
                sequence += 1;
                match signal.frame(flags, sequence, show) {
                    Ok(message) => messages.push(message),
                    Err(error) => owner.log_dropped(&self.name, &error),
                }
            }
            let mut state = self.state.lock();
            state.flushing = false;
            let Phase::Up(up) = &mut state.phase else { return };
            if up.connection != connection {
                continue;
            }
            up.sequence = sequence;
            up.sent.messages += messages.len() as u64;
            // A tick is no reason to leave out the next one.
            up.wrote |= !messages.is_empty();
            for (by, message, bytes) in messages {
                up.outbox.push(by, message, bytes);
            }
            if state.queue.is_empty() {
                break;
            }
        }
        self.pump();
    }

    /// Fails everything that waits for a dial if it is too much (rule Zhs10).
    fn give_up_if_overloaded<O: PeerOwner>(&self, owner: &Arc<O>) {
        if let Some(Overloaded::Dial) = self.overloaded() {
            self.lost(owner);
        }
    }

    /// Hands waiting frames to the socket, as many as it takes. If it does not take all, the process of
    /// the connection is woken, and goes on.
    pub(crate) fn pump(&self) {
        self.pump_and(|link| link.wake());
    }

    /// As [`PeerNode::pump`], by the process of the connection. It is told when the socket has taken
    /// everything. If it woke itself while the socket takes nothing, it would never rest.
    pub(crate) fn pump_by_its_process(&self) {
        self.pump_and(|_| {});
    }

    /// Hands waiting frames to the socket. `refused` is told that it does not take all.
    fn pump_and(&self, refused: impl Fn(&dyn PeerLink)) {
        let mut bytes = Vec::new();
        if let Some(overloaded) = self.overloaded() {
            if let Overloaded::Connection(link) = overloaded {
                link.close("overload");
            }
            return;
        }
        for batch in 1.. {
            let (link, more) = {
                let mut state = self.state.lock();
                let Phase::Up(up) = &mut state.phase else { return };
                if up.outbox.is_empty() {
                    break;
                }
                if up.link.waiting() >= BATCH {
                    let link = Arc::clone(&up.link);
                    drop(state);
                    // Its process learns when the socket takes more only if a write was refused.
                    if link.write() {
                        continue;
                    }
                    refused(&*link);
                    break;
                }
                bytes.clear();
                up.outbox.take(BATCH, &mut bytes);
                up.sent.bytes += bytes.len() as u64;
                up.link.append(&bytes);
                (Arc::clone(&up.link), !up.outbox.is_empty())
            };
            if !link.write() {
                refused(&*link);
                break;
            }
            if more && batch == MOST_BATCHES {
                // The process of the connection goes on, and reads in between.
                link.wake();
                break;
            }
            if !more {
                break;
            }
        }
        self.wake_if_room();
    }

    /// Writes a tick, unless something was written since the last one (rule Zlive1).
    pub(crate) fn tick(&self) {
        {
            let mut state = self.state.lock();
            let Phase::Up(up) = &mut state.phase else { return };
            if !std::mem::take(&mut up.wrote) && up.outbox.is_empty() && up.link.waiting() == 0 {
                up.outbox.push_tick();
            }
        }
        self.pump_by_its_process();
        self.wake_another_if_room();
    }
}
