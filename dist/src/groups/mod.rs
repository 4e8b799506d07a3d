//! Process groups over nodes, as OTP's `pg` has them (rules Zpg1 to Zpg7).
//!
//! ```text
//!  ctx.join("stock") ─► GroupTable ── changes of this node ──►┌────────────┐  join, leave, sync
//!                       (act)                                 │ GroupScope │ ◄────────────────► scopes of
//!  groups.members() ◄── of all nodes ◄── add, remove ─────────│  "pg"      │      discover      other nodes
//!                                                             └────────────┘
//! ```
//!
//! **A scope** is a process with the scope's name, a child of the cluster below the system root. It is
//! known to other nodes by its name and its pid: to send to and to monitor, and for nothing else. No
//! scope runs unless it was allowed ([`Cluster::groups`](crate::Cluster::groups), rule Zsec4).
//!
//! **Members** of all nodes are in the table of `act`, so a look-up sends no message. The scope watches
//! the members of this node, tells its peers of each change in the order of the changes, and answers a
//! `discover` with what it has told so far. So a peer sees one sequence of changes, whatever threads
//! join. Only the scope adds and removes members of other nodes.
//!
//! **What is known of the scope of another node**, by its pid ([`peer_scopes`]):
//!
//! ```text
//!             discover, sync                      sync
//!   unknown ──────────────────► greeted ────────────────────► synced ──┐ sync: all it has
//!      ▲      monitored;          │  join, leave: one each      │  ▲   │ join, leave: one each
//!      │      greeted back        │                             │  └───┘
//!      └────── down ──────────────┴─────────────────────────────┘
//!              all its members have left
//! ```
//!
//! | message | here |
//! |---|---|
//! | `{discover, Pid}`, `{discover, Pid, Version}` | a `sync` to Pid; one that was unknown is monitored, and greeted |
//! | `{'$gen_cast', {sync, Pid, [{Group, Pids}]}}`, `local_data` of OTP 29 | replaces what is known of Pid |
//! | `{join, Pid, Group, PidOrPids}` | adds; of an unknown scope: nothing |
//! | `{leave, Pid, PidOrPids, Groups}` | removes one each; of an unknown scope: nothing |
//! | down of Pid | all its members have left, once each |
//!
//! Each node that comes up is greeted by the name of the scope, because scopes of OTP greet published
//! nodes only, and this node is hidden. `discover` is sent without a version: a scope of OTP 25 ends on
//! one. A message is read on the thread of its connection ([`scope_signal`]). One that is malformed, or
//! names processes of another node than the one that has sent it, changes nothing, and is counted.
//!
//! **A scope that starts later**, or starts again, on a node that is connected already greets this node
//! only if it is one of Krarup. So a node that has not answered is greeted again ([`greeting_plan`]).
//! There is one timer, for the next greeting, and none if all nodes have answered (rule Zpg7):
//!
//! | a node is | it comes up, or this scope starts | `discover` or `sync` of a scope that is known then | the last known scope there ends | its time is over | its connection is lost |
//! |---|---|---|---|---|---|
//! | not connected | greeted; waits 1 s | - | - | - | - |
//! | waiting | greeted; waits 1 s | has answered | waiting | greeted; waits twice as long, 30 s at most | not connected |
//! | one that has answered | greeted; waits 1 s | has answered | waits 1 s | - | not connected |
//!
//! A greeting to a node without the scope is one small message, and is no dead letter there. A node that may not
//! know of the scope by the rights that it has here is not greeted, and does not wait.
//!
//! **Bounds.** One peer may announce so many members ([`peer_scopes`]); more are refused and counted.
//! What waits in a scope's mailbox is bounded by its weight ([`shared`]): beyond it messages are missed
//! and counted, and the node is greeted again behind those that wait, so its `sync` repairs what was
//! missed. A change or a `sync` for a peer whose queue is full is owed: a `sync` is sent later, and
//! nothing until then. A scope that ends again and again is started five times in 10 s, and then later.
//!
//! **Restarts.** If a scope ends, its members of other nodes have left, and so have its own members at
//! the peers. The next one, which the cluster starts at once, greets all nodes. The members of this
//! node have not left: the groups are the node's. So they need not join again (≠OTP, where they are
//! the scope's).
//!
//! **Names.** A group of the table has a text as its name. On the wire it is a binary or an atom
//! ([`group_names`]); both are read as that text. A group of a peer with any other name is kept with
//! its term, and found by [`TermGroups`](crate::TermGroups).

pub(crate) mod greeting_plan;
pub(crate) mod group_key;
pub(crate) mod group_names;
pub(crate) mod peer_scopes;
pub(crate) mod scope;
pub(crate) mod scope_message;
pub(crate) mod scope_signal;
pub(crate) mod settings;
pub(crate) mod shared;
pub(crate) mod telling;
pub(crate) mod term_groups;
