//! Bit strings that do not end at a byte boundary.

/// A bit string that does not end at a byte boundary: whole bytes, then 1 to 7 bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bits {
    bytes: Box<[u8]>,
    last: u8,
}

impl Bits {
    /// Creates a bit string of these bytes. Only the upper `last` bits of the last byte
    /// are significant.
    ///
    /// Returns `None` if there are no bytes or `last` is not from 1 to 7.
    #[must_use]
    pub fn new(bytes: &[u8], last: u8) -> Option<Self> {
        let mut bytes: Box<[u8]> = bytes.into();
        if !(1..=7).contains(&last) {
            return None;
        }
        // Clear the insignificant bits, so that equal bit strings have equal bytes.
        *bytes.last_mut()? &= 0xff << (8 - last);
        Some(Bits { bytes, last })
    }

    /// Returns the bytes. The insignificant bits of the last one are 0.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the number of significant upper bits of the last byte: 1 to 7.
    #[must_use]
    pub fn last_bits(&self) -> u8 {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_bits_are_zero() {
        assert_eq!(Bits::new(&[0xff], 3), Bits::new(&[0xe0], 3));
        assert!(Bits::new(&[], 3).is_none());
        assert!(Bits::new(&[1], 0).is_none());
        assert!(Bits::new(&[1], 8).is_none());
    }
}
