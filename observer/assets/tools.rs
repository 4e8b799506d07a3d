//! The routes of an observer as a table: names, paths, arguments with their bounds, fields of the
//! answers. The tools for language models and the commands of the program `krarup` are made of it.

use crate::words::{
    LOG_LEVELS, ORDERS, PROCESS_KINDS, PROCESS_ROOTS, PROCESS_SORTS, PROCESS_STATES,
};

/// How many entries of a list are given, if the model asks for no other number: it pays for each.
const LISTED: i64 = 20;
/// The processes of a tree.
const TREE: i64 = 100;

/// A tool: a route with its arguments.
#[derive(Debug)]
pub struct ObserverTool {
    /// The name, with underscores between its words.
    pub name: &'static str,
    /// What it is for, as models read it.
    pub about: &'static str,
    /// What a call of it leads to.
    pub does: ToolRoute,
    /// The parts of the path, and the parameters or the fields of the body.
    pub arguments: &'static [ToolArgument],
    /// The fields that its answer always has, with their types: `pid:string took_ms:number`.
    pub gives: &'static str,
}

/// What a call of a tool leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolRoute {
    /// `GET` of this path; the argument between braces is a part of it.
    Reads(&'static str),
    /// The crash that explains a restart.
    Explains,
    /// `POST` of the action of this name to a process.
    Acts(&'static str),
}

/// An argument of a tool.
#[derive(Debug)]
pub struct ToolArgument {
    /// The name of the parameter, of the field of the body, or of the part of the path.
    pub name: &'static str,
    /// What it means; may be empty.
    pub about: &'static str,
    /// What it may be.
    pub values: ArgumentValues,
    /// What is sent if the argument is missing.
    pub default: Option<i64>,
    /// Whether a call without it is an error.
    pub required: bool,
}

/// The values of an argument.
#[derive(Debug)]
pub enum ArgumentValues {
    /// A whole number from the first to the second, or without an upper bound.
    Whole(i64, Option<i64>),
    /// A text of one byte to that many.
    Text(usize),
    /// One of these words.
    Words(&'static [&'static str]),
}

const fn whole(
    name: &'static str,
    least: i64,
    most: Option<i64>,
    about: &'static str,
) -> ToolArgument {
    let values = ArgumentValues::Whole(least, most);
    ToolArgument { name, about, values, default: None, required: false }
}

const fn text(name: &'static str, most: usize, about: &'static str) -> ToolArgument {
    let values = ArgumentValues::Text(most);
    ToolArgument { name, about, values, default: None, required: false }
}

const fn words(
    name: &'static str,
    words: &'static [&'static str],
    about: &'static str,
) -> ToolArgument {
    let values = ArgumentValues::Words(words);
    ToolArgument { name, about, values, default: None, required: false }
}

impl ToolArgument {
    const fn or(self, default: i64) -> Self {
        ToolArgument { default: Some(default), ..self }
    }

    const fn needed(self) -> Self {
        ToolArgument { required: true, ..self }
    }
}

/// The process of a path.
pub const ID: ToolArgument =
    whole("id", 0, None, "the number of the process: 42 of the pid <0.42.0>").needed();
/// The length of a recording of turns.
pub const MS: ToolArgument =
    whole("ms", 100, Some(10_000), "the length of the recording in milliseconds").needed();
const TIMEOUT: ToolArgument = whole("timeout_ms", 10, Some(5000), "").or(1000);
const AFTER: ToolArgument =
    whole("after", -1, None, "items with a greater seq, the oldest first; -1: the newest").or(-1);

const fn limit(most: i64) -> ToolArgument {
    whole("limit", 1, Some(most), "").or(LISTED)
}

/// The arguments of a ring of events.
pub const RING: &[ToolArgument] = &[AFTER, limit(500)];
/// The fields of the answer of a ring.
pub const RING_FIELDS: &str = "first_seq:integer next_seq:integer lost:integer items:array";
/// The fields of the answer of an action.
pub const DONE: &str = "done:boolean action:string pid:string";

/// A tool that reads.
#[must_use]
pub const fn reads(
    name: &'static str,
    path: &'static str,
    arguments: &'static [ToolArgument],
    gives: &'static str,
    about: &'static str,
) -> ObserverTool {
    ObserverTool { name, about, does: ToolRoute::Reads(path), arguments, gives }
}

