//! Lines of text.

use super::codec::{Codec, CodecError};
use bytes::{Buf, BytesMut};

/// Lines of UTF-8 text, each ended by `\n`. A `\r` before the `\n` belongs to the line
/// end. A `\r` elsewhere is an error, because other programs treat it as a line end. So
/// every received line can be sent. A last line without an end is not a line: a peer that
/// disconnected within `delete 12` may have meant 123.
///
/// ```
/// use bytes::BytesMut;
/// # mod krarup { pub use krarup_io as io; }
/// use krarup::io::{Codec, CodecError, Lines};
///
/// let mut lines = Lines::new(8);
/// let mut buffer = BytesMut::from("one\r\ntwo\nthr");
/// assert_eq!(lines.decode(&mut buffer), Ok(Some("one".to_owned())));
/// assert_eq!(lines.decode(&mut buffer), Ok(Some("two".to_owned())));
/// assert_eq!(lines.decode(&mut buffer), Ok(None));
/// buffer.extend_from_slice(b"ee, four, five");
/// assert_eq!(lines.decode(&mut buffer), Err(CodecError::TooLong { length: 17, limit: 8 }));
/// ```
#[derive(Clone, Debug)]
pub struct Lines {
    longest: usize,
    /// The number of bytes of the buffer that were searched and contain no line end.
    seen: usize,
}

impl Lines {
    /// Creates a codec for lines of at most `longest` bytes, not counting their end.
    #[must_use]
    pub fn new(longest: usize) -> Self {
        Lines { longest, seen: 0 }
    }

    fn check(&self, length: usize) -> Result<(), CodecError> {
        if length > self.longest {
            return Err(CodecError::TooLong { length, limit: self.longest });
        }
        Ok(())
    }
}

impl Codec for Lines {
    type Frame = String;
    type Item = str;

    fn decode(&mut self, buffer: &mut BytesMut) -> Result<Option<String>, CodecError> {
        // If bytes arrive one at a time, only the new byte is searched, not all bytes before it.
        let seen = self.seen.min(buffer.len());
        let Some(end) = buffer[seen..].iter().position(|byte| *byte == b'\n') else {
            self.seen = buffer.len();
            // The line end may be two bytes, of which one has arrived.
            let length = buffer.len() - usize::from(buffer.ends_with(b"\r"));
            return self.check(length).map(|()| None);
        };
        self.seen = 0;
        let mut line = buffer.split_to(seen + end);
        buffer.advance(1);
        if line.ends_with(b"\r") {
            line.truncate(line.len() - 1);
        }
        self.check(line.len())?;
        match std::str::from_utf8(&line) {
            Ok(text) if text.contains('\r') => Err(break_in(text)),
            Ok(text) => Ok(Some(text.to_owned())),
            Err(error) => Err(CodecError::NotUtf8 { at: error.valid_up_to() }),
        }
    }

    fn longest(&self) -> Option<usize> {
        // The line end may be two bytes, of which one has arrived.
        Some(self.longest.saturating_add(1))
    }

    fn encode(&mut self, line: &str, out: &mut BytesMut) -> Result<(), CodecError> {
        if line.contains(['\n', '\r']) {
            return Err(break_in(line));
        }
        self.check(line.len())?;
        out.reserve(line.len() + 1);
        out.extend_from_slice(line.as_bytes());
        out.extend_from_slice(b"\n");
        Ok(())
    }
}

