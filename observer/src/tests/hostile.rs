//! Hostile clients.

use super::client::{PATIENCE, TOKEN, connect, get, observed, quick, send};
use crate::limits::DoorLimits;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

#[test]
fn v35_every_route_looks_at_the_host_and_the_origin() {
    let (node, observer) = observed(|it| it);
    let address = observer.address();
    for route in ["/", "/assets/app.js", "/api/v1/node", "/api/v1/processes", "/livez", "/none"] {
        let ask = |headers: &str| {
            send(
                address,
                format!("GET {route} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n").as_bytes(),
            )
        };
        let evil = ask("Host: evil.example\r\n");
        assert_eq!((evil.status, evil.code().as_str()), (403, "bad_host"), "{route}");
        let foreign = ask("Host: localhost\r\nOrigin: null\r\n");
        assert_eq!((foreign.status, foreign.code().as_str()), (403, "bad_origin"), "{route}");
        let without = ask("Host: localhost:1\r\n");
        assert_ne!(without.status, 403, "{route}");
        let nobody = ask("");
        assert_eq!(nobody.status, 400, "{route}: {nobody:?}");
        for head in [&evil.head, &without.head] {
            for header in ["x-content-type-options: nosniff", "referrer-policy: no-referrer"] {
                assert!(head.contains(header), "{route}: {head}");
            }
            assert!(!head.contains("access-control") && !head.contains("set-cookie"), "{head}");
        }
    }
    node.stop().wait().unwrap();
}

#[test]
fn v36_an_action_without_the_token_is_refused_and_nothing_has_happened() {
    let (node, observer) = observed(|it| it);
    let victim = node.whereis("observer.sampler").unwrap();
    let target = format!("/api/v1/processes/{}/kill", victim.id());
    let ask = |target: &str, headers: &str| {
        let head = format!(
            "POST {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 2\r\n{headers}\r\n{{}}"
        );
        send(observer.address(), head.as_bytes())
    };
    let short = &TOKEN[1..];
    assert_eq!(ask(&target, "").code(), "token_missing");
    assert_eq!(ask(&format!("{target}?token={TOKEN}"), "").code(), "token_missing");
    assert_eq!(ask(&target, &format!("Cookie: token={TOKEN}\r\n")).code(), "token_missing");
    let wrong = ask(&target, &format!("Authorization: Bearer {short}\r\n"));
    assert_eq!((wrong.status, wrong.code().as_str()), (401, "token_wrong"));
    assert!(wrong.head.contains("www-authenticate: bearer") && !wrong.body.contains(short));
    assert_eq!(node.whereis("observer.sampler"), Some(victim));
    node.stop().wait().unwrap();
}

#[test]
fn v37_other_methods_are_refused_with_allow_and_without_cors() {
    let (node, observer) = observed(|it| it);
    for method in ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "POST"] {
        let head = format!(
            "{method} /api/v1/node HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        );
        let reply = send(observer.address(), head.as_bytes());
        assert_eq!(reply.status, 405, "{method}");
        assert!(reply.head.contains("allow: get, head") && !reply.head.contains("access-control"));
    }
    let head = "HEAD /api/v1/node HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let reply = send(observer.address(), head.as_bytes());
    assert_eq!((reply.status, reply.body.as_str()), (200, ""));
    node.stop().wait().unwrap();
}

#[test]
fn v38_strange_paths_are_never_files() {
    let (node, observer) = observed(|it| it);
    let long = "/a".repeat(10_000);
    let many = "/x".repeat(2_500);
    for path in [
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/assets/../lib.rs",
        "/assets/%2e%2e%2flib.rs",
        "/%00",
        "//",
        "/\\..\\x",
        "/%ff",
        &long,
        &many,
        "/assets/",
        "/assets//app.js",
    ] {
        let reply = get(observer.address(), path);
        assert!([400, 404, 414, 431].contains(&reply.status), "{path}: {reply:?}");
    }
    assert_eq!(get(observer.address(), &many).code(), "uri_too_long");
    node.stop().wait().unwrap();
}

#[test]
fn v35_a_whole_address_is_a_target_if_its_host_is_allowed() {
    let (node, observer) = observed(|it| it);
    let address = observer.address();
    let reply = get(address, &format!("http://{address}/api/v1/node"));
    assert_eq!((reply.status, &reply.json()["node"]), (200, &"observed@localhost".into()));
    let reply = get(address, &format!("http://{address}/api/v1/processes?limit=0"));
    assert_eq!((reply.status, reply.code().as_str()), (400, "bad_parameter"));
    for evil in ["http://evil.example/api/v1/node", "http://evil.example/"] {
        let reply = get(address, evil);
        assert_eq!((reply.status, reply.code().as_str()), (403, "bad_host"), "{evil}");
    }
    node.stop().wait().unwrap();
}

#[test]
fn v39_a_head_that_is_large_or_no_http_is_refused_without_a_body() {
    let (node, observer) = observed(|it| it);
    let large = format!("GET / HTTP/1.1\r\nHost: localhost\r\nA: {}\r\n\r\n", "x".repeat(17 << 10));
    for (bytes, status) in [(large.as_str(), 431), ("no HTTP at all\r\n\r\n", 400)] {
        let reply = send(observer.address(), bytes.as_bytes());
        assert_eq!((reply.status, reply.body.as_str()), (status, ""), "{reply:?}");
    }
    node.stop().wait().unwrap();
}

