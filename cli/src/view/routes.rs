//! What the routes of an observer answer out of a file. Pure.

use crate::view::lists;
use crate::view::parameters::ViewParameters;
use crate::view::refusal::ViewRefusal;
use crate::view::request::ViewRequest;
use crate::view::snapshot::SnapshotFile;
use crate::view::subtree::{SubtreeQuery, printed, subtree};
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const RINGS: [&str; 6] = ["crashes", "restarts", "dead_letters", "deadlocks", "actions", "logs"];
const TOPICS: [&str; 12] = [
    "node",
    "processes",
    "pools",
    "cluster",
    "waits",
    "findings",
    "turns",
    "crashes",
    "restarts",
    "dead_letters",
    "deadlocks",
    "logs",
];
/// The most topics of a stream.
const MOST_TOPICS: usize = 8;

/// An answer.
#[derive(Debug)]
pub(crate) enum ViewAnswer {
    /// A status, a type and a body.
    Whole { status: u16, kind: &'static str, body: String },
    /// The page, which needs its policy.
    Page(String),
    /// Events: the first ones, and those of each period.
    Stream { first: String, each: String, period: Duration },
}

/// The file and what it is called.
#[derive(Debug)]
pub(crate) struct ViewedFile {
    pub(crate) file: SnapshotFile,
    pub(crate) name: String,
}

impl ViewedFile {
    /// Answers a request that the guard let in.
    pub(crate) fn answer(&self, request: &ViewRequest) -> Result<ViewAnswer, ViewRefusal> {
        let parts: Vec<&str> = request.path.split('/').skip(1).collect();
        let acts = matches!(parts[..], ["api", "v1", "processes", _, _] | ["api", "v1", "turns"]);
        if request.method == "POST" && acts {
            let message = "this is a file: nothing can be done to its processes";
            return Err(ViewRefusal::new(403, "read_only", message));
        }
        let answer = self.read(&parts, &request.query);
        let known = !matches!(&answer, Err(refusal) if refusal.code == "no_route");
        if known && !matches!(request.method.as_str(), "GET" | "HEAD") {
            return Err(ViewRefusal::new(405, "bad_method", "the route has GET, HEAD"));
        }
        answer
    }

    fn read(&self, parts: &[&str], query: &str) -> Result<ViewAnswer, ViewRefusal> {
        let bare = || ViewParameters::read(query, &[]).map(|_| ());
        match *parts {
            [""] => bare().map(|()| ViewAnswer::Page(self.page())),
            ["assets", name] => {
                let asset = krarup_page::file(name).ok_or_else(ViewRefusal::no_route)?;
                bare()?;
                let mut body = asset.text.to_owned();
                if name == "style.css" {
                    body.push_str(STYLE);
                }
                Ok(ViewAnswer::Whole { status: 200, kind: asset.kind, body })
            }
            ["health"] => {
                ViewParameters::read(query, &["verbose"])?;
                let health = self.file.whole("health").ok_or_else(ViewRefusal::no_route)?;
                let status = if health["status"] == "down" { 503 } else { 200 };
                Ok(ViewAnswer::Whole { status, kind: JSON, body: health.to_string() })
            }
            ["tree"] => self.tree(query),
            ["api", "v1", ref rest @ ..] => self.api(rest, query),
            _ => Err(ViewRefusal::no_route()),
        }
    }

