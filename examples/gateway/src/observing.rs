//! The observer of the service: a page, an API, probes, metrics and the newest warnings, on an
//! address of its own.

use crate::tree;
use krarup::prelude::*;
use krarup_observer::{Check, Observer, RecentLogs, RunningObserver, Token, recent_logs};
use std::env;
use std::net::SocketAddr;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt};

/// The environment variable with the token that opens the actions.
const TOKEN: &str = "KRARUP_OBSERVER_TOKEN";

/// How many warnings and errors `/api/v1/logs` shows.
const EVENTS: usize = 1000;

/// Starts the observer. Without a token in the environment it only reads.
pub(crate) async fn start(node: &Node, address: SocketAddr) -> Result<RunningObserver> {
    let mut observer = Observer::new()
        .listen(address.to_string())
        .check(Check::inspect(tree::POOL).ready())
        .check(Check::inspect(tree::AGGREGATOR).ready());
    if let Some(logs) = logs() {
        observer = observer.logs(logs);
    }
    if env::var_os(TOKEN).is_some() {
        let token = Token::from_env(TOKEN).map_err(|error| Reason::error(error.to_string()))?;
        observer = observer.action_token(token);
    }
    observer.start(node).await.map_err(|error| Reason::error(error.to_string()))
}

/// Keeps the newest warnings and errors of the program. `None`: it has a subscriber already.
fn logs() -> Option<RecentLogs> {
    let logs = recent_logs(EVENTS);
    // The filter tells `tracing` that nothing below a warning has to be made.
    let layer = logs.clone().with_filter(LevelFilter::WARN);
    let subscriber = tracing_subscriber::registry().with(layer);
    tracing::subscriber::set_global_default(subscriber).ok().map(|()| logs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{Asked, parse};
    use crate::gateway::Gateway;
    use crate::service;
    use lexopt::Parser;
    use serde_json::Value;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    fn ask(address: SocketAddr, request: &str) -> Value {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
        serde_json::from_str(body).expect("an object")
    }

    fn crash_stands_in_the_log(service: SocketAddr, observer: SocketAddr) {
        let end = "HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n";
        ask(service, &format!("POST /words {end}content-length: 12\r\n\r\nnow crash-me"));
        let crash = loop {
            let logs = ask(observer, &format!("GET /api/v1/logs?level=error {end}\r\n"));
            let items = logs["items"].as_array().cloned().unwrap_or_default();
            if let Some(crash) = items.into_iter().find(|it| it["target"] == "krarup::crash") {
                break crash;
            }
        };
        assert_eq!(
            (&crash["level"], &crash["message"]),
            (&"error".into(), &"a process crashed".into())
        );
        let fields = &crash["fields"];
        let behavior = fields["behavior"].as_str().unwrap_or_default();
        assert!(behavior.ends_with("Worker"), "{crash}");
        let reason = fields["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("the text says \"crash-me\""), "{crash}");
        assert_eq!(fields["pid"], crash["pid"], "{crash}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_crash_stands_in_the_log_of_the_observer() {
        let flags = ["--listen", "127.0.0.1:0", "--workers", "2", "--timeout", "60000"];
        let Ok(Asked::Run(options)) = parse(Parser::from_args(flags)) else { panic!("flags") };
        let node = Node::builder("gateway").tokio(tokio::runtime::Handle::current()).start();
        let node = node.expect("a node");
        let routes = service::routes(Gateway::new(&node, options.clone()));
        let (_, service) = tree::start(&node, &options, routes).await.expect("the tree");
        let any = "127.0.0.1:0".parse().expect("an address");
        let observer = start(&node, any).await.expect("the observer").address();
        let asked = tokio::task::spawn_blocking(move || crash_stands_in_the_log(service, observer));
        asked.await.expect("all as it should be");
        node.stop().await.expect("an end");
    }
}
