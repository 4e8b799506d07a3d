//! The way of a signal from the queue of a peer to its socket.

use super::room::Overloaded;
use super::{NotSent, PeerNode, Phase};
use crate::peer::control_trace::TracedControl;
use crate::peer::owner::PeerOwner;
use crate::peer::signal::ShowControl;
use krarup_act::current_pid;
use krarup_wire::{ControlMessage, DistributionFlags};
use std::sync::Arc;

/// How many bytes are handed to the socket at a time.
const BATCH: usize = 32 << 10;
/// How many batches one thread writes before others have their turn.
const MOST_BATCHES: usize = 4;
/// How many bytes a process leaves to the process of the connection.
const MOST_LEFT: usize = 64 << 10;

impl PeerNode {
    /// Sends what is recorded, or asks for a connection. No lock may be held.
    ///
    /// A process leaves the writing to the process of the connection, whose turn comes behind its
    /// own. So what it sends in a turn, and what others send meanwhile, is written together. While
    /// the node stops it writes itself: the process of the connection may end first (rule Zlive6).
    pub(crate) fn flush<O: PeerOwner>(&self, owner: &Arc<O>) {
        let link = {
            let state = self.state.lock();
            if state.queue.is_empty() && !state.wants_dial {
                return;
            }
            match &state.phase {
                Phase::Up(up)
                    if state.queued <= MOST_LEFT
                        && (current_pid().is_some() || up.link.is_reading()) =>
                {
                    Some(Arc::clone(&up.link))
                }
                _ => None,
            }
        };
        match link {
            Some(link) if !owner.host().is_node_stopping() => link.wake(),
            _ => self.flush_now(owner),
        }
    }

