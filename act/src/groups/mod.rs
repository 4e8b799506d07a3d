//! Process groups: `pg` of OTP, typed (rules G1 to G5).
//!
//! ```text
//!   ctx.join("stock")             GroupTable, 16 shards by name
//!   ctx.leave("stock")   ──────►  ┌──────────────────────────────────────┐
//!                                 │ "stock"                              │      watchers
//!   groups.members::<M>  ◄──────  │   by type: M  1 p  2 q  4 p          │
//!   groups.any::<M>       (read)  │            N  3 r                    │
//!                                 │   by process: p [1 4]  q [2]  r [3]  │
//!                                 │   changes: a topic, if watched ──────┼──►  Joined, Left
//!                                 └──────────────────────────────────────┘
//!                                        ▲
//!       the end of a process ────────────┘  through its record in `Memberships`
//! ```
//!
//! - **Members** are recipients, by the type of the messages that they take. So a look-up gives what
//!   one can send to, and converts nothing. Their numbers give the order of joining.
//! - **Readers** share the lock of a shard, and copy what they return.
//! - **Changes** are published on a topic of the group under the lock of its shard, and what is left
//!   to do is carried out when that is unlocked. So who watches has the members and then each change
//!   once (G3). The topic is in no table of topics. A group without members and without watchers is
//!   removed, also when its last watcher has gone ([`unused_group`]).
//! - **Other nodes.** `join`, `leave` and `groups` are the process's and the node's. A cluster watches
//!   the members of this node ([`table_watch`]), tells them to other nodes, and adds members of those
//!   to the table. They are stand-ins of processes, of no known type, and become recipients of the type
//!   that is looked up, if the cluster carries it ([`remote_member`]). Only the processes of this node
//!   are joined by this node (G5). A cluster may have further scopes: each is a table of its own.

pub(crate) mod group;
pub(crate) mod group_table;
pub(crate) mod group_watch;
#[allow(clippy::module_inception, reason = "the module is named after its main type `Groups`")]
pub(crate) mod groups;
pub(crate) mod joining;
pub(crate) mod remote_member;
pub(crate) mod table_topics;
pub(crate) mod table_watch;
pub(crate) mod unused_group;
