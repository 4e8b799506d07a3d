//! The process of a scope.

use super::greeting_plan::GreetingPlan;
use super::group_key::GroupKey;
use super::peer_scopes::{MemberChanges, PeerScopes};
use super::scope_message::ScopeMessage;
use super::scope_signal::{ScopeSignal, discover, join, leave};
use super::shared::SharedScope;
use super::telling::{OwnMembers, ToldScope, may_know};
use crate::core::ClusterCore;
use crate::events::NodeEvent;
use crate::peer::PeerNode;
use krarup_act::{Actor, BehaviorContext, Context, Network};
use krarup_gen::{Down, GroupChange, Inspection, Pid, Ref, Result, Timestamp};
use krarup_wire::etf::{Atom, Term, WriteLimits};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// When what is owed to a busy peer is tried again.
const OWED_AFTER: Duration = Duration::from_millis(500);

/// Carries the groups of one scope to the scopes of that name on other nodes. The module page tells
/// how.
pub(crate) struct GroupScope {
    core: Arc<ClusterCore>,
    scope: Arc<SharedScope>,
    /// Its own pid, as soon as it runs.
    pid: Option<Pid>,
    own: OwnMembers,
    peers: PeerScopes,
    /// The scopes that are told all members later, and no changes until then: their nodes were too
    /// busy, or they ask again.
    owed: BTreeSet<Pid>,
    /// The nodes that have not answered.
    greetings: GreetingPlan,
    /// The timer for the next greeting, with its time.
    greets_at: Option<(Timestamp, Ref)>,
}

impl GroupScope {
    pub(crate) fn new(core: Arc<ClusterCore>, scope: Arc<SharedScope>) -> Self {
        let (own, peers) = (OwnMembers::default(), PeerScopes::new(scope.limit));
        let greetings = GreetingPlan::default();
        let (owed, greets_at) = (BTreeSet::new(), None);
        GroupScope { core, scope, pid: None, own, peers, owed, greetings, greets_at }
    }

