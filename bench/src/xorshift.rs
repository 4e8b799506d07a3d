//! Random numbers of the workloads.

/// Marsaglia's xorshift: random enough to choose an actor, and the same in every run.
pub(crate) struct Xorshift(u64);

impl Xorshift {
    pub(crate) fn seeded(number: u32) -> Self {
        Xorshift((u64::from(number) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // The remainder of a division by a `usize` is a `usize`.
        usize::try_from(self.0 % limit as u64).unwrap_or(0)
    }
}
