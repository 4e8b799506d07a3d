//! The limits of a connection.

use crate::error::ConnectError;
use krarup_gen::Reason;
use std::time::Duration;

/// The default limit of buffered bytes.
const WRITE_LIMIT: usize = 256 << 10;
/// The limit of bytes of an incomplete frame if neither the options nor the codec have one.
const READ_LIMIT: usize = 1 << 20;
/// The default bound of a connection's mailbox.
const MAILBOX: usize = 1024;
/// The default time for which a peer may take none of the buffered bytes.
const STALL: Duration = Duration::from_secs(30);
/// The default time to wait for the peer's end of the stream.
const LINGER: Duration = Duration::from_secs(1);
/// The default time for writing the buffered bytes when a connection closes.
const CLOSE: Duration = Duration::from_secs(30);
/// The shortest and longest keep-alive time that operating systems accept.
const KEEPALIVE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(32_767));
/// The default time for connecting.
const CONNECT: Duration = Duration::from_secs(10);
/// The default time between two attempts to connect, which RFC 8305 recommends.
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// The shortest time between two attempts that RFC 8305 allows, and the longest that it recommends.
pub(crate) const ATTEMPT_DELAYS: (Duration, Duration) =
    (Duration::from_millis(10), Duration::from_secs(2));

/// The limits of a connection: how much it buffers, and how long it waits for its peer.
///
/// | limit | default | effect |
/// |---|---|---|
/// | [`write_limit`](Self::write_limit) | 256 KiB | a send is [`WriteError::Full`](crate::WriteError::Full), or waits |
/// | [`read_limit`](Self::read_limit) | that of the codec, or 1 MiB | a longer incomplete frame ends the connection |
/// | [`mailbox`](Self::mailbox) | 1024 messages | as for any process: [`SendError::Full`](krarup_gen::SendError::Full) |
/// | [`stall_timeout`](Self::stall_timeout) | 30 s | [`Closed::Stalled`](crate::Closed::Stalled) |
/// | [`idle_timeout`](Self::idle_timeout) | none | [`Closed::Idle`](crate::Closed::Idle) |
/// | [`frame_timeout`](Self::frame_timeout) | none | [`Closed::SlowFrame`](crate::Closed::SlowFrame) |
/// | [`close_timeout`](Self::close_timeout) | 30 s | [`Closed::Unsent`](crate::Closed::Unsent) |
/// | [`linger`](Self::linger) | 1 s | the connection is closed although the peer's end is open |
/// | [`connect_timeout`](Self::connect_timeout) | 10 s | [`ConnectError::Timeout`](crate::ConnectError::Timeout) |
/// | [`attempt_delay`](Self::attempt_delay) | 250 ms | the next address of the server is tried as well |
///
/// A server with unknown clients should set all of them: a client may send nothing, or one
/// byte a minute, or never read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionOptions {
    pub(crate) write_limit: usize,
    pub(crate) read_limit: Option<usize>,
    pub(crate) mailbox: usize,
    pub(crate) stall: Option<Duration>,
    pub(crate) idle: Option<Duration>,
    pub(crate) frame: Option<Duration>,
    pub(crate) close: Option<Duration>,
    pub(crate) linger: Duration,
    pub(crate) expects_loss: bool,
    pub(crate) connect: Duration,
    pub(crate) attempt_delay: Duration,
    pub(crate) nodelay: bool,
    pub(crate) keepalive: Option<Duration>,
    pub(crate) send_buffer: Option<usize>,
}

impl Default for ConnectionOptions {
    fn default() -> Self {
        ConnectionOptions {
            write_limit: WRITE_LIMIT,
            read_limit: None,
            mailbox: MAILBOX,
            stall: Some(STALL),
            idle: None,
            frame: None,
            close: Some(CLOSE),
            linger: LINGER,
            expects_loss: false,
            connect: CONNECT,
            attempt_delay: ATTEMPT_DELAY,
            nodelay: true,
            keepalive: None,
            send_buffer: None,
        }
    }
}

