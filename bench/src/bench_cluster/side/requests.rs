//! What the servers are asked, by clients of both kinds.

use bytes::Bytes;
use krarup::{Pid, Reply};
use serde::{Deserialize, Serialize};

/// A request: `{add, 2, 3}`, `{echo, <<7, 7>>}`, `{item, 1, <<7>>}`, `count`, `me`.
#[derive(Serialize, Deserialize)]
pub(crate) enum BenchRequest {
    Add(i64, i64, Reply<i64>),
    Echo(Bytes, Reply<Bytes>),
    /// A cast.
    Item(u64, Bytes),
    /// How many casts have come since the last time.
    Count(Reply<u64>),
    Me(Reply<Pid>),
}
