//! The routes.

use crate::answer::Failure;
use crate::gateway::Gateway;
use crate::{body, health, query};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Method, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

/// The longest delay that a client can ask for, in milliseconds.
const LONGEST_DELAY: u64 = 60_000;
/// The most words that a client can ask for.
const MOST_WORDS: u64 = 1000;

/// Returns the routes of the service.
pub(crate) fn routes(gateway: Arc<Gateway>) -> Router {
    Router::new()
        .route("/words", post(words))
        .route("/top", get(top))
        .route("/health", get(health::health))
        .route("/tree", get(health::tree))
        .fallback(async |uri: Uri| Failure::NotFound(uri.to_string()))
        .method_not_allowed_fallback(async |method: Method, uri: Uri| {
            Failure::Method(method, uri.path().to_owned())
        })
        .with_state(gateway)
}

async fn words(
    State(gateway): State<Arc<Gateway>>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Failure> {
    let delay = query::number(&uri, "delay_ms", 0..=LONGEST_DELAY, 0)?;
    let text = body::text(&headers, body).await?;
    let counted = gateway.count(text, Duration::from_millis(delay)).await?;
    let answer = json!({
        "words": counted.words,
        "distinct": counted.distinct,
        "worker": counted.worker.to_string(),
    });
    Ok(Json(answer).into_response())
}

async fn top(State(gateway): State<Arc<Gateway>>, uri: Uri) -> Result<Response, Failure> {
    let n = query::number(&uri, "n", 1..=MOST_WORDS, 20)?;
    let top = gateway.top(usize::try_from(n).unwrap_or(usize::MAX)).await?;
    let words = top.most.iter().map(|(word, count)| json!({ "word": word, "count": count }));
    let answer = json!({
        "texts": top.texts,
        "words": top.words,
        "too_low_by_at_most": top.uncertainty,
        "top": words.collect::<Vec<_>>(),
    });
    Ok(Json(answer).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{Asked, parse};
    use crate::tree;
    use krarup::prelude::*;
    use lexopt::Parser;
    use serde_json::Value;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};

    /// Sends a request, and returns the status and the JSON object of the answer.
    fn ask(address: SocketAddr, head: &str, body: &[u8]) -> (u16, Value) {
        let mut stream = TcpStream::connect(address).expect("a connection");
        let length = body.len();
        let head = format!("{head} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
        let head = format!("{head}content-length: {length}\r\n\r\n");
        stream.write_all(&[head.as_bytes(), body].concat()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.expect("a status"), serde_json::from_str(body).expect("an object"))
    }

    /// Sends a request, and returns the status and the error text of the answer.
    fn error(address: SocketAddr, head: &str, body: &[u8]) -> (u16, String) {
        let (status, answer) = ask(address, head, body);
        (status, answer["error"].as_str().unwrap_or_default().to_owned())
    }

    fn requests(address: SocketAddr) {
        let (status, answer) = ask(address, "POST /words", b"the cat and the hat");
        assert_eq!((status, &answer["words"], &answer["distinct"]), (200, &json!(5), &json!(4)));
        let (status, answer) = ask(address, "POST /words?delay_ms=1", b"the end");
        assert_eq!((status, &answer["words"]), (200, &json!(2)));
        let (_, answer) = ask(address, "GET /top?n=2", b"");
        let top = json!([{ "word": "the", "count": 3 }, { "word": "and", "count": 1 }]);
        assert_eq!(answer["top"], top);
        assert_eq!([&answer["texts"], &answer["words"]], [&json!(2), &json!(7)]);
        assert_eq!(answer["too_low_by_at_most"], json!(0));
        assert_eq!(ask(address, "GET /top?n=1000", b"").0, 200);

        let refused = |head: &str| error(address, head, b"");
        let range = |value: &str| format!("n={value:?} is not a whole number from 1 to 1000");
        for value in ["0", "1001", "x", "-1"] {
            assert_eq!(refused(&format!("GET /top?n={value}")), (400, range(value)));
        }
        assert_eq!(refused("GET /top?n=1&n=1"), (400, "n is given twice".to_owned()));
        assert_eq!(refused("GET /top?m=1"), (400, "/top takes n, not \"m\"".to_owned()));
        assert_eq!(refused("POST /words?delay_ms=60001").0, 400);
        assert_eq!(refused("GET /no?n=1"), (404, "there is nothing at /no?n=1".to_owned()));
        assert_eq!(refused("GET /words?n=1"), (405, "/words does not take GET".to_owned()));

        let words = |body: &[u8]| error(address, "POST /words", body);
        assert_eq!(words(b"ab\xff"), (400, "the body is not UTF-8: byte 2".to_owned()));
        let long = vec![b'x'; (1 << 20) + 1];
        assert_eq!(ask(address, "POST /words", &long[1..]).0, 200);
        let too_long = "the body is longer than 1048576 bytes";
        assert_eq!(words(&long), (413, too_long.to_owned()));

        let (status, why) = words(b"now crash-me");
        assert!(status == 500 && why.contains("the text says \"crash-me\""), "{why}");
        let health = loop {
            let (status, health) = ask(address, "GET /health", b"");
            assert_eq!(status, 200, "{health}");
            if health["status"] == "ok" && health["workers"]["restarts"] == 1 {
                break health;
            }
        };
        assert_eq!(health["workers"]["jobs_crashed"], json!(1));
        assert_eq!(health["workers"]["configured"], json!(2));
        assert_eq!(health["workers"]["live"], json!(2));
        assert_eq!(health["aggregator"]["texts"], json!(3));
        assert_eq!(health["jobs"], json!({ "sent": 4, "sent_again": 0 }));
        let supervisor = json!({ "children": 3, "live": 3, "restarts": 0 });
        assert_eq!((&health["supervisor"], &health["problems"]), (&supervisor, &json!([])));
        let (_, tree) = ask(address, "GET /tree", b"");
        let children = &tree["processes"][0]["children"];
        let names: Vec<_> =
            children.as_array().expect("a list").iter().map(|it| &it["name"]).collect();
        assert_eq!(names, ["aggregator", "workers", "listener"]);
        assert_eq!(children[1]["worker_restarts"], json!(1));
        assert_eq!(children[1]["children"].as_array().map(Vec::len), Some(2));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn each_request_gets_the_right_answer() {
        let flags = ["--listen", "127.0.0.1:0", "--workers", "2", "--timeout", "60000"];
        let Ok(Asked::Run(options)) = parse(Parser::from_args(flags)) else { panic!("flags") };
        let node = Node::builder("gateway").tokio(tokio::runtime::Handle::current()).start();
        let node = node.expect("a node");
        let routes = routes(Gateway::new(&node, options.clone()));
        let (_, address) = tree::start(&node, &options, routes).await.expect("the tree");
        tokio::task::spawn_blocking(move || requests(address)).await.expect("all as it should be");
        node.stop().await.expect("an end");
        assert!(TcpStream::connect(address).is_err());
    }
}
