//! The service of the recipe, as a program: its answers, a crash, and a stop with a request under way. The one with an
//! application: its answers, and its end.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

struct Service {
    program: Child,
    lines: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Service {
    fn start() -> Service {
        Service::run(env!("CARGO_BIN_EXE_http_service"))
    }

    fn run(program: &str) -> Service {
        let mut program =
            Command::new(program).arg("127.0.0.1:0").stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(program.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("serving on http://").unwrap().parse().unwrap();
        Service { program, lines, address }
    }

    fn begin(&self, request: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let head = format!("{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
        let length = body.len();
        stream
            .write_all(format!("{head}content-length: {length}\r\n\r\n{body}").as_bytes())
            .unwrap();
        stream
    }

    /// The status and the body.
    fn ask(&self, request: &str, body: &str) -> (u16, String) {
        answer(self.begin(request, body))
    }

    /// The status and the head.
    fn ask_for_head(&self, request: &str, body: &str) -> (u16, String) {
        let (status, head, _) = parts(self.begin(request, body));
        (status, head)
    }

    /// Asks until the health page says this.
    fn wait_for(&self, state: &str) {
        let told = (0..100_000).map(|_| self.ask("GET /health", "").1);
        assert!(told.into_iter().any(|page| page.contains(state)), "{state} never comes");
    }

    fn signal(&self, name: &str) {
        let id = self.program.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It has ended, unless the test has failed.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// The status, the head and the body of an answer.
fn parts(mut stream: TcpStream) -> (u16, String, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, format!("{head}\r\n"), body.to_owned())
}

fn answer(stream: TcpStream) -> (u16, String) {
    let (status, _, body) = parts(stream);
    (status, body)
}

#[test]
fn the_service_answers_survives_a_crash_and_stops_when_it_has_answered() {
    let mut service = Service::start();
    assert_eq!(service.ask("POST /votes/ann", ""), (200, "1".to_owned()));
    assert_eq!(service.ask("POST /votes/ann", ""), (200, "2".to_owned()));
    assert_eq!(service.ask("POST /crash", "").0, 500);
    // A fresh state, behind the same route.
    assert_eq!(service.ask("POST /votes/ann", ""), (200, "1".to_owned()));
    assert_eq!(service.ask("POST /words", "the cat"), (200, "2".to_owned()));

    // Its workers have it when the pool has counted it.
    let under_way = service.begin("POST /words", &"a ".repeat(40));
    service.wait_for("messages_forwarded=2 ");
    service.signal("-TERM");
    assert_eq!(answer(under_way), (200, "40".to_owned()));
    assert_eq!(service.program.wait().unwrap().code(), Some(0));
    let mut rest = String::new();
    service.lines.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "SIGTERM: answering what was accepted\n");
}

#[test]
fn a_full_pool_is_a_503_that_says_when_to_come_back() {
    let service = Service::start();
    // Two in hand, eight that wait; each begins when the one before is where it stays.
    let mut full = Vec::new();
    for (begun, waiting) in (1..=10).map(|begun| (begun, usize::saturating_sub(begun, 2))) {
        full.push(service.begin("POST /words", &"a ".repeat(1_000)));
        let state = format!("messages_forwarded={begun} messages_unhandled=0 waiting={waiting}");
        service.wait_for(&state);
    }
    let (status, head) = service.ask_for_head("POST /words", "one more");
    assert_eq!(status, 503);
    assert!(head.contains("retry-after: 1\r\n"), "{head}");
}

#[test]
fn when_the_supervisor_gives_up_the_program_ends_with_an_error() {
    let mut service = Service::start();
    // Five within ten seconds are restarted, and one more is not.
    for _ in 0..6 {
        assert_eq!(service.ask("POST /crash", "").0, 500);
    }
    assert_eq!(service.program.wait().unwrap().code(), Some(1));
}

#[test]
fn asked_a_second_time_the_program_ends_at_once() {
    let mut service = Service::start();
    let under_way = service.begin("POST /words", &"a ".repeat(10_000));
    service.wait_for("messages_forwarded=1 ");
    service.signal("-TERM");
    let mut line = String::new();
    service.lines.read_line(&mut line).unwrap();
    assert_eq!(line, "SIGTERM: answering what was accepted\n");
    service.signal("-INT");
    assert_eq!(service.program.wait().unwrap().code(), Some(1));
    drop(under_way);
}

#[test]
fn an_application_serves_and_its_program_ends_by_a_signal() {
    let mut service = Service::run(env!("CARGO_BIN_EXE_http_application"));
    assert_eq!(service.ask("POST /hits", ""), (200, "1".to_owned()));
    assert_eq!(service.ask("POST /hits", ""), (200, "2".to_owned()));
    service.signal("-TERM");
    assert_eq!(service.program.wait().unwrap().code(), Some(0));
}
