//! Integers of any size: a sign and a magnitude, with the operations that terms need:
//! order and text.

use std::cmp::Ordering;
use std::fmt::{self, Write};

/// An integer of any size.
///
/// Each number has exactly one representation: leading zero bytes are removed, and zero
/// has no sign.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BigInt {
    negative: bool,
    /// Little-endian, without trailing zero bytes.
    magnitude: Box<[u8]>,
}

impl BigInt {
    /// Creates an integer with this sign and magnitude, the least significant byte first.
    #[must_use]
    pub fn new(negative: bool, magnitude: &[u8]) -> Self {
        let length = magnitude.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        BigInt { negative: negative && length > 0, magnitude: magnitude[..length].into() }
    }

    /// Whether the integer is less than zero.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// Returns the absolute value, the least significant byte first, without leading
    /// zeros; empty for zero.
    #[must_use]
    pub fn magnitude(&self) -> &[u8] {
        &self.magnitude
    }

    /// Returns the integer as an `i64`, if it fits.
    #[must_use]
    pub fn to_i64(&self) -> Option<i64> {
        i64::try_from(self.to_i128()?).ok()
    }

    /// Returns the integer as an `i128`, if it fits.
    #[must_use]
    pub fn to_i128(&self) -> Option<i128> {
        let magnitude = self.low_u128()?;
        if self.negative {
            0_i128.checked_sub_unsigned(magnitude)
        } else {
            i128::try_from(magnitude).ok()
        }
    }

    /// Returns the integer as a `u128`, if it fits.
    #[must_use]
    pub fn to_u128(&self) -> Option<u128> {
        if self.negative { None } else { self.low_u128() }
    }

    fn low_u128(&self) -> Option<u128> {
        let mut bytes = [0; 16];
        bytes.get_mut(..self.magnitude.len())?.copy_from_slice(&self.magnitude);
        Some(u128::from_le_bytes(bytes))
    }

    /// Compares exactly with a finite float by value.
    pub(crate) fn compare_float(&self, float: f64) -> Ordering {
        let whole = BigInt::truncate(float);
        self.cmp(&whole).then_with(|| 0.0_f64.total_cmp(&(float.fract() + 0.0)))
    }

    /// Returns the integral part of a finite float.
    fn truncate(float: f64) -> Self {
        let bits = float.to_bits();
        let exponent = u32::try_from(bits >> 52 & 0x7ff).unwrap_or_default();
        let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
        // The value is mantissa * 2^(exponent - 1075).
        let magnitude = match exponent.checked_sub(1075) {
            None => {
                mantissa.checked_shr(1075 - exponent).unwrap_or_default().to_le_bytes().to_vec()
            }
            Some(shift) => {
                let mut bytes = vec![0; (shift / 8) as usize];
                bytes.extend((u128::from(mantissa) << (shift % 8)).to_le_bytes());
                bytes
            }
        };
        BigInt::new(float.is_sign_negative(), &magnitude)
    }
}

impl From<i128> for BigInt {
    fn from(number: i128) -> Self {
        BigInt::new(number < 0, &number.unsigned_abs().to_le_bytes())
    }
}

impl From<i64> for BigInt {
    fn from(number: i64) -> Self {
        BigInt::from(i128::from(number))
    }
}

impl From<u128> for BigInt {
    fn from(number: u128) -> Self {
        BigInt::new(false, &number.to_le_bytes())
    }
}

impl PartialOrd for BigInt {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for BigInt {
    fn cmp(&self, other: &Self) -> Ordering {
        let magnitudes = || {
            let lengths = self.magnitude.len().cmp(&other.magnitude.len());
            lengths.then_with(|| self.magnitude.iter().rev().cmp(other.magnitude.iter().rev()))
        };
        match (self.negative, other.negative) {
            (false, false) => magnitudes(),
            (true, true) => magnitudes().reverse(),
            (negative, other) => other.cmp(&negative),
        }
    }
}

/// Writes the number in decimal. The time is quadratic in the length: 4 KiB, the default
/// limit of the decoder, take about a millisecond.
impl fmt::Display for BigInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NINE_DIGITS: u64 = 1_000_000_000;
        let mut limbs: Vec<u32> = self
            .magnitude
            .chunks(4)
            .map(|chunk| {
                let mut limb = [0; 4];
                limb[..chunk.len()].copy_from_slice(chunk);
                u32::from_le_bytes(limb)
            })
            .collect();
        let mut groups = Vec::new();
        while !limbs.is_empty() {
            let mut remainder = 0;
            for limb in limbs.iter_mut().rev() {
                let value = remainder << 32 | u64::from(*limb);
                // Less than 2^32, because the remainder is less than the divisor.
                *limb = u32::try_from(value / NINE_DIGITS).unwrap_or(u32::MAX);
                remainder = value % NINE_DIGITS;
            }
            groups.push(remainder);
            while limbs.last() == Some(&0) {
                limbs.pop();
            }
        }
        let mut text = groups.pop().unwrap_or_default().to_string();
        for group in groups.iter().rev() {
            write!(text, "{group:09}")?;
        }
        f.pad_integral(!self.negative, "", &text)
    }
}

impl fmt::Debug for BigInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn zero_and_leading_zeros_have_one_form() {
        assert_eq!(BigInt::new(true, &[0, 0]), BigInt::new(false, &[]));
        assert_eq!(BigInt::new(true, &[1, 0]), BigInt::from(-1_i64));
        assert_eq!(BigInt::from(0_i64).to_string(), "0");
        assert_eq!(BigInt::from(i128::MIN).to_i128(), Some(i128::MIN));
        assert_eq!(BigInt::from(u128::MAX).to_i128(), None);
    }

    proptest! {
        #[test]
        fn text_and_order_are_those_of_i128(a: i128, b: i128) {
            let (big_a, big_b) = (BigInt::from(a), BigInt::from(b));
            prop_assert_eq!(big_a.to_string(), a.to_string());
            prop_assert_eq!(big_a.cmp(&big_b), a.cmp(&b));
            prop_assert_eq!(big_a.to_i128(), Some(a));
        }

        #[test]
        fn floats_are_compared_by_value(float in -1.0e18..1.0e18_f64, by in -3_i64..3) {
            #[expect(clippy::cast_possible_truncation, reason = "within i64")]
            let whole = float.trunc() as i64;
            let expected = by.cmp(&0).then(0.0.partial_cmp(&float.fract()).unwrap());
            prop_assert_eq!(BigInt::from(whole + by).compare_float(float), expected);
        }
    }

    #[test]
    fn great_floats_are_compared_exactly() {
        let two_to_1000 = BigInt::new(false, &[vec![0; 125], vec![1]].concat());
        assert_eq!(two_to_1000.compare_float(2.0_f64.powi(1000)), Ordering::Equal);
        assert_eq!(two_to_1000.compare_float(2.0_f64.powi(1001)), Ordering::Less);
        assert_eq!(two_to_1000.compare_float(-f64::MAX), Ordering::Greater);
        assert_eq!(BigInt::from(0_i64).compare_float(-0.0), Ordering::Equal);
        assert_eq!(BigInt::from(0_i64).compare_float(-5.0e-324), Ordering::Greater);
        assert_eq!(
            BigInt::from((1_i64 << 53) + 1).compare_float(9_007_199_254_740_992.0),
            Ordering::Greater
        );
    }
}
