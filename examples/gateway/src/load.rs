//! The load of the demonstration: clients that speak HTTP to the service, as any client does.
//!
//! Most texts are quick. Some simulate slow work, and ten in a second crash their worker.
//! Every second or two, alternately, there is a surge of slow work that is more than the
//! pool can hold, or a rush of quick texts that is more than it takes in a second.

use crate::flags::Options;
use hdrhistogram::Histogram;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Method, Request, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How many clients send quick texts, one request at a time each, and the pause between
/// two requests, which keeps them below the rate of the pool.
const QUICK: (usize, Duration) = (16, Duration::from_millis(8));
/// How many clients send slow work, and the pause between two requests.
const SLOW: (usize, Duration) = (3, Duration::from_millis(60));
/// The pause between two texts that crash their worker.
const CRASHES: Duration = Duration::from_millis(100);
/// The pause between two surges, and the delay of each job in one.
const SURGES: (Duration, Duration) = (Duration::from_millis(1200), Duration::from_millis(10));
/// The most clients of a surge: each needs two file descriptors here.
const LARGEST_SURGE: usize = 400;
/// How long a quick client waits after it was turned away. That is less than the answer
/// asks for, because the demonstration is short.
const TURNED_AWAY: Duration = Duration::from_millis(50);
/// A request counts as lost after this time.
const LOST: Duration = Duration::from_secs(30);

/// The texts to count: the first lines of three books.
const TEXTS: [&str; 3] = [
    "Alice was beginning to get very tired of sitting by her sister on the bank, and of \
     having nothing to do: once or twice she had peeped into the book her sister was reading",
    "Call me Ishmael. Some years ago - never mind how long precisely - having little or no \
     money in my purse, and nothing particular to interest me on shore",
    "It was the best of times, it was the worst of times, it was the age of wisdom, it was \
     the age of foolishness, it was the epoch of belief, it was the epoch of incredulity",
];

/// A text that crashes its worker.
const CRASHES_ITS_WORKER: &str = "and now: crash-me";

/// How requests were answered, as counts.
#[derive(Clone, Default)]
pub(crate) struct Answers {
    /// 200.
    pub(crate) counted: u64,
    /// 500, for a text that crashes its worker.
    pub(crate) crashed: u64,
    /// 503: the pool was full.
    pub(crate) refused: u64,
    /// 429: more jobs arrived than the pool takes in a second.
    pub(crate) limited: u64,
    /// 504: too late.
    pub(crate) late: u64,
    /// Any other answer.
    pub(crate) strange: u64,
    /// Not answered, because no connection was accepted: the service has stopped.
    pub(crate) closed: u64,
    /// Not answered, although the connection was accepted.
    pub(crate) lost: u64,
    /// Why the last lost request was lost.
    pub(crate) why_lost: Option<String>,
}

impl Answers {
    /// Counts one more answer, to this text.
    fn count(&mut self, status: u16, text: &str) {
        *match status {
            200 => &mut self.counted,
            500 if text == CRASHES_ITS_WORKER => &mut self.crashed,
            503 => &mut self.refused,
            429 => &mut self.limited,
            504 => &mut self.late,
            _ => &mut self.strange,
        } += 1;
    }

    /// The number of requests that were answered.
    pub(crate) fn answered(&self) -> u64 {
        self.counted + self.crashed + self.refused + self.limited + self.late + self.strange
    }
}

/// Why a request was not answered.
enum NoAnswer {
    /// No connection was accepted.
    Closed,
    /// The connection was accepted, but no complete answer came.
    Lost(String),
}

/// What the clients have seen.
struct ClientResults {
    answers: Answers,
    /// Latencies of quick texts in microseconds, in total and since the last call of
    /// [`Load::recent`].
    latency: Histogram<u64>,
    recent: Histogram<u64>,
}

/// The running clients.
pub(crate) struct Load {
    site: Arc<Site>,
    clients: JoinSet<()>,
}

/// The address that the clients send to, and the state that they share.
struct Site {
    http: Client<HttpConnector, Full<Bytes>>,
    address: SocketAddr,
    stop: AtomicBool,
    seen: Mutex<ClientResults>,
}

