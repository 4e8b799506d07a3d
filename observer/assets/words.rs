//! The words of the API that an observer, its tools and `krarup view` know: parameters, columns and
//! kinds of processes, levels of logs.

/// The parameters of `/api/v1/processes`.
pub const PROCESS_PARAMETERS: [&str; 12] = [
    "limit",
    "offset",
    "sort",
    "order",
    "q",
    "state",
    "kind",
    "behavior",
    "dispatcher",
    "root",
    "parent",
    "min_main",
];

/// The columns by which processes are sorted.
pub const PROCESS_SORTS: [&str; 19] = [
    "id",
    "name",
    "kind",
    "behavior",
    "state",
    "urgent",
    "system",
    "main",
    "in",
    "out",
    "handled",
    "running_ms",
    "uptime_ms",
    "cpu",
    "in_rate",
    "handled_rate",
    "growth",
    "head_wait_ms",
    "shallow_bytes",
];

/// The kinds of processes.
pub const PROCESS_KINDS: [&str; 8] =
    ["process", "actor", "supervisor", "pool", "stateful", "step", "grains", "connection"];

/// The states of processes, in the order of their counts.
pub const PROCESS_STATES: [&str; 6] =
    ["init", "idle", "scheduled", "running", "waiting", "suspended"];

/// The roots below which processes are.
pub const PROCESS_ROOTS: [&str; 2] = ["user", "system"];

/// The orders of a sorted list.
pub const ORDERS: [&str; 2] = ["asc", "desc"];

/// The levels of log events, the worst first.
pub const LOG_LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];
