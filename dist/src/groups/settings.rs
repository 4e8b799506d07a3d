//! Which groups a cluster carries, and how.

use super::group_names::GroupNames;
use super::shared::SharedScope;
use crate::error::StartError;
use krarup_act::{Groups, Host};
use krarup_gen::{Name, Result};
use krarup_wire::etf::Atom;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The most that one node announces of groups, unless told otherwise.
const MEMBER_LIMIT: usize = 1 << 18;

/// The groups that are carried to other nodes.
pub(crate) struct ScopeSettings {
    /// The scope of the groups of the node.
    pub(crate) own: Option<String>,
    pub(crate) further: BTreeSet<String>,
    pub(crate) names: GroupNames,
    /// The most that one node announces.
    pub(crate) limit: usize,
}

impl Default for ScopeSettings {
    fn default() -> Self {
        let (own, further) = (None, BTreeSet::new());
        ScopeSettings { own, further, names: GroupNames::default(), limit: MEMBER_LIMIT }
    }
}

impl ScopeSettings {
    /// The scopes with their groups.
    pub(crate) fn shared(&self, host: &Arc<dyn Host>) -> Result<Vec<Arc<SharedScope>>> {
        if self.limit == 0 {
            return Err(StartError::MemberLimit.into());
        }
        let further = self.further.iter().filter(|scope| Some(*scope) != self.own.as_ref());
        let mut scopes = Vec::new();
        for scope in self.own.iter().chain(further) {
            let name = Name::new(scope)?;
            let atom = Atom::new(scope)?;
            let groups = if Some(scope) == self.own.as_ref() {
                Groups::of(Arc::clone(host))
            } else {
                Groups::of_scope(Arc::clone(host), &name)
            };
            scopes.push(SharedScope::new((name, atom), self.names, self.limit, groups));
        }
        Ok(scopes)
    }
}