impl Load {
    /// Starts the clients.
    pub(crate) fn start(address: SocketAddr, options: &Options) -> Self {
        let site = Arc::new(Site::new(address));
        let mut clients = JoinSet::new();
        for client in 0..QUICK.0 {
            clients.spawn(Arc::clone(&site).quick(client));
        }
        for client in 0..SLOW.0 {
            clients.spawn(Arc::clone(&site).slow(client));
        }
        clients.spawn(Arc::clone(&site).crashes());
        // Half as many again as can wait and be worked on.
        let surge = (options.capacity() + options.workers) * 3 / 2;
        clients.spawn(Arc::clone(&site).surges(surge.min(LARGEST_SURGE)));
        Load { site, clients }
    }

    /// How requests were answered until now.
    pub(crate) fn answers(&self) -> Answers {
        self.site.seen().answers.clone()
    }

    /// Returns the latencies of quick texts, in microseconds, since the last call.
    pub(crate) fn recent(&self) -> Histogram<u64> {
        let mut seen = self.site.seen();
        let recent = seen.recent.clone();
        seen.recent.reset();
        recent
    }

    /// Returns the latencies of quick texts, in microseconds.
    pub(crate) fn latency(&self) -> Histogram<u64> {
        self.site.seen().latency.clone()
    }

    /// Returns what the service answers at a path: the status and the JSON. `None` if there
    /// is no answer, or if it is not JSON.
    pub(crate) async fn look(&self, path: &str) -> Option<(u16, Value)> {
        let (status, body) = self.site.request(Method::GET, path, "").await.ok()?;
        Some((status, serde_json::from_slice(&body).ok()?))
    }

    /// Stops sending, and waits for the answers to the requests under way.
    pub(crate) async fn stop(&mut self) {
        self.site.stop.store(true, Ordering::Relaxed);
        while self.clients.join_next().await.is_some() {}
    }
}

