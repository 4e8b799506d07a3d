//! The part of a scope that its process, the connections and the users share.
//!
//! What waits of one node in the mailbox of the scope is bounded by weight: the memberships in it, and
//! 1 for each 64 bytes. A message beyond the bound is missed. The scope is told once, behind what waits, and has the node announce
//! all of its members again.

use super::group_names::GroupNames;
use super::scope_message::ScopeMessage;
use super::scope_signal::ScopeSignal;
use krarup_act::{Groups, Recipient};
use krarup_gen::{Name, Pid};
use krarup_wire::etf::{Atom, Term};
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most that waits of one node in the mailbox of a scope.
const MOST_WAITING: usize = 1 << 20;
/// How many bytes of a message count as one membership.
const WAITING_UNIT: usize = 64;

/// Groups whose names are no texts, with how often each member has joined.
pub(crate) type MembersByTerm = BTreeMap<Term, BTreeMap<Pid, usize>>;

/// One scope of this node.
pub(crate) struct SharedScope {
    pub(crate) name: Name,
    /// Its name on the wire.
    pub(crate) atom: Atom,
    pub(crate) names: GroupNames,
    /// The most that one node may announce.
    pub(crate) limit: usize,
    pub(crate) groups: Groups,
    pub(crate) terms: RwLock<MembersByTerm>,
    inbox: Mutex<ScopeInbox>,
}

#[derive(Default)]
struct ScopeInbox {
    process: Option<(Pid, Recipient<ScopeMessage>)>,
    waiting: BTreeMap<Atom, usize>,
    missed: BTreeSet<Atom>,
}

/// What became of a message to a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScopePut {
    Waits,
    /// Too much waits.
    Missed,
    /// The scope does not run.
    NoProcess,
}

impl SharedScope {
    pub(crate) fn new(
        (name, atom): (Name, Atom),
        names: GroupNames,
        limit: usize,
        groups: Groups,
    ) -> Arc<Self> {
        let (terms, inbox) = (RwLock::default(), Mutex::default());
        Arc::new(SharedScope { name, atom, names, limit, groups, terms, inbox })
    }

    /// The process of the scope runs.
    pub(crate) fn runs(&self, process: Recipient<ScopeMessage>) {
        let process = Some((process.pid(), process));
        let inbox = ScopeInbox { process, ..ScopeInbox::default() };
        let before = std::mem::replace(&mut *self.inbox.lock(), inbox);
        drop(before);
    }

    /// The process with this pid has ended.
    pub(crate) fn has_ended(&self, pid: Pid) {
        let mut inbox = self.inbox.lock();
        let is_it = inbox.process.as_ref().is_some_and(|(process, _)| *process == pid);
        let gone = if is_it { Some(std::mem::take(&mut *inbox)) } else { None };
        drop(inbox);
        drop(gone);
    }

    /// The process of the scope, if it runs.
    pub(crate) fn process(&self) -> Option<Pid> {
        self.inbox.lock().process.as_ref().map(|(process, _)| *process)
    }

    /// Passes a message of a node, of so many bytes, on to the process.
    pub(crate) fn put(&self, node: &Atom, signal: ScopeSignal, bytes: usize) -> ScopePut {
        let weight = signal.weight().saturating_add(bytes / WAITING_UNIT);
        let (recipient, message, put) = {
            let mut inbox = self.inbox.lock();
            let Some((_, recipient)) = &inbox.process else { return ScopePut::NoProcess };
            let recipient = recipient.clone();
            let waiting = inbox.waiting.get(node).copied().unwrap_or(0);
            // A single message is never too much.
            if waiting == 0 || waiting.saturating_add(weight) <= MOST_WAITING {
                inbox.waiting.insert(node.clone(), waiting.saturating_add(weight));
                (recipient, ScopeMessage::Signal(node.clone(), signal, weight), ScopePut::Waits)
            } else if inbox.missed.insert(node.clone()) {
                (recipient, ScopeMessage::Missed(node.clone()), ScopePut::Missed)
            } else {
                return ScopePut::Missed;
            }
        };
        recipient.notify(message);
        put
    }