    /// As [`PeerNode::flush`], on this thread.
    pub(crate) fn flush_now<O: PeerOwner>(&self, owner: &Arc<O>) {
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
                    owner.not_sent(self, signal, NotSent::Unknown);
                    continue;
                }
                sequence += 1;
                match signal.frame(flags, sequence, show) {
                    Ok(framed) => messages.push(framed),
                    Err(error) => owner.log_dropped(&self.name, &error),
                }
            }
            let mut state = self.state.lock();
            state.flushing = false;
            let up = match &mut state.phase {
                Phase::Up(up) if up.connection == connection => up,
                // It was lost in between.
                _ => {
                    drop(state);
                    for letter in messages.into_iter().filter_map(|framed| framed.letter) {
                        owner.not_written(self, letter);
                    }
                    continue;
                }
            };
            up.sequence = sequence;
            up.sent.messages += messages.len() as u64;
            // A tick is no reason to leave out the next one.
            up.wrote |= !messages.is_empty();
            messages.into_iter().for_each(|framed| up.outbox.push(framed));
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

    /// Whether anything waits that the socket has not been given.
    pub(crate) fn waits_to_write(&self) -> bool {
        let state = self.state.lock();
        let Phase::Up(up) = &state.phase else { return false };
        state.flushing || !state.queue.is_empty() || !up.outbox.is_empty()
    }

    /// The bytes that the socket was given since the connection is up.
    pub(crate) fn sent_bytes(&self) -> u64 {
        match &self.state.lock().phase {
            Phase::Up(up) => up.sent.bytes,
            _ => 0,
        }
    }

    /// Hands waiting frames to the socket, as many as it takes.
    pub(crate) fn pump(&self) {
        if let Some(overloaded) = self.overloaded() {
            if let Overloaded::Connection(link) = overloaded {
                link.close("overload");
            }
            return;
        }
        for batch in 1.. {
            let link = {
                let mut state = self.state.lock();
                let Phase::Up(up) = &mut state.phase else { return };
                if up.outbox.is_empty() {
                    break;
                }
                if up.link.waiting() >= BATCH {
                    // Another thread is about to write it, and looks here again; or the socket is
                    // full, and its process goes on when it takes more. To wake it would have it
                    // turn in circles until then.
                    break;
                }
                let mut bytes = up.outbox.take_ready();
                up.outbox.take(BATCH, &mut bytes);
                up.sent.bytes += bytes.len() as u64;
                up.link.append(bytes);
                Arc::clone(&up.link)
            };
            if !link.write() || batch == MOST_BATCHES {
                // The process of the connection goes on, and reads in between.
                link.wake();
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
        self.pump();
        self.wake_another_if_room();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ClusterCore;
    use crate::peer::queue_limits::QueueLimits;
    use crate::peer::signal::{Signal, SignalPayload};
    use crate::peer::{PeerAbout, PeerLink};
    use crate::{Cluster, HasCluster, SimNetwork};
    use krarup_act::{Context, behavior_fn};
    use krarup_gen::NodeName;
    use krarup_node::Simulation;
    use krarup_wire::etf::{Atom, ExternalPid};
    use krarup_wire::handshake::Cookie;
    use parking_lot::Mutex;

    /// What was done with a socket.
    #[derive(Debug, Default, PartialEq)]
    struct Done {
        writes: usize,
        bytes: usize,
        wakes: usize,
    }

    /// A socket that takes everything.
    #[derive(Default)]
    struct CountingLink {
        done: Mutex<Done>,
        reads: std::sync::atomic::AtomicBool,
    }

    impl PeerLink for CountingLink {
        fn append(&self, bytes: Vec<u8>) {
            self.done.lock().bytes += bytes.len();
        }

        fn write(&self) -> bool {
            self.done.lock().writes += 1;
            true
        }

        fn waiting(&self) -> usize {
            0
        }

        fn wake(&self) {
            self.done.lock().wakes += 1;
        }

        fn is_reading(&self) -> bool {
            self.reads.load(std::sync::atomic::Ordering::Relaxed)
        }

        fn close(&self, _: &'static str) {}
    }

    fn say(peer: &PeerNode, core: &Arc<ClusterCore>, bytes: usize) {
        let to = ExternalPid { node: peer.name.clone(), id: 1, serial: 0, creation: 4 };
        let signal = Signal::new(1, ControlMessage::Send { to }, None);
        assert!(peer.push(signal.with_payload(SignalPayload::Bytes(vec![106; bytes]))).is_none());
        peer.flush(core);
    }

    /// What a link has done when a process, or else this thread, has sent `count` messages.
    fn sent(in_process: bool, reads: bool, (count, bytes): (usize, usize)) -> (Done, Done) {
        let found = Mutex::new(None);
        Simulation::explore(0..1, |sim| {
            let net = SimNetwork::new();
            let node = sim.beside("a@sim")?;
            let cluster = move || Cluster::new(Cookie::new("secret").unwrap()).network(&net);
            let core = node.spawn_system(cluster).wait()?.cluster()?.0;
            let name = NodeName::new("z@sim").unwrap();
            let (atom, limits) =
                (Atom::fixed("z@sim"), QueueLimits { soft: 1 << 20, hard: 2 << 20 });
            let peer = PeerNode::new(atom, name, limits, None);
            let link = Arc::new(CountingLink::default());
            let flags = DistributionFlags::OFFERED;
            let about = PeerAbout { incarnation: 9, creation: 4, flags, is_dialled: true };
            peer.up(&core, 7, about, Arc::clone(&link) as _);
            link.reads.store(reads, std::sync::atomic::Ordering::Relaxed);
            let work = {
                let (peer, core) = (Arc::clone(&peer), Arc::clone(&core));
                move || (0..count).for_each(|_| say(&peer, &core, bytes))
            };
            if in_process {
                let process = move |_: Context<()>| async move {
                    work();
                    Ok(())
                };
                let process = behavior_fn(process);
                node.spawn(move || process).wait()?;
                sim.run_until_idle();
            } else {
                work();
            }
            let before = std::mem::take(&mut *link.done.lock());
            peer.flush_now(&core);
            let after = std::mem::take(&mut *link.done.lock());
            *found.lock() = Some((before, after));
            Ok(())
        });
        found.into_inner().unwrap()
    }

    #[test]
    fn zmsg5_what_a_process_sends_in_a_turn_is_written_at_once_by_the_process_of_the_connection() {
        let (sends, connection) = sent(true, false, (100, 60));
        assert_eq!((sends.writes, sends.bytes, sends.wakes), (0, 0, 100));
        assert_eq!(connection.writes, 1);
        assert!(connection.bytes > 100 * 60);
        // So it is with what is said while a frame is handled.
        assert_eq!(sent(false, true, (100, 60)).0.writes, 0);
        // A thread that is no process writes itself.
        let (sends, connection) = sent(false, false, (100, 60));
        assert_eq!((sends.writes, sends.wakes), (100, 0));
        assert_eq!(connection.writes, 0);
    }

    #[test]
    fn zmsg5_a_process_that_sends_much_in_a_turn_writes_itself() {
        let (sends, _) = sent(true, false, (100, 2_000));
        assert!((1..10).contains(&sends.writes), "{sends:?}");
        assert!(sends.bytes > MOST_LEFT, "{sends:?}");
    }
}
