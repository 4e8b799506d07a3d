//! What a node may do with what is exported and served.

use crate::exports::Sys;
use crate::rights::reach::Reach;

/// What a node may do with what this one exports and serves (rule Zsec4). See
/// [`Cluster::policy`](crate::Cluster::policy).
///
/// Whatever is not permitted has the outcome that it would have if the process, the function or the
/// factory were not there, and is counted
/// ([`ClusterStats::denied`](crate::ClusterStats::denied)). So a node learns nothing of what it may
/// not use.
///
/// | right | of | not permitted |
/// |---|---|---|
/// | `send` | messages, casts, calls and `sys` requests to a process, by name, pid or alias | dropped; a call fails as `noproc` |
/// | `monitor` | monitors of a process; callers of OTP monitor whom they call | `noproc` |
/// | `link` | links to a process | `noproc` |
/// | `exit` | exit signals, `exit/2` | dropped |
/// | `call` | functions | `undef` |
/// | `spawn` | factories | `notsup` |
/// | `sys` | the `sys` requests that an export obeys | `{error, not_allowed}` |
/// | `groups` | the scopes of groups that it takes part in | it is not told of members, and those that it announces are none |
///
/// Answers to calls of this node, ends of links and monitors that were made, and their removal are
/// always permitted. A process is permitted by its registered name, so one without a name is in
/// reach of [`Reach::Everything`] only.
///
/// ```
/// # mod krarup { pub use krarup_dist as cluster; }
/// use krarup::cluster::{NodeRights, Reach, Sys};
///
/// // It may call the process `stock` and the functions of `calc`, and nothing else.
/// let stock = || Reach::only(["stock"]);
/// let rights = NodeRights::none().send(stock()).monitor(stock()).call(Reach::only(["calc"]));
/// // It may do all that is exported, but not end processes or look into them.
/// let rights = NodeRights::all().exit(Reach::Nothing).sys(Sys::Status);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRights {
    pub(crate) sends: Reach,
    pub(crate) monitors: Reach,
    pub(crate) links: Reach,
    pub(crate) exits: Reach,
    pub(crate) calls: Reach,
    pub(crate) spawns: Reach,
    pub(crate) groups: Reach,
    pub(crate) most_sys: Sys,
}

impl NodeRights {
    /// Everything that is exported and served.
    #[must_use]
    pub fn all() -> Self {
        NodeRights::of(&Reach::Everything, Sys::All)
    }

    /// Nothing. The node may be connected, and this node may use it.
    #[must_use]
    pub fn none() -> Self {
        NodeRights::of(&Reach::Nothing, Sys::Status)
    }

    fn of(reach: &Reach, most_sys: Sys) -> Self {
        NodeRights {
            sends: reach.clone(),
            monitors: reach.clone(),
            links: reach.clone(),
            exits: reach.clone(),
            calls: reach.clone(),
            spawns: reach.clone(),
            groups: reach.clone(),
            most_sys,
        }
    }

    /// Sets to which processes it may send.
    #[must_use]
    pub fn send(mut self, processes: Reach) -> Self {
        self.sends = processes;
        self
    }

    /// Sets which processes it may monitor.
    #[must_use]
    pub fn monitor(mut self, processes: Reach) -> Self {
        self.monitors = processes;
        self
    }

    /// Sets which processes it may link to.
    #[must_use]
    pub fn link(mut self, processes: Reach) -> Self {
        self.links = processes;
        self
    }

    /// Sets to which processes it may send exit signals.
    #[must_use]
    pub fn exit(mut self, processes: Reach) -> Self {
        self.exits = processes;
        self
    }

    /// Sets which functions it may call, as `module:function` or `module`.
    #[must_use]
    pub fn call(mut self, functions: Reach) -> Self {
        self.calls = functions;
        self
    }

    /// Sets which factories it may use, as `module:function` or `module`.
    #[must_use]
    pub fn spawn(mut self, factories: Reach) -> Self {
        self.spawns = factories;
        self
    }

    /// Sets in which scopes of groups it takes part, by their names. A member is reached as every
    /// process is: one without a registered name only with [`NodeRights::send`] of
    /// [`Reach::Everything`].
    #[must_use]
    pub fn groups(mut self, scopes: Reach) -> Self {
        self.groups = scopes;
        self
    }

    /// Sets which `sys` requests are obeyed at most, whatever the exports say.
    #[must_use]
    pub fn sys(mut self, most: Sys) -> Self {
        self.most_sys = most;
        self
    }
}