    fn api(&self, parts: &[&str], query: &str) -> Result<ViewAnswer, ViewRefusal> {
        let read = |known: &[&str]| ViewParameters::read(query, known);
        let number = |text: &str| text.parse::<u64>().ok();
        match *parts {
            ["snapshot"] => {
                read(&[])?;
                Ok(ViewAnswer::Whole { status: 200, kind: JSON, body: self.file.text().to_owned() })
            }
            ["processes"] => {
                let asked = read(&lists::PARAMETERS)?;
                lists::processes(self.file.part("processes"), &asked).map(|body| whole(&body))
            }
            ["processes", id] => {
                read(&[])?;
                let process = number(id).and_then(|id| self.file.process(id));
                process.map(whole).ok_or_else(|| {
                    ViewRefusal::new(404, "no_process", "the file has no details of this process")
                })
            }
            ["processes", _, "inspect" | "state"] => {
                read(&["timeout_ms"])?;
                Err(ViewRefusal::new(409, "not_offered", "a process of a file answers nothing"))
            }
            ["tree"] => self.tree(query),
            ["waits"] => {
                let limit = read(&["limit"])?.size("limit", 1, 2000, 500)?;
                Ok(whole(&lists::edges(self.file.part("waits"), limit)))
            }
            ["flow"] => {
                let limit = read(&["limit"])?.size("limit", 1, 1000, 200)?;
                Ok(whole(&lists::edges(self.file.part("flow"), limit)))
            }
            ["crashes", seq] => {
                read(&[])?;
                let crash = number(seq).and_then(|seq| self.file.crash(seq));
                crash.map(whole).ok_or_else(|| {
                    ViewRefusal::new(404, "no_entry", "the file has no crash of this number")
                })
            }
            ["turns" | "traces", _] => {
                read(&["after"])?;
                Err(ViewRefusal::new(404, "no_entry", "a file has no recordings"))
            }
            ["stream"] => self.stream(query),
            [ring] if RINGS.contains(&ring) => {
                let own = ["after", "limit", "pid", "level"];
                let asked = read(if ring == "logs" { &own } else { &own[..2] })?;
                lists::ring(self.file.part(ring), &asked).map(|body| whole(&body))
            }
            [part] if part != "health" => {
                let body = self.file.whole(part).ok_or_else(ViewRefusal::no_route)?;
                read(&[])?;
                Ok(whole(body))
            }
            _ => Err(ViewRefusal::no_route()),
        }
    }

    fn tree(&self, query: &str) -> Result<ViewAnswer, ViewRefusal> {
        let known = ["from", "depth", "children", "max", "format"];
        let asked = ViewParameters::read(query, &known)?;
        let wanted = SubtreeQuery {
            from: asked.number("from", 0, u64::MAX)?,
            depth: asked.size("depth", 1, 64, 16)?,
            children: asked.size("children", 1, 1000, 200)?,
            max: asked.size("max", 1, 5000, 2000)?,
        };
        let format = asked.one_of("format", &["json", "text"])?;
        let tree = subtree(self.file.part("tree"), wanted)?;
        Ok(match format {
            Some("text") => ViewAnswer::Whole { status: 200, kind: TEXT, body: printed(&tree) },
            _ => whole(&tree),
        })
    }

    /// The events of a stream. Nothing happens in a file, so its rings say nothing.
    fn stream(&self, query: &str) -> Result<ViewAnswer, ViewRefusal> {
        let known: Vec<&str> =
            ["topics", "period_ms"].into_iter().chain(lists::PARAMETERS).collect();
        let asked = ViewParameters::read(query, &known)?;
        let period = asked.number("period_ms", 200, 60_000)?.unwrap_or(1000);
        let topics: Vec<&str> = asked.text("topics").unwrap_or_default().split(',').collect();
        if topics.len() > MOST_TOPICS || !topics.iter().all(|topic| TOPICS.contains(topic)) {
            let expected = format!("1 to {MOST_TOPICS} of: {}", TOPICS.join(" "));
            return Err(ViewRefusal::parameter("topics", &expected));
        }
        let hello =
            json!({ "topics": topics, "period_ms": period, "streams": 1, "max_streams": 64 });
        let first = format!("retry: 2000\nevent: hello\ndata: {hello}\n\n");
        // Its parameters are checked whether it is a topic or not.
        let processes = lists::processes(self.file.part("processes"), &asked)?;
        let mut each = String::new();
        for topic in topics {
            let body = match topic {
                "processes" => processes.clone(),
                "waits" => lists::edges(self.file.part("waits"), 500),
                topic => match self.file.whole(topic) {
                    Some(body) => body.clone(),
                    None => continue,
                },
            };
            // JSON has no line ends. Writing to a text cannot fail.
            let _ = write!(each, "event: {topic}\ndata: {body}\n\n");
        }
        Ok(ViewAnswer::Stream { first, each, period: Duration::from_millis(period) })
    }

    /// What the file does not have of the processes: an observer writes the first 500 of them.
    fn left_out(&self) -> String {
        let body = self.file.part("processes");
        let has = body["processes"].as_array().map_or(0, Vec::len) as u64;
        match body["total"].as_u64() {
            Some(total) if total > has => {
                format!(
                    " The file has the first {has} of {total} processes; the others are not in it."
                )
            }
            _ => String::new(),
        }
    }

