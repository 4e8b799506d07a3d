//! Which nodes may connect, with which cookie, and with which rights.

use crate::rights::node_pattern::NodePattern;
use crate::rights::node_rights::NodeRights;
use krarup_wire::handshake::Cookie;
use std::sync::Arc;

/// What is decided of a node by its name alone. Of several entries for it, the first counts.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    /// The nodes that are allowed; `None`: all.
    pub(crate) allowed: Option<Vec<NodePattern>>,
    /// The cookie of all nodes without one of their own.
    pub(crate) cookie: Cookie,
    pub(crate) cookies: Vec<(NodePattern, Cookie)>,
    pub(crate) rights: Vec<(NodePattern, Arc<NodeRights>)>,
    /// The nodes whose `sys:get_state` wants the plain state.
    pub(crate) plain_states: Vec<NodePattern>,
}

impl Admission {
    pub(crate) fn new(cookie: Cookie) -> Self {
        let (cookies, rights, plain_states) = Default::default();
        Admission { allowed: None, cookie, cookies, rights, plain_states }
    }

    /// Whether a node may connect, and be connected to (rule Zsec3).
    pub(crate) fn admits(&self, node: &str) -> bool {
        let allowed = self.allowed.as_ref();
        allowed.is_none_or(|allowed| allowed.iter().any(|pattern| pattern.matches(node)))
    }

    /// The cookie that is shared with a node (rule Zsec3).
    pub(crate) fn cookie_of(&self, node: &str) -> &Cookie {
        first(&self.cookies, node).unwrap_or(&self.cookie)
    }

    /// The rights of a node; `None` if they are not narrowed (rule Zsec4).
    pub(crate) fn rights_of(&self, node: &str) -> Option<Arc<NodeRights>> {
        first(&self.rights, node).cloned()
    }

    /// Whether a node wants the plain state (rule Zcall12).
    pub(crate) fn wants_plain_state(&self, node: &str) -> bool {
        self.plain_states.iter().any(|pattern| pattern.matches(node))
    }
}

fn first<'a, T>(entries: &'a [(NodePattern, T)], node: &str) -> Option<&'a T> {
    entries.iter().find(|(pattern, _)| pattern.matches(node)).map(|(_, value)| value)
}