    /// Sends a message to those scopes.
    fn tell<'a>(
        &self,
        ctx: &Context<ScopeMessage>,
        to: impl IntoIterator<Item = ToldScope<'a>>,
        message: &Term,
    ) {
        let mut bytes = Vec::new();
        if let Err(error) = message.write(&mut bytes) {
            // A message of atoms and pids can be written; a name of a group, too.
            return self.core.log_unwritten(&error);
        }
        if let Err(error) = WriteLimits::DEFAULT.check(&bytes) {
            return self.core.log_unwritten(&error);
        }
        for to in to {
            self.core.tell_scope((ctx.pid(), &self.scope.name), to, &bytes);
        }
    }

    fn greet(&self, ctx: &Context<ScopeMessage>, peer: &Arc<PeerNode>) {
        let message = discover(self.core.named(ctx.pid()));
        self.tell(ctx, [ToldScope::Named(&self.scope.atom, peer)], &message);
    }

    /// Greets a node that is up from now on, or was up before this scope.
    fn greet_new(&mut self, ctx: &Context<ScopeMessage>, peer: &Arc<PeerNode>) {
        if may_know(peer, &self.scope.name) {
            self.greet(ctx, peer);
            self.greetings.greeted(&peer.name, ctx.now());
        }
    }

    /// Greets the nodes again that have not answered for their time (rule Zpg7).
    fn greet_due(&mut self, ctx: &Context<ScopeMessage>) {
        for node in self.greetings.due(ctx.now()) {
            match self.core.peer(&node).filter(|peer| peer.is_up()) {
                Some(peer) => self.greet(ctx, &peer),
                None => self.greetings.is_over(&node),
            }
        }
    }

    /// Sets the timer for the next greeting, or none if all nodes have answered.
    fn set_timer(&mut self, ctx: &mut Context<ScopeMessage>) {
        let next = self.greetings.next();
        if self.greets_at.map(|(at, _)| at) == next {
            return;
        }
        if let Some((_, timer)) = self.greets_at.take() {
            ctx.disarm(timer);
        }
        self.greets_at = next.map(|at| {
            let wait = at.since(ctx.now());
            (at, ctx.send_after(wait, ScopeMessage::GreetingsDue(at)))
        });
    }

    /// A scope of another node has ended. Others of the node may be known; if not, the next one that
    /// starts there is to be found.
    fn has_ended(&mut self, ctx: &Context<ScopeMessage>, scope: Pid) {
        if self.peers.knows_one_of(scope.node()) {
            return;
        }
        if let Some(peer) = self.core.connected_peer_of(scope)
            && may_know(&peer, &self.scope.name)
        {
            self.greetings.scope_ended(&peer.name, ctx.now());
        }
    }

    /// A process of this node has joined or left.
    fn announce(&mut self, ctx: &mut Context<ScopeMessage>, change: &GroupChange) {
        let (group, pid) = (change.group(), change.pid());
        let (scope, term) = (self.core.named(ctx.pid()), self.scope.names.term(group));
        // Other nodes can reach it by its pid from now on.
        let member = self.core.ours(pid);
        let message = if let GroupChange::Joined { .. } = change {
            self.own.join(group, pid);
            join(scope, term, member)
        } else {
            self.own.leave(group, pid);
            leave(scope, member, term)
        };
        let (told, busy): (Vec<_>, Vec<_>) = self.peers.scopes().partition(|to| self.takes(*to));
        self.tell(ctx, told.into_iter().map(ToldScope::Pid), &message);
        // They are told of all members instead, when they can take it.
        for scope in busy {
            self.owe(ctx, scope);
        }
    }

    /// Whether a scope is told of a change: nothing is owed to it, and its node is not busy.
    fn takes(&self, scope: Pid) -> bool {
        let is_full = || self.core.connected_peer_of(scope).is_some_and(|peer| peer.is_full());
        !self.owed.contains(&scope) && !is_full()
    }

    /// A scope of another node says something.
    fn hear(&mut self, ctx: &mut Context<ScopeMessage>, node: &Atom, signal: &ScopeSignal) {
        let changes = match signal {
            ScopeSignal::Discover { from } => {
                self.discovered(ctx, *from);
                return self.answered(node, *from);
            }
            ScopeSignal::Sync { from, groups } => {
                if !self.peers.knows(*from) && !self.meet(ctx, *from) {
                    return;
                }
                self.answered(node, *from);
                self.peers.sync(*from, groups)
            }
            ScopeSignal::Join { from, group, pids } => self.peers.join(*from, group, pids),
            ScopeSignal::Leave { from, pids, groups } => self.peers.leave(*from, pids, groups),
        };
        self.apply(changes);
    }

    /// A node has said something that makes its scope known, unless that cannot be.
    fn answered(&mut self, node: &Atom, scope: Pid) {
        if self.peers.knows(scope) {
            self.greetings.is_over(node);
        }
    }

    fn discovered(&mut self, ctx: &mut Context<ScopeMessage>, from: Pid) {
        if self.peers.knows(from) {
            // It asks again, for it has missed something. It may ask often.
            return self.owe(ctx, from);
        }
        if !self.meet(ctx, from) {
            return;
        }
        let message = discover(self.core.named(ctx.pid()));
        self.tell(ctx, [ToldScope::Pid(from)], &message);
        self.send_all(ctx, from);
    }

    /// Tells a scope all members of this node a little later, once.
    fn owe(&mut self, ctx: &mut Context<ScopeMessage>, to: Pid) {
        if self.owed.is_empty() {
            ctx.send_after(OWED_AFTER, ScopeMessage::Owed);
        }
        self.owed.insert(to);
    }

    /// Greets a scope that was unknown. Returns false if that cannot be: its connection is lost
    /// already, or its node has too many.
    fn meet(&mut self, ctx: &mut Context<ScopeMessage>, scope: Pid) -> bool {
        if !self.peers.has_room_for(scope) {
            self.core.counters.member_refused(1);
            return false;
        }
        // A monitor would dial.
        if self.core.connected_peer_of(scope).is_none() {
            return false;
        }
        let monitor = ctx.monitor(scope);
        self.peers.greeted(scope, monitor);
        true
    }

    /// Tells a scope all members of this node, or later if its node is too busy.
    fn send_all(&mut self, ctx: &mut Context<ScopeMessage>, to: Pid) {
        let Some(peer) = self.core.connected_peer_of(to) else { return };
        if peer.is_full() {
            return self.owe(ctx, to);
        }
        let all = self.own.sync(&self.core, self.core.named(ctx.pid()), self.scope.names);
        self.tell(ctx, [ToldScope::Pid(to)], &all);
    }

    /// Changes the members of other nodes, as everybody sees them.
    fn apply(&self, MemberChanges { changes, refused }: MemberChanges) {
        for change in changes {
            match (&*change.group, change.has_joined) {
                (GroupKey::Name(name), true) => {
                    if let Some(process) = Network::process(&*self.core, change.pid) {
                        self.scope.groups.add_remote(name, process);
                    }
                }
                (GroupKey::Name(name), false) => {
                    let _ = self.scope.groups.remove_remote(name, change.pid);
                }
                (GroupKey::Term(term), has_joined) => self.apply_term(term, change.pid, has_joined),
                // It has no members.
                (GroupKey::TooLong, _) => {}
            }
        }
        if refused > 0 {
            self.core.counters.member_refused(refused);
        }
    }

    fn apply_term(&self, group: &Term, pid: Pid, has_joined: bool) {
        let mut terms = self.scope.terms.write();
        if has_joined {
            *terms.entry(group.clone()).or_default().entry(pid).or_default() += 1;
            return;
        }
        let Some(members) = terms.get_mut(group) else { return };
        if let Some(times) = members.get_mut(&pid) {
            *times -= 1;
            if *times == 0 {
                members.remove(&pid);
            }
        }
        let emptied = if members.is_empty() { terms.remove_entry(group) } else { None };
        drop(terms);
        drop(emptied);
    }

    fn greet_node(&self, ctx: &Context<ScopeMessage>, name: &Atom) {
        if let Some(peer) = self.core.peer(name) {
            self.greet(ctx, &peer);
        }
    }
}

