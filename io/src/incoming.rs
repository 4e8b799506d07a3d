//! The received and unhandled bytes: at most one incomplete frame, and the bytes that were
//! read together with its end.

use crate::codecs::codec::{Codec, CodecError};
use crate::options::ConnectionOptions;
use crate::wire::SocketStream;
use bytes::BytesMut;
use krarup_gen::Timestamp;
use std::io;
use std::task::{Context, Poll};

/// The reading side of a connection.
#[derive(Default)]
pub(crate) struct Incoming {
    buffer: BytesMut,
    /// Whether the buffer may hold a whole frame. No more is read while it may.
    may_hold: bool,
    /// When the first byte of the frame in the buffer arrived.
    pub(crate) began: Option<Timestamp>,
    /// Since when the protocol does not read because it is busy. This time does not count
    /// for the frame.
    away: Option<Timestamp>,
    /// The number of received bytes.
    pub(crate) received: u64,
    /// When bytes last arrived.
    pub(crate) last: Timestamp,
    end: StreamEnd,
}

#[derive(Default, PartialEq, Eq)]
enum StreamEnd {
    #[default]
    Open,
    /// The peer has closed its sending side. The buffer may still hold frames.
    Reached,
    /// The end was reported to the protocol.
    Told,
}

/// The next arrival.
pub(crate) enum Arrival<F> {
    Frame(F),
    Malformed(CodecError),
    End,
    Failed(io::Error),
}

impl Incoming {
    /// Creates the reading side, with no arrivals since `now`.
    pub(crate) fn new(now: Timestamp) -> Self {
        Incoming { last: now, ..Incoming::default() }
    }

    /// Whether the peer has closed its sending side, and everything it sent was handled.
    pub(crate) fn has_ended(&self) -> bool {
        self.end == StreamEnd::Told
    }

    /// Lets the codec look at the bytes of an incomplete frame again, although no more have arrived.
    pub(crate) fn decode_again(&mut self) {
        self.may_hold |= !self.buffer.is_empty();
    }

    /// Records that reading stops now.
    pub(crate) fn pause_reading(&mut self, now: impl FnOnce() -> Timestamp) {
        if self.began.is_some() && self.away.is_none() {
            self.away = Some(now());
        }
    }

    /// Records that reading resumes: the frame that has begun is granted the time in between.
    pub(crate) fn resume_reading(&mut self, now: impl FnOnce() -> Timestamp) {
        if let Some(away) = self.away.take()
            && let Some(began) = &mut self.began
        {
            *began = *began + (now() - away);
        }
    }

