//! Pairs of a client and a server.

use crate::failure::ClusterFailure;
use std::fmt;
use std::str::FromStr;

/// What a node runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairRuntime {
    Otp,
    Krarup,
}

/// A client and a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodePair {
    pub(crate) client: PairRuntime,
    pub(crate) server: PairRuntime,
}

impl NodePair {
    /// All pairs. The first one is what the others are compared with.
    pub(crate) const ALL: [NodePair; 4] = {
        use PairRuntime::{Krarup, Otp};
        [
            NodePair { client: Otp, server: Otp },
            NodePair { client: Otp, server: Krarup },
            NodePair { client: Krarup, server: Otp },
            NodePair { client: Krarup, server: Krarup },
        ]
    };

    /// Whether it needs Erlang.
    pub(crate) fn has_otp(self) -> bool {
        [self.client, self.server].contains(&PairRuntime::Otp)
    }
}

impl fmt::Display for PairRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PairRuntime::Otp => "OTP",
            PairRuntime::Krarup => "Krarup",
        })
    }
}

impl fmt::Display for NodePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.client, self.server)
    }
}

impl FromStr for NodePair {
    type Err = ClusterFailure;

    fn from_str(text: &str) -> Result<Self, ClusterFailure> {
        let found = NodePair::ALL.into_iter().find(|pair| pair.to_string() == text);
        found.ok_or_else(|| ClusterFailure::UnknownPair(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_read_as_it_is_printed_and_another_one_is_refused() {
        for pair in NodePair::ALL {
            assert_eq!(pair.to_string().parse::<NodePair>().ok(), Some(pair));
        }
        assert!(matches!("OTP-BEAM".parse::<NodePair>(), Err(ClusterFailure::UnknownPair(_))));
    }
}
