//! The groups of a scope by the terms that are their names.

use super::group_key::GroupKey;
use super::shared::SharedScope;
use krarup_gen::Pid;
use krarup_wire::etf::Term;
use std::fmt;
use std::sync::Arc;

/// The groups of a scope by any term: from
/// [`ClusterCalls::term_groups`](crate::ClusterCalls::term_groups).
///
/// Processes of Erlang nodes can join groups of any name. Those whose name is an atom or a binary that
/// is a text of at most 255 bytes are groups of [`Groups`](krarup_act::Groups), and are found there and
/// here. All others are found here.
#[derive(Clone)]
pub struct TermGroups(pub(crate) Arc<SharedScope>);

impl TermGroups {
    /// Returns the names of the groups that have members: first those that are texts, as this node
    /// writes them ([`GroupNames`](crate::GroupNames)), in alphabetical order, then the others in the
    /// order of terms.
    #[must_use]
    pub fn names(&self) -> Vec<Term> {
        let texts = self.0.groups.names();
        let mut names: Vec<Term> = texts.iter().map(|name| self.0.names.term(name)).collect();
        names.extend(self.0.terms.read().keys().cloned());
        names
    }

    /// Returns the members of a group, each as often as it has joined. Sends no message.
    #[must_use]
    pub fn members(&self, group: &Term) -> Vec<Pid> {
        match GroupKey::of(group) {
            GroupKey::Name(name) => self.0.groups.pids(name.as_str()),
            GroupKey::Term(term) => {
                let terms = self.0.terms.read();
                let members = terms.get(&term).into_iter().flatten();
                members.flat_map(|(pid, times)| std::iter::repeat_n(*pid, *times)).collect()
            }
            GroupKey::TooLong => Vec::new(),
        }
    }
}

impl fmt::Debug for TermGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TermGroups").field(&self.names()).finish()
    }
}
