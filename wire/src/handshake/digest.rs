//! The cookie that the nodes of a cluster share, and the digests that prove it.

use md5::{Digest, Md5};
use std::fmt;
use subtle::ConstantTimeEq;

/// The shared secret of the nodes. It is never printed (rule Zsec1).
#[derive(Clone)]
pub struct Cookie(Box<[u8]>);

impl Cookie {
    /// The greatest length of a cookie in bytes (the limit of an Erlang atom is as many
    /// characters).
    pub const MAX_BYTES: usize = 255;

    /// Creates a cookie from the text.
    ///
    /// # Errors
    /// [`CookieError`] if it is empty, `nocookie`, or longer than [`Cookie::MAX_BYTES`].
    pub fn new(text: impl AsRef<[u8]>) -> Result<Self, CookieError> {
        match text.as_ref() {
            [] => Err(CookieError::Empty),
            b"nocookie" => Err(CookieError::NoCookie),
            text if text.len() > Self::MAX_BYTES => Err(CookieError::TooLong { bytes: text.len() }),
            text => Ok(Cookie(text.into())),
        }
    }

    /// Returns the digest that proves possession of the cookie to the sender of this challenge.
    #[must_use]
    pub(crate) fn digest(&self, challenge: u32) -> [u8; DIGEST_BYTES] {
        let hash = Md5::new().chain_update(&self.0).chain_update(challenge.to_string());
        hash.finalize().into()
    }

    /// Whether this is the digest of the challenge. The comparison takes constant time
    /// (rule Zhs4).
    pub(crate) fn proves(&self, challenge: u32, digest: &[u8; DIGEST_BYTES]) -> bool {
        self.digest(challenge).ct_eq(digest).into()
    }
}

/// The length of a digest in bytes.
pub(crate) const DIGEST_BYTES: usize = 16;

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cookie(..)")
    }
}

/// The text cannot be a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CookieError {
    /// The text is empty.
    #[error("a cookie must not be empty")]
    Empty,
    /// The text is the value that OTP uses for "no cookie".
    #[error("\"nocookie\" is not a valid cookie")]
    NoCookie,
    /// The text is longer than [`Cookie::MAX_BYTES`].
    #[error("a cookie of {bytes} bytes is over the limit of {} bytes", Cookie::MAX_BYTES)]
    TooLong {
        /// The length of the text.
        bytes: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zhs4_digests_are_those_that_otp_computes() {
        let recorded = include_str!("../../tests/golden/digests.txt");
        let mut count = 0;
        for line in recorded.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<_> = line.split('\t').collect();
            let [cookie, challenge, digest] = fields[..] else { panic!("{line}") };
            let cookie = Cookie::new(cookie).unwrap();
            let challenge = challenge.parse().unwrap();
            let digest = u128::from_str_radix(digest, 16).unwrap().to_be_bytes();
            assert_eq!(cookie.digest(challenge), digest, "{line}");
            assert!(cookie.proves(challenge, &digest));
            for bit in 0..128 {
                let mut wrong = digest;
                wrong[bit / 8] ^= 1 << (bit % 8);
                assert!(!cookie.proves(challenge, &wrong));
            }
            count += 1;
        }
        assert_eq!(count, 15);
    }

    #[test]
    fn zsec1_a_cookie_is_never_empty_and_never_printed() {
        assert_eq!(Cookie::new("").unwrap_err(), CookieError::Empty);
        assert_eq!(Cookie::new("nocookie").unwrap_err(), CookieError::NoCookie);
        assert_eq!(Cookie::new([b'x'; 256]).unwrap_err(), CookieError::TooLong { bytes: 256 });
        assert_eq!(format!("{:?}", Cookie::new("secret").unwrap()), "Cookie(..)");
    }
}
