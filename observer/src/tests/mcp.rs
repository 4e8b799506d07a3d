//! `/mcp`: the routes as tools.

use super::client::{HttpReply, PATIENCE, TOKEN, get, observed, send, until};
use crate::mcp::tools::{self, ObserverTool, TOOLS, ToolRoute};
use crate::{RunningObserver, Token};
use krarup_act::{Actor, Address, Context, Pool, PoolCommand};
use krarup_gen::{Pid, Reason, Result};
use krarup_node::Node;
use krarup_supervisor::{ChildSpec, RestartType, Supervisor};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Instant;

/// The headers of a client with the action token.
const ACTS: &str = "Authorization: Bearer action-action-action-action-action-action\r\n";

/// Sends a message, as a client without an SDK does.
fn post(address: SocketAddr, headers: &str, message: &Value) -> HttpReply {
    post_text(address, headers, &message.to_string())
}

/// Sends a text that may be no message.
fn post_text(address: SocketAddr, headers: &str, body: &str) -> HttpReply {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2025-06-18\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    send(address, head.as_bytes())
}

fn message(method: &str, parameters: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": parameters })
}

/// Calls a tool.
fn call(address: SocketAddr, headers: &str, name: &str, arguments: &Value) -> Value {
    let parameters = json!({ "name": name, "arguments": arguments });
    let reply = post(address, headers, &message("tools/call", &parameters));
    assert_eq!(reply.status, 200, "{name}: {reply:?}");
    let result = reply.json()["result"].clone();
    assert!(result.is_object(), "{name}: {reply:?}");
    result
}

/// The code of the error that a tool answers with.
fn code(result: &Value) -> String {
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    let error: Value = serde_json::from_str(text).unwrap();
    error["error"]["code"].as_str().unwrap().to_owned()
}

fn names(tools: &Value) -> Vec<String> {
    let tools = tools.as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Holds a value against the parts of JSON Schema that the tools use.
pub(super) fn assert_valid(schema: &Value, value: &Value) {
    let is = |kind: &Value, value: &Value| match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("{other}"),
    };
    assert!(is(&schema["type"], value), "{value}");
    for name in schema["required"].as_array().unwrap() {
        let name = name.as_str().unwrap();
        let field = value.get(name).unwrap_or_else(|| panic!("there is no {name}: {value}"));
        assert!(is(&schema["properties"][name]["type"], field), "{name}: {field}");
    }
}

/// Ends with an error when it is sent nothing, and does what it is told in its `init`.
struct FragileProcess {
    name: &'static str,
    linked: Option<Pid>,
}

fn fragile(name: &'static str, linked: Option<Pid>) -> ChildSpec {
    ChildSpec::worker(name, move || FragileProcess { name, linked }).name(name)
}

impl Actor for FragileProcess {
    type Message = u32;

    async fn init(&mut self, ctx: &mut Context<u32>) -> Result {
        if let Some(linked) = self.linked.take() {
            ctx.link(linked);
        }
        Ok(())
    }

    async fn handle_message(&mut self, _: &mut Context<u32>, number: u32) -> Result {
        assert!(number > 0, "zero came to {}", self.name);
        Ok(())
    }
}

/// A node with a supervised process that crashed once, and came back.
pub(super) fn crashed() -> (Node, RunningObserver, Address<u32>) {
    let (node, observer) = observed(|it| it);
    let tree = || Supervisor::one_for_one().child(fragile("shop", None));
    node.spawn(tree).name("root").wait().unwrap();
    let shop: Address<u32> = node.lookup("shop").unwrap();
    shop.send(0).unwrap();
    until(observer.address(), "/api/v1/crashes", |reply| {
        reply.json()["items"][0]["replaced_by"].is_string()
    });
    let shop = node.lookup("shop").unwrap();
    (node, observer, shop)
}

