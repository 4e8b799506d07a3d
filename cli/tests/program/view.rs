//! `krarup view`: a file of a true node shows what its observer showed.

use crate::observed::{Failing, HOSTILE, Observed, errors, get, out, run, send, until};
use crate::viewed::Viewed;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::{env, fs, process};

/// A node with a crash and full mailboxes, and its snapshot.
fn snapshot(name: &str) -> (Observed, Value, String) {
    let observed = Observed::start(name, |it| it);
    observed.stuck("oak", 30);
    observed.stuck(HOSTILE, 3);
    let failing = observed.node.spawn(|| Failing).name("elm").wait().unwrap();
    failing.send(()).unwrap();
    let (all, text) = until(|| {
        let (status, text) = get(observed.observer.address(), "/api/v1/snapshot");
        assert_eq!(status, 200);
        let all: Value = serde_json::from_str(&text).unwrap();
        let rows = all["processes"]["processes"].as_array().unwrap();
        let full = rows.iter().filter(|row| row["main"] == 30 || row["main"] == 3).count() == 2;
        let crashed = all["crashes"]["items"].as_array().is_some_and(|items| items.len() == 1);
        (full && crashed).then_some((all, text))
    });
    (observed, all, text)
}

#[test]
fn v26_a_file_shows_the_numbers_that_the_observer_showed() {
    let (observed, all, text) = snapshot("view@localhost");
    let viewed = Viewed::start("numbers", &text);
    let address = observed.observer.address();
    for part in ["waits", "flow", "tree", "pools", "cluster", "findings", "turns"] {
        assert_eq!(viewed.json(&format!("/api/v1/{part}")), all[part], "{part}");
    }
    let node = viewed.json("/api/v1/node");
    for field in
        ["node", "now_at", "uptime_ms", "processes", "messages", "crashes", "dispatchers", "os"]
    {
        assert_eq!(node[field], all["node"][field], "{field}");
    }
    // Processes that are stuck answer no check, so the node was down.
    let (status, health) = get(viewed.address, "/health");
    assert_eq!((status, serde_json::from_str(&health).ok()), (503, Some(all["health"].clone())));
    let rows = viewed.json("/api/v1/processes?limit=500");
    assert_eq!(rows, all["processes"]);
    let sorted = viewed.json("/api/v1/processes?sort=main&limit=2");
    assert_eq!(
        (&sorted["processes"][0]["main"], &sorted["processes"][1]["name"]),
        (&30.into(), &HOSTILE.into())
    );
    // What stays as it was is told by the observer as by the file.
    let live = |target: &str| serde_json::from_str::<Value>(&get(address, target).1).unwrap();
    for target in
        ["/api/v1/crashes?after=-1", "/api/v1/restarts?after=-1&limit=500", "/api/v1/dead_letters"]
    {
        assert_eq!(viewed.json(target), live(target), "{target}");
    }
    let seq = all["crashes"]["items"][0]["seq"].as_u64().unwrap();
    let crash = viewed.json(&format!("/api/v1/crashes/{seq}"));
    assert_eq!(crash, live(&format!("/api/v1/crashes/{seq}")));
    assert!(crash["explanation"].as_str().unwrap().contains("the stock is gone"));
    for row in rows["processes"].as_array().unwrap() {
        let id = &row["id"];
        let detail = viewed.json(&format!("/api/v1/processes/{id}"));
        for (field, value) in row.as_object().unwrap() {
            assert_eq!(&detail[field], value, "{field} of {id}");
        }
        let now = live(&format!("/api/v1/processes/{id}"));
        for field in ["links", "monitors", "ancestors", "children", "supervised_by", "message_type"]
        {
            assert_eq!(detail[field], now[field], "{field} of {id}");
        }
    }
    let stuck = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.contains("Stuck")).map(str::to_owned).collect()
    };
    let tree = get(viewed.address, "/tree?format=text").1;
    assert_eq!(stuck(&tree), stuck(&get(address, "/tree?format=text").1));
    assert_eq!(stuck(&tree).len(), 2);
    observed.stop();
    // The program looks into a file as into a node.
    let url = format!("http://{}", viewed.address);
    assert_eq!(out(&run(&["tree", &url])), tree);
    let once = run(&["top", "--once", "--sort", "main", "--period-ms", "200", &url]);
    assert_eq!(once.status.code(), Some(0), "{}", errors(&once));
    assert!(out(&once).contains("view@localhost") && out(&once).contains("oak"));
}

