//! `SipHash`-2-4, the hash of [`Partitions`](crate::Partitions) (rule G10).
//!
//! By Aumasson and Bernstein, "`SipHash`: a fast short-input PRF" (2012), with the key of its test
//! vectors, the bytes 0 to 15. The hash of the standard library may change with its version. Integers
//! are hashed as little-endian bytes and `usize` as eight, so that they are the same on every machine.

use std::hash::{Hash, Hasher};

/// The two halves of the key, the bytes 0 to 15.
const KEY: (u64, u64) = (0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908);

/// Returns the hash of a key.
pub(crate) fn hash_of<K: Hash + ?Sized>(key: &K) -> u64 {
    let mut hasher = SipHasher24::new();
    key.hash(&mut hasher);
    hasher.finish()
}

#[derive(Clone)]
struct SipHasher24 {
    state: [u64; 4],
    /// The bytes of the current word.
    word: u64,
    length: u64,
}

impl SipHasher24 {
    fn new() -> Self {
        let (k0, k1) = KEY;
        let state = [
            k0 ^ 0x736F_6D65_7073_6575,
            k1 ^ 0x646F_7261_6E64_6F6D,
            k0 ^ 0x6C79_6765_6E65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ];
        SipHasher24 { state, word: 0, length: 0 }
    }

    fn take_in(&mut self, word: u64) {
        self.state[3] ^= word;
        round(&mut self.state);
        round(&mut self.state);
        self.state[0] ^= word;
    }
}

fn round(state: &mut [u64; 4]) {
    let [mut v0, mut v1, mut v2, mut v3] = *state;
    v0 = v0.wrapping_add(v1);
    v1 = v1.rotate_left(13) ^ v0;
    v0 = v0.rotate_left(32);
    v2 = v2.wrapping_add(v3);
    v3 = v3.rotate_left(16) ^ v2;
    v0 = v0.wrapping_add(v3);
    v3 = v3.rotate_left(21) ^ v0;
    v2 = v2.wrapping_add(v1);
    v1 = v1.rotate_left(17) ^ v2;
    v2 = v2.rotate_left(32);
    *state = [v0, v1, v2, v3];
}

impl Hasher for SipHasher24 {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.word |= u64::from(*byte) << (8 * (self.length % 8));
            self.length += 1;
            if self.length.is_multiple_of(8) {
                let word = std::mem::take(&mut self.word);
                self.take_in(word);
            }
        }
    }

    fn finish(&self) -> u64 {
        let mut last = self.clone();
        let word = last.word | (last.length << 56);
        last.take_in(word);
        last.state[2] ^= 0xFF;
        (0..4).for_each(|_| round(&mut last.state));
        last.state.into_iter().fold(0, |all, part| all ^ part)
    }

    fn write_u16(&mut self, number: u16) {
        self.write(&number.to_le_bytes());
    }

    fn write_u32(&mut self, number: u32) {
        self.write(&number.to_le_bytes());
    }

    fn write_u64(&mut self, number: u64) {
        self.write(&number.to_le_bytes());
    }

    fn write_u128(&mut self, number: u128) {
        self.write(&number.to_le_bytes());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_i16(&mut self, number: i16) {
        self.write(&number.to_le_bytes());
    }

    fn write_i32(&mut self, number: i32) {
        self.write(&number.to_le_bytes());
    }

    fn write_i64(&mut self, number: i64) {
        self.write(&number.to_le_bytes());
    }

    fn write_i128(&mut self, number: i128) {
        self.write(&number.to_le_bytes());
    }

    fn write_isize(&mut self, number: isize) {
        self.write_i64(number as i64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first vectors of the reference implementation: the bytes 0, 1, 2 and so on.
    #[test]
    fn g10_the_hash_is_siphash_2_4() {
        let of_bytes = |count: u8| {
            let mut hasher = SipHasher24::new();
            (0..count).for_each(|byte| hasher.write(&[byte]));
            hasher.finish()
        };
        assert_eq!(of_bytes(0), 0x726F_DB47_DD0E_0E31);
        assert_eq!(of_bytes(1), 0x74F8_39C5_93DC_67FD);
        assert_eq!(of_bytes(8), 0x93F5_F579_9A93_2462);
        // The example of the paper.
        assert_eq!(of_bytes(15), 0xA129_CA61_49BE_45E5);
        let mut at_once = SipHasher24::new();
        at_once.write(&(0..15).collect::<Vec<u8>>());
        assert_eq!(at_once.finish(), of_bytes(15));
    }

    #[test]
    fn g10_numbers_are_hashed_alike_on_every_machine() {
        let of_bytes = |bytes: &[u8]| {
            let mut hasher = SipHasher24::new();
            hasher.write(bytes);
            hasher.finish()
        };
        assert_eq!(hash_of(&0x0102_0304_u32), of_bytes(&[4, 3, 2, 1]));
        assert_eq!(hash_of(&7_usize), hash_of(&7_u64));
        assert_eq!(hash_of(&-7_isize), hash_of(&-7_i64));
        assert_eq!(hash_of(&(1_u16, 2_i16)), of_bytes(&[1, 0, 2, 0]));
        assert_eq!(hash_of(&1_u128), hash_of(&1_i128));
        assert_eq!(hash_of(&1_i32), hash_of(&1_u32));
    }
}
