//! Who may connect, with which cookie, and what for: settings of a cluster by patterns of names.

use super::Cluster;
use crate::rights::node_pattern::NodePattern;
use crate::rights::node_rights::NodeRights;
use krarup_wire::handshake::Cookie;
use std::sync::Arc;

impl Cluster {
    /// Allows the nodes of these patterns, and no others: neither do others connect, nor are they
    /// dialled. Their names are looked at before any cookie (rule Zsec3), so a stranger with
    /// another name learns nothing. Without this, every node with the cookie is allowed; several
    /// calls add up. A text that is no [`NodePattern`] fails the spawn with
    /// [`StartError::NodePattern`](crate::StartError::NodePattern).
    ///
    /// A name is a claim: it keeps strangers out that have the cookie, not those who know an
    /// allowed name, too. A list without entries allows nobody.
    ///
    /// ```
    /// # use krarup_dist::{Cluster, Cookie};
    /// # fn cluster(cookie: Cookie) -> Cluster {
    /// Cluster::new(cookie).allow(["shop@10.0.0.7", "web*@10.0.0.*"])
    /// # }
    /// ```
    #[must_use]
    pub fn allow(mut self, nodes: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        // A list without entries allows nobody.
        self.settings.admission.allowed.get_or_insert_default();
        for node in nodes {
            let pattern = self.pattern(node.as_ref());
            self.settings.admission.allowed.get_or_insert_default().extend(pattern);
        }
        self
    }

    /// Shares this cookie with the nodes of a pattern, as OTP's `erlang:set_cookie(Node, Cookie)`:
    /// in both directions, in place of the one of [`Cluster::new`] (rule Zsec3). Of several
    /// patterns that a node matches, the first counts.
    ///
    /// ```
    /// # use krarup_dist::{Cluster, Cookie};
    /// # fn cluster(ours: Cookie, of_the_bank: Cookie) -> Cluster {
    /// Cluster::new(ours).cookie_for("bank@10.0.0.9", of_the_bank)
    /// # }
    /// ```
    #[must_use]
    pub fn cookie_for(mut self, nodes: &str, cookie: Cookie) -> Self {
        let pattern = self.pattern(nodes);
        self.settings.admission.cookies.extend(pattern.map(|pattern| (pattern, cookie)));
        self
    }

    /// Narrows what the nodes of a pattern may do with what is exported and served (rule Zsec4). Of
    /// several patterns that a node matches, the first counts; a node that matches none may do
    /// everything. What is not exported stays out of reach, whatever the rights say.
    ///
    /// ```
    /// # use krarup_dist::{Cluster, Cookie, NodeRights, Reach};
    /// # fn cluster(cookie: Cookie) -> Cluster {
    /// Cluster::new(cookie)
    ///     .policy("web*@*", NodeRights::none().call(Reach::only(["calc:add"])))
    ///     .policy("ops@10.0.0.7", NodeRights::all())
    ///     .policy("*@*", NodeRights::none())
    /// # }
    /// ```
    #[must_use]
    pub fn policy(mut self, nodes: &str, rights: NodeRights) -> Self {
        let pattern = self.pattern(nodes);
        self.settings.admission.rights.extend(pattern.map(|pattern| (pattern, Arc::new(rights))));
        self
    }

    /// Says that the nodes of a pattern run OTP 25 or older: `sys:get_state` there wants the plain
    /// state as the answer, and takes `{ok, State}` for the state. Nothing in the protocol tells
    /// the two apart (rule Zcall12).
    #[must_use]
    pub fn otp_25(mut self, nodes: &str) -> Self {
        let pattern = self.pattern(nodes);
        self.settings.admission.plain_states.extend(pattern);
        self
    }

    /// Reads a pattern. What is none fails the spawn.
    fn pattern(&mut self, text: &str) -> Option<NodePattern> {
        text.parse().map_err(|error| self.settings.odd_patterns.push(error)).ok()
    }
}
