//! The timeouts of a connection, and which of them expires first. Nothing here reads a clock.

use crate::error::Closed;
use crate::options::ConnectionOptions;
use krarup_gen::Timestamp;

/// The state of a connection at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    /// When bytes last arrived.
    pub(crate) read: Timestamp,
    /// When the system last took bytes, or bytes began to wait.
    pub(crate) wrote: Timestamp,
    /// The number of bytes that wait for the peer.
    pub(crate) waiting: usize,
    /// When the incomplete frame began.
    pub(crate) began: Option<Timestamp>,
    /// The protocol has paused reading.
    pub(crate) paused: bool,
    /// When the handshake of TLS began, if it is under way.
    pub(crate) shaking: Option<Timestamp>,
}

impl Times {
    /// Returns when the connection closes unless something happens before, and why.
    pub(crate) fn first(&self, options: &ConnectionOptions) -> Option<(Timestamp, Closed)> {
        let Times { read, wrote, waiting, began, paused, shaking } = *self;
        let idle = options.idle.map(|limit| (read.max(wrote) + limit, Closed::Idle(limit)));
        let stalled = options.stall.filter(|_| waiting > 0);
        let stalled = stalled.map(|limit| (wrote + limit, Closed::Stalled { waiting, limit }));
        let slow = options.frame.zip(began).filter(|_| !paused);
        let slow = slow.map(|(limit, began)| (began + limit, Closed::SlowFrame(limit)));
        let limit = options.connect;
        let shaking = shaking.map(|since| (since + limit, Closed::SlowHandshake(limit)));
        [idle, stalled, slow, shaking].into_iter().flatten().min_by_key(|(due, _)| *due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const LIMIT: Duration = Duration::from_secs(10);

    fn at(seconds: u64) -> Timestamp {
        Timestamp::ZERO + Duration::from_secs(seconds)
    }

    fn options() -> ConnectionOptions {
        ConnectionOptions::new().stall_timeout(None)
    }

    #[test]
    fn i5_traffic_in_either_direction_restarts_the_idle_timeout() {
        let options = options().idle_timeout(LIMIT);
        for (read, wrote) in [(3, 1), (1, 3)] {
            let times = Times { read: at(read), wrote: at(wrote), ..Times::default() };
            assert_eq!(times.first(&options), Some((at(13), Closed::Idle(LIMIT))));
        }
    }

    #[test]
    fn i5_only_a_connection_with_waiting_bytes_can_stall() {
        let options = options().stall_timeout(LIMIT);
        let times = Times { read: at(9), wrote: at(1), ..Times::default() };
        assert_eq!(times.first(&options), None);
        let times = Times { waiting: 7, ..times };
        let stalled = Closed::Stalled { waiting: 7, limit: LIMIT };
        assert_eq!(times.first(&options), Some((at(11), stalled)));
    }

    #[test]
    fn i5_the_frame_timeout_runs_from_the_first_byte_and_not_in_a_pause() {
        let options = options().frame_timeout(LIMIT);
        let times = Times { read: at(8), ..Times::default() };
        assert_eq!(times.first(&options), None);
        let times = Times { began: Some(at(5)), ..times };
        assert_eq!(times.first(&options), Some((at(15), Closed::SlowFrame(LIMIT))));
        assert_eq!(Times { paused: true, ..times }.first(&options), None);
    }

    #[test]
    fn i5_a_handshake_of_tls_has_the_time_of_connecting() {
        let options = options().connect_timeout(LIMIT);
        let times = Times { shaking: Some(at(2)), read: at(9), ..Times::default() };
        assert_eq!(times.first(&options), Some((at(12), Closed::SlowHandshake(LIMIT))));
    }

    #[test]
    fn i5_the_earliest_of_several_timeouts_fires() {
        let minute = Duration::from_secs(60);
        let times = Times { waiting: 1, began: Some(at(1)), ..Times::default() };
        let all = options().idle_timeout(minute).stall_timeout(minute).frame_timeout(minute);
        for (options, due) in [
            (all.clone().idle_timeout(LIMIT), 10),
            (all.clone().stall_timeout(LIMIT), 10),
            (all.clone().frame_timeout(LIMIT), 11),
        ] {
            assert_eq!(times.first(&options).map(|(due, _)| due), Some(at(due)));
        }
        // No limit, and a limit that is never reached.
        assert_eq!(times.first(&self::options()), None);
        let never = self::options().idle_timeout(Duration::MAX);
        assert_eq!(times.first(&never).map(|(due, _)| due), Some(Timestamp::MAX));
    }
}