#[test]
fn v39_an_error_names_the_value_that_was_wrong() {
    let (node, observer) = observed(|it| it);
    let address = observer.address();
    let message = |target: &str| {
        let error = get(address, target).json()["error"].clone();
        error["message"].as_str().unwrap().to_owned()
    };
    let large = "99999999999999999999999999";
    for (target, expected) in [
        (
            "/api/v1/crashes?after=-2",
            format!("after=-2 is not a whole number from -1 to {}", u64::MAX),
        ),
        (
            &format!("/api/v1/processes/{large}"),
            format!("no process has the id {large}: the largest id is {}", u64::MAX),
        ),
        (
            "/api/v1/processes/%3C0.1.0%3E",
            "\"<0.1.0>\" is no process id: an id is the number 42 of the pid <0.42.0>".to_owned(),
        ),
        ("/api/v1/node?x=1", "there is no parameter \"x\"; there are none".to_owned()),
    ] {
        assert_eq!(message(target), expected);
    }
    node.stop().wait().unwrap();
}

#[test]
fn v39_any_bytes_leave_the_observer_serving() {
    let (node, observer) = observed(|it| it);
    let mut seed = 7_u64;
    for round in 0..60 {
        let mut bytes: Vec<u8> = Vec::new();
        for _ in 0..round * 7 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            bytes.push((seed >> 33).to_le_bytes()[0]);
        }
        if round % 2 == 0 {
            bytes.splice(0..0, *b"GET /api/v1/processes?q=");
            bytes.extend_from_slice(b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        }
        let mut stream = connect(observer.address());
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(!answer.starts_with(b"HTTP/1.1 500"));
    }
    assert_eq!(get(observer.address(), "/api/v1/node").status, 200);
    node.stop().wait().unwrap();
}

#[test]
fn v40_a_body_that_is_too_large_is_refused_however_it_comes() {
    let (node, observer) = observed(|it| it);
    let victim = node.whereis("observer.sampler").unwrap().id();
    let head = |more: &str| {
        format!(
            "POST /api/v1/processes/{victim}/kill HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer {TOKEN}\r\n{more}\r\n"
        )
    };
    let big = " ".repeat((16 << 10) + 1);
    let declared = head(&format!("Content-Length: {}\r\n", big.len())) + &big;
    let reply = send(observer.address(), declared.as_bytes());
    assert_eq!((reply.status, reply.code().as_str()), (413, "too_large"));
    assert!(reply.head.contains("connection: close"));
    let chunked =
        format!("{}{:x}\r\n{big}\r\n0\r\n\r\n", head("Transfer-Encoding: chunked\r\n"), big.len());
    assert_eq!(send(observer.address(), chunked.as_bytes()).status, 413);
    let mut endless = connect(observer.address());
    endless.write_all(head("Transfer-Encoding: chunked\r\n").as_bytes()).unwrap();
    let began = Instant::now();
    while endless.write_all(format!("1000\r\n{}\r\n", " ".repeat(4096)).as_bytes()).is_ok() {
        assert!(began.elapsed() < PATIENCE, "it is read for ever");
    }
    let slow = head("Content-Length: 2\r\n") + "{";
    let reply = send(observer.address(), slow.as_bytes());
    assert_eq!((reply.status, reply.code().as_str()), (408, "too_slow"));
    node.stop().wait().unwrap();
}

#[test]
fn v41_slow_heads_are_closed_and_others_are_served_meanwhile() {
    let (node, observer) = observed(|it| it);
    let mut slow: Vec<_> = (0..200).map(|_| connect(observer.address())).collect();
    for stream in &mut slow {
        stream.write_all(b"G").unwrap();
    }
    for _ in 0..10 {
        assert_eq!(get(observer.address(), "/api/v1/node").status, 200);
    }
    let began = Instant::now();
    for stream in &mut slow {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
    assert!(began.elapsed() < PATIENCE);
    node.stop().wait().unwrap();
}

#[test]
fn v44_connections_beyond_the_most_are_told_so_and_idle_ones_make_room() {
    let limits =
        DoorLimits { connections: 4, refusals: 4, head: Duration::from_secs(2), ..quick() };
    let (node, observer) = observed(|it| it.limits(limits));
    let idle: Vec<_> = (0..4).map(|_| connect(observer.address())).collect();
    let reply = get(observer.address(), "/api/v1/node");
    assert_eq!((reply.status, reply.code().as_str()), (503, "busy"), "{reply:?}");
    assert!(reply.head.contains("retry-after: 1") && reply.head.contains("connection: close"));
    super::client::until(observer.address(), "/api/v1/node", |reply| reply.status == 200);
    drop(idle);
    node.stop().wait().unwrap();
}

#[test]
fn v45_requests_that_two_servers_read_differently_are_refused() {
    let (node, observer) = observed(|it| it);
    let next = "GET /assets/app.js HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    for bad in [
        "POST /tree HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        "POST /tree HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /tree HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        "GET /tree HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n",
        "GET /tree HTTP/1.1\nHost: localhost\n\n",
        "GET /tree HTTP/1.1\r\nHost: localhost\r\nA: b\n\r\n",
    ] {
        let reply = send(observer.address(), format!("{bad}{next}").as_bytes());
        assert_eq!(reply.status, 400, "{bad:?}: {reply:?}");
        assert!(!reply.body.contains("HTTP/1.1 200"), "{bad:?}: {reply:?}");
    }
    let (one, length) =
        ("GET /assets/app.js HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 200".len());
    let both = send(observer.address(), format!("{one}{next}").as_bytes());
    assert_eq!(both.body.matches("HTTP/1.1 200").count() * length, length, "{both:?}");
    node.stop().wait().unwrap();
}
