//! The messages between scopes: how they are read, and how they are written.
//!
//! A message is read whole or not at all. A node speaks for its own processes only: the scope and the
//! members in a message must be of the incarnation that has sent it.

use super::group_key::GroupKey;
use krarup_gen::Pid;
use krarup_wire::etf::{Atom, ExternalPid, Term};

/// Groups with their members, each as often as it has joined.
pub(crate) type AnnouncedGroups = Vec<(GroupKey, Vec<Pid>)>;

/// What a scope of another node says.
#[derive(Debug, PartialEq)]
pub(crate) enum ScopeSignal {
    Discover { from: Pid },
    Sync { from: Pid, groups: AnnouncedGroups },
    Join { from: Pid, group: GroupKey, pids: Vec<Pid> },
    Leave { from: Pid, pids: Vec<Pid>, groups: Vec<GroupKey> },
}

/// The incarnation of the node that has sent a message.
#[derive(Debug)]
pub(crate) struct SenderNode {
    pub(crate) name: Atom,
    pub(crate) creation: u32,
    /// Its number here.
    pub(crate) incarnation: u32,
    /// The creation in the pids of this node.
    pub(crate) ours: u32,
}

impl SenderNode {
    fn pid(&self, term: &Term) -> Option<Pid> {
        let Term::Pid(pid) = term else { return None };
        let ExternalPid { node, id, serial, creation } = &**pid;
        if *node != self.name || *creation != self.creation {
            return None;
        }
        let number = u64::from(*serial) << 32 | u64::from(*id);
        Some(Pid::remote(number, self.incarnation, self.ours))
    }

    /// A pid, or a list of pids.
    fn pids(&self, term: &Term) -> Option<Vec<Pid>> {
        match term {
            Term::List(pids) => pids.iter().map(|pid| self.pid(pid)).collect(),
            pid => Some(vec![self.pid(pid)?]),
        }
    }

    fn group(&self, (group, pids): (&Term, &Term)) -> Option<(GroupKey, Vec<Pid>)> {
        match pids {
            Term::List(_) => Some((GroupKey::of(group), self.pids(pids)?)),
            _ => None,
        }
    }

    /// `[{Group, Pids}]`.
    fn listed(&self, groups: &Term) -> Option<AnnouncedGroups> {
        let Term::List(groups) = groups else { return None };
        let pairs = groups.iter().map(|pair| match pair {
            Term::Tuple(pair) => match &pair[..] {
                [group, pids] => self.group((group, pids)),
                _ => None,
            },
            _ => None,
        });
        pairs.collect()
    }

    /// `#{Group => Pids}`.
    fn mapped(&self, groups: &Term) -> Option<AnnouncedGroups> {
        let Term::Map(groups) = groups else { return None };
        groups.iter().map(|pair| self.group(pair)).collect()
    }
}

