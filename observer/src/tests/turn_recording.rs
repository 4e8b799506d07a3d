//! Exact recordings of turns through the API.

use super::client::{get, observed, post, send};
use krarup_act::{Actor, Address, Context};
use krarup_gen::Result;
use serde_json::Value;
use std::collections::BTreeSet;

/// Sends itself numbers down to 0.
struct Countdown;

impl Actor for Countdown {
    type Message = u32;
    async fn handle_message(&mut self, ctx: &mut Context<u32>, n: u32) -> Result {
        if n > 0 {
            ctx.address().send(n - 1)?;
        }
        Ok(())
    }
}

#[test]
fn x13_a_recording_through_the_api_is_a_trace_that_can_be_opened() {
    let (node, observer) = observed(|it| it);
    let address = observer.address();
    let process: Address<u32> = node.spawn(|| Countdown).name("countdown").wait().unwrap();
    let reply = post(address, "/api/v1/turns", "{\"ms\":100}");
    let body = "{\"done\":true,\"action\":\"turns\",\"pid\":null,\"recording\":1}";
    assert_eq!((reply.status, reply.body.as_str()), (202, body));
    process.send(1_000).unwrap();
    // One at a time.
    let reply = post(address, "/api/v1/turns", "{\"ms\":100}");
    assert_eq!((reply.status, reply.code().as_str()), (503, "busy"));
    assert_eq!(get(address, "/api/v1/turns/2").code(), "no_entry");
    // Waits until it is over.
    let trace = get(address, "/api/v1/turns/1").json();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |kind: &'static str| events.iter().filter(move |event| event["ph"] == kind);
    let lanes: BTreeSet<_> =
        of("M").filter(|it| it["name"] == "thread_name").map(|it| it["tid"].as_u64()).collect();
    let mut handled = 0;
    for turn in of("X") {
        assert!(turn["ts"].is_f64() && turn["dur"].as_f64().unwrap() >= 0.0, "{turn}");
        assert!(turn["pid"] == 1 && lanes.contains(&turn["tid"].as_u64()), "{turn}");
        if turn["name"] == "countdown" {
            assert_eq!(turn["args"]["pid"], process.pid().to_string());
            handled += turn["args"]["handled"].as_u64().unwrap();
        }
    }
    assert!(handled > 0 && handled <= 1_001, "{handled}");
    assert_eq!(trace["otherData"]["lost"], 0);
    // It can be fetched again, and the next one has another number.
    assert_eq!(get(address, "/api/v1/turns/1").json(), trace);
    let reply = post(address, "/api/v1/turns", "{\"ms\":100}");
    assert_eq!(reply.json()["recording"], 2);
    assert_eq!(get(address, "/api/v1/turns/2").status, 200);
    node.stop().wait().unwrap();
}

#[test]
fn x13_recordings_are_actions_with_bounds_and_the_newest_are_kept() {
    let (node, observer) = observed(|it| it);
    let address = observer.address();
    for body in ["{}", "{\"ms\":99}", "{\"ms\":10001}", "{\"ms\":100,\"more\":1}", "1"] {
        let reply = post(address, "/api/v1/turns", body);
        assert_eq!((reply.status, reply.code().as_str()), (400, "bad_body"), "{body}");
    }
    let head = format!(
        "POST /api/v1/turns HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{{\"ms\":100}}"
    );
    assert_eq!(send(address, head.as_bytes()).code(), "token_missing");
    for number in 1..=5 {
        let reply = post(address, "/api/v1/turns", "{\"ms\":100}");
        assert_eq!(reply.json()["recording"], number);
        assert_eq!(get(address, &format!("/api/v1/turns/{number}")).status, 200);
    }
    assert_eq!(get(address, "/api/v1/turns/1").code(), "no_entry");
    assert_eq!(get(address, "/api/v1/turns/0").code(), "no_entry");
    assert_eq!(get(address, "/api/v1/turns/18446744073709551616").code(), "no_entry");
    assert_eq!(get(address, "/api/v1/turns/5?after=1").code(), "unknown_parameter");
    let actions = get(address, "/api/v1/actions").json();
    let items: Vec<&Value> = actions["items"].as_array().unwrap().iter().collect();
    let seen: Vec<_> = items.iter().map(|it| format!("{} {}", it["outcome"], it["code"])).collect();
    let bad = "\"refused\" \"bad_body\"";
    assert_eq!(seen[..6], [bad, bad, bad, bad, bad, "\"refused\" \"token_missing\""]);
    assert!(seen[6..].iter().all(|it| it == "\"done\" null") && seen.len() == 11, "{seen:?}");
    assert!(items.iter().all(|it| it["action"] == "turns" && it["pid"].is_null()));
    assert_eq!(items[6]["arguments"]["ms"], 100);
    node.stop().wait().unwrap();
}
