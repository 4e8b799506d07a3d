//! `/api/v1/stream`: server-sent events, one stream for all that a page shows.
//!
//! An event is made when the reader has taken the one before, so a slow reader gets the newest of
//! each topic and holds one event at most. Who takes nothing for 10 s is cut off.

use crate::api::processes::{self, PARAMETERS, ProcessQuery};
use crate::api::recorded_items;
use crate::api::rings;
use crate::api::{cluster, findings, node, pools, turns, waits};
use crate::event_ring::After;
use crate::http::answer::{HttpAnswer, stream as event_stream};
use crate::http::parameters::Parameters;
use crate::http::refusal::{Code, Refusal};
use crate::http::route::RingName;
use crate::limits;
use crate::sampling::picture::Picture;
use crate::shared::Shared;
use bytes::Bytes;
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};

/// The most topics of a stream.
const TOPICS: usize = 8;
/// The most items of a ring in an event.
const ITEMS: usize = 256;
/// The most processes of an event.
const PROCESSES: usize = 500;
/// The edges of the topic `waits`.
const EDGES: usize = 500;

/// What a stream is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamTopic {
    Node,
    Processes,
    Pools,
    Cluster,
    Waits,
    Findings,
    Turns,
    Ring(RingName),
    Trace(u64),
}

impl StreamTopic {
    const ALL: [(&'static str, StreamTopic); 12] = [
        ("node", StreamTopic::Node),
        ("processes", StreamTopic::Processes),
        ("pools", StreamTopic::Pools),
        ("cluster", StreamTopic::Cluster),
        ("waits", StreamTopic::Waits),
        ("findings", StreamTopic::Findings),
        ("turns", StreamTopic::Turns),
        ("crashes", StreamTopic::Ring(RingName::Crashes)),
        ("restarts", StreamTopic::Ring(RingName::Restarts)),
        ("dead_letters", StreamTopic::Ring(RingName::DeadLetters)),
        ("deadlocks", StreamTopic::Ring(RingName::Deadlocks)),
        ("logs", StreamTopic::Ring(RingName::Logs)),
    ];

    /// The topics of a query, with their names.
    fn read(shared: &Shared, all: &Parameters) -> Result<Vec<(String, StreamTopic)>, Refusal> {
        let names = StreamTopic::ALL.map(|(name, _)| name).join(" ");
        let bad =
            || all.bad("topics", &format!("1 to {TOPICS} different ones of: {names} trace:N"));
        let mut topics = Vec::new();
        for text in all.text("topics").unwrap_or_default().split(',') {
            let digits = text.strip_prefix("trace:");
            let digits = digits.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
            let topic = match digits.and_then(|digits| digits.parse().ok()) {
                Some(number) if shared.traces.of(number).is_some() => StreamTopic::Trace(number),
                Some(number) => {
                    return Err(Refusal::new(Code::NoEntry, format!("there is no trace {number}")));
                }
                None => StreamTopic::ALL.iter().find(|(name, _)| *name == text).ok_or_else(bad)?.1,
            };
            if topics.iter().any(|(_, other)| *other == topic) {
                return Err(bad());
            }
            topics.push((text.to_owned(), topic));
        }
        if topics.len() > TOPICS { Err(bad()) } else { Ok(topics) }
    }
}

/// A place among the streams.
struct StreamPlace {
    shared: Arc<Shared>,
}

impl StreamPlace {
    fn take(shared: &Arc<Shared>) -> Option<StreamPlace> {
        let (streams, most) = (&shared.tally.streams, shared.limits.streams);
        let free = streams.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
            (taken < most).then_some(taken + 1)
        });
        free.ok().map(|_| StreamPlace { shared: Arc::clone(shared) })
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        self.shared.tally.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// `GET /api/v1/stream`.
pub(crate) fn open(
    shared: &Arc<Shared>,
    query: Option<&str>,
    reads: bool,
    stop: watch::Receiver<bool>,
) -> Result<HttpAnswer, Refusal> {
    let known: Vec<&str> = ["topics", "period_ms"].into_iter().chain(PARAMETERS).collect();
    let all = Parameters::read(query, &known)?;
    let topics = StreamTopic::read(shared, &all)?;
    let period = Duration::from_millis(all.number("period_ms", 200..=60_000, 1000)?);
    let asked = ProcessQuery::read(&all)?;
    if *stop.borrow() {
        return Err(Refusal::new(Code::Stopping, "the observer stops"));
    }
    let (tell, pieces) = mpsc::channel(1);
    // The answer to HEAD has no body: nobody would read the stream.
    if reads {
        let Some(place) = StreamPlace::take(shared) else {
            let most = shared.limits.streams;
            return Err(Refusal::new(Code::TooManyStreams, format!("{most} streams are open")));
        };
        let teller = Teller { place, topics, period, asked, tell, id: 0, last: Instant::now() };
        tokio::spawn(teller.run(stop));
    }
    Ok(event_stream(pieces))
}

/// Makes the events of a stream.
struct Teller {
    place: StreamPlace,
    topics: Vec<(String, StreamTopic)>,
    period: Duration,
    asked: ProcessQuery,
    tell: mpsc::Sender<Bytes>,
    /// The number of the last event.
    id: u64,
    /// When something was last said.
    last: Instant,
}

/// The reader has gone, or takes nothing.
struct Gone;

impl Teller {
    async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let ended = tokio::select! {
            _ = stop.wait_for(|stops| *stops) => true,
            Gone = self.tell_all() => false,
        };
        if ended {
            let bye = text(None, "bye", &data(&json!({ "reason": "stopping" })));
            let _ = self.send(bye).await;
        }
    }