    /// The process has taken a message of a node, of this weight.
    pub(crate) fn taken(&self, node: &Atom, weight: usize) {
        let mut inbox = self.inbox.lock();
        if let Some(waiting) = inbox.waiting.get_mut(node) {
            *waiting = waiting.saturating_sub(weight);
            if *waiting == 0 {
                inbox.waiting.remove(node);
            }
        }
    }

    /// The process has taken the notice that messages of a node were missed.
    pub(crate) fn missed_taken(&self, node: &Atom) {
        self.inbox.lock().missed.remove(node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use krarup_act::{Actor, Context, Host};
    use krarup_gen::Result;
    use krarup_node::Simulation;

    #[derive(Default)]
    struct NotedSignals {
        got: Arc<Mutex<Vec<String>>>,
    }

    impl Actor for NotedSignals {
        type Message = ScopeMessage;

        async fn handle_message(
            &mut self,
            _: &mut Context<ScopeMessage>,
            message: ScopeMessage,
        ) -> Result {
            self.got.lock().push(match message {
                ScopeMessage::Signal(_, _, weight) => format!("weight {weight}"),
                ScopeMessage::Missed(node) => format!("missed of {node}"),
                other => format!("{other:?}"),
            });
            Ok(())
        }
    }

    #[test]
    fn zpg4_messages_beyond_the_bound_are_missed_and_the_scope_is_told_once_behind_the_others() {
        let sim = Simulation::new(1);
        let got = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&got);
        let process = sim.spawn(move || NotedSignals { got: told }).wait().unwrap();
        let host: Arc<dyn Host> = process.node_host();
        let (name, atom) = (Name::new("pg").unwrap(), Atom::fixed("pg"));
        let names = GroupNames::default();
        let scope = SharedScope::new((name, atom), names, 1, Groups::of(host));
        let [a, b] = ["a@host", "b@host"].map(Atom::fixed);
        let small = || ScopeSignal::Discover { from: process.pid() };
        let pids = vec![process.pid(); MOST_WAITING];
        let large = ScopeSignal::Leave { from: process.pid(), pids, groups: Vec::new() };
        assert_eq!(scope.put(&a, small(), 0), ScopePut::NoProcess);
        scope.runs(process.recipient());
        assert_eq!(scope.process(), Some(process.pid()));
        // A single one is never too much, and nothing is beside it.
        assert_eq!(scope.put(&a, large, 0), ScopePut::Waits);
        let missed = [&a, &a, &a].map(|node| scope.put(node, small(), 0));
        assert_eq!(missed, [ScopePut::Missed; 3]);
        // Another node has a bound of its own, for which the bytes of a message count too.
        assert_eq!(scope.put(&b, small(), MOST_WAITING * WAITING_UNIT), ScopePut::Waits);
        assert_eq!(scope.put(&b, small(), 0), ScopePut::Missed);
        sim.run_until_idle();
        let large = format!("weight {}", MOST_WAITING + 1);
        let lines = [large.as_str(), "missed of a@host", large.as_str(), "missed of b@host"];
        assert_eq!(*got.lock(), lines);
        scope.taken(&a, MOST_WAITING + 1);
        scope.taken(&b, MOST_WAITING + 1);
        scope.missed_taken(&b);
        assert_eq!(scope.put(&a, small(), 0), ScopePut::Waits);
        // Told again only when the notice was taken.
        scope.taken(&a, 1);
        scope.missed_taken(&a);
        let pids = vec![process.pid(); MOST_WAITING];
        let large = ScopeSignal::Leave { from: process.pid(), pids, groups: Vec::new() };
        assert_eq!(scope.put(&b, large, 0), ScopePut::Waits);
        assert_eq!(scope.put(&b, small(), 0), ScopePut::Missed);
        sim.run_until_idle();
        assert_eq!(got.lock()[5..], ["weight 1048577", "missed of b@host"]);
        scope.has_ended(Pid::local(99, 0));
        assert_eq!(scope.process(), Some(process.pid()));
        scope.has_ended(process.pid());
        assert_eq!(scope.put(&a, small(), 0), ScopePut::NoProcess);
    }
}