impl ScopeSignal {
    /// Reads a message; `None` if it is none of a scope of that node.
    pub(crate) fn read(message: &Term, sender: &SenderNode) -> Option<Self> {
        let Term::Tuple(parts) = message else { return None };
        let (Term::Atom(tag), rest) = parts.split_first()? else { return None };
        match (tag.as_str(), rest) {
            // Any version: the answer of OTP to ours, which has none, is the oldest.
            ("discover", [from] | [from, _]) => {
                Some(ScopeSignal::Discover { from: sender.pid(from)? })
            }
            ("join", [from, group, pids]) => {
                let (from, pids) = (sender.pid(from)?, sender.pids(pids)?);
                Some(ScopeSignal::Join { from, group: GroupKey::of(group), pids })
            }
            ("leave", [from, pids, Term::List(groups)]) => {
                let (from, pids) = (sender.pid(from)?, sender.pids(pids)?);
                let groups = groups.iter().map(GroupKey::of).collect();
                Some(ScopeSignal::Leave { from, pids, groups })
            }
            ("$gen_cast", [Term::Tuple(cast)]) => match &cast[..] {
                [Term::Atom(tag), from, groups] if *tag == "sync" => {
                    let (from, groups) = (sender.pid(from)?, sender.listed(groups)?);
                    Some(ScopeSignal::Sync { from, groups })
                }
                [Term::Atom(tag), from, Term::Int(1), groups] if *tag == "local_data" => {
                    let (from, groups) = (sender.pid(from)?, sender.mapped(groups)?);
                    Some(ScopeSignal::Sync { from, groups })
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// How much of the bound of a scope's mailbox it takes: its memberships.
    pub(crate) fn weight(&self) -> usize {
        1 + match self {
            ScopeSignal::Discover { .. } => 0,
            ScopeSignal::Sync { groups, .. } => groups.iter().map(|(_, pids)| 1 + pids.len()).sum(),
            ScopeSignal::Join { pids, .. } => pids.len(),
            ScopeSignal::Leave { pids, groups, .. } => pids.len() + groups.len(),
        }
    }
}

/// `{discover, Scope}`.
pub(crate) fn discover(scope: ExternalPid) -> Term {
    Term::tuple([Term::atom("discover"), scope.into()])
}

/// `{join, Scope, Group, [Pid]}`.
pub(crate) fn join(scope: ExternalPid, group: Term, pid: ExternalPid) -> Term {
    Term::tuple([Term::atom("join"), scope.into(), group, Term::list([pid.into()])])
}

/// `{leave, Scope, [Pid], [Group]}`.
pub(crate) fn leave(scope: ExternalPid, pid: ExternalPid, group: Term) -> Term {
    let (pids, groups) = (Term::list([pid.into()]), Term::list([group]));
    Term::tuple([Term::atom("leave"), scope.into(), pids, groups])
}

/// `{'$gen_cast', {sync, Scope, [{Group, Pids}]}}`.
pub(crate) fn sync(scope: ExternalPid, groups: impl IntoIterator<Item = (Term, Term)>) -> Term {
    let groups = groups.into_iter().map(|(group, pids)| Term::tuple([group, pids]));
    let cast = Term::tuple([Term::atom("sync"), scope.into(), Term::list(groups)]);
    Term::tuple([Term::atom("$gen_cast"), cast])
}

#[cfg(test)]
mod tests {
    use super::*;
    use krarup_gen::Name;
    use krarup_wire::etf::Map;

    fn sender() -> SenderNode {
        SenderNode { name: Atom::fixed("erl@host"), creation: 7, incarnation: 3, ours: 9 }
    }

    fn external(id: u32) -> ExternalPid {
        ExternalPid { node: Atom::fixed("erl@host"), id, serial: 0, creation: 7 }
    }

    fn pid(id: u64) -> Pid {
        Pid::remote(id, 3, 9)
    }

    fn key(text: &str) -> GroupKey {
        GroupKey::Name(Name::new(text).unwrap())
    }

    fn read(parts: impl IntoIterator<Item = Term>) -> Option<ScopeSignal> {
        ScopeSignal::read(&Term::tuple(parts), &sender())
    }

    #[test]
    fn zpg5_every_message_of_a_scope_is_read_in_each_of_its_forms() {
        let (g, p) = (|| Term::atom("g"), |id| Term::from(external(id)));
        let discovered = Some(ScopeSignal::Discover { from: pid(1) });
        assert_eq!(read([Term::atom("discover"), p(1)]), discovered);
        assert_eq!(read([Term::atom("discover"), p(1), Term::Int(1)]), discovered);
        assert_eq!(read([Term::atom("discover"), p(1), g()]), discovered);
        let joined = |pids: &[u64]| {
            let pids = pids.iter().copied().map(pid).collect();
            Some(ScopeSignal::Join { from: pid(1), group: key("g"), pids })
        };
        assert_eq!(read([Term::atom("join"), p(1), g(), p(2)]), joined(&[2]));
        let several = Term::list([p(2), p(2), p(4)]);
        assert_eq!(read([Term::atom("join"), p(1), g(), several]), joined(&[2, 2, 4]));
        let groups = Term::list([g(), Term::Int(5)]);
        let left = Some(ScopeSignal::Leave {
            from: pid(1),
            pids: vec![pid(2)],
            groups: vec![key("g"), GroupKey::Term(Term::Int(5))],
        });
        assert_eq!(read([Term::atom("leave"), p(1), p(2), groups.clone()]), left);
        assert_eq!(read([Term::atom("leave"), p(1), Term::list([p(2)]), groups]), left);
        let synced = Some(ScopeSignal::Sync {
            from: pid(1),
            groups: vec![(key("g"), vec![pid(2), pid(2)])],
        });
        let pids = || Term::list([p(2), p(2)]);
        assert_eq!(ScopeSignal::read(&sync(external(1), [(g(), pids())]), &sender()), synced);
        let map = Map::new([(g(), pids())]).unwrap();
        let data = [Term::atom("local_data"), p(1), Term::Int(1), map.into()];
        assert_eq!(read([Term::atom("$gen_cast"), Term::tuple(data)]), synced);
        // What this node writes is read by another one.
        for (written, weight) in [
            (discover(external(1)), 1),
            (join(external(1), g(), external(2)), 2),
            (leave(external(1), external(2), g()), 3),
        ] {
            assert_eq!(ScopeSignal::read(&written, &sender()).unwrap().weight(), weight);
        }
        assert_eq!(synced.map(|synced| synced.weight()), Some(4));
    }

    #[test]
    fn zpg5_a_message_that_is_malformed_or_speaks_for_another_node_is_not_read() {
        let (g, p) = (|| Term::atom("g"), |id| Term::from(external(id)));
        let other = |pid: ExternalPid| Term::from(pid);
        let elsewhere = || other(ExternalPid { node: Atom::fixed("third@host"), ..external(2) });
        let earlier = || other(ExternalPid { creation: 6, ..external(2) });
        let tag = Term::atom;
        let cast = |parts: Vec<Term>| vec![tag("$gen_cast"), Term::tuple(parts)];
        let improper = Term::list_with_tail([p(2)], p(3));
        for parts in [
            vec![],
            vec![tag("discover")],
            vec![tag("discover"), Term::Int(1)],
            vec![tag("discover"), elsewhere()],
            vec![tag("discover"), earlier()],
            vec![tag("discover"), p(1), g(), g()],
            vec![tag("join"), p(1), g()],
            vec![tag("join"), p(1), g(), g()],
            vec![tag("join"), p(1), g(), elsewhere()],
            vec![tag("join"), p(1), g(), Term::list([p(2), earlier()])],
            vec![tag("join"), p(1), g(), improper],
            vec![tag("join"), elsewhere(), g(), p(2)],
            vec![tag("leave"), p(1), p(2), g()],
            vec![tag("leave"), p(1), g(), Term::list([g()])],
            vec![tag("sync"), p(1), Term::nil()],
            cast(vec![tag("sync"), p(1), g()]),
            cast(vec![tag("sync"), p(1), Term::list([g()])]),
            cast(vec![tag("sync"), p(1), Term::list([Term::tuple([g(), p(2)])])]),
            cast(vec![tag("sync"), p(1), Term::list([Term::tuple([g(), Term::list([g()])])])]),
            cast(vec![tag("local_data"), p(1), Term::Int(1), Term::nil()]),
            cast(vec![tag("local_data"), p(1), Term::Int(2), Map::new([]).unwrap().into()]),
            vec![Term::Int(1), p(1)],
        ] {
            assert_eq!(read(parts.clone()), None, "{parts:?}");
        }
        assert_eq!(ScopeSignal::read(&g(), &sender()), None);
    }
}