    /// Returns the next frame, or another arrival. It reads if there is no whole frame, at
    /// most `budget` times in this turn.
    pub(crate) fn poll_next<C: Codec>(
        &mut self,
        codec: &mut C,
        wire: &SocketStream,
        options: &ConnectionOptions,
        budget: &mut u32,
        now: impl Fn() -> Timestamp,
        cx: &Context<'_>,
    ) -> Poll<Arrival<C::Frame>> {
        loop {
            if self.may_hold {
                match self.decode(codec, options, &now) {
                    Ok(Some(frame)) => return Poll::Ready(Arrival::Frame(frame)),
                    Ok(None) => {}
                    Err(error) => return Poll::Ready(Arrival::Malformed(error)),
                }
            }
            match self.end {
                StreamEnd::Open => {}
                StreamEnd::Reached => {
                    self.end = StreamEnd::Told;
                    return Poll::Ready(Arrival::End);
                }
                // Nothing follows but a failure, which no read would find out.
                StreamEnd::Told => return wire.poll_broken(cx).map(Arrival::Failed),
            }
            // A large frame takes many reads, so let other processes run.
            let Some(left) = budget.checked_sub(1) else {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            };
            match wire.poll_read(&mut self.buffer, cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Arrival::Failed(error)),
                Poll::Ready(Ok(0)) => self.end = StreamEnd::Reached,
                Poll::Ready(Ok(count)) => {
                    *budget = left;
                    self.received += count as u64;
                    self.last = now();
                    self.began.get_or_insert(self.last);
                }
            }
            self.may_hold = true;
        }
    }

    fn decode<C: Codec>(
        &mut self,
        codec: &mut C,
        options: &ConnectionOptions,
        now: impl Fn() -> Timestamp,
    ) -> Result<Option<C::Frame>, CodecError> {
        let frame = if self.end == StreamEnd::Open {
            codec.decode(&mut self.buffer)?
        } else {
            codec.decode_end(&mut self.buffer)?
        };
        let left = self.buffer.len();
        if left == 0 {
            // An idle connection holds no memory.
            self.buffer = BytesMut::new();
            self.began = None;
        } else if frame.is_some() && options.frame.is_some() {
            // The rest begins the next frame.
            self.began = Some(now());
        }
        if frame.is_none() {
            self.may_hold = false;
            let limit = options.read_limit_of(codec.longest());
            if left > limit {
                return Err(CodecError::TooLong { length: left, limit });
            }
        }
        Ok(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codecs::prefixed::Prefixed;
    use crate::readiness::tests::counting_waker;
    use mio::net::TcpStream;
    use std::io::Write;
    use std::net::TcpListener;
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    #[test]
    fn i2_a_large_frame_is_read_over_many_turns() {
        const FRAME: usize = 256 << 10;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut peer = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        let wire = SocketStream::new(TcpStream::from_std(stream)).unwrap();
        let sends = std::thread::spawn(move || {
            peer.write_all(&u32::try_from(FRAME).unwrap().to_be_bytes()).unwrap();
            peer.write_all(&vec![7; FRAME]).unwrap();
            peer
        });
        let (counter, waker) = counting_waker(false);
        let options = ConnectionOptions::new();
        let mut incoming = Incoming::new(Timestamp::default());
        let mut turns = 0;
        loop {
            let (before, mut budget) = (incoming.received, 3);
            let came = incoming.poll_next(
                &mut Prefixed::new(FRAME),
                &wire,
                &options,
                &mut budget,
                Timestamp::default,
                &Context::from_waker(&waker),
            );
            // One read takes at most 16 KiB.
            assert!(incoming.received - before <= 3 * (16 << 10));
            match came {
                Poll::Ready(Arrival::Frame(frame)) => break assert_eq!(frame.len(), FRAME),
                Poll::Ready(_) => panic!("no frame"),
                Poll::Pending => turns += 1,
            }
            if budget == 0 {
                let woken = counter.wakes.swap(0, Ordering::Relaxed) > 0;
                assert!(woken, "it was woken for its next turn");
            } else {
                // All that had come was read.
                std::thread::yield_now();
            }
        }
        assert!(turns >= FRAME / (3 * (16 << 10)));
        drop(sends.join());
    }

    #[test]
    fn i3_a_frame_of_the_longest_length_is_whole_however_its_bytes_arrive() {
        const LONGEST: usize = 2 << 20;
        let (mut codec, options) = (Prefixed::new(LONGEST), ConnectionOptions::new());
        let mut bytes = u32::try_from(LONGEST).unwrap().to_be_bytes().to_vec();
        bytes.resize(LONGEST + 4, 7);
        for first in [3, 5, 1 << 20, (1 << 20) + 1, LONGEST, LONGEST + 1, LONGEST + 3] {
            let mut incoming = Incoming::new(Timestamp::default());
            incoming.buffer.extend_from_slice(&bytes[..first]);
            let frame = incoming.decode(&mut codec, &options, Timestamp::default);
            assert_eq!(frame, Ok(None), "{first} bytes of {}", bytes.len());
            incoming.buffer.extend_from_slice(&bytes[first..]);
            let frame = incoming.decode(&mut codec, &options, Timestamp::default).unwrap();
            assert_eq!(frame.map(|frame| frame.len()), Some(LONGEST));
        }
    }

    #[test]
    fn i5_the_frame_timeout_is_suspended_while_reading_is_paused() {
        let at = |millis| Timestamp::default() + Duration::from_millis(millis);
        let mut incoming = Incoming::new(at(0));
        // Between two frames no time is granted.
        incoming.pause_reading(|| at(5));
        incoming.resume_reading(|| at(10));
        assert_eq!(incoming.began, None);
        incoming.began = Some(at(10));
        incoming.pause_reading(|| at(15));
        // A callback within a pause is part of the pause.
        incoming.pause_reading(|| at(40));
        incoming.resume_reading(|| at(115));
        incoming.resume_reading(|| at(116));
        assert_eq!(incoming.began, Some(at(110)));
    }
}
