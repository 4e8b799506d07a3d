//! The groups of a node, as processes and threads use them (rules G1 to G5).

use super::group::Group;
use super::group_table::GroupTable;
use super::remote_member::{ChosenMember, RecipientMaker, RemoteMember};
use crate::addressing::recipient::Recipient;
use crate::host::host::Host;
use crate::process::bonds::is_foreign;
use crate::process::process::Process;
use krarup_gen::{JoinError, LeaveError, Name, Pid};
use std::fmt;
use std::sync::Arc;

/// The process groups of a node (OTP's `pg`); from [`Context::groups`](crate::Context::groups) and
/// `Node::groups`.
///
/// A group is a name, 1 to 255 bytes, and the processes that have joined it, of any type. A group
/// without members does not exist. Names of groups are not names of processes. A process joins by
/// [`Context::join`](crate::Context::join), and leaves by its end: it is in no group any more when
/// others are told of it (rule G2). Members are looked up by the type of message that one wants to
/// send.
///
/// | `pg` | here |
/// |---|---|
/// | `join(G, self())`, `leave(G, self())` | [`Context::join`](crate::Context::join), [`Context::leave`](crate::Context::leave) |
/// | `join(G, Pid)`, `leave(G, Pid)`, `leave(G, Pids)` | [`Groups::join`], [`Groups::leave`], [`Groups::leave_all`] |
/// | `get_members(G)` | [`Groups::members`], [`Groups::pids`] |
/// | `which_groups()` | [`Groups::names`] |
/// | `get_local_members(G)` | [`Groups::local_members`], [`Groups::local_pids`] |
/// | `monitor(G)`, `demonitor(Ref)` | [`Context::watch_group`](crate::Context::watch_group), [`Context::unwatch_group`](crate::Context::unwatch_group) |
/// | `monitor_scope()`, `demonitor(Ref)` | [`Context::watch_groups`](crate::Context::watch_groups), [`Context::unwatch_groups`](crate::Context::unwatch_groups) |
///
/// A cluster can carry the groups to other nodes. Then members of those are members here, too: by
/// type, those of other nodes are returned for each type that the cluster carries, because a node
/// does not tell what its members take. A message that one does not take is a dead letter there.
///
/// ```
/// # use krarup_act::{Actor, Context, Recipient};
/// # use krarup_gen::Result;
/// #[derive(Clone)]
/// enum Stock {
///     Add(u32),
///     Close,
/// }
///
/// struct Shelf(u32);
///
/// impl Actor for Shelf {
///     type Message = Stock;
///
///     async fn init(&mut self, ctx: &mut Context<Stock>) -> Result {
///         // In `init`: the next incarnation joins again.
///         ctx.join("stock")?;
///         Ok(())
///     }
///
///     async fn handle_message(&mut self, ctx: &mut Context<Stock>, message: Stock) -> Result {
///         match message {
///             Stock::Add(items) => self.0 += items,
///             Stock::Close => ctx.stop(),
///         }
///         Ok(())
///     }
/// }
///
/// fn close_all(ctx: &Context<()>) -> usize {
///     let stocks: Vec<Recipient<Stock>> = ctx.groups().members("stock");
///     println!("{} shelves", stocks.len());
///     ctx.groups().send_all("stock", Stock::Close)
/// }
/// # let _ = (Shelf(1), close_all, Stock::Add(1));
/// ```
#[derive(Clone)]
pub struct Groups {
    host: Arc<dyn Host>,
    table: Arc<GroupTable>,
}

impl Groups {
    /// Returns the groups of a node. For hosts.
    #[must_use]
    pub fn of(host: Arc<dyn Host>) -> Self {
        let table = GroupTable::of(&*host);
        Groups { host, table }
    }

    /// Returns the groups of another scope: they have nothing to do with those of the node. For
    /// clusters.
    #[must_use]
    pub fn of_scope(host: Arc<dyn Host>, scope: &Name) -> Self {
        let table = GroupTable::of_scope(&*host, scope);
        Groups { host, table }
    }

    pub(super) fn table(&self) -> &Arc<GroupTable> {
        &self.table
    }