    async fn tell_all(&mut self) -> Gone {
        match self.events().await {
            Ok(never) | Err(never) => never,
        }
    }

    async fn events(&mut self) -> Result<Gone, Gone> {
        let shared = Arc::clone(&self.place.shared);
        let _watcher = shared.sampling.watch(self.period);
        let names: Vec<&str> = self.topics.iter().map(|(name, _)| name.as_str()).collect();
        let hello = json!({
            "topics": names,
            "period_ms": u64::try_from(self.period.as_millis()).unwrap_or(u64::MAX),
            "streams": shared.tally.streams.load(Ordering::Relaxed),
            "max_streams": shared.limits.streams,
        });
        self.send(format!("retry: 2000\n{}", text(None, "hello", &data(&hello)))).await?;
        let mut read: Vec<u64> =
            self.topics.iter().map(|(_, topic)| newest(&shared, *topic)).collect();
        loop {
            let began = Instant::now();
            // All who watch share the pictures, so one may be up to half a period old.
            let picture = shared.sampling.not_older_than(self.period / 2).await;
            for (place, (name, topic)) in self.topics.clone().into_iter().enumerate() {
                let name = name.as_str();
                match topic {
                    StreamTopic::Ring(ring) => {
                        let after = After::Number(read[place]);
                        let (body, data) =
                            fitting(ITEMS, |items| rings::body(&shared, ring, after, items));
                        if body.next_seq > read[place] + 1 {
                            let newest = body.items.last().and_then(|item| item["seq"].as_u64());
                            read[place] = newest.unwrap_or(body.next_seq - 1);
                            self.event(name, data).await?;
                        }
                    }
                    StreamTopic::Trace(number) => {
                        self.trace(name, number, &mut read[place]).await?;
                    }
                    topic => {
                        if let Some(picture) = &picture {
                            self.picture(name, topic, picture).await?;
                        }
                    }
                }
            }
            // The sampler frees pictures that nobody has.
            drop(picture);
            self.rest(began, shared.limits.alive).await?;
        }
    }