/// The arguments that a tool needs, of those that it can be given.
pub(super) fn needed(tool: &ObserverTool, id: u64) -> Value {
    let given = json!({ "id": id, "seq": 1 });
    let needed = tools::input(tool)["required"].clone();
    let needed = needed.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned());
    needed
        .map(|name| (name.clone(), given[&name].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[test]
fn v51_each_tool_that_reads_answers_as_its_route_does() {
    let (node, observer, shop) = crashed();
    let (address, id) = (observer.address(), shop.pid().id());
    let first = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    let hello = post(address, "", &message("initialize", &first)).json();
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18", "{hello}");
    assert_eq!(hello["result"]["serverInfo"]["name"], "krarup-observer");
    assert!(hello["result"]["capabilities"]["tools"].is_object(), "{hello}");
    let begun = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let begun = post(address, "", &begun);
    assert_eq!((begun.status, begun.body.as_str()), (202, ""));
    for tool in TOOLS.iter().filter(|tool| !tool.acts()) {
        let result = call(address, "", tool.name, &needed(tool, id));
        if tool.name == "state" {
            assert_eq!(code(&result), "not_offered");
            continue;
        }
        assert_eq!(result["isError"], false, "{result}");
        assert!(result["content"][0]["text"].as_str().is_some_and(|text| !text.is_empty()));
        let body = &result["structuredContent"];
        assert_valid(&Value::from(tools::output(tool)), body);
        if let ToolRoute::Reads(path) = tool.does {
            let path = path.replace("{id}", &id.to_string()).replace("{seq}", "1");
            let route = get(address, &path).json();
            let fields = |body: &Value| -> Vec<String> {
                body.as_object().unwrap().keys().cloned().collect()
            };
            assert_eq!(fields(body), fields(&route), "{}", tool.name);
        }
    }
    let crash = call(address, "", "crash", &json!({ "seq": 1 }));
    assert_eq!(crash["structuredContent"], get(address, "/api/v1/crashes/1").json());
    let page = call(address, "", "list_processes", &json!({ "q": "sh&op" }));
    assert_eq!(page["structuredContent"]["matched"], 0);
    let page = call(address, "", "list_processes", &json!({ "q": "shop", "limit": 1 }));
    assert_eq!(page["structuredContent"]["processes"][0]["pid"], shop.pid().to_string());
    let page = call(address, "", "list_processes", &json!({}));
    assert_eq!(page["structuredContent"]["limit"], 20);
    node.stop().wait().unwrap();
}

#[test]
fn v51_errors_of_the_routes_are_errors_of_the_tools() {
    let (node, observer) = observed(|it| it);
    let address = observer.address();
    for (name, arguments, expected) in [
        ("node", json!({ "verbose": 1 }), "unknown_parameter"),
        ("list_processes", json!({ "limit": 501 }), "bad_parameter"),
        ("list_processes", json!({ "sort": ["cpu"] }), "bad_parameter"),
        ("process_info", json!({}), "bad_parameter"),
        ("process_info", json!({ "id": 999_999 }), "no_process"),
        ("process_info", json!({ "id": "1/kill" }), "bad_parameter"),
        ("crash", json!({ "seq": 7 }), "no_entry"),
        ("explain_restart", json!({}), "no_entry"),
        ("explain_restart", json!({ "id": 1, "seq": 1 }), "bad_parameter"),
        ("explain_restart", json!({ "pid": 1 }), "unknown_parameter"),
    ] {
        assert_eq!(code(&call(address, "", name, &arguments)), expected, "{name} {arguments}");
    }
    let unknown = post(address, "", &message("tools/call", &json!({ "name": "dance" }))).json();
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    for (parameters, named) in [
        (json!({ "name": "node", "arguments": [] }), "arguments=[] is not an object"),
        (json!({ "name": "node", "arguments": "x" }), "arguments=\"x\" is not an object"),
        (json!({ "name": 7 }), "name=7 is not a text"),
        (json!({ "arguments": {} }), "there is no name of a tool"),
    ] {
        let reply = post(address, "", &message("tools/call", &parameters)).json();
        let error = &reply["error"];
        assert_eq!((&error["code"], &error["message"]), (&json!(-32602), &json!(named)), "{reply}");
    }
    // The SDK wants both kinds of answers to be accepted, and says so as plain text.
    let ping = message("ping", &json!({})).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAccept: application/json\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{ping}",
        ping.len()
    );
    let reply = send(address, head.as_bytes());
    assert!(reply.status == 406 && reply.head.contains("content-type: text/plain"), "{reply:?}");
    let unknown = post(address, "", &message("tools/dance", &json!({}))).json();
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    for strange in
        [json!([]), json!([message("ping", &json!({}))]), json!(1), json!({ "jsonrpc": "2.0" })]
    {
        let reply = post(address, "", &strange);
        assert!((400..500).contains(&reply.status), "{strange}: {reply:?}");
    }
    let listen =
        post(address, "", &message("subscriptions/listen", &json!({ "notifications": {} })));
    assert!(listen.body.contains("error"), "{listen:?}");
    assert_eq!(get(address, "/api/v1/node").status, 200);
    node.stop().wait().unwrap();
}

#[test]
fn v52_action_tools_are_listed_and_work_with_the_action_token_alone() {
    let (node, observer, shop) = crashed();
    let (address, id) = (observer.address(), shop.pid().id());
    let listed = |headers: &str| {
        names(&post(address, headers, &message("tools/list", &json!({}))).json()["result"]["tools"])
    };
    let all: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    let reads: Vec<&str> = TOOLS.iter().filter(|tool| !tool.acts()).map(|tool| tool.name).collect();
    assert_eq!(
        (listed(""), listed(ACTS)),
        (
            reads.iter().map(ToString::to_string).collect(),
            all.iter().map(ToString::to_string).collect()
        )
    );
    let wrong = ACTS.replace("action\r\n", "actioo\r\n");
    assert_eq!(listed(&wrong), reads);
    for tool in TOOLS.iter().filter(|tool| tool.acts()) {
        let arguments = json!({ "id": id });
        assert_eq!(code(&call(address, "", tool.name, &arguments)), "token_missing");
        assert_eq!(code(&call(address, &wrong, tool.name, &arguments)), "token_wrong");
    }
    assert_eq!(node.whereis("shop"), Some(shop.pid()));
    let refused = get(address, "/api/v1/actions?after=-1&limit=1").json()["items"][0].clone();
    assert_eq!((&refused["outcome"], &refused["code"]), (&"refused".into(), &"token_wrong".into()));
    assert_eq!(code(&call(address, ACTS, "exit", &json!({ "id": id }))), "bad_body");
    assert_eq!(code(&call(address, ACTS, "kill", &json!({}))), "bad_parameter");
    let own = node.whereis("observer.sampler").unwrap().id();
    assert_eq!(code(&call(address, ACTS, "kill", &json!({ "id": own }))), "protected");
    let end = node.watch(shop.pid());
    let done = call(address, ACTS, "exit", &json!({ "id": id, "reason": "enough" }));
    assert_eq!(done["structuredContent"]["done"], true, "{done}");
    let exit = ObserverTool::find("exit").unwrap();
    assert_valid(&Value::from(tools::output(exit)), &done["structuredContent"]);
    assert_eq!(end.wait().unwrap().reason.to_string(), "enough");
    let actions = get(address, "/api/v1/actions?after=-1&limit=1").json();
    assert_eq!(actions["items"][0]["arguments"], json!({ "reason": "enough" }));
    assert!(!actions.to_string().contains(TOKEN));
    node.stop().wait().unwrap();
}

#[test]
fn v52_without_a_configured_token_the_tools_only_read() {
    let node = Node::start("reads@localhost").unwrap();
    let observer = crate::Observer::new().listen("127.0.0.1:0").start(&node).wait().unwrap();
    let killed = call(observer.address(), ACTS, "kill", &json!({ "id": 1 }));
    assert_eq!(code(&killed), "read_only");
    node.stop().wait().unwrap();
}

#[test]
fn v52_the_guard_stands_before_the_tools() {
    let read = "read-read-read-read-read-read-read-read";
    let token = Token::new(read).unwrap();
    let (node, observer) = observed(|it| it.read_token(token).probes("127.0.0.1:0"));
    let ask = |method: &str, headers: &str| {
        let ping = message("ping", &json!({})).to_string();
        let head = format!(
            "{method} /mcp HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n\
             Accept: application/json, text/event-stream\r\n{headers}\r\n{ping}",
            ping.len()
        );
        send(observer.address(), head.as_bytes())
    };
    let json = "Content-Type: application/json\r\n";
    let reads = format!("Authorization: Bearer {read}\r\n");
    for (method, headers, status, expected) in [
        ("POST", format!("Host: evil.example\r\n{json}{reads}"), 403, "bad_host"),
        ("POST", format!("Host: localhost\r\nOrigin: null\r\n{json}{reads}"), 403, "bad_origin"),
        (
            "POST",
            format!("Host: localhost\r\nSec-Fetch-Site: cross-site\r\n{json}{reads}"),
            403,
            "bad_origin",
        ),
        ("GET", format!("Host: localhost\r\n{json}{reads}"), 405, "bad_method"),
        ("DELETE", format!("Host: localhost\r\n{json}{reads}"), 405, "bad_method"),
        ("OPTIONS", format!("Host: localhost\r\n{json}{reads}"), 405, "bad_method"),
        ("POST", format!("Host: localhost\r\n{json}"), 401, "token_missing"),
        (
            "POST",
            format!("Host: localhost\r\n{json}{ACTS}").replace("action\r\n", "actioo\r\n"),
            401,
            "token_wrong",
        ),
        (
            "POST",
            format!("Host: localhost\r\nContent-Type: text/plain\r\n{reads}"),
            415,
            "bad_media_type",
        ),
    ] {
        let reply = ask(method, &headers);
        assert_eq!((reply.status, reply.code().as_str()), (status, expected), "{headers}");
        assert!(status != 405 || reply.head.contains("allow: post\r\n"), "{reply:?}");
    }
    for headers in [&reads, ACTS] {
        let reply = ask("POST", &format!("Host: localhost\r\n{json}{headers}"));
        assert_eq!((reply.status, &reply.json()["result"]), (200, &json!({})), "{headers}");
        assert!(reply.head.contains("x-content-type-options: nosniff"), "{reply:?}");
    }
    let large = message("ping", &json!({ "_meta": { "x": "y".repeat(17 << 10) } }));
    assert_eq!(post(observer.address(), &reads, &large).status, 413);
    assert_eq!(post(observer.probes_address().unwrap(), &reads, &json!({})).status, 404);
    node.stop().wait().unwrap();
}

#[test]
fn v51_what_is_no_message_of_the_protocol_is_an_error_of_json_rpc() {
    let (node, observer) = observed(|it| it);
    let (no_json, no_request) = (-32_700, -32_600);
    for (body, id, code) in [
        ("", json!(null), no_json),
        ("{", json!(null), no_json),
        (r#"{"jsonrpc": "2.0", "id": 7, "method": "ping""#, json!(null), no_json),
        (&"[".repeat(9_000), json!(null), no_json),
        ("null", json!(null), no_request),
        ("{}", json!(null), no_request),
        (r#"[{"jsonrpc": "2.0", "id": 7, "method": "ping"}]"#, json!(null), no_request),
        (r#"{"jsonrpc": "1.0", "id": 7, "method": "ping"}"#, json!(7), no_request),
        (r#"{"jsonrpc": "2.0", "id": "a", "method": 3}"#, json!("a"), no_request),
        (r#"{"jsonrpc": "2.0", "id": [1], "method": 3}"#, json!(null), no_request),
    ] {
        let reply = post_text(observer.address(), "", body);
        assert_eq!(reply.status, 400, "{body}: {reply:?}");
        assert!(reply.head.contains("content-type: application/json"), "{reply:?}");
        let answer = reply.json();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &id), "{body}: {answer}");
        assert_eq!(answer["error"]["code"], code, "{body}: {answer}");
        assert!(answer["error"]["message"].is_string(), "{body}: {answer}");
    }
    assert_eq!(post(observer.address(), "", &message("ping", &json!({}))).status, 200);
    node.stop().wait().unwrap();
}

#[test]
fn v53_calls_without_a_session_leave_nothing_behind() {
    let calls = std::env::var("MCP_CALLS").ok().and_then(|it| it.parse().ok()).unwrap_or(200);
    let (node, observer, shop) = crashed();
    let address = observer.address();
    let http = node.whereis("observer.http").unwrap().id();
    let inspected = format!("/api/v1/processes/{http}/inspect");
    // The socket that listens, this connection, and the inspection have a task each.
    let alone = |reply: &HttpReply| {
        let items = reply.json()["items"].clone();
        items["connections"] == 1 && items["tasks"] == 3
    };
    until(address, &inspected, alone);
    let resident = || get(address, "/api/v1/node").json()["os"]["resident_bytes"].as_u64();
    let mut before = None;
    for number in 0..calls {
        if number == calls / 2 {
            before = resident();
        }
        let tool = &TOOLS[number % TOOLS.len()];
        let headers = if number % 3 == 0 { ACTS } else { "" };
        if !tool.acts() {
            call(address, headers, tool.name, &needed(tool, shop.pid().id()));
        }
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let hello = post(address, "", &message("initialize", &hello));
        assert!(!hello.head.contains("mcp-session-id"), "{hello:?}");
    }
    until(address, &inspected, alone);
    assert_eq!(get(address, "/api/v1/node").json()["sample"]["watchers"], 0);
    // The memory is that of the program: other tests change it, so only a long run alone tells.
    if let (Some(before), Some(after), true) = (before, resident(), calls >= 10_000) {
        assert!(after < before + (4 << 20), "{before} bytes became {after}");
    }
    node.stop().wait().unwrap();
}

/// What `explain_restart` says of the newest crash of a process, once it was replaced if it is.
fn explained(address: SocketAddr, pid: Pid, replaced: bool) -> Value {
    let began = Instant::now();
    loop {
        let result = call(address, "", "explain_restart", &json!({ "id": pid.id() }));
        let told = result["structuredContent"].clone();
        if told["pid"] == pid.to_string() && (!replaced || told["replaced_by"].is_string()) {
            assert_eq!(result["content"][0]["text"], told["explanation"]);
            return told;
        }
        assert!(began.elapsed() < PATIENCE, "{result}");
    }
}

#[test]
fn v54_a_restart_is_explained_by_its_cause_its_decision_and_its_successor() {
    let (node, observer) = observed(|it| it);
    let address = observer.address();
    let first = node.spawn(|| FragileProcess { name: "first", linked: None }).name("first");
    let first = first.wait().unwrap().pid();
    let tree = move || {
        let leaf = || Supervisor::one_for_one().child(fragile("leaf", None));
        let middle = move || Supervisor::one_for_one().child(ChildSpec::supervisor("leaves", leaf));
        let pool = || Pool::new(1, || FragileProcess { name: "worker", linked: None });
        Supervisor::one_for_one()
            .child(ChildSpec::supervisor("middle", middle))
            .child(ChildSpec::worker("jobs", pool).name("jobs"))
            .child(fragile("second", Some(first)).restart(RestartType::Temporary))
    };
    node.spawn(tree).name("root").wait().unwrap();

    // An error below three supervisors.
    let leaf: Address<u32> = node.lookup("leaf").unwrap();
    leaf.send(0).unwrap();
    let told = explained(address, leaf.pid(), true);
    assert_eq!(told["first_cause"]["pid"], leaf.pid().to_string());
    assert_eq!(
        (&told["watched_by"]["kind"], &told["decision"]["what"]),
        (&"supervisor".into(), &"restarting".into())
    );
    let successor = node.whereis("leaf").unwrap();
    assert_eq!(told["replaced_by"], successor.to_string());
    // The successor is explained by the crash of the one before it.
    let again = call(address, "", "explain_restart", &json!({ "id": successor.id() }));
    assert_eq!(again["structuredContent"]["seq"], told["seq"]);
    for part in ["leaf", "zero came to leaf", "restarting", &successor.to_string()] {
        assert!(told["explanation"].as_str().unwrap().contains(part), "{part}: {told}");
    }

    // A panic in a worker of a supervised pool.
    let worker = |reply: &HttpReply| reply.json()["pools"][0]["members"][0]["pid"].is_string();
    let pools = until(address, "/api/v1/pools", worker).json();
    let worker: Pid = pools["pools"][0]["members"][0]["pid"].as_str().unwrap().parse().unwrap();
    let jobs: Address<u32, PoolCommand> = node.lookup("jobs").unwrap();
    jobs.send(0).unwrap();
    let told = explained(address, worker, true);
    assert_eq!(
        (&told["watched_by"]["name"], &told["watched_by"]["kind"]),
        (&"jobs".into(), &"pool".into())
    );
    assert_eq!(told["in_hand"]["type"], "u32");

    // A process that falls over a link, and the first, which was killed.
    let second = node.whereis("second").unwrap();
    node.kill(first);
    let told = explained(address, second, false);
    let cause = &told["first_cause"];
    assert_eq!((&cause["pid"], &cause["name"]), (&first.to_string().into(), &"first".into()));
    assert!(told["replaced_by"].is_null(), "{told}");
    let told = explained(address, first, false);
    assert_eq!(told["reason"], Reason::Killed.to_string());
    node.stop().wait().unwrap();
}
