//! Names that outlive their processes: waiting for a name, and addresses and calls by name (rules H1
//! to H10).
//!
//! ```text
//!   NamedAddress ── cache: the address that the name had last ──► Address ──► process
//!        │             refused? look the name up again, and keep that address
//!        │ no process has the name
//!        ▼
//!   NameWaits: name ► wakers, in the order in which they began to wait
//!        ▲ a spawn under the name, a registration, the begin of the node's stop, the end of a scope
//! ```
//!
//! - **A message** takes the cached address: one lock of the handle's own that senders share, and no
//!   look-up. The registry is asked only when that process has ended.
//! - **A wait** is a waker in a table of the node. A spawn under a name looks at one counter; if
//!   nobody waits for any name, that is all it costs.
//! - **Who is asked to stop** waits for no name: who stops it may be the supervisor that would start the
//!   next process. A process marks its mailbox before it waits, and a stop finds the mark or the wait
//!   finds the stop, under the lock of the mailbox; work elsewhere is in a [`name_scope::NameScope`].
//! - **A call** by name is a loop of attempts. What to do after a failed one is decided by a function
//!   of values, [`retry::Retry::after`].

pub(crate) mod name_scope;
pub(crate) mod name_wait;
pub(crate) mod name_waits;
pub(crate) mod named_address;
pub(crate) mod named_call;
pub(crate) mod named_recipient;
pub(crate) mod named_room;
pub(crate) mod retry;