/// The error of a line that contains a line break.
fn break_in(line: &str) -> CodecError {
    CodecError::LineBreak { at: line.find(['\n', '\r']).unwrap_or(line.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i3_any_input_yields_lines_that_can_be_sent_or_an_error() {
        // All strings of these bytes up to a length. The last byte is never valid UTF-8.
        let bytes = [b'a', b'\r', b'\n', 0xff];
        for length in 0..=6 {
            for number in 0..bytes.len().pow(length) {
                let text: Vec<u8> =
                    (0..length).map(|at| bytes[number / bytes.len().pow(at) % 4]).collect();
                let mut lines = Lines::new(3);
                let mut buffer = BytesMut::from(&text[..]);
                while let Ok(Some(line)) = lines.decode(&mut buffer) {
                    let mut wire = BytesMut::new();
                    lines.encode(&line, &mut wire).unwrap();
                    assert_eq!(lines.decode(&mut wire), Ok(Some(line)), "of {text:?}");
                }
            }
        }
    }

    #[test]
    fn i3_lines_do_not_depend_on_how_the_bytes_are_split() {
        let text = "first\r\n\nthird \u{e9}\nfourth\n";
        for size in 1..=text.len() {
            let mut lines = Lines::new(16);
            let mut buffer = BytesMut::new();
            let mut got = Vec::new();
            for piece in text.as_bytes().chunks(size) {
                buffer.extend_from_slice(piece);
                while let Some(line) = lines.decode(&mut buffer).unwrap() {
                    got.push(line);
                }
            }
            assert_eq!(got, ["first", "", "third \u{e9}", "fourth"], "in pieces of {size}");
            assert_eq!(lines.decode_end(&mut buffer), Ok(None));
        }
    }

    #[test]
    fn i3_a_line_of_the_maximum_length_is_valid_and_one_byte_more_is_an_error() {
        for end in ["\n", "\r\n"] {
            let decode = |text: String| Lines::new(4).decode(&mut BytesMut::from(&*text));
            assert_eq!(decode(format!("1234{end}")), Ok(Some("1234".to_owned())));
            let too_long = CodecError::TooLong { length: 5, limit: 4 };
            assert_eq!(decode(format!("12345{end}")), Err(too_long));
        }
        assert_eq!(Lines::new(4).decode(&mut BytesMut::from("1234\r")), Ok(None));
        assert!(Lines::new(4).decode(&mut BytesMut::from("12345")).is_err());
    }

    #[test]
    fn i9_line_limits_of_zero_and_of_usize_max() {
        let mut empty = Lines::new(0);
        assert_eq!(empty.decode(&mut BytesMut::from("\nx\n")), Ok(Some(String::new())));
        let error = CodecError::TooLong { length: 1, limit: 0 };
        assert_eq!(empty.decode(&mut BytesMut::from("x\n")), Err(error));
        let mut any = Lines::new(usize::MAX);
        assert_eq!(any.decode(&mut BytesMut::from("x\n")), Ok(Some("x".to_owned())));
    }

    #[test]
    fn i3_garbage_and_an_unfinished_line_are_errors_with_their_position() {
        let garbage = &mut BytesMut::from(&b"ab\xff\n"[..]);
        assert_eq!(Lines::new(9).decode(garbage), Err(CodecError::NotUtf8 { at: 2 }));
        let broken = &mut BytesMut::from("delete 12");
        assert_eq!(Lines::new(9).decode_end(broken), Err(CodecError::Unfinished { bytes: 9 }));
        let out = &mut BytesMut::new();
        assert_eq!(Lines::new(9).encode("a\nb", out), Err(CodecError::LineBreak { at: 1 }));
        assert!(out.is_empty());
    }

    #[test]
    fn i3_text_that_cannot_be_a_line_is_not_sent_and_the_error_has_the_position() {
        let encode = |line: &str| {
            let mut out = BytesMut::from("before");
            let sent = Lines::new(4).encode(line, &mut out);
            assert_eq!(out.len(), if sent.is_ok() { 6 + line.len() + 1 } else { 6 });
            assert!(out.starts_with(b"before"));
            sent
        };
        assert_eq!(encode(""), Ok(()));
        assert_eq!(encode("1234"), Ok(()));
        assert_eq!(encode("12345"), Err(CodecError::TooLong { length: 5, limit: 4 }));
        // Bytes are counted, not characters.
        assert_eq!(encode("\u{e9}\u{e9}\u{e9}"), Err(CodecError::TooLong { length: 6, limit: 4 }));
        assert_eq!(encode("a\rb\r"), Err(CodecError::LineBreak { at: 1 }));
        assert_eq!(encode("\na\n"), Err(CodecError::LineBreak { at: 0 }));
    }

    #[test]
    fn i3_each_line_error_names_the_fault_and_its_position() {
        let decode = |text: &[u8]| Lines::new(6).decode(&mut BytesMut::from(text)).unwrap_err();
        assert_eq!(decode(b"ab\xffcd\n"), CodecError::NotUtf8 { at: 2 });
        assert_eq!(decode(b"a\rb\rc\n"), CodecError::LineBreak { at: 1 });
        assert_eq!(decode(b"123456789\n"), CodecError::TooLong { length: 9, limit: 6 });
        assert_eq!(decode(b"123456789"), CodecError::TooLong { length: 9, limit: 6 });
        // A carriage return that is not part of a line end is a byte of the line.
        assert_eq!(decode(b"123456\r\r"), CodecError::TooLong { length: 7, limit: 6 });
    }

    #[test]
    fn i3_complete_lines_at_the_end_of_a_stream_are_delivered() {
        let mut lines = Lines::new(9);
        let mut buffer = BytesMut::from("one\ntwo\nx");
        assert_eq!(lines.decode_end(&mut buffer), Ok(Some("one".to_owned())));
        assert_eq!(lines.decode_end(&mut buffer), Ok(Some("two".to_owned())));
        assert_eq!(lines.decode_end(&mut buffer), Err(CodecError::Unfinished { bytes: 1 }));
        assert_eq!(lines.decode_end(&mut BytesMut::new()), Ok(None));
    }
}
