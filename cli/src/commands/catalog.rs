//! The commands that are one route each: a row for each, over the table of the routes.

use crate::commands::columns::ListTable;
use crate::commands::lists::{
    ACTIONS, CRASHES, DEAD_LETTERS, DEADLOCKS, FINDINGS, FLOW, LOGS, POOLS, PROCESSES, RESTARTS,
};
use crate::commands::reports;
use krarup_page::tools::{
    DONE, ID, MS, ObserverTool, RING, RING_FIELDS, TOOLS, ToolRoute, acts, reads,
};
use serde_json::Value;

/// A command of the program.
#[derive(Debug)]
pub(crate) struct ApiCommand {
    pub(crate) name: &'static str,
    /// The name of its route in the table.
    route: &'static str,
    /// What the list of commands says of it.
    pub(crate) about: &'static str,
    pub(crate) shows: Shown,
}

/// An answer as text.
pub(crate) type ReportText = fn(&Value) -> String;

/// How an answer is shown.
#[derive(Debug)]
pub(crate) enum Shown {
    /// One list.
    List(&'static ListTable),
    /// A ring of events, which can be followed. The second: the route of one of them by its
    /// number, and its text.
    Ring(&'static ListTable, Option<(&'static str, ReportText)>),
    /// A text.
    Text(ReportText),
    /// A process, and what it says of itself.
    Process,
    /// JSON for a file.
    Json,
    /// What was done.
    Done,
    /// What was done, and then the items of the trace.
    Trace,
    /// The turns that were recorded, as JSON for a file.
    Turns,
}

const fn reading(
    name: &'static str,
    route: &'static str,
    shows: Shown,
    about: &'static str,
) -> ApiCommand {
    ApiCommand { name, route, about, shows }
}

const fn ring(
    name: &'static str,
    route: &'static str,
    shows: &'static ListTable,
    about: &'static str,
) -> ApiCommand {
    ApiCommand { name, route, about, shows: Shown::Ring(shows, None) }
}

const fn acting(name: &'static str, route: &'static str, about: &'static str) -> ApiCommand {
    ApiCommand { name, route, about, shows: Shown::Done }
}

/// The commands, those that read first.
pub(crate) const COMMANDS: [ApiCommand; 32] = [
    reading("node", "node", Shown::Text(reports::node), "totals of the node, its dispatchers"),
    reading(
        "health",
        "health",
        Shown::Text(reports::health),
        "its checks; exit code 1 if one is down",
    ),
    reading("findings", "findings", Shown::List(&FINDINGS), "what the node itself finds wrong"),
    reading("ps", "list_processes", Shown::List(&PROCESSES), "processes, sorted and filtered"),
    reading("info", "process_info", Shown::Process, "all of one process, and its inspection"),
    reading(
        "inspect",
        "inspect",
        Shown::Text(reports::inspection),
        "what a process says of itself",
    ),
    reading("state", "state", Shown::Text(reports::state), "its state, if it shows it"),
    reading("pools", "pools", Shown::List(&POOLS), "pools of workers"),
    reading("cluster", "cluster", Shown::Text(reports::cluster), "connections to other nodes"),
    reading("waits", "waits", Shown::Text(reports::waits), "who waits for whom"),
    reading("turns", "turns", Shown::Text(reports::turns), "the processes that run now"),
    reading("flow", "flow", Shown::List(&FLOW), "who sends to whom"),
    ApiCommand {
        name: "crashes",
        route: "crashes",
        about: "processes that failed; with SEQ all of one crash",
        shows: Shown::Ring(&CRASHES, Some(("crash", reports::crash))),
    },
    ring("restarts", "restarts", &RESTARTS, "what supervisors and pools decided"),
    ring("dead-letters", "dead_letters", &DEAD_LETTERS, "messages that reached nobody"),
    ring("deadlocks", "deadlocks", &DEADLOCKS, "cycles of calls"),
    ring("logs", "logs", &LOGS, "log events"),
    ring("actions", "actions", &ACTIONS, "who did what to a process"),
    reading("snapshot", "snapshot", Shown::Json, "all of it as JSON, for krarup view"),
    acting("kill", "kill", "kills it"),
    acting("exit", "exit", "sends it an exit signal: normal, shutdown, or an error"),
    acting("suspend", "suspend", "suspends it for so many seconds"),
    acting("resume", "resume", "takes back one suspension"),
    ApiCommand {
        name: "trace",
        route: "trace",
        about: "prints the messages that it takes, until the trace ends",
        shows: Shown::Trace,
    },
    acting("untrace", "untrace", "ends its trace"),
    acting("record", "record", "its flight recorder keeps so many items; 0: off"),
    ApiCommand {
        name: "record-turns",
        route: "record_turns",
        about: "every turn for so many ms, as JSON for Perfetto",
        shows: Shown::Turns,
    },
    acting("resize", "resize", "gives a pool so many workers"),
    acting("drain", "drain", "a pool refuses jobs"),
    acting("reopen", "reopen", "a pool accepts jobs again"),
    acting("terminate-child", "terminate_child", "a supervisor ends a child"),
    acting("restart-child", "restart_child", "a supervisor starts a child that has ended"),
];

/// Routes that are no tools for language models.
const MORE: &[ObserverTool] = &[
    reads(
        "actions",
        "/api/v1/actions",
        RING,
        RING_FIELDS,
        "Each attempt to act, refused ones too.",
    ),
    reads("snapshot", "/api/v1/snapshot", &[], "snapshot:string", "The whole node in one file."),
    ObserverTool {
        name: "record_turns",
        about: "Records every turn of the node for a time.",
        does: ToolRoute::Acts("turns"),
        arguments: &[MS],
        gives: DONE,
    },
    acts("untrace", &[ID], "Ends the trace of a process, if it has one."),
];

impl ApiCommand {
    /// The command of this name.
    pub(crate) fn find(name: &str) -> Option<&'static ApiCommand> {
        COMMANDS.iter().find(|command| command.name == name)
    }

    /// Its route, with its arguments.
    pub(crate) fn route(&self) -> &'static ObserverTool {
        route(self.route)
    }

    /// The route of one item of its ring, and the text of it.
    pub(crate) fn one(&self) -> Option<(&'static ObserverTool, ReportText)> {
        match self.shows {
            Shown::Ring(_, Some((name, shows))) => Some((route(name), shows)),
            _ => None,
        }
    }

    /// Whether it can be followed.
    pub(crate) const fn follows(&self) -> bool {
        matches!(self.shows, Shown::Ring(..))
    }
}

fn route(name: &str) -> &'static ObserverTool {
    let found = ObserverTool::find(name).or_else(|| MORE.iter().find(|it| it.name == name));
    found.unwrap_or(&TOOLS[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn v84_each_command_has_a_name_and_a_route_of_its_own() {
        let names: BTreeSet<&str> = COMMANDS.iter().map(|command| command.name).collect();
        assert_eq!(names.len(), COMMANDS.len());
        for command in &COMMANDS {
            assert_eq!(command.route().name, command.route);
            let acts = matches!(command.shows, Shown::Done | Shown::Trace | Shown::Turns);
            assert_eq!(command.route().acts(), acts, "{}", command.name);
        }
        assert_eq!(ApiCommand::find("crashes").unwrap().one().unwrap().0.name, "crash");
        // What a tool does can be done on a terminal: `tree` is a command of its own, and a crash
        // has its explanation.
        for tool in
            TOOLS.iter().filter(|it| !["tree", "crash", "explain_restart"].contains(&it.name))
        {
            assert!(COMMANDS.iter().any(|it| it.route == tool.name), "{}", tool.name);
        }
    }
}