#[test]
fn v26_the_page_of_a_file_is_that_of_the_observer_and_streams_pictures() {
    let (observed, all, text) = snapshot("page@localhost");
    let viewed = Viewed::start("page", &text);
    let (_, page) = get(viewed.address, "/");
    assert!(page.contains("A file, not a running node") && page.contains("page@localhost"));
    for asset in ["app.js", "live.js", "icon.svg"] {
        let target = format!("/assets/{asset}");
        assert_eq!(get(viewed.address, &target), get(observed.observer.address(), &target));
    }
    observed.stop();
    let mut socket = TcpStream::connect(viewed.address).unwrap();
    let target = "/api/v1/stream?topics=node,processes,findings,crashes&period_ms=200&sort=main";
    let head = format!("GET {target} HTTP/1.1\r\nHost: {}\r\n\r\n", viewed.address);
    socket.write_all(head.as_bytes()).unwrap();
    let lines: Vec<String> = BufReader::new(socket)
        .lines()
        .map(Result::unwrap)
        .filter(|line| line.starts_with("event: ") || line.starts_with("data: "))
        .take(14)
        .collect();
    let named: Vec<&str> = lines.iter().step_by(2).map(String::as_str).collect();
    let round = ["event: node", "event: processes", "event: findings"];
    assert_eq!(named, [&["event: hello"][..], &round, &round].concat());
    let findings: Value = serde_json::from_str(&lines[7]["data: ".len()..]).unwrap();
    assert_eq!(findings, all["findings"]);
}

#[test]
fn v26_a_viewed_file_has_the_guard_of_an_observer_and_is_never_written() {
    let (observed, _, text) = snapshot("guard@localhost");
    observed.stop();
    let viewed = Viewed::start("guard", &text);
    let address = viewed.address;
    let code = |head: &str| {
        let (status, body) = send(address, &format!("{head}\r\n\r\n"));
        let body: Value = serde_json::from_str(&body).unwrap_or_default();
        (status, body["error"]["code"].as_str().unwrap_or_default().to_owned())
    };
    let host = format!("Host: {address}");
    for (head, status, expected) in [
        ("GET /api/v1/node HTTP/1.1\r\nHost: evil.example".to_owned(), 403, "bad_host"),
        (format!("GET / HTTP/1.1\r\n{host}\r\nOrigin: http://evil.example"), 403, "bad_origin"),
        (format!("GET /tree HTTP/1.1\r\n{host}\r\nSec-Fetch-Site: cross-site"), 403, "bad_origin"),
        (
            format!("POST /api/v1/processes/1/kill HTTP/1.1\r\n{host}\r\nContent-Length: 2"),
            403,
            "read_only",
        ),
        (format!("PUT /api/v1/node HTTP/1.1\r\n{host}"), 405, "bad_method"),
        (format!("GET /assets/../../etc/passwd HTTP/1.1\r\n{host}"), 404, "no_route"),
        (format!("GET /{} HTTP/1.1\r\n{host}", "x".repeat(5000)), 414, "uri_too_long"),
        (format!("GET / HTTP/1.1\r\n{host}\r\nX: {}", "x".repeat(20_000)), 431, "bad_request"),
        ("\u{0}\u{1}\u{2}".to_owned(), 400, "bad_request"),
    ] {
        assert_eq!(code(&head), (status, expected.to_owned()), "{head:.80}");
    }
    // Connections that say nothing leave room for others, and those beyond the most are closed.
    let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(address).unwrap()).collect();
    assert_eq!(get(address, "/api/v1/node").0, 200);
    drop(silent);
    let mut half = TcpStream::connect(address).unwrap();
    half.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    half.shutdown(std::net::Shutdown::Write).unwrap();
    let mut rest = Vec::new();
    half.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty(), "half a head has no answer");
    assert_eq!(fs::read_to_string(&viewed.file).unwrap(), text);
}

#[test]
fn v26_what_is_no_snapshot_is_told_so() {
    let file = env::temp_dir().join(format!("krarup-none-{}.json", process::id()));
    fs::write(&file, "{\"a\":\u{0}\"\u{1b}[2J\"}").unwrap();
    let failed = run(&["view", file.to_str().unwrap()]);
    fs::remove_file(&file).unwrap();
    assert_eq!(failed.status.code(), Some(1));
    assert!(errors(&failed).contains("it is not JSON"), "{}", errors(&failed));
    assert!(!errors(&failed).contains('\u{1b}'));
    assert_eq!(run(&["view", "/no/such/file"]).status.code(), Some(1));
    assert_eq!(run(&["view"]).status.code(), Some(2));
    assert_eq!(run(&["view", "f", "--listen", "0.0.0.0:1"]).status.code(), Some(2));
}