impl Site {
    fn new(address: SocketAddr) -> Self {
        let http = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(5))
            .retry_canceled_requests(false)
            .build_http();
        let histogram = || Histogram::new(3).expect("3 digits are between 0 and 5");
        let seen = ClientResults {
            answers: Answers::default(),
            latency: histogram(),
            recent: histogram(),
        };
        Site { http, address, stop: AtomicBool::new(false), seen: Mutex::new(seen) }
    }

    fn seen(&self) -> MutexGuard<'_, ClientResults> {
        // A poisoned lock is harmless: numbers are never half written.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    async fn quick(self: Arc<Self>, client: usize) {
        for n in client.. {
            if !self.goes_on() {
                return;
            }
            let began = Instant::now();
            let status = self.words("/words", TEXTS[n % TEXTS.len()]).await;
            if status == Some(200) {
                let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
                {
                    let mut seen = self.seen();
                    seen.latency.saturating_record(micros);
                    seen.recent.saturating_record(micros);
                }
                sleep(QUICK.1).await;
            } else {
                sleep(TURNED_AWAY).await;
            }
        }
    }

    async fn slow(self: Arc<Self>, client: usize) {
        for n in client.. {
            if !self.goes_on() {
                return;
            }
            let delay = 5 + n % 4 * 10;
            self.words(&format!("/words?delay_ms={delay}"), TEXTS[n % TEXTS.len()]).await;
            sleep(SLOW.1).await;
        }
    }

    async fn crashes(self: Arc<Self>) {
        while self.goes_on() {
            self.words("/words", CRASHES_ITS_WORKER).await;
            sleep(CRASHES).await;
        }
    }

    async fn surges(self: Arc<Self>, clients: usize) {
        for is_rush in [false, true].into_iter().cycle() {
            let mut left = SURGES.0;
            while !left.is_zero() && self.goes_on() {
                let step = left.min(Duration::from_millis(100));
                sleep(step).await;
                left -= step;
            }
            if !self.goes_on() {
                return;
            }
            let mut surge = JoinSet::new();
            let (clients, delay) =
                if is_rush { (LARGEST_SURGE, Duration::ZERO) } else { (clients, SURGES.1) };
            for n in 0..clients {
                let site = Arc::clone(&self);
                let path = format!("/words?delay_ms={}", delay.as_millis());
                surge.spawn(async move { site.words(&path, TEXTS[n % TEXTS.len()]).await });
            }
            surge.join_all().await;
        }
    }

    /// Has a text counted, and returns the status of the answer, if there was one.
    async fn words(&self, path: &str, text: &'static str) -> Option<u16> {
        let answer = self.request(Method::POST, path, text).await;
        let mut seen = self.seen();
        let answers = &mut seen.answers;
        match answer {
            Ok((status, _)) => {
                answers.count(status, text);
                Some(status)
            }
            Err(NoAnswer::Closed) => {
                answers.closed += 1;
                None
            }
            Err(NoAnswer::Lost(why)) => {
                answers.lost += 1;
                answers.why_lost = Some(why);
                None
            }
        }
    }

    async fn request(
        &self,
        method: Method,
        path: &str,
        body: &'static str,
    ) -> Result<(u16, Bytes), NoAnswer> {
        let uri: Uri = format!("http://{}{path}", self.address)
            .parse()
            .map_err(|error: hyper::http::uri::InvalidUri| NoAnswer::Lost(error.to_string()))?;
        let mut request = Request::new(Full::new(Bytes::from_static(body.as_bytes())));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        let answer = async {
            let response = self.http.request(request).await.map_err(|error| {
                let lost = || NoAnswer::Lost(format!("{error:?}"));
                if error.is_connect() { NoAnswer::Closed } else { lost() }
            })?;
            let status = response.status().as_u16();
            let body = response.into_body().collect().await;
            let body = body.map_err(|error| NoAnswer::Lost(error.to_string()))?;
            Ok((status, body.to_bytes()))
        };
        let late = |_| NoAnswer::Lost(format!("no answer within {LOST:?}"));
        timeout(LOST, answer).await.map_err(late)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpListener};

    #[test]
    fn each_answer_is_counted_by_its_status() {
        let mut answers = Answers::default();
        for status in [200, 500, 503, 503, 429, 429, 429, 504, 404] {
            answers.count(status, CRASHES_ITS_WORKER);
        }
        // A text that should not crash a worker.
        answers.count(500, TEXTS[0]);
        let Answers { counted, crashed, refused, limited, late, strange, closed, lost, .. } =
            answers;
        assert_eq!([counted, crashed, refused, limited, late, strange], [1, 1, 2, 3, 1, 2]);
        assert_eq!((answers.answered(), closed, lost), (10, 0, 0));
    }

    /// A server that reads the head of each request and answers with these bytes, possibly none.
    fn server(answers: Vec<&'static str>) -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            for answer in answers {
                let Ok((mut stream, _)) = listener.accept() else { return };
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    if stream.read_exact(&mut byte).is_err() {
                        return;
                    }
                    head.push(byte[0]);
                }
                let _ = stream.write_all(answer.as_bytes());
                let _ = stream.shutdown(Shutdown::Write);
                // Closing the stream with unread bytes would reset the connection.
                let _ = stream.read_to_end(&mut head);
            }
        });
        address
    }

    #[tokio::test]
    async fn unanswered_requests_are_lost_if_accepted_and_closed_if_not() {
        let fine = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
        let cut = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}";
        let answers = vec![fine, fine, "", cut];
        let mut load = Load { site: Arc::new(Site::new(server(answers))), clients: JoinSet::new() };
        assert_eq!(load.look("/health").await, Some((200, json!({}))));
        let site = Arc::clone(&load.site);
        assert_eq!(site.words("/words", TEXTS[0]).await, Some(200));
        for lost in 1..=2 {
            assert_eq!(site.words("/words", "").await, None);
            assert_eq!((load.answers().lost, load.answers().closed), (lost, 0));
            assert!(load.answers().why_lost.is_some());
        }
        // No socket is listening any more.
        while load.answers().closed == 0 {
            assert_eq!(site.words("/words", "").await, None);
        }
        assert_eq!((load.answers().counted, load.answers().answered()), (1, 1));
        load.stop().await;
        assert!(!site.goes_on());
    }
}
