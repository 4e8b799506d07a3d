//! Tests of values that are too large, with limits that are small.

use crate::codec::{NoExtension, TermCodec, WriteTermError};
use crate::etf::{Decoder, Limits, Term, WriteLimitError, WriteLimits};
use serde::{Deserialize, Serialize, Serializer};
use std::cell::Cell;
use std::collections::BTreeMap;

const SMALL: WriteLimits =
    WriteLimits { bytes: 300, terms: Limits { depth: 6, terms: 100, integer_bytes: 20 } };

/// Writes a value behind other bytes, which stay. What was written is read within the same limits.
fn written<T: Serialize + for<'a> Deserialize<'a>>(value: &T) -> Result<(), WriteLimitError> {
    let mut out = vec![131; 7];
    let result = TermCodec::DEFAULT.write_within(&SMALL, value, &mut out, &mut NoExtension);
    assert_eq!(out[..7], [131; 7]);
    match result {
        Ok(()) => {
            assert!(out.len() <= 7 + SMALL.bytes);
            let decoder = Decoder::with_limits(&out[7..], SMALL.terms);
            assert!(TermCodec::DEFAULT.read::<T>(decoder).is_ok());
            Ok(())
        }
        Err(WriteTermError::Limit(error)) => {
            assert_eq!(out.len(), 7);
            Err(error)
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn zterm11_a_value_of_as_many_bytes_as_can_be_read_is_written_and_one_more_byte_is_not() {
    let error = |bytes| Err(WriteLimitError::Bytes { bytes, limit: 300 });
    assert_eq!(written(&"x".repeat(295)), Ok(()));
    assert_eq!(written(&"x".repeat(296)), error(301));
    // Two in a tuple, with their heads.
    assert_eq!(written(&("x".repeat(150), "x".repeat(138))), Ok(()));
    assert_eq!(written(&("x".repeat(150), "x".repeat(139))), error(301));
    assert_eq!(written(&BTreeMap::from([(1_u8, "x".repeat(288))])), Ok(()));
    assert_eq!(written(&BTreeMap::from([(1_u8, "x".repeat(289))])), error(301));
    // What follows the last element counts too: the end of a list.
    assert_eq!(written(&vec!["x".repeat(289)]), Ok(()));
    assert_eq!(written(&vec!["x".repeat(290)]), error(301));
    assert_eq!(written(&Term::binary("x".repeat(295))), Ok(()));
    assert_eq!(written(&Term::binary("x".repeat(296))), error(301));
}

#[test]
fn zterm11_a_value_of_as_many_terms_as_can_be_read_is_written_and_one_more_is_not() {
    let error = |terms| Err(WriteLimitError::Terms { terms, limit: 100 });
    // A string is a list of bytes, and each one counts.
    assert_eq!(written(&vec![7_u8; 99]), Ok(()));
    assert_eq!(written(&vec![7_u8; 100]), error(101));
    // A list, each of its tuples with a number, and its end: the elements alone are too few.
    assert_eq!(written(&vec![(1_u8,); 49]), Ok(()));
    assert_eq!(written(&vec![(1_u8,); 50]), error(102));
    assert_eq!(written(&vec![vec![1_u8; 10]; 8]), Ok(()));
    assert_eq!(written(&vec![vec![1_u8; 10]; 9]), error(101));
    let map = |pairs: u8| (0..pairs).map(|key| (key, key)).collect::<BTreeMap<_, _>>();
    assert_eq!(written(&map(49)), Ok(()));
    assert_eq!(written(&map(50)), error(101));
    let nils = |count| Term::tuple(vec![Term::nil(); count]);
    assert_eq!(written(&(1_u8, nils(97))), Ok(()));
    assert_eq!(written(&(1_u8, nils(98))), error(101));
}

#[test]
fn zterm11_a_term_in_a_value_is_not_written_too_deep_or_with_too_long_an_integer() {
    let nested = |depth| (0..depth).fold(Term::Int(1), |term, _| Term::tuple([term]));
    let error = WriteLimitError::Depth { limit: 6 };
    assert_eq!(written(&nested(6)), Ok(()));
    assert_eq!(written(&nested(7)), Err(error));
    // The levels of the value count.
    assert_eq!(written(&((nested(4),),)), Ok(()));
    assert_eq!(written(&((nested(5),),)), Err(error));
    let big = |bytes| {
        let number = crate::etf::BigInt::new(true, &vec![1; bytes]);
        Term::Big(std::sync::Arc::new(number))
    };
    assert_eq!(written(&big(20)), Ok(()));
    let error = WriteLimitError::Integer { bytes: 21, limit: 20 };
    assert_eq!(written(&vec![big(21)]), Err(error));
}

/// A list without an end, that counts what is asked for.
struct Endless<'a, T>(&'a Cell<usize>, T);

impl<T: Serialize + Clone> Serialize for Endless<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(std::iter::repeat_with(|| {
            self.0.set(self.0.get() + 1);
            self.1.clone()
        }))
    }
}

#[test]
fn zterm11_a_value_that_is_far_too_large_is_not_written_to_its_end() {
    let limits = |bytes, terms| WriteLimits { bytes, terms: Limits { terms, ..Limits::DEFAULT } };
    let (asked, mut out) = (Cell::new(0), Vec::new());
    let mut write = |limits: WriteLimits, value: &dyn erased::Write| {
        asked.set(0);
        let error = value.write(&limits, &mut out).unwrap_err();
        (error, asked.get())
    };
    // Too many elements are found behind the last that is allowed.
    let (error, count) = write(limits(1 << 20, 1_000), &Endless(&asked, 1_u8));
    assert_eq!(error, WriteLimitError::Terms { terms: 1_001, limit: 1_000 }.into());
    assert_eq!(count, 1_001);
    // Elements of few terms and many bytes are.
    let (error, count) = write(limits(10_000, 1_000), &Endless(&asked, "x".repeat(95)));
    assert_eq!(error, WriteLimitError::Bytes { bytes: 10_005, limit: 10_000 }.into());
    assert_eq!(count, 100);
    let (error, count) = write(limits(10_000, 1_000), &Endless(&asked, (u64::MAX, u64::MAX)));
    assert!(matches!(error, WriteTermError::Limit(WriteLimitError::Bytes { .. })), "{error}");
    assert_eq!(count, 417);
    // A text is not copied.
    let text = "x".repeat(1 << 20);
    let mut out = Vec::new();
    let (codec, limits) = (TermCodec::DEFAULT, limits(10_000, 1_000));
    codec.write_within(&limits, &text, &mut out, &mut NoExtension).unwrap_err();
    assert!(out.capacity() < 1_000, "{}", out.capacity());
}

/// Values of several types.
mod erased {
    use super::{NoExtension, Serialize, TermCodec, WriteLimits, WriteTermError};

    pub(super) trait Write {
        fn write(&self, limits: &WriteLimits, out: &mut Vec<u8>) -> Result<(), WriteTermError>;
    }

    impl<T: Serialize> Write for T {
        fn write(&self, limits: &WriteLimits, out: &mut Vec<u8>) -> Result<(), WriteTermError> {
            TermCodec::DEFAULT.write_within(limits, self, out, &mut NoExtension)
        }
    }
}
