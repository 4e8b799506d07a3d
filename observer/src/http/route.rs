//! The routes: which path is which, and which methods it has. Pure.

use crate::http::percent_encoding::decoded;
use crate::text::cut;

/// What is said of most paths that are no routes.
pub(crate) const NO_ROUTE: &str = "there is no such route";

/// An action on a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessAction {
    Kill,
    Exit,
    Suspend,
    Resume,
    Trace,
    Untrace,
    Record,
    Resize,
    Drain,
    Reopen,
    TerminateChild,
    RestartChild,
}

impl ProcessAction {
    const ALL: [ProcessAction; 12] = [
        ProcessAction::Kill,
        ProcessAction::Exit,
        ProcessAction::Suspend,
        ProcessAction::Resume,
        ProcessAction::Trace,
        ProcessAction::Untrace,
        ProcessAction::Record,
        ProcessAction::Resize,
        ProcessAction::Drain,
        ProcessAction::Reopen,
        ProcessAction::TerminateChild,
        ProcessAction::RestartChild,
    ];

    /// The last part of its path.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            ProcessAction::Kill => "kill",
            ProcessAction::Exit => "exit",
            ProcessAction::Suspend => "suspend",
            ProcessAction::Resume => "resume",
            ProcessAction::Trace => "trace",
            ProcessAction::Untrace => "untrace",
            ProcessAction::Record => "record",
            ProcessAction::Resize => "resize",
            ProcessAction::Drain => "drain",
            ProcessAction::Reopen => "reopen",
            ProcessAction::TerminateChild => "terminate_child",
            ProcessAction::RestartChild => "restart_child",
        }
    }
}

/// A ring of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RingName {
    Crashes,
    Restarts,
    DeadLetters,
    Deadlocks,
    Actions,
    Logs,
}

/// A number in a path. An error: its digits, if it is larger than any.
pub(crate) type PathNumber = Result<u64, String>;

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ObserverRoute {
    Page,
    Asset(String),
    Live,
    Ready,
    Health,
    Metrics,
    Node,
    Processes,
    Process(PathNumber),
    Inspect(PathNumber),
    State(PathNumber),
    Tree,
    Waits,
    Pools,
    Cluster,
    Findings,
    Ring(RingName),
    Crash(PathNumber),
    Flow,
    Turns,
    Recording(PathNumber),
    TraceOf(PathNumber),
    Snapshot,
    Stream,
    Act(PathNumber, ProcessAction),
    /// The tools for models, with the feature `mcp`.
    Mcp,
}

/// The patterns, as metrics name them. The last one stands for all other paths.
pub(crate) const PATTERNS: [&str; 32] = [
    "/",
    "/assets/{file}",
    "/livez",
    "/readyz",
    "/health",
    "/metrics",
    "/api/v1/node",
    "/api/v1/processes",
    "/api/v1/processes/{id}",
    "/api/v1/processes/{id}/inspect",
    "/api/v1/processes/{id}/state",
    "/api/v1/tree",
    "/api/v1/waits",
    "/api/v1/pools",
    "/api/v1/findings",
    "/api/v1/crashes",
    "/api/v1/restarts",
    "/api/v1/dead_letters",
    "/api/v1/deadlocks",
    "/api/v1/actions",
    "/api/v1/logs",
    "/api/v1/crashes/{seq}",
    "/api/v1/flow",
    "/api/v1/turns",
    "/api/v1/turns/{n}",
    "/api/v1/traces/{n}",
    "/api/v1/snapshot",
    "/api/v1/stream",
    "/api/v1/processes/{id}/{action}",
    "/mcp",
    "/api/v1/cluster",
    "other",
];

/// The place of the paths that are no routes in [`PATTERNS`].
pub(crate) const OTHER: usize = PATTERNS.len() - 1;

