//! What is logged of peers: escaped, cut, and a bounded number of lines (rule Zobs2).

use krarup_act::contain;
use krarup_wire::etf::Atom;
use parking_lot::Mutex;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;
use tracing::level_filters::LevelFilter;

/// The most characters of a text of a peer that are logged.
const MOST_CHARACTERS: usize = 200;
/// The most bytes of a frame that are logged.
const MOST_BYTES: usize = 24;
/// The most lines in one period.
const MOST_LINES: u32 = 10;
const PERIOD: Duration = Duration::from_secs(1);

/// The log of what peers did wrong, and of connections, at most ten lines a second, or of what
/// their functions print. A line says how many were omitted before it.
#[derive(Debug)]
pub(crate) struct PeerLog {
    /// The most lines in one period.
    most: u32,
    lines: Mutex<LogPeriod>,
}

impl Default for PeerLog {
    fn default() -> Self {
        PeerLog::of(MOST_LINES)
    }
}

/// The lines of the present period.
#[derive(Debug, Default)]
struct LogPeriod {
    began: Duration,
    lines: u32,
    omitted: u64,
}

impl PeerLog {
    /// Creates a log of at most so many lines a second.
    pub(crate) fn of(most: u32) -> Self {
        PeerLog { most, lines: Mutex::default() }
    }

    /// Logs what a function prints that this node has called on a peer (rule Zcall10).
    pub(crate) fn printed(&self, now: Duration, peer: &Atom, text: &str) {
        let Some(omitted) = self.admit(now) else { return };
        let peer = shown(&peer.as_str());
        let _ = contain(|| {
            tracing::info!(target: "krarup::cluster::output", %peer, omitted, "{text}");
        });
    }

    /// Logs that this side has closed a connection, or that it was not a connection at all.
    /// `bytes` are those that were wrong, if they are known.
    pub(crate) fn closed(
        &self,
        now: Duration,
        (peer, address): (Option<&Atom>, Option<SocketAddr>),
        why: &dyn fmt::Display,
        bytes: &[u8],
    ) {
        let Some(omitted) = self.admit(now) else { return };
        let peer = peer.map_or_else(|| "unknown".to_owned(), |peer| shown(&peer.as_str()));
        let address = address.map(tracing::field::display);
        let why = shown(why);
        let bytes = bytes.get(..MOST_BYTES).unwrap_or(bytes).escape_ascii().to_string();
        let _ = contain(|| {
            tracing::warn!(
                target: "krarup::cluster", %peer, address, %why, %bytes, omitted, "closed a connection"
            );
        });
    }

    /// Logs that a connection is not needed, because there is another one of the same nodes.
    pub(crate) fn spared(&self, now: Duration, peer: Option<&Atom>, why: &dyn fmt::Display) {
        // It takes no line of those that are heard.
        if tracing::Level::DEBUG > LevelFilter::current() {
            return;
        }
        let Some(omitted) = self.admit(now) else { return };
        let peer = peer.map_or_else(|| "unknown".to_owned(), |peer| shown(&peer.as_str()));
        let why = shown(why);
        let _ = contain(|| {
            tracing::debug!(target: "krarup::cluster", %peer, %why, omitted, "a connection gives way");
        });
    }

    /// Logs that a signal to a peer could not be written.
    pub(crate) fn dropped(&self, now: Duration, peer: &Atom, why: &dyn fmt::Display) {
        let Some(omitted) = self.admit(now) else { return };
        let (peer, why) = (shown(&peer.as_str()), shown(why));
        let _ = contain(|| {
            tracing::warn!(target: "krarup::cluster", %peer, %why, omitted, "dropped a message");
        });
    }

    /// Logs that a peer was not found, or that a discovery does not say which peers there are.
    pub(crate) fn unfound(&self, now: Duration, peer: Option<&Atom>, why: &dyn fmt::Display) {
        let Some(omitted) = self.admit(now) else { return };
        let peer = peer.map_or_else(|| "all".to_owned(), |peer| shown(&peer.as_str()));
        let why = shown(why);
        let _ = contain(|| {
            tracing::warn!(target: "krarup::cluster", %peer, %why, omitted, "discovery failed");
        });
    }

