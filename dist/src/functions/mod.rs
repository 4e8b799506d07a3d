//! Functions and factories: what other nodes may run here.
//!
//! Nothing runs because it exists (rules Zcall7, Zcall9). A **function** is served by module,
//! name and arity; `rpc` and `erpc` of OTP call it. A **factory** makes a process; `spawn` of OTP
//! requests it. Both run in a process of their own, below the root of the users.
//!
//! ```text
//!                  not served: a pid that is nobody's, and {Res, error, undef, ..}
//!                 ┌────────────────────────────────────────────────────────────► over
//!   SPAWN_REQUEST │  no factory: notsup; too many: system_limit; odd options: badopt
//!   ──► Dispatch ─┼────────────────────────────────────────────────────────────► over
//!                 │             ┌─────────────── waits at its gate ──────────────┐
//!                 └──► spawned ─┤ 1 SPAWN_REPLY  2 monitor  3 link  4 the gate   ├─► runs
//!                               └────────────────────────────────────────────────┘
//! ```
//!
//! The process waits at a gate until the reply and the bonds of the request are recorded, so that
//! nothing of it goes out before the reply, and no bond is made too late. All signals of it carry
//! its number, so they leave in order.
//!
//! A call of a function is a **run** in the table of its peer until its outcome is said:
//!
//! | run | outcome known | caller gives up (`DEMONITOR`) | connection lost |
//! |---|---|---|---|
//! | starting | kept, said behind the reply | - (one thread reads) | forgotten, process ends |
//! | running | said, run is over | process ends, nothing is said | forgotten, process ends |
//! | over | - | ignored | ignored |
//!
//! The outcome is a value that the process sends, or, if it ends without one, the reason of its
//! end. Whoever takes the run out of the table, under the lock of the peer, has the last word: so
//! there is one outcome at most, and none after the caller has given up (rule Zcall8).
//!
//! A process of a factory is no run: monitors and links on it are those of any process.
//!
//! The processes that one peer has requested are counted until they end, and bounded
//! ([`Cluster::spawn_limit`](crate::Cluster::spawn_limit)).

pub(crate) mod arguments;
pub(crate) mod asker;
pub(crate) mod call;
pub(crate) mod exception;
pub(crate) mod naming;
pub(crate) mod options;
pub(crate) mod outcome;
pub(crate) mod permit;
pub(crate) mod request;
pub(crate) mod runs;
pub(crate) mod serving;
pub(crate) mod table;
#[cfg(test)]
mod tests;