impl ObserverRoute {
    /// Finds the route of a path. Nothing is decoded: no route has a `%`.
    pub(crate) fn find(path: &str) -> Option<ObserverRoute> {
        let path = path.strip_prefix('/')?;
        let parts: Vec<&str> = path.splitn(7, '/').collect();
        Some(match parts.as_slice() {
            [""] => ObserverRoute::Page,
            ["assets", file] if !file.is_empty() => ObserverRoute::Asset((*file).to_owned()),
            ["livez"] => ObserverRoute::Live,
            ["readyz"] => ObserverRoute::Ready,
            ["health"] => ObserverRoute::Health,
            ["metrics"] => ObserverRoute::Metrics,
            ["tree"] => ObserverRoute::Tree,
            ["mcp"] if cfg!(feature = "mcp") => ObserverRoute::Mcp,
            ["api", "v1", rest @ ..] => ObserverRoute::find_api(rest)?,
            _ => return None,
        })
    }

    fn find_api(parts: &[&str]) -> Option<ObserverRoute> {
        Some(match parts {
            ["node"] => ObserverRoute::Node,
            ["processes"] => ObserverRoute::Processes,
            ["processes", id] => ObserverRoute::Process(number(id)?),
            ["processes", id, "inspect"] => ObserverRoute::Inspect(number(id)?),
            ["processes", id, "state"] => ObserverRoute::State(number(id)?),
            ["processes", id, action] => {
                let action =
                    ProcessAction::ALL.into_iter().find(|known| known.text() == *action)?;
                ObserverRoute::Act(number(id)?, action)
            }
            ["tree"] => ObserverRoute::Tree,
            ["waits"] => ObserverRoute::Waits,
            ["pools"] => ObserverRoute::Pools,
            ["cluster"] => ObserverRoute::Cluster,
            ["findings"] => ObserverRoute::Findings,
            ["crashes"] => ObserverRoute::Ring(RingName::Crashes),
            ["crashes", seq] => ObserverRoute::Crash(number(seq)?),
            ["restarts"] => ObserverRoute::Ring(RingName::Restarts),
            ["dead_letters"] => ObserverRoute::Ring(RingName::DeadLetters),
            ["deadlocks"] => ObserverRoute::Ring(RingName::Deadlocks),
            ["actions"] => ObserverRoute::Ring(RingName::Actions),
            ["logs"] => ObserverRoute::Ring(RingName::Logs),
            ["flow"] => ObserverRoute::Flow,
            ["turns"] => ObserverRoute::Turns,
            ["turns", n] => ObserverRoute::Recording(number(n)?),
            ["traces", n] => ObserverRoute::TraceOf(number(n)?),
            ["snapshot"] => ObserverRoute::Snapshot,
            ["stream"] => ObserverRoute::Stream,
            _ => return None,
        })
    }

    /// Why a path leads nowhere, for people. A pid or a name where a number belongs is the mistake
    /// that is made most often.
    pub(crate) fn missing(path: &str) -> String {
        let parts: Vec<&str> = path.splitn(7, '/').collect();
        let ["", "api", "v1", list, part, rest @ ..] = parts.as_slice() else {
            return NO_ROUTE.to_owned();
        };
        if part.is_empty() || number(part).is_some() || rest.len() > 1 {
            return NO_ROUTE.to_owned();
        }
        let part = decoded(part.as_bytes(), false).unwrap_or_default();
        let part = cut(&String::from_utf8_lossy(&part));
        match *list {
            "processes" => {
                format!("{part:?} is no process id: an id is the number 42 of the pid <0.42.0>")
            }
            "crashes" | "traces" | "turns" if rest.is_empty() => {
                format!("{part:?} is no number of one of the {list}")
            }
            _ => NO_ROUTE.to_owned(),
        }
    }

