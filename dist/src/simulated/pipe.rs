//! One direction of a simulated connection.
//!
//! ```text
//!  write ──► flight ──────► arrived ──► read
//!            and the end    and the end
//! ```

use bytes::BytesMut;
use krarup_gen::Timestamp;
use std::io::{self, ErrorKind};
use std::task::Waker;

/// The most bytes that were written and not read: what the systems of both ends hold.
const WINDOW: usize = 64 << 10;

/// One direction of a connection.
#[derive(Debug, Default)]
pub(crate) struct Pipe {
    flight: BytesMut,
    arrived: BytesMut,
    /// What comes behind the bytes in flight.
    end: Option<PipeEnd>,
    /// The end that has arrived.
    over: Option<PipeEnd>,
    /// An event is under way that makes something arrive.
    pub(crate) is_moving: bool,
    /// The time before which nothing more arrives: later bytes are not faster.
    pub(crate) not_before: Timestamp,
    pub(crate) reader: Option<Waker>,
    pub(crate) writer: Option<Waker>,
}

/// How a direction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PipeEnd {
    /// The writer has finished.
    Finished,
    /// The connection is broken.
    Reset,
}

/// What has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PipeArrival {
    Nothing,
    Bytes(usize),
    End(PipeEnd),
}

impl Pipe {
    /// Takes as many bytes as there is room for.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.end {
            Some(PipeEnd::Finished) => return Err(ErrorKind::BrokenPipe.into()),
            Some(PipeEnd::Reset) => return Err(ErrorKind::ConnectionReset.into()),
            None => {}
        }
        let count = self.room().min(bytes.len());
        if count == 0 && !bytes.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.flight.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    /// How many bytes can be written.
    pub(crate) fn room(&self) -> usize {
        WINDOW.saturating_sub(self.flight.len() + self.arrived.len())
    }

    /// Whether a writer need not wait: there is room, or nothing can be written any more.
    pub(crate) fn takes_or_fails(&self) -> bool {
        self.room() > 0 || self.end.is_some()
    }

    /// Ends the direction behind what was written.
    pub(crate) fn finish(&mut self) {
        self.end = self.end.or(Some(PipeEnd::Finished));
    }

    /// Breaks the direction: what is in flight arrives up to the point that the number chooses.
    pub(crate) fn reset(&mut self, number: u64) {
        if self.end != Some(PipeEnd::Reset) && self.over.is_none() {
            self.flight.truncate(share(number, self.flight.len() + 1));
            self.end = Some(PipeEnd::Reset);
        }
    }

    /// Whether anything is on its way.
    pub(crate) fn has_more(&self) -> bool {
        !self.flight.is_empty() || (self.end.is_some() && self.over.is_none())
    }

    /// Makes something arrive. Half of the numbers choose a part of the bytes.
    pub(crate) fn arrive(&mut self, number: u64) -> PipeArrival {
        if self.flight.is_empty() {
            if self.over.is_some() {
                return PipeArrival::Nothing;
            }
            self.over = self.end;
            return self.over.map_or(PipeArrival::Nothing, PipeArrival::End);
        }
        let count = match number % 2 {
            0 => self.flight.len(),
            _ => 1 + share(number, self.flight.len()),
        };
        let piece = self.flight.split_to(count);
        self.arrived.extend_from_slice(&piece);
        PipeArrival::Bytes(count)
    }

    /// Drops what has arrived: the reader is gone. Returns whether there were any bytes.
    pub(crate) fn discard(&mut self) -> bool {
        let any = !self.arrived.is_empty();
        self.arrived.clear();
        any
    }

    /// Reads what has arrived; `None` if the reader must wait.
    pub(crate) fn read(&mut self, most: usize, buffer: &mut BytesMut) -> Option<io::Result<usize>> {
        let count = self.arrived.len().min(most);
        if count > 0 {
            buffer.extend_from_slice(&self.arrived.split_to(count));
            return Some(Ok(count));
        }
        match self.over? {
            PipeEnd::Finished => Some(Ok(0)),
            PipeEnd::Reset => Some(Err(ErrorKind::ConnectionReset.into())),
        }
    }
}

/// The share of `count` that the number has of all numbers: less than `count`.
pub(crate) fn share(number: u64, count: usize) -> usize {
    usize::try_from((u128::from(number) * count as u128) >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pipe: &mut Pipe) -> Option<Result<Vec<u8>, ErrorKind>> {
        let mut buffer = BytesMut::new();
        let read = pipe.read(usize::MAX, &mut buffer)?;
        Some(read.map(|_| buffer.to_vec()).map_err(|error| error.kind()))
    }

    #[test]
    fn zsim2_bytes_arrive_in_order_in_pieces_and_the_end_behind_them() {
        let mut pipe = Pipe::default();
        assert_eq!(pipe.write(b"abcdef").unwrap(), 6);
        assert!(read(&mut pipe).is_none());
        pipe.finish();
        // A third of all numbers, and odd: one and a third of the rest.
        assert_eq!(pipe.arrive(u64::MAX / 3), PipeArrival::Bytes(2));
        assert_eq!(read(&mut pipe), Some(Ok(b"ab".to_vec())));
        assert_eq!(pipe.arrive(0), PipeArrival::Bytes(4));
        assert_eq!(read(&mut pipe), Some(Ok(b"cdef".to_vec())));
        assert!(read(&mut pipe).is_none() && pipe.has_more());
        assert_eq!(pipe.arrive(0), PipeArrival::End(PipeEnd::Finished));
        assert_eq!(read(&mut pipe), Some(Ok(Vec::new())));
        assert!(!pipe.has_more());
        assert_eq!(pipe.write(b"g").unwrap_err().kind(), ErrorKind::BrokenPipe);
    }

    #[test]
    fn zsim2_a_reset_loses_what_was_in_flight_from_some_point_on() {
        for (number, left) in [(0, 0), (u64::MAX / 2, 1), (u64::MAX, 3)] {
            let mut pipe = Pipe::default();
            pipe.write(b"xy").unwrap();
            pipe.arrive(0);
            pipe.write(b"abc").unwrap();
            pipe.reset(number);
            while pipe.has_more() {
                pipe.arrive(0);
            }
            assert_eq!(read(&mut pipe).unwrap().unwrap().len(), 2 + left);
            assert_eq!(read(&mut pipe), Some(Err(ErrorKind::ConnectionReset)));
            assert_eq!(pipe.write(b"g").unwrap_err().kind(), ErrorKind::ConnectionReset);
        }
    }

    #[test]
    fn zsim2_a_reader_that_does_not_read_stops_the_writer() {
        let mut pipe = Pipe::default();
        assert_eq!(pipe.write(&vec![1; WINDOW + 1]).unwrap(), WINDOW);
        assert!(!pipe.takes_or_fails());
        assert_eq!(pipe.write(&[1]).unwrap_err().kind(), ErrorKind::WouldBlock);
        pipe.arrive(0);
        assert!(!pipe.takes_or_fails());
        assert_eq!(read(&mut pipe).unwrap().unwrap().len(), WINDOW);
        assert!(pipe.takes_or_fails());
    }
}