    async fn picture(
        &mut self,
        name: &str,
        topic: StreamTopic,
        picture: &Picture,
    ) -> Result<(), Gone> {
        let shared = Arc::clone(&self.place.shared);
        let data = match topic {
            StreamTopic::Node => data(&node::of(&shared, picture)),
            StreamTopic::Processes => {
                let of = |rows| processes::body(&shared, picture, &self.asked.at_most(rows));
                fitting(PROCESSES, of).1
            }
            StreamTopic::Pools => fitting(pools::POOLS, |most| pools::body(picture, most)).1,
            StreamTopic::Cluster => {
                fitting(cluster::NODES, |most| cluster::body(&shared, picture, most)).1
            }
            StreamTopic::Waits => fitting(EDGES, |edges| waits::body(picture, edges)).1,
            StreamTopic::Findings => {
                fitting(findings::LISTED, |most| findings::body(&shared, picture, most)).1
            }
            StreamTopic::Turns => data(&turns::body(&shared, picture)),
            StreamTopic::Ring(_) | StreamTopic::Trace(_) => return Ok(()),
        };
        self.event(name, data).await
    }

    /// Sends what is new of a trace, at first and at its end also if there is nothing. `told` is
    /// the number of the next event's first item; `u64::MAX` when the end was told.
    async fn trace(&mut self, name: &str, number: u64, told: &mut u64) -> Result<(), Gone> {
        if *told == u64::MAX {
            return Ok(());
        }
        let Some(reader) = self.place.shared.traces.of(number) else {
            *told = u64::MAX;
            return Ok(());
        };
        let body = recorded_items::trace(number, &reader, told.saturating_sub(1));
        drop(reader);
        if body.next_seq > *told || body.end.is_some() {
            *told = if body.is_last() { u64::MAX } else { body.next_seq };
            self.event(name, data(&body)).await?;
        }
        Ok(())
    }

    async fn event(&mut self, name: &str, data: String) -> Result<(), Gone> {
        self.id += 1;
        let event = text(Some(self.id), name, &data);
        self.send(event).await
    }

    async fn send(&mut self, text: String) -> Result<(), Gone> {
        let limit = self.place.shared.limits.write;
        let sent = timeout(limit, self.tell.send(Bytes::from(text))).await;
        self.last = Instant::now();
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Gone),
        }
    }

    /// Waits until the period that began then is over, and says now and then that the stream is
    /// alive. A period that was lengthened for many processes ends early when they are gone.
    async fn rest(&mut self, began: Instant, alive: Duration) -> Result<(), Gone> {
        let shared = Arc::clone(&self.place.shared);
        let mut look = began + self.period;
        loop {
            let silent = self.last + alive;
            tokio::select! {
                () = self.tell.closed() => return Err(Gone),
                () = sleep_until(look.min(silent)) => {}
            }
            let now = Instant::now();
            if now >= look {
                let end = began + shared.sampling.at_least(self.period);
                if now >= end {
                    return Ok(());
                }
                look = end.min(look + self.period);
            }
            if now >= silent {
                self.send(": alive\n\n".to_owned()).await?;
            }
        }
    }
}

/// The number of the newest item of a ring.
fn newest(shared: &Shared, topic: StreamTopic) -> u64 {
    match topic {
        StreamTopic::Ring(ring) => {
            rings::body(shared, ring, After::Number(u64::MAX), 1).next_seq - 1
        }
        _ => 0,
    }
}

/// A body as one line. The types of events have text keys and no errors of their own.
fn data(body: &impl Serialize) -> String {
    serde_json::to_string(body).unwrap_or_default()
}

/// The longest list, up to `most`, that fits into an event: a reader that takes nothing keeps
/// events in memory.
fn fitting<T: Serialize>(most: usize, make: impl Fn(usize) -> T) -> (T, String) {
    let mut limit = most;
    loop {
        let body = make(limit);
        let data = data(&body);
        if data.len() <= limits::EVENT || limit <= 1 {
            return (body, data);
        }
        limit /= 2;
    }
}

fn text(id: Option<u64>, event: &str, data: &str) -> String {
    let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
    format!("event: {event}\n{id}data: {data}\n\n")
}