/// An invalid option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// The value must be at least 1.
    #[error("{0} is 0: it must be at least 1")]
    Zero(&'static str),
    /// The value is too large.
    #[error("{option} is {count}: it must be at most {most}")]
    TooMany {
        /// The option.
        option: &'static str,
        /// The value.
        count: usize,
        /// The largest valid value.
        most: usize,
    },
    /// A time must not be zero; `None` means no limit.
    #[error("{0} is zero: it must be greater than zero")]
    NoTime(&'static str),
    /// The operating system, or the protocol, does not support this time.
    #[error("{option} is {time:?}: it must be from {least:?} to {most:?}")]
    NoSuchTime {
        /// The option.
        option: &'static str,
        /// The value.
        time: Duration,
        /// The shortest valid time.
        least: Duration,
        /// The longest valid time.
        most: Duration,
    },
}

impl ConnectionOptions {
    /// Returns the default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many bytes may wait for the peer to take them, at least 1.
    #[must_use]
    pub fn write_limit(mut self, bytes: usize) -> Self {
        self.write_limit = bytes;
        self
    }

    /// Sets how many bytes of an incomplete frame may be buffered, at least 1, whatever the
    /// codec allows. The bytes of a length prefix or of a line end count. Up to 16 KiB more may
    /// be buffered that were read in the same call. Without it the limit is what the codec
    /// itself waits for ([`Codec::longest`](crate::Codec::longest)), and 1 MiB for a codec that
    /// does not say.
    #[must_use]
    pub fn read_limit(mut self, bytes: usize) -> Self {
        self.read_limit = Some(bytes);
        self
    }

    /// Sets how many messages of other processes may wait at an accepted connection, at
    /// least 1. The mailbox of a client is bounded where it is spawned.
    #[must_use]
    pub fn mailbox(mut self, messages: usize) -> Self {
        self.mailbox = messages;
        self
    }

    /// Sets for how long the peer may take none of the buffered bytes.
    #[must_use]
    pub fn stall_timeout(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.stall = limit.into();
        self
    }

    /// Sets for how long there may be no traffic in either direction, also while the protocol
    /// has [paused](crate::FrameChannel::pause) reading. It is checked between two callbacks.
    #[must_use]
    pub fn idle_timeout(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.idle = limit.into();
        self
    }

    /// Sets how long a frame may take from its first byte to its last, without the time in
    /// which the protocol does not read.
    #[must_use]
    pub fn frame_timeout(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.frame = limit.into();
        self
    }

    /// Sets how long writing the buffered bytes may take when the connection closes, if
    /// the peer keeps taking some of them. `None` means no limit other than the
    /// [`stall_timeout`](Self::stall_timeout).
    #[must_use]
    pub fn close_timeout(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.close = limit.into();
        self
    }

    /// Sets how long a closed connection waits for the peer to close its side as well. A
    /// connection that is closed while bytes of the peer are on their way is reset, and
    /// the peer may then lose the last bytes sent to it. Zero closes at once.
    #[must_use]
    pub fn linger(mut self, limit: Duration) -> Self {
        self.linger = limit;
        self
    }

    /// Makes the loss of the connection no failure of a client: its process ends as that of an
    /// accepted connection, `Normal` when the peer closes, and otherwise with `Shutdown`. For
    /// connections between equals, whose protocol says what a loss means. A client that cannot connect fails its spawn
    /// with the same errors, and its process ends with `Shutdown`.
    #[must_use]
    pub fn expects_loss(mut self) -> Self {
        self.expects_loss = true;
        self
    }

    /// The reason of the end of a process that cannot connect.
    pub(crate) fn not_connected(&self, error: ConnectError) -> Reason {
        if self.expects_loss { Reason::shutdown(error) } else { error.into() }
    }

    /// Sets how long a client may take to connect, to all addresses of its server together, with the handshake of TLS. The
    /// resolver of [`Client::to_host`](crate::Client::to_host) has the same time before.
    #[must_use]
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect = limit;
        self
    }

    /// Sets how long a client waits for one address of its server before it tries the next one as well, from 10 ms to 2 s
    /// (the Connection Attempt Delay of RFC 8305). It is shorter if not all addresses would otherwise have their turn within
    /// the [`connect_timeout`](Self::connect_timeout), but never below 10 ms. After a failure the next one is tried at once.
    #[must_use]
    pub fn attempt_delay(mut self, delay: Duration) -> Self {
        self.attempt_delay = delay;
        self
    }

    /// Sets how many bytes the system buffers for the peer (`SO_SNDBUF`), at least 1. The system may take
    /// a multiple of it. A small buffer bounds how long a frame waits behind others in the
    /// system; over a long way it also bounds the throughput. The default is the system's.
    #[must_use]
    pub fn send_buffer(mut self, bytes: impl Into<Option<usize>>) -> Self {
        self.send_buffer = bytes.into();
        self
    }

    /// Sets whether written bytes are sent at once, which is the default. The argument is that
    /// of the socket option `TCP_NODELAY`.
    /// The frames of one turn are written together in any case.
    #[must_use]
    pub fn nodelay(mut self, nodelay: bool) -> Self {
        self.nodelay = nodelay;
        self
    }

    /// Makes the system probe a peer that has been silent for this long, and again after
    /// each such time, some ten times. A peer that never answers ends the connection with
    /// [`Closed::Failed`](crate::Closed::Failed). The time is from 1 s to 32767 s, in
    /// whole seconds; `None`, the default, disables the probes.
    #[must_use]
    pub fn keepalive(mut self, after: impl Into<Option<Duration>>) -> Self {
        self.keepalive = after.into();
        self
    }

    /// Returns how many bytes of an incomplete frame may be buffered beside a codec that waits
    /// for at most `longest`.
    pub(crate) fn read_limit_of(&self, longest: Option<usize>) -> usize {
        self.read_limit.or(longest).unwrap_or(READ_LIMIT)
    }

    /// Returns an error for the first invalid option.
    pub(crate) fn check(&self) -> Result<(), OptionsError> {
        for (name, count) in [
            ("write_limit", self.write_limit),
            ("read_limit", self.read_limit.unwrap_or(READ_LIMIT)),
            ("mailbox", self.mailbox),
            ("send_buffer", self.send_buffer.unwrap_or(usize::MAX)),
        ] {
            if count == 0 {
                return Err(OptionsError::Zero(name));
            }
        }
        for (name, time) in [
            ("stall_timeout", self.stall),
            ("idle_timeout", self.idle),
            ("frame_timeout", self.frame),
            ("connect_timeout", Some(self.connect)),
            ("close_timeout", self.close),
        ] {
            if time == Some(Duration::ZERO) {
                return Err(OptionsError::NoTime(name));
            }
        }
        for (option, time, (least, most)) in [
            ("attempt_delay", Some(self.attempt_delay), ATTEMPT_DELAYS),
            ("keepalive", self.keepalive, KEEPALIVE),
        ] {
            if let Some(time) = time.filter(|time| !(least..=most).contains(time)) {
                return Err(OptionsError::NoSuchTime { option, time, least, most });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i9_each_option_is_set_independently_and_can_be_reset() {
        let (time, second) = (Duration::from_secs(7), Duration::from_secs(1));
        let new = ConnectionOptions::new;
        assert_eq!(new(), ConnectionOptions::default());
        let set = [
            (new().write_limit(7), ConnectionOptions { write_limit: 7, ..new() }),
            (new().read_limit(7), ConnectionOptions { read_limit: Some(7), ..new() }),
            (new().mailbox(7), ConnectionOptions { mailbox: 7, ..new() }),
            (new().stall_timeout(time), ConnectionOptions { stall: Some(time), ..new() }),
            (new().stall_timeout(None), ConnectionOptions { stall: None, ..new() }),
            (new().idle_timeout(time), ConnectionOptions { idle: Some(time), ..new() }),
            (new().idle_timeout(time).idle_timeout(None), new()),
            (new().frame_timeout(time), ConnectionOptions { frame: Some(time), ..new() }),
            (new().frame_timeout(time).frame_timeout(None), new()),
            (new().close_timeout(time), ConnectionOptions { close: Some(time), ..new() }),
            (new().close_timeout(None), ConnectionOptions { close: None, ..new() }),
            (new().linger(time), ConnectionOptions { linger: time, ..new() }),
            (new().expects_loss(), ConnectionOptions { expects_loss: true, ..new() }),
            (new().connect_timeout(time), ConnectionOptions { connect: time, ..new() }),
            (new().attempt_delay(second), ConnectionOptions { attempt_delay: second, ..new() }),
            (new().send_buffer(7), ConnectionOptions { send_buffer: Some(7), ..new() }),
            (new().send_buffer(7).send_buffer(None), new()),
            (new().nodelay(false), ConnectionOptions { nodelay: false, ..new() }),
            (new().nodelay(false).nodelay(true), new()),
            (new().keepalive(time), ConnectionOptions { keepalive: Some(time), ..new() }),
            (new().keepalive(time).keepalive(None), new()),
        ];
        for (options, expected) in set {
            assert_eq!(options, expected);
            assert_eq!(options.check(), Ok(()));
        }
    }

    #[test]
    fn i9_the_defaults_are_those_of_the_table() {
        let seconds = Duration::from_secs;
        let expected = ConnectionOptions {
            write_limit: 256 << 10,
            read_limit: None,
            mailbox: 1024,
            stall: Some(seconds(30)),
            idle: None,
            frame: None,
            close: Some(seconds(30)),
            linger: seconds(1),
            expects_loss: false,
            connect: seconds(10),
            attempt_delay: Duration::from_millis(250),
            nodelay: true,
            keepalive: None,
            send_buffer: None,
        };
        assert_eq!(ConnectionOptions::default(), expected);
    }

    #[test]
    fn i3_the_read_limit_is_that_of_the_options_or_of_the_codec_or_a_mebibyte() {
        let own = ConnectionOptions::new().read_limit(7);
        assert_eq!([None, Some(3), Some(30)].map(|longest| own.read_limit_of(longest)), [7; 3]);
        let none = ConnectionOptions::new();
        let limits = [None, Some(3), Some(2 << 20)].map(|longest| none.read_limit_of(longest));
        assert_eq!(limits, [1 << 20, 3, 2 << 20]);
    }

    #[test]
    fn i9_a_keepalive_is_from_one_second_to_the_system_maximum() {
        let check = |millis| {
            ConnectionOptions::new().keepalive(Duration::from_millis(millis)).check().is_ok()
        };
        assert_eq!([999, 1_000, 32_767_000, 32_767_001].map(check), [false, true, true, false]);
        // A linger time of zero is valid, and 1 is valid for every count.
        let least = ConnectionOptions::new().linger(Duration::ZERO);
        let least = least.write_limit(1).read_limit(1).mailbox(1);
        assert_eq!(least.check(), Ok(()));
    }

    #[test]
    fn i9_the_delay_of_an_attempt_is_from_ten_milliseconds_to_two_seconds() {
        let delay = |millis| ConnectionOptions::new().attempt_delay(Duration::from_millis(millis));
        let valid = [9, 10, 2_000, 2_001].map(|millis| delay(millis).check().is_ok());
        assert_eq!(valid, [false, true, true, false]);
        let says = delay(0).check().unwrap_err().to_string();
        assert_eq!(says, "attempt_delay is 0ns: it must be from 10ms to 2s");
    }

    #[test]
    fn i9_an_error_names_the_option_and_its_range() {
        for (error, says) in [
            (OptionsError::Zero("limit"), "limit is 0: it must be at least 1"),
            (
                OptionsError::TooMany { option: "workers", count: 9, most: 8 },
                "workers is 9: it must be at most 8",
            ),
            (
                OptionsError::NoTime("idle_timeout"),
                "idle_timeout is zero: it must be greater than zero",
            ),
        ] {
            assert_eq!(error.to_string(), says);
        }
        let error = ConnectionOptions::new().keepalive(Duration::ZERO).check().unwrap_err();
        assert_eq!(error.to_string(), "keepalive is 0ns: it must be from 1s to 32767s");
    }
}
