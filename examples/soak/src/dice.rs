//! Random choices drawn from a seed.

/// An xorshift generator.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns a number from 0 to `sides` - 1.
    pub(crate) fn throw(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    pub(crate) fn pick<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        let place = self.throw(all.len().max(1) as u64);
        usize::try_from(place).ok().and_then(|place| all.get(place)).copied()
    }
}
