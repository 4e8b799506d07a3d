//! Counters of a cluster.

/// How many messages did not arrive, since the cluster was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ClusterStats {
    /// Messages from other nodes to names that are not exported, or to pids that are unknown
    /// here (rule Zmsg10).
    pub unreachable: u64,
    /// Messages from other nodes that are not of their receiver's type (rule Zmsg8).
    pub undecodable: u64,
    /// Messages from other nodes that a full mailbox refused (rule Zmsg12).
    pub refused: u64,
    /// Answers to calls that were over (rule Zcall5): those of other nodes, and those of this one to
    /// callers whose connection was lost (rule Zlive5), or whose node could not be dialled or has
    /// started again.
    pub late: u64,
    /// Signals of this node that could not be written.
    pub dropped: u64,
    /// Requests of other nodes for a process that were refused because they had too many (rule
    /// Zcall9).
    pub refused_spawns: u64,
    /// Replies to spawn requests that this node had not made (rule Zsec5).
    pub unasked_replies: u64,
    /// What nodes asked for without the right to it (`NodeRights`, rule Zsec4).
    pub denied: u64,
    /// Members of groups, and scopes, that another node has announced beyond its bound (rule Zpg5).
    pub refused_members: u64,
    /// Messages to scopes of groups that were missed because too much waited. The members of the
    /// node were asked for again (rule Zpg4).
    pub missed_scope_messages: u64,
    /// Connections that have ended before they were up. Of others: strangers, wrong cookies and
    /// certificates, handshakes that took too long, and dials that gave way to this node's. Of this
    /// node: dials whose handshake failed, most often because the cookies differ (rules Zhs4,
    /// Zsec6, Zhs11).
    pub failed_handshakes: u64,
}

impl ClusterStats {
    /// Returns the counters after `fill`.
    #[must_use]
    pub fn with(mut self, fill: impl FnOnce(&mut Self)) -> Self {
        fill(&mut self);
        self
    }

    /// Returns each counter with the name of its field, in the order of the fields.
    #[must_use]
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        // Field by field, so that a new field cannot be left out unnoticed.
        let ClusterStats {
            unreachable,
            undecodable,
            refused,
            late,
            dropped,
            refused_spawns,
            unasked_replies,
            denied,
            refused_members,
            missed_scope_messages,
            failed_handshakes,
        } = *self;
        vec![
            ("unreachable", unreachable),
            ("undecodable", undecodable),
            ("refused", refused),
            ("late", late),
            ("dropped", dropped),
            ("refused_spawns", refused_spawns),
            ("unasked_replies", unasked_replies),
            ("denied", denied),
            ("refused_members", refused_members),
            ("missed_scope_messages", missed_scope_messages),
            ("failed_handshakes", failed_handshakes),
        ]
    }
}
