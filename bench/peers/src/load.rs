//! The client: so many connections, each with one request under way.

use crate::failure::PeerFailure;
use crate::workload::Workload;
use hdrhistogram::Histogram;
use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{JoinSet, LocalSet, yield_now};
use tokio::time::sleep;

/// How long connections send before anything counts.
const WARM_UP: Duration = Duration::from_millis(500);
/// How long one attempt to connect may wait for the server's backlog.
const CONNECTS: u32 = 50;
/// The latencies that are told apart, in microseconds.
const SLOWEST: u64 = 60_000_000;

/// What the clients have seen.
pub(crate) struct Seen {
    /// Answers that are no refusals, and refusals, a second.
    pub(crate) rate: f64,
    pub(crate) refused: f64,
    /// Of the answers, in microseconds.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// All requests, those of the warm-up too.
    pub(crate) all: u64,
}

/// One whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Good,
    Refused,
}

struct LoadTally {
    latencies: Histogram<u64>,
    refused: u64,
    all: u64,
}

/// Loads a server for this long; `look` is called when all connections are under way.
pub(crate) fn run(
    workload: Workload,
    address: SocketAddr,
    connections: usize,
    time: Duration,
    look: impl FnMut(),
) -> Result<Seen, PeerFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(LocalSet::new().run_until(load(workload, address, connections, time, look)))
}

async fn load(
    workload: Workload,
    address: SocketAddr,
    connections: usize,
    time: Duration,
    mut look: impl FnMut(),
) -> Result<Seen, PeerFailure> {
    let mut streams = Vec::with_capacity(connections);
    for _ in 0..connections {
        streams.push(connect(address).await?);
    }
    let latencies = Histogram::new_with_bounds(1, SLOWEST, 3).expect("bounds in order");
    let tally = Rc::new(RefCell::new(LoadTally { latencies, refused: 0, all: 0 }));
    let begin = Instant::now() + WARM_UP;
    let end = begin + time;
    let request: Rc<[u8]> = request(workload).into();
    let mut clients = JoinSet::new();
    for stream in streams {
        clients.spawn_local(client(
            workload,
            stream,
            Rc::clone(&request),
            (begin, end),
            Rc::clone(&tally),
        ));
    }
    sleep(WARM_UP + time / 2).await;
    look();
    while let Some(ended) = clients.join_next().await {
        ended.map_err(|_| PeerFailure::Ended)??;
    }
    look();
    let tally = tally.borrow();
    if tally.latencies.is_empty() {
        return Err(PeerFailure::NoAnswer);
    }
    let of = |quantile| as_f64(tally.latencies.value_at_quantile(quantile));
    let per_second = |count| as_f64(count) / time.as_secs_f64();
    Ok(Seen {
        rate: per_second(tally.latencies.len()),
        refused: per_second(tally.refused),
        p50: of(0.5),
        p99: of(0.99),
        all: tally.all,
    })
}

async fn connect(address: SocketAddr) -> Result<TcpStream, PeerFailure> {
    let mut attempt = 0;
    loop {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(_) if attempt < CONNECTS => {
                attempt += 1;
                yield_now().await;
            }
            Err(error) => return Err(PeerFailure::NoConnection(address, error)),
        }
    }
}

async fn client(
    workload: Workload,
    mut stream: TcpStream,
    request: Rc<[u8]>,
    (begin, end): (Instant, Instant),
    tally: Rc<RefCell<LoadTally>>,
) -> Result<(), PeerFailure> {
    let mut bytes = Vec::with_capacity(1024);
    loop {
        let sent = Instant::now();
        if sent >= end {
            return Ok(());
        }
        stream.write_all(&request).await?;
        bytes.clear();
        let answer = loop {
            if stream.read_buf(&mut bytes).await? == 0 {
                return Err(PeerFailure::Closed);
            }
            if let Some(answer) = answer(workload, &request, &bytes)? {
                break answer;
            }
        };
        let now = Instant::now();
        let mut tally = tally.borrow_mut();
        tally.all += 1;
        if sent >= begin && now < end {
            match answer {
                Answer::Good => {
                    let took = u64::try_from((now - sent).as_micros()).unwrap_or(SLOWEST);
                    tally.latencies.saturating_record(took);
                }
                Answer::Refused => tally.refused += 1,
            }
        }
    }
}

/// A text of some four thousand words.
fn text() -> String {
    let line = "Call me Ishmael. Some years ago - never mind how long precisely - having little or \
                no money in my purse, and nothing particular to interest me on shore ";
    line.repeat(130)
}

fn request(workload: Workload) -> Vec<u8> {
    match workload {
        Workload::Line => b"get key500\n".to_vec(),
        Workload::Words => {
            let text = text();
            let head = format!(
                "POST /words HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
                text.len()
            );
            (head + &text).into_bytes()
        }
        Workload::Counter
        | Workload::CounterWorkers
        | Workload::CounterTask
        | Workload::CounterLimits => get("/counter"),
        Workload::Limited | Workload::LimitedBuffer => get("/limited"),
        _ => vec![b'x'; 64],
    }
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").into_bytes()
}

/// The answer, if it is whole.
fn answer(workload: Workload, request: &[u8], bytes: &[u8]) -> Result<Option<Answer>, PeerFailure> {
    let strange = || Err(PeerFailure::Strange(String::from_utf8_lossy(bytes).into_owned()));
    match workload {
        Workload::Line if bytes.ends_with(b"\n") => {
            if bytes.starts_with(b"value ") {
                Ok(Some(Answer::Good))
            } else {
                strange()
            }
        }
        Workload::Line => Ok(None),
        _ if workload.is_http() => {
            let text = String::from_utf8_lossy(bytes);
            let Some((head, body)) = text.split_once("\r\n\r\n") else { return Ok(None) };
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let Some(length) = length.and_then(|length| length.parse::<usize>().ok()) else {
                return strange();
            };
            if body.len() < length {
                return Ok(None);
            }
            match head.split(' ').nth(1) {
                Some("200") => Ok(Some(Answer::Good)),
                Some("503") => Ok(Some(Answer::Refused)),
                _ => strange(),
            }
        }
        _ if bytes.len() < request.len() => Ok(None),
        _ => {
            if bytes == request {
                Ok(Some(Answer::Good))
            } else {
                strange()
            }
        }
    }
}

/// Converts a count to a float. Exact up to 2^53, which is more than anything here counts.
#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
pub(crate) fn as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_good_refused_strange_or_not_whole() {
        let of = |workload, bytes: &[u8]| answer(workload, &request(workload), bytes);
        assert!(matches!(of(Workload::Echo, &[b'x'; 63]), Ok(None)));
        assert!(matches!(of(Workload::Echo, &[b'x'; 64]), Ok(Some(Answer::Good))));
        assert!(of(Workload::Echo, &[b'y'; 64]).is_err());
        assert!(matches!(of(Workload::Line, b"value 5"), Ok(None)));
        assert!(matches!(of(Workload::Line, b"value 5\n"), Ok(Some(Answer::Good))));
        assert!(of(Workload::Line, b"none\n").is_err());
        let head = |status| format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\n");
        assert!(matches!(of(Workload::Words, head(200).as_bytes()), Ok(None)));
        let whole = |status| head(status) + "{}";
        assert!(matches!(of(Workload::Words, whole(200).as_bytes()), Ok(Some(Answer::Good))));
        assert!(matches!(of(Workload::Words, whole(503).as_bytes()), Ok(Some(Answer::Refused))));
        assert!(of(Workload::Words, whole(500).as_bytes()).is_err());
    }
}
