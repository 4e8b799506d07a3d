//! What the cluster shows to those who look at the node without knowing clusters (rule V88).

use super::ClusterCore;
use krarup_gen::{ClusterPicture, ConnectionGauges};

impl ClusterCore {
    /// The picture of now. What it tells is kept for other reasons: nothing is counted for it.
    pub(super) fn picture(&self) -> ClusterPicture {
        let kept = self.kept();
        ClusterPicture::new(self.pid).with(|picture| {
            picture.number = self.number;
            picture.address = self.listening.get().copied();
            picture.is_encrypted = !self.encryption.is_clear_text();
            picture.bound = self.limits.soft;
            picture.connections = self.gauges();
            picture.kept = kept;
            picture.stats = self.counters.stats();
        })
    }

    fn gauges(&self) -> Vec<ConnectionGauges> {
        let peers = self.connected();
        let described: Vec<_> = peers.iter().filter_map(|peer| peer.described()).collect();
        // The locks are taken one after the other: each is a leaf.
        let processes: Vec<_> = {
            let connections = self.connections.lock();
            let process = |id| connections.get(id).map(krarup_act::Address::pid);
            described.iter().map(|(id, _)| process(id)).collect()
        };
        let described = described.into_iter().zip(processes);
        described.map(|((id, info), process)| info.gauges(id, process)).collect()
    }
}
