//! Calls of functions of other nodes, as `erpc` makes them (rule Zcall10).
//!
//! A call is a [request](crate::requests) for a process that runs `erpc:execute_call/4`, and a monitor on it: the
//! value is the reason with which it ends. The group leader of the process is a pid of this node that is nobody's:
//! requests to it are answered by the thread of the connection, and what they print is logged.

pub(crate) mod arguments;
pub(crate) mod call;
pub(crate) mod error;
pub(crate) mod printing;
