//! The commands of the API where nothing answers as an observer does.

use crate::observed::{Observed, TOKEN, errors, nowhere, out, run};
use crate::shop::run_with;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::{self, JoinHandle};

const ACTING: [&str; 4] = ["kill", "exit", "suspend", "trace"];

/// The commands with arguments that fit.
fn commands(url: &str) -> Vec<Vec<String>> {
    let of = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let reading = [
        "node",
        "health",
        "findings",
        "ps",
        "pools",
        "cluster",
        "waits",
        "turns",
        "flow",
        "crashes",
        "restarts",
        "dead-letters",
        "deadlocks",
        "logs",
        "actions",
        "snapshot",
    ];
    let mut all: Vec<_> = reading.iter().map(|name| of(&[name, url])).collect();
    all.extend(["info", "inspect", "state", "kill"].iter().map(|name| of(&[name, url, "7"])));
    all.push(of(&["info", url, "stock"]));
    all.push(of(&["exit", url, "7", "normal"]));
    all.push(of(&["suspend", url, "7", "5"]));
    all.push(of(&["trace", url, "7", "5", "5"]));
    all
}

/// A server that gives every request this answer, so many times.
fn server(answer: &'static str, times: usize) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let thread = thread::spawn(move || {
        for _ in 0..times {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            let whole = |request: &[u8]| {
                let text = String::from_utf8_lossy(request).to_ascii_lowercase();
                let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
                let length = head.lines().find_map(|it| it.strip_prefix("content-length: "));
                body.len() >= length.map_or(0, |it| it.parse().unwrap())
            };
            while !whole(&request) {
                let mut bytes = [0; 1024];
                let read = stream.read(&mut bytes).unwrap();
                assert!(read > 0, "half a request");
                request.extend_from_slice(&bytes[..read]);
            }
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (url, thread)
}

#[test]
fn v84_where_no_observer_answers_each_command_fails_and_says_so() {
    let url = nowhere();
    for command in commands(&url) {
        let output = run(&command.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        let told = errors(&output);
        assert!(told.contains(&format!("no observer answers at {url}: ")), "{told}");
        assert!(!told.contains("may have been done"), "it was not reached: {told}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn v84_a_server_that_is_no_observer_and_half_an_answer_are_told_as_such() {
    for (answer, told) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\n<html>", "status 200"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]", "status 200"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", "status 200"),
        ("HTTP/1.1 502 Bad\r\nContent-Length: 2\r\nConnection: close\r\n\r\n\u{1b}[", "status 502"),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"node\":\"a", "status 200"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"done\":tr", "no observer answers"),
        ("SSH-2.0-OpenSSH\r\n", "no observer answers"),
        ("", "no observer answers"),
    ] {
        let all = commands("");
        let (url, thread) = server(answer, all.len());
        for command in commands(&url) {
            let output = run(&command.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(output.status.code(), Some(1), "{command:?} {answer:?}: {}", out(&output));
            let message = errors(&output);
            assert!(message.contains(told), "{command:?} {answer:?}: {message}");
            assert!(output.stdout.is_empty(), "{command:?} {answer:?}");
            assert!(message.chars().all(|it| it == '\n' || !it.is_control()));
            // Half an answer leaves open what came of the action.
            let open = ACTING.contains(&command[0].as_str()) && told == "no observer answers";
            assert_eq!(message.contains("it may have been done all the same"), open, "{message}");
        }
        thread.join().unwrap();
    }
}

#[test]
fn v84_a_read_token_is_wanted_and_taken() {
    let observed = Observed::guarded("token@localhost");
    let url = observed.url();
    for command in ["node", "ps", "crashes", "snapshot", "health"] {
        let output = run(&[command, &url]);
        assert_eq!(output.status.code(), Some(1), "{command}");
        assert!(errors(&output).contains("the observer wants a token"), "{}", errors(&output));
        let output = run_with(TOKEN, &[command, &url]);
        assert_eq!(output.status.code(), Some(0), "{command}: {}", errors(&output));
        assert!(!out(&output).contains(TOKEN));
        let output = run_with("wrong-wrong-wrong-wrong-wrong-wrong", &[command, &url]);
        assert!(errors(&output).contains("(401 token_wrong)"), "{}", errors(&output));
    }
    let output = run(&["ps", &url, "--token-file", "/no/such/file"]);
    assert_eq!(output.status.code(), Some(2));
    observed.stop();
}