    /// The page, which says that it is of a file. That of a seed begins with its steps.
    fn page(&self) -> String {
        let node = self.file.part("node");
        let text = |field: &str| node[field].as_str().unwrap_or("unknown").to_owned();
        let expression = self.file.expression();
        let of = match expression {
            Some(expression) => format!("the steps of {expression}"),
            None => format!("of {} at {}", text("node"), text("now_at")),
        };
        let notice = format!(
            "A file, not a running node: {}, {of}. Nothing on this page changes.{}",
            self.name,
            self.left_out(),
        );
        let notice =
            format!("<p id=\"file\" class=\"notice info\">{}</p>\n</body>", in_html(&notice));
        let page = match expression {
            Some(_) => krarup_page::on_replay(),
            None => krarup_page::on_node_file(),
        };
        page.replacen("</body>", &notice, 1)
    }
}

/// The place of the notice: below the page, always in sight.
const STYLE: &str = "#file { grid-column: 1 / -1; position: sticky; bottom: 0; margin: 0; }\n";

fn whole(body: &Value) -> ViewAnswer {
    ViewAnswer::Whole { status: 200, kind: JSON, body: body.to_string() }
}

/// A text as HTML: characters that are markup are written out.
fn in_html(text: &str) -> String {
    text.chars().fold(String::new(), |mut all, letter| {
        match letter {
            '&' => all.push_str("&amp;"),
            '<' => all.push_str("&lt;"),
            '>' => all.push_str("&gt;"),
            '"' => all.push_str("&quot;"),
            letter => all.push(letter),
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn viewed() -> ViewedFile {
        let text = json!({
            "snapshot": "krarup", "api": "v1",
            "node": { "node": "<b>shop", "now_at": "2026-01-01T00:00:00.000Z", "access": {} },
            "health": { "status": "down" }, "pools": { "pools": [] },
            "cluster": { "running": false }, "findings": { "findings": [] },
            "turns": { "workers": [] }, "tree": { "total": 0, "roots": [] },
            "processes": { "total": 1, "processes": [{ "id": 1, "main": 3 }] },
            "waits": { "edges": [], "more": 0 }, "flow": { "edges": [], "more": 0 },
            "crashes": { "next_seq": 2, "items": [{ "seq": 1 }] },
            "process_details": [{ "id": 1, "links": [] }], "crash_details": [{ "seq": 1, "recipe": "r" }],
        });
        let file = SnapshotFile::read(text.to_string()).unwrap();
        ViewedFile { file, name: "a\"<file>".to_owned() }
    }

    fn ask(method: &str, target: &str) -> Result<ViewAnswer, ViewRefusal> {
        let head = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        viewed().answer(&ViewRequest::read(head.as_bytes()).unwrap())
    }

    fn body(target: &str) -> Value {
        match ask("GET", target) {
            Ok(ViewAnswer::Whole { body, .. }) => serde_json::from_str(&body).unwrap(),
            other => panic!("{target}: {other:?}"),
        }
    }

    #[test]
    fn v26_every_route_that_the_page_reads_is_answered() {
        assert_eq!(body("/api/v1/node")["node"], "<b>shop");
        assert_eq!(body("/api/v1/processes?sort=main")["processes"][0]["main"], 3);
        assert_eq!(body("/api/v1/processes/1")["links"], json!([]));
        assert_eq!(body("/api/v1/crashes?after=-1")["items"][0]["seq"], 1);
        assert_eq!(body("/api/v1/crashes/1")["recipe"], "r");
        for route in [
            "pools",
            "cluster",
            "findings",
            "turns",
            "tree",
            "waits?limit=5",
            "flow?limit=5",
            "restarts",
            "dead_letters",
            "deadlocks",
            "actions",
            "logs?level=warn&pid=1",
            "snapshot",
        ] {
            assert!(body(&format!("/api/v1/{route}")).is_object(), "{route}");
        }
        assert!(matches!(ask("GET", "/health"), Ok(ViewAnswer::Whole { status: 503, .. })));
        assert!(matches!(
            ask("HEAD", "/tree?format=text"),
            Ok(ViewAnswer::Whole { kind: TEXT, .. })
        ));
        for asset in krarup_page::FILES {
            assert!(ask("GET", &format!("/assets/{}", asset.name)).is_ok());
        }
    }

    #[test]
    fn v26_a_stream_has_the_pictures_and_nothing_of_rings() {
        let answer =
            ask("GET", "/api/v1/stream?topics=node,processes,crashes&period_ms=300&sort=main");
        let Ok(ViewAnswer::Stream { first, each, period }) = answer else { panic!("{answer:?}") };
        assert!(first.contains("event: hello\ndata: {\"topics\":[\"node\""), "{first}");
        assert!(
            each.starts_with("event: node\ndata: {")
                && each.contains("\n\nevent: processes\ndata: ")
        );
        assert!(!each.contains("crashes") && each.ends_with("\n\n"));
        assert_eq!(period, Duration::from_millis(300));
        for wrong in ["", "?topics=x", "?topics=node&period_ms=1", "?topics=node&sort=x"] {
            assert_eq!(
                ask("GET", &format!("/api/v1/stream{wrong}")).unwrap_err().code,
                "bad_parameter"
            );
        }
    }

    #[test]
    fn v26_a_file_is_not_written_and_has_no_other_routes() {
        for (method, target, code) in [
            ("POST", "/api/v1/processes/1/kill", "read_only"),
            ("POST", "/api/v1/turns", "read_only"),
            ("POST", "/api/v1/node", "bad_method"),
            ("PUT", "/", "bad_method"),
            ("OPTIONS", "/tree", "bad_method"),
            ("GET", "/metrics", "no_route"),
            ("DELETE", "/nowhere", "no_route"),
            ("GET", "/assets/../Cargo.toml", "no_route"),
            ("GET", "/assets/%2e%2e", "no_route"),
            ("GET", "//", "no_route"),
            ("GET", "/api/v1/node/", "no_route"),
            ("GET", "/api/v1/health", "no_route"),
            ("GET", "/api/v1/process_details", "no_route"),
            ("GET", "/api/v1/processes/7", "no_process"),
            ("GET", "/api/v1/processes/x", "no_process"),
            ("GET", "/api/v1/crashes/9", "no_entry"),
            ("GET", "/api/v1/traces/1?after=0", "no_entry"),
            ("GET", "/api/v1/processes/1/inspect?timeout_ms=10", "not_offered"),
            ("GET", "/api/v1/node?x=1", "unknown_parameter"),
        ] {
            assert_eq!(ask(method, target).unwrap_err().code, code, "{method} {target}");
        }
    }

    #[test]
    fn v26_v24_the_page_says_that_it_is_of_a_file_and_names_are_no_markup() {
        let Ok(ViewAnswer::Page(page)) = ask("GET", "/") else { panic!("there is a page") };
        assert!(
            page.contains(
                "A file, not a running node: a&quot;&lt;file&gt;, of &lt;b&gt;shop at 2026"
            )
        );
        assert_eq!(page.matches("</body>").count(), 1);
        assert!(page.contains("data-file=\"node\"") && !page.contains("The file has the first"));
    }

    #[test]
    fn v26_the_page_says_how_many_processes_the_file_does_not_have() {
        let left_out = |total: u64| {
            let rows = json!({ "total": total, "processes": [{ "id": 1 }, { "id": 2 }] });
            let text = json!({ "snapshot": "krarup", "api": "v1", "processes": rows }).to_string();
            let file = SnapshotFile::read(text).unwrap();
            ViewedFile { file, name: String::new() }.left_out()
        };
        assert_eq!(left_out(2), "");
        assert!(left_out(700).contains("the first 2 of 700 processes"));
    }

    #[test]
    fn v83_the_page_of_a_seed_begins_with_its_steps_and_names_its_expression() {
        let replay =
            json!({ "expression": "Simulation::new(7)</p>", "processes": [], "steps": [] });
        let text = json!({ "snapshot": "krarup", "api": "v1", "replay": replay }).to_string();
        let file = SnapshotFile::read(text).unwrap();
        let viewed = ViewedFile { file, name: "seed-7.json".to_owned() };
        let ask = |target: &str| {
            let head = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
            viewed.answer(&ViewRequest::read(head.as_bytes()).unwrap())
        };
        let Ok(ViewAnswer::Page(page)) = ask("/") else { panic!("there is a page") };
        assert!(page.contains("data-file=\"replay\""), "{page}");
        assert!(page.contains("seed-7.json, the steps of Simulation::new(7)&lt;/p&gt;. Nothing"));
        let Ok(ViewAnswer::Whole { status: 200, kind: JSON, body }) = ask("/api/v1/replay") else {
            panic!("there are steps")
        };
        assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), replay);
        for route in ["node", "pools", "replay/1", "replay?after=1"] {
            assert!(ask(&format!("/api/v1/{route}")).is_err(), "{route}");
        }
    }
}
