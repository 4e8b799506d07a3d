//! `SipHash`-2-4, the hash of [`Partitions`](crate::Partitions) (rule G10).
//!
//! By Aumasson and Bernstein, "`SipHash`: a fast short-input PRF" (2012), with the key of its test
//! vectors, the bytes 0 to 15. The hash of the standard library may change with its version. Integers
//! are hashed as little-endian bytes and `usize` as eight, so that they are the same on every machine.

use siphasher::sip;
use std::hash::{Hash, Hasher};

/// The key: the bytes 0 to 15.
const KEY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// Returns the hash of a key.
pub(crate) fn hash_of<K: Hash + ?Sized>(key: &K) -> u64 {
    let mut hasher = StableHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

/// Hashes a value alike on every machine.
struct StableHasher(sip::SipHasher24);

impl StableHasher {
    fn new() -> Self {
        StableHasher(sip::SipHasher24::new_with_key(&KEY))
    }
}

impl Hasher for StableHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    fn finish(&self) -> u64 {
        self.0.finish()
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
            let mut hasher = StableHasher::new();
            (0..count).for_each(|byte| hasher.write(&[byte]));
            hasher.finish()
        };
        assert_eq!(of_bytes(0), 0x726F_DB47_DD0E_0E31);
        assert_eq!(of_bytes(1), 0x74F8_39C5_93DC_67FD);
        assert_eq!(of_bytes(8), 0x93F5_F579_9A93_2462);
        // The example of the paper.
        assert_eq!(of_bytes(15), 0xA129_CA61_49BE_45E5);
        let mut at_once = StableHasher::new();
        at_once.write(&(0..15).collect::<Vec<u8>>());
        assert_eq!(at_once.finish(), of_bytes(15));
    }

    #[test]
    fn g10_numbers_are_hashed_alike_on_every_machine() {
        let of_bytes = |bytes: &[u8]| {
            let mut hasher = StableHasher::new();
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
