//! The header `grpc-timeout`: how long a client waits for its response.

use http::HeaderMap;
use std::time::Duration;

/// The name of the header.
const TIMEOUT: &str = "grpc-timeout";

/// How much of a malformed value its error shows. The longest value that is right has nine bytes.
const SHOWN: usize = 32;

/// A request says by its header `grpc-timeout` something that is no timeout: a status `INVALID_ARGUMENT`,
/// of which this is the source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "grpc-timeout: {value:?} is no timeout, which is 1 to 8 digits and a unit: H, M, S, m, u or n"
)]
pub struct MalformedTimeout {
    value: String,
}

impl MalformedTimeout {
    /// What the header says, or its begin if it is long.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }
}

/// Returns what the headers of a request say, if they do.
pub(crate) fn timeout_of(headers: &HeaderMap) -> Result<Option<Duration>, MalformedTimeout> {
    let Some(value) = headers.get(TIMEOUT) else { return Ok(None) };
    let value = value.as_bytes();
    match parse(value) {
        Some(timeout) => Ok(Some(timeout)),
        None => {
            let shown = &value[..value.len().min(SHOWN)];
            Err(MalformedTimeout { value: String::from_utf8_lossy(shown).into_owned() })
        }
    }
}

/// `TimeoutValue TimeoutUnit` of the protocol of gRPC over HTTP/2.
fn parse(value: &[u8]) -> Option<Duration> {
    let (unit, digits) = value.split_last()?;
    if !(1..=8).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // At most 99 999 999, so no product below overflows.
    let amount = digits.iter().fold(0, |amount: u64, digit| amount * 10 + u64::from(digit - b'0'));
    Some(match unit {
        b'H' => Duration::from_secs(amount * 3600),
        b'M' => Duration::from_secs(amount * 60),
        b'S' => Duration::from_secs(amount),
        b'm' => Duration::from_millis(amount),
        b'u' => Duration::from_micros(amount),
        b'n' => Duration::from_nanos(amount),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn read(value: &[u8]) -> Result<Option<Duration>, MalformedTimeout> {
        let mut headers = HeaderMap::new();
        headers.insert(TIMEOUT, HeaderValue::from_bytes(value).unwrap());
        timeout_of(&headers)
    }

    #[test]
    fn q10_a_timeout_has_digits_and_a_unit() {
        assert_eq!(timeout_of(&HeaderMap::new()), Ok(None));
        for (value, expected) in [
            ("3H", Duration::from_secs(10_800)),
            ("2M", Duration::from_secs(120)),
            ("7S", Duration::from_secs(7)),
            ("250m", Duration::from_millis(250)),
            ("1u", Duration::from_micros(1)),
            ("00000010n", Duration::from_nanos(10)),
            ("0S", Duration::ZERO),
            ("99999999H", Duration::from_secs(359_999_996_400)),
        ] {
            assert_eq!(read(value.as_bytes()), Ok(Some(expected)), "{value}");
        }
    }

    #[test]
    fn q10_a_timeout_that_is_malformed_is_named() {
        for value in [
            "",
            "S",
            "1",
            "12",
            "1s",
            "1h",
            "+1S",
            "-1S",
            "1.5S",
            " 1S",
            "1 S",
            "1S1",
            "123456789S",
        ] {
            assert_eq!(read(value.as_bytes()).unwrap_err().value(), value);
        }
        assert_eq!(read(b"1\xff").unwrap_err().value(), "1\u{fffd}");
        assert_eq!(read(&[b'9'; 1000]).unwrap_err().value(), "9".repeat(SHOWN));
        assert_eq!(
            read(b"1s").unwrap_err().to_string(),
            "grpc-timeout: \"1s\" is no timeout, which is 1 to 8 digits and a unit: H, M, S, m, u or n"
        );
    }
}
