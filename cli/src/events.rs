//! Server-sent events out of a stream of bytes, one at a time.

use std::io::{self, BufRead, Error, ErrorKind, Read};

/// The longest line that is read: an observer's answers have at most 4 MiB.
const LONGEST: u64 = 8 << 20;

/// An event: its name and its data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StreamEvent {
    pub(crate) name: String,
    pub(crate) data: String,
}

/// The next event; `None` at the end of the stream. Comments, numbers and unknown fields are left
/// out. A line that is too long or no UTF-8 is an error.
pub(crate) fn next_event(source: &mut impl BufRead) -> io::Result<Option<StreamEvent>> {
    let (mut name, mut data) = (String::new(), None::<String>);
    loop {
        let mut line = Vec::new();
        source.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
        if line.pop_if(|last| *last == b'\n').is_none() {
            let too_long = line.len() as u64 == LONGEST;
            return if too_long { Err(invalid("a line is too long")) } else { Ok(None) };
        }
        line.pop_if(|last| *last == b'\r');
        let line = String::from_utf8(line).map_err(|_| invalid("a line is no UTF-8"))?;
        if line.is_empty() {
            if let Some(data) = data.take() {
                return Ok(Some(StreamEvent { name, data }));
            }
            name.clear();
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut name),
            "data" => match &mut data {
                Some(data) if (data.len() + value.len()) as u64 > LONGEST => {
                    return Err(invalid("an event is too long"));
                }
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => data = Some(value.to_owned()),
            },
            _ => {}
        }
    }
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut text: &[u8]) -> io::Result<Vec<(String, String)>> {
        let mut events = Vec::new();
        while let Some(event) = next_event(&mut text)? {
            events.push((event.name, event.data));
        }
        Ok(events)
    }

    #[test]
    fn v81_events_are_read_whole_and_bounded() {
        let text = b"retry: 2000\nevent: hello\ndata: {}\n\n: alive\n\nevent: node\r\nid: 1\r\ndata: a\r\ndata:b\r\n\r\nevent: cut\ndata: x";
        let pair = |name: &str, data: &str| (name.to_owned(), data.to_owned());
        assert_eq!(all(text).unwrap(), [pair("hello", "{}"), pair("node", "a\nb")]);
        assert_eq!(all(b"event: a\n\ndata: b\n\n").unwrap(), [pair("", "b")]);
        assert_eq!(all(b"data: \xff\n\n").unwrap_err().kind(), ErrorKind::InvalidData);
        let endless = io::repeat(b'x');
        let error = next_event(&mut io::BufReader::new(endless)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }
}