    /// Logs that a peer could not be connected.
    pub(crate) fn unconnected(&self, now: Duration, peer: &Atom, why: &dyn fmt::Display) {
        let Some(omitted) = self.admit(now) else { return };
        let (peer, why) = (shown(&peer.as_str()), shown(why));
        let _ = contain(|| {
            tracing::warn!(target: "krarup::cluster", %peer, %why, omitted, "cannot connect");
        });
    }

    /// Logs that the node is not registered at the port mapper any more, for this reason, or is again.
    pub(crate) fn registration(&self, now: Duration, error: Option<&str>) {
        let Some(omitted) = self.admit(now) else { return };
        let _ = contain(|| match error {
            Some(why) => {
                let why = shown(&why);
                tracing::warn!(target: "krarup::cluster", %why, omitted, "not registered at epmd");
            }
            None => tracing::info!(target: "krarup::cluster", omitted, "registered at epmd again"),
        });
    }

    /// Logs that a connection is up.
    pub(crate) fn connected(&self, now: Duration, peer: &Atom, creation: u32) {
        let Some(omitted) = self.admit(now) else { return };
        let peer = shown(&peer.as_str());
        let _ = contain(|| {
            tracing::info!(target: "krarup::cluster", %peer, creation, omitted, "connected");
        });
    }

    /// Logs that a connection that was up is lost, or was closed by the peer.
    pub(crate) fn disconnected(&self, now: Duration, peer: &Atom, why: &dyn fmt::Display) {
        let Some(omitted) = self.admit(now) else { return };
        let (peer, why) = (shown(&peer.as_str()), shown(why));
        let _ = contain(|| {
            tracing::info!(target: "krarup::cluster", %peer, %why, omitted, "disconnected");
        });
    }

    /// Logs that a message of a peer is not one of the type that its receiver takes.
    pub(crate) fn undecodable(
        &self,
        now: Duration,
        peer: &Atom,
        (to, expected): (&dyn fmt::Display, &str),
        why: &str,
    ) {
        let Some(omitted) = self.admit(now) else { return };
        let (peer, to, why) = (shown(&peer.as_str()), shown(to), shown(&why));
        let _ = contain(|| {
            tracing::warn!(
                target: "krarup::cluster", %peer, %to, expected, %why, omitted,
                "could not read a message"
            );
        });
    }

    /// Whether there may be a line now, with the number of those that were omitted before.
    fn admit(&self, now: Duration) -> Option<u64> {
        let mut period = self.lines.lock();
        if now >= period.began + PERIOD {
            period.began = now;
            period.lines = 0;
        }
        if period.lines == self.most {
            period.omitted += 1;
            return None;
        }
        period.lines += 1;
        Some(std::mem::take(&mut period.omitted))
    }
}

fn shown(text: &dyn fmt::Display) -> String {
    text.to_string().escape_default().take(MOST_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zobs2_there_are_ten_lines_in_a_second_and_the_next_one_counts_those_omitted() {
        let (log, start) = (PeerLog::default(), Duration::from_secs(100));
        for _ in 0..10 {
            assert_eq!(log.admit(start), Some(0));
        }
        let almost = start + PERIOD.saturating_sub(Duration::from_nanos(1));
        assert_eq!((log.admit(start), log.admit(almost)), (None, None));
        assert_eq!(log.admit(start + PERIOD), Some(2));
        for _ in 0..9 {
            assert_eq!(log.admit(start + PERIOD), Some(0));
        }
        assert_eq!(log.admit(start + PERIOD), None);
    }

    #[test]
    fn zobs2_texts_of_peers_are_escaped_and_cut() {
        assert_eq!(shown(&"a\n\u{1b}[2J\u{e9}"), "a\\n\\u{1b}[2J\\u{e9}");
        assert_eq!(shown(&"\n".repeat(500)).len(), 200);
    }
}