    /// Its methods, as the header `Allow` lists them.
    pub(crate) const fn methods(&self) -> &'static str {
        match self {
            ObserverRoute::Act(..) | ObserverRoute::Mcp => "POST",
            ObserverRoute::Turns => "GET, HEAD, POST",
            _ => "GET, HEAD",
        }
    }

    /// Whether it serves on the open door for probes.
    pub(crate) const fn is_probe(&self) -> bool {
        matches!(self, ObserverRoute::Live | ObserverRoute::Ready | ObserverRoute::Metrics)
    }

    /// Whether it has data: the page and its assets have none, and need no token.
    pub(crate) const fn has_data(&self) -> bool {
        !matches!(self, ObserverRoute::Page | ObserverRoute::Asset(_))
    }

    /// The place of its pattern in [`PATTERNS`].
    pub(crate) fn pattern(&self) -> usize {
        match self {
            ObserverRoute::Page => 0,
            ObserverRoute::Asset(_) => 1,
            ObserverRoute::Live => 2,
            ObserverRoute::Ready => 3,
            ObserverRoute::Health => 4,
            ObserverRoute::Metrics => 5,
            ObserverRoute::Node => 6,
            ObserverRoute::Processes => 7,
            ObserverRoute::Process(_) => 8,
            ObserverRoute::Inspect(_) => 9,
            ObserverRoute::State(_) => 10,
            ObserverRoute::Tree => 11,
            ObserverRoute::Waits => 12,
            ObserverRoute::Pools => 13,
            ObserverRoute::Findings => 14,
            ObserverRoute::Ring(RingName::Crashes) => 15,
            ObserverRoute::Ring(RingName::Restarts) => 16,
            ObserverRoute::Ring(RingName::DeadLetters) => 17,
            ObserverRoute::Ring(RingName::Deadlocks) => 18,
            ObserverRoute::Ring(RingName::Actions) => 19,
            ObserverRoute::Ring(RingName::Logs) => 20,
            ObserverRoute::Crash(_) => 21,
            ObserverRoute::Flow => 22,
            ObserverRoute::Turns => 23,
            ObserverRoute::Recording(_) => 24,
            ObserverRoute::TraceOf(_) => 25,
            ObserverRoute::Snapshot => 26,
            ObserverRoute::Stream => 27,
            ObserverRoute::Act(..) => 28,
            ObserverRoute::Mcp => 29,
            ObserverRoute::Cluster => 30,
        }
    }
}

/// Reads the number of a path: digits, and nothing else.
fn number(text: &str) -> Option<PathNumber> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().map_err(|_| text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v38_a_path_is_a_route_exactly_or_not_at_all() {
        for (path, route) in [
            ("/", ObserverRoute::Page),
            ("/assets/app.js", ObserverRoute::Asset("app.js".to_owned())),
            ("/api/v1/processes/42", ObserverRoute::Process(Ok(42))),
            (
                "/api/v1/processes/18446744073709551616/kill",
                ObserverRoute::Act(Err("18446744073709551616".to_owned()), ProcessAction::Kill),
            ),
            ("/api/v1/crashes", ObserverRoute::Ring(RingName::Crashes)),
            ("/tree", ObserverRoute::Tree),
        ] {
            assert_eq!(ObserverRoute::find(path), Some(route), "{path}");
        }
        for none in [
            "",
            "*",
            "//",
            "/tree/",
            "/api/v1/",
            "/api/v1/node/",
            "//tree",
            "/api//v1/node",
            "/tree/..",
            "/../tree",
            "/api/v1/processes/-1",
            "/api/v1/processes/+1",
            "/api/v1/processes/",
            "/api/v1/processes/1/dance",
            "/api/v1/processes/1/kill/",
            "/assets/",
            "/Tree",
            "/api/v2/node",
            "/%74ree",
            "/tree\\",
        ] {
            assert_eq!(ObserverRoute::find(none), None, "{none}");
        }
        let segments = "/a".repeat(10_000);
        assert_eq!(ObserverRoute::find(&segments), None);
    }

    #[test]
    fn v39_a_path_with_something_else_than_a_number_is_told_so() {
        let id = "is no process id: an id is the number 42 of the pid <0.42.0>";
        for (path, part) in [
            ("/api/v1/processes/abc", "abc"),
            ("/api/v1/processes/-1", "-1"),
            ("/api/v1/processes/%3C0.1.0%3E", "<0.1.0>"),
            ("/api/v1/processes/shop/kill", "shop"),
            ("/api/v1/processes/%ff", "\u{fffd}"),
        ] {
            assert_eq!(ObserverRoute::missing(path), format!("{part:?} {id}"), "{path}");
        }
        let crash = ObserverRoute::missing("/api/v1/crashes/newest");
        assert_eq!(crash, "\"newest\" is no number of one of the crashes");
        for path in ["", "/", "/api/v1/processes/", "/api/v1/processes/1/dance", "/api/v1/node/x"] {
            assert_eq!(ObserverRoute::missing(path), NO_ROUTE, "{path}");
        }
    }
}
