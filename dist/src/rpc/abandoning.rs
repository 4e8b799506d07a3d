//! Calls of functions that are given up.

use crate::core::ClusterCore;
use crate::peer::signal::Signal;
use crate::rpc::pending_rpcs::GivenUp;
use krarup_gen::{NodeName, Ref};
use krarup_wire::etf::{Atom, ExternalPid};
use krarup_wire::{ControlMessage, Monitored};
use std::sync::Arc;

/// A call that is under way; dropping it gives it up.
pub(crate) struct RpcUnderWay {
    pub(crate) core: Arc<ClusterCore>,
    pub(crate) number: u64,
}

impl Drop for RpcUnderWay {
    fn drop(&mut self) {
        match self.core.rpcs.give_up(self.number) {
            GivenUp::Over => {}
            GivenUp::Demonitor { node, from, process } => {
                self.core.demonitor_function(&node, self.number, from, process);
            }
            GivenUp::TooMany(node) => {
                if let Ok(node) = NodeName::new(node.as_str()) {
                    self.core.disconnect(&node);
                }
            }
        }
    }
}

impl ClusterCore {
    /// Removes the monitor of a call that was given up.
    pub(crate) fn demonitor_function(
        self: &Arc<Self>,
        node: &Atom,
        number: u64,
        from: ExternalPid,
        process: ExternalPid,
    ) {
        let Some(peer) = self.peer(node).filter(|peer| peer.is_up()) else { return };
        let by = u64::from(from.serial) << 32 | u64::from(from.id);
        let (target, reference) = (Monitored::Pid(process), self.reference(Ref::new(number)));
        let control = ControlMessage::Demonitor { from, target, reference };
        // If it is lost, there is nothing to remove.
        drop(peer.push(Signal::new(by, control, None)));
        peer.flush(self);
    }
}
