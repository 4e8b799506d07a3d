//! The choices of a simulation: numbers that a seed determines, on every machine.
//!
//! The stream is that of `ChaCha` with 8 rounds, which is defined by its algorithm and not by
//! the version of a library. The key is the seed as 8 bytes, least significant first, then 24
//! zeros. The nonce and the first block are 0. A number is two words of the stream, the lower
//! first. This file decides how a number becomes a choice, so that no library can change that
//! either.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

pub(crate) struct Seeded(ChaCha8Rng);

impl Seeded {
    pub(crate) fn new(seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Seeded(ChaCha8Rng::from_seed(key))
    }

    /// The next number of the stream.
    pub(crate) fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Chooses one of `count` items; 0 if there are none. Always takes one number. The choice
    /// has the same share of `count` as the number has of all numbers, so the probabilities of
    /// the choices differ by less than `count` in 2^64.
    pub(crate) fn choose(&mut self, count: usize) -> usize {
        let share = (u128::from(self.number()) * count as u128) >> 64;
        // Less than `count`, which is a `usize`.
        usize::try_from(share).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t2_the_stream_is_that_of_the_algorithm() {
        let mut zero = Seeded::new(0);
        // The first bytes of `ChaCha8` with a key of zeros, from its published test vectors: 3e
        // 00 ef 2f 89 5f 40 d6 | 7f 5b b8 e8 1f 09 a5 a1.
        assert_eq!(zero.number().to_le_bytes(), [0x3e, 0, 0xef, 0x2f, 0x89, 0x5f, 0x40, 0xd6]);
        assert_eq!(zero.number().to_le_bytes(), [0x7f, 0x5b, 0xb8, 0xe8, 0x1f, 0x09, 0xa5, 0xa1]);
    }

    #[test]
    fn t2_a_seed_makes_the_same_choices_everywhere() {
        let mut seeded = Seeded::new(7);
        let choices: Vec<usize> = (0..20).map(|_| seeded.choose(10)).collect();
        assert_eq!(choices, [7, 4, 0, 3, 3, 3, 3, 1, 6, 9, 6, 6, 4, 2, 9, 5, 2, 0, 1, 7]);
    }

    #[test]
    fn t2_choices_are_in_range_and_every_one_occurs() {
        let mut seeded = Seeded::new(1);
        assert_eq!((seeded.choose(0), seeded.choose(1)), (0, 0));
        let mut times = [0; 7];
        (0..7_000).for_each(|_| times[seeded.choose(7)] += 1);
        assert!(times.iter().all(|times| (800..1_200).contains(times)), "{times:?}");
    }
}
