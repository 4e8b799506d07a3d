//! Bounded reading of bytes. Nothing here panics or reads beyond the end.
//!
//! A [`Reader`] only takes bytes from the front. A request for more bytes than there are
//! fails with [`Short`], which holds the place, and the reader does not advance. Integers
//! are big-endian, as everywhere in the protocol.

/// The input ended too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at offset {offset}: {wanted} bytes expected, {left} left")]
pub struct Short {
    /// The offset at which the bytes were expected, from the beginning of the input.
    pub offset: usize,
    /// The number of expected bytes.
    pub wanted: usize,
    /// The number of bytes left.
    pub left: usize,
}

/// The bytes of an input that were not read yet.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes, offset: 0 }
    }

    /// Returns a reader of the same input that starts at this offset.
    pub(crate) fn at(&self, offset: usize) -> Self {
        Reader { bytes: self.bytes, offset: offset.min(self.bytes.len()) }
    }

    /// The offset of the next byte from the beginning of the input.
    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    /// The number of bytes left.
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.offset
    }

    /// Returns the remaining bytes without taking them.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.offset..).unwrap_or_default()
    }

    /// Returns the bytes from an earlier offset to the current one.
    pub(crate) fn since(&self, offset: usize) -> &'a [u8] {
        self.bytes.get(offset..self.offset).unwrap_or_default()
    }

    /// Returns the bytes from one offset to another.
    pub(crate) fn between(&self, start: usize, end: usize) -> &'a [u8] {
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Returns the next byte without taking it.
    pub(crate) fn peek(&self) -> Result<u8, Short> {
        self.bytes.get(self.offset).copied().ok_or(self.short(1))
    }

    /// Advances so that this many bytes are left. It never goes back.
    pub(crate) fn skip_to_last(&mut self, left: usize) {
        self.offset = self.offset.max(self.bytes.len().saturating_sub(left));
    }

    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Short> {
        let (taken, _) = self.rest().split_at_checked(length).ok_or(self.short(length))?;
        self.offset += length;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Short> {
        let taken = self.rest().first_chunk().copied().ok_or(self.short(N))?;
        self.offset += N;
        Ok(taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Short> {
        self.array().map(u8::from_be_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Short> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Short> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Short> {
        self.array().map(u64::from_be_bytes)
    }

    /// Takes the bytes that follow a length of 2 bytes.
    pub(crate) fn counted_u16(&mut self) -> Result<&'a [u8], Short> {
        let length = self.u16()?;
        self.take(length.into())
    }

    /// Takes the bytes that follow a length of 4 bytes.
    pub(crate) fn counted_u32(&mut self) -> Result<&'a [u8], Short> {
        let length = self.u32()?;
        // A length that does not fit into `usize` is longer than any input.
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    fn short(&self, wanted: usize) -> Short {
        Short { offset: self.offset, wanted, left: self.left() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_input_is_an_error_with_its_offset_and_consumes_nothing() {
        let mut reader = Reader::new(&[0, 5, 1, 2]);
        assert_eq!(reader.u8(), Ok(0));
        assert_eq!(reader.u32(), Err(Short { offset: 1, wanted: 4, left: 3 }));
        assert_eq!(reader.take(usize::MAX), Err(Short { offset: 1, wanted: usize::MAX, left: 3 }));
        assert_eq!(reader.take(3), Ok(&[5, 1, 2][..]));
        assert_eq!(reader.left(), 0);
        assert_eq!(reader.peek(), Err(Short { offset: 4, wanted: 1, left: 0 }));
        assert_eq!(reader.since(2), [1, 2]);
    }

    #[test]
    fn a_length_beyond_the_input_is_an_error() {
        assert!(Reader::new(&[0, 3, 1, 2]).counted_u16().is_err());
        assert!(Reader::new(&[255, 255, 255, 255, 1]).counted_u32().is_err());
        assert_eq!(Reader::new(&[0, 0, 0, 1, 7]).counted_u32(), Ok(&[7][..]));
    }
}