impl Actor for GroupScope {
    type Message = ScopeMessage;

    async fn init(&mut self, ctx: &mut Context<ScopeMessage>) -> Result {
        self.pid = Some(ctx.pid());
        self.scope.runs(ctx.address().recipient());
        self.core.own_subscribers.add(ctx.address().recipient());
        let (now, _watch) = ctx.watch_own_members(&self.scope.groups)?;
        for (group, members) in &now {
            members.iter().for_each(|pid| self.own.join(group, *pid));
        }
        for peer in self.core.connected() {
            self.greet_new(ctx, &peer);
        }
        self.set_timer(ctx);
        Ok(())
    }

    async fn handle_message(
        &mut self,
        ctx: &mut Context<ScopeMessage>,
        message: ScopeMessage,
    ) -> Result {
        match message {
            ScopeMessage::Own(change) => self.announce(ctx, &change),
            ScopeMessage::Node(NodeEvent::Up(node)) => {
                if let Some(peer) = self.core.peer_of(&node) {
                    self.greet_new(ctx, &peer);
                }
            }
            // Its scopes are monitored. It may be up again.
            ScopeMessage::Node(NodeEvent::Down(node)) => {
                if let Some(peer) = self.core.peer_of(&node)
                    && !peer.is_up()
                {
                    self.greetings.is_over(&peer.name);
                }
            }
            ScopeMessage::Signal(node, signal, weight) => {
                self.scope.taken(&node, weight);
                self.hear(ctx, &node, &signal);
            }
            ScopeMessage::Missed(node) => {
                self.scope.missed_taken(&node);
                self.greet_node(ctx, &node);
            }
            ScopeMessage::Owed => {
                for scope in std::mem::take(&mut self.owed) {
                    self.send_all(ctx, scope);
                }
            }
            ScopeMessage::GreetingsDue(at) => {
                // A timer that was set anew meanwhile stands.
                self.greets_at.take_if(|(set, _)| *set == at);
                self.greet_due(ctx);
            }
        }
        self.set_timer(ctx);
        Ok(())
    }

    async fn handle_down(&mut self, ctx: &mut Context<ScopeMessage>, down: Down) -> Result {
        let gone = self.peers.gone(down.monitor);
        self.apply(gone);
        if let Some(scope) = down.pid() {
            self.has_ended(ctx, scope);
        }
        self.set_timer(ctx);
        Ok(())
    }

    fn inspect(&self) -> Inspection {
        let (scopes, weight) = self.peers.counts();
        Inspection::new()
            .with("label", "group scope")
            .with("scope", self.scope.name.as_str())
            .with("own_members", self.own.count() as u64)
            .with("peer_scopes", scopes as u64)
            .with("peer_weight", weight as u64)
            .with("owed", self.owed.len() as u64)
            .with("unanswered", self.greetings.count() as u64)
    }
}

/// The scope has ended: members of other nodes are none any more (rule Zpg3).
impl Drop for GroupScope {
    fn drop(&mut self) {
        krarup_act::from_outside(|| {
            if let Some(pid) = self.pid {
                self.scope.has_ended(pid);
                self.core.own_subscribers.remove(pid);
            }
            let gone = self.peers.forget_all();
            self.apply(gone);
        });
    }
}
