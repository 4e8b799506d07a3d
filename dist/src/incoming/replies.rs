//! Replies of the peer to requests for processes (rules Zcall10, Zcall15).

use super::Dispatch;
use crate::error::ConnectionError;
use crate::functions::options::RequestedBonds;
use crate::requests::pending_requests::{RequestEnd, SpawnReplied};
use krarup_wire::etf::{Atom, ExternalPid, Reference};

impl Dispatch<'_> {
    /// Handles a reply to a spawn request. One that nobody waits for is counted (rule Zsec5).
    pub(super) fn spawn_replied(
        &self,
        (reference, to): (&Reference, ExternalPid),
        bonds: RequestedBonds,
        result: Result<ExternalPid, Atom>,
    ) -> Result<(), ConnectionError> {
        // A peer speaks for no other node.
        if let Ok(pid) = &result
            && pid.node != self.peer.name
        {
            return Err(ConnectionError::WrongSender { pid: pid.clone() });
        }
        let Some(number) = self.core.number_of(reference) else {
            self.core.counters.unasked_reply();
            return Ok(());
        };
        let made = result.as_ref().ok().cloned().filter(|_| bonds.link && to.node == self.core.me);
        match self.core.requests.replied(&self.peer.name, number, bonds, result) {
            SpawnReplied::Expected => {}
            SpawnReplied::Unasked => {
                self.core.counters.unasked_reply();
                // A request that has failed here was sent all the same: nobody here knows the process.
                if let Some(process) = made {
                    self.core.end_abandoned(&self.peer.name, to, process);
                }
            }
            SpawnReplied::Demonitor { from, process } => {
                self.core.demonitor_function(&self.peer.name, number, from, process);
            }
            SpawnReplied::Abandoned { from, process } => {
                self.core.end_abandoned(&self.peer.name, from, process);
            }
            SpawnReplied::Unlinked { from, process } => {
                self.core.exit_abandoned(&from, &process);
            }
            SpawnReplied::Made { process, link, waits } => {
                // Before the one who waits goes on: an end that follows is an end by the link.
                if let Some(from) = &link {
                    // This node has asked for the link, so the process need not be one that others may reach.
                    let local = self.core.own_pid(from).and_then(|pid| self.core.host.process(pid));
                    let linked = self.link_to(&process, from, local);
                    if !matches!(linked, Ok(true)) {
                        drop(waits.send(RequestEnd::Lost));
                        return linked.map(drop);
                    }
                }
                if waits.send(RequestEnd::Made(process.clone())).is_err()
                    && let Some(from) = link
                {
                    self.core.abandon_linked(&from, &process);
                }
            }
        }
        Ok(())
    }
}