    /// Returns the members that take an `M`, in the order of joining, each as often as it has joined.
    /// Sends no message, and readers do not hold each other up (rule G4).
    ///
    /// A process takes the type of its own messages, or the type with which it has joined
    /// ([`Context::join_as`](crate::Context::join_as), [`Groups::join`]). Members of other types are
    /// not returned. By then one may have ended: it refuses the message.
    #[must_use]
    pub fn members<M: Send + 'static>(&self, group: &str) -> Vec<Recipient<M>> {
        let look = |group: &Group| (group.members(), group.members::<RemoteMember>());
        let Some((here, there)) = self.table.with(group, look) else { return Vec::new() };
        let maker = if there.is_empty() { None } else { RecipientMaker::of(&*self.host) };
        let Some(maker) = maker else {
            return here.into_iter().map(|(_, member)| member).collect();
        };
        let there = there.into_iter().map(|(number, it)| (number, maker.make(it, &self.host)));
        let mut all: Vec<(u64, Recipient<M>)> = here;
        all.extend(there);
        all.sort_by_key(|(number, _)| *number);
        all.into_iter().map(|(_, member)| member).collect()
    }

    /// As [`Groups::members`], without those of other nodes.
    #[must_use]
    pub fn local_members<M: Send + 'static>(&self, group: &str) -> Vec<Recipient<M>> {
        let here = self.table.with(group, Group::members).unwrap_or_default();
        here.into_iter().map(|(_, member)| member).collect()
    }

    /// Returns one of the members that take an `M`, at random; in a simulation by the seed (rule
    /// G4). A process that has joined twice is chosen twice as often. `None` if there is none.
    #[must_use]
    pub fn any<M: Send + 'static>(&self, group: &str) -> Option<Recipient<M>> {
        let (random, maker) = (self.host.random(), RecipientMaker::of(&*self.host));
        let chosen = self.table.with(group, |group| group.any(random, maker.is_some()))??;
        match chosen {
            ChosenMember::Here(member) => Some(member),
            ChosenMember::There(member) => Some(maker?.make(member, &self.host)),
        }
    }

    /// Returns all members, of whatever type, in the order of joining, each as often as it has
    /// joined.
    #[must_use]
    pub fn pids(&self, group: &str) -> Vec<Pid> {
        self.table.with(group, Group::pids).unwrap_or_default()
    }

    /// As [`Groups::pids`], without those of other nodes.
    #[must_use]
    pub fn local_pids(&self, group: &str) -> Vec<Pid> {
        let mut pids = self.pids(group);
        pids.retain(|pid| pid.node() == 0);
        pids
    }

    /// Returns the names of the groups that have members, in alphabetical order.
    #[must_use]
    pub fn names(&self) -> Vec<Name> {
        self.table.names().into_iter().collect()
    }

    /// Sends a clone of the message to each member that takes it, as often as it has joined, and
    /// returns how many have accepted it. A member that is full or has ended meanwhile refuses it, and
    /// is not counted. To know which, send to each of [`Groups::members`].
    pub fn send_all<M: Clone + Send + 'static>(&self, group: &str, message: M) -> usize {
        let members = self.members::<M>(group);
        let Some((last, others)) = members.split_last() else { return 0 };
        // No clone is made under a lock.
        let accepted = others.iter().filter(|member| member.send(message.clone()).is_ok()).count();
        accepted + usize::from(last.send(message).is_ok())
    }

    /// Has another process of this node join a group, with the messages of this recipient.
    ///
    /// # Errors
    /// [`JoinError`]: the text is no name, the process has ended, or it belongs to another node.
    /// Nothing has changed.
    pub fn join<M: Send + 'static>(
        &self,
        group: impl AsRef<str>,
        member: &Recipient<M>,
    ) -> Result<(), JoinError> {
        let name = Name::new(group)?;
        let pid = member.pid();
        if is_foreign(self.host.node_pid(), pid) {
            return Err(JoinError::NotLocal(pid));
        }
        self.table.join(&*self.host, &name, member.clone())
    }

    /// Has a process leave a group once: its latest membership ends (rule G1).
    ///
    /// # Errors
    /// [`LeaveError`]: it is not a member, or it belongs to another node.
    pub fn leave(&self, group: impl AsRef<str>, pid: Pid) -> Result<(), LeaveError> {
        let group = group.as_ref();
        if is_foreign(self.host.node_pid(), pid) {
            return Err(LeaveError::NotLocal(pid));
        }
        if self.table.leave(&*self.host, group, pid) {
            return Ok(());
        }
        Err(LeaveError::NotJoined { pid, group: group.to_owned() })
    }

    /// Has each of these processes leave a group once, and returns how many were members.
    pub fn leave_all(&self, group: &str, pids: &[Pid]) -> usize {
        pids.iter().filter(|pid| self.leave(group, **pid).is_ok()).count()
    }

    /// Adds a membership of a process of another node, which that node has announced. For clusters.
    #[doc(hidden)]
    pub fn add_remote(&self, group: &Name, process: Arc<dyn Process>) {
        self.table.add_remote(group, process);
    }

    /// Removes a membership that [`Groups::add_remote`] has added. Returns whether there was one.
    #[doc(hidden)]
    #[must_use]
    pub fn remove_remote(&self, group: &Name, pid: Pid) -> bool {
        self.table.remove_remote(group, pid)
    }
}

impl fmt::Debug for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Groups").field(&self.names()).finish()
    }
}
