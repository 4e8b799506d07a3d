//! Test of a server that runs out of descriptors: rule I6. The one test starts itself once
//! more as a separate program with a low limit of open descriptors.

#![cfg(unix)]

mod support;

use krarup_io::ConnectionOptions;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use support::{Peer, Served};

/// The environment variable that makes the program act as the server.
const ROLE: &str = "KRARUP_IO_FEW_DESCRIPTORS";
/// The server's limit of descriptors, of which it uses some itself.
const DESCRIPTORS: usize = 48;
/// The number of clients, more than the limit.
const CLIENTS: usize = 100;
/// What the server says when it has run out of descriptors.
const FULL: &str = "no descriptors are left";
/// The prefix of the server's lines, since a test harness writes to the same output.
const MARK: &str = "server: ";

#[test]
fn i6_a_server_without_descriptors_waits_and_continues_when_some_are_free() {
    if std::env::var_os(ROLE).is_some() {
        return serve();
    }
    let this = std::env::current_exe().unwrap();
    let mut server = Command::new("sh")
        .args(["-c", &format!("ulimit -n {DESCRIPTORS} && exec \"$0\" --nocapture")])
        .arg(this)
        .env(ROLE, "server")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut next = || {
        let line = lines.find(|line| line.contains(MARK)).expect("the server is gone");
        line.split_once(MARK).map(|(_, text)| text.to_owned()).unwrap()
    };
    let address = next().parse().unwrap();
    let mut peers: Vec<_> = (0..CLIENTS).map(|_| Peer::connect(address)).collect();
    // More clients than descriptors: no client leaves before the server has run out of them.
    assert_eq!(next(), FULL);
    // Each client is served in its turn, later ones when earlier ones have left.
    for (number, mut peer) in peers.drain(..).enumerate() {
        peer.say(&format!("say {number}"));
        assert_eq!(peer.hear(), Some(number.to_string()));
    }
    let mut input = server.stdin.take().unwrap();
    input.write_all(b"\n").unwrap();
    let (accepted, errors) = (next().parse(), next().parse::<u64>().unwrap());
    assert_eq!(accepted, Ok(CLIENTS as u64));
    assert!(errors > 0, "it never was out of descriptors");
    assert!(errors < 10_000, "{errors} tries: that is no waiting");
    assert!(server.wait().unwrap().success());
}

fn serve() {
    let served = Served::with(ConnectionOptions::new(), |acceptor| acceptor);
    println!("{MARK}{}", served.address);
    let shown = || served.acceptor.inspect().wait().unwrap();
    while shown().number("accept_errors") == Some(0) {
        std::thread::yield_now();
    }
    println!("{MARK}{FULL}");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let shown = shown();
    println!("{MARK}{}", shown.number("accepted").unwrap());
    println!("{MARK}{}", shown.number("accept_errors").unwrap());
    served.stop();
}
