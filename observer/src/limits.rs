//! What a client may take: time, connections, bytes. Fixed; tests set smaller ones.

use std::time::Duration;

/// The most bytes of a path and its query.
pub(crate) const URI: usize = 4 << 10;
/// The most bytes of a head.
pub(crate) const HEAD: usize = 16 << 10;
/// The most bytes of a body.
pub(crate) const BODY: usize = 16 << 10;
/// The most bytes of an answer.
pub(crate) const ANSWER: usize = 4 << 20;
/// The most bytes of the metrics of the program. The rest of an answer is for those of the observer.
pub(crate) const PROGRAM_METRICS: usize = 3 << 20;
/// The most bytes of an event of a stream.
pub(crate) const EVENT: usize = 512 << 10;
/// The most bytes of a text in an answer.
pub(crate) const TEXT: usize = 4096;

/// The limits of the doors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DoorLimits {
    /// From the connection or the last answer to the end of the next head.
    pub(crate) head: Duration,
    /// From the end of a head to the end of its body.
    pub(crate) body: Duration,
    /// For how long a client may take nothing of an answer.
    pub(crate) write: Duration,
    /// For how long a closed connection is read, so that the last answer arrives.
    pub(crate) linger: Duration,
    /// For how long a connection beyond the most is open, to be told so.
    pub(crate) refusal: Duration,
    /// For how long a stop waits for answers under way.
    pub(crate) stop: Duration,
    /// Connections that are served.
    pub(crate) connections: usize,
    /// Connections beyond these that are told so. Further ones are closed.
    pub(crate) refusals: usize,
    /// Requests in work, streams aside.
    pub(crate) requests: usize,
    /// Bytes of large answers that clients have not taken yet, over all connections.
    pub(crate) unsent: usize,
    /// Streams.
    pub(crate) streams: usize,
    /// Silence of a stream before it says that it is alive.
    pub(crate) alive: Duration,
    /// The shortest time between two walks of those who do not watch.
    pub(crate) walk: Duration,
    /// For how long a check's last answer counts.
    pub(crate) check: Duration,
    /// For how long a canary may be without a turn.
    pub(crate) canary: Duration,
    /// The longest a probe takes.
    pub(crate) probe: Duration,
    /// For how long a scrape waits for the metrics of the program.
    pub(crate) collect: Duration,
}

impl Default for DoorLimits {
    fn default() -> Self {
        DoorLimits {
            head: Duration::from_secs(5),
            body: Duration::from_secs(5),
            write: Duration::from_secs(10),
            linger: Duration::from_millis(500),
            refusal: Duration::from_secs(1),
            stop: Duration::from_millis(800),
            connections: 512,
            refusals: 1024,
            requests: 64,
            unsent: 64 << 20,
            streams: 64,
            alive: Duration::from_secs(15),
            walk: Duration::from_millis(250),
            check: Duration::from_millis(500),
            canary: Duration::from_secs(10),
            probe: Duration::from_millis(900),
            collect: Duration::from_secs(1),
        }
    }
}
