//! Skipping of terms that nobody asked for, and of terms that are decoded later.

use super::decode_error::DecodeError;
use super::token::TermToken;
use super::tokens::Tokens;

impl Tokens<'_> {
    /// Skips the next term, of any depth, without recursion.
    pub(crate) fn skip(&mut self) -> Result<(), DecodeError> {
        // Each count is at most the number of bytes left, and there are at most as many counts.
        let mut left = 1_u128;
        while left > 0 {
            left -= 1;
            left += self.next()?.announced() as u128;
        }
        Ok(())
    }

    /// Skips the next term, without recursion, as deep as
    /// [`Limits::depth`](super::limits::Limits::depth) allows for a term that is this number of
    /// levels below the outermost one.
    pub(crate) fn skip_within_depth(&mut self, levels: usize) -> Result<(), DecodeError> {
        let limit = self.limits().depth;
        // The number of terms left in each open term, and whether the last is the tail of a list.
        let mut open: Vec<(usize, bool)> = Vec::new();
        let mut is_tail = false;
        loop {
            let token = self.next()?;
            if token.is_open() {
                let is_list = matches!(token, TermToken::List(_));
                if is_tail && is_list {
                    // More elements of the same list.
                    open.pop();
                }
                if open.len().saturating_add(levels) >= limit {
                    return Err(DecodeError::Depth { offset: self.offset(), limit });
                }
                open.push((token.announced(), is_list));
            }
            while matches!(open.last(), Some((0, _))) {
                open.pop();
            }
            let Some((left, is_list)) = open.last_mut() else { return Ok(()) };
            *left -= 1;
            is_tail = *left == 0 && *is_list;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etf::{Limits, decode};

    /// Terms nested to this depth: the elements of tuples, lists, maps, and tails of lists.
    fn nested(depth: usize) -> Vec<Vec<u8>> {
        let parts: [(&[u8], &[u8]); 6] = [
            (&[104, 1], &[]),
            (&[105, 0, 0, 0, 2, 106], &[]),
            (&[108, 0, 0, 0, 1], &[106]),
            (&[108, 0, 0, 0, 1, 106], &[]),
            (&[116, 0, 0, 0, 1], &[97, 1]),
            (&[116, 0, 0, 0, 1, 97, 1], &[]),
        ];
        let join = |(open, close): (&[u8], &[u8])| {
            [open.repeat(depth), vec![106], close.repeat(depth)].concat()
        };
        parts.into_iter().map(join).collect()
    }

    #[test]
    fn zterm6_skipping_within_the_depth_accepts_what_decoding_accepts() {
        let mut limits = Limits::DEFAULT;
        limits.depth = 10;
        let extra: [&[u8]; 4] = [
            &[108, 0, 0, 0, 0, 104, 1, 97, 8],
            &[108, 0, 0, 0, 1, 97, 1, 108, 0, 0, 0, 1, 97, 2, 104, 0],
            &[104, 0],
            &[116, 0, 0, 0, 0],
        ];
        let mut inputs: Vec<Vec<u8>> = extra.iter().map(|bytes| bytes.to_vec()).collect();
        inputs.extend([1, 9, 10, 11, 12, 30].into_iter().flat_map(nested));
        // A list whose tails are tuples with such lists, and one whose tails are lists.
        for depth in [4, 5, 6] {
            inputs.push([[108, 0, 0, 0, 1, 97, 1, 104, 1].repeat(depth), vec![106]].concat());
            inputs.push([[108, 0, 0, 0, 1, 97, 1].repeat(depth * 9), vec![106]].concat());
        }
        let mut errors = 0;
        for bytes in inputs {
            let (mut skipped, mut read) =
                (Tokens::new(&bytes, limits), Tokens::new(&bytes, limits));
            let (skip, read_result) = (skipped.skip_within_depth(0), decode::read(&mut read));
            assert_eq!(skip.clone().err(), read_result.err(), "{bytes:?}");
            assert!(skip.is_err() || skipped.left() == 0, "{bytes:?}");
            let mut any = Tokens::new(&bytes, limits);
            assert_eq!(any.skip(), Ok(()));
            assert_eq!(any.left(), 0);
            errors += usize::from(skip.is_err());
        }
        assert!((10..30).contains(&errors), "{errors}");
    }
}
