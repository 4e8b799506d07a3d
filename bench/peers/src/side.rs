//! The two sides of a workload.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerSide {
    Krarup,
    Peer,
}

impl PeerSide {
    pub(crate) const BOTH: [PeerSide; 2] = [PeerSide::Krarup, PeerSide::Peer];
}

impl fmt::Display for PeerSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PeerSide::Krarup => "krarup",
            PeerSide::Peer => "peer",
        })
    }
}
