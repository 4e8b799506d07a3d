//! How long a client may keep its connection busy without doing its part.

use std::time::Duration;

/// The longest time of a client: hyper adds it to the time of the clock, which has an end.
pub(crate) const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// The times of a client, each at most [`LONGEST`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientTimeouts {
    /// For the whole head of a request, and between two requests.
    pub(crate) head: Duration,
    /// Without a byte of a body that the handler waits for.
    pub(crate) body: Duration,
    /// Without a byte taken of an answer that the server wants to send.
    pub(crate) write: Duration,
}

impl ClientTimeouts {
    pub(crate) fn has_zero(&self) -> bool {
        [self.head, self.body, self.write].iter().any(Duration::is_zero)
    }
}

impl Default for ClientTimeouts {
    fn default() -> Self {
        ClientTimeouts {
            head: Duration::from_secs(15),
            body: Duration::from_secs(30),
            // Longer than the others: the system reports room only when a third of its buffer is free, which
            // is up to some megabytes.
            write: Duration::from_secs(60),
        }
    }
}