/// A tool that acts on a process, by the action of its name.
#[must_use]
pub const fn acts(
    name: &'static str,
    arguments: &'static [ToolArgument],
    about: &'static str,
) -> ObserverTool {
    ObserverTool { name, about, does: ToolRoute::Acts(name), arguments, gives: DONE }
}

/// All tools, those that read first.
pub const TOOLS: &[ObserverTool] = &[
    reads(
        "node",
        "/api/v1/node",
        &[],
        "node:string version:string api:string now_at:string uptime_ms:number stopping:boolean \
         processes:object names:integer messages:object dead_letters:integer crashes:integer \
         restarts:integer deadlocks:integer dispatchers:array os:object access:object",
        "Totals of the node: processes by state, messages, crashes, restarts, the load of each \
         dispatcher, memory and processor of the program.",
    ),
    reads(
        "list_processes",
        "/api/v1/processes",
        &[
            limit(500),
            whole("offset", 0, Some(1_000_000_000), ""),
            words(
                "sort",
                &PROCESS_SORTS,
                "cpu: who uses a core; main: the deepest mailbox; growth: the one that grows",
            ),
            words("order", &ORDERS, "numbers descend by default"),
            text("q", 64, "a part of name, label, behavior or pid"),
            words("state", &PROCESS_STATES, ""),
            words("kind", &PROCESS_KINDS, ""),
            text("behavior", 255, ""),
            text("dispatcher", 255, ""),
            words("root", &PROCESS_ROOTS, "user: the program's own processes"),
            whole("parent", 0, None, "the number of the parent"),
            whole("min_main", 0, None, "at least so many messages in the mailbox"),
        ],
        "total:integer matched:integer offset:integer limit:integer sort:string order:string \
         sample:object processes:array",
        "Processes, sorted and filtered: name, behavior, state, mailbox, rates, share of a core.",
    ),
    reads(
        "process_info",
        "/api/v1/processes/{id}",
        &[ID],
        "id:integer pid:string kind:string behavior:string state:string root:string main:integer \
         handled:integer uptime_ms:number links:array ancestors:array aliases:array",
        "All that the node knows of a process, without asking it: links, monitors, ancestors, \
         supervisor, types, pool.",
    ),
    reads(
        "tree",
        "/api/v1/tree",
        &[
            whole("from", 0, None, "the number of the process at the top"),
            whole("depth", 1, Some(64), "").or(16),
            whole("children", 1, Some(1000), "of each process").or(LISTED),
            whole("max", 1, Some(5000), "in all").or(TREE),
        ],
        "total:integer shown:integer roots:array",
        "The tree of processes with their restarts; `more` counts children that were left out.",
    ),
    reads(
        "inspect",
        "/api/v1/processes/{id}/inspect",
        &[ID, TIMEOUT],
        "pid:string took_ms:number items:object",
        "Asks a process what it says of itself: numbers and texts of its own choice.",
    ),
    reads(
        "state",
        "/api/v1/processes/{id}/state",
        &[ID, TIMEOUT],
        "pid:string took_ms:number type:string text:string",
        "Asks a process for its state as text, if its program offers that.",
    ),
    reads(
        "waits",
        "/api/v1/waits",
        &[limit(2000)],
        "edges:array more:integer chains:array most_waited_for:array cycles:array",
        "Who waits for whom inside a handler: for an answer or for room. The longest chains, the \
         process that most wait for, cycles.",
    ),
    reads(
        "pools",
        "/api/v1/pools",
        &[limit(200)],
        "pools:array more:integer",
        "Pools of workers: fill, refused jobs, waiting senders, crashes, times, each worker.",
    ),
    reads(
        "cluster",
        "/api/v1/cluster",
        &[limit(500)],
        "running:boolean node:string connected:integer connections:array more:integer kept:array \
         kept_more:integer not_connected:integer",
        "The cluster of the node: its connections with what goes over each and what waits, the \
         nodes that are kept and whether they are connected, what did not arrive.",
    ),
    reads(
        "findings",
        "/api/v1/findings",
        &[limit(200)],
        "findings:array",
        "What is worth a look, the worst first, with the process and since when. Begin here.",
    ),
    reads(
        "crashes",
        "/api/v1/crashes",
        RING,
        RING_FIELDS,
        "Processes that failed: reason, who watched them, who came in their place.",
    ),
    reads(
        "crash",
        "/api/v1/crashes/{seq}",
        &[whole("seq", 1, None, "its number among the crashes").needed()],
        "seq:integer at:string pid:string behavior:string kind:string reason:string cause:object \
         lanes:object ancestors:array links:array explanation:string recipe:string",
        "All of one crash: the chain of causes, the message in hand, the mailbox, the decision of \
         the supervisor, a recipe for a test.",
    ),
    ObserverTool {
        name: "explain_restart",
        about: "Why a process was restarted, or ended and was not: the first cause, the decision \
                of its supervisor, its successor. Without arguments: the newest crash.",
        does: ToolRoute::Explains,
        arguments: &[
            whole("seq", 1, None, "the number of the crash"),
            whole("id", 0, None, "the number of the process that crashed, or of its successor"),
        ],
        gives: "seq:integer at:string pid:string behavior:string reason:string first_cause:object \
                explanation:string",
    },
    reads(
        "restarts",
        "/api/v1/restarts",
        RING,
        RING_FIELDS,
        "What supervisors and pools decided, in order: started, ended, restarting, gave_up.",
    ),
    reads(
        "dead_letters",
        "/api/v1/dead_letters",
        RING,
        RING_FIELDS,
        "Messages that reached nobody: receiver, sender, type, cause.",
    ),
    reads(
        "deadlocks",
        "/api/v1/deadlocks",
        RING,
        RING_FIELDS,
        "Processes that called each other in a circle. One of the calls failed at once.",
    ),
    reads(
        "flow",
        "/api/v1/flow",
        &[limit(1000)],
        "edges:array more:integer",
        "Who sends to whom, as far as samples tell.",
    ),
    reads(
        "turns",
        "/api/v1/turns",
        &[],
        "workers:array behaviors:array",
        "The processes that run now, and the share of a core of each behavior.",
    ),
    reads(
        "logs",
        "/api/v1/logs",
        &[
            AFTER,
            limit(500),
            whole("pid", 0, None, "the number of a process"),
            words("level", &LOG_LEVELS, "and worse"),
        ],
        RING_FIELDS,
        "The newest log events, with the process in whose turn they were.",
    ),
    reads(
        "health",
        "/health",
        &[],
        "status:string live:boolean ready:boolean stopping:boolean uptime_ms:number checks:array",
        "The checks of the node and of its program, and why one is down.",
    ),
    acts("kill", &[ID], "Kills a process."),
    acts(
        "exit",
        &[ID, text("reason", 200, "normal, shutdown, kill, or the text of an error").needed()],
        "Sends a process an exit signal.",
    ),
    acts(
        "suspend",
        &[ID, whole("seconds", 1, Some(3600), "").needed()],
        "Suspends a process; it resumes by itself.",
    ),
    acts("resume", &[ID], "Takes back one suspension of a process."),
    acts(
        "trace",
        &[
            ID,
            whole("items", 1, Some(1000), "").needed(),
            whole("seconds", 1, Some(60), "").needed(),
        ],
        "Records the next messages of a process.",
    ),
    acts(
        "record",
        &[ID, whole("items", 0, Some(256), "0: off").needed()],
        "Keeps the last messages of a process for the report of its crash.",
    ),
    acts(
        "resize",
        &[ID, whole("workers", 0, Some(1024), "").needed()],
        "Sets the number of workers of a pool.",
    ),
    acts("drain", &[ID], "A pool takes no more jobs, and finishes those that it has."),
    acts("reopen", &[ID], "A pool that drains takes jobs again."),
    acts(
        "terminate_child",
        &[ID, text("child", 1024, "the id of its specification").needed()],
        "A supervisor ends a child.",
    ),
    acts(
        "restart_child",
        &[ID, text("child", 1024, "the id of its specification").needed()],
        "A supervisor starts a child again that has ended.",
    ),
];

impl ObserverTool {
    /// The tool with this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static ObserverTool> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// The path of a tool that reads, with the names of its parts between braces; else empty.
    #[must_use]
    pub const fn path(&self) -> &'static str {
        match self.does {
            ToolRoute::Reads(path) => path,
            ToolRoute::Explains | ToolRoute::Acts(_) => "",
        }
    }

    /// Whether it does something to a process.
    #[must_use]
    pub const fn acts(&self) -> bool {
        matches!(self.does, ToolRoute::Acts(_))
    }
}
